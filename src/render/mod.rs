//! Reports as people look at them.

pub(crate) mod csv;
pub(crate) mod plot;
pub(crate) mod table;

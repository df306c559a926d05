//! ferry's vocabulary: events, exact money, signed batches, and the log interface.
//!
//! An [`event`] is an immutable fact. Events travel in a [`batch`], signed once by their author and
//! chained to that author's batch before it. The owner of a ledger records each stored batch in an
//! [`entry`], linked to the entry before; a [`head`] kept elsewhere binds the tail.
//!
//! This crate does no I/O and knows no clock, entropy, environment, thread or float.
#![deny(clippy::float_arithmetic)]

pub mod admission;
pub mod batch;
pub mod bytes;
mod codes;
pub mod conformance;
pub mod cost;
pub mod entry;
pub mod event;
pub mod hash;
pub mod head;
pub mod ids;
pub mod kind;
pub mod limits;
pub mod log;
pub mod memory;
pub mod money;
pub mod payload;
pub mod rate;
pub mod sign;
pub mod upcast;
pub mod usage;

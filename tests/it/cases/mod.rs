//! Cases from the field: faults that others reported, each with its right outcome.
//!
//! The cases count in nano-dollars; ferry stores pico-dollars.

mod imports;
mod ledger;
mod money;

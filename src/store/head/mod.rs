//! The head kept outside the store, which is also the guard against signing two pasts.
//!
//! Three records: `run` is overwritten after each commit, before any answer, and never synced: it
//! matters within one boot. `sync.a` and `sync.b` are written in turn after a finished sync of the store,
//! signed, and synced at once.

mod record;
mod rule;
mod slots;

pub use record::{Record, Slot};
pub use rule::{Evidence, Missing, Refusal, Stop, Voucher, judge};
pub use slots::Vouched;
pub(super) use slots::{RunSlot, SyncSlots, WitnessSlot, newest_signed, read_all};

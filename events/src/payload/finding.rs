//! finding: a check, a scan or an adversary found something.

use serde::{Deserialize, Serialize};

use crate::codes::codes;
use crate::ids::Seq;

codes! {
    /// What was found.
    FindingCode {
        /// Events that were never promised to be safe are gone after an unclean stop.
        TailLost = 1 "tail_lost",
        /// A person accepted the loss of events that had been promised.
        LossAccepted = 2 "loss_accepted",
        /// A price list lost more than half of its engines.
        BookShrank = 3 "book_shrank",
    }
}

/// A finding about a range of positions. Ancillary: no number depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// What was found.
    pub code: FindingCode,
    /// First position concerned.
    pub from: Seq,
    /// Position after the last one concerned.
    pub to: Seq,
}

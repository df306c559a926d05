//! clock-corrected: the owner's clock went back by more than 60 seconds.

use serde::{Deserialize, Serialize};

use crate::ids::Millis;

/// A step back of the clock. Ancillary: time in the ledger resumes from `clock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockCorrected {
    /// The newest instant the ledger had seen.
    pub ledger: Millis,
    /// What the clock said.
    pub clock: Millis,
}

//! What an attempt is charged with, and on what grounds: reported, priced and estimated are never mixed.

use serde::{Deserialize, Serialize};

use super::{Name, TurnKind};
use crate::bytes::Bytes16;
use crate::codes::codes;
use crate::cost::Cost;
use crate::ids::Millis;

codes! {
    /// On what grounds a charge stands.
    ChargeBasis {
        /// The provider said what it cost.
        Reported = 1 "reported",
        /// Its usage at the price that held when it was dispatched.
        Priced = 2 "priced",
        /// Nobody knows: at most what was reserved, and so much is taken.
        Estimated = 3 "estimated",
        /// No byte of it reached the engine.
        Void = 4 "void",
    }
}

/// What an attempt is charged with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// On what grounds.
    pub basis: ChargeBasis,
    /// How much.
    pub cost: Cost,
}

/// Where a charge is booked, so that it can be moved without looking back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Booking<'a> {
    /// When the owner took the dispatch in: what budgets book it on.
    pub dispatched: Millis,
    /// The engine it was dispatched to.
    #[serde(borrow)]
    pub engine: Name<'a>,
    /// The turn's conversation.
    pub conversation: Bytes16,
    /// The turn's harness.
    pub harness: Option<Name<'a>>,
    /// The turn's project.
    pub project: Option<Name<'a>>,
    /// The turn's kind.
    pub kind: Option<TurnKind>,
    /// What was charged.
    pub was: Charge,
    /// What is charged now.
    pub now: Charge,
}

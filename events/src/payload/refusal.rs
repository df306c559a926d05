//! refusal: nothing may be dispatched.

use serde::{Deserialize, Serialize};

use super::dispatch::ExclusionCount;
use super::{BudgetFact, MadeBy};
use crate::codes::codes;
use crate::ids::Digest;
use crate::money::Pico;

codes! {
    /// Why nothing may be dispatched.
    RefusalReason {
        /// No engine fits a budget.
        BudgetExceeded = 1 "budget_exceeded",
        /// No engine can take the turn.
        NoEngine = 2 "no_engine",
    }
}

/// A turn or order that nothing may be dispatched for. The subject is the turn or order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal<'a> {
    /// Attempts before it.
    pub attempt: u16,
    /// Why.
    pub reason: RefusalReason,
    /// The budget that is exceeded.
    #[serde(borrow)]
    pub budget: Option<BudgetFact<'a>>,
    /// What the cheapest engine would have needed of it.
    pub needed: Option<Pico>,
    /// How many engines were excluded, by reason.
    pub excluded: Vec<ExclusionCount>,
    /// Who decided.
    pub made_by: MadeBy,
    /// Digest of the whole decision record.
    pub record: Digest,
}

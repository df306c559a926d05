//! budget-crossed, and what events say of budgets.

use serde::{Deserialize, Serialize};

use super::Name;
use crate::codes::codes;
use crate::cost::Cost;
use crate::ids::Millis;
use crate::money::Pico;

codes! {
    /// What a budget's money is counted for.
    BudgetScope {
        /// One turn, all its attempts.
        Turn = 1 "turn",
        /// One conversation.
        Conversation = 2 "conversation",
        /// One client, by its harness; those without a name share one.
        Client = 3 "client",
        /// One project; turns without one share one.
        Project = 4 "project",
        /// One engine.
        Engine = 5 "engine",
        /// Everything.
        All = 6 "all",
    }
}

codes! {
    /// How long a budget's money is counted together.
    BudgetPeriod {
        /// As long as there is something to count.
        Lifetime = 1 "lifetime",
        /// The last 24 hours.
        Rolling24h = 2 "rolling-24h",
        /// A day of the budget's time zone.
        Day = 3 "day",
        /// An ISO week of the budget's time zone.
        Week = 4 "week",
        /// A month of the budget's time zone.
        Month = 5 "month",
    }
}

/// How a budget stood when something was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetFact<'a> {
    /// Its name in the policy.
    #[serde(borrow)]
    pub name: Name<'a>,
    /// What its money is counted for.
    pub scope: BudgetScope,
    /// How long.
    pub period: BudgetPeriod,
    /// Its limit.
    pub limit: Pico,
    /// Settled; incomplete where some of it is not known.
    pub spent: Cost,
    /// Set aside for what is on its way; incomplete where some of it is not known.
    pub reserved: Cost,
    /// Of a paced month: what may be spent today.
    pub allowance: Option<Pico>,
    /// Of a paced month: what of today's allowance is settled or set aside.
    pub today: Option<Pico>,
    /// When its period ends, or today does where that is what stands in the way.
    pub resets_at: Option<Millis>,
}

/// What is settled under a budget came to a mark. Ancillary: no number depends on it. The subject is the turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetCrossed<'a> {
    /// The mark, in percent of the limit.
    pub percent: u8,
    /// The budget, with what was just settled.
    #[serde(borrow)]
    pub budget: BudgetFact<'a>,
}

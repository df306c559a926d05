//! What came of asking for an engine.

use events::event::Body;
use events::ids::Millis;
use events::money::Pico;
use events::payload::{CacheTtl, Choice, Dispatch, Refusal, TurnTier};
use serde::{Deserialize, Serialize};

/// What came of asking for an engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Plan {
    /// Hand it to this engine.
    Dispatch {
        /// Attempts before this one.
        attempt: u16,
        /// The engine.
        engine: String,
        /// How it came to be chosen.
        choice: Choice,
        /// The tier it is served at.
        tier: TurnTier,
        /// How long its cache writes are to be kept.
        cache_ttl: CacheTtl,
        /// The longest answer to ask it for, in tokens.
        max_output: u32,
    },
    /// Nothing may be dispatched.
    Refused {
        /// The budget that is exceeded; `None` where no engine can take it.
        budget: Option<Exceeded>,
    },
}

/// A budget that stands in the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exceeded {
    /// Its name in the policy.
    pub name: String,
    /// What its money is counted for.
    pub scope: String,
    /// Its limit.
    pub limit: Pico,
    /// What was spent.
    pub spent: Pico,
    /// What is set aside.
    pub reserved: Pico,
    /// What the cheapest engine would have needed.
    pub needed: Option<Pico>,
    /// Of a paced month: what may be spent today.
    pub allowance: Option<Pico>,
    /// When there is room again.
    pub resets_at: Option<Millis>,
}

impl Plan {
    /// What a recorded decision came to; `None` of other events.
    #[must_use]
    pub fn of(body: &Body<'_>) -> Option<Self> {
        match body {
            Body::Dispatch(dispatch) => Some(Self::dispatched(dispatch)),
            Body::Refusal(refusal) => Some(Self::refused(refusal)),
            _ => None,
        }
    }

    pub(super) fn dispatched(dispatch: &Dispatch<'_>) -> Self {
        Self::Dispatch {
            attempt: dispatch.attempt,
            engine: dispatch.engine.as_str().to_owned(),
            choice: dispatch.choice,
            tier: dispatch.tier,
            cache_ttl: dispatch.cache_ttl,
            max_output: dispatch.max_output,
        }
    }

    pub(super) fn refused(refusal: &Refusal<'_>) -> Self {
        let budget = refusal.budget.map(|budget| Exceeded {
            name: budget.name.as_str().to_owned(),
            scope: budget.scope.label().to_owned(),
            limit: budget.limit,
            spent: budget.spent.known,
            reserved: budget.reserved.known,
            needed: refusal.needed,
            allowance: budget.allowance,
            resets_at: budget.resets_at,
        });
        Self::Refused { budget }
    }
}

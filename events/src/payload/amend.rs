//! amend: a better figure for an earlier result arrived.

use serde::{Deserialize, Serialize};

use super::Name;
use crate::codes::codes;
use crate::ids::Millis;
use crate::usage::Usage;

codes! {
    /// Why a figure changed.
    AmendReason {
        /// The source grew: a later copy of the same message holds more.
        SourceGrew = 1 "source_grew",
        /// The provider sent a final figure later.
        ProviderFinal = 2 "provider_final",
        /// A person corrected it.
        Corrected = 3 "corrected",
    }
}

/// New usage for the result (subject, `attempt`). Of several amends the one with the highest
/// (`at`, event id) counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amend<'a> {
    /// Which attempt of the turn.
    pub attempt: u16,
    /// The engine that served it.
    #[serde(borrow)]
    pub engine: Name<'a>,
    /// When the turn arrived: what the change is booked on.
    pub turn_at: Millis,
    /// The figure it replaces, so that sums can be moved without looking back.
    pub replaces: Usage,
    /// The better figure.
    pub usage: Usage,
    /// Why.
    pub reason: AmendReason,
}

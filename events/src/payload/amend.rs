//! amend: a better figure for an earlier result arrived.

use serde::{Deserialize, Serialize};

use super::{Booking, Finish, Name, Parts};
use crate::bytes::Bytes16;
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

/// A turn's facts, all of them, as they are known now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnFacts {
    /// When the turn was believed to have arrived before: what it is not booked on any more.
    pub was_at: Millis,
    /// Keyed digest of the conversation's id.
    pub conversation: Bytes16,
    /// Keyed digest of the sub-agent's id; `None` is the main agent.
    pub subagent: Option<Bytes16>,
    /// What is new in the prompt since the turn before.
    pub news: Option<Parts>,
    /// Longest prefix of the prompt that was sent before in this conversation, in tokens.
    pub prefix_tokens: Option<u32>,
    /// What the answer holds.
    pub parts: Option<Parts>,
    /// Why the answer ended.
    pub finish: Finish,
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
    /// When the turn arrived, as is known now: what the change is booked on.
    pub turn_at: Millis,
    /// The figure it replaces, so that sums can be moved without looking back.
    pub replaces: Usage,
    /// The better figure.
    pub usage: Usage,
    /// What is now known of the turn itself, where a source has told more of it; `None`: what was said.
    pub turn: Option<TurnFacts>,
    /// What it is charged with now, where it was dispatched here.
    pub booking: Option<Booking<'a>>,
    /// Why.
    pub reason: AmendReason,
}

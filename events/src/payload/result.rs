//! result: what came of one attempt to have something done.

use serde::{Deserialize, Serialize};

use super::{Charge, Name, Parts, RawPairs};
use crate::codes::codes;
use crate::ids::Millis;
use crate::usage::Usage;

codes! {
    /// Why an answer ended.
    Finish {
        /// The source does not say.
        Unknown = 0 "unknown",
        /// The model was done.
        EndTurn = 1 "end_turn",
        /// The model wants a tool to run.
        ToolUse = 2 "tool_use",
        /// The answer reached its token limit.
        Length = 3 "length",
        /// The provider withheld the answer.
        Refused = 4 "refused",
    }
}

/// Outcome of one attempt. The subject is the turn's id; (subject, attempt) names the attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DispatchResult<'a> {
    /// Attempts before this one.
    pub attempt: u16,
    /// When the turn arrived: what the result is booked on.
    pub turn_at: Millis,
    /// The engine that served, as the source names it.
    #[serde(borrow)]
    pub engine: Name<'a>,
    /// Usage in ferry's one convention.
    pub usage: Usage,
    /// Usage as the provider said it.
    pub raw_usage: RawPairs<'a>,
    /// What the answer holds.
    pub parts: Option<Parts>,
    /// Why the answer ended.
    pub finish: Finish,
    /// From request to the first of the answer (text, reasoning or a tool call), in milliseconds.
    pub first_ms: Option<u32>,
    /// From request to last byte, in milliseconds.
    pub latency_ms: Option<u32>,
    /// What it is charged with; `None` where it is only told of, and priced when somebody asks.
    pub charge: Option<Charge>,
}

//! feedback: a person judged an answer.

use serde::{Deserialize, Serialize};

use super::{Name, TurnKind};
use crate::codes::codes;
use crate::ids::Millis;

codes! {
    /// What a person says of an answer.
    Verdict {
        /// It did what was asked.
        Good = 1 "good",
        /// It did not.
        Bad = 2 "bad",
    }
}

/// A word that was said before, and does not count any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replaced {
    /// What was said.
    pub verdict: Verdict,
    /// When the owner took it in: it counted from that day on.
    pub at: Millis,
}

/// A person's word on an answer. The subject is the turn. What it needs to count is said again, so that nobody has to
/// look back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback<'a> {
    /// What they say.
    pub verdict: Verdict,
    /// Which attempt of the turn answered.
    pub attempt: u16,
    /// The engine that served it, by the name it was dispatched to.
    #[serde(borrow)]
    pub engine: Name<'a>,
    /// The turn's kind, where it was decided here.
    pub kind: Option<TurnKind>,
    /// The turn's harness.
    pub harness: Option<Name<'a>>,
    /// The word on the same answer that it takes the place of.
    pub replaces: Option<Replaced>,
}

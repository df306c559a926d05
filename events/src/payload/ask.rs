//! What a live turn asks for: every input of its decisions that the ledger does not know otherwise.

use serde::{Deserialize, Serialize};

use super::{Features, Name};
use crate::codes::codes;
use crate::limits::TOKENS_MAX;

codes! {
    /// What kind of work a turn is.
    Task {
        /// Talk.
        Chat = 1 "chat",
        /// Code, and tools that work on it.
        Coding = 2 "coding",
        /// Data.
        Data = 3 "data",
        /// Design and documents.
        Documentation = 4 "documentation",
        /// Images.
        Vision = 5 "vision",
    }
}

codes! {
    /// How hard a turn is.
    TurnTier {
        /// Anything does it.
        Trivial = 0 "trivial",
        /// Little can go wrong.
        Simple = 1 "simple",
        /// It takes some thought.
        Moderate = 2 "moderate",
        /// It takes the best there is.
        Hard = 3 "hard",
    }
}

/// Kind of a turn: task x tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TurnKind {
    /// What kind of work.
    pub task: Task,
    /// How hard.
    pub tier: TurnTier,
}

/// What a live turn asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask<'a> {
    /// The policy's profile it is decided under.
    #[serde(borrow)]
    pub profile: Name<'a>,
    /// The harness it comes from, by the name it gives itself.
    pub harness: Option<Name<'a>>,
    /// The project it is for.
    pub project: Option<Name<'a>>,
    /// Its kind, where the client states it; else its features tell.
    pub kind: Option<TurnKind>,
    /// What it is like.
    pub features: Features,
    /// No tokenizer makes more of its prompt than this many tokens.
    pub prompt_tokens_max: u32,
    /// The longest answer the client takes, in tokens.
    pub max_output: Option<u32>,
}

impl Ask<'_> {
    /// Checks that the figures are in range and agree.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn check(&self) -> Result<(), &'static str> {
        self.features.check()?;
        let figures = [self.prompt_tokens_max, self.max_output.unwrap_or(0)];
        if figures.iter().any(|figure| *figure > TOKENS_MAX) {
            return Err("a token count is larger than any request");
        }
        if self.features.prompt_tokens.is_some_and(|counted| counted > self.prompt_tokens_max) {
            return Err("the counted prompt is longer than the longest it can be");
        }
        Ok(())
    }
}

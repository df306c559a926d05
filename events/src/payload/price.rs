//! price: what an engine charges, as believed from here on.

use serde::{Deserialize, Serialize};

use super::Name;
use crate::rate::Rate;

/// US dollars per unit. `None` is unknown, `Some(Rate::ZERO)` is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    /// Per prompt token neither read from nor written to a cache.
    pub input: Option<Rate>,
    /// Per answer token.
    pub output: Option<Rate>,
    /// Per prompt token read from a cache.
    pub cache_read: Option<Rate>,
    /// Per prompt token written to a cache for 5 minutes.
    pub cache_write_5m: Option<Rate>,
    /// Per prompt token written to a cache for 1 hour.
    pub cache_write_1h: Option<Rate>,
    /// Per reasoning token of the answer.
    pub reasoning: Option<Rate>,
    /// Per image of the prompt.
    pub image: Option<Rate>,
    /// Per request.
    pub request: Option<Rate>,
}

/// Rates of a whole request whose prompt is large. A rate it lacks is the base rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tier {
    /// Smallest prompt the tier applies to, in tokens ("above 200,000" is 200,001).
    pub from_prompt: u32,
    /// The tier's rates.
    pub rates: Rates,
}

/// Rates of a time of day, UTC. A rate it lacks is the base rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// First minute of the day, 0 to 1,439.
    pub from_minute: u16,
    /// Minute it ends, exclusive; before `from_minute` when it wraps midnight.
    pub to_minute: u16,
    /// The window's rates.
    pub rates: Rates,
}

/// What an engine can do. `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// True when it takes tools.
    pub tools: Option<bool>,
    /// True when it takes images.
    pub images: Option<bool>,
    /// True when it can reason.
    pub reasoning: Option<bool>,
    /// The longest answer it gives, in tokens.
    pub output: Option<u32>,
}

/// How good an engine is said to be, in tenths of a point of 0 to 100. `None` is unscored, which is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quality {
    /// At thinking.
    pub intelligence: Option<u16>,
    /// At code.
    pub coding: Option<u16>,
    /// At working with tools.
    pub agentic: Option<u16>,
}

impl Quality {
    /// The best there can be.
    pub const MAX: u16 = 1_000;

    /// True when nothing is scored.
    #[must_use]
    pub const fn is_unscored(&self) -> bool {
        self.intelligence.is_none() && self.coding.is_none() && self.agentic.is_none()
    }

    /// Checks that the scores are in range.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn check(&self) -> Result<(), &'static str> {
        let mut scores = [self.intelligence, self.coding, self.agentic].into_iter().flatten();
        if scores.any(|score| score > Self::MAX) {
            return Err("a score is above 100");
        }
        Ok(())
    }
}

/// An engine's price list, and what the same list says it can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Price<'a> {
    /// The engine, `provider/model`.
    #[serde(borrow)]
    pub engine: Name<'a>,
    /// Longest prompt + output it takes, in tokens.
    pub context: Option<u32>,
    /// Rates where no tier or window says otherwise.
    pub rates: Rates,
    /// Tiers, smallest prompt first.
    pub tiers: Vec<Tier>,
    /// Windows; the first that holds the instant applies.
    pub windows: Vec<Window>,
    /// What it can do.
    pub capabilities: Capabilities,
    /// How good it is said to be.
    pub quality: Quality,
    /// Where the prices were read.
    pub source: Name<'a>,
}

//! Why an engine takes an order, in words.

use std::fmt;

use serde::Serialize;

use super::choice::Decider;
use super::price::CallPrice;
use crate::estimates::Chance;
use crate::profiles::Milli;
use crate::work::Work;

/// Why an engine takes an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The engine.
    pub engine: String,
    /// What its call is held to cost.
    pub price: CallPrice,
    /// The chance that it does the work well.
    pub chance: Chance,
    /// The kind of work.
    pub work: Work,
    /// The chance that is enough.
    pub threshold: Milli,
    /// What it is among those that can do it.
    pub verdict: Verdict,
    /// What else there is to say.
    pub notes: Vec<Note>,
}

/// What an engine is among those that can do an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Good enough, and none that is costs less by more than the price band.
    CheapestSufficient,
    /// The likeliest, where none is good enough.
    Highest {
        /// The chance of the engine that failed.
        floor: Option<Chance>,
    },
    /// The likeliest, where all have failed.
    LikeliestAgain,
}

/// What else there is to say of a choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// Another costs about as much.
    TiedOnPrice {
        /// The next best.
        with: String,
        /// Why not that one.
        decider: Decider,
    },
    /// Another subscription would have done.
    SmallerCap {
        /// Its engine.
        engine: String,
        /// Its requests a week.
        weekly_cap: u32,
    },
    /// It is better than what failed.
    Escalated {
        /// The engine that failed.
        failed: String,
    },
    /// The order was let go without code.
    CodeRelaxed,
    /// All have failed it.
    Again,
}

impl fmt::Display for Decider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bias => f.write_str("policy prefers it"),
            Self::Economy(own, other) => write!(f, "{} before {}", own.label(), other.label()),
            Self::Tier => f.write_str("its tier is nearer"),
            Self::Chance => f.write_str("its p is higher"),
            Self::Latency => f.write_str("it answers faster"),
            Self::Rank => f.write_str("it is ranked before"),
            Self::Name => f.write_str("its name comes first"),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TiedOnPrice { with, decider } => {
                write!(f, "tied on price with {with}, {decider}")
            }
            Self::SmallerCap { engine, weekly_cap } => {
                write!(f, "preferred over a smaller cap ({engine} {weekly_cap}/wk)")
            }
            Self::Escalated { failed } => write!(f, "escalated: it beats {failed}"),
            Self::CodeRelaxed => {
                f.write_str("code not asked for: no engine could take it with that")
            }
            Self::Again => f.write_str("retried: all of them failed it, the likeliest tries again"),
        }
    }
}

/// `qwen: free, p 0.78 for docs >= 0.70, cheapest sufficient; tied on price with glm, its tier is nearer`.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { engine, price, chance, work, threshold, .. } = self;
        let threshold = Chance::from(*threshold);
        write!(f, "{engine}: {price}, p {chance} for {}", work.label())?;
        match self.verdict {
            Verdict::CheapestSufficient => write!(f, " >= {threshold}, cheapest sufficient")?,
            Verdict::LikeliestAgain => f.write_str(HIGHEST)?,
            Verdict::Highest { floor } => {
                write!(f, "{HIGHEST} (none reach {threshold}")?;
                if let Some(floor) = floor {
                    write!(f, " and beat {floor} of the engine that failed")?;
                }
                f.write_str(")")?;
            }
        }
        self.notes.iter().try_for_each(|note| write!(f, "; {note}"))
    }
}

const HIGHEST: &str = ", the highest of the engines that can do it";

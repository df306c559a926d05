//! dispatch: something billable is about to be handed to an engine.

use serde::{Deserialize, Serialize};

use super::{BudgetFact, Name, TurnKind, TurnTier};
use crate::bytes::Bytes16;
use crate::codes::codes;
use crate::cost::Cost;
use crate::ids::Digest;
use crate::money::Pico;

codes! {
    /// What a dispatch is for.
    Purpose {
        /// A turn.
        Turn = 1 "turn",
        /// An order.
        Order = 2 "order",
        /// To see whether an engine works.
        Probe = 3 "probe",
        /// To see whether an engine works well.
        Canary = 4 "canary",
        /// To judge work.
        Judge = 5 "judge",
        /// To label work.
        Label = 6 "label",
        /// To sum up.
        Digest = 7 "digest",
    }
}

codes! {
    /// How long what is written to a prompt cache is kept.
    CacheTtl {
        /// Five minutes after its last use.
        FiveMinutes = 1 "5m",
        /// An hour after its last use.
        OneHour = 2 "1h",
    }
}

codes! {
    /// How an engine came to be chosen.
    Choice {
        /// It stands first among those that can take the turn.
        First = 1 "first",
        /// What its cache holds is worth more than going elsewhere.
        Stayed = 2 "stayed",
        /// Another's cache is warm, and going elsewhere is worth more.
        Switched = 3 "switched",
        /// It is the cheapest, and the first would not fit a budget.
        Downgraded = 4 "downgraded",
        /// Every engine that could take the turn is cooling off: it is tried all the same.
        LastEligible = 5 "last_eligible",
    }
}

codes! {
    /// How much was reserved, and why so much.
    ReserveBasis {
        /// What is expected.
        Expected = 1 "expected",
        /// More than it can come to.
        Ceiling = 2 "ceiling",
        /// Its price is not known: what policy states for such turns.
        Stated = 3 "stated",
        /// The engine is one's own: it is free.
        Local = 4 "local",
        /// Its price is not known, and no budget asks for it.
        Unknown = 5 "unknown",
    }
}

codes! {
    /// Why an engine cannot take a turn.
    Exclusion {
        /// It failed this turn already.
        FailedThisTurn = 1 "failed_this_turn",
        /// The prompt does not fit.
        ContextTooSmall = 2 "context_too_small",
        /// A budget applies and its price is not known.
        PriceUnknown = 3 "price_unknown",
        /// What it would take is more than a budget has left.
        OverBudget = 4 "over_budget",
        /// Policy denies it, or it is a kind of engine that is never selected.
        Denylisted = 5 "denylisted",
        /// Policy allows others only.
        NotAllowlisted = 6 "not_allowlisted",
        /// It is free, and policy leaves such engines out.
        FreeTierExcluded = 7 "free_tier_excluded",
        /// The turn offers tools, and it takes none.
        NoToolSupport = 8 "no_tool_support",
        /// The turn holds images, and it takes none.
        NoImageSupport = 9 "no_image_support",
        /// It is not known to be good enough for the tier.
        BelowQualityFloor = 10 "below_quality_floor",
        /// It is dearer than the tier may be.
        OverPriceCeiling = 11 "over_price_ceiling",
        /// It fails too often.
        Untrusted = 12 "untrusted",
        /// It takes too long.
        OverLatencyCeiling = 13 "over_latency_ceiling",
        /// There is no key for its upstream.
        NoCredential = 14 "no_credential",
        /// It failed a moment ago.
        CoolingOff = 15 "cooling_off",
    }
}

/// Money set aside for a dispatch until it is settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reservation {
    /// Why so much.
    pub basis: ReserveBasis,
    /// How much; `None` where nobody knows and no budget asks.
    pub amount: Option<Pico>,
}

/// What an engine's turn is expected to cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forecast {
    /// Prompt tokens expected to be read from a cache.
    pub cache_read: u32,
    /// True when the provider does not say what its cache holds: it is taken to hold what was sent last.
    pub cache_estimated: bool,
    /// Answer tokens expected, reasoning included.
    pub output: u32,
    /// The turn, with what is expected to be warm.
    pub expected: Cost,
    /// The turn, with nothing warm.
    pub cold: Cost,
    /// More than the turn can come to.
    pub ceiling: Cost,
}

codes! {
    /// How a turn's kind was told.
    ClassSource {
        /// By its features.
        Heuristic = 1 "heuristic",
        /// Its client states it.
        Stated = 2 "stated",
    }
}

/// What kind of work a turn is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Class {
    /// The kind.
    pub kind: TurnKind,
    /// How hard, in thousandths of 0 to 1.
    pub score: u16,
    /// How far from the nearest border of its tier, in thousandths: 1,000 is as far as can be.
    pub confidence: u16,
    /// Terms of the score that are not known.
    pub unknown_terms: u8,
    /// How it was told.
    pub source: ClassSource,
}

codes! {
    /// Why a turn is looked after at another tier than it asks for.
    TierReason {
        /// Its profile knows no such tier.
        Profile = 1 "profile",
        /// Its lane is held at the tier it was served at.
        Held = 2 "held",
        /// A lane goes down by so many tiers at once.
        MaxDowngrade = 3 "max_downgrade",
        /// A harder tier that is not certain has to be asked for twice.
        UpgradeDeferred = 4 "upgrade_deferred",
        /// To see how an easier tier does.
        Explored = 5 "explored",
        /// No engine of the tier can take it.
        Widened = 6 "widened",
        /// Its lane stays where it is while tools run.
        ToolLoop = 7 "tool_loop",
        /// A budget has no more room for it.
        Downgraded = 8 "downgraded",
    }
}

/// A draw that decided something, so that what was learned of it can be weighed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draw {
    /// What was drawn, of 2^32.
    pub drawn: u32,
    /// Below how much the turn explores, of 2^32.
    pub below: u32,
    /// The chance of what came of it, in thousandths.
    pub propensity: u16,
}

/// One of the engines that could have taken a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm<'a> {
    /// The engine.
    #[serde(borrow)]
    pub engine: Name<'a>,
    /// The chance that it does it well, in thousandths.
    pub chance: u16,
    /// How good it is said to be on the axis that counts, in tenths of a point; `None`: nobody says.
    pub quality: Option<u16>,
    /// This turn.
    pub expected: Cost,
    /// This turn and those to come, as far as the horizon goes.
    pub horizon: Cost,
    /// Why it could not take it after all.
    pub excluded: Option<Exclusion>,
}

/// Who made a decision: the same versions make it again, byte for byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeBy {
    /// Version of the rules of deciding.
    pub decide: u16,
    /// Version of the folds they read.
    pub world: u16,
    /// Digest of the policy they were given.
    pub policy: Bytes16,
}

/// How many engines were excluded for a reason.
pub type ExclusionCount = (Exclusion, u16);

/// One attempt to hand something billable to an engine. The subject is the turn or order;
/// (subject, attempt) names the dispatch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispatch<'a> {
    /// What for.
    pub purpose: Purpose,
    /// Attempts before this one.
    pub attempt: u16,
    /// The engine.
    #[serde(borrow)]
    pub engine: Name<'a>,
    /// How it came to be chosen.
    pub choice: Choice,
    /// What the turn is taken for.
    pub class: Class,
    /// The tier it is served at.
    pub tier: TurnTier,
    /// Why it is served at another tier than it asks for, in the order it came about.
    pub moved: Vec<TierReason>,
    /// The draw on whether to explore, where policy explores.
    pub draw: Option<Draw>,
    /// Filters that were lifted because nothing passed them: 0 none, 1 price ceilings, 2 quality floors too, 3 trust and
    /// latency too.
    pub relaxed: u8,
    /// True where only engines that cool off passed the rest.
    pub despite_cool_off: bool,
    /// Its prompt, estimated, in tokens.
    pub prompt_tokens: u32,
    /// How long its cache writes are to be kept.
    pub cache_ttl: CacheTtl,
    /// The longest answer it is asked for, in tokens.
    pub max_output: u32,
    /// What is set aside for it.
    pub reserved: Reservation,
    /// What it is expected to cost.
    pub forecast: Forecast,
    /// The engine the lane's last turn was served by, while something is warm there.
    pub warm: Option<Name<'a>>,
    /// The chosen engine, then others in order of preference: at most 12, fewer where names are long.
    pub arms: Vec<Arm<'a>>,
    /// Engines that were looked at.
    pub looked_at: u16,
    /// How many engines were excluded, by reason.
    pub excluded: Vec<ExclusionCount>,
    /// The budgets with the least left, at most 4.
    pub budgets: Vec<BudgetFact<'a>>,
    /// Who decided.
    pub made_by: MadeBy,
    /// Digest of the whole decision record.
    pub record: Digest,
}

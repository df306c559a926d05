//! Who takes turns, and by what they are chosen.

use std::collections::BTreeMap;

use events::money::Pico;
use events::payload::{CacheTtl, Quality, Task, TurnKind, TurnTier};
use serde::Serialize;

use crate::profiles::{Class, Strength};
use crate::quality::Axis;

/// How much is set aside for a dispatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Reserve {
    /// What is expected. Turns that go on at once may together come to more than a limit.
    #[default]
    Expected,
    /// More than it can come to: with known prices and honest usage no limit is ever exceeded.
    Ceiling,
}

/// Thousandths: 1,300 is 1.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Permille(pub u32);

impl Permille {
    /// 1.
    pub const ONE: Self = Self(1_000);
    /// 0.
    pub const ZERO: Self = Self(0);
}

/// What engines are chosen by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Objective {
    /// The cheapest of those that will most likely do it well.
    #[default]
    CheapestSufficient,
    /// Quality to the power of the tier's exponent, over what it costs.
    SeedScore,
    /// The first of a list.
    Ordered,
    /// What doing it well is worth, less what it costs.
    Value,
}

/// Whether a lane may go to another engine between a tool call and its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum ToolLoops {
    /// It stays where it is until somebody says something new.
    #[default]
    Stay,
    /// It may, where it pays.
    Free,
}

/// What a tier asks of engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TierRules {
    /// The least quality, in tenths of a point of 0 to 100.
    pub min_quality: u16,
    /// The most a million prompt tokens may cost; `None`: the objective's own.
    pub max_input: Option<Pico>,
    /// The most a million answer tokens may cost.
    pub max_output: Option<Pico>,
    /// How much quality counts under `seed-score`.
    pub quality_exponent: u8,
}

/// What a kind of work asks of engines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskRules {
    /// The scale its engines are compared on; `None`: coding for code, else intelligence.
    pub axis: Option<Axis>,
    /// The least quality whatever the tier, in tenths of a point.
    pub min_quality: Option<u16>,
    /// Engines that are preferred, best first, as patterns: the floors do not hold for them.
    pub prefer: Vec<String>,
}

/// A figure by kind of turn. The nearest counts: task and tier, then task, then tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ByKind<T> {
    figures: BTreeMap<(Option<Task>, Option<TurnTier>), T>,
}

impl<T> Default for ByKind<T> {
    fn default() -> Self {
        Self { figures: BTreeMap::new() }
    }
}

impl<T: Copy> ByKind<T> {
    /// States a figure for a task, a tier, or both.
    pub fn state(&mut self, task: Option<Task>, tier: Option<TurnTier>, figure: T) {
        self.figures.insert((task, tier), figure);
    }

    /// The figure for a kind.
    #[must_use]
    pub fn of(&self, kind: TurnKind) -> Option<T> {
        let (task, tier) = (Some(kind.task), Some(kind.tier));
        let nearest = [(task, tier), (task, None), (None, tier)];
        nearest.iter().find_map(|key| self.figures.get(key)).copied()
    }

    /// Every figure that is stated.
    pub fn figures(&self) -> impl Iterator<Item = T> {
        self.figures.values().copied()
    }
}

/// Which turns easier tiers are tried with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum ExploreWhen {
    /// Those whose lane is not held.
    #[default]
    NotHeld,
    /// Those too whose lane is held, where nothing is warm.
    ColdCache,
    /// All.
    Always,
}

/// When easier tiers are tried, to see how they do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Explore {
    /// The share of turns of each tier, in thousandths.
    pub rates: [u16; 4],
    /// With which turns.
    pub when: ExploreWhen,
}

/// How engines are judged by what they did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TrustRules {
    /// Engines that served a smaller share are left out.
    pub min: Permille,
    /// Attempts before anything is said of an engine.
    pub min_attempts: u32,
    /// A person's word counts for so many attempts.
    pub feedback_weight: Permille,
    /// Whether only words on the same kind of work count.
    pub feedback_by_task: bool,
    /// Whether each harness has an experience of its own.
    pub by_harness: bool,
}

/// How waiting counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LatencyRules {
    /// Engines with a longer expected wait are left out, in milliseconds.
    pub max_wait_ms: Option<u32>,
    /// How much waiting beyond the reference counts under `seed-score`.
    pub weight: Permille,
    /// The same while tools run; `None`: the same.
    pub weight_in_loops: Option<Permille>,
    /// First token of a reference engine, in milliseconds.
    pub reference_ms: u32,
    /// Its tokens a second.
    pub reference_tokens_per_s: u32,
    /// Answers before anything is said of an engine.
    pub min_samples: u32,
}

/// How fast a lane goes up and down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HoldRules {
    /// A harder tier with less confidence has to be asked for twice; zero: never.
    pub confirm_below: Permille,
    /// Tiers a lane goes down by at once.
    pub max_downgrade: u8,
    /// What failures and repeated calls weigh while tools run.
    pub mechanical_retry_factor: Permille,
    /// Whether tool results may go below the tier a lane is held at.
    pub break_on_mechanical: bool,
}

/// What people know of an engine that lists do not say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EngineFacts {
    /// Whether it takes tools.
    pub tools: Option<bool>,
    /// Whether it takes images.
    pub images: Option<bool>,
    /// Longest prompt and answer together, in tokens.
    pub context: Option<u32>,
    /// Longest answer, in tokens.
    pub output: Option<u32>,
    /// How good it is, in tenths of a point.
    pub quality: Quality,
    /// How large it is.
    pub class: Option<Class>,
    /// What it is good at.
    pub strengths: Vec<Strength>,
}

/// Who takes turns, and how they are weighed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Routing {
    /// What engines are chosen by.
    pub objective: Objective,
    /// The engines, best first; none: all of the upstreams'.
    pub engines: Vec<String>,
    /// The upstreams whose engines take turns, where no engines are named.
    pub upstreams: Vec<String>,
    /// Patterns: no other engine takes turns; none: all do.
    pub allow: Vec<String>,
    /// Patterns: no such engine takes turns.
    pub deny: Vec<String>,
    /// Whether engines take turns that cost nothing.
    pub include_free: bool,
    /// Upstreams of one's own (`ollama` of `ollama/qwen3`): what runs there is free.
    pub local: Vec<String>,
    /// How much is set aside.
    pub reserve: Reserve,
    /// Turns a switch has to pay off in.
    pub horizon_turns: u32,
    /// Staying has to cost this many times as much as a switch before there is one.
    pub switch_margin: Permille,
    /// Whether a lane may move while tools run.
    pub tool_loops: ToolLoops,
    /// The longest answer asked for where the client does not say, in tokens.
    pub max_output_tokens: u32,
    /// How many times the prompt a context has to hold.
    pub context_headroom: Permille,
    /// What is set aside for a turn whose price is not known, where a budget applies; `None`: it is refused.
    pub unknown_price: Option<Pico>,
    /// How long cache writes are to be kept; `None`: whichever pays.
    pub cache_ttl: Option<CacheTtl>,
    /// Least quality with tools where an engine states how good it is with them, in tenths of a point.
    pub min_agentic_for_tools: u16,
    /// What tiers ask of engines, the easiest first.
    pub tiers: [TierRules; 4],
    /// Whether floors come down where too few engines reach them.
    pub adaptive_floors: bool,
    /// Whether price ceilings follow what there is.
    pub adaptive_ceilings: bool,
    /// Whether `seed-score` measures quality between the worst and the best that could take the turn, as `value` always
    /// does.
    pub normalise_quality: bool,
    /// What tasks ask of engines.
    pub tasks: BTreeMap<Task, TaskRules>,
    /// The least chance of doing it well, in thousandths.
    pub thresholds: ByKind<u16>,
    /// What doing it well is worth.
    pub value: ByKind<Pico>,
    /// Who goes first of those that come to the same: patterns, each with -100 to 100.
    pub bias: Vec<(String, i8)>,
    /// What upstreams count as costing, times what they cost: what one is worth that no price says.
    pub cost_bias: BTreeMap<String, Permille>,
    /// How engines are judged.
    pub trust: TrustRules,
    /// How waiting counts.
    pub latency: LatencyRules,
    /// How fast a lane moves.
    pub hold: HoldRules,
    /// What is tried.
    pub explore: Explore,
    /// What people know of engines.
    pub facts: BTreeMap<String, EngineFacts>,
}

/// Tenths of a point: floors of the four tiers (router facts 3.6).
const MIN_QUALITY: [u16; 4] = [0, 400, 600, 720];
/// What quality counts in the four tiers.
const QUALITY_EXPONENT: [u8; 4] = [0, 0, 1, 3];

impl Default for Routing {
    fn default() -> Self {
        let tier = |index: usize| TierRules {
            min_quality: MIN_QUALITY[index],
            max_input: None,
            max_output: None,
            quality_exponent: QUALITY_EXPONENT[index],
        };
        Self {
            objective: Objective::default(),
            engines: Vec::new(),
            upstreams: Vec::new(),
            allow: Vec::new(),
            deny: Vec::new(),
            include_free: false,
            local: Vec::new(),
            reserve: Reserve::default(),
            horizon_turns: 8,
            switch_margin: Permille(1_300),
            tool_loops: ToolLoops::default(),
            max_output_tokens: 32_000,
            context_headroom: Permille(1_250),
            unknown_price: None,
            cache_ttl: None,
            min_agentic_for_tools: 250,
            tiers: std::array::from_fn(tier),
            adaptive_floors: true,
            adaptive_ceilings: false,
            normalise_quality: false,
            tasks: BTreeMap::new(),
            thresholds: ByKind::default(),
            value: ByKind::default(),
            bias: Vec::new(),
            cost_bias: BTreeMap::new(),
            trust: TrustRules {
                min: Permille(700),
                min_attempts: 12,
                feedback_weight: Permille::ZERO,
                feedback_by_task: false,
                by_harness: false,
            },
            latency: LatencyRules {
                max_wait_ms: None,
                weight: Permille::ZERO,
                weight_in_loops: None,
                reference_ms: 5_000,
                reference_tokens_per_s: 30,
                min_samples: 20,
            },
            hold: HoldRules {
                confirm_below: Permille(600),
                max_downgrade: 1,
                mechanical_retry_factor: Permille(200),
                break_on_mechanical: true,
            },
            explore: Explore::default(),
            facts: BTreeMap::new(),
        }
    }
}

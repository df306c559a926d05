//! How hard a turn is, and what kind of work: a score of named terms (router facts 1.4 and 2.1).

use events::payload::{Class, ClassSource, Effort, Features, Keywords, Task, TurnKind, TurnTier};

use crate::features::{asks_for_data, asks_for_documents, complexity, triviality};
use crate::policy::Permille;
use crate::tokens::PromptTokens;
use crate::work::{Size, Work};

/// Where every score begins, in thousandths.
const BASE: i32 = 300;
/// The first score of each tier above the easiest, in thousandths.
const BORDERS: [i32; 3] = [250, 500, 750];
/// A score this far from a border is certain.
const CERTAIN: i32 = 125;
/// Messages from which on a tool loop runs by itself.
const AUTONOMOUS_DEPTH: i32 = 3;

/// What a score is made of, besides where it begins.
pub const TERMS: [&str; 17] = [
    "tool results",
    "complexity keywords",
    "triviality keywords",
    "last tool failed",
    "circular calls",
    "reasoning asked for",
    "terse instruction",
    "code blocks",
    "diff",
    "questions",
    "new content",
    "conversation depth",
    "tool loop",
    "autonomous loop",
    "new image",
    "tools on offer",
    "read-only tools",
];

/// What a term adds, in thousandths; `None`: what it looks at is not known, so it adds nothing.
pub type Terms = [Option<i32>; TERMS.len()];

/// What the terms weigh that people may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// What failures and repeated calls weigh while tools run.
    pub mechanical_retry_factor: Permille,
}

/// The terms of a turn's score.
#[must_use]
pub fn terms(features: &Features, tokens: PromptTokens, weights: Weights) -> Terms {
    let f = features;
    let yes = |known: Option<bool>, delta: i32| Some(if known? { delta } else { 0 });
    let each = |count: Option<u32>, delta: i32, cap: i32| {
        let all = i32::try_from(count?).unwrap_or(i32::MAX).saturating_mul(delta);
        Some(if delta < 0 { all.max(cap) } else { all.min(cap) })
    };
    // What only repeats by itself while tools run needs no better engine.
    let damped = |delta: i32| {
        let factor = i32::try_from(weights.mechanical_retry_factor.0).unwrap_or(1_000);
        if f.continues == Some(true) { delta * factor / 1_000 } else { delta }
    };
    let counted = |counts: fn(Keywords) -> u32| f.keywords.map(counts);
    let loops = f.loop_depth.map(u32::from);
    [
        yes(f.continues, -280),
        each(counted(complexity), 100, 300),
        each(counted(triviality), -90, -270),
        yes(f.tool_failed, damped(260)),
        yes(f.circular_call, damped(240)),
        f.effort.map(reasoning),
        yes(f.terse, -100),
        each(f.code_blocks.map(u32::from), 40, 80),
        yes(f.diff, 50),
        each(f.questions.map(u32::from), 30, 60),
        tokens.new.map(new_content),
        each(f.depth, 4, 80),
        each(loops, -8, -60),
        loops.map(autonomous),
        yes(f.new_image, 40),
        f.tools.map(|tools| if tools > 0 { 30 } else { 0 }),
        // Known to be so and weighing nothing, until somebody finds that it should.
        yes(f.read_only_tail, 0),
    ]
}

const fn reasoning(effort: Effort) -> i32 {
    match effort {
        Effort::Unasked | Effort::Off | Effort::Minimal | Effort::Low => 0,
        Effort::Medium => 140,
        Effort::High => 240,
        Effort::XHigh => 300,
        Effort::Max => 340,
    }
}

const fn new_content(tokens: u32) -> i32 {
    match tokens {
        ..=2_000 => 0,
        2_001..=8_000 => 50,
        _ => 100,
    }
}

fn autonomous(depth: u32) -> i32 {
    let depth = i32::try_from(depth).unwrap_or(i32::MAX);
    if depth < AUTONOMOUS_DEPTH {
        return 0;
    }
    (depth - AUTONOMOUS_DEPTH).saturating_mul(18).saturating_add(60).min(450)
}

/// A turn's class. What its client states goes before what its features tell.
#[must_use]
pub fn classify(
    features: &Features,
    tokens: PromptTokens,
    stated: Option<TurnKind>,
    weights: Weights,
) -> Class {
    let terms = terms(features, tokens, weights);
    let score = (BASE + terms.iter().flatten().sum::<i32>()).clamp(0, 1_000);
    let unknown = terms.iter().filter(|term| term.is_none()).count();
    let told = TurnKind { task: task(features), tier: tier(score) };
    Class {
        kind: stated.unwrap_or(told),
        score: u16::try_from(score).unwrap_or(0),
        confidence: if stated.is_some() { 1_000 } else { confidence(score, unknown) },
        unknown_terms: u8::try_from(unknown).unwrap_or(u8::MAX),
        source: if stated.is_some() { ClassSource::Stated } else { ClassSource::Heuristic },
    }
}

fn tier(score: i32) -> TurnTier {
    match BORDERS.iter().filter(|border| score >= **border).count() {
        0 => TurnTier::Trivial,
        1 => TurnTier::Simple,
        2 => TurnTier::Moderate,
        _ => TurnTier::Hard,
    }
}

/// How far the nearest border is, less the share of terms that are not known.
fn confidence(score: i32, unknown: usize) -> u16 {
    let nearest = BORDERS.iter().map(|border| (score - border).abs()).min().unwrap_or(CERTAIN);
    let certain = usize::try_from(nearest.min(CERTAIN) * 1_000 / CERTAIN).unwrap_or(0);
    u16::try_from(certain * (TERMS.len() - unknown) / TERMS.len()).unwrap_or(0)
}

/// The kind of work: the first that fits.
fn task(features: &Features) -> Task {
    let some = |count: Option<u16>| count.is_some_and(|count| count > 0);
    let keywords = features.keywords.unwrap_or_default();
    if features.new_image == Some(true) {
        Task::Vision
    } else if some(features.code_blocks)
        || features.diff == Some(true)
        || some(features.loop_depth)
        || some(features.tools)
    {
        Task::Coding
    } else if asks_for_data(keywords) {
        Task::Data
    } else if asks_for_documents(keywords) {
        Task::Documentation
    } else {
        Task::Chat
    }
}

/// What engines' profiles know a kind of turn as. Anything that does a chore well does a trivial turn; harder tiers are
/// the task's own work, the larger the harder.
#[must_use]
pub const fn work_of(kind: TurnKind) -> (Work, Size) {
    let work = match kind.task {
        Task::Coding => Work::CodeChange,
        Task::Data => Work::Research,
        Task::Documentation => Work::Docs,
        Task::Chat | Task::Vision => Work::Other,
    };
    match kind.tier {
        TurnTier::Trivial => (Work::Chore, Size::Small),
        TurnTier::Simple => (work, Size::Small),
        TurnTier::Moderate => (work, Size::Medium),
        TurnTier::Hard => (work, Size::Large),
    }
}

/// True when a turn asks for more by itself, so that nobody has to ask twice (router facts 5.3).
#[must_use]
pub fn has_hard_signal(features: &Features) -> bool {
    let yes = |known: Option<bool>| known == Some(true);
    yes(features.tool_failed)
        || yes(features.circular_call)
        || yes(features.repeated_call)
        || features.effort.is_some_and(|effort| effort >= Effort::High)
}

#[cfg(test)]
mod tests;

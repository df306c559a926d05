//! A decision with everything it looked at, for people and programs to read.

use std::collections::BTreeMap;

use events::cost::Cost;
use events::payload::{Exclusion, TierReason};
use projections::classify::TERMS;
use projections::decide::{Candidate, Decision, Making, Weighing};
use serde::Serialize;

use crate::dates::instant;

/// One term of a turn's score: `0.05`, `-0.28`, or `None` where it is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Term {
    /// What it looks at.
    pub name: &'static str,
    /// What it adds; `None`: what it looks at is not known, so it adds nothing.
    pub adds: Option<String>,
}

/// One engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Engine {
    /// Its name.
    pub engine: String,
    /// Why it cannot take the turn.
    pub excluded: Option<&'static str>,
    /// Its place among those that were weighed, the best first, from 1.
    pub place: Option<usize>,
    /// The chance that it does it well.
    pub chance: String,
    /// What that chance begins with.
    pub prior: String,
    /// Labels for it and against it, faded: counts with three decimals.
    pub labels: (String, String),
    /// How good it is on the axis of the floors, 0 to 100.
    pub quality: Option<String>,
    /// How good it is on the axis engines are ranked on.
    pub rank_quality: Option<String>,
    /// The chance of being served.
    pub trust: String,
    /// How long it is expected to take, in milliseconds.
    pub wait_ms: Option<u32>,
    /// The prompt as it sees it.
    pub prompt_tokens: u32,
    /// The answer that is expected.
    pub answer_tokens: u32,
    /// The turn with nothing warm.
    pub cold: Figure,
    /// The turn with its cache as it is, where it was weighed.
    pub expected: Option<Figure>,
    /// The turn and those to follow, where it was weighed.
    pub horizon: Option<Figure>,
    /// What would be set aside, where it was weighed.
    pub reserved_usd: Option<String>,
}

/// An amount that may be known in part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Figure {
    /// What is known of it.
    pub usd: String,
    /// True when a part is not known.
    pub at_least: bool,
}

impl From<Cost> for Figure {
    fn from(cost: Cost) -> Self {
        Self { usd: cost.known.to_string(), at_least: cost.incomplete }
    }
}

/// A budget that stands in the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Exceeded {
    /// Its name.
    pub name: String,
    /// What its money is counted for.
    pub scope: &'static str,
    /// Its limit.
    pub limit_usd: String,
    /// What was spent.
    pub spent_usd: String,
    /// What is set aside.
    pub reserved_usd: String,
    /// What the cheapest engine would have needed.
    pub needed_usd: Option<String>,
    /// When there is room again.
    pub resets_at: Option<String>,
}

/// A decision with everything it looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Considered {
    /// `dispatched`, or why not.
    pub outcome: String,
    /// The engine it went to.
    pub engine: Option<String>,
    /// How that came to be chosen.
    pub choice: Option<&'static str>,
    /// What the turn was taken for.
    pub task: &'static str,
    /// The tier it asked for.
    pub asked_tier: &'static str,
    /// The tier it is served at.
    pub tier: &'static str,
    /// Why that is another.
    pub moved: Vec<&'static str>,
    /// How far filters were lifted: 0 none, 1 price ceilings, 2 quality floors too, 3 trust and latency too.
    pub relaxed: u8,
    /// True where only engines that cool off passed the rest.
    pub despite_cool_off: bool,
    /// How hard, 0 to 1.
    pub score: String,
    /// How certain that is, 0 to 1.
    pub confidence: String,
    /// What the score is made of, besides 0.30 it begins with.
    pub terms: Vec<Term>,
    /// What profiles of models know such work as, and its size.
    pub work: (&'static str, &'static str),
    /// The least chance of doing it well.
    pub threshold: String,
    /// The scale of the floors, and the one engines are ranked on.
    pub axes: (&'static str, &'static str),
    /// The prompt.
    pub prompt_tokens: u32,
    /// What is new at its end.
    pub new_tokens: Option<u32>,
    /// The draw on whether to explore: what was drawn, below what it explores, of 2^32.
    pub draw: Option<(u32, u32)>,
    /// How the class was told: by features, or as stated.
    pub told_by: &'static str,
    /// The least quality at the tier it is served at, 0 to 100.
    pub floor: String,
    /// The budget that is exceeded, where that is why nothing may be dispatched.
    pub budget: Option<Exceeded>,
    /// Every engine: those that were weighed first, in order of preference, then by name.
    pub engines: Vec<Engine>,
    /// How many are excluded, by reason.
    pub excluded: BTreeMap<&'static str, usize>,
}

impl Considered {
    /// Everything a decision looked at.
    #[must_use]
    pub fn new(decision: &Decision<'_>, making: &Making<'_>) -> Self {
        let (asking, class) = (&making.asking, making.asking.class());
        let budget = match decision {
            Decision::Refusal(refusal) => refusal.budget.map(|budget| Exceeded {
                name: budget.name.as_str().to_owned(),
                scope: budget.scope.label(),
                limit_usd: budget.limit.to_string(),
                spent_usd: budget.spent.known.to_string(),
                reserved_usd: budget.reserved.known.to_string(),
                needed_usd: refusal.needed.map(|needed| needed.to_string()),
                resets_at: budget.resets_at.map(instant),
            }),
            Decision::Dispatch(_) => None,
        };
        let (outcome, engine, choice) = match decision {
            Decision::Dispatch(dispatch) => (
                "dispatched".to_owned(),
                Some(dispatch.engine.as_str().to_owned()),
                Some(dispatch.choice.label()),
            ),
            Decision::Refusal(refusal) => (refusal.reason.label().to_owned(), None, None),
        };
        let (work, size) = asking.work();
        let (axis, rank_axis) = asking.axes();
        let tokens = asking.prompt_tokens();
        let mut excluded = BTreeMap::new();
        for exclusion in making.exclusions.iter().flatten() {
            *excluded.entry(Exclusion::label(*exclusion)).or_default() += 1;
        }
        Self {
            outcome,
            engine,
            choice,
            task: class.kind.task.label(),
            asked_tier: class.kind.tier.label(),
            tier: making.tiering.tier.label(),
            moved: making.tiering.moved.iter().map(|moved| TierReason::label(*moved)).collect(),
            relaxed: making.lifted.filters as u8,
            despite_cool_off: making.lifted.cool_offs,
            score: thousandths(class.score.into()),
            confidence: thousandths(class.confidence.into()),
            terms: TERMS
                .iter()
                .zip(asking.terms())
                .map(|(name, adds)| Term { name, adds: adds.map(|adds| thousandths(adds.into())) })
                .collect(),
            work: (work.label(), size.label()),
            threshold: thousandths(asking.threshold().into()),
            axes: (axis.label(), rank_axis.label()),
            prompt_tokens: tokens.prompt,
            new_tokens: tokens.new,
            draw: making.tiering.draw.map(|draw| (draw.drawn, draw.below)),
            told_by: class.source.label(),
            floor: tenths(making.floor()),
            budget,
            engines: engines(making),
            excluded,
        }
    }

    /// The engines that can take the turn.
    pub fn viable(&self) -> impl Iterator<Item = &Engine> {
        self.engines.iter().filter(|engine| engine.excluded.is_none())
    }
}

fn engines(making: &Making<'_>) -> Vec<Engine> {
    let place = |index: usize| making.weighed.iter().position(|of| of.index == index);
    let mut engines: Vec<Engine> = (0..making.candidates.len())
        .map(|index| {
            let place = place(index);
            let weighed = place.and_then(|place| making.weighed.get(place));
            let excluded = making.exclusions.get(index).copied().flatten();
            engine(&making.candidates[index], excluded, weighed.zip(place))
        })
        .collect();
    engines.sort_by(|a, b| {
        let key = |engine: &Engine| {
            (engine.excluded.is_some(), engine.place.unwrap_or(usize::MAX), engine.engine.clone())
        };
        key(a).cmp(&key(b))
    });
    engines
}

fn engine(
    candidate: &Candidate<'_>,
    excluded: Option<Exclusion>,
    weighed: Option<(&Weighing<'_>, usize)>,
) -> Engine {
    let (verified, refuted) = candidate.labels;
    let of = |figure: fn(&Weighing<'_>) -> Cost| weighed.map(|(of, _)| Figure::from(figure(of)));
    let reserved = weighed.and_then(|(of, _)| of.reservation.amount);
    Engine {
        engine: candidate.offer.name.clone(),
        excluded: excluded.map(Exclusion::label),
        place: weighed.map(|(_, place)| place + 1),
        chance: thousandths(candidate.chance.thousandths().into()),
        prior: candidate.offer.prior_from.clone(),
        labels: (counted(verified), counted(refuted)),
        quality: candidate.quality.map(tenths),
        rank_quality: candidate.rank_quality.map(tenths),
        trust: thousandths(candidate.trust.into()),
        wait_ms: candidate.wait_ms,
        prompt_tokens: candidate.prompt,
        answer_tokens: candidate.answer.output,
        cold: candidate.cold.into(),
        expected: of(|of| of.weighed.expected),
        horizon: of(|of| of.weighed.horizon),
        reserved_usd: reserved.map(|amount| amount.to_string()),
    }
}

fn tenths(score: u16) -> String {
    format!("{}.{}", score / 10, score % 10)
}

fn counted(thousandths: u64) -> String {
    format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000)
}

/// `-280` as `-0.28`, `50` as `0.05`.
fn thousandths(of: i64) -> String {
    let sign = if of < 0 { "-" } else { "" };
    let whole = format!("{sign}{}.{:03}", of.abs() / 1_000, of.abs() % 1_000);
    whole.strip_suffix('0').map_or_else(|| whole.clone(), str::to_owned)
}

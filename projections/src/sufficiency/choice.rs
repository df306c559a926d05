//! The choice among engines that may take an order.

use std::cmp::{Ordering, Reverse};

use events::money::Pico;
use serde::Serialize;

use super::price::{CallPrice, Economy};
use super::reason::{Note, Reason, Verdict};
use crate::estimates::Chance;
use crate::profiles::Milli;
use crate::work::Work;

/// What work an engine is trusted with, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tier {
    /// Small upkeep; all that a demoted engine gets.
    Chore,
    /// Orders.
    Build,
    /// Judging what others did, and planning.
    Judge,
}

/// How far an engine's tier is from the one an order should have: a plan should have a judge, any other order the
/// wanted tier. No engine below the wanted tier should be asked about.
#[must_use]
pub const fn tier_distance(work: Work, tier: Tier, wanted: Tier) -> u8 {
    match work {
        Work::Plan => Tier::Judge as u8 - tier as u8,
        _ => (tier as u8).saturating_sub(wanted as u8),
    }
}

/// What policy says for an engine, in thousandths: the greatest weight (-100 to 100) of the biases that match it, and
/// less than one more for its place (from 0) among the preferred: `(listed - place) / (listed + 1)`.
#[must_use]
pub fn bias(weights: &[i8], place: Option<u32>, listed: u32) -> i32 {
    let weight = weights.iter().copied().max().unwrap_or(0).clamp(-100, 100);
    let bonus = place.map_or(0, |place| {
        u64::from(listed.saturating_sub(place)) * 1_000 / (u64::from(listed) + 1)
    });
    i32::from(weight) * 1_000 + i32::try_from(bonus).unwrap_or_default()
}

/// An engine that may take the order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Arm {
    /// The engine's name.
    pub name: String,
    /// Where it is.
    pub machine: String,
    /// The chance that it does the work well.
    pub chance: Chance,
    /// What its call is held to cost.
    pub price: CallPrice,
    /// What policy says for it, in thousandths: see [`bias`].
    pub bias: i32,
    /// See [`tier_distance`].
    pub tier_distance: u8,
    /// How long its last answer took, in milliseconds.
    pub latency_ms: Option<u32>,
    /// Its place by rank.
    pub rank: u32,
}

/// The best of the engines that failed the order: who takes it next should be better.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Floor {
    /// Its name.
    pub engine: String,
    /// Its chance, as estimated now.
    pub chance: Chance,
}

/// What an order asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Terms {
    /// The kind of work.
    pub work: Work,
    /// The chance that is enough: see [`crate::estimates::threshold`].
    pub threshold: Milli,
    /// What failed it already.
    pub floor: Option<Floor>,
    /// It needs code, but no engine could have taken it with that.
    pub code_relaxed: bool,
    /// All engines that can do it have failed it: the likeliest tries again, whatever is enough.
    pub again: bool,
}

impl Terms {
    fn suffices(&self, arm: &Arm) -> bool {
        !self.again && arm.chance >= Chance::from(self.threshold) && self.is_beaten_by(arm)
    }

    fn is_beaten_by(&self, arm: &Arm) -> bool {
        self.floor.as_ref().is_none_or(|floor| arm.chance > floor.chance)
    }
}

/// What decided between two engines that are equal as far as it matters more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decider {
    /// Policy prefers it.
    Bias,
    /// It takes another kind of money.
    Economy(Economy, Economy),
    /// Its tier is nearer.
    Tier,
    /// It is likelier to do the work well, by half a hundredth or more.
    Chance,
    /// It answers faster.
    Latency,
    /// It is ranked before.
    Rank,
    /// Its name, machine, or else anything comes before.
    Name,
}

/// Who takes an order, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chosen {
    /// Its place among the arms.
    pub index: usize,
    /// Whether it is good enough.
    pub sufficient: bool,
    /// In words.
    pub reason: Reason,
}

/// Chooses who takes an order; `None` without arms. The order of the arms does not matter.
#[must_use]
pub fn choose(arms: &[Arm], terms: &Terms) -> Option<Chosen> {
    let all: Vec<&Arm> = arms.iter().collect();
    let picked = pick(&all, terms)?;
    let reason = reason(&picked, terms);
    Some(Chosen { index: picked.index, sufficient: picked.is_sufficient(), reason })
}

/// The places of all arms, in the order in which they are tried: each is chosen when those before it are gone.
#[must_use]
pub fn try_order(arms: &[Arm], terms: &Terms) -> Vec<usize> {
    let mut left: Vec<usize> = (0..arms.len()).collect();
    let mut order = Vec::with_capacity(arms.len());
    loop {
        let pool: Vec<&Arm> = left.iter().map(|index| &arms[*index]).collect();
        match pick(&pool, terms) {
            Some(picked) => order.push(left.remove(picked.index)),
            None => return order,
        }
    }
}

struct Picked<'a> {
    index: usize,
    winner: &'a Arm,
    /// Those that are good enough.
    sufficient: Vec<&'a Arm>,
    /// Those of them that cost about as little as the cheapest, best first.
    tied: Vec<&'a Arm>,
}

impl Picked<'_> {
    fn is_sufficient(&self) -> bool {
        !self.sufficient.is_empty()
    }
}

fn pick<'a>(arms: &[&'a Arm], terms: &Terms) -> Option<Picked<'a>> {
    let sufficient: Vec<&Arm> = arms.iter().copied().filter(|arm| terms.suffices(arm)).collect();
    let mut tied = Vec::new();
    let winner = if let Some(cheapest) = sufficient.iter().map(|arm| arm.price.amount).min() {
        let in_band = |arm: &&Arm| is_in_band(arm.price.amount, cheapest);
        tied.extend(sufficient.iter().copied().filter(in_band));
        tied.sort_by(|a, b| tie_break(a, b));
        *tied.first()?
    } else {
        likeliest(arms)?
    };
    let index = arms.iter().position(|arm| *arm == winner)?;
    Some(Picked { index, winner, sufficient, tied })
}

/// Chances this close are one, in millionths: .005.
const CHANCE_STEP: u32 = 5_000;
/// Prices this close to the cheapest are one, or those within a tenth of it if that is more: $0.0005.
const BAND_LEAST: Pico = Pico(500_000_000);

/// Compared exactly: a tenth of the cheapest is not rounded.
fn is_in_band(price: Pico, cheapest: Pico) -> bool {
    let above = price - cheapest;
    above <= BAND_LEAST || above.times(10) <= cheapest
}

fn likeliest<'a>(arms: &[&'a Arm]) -> Option<&'a Arm> {
    let best = arms.iter().map(|arm| arm.chance.0).max()?;
    arms.iter()
        .copied()
        .filter(|arm| best - arm.chance.0 <= CHANCE_STEP)
        .min_by(|a, b| a.price.amount.cmp(&b.price.amount).then_with(|| tie_break(a, b)))
}

fn tie_break(a: &Arm, b: &Arm) -> Ordering {
    deciding(a, b).map_or(Ordering::Equal, |(_, ordering)| ordering)
}

/// What comes first in the order of [`Decider`]; nothing between two that are the same in all.
fn deciding(a: &Arm, b: &Arm) -> Option<(Decider, Ordering)> {
    let steps = |arm: &Arm| Reverse((arm.chance.0 + CHANCE_STEP / 2) / CHANCE_STEP);
    let latency = |arm: &Arm| (arm.latency_ms.is_none(), arm.latency_ms);
    let economy = Decider::Economy(a.price.economy, b.price.economy);
    [
        (Decider::Bias, b.bias.cmp(&a.bias)),
        (economy, a.price.economy.cmp(&b.price.economy)),
        (Decider::Tier, a.tier_distance.cmp(&b.tier_distance)),
        (Decider::Chance, steps(a).cmp(&steps(b))),
        (Decider::Latency, latency(a).cmp(&latency(b))),
        (Decider::Rank, a.rank.cmp(&b.rank)),
        (Decider::Name, a.cmp(b)),
    ]
    .into_iter()
    .find(|(_, ordering)| ordering.is_ne())
}

fn reason(picked: &Picked<'_>, terms: &Terms) -> Reason {
    let winner = picked.winner;
    let failed =
        || terms.floor.as_ref().filter(|floor| !terms.again && winner.chance > floor.chance);
    let notes = [
        tied_on_price(picked),
        smaller_cap(picked),
        failed().map(|floor| Note::Escalated { failed: floor.engine.clone() }),
        terms.code_relaxed.then_some(Note::CodeRelaxed),
        terms.again.then_some(Note::Again),
    ];
    Reason {
        engine: winner.name.clone(),
        price: winner.price,
        chance: winner.chance,
        work: terms.work,
        threshold: terms.threshold,
        verdict: match &terms.floor {
            _ if picked.is_sufficient() => Verdict::CheapestSufficient,
            _ if terms.again => Verdict::LikeliestAgain,
            floor => Verdict::Highest { floor: floor.as_ref().map(|floor| floor.chance) },
        },
        notes: notes.into_iter().flatten().collect(),
    }
}

fn tied_on_price(picked: &Picked<'_>) -> Option<Note> {
    let second = picked.tied.get(1)?;
    let (decider, _) = deciding(picked.winner, second)?;
    Some(Note::TiedOnPrice { with: second.name.clone(), decider })
}

/// The next subscription that would have done, but has fewer requests a week and is dearer for it.
fn smaller_cap(picked: &Picked<'_>) -> Option<Note> {
    let own = picked.winner.price.weekly_cap?;
    let (arm, weekly_cap) = picked
        .sufficient
        .iter()
        .filter(|arm| !picked.tied.contains(arm))
        .filter_map(|arm| Some((arm, arm.price.weekly_cap.filter(|cap| *cap < own)?)))
        .min_by(|(a, _), (b, _)| {
            a.price.amount.cmp(&b.price.amount).then_with(|| tie_break(a, b))
        })?;
    Some(Note::SmallerCap { engine: arm.name.clone(), weekly_cap })
}

//! Who goes first of the engines that can take a turn.

use std::cmp::{Ordering, Reverse};
use std::sync::LazyLock;

use events::money::Pico;
use events::payload::{Quality, TurnTier};

use super::asking::Asking;
use super::candidates::Candidate;
use crate::logarithm::log2;
use crate::policy::{LatencyRules, Objective};

/// Prices this close to the cheapest are alike: a tenth, and at least so much (fleet facts 3.4).
const BAND_SHARE: i128 = 10;
const BAND_LEAST: Pico = Pico(500_000_000);
/// Chances are alike within so many millionths.
const ALIKE: u32 = 5_000;
/// Waits count for at most so many times the reference's.
const LATENCY_MOST: u64 = 3_000;

/// The engines that can take a turn at a tier, to be told who goes first of them.
pub(super) struct Ranking<'a, 'd> {
    asking: &'a Asking<'d>,
    candidates: &'a [Candidate<'d>],
    viable: &'a [usize],
    tier: TurnTier,
    /// The worst and the best quality among them.
    spread: (u16, u16),
}

/// What engines are compared by; a price nobody knows is dearer than any.
fn price(candidate: &Candidate<'_>) -> i128 {
    candidate.cold.amount().map_or(i128::MAX, |amount| candidate.offer.biased(amount).0)
}

fn logarithm(of: u64) -> i64 {
    i64::try_from(log2(of)).unwrap_or(i64::MAX)
}

/// Logarithms of qualities, worked out once.
static QUALITY_LOGS: LazyLock<Vec<i64>> =
    LazyLock::new(|| (0..=u64::from(Quality::MAX)).map(logarithm).collect());

impl<'a, 'd> Ranking<'a, 'd> {
    pub(super) fn new(
        asking: &'a Asking<'d>,
        candidates: &'a [Candidate<'d>],
        viable: &'a [usize],
        tier: TurnTier,
    ) -> Self {
        let scores = viable.iter().filter_map(|index| candidates[*index].rank_quality);
        let spread =
            scores.fold((u16::MAX, 0), |(least, most), score| (least.min(score), most.max(score)));
        Self { asking, candidates, viable, tier, spread }
    }

    /// The candidates in order of preference, at most so many of them.
    pub(super) fn in_order(&self, most: usize) -> Vec<usize> {
        match self.asking.profile.objective {
            Objective::CheapestSufficient => self.cheapest_sufficient(most),
            Objective::Ordered => self.best_by(most, |candidate| candidate.place),
            Objective::SeedScore => self
                .best_by(most, |candidate| (Reverse(self.seed_score(candidate)), price(candidate))),
            Objective::Value => {
                self.best_by(most, |candidate| (Reverse(self.worth(candidate)), price(candidate)))
            }
        }
    }

    /// What a turn is worth less at another engine than at the first, besides what either costs: staying at the other may
    /// make good for it. `None` where nothing does: the objective wants the first.
    pub(super) fn forgone(&self, first: usize, other: usize) -> Option<Pico> {
        let (first, other) = (&self.candidates[first], &self.candidates[other]);
        if first.preferred != other.preferred {
            return None;
        }
        match self.asking.profile.objective {
            Objective::Ordered => None,
            Objective::SeedScore => Some(Pico::ZERO),
            Objective::Value => Some(self.value(first) - self.value(other)),
            Objective::CheapestSufficient => {
                let is_as_good = self.is_sufficient(other)
                    || !self.is_sufficient(first)
                        && other.chance.0.saturating_add(ALIKE) >= first.chance.0;
                is_as_good.then_some(Pico::ZERO)
            }
        }
    }

    /// The best by a key, the least first; what policy prefers for the task before anything else.
    fn best_by<K: Ord>(&self, most: usize, key: impl Fn(&Candidate<'_>) -> K) -> Vec<usize> {
        let keyed = self.viable.iter().map(|index| {
            let candidate = &self.candidates[*index];
            let preferred = (candidate.preferred.is_none(), candidate.preferred);
            ((preferred, key(candidate)), *index)
        });
        let mut keyed: Vec<_> = keyed.collect();
        if keyed.len() > most && most > 0 {
            keyed.select_nth_unstable(most - 1);
            keyed.truncate(most);
        }
        keyed.sort_unstable();
        keyed.into_iter().map(|(_, index)| index).collect()
    }

    /// The cheapest of those that will most likely do it well; then, of the others, the likeliest.
    fn cheapest_sufficient(&self, most: usize) -> Vec<usize> {
        let is_sufficient = |index: &&usize| self.is_sufficient(&self.candidates[**index]);
        let mut left: Vec<(i128, usize)> = self
            .viable
            .iter()
            .filter(is_sufficient)
            .map(|index| (price(&self.candidates[*index]), *index))
            .collect();
        left.sort_unstable();
        let mut order = self.preferred_first(&mut left);
        while order.len() < most
            && let Some((cheapest, _)) = left.first()
        {
            let band = (cheapest / BAND_SHARE).max(BAND_LEAST.0);
            let alike = left.partition_point(|(price, _)| *price <= cheapest.saturating_add(band));
            order.push(self.take_first(&mut left, alike));
        }
        if order.len() < most {
            let rest = self.viable.iter().filter(|index| !is_sufficient(index));
            self.likeliest(rest.copied(), most, &mut order);
        }
        order.truncate(most);
        order
    }

    fn is_sufficient(&self, candidate: &Candidate<'_>) -> bool {
        candidate.chance.0 >= u32::from(self.asking.threshold) * 1_000
    }

    /// What policy prefers for the task goes before anything cheaper.
    fn preferred_first(&self, left: &mut Vec<(i128, usize)>) -> Vec<usize> {
        let mut preferred: Vec<(u16, usize)> = left
            .iter()
            .filter_map(|(_, index)| Some((self.candidates[*index].preferred?, *index)))
            .collect();
        if !preferred.is_empty() {
            preferred.sort_unstable();
            left.retain(|(_, index)| self.candidates[*index].preferred.is_none());
        }
        preferred.into_iter().map(|(_, index)| index).collect()
    }

    /// Where nothing is good enough: the likeliest; of those that are alike, the cheapest.
    fn likeliest(&self, rest: impl Iterator<Item = usize>, most: usize, order: &mut Vec<usize>) {
        let mut left: Vec<(Reverse<u32>, i128, usize)> = rest
            .map(|index| {
                let candidate = &self.candidates[index];
                (Reverse(candidate.chance.0), price(candidate), index)
            })
            .collect();
        left.sort_unstable();
        while order.len() < most
            && let Some((Reverse(likeliest), ..)) = left.first()
        {
            let least = likeliest.saturating_sub(ALIKE);
            let alike = left.partition_point(|(Reverse(chance), ..)| *chance >= least);
            let first = (0..alike).min_by(|a, b| {
                let ((_, price_a, a), (_, price_b, b)) = (left[*a], left[*b]);
                price_a.cmp(&price_b).then_with(|| self.tie(a, b))
            });
            order.push(left.remove(first.unwrap_or(0)).2);
        }
    }

    /// Takes the first of those whose prices are alike.
    fn take_first(&self, left: &mut Vec<(i128, usize)>, alike: usize) -> usize {
        let first = (0..alike).min_by(|a, b| self.tie(left[*a].1, left[*b].1));
        left.remove(first.unwrap_or(0)).1
    }

    /// Between engines that come to the same: what policy favours, the likelier, the faster, the cheaper, the earlier, the
    /// name.
    fn tie(&self, a: usize, b: usize) -> Ordering {
        let key = |index: usize| {
            let candidate = &self.candidates[index];
            (
                Reverse(candidate.offer.bias),
                Reverse(candidate.chance.0 / ALIKE),
                candidate.wait_ms.unwrap_or(u32::MAX),
                price(candidate),
                self.listed_place(candidate),
                index,
            )
        };
        key(a).cmp(&key(b))
    }

    /// Its place in a list somebody wrote; a catalogue's order says nothing.
    fn listed_place(&self, candidate: &Candidate<'_>) -> u16 {
        if self.asking.profile.engines.is_empty() { 0 } else { candidate.place }
    }

    /// Quality in thousandths between the worst and the best; where all are alike, all of it; unscored, nothing.
    fn normalised(&self, candidate: &Candidate<'_>) -> u16 {
        let (least, most) = self.spread;
        match candidate.rank_quality {
            None => 0,
            Some(_) if least >= most => Quality::MAX,
            Some(score) => {
                let (above, spread) = (score.saturating_sub(least), most - least);
                let share = u32::from(above) * u32::from(Quality::MAX) / u32::from(spread);
                u16::try_from(share).unwrap_or(Quality::MAX)
            }
        }
    }

    /// Quality to the power of the tier's exponent over what it costs, as a logarithm (router facts 4.2).
    fn seed_score(&self, candidate: &Candidate<'_>) -> i64 {
        let policy = &self.asking.inputs.rules.policy.routing;
        let exponent = policy.tiers[self.tier as usize].quality_exponent;
        let quality = if policy.normalise_quality {
            self.normalised(candidate)
        } else {
            candidate.rank_quality.unwrap_or(0)
        };
        let quality = QUALITY_LOGS.get(usize::from(quality)).copied().unwrap_or(0);
        i64::from(exponent) * quality - logarithm(self.effective(candidate))
    }

    /// What a turn costs in the long run, in pico-dollars: failures are paid for again, and waiting counts.
    fn effective(&self, candidate: &Candidate<'_>) -> u64 {
        let cost = u128::try_from(price(candidate)).unwrap_or(u128::MAX);
        let trusted = cost.saturating_mul(1_000) / u128::from(candidate.trust.max(500));
        let waited = trusted.saturating_mul(self.latency(candidate).into()) / 1_000;
        // A thousandth of a millionth of a dollar is the least there is.
        u64::try_from(waited).unwrap_or(u64::MAX).max(1_000)
    }

    /// By how much waiting makes it dearer, in thousandths.
    fn latency(&self, candidate: &Candidate<'_>) -> u64 {
        let LatencyRules { weight, weight_in_loops, reference_ms, reference_tokens_per_s, .. } =
            self.asking.inputs.rules.policy.routing.latency;
        let in_loops = weight_in_loops.filter(|_| self.asking.is_mechanical());
        let weight = u64::from(in_loops.unwrap_or(weight).0);
        let Some(wait) = candidate.wait_ms.filter(|_| weight > 0) else { return 1_000 };
        let answer = u64::from(candidate.answer.output) * 1_000;
        let reference = u64::from(reference_ms) + answer / u64::from(reference_tokens_per_s.max(1));
        let beyond = u64::from(wait).saturating_sub(reference).saturating_mul(1_000);
        let share = beyond.checked_div(reference).unwrap_or(0).min(LATENCY_MOST);
        1_000 + weight * share / 1_000
    }

    /// What doing it well is worth, for as much of the best quality as it has.
    fn value(&self, candidate: &Candidate<'_>) -> Pico {
        let value = self.asking.value().unwrap_or(Pico::ZERO).0;
        Pico(value.saturating_mul(self.normalised(candidate).into()) / 1_000)
    }

    /// The same, less what it costs.
    fn worth(&self, candidate: &Candidate<'_>) -> i128 {
        self.value(candidate).0.saturating_sub(price(candidate))
    }
}

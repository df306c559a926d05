//! The engines that could take a turn: the chance that each does it well, what it costs cold, and what stands in its
//! way (router facts 4.1).

use std::iter::Peekable;

use events::cost::Cost;
use events::ids::Millis;
use events::money::Pico;
use events::payload::{Exclusion, TurnTier};

use super::asking::Asking;
use super::catalogue::Offer;
use super::field::{Entry, Field, TierAsks};
use crate::cost::PartKind;
use crate::days::day_of;
use crate::estimates::{Chance, estimate};
use crate::policy::upstream_of;
use crate::profiles::Milli;
use crate::quality::on_axis;
use crate::routing::cool_offs::CoolOff;
use crate::routing::learned::{EngineLabels, Expected};
use crate::routing::service::Service;

/// Tokens of an answer a context has to have room for beside the prompt.
const ANSWER_ROOM: u32 = 1_024;
/// How far an engine is trusted that nobody has tried, in thousandths.
const UNTRIED: u32 = 900;

/// How far filters are lifted when nothing passes them. What a turn cannot do without is never lifted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relax {
    /// All filters hold.
    Nothing = 0,
    /// But for price ceilings.
    Prices = 1,
    /// And quality floors.
    Quality = 2,
    /// And trust and latency.
    Trust = 3,
}

impl Relax {
    /// Each, the strictest first.
    pub const ALL: [Self; 4] = [Self::Nothing, Self::Prices, Self::Quality, Self::Trust];
}

/// What is lifted for want of an engine that passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifted {
    /// Filters.
    pub filters: Relax,
    /// Cool-offs: before a filter is lifted, who would pass it is tried all the same.
    pub cool_offs: bool,
}

impl Lifted {
    /// Everything holds.
    pub const NOTHING: Self = Self { filters: Relax::Nothing, cool_offs: false };

    /// Each, the strictest first.
    pub fn each() -> impl Iterator<Item = Self> {
        let both = |filters| [false, true].map(|cool_offs| Self { filters, cool_offs });
        Relax::ALL.into_iter().flat_map(both)
    }
}

/// An engine that could take a turn.
#[derive(Clone, Debug)]
pub struct Candidate<'d> {
    /// The engine.
    pub offer: &'d Offer,
    /// Its place in the profile's own list.
    pub place: u16,
    /// How early it is preferred for the task; `None`: it is not.
    pub preferred: Option<u16>,
    /// The prompt as it sees it, in tokens.
    pub prompt: u32,
    /// The answer that is expected of it.
    pub answer: Expected,
    /// The turn with nothing warm: what engines are compared by.
    pub cold: Cost,
    /// The chance that it does it well.
    pub chance: Chance,
    /// Labels that speak for it and against it, faded, in thousandths.
    pub labels: (u64, u64),
    /// How good it is on the axis of the floors, in tenths of a point.
    pub quality: Option<u16>,
    /// How good it is on the axis engines are ranked on.
    pub rank_quality: Option<u16>,
    /// The chance of being served, in thousandths.
    pub trust: u32,
    /// How long it is expected to take, in milliseconds.
    pub wait_ms: Option<u32>,
    /// Why it may not take the turn whatever it can do.
    barred: Option<Exclusion>,
    /// It states that it is bad with tools, and tools are on offer.
    below_agentic: bool,
    /// What the turn needs that it cannot do.
    unfit: Option<Exclusion>,
    /// Nobody knows its price, and a budget has to.
    is_unpriced: bool,
    is_untrusted: bool,
    is_slow: bool,
    is_cooling: bool,
}

impl Candidate<'_> {
    /// What keeps it from a turn at a tier, the first in the order of the filters.
    #[must_use]
    pub fn exclusion(
        &self,
        (asks, floor): (&TierAsks, u16),
        lifted: Lifted,
        at: Millis,
    ) -> Option<Exclusion> {
        let holds = |filter| lifted.filters < filter;
        // Floors of nothing are floors all the same: an engine nobody scores passes only those.
        let is_below = || floor > 0 && self.quality.is_none_or(|quality| quality < floor);
        let because = |is: bool, exclusion| is.then_some(exclusion);
        self.barred
            .or(because(holds(Relax::Quality) && self.below_agentic, Exclusion::BelowQualityFloor))
            .or(self.unfit)
            .or_else(|| {
                let is_bound = holds(Relax::Quality) && self.preferred.is_none();
                because(is_bound && is_below(), Exclusion::BelowQualityFloor)
            })
            .or_else(|| {
                let is_over = holds(Relax::Prices) && self.is_over(asks, at);
                because(is_over, Exclusion::OverPriceCeiling)
            })
            .or(because(holds(Relax::Trust) && self.is_untrusted, Exclusion::Untrusted))
            .or(because(holds(Relax::Trust) && self.is_slow, Exclusion::OverLatencyCeiling))
            .or(because(!lifted.cool_offs && self.is_cooling, Exclusion::CoolingOff))
            .or(because(self.is_unpriced, Exclusion::PriceUnknown))
    }

    /// True when it is dearer than a tier may be, at the prompt's size.
    fn is_over(&self, asks: &TierAsks, at: Millis) -> bool {
        if asks.max_input.is_none() && asks.max_output.is_none() {
            return false;
        }
        let Some(tariffs) = &self.offer.tariffs else { return false };
        let tariff = tariffs.at(at, Some(self.prompt));
        let is_over = |kind, most: Option<Pico>| {
            let rate = tariff.per_million(kind).map(|rate| self.offer.biased(rate));
            most.is_some_and(|most| rate.is_some_and(|rate| rate > most))
        };
        is_over(PartKind::Uncached, asks.max_input) || is_over(PartKind::Output, asks.max_output)
    }
}

/// What is known of the engines, walked along with them: both go by canonical name.
struct Beside<'w, V: 'w, I: Iterator<Item = (&'w String, &'w V)>>(Peekable<I>);

impl<'w, V, I: Iterator<Item = (&'w String, &'w V)>> Beside<'w, V, I> {
    fn new(known: I) -> Self {
        Self(known.peekable())
    }

    fn of(&mut self, engine: &str) -> Option<&'w V> {
        while self.0.next_if(|(known, _)| known.as_str() < engine).is_some() {}
        self.0.peek().filter(|(known, _)| known.as_str() == engine).map(|(_, value)| *value)
    }
}

/// Every engine of a field, by canonical name.
pub(super) fn candidates<'d>(asking: &Asking<'d>, field: &'d Field) -> Vec<Candidate<'d>> {
    let learned = &asking.inputs.world.routing.learned;
    let mut answers = Beside::new(learned.answers());
    let mut service = Beside::new(learned.service());
    let mut labels = Beside::new(learned.labels());
    let preferred = field.preferred(asking.kind().task);
    let offers = asking.inputs.market.offers();
    let walk = Walk::new(asking);
    let mut candidates = Vec::with_capacity(field.entries.len());
    for (index, entry) in field.entries.iter().enumerate() {
        let offer = &offers[entry.offer];
        let answer = answers
            .of(&offer.canonical)
            .map_or(Expected::UNSEEN, |seen| seen.expected(asking.kind()));
        let labels = labels.of(&offer.canonical);
        let mut candidate = walk.candidate(entry, offer, answer, labels);
        candidate.preferred = preferred.and_then(|preferred| preferred[index]);
        walk.serves(&mut candidate, service.of(&offer.canonical), labels);
        candidates.push(candidate);
    }
    candidates
}

/// Who is left alone for now, by place among the offers. Few engines cool off at once: each is looked for, instead of
/// asking for each whether it does.
fn cooling(asking: &Asking<'_>) -> Vec<bool> {
    let (market, now) = (asking.inputs.market, asking.inputs.now);
    let cool_offs = &asking.inputs.world.routing.cool_offs;
    let is_cooling = |cool_off: &CoolOff| cool_off.until > now;
    let engines = cool_offs.engines().filter(|(_, cool_off)| is_cooling(cool_off));
    let engines = engines.filter_map(|(engine, _)| Some(market.offer(engine)?.0));
    let upstreams = cool_offs.upstreams().filter(|(_, cool_off)| is_cooling(cool_off));
    let behind = upstreams.flat_map(|(upstream, _)| {
        let offers = market.offers().iter().enumerate();
        offers
            .filter(move |(_, offer)| upstream_of(&offer.name) == upstream)
            .map(|(index, _)| index)
    });
    let mut all = Vec::new();
    for index in engines.chain(behind) {
        if all.is_empty() {
            all.resize(market.offers().len(), false);
        }
        all[index] = true;
    }
    all
}

/// What is worked out once for all engines.
struct Walk<'a, 'd> {
    asking: &'a Asking<'d>,
    day: u32,
    has_tools: bool,
    needs_images: bool,
    images: u32,
    /// Under a budget every engine needs a price, or what policy states for those without.
    needs_price: bool,
    /// Who is left alone for now, by place among the offers; empty where nobody is.
    cooling: Vec<bool>,
}

impl<'a, 'd> Walk<'a, 'd> {
    fn new(asking: &'a Asking<'d>) -> Self {
        let images = asking.images();
        let policy = &asking.inputs.rules.policy.routing;
        Self {
            asking,
            day: day_of(asking.inputs.now),
            has_tools: asking.has_tools(),
            needs_images: images > 0 || asking.kind().task == events::payload::Task::Vision,
            images,
            needs_price: !asking.profile.budgets.is_empty() && policy.unknown_price.is_none(),
            cooling: cooling(asking),
        }
    }

    fn candidate(
        &self,
        entry: &Entry,
        offer: &'d Offer,
        answer: Expected,
        labels: Option<&EngineLabels>,
    ) -> Candidate<'d> {
        let asking = self.asking;
        let prompt = asking.prompt(offer.family);
        let (barred, unfit) = (self.barred(entry, offer), self.unfit(offer, prompt));
        let cold = match &offer.tariffs {
            Some(tariffs) if barred.or(unfit).is_none() => {
                let answer = (answer.output, answer.reasoning);
                tariffs.cold(asking.inputs.now, prompt, answer, self.images)
            }
            _ => Cost::UNKNOWN,
        };
        let (work, size) = asking.work;
        let prior = Milli(offer.prior(work, size));
        let of_kind = labels.and_then(|labels| labels.get(&asking.kind()));
        let labels = of_kind.map_or((0, 0), |labels| labels.at(self.day));
        let chance = match labels {
            (0, 0) => Chance(u32::from(prior.0) * 1_000),
            (verified, refuted) => estimate(prior, verified, refuted),
        };
        let on = |axis| on_axis(&offer.quality, axis).map(|(score, _)| score);
        Candidate {
            offer,
            place: entry.place,
            preferred: None,
            prompt,
            answer,
            cold,
            chance,
            labels,
            quality: on(asking.axis),
            rank_quality: on(asking.rank_axis),
            trust: UNTRIED,
            wait_ms: None,
            barred,
            below_agentic: self.has_tools && self.is_below_agentic(offer),
            unfit,
            is_unpriced: self.needs_price && offer.tariffs.is_none(),
            is_untrusted: false,
            is_slow: false,
            is_cooling: self.cooling.get(entry.offer).copied().unwrap_or(false),
        }
    }

    fn barred(&self, entry: &Entry, offer: &Offer) -> Option<Exclusion> {
        if self.asking.flight.has_tried(&offer.name) {
            return Some(Exclusion::FailedThisTurn);
        }
        let lacks_tools = self.has_tools && offer.capabilities.tools == Some(false);
        entry.standing.or(lacks_tools.then_some(Exclusion::NoToolSupport))
    }

    fn unfit(&self, offer: &Offer, prompt: u32) -> Option<Exclusion> {
        let is_blind = self.needs_images && offer.capabilities.images == Some(false);
        let is_too_small = |context| answer_room(self.asking, context, prompt) < ANSWER_ROOM;
        if is_blind {
            Some(Exclusion::NoImageSupport)
        } else if offer.context.is_some_and(is_too_small) {
            Some(Exclusion::ContextTooSmall)
        } else {
            None
        }
    }

    /// Engines that do not say how good they are with tools pass.
    fn is_below_agentic(&self, offer: &Offer) -> bool {
        let least = self.asking.inputs.rules.policy.routing.min_agentic_for_tools;
        offer.quality.agentic.is_some_and(|agentic| agentic < least)
    }

    /// How it has served.
    fn serves(
        &self,
        candidate: &mut Candidate<'_>,
        service: Option<&Service>,
        labels: Option<&EngineLabels>,
    ) {
        let policy = &self.asking.inputs.rules.policy.routing;
        let words = self.words(labels);
        let harness =
            self.asking.flight.asked.harness.as_deref().filter(|_| policy.trust.by_harness);
        let trust = service.map(|service| service.trust(harness)).unwrap_or_default();
        if trust.attempts > 0 || words != (0, 0) {
            candidate.trust = trust.rate(words);
            candidate.is_untrusted =
                trust.attempts >= policy.trust.min_attempts && candidate.trust < policy.trust.min.0;
        }
        let Some(service) = service else { return };
        let wait = service.latency.wait_ms(candidate.answer.output, policy.latency.min_samples);
        candidate.wait_ms = wait;
        candidate.is_slow =
            wait.zip(policy.latency.max_wait_ms).is_some_and(|(wait, most)| wait > most);
    }

    /// What people say of it, as attempts in thousandths: (good, bad).
    fn words(&self, labels: Option<&EngineLabels>) -> (u64, u64) {
        let trust = &self.asking.inputs.rules.policy.routing.trust;
        let weight = u64::from(trust.feedback_weight.0);
        if weight == 0 {
            return (0, 0);
        }
        let counts = labels
            .into_iter()
            .flatten()
            .filter(|(kind, _)| !trust.feedback_by_task || kind.task == self.asking.kind().task);
        let sums = counts.map(|(_, labels)| labels.at(self.day));
        let (good, bad) = sums.fold((0, 0), |all, of| (all.0 + of.0, all.1 + of.1));
        (good * weight / 1_000, bad * weight / 1_000)
    }
}

/// Tokens of an answer that a context has room for beside a prompt, which may be longer than it is taken to be.
pub(super) fn answer_room(asking: &Asking<'_>, context: u32, prompt: u32) -> u32 {
    let headroom = asking.inputs.rules.policy.routing.context_headroom;
    let prompt = (u64::from(prompt) * u64::from(headroom.0)).div_ceil(1_000);
    context.saturating_sub(u32::try_from(prompt).unwrap_or(u32::MAX))
}

/// The first of the tiers, nearest first and harder before easier, that lies between two (router facts 4.3).
pub(super) fn widening(
    tier: TurnTier,
    (min, max): (TurnTier, TurnTier),
) -> impl Iterator<Item = TurnTier> {
    let at = |index: i8| TurnTier::ALL.iter().copied().find(|tier| *tier as i8 == index);
    let from = tier as i8;
    let steps = (0..4_i8).flat_map(move |step| {
        let (up, down) = (at(from + step), at(from - step).filter(|_| step > 0));
        [up, down]
    });
    steps.flatten().filter(move |tier| (min..=max).contains(tier))
}

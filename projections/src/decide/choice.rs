//! The choice itself: an engine of the first tier that has any, stay or switch, what budgets have room for.

use events::cost::Cost;
use events::money::Pico;
use events::payload::{BudgetFact, BudgetScope, Choice, Exclusion, TierReason, TurnTier};

use super::Inputs;
use super::asking::Asking;
use super::candidates::{Candidate, Lifted, candidates, widening};
use super::field::{Field, TierAsks};
use super::objective::Ranking;
use super::tiering::Tiering;
use super::weighing::{Weighing, horizon, weighing};
use crate::budgets::{Instance, Room};
use crate::forecast::{Horizon, switch_pays};
use crate::policy::{BudgetRule, OnExceeded, ToolLoops};
use crate::routing::flights::Flight;

/// Engines a dispatch tells of.
pub(super) const ARMS_MAX: usize = 12;
/// Budgets a dispatch tells of.
const FACTS_MAX: usize = 4;
/// Bytes their names take together at most, so that it stays short.
const FACT_NAMES_MAX: usize = 200;

/// A decision in the making: everything that is looked at.
pub struct Making<'d> {
    /// The turn.
    pub asking: Asking<'d>,
    /// The engines, by canonical name.
    pub candidates: Vec<Candidate<'d>>,
    /// Why each is excluded, by its place among the candidates.
    pub exclusions: Vec<Option<Exclusion>>,
    /// The tier it is served at.
    pub tiering: Tiering,
    /// What was lifted for want of an engine that passes.
    pub lifted: Lifted,
    /// The engines that were weighed, in order of preference.
    pub weighed: Vec<Weighing<'d>>,
    /// The engine whose cache of the lane is warm, by its place among the weighed.
    pub(super) warm: Option<usize>,
    horizon: Horizon,
    field: &'d Field,
    /// How budgets stand that count the same money for every engine.
    rooms: Vec<Room<'d>>,
}

/// How the choice came out.
pub(super) enum Outcome<'d> {
    /// An engine takes it: its place among the weighed.
    Chosen(usize, Choice),
    /// No engine fits a budget.
    Exceeded {
        /// The budget that is exceeded.
        budget: Option<BudgetFact<'d>>,
        /// What was needed of it.
        needed: Pico,
    },
    /// No engine can take it.
    NoEngine,
}

impl<'d> Making<'d> {
    pub(super) fn new(inputs: Inputs<'d>, flight: &'d Flight) -> Self {
        let asking = Asking::new(inputs, flight);
        let field = inputs.market.field(&flight.asked.profile);
        let candidates = candidates(&asking, field);
        let tiering = Tiering { tier: asking.kind().tier, moved: Vec::new(), draw: None };
        let rooms = asking.profile.budgets.iter();
        let rooms = rooms.filter(|rule| rule.scope() != BudgetScope::Engine);
        let rooms = rooms.map(|rule| room(&inputs, flight, rule, "")).collect();
        Self {
            horizon: horizon(&asking),
            asking,
            candidates,
            exclusions: Vec::new(),
            tiering,
            lifted: Lifted::NOTHING,
            weighed: Vec::new(),
            warm: None,
            field,
            rooms,
        }
    }

    pub(super) fn choose(&mut self) -> Outcome<'d> {
        let picked = self.stay().or_else(|| self.pick());
        let Some((picked, choice)) = picked else { return Outcome::NoEngine };
        let picked_engine = self.weighed[picked];
        if self.exceeded(&picked_engine).is_empty() {
            return Outcome::Chosen(picked, choice);
        }
        self.afford(&picked_engine)
    }

    /// Stays at the engine that runs the tools whose results the turn brings, as far as anything may be lifted for it,
    /// and tells who else could have taken the turn.
    fn stay(&mut self) -> Option<(usize, Choice)> {
        let rules = &self.asking.inputs.rules.policy.routing;
        let is_first = self.asking.flight.attempts() == 0;
        if rules.tool_loops != ToolLoops::Stay || !is_first || !self.asking.is_mechanical() {
            return None;
        }
        let lane = self.asking.lane?;
        let tiering = Tiering::staying(&self.asking)?;
        let runs_it = |candidate: &Candidate<'_>| candidate.offer.canonical == lane.engine;
        let staying = self.candidates.iter().position(runs_it)?;
        let passes = |lifted: &Lifted| self.exclusion(staying, tiering.tier, *lifted).is_none();
        self.lifted = Lifted::each().filter(|lifted| !lifted.cool_offs).find(passes)?;
        self.tiering = tiering;
        let viable = self.sift(self.tiering.tier, self.lifted);
        let mut order = self.ranking(&viable).in_order(ARMS_MAX);
        order.retain(|index| *index != staying);
        order.insert(0, staying);
        order.truncate(ARMS_MAX);
        self.weigh(&order);
        self.warm = self.asking.is_warm().then_some(0);
        (!self.weighed.is_empty()).then_some((0, Choice::Stayed))
    }

    /// Picks from the first tier that has an engine, unless what is warm elsewhere is worth more.
    fn pick(&mut self) -> Option<(usize, Choice)> {
        self.tiering = Tiering::of(&self.asking);
        let viable = self.widen()?;
        let order = self.ranking(&viable).in_order(ARMS_MAX);
        self.weigh(&order);
        let first = (!self.weighed.is_empty()).then_some(0)?;
        if self.lifted.cool_offs {
            return Some((first, Choice::LastEligible));
        }
        let Some(warm) = self.find_warm(&viable) else { return Some((first, Choice::First)) };
        self.warm = Some(warm);
        if warm == first {
            return Some((first, Choice::First));
        }
        Some(match self.switch_pays(&viable, warm, first) {
            Some(false) => (warm, Choice::Stayed),
            Some(true) => (first, Choice::Switched),
            // Where one of them is not known there is nothing to weigh.
            None => (first, Choice::First),
        })
    }

    /// Whether leaving what is warm pays, what the turns are worth less there included: always where the objective takes
    /// only the first. `None` where a cost is not known.
    fn switch_pays(&self, viable: &[usize], warm: usize, first: usize) -> Option<bool> {
        let (warm, first) = (&self.weighed[warm], &self.weighed[first]);
        let Some(forgone) = self.ranking(viable).forgone(first.index, warm.index) else {
            return Some(true);
        };
        let policy = &self.asking.inputs.rules.policy.routing;
        let over = |of: &Weighing<'_>, forgone: Pico| {
            let known = self.candidates[of.index].offer.biased(of.weighed.horizon.known)
                + forgone.max(Pico::ZERO).times(policy.horizon_turns.max(1));
            Cost { known, ..of.weighed.horizon }
        };
        switch_pays(over(warm, forgone), over(first, Pico(-forgone.0)), policy.switch_margin)
    }

    fn ranking<'m>(&'m self, viable: &'m [usize]) -> Ranking<'m, 'd> {
        Ranking::new(&self.asking, &self.candidates, viable, self.tiering.tier)
    }

    /// The engines of the first tier that has any, filters lifted one by one where none has.
    fn widen(&mut self) -> Option<Vec<usize>> {
        let tiers = self.asking.profile.tiers;
        for lifted in Lifted::each() {
            self.lifted = lifted;
            for tier in widening(self.tiering.tier, tiers) {
                let viable = self.sift(tier, lifted);
                if !viable.is_empty() {
                    self.tiering.move_to(tier, TierReason::Widened);
                    return Some(viable);
                }
            }
        }
        None
    }

    fn exclusion(&self, index: usize, tier: TurnTier, lifted: Lifted) -> Option<Exclusion> {
        self.candidates[index].exclusion(self.asks(tier), lifted, self.asking.inputs.now)
    }

    /// The least quality at the tier it is served at, in tenths of a point.
    #[must_use]
    pub fn floor(&self) -> u16 {
        self.asks(self.tiering.tier).1
    }

    /// What a tier asks, and the floor: the tier's or the task's own, whichever is higher.
    fn asks(&self, tier: TurnTier) -> (&'d TierAsks, u16) {
        let asks = self.field.tier(tier);
        (asks, asks.floors[self.asking.axis as usize].max(self.asking.task_floor))
    }

    /// Notes why each engine is excluded at a tier; those that are not are viable.
    fn sift(&mut self, tier: TurnTier, lifted: Lifted) -> Vec<usize> {
        let all = 0..self.candidates.len();
        self.exclusions = all.clone().map(|index| self.exclusion(index, tier, lifted)).collect();
        all.filter(|index| self.exclusions[*index].is_none()).collect()
    }

    fn weigh(&mut self, order: &[usize]) {
        let each = order.iter().map(|index| (*index, &self.candidates[*index]));
        self.weighed = each.filter_map(|of| weighing(&self.asking, &self.horizon, of)).collect();
    }

    /// The engine that served the lane last, where something is warm there and it could go on: by its place among the
    /// weighed.
    fn find_warm(&mut self, viable: &[usize]) -> Option<usize> {
        let lane = self.asking.lane.filter(|_| self.asking.is_warm())?;
        let is_warm = |index: usize| self.candidates[index].offer.canonical == lane.engine;
        if let Some(place) = self.weighed.iter().position(|of| is_warm(of.index)) {
            return Some(place);
        }
        let index = viable.iter().copied().find(|index| is_warm(*index))?;
        let weighing = weighing(&self.asking, &self.horizon, (index, &self.candidates[index]))?;
        self.weighed.truncate(ARMS_MAX - 1);
        self.weighed.push(weighing);
        Some(self.weighed.len() - 1)
    }

    /// The budgets an engine does not fit.
    fn exceeded(&self, of: &Weighing<'d>) -> Vec<Room<'d>> {
        let needed = of.needs();
        let own = self.rooms_of(of);
        let all = self.rooms.iter().cloned().chain(own);
        all.filter(|room| !room.fits(needed)).collect()
    }

    /// How budgets stand that count an engine's money.
    fn rooms_of(&self, of: &Weighing<'d>) -> impl Iterator<Item = Room<'d>> {
        let rules = self.asking.profile.budgets.iter();
        let engine = of.engine;
        rules
            .filter(|rule| rule.scope() == BudgetScope::Engine)
            .map(move |rule| room(&self.asking.inputs, self.asking.flight, rule, engine.as_str()))
    }

    /// The cheapest that fits, of all that the profile's easiest tier lets through; what does not fit is refused.
    fn afford(&mut self, picked: &Weighing<'d>) -> Outcome<'d> {
        let refuses = |room: &Room<'_>| room.rule.budget.on_exceeded == OnExceeded::Refuse;
        if self.exceeded(picked).iter().any(refuses) {
            return self.refuse(picked);
        }
        let easiest = self.asking.profile.tiers.0;
        let all = 0..self.candidates.len();
        let passes = |index: &usize| self.exclusion(*index, easiest, self.lifted).is_none();
        let viable: Vec<usize> = all.filter(passes).collect();
        let weigh = |index: &usize| {
            weighing(&self.asking, &self.horizon, (*index, &self.candidates[*index]))
        };
        let mut cheapest: Vec<Weighing<'d>> = viable.iter().filter_map(weigh).collect();
        if !cheapest.iter().any(|of| of.index == picked.index) {
            cheapest.push(*picked);
        }
        // Of those that cost the same, the one that is preferred.
        let place = |of: &Weighing<'_>| self.weighed.iter().position(|arm| arm.index == of.index);
        cheapest.sort_by_key(|of| (of.needs(), place(of).unwrap_or(usize::MAX), of.index));
        let fits = cheapest.iter().position(|of| self.exceeded(of).is_empty());
        let Some(fits) = fits else {
            return cheapest.first().copied().map_or(Outcome::NoEngine, |of| self.refuse(&of));
        };
        self.downgrade(&cheapest, fits)
    }

    fn downgrade(&mut self, cheapest: &[Weighing<'d>], fits: usize) -> Outcome<'d> {
        let chosen = cheapest[fits];
        let over: Vec<usize> =
            cheapest.iter().filter(|of| !self.exceeded(of).is_empty()).map(|of| of.index).collect();
        for index in over {
            self.exclusions[index] = Some(Exclusion::OverBudget);
        }
        self.exclusions[chosen.index] = None;
        let passes = |tier: &TurnTier| {
            *tier <= self.tiering.tier && self.exclusion(chosen.index, *tier, self.lifted).is_none()
        };
        let tier = TurnTier::ALL.iter().rev().copied().find(passes);
        let tier = tier.unwrap_or(self.asking.profile.tiers.0.min(self.tiering.tier));
        self.tiering.move_to(tier, TierReason::Downgraded);
        self.weighed.retain(|of| of.index != chosen.index);
        self.weighed.truncate(ARMS_MAX - 1);
        self.weighed.push(chosen);
        self.warm = None;
        Outcome::Chosen(self.weighed.len() - 1, Choice::Downgraded)
    }

    /// Names the budget an engine fits least.
    fn refuse(&mut self, of: &Weighing<'d>) -> Outcome<'d> {
        let exceeded = self.exceeded(of);
        let budget = exceeded.iter().min_by_key(|room| room.available()).and_then(Room::fact);
        for exclusion in self.exclusions.iter_mut().filter(|exclusion| exclusion.is_none()) {
            *exclusion = Some(Exclusion::OverBudget);
        }
        Outcome::Exceeded { budget, needed: of.needs() }
    }

    /// How budgets stand for an engine, those with the least left first, as long as their names leave room.
    pub(super) fn facts(&self, of: Option<&Weighing<'d>>) -> Vec<BudgetFact<'d>> {
        let own: Vec<Room<'d>> = of.into_iter().flat_map(|of| self.rooms_of(of)).collect();
        let mut rooms: Vec<&Room<'d>> = self.rooms.iter().chain(&own).collect();
        rooms.sort_by_key(|room| room.available());
        let mut names = 0;
        let is_short = |fact: &BudgetFact<'_>| {
            names += fact.name.as_str().len();
            names <= FACT_NAMES_MAX
        };
        rooms.into_iter().filter_map(Room::fact).take(FACTS_MAX).take_while(is_short).collect()
    }
}

fn room<'d>(inputs: &Inputs<'d>, flight: &Flight, rule: &'d BudgetRule, engine: &str) -> Room<'d> {
    let instance = Instance::of(BudgetRule::scope(rule), inputs.turn, flight, engine);
    Room::of(&inputs.world.routing, rule, &instance, inputs.now)
}

//! The choice itself: an engine of the first tier that has any, stay or switch, what budgets have room for.

use events::money::Pico;
use events::payload::{BudgetFact, BudgetScope, Choice, Exclusion, TierReason, TurnTier};

use super::Inputs;
use super::asking::Asking;
use super::candidates::{Candidate, Relax, candidates, widening};
use super::field::{Field, TierAsks};
use super::objective::in_order;
use super::tiering::Tiering;
use super::weighing::{Weighing, horizon, weighing};
use crate::budgets::{Instance, Room};
use crate::forecast::{Horizon, switch_pays};
use crate::policy::{BudgetRule, OnExceeded, ToolLoops};
use crate::routing::flights::Flight;

/// Engines a dispatch tells of.
pub(super) const ARMS_MAX: usize = 12;

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
    /// How far filters were lifted.
    pub relax: Relax,
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
            relax: Relax::Nothing,
            weighed: Vec::new(),
            warm: None,
            field,
            rooms,
        }
    }

    pub(super) fn choose(&mut self) -> Outcome<'d> {
        let picked = match self.staying() {
            Some(staying) => self.stay(staying),
            None => self.pick(),
        };
        let Some((picked, choice)) = picked else { return Outcome::NoEngine };
        let picked_engine = self.weighed[picked];
        if self.exceeded(&picked_engine).is_empty() {
            return Outcome::Chosen(picked, choice);
        }
        self.afford(&picked_engine)
    }

    /// The engine that runs the tools whose results the turn brings: it goes on with them.
    fn staying(&self) -> Option<usize> {
        let rules = &self.asking.inputs.rules.policy.routing;
        let is_first = self.asking.flight.attempts() == 0;
        if rules.tool_loops != ToolLoops::Stay || !is_first || !self.asking.is_mechanical() {
            return None;
        }
        let lane = self.asking.lane?;
        let at = self.asking.inputs.now;
        let asks = self.asks(self.asking.kind().tier);
        let stands = |candidate: &Candidate<'_>| {
            candidate.offer.canonical == lane.engine
                && candidate.exclusion(asks, Relax::Trust, at).is_none()
        };
        self.candidates.iter().position(stands)
    }

    /// Stays, and tells who else could have taken the turn.
    fn stay(&mut self, staying: usize) -> Option<(usize, Choice)> {
        self.tiering = Tiering::staying(&self.asking);
        let viable = self.sift(self.tiering.tier, Relax::Nothing);
        self.exclusions[staying] = None;
        let mut order = in_order(&self.asking, &self.candidates, &viable, ARMS_MAX);
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
        let order = in_order(&self.asking, &self.candidates, &viable, ARMS_MAX);
        self.weigh(&order);
        let first = (!self.weighed.is_empty()).then_some(0)?;
        if self.relax == Relax::CoolOffs {
            return Some((first, Choice::LastEligible));
        }
        let Some(warm) = self.find_warm(&viable) else { return Some((first, Choice::First)) };
        self.warm = Some(warm);
        if warm == first {
            return Some((first, Choice::First));
        }
        let over = |place: usize| self.weighed[place].weighed.horizon;
        let margin = self.asking.inputs.rules.policy.routing.switch_margin;
        Some(match switch_pays(over(warm), over(first), margin) {
            Some(false) => (warm, Choice::Stayed),
            Some(true) => (first, Choice::Switched),
            // Where one of them is not known there is nothing to weigh.
            None => (first, Choice::First),
        })
    }

    /// The engines of the first tier that has any, filters lifted one by one where none has.
    fn widen(&mut self) -> Option<Vec<usize>> {
        let tiers = self.asking.profile.tiers;
        for relax in Relax::ALL {
            for tier in widening(self.tiering.tier, tiers) {
                let viable = self.sift(tier, relax);
                if !viable.is_empty() {
                    self.relax = relax;
                    self.tiering.move_to(tier, TierReason::Widened);
                    return Some(viable);
                }
            }
        }
        self.relax = Relax::CoolOffs;
        None
    }

    fn exclusion(&self, index: usize, tier: TurnTier, relax: Relax) -> Option<Exclusion> {
        self.candidates[index].exclusion(self.asks(tier), relax, self.asking.inputs.now)
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
    fn sift(&mut self, tier: TurnTier, relax: Relax) -> Vec<usize> {
        let all = 0..self.candidates.len();
        self.exclusions = all.clone().map(|index| self.exclusion(index, tier, relax)).collect();
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
        let passes = |index: &usize| self.exclusion(*index, easiest, self.relax).is_none();
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
            *tier <= self.tiering.tier && self.exclusion(chosen.index, *tier, self.relax).is_none()
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

    /// How budgets stand for an engine, those with the least left first.
    pub(super) fn facts(&self, of: Option<&Weighing<'d>>, most: usize) -> Vec<BudgetFact<'d>> {
        let own: Vec<Room<'d>> = of.into_iter().flat_map(|of| self.rooms_of(of)).collect();
        let mut rooms: Vec<&Room<'d>> = self.rooms.iter().chain(&own).collect();
        rooms.sort_by_key(|room| room.available());
        rooms.into_iter().filter_map(Room::fact).take(most).collect()
    }
}

fn room<'d>(inputs: &Inputs<'d>, flight: &Flight, rule: &'d BudgetRule, engine: &str) -> Room<'d> {
    let instance = Instance::of(BudgetRule::scope(rule), inputs.turn, flight, engine);
    Room::of(&inputs.world.routing, rule, &instance, inputs.now)
}

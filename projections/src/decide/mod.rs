//! What a turn comes to: an engine, with money set aside for it, or a refusal.
//!
//! A pure function of the world, the policy, the prices and the instant. The same inputs give the same bytes.

mod candidates;
mod market;
mod settle;

use events::bytes::Bytes16;
use events::hash::{Domain, digest};
use events::ids::{Digest, Millis, Subject};
use events::money::Pico;
use events::payload::{
    BudgetFact, BudgetScope, Choice, Dispatch, Exclusion, ExclusionCount, MadeBy, Purpose, Refusal,
    RefusalReason, TurnTier,
};
use serde::Serialize;

pub use self::candidates::{Candidate, Comparison};
pub use self::market::{Market, Offer};
pub use self::settle::{AttemptEnd, charge, crossings};
use crate::budgets::{Instance, Room};
use crate::forecast::switch_pays;
use crate::policy::{BudgetRule, OnExceeded, Rules};
use crate::projection::Projection as _;
use crate::routing::flights::Flight;
use crate::world::World;

/// Raised whenever the same inputs come to mean another decision.
pub const VERSION: u16 = 1;

/// Engines a dispatch tells of.
const ARMS_MAX: usize = 12;
/// Bytes their names take together at most, so that a dispatch stays short.
const ARM_NAMES_MAX: usize = 480;
/// Budgets a dispatch tells of.
const FACTS_MAX: usize = 4;

/// What a decision is made from.
#[derive(Clone, Copy)]
pub struct Inputs<'d> {
    /// Everything the ledger says.
    pub world: &'d World,
    /// What people say.
    pub rules: &'d Rules,
    /// What engines charge.
    pub market: &'d Market,
    /// When it is, by the ledger's clock.
    pub now: Millis,
}

/// What a turn comes to.
#[derive(Clone, Debug)]
pub enum Decision<'d> {
    /// It is handed to an engine.
    Dispatch(Dispatch<'d>),
    /// Nothing may be dispatched.
    Refusal(Refusal<'d>),
}

/// Everything a decision looked at: its digest is part of the event.
#[derive(Serialize)]
struct Record<'r, 'd> {
    turn: &'r Subject,
    attempt: u16,
    now: Millis,
    candidates: &'r [Candidate<'d>],
    budgets: &'r [BudgetFact<'d>],
    chosen: Option<(usize, Choice)>,
    exceeded: Option<&'r BudgetFact<'d>>,
    policy: Bytes16,
}

/// Decides a turn in flight: the engine of its next attempt.
#[must_use]
pub fn decide<'d>(inputs: Inputs<'d>, turn: &Subject, flight: &'d Flight) -> Decision<'d> {
    let mut making = Making::new(inputs, turn, flight);
    let outcome = making.choose();
    making.write(outcome)
}

/// A decision in the making.
struct Making<'d> {
    inputs: Inputs<'d>,
    turn: Subject,
    flight: &'d Flight,
    candidates: Vec<Candidate<'d>>,
    /// The engine whose cache of the lane is warm, by its place among the candidates.
    warm: Option<usize>,
    /// The tier the lane is held at.
    held: Option<TurnTier>,
    /// How budgets stand that count the same money for every engine.
    rooms: Vec<Room<'d>>,
    /// How budgets stand that count an engine's money, by the engine's place among the candidates.
    engine_rooms: Vec<(usize, Room<'d>)>,
}

/// How the choice came out.
enum Outcome<'d> {
    Chosen(usize, Choice),
    Exceeded { budget: Option<BudgetFact<'d>>, needed: Pico },
    NoEngine,
}

impl<'d> Making<'d> {
    fn new(inputs: Inputs<'d>, turn: &Subject, flight: &'d Flight) -> Self {
        let (rules, routing) = (inputs.rules, &inputs.world.routing);
        let budgets = rules.budgets(&flight.asked.profile);
        let comparison = Comparison::new(inputs, flight, !budgets.is_empty());
        let engines = rules.engines(&flight.asked.profile);
        let offers = engines.iter().filter_map(|engine| inputs.market.offer(engine));
        let mut warm = None;
        let mut candidates = Vec::with_capacity(engines.len());
        for (engine, offer) in offers {
            let candidate = comparison.candidate(engine, offer);
            let served_last = comparison.lane().is_some_and(|lane| lane.engine == offer.canonical);
            if served_last && candidate.is_warm && warm.is_none() {
                warm = Some(candidates.len());
            }
            candidates.push(candidate);
        }
        let room = |rule, engine: &str| {
            let scope = BudgetRule::scope(rule);
            Room::of(routing, rule, &Instance::of(scope, turn, flight, engine), inputs.now)
        };
        let (of_engines, of_all): (Vec<_>, Vec<_>) =
            budgets.iter().partition(|rule| rule.scope() == BudgetScope::Engine);
        let engine_rooms = of_engines.into_iter().flat_map(|rule| {
            let each = candidates.iter().enumerate();
            each.map(move |(index, candidate)| (index, room(rule, candidate.engine.as_str())))
        });
        let engine_rooms = engine_rooms.collect();
        let rooms = of_all.into_iter().map(|rule| room(rule, "")).collect();
        let kind = flight.asked.kind;
        let held = comparison.lane().and_then(|lane| lane.hold.over(kind?.tier));
        Self { inputs, turn: *turn, flight, candidates, warm, held, rooms, engine_rooms }
    }

    /// The budgets an engine has to fit.
    fn rooms(&self, index: usize) -> impl Iterator<Item = &Room<'d>> {
        let own = self.engine_rooms.iter().filter(move |(of, _)| *of == index);
        self.rooms.iter().chain(own.map(|(_, room)| room))
    }

    /// The budgets an engine does not fit.
    fn exceeded(&self, index: usize) -> impl Iterator<Item = &Room<'d>> {
        let needed = self.candidates[index].needs();
        self.rooms(index).filter(move |room| !room.fits(needed))
    }

    fn choose(&mut self) -> Outcome<'d> {
        let Some((picked, choice)) = self.preferred() else { return Outcome::NoEngine };
        if self.exceeded(picked).next().is_none() {
            return Outcome::Chosen(picked, choice);
        }
        if self.exceeded(picked).any(|room| room.rule.budget.on_exceeded == OnExceeded::Refuse) {
            return self.refuse(picked);
        }
        // The cheapest first; of those that cost the same, the one that is preferred.
        let mut cheapest: Vec<usize> = (0..self.candidates.len())
            .filter(|index| self.candidates[*index].is_viable())
            .collect();
        cheapest.sort_by_key(|index| (self.candidates[*index].needs(), *index));
        let fits = cheapest.iter().copied().find(|index| self.exceeded(*index).next().is_none());
        let over: Vec<usize> = cheapest
            .iter()
            .copied()
            .filter(|index| self.exceeded(*index).next().is_some())
            .collect();
        match (fits, cheapest.first()) {
            (None, Some(cheapest)) => self.refuse(*cheapest),
            (fits, _) => {
                for index in over {
                    self.candidates[index].excluded = Some(Exclusion::OverBudget);
                }
                fits.map_or(Outcome::NoEngine, |index| Outcome::Chosen(index, Choice::Downgraded))
            }
        }
    }

    /// The first that can take the turn, unless what is warm elsewhere is worth more.
    fn preferred(&self) -> Option<(usize, Choice)> {
        let first = self.candidates.iter().position(Candidate::is_viable)?;
        let Some(warm) = self.warm.filter(|warm| *warm != first) else {
            return Some((first, Choice::First));
        };
        if !self.candidates[warm].is_viable() {
            return Some((first, Choice::First));
        }
        let horizon = |index: usize| self.candidates[index].weighed.horizon;
        let margin = self.inputs.rules.policy.routing.switch_margin;
        match switch_pays(horizon(warm), horizon(first), margin) {
            Some(false) => Some((warm, Choice::Stayed)),
            Some(true) => Some((first, Choice::Switched)),
            // Where one of them is not known there is nothing to weigh.
            None => Some((first, Choice::First)),
        }
    }

    /// Names the budget an engine fits least.
    fn refuse(&mut self, index: usize) -> Outcome<'d> {
        let needed = self.candidates[index].needs();
        let budget = self.exceeded(index).min_by_key(|room| room.available()).and_then(Room::fact);
        for candidate in self.candidates.iter_mut().filter(|candidate| candidate.is_viable()) {
            candidate.excluded = Some(Exclusion::OverBudget);
        }
        Outcome::Exceeded { budget, needed }
    }

    /// The budgets with the least left.
    fn facts(&self, index: Option<usize>) -> Vec<BudgetFact<'d>> {
        let mut rooms: Vec<&Room<'d>> = match index {
            Some(index) => self.rooms(index).collect(),
            None => self.rooms.iter().collect(),
        };
        rooms.sort_by_key(|room| room.available());
        rooms.into_iter().filter_map(Room::fact).take(FACTS_MAX).collect()
    }

    fn write(self, outcome: Outcome<'d>) -> Decision<'d> {
        match outcome {
            Outcome::Chosen(index, choice) => self.dispatch(index, choice),
            Outcome::Exceeded { budget, needed } => {
                self.refusal(RefusalReason::BudgetExceeded, budget, Some(needed))
            }
            Outcome::NoEngine => self.refusal(RefusalReason::NoEngine, None, None),
        }
    }

    fn dispatch(self, index: usize, choice: Choice) -> Decision<'d> {
        let budgets = self.facts(Some(index));
        let record = self.record(&budgets, Some((index, choice)), None);
        let chosen = &self.candidates[index];
        Decision::Dispatch(Dispatch {
            purpose: Purpose::Turn,
            attempt: self.flight.attempts(),
            engine: chosen.engine,
            choice,
            cache_ttl: chosen.weighed.ttl,
            max_output: chosen.max_output,
            reserved: chosen.reservation,
            forecast: chosen.forecast(),
            warm: self.warm.map(|warm| self.candidates[warm].engine),
            held: self.held,
            arms: self.arms(index),
            excluded: self.excluded(),
            made_by: self.made_by(),
            budgets,
            record,
        })
    }

    fn refusal(
        self,
        reason: RefusalReason,
        budget: Option<BudgetFact<'d>>,
        needed: Option<Pico>,
    ) -> Decision<'d> {
        let record = self.record(&self.facts(None), None, budget.as_ref());
        Decision::Refusal(Refusal {
            attempt: self.flight.attempts(),
            reason,
            budget,
            needed,
            excluded: self.excluded(),
            made_by: self.made_by(),
            record,
        })
    }

    /// The chosen engine, then the others in order of preference, as long as their names leave room.
    fn arms(&self, chosen: usize) -> Vec<events::payload::Arm<'d>> {
        let others = (0..self.candidates.len()).filter(|index| *index != chosen);
        let in_order = std::iter::once(chosen).chain(others).map(|index| &self.candidates[index]);
        let mut names = 0;
        in_order
            .take(ARMS_MAX)
            .take_while(|candidate| {
                names += candidate.engine.as_str().len();
                names <= ARM_NAMES_MAX
            })
            .map(Candidate::arm)
            .collect()
    }

    fn excluded(&self) -> Vec<ExclusionCount> {
        let count = |exclusion: Exclusion| {
            let of =
                self.candidates.iter().filter(|candidate| candidate.excluded == Some(exclusion));
            (exclusion, u16::try_from(of.count()).unwrap_or(u16::MAX))
        };
        Exclusion::ALL.iter().map(|exclusion| count(*exclusion)).filter(|(_, n)| *n > 0).collect()
    }

    const fn made_by(&self) -> MadeBy {
        MadeBy { decide: VERSION, world: World::VERSION as u16, policy: self.inputs.rules.digest }
    }

    fn record(
        &self,
        budgets: &[BudgetFact<'d>],
        chosen: Option<(usize, Choice)>,
        exceeded: Option<&BudgetFact<'d>>,
    ) -> Digest {
        let record = Record {
            turn: &self.turn,
            attempt: self.flight.attempts(),
            now: self.inputs.now,
            candidates: &self.candidates,
            budgets,
            chosen,
            exceeded,
            policy: self.inputs.rules.digest,
        };
        // Writing plain data to memory has no way to fail.
        digest(Domain::Decision, &rmp_serde::to_vec(&record).unwrap_or_default())
    }
}

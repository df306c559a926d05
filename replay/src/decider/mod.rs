//! Decides turns, whoever drives it: the owner, a replay, a synthetic ledger.
//!
//! It keeps nothing a ledger would not give it again, except which prices held when a dispatch in flight was made.

mod at_dispatch;
mod attempt;
mod plan;
mod ruling;

use std::sync::Arc;

use events::event::{Body, EventError, Events};
use events::ids::{LedgerId, Millis, Seq, Subject};
use events::payload::{
    Booking, Charge, ChargeBasis, DispatchResult, Name, Reservation, ReserveBasis,
};
use projections::decide::{
    AttemptEnd, Decision, Inputs, Making, Market, charge, consider, crossings, decide,
};
use projections::names::engine_meant;
use projections::projection::Context;
use projections::routing::flights::{Flight, Open, Stake};
use projections::work::{Size, Work};
use projections::world::World;

use self::at_dispatch::AtDispatch;
pub use self::attempt::{Attempted, Fault, close, orphaned};
pub use self::plan::{Exceeded, Plan};
pub use self::ruling::{Lists, ListsError, Ruling};
use crate::policy_file::{PolicyFile, PolicyFileError, read};

/// Why a turn was not decided.
#[derive(Debug, thiserror::Error)]
pub enum DeciderError {
    /// The policy in force says what this ferry does not know: it was set by another.
    #[error("the policy in force makes no sense to this ferry: {0}")]
    Policy(#[from] PolicyFileError),
    /// The decision does not fit an event.
    #[error(transparent)]
    Event(#[from] EventError),
}

/// What decisions need besides the world and the instant.
#[derive(Clone, Debug)]
pub struct Decider {
    lists: Lists,
    ledger: LedgerId,
    /// Rules to go by whatever the ledger says.
    given: Option<Arc<Ruling>>,
    /// The rules in force, by the position of their event, until others are set.
    ruling: Option<(Option<Seq>, Arc<Ruling>)>,
    /// The engines at their prices, until a price or the rules change.
    market: Option<Arc<Market>>,
    /// What engines charged when turns were dispatched to them.
    at_dispatch: AtDispatch,
}

impl Decider {
    /// Decides by the rules in force in a ledger, and what comes with ferry where the ledger has no prices of its own.
    #[must_use]
    pub const fn new(ledger: LedgerId, lists: Lists) -> Self {
        Self {
            lists,
            ledger,
            given: None,
            ruling: None,
            market: None,
            at_dispatch: AtDispatch::new(),
        }
    }

    /// Decides by these rules, whatever the ledger says.
    #[must_use]
    pub fn given(ledger: LedgerId, lists: Lists, policy: PolicyFile) -> Self {
        let given = Some(Arc::new(Ruling::of(policy, &lists)));
        Self { given, ..Self::new(ledger, lists) }
    }

    /// The rules it decides by now.
    ///
    /// # Errors
    /// [`PolicyFileError`] where the rules in force make no sense to this ferry.
    pub fn rules(&mut self, world: &World) -> Result<Arc<Ruling>, PolicyFileError> {
        if let Some(given) = &self.given {
            return Ok(Arc::clone(given));
        }
        let in_force = world.policies.ledger();
        let seq = in_force.map(|policy| policy.seq);
        if let Some((_, ruling)) = self.ruling.as_ref().filter(|(of, _)| *of == seq) {
            return Ok(Arc::clone(ruling));
        }
        let text = in_force.map_or("", |policy| policy.text.as_str());
        let ruling = Arc::new(Ruling::of(read(text)?, &self.lists));
        self.ruling = Some((seq, Arc::clone(&ruling)));
        self.market = None;
        Ok(ruling)
    }

    /// The engines at the prices that hold now.
    ///
    /// # Errors
    /// As [`Decider::rules`].
    pub fn market(&mut self, world: &World) -> Result<Arc<Market>, PolicyFileError> {
        let ruling = self.rules(world)?;
        let made = || Arc::new(self.lists.market(&world.book, &ruling));
        Ok(Arc::clone(self.market.get_or_insert_with(made)))
    }

    /// Follows an event that counts, before the world is told of it.
    pub fn saw(&mut self, world: &World, context: &Context, body: &Body<'_>) {
        match body {
            Body::Price(_) | Body::PriceBook(_) => self.market = None,
            Body::Dispatch(dispatch) => {
                let Ok(market) = self.market(world) else { return };
                let tariffs = market.tariffs(dispatch.engine.as_str());
                let attempt = (context.subject, dispatch.attempt);
                self.at_dispatch.remember(attempt, context.received, tariffs);
            }
            Body::Result(result) if !is_estimate(result) => {
                self.at_dispatch.forget((context.subject, result.attempt));
            }
            Body::Amend(amend) => self.at_dispatch.forget((context.subject, amend.attempt)),
            _ => {}
        }
    }

    /// Shows what a turn in flight comes to now; `None` where the turn is not in flight.
    ///
    /// # Errors
    /// As [`Decider::rules`].
    pub fn decided<T>(
        &mut self,
        world: &World,
        turn: &Subject,
        now: Millis,
        see: impl FnOnce(Decision<'_>) -> T,
    ) -> Result<Option<T>, PolicyFileError> {
        let (ruling, market) = (self.rules(world)?, self.market(world)?);
        let Some(flight) = world.routing.flights.get(turn) else { return Ok(None) };
        let inputs = self.inputs(world, (&ruling, &market), turn, now);
        Ok(Some(see(decide(inputs, flight))))
    }

    /// The same, with everything that is looked at; `work` is an order's kind, where one asks.
    ///
    /// # Errors
    /// As [`Decider::rules`].
    pub fn considered<T>(
        &mut self,
        world: &World,
        (turn, flight): (&Subject, &Flight),
        now: Millis,
        work: Option<(Work, Size)>,
        see: impl FnOnce(Decision<'_>, &Making<'_>) -> T,
    ) -> Result<T, PolicyFileError> {
        let (ruling, market) = (self.rules(world)?, self.market(world)?);
        let inputs = Inputs { work, ..self.inputs(world, (&ruling, &market), turn, now) };
        let (decision, making) = consider(inputs, flight);
        Ok(see(decision, &making))
    }

    fn inputs<'d>(
        &'d self,
        world: &'d World,
        (ruling, market): (&'d Ruling, &'d Market),
        turn: &'d Subject,
        now: Millis,
    ) -> Inputs<'d> {
        let (rules, ledger) = (&ruling.rules, &self.ledger);
        Inputs { world, rules, market, ledger, turn, now, work: None }
    }

    /// Writes what a turn in flight comes to now.
    ///
    /// # Errors
    /// [`DeciderError`].
    pub fn dispatch(
        &mut self,
        world: &World,
        turn: &Subject,
        now: Millis,
        events: &mut Events,
    ) -> Result<Option<Plan>, DeciderError> {
        let mut write = |decision: Decision<'_>| -> Result<Plan, EventError> {
            match decision {
                Decision::Dispatch(dispatch) => {
                    events.push(now, *turn, &dispatch)?;
                    Ok(Plan::dispatched(&dispatch))
                }
                Decision::Refusal(refusal) => {
                    events.push(now, *turn, &refusal)?;
                    Ok(Plan::refused(&refusal))
                }
            }
        };
        Ok(self.decided(world, turn, now, &mut write)?.transpose()?)
    }

    /// What an attempt in flight is charged with.
    ///
    /// # Errors
    /// As [`Decider::rules`].
    pub fn charge(
        &mut self,
        world: &World,
        turn: &Subject,
        open: &Open,
        end: &AttemptEnd<'_>,
    ) -> Result<Charge, PolicyFileError> {
        Ok(self.charged(world, (*turn, open.attempt), &open.stake(), end)?.0)
    }

    /// What an attempt is charged with at the prices that held when it was dispatched; false beside it where they are not
    /// known, and those of now are taken.
    fn charged(
        &mut self,
        world: &World,
        attempt: (Subject, u16),
        stake: &Stake<'_>,
        end: &AttemptEnd<'_>,
    ) -> Result<(Charge, bool), PolicyFileError> {
        let market = self.market(world)?;
        let meant = engine_meant(end.engine, stake.engine);
        let held = self.at_dispatch.get(attempt).filter(|_| meant == stake.engine);
        let of_now = || market.tariffs(meant);
        let tariffs = held.map_or_else(of_now, |held| held.tariffs.clone());
        Ok((charge(stake, tariffs.as_ref(), end), held.is_some()))
    }

    /// Writes the marks of budgets that a charge passes.
    pub(super) fn mark(
        &mut self,
        world: &World,
        (turn, flight, open): (&Subject, &Flight, &Open),
        now: Millis,
        charge: Charge,
        events: &mut Events,
    ) -> Result<(), DeciderError> {
        let (ruling, market) = (self.rules(world)?, self.market(world)?);
        let inputs = self.inputs(world, (&ruling, &market), turn, now);
        let marks = crossings(inputs, flight, open, charge);
        Ok(marks.iter().try_for_each(|mark| events.push(now, *turn, mark))?)
    }

    /// Writes the end of an attempt in flight: how its engine failed, if it did, its result, with its charge, and the marks of budgets it passes.
    ///
    /// # Errors
    /// [`DeciderError`].
    pub fn end(
        &mut self,
        world: &World,
        (turn, flight, open): (&Subject, &Flight, &Open),
        now: Millis,
        attempted: &Attempted<'_>,
        events: &mut Events,
    ) -> Result<Charge, DeciderError> {
        let charge = self.charge(world, turn, open, &attempted.end())?;
        // While the attempt is still open, the folds know when it was dispatched, and for whom.
        let dispatched = Name::new(&open.engine).ok();
        if let Some(fault) = dispatched.and_then(|engine| attempted.engine_fault(engine)) {
            events.push(now, *turn, &fault)?;
        }
        events.push(now, *turn, &attempted.result(flight.arrival.at, charge))?;
        self.mark(world, (turn, flight, open), now, charge, events)?;
        Ok(charge)
    }

    /// What an attempt that was settled before its figures came is charged with by them.
    ///
    /// # Errors
    /// As [`Decider::rules`].
    pub fn rebooked<'b>(
        &mut self,
        world: &World,
        turn: &Subject,
        (booking, reserved): (Booking<'b>, Reservation),
        attempted: &Attempted<'_>,
    ) -> Result<Booking<'b>, PolicyFileError> {
        // What it was charged with stands for what had been set aside.
        let stake = Stake {
            engine: booking.engine.as_str(),
            dispatched: booking.dispatched,
            basis: reserved.basis,
            reserved: booking.was.cost.amount(),
        };
        let attempt = (*turn, attempted.attempt);
        let (mut now, is_held) = self.charged(world, attempt, &stake, &attempted.end())?;
        // The prices that held then are not known any more: by those it could not come to more than was set aside.
        if let (ChargeBasis::Priced, false, ReserveBasis::Ceiling, Some(most)) =
            (now.basis, is_held, reserved.basis, reserved.amount)
        {
            now.cost.known = now.cost.known.min(most);
        }
        Ok(Booking { now, ..booking })
    }
}

fn is_estimate(result: &DispatchResult<'_>) -> bool {
    result.charge.is_none_or(|charge| charge.basis == ChargeBasis::Estimated)
}

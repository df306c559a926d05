//! Decides turns, whoever drives it: the owner, a replay, a synthetic ledger.
//!
//! It keeps nothing a ledger would not give it again, except which prices held when a dispatch in flight was made.

use std::collections::BTreeMap;
use std::sync::Arc;

use events::event::{Body, EventError, Events};
use events::ids::{Millis, Subject};
use events::money::Pico;
use events::payload::{
    Booking, CacheTtl, Charge, ChargeBasis, Choice, Dispatch, DispatchResult, Ending, Finish, Name,
    Parts, RawPairs, Refusal, Reservation, ReserveBasis, TurnClosed,
};
use events::usage::Usage;
use projections::decide::{AttemptEnd, Decision, Inputs, Market, charge, crossings, decide};
use projections::policy::Rules;
use projections::projection::Context;
use projections::routing::flights::{Flight, Open};
use projections::world::World;
use serde::{Deserialize, Serialize};

use crate::effective_book::{PricePolicy, effective};
use crate::prices::PriceList;

/// What came of asking for an engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Plan {
    /// Hand it to this engine.
    Dispatch {
        /// Attempts before this one.
        attempt: u16,
        /// The engine.
        engine: String,
        /// How it came to be chosen.
        choice: Choice,
        /// How long its cache writes are to be kept.
        cache_ttl: CacheTtl,
        /// The longest answer to ask it for, in tokens.
        max_output: u32,
    },
    /// Nothing may be dispatched.
    Refused {
        /// The budget that is exceeded; `None` where no engine can take it.
        budget: Option<Exceeded>,
    },
}

/// A budget that stands in the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exceeded {
    /// Its name in the policy.
    pub name: String,
    /// What its money is counted for.
    pub scope: String,
    /// Its limit.
    pub limit: Pico,
    /// What was spent.
    pub spent: Pico,
    /// What is set aside.
    pub reserved: Pico,
    /// What the cheapest engine would have needed.
    pub needed: Option<Pico>,
    /// Of a paced month: what may be spent today.
    pub allowance: Option<Pico>,
    /// When there is room again.
    pub resets_at: Option<Millis>,
}

impl Plan {
    /// What a recorded decision came to; `None` of other events.
    #[must_use]
    pub fn of(body: &Body<'_>) -> Option<Self> {
        match body {
            Body::Dispatch(dispatch) => Some(Self::dispatched(dispatch)),
            Body::Refusal(refusal) => Some(Self::refused(refusal)),
            _ => None,
        }
    }

    fn dispatched(dispatch: &Dispatch<'_>) -> Self {
        Self::Dispatch {
            attempt: dispatch.attempt,
            engine: dispatch.engine.as_str().to_owned(),
            choice: dispatch.choice,
            cache_ttl: dispatch.cache_ttl,
            max_output: dispatch.max_output,
        }
    }

    fn refused(refusal: &Refusal<'_>) -> Self {
        let budget = refusal.budget.map(|budget| Exceeded {
            name: budget.name.as_str().to_owned(),
            scope: budget.scope.label().to_owned(),
            limit: budget.limit,
            spent: budget.spent.known,
            reserved: budget.reserved.known,
            needed: refusal.needed,
            allowance: budget.allowance,
            resets_at: budget.resets_at,
        });
        Self::Refused { budget }
    }
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempted<'a> {
    /// Attempts before it.
    pub attempt: u16,
    /// The engine that served it.
    #[serde(borrow)]
    pub engine: Name<'a>,
    /// What it used.
    pub usage: Usage,
    /// The same, as the provider said it.
    pub raw_usage: RawPairs<'a>,
    /// What the answer holds.
    pub parts: Option<Parts>,
    /// Why the answer ended.
    pub finish: Finish,
    /// From request to last byte, in milliseconds.
    pub latency_ms: Option<u32>,
    /// What the provider says it cost.
    pub reported: Option<Pico>,
    /// False only where no byte of it can have reached the engine.
    pub reached_engine: bool,
}

impl<'a> Attempted<'a> {
    /// An attempt of which nothing is known but that it is over.
    #[must_use]
    pub fn unknown(attempt: u16, engine: Name<'a>) -> Self {
        Self {
            attempt,
            engine,
            usage: Usage::default(),
            raw_usage: RawPairs::default(),
            parts: None,
            finish: Finish::Unknown,
            latency_ms: None,
            reported: None,
            reached_engine: true,
        }
    }

    const fn end(&self) -> AttemptEnd<'a> {
        AttemptEnd {
            engine: self.engine.as_str(),
            usage: self.usage,
            reported: self.reported,
            reached_engine: self.reached_engine,
        }
    }

    fn result(&self, turn_at: Millis, charge: Charge) -> DispatchResult<'a> {
        DispatchResult { charge: Some(charge), ..self.told(turn_at) }
    }

    /// The result of an attempt that is only told of: nobody here charges anything.
    #[must_use]
    pub fn told(&self, turn_at: Millis) -> DispatchResult<'a> {
        DispatchResult {
            attempt: self.attempt,
            turn_at,
            engine: self.engine,
            usage: self.usage,
            raw_usage: self.raw_usage.clone(),
            parts: self.parts,
            finish: self.finish,
            latency_ms: self.latency_ms,
            charge: None,
        }
    }
}

/// Dispatches whose prices are remembered: those in flight, and those that were estimated and may be corrected.
const AT_DISPATCH_MAX: usize = 16_384;

/// What decisions need besides the world and the instant.
#[derive(Clone, Debug)]
pub struct Decider {
    rules: Rules,
    policy: PricePolicy,
    list: Arc<PriceList>,
    /// The engines at their prices, until a price changes.
    market: Option<Arc<Market>>,
    /// The prices that held when dispatches in flight were made.
    at_dispatch: BTreeMap<(Subject, u16), Arc<Market>>,
}

impl Decider {
    /// Decides by these rules and prices; what the ledger says of prices goes before the list.
    #[must_use]
    pub fn new(rules: Rules, policy: PricePolicy, list: Arc<PriceList>) -> Self {
        // What people say of prices decides too.
        let rules = rules.along_with(&(&policy, list.digest));
        Self { rules, policy, list, market: None, at_dispatch: BTreeMap::new() }
    }

    /// The rules it decides by.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The engines at the prices that hold now.
    pub fn market(&mut self, world: &World) -> Arc<Market> {
        let made =
            || Arc::new(Market::new(effective(&world.book, &self.list, &self.policy), &self.rules));
        Arc::clone(self.market.get_or_insert_with(made))
    }

    /// Follows an event that counts, before the world is told of it.
    pub fn saw(&mut self, world: &World, context: &Context, body: &Body<'_>) {
        match body {
            Body::Price(_) | Body::PriceBook(_) => self.market = None,
            Body::Dispatch(dispatch) => {
                let market = self.market(world);
                self.at_dispatch.insert((context.subject, dispatch.attempt), market);
                if self.at_dispatch.len() > AT_DISPATCH_MAX {
                    self.at_dispatch.pop_first();
                }
            }
            Body::Result(result) if !is_estimate(result) => {
                self.at_dispatch.remove(&(context.subject, result.attempt));
            }
            Body::Amend(amend) => {
                self.at_dispatch.remove(&(context.subject, amend.attempt));
            }
            _ => {}
        }
    }

    /// Shows what a turn in flight comes to now; `None` where the turn is not in flight.
    pub fn decided<T>(
        &mut self,
        world: &World,
        turn: &Subject,
        now: Millis,
        see: impl FnOnce(Decision<'_>) -> T,
    ) -> Option<T> {
        let market = self.market(world);
        let flight = world.routing.flights.get(turn)?;
        let inputs = Inputs { world, rules: &self.rules, market: &market, now };
        Some(see(decide(inputs, turn, flight)))
    }

    /// Writes what a turn in flight comes to now.
    ///
    /// # Errors
    /// [`EventError`] when there is no room.
    pub fn dispatch(
        &mut self,
        world: &World,
        turn: &Subject,
        now: Millis,
        events: &mut Events,
    ) -> Result<Option<Plan>, EventError> {
        let written = self.decided(world, turn, now, |decision| match decision {
            Decision::Dispatch(dispatch) => {
                events.push(now, *turn, &dispatch)?;
                Ok(Plan::dispatched(&dispatch))
            }
            Decision::Refusal(refusal) => {
                events.push(now, *turn, &refusal)?;
                Ok(Plan::refused(&refusal))
            }
        });
        written.transpose()
    }

    /// What an attempt in flight is charged with.
    pub fn charge(
        &mut self,
        world: &World,
        turn: &Subject,
        open: &Open,
        end: &AttemptEnd<'_>,
    ) -> Charge {
        let (market, _) = self.market_at_dispatch(world, turn, open.attempt);
        charge(open, &market, end)
    }

    /// The prices that held when an attempt was dispatched; false beside those of now, where they are not known any more.
    fn market_at_dispatch(
        &mut self,
        world: &World,
        turn: &Subject,
        attempt: u16,
    ) -> (Arc<Market>, bool) {
        let held = self.at_dispatch.get(&(*turn, attempt)).cloned();
        held.map_or_else(|| (self.market(world), false), |market| (market, true))
    }

    /// Writes the marks of budgets that a charge passes.
    fn mark(
        &mut self,
        world: &World,
        (turn, flight, open): (&Subject, &Flight, &Open),
        now: Millis,
        charge: Charge,
        events: &mut Events,
    ) -> Result<(), EventError> {
        let market = self.market(world);
        let inputs = Inputs { world, rules: &self.rules, market: &market, now };
        let marks = crossings(inputs, turn, flight, open, charge);
        marks.iter().try_for_each(|mark| events.push(now, *turn, mark))
    }

    /// Writes the end of an attempt in flight: its result, with its charge, and the marks of budgets it passes.
    ///
    /// # Errors
    /// [`EventError`] when there is no room.
    pub fn end(
        &mut self,
        world: &World,
        (turn, flight, open): (&Subject, &Flight, &Open),
        now: Millis,
        attempted: &Attempted<'_>,
        events: &mut Events,
    ) -> Result<Charge, EventError> {
        let charge = self.charge(world, turn, open, &attempted.end());
        events.push(now, *turn, &attempted.result(flight.arrival.at, charge))?;
        self.mark(world, (turn, flight, open), now, charge, events)?;
        Ok(charge)
    }

    /// What an attempt that was settled before its figures came is charged with by them.
    pub fn rebooked<'b>(
        &mut self,
        world: &World,
        turn: &Subject,
        (booking, reserved): (Booking<'b>, Reservation),
        attempted: &Attempted<'_>,
    ) -> Booking<'b> {
        let open = open_again(&booking, reserved, attempted.attempt);
        let (market, is_held) = self.market_at_dispatch(world, turn, attempted.attempt);
        let mut now = charge(&open, &market, &attempted.end());
        // The prices that held then are not known any more: by those it could not come to more than was set aside.
        if let (ChargeBasis::Priced, false, ReserveBasis::Ceiling, Some(most)) =
            (now.basis, is_held, reserved.basis, reserved.amount)
        {
            now.cost.known = now.cost.known.min(most);
        }
        Booking { now, ..booking }
    }
}

fn is_estimate(result: &DispatchResult<'_>) -> bool {
    result.charge.is_none_or(|charge| charge.basis == ChargeBasis::Estimated)
}

/// What a settled attempt was before. What it was charged with stands for what had been set aside.
fn open_again(booking: &Booking<'_>, reserved: Reservation, attempt: u16) -> Open {
    Open {
        attempt,
        engine: booking.engine.as_str().to_owned(),
        dispatched: booking.dispatched,
        basis: reserved.basis,
        reserved: booking.was.cost.amount(),
        expected: booking.was.cost,
    }
}

/// Writes the end of a turn, and before it of every attempt that has none: what was set aside for it is taken, since
/// nobody says what it cost. With a decider, the marks of budgets that this passes are written too.
///
/// # Errors
/// [`EventError`] when there is no room.
pub fn close(
    world: &World,
    mut decider: Option<&mut Decider>,
    (turn, flight): (&Subject, &Flight),
    now: Millis,
    closed: &TurnClosed,
    events: &mut Events,
) -> Result<(), EventError> {
    for open in &flight.open {
        let Ok(engine) = Name::new(&open.engine) else { continue };
        let attempted = Attempted::unknown(open.attempt, engine);
        let charge = open.estimated();
        events.push(now, *turn, &attempted.result(flight.arrival.at, charge))?;
        if let Some(decider) = decider.as_deref_mut() {
            decider.mark(world, (turn, flight, open), now, charge, events)?;
        }
    }
    events.push(now, *turn, closed)
}

/// The end of a turn whose owner is gone.
#[must_use]
pub fn orphaned(flight: &Flight) -> TurnClosed {
    TurnClosed { ending: Ending::Failed, attempts: flight.attempts(), bytes_sent: None }
}

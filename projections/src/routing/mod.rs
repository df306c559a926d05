//! What decisions on turns are made from: turns in flight, money spent, warm caches, what results taught.
//!
//! [`Flights`] joins the events of a turn; whatever an attempt's end teaches is told to the others, so that none of
//! them has to remember turns.

pub mod flights;
pub mod habits;
pub mod hold;
pub mod lanes;
pub mod learned;
pub mod spend;

use events::event::Body;
use events::ids::{Digest, Millis};
use events::payload::{Amend, ChargeBasis};
use serde::{Deserialize, Serialize};

use self::flights::{Ended, Flights};
use self::lanes::Lanes;
use self::learned::Learned;
use self::spend::{Place, Spend};
use crate::calendar::Span;
use crate::days::day_of;
use crate::names::canonical;
use crate::projection::{
    Context, Order, Projection, SnapshotError, combined, restored, snapshot_of,
};

/// Conversations leave so long after their last turn.
const KEPT_MS: Millis = 7 * 86_400_000;

/// What decisions on turns are made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Routing {
    /// Turns in flight.
    pub flights: Flights,
    /// What was spent.
    pub spend: Spend,
    /// What is warm where.
    pub lanes: Lanes,
    /// What results taught.
    pub learned: Learned,
    /// The newest instant a turn was taken in at: what is old is told by the owner's clock, whatever turns say of
    /// themselves.
    newest: Millis,
}

/// Everything as a snapshot has it.
#[derive(Serialize, Deserialize)]
struct State(flights::State, spend::State, lanes::State, learned::State, Millis);

impl Routing {
    /// Once a day, what is old is forgotten.
    fn age(&mut self, received: Millis) {
        let is_new_day = day_of(received) > day_of(self.newest);
        self.newest = self.newest.max(received);
        if is_new_day {
            let oldest = self.newest.saturating_sub(KEPT_MS);
            self.flights.forget_before(oldest);
            self.spend.forget();
            let to = self.newest.saturating_add(KEPT_MS);
            self.lanes.forget_outside(Span { from: oldest, to });
        }
    }

    /// A better figure moves what was booked. What was learned from the one before stays.
    fn amend(&mut self, amend: &Amend<'_>) {
        if let Some(booking) = &amend.booking {
            let place = self.spend.place(booking);
            self.spend.rebook(&place, booking.was.cost, booking.now.cost);
        }
    }
}

/// What an attempt's end teaches.
fn learn(spend: &mut Spend, lanes: &mut Lanes, learned: &mut Learned, ended: &Ended<'_>) {
    if let (Some(open), Some(accounts), Some(charge)) = (&ended.open, ended.accounts, ended.charge)
    {
        let place = Place {
            dispatched: open.dispatched,
            engine: &open.engine,
            conversation: ended.arrival.lane.0,
            accounts: accounts.clone(),
        };
        spend.book(&place, charge.cost);
        let is_bill = matches!(charge.basis, ChargeBasis::Reported | ChargeBasis::Priced);
        learned.billed(&open.engine, open.expected, is_bill.then_some(charge.cost));
    }
    let Some(result) = ended.result.filter(|result| result.usage.prompt.is_some()) else { return };
    let engine = canonical(result.engine.as_str());
    let kind = ended.asked.and_then(|asked| asked.kind);
    lanes.serve(ended.arrival, &engine, &result.usage, kind.map(|kind| kind.tier));
    if let Some(output) = result.usage.output {
        learned.answered(&engine, kind, output, result.usage.reasoning.unwrap_or(0));
    }
}

impl Projection for Routing {
    const NAME: &'static str = "routing";
    const VERSION: u32 = 1;
    const ORDER: Order = Order::Local;

    fn genesis() -> Self {
        Self {
            flights: Flights::new(),
            spend: Spend::new(),
            lanes: Lanes::new(),
            learned: Learned::new(),
            newest: 0,
        }
    }

    fn apply(&mut self, context: &Context, body: &Body<'_>) {
        match body {
            Body::Turn(_) => self.age(context.received),
            Body::Amend(amend) => self.amend(amend),
            _ => {}
        }
        let ask = match body {
            Body::Turn(turn) => turn.ask.as_ref(),
            _ => None,
        };
        let accounts = ask.map(|ask| self.spend.accounts(ask, || self.flights.accounts()));
        let Self { flights, spend, lanes, learned, .. } = self;
        flights.follow(context, body, accounts, &mut |ended| learn(spend, lanes, learned, ended));
    }

    fn settle(&mut self) {
        self.flights.settle();
        self.spend.settle();
        self.lanes.settle();
        self.learned.settle();
    }

    fn digest(&self) -> Digest {
        let (live, told) = self.flights.tables();
        let (quarters, days, conversations) = self.spend.tables();
        let (lanes, habits, pauses) = self.lanes.tables();
        let (answers, accuracy) = self.learned.tables();
        let newest = events::hash::digest(events::hash::Domain::State, &self.newest.to_be_bytes());
        combined(
            Self::NAME,
            &[
                live.digest(),
                told.digest(),
                quarters.digest(),
                days.digest(),
                conversations.digest(),
                lanes.digest(),
                habits.digest(),
                pauses.digest(),
                answers.digest(),
                accuracy.digest(),
                newest,
            ],
        )
    }

    fn snapshot(&self) -> Vec<u8> {
        let (flights, spend) = (self.flights.tables(), self.spend.tables());
        snapshot_of::<Self>(&(
            flights,
            spend,
            self.lanes.tables(),
            self.learned.tables(),
            self.newest,
        ))
    }

    fn restore(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let State(flights, spend, lanes, learned, newest) = restored::<Self, _>(bytes)?;
        Ok(Self {
            flights: Flights::of(flights),
            spend: Spend::of(spend),
            lanes: Lanes::of(lanes),
            learned: Learned::of(learned),
            newest,
        })
    }
}

#[cfg(test)]
mod tests;

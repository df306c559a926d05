//! What decisions on turns are made from: turns in flight, money spent, warm caches, what results taught.
//!
//! [`Flights`] joins the events of a turn; whatever an attempt's end teaches is told to the others, so that none of
//! them has to remember turns.

pub mod cool_offs;
pub mod flights;
pub mod habits;
pub mod hold;
pub mod lanes;
pub mod learned;
pub mod service;
pub mod spend;

use events::event::Body;
use events::ids::{Digest, Millis};
use events::payload::{Amend, ChargeBasis, EngineFault, Feedback};
use serde::{Deserialize, Serialize};

use self::cool_offs::CoolOffs;
use self::flights::{Ended, Flights};
use self::lanes::{Lanes, ServedAt};
use self::learned::Learned;
use self::service::is_the_engines_fault;
use self::spend::{Place, Spend};
use crate::calendar::Span;
use crate::days::day_of;
use crate::names::{canonical, engine_meant, is_the_same_model};
use crate::projection::{
    Context, Order, Projection, SnapshotError, combined, restored, snapshot_of,
};

use crate::tokens::teaches;

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
    /// What results and people taught.
    pub learned: Learned,
    /// Who is left alone for now.
    pub cool_offs: CoolOffs,
    /// The newest instant a turn was taken in at: what is old is told by the owner's clock, whatever turns say of
    /// themselves.
    newest: Millis,
}

/// Everything as a snapshot has it.
#[derive(Serialize, Deserialize)]
struct State(flights::State, spend::State, lanes::State, learned::State, cool_offs::State, Millis);

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

    /// The engine failed an attempt that has not ended yet.
    fn fault(&mut self, context: &Context, fault: &EngineFault<'_>) {
        let Some(flight) = self.flights.get(&context.subject) else { return };
        let Some(open) = flight.open(fault.attempt) else { return };
        if open.engine != fault.engine.as_str() {
            return;
        }
        self.cool_offs.fail(fault, open.dispatched, context.received);
        if is_the_engines_fault(fault.class) {
            let harness = flight.asked.harness.as_deref();
            let engine = canonical(&open.engine);
            self.learned.service_of(&engine, |service| service.attempted(harness, true));
        }
        self.flights.fail(&context.subject, fault.attempt);
    }

    /// A person judged an answer.
    fn judge(&mut self, context: &Context, feedback: &Feedback<'_>) {
        if let Some(kind) = feedback.kind {
            let (engine, day) = (canonical(feedback.engine.as_str()), day_of(context.received));
            self.learned.judged(&engine, kind, day, feedback.verdict);
            if let Some(before) = feedback.replaces {
                self.learned.unjudged(&engine, kind, day_of(before.at), before.verdict);
            }
        }
    }
}

/// What an attempt's end teaches.
fn learn(
    (spend, lanes, learned, cool_offs): (&mut Spend, &mut Lanes, &mut Learned, &mut CoolOffs),
    ended: &Ended<'_>,
) {
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
    let Some(result) = ended.result else { return };
    let Some(prompt) = result.usage.prompt else { return };
    let open = ended.open.as_ref();
    let served = result.engine.as_str();
    let is_asked = open.is_some_and(|open| is_the_same_model(served, &open.engine));
    let engine = canonical(open.map_or(served, |open| engine_meant(served, &open.engine)));
    if !learned.meets(&engine, is_asked) {
        return;
    }
    if let Some(bytes) = open.zip(ended.asked).and_then(|(_, asked)| teaches(&asked.features)) {
        learned.calibrate(&engine, bytes, prompt);
    }
    // What was used before an engine failed is paid for; it was no answer.
    if open.is_some_and(|open| open.has_failed) {
        return;
    }
    let at = open.map_or_else(ServedAt::default, |open| ServedAt {
        tier: Some(open.tier),
        deferred: open.deferred,
    });
    lanes.serve(ended.arrival, &engine, &result.usage, at);
    if let Some(output) = result.usage.output {
        let kind = open.map(|open| open.kind);
        learned.answered(&engine, kind, output, result.usage.reasoning.unwrap_or(0));
    }
    // Sources tell of answers, seldom of failures: only what was dispatched here says how often an engine serves.
    if let (Some(open), Some(asked)) = (open, ended.asked) {
        cool_offs.answer(&open.engine, open.dispatched);
        if is_asked {
            cool_offs.serve(&open.engine, open.dispatched);
        }
        learned.service_of(&engine, |service| {
            service.attempted(asked.harness.as_deref(), false);
            if let (Some(first), Some(whole), Some(output)) =
                (result.first_ms, result.latency_ms, result.usage.output)
            {
                service.timed(first, whole, output);
            }
        });
    }
}

impl Projection for Routing {
    const NAME: &'static str = "routing";
    const VERSION: u32 = 2;
    const ORDER: Order = Order::Local;

    fn genesis() -> Self {
        Self {
            flights: Flights::new(),
            spend: Spend::new(),
            lanes: Lanes::new(),
            learned: Learned::new(),
            cool_offs: CoolOffs::new(),
            newest: 0,
        }
    }

    fn apply(&mut self, context: &Context, body: &Body<'_>) {
        match body {
            Body::Turn(_) => self.age(context.received),
            Body::Amend(amend) => self.amend(amend),
            Body::EngineFault(fault) => self.fault(context, fault),
            Body::Feedback(feedback) => self.judge(context, feedback),
            _ => {}
        }
        let ask = match body {
            Body::Turn(turn) => turn.ask.as_ref(),
            _ => None,
        };
        let accounts = ask.map(|ask| self.spend.accounts(ask, || self.flights.accounts()));
        let Self { flights, spend, lanes, learned, cool_offs, .. } = self;
        flights.follow(context, body, accounts, &mut |ended| {
            learn((spend, lanes, learned, cool_offs), ended);
        });
    }

    fn settle(&mut self) {
        self.flights.settle();
        self.spend.settle();
        self.lanes.settle();
        self.learned.settle();
        self.cool_offs.settle();
    }

    fn digest(&self) -> Digest {
        let (live, told) = self.flights.tables();
        let (quarters, days, conversations) = self.spend.tables();
        let (lanes, habits, pauses) = self.lanes.tables();
        let (answers, accuracy, service, labels, calibration) = self.learned.tables();
        let (engines, upstreams) = self.cool_offs.tables();
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
                service.digest(),
                labels.digest(),
                calibration.digest(),
                engines.digest(),
                upstreams.digest(),
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
            self.cool_offs.tables(),
            self.newest,
        ))
    }

    fn restore(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let State(flights, spend, lanes, learned, cool_offs, newest) = restored::<Self, _>(bytes)?;
        Ok(Self {
            flights: Flights::of(flights),
            spend: Spend::of(spend),
            lanes: Lanes::of(lanes),
            learned: Learned::of(learned),
            cool_offs: CoolOffs::of(cool_offs),
            newest,
        })
    }
}

#[cfg(test)]
mod tests;

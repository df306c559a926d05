//! Turns: asked, tried again, ended, closed. Each command can be given again: what was decided stands.

use std::ops::ControlFlow;

use events::batch::Batch;
use events::entry::Entry;
use events::event::{Body, Events};
use events::ids::{Millis, Seq, Subject};
use events::log::ReadLog as _;
use events::payload::{
    Amend, AmendReason, Booking, Charge, ChargeBasis, Name, Reservation, Stream, Turn, TurnClosed,
    TurnKind,
};
use events::usage::Usage;
use replay::decider::{Attempted, Decider, Lists, Plan, close, orphaned};

use super::command::Outcome;
use super::decide::{Decided, Stop};
use super::group::Group;
use super::live::Live;
use crate::store::StoreError;

/// What the log says of an attempt that has ended.
#[derive(Default)]
struct Told {
    turn: Option<Asker>,
    dispatched: Option<(Millis, String, Reservation, TurnKind)>,
    result: Option<(Millis, Usage, Charge)>,
    newest: Millis,
}

/// Who asked, as far as money is concerned.
#[derive(Clone)]
struct Asker {
    conversation: Subject,
    harness: Option<String>,
    project: Option<String>,
}

impl Live {
    /// The decider, made with the bundled lists when it is first needed. It can follow the rules in force.
    fn decider(&mut self) -> Result<&mut Decider, Stop> {
        if self.decider.is_none() {
            let lists = Lists::bundled().map_err(|error| Stop::Refused(error.to_string()))?;
            self.decider = Some(Decider::new(self.store.head().ledger, lists));
        }
        let Some(decider) = &mut self.decider else {
            return Err(Stop::Refused("nothing decides turns".to_owned()));
        };
        decider.rules(&self.world)?;
        Ok(decider)
    }

    /// Settles what was in flight when the last owner ended: nobody else will.
    pub(super) fn settle_orphans(&mut self) -> Result<(), StoreError> {
        if self.world.routing.flights.iter().next().is_none() {
            return Ok(());
        }
        // Where policy makes no sense they are settled all the same; what it says of marks is not known then.
        let _ = self.decider();
        let mut group = self.begin()?;
        let orphans: Vec<_> = self
            .world
            .routing
            .flights
            .iter()
            .map(|(turn, flight)| (*turn, flight.clone()))
            .collect();
        for (turn, flight) in orphans {
            if !group.has_room(Stream::Proxy) {
                self.commit_before(&mut group)?;
            }
            let closed = orphaned(&flight);
            let mut events = Events::new();
            let (decider, of) = (self.decider.as_mut(), (&turn, &flight));
            let written = close(&self.world, decider, of, group.received, &closed, &mut events);
            written.map_err(|_| StoreError::Damaged { what: "turn in flight" })?;
            self.apply(&mut group, Stream::Proxy, &events)?;
        }
        self.commit(group, true)
    }

    pub(super) fn ask(
        &mut self,
        id: &Subject,
        turn: &Turn<'_>,
        group: &mut Group,
    ) -> Result<Decided, Stop> {
        // It may be in the log, or, closed already, in the group that is being gathered.
        if group.said.contains_key(id) || self.is_known(id)? {
            return self.planned_before(id, 0, group);
        }
        if turn.ask.is_none() {
            return Err(Stop::Refused("the turn does not say what it asks for".to_owned()));
        }
        // Before anything is written: a policy that makes no sense leaves no turn behind.
        self.decider()?;
        let mut events = Events::new();
        events.push(group.received, *id, turn)?;
        group.said.insert(*id, group.next);
        self.apply(group, Stream::Proxy, &events)?;
        self.dispatch(id, group)
    }

    pub(super) fn retry(
        &mut self,
        turn: &Subject,
        attempt: u16,
        group: &mut Group,
    ) -> Result<Decided, Stop> {
        let attempts = self.world.routing.flights.get(turn).map(|flight| flight.attempts());
        match attempts {
            Some(attempts) if attempts == attempt => {
                if let Some(plan) = self.plan(turn, attempt, group)? {
                    return Ok(planned(plan));
                }
                self.dispatch(turn, group)
            }
            Some(attempts) if attempts < attempt => {
                let problem = format!("attempt {attempt} of a turn that has had {attempts}");
                Err(Stop::Refused(problem))
            }
            // What was decided for it stands, though the turn may be over by now.
            _ => self.planned_before(turn, attempt, group),
        }
    }

    /// Decides a turn the world has been told of.
    fn dispatch(&mut self, turn: &Subject, group: &Group) -> Result<Decided, Stop> {
        self.decider()?;
        let Some(decider) = &mut self.decider else { return Err(not_in_flight(turn)) };
        let mut events = Events::new();
        let plan = decider.dispatch(&self.world, turn, group.received, &mut events)?;
        let plan = plan.ok_or_else(|| not_in_flight(turn))?;
        Ok(Decided { events, outcome: Outcome::Planned(plan), key: None })
    }

    pub(super) fn end_attempt(
        &mut self,
        turn: &Subject,
        attempted: &Attempted<'_>,
        group: &mut Group,
    ) -> Result<Decided, Stop> {
        self.decider()?;
        let mut events = Events::new();
        let flight = self.world.routing.flights.get(turn);
        let open = flight.and_then(|flight| Some((flight, flight.open(attempted.attempt)?)));
        let (Some((flight, open)), Some(decider)) = (open, &mut self.decider) else {
            return self.correct(turn, attempted, group);
        };
        let of = (turn, flight, open);
        decider.end(&self.world, of, group.received, attempted, &mut events)?;
        Ok(written(events, group))
    }

    /// The attempt was settled before: as an estimate, which better figures replace, or for good.
    fn correct(
        &mut self,
        turn: &Subject,
        attempted: &Attempted<'_>,
        group: &mut Group,
    ) -> Result<Decided, Stop> {
        self.commit_before(group)?;
        let told = self.told(turn, attempted.attempt)?;
        let (Some(asker), Some((dispatched, engine, reserved, kind)), Some((turn_at, usage, was))) =
            (told.turn, told.dispatched, told.result)
        else {
            return Err(not_in_flight(turn));
        };
        let knows_more = attempted.reported.is_some()
            || !attempted.reached_engine
            || (attempted.usage.prompt.is_some() && attempted.usage.output.is_some());
        let there = self.store.positions_about(turn)?.last().copied();
        let known = Decided::known(there.unwrap_or(group.next));
        if was.basis != ChargeBasis::Estimated || !knows_more {
            return Ok(known);
        }
        let booking = Booking {
            dispatched,
            engine: name(Some(&engine))?.unwrap_or(attempted.engine),
            conversation: asker.conversation,
            harness: name(asker.harness.as_deref())?,
            project: name(asker.project.as_deref())?,
            kind: Some(kind),
            was,
            now: was,
        };
        let Some(decider) = &mut self.decider else { return Err(not_in_flight(turn)) };
        let booking = decider.rebooked(&self.world, turn, (booking, reserved), attempted)?;
        if booking.now == was && usage == attempted.usage {
            return Ok(known);
        }
        let amend = Amend {
            attempt: attempted.attempt,
            engine: attempted.engine,
            turn_at,
            replaces: usage,
            usage: attempted.usage,
            turn: None,
            booking: Some(booking),
            reason: AmendReason::ProviderFinal,
        };
        let mut events = Events::new();
        // Of amends the latest counts.
        events.push(group.received.max(told.newest.saturating_add(1)), *turn, &amend)?;
        Ok(written(events, group))
    }

    pub(super) fn close_turn(
        &mut self,
        turn: &Subject,
        closed: &TurnClosed,
        group: &mut Group,
    ) -> Result<Decided, Stop> {
        let Some(flight) = self.world.routing.flights.get(turn) else {
            self.commit_before(group)?;
            let there = self.store.positions_about(turn)?.last().copied();
            return there.map(Decided::known).ok_or_else(|| not_in_flight(turn));
        };
        let mut events = Events::new();
        let decider = self.decider.as_mut();
        close(&self.world, decider, (turn, flight), group.received, closed, &mut events)?;
        Ok(written(events, group))
    }

    fn is_known(&self, id: &Subject) -> Result<bool, StoreError> {
        Ok(!self.store.positions_about(id)?.is_empty())
    }

    /// What was decided for an attempt before.
    fn planned_before(
        &mut self,
        turn: &Subject,
        attempt: u16,
        group: &mut Group,
    ) -> Result<Decided, Stop> {
        let plan = self.plan(turn, attempt, group)?;
        plan.map(planned)
            .ok_or_else(|| Stop::Refused(format!("{turn} is no turn of this ledger's own")))
    }

    /// What the log says was decided for an attempt.
    fn plan(
        &mut self,
        turn: &Subject,
        attempt: u16,
        group: &mut Group,
    ) -> Result<Option<Plan>, Stop> {
        self.commit_before(group)?;
        let mut plan = None;
        self.each_about(turn, &mut |_, body| match body {
            Body::Dispatch(dispatch) if dispatch.attempt == attempt => plan = Plan::of(body),
            Body::Refusal(refusal) if refusal.attempt == attempt => plan = Plan::of(body),
            _ => {}
        })?;
        Ok(plan)
    }

    fn told(&self, turn: &Subject, attempt: u16) -> Result<Told, StoreError> {
        let mut told = Told::default();
        self.each_about(turn, &mut |at, body| match body {
            Body::Turn(turn) => {
                told.turn = turn.ask.map(|ask| Asker {
                    conversation: turn.conversation,
                    harness: ask.harness.map(|name| name.as_str().to_owned()),
                    project: ask.project.map(|name| name.as_str().to_owned()),
                });
            }
            Body::Dispatch(dispatch) if dispatch.attempt == attempt => {
                let engine = dispatch.engine.as_str().to_owned();
                let kind = dispatch.class.kind;
                told.dispatched = Some((at.received, engine, dispatch.reserved, kind));
            }
            Body::Result(result) if result.attempt == attempt => {
                told.newest = at.at;
                told.result = result.charge.map(|charge| (result.turn_at, result.usage, charge));
            }
            Body::Amend(amend) if amend.attempt == attempt => {
                told.newest = at.at;
                if let (Some(result), Some(booking)) = (&mut told.result, &amend.booking) {
                    (result.1, result.2) = (amend.usage, booking.now);
                }
            }
            _ => {}
        })?;
        Ok(told)
    }

    /// Shows the events about a turn that this ledger's proxies and people wrote, in the order of the log.
    pub(super) fn each_about(
        &self,
        turn: &Subject,
        see: &mut dyn FnMut(Instants, &Body<'_>),
    ) -> Result<(), StoreError> {
        for position in self.store.positions_about(turn)? {
            self.store.read(position, &mut |first, stored| {
                self.see(position, first, stored, see);
                ControlFlow::Break(())
            })?;
        }
        Ok(())
    }

    fn see(
        &self,
        position: Seq,
        first: Seq,
        stored: &[u8],
        see: &mut dyn FnMut(Instants, &Body<'_>),
    ) {
        let Some((entry, _, bytes)) = Entry::split(stored) else { return };
        let Ok(batch) = Batch::parse_header(bytes) else { return };
        let author = &batch.header.author;
        let found = (first..).zip(batch.events()).find(|(seq, _)| *seq == position);
        let Some((_, event)) = found else { return };
        let stream = self.kinds.get(event.kind).map(|spec| spec.written_by);
        let could = |stream| self.world.keyring.could_write(author, stream, position);
        if !stream.is_some_and(could) {
            return;
        }
        let decoded = event.decode(&self.kinds).ok().map(|body| (event.at, body));
        if let Some((at, body)) = decoded {
            see(Instants { at, received: entry.received, position }, &body);
        }
    }
}

/// A name the log has.
fn name(text: Option<&str>) -> Result<Option<Name<'_>>, Stop> {
    text.map(Name::new).transpose().map_err(|error| Stop::Refused(error.to_string()))
}

/// When an event happened, when the owner took it in, and where.
#[derive(Clone, Copy)]
pub(super) struct Instants {
    pub(super) at: Millis,
    pub(super) received: Millis,
    pub(super) position: Seq,
}

fn planned(plan: Plan) -> Decided {
    Decided { events: Events::new(), outcome: Outcome::Planned(plan), key: None }
}

const fn written(events: Events, group: &Group) -> Decided {
    let outcome = Outcome::Written { first: group.next, repeated: false };
    Decided { events, outcome, key: None }
}

fn not_in_flight(turn: &Subject) -> Stop {
    Stop::Refused(format!("turn {turn} is not in flight"))
}

//! Where the authors of a synthetic ledger write: one pen each, sealing batches of a bounded size.

use std::collections::VecDeque;

use events::admission::Admitted;
use events::batch::{Author, AuthorTip, Batch};
use events::event::{EventError, EventRef, Events, Payload};
use events::ids::{AuthorId, LedgerId, Millis, Seq, Subject};
use events::kind::KindTable;
use events::limits::BATCH_EVENTS_MAX;
use events::payload::{Booking, Charge, Reservation, ReserveBasis};
use events::sign::SigningKey;
use projections::projection::{Context, Projection as _};
use projections::routing::flights::{Asked as Asks, Flight, Open};
use projections::world::World;

use crate::decider::{Attempted, Decider, DeciderError, Plan, close, orphaned};

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// The owner's node key.
    Node = 0,
    /// The owner's proxy.
    Proxy = 1,
    /// The proxy of another machine, which reads clients' own records.
    Second = 2,
    /// People.
    People = 3,
}

impl By {
    const ALL: [Self; 4] = [Self::Node, Self::Proxy, Self::Second, Self::People];
}

/// A batch, and when the ledger's owner takes it in.
#[derive(Clone, Debug)]
pub struct SynthBatch {
    /// The batch.
    pub batch: Admitted,
    /// When it is received. Goes back only where a clock-corrected event says so.
    pub received: Millis,
}

/// Events that come of one decision at most: a result and the marks of every budget.
const DECIDED_MAX: usize = 32;

struct Pen {
    author: Author,
    pending: Events,
    newest: Millis,
}

/// The authors' pens, and the batches nobody has asked for yet.
///
/// The owner's proxy decides as it writes: it has a world of its own, which is told its events as they are written and
/// the others' as they are sealed. Its own batch is sealed before any other, so that the log has them in the order
/// they were told.
pub(super) struct Desk {
    kinds: KindTable,
    world: World,
    decider: Decider,
    /// The position of the next event the world is told.
    next: Seq,
    /// Of the owner's proxy: pending events the world was told.
    told: usize,
    /// When the proxy's pending batch was begun: it is received then.
    began: Option<Millis>,
    ledger: LedgerId,
    pens: [Pen; 4],
    batch_events: usize,
    received: Millis,
    sealed: VecDeque<SynthBatch>,
    sealed_events: u64,
    sealed_batches: u64,
}

impl Desk {
    /// A desk with the keys of node, proxy, second proxy and people, in this order.
    pub(super) fn new(
        ledger: LedgerId,
        keys: [SigningKey; 4],
        batch_events: usize,
        decider: Decider,
    ) -> Self {
        let pen = |key| Pen {
            author: Author::new(key, ledger, AuthorTip::default()),
            pending: Events::new(),
            newest: 0,
        };
        Self {
            kinds: KindTable::current(),
            world: World::genesis(),
            decider,
            next: 0,
            told: 0,
            began: None,
            ledger,
            pens: keys.map(pen),
            batch_events,
            received: 0,
            sealed: VecDeque::new(),
            sealed_events: 0,
            sealed_batches: 0,
        }
    }

    /// The key that writes.
    pub(super) fn author(&self, by: By) -> AuthorId {
        self.pens[by as usize].author.id()
    }

    /// Events in sealed batches so far: the position of the next.
    pub(super) const fn events(&self) -> u64 {
        self.sealed_events
    }

    /// Batches sealed so far.
    pub(super) const fn batches(&self) -> u64 {
        self.sealed_batches
    }

    /// When the newest sealed batch is received.
    pub(super) const fn received(&self) -> Millis {
        self.received
    }

    /// Adds an event; a full batch is sealed.
    ///
    /// # Errors
    /// [`EventError`] when the event does not fit a batch.
    pub(super) fn push<P: Payload>(
        &mut self,
        by: By,
        at: Millis,
        subject: Subject,
        payload: &P,
    ) -> Result<(), EventError> {
        let pen = &mut self.pens[by as usize];
        pen.pending.push(at, subject, payload)?;
        pen.newest = pen.newest.max(at);
        if by == By::Proxy {
            self.began(at);
        }
        self.flush_full(by);
        Ok(())
    }

    fn flush_full(&mut self, by: By) {
        if self.pens[by as usize].pending.len() >= self.batch_events {
            self.flush(by);
        }
    }

    /// When the proxy's pending batch was begun, or is now.
    fn began(&mut self, at: Millis) -> Millis {
        *self.began.get_or_insert(self.received.max(at))
    }

    /// Seals what the proxy has pending where there may be no room for what is decided next.
    fn make_room(&mut self) {
        if self.pens[By::Proxy as usize].pending.len() + DECIDED_MAX > BATCH_EVENTS_MAX {
            self.flush(By::Proxy);
        }
    }

    /// Decides a turn in flight.
    ///
    /// # Errors
    /// [`DeciderError`].
    pub(super) fn dispatch(
        &mut self,
        at: Millis,
        turn: &Subject,
    ) -> Result<Option<Plan>, DeciderError> {
        self.make_room();
        let now = self.began(at);
        self.tell_pending();
        let pen = &mut self.pens[By::Proxy as usize];
        let plan = self.decider.dispatch(&self.world, turn, now, &mut pen.pending)?;
        self.flush_full(By::Proxy);
        Ok(plan)
    }

    /// Writes how the attempt of a turn in flight ended. What was charged, and where; `None` where it is not in flight.
    ///
    /// # Errors
    /// [`DeciderError`].
    pub(super) fn end(
        &mut self,
        at: Millis,
        turn: &Subject,
        attempted: &Attempted<'_>,
    ) -> Result<Option<(Asks, Open, Charge)>, DeciderError> {
        self.make_room();
        let now = self.began(at);
        self.tell_pending();
        let Some(flight) = self.world.routing.flights.get(turn) else { return Ok(None) };
        let Some(open) = flight.open(attempted.attempt) else { return Ok(None) };
        let pending = &mut self.pens[By::Proxy as usize].pending;
        let of = (turn, flight, open);
        let charge = self.decider.end(&self.world, of, now, attempted, pending)?;
        let ended = (flight.asked.clone(), open.clone(), charge);
        self.flush_full(By::Proxy);
        Ok(Some(ended))
    }

    /// Writes the end of a turn in flight that nobody will say anything of any more.
    ///
    /// # Errors
    /// [`DeciderError`].
    pub(super) fn close_orphan(&mut self, at: Millis, turn: &Subject) -> Result<(), DeciderError> {
        self.make_room();
        let now = self.began(at);
        self.tell_pending();
        if let Some(flight) = self.flight(turn).cloned() {
            let pending = &mut self.pens[By::Proxy as usize].pending;
            let of = (turn, &flight);
            close(&self.world, Some(&mut self.decider), of, now, &orphaned(&flight), pending)?;
        }
        self.flush_full(By::Proxy);
        Ok(())
    }

    fn flight(&self, turn: &Subject) -> Option<&Flight> {
        self.world.routing.flights.get(turn)
    }

    /// What a settled attempt is charged with by better figures.
    ///
    /// # Errors
    /// [`DeciderError`].
    pub(super) fn rebooked<'b>(
        &mut self,
        turn: &Subject,
        booking: Booking<'b>,
        attempted: &Attempted<'_>,
    ) -> Result<Booking<'b>, DeciderError> {
        self.tell_pending();
        let amount = booking.was.cost.amount();
        let reserved = Reservation { basis: ReserveBasis::Expected, amount };
        Ok(self.decider.rebooked(&self.world, turn, (booking, reserved), attempted)?)
    }

    /// Tells the world what the owner's proxy has written since.
    fn tell_pending(&mut self) {
        let pen = &self.pens[By::Proxy as usize];
        let (author, received) = (pen.author.id(), self.began.unwrap_or(self.received));
        for event in pen.pending.iter().skip(self.told) {
            tell(
                &mut self.world,
                &mut self.decider,
                &self.kinds,
                (self.next, author, received),
                &event,
            );
            self.next += 1;
        }
        self.told = pen.pending.len();
    }

    /// Seals what an author has pending, received no earlier than anything sealed before.
    pub(super) fn flush(&mut self, by: By) {
        if by == By::Proxy {
            self.tell_pending();
            self.told = 0;
        } else {
            self.flush(By::Proxy);
        }
        let pen = &mut self.pens[by as usize];
        let events = std::mem::take(&mut pen.pending);
        let newest = std::mem::take(&mut pen.newest);
        let Some(batch) = Admitted::own(&mut pen.author, events) else { return };
        if by == By::Proxy {
            self.received = self.began.take().unwrap_or(self.received);
            self.seal(batch);
        } else {
            self.received = self.received.max(newest);
            self.take_in(batch);
        }
    }

    /// Seals what is pending of every author.
    pub(super) fn flush_all(&mut self) {
        for by in By::ALL {
            self.flush(by);
        }
    }

    /// Sets the owner's clock back: what is sealed from here on is received from `clock` on.
    pub(super) const fn set_clock_back(&mut self, clock: Millis) {
        self.received = clock;
    }

    /// Another key writes on in an author's place. What was pending is sealed by the old one, which is
    /// given back.
    pub(super) fn hand_over(&mut self, by: By, key: SigningKey) -> Author {
        self.flush(by);
        let author = Author::new(key, self.ledger, AuthorTip::default());
        std::mem::replace(&mut self.pens[by as usize].author, author)
    }

    /// Takes in a sealed batch the world was not told of.
    pub(super) fn take_in(&mut self, batch: Admitted) {
        let author = batch.header().author;
        let sealed = Batch::parse_header(batch.bytes()).ok();
        for event in sealed.iter().flat_map(Batch::events) {
            let at = (self.next, author, self.received);
            tell(&mut self.world, &mut self.decider, &self.kinds, at, &event);
            self.next += 1;
        }
        self.seal(batch);
    }

    fn seal(&mut self, batch: Admitted) {
        self.sealed_events += u64::from(batch.header().count);
        self.sealed_batches += 1;
        self.sealed.push_back(SynthBatch { batch, received: self.received });
    }

    /// The oldest sealed batch nobody has asked for.
    pub(super) fn next_sealed(&mut self) -> Option<SynthBatch> {
        self.sealed.pop_front()
    }
}

/// Tells a world an event, as every fold of the ledger will.
fn tell(
    world: &mut World,
    decider: &mut Decider,
    kinds: &KindTable,
    (seq, author, received): (Seq, AuthorId, Millis),
    event: &EventRef<'_>,
) {
    // What was encoded here decodes.
    let Ok(body) = event.decode(kinds) else { return };
    let context = Context {
        seq,
        author,
        written_by: kinds.get(event.kind).map(|spec| spec.written_by),
        received,
        at: event.at,
        subject: event.subject,
    };
    if world.keyring.allows(&context, &body) {
        decider.saw(world, &context, &body);
    }
    world.tell(&context, &body);
}

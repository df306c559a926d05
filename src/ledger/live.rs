//! The owner's thread: it decides, appends and applies, in one step.
//!
//! Decisions are totally ordered with the events they depend on: each sees everything that was decided before. A
//! commit group is signed once per stream and appended at once; the answers follow.

use std::mem;
use std::thread::JoinHandle;
use std::time::Instant;

use crossbeam_channel::{Receiver, RecvError, RecvTimeoutError, select_biased};
use events::admission::Admitted;
use events::batch::Batch;
use events::event::{EventRef, Events};
use events::ids::{AuthorId, Millis, Seq};
use events::kind::KindTable;
use events::log::{AppendError, Log as _, ReadLog as _, Receipt};
use events::payload::{Actor, ActorChange, ClockCorrected, Stream};
use projections::projection::{Context, Projection as _};
use projections::world::World;
use replay::decider::Decider;
use replay::import::Importer;
use replay::writer::author_subject;

use super::command::{CommandError, Encoded, Outcome};
use super::decide::{Decided, Stop};
use super::follower::Follower;
use super::group::Group;
use super::handle::{Answer, Checkpoint, Request, Waiting};
use super::own_keys::OwnKeys;
use super::pace::Pace;
use crate::store::{Sealed, Store, StoreError};

/// Most events of turns in one commit group: what comes meanwhile waits for the next.
const GROUP_EVENTS: usize = 256;
/// The live world is compared with the follower's at least this often.
const CHECKPOINT_EVENTS: u64 = 200_000;
/// A clock may be set back by this much without a word: clocks are corrected all the time.
const CLOCK_STEP_MS: Millis = 60_000;

/// What only the owner's thread has.
pub(super) struct Live {
    pub(super) store: Store,
    pub(super) world: World,
    pub(super) kinds: KindTable,
    pub(super) importer: Importer,
    pub(super) keys: OwnKeys,
    /// Decides turns; made when the first is asked for.
    pub(super) decider: Option<Decider>,
    clock: Box<dyn Fn() -> Millis + Send>,
    follower: Follower,
    /// Where the live world was last given to be compared.
    checked: Seq,
}

impl Live {
    pub(super) fn new(
        store: Store,
        world: World,
        keys: OwnKeys,
        clock: Box<dyn Fn() -> Millis + Send>,
        follower: Follower,
    ) -> Self {
        Self {
            checked: store.head().next,
            kinds: KindTable::current(),
            importer: Importer::default(),
            store,
            world,
            keys,
            decider: None,
            clock,
            follower,
        }
    }

    /// Works until it is told to stop, or the store fails; then closes it.
    pub(super) fn work(
        mut self,
        waiting: Waiting,
        following: JoinHandle<()>,
    ) -> Result<Sealed, StoreError> {
        let served = self.settle_orphans().and_then(|()| self.serve(&waiting.turns, &waiting.bulk));
        if let Err(error) = &served {
            let stopped = CommandError::Stopped(error.to_string());
            waiting.close().for_each(|request| request.fail(stopped.clone()));
        }
        drop(waiting);
        self.follower.stop();
        let followed = following.join();
        served?;
        if let Some(error) = self.follower.failed() {
            return Err(error);
        }
        followed.map_err(|_| StoreError::Stopped)?;
        self.store.seal()
    }

    fn serve(
        &mut self,
        turns: &Receiver<Request>,
        bulk: &Receiver<Request>,
    ) -> Result<(), StoreError> {
        let mut pace = Pace::new(Instant::now());
        loop {
            match next(turns, bulk, &pace) {
                Next::Turn(request) => {
                    let mut group = self.begin()?;
                    let mut waiting = Some(request);
                    let mut stopping = false;
                    while let Some(request) = waiting.take() {
                        stopping |= matches!(request, Request::Stop);
                        self.take(request, &mut group)?;
                        if stopping || group.events() < GROUP_EVENTS {
                            waiting = turns.try_recv().ok();
                        }
                    }
                    if stopping {
                        // What was queued before is answered still.
                        bulk.try_iter().try_for_each(|request| self.take(request, &mut group))?;
                    }
                    self.commit(group, turns.is_empty() && bulk.is_empty())?;
                    if stopping {
                        return Ok(());
                    }
                    pace.turn(Instant::now());
                }
                Next::Bulk(request) => {
                    let (started, before) = (Instant::now(), self.store.head().next);
                    let mut group = self.begin()?;
                    self.take(request, &mut group)?;
                    self.commit(group, turns.is_empty() && bulk.is_empty())?;
                    let events = self.store.head().next - before;
                    pace.bulk(u32::try_from(events).unwrap_or(u32::MAX), started, Instant::now());
                }
                Next::Waited => {}
                Next::Abandoned => return Ok(()),
            }
        }
    }

    /// Begins a group. The ledger's time never runs back: max(previous, clock). Where the clock was set back by
    /// more than a minute that is an event, and time goes on from the clock.
    pub(super) fn begin(&mut self) -> Result<Group, StoreError> {
        let (ledger, clock) = (self.store.received(), (self.clock)());
        let next = self.store.head().next;
        if clock.saturating_add(CLOCK_STEP_MS) >= ledger {
            return Ok(Group::new(clock.max(ledger), next));
        }
        let mut group = Group::new(clock, next);
        let mut events = Events::new();
        let node = author_subject(&self.keys.author(Stream::Node).id());
        let encoded = events.push(clock, node, &ClockCorrected { ledger, clock });
        encoded.map_err(|_| StoreError::Damaged { what: "clock" })?;
        self.apply(&mut group, Stream::Node, &events)?;
        Ok(group)
    }

    fn take(&mut self, request: Request, group: &mut Group) -> Result<(), StoreError> {
        match request {
            Request::Run(command, answer) => self.run(&command, answer, group),
            Request::Append(batch, answer) => {
                self.commit_before(group)?;
                self.append(&batch, group.received, answer)?;
                group.next = self.store.head().next;
                Ok(())
            }
            Request::Checkpoint(answer) => {
                self.commit_before(group)?;
                let (head, digest) = (self.store.head(), self.world.digest());
                answer(Ok(Checkpoint { head, digest }));
                Ok(())
            }
            Request::Stop => Ok(()),
        }
    }

    fn run(
        &mut self,
        command: &Encoded,
        answer: Answer<Outcome>,
        group: &mut Group,
    ) -> Result<(), StoreError> {
        let command = match command.command() {
            Ok(command) => command,
            Err(error) => {
                group.answer(answer, Err(CommandError::Refused(error.to_string())));
                return Ok(());
            }
        };
        let stream = command.stream();
        if !group.has_room(stream) {
            self.commit_before(group)?;
        }
        let author = self.keys.author(stream).id();
        if self.world.keyring.stream_of(&author) != Some(stream) {
            let problem = format!("this ledger's {} key may not write any more", stream.label());
            group.answer(answer, Err(CommandError::Refused(problem)));
            return Ok(());
        }
        match self.decide(&command, group) {
            Ok(Decided { events, outcome, key }) => {
                self.apply(group, stream, &events)?;
                group.answer(answer, Ok(outcome));
                let Some(key) = key else { return Ok(()) };
                // What comes next may be written by the new key: it has to be there.
                group.keys.push(key);
                self.commit_before(group)
            }
            Err(Stop::Refused(problem)) => {
                group.answer(answer, Err(CommandError::Refused(problem)));
                // Half of what was refused may be pending; once the rest is in the log nothing needs to be.
                self.commit_before(group)?;
                self.importer.appended();
                Ok(())
            }
            Err(Stop::Failed(error)) => {
                let stopped = CommandError::Stopped(error.to_string());
                answer(Err(stopped.clone()));
                mem::replace(group, Group::new(0, 0)).fail_all(&stopped);
                Err(error)
            }
        }
    }

    /// Tells the world what was decided, as every replay will be told it.
    pub(super) fn apply(
        &mut self,
        group: &mut Group,
        stream: Stream,
        events: &Events,
    ) -> Result<(), StoreError> {
        let author = self.keys.author(stream).id();
        for event in events.iter() {
            self.tell(group.next, author, group.received, &event)?;
            group.next += 1;
        }
        let full = |_| StoreError::Damaged { what: "commit group" };
        group.run(stream).extend(events).map_err(full)
    }

    fn tell(
        &mut self,
        seq: Seq,
        author: AuthorId,
        received: Millis,
        event: &EventRef<'_>,
    ) -> Result<(), StoreError> {
        let body = event.decode(&self.kinds).map_err(|_| StoreError::Damaged { what: "event" })?;
        let context = Context {
            seq,
            author,
            written_by: self.kinds.get(event.kind).map(|spec| spec.written_by),
            received,
            at: event.at,
            subject: event.subject,
        };
        // What its author had no right to say changes nothing.
        if let Some(decider) = &mut self.decider
            && self.world.keyring.allows(&context, &body)
        {
            decider.saw(&self.world, &context, &body);
        }
        self.world.tell(&context, &body);
        Ok(())
    }

    /// Appends what was gathered, so that what comes next stands behind it.
    pub(super) fn commit_before(&mut self, group: &mut Group) -> Result<(), StoreError> {
        let next = Group::new(group.received, group.next);
        self.commit(mem::replace(group, next), false)
    }

    /// Signs, appends, publishes, carries out, answers.
    pub(super) fn commit(&mut self, mut group: Group, is_idle: bool) -> Result<(), StoreError> {
        let written = self.write(&mut group, is_idle);
        match &written {
            Ok(()) => group.answer_all(),
            Err(error) => group.fail_all(&CommandError::Stopped(error.to_string())),
        }
        written
    }

    fn write(&mut self, group: &mut Group, is_idle: bool) -> Result<(), StoreError> {
        if group.runs.is_empty() {
            return Ok(());
        }
        let mut batches = Vec::with_capacity(group.runs.len());
        for (stream, events) in mem::take(&mut group.runs) {
            batches.extend(Admitted::own(self.keys.author(stream), events));
        }
        self.store.append(&batches, group.received).map_err(of_append)?;
        self.importer.appended();
        self.appended(is_idle)?;
        if !group.keys.is_empty() {
            self.store.sync()?;
            mem::take(&mut group.keys).iter().try_for_each(|actor| self.change_own_key(actor))?;
        }
        Ok(())
    }

    /// After each append: the world's digest is brought up to date and the new end is published.
    fn appended(&mut self, is_idle: bool) -> Result<(), StoreError> {
        self.world.settle();
        let head = self.store.head();
        let is_due = is_idle || head.next >= self.checked + CHECKPOINT_EVENTS;
        let digest = is_due.then_some(|| self.world.digest());
        if self.follower.publish(head, digest)? {
            self.checked = head.next;
        }
        Ok(())
    }

    /// Appends a batch that came signed.
    fn append(
        &mut self,
        batch: &Admitted,
        received: Millis,
        answer: Answer<Receipt>,
    ) -> Result<(), StoreError> {
        let receipt = match self.store.append(std::slice::from_ref(batch), received) {
            Ok(receipts) => receipts.first().copied(),
            Err(AppendError::Refused { refusal, .. }) => {
                answer(Err(CommandError::Refused(refusal.to_string())));
                return Ok(());
            }
            Err(AppendError::Store(error)) => {
                answer(Err(CommandError::Stopped(error.to_string())));
                return Err(error);
            }
        };
        let Some(receipt) = receipt else { return Ok(()) };
        if !receipt.repeated {
            let damaged = |_| StoreError::Damaged { what: "batch" };
            let parsed = Batch::parse_header(batch.bytes()).map_err(damaged)?;
            for (event, seq) in parsed.events().zip(receipt.first..) {
                self.tell(seq, batch.header().author, received, &event)?;
            }
            if self.keys.is_own(&batch.header().author) {
                // Written elsewhere with a key of this owner's: what it signs next stands behind it.
                self.keys.reload(&self.store)?;
            }
            self.appended(false)?;
        }
        answer(Ok(receipt));
        Ok(())
    }

    /// A rotation of a key the owner signs with: the new one is in its file from here on.
    fn change_own_key(&mut self, actor: &Actor) -> Result<(), StoreError> {
        if actor.change == ActorChange::Rotated && self.keys.is_drawn(actor)? {
            self.keys.files.replace(actor.stream)?;
            self.keys.reload(&self.store)?;
        }
        Ok(())
    }
}

fn of_append(error: AppendError<StoreError>) -> StoreError {
    match error {
        AppendError::Store(error) => error,
        // The owner's own batches follow from what the log says of its authors.
        AppendError::Refused { .. } => StoreError::Damaged { what: "author index" },
    }
}

/// What the thread does next.
enum Next {
    Turn(Request),
    Bulk(Request),
    /// Nothing came before bulk work may go on.
    Waited,
    /// Nobody is left to ask.
    Abandoned,
}

fn next(turns: &Receiver<Request>, bulk: &Receiver<Request>, pace: &Pace) -> Next {
    let or_abandoned = |request: Result<Request, RecvError>, next: fn(Request) -> Next| {
        request.map_or(Next::Abandoned, next)
    };
    match pace.wait(Instant::now()) {
        Some(until) => match turns.recv_deadline(until) {
            Ok(request) => Next::Turn(request),
            Err(RecvTimeoutError::Timeout) => Next::Waited,
            Err(RecvTimeoutError::Disconnected) => Next::Abandoned,
        },
        None => select_biased! {
            recv(turns) -> request => or_abandoned(request, Next::Turn),
            recv(bulk) -> request => or_abandoned(request, Next::Bulk),
        },
    }
}

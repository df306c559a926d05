//! How a process talks to the owner inside it.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, PoisonError, RwLock};

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use events::admission::{Admitted, admit};
use events::batch::SignedBatch;
use events::head::Head;
use events::ids::{Digest, LedgerId};
use events::kind::KindTable;
use events::log::Receipt;
use events::sign::Verifier;
use projections::world::World;

use super::command::{Command, CommandError, Encoded, Outcome};
use super::follower::Follower;
use crate::store::{Reader, View};

/// Which of the owner's queues: turns go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Somebody is waiting.
    Turns,
    /// Imports: in batches between the turns, paced while turns are served.
    Bulk,
}

/// The live world's digest at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Where.
    pub head: Head,
    /// The digest.
    pub digest: Digest,
}

/// Called on the owner's thread once the outcome is safe.
pub(super) type Answer<T> = Box<dyn FnOnce(Result<T, CommandError>) + Send>;

/// What the owner is asked.
pub(super) enum Request {
    Run(Encoded, Answer<Outcome>),
    Append(Box<Admitted>, Answer<Receipt>),
    Checkpoint(Answer<Checkpoint>),
    Stop,
}

impl Request {
    /// Answers that nothing was done.
    pub(super) fn fail(self, error: CommandError) {
        match self {
            Self::Run(_, answer) => answer(Err(error)),
            Self::Append(_, answer) => answer(Err(error)),
            Self::Checkpoint(answer) => answer(Err(error)),
            Self::Stop => {}
        }
    }
}

/// Requests that wait at most: more are refused, to be tried again later.
const TURNS_QUEUED_MAX: usize = 1024;
const BULK_QUEUED_MAX: usize = 16;

/// The queues as those who ask have them. Once closed nothing comes in any more, so that nothing can lie there
/// unanswered.
#[derive(Clone)]
pub(super) struct Queues {
    turns: Sender<Request>,
    bulk: Sender<Request>,
    open: Arc<RwLock<bool>>,
}

/// The queues as the owner has them. When they are dropped, however that comes, what still waits is answered.
pub(super) struct Waiting {
    pub(super) turns: Receiver<Request>,
    pub(super) bulk: Receiver<Request>,
    open: Arc<RwLock<bool>>,
}

pub(super) fn queues() -> (Queues, Waiting) {
    let (turns, turns_waiting) = bounded(TURNS_QUEUED_MAX);
    let (bulk, bulk_waiting) = bounded(BULK_QUEUED_MAX);
    let open = Arc::new(RwLock::new(true));
    let waiting = Waiting { turns: turns_waiting, bulk: bulk_waiting, open: Arc::clone(&open) };
    (Queues { turns, bulk, open }, waiting)
}

impl Waiting {
    /// Lets nothing more in, and gives what still waits.
    pub(super) fn close(&self) -> impl Iterator<Item = Request> {
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = false;
        self.turns.try_iter().chain(self.bulk.try_iter())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.close().for_each(|request| request.fail(CommandError::Closed));
    }
}

/// Asks the owner of a ledger, from any thread.
#[derive(Clone)]
pub struct Handle {
    pub(super) ledger: LedgerId,
    pub(super) queues: Queues,
    pub(super) reader: Reader,
    pub(super) follower: Follower,
}

impl Handle {
    /// Gives the owner a command. `answer` is called on the owner's thread once the outcome is safe, and must not
    /// take long; it is dropped when the owner dies before.
    ///
    /// # Errors
    /// [`CommandError::Busy`] when the queue is full, [`CommandError::Closed`] when there is no owner any more.
    pub fn submit(
        &self,
        queue: Queue,
        command: Encoded,
        answer: impl FnOnce(Result<Outcome, CommandError>) + Send + 'static,
    ) -> Result<(), CommandError> {
        self.send(queue, Request::Run(command, Box::new(answer)))
    }

    /// Gives the owner a command and waits for its outcome.
    ///
    /// # Errors
    /// [`CommandError`].
    pub fn run(&self, queue: Queue, command: &Command<'_>) -> Result<Outcome, CommandError> {
        self.run_encoded(queue, Encoded::new(command))
    }

    pub(super) fn run_encoded(
        &self,
        queue: Queue,
        command: Encoded,
    ) -> Result<Outcome, CommandError> {
        self.wait(queue, |answer| Request::Run(command, answer))
    }

    /// Appends a batch that some author has signed: it is judged here, before the owner sees it. One that is
    /// there already answers its old position.
    ///
    /// # Errors
    /// [`CommandError`].
    pub fn append(&self, batch: SignedBatch) -> Result<Receipt, CommandError> {
        let kinds = KindTable::current();
        let batch = admit(batch, &self.ledger, &kinds, &mut Verifier::new())
            .map_err(|refusal| CommandError::Refused(refusal.to_string()))?;
        self.wait(Queue::Bulk, |answer| Request::Append(Box::new(batch), answer))
    }

    /// The live world's digest.
    ///
    /// # Errors
    /// [`CommandError`].
    pub fn checkpoint(&self) -> Result<Checkpoint, CommandError> {
        self.wait(Queue::Turns, Request::Checkpoint)
    }

    /// Asks the follower's world: it has come at least to everything that is committed now.
    ///
    /// # Errors
    /// [`CommandError::Closed`] when the follower has ended.
    pub fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&World, &Head) -> T + Send + 'static,
    ) -> Result<T, CommandError> {
        let (give, take) = sync_channel(1);
        self.follower.ask(move |world, head| drop(give.send(question(world, head))));
        take.recv().map_err(|_| CommandError::Closed)
    }

    /// The log as it stands now.
    #[must_use]
    pub fn view(&self) -> View {
        self.reader.at(self.follower.committed())
    }

    fn wait<T: Send + 'static>(
        &self,
        queue: Queue,
        request: impl FnOnce(Answer<T>) -> Request,
    ) -> Result<T, CommandError> {
        let (give, take) = sync_channel(1);
        self.send(queue, request(Box::new(move |outcome| drop(give.send(outcome)))))?;
        take.recv().unwrap_or(Err(CommandError::UnknownOutcome))
    }

    fn send(&self, queue: Queue, request: Request) -> Result<(), CommandError> {
        let open = self.queues.open.read().unwrap_or_else(PoisonError::into_inner);
        if !*open {
            return Err(CommandError::Closed);
        }
        let queue = match queue {
            Queue::Turns => &self.queues.turns,
            Queue::Bulk => &self.queues.bulk,
        };
        queue.try_send(request).map_err(|error| match error {
            TrySendError::Full(_) => CommandError::Busy,
            TrySendError::Disconnected(_) => CommandError::Closed,
        })
    }

    /// Tells the owner to close. It may have done so already.
    pub(super) fn stop(&self) {
        let _ = self.queues.turns.send(Request::Stop);
    }
}

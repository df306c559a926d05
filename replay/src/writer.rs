//! Writes a ledger of one's own: keys, its first events, and batches of a bounded size.

use events::admission::Admitted;
use events::batch::Author;
use events::event::{EventError, Events, Payload};
use events::ids::{AuthorId, Millis, Subject};
use events::log::{AppendError, Log};
use events::payload::{Actor, ActorChange, LedgerOpened, Stream};
use events::sign::SigningKey;

/// Most events in a batch of bulk work, so that other work finds its turn.
pub const BULK_BATCH_EVENTS: usize = 256;

/// Why something was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError<E: std::error::Error + 'static> {
    /// An event cannot be encoded.
    #[error(transparent)]
    Event(#[from] EventError),
    /// The log did not take it.
    #[error(transparent)]
    Append(#[from] AppendError<E>),
}

/// The keys of a ledger's owner, one per stream.
pub struct Keys {
    /// Signs heads, enrols the others.
    pub node: SigningKey,
    /// Writes turns, results, prices and imports.
    pub proxy: SigningKey,
    /// Writes orders.
    pub agent: SigningKey,
    /// Writes policy and feedback.
    pub people: SigningKey,
}

/// Writes one stream's events in batches.
pub struct Writer<'l, L: Log> {
    log: &'l mut L,
    author: Author,
    pending: Events,
    /// A sealed batch the log has not taken: the same bytes are tried again, never others.
    unsent: Option<Admitted>,
    last_at: Millis,
    /// When the owner takes the batches in; `None` where that is the `at` of their last event.
    received: Option<Millis>,
    batches: u64,
}

impl<'l, L: Log> Writer<'l, L> {
    /// A writer that goes on where the key's owner left off.
    pub fn new(log: &'l mut L, key: SigningKey) -> Self {
        let ledger = log.head().ledger;
        let tip = log.tip(&key.public());
        Self {
            log,
            author: Author::new(key, ledger, tip),
            pending: Events::new(),
            unsent: None,
            last_at: 0,
            received: None,
            batches: 0,
        }
    }

    /// The same, for batches that are taken in at an instant of the owner's clock.
    #[must_use]
    pub const fn received_at(mut self, received: Millis) -> Self {
        self.received = Some(received);
        self
    }

    /// The log as it stands, without what is pending.
    pub const fn log(&self) -> &L {
        self.log
    }

    /// Batches written so far.
    pub const fn batches(&self) -> u64 {
        self.batches
    }

    /// The author whose batches it writes.
    pub fn author(&self) -> AuthorId {
        self.author.id()
    }

    /// Adds an event; a full batch is written.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn push<P: Payload>(
        &mut self,
        at: Millis,
        subject: Subject,
        payload: &P,
    ) -> Result<(), WriteError<L::Error>> {
        match self.pending.push(at, subject, payload) {
            Err(EventError::BatchFull) => {
                self.flush()?;
                self.pending.push(at, subject, payload)?;
            }
            other => other?,
        }
        self.last_at = at;
        if self.pending.len() == BULK_BATCH_EVENTS { self.flush() } else { Ok(()) }
    }

    /// Makes room, so that the next events come into one batch: what belongs together is there together
    /// or not at all.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn reserve(&mut self, events: usize) -> Result<(), WriteError<L::Error>> {
        if self.pending.len() + events > BULK_BATCH_EVENTS { self.flush() } else { Ok(()) }
    }

    /// Writes what is pending.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn flush(&mut self) -> Result<(), WriteError<L::Error>> {
        loop {
            if self.unsent.is_none() {
                let events = std::mem::take(&mut self.pending);
                self.unsent = Admitted::own(&mut self.author, events);
            }
            let Some(batch) = &self.unsent else { return Ok(()) };
            let received = self.received.unwrap_or(self.last_at);
            self.log.append(std::slice::from_ref(batch), received)?;
            self.unsent = None;
            self.batches += 1;
        }
    }
}

/// Writes a ledger's first batch: it is opened, and its owner's keys are enrolled.
///
/// # Errors
/// [`WriteError`].
pub fn open_ledger<L: Log>(
    log: &mut L,
    node: SigningKey,
    streams: &[(Stream, AuthorId)],
    at: Millis,
) -> Result<(), WriteError<L::Error>> {
    let node_id = node.public();
    let mut writer = Writer::new(log, node);
    writer.push(at, author_subject(&node_id), &LedgerOpened { node: node_id })?;
    for (stream, key) in streams {
        let actor =
            Actor { key: *key, stream: *stream, change: ActorChange::Enrolled, replaces: None };
        writer.push(at, author_subject(key), &actor)?;
    }
    writer.flush()
}

/// Subject of events about an author: the first half of its key.
#[must_use]
pub fn author_subject(author: &AuthorId) -> Subject {
    let mut subject = Subject::ZERO;
    subject.0.copy_from_slice(&author.0[..16]);
    subject
}

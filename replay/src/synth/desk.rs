//! Where the authors of a synthetic ledger write: one pen each, sealing batches of a bounded size.

use std::collections::VecDeque;

use events::admission::Admitted;
use events::batch::{Author, AuthorTip};
use events::event::{EventError, Events, Payload};
use events::ids::{AuthorId, LedgerId, Millis, Subject};
use events::sign::SigningKey;

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// The owner's node key.
    Node = 0,
    /// The owner's proxy.
    Proxy = 1,
    /// The proxy of another machine, which reads clients' own records.
    Second = 2,
}

impl By {
    const ALL: [Self; 3] = [Self::Node, Self::Proxy, Self::Second];
}

/// A batch, and when the ledger's owner takes it in.
#[derive(Clone, Debug)]
pub struct SynthBatch {
    /// The batch.
    pub batch: Admitted,
    /// When it is received. Goes back only where a clock-corrected event says so.
    pub received: Millis,
}

struct Pen {
    author: Author,
    pending: Events,
    newest: Millis,
}

/// The authors' pens, and the batches nobody has asked for yet.
pub(super) struct Desk {
    ledger: LedgerId,
    pens: [Pen; 3],
    batch_events: usize,
    received: Millis,
    sealed: VecDeque<SynthBatch>,
    sealed_events: u64,
    sealed_batches: u64,
}

impl Desk {
    /// A desk with the keys of node, proxy and second proxy, in this order.
    pub(super) fn new(ledger: LedgerId, keys: [SigningKey; 3], batch_events: usize) -> Self {
        let pen = |key| Pen {
            author: Author::new(key, ledger, AuthorTip::default()),
            pending: Events::new(),
            newest: 0,
        };
        Self {
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
        if pen.pending.len() >= self.batch_events {
            self.flush(by);
        }
        Ok(())
    }

    /// Seals what an author has pending, received no earlier than anything sealed before.
    pub(super) fn flush(&mut self, by: By) {
        let pen = &mut self.pens[by as usize];
        let events = std::mem::take(&mut pen.pending);
        let newest = std::mem::take(&mut pen.newest);
        if let Some(batch) = Admitted::own(&mut pen.author, events) {
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

    /// Takes in a sealed batch.
    pub(super) fn take_in(&mut self, batch: Admitted) {
        self.sealed_events += u64::from(batch.header().count);
        self.sealed_batches += 1;
        self.sealed.push_back(SynthBatch { batch, received: self.received });
    }

    /// The oldest sealed batch nobody has asked for.
    pub(super) fn next_sealed(&mut self) -> Option<SynthBatch> {
        self.sealed.pop_front()
    }
}

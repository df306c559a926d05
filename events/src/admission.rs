//! Admission: what a batch must be before a log may hold it.
//!
//! [`admit`] judges a batch by itself: form, ledger, key, signature. [`Chain`] judges its place: dense
//! author chains, links. Whether its author had the right to say it is a fold's question.

use std::collections::BTreeMap;

use crate::batch::{
    Author, AuthorTip, Batch, BatchError, BatchHeader, HEADER_BYTES, Sealed, SignedBatch, batch_id,
};
use crate::entry::{Entry, genesis_link, link};
use crate::event::Events;
use crate::head::Head;
use crate::ids::{AuthorId, BatchId, Digest, LedgerId, Millis, Seq, Subject};
use crate::kind::{KindTable, PayloadError};
use crate::sign::{BATCH_PREFIX, SignError, Signature, Verifier};

/// Why a batch is not admitted. Each cause has its own name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The bytes are not a batch.
    #[error(transparent)]
    Malformed(#[from] BatchError),
    /// An event's payload is unknown, malformed or not canonical.
    #[error("event {index}: {error}")]
    Payload {
        /// Index of the event in the batch.
        index: u32,
        /// What is wrong with it.
        error: PayloadError,
    },
    /// The batch belongs to another ledger.
    #[error("the batch belongs to ledger {found}, this is {expected}")]
    ForeignLedger {
        /// This ledger.
        expected: LedgerId,
        /// The batch's.
        found: LedgerId,
    },
    /// The author's key is unsound or the signature is not good.
    #[error("author {author}: {error}")]
    Signature {
        /// The author.
        author: AuthorId,
        /// What is wrong.
        error: SignError,
    },
    /// The author has already written another batch with this number.
    #[error("author {author} has written another batch {author_seq} already")]
    AuthorForked {
        /// The author.
        author: AuthorId,
        /// The number used twice.
        author_seq: u64,
    },
    /// Batches of the author are missing before this one.
    #[error("author {author}: batch {found} came where {expected} was due")]
    AuthorGap {
        /// The author.
        author: AuthorId,
        /// The number that was due.
        expected: u64,
        /// The number that came.
        found: u64,
    },
    /// The batch names another batch than the author's newest as the one before it.
    #[error("author {author}: batch {author_seq} does not follow the author's newest batch")]
    AuthorChainBroken {
        /// The author.
        author: AuthorId,
        /// The batch's number.
        author_seq: u64,
    },
}

/// A batch that passed [`admit`]: the only thing a log appends.
#[derive(Clone, Debug)]
pub struct Admitted {
    id: BatchId,
    header: BatchHeader,
    about: Vec<(u32, Subject)>,
    batch: SignedBatch,
}

impl Admitted {
    /// Signs an author's own events. What was encoded here is canonical, and what was just signed need
    /// not be verified; `None` when there are no events, or some came encoded from elsewhere and have
    /// to pass [`admit`].
    #[must_use]
    pub fn own(author: &mut Author, events: Events) -> Option<Self> {
        if !events.are_canonical() {
            return None;
        }
        let Sealed { id, header, about, batch } = author.sealed(events)?;
        Some(Self { id, header, about, batch })
    }

    /// The batch's id.
    #[must_use]
    pub const fn id(&self) -> BatchId {
        self.id
    }

    /// The batch's header.
    #[must_use]
    pub const fn header(&self) -> &BatchHeader {
        &self.header
    }

    /// What the events can be found under: each its subject, and some their conversation besides.
    #[must_use]
    pub fn about(&self) -> &[(u32, Subject)] {
        &self.about
    }

    /// The author's signature.
    #[must_use]
    pub const fn signature(&self) -> Signature {
        self.batch.signature
    }

    /// Header and events.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.batch.bytes
    }
}

/// Judges a batch by itself.
///
/// # Errors
/// [`Refusal`] for its form, payloads, ledger, key or signature.
pub fn admit(
    batch: SignedBatch,
    ledger: &LedgerId,
    kinds: &KindTable,
    verifier: &mut Verifier,
) -> Result<Admitted, Refusal> {
    let parsed = Batch::parse(&batch.bytes)?;
    let header = parsed.header;
    if header.ledger != *ledger {
        return Err(Refusal::ForeignLedger { expected: *ledger, found: header.ledger });
    }
    verifier
        .verify(&header.author, BATCH_PREFIX, parsed.header_bytes, &batch.signature)
        .map_err(|error| Refusal::Signature { author: header.author, error })?;
    let mut about = Vec::with_capacity(header.count as usize);
    for (index, event) in (0..).zip(parsed.events()) {
        about.push((index, event.subject));
        let body = kinds
            .decode_canonical(event.kind, event.version, event.payload)
            .map_err(|error| Refusal::Payload { index, error })?;
        about.extend(body.also_about().map(|subject| (index, subject)));
    }
    Ok(Admitted { id: parsed.id, header, about, batch })
}

/// Where a log stands: its tail and every author's. Pure, so that every log judges alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    ledger: LedgerId,
    next: Seq,
    link: Digest,
    authors: BTreeMap<AuthorId, AuthorTip>,
}

/// Why a stored batch does not follow from the one before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Break {
    /// The stored bytes are too short for an entry and a batch.
    #[error("the entry is cut short")]
    Cut,
    /// Positions are missing or repeated.
    #[error("position {found} stands where {expected} is due")]
    Gap {
        /// The position that is due.
        expected: Seq,
        /// The position found.
        found: Seq,
    },
    /// The entry does not name the entry before it.
    #[error("the entry is not linked to the entry before it")]
    Link,
    /// The entry is not that of the batch behind it.
    #[error("the entry names another batch than the one behind it")]
    Batch,
    /// The batch is malformed, or its events are not those its header was made for.
    #[error("the batch is damaged: {0}")]
    Damaged(#[from] BatchError),
    /// The batch belongs to another ledger, or breaks its author's chain.
    #[error("{0}")]
    Author(Refusal),
}

impl Chain {
    /// A ledger without entries.
    #[must_use]
    pub fn genesis(ledger: LedgerId) -> Self {
        Self { ledger, next: 0, link: genesis_link(&ledger), authors: BTreeMap::new() }
    }

    /// A chain that goes on from where a store left it. What the store tells is checked by reading it.
    #[must_use]
    pub const fn resume(head: Head, authors: BTreeMap<AuthorId, AuthorTip>) -> Self {
        Self { ledger: head.ledger, next: head.next, link: head.link, authors }
    }

    /// The end of the log.
    #[must_use]
    pub const fn head(&self) -> Head {
        Head { ledger: self.ledger, next: self.next, link: self.link }
    }

    /// Where every author stands, as far as the chain has followed them.
    pub fn authors(&self) -> impl Iterator<Item = (&AuthorId, &AuthorTip)> {
        self.authors.iter()
    }

    /// Puts right where an author stands.
    pub fn set_tip(&mut self, author: AuthorId, tip: AuthorTip) {
        self.authors.insert(author, tip);
    }

    /// Where an author stands.
    #[must_use]
    pub fn tip(&self, author: &AuthorId) -> AuthorTip {
        self.authors.get(author).copied().unwrap_or_default()
    }

    /// Judges whether a batch may come next.
    ///
    /// # Errors
    /// [`Refusal`] for another ledger, or a fork, gap or break of the author's chain. A log looks for
    /// repeated batches before it asks.
    pub fn check(&self, header: &BatchHeader) -> Result<(), Refusal> {
        let (author, author_seq) = (header.author, header.author_seq);
        if header.ledger != self.ledger {
            return Err(Refusal::ForeignLedger { expected: self.ledger, found: header.ledger });
        }
        let tip = self.tip(&author);
        if author_seq < tip.batches {
            return Err(Refusal::AuthorForked { author, author_seq });
        }
        if author_seq > tip.batches {
            return Err(Refusal::AuthorGap { author, expected: tip.batches, found: author_seq });
        }
        if header.previous != tip.newest.unwrap_or(BatchId::ZERO) {
            return Err(Refusal::AuthorChainBroken { author, author_seq });
        }
        Ok(())
    }

    /// Takes a checked batch in and gives its entry.
    pub fn extend(&mut self, batch: &Admitted, received: Millis) -> Entry {
        let entry = Entry {
            first: self.next,
            received,
            previous: self.link,
            batch: batch.id,
            signature: batch.batch.signature,
        };
        self.advance(&batch.header, batch.id, link(&entry.encode()));
        entry
    }

    /// Follows a stored entry and the batch behind it: position, link, batch id, events, author's
    /// chain, in this order, so that a fault is named for what it is.
    ///
    /// # Errors
    /// [`Break`] when it does not follow; the chain stays where it was.
    pub fn follow<'a>(&mut self, stored: &'a [u8]) -> Result<(Entry, Batch<'a>), Break> {
        let (entry, link, batch) = self.linked(stored)?;
        self.check(&batch.header).map_err(Break::Author)?;
        self.advance(&batch.header, batch.id, link);
        Ok((entry, batch))
    }

    /// Follows a stored entry without its author's chain, where that is not known.
    ///
    /// # Errors
    /// As [`Chain::follow`].
    pub fn follow_link<'a>(&mut self, stored: &'a [u8]) -> Result<(Entry, Batch<'a>), Break> {
        let (entry, link, batch) = self.linked(stored)?;
        self.advance(&batch.header, batch.id, link);
        Ok((entry, batch))
    }

    fn linked<'a>(&self, stored: &'a [u8]) -> Result<(Entry, Digest, Batch<'a>), Break> {
        let (entry, link, bytes) = Entry::split(stored).ok_or(Break::Cut)?;
        if entry.first != self.next {
            return Err(Break::Gap { expected: self.next, found: entry.first });
        }
        if entry.previous != self.link {
            return Err(Break::Link);
        }
        if batch_id(bytes.get(..HEADER_BYTES).ok_or(Break::Cut)?) != entry.batch {
            return Err(Break::Batch);
        }
        Ok((entry, link, Batch::parse(bytes)?))
    }

    fn advance(&mut self, header: &BatchHeader, id: BatchId, link: Digest) {
        self.next = self.next.saturating_add(u64::from(header.count));
        self.link = link;
        let batches = header.author_seq.saturating_add(1);
        let tip = AuthorTip { batches, newest: Some(id) };
        self.authors.insert(header.author, tip);
    }
}

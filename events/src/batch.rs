//! A batch: 1..N events of one author, chained to that author's batch before it and signed once.
//!
//! Header, 142 bytes, big-endian: format u16, ledger 32, author 32, author_seq u64, previous batch
//! id 32, count u32, digest 32. Then each event behind its length as u32.

use crate::bytes::Reader;
use crate::event::{EventRef, Events, Gathered, events_of, next_event};
use crate::hash::{Domain, Hasher, digest};
use crate::ids::{AuthorId, BatchId, Digest, EventId, LedgerId, Subject};
use crate::limits::{BATCH_BYTES_MAX, BATCH_EVENTS_MAX, EVENT_BYTES_MAX};
use crate::sign::{BATCH_PREFIX, Signature, SigningKey};

/// The batch format this build reads and writes.
pub const FORMAT: u16 = 1;
/// Bytes of a batch header.
pub const HEADER_BYTES: usize = 2 + 32 + 32 + 8 + 32 + 4 + 32;

/// Why bytes are not a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// Shorter than a header.
    #[error("shorter than a batch header")]
    TooShort,
    /// Longer than the format allows.
    #[error("a batch of {bytes} bytes is longer than {BATCH_BYTES_MAX}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// A batch format this build does not know.
    #[error("batch format {format} needs a newer ferry")]
    NeedsNewerFerry {
        /// The format.
        format: u16,
    },
    /// No event, or more than the format allows.
    #[error("a batch of {count} events; 1 to {BATCH_EVENTS_MAX} are allowed")]
    Count {
        /// The count in the header.
        count: u32,
    },
    /// The events do not fill the batch exactly, or one is too short or too long.
    #[error("event {index} is cut short, too long, or followed by stray bytes")]
    Event {
        /// Index of the event in the batch.
        index: u32,
    },
    /// The events are not those the header was made for.
    #[error("the events do not match the header's digest")]
    Digest,
}

/// What an author signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchHeader {
    /// The ledger the batch belongs to, and no other.
    pub ledger: LedgerId,
    /// Who wrote it.
    pub author: AuthorId,
    /// Batches of this author before it.
    pub author_seq: u64,
    /// Id of the author's batch before it; zero for the first.
    pub previous: BatchId,
    /// Number of events.
    pub count: u32,
    /// Digest over the events' digests.
    pub digest: Digest,
}

impl BatchHeader {
    /// The header's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut out = [0; HEADER_BYTES];
        let mut rest = out.as_mut_slice();
        let mut put = |bytes: &[u8]| {
            let (head, tail) = std::mem::take(&mut rest).split_at_mut(bytes.len());
            head.copy_from_slice(bytes);
            rest = tail;
        };
        put(&FORMAT.to_be_bytes());
        put(self.ledger.as_slice());
        put(self.author.as_slice());
        put(&self.author_seq.to_be_bytes());
        put(self.previous.as_slice());
        put(&self.count.to_be_bytes());
        put(self.digest.as_slice());
        out
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self, BatchError> {
        let format = reader.u16().ok_or(BatchError::TooShort)?;
        if format != FORMAT {
            return Err(BatchError::NeedsNewerFerry { format });
        }
        let mut fields = || {
            Some(Self {
                ledger: reader.bytes()?,
                author: reader.bytes()?,
                author_seq: reader.u64()?,
                previous: reader.bytes()?,
                count: reader.u32()?,
                digest: reader.bytes()?,
            })
        };
        fields().ok_or(BatchError::TooShort)
    }
}

/// The id of a batch: the digest of its header's bytes.
#[must_use]
pub fn batch_id(header: &[u8]) -> BatchId {
    digest(Domain::Batch, header)
}

/// The id of the event at `index` of a batch.
#[must_use]
pub fn event_id(batch: &BatchId, index: u32) -> EventId {
    Hasher::new(Domain::EventId).fixed(batch.as_slice()).fixed(&index.to_be_bytes()).finish()
}

/// A batch as stored, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The header.
    pub header: BatchHeader,
    /// The header's bytes: what the signature covers.
    pub header_bytes: &'a [u8],
    /// Digest of the header.
    pub id: BatchId,
    body: &'a [u8],
}

impl<'a> Batch<'a> {
    /// Reads a batch and checks that events and header belong together. Signatures are not looked at.
    ///
    /// # Errors
    /// [`BatchError`] for anything else than a well-formed batch, trailing bytes included.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, BatchError> {
        let batch = Self::parse_header(bytes)?;
        batch.check_events()?;
        Ok(batch)
    }

    /// Reads a batch's header and takes its events as they are, for a look at one of them. What is counted
    /// has to pass [`Batch::parse`].
    ///
    /// # Errors
    /// [`BatchError`] for anything else than a header.
    pub fn parse_header(bytes: &'a [u8]) -> Result<Self, BatchError> {
        if bytes.len() > BATCH_BYTES_MAX {
            return Err(BatchError::TooLong { bytes: bytes.len() });
        }
        let (header_bytes, body) =
            bytes.split_at_checked(HEADER_BYTES).ok_or(BatchError::TooShort)?;
        let header = BatchHeader::parse(&mut Reader(header_bytes))?;
        if header.count == 0 || header.count as usize > BATCH_EVENTS_MAX {
            return Err(BatchError::Count { count: header.count });
        }
        Ok(Self { header, header_bytes, id: batch_id(header_bytes), body })
    }

    fn check_events(&self) -> Result<(), BatchError> {
        let mut digests = Vec::with_capacity(self.header.count as usize * 32);
        let mut reader = Reader(self.body);
        for index in 0..self.header.count {
            let event = next_event(&mut reader)
                .filter(|event| event.bytes.len() <= EVENT_BYTES_MAX)
                .ok_or(BatchError::Event { index })?;
            digests.extend_from_slice(event.digest().as_slice());
        }
        if !reader.0.is_empty() {
            return Err(BatchError::Event { index: self.header.count });
        }
        if digest(Domain::Events, &digests) != self.header.digest {
            return Err(BatchError::Digest);
        }
        Ok(())
    }

    /// The events, in order.
    pub fn events(&self) -> impl Iterator<Item = EventRef<'a>> + use<'a> {
        events_of(self.body)
    }
}

/// A batch and its author's signature over the header: what travels between machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedBatch {
    /// Signature over the header.
    pub signature: Signature,
    /// Header and events.
    pub bytes: Vec<u8>,
}

/// An author's place in its own chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuthorTip {
    /// Batches the author has written.
    pub batches: u64,
    /// The newest of them; zero when there is none.
    pub newest: Option<BatchId>,
}

/// Writes and signs one author's batches, each chained to the one before.
pub struct Author {
    key: SigningKey,
    ledger: LedgerId,
    tip: AuthorTip,
}

impl Author {
    /// An author that goes on from `tip`, as its log tells it.
    #[must_use]
    pub const fn new(key: SigningKey, ledger: LedgerId, tip: AuthorTip) -> Self {
        Self { key, ledger, tip }
    }

    /// The public key.
    #[must_use]
    pub fn id(&self) -> AuthorId {
        self.key.public()
    }

    /// Signs `events` as the author's next batch. `None` when there are none.
    #[must_use]
    pub fn seal(&mut self, events: Events) -> Option<SignedBatch> {
        self.sealed(events).map(|sealed| sealed.batch)
    }

    pub(crate) fn sealed(&mut self, events: Events) -> Option<Sealed> {
        if events.is_empty() {
            return None;
        }
        let Gathered { count, digest, body, about } = events.gathered();
        let header = BatchHeader {
            ledger: self.ledger,
            author: self.id(),
            author_seq: self.tip.batches,
            previous: self.tip.newest.unwrap_or(BatchId::ZERO),
            count,
            digest,
        };
        let header_bytes = header.encode();
        let signature = self.key.sign(BATCH_PREFIX, &header_bytes);
        let id = batch_id(&header_bytes);
        self.tip = AuthorTip { batches: self.tip.batches + 1, newest: Some(id) };
        let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
        bytes.extend_from_slice(&header_bytes);
        bytes.extend_from_slice(&body);
        Some(Sealed { id, header, about, batch: SignedBatch { signature, bytes } })
    }
}

/// A batch just signed, with what is known of it.
pub(crate) struct Sealed {
    pub(crate) id: BatchId,
    pub(crate) header: BatchHeader,
    pub(crate) about: Vec<(u32, Subject)>,
    pub(crate) batch: SignedBatch,
}

//! An event: `{kind u16, version u8, at u64, subject 16 bytes, payload}`, big-endian, then MessagePack.

use serde::Serialize;

use crate::bytes::Reader;
use crate::hash::{Domain, digest};
use crate::ids::{Digest, Millis, Subject};
use crate::kind::{Kind, KindTable, PayloadError};
use crate::limits::{BATCH_BYTES_MAX, BATCH_EVENTS_MAX, EVENT_BYTES_MAX};
use crate::payload::{
    Actor, Amend, BudgetCrossed, ClockCorrected, Dispatch, DispatchResult, EngineFault, Feedback,
    Finding, Import, LedgerOpened, PolicySet, Price, PriceBook, Refusal, Turn, TurnClosed,
};

/// Most bytes of a batch's events, each behind its length.
const BODY_BYTES_MAX: usize = BATCH_BYTES_MAX - crate::batch::HEADER_BYTES;

/// Bytes of an event before its payload.
pub const EVENT_HEADER_BYTES: usize = 2 + 1 + 8 + 16;

/// A payload that is written in its newest version.
pub trait Payload: Serialize {
    /// Its kind.
    const KIND: Kind;
    /// Its newest version.
    const VERSION: u8;

    /// Checks what the types cannot: a payload that makes no sense is neither written nor read.
    ///
    /// # Errors
    /// What is wrong, in words.
    fn check(&self) -> Result<(), &'static str>;

    /// What it can be found under besides its subject: a turn's conversation.
    fn also_about(&self) -> Option<Subject>;
}

/// What an event says, in the newest vocabulary.
///
/// Serialised only for people and programs to look at; payloads have their own encoding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[expect(missing_docs, reason = "each variant is the kind of its name")]
pub enum Body<'a> {
    LedgerOpened(LedgerOpened),
    Actor(Actor),
    Price(Price<'a>),
    PriceBook(PriceBook<'a>),
    Policy(PolicySet<'a>),
    Turn(Turn<'a>),
    Dispatch(Dispatch<'a>),
    Refusal(Refusal<'a>),
    Result(DispatchResult<'a>),
    TurnClosed(TurnClosed),
    EngineFault(EngineFault<'a>),
    Feedback(Feedback<'a>),
    Amend(Amend<'a>),
    Import(Import<'a>),
    Finding(Finding),
    ClockCorrected(ClockCorrected),
    BudgetCrossed(BudgetCrossed<'a>),
    /// An ancillary kind or version this build does not know: counted, without effect.
    Unknown(Kind),
}

impl Body<'_> {
    /// What the event can be found under besides its subject.
    #[must_use]
    pub fn also_about(&self) -> Option<Subject> {
        match self {
            Self::Turn(turn) => turn.also_about(),
            Self::Amend(amend) => amend.also_about(),
            _ => None,
        }
    }
}

/// One event as stored, borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventRef<'a> {
    /// Its kind.
    pub kind: Kind,
    /// The version of its payload.
    pub version: u8,
    /// When it happened, by its author's clock.
    pub at: Millis,
    /// What it is about.
    pub subject: Subject,
    /// The payload's bytes.
    pub payload: &'a [u8],
    /// The whole event's bytes.
    pub bytes: &'a [u8],
}

impl<'a> EventRef<'a> {
    /// Reads the fixed header; `None` when the bytes are too short for one.
    #[must_use]
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let kind = Kind(reader.u16()?);
        let [version] = reader.array()?;
        let at = reader.u64()?;
        let subject = reader.bytes()?;
        Some(Self { kind, version, at, subject, payload: reader.0, bytes })
    }

    /// The payload in the newest vocabulary.
    ///
    /// # Errors
    /// As [`KindTable::decode`].
    pub fn decode(&self, kinds: &KindTable) -> Result<Body<'a>, PayloadError> {
        kinds.decode(self.kind, self.version, self.payload)
    }

    /// The event's digest.
    #[must_use]
    pub fn digest(&self) -> Digest {
        digest(Domain::Event, self.bytes)
    }
}

/// The events of a batch's body, each behind its length, as far as they can be read.
pub(crate) fn events_of(body: &[u8]) -> impl Iterator<Item = EventRef<'_>> {
    let mut reader = Reader(body);
    std::iter::from_fn(move || next_event(&mut reader))
}

pub(crate) fn next_event<'a>(reader: &mut Reader<'a>) -> Option<EventRef<'a>> {
    let length = reader.u32()?;
    EventRef::parse(reader.take(usize::try_from(length).ok()?)?)
}

/// Why an event cannot be added to a batch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// The payload says something that cannot be.
    #[error("the payload makes no sense: {detail}")]
    Unsound {
        /// What is wrong with it.
        detail: String,
    },
    /// The encoded event is longer than the format allows.
    #[error("an event of {bytes} bytes is longer than {EVENT_BYTES_MAX}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// The batch holds as much as a batch can: seal it and begin another.
    #[error("the batch is full")]
    BatchFull,
}

/// What a batch is made of.
pub(crate) struct Gathered {
    pub(crate) count: u32,
    pub(crate) digest: Digest,
    pub(crate) body: Vec<u8>,
    pub(crate) about: Vec<(u32, Subject)>,
}

/// Events being gathered for one batch, encoded one after another.
#[derive(Clone, Debug, Default)]
pub struct Events {
    bytes: Vec<u8>,
    digests: Vec<u8>,
    about: Vec<(u32, Subject)>,
    has_raw: bool,
}

impl Events {
    /// An empty gathering.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of events.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.digests.len() / 32
    }

    /// True when there is nothing to sign.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.digests.is_empty()
    }

    /// Encodes one event.
    ///
    /// # Errors
    /// [`EventError`] when it is too long or the batch is full; nothing is added then.
    pub fn push<P: Payload>(
        &mut self,
        at: Millis,
        subject: Subject,
        payload: &P,
    ) -> Result<(), EventError> {
        payload.check().map_err(|detail| EventError::Unsound { detail: detail.to_owned() })?;
        self.push_with(P::KIND, P::VERSION, at, subject, |bytes| {
            rmp_serde::encode::write(bytes, payload)
                .map_err(|error| EventError::Unsound { detail: error.to_string() })
        })?;
        if let Some(subject) = payload.also_about() {
            self.about.push((self.newest(), subject));
        }
        Ok(())
    }

    /// Index of the newest event.
    fn newest(&self) -> u32 {
        u32::try_from(self.len()).unwrap_or(u32::MAX).saturating_sub(1)
    }

    /// Adds an event whose payload is encoded already, of whatever kind and version.
    ///
    /// # Errors
    /// As [`Events::push`].
    pub fn push_raw(
        &mut self,
        kind: Kind,
        version: u8,
        at: Millis,
        subject: Subject,
        payload: &[u8],
    ) -> Result<(), EventError> {
        self.push_with(kind, version, at, subject, |bytes| {
            bytes.extend_from_slice(payload);
            Ok(())
        })?;
        self.has_raw = true;
        Ok(())
    }

    fn push_with(
        &mut self,
        kind: Kind,
        version: u8,
        at: Millis,
        subject: Subject,
        payload: impl FnOnce(&mut Vec<u8>) -> Result<(), EventError>,
    ) -> Result<(), EventError> {
        if self.len() == BATCH_EVENTS_MAX {
            return Err(EventError::BatchFull);
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.extend_from_slice(&kind.0.to_be_bytes());
        self.bytes.push(version);
        self.bytes.extend_from_slice(&at.to_be_bytes());
        self.bytes.extend_from_slice(subject.as_slice());
        let written = payload(&mut self.bytes).and_then(|()| self.finish(start));
        match written {
            Ok(()) => self.about.push((self.newest(), subject)),
            Err(_) => self.bytes.truncate(start),
        }
        written
    }

    fn finish(&mut self, start: usize) -> Result<(), EventError> {
        let length = self.bytes.len() - start - 4;
        if length > EVENT_BYTES_MAX {
            return Err(EventError::TooLong { bytes: length });
        }
        if self.bytes.len() > BODY_BYTES_MAX {
            return Err(EventError::BatchFull);
        }
        let prefix = u32::try_from(length).map_err(|_| EventError::TooLong { bytes: length })?;
        self.bytes[start..start + 4].copy_from_slice(&prefix.to_be_bytes());
        let digest = digest(Domain::Event, &self.bytes[start + 4..]);
        self.digests.extend_from_slice(digest.as_slice());
        Ok(())
    }

    /// Adds events that were gathered apart, after these.
    ///
    /// # Errors
    /// [`EventError::BatchFull`] when they do not fit into one batch together; nothing is added then.
    pub fn extend(&mut self, more: &Self) -> Result<(), EventError> {
        let bytes = self.bytes.len() + more.bytes.len();
        if self.len() + more.len() > BATCH_EVENTS_MAX || bytes > BODY_BYTES_MAX {
            return Err(EventError::BatchFull);
        }
        let before = u32::try_from(self.len()).unwrap_or(u32::MAX);
        self.about.extend(more.about.iter().map(|(index, subject)| (before + index, *subject)));
        self.bytes.extend_from_slice(&more.bytes);
        self.digests.extend_from_slice(&more.digests);
        self.has_raw |= more.has_raw;
        Ok(())
    }

    /// The events as they will be stored, in order.
    pub fn iter(&self) -> impl Iterator<Item = EventRef<'_>> {
        events_of(&self.bytes)
    }

    /// True when every payload was encoded here, and so is in the one form it can have.
    pub(crate) const fn are_canonical(&self) -> bool {
        !self.has_raw
    }

    /// What was gathered, with the digest over the events' digests.
    pub(crate) fn gathered(self) -> Gathered {
        Gathered {
            count: u32::try_from(self.len()).unwrap_or(u32::MAX),
            digest: digest(Domain::Events, &self.digests),
            body: self.bytes,
            about: self.about,
        }
    }
}

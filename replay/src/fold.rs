//! The driver: reads a log batch by batch, checks it, and folds it. No fold passes over a fault.

use std::ops::ControlFlow;

use events::admission::{Break, Chain, Refusal};
use events::batch::{Batch, BatchError};
use events::entry::Entry;
use events::event::Body;
use events::head::{Head, SignedHead};
use events::ids::{AuthorId, LedgerId, Seq};
use events::kind::{KindTable, PayloadError};
use events::log::Log;
use events::payload::Stream;
use events::sign::{BATCH_PREFIX, SignError, Verifier};
use projections::projection::{Context, Projection as _};
use projections::world::{Effect, World};

/// What is wrong, and with which position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("position {at}: {what}")]
pub struct Fault {
    /// Position of the first event of the batch concerned, or where a batch is missing.
    pub at: Seq,
    /// What is wrong.
    pub what: Wrong,
}

/// What can be wrong with a stored ledger. Each cause has its own name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// The stored bytes are too short for an entry.
    #[error("the entry is cut short")]
    EntryCut,
    /// The entry stands under the key of another position.
    #[error("the entry of position {entry} is stored in its place")]
    Misplaced {
        /// The position the entry names.
        entry: Seq,
    },
    /// The batch is malformed, or its events are not those its header was made for.
    #[error("the batch is damaged: {0}")]
    Batch(#[from] BatchError),
    /// Entry, link or position do not follow from what came before.
    #[error("{0}")]
    Chain(#[from] Break),
    /// The batch belongs to another ledger, or breaks its author's chain.
    #[error("{0}")]
    Author(Refusal),
    /// The author's key or signature is not good.
    #[error("author {author}: {error}")]
    Signature {
        /// The author.
        author: AuthorId,
        /// What is wrong.
        error: SignError,
    },
    /// An event's payload does not decode, or needs a newer ferry.
    #[error("event {index} of the batch: {error}")]
    Payload {
        /// Its index in the batch.
        index: u32,
        /// What is wrong.
        error: PayloadError,
    },
    /// The log ends before the position the head vouches for.
    #[error("rolled back: the log ends here, the head vouches for everything before {promised}")]
    RolledBack {
        /// The position the head vouches for.
        promised: Seq,
    },
    /// The log has another past than the one the head vouches for.
    #[error("forked: up to here the head vouches for another past")]
    Forked,
    /// The head is of another ledger.
    #[error("the head is of ledger {found}, the log of {expected}")]
    ForeignHead {
        /// The log's ledger.
        expected: LedgerId,
        /// The head's.
        found: LedgerId,
    },
    /// The head's signature is not good.
    #[error("the head's signature: {0}")]
    HeadSignature(SignError),
    /// The head is signed by a key that is not the ledger's node key.
    #[error("the head is signed by {node}, which is not a node key of this ledger")]
    HeadUnvouched {
        /// The key.
        node: AuthorId,
    },
}

impl Wrong {
    /// True when the ledger was written by a ferry that knows more than this one.
    #[must_use]
    pub const fn needs_newer_ferry(&self) -> bool {
        matches!(
            self,
            Self::Payload { error: PayloadError::NeedsNewerFerry { .. }, .. }
                | Self::Batch(BatchError::NeedsNewerFerry { .. })
        )
    }
}

/// Why a fold stopped.
#[derive(Debug, thiserror::Error)]
pub enum FoldError<E: std::error::Error + 'static> {
    /// The ledger is not what it should be.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// The store failed.
    #[error("the store failed: {0}")]
    Store(#[source] E),
}

/// Whether authors' signatures are checked again. Links, digests and chains always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signatures {
    /// Check every one.
    Check,
    /// They were checked before, and the links say that nothing has changed since.
    Trust,
}

/// What a fold came to.
#[derive(Clone, Debug)]
pub struct Folded {
    /// The world at the end.
    pub world: World,
    /// Batches read.
    pub batches: u64,
    /// The end of the log.
    pub head: Head,
}

/// What a fold needs to know besides the log.
#[derive(Clone, Copy)]
pub struct Checks<'a> {
    /// The kinds of this build.
    pub kinds: &'a KindTable,
    /// Whether to check signatures.
    pub signatures: Signatures,
    /// A head kept outside the log; without one, a missing tail goes unnoticed.
    pub head: Option<&'a SignedHead>,
}

/// Folds a log from its first event, showing each event, its place and its effect to `observe`.
///
/// # Errors
/// [`FoldError`] at the first fault: nothing after it is folded.
pub fn fold<L: Log>(
    log: &L,
    checks: Checks<'_>,
    observe: &mut dyn FnMut(&Context, &Body<'_>, Effect),
) -> Result<Folded, FoldError<L::Error>> {
    let ledger = log.head().ledger;
    let mut driver = Driver {
        checks,
        chain: Chain::genesis(ledger),
        verifier: Verifier::new(),
        world: World::genesis(),
        batches: 0,
        promised: Promised::new(checks.head, ledger)?,
    };
    driver.promised.pass(&driver.chain.head())?;
    let mut fault = None;
    log.read(0, &mut |key, stored| match driver.take(key, stored, observe) {
        Ok(()) => ControlFlow::Continue(()),
        Err(what) => {
            fault = Some(Fault { at: key, what });
            ControlFlow::Break(())
        }
    })
    .map_err(FoldError::Store)?;
    match fault {
        Some(fault) => Err(fault.into()),
        None => Ok(driver.finish()?),
    }
}

/// Checks a whole ledger: density, links, digests, author chains, signatures, payloads, and the head.
///
/// # Errors
/// [`FoldError`] with the first fault.
pub fn verify<L: Log>(
    log: &L,
    kinds: &KindTable,
    head: Option<&SignedHead>,
) -> Result<Folded, FoldError<L::Error>> {
    fold(log, Checks { kinds, signatures: Signatures::Check, head }, &mut |_, _, _| {})
}

struct Driver<'a> {
    checks: Checks<'a>,
    chain: Chain,
    verifier: Verifier,
    world: World,
    batches: u64,
    promised: Promised<'a>,
}

impl Driver<'_> {
    fn take(
        &mut self,
        key: Seq,
        stored: &[u8],
        observe: &mut dyn FnMut(&Context, &Body<'_>, Effect),
    ) -> Result<(), Wrong> {
        let (entry, link, bytes) = Entry::split(stored).ok_or(Wrong::EntryCut)?;
        if entry.first != key {
            return Err(Wrong::Misplaced { entry: entry.first });
        }
        let batch = Batch::parse(bytes)?;
        self.chain.check(&batch.header).map_err(Wrong::Author)?;
        self.chain.follow(&entry, link, &batch)?;
        if self.checks.signatures == Signatures::Check {
            let author = batch.header.author;
            self.verifier
                .verify(&author, BATCH_PREFIX, batch.header_bytes, &entry.signature)
                .map_err(|error| Wrong::Signature { author, error })?;
        }
        self.tell(&entry, &batch, observe)?;
        self.batches += 1;
        self.promised.pass(&self.chain.head()).map_err(|fault| fault.what)
    }

    fn tell(
        &mut self,
        entry: &Entry,
        batch: &Batch<'_>,
        observe: &mut dyn FnMut(&Context, &Body<'_>, Effect),
    ) -> Result<(), Wrong> {
        for (index, event) in (0..).zip(batch.events()) {
            let body =
                event.decode(self.checks.kinds).map_err(|error| Wrong::Payload { index, error })?;
            let context = Context {
                seq: entry.first + u64::from(index),
                author: batch.header.author,
                written_by: self.checks.kinds.get(event.kind).map(|spec| spec.written_by),
                received: entry.received,
                at: event.at,
                subject: event.subject,
                batch: batch.id,
                index,
            };
            let effect = self.world.tell(&context, &body);
            observe(&context, &body, effect);
        }
        self.world.settle();
        Ok(())
    }

    fn finish(self) -> Result<Folded, Fault> {
        let end = self.chain.head();
        self.promised.finish(&end, &self.world, &mut Verifier::new())?;
        Ok(Folded { world: self.world, batches: self.batches, head: end })
    }
}

/// The head kept outside, compared as the fold passes its position.
struct Promised<'a> {
    signed: Option<&'a SignedHead>,
    reached: bool,
}

impl<'a> Promised<'a> {
    fn new(signed: Option<&'a SignedHead>, ledger: LedgerId) -> Result<Self, Fault> {
        match signed {
            Some(signed) if signed.head.ledger != ledger => {
                let found = signed.head.ledger;
                Err(Fault { at: 0, what: Wrong::ForeignHead { expected: ledger, found } })
            }
            _ => Ok(Self { signed, reached: signed.is_none() }),
        }
    }

    fn pass(&mut self, here: &Head) -> Result<(), Fault> {
        let Some(promised) = self.signed.map(|signed| signed.head) else { return Ok(()) };
        if here.next == promised.next && here.link == promised.link {
            self.reached = true;
        }
        if here.next >= promised.next && !self.reached {
            return Err(Fault { at: here.next, what: Wrong::Forked });
        }
        Ok(())
    }

    fn finish(self, end: &Head, world: &World, verifier: &mut Verifier) -> Result<(), Fault> {
        let Some(signed) = self.signed else { return Ok(()) };
        let fault = |what| Err(Fault { at: end.next, what });
        if let Err(error) = signed.check(verifier) {
            return fault(Wrong::HeadSignature(error));
        }
        if !self.reached {
            return fault(Wrong::RolledBack { promised: signed.head.next });
        }
        // A ledger without events has no keyring yet: its head says no more than its id.
        let vouched = world.keyring.stream_of(&signed.node) == Some(Stream::Node);
        if end.next > 0 && !vouched {
            return fault(Wrong::HeadUnvouched { node: signed.node });
        }
        Ok(())
    }
}

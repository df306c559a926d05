//! The driver: reads a log batch by batch, checks it, and folds it. No fold passes over a fault.

use std::ops::ControlFlow;

use events::admission::{Break, Chain};
use events::batch::{Batch, BatchError};
use events::entry::Entry;
use events::event::{Body, EventRef};
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
    /// The entry stands under the key of another position.
    #[error("the entry of position {entry} is stored in its place")]
    Misplaced {
        /// The position the entry names.
        entry: Seq,
    },
    /// Entry or batch are damaged, or do not follow from what came before.
    #[error("{0}")]
    Break(#[from] Break),
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
    /// Stored batches end before the position the log itself gives as its end.
    #[error("the stored batches end here, the log says that it goes on to {end}")]
    TailMissing {
        /// The end the log gives.
        end: Seq,
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
        match self {
            Self::Payload { error, .. } => error.needs_newer_ferry(),
            Self::Break(Break::Damaged(BatchError::NeedsNewerFerry { .. })) => true,
            _ => false,
        }
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
    /// A head kept outside the log. Without one, a log that lost its tail and does not know goes
    /// unnoticed, and so does a change of the last entry's time of receipt.
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
    let says = log.head();
    let mut driver = Driver {
        checks,
        chain: Chain::genesis(says.ledger),
        verifier: Verifier::new(),
        world: World::genesis(),
        batches: 0,
        promised: Promised::new(checks.head, says.ledger)?,
    };
    driver.pass().map_err(|what| Fault { at: 0, what })?;
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
        None => Ok(driver.finish(&says)?),
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
        let (entry, batch) = self.chain.follow(stored)?;
        if entry.first != key {
            return Err(Wrong::Misplaced { entry: entry.first });
        }
        if self.checks.signatures == Signatures::Check {
            let author = batch.header.author;
            self.verifier
                .verify(&author, BATCH_PREFIX, batch.header_bytes, &entry.signature)
                .map_err(|error| Wrong::Signature { author, error })?;
        }
        self.tell(&entry, &batch, observe)?;
        self.batches += 1;
        self.pass()
    }

    /// Compares with the head kept outside, where it vouches for this position.
    fn pass(&mut self) -> Result<(), Wrong> {
        self.promised.pass(&self.chain.head(), &self.world)
    }

    /// Where signatures are checked again, so is that a payload is the one encoding of what it says.
    fn body<'e>(&self, event: &EventRef<'e>) -> Result<Body<'e>, PayloadError> {
        let (kinds, payload) = (self.checks.kinds, event.payload);
        match self.checks.signatures {
            Signatures::Check => kinds.decode_canonical(event.kind, event.version, payload),
            Signatures::Trust => kinds.decode(event.kind, event.version, payload),
        }
    }

    fn tell(
        &mut self,
        entry: &Entry,
        batch: &Batch<'_>,
        observe: &mut dyn FnMut(&Context, &Body<'_>, Effect),
    ) -> Result<(), Wrong> {
        for (index, event) in (0..).zip(batch.events()) {
            let body = self.body(&event).map_err(|error| Wrong::Payload { index, error })?;
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

    fn finish(self, says: &Head) -> Result<Folded, Fault> {
        let end = self.chain.head();
        let fault = |what| Err(Fault { at: end.next, what });
        if let Some(promised) = self.promised.still_to_come() {
            return fault(Wrong::RolledBack { promised });
        }
        if end != *says {
            return fault(Wrong::TailMissing { end: says.next });
        }
        Ok(Folded { world: self.world, batches: self.batches, head: end })
    }
}

/// The head kept outside, compared as the fold passes its position.
struct Promised<'a> {
    signed: Option<&'a SignedHead>,
}

impl<'a> Promised<'a> {
    fn new(signed: Option<&'a SignedHead>, ledger: LedgerId) -> Result<Self, Fault> {
        if let Some(signed) = signed {
            let fault = |what| Err(Fault { at: signed.head.next, what });
            if let Err(error) = signed.check(&mut Verifier::new()) {
                return fault(Wrong::HeadSignature(error));
            }
            if signed.head.ledger != ledger {
                let found = signed.head.ledger;
                return fault(Wrong::ForeignHead { expected: ledger, found });
            }
        }
        Ok(Self { signed })
    }

    fn pass(&mut self, here: &Head, world: &World) -> Result<(), Wrong> {
        let Some(signed) = self.signed.filter(|signed| here.next >= signed.head.next) else {
            return Ok(());
        };
        if *here != signed.head {
            return Err(Wrong::Forked);
        }
        // A ledger without events has no keyring yet: its head says no more than its id.
        let vouched = world.keyring.stream_of(&signed.node) == Some(Stream::Node);
        if here.next > 0 && !vouched {
            return Err(Wrong::HeadUnvouched { node: signed.node });
        }
        self.signed = None;
        Ok(())
    }

    /// The position vouched for, if the fold has not come there.
    fn still_to_come(&self) -> Option<Seq> {
        self.signed.map(|signed| signed.head.next)
    }
}

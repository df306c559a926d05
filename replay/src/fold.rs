//! The driver: reads a log batch by batch, checks it, and folds it. No fold passes over a fault.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use events::admission::Chain;
use events::batch::Batch;
use events::entry::Entry;
use events::event::{Body, EventRef};
use events::head::{Head, SignedHead};
use events::ids::{LedgerId, Seq};
use events::kind::{KindTable, PayloadError};
use events::log::ReadLog;
use events::payload::Stream;
use events::sign::{BATCH_PREFIX, Verifier};
use projections::projection::{Context, Located, Projection as _};
use projections::world::{Effect, World};

pub use crate::fault::{Fault, FoldError, Wrong};

/// Whether authors' signatures are checked again. Links, digests and chains always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signatures {
    /// Check every one.
    Check,
    /// Check those from a position on. What lies before was checked when it was admitted, and a head
    /// vouched for outside the log says that nothing has changed since.
    CheckFrom(Seq),
    /// They were checked before, and the links say that nothing has changed since.
    Trust,
}

impl Signatures {
    const fn are_checked_at(self, position: Seq) -> bool {
        match self {
            Self::Check => true,
            Self::CheckFrom(start) => position >= start,
            Self::Trust => false,
        }
    }
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

/// What is shown each event, its place and its effect.
pub type Observe<'o> = dyn FnMut(&Located, &Body<'_>, Effect) + 'o;

/// What is shown each event before the world is told of it: the world, the event's place, and what it says.
pub type Foresee<'o> = dyn FnMut(&World, &Context, &Body<'_>) + 'o;

/// Folds a log from its first event, showing each event, its place and its effect to `observe`.
///
/// # Errors
/// [`FoldError`] at the first fault: nothing after it is folded.
pub fn fold<L: ReadLog + ?Sized>(
    log: &L,
    checks: Checks<'_>,
    observe: &mut Observe<'_>,
) -> Result<Folded, FoldError<L::Error>> {
    let ledger = log.head().ledger;
    let mut promised = Promised::new(checks.head, ledger)?;
    let mut fold = Fold::genesis(checks.kinds, checks.signatures, ledger);
    promised.pass(&fold.head(), &fold.world).map_err(|what| Fault { at: 0, what })?;
    let outcome = fold.read_passing(log, observe, &mut |head, world| promised.pass(head, world));
    // A head that vouches for more says more than a log that knows of its own loss.
    let lost = |error: &FoldError<L::Error>| {
        matches!(error, FoldError::Fault(Fault { what: Wrong::TailMissing { .. }, .. }))
    };
    if outcome.as_ref().map_or_else(lost, |()| true)
        && let Some(position) = promised.still_to_come()
    {
        let what = Wrong::RolledBack { promised: position };
        return Err(Fault { at: fold.head().next, what }.into());
    }
    outcome?;
    let head = fold.head();
    Ok(Folded { world: fold.world, batches: fold.batches, head })
}

/// Checks a whole ledger: density, links, digests, author chains, signatures, payloads, and the head.
///
/// # Errors
/// [`FoldError`] with the first fault.
pub fn verify<L: ReadLog + ?Sized>(
    log: &L,
    kinds: &KindTable,
    head: Option<&SignedHead>,
) -> Result<Folded, FoldError<L::Error>> {
    fold(log, Checks { kinds, signatures: Signatures::Check, head }, &mut |_, _, _| {})
}

/// A fold that goes on: checks each stored batch, then tells the world of it.
pub struct Fold<'k> {
    kinds: &'k KindTable,
    signatures: Signatures,
    chain: Chain,
    /// Whether the authors' chains were followed from their first batch.
    from_genesis: bool,
    verifier: Verifier,
    world: World,
    batches: u64,
}

impl<'k> Fold<'k> {
    /// A fold before a ledger's first event.
    #[must_use]
    pub fn genesis(kinds: &'k KindTable, signatures: Signatures, ledger: LedgerId) -> Self {
        let world = World::genesis();
        let mut fold = Self::resume(kinds, signatures, world, Chain::genesis(ledger).head());
        fold.from_genesis = true;
        fold
    }

    /// A fold that goes on from the world at a position. The authors' chains before it are not known:
    /// that they are dense was checked on admission, and the links say that nothing has changed.
    #[must_use]
    pub fn resume(kinds: &'k KindTable, signatures: Signatures, world: World, head: Head) -> Self {
        Self {
            kinds,
            signatures,
            chain: Chain::resume(head, BTreeMap::new()),
            from_genesis: false,
            verifier: Verifier::new(),
            world,
            batches: 0,
        }
    }

    /// How far it has come.
    #[must_use]
    pub const fn head(&self) -> Head {
        self.chain.head()
    }

    /// The world there.
    #[must_use]
    pub const fn world(&self) -> &World {
        &self.world
    }

    /// The world there, and no more fold.
    #[must_use]
    pub fn into_world(self) -> World {
        self.world
    }

    /// Takes in what a log holds beyond where the fold stands.
    ///
    /// # Errors
    /// [`FoldError`] at the first fault; the fold stays before the batch concerned.
    pub fn read<L: ReadLog + ?Sized>(
        &mut self,
        log: &L,
        observe: &mut Observe<'_>,
    ) -> Result<(), FoldError<L::Error>> {
        self.read_passing(log, observe, &mut |_, _| Ok(()))
    }

    /// The same; after each batch `pass` may find a fault of its own.
    ///
    /// # Errors
    /// As [`Fold::read`].
    pub fn read_passing<L: ReadLog + ?Sized>(
        &mut self,
        log: &L,
        observe: &mut Observe<'_>,
        pass: &mut dyn FnMut(&Head, &World) -> Result<(), Wrong>,
    ) -> Result<(), FoldError<L::Error>> {
        self.follow(log, &mut |_, _, _| {}, observe, pass)
    }

    /// The same as [`Fold::read`]; `foresee` is shown each event with the world as it is before.
    ///
    /// # Errors
    /// As [`Fold::read`].
    pub fn read_foreseeing<L: ReadLog + ?Sized>(
        &mut self,
        log: &L,
        foresee: &mut Foresee<'_>,
    ) -> Result<(), FoldError<L::Error>> {
        self.follow(log, foresee, &mut |_, _, _| {}, &mut |_, _| Ok(()))
    }

    /// The same, up to the batch that holds a position.
    ///
    /// # Errors
    /// As [`Fold::read`], but for what only the log's end shows.
    pub fn read_foreseeing_until<L: ReadLog + ?Sized>(
        &mut self,
        log: &L,
        position: Seq,
        foresee: &mut Foresee<'_>,
    ) -> Result<(), FoldError<L::Error>> {
        let mut fault = None;
        let start = self.chain.head().next;
        log.read(start, &mut |key, stored| {
            if key > position {
                return ControlFlow::Break(());
            }
            match self.take(key, stored, foresee, &mut |_, _, _| {}) {
                Ok(()) => ControlFlow::Continue(()),
                Err(what) => {
                    fault = Some(Fault { at: key, what });
                    ControlFlow::Break(())
                }
            }
        })
        .map_err(FoldError::Store)?;
        fault.map_or(Ok(()), |fault| Err(fault.into()))
    }

    fn follow<L: ReadLog + ?Sized>(
        &mut self,
        log: &L,
        foresee: &mut Foresee<'_>,
        observe: &mut Observe<'_>,
        pass: &mut dyn FnMut(&Head, &World) -> Result<(), Wrong>,
    ) -> Result<(), FoldError<L::Error>> {
        let mut fault = None;
        let start = self.chain.head().next;
        log.read(start, &mut |key, stored| {
            let taken = self.take(key, stored, foresee, observe);
            match taken.and_then(|()| pass(&self.chain.head(), &self.world)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(what) => {
                    fault = Some(Fault { at: key, what });
                    ControlFlow::Break(())
                }
            }
        })
        .map_err(FoldError::Store)?;
        let (end, says) = (self.chain.head(), log.head());
        match fault {
            Some(fault) => Err(fault.into()),
            None if end != says => {
                Err(Fault { at: end.next, what: Wrong::TailMissing { end: says.next } }.into())
            }
            None => Ok(()),
        }
    }

    fn take(
        &mut self,
        key: Seq,
        stored: &[u8],
        foresee: &mut Foresee<'_>,
        observe: &mut Observe<'_>,
    ) -> Result<(), Wrong> {
        let (entry, batch) = if self.from_genesis {
            self.chain.follow(stored)?
        } else {
            self.chain.follow_link(stored)?
        };
        if entry.first != key {
            return Err(Wrong::Misplaced { entry: entry.first });
        }
        let checked = self.signatures.are_checked_at(entry.first);
        if checked {
            let author = batch.header.author;
            self.verifier
                .verify(&author, BATCH_PREFIX, batch.header_bytes, &entry.signature)
                .map_err(|error| Wrong::Signature { author, error })?;
        }
        self.tell(&entry, &batch, checked, foresee, observe)?;
        self.batches += 1;
        Ok(())
    }

    fn tell(
        &mut self,
        entry: &Entry,
        batch: &Batch<'_>,
        checked: bool,
        foresee: &mut Foresee<'_>,
        observe: &mut Observe<'_>,
    ) -> Result<(), Wrong> {
        for (index, event) in (0..).zip(batch.events()) {
            let context = Context {
                seq: entry.first + u64::from(index),
                author: batch.header.author,
                written_by: self.kinds.get(event.kind).map(|spec| spec.written_by),
                received: entry.received,
                at: event.at,
                subject: event.subject,
            };
            let body = decode(self.kinds, &event, checked)
                .map_err(|error| Wrong::Payload { index, error })?;
            foresee(&self.world, &context, &body);
            let effect = self.world.tell(&context, &body);
            observe(&Located { context, batch: batch.id, index }, &body, effect);
        }
        self.world.settle();
        Ok(())
    }
}

/// Where signatures are checked again, so is that a payload is the one encoding of what it says.
fn decode<'e>(
    kinds: &KindTable,
    event: &EventRef<'e>,
    canonical: bool,
) -> Result<Body<'e>, PayloadError> {
    if canonical {
        kinds.decode_canonical(event.kind, event.version, event.payload)
    } else {
        event.decode(kinds)
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

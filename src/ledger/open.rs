//! A ledger as a command uses it: owned by this process, or asked of its owner.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::time::Duration;

use backon::{BlockingRetryable as _, ExponentialBuilder};
use events::batch::{Batch, SignedBatch};
use events::entry::Entry;
use events::head::Head;
use events::ids::{BatchId, Seq, Subject};
use events::log::{ReadLog, Receipt, Visit};
use projections::projection::Projection as _;
use projections::world::World;
use serde_bytes::{ByteBuf, Bytes as RawBytes};

use super::command::{Command, CommandError, Encoded, Outcome};
use super::handle::{Checkpoint, Handle, Queue};
use super::owner::Owner;
use super::socket::{Ask, AskError, Client, ConnectError, Reply};
use crate::store::{Home, Opened, Settings, StoreError, View};

/// How long an owner that is just opening or closing, or has too much to do, is asked again.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why a ledger cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The store, in this process.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What the owner says.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The owner is another version of ferry that says other things.
    #[error("the ledger's owner is ferry {0}; restart it")]
    OtherVersion(String),
    /// The owner does what no owner does.
    #[error("the ledger's owner gave an answer that makes no sense")]
    Confused,
}

/// What stands between a process and the ledger.
enum Access {
    Owner(Box<Owner>),
    Client(Client),
}

/// A ledger, whoever owns it. When the owner goes away another is found, or this process becomes it.
pub struct Ledger {
    home: Home,
    settings: Settings,
    access: RefCell<Access>,
}

impl Ledger {
    /// Opens a ledger where nobody owns it; else connects to its owner.
    ///
    /// # Errors
    /// [`LedgerError`]; [`StoreError::Busy`] when the owner does not answer for half a minute.
    pub fn open(home: &Home, settings: Settings) -> Result<Self, LedgerError> {
        let access = RefCell::new(access(home, &settings)?);
        Ok(Self { home: home.clone(), settings, access })
    }

    /// How it was found, where this process opened it.
    #[must_use]
    pub fn opened(&self) -> Option<Opened> {
        match &*self.access.borrow() {
            Access::Owner(owner) => Some(owner.opened()),
            Access::Client(_) => None,
        }
    }

    /// The version of the other process that owns it, if one does.
    #[must_use]
    pub fn other_owner(&self) -> Option<String> {
        match &*self.access.borrow() {
            Access::Owner(_) => None,
            Access::Client(client) => Some(client.version().to_owned()),
        }
    }

    /// Runs a command. Where the owner goes away before it answers, the next one is asked again: that is safe.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub fn run(&self, queue: Queue, command: &Command<'_>) -> Result<Outcome, LedgerError> {
        patiently(|| self.try_run(queue, command))
    }

    /// Runs a command, asking once.
    ///
    /// # Errors
    /// [`LedgerError`]; [`CommandError::UnknownOutcome`] when the owner went away before it answered.
    pub fn try_run(&self, queue: Queue, command: &Command<'_>) -> Result<Outcome, LedgerError> {
        let command = Encoded::new(command);
        let bulk = queue == Queue::Bulk;
        self.try_ask(
            |handle| handle.run_encoded(queue, command.clone()),
            &Ask::Run { bulk, command: RawBytes::new(command.bytes()) },
            |reply| match reply {
                Reply::Outcome(outcome) => Some(outcome),
                _ => None,
            },
        )
    }

    /// Appends a batch that some author has signed.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub fn append(&self, batch: &SignedBatch) -> Result<Receipt, LedgerError> {
        self.asked(
            |handle| handle.append(batch.clone()),
            &Ask::Append { signature: batch.signature, bytes: RawBytes::new(&batch.bytes) },
            |reply| match reply {
                Reply::Receipt { first, repeated } => Some(Receipt { first, repeated }),
                _ => None,
            },
        )
    }

    /// The live world's digest.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub fn checkpoint(&self) -> Result<Checkpoint, LedgerError> {
        self.asked(Handle::checkpoint, &Ask::Checkpoint, |reply| match reply {
            Reply::Checkpoint { head, digest } => Some(Checkpoint { head, digest }),
            _ => None,
        })
    }

    /// The world now, as the follower has it.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub fn world(&self) -> Result<World, LedgerError> {
        let world = |world: &World, _: &Head| world.clone();
        self.asked(
            |handle| handle.ask(world),
            &Ask::World,
            |reply| match reply {
                Reply::World(bytes) => World::restore(&bytes).ok(),
                _ => None,
            },
        )
    }

    /// The log as it stands now.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub fn view(&self) -> Result<LedgerView<'_>, LedgerError> {
        let head = self.asked(
            |handle| Ok(handle.view().head()),
            &Ask::Head,
            |reply| match reply {
                Reply::Head(head) => Some(head),
                _ => None,
            },
        )?;
        Ok(LedgerView { ledger: self, head })
    }

    /// Lets go of the ledger; where this process owns it, it is closed cleanly.
    ///
    /// # Errors
    /// What failed while it was open, or closing.
    pub fn close(self) -> Result<(), StoreError> {
        match self.access.into_inner() {
            Access::Owner(owner) => owner.close(),
            Access::Client(_) => Ok(()),
        }
    }

    /// Asks the owner, wherever it is, and again where it was busy or went away.
    fn asked<T>(
        &self,
        here: impl Fn(&Handle) -> Result<T, CommandError>,
        there: &Ask<'_>,
        answered: impl Fn(Reply) -> Option<T>,
    ) -> Result<T, LedgerError> {
        patiently(|| self.try_ask(&here, there, &answered))
    }

    fn try_ask<T>(
        &self,
        here: impl Fn(&Handle) -> Result<T, CommandError>,
        there: &Ask<'_>,
        answered: impl Fn(Reply) -> Option<T>,
    ) -> Result<T, LedgerError> {
        let outcome = match &*self.access.borrow() {
            Access::Owner(owner) => here(owner.handle()).map_err(LedgerError::from),
            Access::Client(client) => match client.ask(there) {
                Ok(reply) => answered(reply).ok_or(LedgerError::Confused),
                Err(AskError::Command(error)) => Err(error.into()),
                Err(AskError::Confused) => Err(LedgerError::Confused),
            },
        };
        use CommandError::{Closed, UnknownOutcome};
        if matches!(outcome, Err(LedgerError::Command(UnknownOutcome | Closed))) {
            self.find_another_owner()?;
        }
        outcome
    }

    /// After the owner went away. Where that was this process, it is over.
    fn find_another_owner(&self) -> Result<(), LedgerError> {
        if matches!(&*self.access.borrow(), Access::Owner(_)) {
            return Err(StoreError::Stopped.into());
        }
        *self.access.borrow_mut() = access(&self.home, &self.settings)?;
        Ok(())
    }
}

/// Tries again while the owner is busy, just opening or closing, or has gone away.
fn patiently<T>(attempt: impl FnMut() -> Result<T, LedgerError>) -> Result<T, LedgerError> {
    let waits = ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(2))
        .with_max_delay(Duration::from_millis(200))
        .without_max_times()
        .with_total_delay(Some(PATIENCE));
    let passes = |error: &LedgerError| {
        use CommandError::{Busy, Closed, UnknownOutcome};
        matches!(
            error,
            LedgerError::Command(Busy | Closed | UnknownOutcome)
                | LedgerError::Store(StoreError::Busy)
        )
    };
    attempt.retry(waits).when(passes).call()
}

/// Opens the ledger, or finds its owner: of a ledger that is just being opened or closed neither works for a while.
fn access(home: &Home, settings: &Settings) -> Result<Access, LedgerError> {
    patiently(|| match Owner::start(home, settings.clone()) {
        Ok(owner) => Ok(Access::Owner(Box::new(owner))),
        Err(StoreError::Busy) => match Client::connect(home) {
            Ok(client) => Ok(Access::Client(client)),
            Err(ConnectError::Nobody) => Err(StoreError::Busy.into()),
            Err(ConnectError::OtherVersion(version)) => Err(LedgerError::OtherVersion(version)),
        },
        Err(error) => Err(error.into()),
    })
}

/// The log as it stood at a head, wherever it is read from.
pub struct LedgerView<'l> {
    ledger: &'l Ledger,
    head: Head,
}

impl LedgerView<'_> {
    /// The same log as it stood before.
    #[must_use]
    pub const fn until(mut self, head: Head) -> Self {
        self.head = head;
        self
    }

    /// A view into this process's own store, where it has it.
    fn here(&self) -> Option<View> {
        match &*self.ledger.access.borrow() {
            Access::Owner(owner) => Some(owner.handle().reader.at(self.head)),
            Access::Client(_) => None,
        }
    }

    /// Shows the stored batch that holds a position, and no other.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub fn batch_at(&self, position: Seq, visit: &mut dyn FnMut(&[u8])) -> Result<(), LedgerError> {
        let mut visit = |_: Seq, stored: &[u8]| {
            visit(stored);
            ControlFlow::Break(())
        };
        match self.page(position, position.saturating_add(1))? {
            Page::Here(view) => view.read(position, &mut visit)?,
            Page::There(batches) => {
                if let Some((first, stored)) = batches.first() {
                    let _ = visit(*first, stored);
                }
            }
        }
        Ok(())
    }

    fn page(&self, from: Seq, end: Seq) -> Result<Page, LedgerError> {
        if let Some(view) = self.here() {
            return Ok(Page::Here(view));
        }
        self.ledger.asked(
            |handle| Ok(Page::Here(handle.reader.at(self.head))),
            &Ask::Read { from, end },
            |reply| match reply {
                Reply::Batches(batches) => Some(Page::There(batches)),
                _ => None,
            },
        )
    }
}

/// Where the next batches come from.
enum Page {
    Here(View),
    There(Vec<(Seq, ByteBuf)>),
}

impl ReadLog for LedgerView<'_> {
    type Error = LedgerError;

    fn head(&self) -> Head {
        self.head
    }

    fn read(&self, from: Seq, visit: &mut Visit<'_>) -> Result<(), LedgerError> {
        let mut from = from;
        while from < self.head.next {
            let batches = match self.page(from, self.head.next)? {
                Page::Here(view) => return Ok(view.read(from, visit)?),
                Page::There(batches) => batches,
            };
            for (first, stored) in &batches {
                if visit(*first, stored).is_break() {
                    return Ok(());
                }
            }
            let after = batches.last().and_then(|(first, stored)| end_of(*first, stored));
            // Less than the head says, or nothing that ends: who goes on from there?
            from = after.filter(|after| *after > from).ok_or(LedgerError::Confused)?;
        }
        Ok(())
    }

    fn position_of(&self, batch: &BatchId) -> Result<Option<Seq>, LedgerError> {
        let position = self.ledger.asked(
            |handle| handle.view().position_of(batch).map_err(unreadable),
            &Ask::PositionOf(*batch),
            |reply| match reply {
                Reply::Position(position) => Some(position),
                _ => None,
            },
        )?;
        Ok(position.filter(|position| *position < self.head.next))
    }

    fn positions_about(&self, subject: &Subject) -> Result<Vec<Seq>, LedgerError> {
        let mut positions = self.ledger.asked(
            |handle| handle.view().positions_about(subject).map_err(unreadable),
            &Ask::PositionsAbout(*subject),
            |reply| match reply {
                Reply::Positions(positions) => Some(positions),
                _ => None,
            },
        )?;
        positions.retain(|position| *position < self.head.next);
        Ok(positions)
    }
}

fn unreadable(error: StoreError) -> CommandError {
    CommandError::Stopped(error.to_string())
}

/// The position behind a stored batch, as its header has it.
fn end_of(first: Seq, stored: &[u8]) -> Option<Seq> {
    let (_, _, bytes) = Entry::split(stored)?;
    let batch = Batch::parse_header(bytes).ok()?;
    Some(first.saturating_add(u64::from(batch.header.count)))
}

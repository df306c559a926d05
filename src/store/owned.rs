//! A ledger open for use: appended to, vouched for, synced, closed.

use std::fs::File;

use events::admission::Admitted;
use events::batch::AuthorTip;
use events::head::{Head, SignedHead};
use events::ids::{AuthorId, BatchId, Millis, Seq, Subject};
use events::log::{AppendError, Log, Receipt, Visit};
use events::payload::{ClockCorrected, Stream};
use replay::writer::{Writer, author_subject};

use super::head::{Record, RunSlot, newest_signed};
use super::open::written;
use super::syncer::Syncer;
use super::{FjallLog, Home, KeyFiles, Promise, Settings, StoreError};

/// A clock may be set back by this much without a word: clocks are corrected all the time.
const CLOCK_STEP_MS: Millis = 60_000;

/// A ledger open for use by its one owner.
pub struct Store {
    pub(super) home: Home,
    pub(super) log: FjallLog,
    pub(super) run: RunSlot,
    pub(super) syncer: Option<Syncer>,
    /// Set when something failed that must not be built upon: only a new start looks at it afresh.
    pub(super) failed: bool,
    pub(super) counter: u64,
    pub(super) settings: Settings,
    pub(super) _lock: File,
}

impl Store {
    /// The newest head that is synced and vouched for by a signed record of this process: batches may
    /// leave the machine up to here.
    #[must_use]
    pub fn synced(&self) -> Option<Head> {
        self.syncer.as_ref().and_then(Syncer::synced)
    }

    /// Waits until everything appended is synced, and gives the head a record vouches for.
    ///
    /// # Errors
    /// [`StoreError::SyncFailed`].
    pub fn sync(&self) -> Result<Head, StoreError> {
        self.syncer.as_ref().ok_or(StoreError::SyncFailed)?.wait()
    }

    /// When the newest batch was taken in; zero without one.
    #[must_use]
    pub const fn received(&self) -> Millis {
        self.log.received()
    }

    /// The newest head a sync record vouched for when the ledger was opened, or since.
    ///
    /// # Errors
    /// When the records cannot be read.
    pub fn vouched_head(&self) -> Result<Option<SignedHead>, StoreError> {
        newest_signed(&self.home.head())
    }

    /// The end of the log, signed by the node key.
    ///
    /// # Errors
    /// When the node key cannot be read.
    pub fn signed_head(&self) -> Result<SignedHead, StoreError> {
        let node = KeyFiles::new(self.home.clone()).signing(Stream::Node)?;
        Ok(SignedHead::sign(self.log.head(), &node))
    }

    /// Stops cleanly: everything in tables, everything synced, and records that say so.
    ///
    /// # Errors
    /// What failed; the stop was not clean then, and the next open looks closer.
    pub fn close(mut self) -> Result<(), StoreError> {
        if self.failed {
            return Err(StoreError::Stopped);
        }
        let syncer = self.syncer.take().ok_or(StoreError::SyncFailed)?;
        let mut state = syncer.stop()?;
        self.log.flush()?;
        state.record(self.log.head(), true)?;
        self.write_run(true)?;
        self.run.sync()
    }

    /// The ledger's time never runs back: max(previous, clock). Where the clock was set back by more than a
    /// minute that is an event, and time goes on from the clock.
    fn stamp(&mut self, group: &[Admitted], clock: Millis) -> Result<Millis, StoreError> {
        let ledger = self.log.received();
        if clock.saturating_add(CLOCK_STEP_MS) >= ledger {
            return Ok(clock.max(ledger));
        }
        let node = KeyFiles::new(self.home.clone()).signing(Stream::Node)?;
        if group.iter().any(|batch| batch.header().author == node.public()) {
            // The node's own batch is sealed, and nothing of the node's may come before it any more: the
            // correction waits for the next batch of somebody else.
            return Ok(ledger);
        }
        let subject = author_subject(&node.public());
        let mut writer = Writer::new(&mut self.log, node).received_at(clock);
        let pushed = writer.push(clock, subject, &ClockCorrected { ledger, clock });
        pushed.and_then(|()| writer.flush()).map_err(written)?;
        Ok(clock)
    }

    fn append_and_vouch(
        &mut self,
        group: &[Admitted],
        received: Millis,
    ) -> Result<Vec<Receipt>, AppendError<StoreError>> {
        let received = self.stamp(group, received).map_err(AppendError::Store)?;
        let receipts = self.log.append(group, received)?;
        self.write_run(false).map_err(AppendError::Store)?;
        if let Some(syncer) = &self.syncer {
            syncer.committed(self.log.head()).map_err(AppendError::Store)?;
        }
        Ok(receipts)
    }

    pub(super) fn write_run(&mut self, clean: bool) -> Result<(), StoreError> {
        self.counter += 1;
        let power = self.settings.promise == Promise::Power;
        let (counter, boot, head) = (self.counter, self.settings.boot, self.log.head());
        self.run.write(&Record { counter, boot, clean, power, head })
    }
}

impl Log for Store {
    type Error = StoreError;

    fn head(&self) -> Head {
        self.log.head()
    }

    fn tip(&self, author: &AuthorId) -> AuthorTip {
        self.log.tip(author)
    }

    /// Appends, then writes the head record, then answers: what is answered is vouched for.
    fn append(
        &mut self,
        group: &[Admitted],
        received: Millis,
    ) -> Result<Vec<Receipt>, AppendError<StoreError>> {
        if self.failed {
            return Err(AppendError::Store(StoreError::Stopped));
        }
        let appended = self.append_and_vouch(group, received);
        self.failed = matches!(appended, Err(AppendError::Store(_)));
        appended
    }

    fn read(&self, from: Seq, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        self.log.read(from, visit)
    }

    fn position_of(&self, batch: &BatchId) -> Result<Option<Seq>, StoreError> {
        self.log.position_of(batch)
    }

    fn positions_about(&self, subject: &Subject) -> Result<Vec<Seq>, StoreError> {
        self.log.positions_about(subject)
    }
}

//! A ledger open for use: appended to, vouched for, synced, closed.

use std::fs::File;
use std::path::PathBuf;

use events::admission::Admitted;
use events::batch::AuthorTip;
use events::head::{Head, SignedHead};
use events::ids::{AuthorId, BatchId, Digest, Millis, Seq, Subject};
use events::log::{AppendError, Log, ReadLog, Receipt, Visit};
use events::payload::Stream;
use events::sign::VERIFIER;

use super::head::{Record, RunSlot};
use super::syncer::{Syncer, journal_path, newest_journal};
use super::{FjallLog, Home, KeyFiles, Promise, Reader, Settings, Snapshots, StoreError, Vouched};

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
    pub(super) lock: File,
}

/// A ledger that was stopped cleanly, and is this process's still.
pub(crate) struct Sealed {
    ledger: PathBuf,
    _lock: File,
}

impl Sealed {
    /// Empties the engine's newest journal, unless somebody still has the engine open: all of it is in synced
    /// tables, and the next start would read it again, up to 64 MiB of it. (An empty journal, not none: an engine
    /// that finds none forgets how far it had counted.)
    pub(crate) fn tidy(self) {
        let is_closed =
            File::open(self.ledger.join("lock")).is_ok_and(|lock| lock.try_lock().is_ok());
        if let (true, Ok(newest)) = (is_closed, newest_journal(&self.ledger)) {
            // Where it cannot be emptied it is read again, and no harm is done.
            let journal = File::options().write(true).open(journal_path(&self.ledger, newest));
            let _ =
                journal.and_then(|journal| journal.set_len(0).and_then(|()| journal.sync_all()));
        }
    }
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
    pub fn vouched_head(&self) -> Result<Option<Vouched>, StoreError> {
        self.home.vouched_head()
    }

    /// The link at a position, where a batch ends there.
    ///
    /// # Errors
    /// The engine's.
    pub fn link_at(&self, position: Seq) -> Result<Option<Digest>, StoreError> {
        self.log.link_at(position)
    }

    /// The ledger's snapshots.
    ///
    /// # Errors
    /// When the node key, which vouches for them, cannot be read.
    pub fn snapshots(&self) -> Result<Snapshots, StoreError> {
        Snapshots::of(&self.home, self.log.head().ledger)
    }

    /// What other threads read the log with.
    #[must_use]
    pub fn reader(&self) -> Reader {
        self.log.reader()
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
    pub fn close(self) -> Result<(), StoreError> {
        self.seal().map(Sealed::tidy)
    }

    /// The same, while others may still read.
    ///
    /// # Errors
    /// As [`Store::close`].
    pub(crate) fn seal(mut self) -> Result<Sealed, StoreError> {
        if self.failed {
            return Err(StoreError::Stopped);
        }
        let syncer = self.syncer.take().ok_or(StoreError::SyncFailed)?;
        let mut state = syncer.stop()?;
        self.log.flush()?;
        state.record(self.log.head(), true)?;
        self.write_run(true)?;
        self.run.sync()?;
        Ok(Sealed { ledger: self.home.ledger(), _lock: self.lock })
    }

    fn append_and_vouch(
        &mut self,
        group: &[Admitted],
        received: Millis,
    ) -> Result<Vec<Receipt>, AppendError<StoreError>> {
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
        self.run.write(&Record { counter, boot, clean, power, verifier: VERIFIER, head })
    }
}

impl Log for Store {
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
}

impl ReadLog for Store {
    type Error = StoreError;

    fn head(&self) -> Head {
        self.log.head()
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

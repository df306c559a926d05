//! The log on fjall.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{DirBuilder, File};
use std::ops::ControlFlow;
use std::os::unix::fs::DirBuilderExt as _;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::time::Duration;

use events::admission::{Admitted, Break, Chain};
use events::batch::{AuthorTip, Batch};
use events::entry::{Entry, genesis_link};
use events::head::Head;
use events::ids::{AuthorId, BatchId, Digest, LedgerId, Millis, Seq, Subject};
use events::log::{AppendError, Log, ReadLog, Receipt, Visit, place};
use events::sign::{BATCH_PREFIX, Verifier};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable as _};

use super::StoreError;
use super::layout::{
    AUTHOR_PREFIX, BY_ID, BY_SUBJECT, LEDGER_KEY, LOG, META, author_key, author_of, decode_ledger,
    decode_tip, encode_tip, seq_key, seq_of, subject_key,
};
use super::reader::{Reader, end_of};
use super::subjects::Subjects;
use super::syncer::{journal_path, newest_journal};

/// Most bytes of journals before the oldest has to be flushed: what an open after a kill reads again.
const JOURNAL_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Three times what the journals may hold: farther back an unclean stop cannot have damaged the log.
const UNFLUSHED_BYTES_MAX: u64 = 3 * JOURNAL_BYTES_MAX;

/// How often a flush looks whether it is done.
const FLUSH_POLL: Duration = Duration::from_millis(1);
/// More writes than any ledger makes: a larger number of the engine's is damage.
const SEQNO_MAX: u64 = 1 << 56;

/// A log of signed batches on fjall. Opening it checks nothing: see [`super::Store`] for that.
pub struct FjallLog {
    reader: Reader,
    meta: Keyspace,
    chain: Chain,
    received: Millis,
    durability: PersistMode,
    subjects: RefCell<Subjects>,
}

impl FjallLog {
    /// Opens the folder's log, or makes it when there is none.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn open(
        folder: &Path,
        ledger: LedgerId,
        durability: PersistMode,
    ) -> Result<Self, StoreError> {
        Self::open_as(folder, Some(ledger), durability)
    }

    /// Opens the folder's log, whichever ledger's it is.
    ///
    /// # Errors
    /// [`StoreError`]; where there is no log, its id is missing.
    pub fn open_any(folder: &Path, durability: PersistMode) -> Result<Self, StoreError> {
        Self::open_as(folder, None, durability)
    }

    fn open_as(
        folder: &Path,
        ledger: Option<LedgerId>,
        durability: PersistMode,
    ) -> Result<Self, StoreError> {
        create_private(folder)?;
        if folder.join("keyspaces").exists() && newest_journal(folder).is_err() {
            // An engine that finds tables and no journal forgets how far it had counted: everything seems gone.
            let path = journal_path(folder, 0);
            File::create_new(&path).map_err(StoreError::file(&path))?;
        }
        let database = open_database(folder)?;
        let keyspace = |name| database.keyspace(name, KeyspaceCreateOptions::default);
        let (log, by_id) = (keyspace(LOG)?, keyspace(BY_ID)?);
        let (by_subject, meta) = (keyspace(BY_SUBJECT)?, keyspace(META)?);
        let reader = Reader { database, log, by_id, by_subject };
        let chain = Chain::genesis(LedgerId::ZERO);
        let subjects = RefCell::default();
        let mut opened = Self { reader, meta, chain, received: 0, durability, subjects };
        opened.resume(ledger)?;
        Ok(opened)
    }

    /// A log that nobody will miss: it promises nothing, and has no head beside it.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn throw_away(folder: &Path, ledger: LedgerId) -> Result<Self, StoreError> {
        Self::open(folder, ledger, PersistMode::Buffer)
    }

    /// Takes up the chain where the store ends.
    fn resume(&mut self, expected: Option<LedgerId>) -> Result<(), StoreError> {
        let snapshot = self.reader.database.snapshot();
        let no_id = StoreError::Damaged { what: "ledger id" };
        let ledger = match (snapshot.get(&self.meta, LEDGER_KEY)?, expected) {
            (None, None) => return Err(no_id),
            (None, Some(ledger)) => {
                let mut batch = self.reader.database.batch().durability(Some(PersistMode::SyncAll));
                batch.insert(&self.meta, LEDGER_KEY, ledger.0);
                batch.commit()?;
                ledger
            }
            (Some(stored), expected) => {
                let found = decode_ledger(&stored).ok_or(no_id)?;
                if let Some(expected) = expected.filter(|expected| *expected != found) {
                    return Err(StoreError::OtherLedger { expected, found });
                }
                found
            }
        };
        let mut authors = BTreeMap::new();
        for guard in snapshot.prefix(&self.meta, AUTHOR_PREFIX) {
            let (key, value) = guard.into_inner()?;
            let tip = author_of(&key).zip(decode_tip(&value));
            authors.extend([tip.ok_or(StoreError::Damaged { what: "author index" })?]);
        }
        let (next, link) = match snapshot.last_key_value(&self.reader.log) {
            None => (0, genesis_link(&ledger)),
            Some(guard) => {
                let stored = guard.value()?;
                self.received = Entry::split(&stored).map_or(0, |(entry, ..)| entry.received);
                end_of(&stored)?
            }
        };
        self.chain = Chain::resume(Head { ledger, next, link }, authors);
        Ok(())
    }

    /// When the newest batch was taken in; zero without one.
    #[must_use]
    pub const fn received(&self) -> Millis {
        self.received
    }

    /// The link at a position, where a batch ends there.
    ///
    /// # Errors
    /// The engine's.
    pub fn link_at(&self, position: Seq) -> Result<Option<Digest>, StoreError> {
        self.reader.link_at(&self.head().ledger, position)
    }

    /// What other threads read the log with.
    #[must_use]
    pub fn reader(&self) -> Reader {
        self.reader.clone()
    }

    /// Checks that the batches an unclean stop can have touched follow from each other: positions, links,
    /// digests. The index of authors is put right by them: it is the one thing the engine can give back in
    /// an older version.
    ///
    /// # Errors
    /// [`StoreError::Broken`] with the first position that does not follow.
    pub fn check_tail(&mut self) -> Result<(), StoreError> {
        let snapshot = self.reader.database.snapshot();
        let mut bytes = 0;
        let mut start = 0;
        for guard in snapshot.iter(&self.reader.log).rev() {
            let (key, value) = guard.into_inner()?;
            start = seq_of(&key).ok_or(StoreError::Damaged { what: "log" })?;
            bytes += value.len() as u64;
            if bytes > UNFLUSHED_BYTES_MAX {
                break;
            }
        }
        let mut follower: Option<Chain> = None;
        for guard in snapshot.range(&self.reader.log, seq_key(start)..) {
            let (key, value) = guard.into_inner()?;
            let at = seq_of(&key).ok_or(StoreError::Damaged { what: "log" })?;
            let chain = follower.get_or_insert_with(|| self.chain_before(&value, start));
            if chain.head().next != at {
                let broken = Break::Gap { expected: chain.head().next, found: at };
                return Err(StoreError::Broken { at, broken });
            }
            chain.follow_link(&value).map_err(|broken| StoreError::Broken { at, broken })?;
        }
        self.correct_authors(follower.as_ref())
    }

    /// Checks the signatures of the batches from a position on.
    ///
    /// # Errors
    /// [`StoreError::Signature`] with the first position whose author did not sign it.
    pub fn check_signatures(&self, from: Seq) -> Result<(), StoreError> {
        let mut verifier = Verifier::new();
        let mut outcome = Ok(());
        self.read(from, &mut |at, stored| {
            outcome = check_signature(stored, at, &mut verifier);
            if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        outcome
    }

    fn correct_authors(&mut self, found: Option<&Chain>) -> Result<(), StoreError> {
        let mut write = self.reader.database.batch().durability(Some(PersistMode::SyncAll));
        let mut wrong = Vec::new();
        for (author, tip) in found.into_iter().flat_map(Chain::authors) {
            if let Some(newest) = tip.newest.filter(|_| self.chain.tip(author) != *tip) {
                write.insert(&self.meta, author_key(author), encode_tip(tip.batches, &newest));
                wrong.push((*author, *tip));
            }
        }
        write.commit()?;
        for (author, tip) in wrong {
            self.chain.set_tip(author, tip);
        }
        Ok(())
    }

    /// A chain that stands before a stored batch: at the genesis, or where the batch itself says.
    fn chain_before(&self, stored: &[u8], start: Seq) -> Chain {
        let ledger = self.head().ledger;
        let genesis = Chain::genesis(ledger);
        match Entry::split(stored) {
            Some((entry, ..)) if start > 0 => {
                let head = Head { ledger, next: entry.first, link: entry.previous };
                Chain::resume(head, BTreeMap::new())
            }
            _ => genesis,
        }
    }

    /// Syncs what was appended, here and now.
    ///
    /// # Errors
    /// The engine's.
    pub fn sync(&self) -> Result<(), StoreError> {
        Ok(self.reader.database.persist(PersistMode::SyncAll)?)
    }

    /// Writes everything to tables and syncs, so that the next open has no journal to read.
    ///
    /// # Errors
    /// The engine's.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.sync()?;
        let keyspaces = [&self.reader.log, &self.reader.by_id, &self.reader.by_subject, &self.meta];
        for keyspace in keyspaces {
            keyspace.rotate_memtable()?;
        }
        // Not the engine's own wait: it does not notice that the worker it waits for has given up.
        while keyspaces.iter().any(|keyspace| keyspace.sealed_memtable_count() > 0) {
            self.reader.database.persist(PersistMode::Buffer)?;
            std::thread::sleep(FLUSH_POLL);
        }
        self.sync()
    }
}

/// Makes the engine's folder, open to its owner alone.
fn create_private(folder: &Path) -> Result<(), StoreError> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(StoreError::file(folder))
}

/// Opens the engine. A journal damaged beyond what it expects can make it panic; that is damage, too.
fn open_database(folder: &Path) -> Result<Database, StoreError> {
    let open = || Database::builder(folder).max_journaling_size(JOURNAL_BYTES_MAX).open();
    match std::panic::catch_unwind(AssertUnwindSafe(open)) {
        // A damaged number that no write can follow would only be noticed by the next one.
        Ok(Ok(database)) if database.seqno() >= SEQNO_MAX => {
            Err(StoreError::Damaged { what: "journal (its sequence numbers)" })
        }
        Ok(Ok(database)) => Ok(database),
        Ok(Err(fjall::Error::Locked)) => Err(StoreError::Busy),
        Ok(Err(error)) => Err(StoreError::Engine(error)),
        Err(_) => Err(StoreError::Damaged { what: "journal" }),
    }
}

fn check_signature(stored: &[u8], at: Seq, verifier: &mut Verifier) -> Result<(), StoreError> {
    let damaged = StoreError::Damaged { what: "log" };
    let Some((entry, _, bytes)) = Entry::split(stored) else { return Err(damaged) };
    let Ok(batch) = Batch::parse_header(bytes) else { return Err(damaged) };
    verifier
        .verify(&batch.header.author, BATCH_PREFIX, batch.header_bytes, &entry.signature)
        .map_err(|error| StoreError::Signature { at, error })
}

impl Log for FjallLog {
    fn tip(&self, author: &AuthorId) -> AuthorTip {
        self.chain.tip(author)
    }

    fn append(
        &mut self,
        group: &[Admitted],
        received: Millis,
    ) -> Result<Vec<Receipt>, AppendError<StoreError>> {
        let engine = |error: fjall::Error| AppendError::Store(StoreError::Engine(error));
        let placed = place(&self.chain, group, received, |id| self.position_of(id))?;
        if placed.new.is_empty() {
            return Ok(placed.receipts);
        }
        let mut write = self.reader.database.batch().durability(Some(self.durability));
        for (entry, batch) in &placed.new {
            let mut stored = entry.encode().to_vec();
            stored.extend_from_slice(batch.bytes());
            write.insert(&self.reader.log, seq_key(entry.first), stored);
            write.insert(&self.reader.by_id, entry.batch.0, seq_key(entry.first));
            for (index, subject) in batch.about() {
                let seq = entry.first + u64::from(*index);
                write.insert(&self.reader.by_subject, subject_key(subject, seq), []);
            }
        }
        // Each author's newest tip once: of the same key twice the later would win.
        let authors: BTreeSet<AuthorId> =
            placed.new.iter().map(|(_, batch)| batch.header().author).collect();
        for author in authors {
            let tip = placed.chain.tip(&author);
            if let Some(newest) = tip.newest {
                write.insert(&self.meta, author_key(&author), encode_tip(tip.batches, &newest));
            }
        }
        write.commit().map_err(engine)?;
        let subjects = self.subjects.get_mut();
        for (_, batch) in &placed.new {
            batch.about().iter().for_each(|(_, subject)| subjects.add(subject));
        }
        self.chain = placed.chain;
        self.received = received;
        Ok(placed.receipts)
    }
}

impl ReadLog for FjallLog {
    type Error = StoreError;

    fn head(&self) -> Head {
        self.chain.head()
    }

    fn read(&self, from: Seq, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        self.reader.read(from, self.head().next, visit)
    }

    fn position_of(&self, batch: &BatchId) -> Result<Option<Seq>, StoreError> {
        self.reader.position_of(batch)
    }

    fn positions_about(&self, subject: &Subject) -> Result<Vec<Seq>, StoreError> {
        let mut subjects = self.subjects.borrow_mut();
        if subjects.asks_for_index(self.head().next) {
            subjects.read(self.reader.subjects())?;
        }
        if subjects.lacks(subject) {
            return Ok(Vec::new());
        }
        self.reader.positions_about(subject)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::conformance::{Subjects, run};
    use tempfile::TempDir;

    struct OnDisk(Vec<TempDir>);

    impl Subjects for OnDisk {
        type Log = FjallLog;

        fn fresh(&mut self, ledger: LedgerId) -> FjallLog {
            let folder = tempfile::tempdir().unwrap();
            let log = FjallLog::open(folder.path(), ledger, PersistMode::Buffer).unwrap();
            self.0.push(folder);
            log
        }

        fn reopen(&mut self, log: FjallLog) -> FjallLog {
            let ledger = log.head().ledger;
            drop(log);
            let folder = self.0.last().unwrap().path();
            FjallLog::open(folder, ledger, PersistMode::Buffer).unwrap()
        }
    }

    #[test]
    fn passes_the_conformance_suite() {
        run(&mut OnDisk(Vec::new()));
    }
}

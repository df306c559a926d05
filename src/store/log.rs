//! The log on fjall.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::path::Path;

use events::admission::{Admitted, Chain};
use events::batch::{AuthorTip, Batch};
use events::entry::{Entry, genesis_link};
use events::head::Head;
use events::ids::{AuthorId, BatchId, Digest, LedgerId, Millis, Seq, Subject};
use events::log::{AppendError, Log, Receipt, Visit, place};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable as _};

use super::StoreError;
use super::layout::{
    AUTHOR_PREFIX, BY_ID, BY_SUBJECT, LEDGER_KEY, LOG, META, author_key, author_of, decode_ledger,
    decode_tip, encode_tip, seq_key, seq_of, seq_of_subject_key, subject_key,
};

/// Most bytes of journals before the oldest has to be flushed: what an open after a kill reads again.
const JOURNAL_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Twice what the journals can hold: how far back an unclean stop can have damaged the log.
const UNFLUSHED_BYTES_MAX: u64 = 3 * JOURNAL_BYTES_MAX;

/// A log of signed batches on fjall. Opening it checks nothing: see [`super::Store`] for that.
pub struct FjallLog {
    database: Database,
    log: Keyspace,
    by_id: Keyspace,
    by_subject: Keyspace,
    meta: Keyspace,
    chain: Chain,
    durability: PersistMode,
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
        let database = open_database(folder)?;
        let keyspace = |name| database.keyspace(name, KeyspaceCreateOptions::default);
        let (log, by_id) = (keyspace(LOG)?, keyspace(BY_ID)?);
        let (by_subject, meta) = (keyspace(BY_SUBJECT)?, keyspace(META)?);
        let chain = Chain::genesis(ledger);
        let mut opened = Self { database, log, by_id, by_subject, meta, chain, durability };
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
    fn resume(&mut self, ledger: LedgerId) -> Result<(), StoreError> {
        let snapshot = self.database.snapshot();
        match snapshot.get(&self.meta, LEDGER_KEY)? {
            None => {
                let mut batch = self.database.batch().durability(Some(PersistMode::SyncAll));
                batch.insert(&self.meta, LEDGER_KEY, ledger.0);
                batch.commit()?;
            }
            Some(stored) => {
                let found =
                    decode_ledger(&stored).ok_or(StoreError::Damaged { what: "ledger id" })?;
                if found != ledger {
                    return Err(StoreError::OtherLedger { expected: ledger, found });
                }
            }
        }
        let mut authors = BTreeMap::new();
        for guard in snapshot.prefix(&self.meta, AUTHOR_PREFIX) {
            let (key, value) = guard.into_inner()?;
            let tip = author_of(&key).zip(decode_tip(&value));
            authors.extend([tip.ok_or(StoreError::Damaged { what: "author index" })?]);
        }
        let (next, link) = match snapshot.last_key_value(&self.log) {
            None => (0, genesis_link(&ledger)),
            Some(guard) => end_of(&guard.value()?)?,
        };
        self.chain = Chain::resume(Head { ledger, next, link }, authors);
        Ok(())
    }

    /// The link at a position, where a batch ends there.
    ///
    /// # Errors
    /// The engine's.
    pub fn link_at(&self, position: Seq) -> Result<Option<Digest>, StoreError> {
        if position == 0 {
            return Ok(Some(genesis_link(&self.head().ledger)));
        }
        let snapshot = self.database.snapshot();
        let before = snapshot.range(&self.log, ..seq_key(position)).next_back();
        let Some(guard) = before else { return Ok(None) };
        let (end, link) = end_of(&guard.value()?)?;
        Ok((end == position).then_some(link))
    }

    /// Checks that the batches an unclean stop can have touched follow from each other: positions, links,
    /// digests.
    ///
    /// # Errors
    /// [`StoreError::Broken`] with the first position that does not follow.
    pub fn check_tail(&self) -> Result<(), StoreError> {
        let snapshot = self.database.snapshot();
        let mut bytes = 0;
        let mut start = 0;
        for guard in snapshot.iter(&self.log).rev() {
            let (key, value) = guard.into_inner()?;
            start = seq_of(&key).ok_or(StoreError::Damaged { what: "log" })?;
            bytes += value.len() as u64;
            if bytes > UNFLUSHED_BYTES_MAX {
                break;
            }
        }
        let mut follower: Option<Chain> = None;
        for guard in snapshot.range(&self.log, seq_key(start)..) {
            let (key, value) = guard.into_inner()?;
            let at = seq_of(&key).ok_or(StoreError::Damaged { what: "log" })?;
            let chain = follower.get_or_insert_with(|| self.chain_before(&value, start));
            chain.follow_link(&value).map_err(|broken| StoreError::Broken { at, broken })?;
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

    /// Writes everything to tables and syncs, so that the next open has no journal to read.
    ///
    /// # Errors
    /// The engine's.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.database.persist(PersistMode::SyncAll)?;
        for keyspace in [&self.log, &self.by_id, &self.by_subject, &self.meta] {
            keyspace.rotate_memtable_and_wait()?;
        }
        Ok(self.database.persist(PersistMode::SyncAll)?)
    }
}

/// Opens the engine. A journal damaged beyond what it expects can make it panic; that is damage, too.
fn open_database(folder: &Path) -> Result<Database, StoreError> {
    let open = || Database::builder(folder).max_journaling_size(JOURNAL_BYTES_MAX).open();
    match std::panic::catch_unwind(AssertUnwindSafe(open)) {
        Ok(Ok(database)) => Ok(database),
        Ok(Err(fjall::Error::Locked)) => Err(StoreError::Busy),
        Ok(Err(error)) => Err(StoreError::Engine(error)),
        Err(_) => Err(StoreError::Damaged { what: "journal" }),
    }
}

/// Where a stored batch ends, and its link.
fn end_of(stored: &[u8]) -> Result<(Seq, Digest), StoreError> {
    let damaged = StoreError::Damaged { what: "newest batch" };
    let Some((entry, link, bytes)) = Entry::split(stored) else { return Err(damaged) };
    match Batch::parse(bytes) {
        Ok(batch) => Ok((entry.first.saturating_add(u64::from(batch.header.count)), link)),
        Err(_) => Err(damaged),
    }
}

impl Log for FjallLog {
    type Error = StoreError;

    fn head(&self) -> Head {
        self.chain.head()
    }

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
        let mut write = self.database.batch().durability(Some(self.durability));
        for (entry, batch) in &placed.new {
            let mut stored = entry.encode().to_vec();
            stored.extend_from_slice(batch.bytes());
            write.insert(&self.log, seq_key(entry.first), stored);
            write.insert(&self.by_id, entry.batch.0, seq_key(entry.first));
            for (subject, seq) in batch.subjects().iter().zip(entry.first..) {
                write.insert(&self.by_subject, subject_key(subject, seq), []);
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
        self.chain = placed.chain;
        Ok(placed.receipts)
    }

    fn read(&self, from: Seq, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        if from >= self.head().next {
            return Ok(());
        }
        let snapshot = self.database.snapshot();
        let holder = snapshot.range(&self.log, ..=seq_key(from)).next_back();
        let start = match holder {
            Some(guard) => seq_of(&guard.key()?).ok_or(StoreError::Damaged { what: "log" })?,
            None => from,
        };
        for guard in snapshot.range(&self.log, seq_key(start)..) {
            let (key, value) = guard.into_inner()?;
            let first = seq_of(&key).ok_or(StoreError::Damaged { what: "log" })?;
            if visit(first, &value).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn position_of(&self, batch: &BatchId) -> Result<Option<Seq>, StoreError> {
        match self.database.snapshot().get(&self.by_id, batch.0)? {
            Some(value) => match seq_of(&value) {
                Some(seq) => Ok(Some(seq)),
                None => Err(StoreError::Damaged { what: "batch index" }),
            },
            None => Ok(None),
        }
    }

    fn positions_about(&self, subject: &Subject) -> Result<Vec<Seq>, StoreError> {
        let snapshot = self.database.snapshot();
        snapshot
            .prefix(&self.by_subject, subject.0)
            .map(|guard| {
                let key = guard.key()?;
                seq_of_subject_key(&key).ok_or(StoreError::Damaged { what: "subject index" })
            })
            .collect()
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

//! The log as other threads read it, while its owner appends.

use events::batch::Batch;
use events::entry::{Entry, genesis_link};
use events::head::Head;
use events::ids::{BatchId, Digest, LedgerId, Seq, Subject};
use events::log::{ReadLog, Visit};
use fjall::{Database, Keyspace, Readable as _};

use super::StoreError;
use super::layout::{seq_key, seq_of, seq_of_subject_key, subject_of};

/// What the log is read with. Each call sees one state of the engine.
#[derive(Clone)]
pub struct Reader {
    pub(super) database: Database,
    pub(super) log: Keyspace,
    pub(super) by_id: Keyspace,
    pub(super) by_subject: Keyspace,
}

impl Reader {
    /// The log as it stood at a head that was published; what came after is not seen.
    #[must_use]
    pub fn at(&self, head: Head) -> View {
        View { reader: self.clone(), head }
    }

    pub(super) fn read(
        &self,
        from: Seq,
        end: Seq,
        visit: &mut Visit<'_>,
    ) -> Result<(), StoreError> {
        if from >= end {
            return Ok(());
        }
        let snapshot = self.database.snapshot();
        let holder = snapshot.range(&self.log, ..=seq_key(from)).next_back();
        let start = match holder {
            Some(guard) => seq_of(&guard.key()?).ok_or(StoreError::Damaged { what: "log" })?,
            None => from,
        };
        for guard in snapshot.range(&self.log, seq_key(start)..seq_key(end)) {
            let (key, value) = guard.into_inner()?;
            let first = seq_of(&key).ok_or(StoreError::Damaged { what: "log" })?;
            if visit(first, &value).is_break() {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn position_of(&self, batch: &BatchId) -> Result<Option<Seq>, StoreError> {
        match self.database.snapshot().get(&self.by_id, batch.0)? {
            Some(value) => match seq_of(&value) {
                Some(seq) => Ok(Some(seq)),
                None => Err(StoreError::Damaged { what: "batch index" }),
            },
            None => Ok(None),
        }
    }

    pub(super) fn positions_about(&self, subject: &Subject) -> Result<Vec<Seq>, StoreError> {
        let snapshot = self.database.snapshot();
        snapshot
            .prefix(&self.by_subject, subject.0)
            .map(|guard| {
                let key = guard.key()?;
                seq_of_subject_key(&key).ok_or(StoreError::Damaged { what: "subject index" })
            })
            .collect()
    }

    /// The subject of every entry of the index.
    pub(super) fn subjects(&self) -> impl Iterator<Item = Result<Subject, StoreError>> + use<> {
        let snapshot = self.database.snapshot();
        snapshot.iter(&self.by_subject).map(|guard| {
            let key = guard.key()?;
            subject_of(&key).ok_or(StoreError::Damaged { what: "subject index" })
        })
    }

    pub(super) fn link_at(
        &self,
        ledger: &LedgerId,
        position: Seq,
    ) -> Result<Option<Digest>, StoreError> {
        if position == 0 {
            return Ok(Some(genesis_link(ledger)));
        }
        let snapshot = self.database.snapshot();
        let before = snapshot.range(&self.log, ..seq_key(position)).next_back();
        let Some(guard) = before else { return Ok(None) };
        let (end, link) = end_of(&guard.value()?)?;
        Ok((end == position).then_some(link))
    }
}

/// Where a stored batch ends, and its link.
pub(super) fn end_of(stored: &[u8]) -> Result<(Seq, Digest), StoreError> {
    let damaged = StoreError::Damaged { what: "newest batch" };
    let Some((entry, link, bytes)) = Entry::split(stored) else { return Err(damaged) };
    match Batch::parse(bytes) {
        Ok(batch) => Ok((entry.first.saturating_add(u64::from(batch.header.count)), link)),
        Err(_) => Err(damaged),
    }
}

/// The log as it stood at a head.
pub struct View {
    reader: Reader,
    head: Head,
}

impl ReadLog for View {
    type Error = StoreError;

    fn head(&self) -> Head {
        self.head
    }

    fn read(&self, from: Seq, visit: &mut Visit<'_>) -> Result<(), StoreError> {
        self.reader.read(from, self.head.next, visit)
    }

    fn position_of(&self, batch: &BatchId) -> Result<Option<Seq>, StoreError> {
        let position = self.reader.position_of(batch)?;
        Ok(position.filter(|position| *position < self.head.next))
    }

    fn positions_about(&self, subject: &Subject) -> Result<Vec<Seq>, StoreError> {
        let mut positions = self.reader.positions_about(subject)?;
        positions.retain(|position| *position < self.head.next);
        Ok(positions)
    }
}

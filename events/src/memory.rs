//! The log in memory: the reference every other log is compared with.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use crate::admission::{Admitted, Chain};
use crate::batch::AuthorTip;
use crate::head::Head;
use crate::ids::{AuthorId, BatchId, LedgerId, Millis, Seq, Subject};
use crate::log::{AppendError, Log, ReadLog, Receipt, Visit, place};

/// Stored batches by the position of their first event.
pub type Stored = BTreeMap<Seq, Vec<u8>>;

/// A log in memory.
#[derive(Clone, Debug)]
pub struct MemoryLog {
    chain: Chain,
    stored: Stored,
    by_id: BTreeMap<BatchId, Seq>,
    by_subject: BTreeSet<(Subject, Seq)>,
}

impl MemoryLog {
    /// An empty log of a ledger.
    #[must_use]
    pub fn new(ledger: LedgerId) -> Self {
        Self {
            chain: Chain::genesis(ledger),
            stored: Stored::new(),
            by_id: BTreeMap::new(),
            by_subject: BTreeSet::new(),
        }
    }

    /// The stored bytes.
    #[must_use]
    pub const fn stored(&self) -> &Stored {
        &self.stored
    }

    /// The stored bytes, to be damaged: nothing is checked or indexed anew, as when a disk rots under
    /// a log.
    pub const fn stored_mut(&mut self) -> &mut Stored {
        &mut self.stored
    }
}

impl ReadLog for MemoryLog {
    type Error = Infallible;

    fn head(&self) -> Head {
        self.chain.head()
    }

    fn read(&self, from: Seq, visit: &mut Visit<'_>) -> Result<(), Infallible> {
        if from >= self.chain.head().next {
            return Ok(());
        }
        let start = self.stored.range(..=from).next_back().map_or(from, |(first, _)| *first);
        for (first, bytes) in self.stored.range(start..) {
            if visit(*first, bytes).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn position_of(&self, batch: &BatchId) -> Result<Option<Seq>, Infallible> {
        Ok(self.by_id.get(batch).copied())
    }

    fn positions_about(&self, subject: &Subject) -> Result<Vec<Seq>, Infallible> {
        let about = self.by_subject.range((*subject, 0)..=(*subject, Seq::MAX));
        Ok(about.map(|(_, seq)| *seq).collect())
    }
}

impl Log for MemoryLog {
    fn tip(&self, author: &AuthorId) -> AuthorTip {
        self.chain.tip(author)
    }

    fn append(
        &mut self,
        group: &[Admitted],
        received: Millis,
    ) -> Result<Vec<Receipt>, AppendError<Infallible>> {
        let known = |id: &BatchId| Ok(self.by_id.get(id).copied());
        let placed = place(&self.chain, group, received, known)?;
        self.chain = placed.chain;
        for (entry, batch) in placed.new {
            let mut stored = entry.encode().to_vec();
            stored.extend_from_slice(batch.bytes());
            self.stored.insert(entry.first, stored);
            self.by_id.insert(entry.batch, entry.first);
            let found = |(index, subject): &(u32, _)| (*subject, entry.first + u64::from(*index));
            self.by_subject.extend(batch.about().iter().map(found));
        }
        Ok(placed.receipts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{Subjects, run};

    struct InMemory;

    impl Subjects for InMemory {
        type Log = MemoryLog;

        fn fresh(&mut self, ledger: LedgerId) -> MemoryLog {
            MemoryLog::new(ledger)
        }

        fn reopen(&mut self, log: MemoryLog) -> MemoryLog {
            log
        }
    }

    #[test]
    fn passes_the_conformance_suite() {
        run(&mut InMemory);
    }
}

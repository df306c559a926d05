//! The interface of a log: append-only, dense, read batch by batch.

use std::ops::ControlFlow;

use crate::admission::{Admitted, Chain, Refusal};
use crate::batch::AuthorTip;
use crate::entry::Entry;
use crate::head::Head;
use crate::ids::{AuthorId, BatchId, Millis, Seq, Subject};

/// Where an appended batch stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Position of the batch's first event.
    pub first: Seq,
    /// True when the log held the batch already: nothing was added.
    pub repeated: bool,
}

/// Why a group was not appended. Nothing of it was.
#[derive(Debug, thiserror::Error)]
pub enum AppendError<E: std::error::Error> {
    /// A batch of the group may not come next.
    #[error("batch {index} of the group: {refusal}")]
    Refused {
        /// Index of the batch in the group.
        index: usize,
        /// Why.
        refusal: Refusal,
    },
    /// The store failed.
    #[error("the store failed: {0}")]
    Store(#[source] E),
}

/// A group as it will stand, before anything is stored.
pub struct Placed<'g> {
    /// An answer for each batch.
    pub receipts: Vec<Receipt>,
    /// The batches that are new, with their entries.
    pub new: Vec<(Entry, &'g Admitted)>,
    /// The chain behind them.
    pub chain: Chain,
}

/// Judges a group against a chain, batch after batch: what is known answers its old position, what is new
/// gets an entry.
///
/// # Errors
/// [`AppendError`] at the first batch that may not come next; then nothing of the group may.
pub fn place<'g, E: std::error::Error>(
    chain: &Chain,
    group: &'g [Admitted],
    received: Millis,
    known: impl Fn(&BatchId) -> Result<Option<Seq>, E>,
) -> Result<Placed<'g>, AppendError<E>> {
    let mut placed = Placed { receipts: Vec::new(), new: Vec::new(), chain: chain.clone() };
    for (index, batch) in group.iter().enumerate() {
        let id = batch.id();
        let in_group = placed.new.iter().find(|(entry, _)| entry.batch == id);
        let first = match in_group {
            Some((entry, _)) => Some(entry.first),
            None => known(&id).map_err(AppendError::Store)?,
        };
        if let Some(first) = first {
            placed.receipts.push(Receipt { first, repeated: true });
            continue;
        }
        placed
            .chain
            .check(batch.header())
            .map_err(|refusal| AppendError::Refused { index, refusal })?;
        let entry = placed.chain.extend(batch, received);
        placed.receipts.push(Receipt { first: entry.first, repeated: false });
        placed.new.push((entry, batch));
    }
    Ok(placed)
}

/// What a visitor of stored batches is given: the key it was found under, and entry and batch bytes.
pub type Visit<'v> = dyn FnMut(Seq, &[u8]) -> ControlFlow<()> + 'v;

/// A log of signed batches as its readers see it.
///
/// What was read is what was written: checking it is [`crate::admission::Chain`]'s and the reader's.
pub trait ReadLog {
    /// Why the store behind the log fails.
    type Error: std::error::Error + 'static;

    /// The end of the log.
    fn head(&self) -> Head;

    /// Shows stored batches in order, from the one that holds `from`, until the visitor breaks.
    ///
    /// # Errors
    /// The store's.
    fn read(&self, from: Seq, visit: &mut Visit<'_>) -> Result<(), Self::Error>;

    /// Position of a batch's first event.
    ///
    /// # Errors
    /// The store's.
    fn position_of(&self, batch: &BatchId) -> Result<Option<Seq>, Self::Error>;

    /// Positions of every event about a subject, in order.
    ///
    /// # Errors
    /// The store's.
    fn positions_about(&self, subject: &Subject) -> Result<Vec<Seq>, Self::Error>;
}

/// A log that can be appended to. Every implementation passes [`crate::conformance`].
///
/// - Positions are dense from 0; a batch takes as many as it has events.
/// - A group is appended whole or not at all; readers see whole groups.
/// - A batch that is there already answers its old position and changes nothing.
pub trait Log: ReadLog {
    /// Where an author stands.
    fn tip(&self, author: &AuthorId) -> AuthorTip;

    /// Appends a group of batches, all of them received at one instant.
    ///
    /// # Errors
    /// [`AppendError`]; then nothing was appended.
    fn append(
        &mut self,
        group: &[Admitted],
        received: Millis,
    ) -> Result<Vec<Receipt>, AppendError<Self::Error>>;
}

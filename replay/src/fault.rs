//! What can be wrong with a stored ledger.

use events::admission::Break;
use events::batch::BatchError;
use events::ids::{AuthorId, LedgerId, Seq};
use events::kind::PayloadError;
use events::sign::SignError;

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

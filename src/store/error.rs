//! Why the store fails or refuses.

use std::io;
use std::path::{Path, PathBuf};

use events::admission::Break;
use events::ids::{LedgerId, Seq};
use events::sign::SignError;
use replay::fold::{Fault, FoldError};

use super::head::Refusal;

/// Why the store fails or refuses. Each cause has its own name; what to do is for the command line to say.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The engine underneath failed; it takes no more writes until the process starts again.
    #[error("the storage engine failed: {0}")]
    Engine(#[from] fjall::Error),
    /// A file could not be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Another process has the store open.
    #[error("another process has the ledger open")]
    Busy,
    /// There is no ledger where one was looked for.
    #[error("there is no ledger in {}; run ferry init", path.display())]
    NoLedger {
        /// The folder.
        path: PathBuf,
    },
    /// There is a ledger where a new one was to be made.
    #[error("{} holds a ledger already", path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// A key file is missing, of the wrong length, or open to others.
    #[error("key file {}: {problem}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// The store's own notes do not decode.
    #[error("the store's {what} is damaged")]
    Damaged {
        /// What is damaged.
        what: &'static str,
    },
    /// The store is another ledger's than the head records beside it.
    #[error("the store holds ledger {found}, the keys and heads beside it are of {expected}")]
    OtherLedger {
        /// What was expected.
        expected: LedgerId,
        /// What was found.
        found: LedgerId,
    },
    /// Stored batches do not follow from each other.
    #[error("position {at}: {broken}")]
    Broken {
        /// Where.
        at: Seq,
        /// How.
        broken: Break,
    },
    /// A batch is not signed by its author.
    #[error("position {at}: {error}")]
    Signature {
        /// Where.
        at: Seq,
        /// What is wrong.
        error: SignError,
    },
    /// What two folds of the same events came to differs.
    #[error(
        "position {at}: the live world and the follower's differ; ferry stops, to start again from the events"
    )]
    Diverged {
        /// Where.
        at: Seq,
    },
    /// Folding the stored events met a fault.
    #[error(transparent)]
    Fold(#[from] Fault),
    /// The store and the heads kept outside it disagree.
    #[error(transparent)]
    Head(#[from] Refusal),
    /// The node key is not rotated: it signs the heads.
    #[error(
        "the node key signs the heads and is not rotated; other streams are proxy, agent and people"
    )]
    NodeKeyStays,
    /// An append failed before; nothing is built upon it.
    #[error("a write failed before; start again")]
    Stopped,
    /// A sync of the journal failed: what was answered since may not survive a loss of power.
    #[error("the journal could not be synced; ferry stops, to start again from what is safe")]
    SyncFailed,
}

/// A store that is folded fails as itself, or by what the fold met in it.
impl From<FoldError<Self>> for StoreError {
    fn from(error: FoldError<Self>) -> Self {
        match error {
            FoldError::Fault(fault) => fault.into(),
            FoldError::Store(error) => error,
        }
    }
}

impl StoreError {
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + use<'_> {
        move |error| Self::File { path: path.to_owned(), error }
    }
}

//! Where a ledger's files lie: `FERRY_HOME`, by default `~/.ferry`.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::head::newest_signed;
use super::{StoreError, Vouched};

/// The folder of one ledger and everything beside it.
#[derive(Clone, Debug)]
pub struct Home(PathBuf);

impl Home {
    /// The folder at `path`.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The storage engine's folder.
    #[must_use]
    pub fn ledger(&self) -> PathBuf {
        self.0.join("ledger")
    }

    /// The secret keys.
    #[must_use]
    pub fn keys(&self) -> PathBuf {
        self.0.join("keys")
    }

    /// The records of the head, apart from the store they watch over.
    #[must_use]
    pub fn head(&self) -> PathBuf {
        self.0.join("head")
    }

    /// The journal as it was found after the newest unclean stop.
    #[must_use]
    pub fn journal_before(&self) -> PathBuf {
        self.0.join("journal.before")
    }

    /// The journal as it was when the ledger was first refused; kept until somebody removes it.
    #[must_use]
    pub fn journal_refused(&self) -> PathBuf {
        self.0.join("journal.refused")
    }

    /// What a running owner is reached by.
    #[must_use]
    pub fn run(&self) -> PathBuf {
        self.0.join("run")
    }

    /// Worlds at positions, to start from; they can be deleted.
    #[must_use]
    pub fn snapshots(&self) -> PathBuf {
        self.0.join("snapshots")
    }

    /// Texts that events name by digest; they can be deleted.
    #[must_use]
    pub fn blobs(&self) -> PathBuf {
        self.0.join("blobs")
    }

    /// The newest head a sync record vouches for.
    ///
    /// # Errors
    /// When the records cannot be read.
    pub fn vouched_head(&self) -> Result<Option<Vouched>, StoreError> {
        newest_signed(&self.head())
    }

    /// True when a ledger was made here, whatever became of it.
    #[must_use]
    pub fn has_ledger(&self) -> bool {
        self.ledger().exists() || self.head().join("sync.a").exists()
    }

    /// Makes the folders, open to their owner alone.
    pub(super) fn create(&self) -> Result<(), StoreError> {
        for folder in [self.0.clone(), self.keys(), self.head()] {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&folder)
                .map_err(StoreError::file(&folder))?;
        }
        Ok(())
    }
}

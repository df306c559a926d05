//! Looking at a copy of a home without touching it, and without its owner's keys.

use std::path::Path;

use events::head::SignedHead;
use fjall::PersistMode;
use tempfile::TempDir;

use super::head::{Missing, Refusal, newest_signed};
use super::{FjallLog, Home, StoreError};

/// A copy of a copy: the engine writes whenever it opens a folder, so it is given one of its own.
pub struct Copy {
    /// The log as it was found.
    pub log: FjallLog,
    /// The newest head its records vouch for.
    pub head: SignedHead,
    _folder: TempDir,
}

impl Copy {
    /// Opens what lies in `home`, which stays as it is.
    ///
    /// # Errors
    /// [`StoreError`]; without a sync record nothing says how far the ledger should go.
    pub fn open(home: &Home) -> Result<Self, StoreError> {
        let head = newest_signed(&home.head())?;
        let head = head.ok_or(Refusal::HeadMissing(Missing::Sync))?;
        let folder = tempfile::tempdir().map_err(StoreError::file(&std::env::temp_dir()))?;
        let ledger = folder.path().join("ledger");
        copy_folder(&home.ledger(), &ledger)?;
        let log = FjallLog::open(&ledger, head.head.ledger, PersistMode::Buffer)?;
        Ok(Self { log, head, _folder: folder })
    }
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), StoreError> {
    std::fs::create_dir_all(to).map_err(StoreError::file(to))?;
    for entry in std::fs::read_dir(from).map_err(StoreError::file(from))? {
        let entry = entry.map_err(StoreError::file(from))?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().map_err(StoreError::file(&path))?.is_dir() {
            copy_folder(&path, &target)?;
        } else {
            std::fs::copy(&path, &target).map_err(StoreError::file(&path))?;
        }
    }
    Ok(())
}

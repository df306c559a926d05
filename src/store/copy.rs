//! Looking at a copy of a home without touching it, and without its owner's keys.

use std::io;
use std::path::Path;

use fjall::PersistMode;
use tempfile::TempDir;

use super::files::copy_into;
use super::head::{Missing, Refusal};
use super::{FjallLog, Home, StoreError, Vouched};

/// A copy of a copy: the engine writes whenever it opens a folder, so it is given one of its own.
pub struct Copy {
    /// The log as it was found.
    pub log: FjallLog,
    /// The newest head its records vouch for.
    pub head: Vouched,
    _folder: TempDir,
}

impl Copy {
    /// Opens what lies in `home`, which stays as it is.
    ///
    /// # Errors
    /// [`StoreError`]; without a sync record nothing says how far the ledger should go.
    pub fn open(home: &Home) -> Result<Self, StoreError> {
        let head = home.vouched_head()?;
        let head = head.ok_or(Refusal::HeadMissing(Missing::Sync))?;
        let folder = tempfile::tempdir().map_err(StoreError::file(&std::env::temp_dir()))?;
        let ledger = folder.path().join("ledger");
        copy_folder(&home.ledger(), &ledger)?;
        let log = FjallLog::open(&ledger, head.signed.head.ledger, PersistMode::Buffer)?;
        Ok(Self { log, head, _folder: folder })
    }
}

/// Copies folders and plain files. Whoever made the folder may have put anything there: a link to an endless
/// device, a pipe nobody writes to.
fn copy_folder(from: &Path, to: &Path) -> Result<(), StoreError> {
    std::fs::create_dir_all(to).map_err(StoreError::file(to))?;
    for entry in std::fs::read_dir(from).map_err(StoreError::file(from))? {
        let entry = entry.map_err(StoreError::file(from))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(StoreError::file(&path))?;
        if kind.is_dir() {
            copy_folder(&path, &to.join(entry.file_name()))?;
        } else if kind.is_file() {
            copy_into(&path, to)?;
        } else {
            let strange = io::Error::other("neither a file nor a folder; it is not looked at");
            return Err(StoreError::file(&path)(strange));
        }
    }
    Ok(())
}

//! Texts that events name by a keyed digest: they can be deleted, and the chain stays whole.
//!
//! One file each, named by the digest. Without the ledger's secret a digest says nothing of its text, not
//! even whether a guess is right.

use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

use events::hash::{Domain, LedgerSecret};
use events::ids::Digest;
use tempfile::NamedTempFile;

use super::{Home, StoreError};

/// Longest text that is kept, in bytes.
pub(super) const BLOB_BYTES_MAX: usize = 1024 * 1024;

/// The texts of a ledger.
pub struct Blobs {
    folder: PathBuf,
    secret: LedgerSecret,
}

impl Blobs {
    /// The texts of a home.
    #[must_use]
    pub fn new(home: &Home, secret: LedgerSecret) -> Self {
        Self { folder: home.blobs(), secret }
    }

    /// What an event names a text by.
    #[must_use]
    pub fn name(&self, text: &[u8]) -> Digest {
        self.secret.digest(Domain::BlobKey, text)
    }

    /// Keeps a text, safe on disk, before an event names it. A text that is there already stays.
    ///
    /// # Errors
    /// [`StoreError::File`], also for a text longer than a megabyte.
    pub fn put(&self, text: &[u8]) -> Result<Digest, StoreError> {
        let name = self.name(text);
        let path = self.path(&name);
        let write = || -> io::Result<()> {
            if text.len() > BLOB_BYTES_MAX {
                let problem = format!("a text of {} bytes; most are {BLOB_BYTES_MAX}", text.len());
                return Err(io::Error::new(ErrorKind::InvalidInput, problem));
            }
            DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
            let mut file = NamedTempFile::new_in(&self.folder)?;
            file.write_all(text)?;
            file.as_file().sync_all()?;
            file.persist(&path)?;
            File::open(&self.folder)?.sync_all()
        };
        if self.get(&name)?.is_none() {
            write().map_err(StoreError::file(&path))?;
        }
        Ok(name)
    }

    /// A text, if it is there and whole; withheld otherwise.
    ///
    /// # Errors
    /// [`StoreError::File`].
    pub fn get(&self, name: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path(name);
        let mut text = Vec::new();
        let read = File::open(&path)
            .and_then(|file| file.take(BLOB_BYTES_MAX as u64 + 1).read_to_end(&mut text));
        match read {
            Ok(_) => Ok(Some(text).filter(|text| self.name(text) == *name)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::file(&path)(error)),
        }
    }

    /// Deletes a text for good; true when it was there.
    ///
    /// # Errors
    /// [`StoreError::File`].
    pub fn remove(&self, name: &Digest) -> Result<bool, StoreError> {
        let path = self.path(name);
        match fs::remove_file(&path) {
            Ok(()) => {
                File::open(&self.folder)
                    .and_then(|folder| folder.sync_all())
                    .map_err(StoreError::file(&self.folder))?;
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(StoreError::file(&path)(error)),
        }
    }

    fn path(&self, name: &Digest) -> PathBuf {
        self.folder.join(name.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_kept_found_and_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path());
        let blobs = Blobs::new(&home, LedgerSecret::new([1; 32]));
        assert_eq!(blobs.get(&blobs.name(b"say so")).unwrap(), None);
        let name = blobs.put(b"say so").unwrap();
        assert_eq!(blobs.put(b"say so").unwrap(), name);
        assert_eq!(blobs.get(&name).unwrap().as_deref(), Some(&b"say so"[..]));
        // The digest is keyed: another ledger's says nothing of the same text.
        let other = Blobs::new(&home, LedgerSecret::new([2; 32]));
        assert_ne!(other.name(b"say so"), name);
        assert!(blobs.remove(&name).unwrap());
        assert!(!blobs.remove(&name).unwrap());
        assert_eq!(blobs.get(&name).unwrap(), None);
    }

    #[test]
    fn a_damaged_text_is_withheld_and_can_be_put_again() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(&Home::new(folder.path()), LedgerSecret::new([1; 32]));
        let name = blobs.put(b"say so").unwrap();
        fs::write(blobs.path(&name), b"say no").unwrap();
        assert_eq!(blobs.get(&name).unwrap(), None);
        blobs.put(b"say so").unwrap();
        assert!(blobs.get(&name).unwrap().is_some());
        assert!(blobs.put(&vec![0; BLOB_BYTES_MAX + 1]).is_err());
    }
}

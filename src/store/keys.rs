//! The secret keys of a ledger's owner: one file each, readable by their owner alone.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use events::hash::LedgerSecret;
use events::payload::Stream;
use events::sign::SigningKey;
use replay::writer::Keys;

use super::{Home, StoreError};

/// The key files of one ledger.
#[derive(Clone, Debug)]
pub struct KeyFiles(Home);

impl KeyFiles {
    /// The keys of a ledger.
    #[must_use]
    pub const fn new(home: Home) -> Self {
        Self(home)
    }

    /// Draws a key for each stream, and the ledger's secret. What an init that was cut short has drawn is
    /// kept.
    ///
    /// # Errors
    /// [`StoreError::Key`] when a file exists or cannot be written.
    pub(super) fn create(&self) -> Result<(), StoreError> {
        let streams = Stream::ALL.iter().map(|stream| stream.label());
        for name in streams.chain(["secret"]) {
            let path = self.path(name);
            if read(&path).is_err() {
                draw(&path)?;
            }
        }
        Ok(())
    }

    /// Draws the key that is to take a stream's place, or takes the one a rotation that was cut short has
    /// drawn. It takes its place once the ledger says so.
    ///
    /// # Errors
    /// [`StoreError::Key`]; the node key is not changed this way, since it signs the heads.
    pub fn draw_next(&self, stream: Stream) -> Result<SigningKey, StoreError> {
        if stream == Stream::Node {
            return Err(StoreError::NodeKeyStays);
        }
        match self.next(stream)? {
            Some(key) => Ok(key),
            None => draw(&self.next_path(stream)).map(|bytes| SigningKey::from_secret(&bytes)),
        }
    }

    /// Draws a key for another writer, into a file to be carried there.
    ///
    /// # Errors
    /// [`StoreError::Key`]; nothing that exists is replaced.
    pub fn draw_into(file: &Path) -> Result<SigningKey, StoreError> {
        draw(file).map(|bytes| SigningKey::from_secret(&bytes))
    }

    /// The key that was drawn to take a stream's place, if one was.
    pub(crate) fn next(&self, stream: Stream) -> Result<Option<SigningKey>, StoreError> {
        let path = self.next_path(stream);
        if path.exists() {
            read(&path).map(|bytes| Some(SigningKey::from_secret(&bytes)))
        } else {
            Ok(None)
        }
    }

    /// Puts the drawn key in its stream's place.
    pub(crate) fn replace(&self, stream: Stream) -> Result<(), StoreError> {
        let (next, path) = (self.next_path(stream), self.path(stream.label()));
        let folder = self.0.keys();
        std::fs::rename(&next, &path).map_err(StoreError::file(&next))?;
        File::open(&folder).and_then(|folder| folder.sync_all()).map_err(StoreError::file(&folder))
    }

    fn next_path(&self, stream: Stream) -> std::path::PathBuf {
        self.0.keys().join(format!("{}.key.next", stream.label()))
    }

    /// The signing key of a stream.
    ///
    /// # Errors
    /// [`StoreError::Key`] when the file is missing, no key, or open to others.
    pub fn signing(&self, stream: Stream) -> Result<SigningKey, StoreError> {
        read(&self.path(stream.label())).map(|bytes| SigningKey::from_secret(&bytes))
    }

    /// The signing keys of every stream.
    ///
    /// # Errors
    /// As [`KeyFiles::signing`].
    pub fn all(&self) -> Result<Keys, StoreError> {
        Ok(Keys {
            node: self.signing(Stream::Node)?,
            proxy: self.signing(Stream::Proxy)?,
            agent: self.signing(Stream::Agent)?,
            people: self.signing(Stream::People)?,
        })
    }

    /// The ledger's secret.
    ///
    /// # Errors
    /// As [`KeyFiles::signing`].
    pub fn secret(&self) -> Result<LedgerSecret, StoreError> {
        read(&self.path("secret")).map(LedgerSecret::new)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.keys().join(format!("{name}.key"))
    }
}

fn key_error(path: &Path, problem: impl Into<String>) -> StoreError {
    StoreError::Key { path: path.to_owned(), problem: problem.into() }
}

/// Draws 32 secret bytes into a new file.
///
/// # Errors
/// [`StoreError::Key`] when it exists or cannot be written.
fn draw(path: &Path) -> Result<[u8; 32], StoreError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)
        .map_err(|error| key_error(path, format!("the system gives no entropy: {error}")))?;
    write_new(path, &bytes)?;
    Ok(bytes)
}

fn write_new(path: &Path, bytes: &[u8; 32]) -> Result<(), StoreError> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map_err(|error| key_error(path, error.to_string()))?;
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .map_err(|error| key_error(path, error.to_string()))
}

fn read(path: &Path) -> Result<[u8; 32], StoreError> {
    let mut file = File::open(path).map_err(|error| key_error(path, error.to_string()))?;
    let metadata = file.metadata().map_err(|error| key_error(path, error.to_string()))?;
    if metadata.mode() & 0o077 != 0 {
        return Err(key_error(path, "others may read it; run chmod 600 on it"));
    }
    if metadata.len() != 32 {
        return Err(key_error(path, format!("is {} bytes long instead of 32", metadata.len())));
    }
    let mut bytes = [0; 32];
    file.read_exact(&mut bytes).map_err(|error| key_error(path, error.to_string()))?;
    Ok(bytes)
}

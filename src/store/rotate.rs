//! Changing who may write: every change is an event of the node key.

use std::path::Path;

use events::ids::AuthorId;
use events::log::Log as _;
use events::payload::{Actor, ActorChange, Stream};
use events::sign::SigningKey;
use replay::writer::{Writer, author_subject};

use super::keys::draw;
use super::open::written;
use super::{KeyFiles, Store, StoreError, clock};

impl Store {
    /// Draws a new key for one of the owner's streams; the one before may not write any more.
    ///
    /// # Errors
    /// [`StoreError`]; the node key is not changed this way, since it signs the heads.
    pub fn rotate(&mut self, stream: Stream) -> Result<AuthorId, StoreError> {
        if stream == Stream::Node {
            return Err(StoreError::NodeKeyStays);
        }
        let keys = KeyFiles::new(self.home.clone());
        let old = keys.signing(stream)?.public();
        let key = keys.draw_next(stream)?.public();
        self.tell(Actor { key, stream, change: ActorChange::Rotated, replaces: Some(old) })?;
        keys.replace(stream)?;
        Ok(key)
    }

    /// Draws a key for another writer of a stream, into a file to be carried there.
    ///
    /// # Errors
    /// [`StoreError`]; nothing that exists is replaced.
    pub fn enrol(&mut self, stream: Stream, file: &Path) -> Result<AuthorId, StoreError> {
        let key = SigningKey::from_secret(&draw(file)?).public();
        self.tell(Actor { key, stream, change: ActorChange::Enrolled, replaces: None })?;
        Ok(key)
    }

    /// Retires a key: what it wrote stands, and it writes no more.
    ///
    /// # Errors
    /// [`StoreError`].
    pub fn retire(&mut self, key: AuthorId, stream: Stream) -> Result<(), StoreError> {
        self.tell(Actor { key, stream, change: ActorChange::Retired, replaces: None })
    }

    /// Writes a change of keys and waits until it is safe: a key file is only touched after.
    fn tell(&mut self, actor: Actor) -> Result<(), StoreError> {
        let node = KeyFiles::new(self.home.clone()).signing(Stream::Node)?;
        let now = clock();
        let mut writer = Writer::new(self, node).received_at(now);
        let pushed = writer.push(now, author_subject(&actor.key), &actor);
        pushed.and_then(|()| writer.flush()).map_err(written)?;
        self.sync().map(|_| ())
    }

    /// Finishes what a rotation that was cut short had begun: the ledger tells whether it happened.
    pub(super) fn settle_rotations(&self) -> Result<(), StoreError> {
        let keys = KeyFiles::new(self.home.clone());
        for stream in Stream::ALL {
            let Some(next) = keys.next(*stream)? else { continue };
            if self.log.positions_about(&author_subject(&next.public()))?.is_empty() {
                keys.forget_next(*stream)?;
            } else {
                keys.replace(*stream)?;
            }
        }
        Ok(())
    }
}

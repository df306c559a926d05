//! Worlds at positions, so that opening a ledger need not fold all of it.
//!
//! A snapshot is a cache: one that is odd in any way is deleted, and the fold starts earlier. Each is a file
//! `name-version-position`: proof 32 · link 32 · digest of the state 32 · state. The proof is a keyed digest
//! over name, version, position and the rest, so that nobody can plant a world.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use events::bytes::Bytes;
use events::hash::{Domain, LedgerSecret, mac};
use events::head::Head;
use events::ids::{Digest, LedgerId, Seq};
use events::payload::Stream;
use projections::projection::Projection;
use projections::world::World;
use tempfile::NamedTempFile;

use super::keys::KeyFiles;
use super::open::derived_key;
use super::{Home, StoreError};

/// Events between two snapshots.
pub const SNAPSHOT_EVENTS: u64 = 50_000;
/// How many are kept.
const KEPT: usize = 3;
/// An encoded world is under 4 MB: a longer file is none.
const SNAPSHOT_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The snapshots of a ledger.
#[derive(Clone)]
pub struct Snapshots {
    folder: PathBuf,
    ledger: LedgerId,
    key: LedgerSecret,
}

impl Snapshots {
    /// The snapshots of a ledger in a folder.
    ///
    /// # Errors
    /// When the node key, which vouches for them, cannot be read.
    pub fn of(home: &Home, ledger: LedgerId) -> Result<Self, StoreError> {
        let node = KeyFiles::new(home.clone()).signing(Stream::Node)?;
        let key = derived_key(&node, Domain::SnapshotKey, b"key of snapshots");
        Ok(Self::new(home.snapshots(), ledger, key))
    }

    /// The newest sound world that will `do`, as whoever asks says. Nothing is deleted.
    pub fn newest_where(
        &self,
        mut will_do: impl FnMut(&World, &Head) -> bool,
    ) -> Option<(World, Head)> {
        let sound = |(position, path): (Seq, PathBuf)| self.read(position, &path);
        self.stored().into_iter().filter_map(sound).find(|(world, head)| will_do(world, head))
    }

    pub(crate) const fn new(folder: PathBuf, ledger: LedgerId, key: LedgerSecret) -> Self {
        Self { folder, ledger, key }
    }

    /// The newest world that stands on the log: its position is one of the log's, with the same link.
    /// What does not is deleted.
    ///
    /// # Errors
    /// The log's, when it cannot be asked for a link.
    pub fn newest(
        &self,
        link_at: impl Fn(Seq) -> Result<Option<Digest>, StoreError>,
    ) -> Result<Option<(World, Head)>, StoreError> {
        for (position, path) in self.stored() {
            let link = link_at(position)?;
            let found = self.read(position, &path);
            if let Some((world, head)) = found.filter(|(_, head)| link == Some(head.link)) {
                return Ok(Some((world, head)));
            }
            // Where it cannot be deleted it is passed over again next time.
            let _ = fs::remove_file(&path);
        }
        Ok(None)
    }

    /// Writes a world, as it is after [`Projection::settle`], and lets go of the oldest.
    ///
    /// # Errors
    /// The file system's.
    pub fn write(&self, world: &World, head: &Head) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        let mut rest = head.link.0.to_vec();
        rest.extend_from_slice(world.digest().as_slice());
        rest.extend_from_slice(&world.snapshot());
        let proof = mac(&self.key, &self.message(head.next, &rest));
        let path = self.folder.join(name(head.next));
        let mut file = NamedTempFile::new_in(&self.folder)?;
        file.write_all(proof.as_bytes())?;
        file.write_all(&rest)?;
        file.persist(&path)?;
        for (_, path) in self.stored().into_iter().skip(KEPT) {
            fs::remove_file(path)?;
        }
        Ok(())
    }

    /// Where the newest one stands, sound or not.
    #[must_use]
    pub fn newest_position(&self) -> Option<Seq> {
        self.stored().first().map(|(position, _)| *position)
    }

    /// Deletes all of them.
    ///
    /// # Errors
    /// The file system's.
    pub fn clear(&self) -> io::Result<()> {
        self.stored().into_iter().try_for_each(|(_, path)| fs::remove_file(path))
    }

    /// Files that are named as a snapshot of this build, newest first.
    fn stored(&self) -> Vec<(Seq, PathBuf)> {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut stored: Vec<(Seq, PathBuf)> =
            files.filter_map(|file| Some((position_of(&file.file_name())?, file.path()))).collect();
        stored.sort_unstable_by(|a, b| b.cmp(a));
        stored
    }

    fn read(&self, position: Seq, path: &Path) -> Option<(World, Head)> {
        let bytes = read_bounded(path).ok()?;
        let (proof, rest) = bytes.split_at_checked(32)?;
        let proof: [u8; 32] = proof.try_into().ok()?;
        if mac(&self.key, &self.message(position, rest)) != proof {
            return None;
        }
        let (link, rest) = rest.split_at_checked(32)?;
        let (digest, state) = rest.split_at_checked(32)?;
        let mut world = World::restore(state).ok()?;
        world.settle();
        let head = Head { ledger: self.ledger, next: position, link: Bytes(link.try_into().ok()?) };
        (world.digest().0 == digest).then_some((world, head))
    }

    /// What the proof is over.
    fn message(&self, position: Seq, rest: &[u8]) -> Vec<u8> {
        let mut message = name(position).into_bytes();
        message.extend_from_slice(self.ledger.as_slice());
        message.extend_from_slice(rest);
        message
    }
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    File::open(path)?.take(SNAPSHOT_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn prefix() -> String {
    format!("{}-{}-", World::NAME, World::VERSION)
}

fn name(position: Seq) -> String {
    format!("{}{position:020}", prefix())
}

fn position_of(name: &OsStr) -> Option<Seq> {
    let digits = name.to_str()?.strip_prefix(&prefix())?;
    (digits.len() == 20).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshots(folder: &Path) -> Snapshots {
        Snapshots::new(folder.to_owned(), Bytes([1; 32]), LedgerSecret::new([2; 32]))
    }

    fn head(next: Seq) -> Head {
        Head { ledger: Bytes([1; 32]), next, link: Bytes([u8::try_from(next).unwrap(); 32]) }
    }

    fn link_of(position: Seq) -> Result<Option<Digest>, StoreError> {
        Ok(Some(head(position).link))
    }

    #[test]
    fn the_newest_that_stands_on_the_log_counts_and_what_is_odd_goes() {
        let folder = tempfile::tempdir().unwrap();
        let kept = snapshots(folder.path());
        let world = World::genesis();
        for position in [10, 20, 30, 40] {
            kept.write(&world, &head(position)).unwrap();
        }
        assert_eq!(kept.stored().len(), KEPT);
        let (found, at) = kept.newest(link_of).unwrap().unwrap();
        assert_eq!((found.digest(), at), (world.digest(), head(40)));
        // A log with another past at 40, and one that ends before.
        let other = |position| if position == 40 { Ok(None) } else { link_of(position) };
        assert_eq!(kept.newest(other).unwrap().unwrap().1, head(30));
        assert_eq!(kept.newest_position(), Some(30), "it was deleted");
    }

    #[test]
    fn every_flipped_byte_and_every_other_key_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let kept = snapshots(folder.path());
        kept.write(&World::genesis(), &head(10)).unwrap();
        let path = folder.path().join(name(10));
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            fs::write(&path, flipped).unwrap();
            assert!(kept.newest(link_of).unwrap().is_none(), "byte {at}");
        }
        for cut in [0, 31, 32, 95, 96, whole.len() - 1] {
            fs::write(&path, &whole[..cut]).unwrap();
            assert!(kept.newest(link_of).unwrap().is_none(), "cut at {cut}");
        }
        fs::write(&path, &whole).unwrap();
        let other = Snapshots { key: LedgerSecret::new([3; 32]), ..kept.clone() };
        assert!(other.newest(link_of).unwrap().is_none());
        // Under the name of another position it is none either.
        fs::write(folder.path().join(name(11)), &whole).unwrap();
        assert!(kept.newest(link_of).unwrap().is_none());
    }
}

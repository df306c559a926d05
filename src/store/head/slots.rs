//! The files the records stand in: preallocated, overwritten in place.

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use events::hash::LedgerSecret;
use events::head::SignedHead;
use events::ids::{AuthorId, LedgerId, Seq};
use events::sign::{SigningKey, VERIFIER, Verifier};

use super::record::RECORD_BYTES;
use super::{Record, Slot};
use crate::store::StoreError;

const RUN: &str = "run";
const SYNC: [&str; 2] = ["sync.a", "sync.b"];

/// The records of a folder: `run`, then both of a sync.
pub(in crate::store) fn read_all(
    folder: &Path,
    node: &AuthorId,
    mac_key: &LedgerSecret,
) -> Result<(Slot, [Slot; 2]), StoreError> {
    let run = Record::parse(&read(&folder.join(RUN))?, |_, proof| proof.is_keyed_by(mac_key));
    let sync = |name: &str| -> Result<Slot, StoreError> {
        let bytes = read(&folder.join(name))?;
        Ok(Record::parse(&bytes, |record, proof| proof.is_signed_by(node, record)))
    };
    Ok((run, [sync(SYNC[0])?, sync(SYNC[1])?]))
}

/// A head that a sync record vouches for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vouched {
    /// The head, signed by a node key. Whether it is the ledger's own is for the keyring to say.
    pub signed: SignedHead,
    /// The rules by which every batch before it was admitted.
    verifier: u8,
}

impl Vouched {
    /// From where on signatures have to be checked again: everything before was admitted by the rules of
    /// this build, and the head's link says that nothing has changed since.
    #[must_use]
    pub const fn admitted(&self) -> Seq {
        if self.verifier == VERIFIER { self.signed.head.next } else { 0 }
    }
}

/// The newest head that a folder's sync records vouch for, whichever key signed it: it can be asked without
/// the owner's keys.
pub(in crate::store) fn newest_signed(folder: &Path) -> Result<Option<Vouched>, StoreError> {
    let mut newest: Option<(u64, Vouched)> = None;
    for name in SYNC {
        let bytes = read(&folder.join(name))?;
        let mut signed = None;
        let slot = Record::parse(&bytes, |record, proof| {
            signed = Some(proof.signed_head(record));
            signed.is_some_and(|head| head.check(&mut Verifier::new()).is_ok())
        });
        if let Some((record, head)) = slot.record().zip(signed)
            && newest.is_none_or(|(counter, _)| counter < record.counter)
        {
            let vouched = Vouched { signed: head, verifier: record.verifier };
            newest = Some((record.counter, vouched));
        }
    }
    Ok(newest.map(|(_, head)| head))
}

/// What stands in a record's file, as far as a record can go.
fn read(path: &Path) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    let read = File::open(path)
        .and_then(|file| file.take(RECORD_BYTES as u64 + 1).read_to_end(&mut bytes));
    match read {
        Ok(_) => Ok(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(StoreError::file(path)(error)),
    }
}

fn open(path: &Path) -> Result<File, StoreError> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(StoreError::file(path))?;
    // The length is part of what a sync of data need not write: it is fixed here, once.
    if file.metadata().map_err(StoreError::file(path))?.len() != RECORD_BYTES as u64 {
        file.set_len(RECORD_BYTES as u64).map_err(StoreError::file(path))?;
        file.sync_all().map_err(StoreError::file(path))?;
    }
    Ok(file)
}

/// The record of commits: written in place, never synced.
pub(in crate::store) struct RunSlot {
    path: PathBuf,
    file: File,
    node: AuthorId,
    mac_key: LedgerSecret,
}

impl RunSlot {
    pub(in crate::store) fn open(
        folder: &Path,
        node: AuthorId,
        mac_key: LedgerSecret,
    ) -> Result<Self, StoreError> {
        let path = folder.join(RUN);
        Ok(Self { file: open(&path)?, path, node, mac_key })
    }

    pub(in crate::store) fn write(&self, record: &Record) -> Result<(), StoreError> {
        let bytes = record.keyed(&self.node, &self.mac_key);
        self.file.write_all_at(&bytes, 0).map_err(StoreError::file(&self.path))
    }

    pub(in crate::store) fn sync(&self) -> Result<(), StoreError> {
        self.file.sync_data().map_err(StoreError::file(&self.path))
    }
}

/// The copy of the newest sync record kept apart from the whole home.
pub(in crate::store) struct WitnessSlot {
    path: PathBuf,
    file: File,
}

impl WitnessSlot {
    /// What stands in the folder for a ledger.
    pub(in crate::store) fn read(
        folder: &Path,
        ledger: &LedgerId,
        node: &AuthorId,
    ) -> Result<Slot, StoreError> {
        let bytes = read(&folder.join(ledger.to_string()))?;
        Ok(Record::parse(&bytes, |record, proof| proof.is_signed_by(node, record)))
    }

    pub(in crate::store) fn open(folder: &Path, ledger: &LedgerId) -> Result<Self, StoreError> {
        std::fs::create_dir_all(folder).map_err(StoreError::file(folder))?;
        let path = folder.join(ledger.to_string());
        Ok(Self { file: open(&path)?, path })
    }

    /// Not synced: it is there for a home put back by a person, long after.
    fn write(&self, bytes: &[u8]) -> Result<(), StoreError> {
        self.file.write_all_at(bytes, 0).map_err(StoreError::file(&self.path))
    }
}

/// The records of syncs: written in turn, so that one is whole whenever the machine stops.
pub(in crate::store) struct SyncSlots {
    files: [(PathBuf, File); 2],
    /// The one that does not hold the newest record.
    older: usize,
    witness: Option<WitnessSlot>,
    node: SigningKey,
}

impl SyncSlots {
    /// Opens both, knowing what stands in them.
    pub(in crate::store) fn open(
        folder: &Path,
        node: SigningKey,
        found: [Slot; 2],
        witness: Option<WitnessSlot>,
    ) -> Result<Self, StoreError> {
        let [a, b] = SYNC.map(|name| folder.join(name));
        let [in_a, in_b] = found.map(|slot| slot.record().map(|record| record.counter));
        let older = usize::from(in_a > in_b);
        let slots =
            Self { files: [(a.clone(), open(&a)?), (b.clone(), open(&b)?)], older, witness, node };
        // The names themselves have to survive, too.
        let directory = File::open(folder).map_err(StoreError::file(folder))?;
        directory.sync_all().map_err(StoreError::file(folder))?;
        Ok(slots)
    }

    /// Writes and syncs a record, over the older of the two.
    pub(in crate::store) fn write(&mut self, record: &Record) -> Result<(), StoreError> {
        let (path, file) = &self.files[self.older];
        let bytes = record.signed(&self.node);
        file.write_all_at(&bytes, 0)
            .and_then(|()| file.sync_data())
            .map_err(StoreError::file(path))?;
        self.older = 1 - self.older;
        if let Some(witness) = &self.witness {
            // A second pair of eyes: where it cannot look, the ledger goes on without. `ferry doctor` tells.
            let _ = witness.write(&bytes);
        }
        Ok(())
    }
}

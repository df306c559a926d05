//! The store on real fjall: kills, damage, cuts. What was answered is there, or its absence is named.

mod damage;
mod kill;
mod open;

use std::fs;
use std::path::{Path, PathBuf};

use events::head::SignedHead;
use events::kind::KindTable;
use events::log::ReadLog as _;
use events::payload::{Ending, Stream, TurnClosed};
use ferry::store::{Home, KeyFiles, Promise, Settings, Store, StoreError};
use replay::fold::verify;
use replay::writer::Writer;
use tempfile::TempDir;

use crate::build::subject;

/// Settings of the running boot, without a witness.
pub(crate) fn here() -> Settings {
    Settings { witness: None, now: 2_000, ..Settings::from_system(Promise::Process) }
}

/// Settings as after the machine was switched off and on.
pub(crate) fn next_boot() -> Settings {
    Settings { boot: events::bytes::Bytes([7; 16]), ..here() }
}

pub(crate) fn made() -> (TempDir, Home) {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::new(folder.path().join("home"));
    Store::init(&home, &here(), 1_000).unwrap();
    (folder, home)
}

/// Appends batches of one event each, `count` of them.
pub(crate) fn append(store: &mut Store, home: &Home, count: u64) {
    let proxy = KeyFiles::new(home.clone()).signing(Stream::Proxy).unwrap();
    let start = store.head().next;
    let mut writer = Writer::new(store, proxy);
    for number in start..start + count {
        let closed = TurnClosed { ending: Ending::Aborted, attempts: 1, bytes_sent: Some(number) };
        writer.push(number, subject(number), &closed).unwrap();
        writer.flush().unwrap();
    }
}

pub(crate) fn verified(store: &Store) -> SignedHead {
    let head = store.signed_head().unwrap();
    verify(store, &KindTable::current(), Some(&head)).unwrap();
    head
}

/// Copies a whole home, as a backup or a disk would have it.
pub(crate) fn copied(home: &Home, to: &Path) -> Home {
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let target = to.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                copy(&entry.path(), &target);
            } else {
                fs::copy(entry.path(), target).unwrap();
            }
        }
    }
    copy(home.path(), to);
    Home::new(to)
}

pub(crate) fn journals(home: &Home) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(home.ledger())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jnl"))
        .collect();
    found.sort();
    found
}

pub(crate) fn refused(home: &Home) -> StoreError {
    match Store::open(home, here()) {
        Err(error) => error,
        Ok(_) => panic!("the store opened"),
    }
}

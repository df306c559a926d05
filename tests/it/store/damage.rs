//! Damage: journals, tables, heads, loss of power, a full disk.

use std::fs;
use std::process::{Command, Stdio};

use events::kind::KindTable;
use events::log::ReadLog as _;
use events::payload::{Ending, Stream, TurnClosed};
use ferry::store::head::{Refusal, Voucher};
use ferry::store::{Home, KeyFiles, Settings, Store, StoreError};
use replay::fold::verify;
use replay::writer::Writer;
use tempfile::TempDir;

use crate::build::subject;

use super::{append, copied, here, journals, made, next_boot, refused, verified};

/// A ledger of 100 answered batches, killed: everything is in the journal.
fn killed(events: u64) -> (TempDir, Home) {
    let (folder, home) = made();
    let (mut store, _) = Store::open(&home, here()).unwrap();
    append(&mut store, &home, events);
    store.sync().unwrap();
    // As it lies on disk while the process lives: a copy, since no process can be killed within a test.
    let copy = copied(&home, &folder.path().join("killed"));
    drop(store);
    (folder, copy)
}

#[test]
fn every_damaged_byte_of_the_journal_is_noticed_or_harmless() {
    let (folder, home) = killed(20);
    let journal = journals(&home).pop().unwrap();
    let bytes = fs::read(&journal).unwrap();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let (mut refusals, mut harmless) = (0, 0);
    // A byte of every few (every one with FERRY_LONG=1), all over what is used: tags, lengths, counts, seqnos,
    // keys, values, checksums.
    let step = if std::env::var_os("FERRY_LONG").is_some() { 1 } else { 53 };
    for at in (0..used).step_by(step) {
        let copy = copied(&home, &folder.path().join("damaged"));
        let mut damaged = bytes.clone();
        damaged[at] ^= 0xff;
        fs::write(journals(&copy).pop().unwrap(), damaged).unwrap();
        match Store::open(&copy, here()) {
            Err(_) => refusals += 1,
            Ok((mut store, opened)) => {
                assert!(opened.lost.is_none());
                assert_eq!(store.head().next, 24, "byte {at}: opened without everything answered");
                // Harmless means that it goes on, too: no author has been set back.
                append(&mut store, &copy, 1);
                verified(&store);
                harmless += 1;
            }
        }
        fs::remove_dir_all(copy.path()).unwrap();
    }
    assert!(refusals > 100, "{refusals} refusals, {harmless} harmless");
}

#[test]
fn a_deleted_journal_is_rolled_back() {
    let (_folder, home) = killed(20);
    for journal in journals(&home) {
        fs::remove_file(journal).unwrap();
    }
    let error = refused(&home);
    assert!(
        matches!(
            error,
            StoreError::Head(Refusal::RolledBack { promised: 24, by: Voucher::Sync, .. })
        ),
        "{error}"
    );
}

#[test]
fn a_whole_older_home_is_noticed_by_the_witness() {
    let (folder, home) = made();
    let settings = || Settings { witness: Some(folder.path().join("witness")), ..here() };
    let (mut store, _) = Store::open(&home, settings()).unwrap();
    append(&mut store, &home, 5);
    store.close().unwrap();
    let older = copied(&home, &folder.path().join("older"));
    let (mut store, _) = Store::open(&home, settings()).unwrap();
    append(&mut store, &home, 5);
    store.close().unwrap();
    assert!(Store::open(&older, here()).is_ok(), "nothing in an older home tells that it is old");
    match Store::open(&older, settings()) {
        Err(StoreError::Head(Refusal::RolledBack {
            have: 9,
            promised: 14,
            by: Voucher::Witness,
        })) => {}
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("the store opened"),
    }
}

// Law 3: what a loss of power leaves is a prefix that reaches the synced head, or it is refused by name.
#[test]
fn a_loss_of_power_leaves_a_prefix_that_was_synced_or_a_named_refusal() {
    let (folder, home) = made();
    let (mut store, _) = Store::open(&home, here()).unwrap();
    append(&mut store, &home, 6);
    let synced = store.sync().unwrap().next;
    let at_sync = fs::read(journals(&home).pop().unwrap()).unwrap();
    append(&mut store, &home, 6);
    // The records of this moment, before the next sync reaches the disk.
    let before = copied(&home, &folder.path().join("before"));
    drop(store);
    let journal = fs::read(journals(&before).pop().unwrap()).unwrap();
    let used = |bytes: &[u8]| bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let (safe, end) = (used(&at_sync), used(&journal));
    let (mut opened, mut lost) = (0, 0);
    for cut in (safe - 40..end + 1).step_by(7).chain([safe - 1, safe, safe + 1, end - 1, end]) {
        let copy = copied(&before, &folder.path().join("cut"));
        let mut torn = journal.clone();
        torn[cut..].fill(0);
        fs::write(journals(&copy).pop().unwrap(), torn).unwrap();
        match Store::open(&copy, next_boot()) {
            Ok((store, found)) => {
                assert!(store.head().next >= synced, "cut at {cut}");
                verified(&store);
                opened += 1;
                lost += u64::from(found.lost.is_some());
                if let Some(found) = found.lost {
                    // The finding stands where the lost events stood.
                    assert_eq!((store.head().next, found.to), (found.from + 1, 16));
                }
            }
            Err(
                StoreError::Head(_)
                | StoreError::Broken { .. }
                | StoreError::Engine(_)
                | StoreError::Damaged { .. },
            ) => {
                assert!(cut < safe, "cut at {cut}: nothing that was synced is missing");
            }
            Err(other) => panic!("{other}"),
        }
        fs::remove_dir_all(copy.path()).unwrap();
    }
    assert!(opened > 20 && lost > 10, "{opened} opened, {lost} with a lost tail");
}

// What an earlier boot answered and lost does not haunt the ones after it.
#[test]
fn a_second_loss_of_power_is_judged_by_what_was_promised_since() {
    let (folder, home) = made();
    let (mut store, _) = Store::open(&home, here()).unwrap();
    append(&mut store, &home, 3);
    store.sync().unwrap();
    let synced = copied(&home, &folder.path().join("synced"));
    append(&mut store, &home, 3);
    let run_of_first_boot = fs::read(home.head().join("run")).unwrap();
    drop(store);
    fs::write(synced.head().join("run"), &run_of_first_boot).unwrap();
    let (mut store, opened) = Store::open(&synced, next_boot()).unwrap();
    assert_eq!(opened.lost.map(|lost| (lost.from, lost.to)), Some((7, 10)));
    append(&mut store, &synced, 9);
    store.sync().unwrap();
    let again = copied(&synced, &folder.path().join("again"));
    drop(store);
    // The record of the first boot is what the disk still holds.
    fs::write(again.head().join("run"), &run_of_first_boot).unwrap();
    let third = Settings { boot: events::bytes::Bytes([8; 16]), ..here() };
    let (store, opened) = Store::open(&again, third).unwrap();
    assert_eq!((store.head().next, opened.lost), (17, None));
    verified(&store);
}

// A refused ledger is opened again by whoever does not believe it: the journal stays as it was found.
#[test]
fn the_journal_of_a_refused_ledger_is_kept() {
    let (_folder, home) = killed(20);
    let journal = journals(&home).pop().unwrap();
    let whole = fs::read(&journal).unwrap();
    let mut cut = whole.clone();
    let used = whole.iter().rposition(|byte| *byte != 0).unwrap();
    cut[used / 2..].fill(0);
    fs::write(&journal, &cut).unwrap();
    for _ in 0..3 {
        assert!(matches!(refused(&home), StoreError::Head(Refusal::RolledBack { .. })));
    }
    let kept = home.journal_refused().join(journal.file_name().unwrap());
    assert_eq!(fs::read(kept).unwrap(), cut);
}

#[test]
fn a_ledger_without_heads_goes_on_once_that_is_accepted() {
    let (_folder, home) = killed(20);
    fs::remove_dir_all(home.head()).unwrap();
    fs::create_dir(home.head()).unwrap();
    assert!(matches!(refused(&home), StoreError::Head(Refusal::HeadMissing(_))));
    let (store, _) = Store::accept_loss(&home, here()).unwrap().unwrap();
    assert_eq!(store.head().next, 25);
    verified(&store);
    store.close().unwrap();
    assert!(Store::open(&home, here()).unwrap().1.was_clean);
}

#[test]
fn flipped_bytes_in_tables_are_found_by_verify_and_stop_a_fold() {
    let (folder, home) = made();
    let (mut store, _) = Store::open(&home, here()).unwrap();
    append(&mut store, &home, 300);
    store.close().unwrap();
    let tables = |home: &Home| {
        let mut found = Vec::new();
        let mut folders = vec![home.ledger()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                } else if entry.path().parent().is_some_and(|parent| parent.ends_with("tables")) {
                    found.push(entry.path());
                }
            }
        }
        found.sort_by_key(|path| fs::metadata(path).unwrap().len());
        found
    };
    let largest = tables(&home).pop().unwrap();
    let length = fs::metadata(&largest).unwrap().len();
    let relative = largest.strip_prefix(home.path()).unwrap().to_owned();
    let mut named = 0;
    for at in (0..length).step_by(usize::try_from(length / 40).unwrap()) {
        let copy = copied(&home, &folder.path().join("rotten"));
        let path = copy.path().join(&relative);
        let mut bytes = fs::read(&path).unwrap();
        bytes[usize::try_from(at).unwrap()] ^= 0xff;
        fs::write(&path, bytes).unwrap();
        let outcome = Store::open(&copy, here()).map(|(store, _)| {
            let head = store.signed_head().unwrap();
            verify(&store, &KindTable::current(), Some(&head)).map(|folded| folded.head.next)
        });
        match outcome {
            Err(_) | Ok(Err(_)) => named += 1,
            Ok(Ok(end)) => assert_eq!(end, 304, "byte {at}: a fold passed over a hole"),
        }
        fs::remove_dir_all(copy.path()).unwrap();
    }
    assert!(named > 20, "{named} of 41 were named");
}

/// A small file system of its own, where this user may mount one.
struct SmallDisk(TempDir);

impl SmallDisk {
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=96m", "tmpfs"])
            .arg(folder.path())
            .stderr(Stdio::null())
            .status();
        mounted.is_ok_and(|status| status.success()).then_some(Self(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_is_a_clear_error_and_a_clean_start_once_there_is_room() {
    let Some(disk) = SmallDisk::mount() else {
        println!("skipped: only root may mount a file system");
        return;
    };
    let home = Home::new(disk.0.path().join("home"));
    Store::init(&home, &here(), 1_000).unwrap();
    let (mut store, _) = Store::open(&home, here()).unwrap();
    append(&mut store, &home, 5);
    let filler = disk.0.path().join("filler");
    let mut file = fs::File::create(&filler).unwrap();
    while std::io::Write::write_all(&mut file, &[7; 65_536]).is_ok() {}
    drop(file);
    let proxy = KeyFiles::new(home.clone()).signing(Stream::Proxy).unwrap();
    let mut answered = store.head().next;
    let mut writer = Writer::new(&mut store, proxy);
    let error = loop {
        let closed = TurnClosed { ending: Ending::Aborted, attempts: 1, bytes_sent: None };
        let written =
            writer.push(answered, subject(answered), &closed).and_then(|()| writer.flush());
        match written {
            Ok(()) => answered += 1,
            Err(error) => break error.to_string(),
        }
        assert!(answered < 1_000_000, "the disk never got full");
    };
    assert!(
        error.contains("No space left on device") || error.contains("storage engine failed"),
        "{error}"
    );
    assert!(store.close().is_err(), "nothing is built upon a failed append");
    fs::remove_file(&filler).unwrap();
    let (mut store, opened) = Store::open(&home, here()).unwrap();
    assert!(opened.lost.is_none());
    assert_eq!(store.head().next, answered, "everything answered, and nothing in part");
    verified(&store);
    append(&mut store, &home, 5);
    store.close().unwrap();
}

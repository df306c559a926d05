//! The store on real fjall: kills, damage, cuts. What was answered is there, or its absence is named.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use events::head::SignedHead;
use events::kind::KindTable;
use events::log::Log as _;
use events::payload::{Ending, Stream, TurnClosed};
use ferry::store::head::{Refusal, Voucher};
use ferry::store::{Home, KeyFiles, Promise, Settings, Store, StoreError};
use replay::fold::verify;
use replay::writer::Writer;
use tempfile::TempDir;

use crate::build::subject;

/// Settings of the running boot, without a witness.
fn here() -> Settings {
    Settings { witness: None, ..Settings::from_system(Promise::Process) }
}

/// Settings as after the machine was switched off and on.
fn next_boot() -> Settings {
    Settings { boot: events::bytes::Bytes([7; 16]), ..here() }
}

fn made() -> (TempDir, Home) {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::new(folder.path().join("home"));
    Store::init(&home, &here(), 1_000).unwrap();
    (folder, home)
}

/// Appends batches of one event each, `count` of them.
fn append(store: &mut Store, home: &Home, count: u64) {
    let proxy = KeyFiles::new(home.clone()).signing(Stream::Proxy).unwrap();
    let start = store.head().next;
    let mut writer = Writer::new(store, proxy);
    for number in start..start + count {
        let closed = TurnClosed { ending: Ending::Aborted, attempts: 1, bytes_sent: Some(number) };
        writer.push(number, subject(number), &closed).unwrap();
        writer.flush().unwrap();
    }
}

fn verified(store: &Store) -> SignedHead {
    let head = store.signed_head().unwrap();
    verify(store, &KindTable::current(), Some(&head)).unwrap();
    head
}

/// Copies a whole home, as a backup or a disk would have it.
fn copied(home: &Home, to: &Path) -> Home {
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

fn journals(home: &Home) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(home.ledger())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jnl"))
        .collect();
    found.sort();
    found
}

fn refused(home: &Home) -> StoreError {
    match Store::open(home, here()) {
        Err(error) => error,
        Ok(_) => panic!("the store opened"),
    }
}

#[test]
fn a_new_ledger_opens_goes_on_and_opens_again() {
    let (_folder, home) = made();
    assert!(matches!(Store::init(&home, &here(), 1_000), Err(StoreError::Exists { .. })));
    for round in 0..3 {
        let (mut store, opened) = Store::open(&home, here()).unwrap();
        assert!(opened.lost.is_none());
        assert!(opened.was_clean);
        assert_eq!(store.head().next, 4 + round * 10);
        append(&mut store, &home, 10);
        verified(&store);
        assert!(matches!(refused(&home), StoreError::Busy), "one owner at a time");
        store.close().unwrap();
    }
}

#[test]
fn a_dropped_store_is_an_unclean_stop_and_loses_nothing() {
    let (_folder, home) = made();
    let (mut store, _) = Store::open(&home, here()).unwrap();
    append(&mut store, &home, 25);
    let head = store.head();
    drop(store);
    let (store, opened) = Store::open(&home, here()).unwrap();
    assert!(!opened.was_clean);
    assert_eq!(store.head(), head);
    verified(&store);
    assert!(home.journal_before().exists(), "the journal was copied aside");
}

#[test]
fn a_sync_vouches_for_everything_before_it() {
    let (_folder, home) = made();
    for promise in [Promise::Process, Promise::Power] {
        let (mut store, _) = Store::open(&home, Settings { promise, ..here() }).unwrap();
        append(&mut store, &home, 30);
        assert_eq!(store.sync().unwrap(), store.head());
        assert_eq!(store.synced(), Some(store.head()));
        store.close().unwrap();
    }
}

#[test]
fn keys_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_folder, home) = made();
    for entry in fs::read_dir(home.keys()).unwrap() {
        let mode = entry.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let node = home.keys().join("node.key");
    fs::set_permissions(&node, fs::Permissions::from_mode(0o644)).unwrap();
    let error = refused(&home).to_string();
    assert!(error.contains("others may read it; run chmod 600 on it"), "{error}");
    fs::set_permissions(&node, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&node, [1; 31]).unwrap();
    assert!(refused(&home).to_string().contains("is 31 bytes long instead of 32"));
}

#[test]
fn an_older_store_under_newer_heads_is_rolled_back() {
    let (folder, home) = made();
    let (mut store, _) = Store::open(&home, here()).unwrap();
    append(&mut store, &home, 10);
    store.close().unwrap();
    let older = copied(&home, &folder.path().join("older"));
    let (mut store, _) = Store::open(&home, here()).unwrap();
    append(&mut store, &home, 10);
    store.close().unwrap();
    fs::remove_dir_all(home.ledger()).unwrap();
    fs::rename(older.ledger(), home.ledger()).unwrap();
    match refused(&home) {
        StoreError::Head(Refusal::RolledBack { have: 14, promised: 24, .. }) => {}
        other => panic!("{other}"),
    }
    // Until somebody accepts it: then the ledger goes on from what is there, and says what is missing.
    let (store, accepted) = Store::accept_loss(&home, here()).unwrap().unwrap();
    assert_eq!((accepted.lost.from, accepted.lost.to), (14, 24));
    verified(&store);
    store.close().unwrap();
    let (store, opened) = Store::open(&home, here()).unwrap();
    assert_eq!((store.head().next, opened.lost), (15, None));
    drop(store);
    assert!(Store::accept_loss(&home, here()).unwrap().is_none(), "there is nothing to accept");
    fs::remove_dir_all(home.ledger()).unwrap();
    match refused(&home) {
        StoreError::Head(Refusal::RolledBack { have: 0, promised: 15, .. }) => {}
        other => panic!("{other}"),
    }
}

#[test]
fn another_past_of_the_same_ledger_is_forked() {
    let (folder, home) = made();
    let fork = copied(&home, &folder.path().join("fork"));
    let write = |home: &Home, ending: Ending| {
        let (mut store, _) = Store::open(home, here()).unwrap();
        let proxy = KeyFiles::new(home.clone()).signing(Stream::Proxy).unwrap();
        let mut writer = Writer::new(&mut store, proxy);
        for number in 0..6 {
            let closed = TurnClosed { ending, attempts: 1, bytes_sent: None };
            writer.push(number, subject(number), &closed).unwrap();
            writer.flush().unwrap();
        }
        store.close().unwrap();
    };
    write(&home, Ending::Aborted);
    write(&fork, Ending::Failed);
    fs::remove_dir_all(home.ledger()).unwrap();
    fs::rename(fork.ledger(), home.ledger()).unwrap();
    let error = refused(&home);
    assert!(matches!(error, StoreError::Head(Refusal::Forked { at: 10, have: 10, .. })), "{error}");
}

#[test]
fn missing_torn_and_foreign_heads_are_named() {
    let (folder, home) = made();
    let (mut store, _) = Store::open(&home, here()).unwrap();
    append(&mut store, &home, 5);
    store.close().unwrap();
    let with_head = |name: &str, change: &dyn Fn(&Path)| {
        let copy = copied(&home, &folder.path().join(name));
        change(&copy.head());
        copy
    };
    let gone = with_head("gone", &|head| fs::remove_dir_all(head).unwrap());
    assert!(matches!(refused(&gone), StoreError::Head(Refusal::HeadMissing(_))));
    let no_run = with_head("no-run", &|head| fs::remove_file(head.join("run")).unwrap());
    assert!(
        matches!(refused(&no_run), StoreError::Head(Refusal::HeadMissing(_))),
        "this boot synced"
    );
    for name in ["sync.a", "sync.b"] {
        let one_torn = with_head(name, &|head| {
            let mut bytes = fs::read(head.join(name)).unwrap();
            bytes.resize(228, 0);
            bytes[70] ^= 1;
            fs::write(head.join(name), bytes).unwrap();
        });
        assert!(Store::open(&one_torn, here()).is_ok(), "the other one is whole");
    }
    let (_other_folder, other) = made();
    let foreign = with_head("foreign", &|head| {
        fs::copy(other.head().join("sync.a"), head.join("sync.a")).unwrap();
        fs::copy(other.head().join("sync.b"), head.join("sync.b")).unwrap();
    });
    let error = refused(&foreign);
    assert!(matches!(error, StoreError::Head(Refusal::HeadMissing(_))), "no key of ours: {error}");
}

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
    // A byte of every few, all over what is used: tags, lengths, counts, seqnos, keys, values, checksums.
    for at in (0..used).step_by(61) {
        let copy = copied(&home, &folder.path().join("damaged"));
        let mut damaged = bytes.clone();
        damaged[at] ^= 0xff;
        fs::write(journals(&copy).pop().unwrap(), damaged).unwrap();
        match Store::open(&copy, here()) {
            Err(_) => refusals += 1,
            Ok((store, opened)) => {
                assert!(opened.lost.is_none());
                assert_eq!(store.head().next, 24, "byte {at}: opened without everything answered");
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
    drop(store);
    fs::remove_file(&filler).unwrap();
    let (mut store, opened) = Store::open(&home, here()).unwrap();
    assert!(opened.lost.is_none());
    assert_eq!(store.head().next, answered, "everything answered, and nothing in part");
    verified(&store);
    append(&mut store, &home, 5);
    store.close().unwrap();
}

const CHILD: &str = "FERRY_TEST_KILLED_CHILD";

/// Not a test of its own: the process that is killed, when the environment says so.
#[test]
fn child_that_appends_until_it_is_killed() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let home = Home::new(path);
    let (mut store, opened) = Store::open(&home, here()).unwrap();
    assert!(opened.lost.is_none());
    println!("answered {}", store.head().next);
    loop {
        append(&mut store, &home, 1);
        println!("answered {}", store.head().next);
    }
}

/// Kills a child at a seeded moment of its answers and gives the last position it answered.
fn kill_after(home: &Home, answers: usize) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store::child_that_appends_until_it_is_killed", "--nocapture"])
        .env(CHILD, home.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut last = None;
    for _ in 0..answers {
        let answer = lines.by_ref().map(Result::unwrap).find_map(position);
        last = last.max(answer);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // What it answered before the kill and we had not read yet counts, too.
    last.max(lines.map_while(Result::ok).filter_map(position).max()).unwrap()
}

fn position(line: String) -> Option<u64> {
    line.strip_prefix("answered ")?.parse().ok()
}

/// Kills, reopens and checks, `rounds` times on one folder.
fn kill_rounds(rounds: usize) {
    let (_folder, home) = made();
    for round in 0..rounds {
        let answered = kill_after(&home, 1 + (round * 37) % 120);
        let (store, opened) = Store::open(&home, here()).unwrap();
        assert!(store.head().next >= answered, "round {round}: an answered event is gone");
        assert!(opened.lost.is_none());
        verified(&store);
        if round % 3 == 0 {
            store.close().unwrap();
        }
    }
}

// Law 3, `process`: 20 rounds here, 200 with FERRY_LONG=1.
#[test]
fn law_3_nothing_answered_is_lost_by_kill_9() {
    let long = std::env::var_os("FERRY_LONG").is_some();
    for _ in 0..if long { 20 } else { 2 } {
        kill_rounds(10);
    }
}

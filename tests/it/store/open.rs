//! Opening, closing, and what is refused.

use std::fs;
use std::path::Path;

use events::log::ReadLog as _;
use events::payload::{Ending, Stream, TurnClosed};
use ferry::store::head::Refusal;
use ferry::store::{Home, KeyFiles, Promise, Settings, Store, StoreError};
use replay::writer::Writer;

use crate::build::subject;

use super::{append, copied, here, made, refused, verified};

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

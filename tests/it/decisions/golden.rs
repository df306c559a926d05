//! The golden log: decisions as this version made them once, made again by every build after it.
//!
//! `FERRY_BLESS=1` writes it anew; that is a decision: [`projections::decide::VERSION`] or the world's version rises with
//! it, and CHANGELOG.md says so.

use std::path::{Path, PathBuf};

use events::admission::admit;
use events::batch::SignedBatch;
use events::entry::Entry;
use events::kind::KindTable;
use events::log::{Log as _, ReadLog as _};
use events::memory::MemoryLog;
use events::sign::Verifier;
use projections::projection::Projection as _;
use projections::world::World;
use replay::fold::{Fold, Signatures};
use replay::redecide::{Redecided, Start, redecide};
use replay::synth::{Synth, decider, ledger_id};
use serde_bytes::ByteBuf;

const SEED: u64 = 2_026;
const TURNS: u64 = 600;

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file)
}

fn blesses() -> bool {
    std::env::var_os("FERRY_BLESS").is_some()
}

/// The stored batches, as they were written.
fn golden_log() -> MemoryLog {
    let file = path("decisions.msgpack");
    if blesses() {
        let mut log = MemoryLog::new(ledger_id(SEED));
        Synth { turns: TURNS, seed: SEED }.write(&mut log, &mut |_| {}).unwrap();
        let stored: Vec<ByteBuf> =
            log.stored().values().map(|bytes| ByteBuf::from(bytes.clone())).collect();
        std::fs::write(&file, rmp_serde::to_vec(&stored).unwrap()).unwrap();
    }
    let stored: Vec<ByteBuf> = rmp_serde::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let (ledger, kinds) = (ledger_id(SEED), KindTable::current());
    let mut log = MemoryLog::new(ledger);
    for bytes in stored {
        let (entry, _, batch) = Entry::split(&bytes).unwrap();
        let signed = SignedBatch { signature: entry.signature, bytes: batch.to_vec() };
        let batch = admit(signed, &ledger, &kinds, &mut Verifier::new()).unwrap();
        log.append(&[batch], entry.received).unwrap();
    }
    log
}

fn again(log: &MemoryLog, start: Start) -> Redecided {
    redecide(log, &KindTable::current(), decider(SEED), start, &mut || {}).unwrap()
}

// Law 6, release by release.
#[test]
fn law_6_the_golden_log_is_decided_as_it_was() {
    let log = golden_log();
    let whole = again(&log, Start { snapshot: None, since: 0 });
    assert_eq!(whole.differences, [], "raise projections::decide::VERSION, then FERRY_BLESS=1");
    assert_eq!(whole.not_remade, []);
    let text = serde_json::to_string_pretty(&whole).unwrap() + "\n";
    let file = path("decisions.json");
    if blesses() {
        std::fs::write(&file, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    assert!(whole.dispatches > 400 && whole.refusals > 10 && whole.charges > 400);
}

// Whatever snapshot it begins at, making decisions again gives the same bytes.
#[test]
fn law_6_the_golden_log_gives_the_same_from_every_snapshot() {
    let log = golden_log();
    let kinds = KindTable::current();
    let mut fold = Fold::genesis(&kinds, Signatures::Trust, log.head().ledger);
    let mut snapshots = Vec::new();
    fold.read_passing(&log, &mut |_, _, _| {}, &mut |head, world| {
        snapshots.push((world.snapshot(), *head));
        Ok(())
    })
    .unwrap();
    let received = |position: u64| {
        let (_, stored) = log.stored().range(..=position).next_back().unwrap();
        Entry::split(stored).unwrap().0.received
    };
    let since = received(log.head().next / 2);
    let plain = again(&log, Start { snapshot: None, since });
    assert!(plain.dispatches > 100);
    let mut used = 0;
    for (snapshot, head) in &snapshots {
        let world = World::restore(snapshot).unwrap();
        // The log's clock is set back once: what comes before a snapshot may have been taken in later.
        if world.counts.latest < since {
            used += 1;
            assert_eq!(again(&log, Start { snapshot: Some((world, *head)), since }), plain);
        }
    }
    assert!(used > 5);
}

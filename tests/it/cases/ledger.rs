//! The ledger: identity, old events, order, signatures.

use events::event::{Body, Events};
use events::kind::{Kind, KindSpec, KindTable, PayloadError};
use events::log::{Log as _, ReadLog as _};
use events::memory::MemoryLog;
use events::payload::{Ending, Name, RawPairs, Stream, TurnClosed};
use events::usage::{Convention, RawUsage, UsageMarks};
use events::version;
use projections::projection::{Projection as _, SnapshotError};
use projections::world::World;
use replay::book_file::BookFile;
use replay::fold::Wrong;

use crate::build::{
    LEDGER, admitted, append, author, folded, head_of, key, opened, result, signed, subject, turn,
    usage,
};

#[test]
fn case_71_the_same_batch_is_stored_once_however_late() {
    let mut log = opened();
    let mut proxy = author(2);
    let e1 = admitted(signed(&mut proxy, &[(1, 1, &turn(1, "acme/m1"))]));
    let position = log.append(std::slice::from_ref(&e1), 1).unwrap()[0];
    assert!(log.append(std::slice::from_ref(&e1), 2).unwrap()[0].repeated);
    let closed = TurnClosed { ending: Ending::Failed, attempts: 1, bytes_sent: None };
    for batch in 0..500_u64 {
        let mut events = Events::new();
        for event in 0..1_000 {
            events.push(batch, subject(batch * 1_000 + event + 10), &closed).unwrap();
        }
        log.append(&[admitted(proxy.seal(events).unwrap())], batch).unwrap();
    }
    let head = log.head();
    let again = log.append(&[e1], 3).unwrap()[0];
    assert_eq!((again.first, again.repeated), (position.first, true));
    assert_eq!(log.head(), head);
    let mut forger = author(2);
    let other = admitted(signed(&mut forger, &[(1, 1, &turn(2, "acme/m2"))]));
    let refused = log.append(&[other], 4).unwrap_err().to_string();
    assert!(refused.contains("has written another batch 0 already"), "{refused}");
}

/// The turn-closed of an imaginary older ferry, which did not count bytes.
#[derive(serde::Serialize, serde::Deserialize)]
struct TurnClosedV1 {
    ending: Ending,
    attempts: u16,
}

impl From<TurnClosedV1> for TurnClosed {
    fn from(old: TurnClosedV1) -> Self {
        Self { ending: old.ending, attempts: old.attempts, bytes_sent: None }
    }
}

/// A build that knows two versions of turn-closed.
fn two_versions() -> KindTable {
    let mut kinds: Vec<KindSpec> = KindTable::current().kinds().to_vec();
    kinds.retain(|spec| spec.kind != Kind::TURN_CLOSED);
    kinds.push(KindSpec {
        kind: Kind::TURN_CLOSED,
        name: "turn-closed",
        written_by: Stream::Proxy,
        versions: &[version!(TurnClosed, TurnClosedV1), version!(TurnClosed, TurnClosed)],
    });
    KindTable::new(kinds)
}

#[test]
fn case_73_old_events_are_upcast_and_their_bytes_never_rewritten() {
    let kinds = two_versions();
    let old = rmp_serde::to_vec(&TurnClosedV1 { ending: Ending::Failed, attempts: 3 }).unwrap();
    let new =
        rmp_serde::to_vec(&TurnClosed { ending: Ending::Failed, attempts: 3, bytes_sent: None })
            .unwrap();
    let decoded = kinds.decode(Kind::TURN_CLOSED, 1, &old).unwrap();
    assert_eq!(decoded, kinds.decode(Kind::TURN_CLOSED, 2, &new).unwrap());
    assert!(
        kinds.decode_canonical(Kind::TURN_CLOSED, 1, &old).is_ok(),
        "its own bytes are its canonical form"
    );
    assert!(kinds.decode_canonical(Kind::TURN_CLOSED, 2, &old).is_err());
    // Stored and signed as version 1, it verifies and folds in the newer build.
    let mut events = Events::new();
    events.push_raw(Kind::TURN_CLOSED, 1, 5, subject(1), &old).unwrap();
    events.push_raw(Kind(0x8fff), 9, 6, subject(2), b"whatever a later ferry says").unwrap();
    let batch = author(2).seal(events).unwrap();
    let admitted =
        events::admission::admit(batch, &LEDGER, &kinds, &mut events::sign::Verifier::new())
            .unwrap();
    let mut log = opened();
    log.append(&[admitted], 6).unwrap();
    let head = head_of(&log);
    let folded = replay::fold::verify(&log, &kinds, Some(&head)).unwrap();
    assert_eq!(folded.world.counts.skipped, 1, "an unknown ancillary kind is counted and skipped");
    assert_eq!(folded.world.counts.events, 3 + 2);
}

#[test]
fn case_73_an_unknown_kind_stops_the_fold_and_an_old_snapshot_is_discarded() {
    let mut later: Vec<KindSpec> = KindTable::current().kinds().to_vec();
    later.push(KindSpec {
        kind: Kind(77),
        name: "future-thing",
        written_by: Stream::Proxy,
        versions: &[version!(TurnClosed, TurnClosed)],
    });
    let later = KindTable::new(later);
    let payload =
        rmp_serde::to_vec(&TurnClosed { ending: Ending::Failed, attempts: 3, bytes_sent: None })
            .unwrap();
    let mut events = Events::new();
    events.push_raw(Kind(77), 1, 5, subject(1), &payload).unwrap();
    let batch = author(2).seal(events).unwrap();
    let admitted =
        events::admission::admit(batch, &LEDGER, &later, &mut events::sign::Verifier::new())
            .unwrap();
    let mut log = opened();
    log.append(&[admitted], 6).unwrap();
    let fault = folded(&log, &head_of(&log)).unwrap_err();
    assert_eq!(fault.at, 3);
    assert!(fault.what.needs_newer_ferry());
    assert_eq!(
        fault.what,
        Wrong::Payload { index: 0, error: PayloadError::UnknownKind { kind: 77 } }
    );
    let old = rmp_serde::to_vec(&("world", 0_u32, ())).unwrap();
    assert!(matches!(World::restore(&old), Err(SnapshotError::OtherVersion { .. })));
}

#[test]
fn case_74_the_order_of_a_book_or_a_map_reaches_no_result() {
    let engines = ["b/x", "a/x", "c/x"];
    let price = r#"{ "input": "1", "output": "2" }"#;
    let digests: Vec<_> = [[0, 1, 2], [2, 1, 0], [1, 0, 2]]
        .iter()
        .map(|order| {
            let entries: Vec<String> = order.iter().map(|i| format!("\"{}\": {price}", engines[*i])).collect();
            let json = format!(
                r#"{{"source":"s","dated":"2026-01-01","unit":"USD per 1,000,000 tokens","engines":{{{}}}}}"#,
                entries.join(",")
            );
            let names: Vec<String> = BookFile::parse(json.as_bytes()).unwrap().prices().map(|price| price.engine.to_string()).collect();
            names
        })
        .collect();
    assert!(digests.iter().all(|names| *names == ["a/x", "b/x", "c/x"]));
    let mut log = opened();
    append(
        &mut log,
        &mut author(2),
        &[(0, 1, &turn(1, "b/x")), (0, 2, &turn(2, "a/x")), (0, 3, &turn(3, "c/x"))],
    );
    let digest = |log: &MemoryLog| folded(log, &head_of(log)).unwrap().0.world.digest();
    let first = digest(&log);
    assert!((0..1_000).all(|_| digest(&log) == first));
}

#[test]
fn case_77_signatures_cover_stored_bytes_and_integers_stay_whole() {
    // What JSON canonicalisation disagrees about cannot be in an event: names are printable ASCII.
    for text in ["caf\u{e9} \u{2265}", "\u{1f600}", "\u{e000}", ""] {
        assert!(Name::new(text).is_err(), "{text:?}");
    }
    let raw = RawUsage::from_object(&mut serde_json::Deserializer::from_str(
        "{\"\u{1f600}\":1,\"\u{e000}\":2,\"x\":1e-7,\"n\":9007199254740993,\"s\":\"caf\u{e9}\"}",
    ))
    .unwrap();
    assert_eq!(raw.pairs().collect::<Vec<_>>(), [("n", 9_007_199_254_740_993)]);
    assert!(raw.normalise(Convention::OpenAi).marks.contains(UsageMarks::RAW_TRUNCATED));
    let mut served = result(0, "acme/m1", usage(1, 1));
    served.raw_usage = RawPairs::of(&raw);
    let batch = signed(&mut author(2), &[(0, 1, &served)]);
    let header = &batch.bytes[..events::batch::HEADER_BYTES];
    let mut verifier = events::sign::Verifier::new();
    verifier
        .verify(&key(2).public(), events::sign::BATCH_PREFIX, header, &batch.signature)
        .unwrap();
    assert_eq!(
        batch.signature,
        key(2).sign(events::sign::BATCH_PREFIX, header),
        "signing again gives the same bytes"
    );
    let parsed = events::batch::Batch::parse(&batch.bytes).unwrap();
    let Ok(Body::Result(stored)) = parsed.events().next().unwrap().decode(&KindTable::current())
    else {
        panic!("no result")
    };
    assert_eq!(stored.raw_usage.pairs()[0].1, 9_007_199_254_740_993);
}

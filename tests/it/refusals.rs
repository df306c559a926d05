//! Every refusal has its own name, and no input makes a decoder panic.

use events::admission::{Refusal, admit};
use events::batch::{Batch, BatchError, BatchHeader, HEADER_BYTES, SignedBatch};
use events::bytes::Bytes;
use events::entry::Entry;
use events::event::{EventError, Events};
use events::head::SignedHead;
use events::ids::AuthorId;
use events::kind::{Kind, KindTable, PayloadError};
use events::limits::{BATCH_EVENTS_MAX, EVENT_BYTES_MAX};
use events::sign::{SignError, Verifier};
use events::usage::Usage;
use projections::projection::Projection as _;
use projections::world::World;
use proptest::prelude::*;
use replay::book_file::{BookFile, BookFileError};

use crate::build::{LEDGER, author, result, signed, subject, turn};
use crate::golden::examples;

fn refused(batch: SignedBatch) -> Refusal {
    admit(batch, &LEDGER, &KindTable::current(), &mut Verifier::new()).unwrap_err()
}

fn good() -> SignedBatch {
    signed(&mut author(2), &[(1, 1, &turn(1, "acme/m1"))])
}

/// A good batch under another author's name.
fn signed_as(author: AuthorId) -> SignedBatch {
    let mut batch = good();
    let header = BatchHeader { author, ..Batch::parse(&batch.bytes).unwrap().header };
    batch.bytes[..HEADER_BYTES].copy_from_slice(&header.encode());
    batch
}

#[test]
fn keys_and_signatures() {
    let why = |author: [u8; 32]| match refused(signed_as(Bytes(author))) {
        Refusal::Signature { error, .. } => error,
        other => panic!("{other}"),
    };
    let mut identity = [0; 32];
    identity[0] = 1;
    assert_eq!(why(identity), SignError::WeakKey);
    let torsion = curve25519_dalek::constants::EIGHT_TORSION[1];
    assert_eq!(why(torsion.compress().0), SignError::WeakKey);
    let mixed = curve25519_dalek::constants::ED25519_BASEPOINT_POINT + torsion;
    assert_eq!(why(mixed.compress().0), SignError::MixedOrderKey);
    let no_point = (2..=255)
        .map(|byte| {
            let mut key = [0; 32];
            key[0] = byte;
            key
        })
        .find(|key| curve25519_dalek::edwards::CompressedEdwardsY(*key).decompress().is_none());
    assert_eq!(why(no_point.unwrap()), SignError::NotAKey);
    assert_eq!(why(crate::build::key(3).public().0), SignError::BadSignature);
}

#[test]
fn ledgers_batches_and_kinds() {
    let mut elsewhere = events::batch::Author::new(
        crate::build::key(2),
        Bytes([8; 32]),
        events::batch::AuthorTip::default(),
    );
    let foreign = signed(&mut elsewhere, &[(1, 1, &turn(1, "acme/m1"))]);
    assert!(matches!(refused(foreign), Refusal::ForeignLedger { .. }));

    let raw = |kind, version, payload: &[u8]| {
        let mut events = Events::new();
        events.push_raw(kind, version, 1, subject(1), payload).unwrap();
        author(2).seal(events).unwrap()
    };
    let unknown = refused(raw(Kind(77), 1, b"\xc0"));
    assert_eq!(
        unknown,
        Refusal::Payload { index: 0, error: PayloadError::UnknownKind { kind: 77 } }
    );
    let newer = refused(raw(Kind::TURN, 2, b"\xc0"));
    assert_eq!(
        newer,
        Refusal::Payload {
            index: 0,
            error: PayloadError::NewerVersion { name: "turn", version: 2, newest: 1 }
        }
    );
    let zero = refused(raw(Kind::TURN, 0, b"\xc0"));
    assert!(matches!(
        zero,
        Refusal::Payload { error: PayloadError::Malformed { version: 0, .. }, .. }
    ));
    assert!(matches!(
        refused(raw(Kind::TURN, 1, b"\xc0")),
        Refusal::Payload { error: PayloadError::Malformed { name: "turn", .. }, .. }
    ));
    // An unknown ancillary kind, and a newer version of a known one, are admitted as they are.
    for (kind, version) in [(Kind(0x8fff), 1), (Kind::IMPORT, 9)] {
        let batch = raw(kind, version, b"anything");
        assert!(admit(batch, &LEDGER, &KindTable::current(), &mut Verifier::new()).is_ok());
    }
    let mut cut = good();
    cut.bytes.pop();
    assert!(matches!(refused(cut), Refusal::Malformed(BatchError::Event { index: 0 })));
    let mut trailing = good();
    trailing.bytes.push(0);
    assert!(matches!(refused(trailing), Refusal::Malformed(BatchError::Event { index: 1 })));
    let mut format = good();
    format.bytes[1] = 2;
    assert_eq!(refused(format), Refusal::Malformed(BatchError::NeedsNewerFerry { format: 2 }));
}

// The encodings MessagePack readers accept besides the shortest one: each says the same, none is admitted.
#[test]
fn other_encodings_of_the_same_value() {
    let kinds = KindTable::current();
    let (kind, bytes) = examples()
        .into_iter()
        .find_map(|example| {
            (example.kind == Kind::TURN_CLOSED).then_some((example.kind, example.payload))
        })
        .unwrap();
    assert!(kinds.decode_canonical(kind, 1, &bytes).is_ok());
    // ending 2, attempts 3, bytes 70,000: fixint, fixint, uint 32.
    assert_eq!(bytes, [0x93, 2, 3, 0xce, 0, 1, 0x11, 0x70]);
    let longer: [&[u8]; 5] = [
        &[0x93, 0xcc, 2, 3, 0xce, 0, 1, 0x11, 0x70],
        &[0x93, 2, 0xcd, 0, 3, 0xce, 0, 1, 0x11, 0x70],
        &[0x93, 2, 3, 0xcf, 0, 0, 0, 0, 0, 1, 0x11, 0x70],
        &[0xdc, 0, 3, 2, 3, 0xce, 0, 1, 0x11, 0x70],
        &[0x93, 2, 3, 0xce, 0, 1, 0x11, 0x70, 0],
    ];
    for other in longer {
        assert_eq!(
            kinds.decode(kind, 1, other).unwrap(),
            kinds.decode(kind, 1, &bytes).unwrap(),
            "{other:x?}"
        );
        assert!(
            matches!(
                kinds.decode_canonical(kind, 1, other),
                Err(PayloadError::NotCanonical { .. })
            ),
            "{other:x?}"
        );
    }
    assert!(kinds.decode_canonical(kind, 1, &[0x93, 9, 3, 0xc0]).is_err(), "9 is no ending");
}

#[test]
fn usage_that_makes_no_sense_is_neither_written_nor_admitted() {
    let unsound = Usage { prompt: Some(100), cache_read: Some(160), ..Usage::default() };
    let mut events = Events::new();
    let outcome = events.push(1, subject(1), &result(0, "acme/m1", unsound));
    assert!(matches!(outcome, Err(EventError::Unsound { .. })));
    assert!(events.is_empty());
    // Encoded elsewhere by somebody less careful.
    let payload = rmp_serde::to_vec(&result(0, "acme/m1", unsound)).unwrap();
    events.push_raw(Kind::RESULT, 1, 1, subject(1), &payload).unwrap();
    let why = refused(author(2).seal(events).unwrap()).to_string();
    assert!(why.contains("the cached tokens are more than the prompt"), "{why}");
}

#[test]
fn limits() {
    let mut events = Events::new();
    let long = vec![0; EVENT_BYTES_MAX];
    let outcome = events.push_raw(Kind(0x8fff), 1, 1, subject(1), &long);
    assert!(matches!(outcome, Err(EventError::TooLong { .. })));
    assert!(events.is_empty(), "nothing of it is kept");
    for _ in 0..BATCH_EVENTS_MAX {
        events.push_raw(Kind(0x8fff), 1, 1, subject(1), b"").unwrap();
    }
    assert_eq!(events.push_raw(Kind(0x8fff), 1, 1, subject(1), b""), Err(EventError::BatchFull));
    let mut full = Events::new();
    let large = vec![0; EVENT_BYTES_MAX - 100];
    while full.push_raw(Kind(0x8fff), 1, 1, subject(1), &large).is_ok() {}
    assert!(full.len() < BATCH_EVENTS_MAX, "bytes are limited too");
    let batch = author(2).seal(full).unwrap();
    assert!(Batch::parse(&batch.bytes).is_ok());
    assert!(author(2).seal(Events::new()).is_none(), "an empty batch says nothing");
}

#[test]
fn price_books_name_the_field() {
    let book = |engines: &str| {
        BookFile::parse(format!(
        r#"{{"source":"s","dated":"2026-01-01","unit":"USD per 1,000,000 tokens","engines":{{{engines}}}}}"#
    ).as_bytes())
    };
    let problem = |engines: &str| book(engines).unwrap_err().to_string();
    assert!(book(r#""a/b": {"input": "0.5"}"#).is_ok());
    assert!(
        problem(r#""a/b": {"input": "-1"}"#)
            .starts_with("engines.a/b.input: '-1' is no rate (negative)")
    );
    assert!(problem(r#""a/b": {"inptu": "1"}"#).contains("unknown field `inptu`"));
    assert!(
        problem(r#""a/b": {"input": 0.5}"#).contains("expected a string"),
        "a float is not a price"
    );
    assert!(problem(r#""é": {"input": "1"}"#).contains("is no name"));
    assert!(problem(r#""a/b": {"tiers": [{"input": "1"}]}"#).contains("needs above_context"));
    assert!(
        problem(r#""a/b": {"windows": [{"from": "24:00", "to": "01:00"}]}"#)
            .contains("windows[0].from: '24:00' is no time of day")
    );
    assert!(
        problem(r#""a/b": {"input": "1"}, "a/b": {"input": "2"}"#).contains("'a/b' stands twice")
    );
    let named = |names: &str| {
        let json = format!(
            r#"{{"source":"s","dated":"2026-01-01","unit":"USD per 1,000,000 tokens","engines":{{"a/b":{{}}}},{names}}}"#
        );
        BookFile::parse(json.as_bytes()).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(
        named(r#""aliases":{"b":"a/b"},"families":[["b-","b"]],"rows":[["all","all:b"]]"#),
        Ok(())
    );
    assert_eq!(
        named(r#""aliases":{"b":"a/c"}"#),
        Err("aliases.b: 'a/c' is no engine of this book".into())
    );
    assert_eq!(
        named(r#""families":[["b-","b"]]"#),
        Err("families.b-: 'b' is no engine of this book".into())
    );
    assert_eq!(
        named(r#""rows":[["all","all:b"]]"#),
        Err("rows.all: 'b' is no engine of this book".into())
    );
    assert!(named(r#""rows":[["all","any:b"]]"#).unwrap_err().contains("'any:b' is no strategy"));
    assert!(matches!(BookFile::parse(b"{"), Err(BookFileError::Json(_))));
    let dated =
        br#"{"source":"s","dated":"yesterday","unit":"USD per 1,000,000 tokens","engines":{}}"#;
    assert!(
        BookFile::parse(dated)
            .unwrap_err()
            .to_string()
            .contains("'yesterday' is no day; write it as YYYY-MM-DD")
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_never_panic_a_decoder(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let kinds = KindTable::current();
        let _ = Batch::parse(&bytes);
        let _ = Entry::split(&bytes);
        let _ = World::restore(&bytes);
        let _ = BookFile::parse(&bytes);
        if let Some(head) = SignedHead::parse(&bytes) {
            prop_assert_eq!(head.encode(), bytes.clone());
            let _ = head.check(&mut Verifier::new());
        }
        for spec in kinds.kinds() {
            for version in 0..3 {
                let _ = kinds.decode(spec.kind, version, &bytes);
                let _ = kinds.decode_canonical(spec.kind, version, &bytes);
            }
        }
    }

    // Structure-aware: goldens with bytes changed, cut and added. What is accepted re-encodes to itself.
    #[test]
    fn accepted_bytes_re_encode_to_themselves(
        which in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..3), 0..4),
    ) {
        let kinds = KindTable::current();
        let all = examples();
        let example = which.get(&all);
        let mut bytes = example.payload.clone();
        for (at, byte, edit) in edits {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match edit {
                0 => bytes[at] = byte,
                1 => { bytes.remove(at); }
                _ => bytes.insert(at, byte),
            }
        }
        if kinds.decode_canonical(example.kind, 1, &bytes).is_ok() {
            let body = kinds.decode(example.kind, 1, &bytes).unwrap();
            prop_assert_eq!(crate::golden::encoded(&body), bytes);
        }
    }

    #[test]
    fn damaged_batches_never_panic(at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
        let mut batch = good();
        let index = at.index(batch.bytes.len());
        batch.bytes[index] = byte;
        batch.bytes.truncate(cut.index(batch.bytes.len() + 1).max(index + 1));
        let _ = admit(batch, &LEDGER, &KindTable::current(), &mut Verifier::new());
    }
}

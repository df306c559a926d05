//! The numbered laws of docs/invariants.md, on the log in memory.

use std::collections::BTreeMap;

use events::bytes::Bytes;
use events::event::{Body, Events};
use events::head::SignedHead;
use events::kind::KindTable;
use events::log::{Log as _, ReadLog as _};
use events::memory::{MemoryLog, Stored};
use events::money::Pico;
use events::payload::{
    Actor, ActorChange, Amend, AmendReason, Booking, Ending, Finish, Name, Parts, Stream,
    TurnClosed, TurnFacts,
};
use events::usage::Usage;
use projections::gather::{Gather, Window};
use projections::projection::{Located, Projection};
use projections::world::{Effect, World};
use proptest::prelude::*;
use replay::book_file::BookFile;
use replay::fold::{Checks, FoldError, Signatures, Wrong, fold};
use replay::writer::Writer;

use crate::build::{
    LEDGER, Push, admitted, append, ask, author, charge, dispatch, folded, head_of, key, opened,
    result, signed, subject, turn, usage,
};

const MODELS: [&str; 3] = ["acme/m1", "acme/m2", "claude-opus-4-5-20251101"];

/// Something an author says.
#[derive(Clone, Debug)]
enum Said {
    Turn { about: u64, at: u64, model: usize, asks: bool },
    Dispatch { about: u64, at: u64, attempt: u16, model: usize, reserved: Option<i64> },
    Result { about: u64, at: u64, attempt: u16, model: usize, usage: Usage, charged: Option<i64> },
    Amend { about: u64, at: u64, replaces: Usage, usage: Usage },
    Closed { about: u64, at: u64 },
    Actor { seed: u8, change: ActorChange, replaces: Option<u8> },
}

impl Said {
    fn push(&self, events: &mut Events) {
        match self {
            Self::Turn { about, at, model, asks } => {
                let conversation = u8::try_from(about % 3).unwrap();
                let mut turn = turn(conversation, MODELS[*model]);
                turn.ask = asks.then(|| ask(*about));
                turn.push(events, *at, subject(*about));
            }
            Self::Dispatch { about, at, attempt, model, reserved } => {
                let amount = reserved.map(|pico| Pico(pico.into()));
                dispatch(*attempt, MODELS[*model], amount).push(events, *at, subject(*about));
            }
            Self::Result { about, at, attempt, model, usage, charged } => {
                let mut served = result(*at / 2, MODELS[*model], *usage);
                served.attempt = *attempt;
                served.charge = charged.map(charge);
                served.push(events, *at, subject(*about));
            }
            Self::Amend { about, at, replaces, usage } => Amend {
                attempt: 0,
                engine: Name::new(MODELS[0]).unwrap(),
                turn_at: *at / 2,
                replaces: *replaces,
                usage: *usage,
                turn: (at % 3 == 0).then(|| TurnFacts {
                    was_at: *at,
                    conversation: Bytes([u8::try_from(at % 5).unwrap(); 16]),
                    subagent: None,
                    news: Some(Parts::TEXT),
                    prefix_tokens: Some(7),
                    parts: None,
                    finish: Finish::EndTurn,
                }),
                booking: (at % 2 == 0).then(|| Booking {
                    dispatched: *at,
                    engine: Name::new(MODELS[1]).unwrap(),
                    conversation: Bytes([u8::try_from(at % 3).unwrap(); 16]),
                    harness: None,
                    project: None,
                    kind: None,
                    was: charge(1_000),
                    now: charge(3_000),
                }),
                reason: AmendReason::SourceGrew,
            }
            .push(events, *at, subject(*about)),
            Self::Closed { about, at } => {
                TurnClosed { ending: Ending::Aborted, attempts: 1, bytes_sent: Some(*at) }.push(
                    events,
                    *at,
                    subject(*about),
                );
            }
            Self::Actor { seed, change, replaces } => Actor {
                key: key(*seed).public(),
                stream: Stream::Proxy,
                change: *change,
                replaces: replaces.map(|seed| key(seed).public()),
            }
            .push(events, 0, subject(0)),
        }
    }
}

fn any_usage() -> impl Strategy<Value = Usage> {
    (
        prop::option::of(0_u32..500_000),
        prop::option::of(0_u32..9_000),
        prop::option::of(0_u32..9_000),
    )
        .prop_map(|(prompt, output, cache_read)| {
            let cache_read = cache_read.map(|read| read.min(prompt.unwrap_or(read)));
            Usage { prompt, output, cache_read, ..Usage::default() }
        })
}

fn said() -> impl Strategy<Value = Said> {
    let changes = [ActorChange::Enrolled, ActorChange::Retired, ActorChange::Rotated];
    prop_oneof![
        4 => (0_u64..8, 0_u64..1_400_000_000, 0_usize..3, any::<bool>())
            .prop_map(|(about, at, model, asks)| Said::Turn { about, at, model, asks }),
        3 => (0_u64..8, 0_u64..400_000_000, 0_u16..3, 0_usize..3, prop::option::of(0_i64..9_000_000))
            .prop_map(|(about, at, attempt, model, reserved)| Said::Dispatch { about, at, attempt, model, reserved }),
        4 => (0_u64..8, 0_u64..400_000_000, 0_u16..3, 0_usize..3, any_usage(), prop::option::of(0_i64..9_000_000))
            .prop_map(|(about, at, attempt, model, usage, charged)| {
                Said::Result { about, at, attempt, model, usage, charged }
            }),
        2 => (0_u64..8, 0_u64..400_000_000, any_usage(), any_usage())
            .prop_map(|(about, at, replaces, usage)| Said::Amend { about, at, replaces, usage }),
        1 => (0_u64..8, 0_u64..400_000_000).prop_map(|(about, at)| Said::Closed { about, at }),
        1 => (1_u8..7, prop::sample::select(changes.to_vec()), prop::option::of(1_u8..7))
            .prop_map(|(seed, change, replaces)| Said::Actor { seed, change, replaces }),
    ]
}

/// Batches of authors 1 (node), 2, 3 (proxies) and 4 (a stranger).
fn batches() -> impl Strategy<Value = Vec<(u8, Vec<Said>)>> {
    prop::collection::vec((1_u8..5, prop::collection::vec(said(), 1..6)), 1..12)
}

fn log_of(batches: &[(u8, Vec<Said>)]) -> MemoryLog {
    let mut log = opened();
    for (who, said) in batches {
        let mut events = Events::new();
        said.iter().for_each(|said| said.push(&mut events));
        let mut author =
            events::batch::Author::new(key(*who), LEDGER, log.tip(&key(*who).public()));
        log.append(&[admitted(author.seal(events).unwrap())], 7).unwrap();
    }
    log
}

fn each_event(log: &MemoryLog, see: &mut dyn FnMut(&Located, &Body<'_>, Effect)) -> World {
    let kinds = KindTable::current();
    let checks = Checks { kinds: &kinds, signatures: Signatures::Check, head: None };
    fold(log, checks, see).unwrap().world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn law_1_a_fold_can_go_on_from_a_snapshot_at_every_cut(batches in batches()) {
        let log = log_of(&batches);
        // At every event: go on with a world that went through a snapshot, beside the one that did not.
        let mut resumed = World::genesis();
        let mut plain = World::genesis();
        let whole = each_event(&log, &mut |located, body, _| {
            let snapshot = resumed.snapshot();
            resumed = World::restore(&snapshot).unwrap();
            assert_eq!(resumed.snapshot(), snapshot, "a snapshot of a snapshot is itself");
            assert_eq!(resumed.tell(&located.context, body), plain.tell(&located.context, body));
            resumed.settle();
            plain.settle();
            assert_eq!(resumed.digest(), plain.digest());
        });
        prop_assert!(resumed == whole);
        prop_assert_eq!(resumed.digest(), whole.digest());
        prop_assert_eq!(resumed.snapshot(), whole.snapshot());
    }

    #[test]
    fn law_5_appending_again_changes_nothing(batches in batches(), again in any::<prop::sample::Index>()) {
        let mut log = log_of(&batches);
        let stored: Vec<(u64, Vec<u8>)> = log.stored().iter().map(|(first, bytes)| (*first, bytes.clone())).collect();
        let (first, bytes) = again.get(&stored);
        let (entry, _, batch) = events::entry::Entry::split(bytes).unwrap();
        let batch = events::batch::SignedBatch { signature: entry.signature, bytes: batch.to_vec() };
        let head = log.head();
        let receipts = log.append(&[admitted(batch)], 99).unwrap();
        prop_assert_eq!((receipts[0].first, receipts[0].repeated), (*first, true));
        prop_assert_eq!(log.head(), head);
        prop_assert_eq!(log.stored().len(), stored.len());
    }

    #[test]
    fn law_8_and_9_gathered_turns_do_not_depend_on_how_authors_interleave(
        two in prop::collection::vec(prop::collection::vec(said(), 1..6), 0..6),
        three in prop::collection::vec(prop::collection::vec(said(), 1..6), 0..6),
        order in prop::collection::vec(any::<bool>(), 12),
    ) {
        // Changes of keys are the node's; here only the two proxies speak.
        let of = |who: u8, batches: &[Vec<Said>]| -> Vec<(u8, Vec<Said>)> {
            batches.iter().map(|said| (who, said.clone())).collect()
        };
        let (two, three) = (of(2, &two), of(3, &three));
        let one_after_the_other = [two.clone(), three.clone()].concat();
        let (mut left, mut right) = (two.into_iter(), three.into_iter());
        let mut interleaved = Vec::new();
        for first in order {
            interleaved.extend(if first { left.next() } else { right.next() });
        }
        interleaved.extend(left.chain(right));
        let gathered = |batches: &[(u8, Vec<Said>)]| -> (Window, events::ids::Digest) {
            let log = log_of(batches);
            let mut gather = Gather::new(LEDGER, true);
            let world = each_event(&log, &mut |located, body, effect| {
                if effect == Effect::Applied {
                    gather.tell(located, body);
                }
            });
            (gather.resolve().window(0, u64::MAX), world.days.digest())
        };
        prop_assert_eq!(gathered(&one_after_the_other), gathered(&interleaved));
    }
}

/// Four batches of three authors, small enough to flip every bit of.
fn small() -> (MemoryLog, SignedHead) {
    let mut log = opened();
    let closed = TurnClosed { ending: Ending::Aborted, attempts: 1, bytes_sent: None };
    append(
        &mut log,
        &mut author(2),
        &[(1, 1, &turn(1, "acme/m1")), (2, 1, &result(1, "acme/m1", usage(9, 3)))],
    );
    append(&mut log, &mut author(3), &[(3, 2, &closed)]);
    let mut again = events::batch::Author::new(key(2), LEDGER, log.tip(&key(2).public()));
    append(&mut log, &mut again, &[(4, 3, &closed), (5, 4, &closed)]);
    let head = head_of(&log);
    (log, head)
}

fn with(log: &MemoryLog, stored: Stored) -> MemoryLog {
    let mut damaged = log.clone();
    *damaged.stored_mut() = stored;
    damaged
}

#[test]
fn law_4_every_flipped_bit_is_named() {
    let (log, head) = small();
    assert!(folded(&log, &head).is_ok());
    let firsts: Vec<u64> = log.stored().keys().copied().collect();
    let mut flips = 0;
    for (first, bytes) in log.stored() {
        for bit in 0..bytes.len() * 8 {
            let mut damaged = log.clone();
            damaged.stored_mut().get_mut(first).unwrap()[bit / 8] ^= 1 << (bit % 8);
            let fault = folded(&damaged, &head).expect_err("a flipped bit went unnoticed");
            // Named where it is, or, where only the link tells, at the entry after it.
            let next = firsts.iter().find(|next| *next > first).copied().unwrap_or(head.head.next);
            assert!(fault.at == *first || fault.at == next, "bit {bit} of {first}: {fault}");
            flips += 1;
        }
    }
    assert!(flips > 10_000, "{flips}");
}

#[test]
fn law_4_every_swap_drop_and_duplicate_is_named() {
    let (log, head) = small();
    let stored: Vec<(u64, Vec<u8>)> = log.stored().clone().into_iter().collect();
    let named =
        |changed: Stored| folded(&with(&log, changed), &head).expect_err("it went unnoticed");
    for (index, (first, bytes)) in stored.iter().enumerate() {
        // Dropped, the tail included.
        let mut dropped = log.stored().clone();
        dropped.remove(first);
        let fault = named(dropped);
        if index + 1 == stored.len() {
            assert_eq!(
                (fault.at, fault.what),
                (*first, Wrong::RolledBack { promised: head.head.next })
            );
        }
        // Repeated, at every position that is free, with and without its own number.
        for at in 0..head.head.next + 3 {
            if log.stored().contains_key(&at) {
                continue;
            }
            let mut repeated = log.stored().clone();
            repeated.insert(at, bytes.clone());
            if at < head.head.next {
                named(repeated);
            } else {
                // Beyond the head nothing is promised, but links and author chains still hold.
                let kinds = KindTable::current();
                assert!(replay::fold::verify(&with(&log, repeated), &kinds, Some(&head)).is_err());
            }
        }
        // Swapped with every other.
        for (other, other_bytes) in &stored[index + 1..] {
            let mut swapped = log.stored().clone();
            swapped.insert(*first, other_bytes.clone());
            swapped.insert(*other, bytes.clone());
            named(swapped);
        }
    }
    // Without a head, a log that knows its end still notices.
    let mut short = log.stored().clone();
    short.pop_last();
    let kinds = KindTable::current();
    let fault = replay::fold::verify(&with(&log, short), &kinds, None).unwrap_err();
    assert!(fault.to_string().contains("the log says that it goes on to"), "{fault}");
    // Everything dropped.
    assert!(matches!(named(Stored::new()).what, Wrong::RolledBack { .. }));
}

#[test]
fn law_4_trusting_signatures_still_notices_every_flipped_bit() {
    let (log, head) = small();
    let kinds = KindTable::current();
    for (first, bytes) in log.stored() {
        for byte in 0..bytes.len() {
            let mut damaged = log.clone();
            damaged.stored_mut().get_mut(first).unwrap()[byte] ^= 0x10;
            let checks = Checks { kinds: &kinds, signatures: Signatures::Trust, head: Some(&head) };
            let outcome = fold(&damaged, checks, &mut |_, _, _| {});
            assert!(matches!(outcome, Err(FoldError::Fault(_))), "byte {byte} of {first}");
        }
    }
}

#[test]
fn a_head_of_another_past_ledger_or_key_is_named() {
    let (log, head) = small();
    let what = |head: &SignedHead| folded(&log, head).unwrap_err().what;
    let mut elsewhere = head.head;
    elsewhere.ledger = events::bytes::Bytes([5; 32]);
    assert!(matches!(what(&SignedHead::sign(elsewhere, &key(1))), Wrong::ForeignHead { .. }));
    let mut forked = head.head;
    forked.link = events::bytes::Bytes([5; 32]);
    assert_eq!(what(&SignedHead::sign(forked, &key(1))), Wrong::Forked);
    let mut inside = head.head;
    inside.next -= 1;
    assert_eq!(what(&SignedHead::sign(inside, &key(1))), Wrong::Forked, "no batch ends there");
    assert!(matches!(what(&SignedHead::sign(head.head, &key(2))), Wrong::HeadUnvouched { .. }));
    let mut forged = head;
    forged.signature.0[3] ^= 1;
    assert!(matches!(what(&forged), Wrong::HeadSignature(_)));
    // A head of a node key that was replaced later still vouches for what came before.
    let mut rotated = log.clone();
    let actor = Actor {
        key: key(6).public(),
        stream: Stream::Node,
        change: ActorChange::Rotated,
        replaces: Some(key(1).public()),
    };
    let mut node = events::batch::Author::new(key(1), LEDGER, rotated.tip(&key(1).public()));
    append(&mut rotated, &mut node, &[(9, 9, &actor)]);
    assert!(folded(&rotated, &head).is_ok());
    assert!(matches!(
        folded(&rotated, &head_of(&rotated)).unwrap_err().what,
        Wrong::HeadUnvouched { .. }
    ));
    // A head of an earlier position vouches for the past only: a longer log is fine.
    let earlier = {
        let mut log = opened();
        append(
            &mut log,
            &mut author(2),
            &[(1, 1, &turn(1, "acme/m1")), (2, 1, &result(1, "acme/m1", usage(9, 3)))],
        );
        head_of(&log)
    };
    assert!(folded(&log, &earlier).is_ok());
}

#[test]
fn law_9_days_follow_amends_and_strangers_have_no_effect() {
    let mut log = opened();
    let book = BookFile::parse(br#"{"source":"s","dated":"2026-01-01","unit":"USD per 1,000,000 tokens","engines":{"acme/m1":{"input":"1"}}}"#).unwrap();
    append(
        &mut log,
        &mut author(2),
        &[(1, 1, &turn(1, "acme/m1")), (2, 1, &result(1, "acme/m1", usage(9, 3)))],
    );
    // Key 4 was never enrolled: its words are stored, counted, and without effect.
    let stranger = admitted(signed(&mut author(4), &[(1, 2, &turn(1, "acme/m1"))]));
    log.append(&[stranger], 3).unwrap();
    // A proxy may not enrol keys.
    let enrol = Actor {
        key: key(4).public(),
        stream: Stream::Proxy,
        change: ActorChange::Enrolled,
        replaces: None,
    };
    append(&mut log, &mut author(3), &[(4, 4, &enrol)]);
    let mut writer = Writer::new(&mut log, key(2));
    book.write(&mut writer, 5).unwrap();
    writer.flush().unwrap();
    let (folded, window) = folded(&log, &head_of(&log)).unwrap();
    assert_eq!(folded.world.counts.without_effect, 2);
    assert_eq!(window.turns, 1);
    assert_eq!(folded.world.keyring.stream_of(&key(4).public()), None);
    assert!(folded.world.book.engine("acme/m1").is_some());
    let days: BTreeMap<_, _> = folded.world.days.iter().collect();
    assert_eq!(days[&0]["acme/m1"].turns, 1);
}

//! What every synthetic ledger keeps to.

use std::collections::{BTreeMap, BTreeSet};

use events::event::Body;
use events::ids::{AuthorId, Subject};
use events::kind::KindTable;
use events::log::ReadLog as _;
use events::memory::MemoryLog;
use events::usage::Usage;
use projections::gather::{Gather, Window};
use projections::projection::Located;
use projections::world::Effect;

use super::*;
use crate::fold::{Checks, Folded, Signatures, fold, verify};

fn written(synth: Synth) -> (MemoryLog, Written) {
    let mut log = MemoryLog::new(ledger_id(synth.seed));
    let written = synth.write(&mut log, &mut |_| {}).unwrap();
    (log, written)
}

fn folded(
    log: &MemoryLog,
    written: &Written,
    see: &mut dyn FnMut(&Located, &Body<'_>, Effect),
) -> Folded {
    let kinds = KindTable::current();
    let head = Some(&written.head);
    fold(log, Checks { kinds: &kinds, signatures: Signatures::Trust, head }, see).unwrap()
}

fn gathered(log: &MemoryLog, written: &Written) -> Window {
    let mut gather = Gather::new(written.head.head.ledger, false);
    folded(log, written, &mut |located, body, effect| {
        if effect == Effect::Applied {
            gather.tell(located, body);
        }
    });
    gather.resolve().window(0, u64::MAX)
}

#[test]
fn turns_and_seed_alone_decide_every_byte() {
    let synth = Synth { turns: 3_000, seed: 7 };
    let (log, first) = written(synth);
    let (again, second) = written(synth);
    assert_eq!((first.head, first.totals), (second.head, second.totals));
    assert_eq!(log.stored(), again.stored());
    let (_, other) = written(Synth { seed: 8, ..synth });
    assert_ne!(first.head.head.link, other.head.head.link);
}

#[test]
fn every_kind_is_there_from_a_hundred_turns_on() {
    let all: BTreeSet<u16> = KindTable::current().kinds().iter().map(|spec| spec.kind.0).collect();
    for seed in 0..20 {
        let (log, _) = written(Synth { turns: 100, seed });
        let mut found = BTreeSet::new();
        for stored in log.stored().values() {
            let (_, _, bytes) = events::entry::Entry::split(stored).unwrap();
            let batch = events::batch::Batch::parse(bytes).unwrap();
            found.extend(batch.events().map(|event| event.kind.0));
        }
        assert_eq!(found, all, "seed {seed}");
    }
}

#[test]
fn it_verifies_in_batches_of_every_size() {
    let synth = Synth { turns: 700, seed: 1 };
    for (size, longest) in [(0, 1), (1, 1), (64, 64), (256, 256), (9_999, 1_024)] {
        let mut log = MemoryLog::new(ledger_id(1));
        let mut batches = synth.batches_of(size).unwrap();
        for next in &mut batches {
            let SynthBatch { batch, received } = next.unwrap();
            assert!(batch.header().count <= longest);
            log.append(&[batch], received).unwrap();
        }
        let head = SignedHead::sign(log.head(), &keys(1).node);
        let folded = verify(&log, &KindTable::current(), Some(&head)).unwrap();
        assert_eq!(batches.totals().events, folded.head.next);
        assert_eq!(batches.totals().batches, folded.batches);
        assert_eq!(folded.world.counts.without_effect, 1, "the retired key's last word");
    }
}

#[test]
fn small_ledgers_are_whole_too() {
    for turns in 0..12 {
        let (log, written) = written(Synth { turns, seed: 3 });
        verify(&log, &KindTable::current(), Some(&written.head)).unwrap();
        assert_eq!(gathered(&log, &written).turns, turns);
    }
}

#[test]
fn gathering_finds_the_repeats_and_the_amends() {
    let (log, written) = written(Synth { turns: 20_000, seed: 5 });
    let totals = written.totals;
    let mut amended: BTreeMap<Subject, (Millis, Usage)> = BTreeMap::new();
    let mut amends = 0;
    folded(&log, &written, &mut |located, body, _| {
        if let Body::Amend(amend) = body {
            amends += 1;
            let newest = amended.entry(located.context.subject).or_default();
            if located.context.at > newest.0 {
                *newest = (located.context.at, amend.usage);
            }
        }
    });
    let window = gathered(&log, &written);
    assert_eq!(window.turns, 20_000);
    assert_eq!(window.calls.len() as u64, totals.results + totals.unanswered);
    assert_eq!((window.repeated, window.orphans), (totals.repeated, 0));
    assert_eq!((amends, window.unanswered), (totals.amends, totals.unanswered));
    assert!(totals.repeated > 1_000 && totals.amends > 400 && totals.unanswered > 20);
    assert!(amends > amended.len() as u64, "some are amended twice");
    for call in window.calls.iter().filter(|call| call.served) {
        if let Some((_, usage)) = amended.get(&call.turn) {
            assert_eq!(call.usage(), *usage);
        }
    }
}

#[test]
fn its_traffic_looks_like_traffic() {
    let (log, written) = written(Synth { turns: 20_000, seed: 5 });
    let window = gathered(&log, &written);
    assert!(window.models.iter().any(|model| model == "acme/unlisted-1"));
    assert_eq!(window.models.len(), 9);
    let conversations = window.conversations.len() as u64;
    let lanes = u64::from(window.calls.last().unwrap().lane) + 1;
    assert!(conversations > 100 && lanes > conversations * 5 / 4, "{conversations} {lanes}");
    let share = |what: &dyn Fn(&&projections::gather::Call) -> bool| {
        window.calls.iter().filter(what).count() * 100 / window.calls.len()
    };
    assert!((1..6).contains(&share(&|call| call.prompt.get().is_none())));
    assert!((5..25).contains(&share(&|call| call.prefix.get().is_none())));
    assert!((50..98).contains(&share(&|call| call.cache_read.get().is_some_and(|n| n > 0))));
    assert!(share(&|call| call.prompt.get().is_some_and(|n| n > 100_000)) > 5);
    let grows = |pair: &[projections::gather::Call]| {
        pair[0].lane == pair[1].lane && pair[1].prompt.get() > pair[0].prompt.get()
    };
    assert!(window.calls.windows(2).filter(|pair| grows(pair)).count() > 15_000);
}

#[test]
fn sessions_overlap_and_three_proxies_write() {
    let (log, written) = written(Synth { turns: 5_000, seed: 2 });
    let mut authors: BTreeMap<AuthorId, u64> = BTreeMap::new();
    let mut switches = 0;
    let mut last = Subject::ZERO;
    folded(&log, &written, &mut |located, body, effect| {
        if effect == Effect::Applied {
            *authors.entry(located.context.author).or_default() += 1;
        }
        if let Body::Turn(turn) = body {
            switches += u64::from(turn.conversation != last);
            last = turn.conversation;
        }
    });
    assert_eq!(authors.len(), 4, "node, proxy, second proxy, its next key");
    assert!(authors.values().filter(|events| **events > 1_000).count() >= 3);
    assert!(switches > 4_000);
}

#[test]
fn memory_does_not_grow_with_turns() {
    let mut batches = Synth { turns: 60_000, seed: 4 }.batches().unwrap();
    let mut most = 0;
    while let Some(next) = batches.next() {
        next.unwrap();
        most = most.max(batches.stage.load());
    }
    assert!(most < 250, "{most} lanes and late figures at once");
}

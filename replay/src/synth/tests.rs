//! What every synthetic ledger keeps to.

use std::collections::{BTreeMap, BTreeSet};

use events::admission::admit;
use events::batch::{Author, AuthorTip, Batch};
use events::entry::Entry;
use events::event::{Body, Events};
use events::ids::{AuthorId, Subject};
use events::kind::KindTable;
use events::log::ReadLog as _;
use events::memory::MemoryLog;
use events::money::Pico;
use events::payload::{ChargeBasis, DispatchResult};
use events::sign::Verifier;
use events::usage::Usage;
use projections::gather::{Gather, Window};
use projections::projection::{Located, Projection as _};
use projections::world::{Effect, World};

use super::*;
use crate::decider::Lists;
use crate::fold::{Checks, Fold, Folded, Signatures, fold, verify};
use crate::policy_file::read;
use crate::redecide::{Start, redecide};

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
            // A result, the marks it passes and the end of its turn stay together.
            assert!(batch.header().count <= longest + 4 && batch.header().count <= 1_024);
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

// Law 6 on a synthetic ledger: every decision and charge comes out as it was recorded, from the first event and from
// any snapshot.
#[test]
fn law_6_every_decision_is_made_again_byte_for_byte() {
    let (log, written) = written(Synth { turns: 6_000, seed: 11 });
    let kinds = KindTable::current();
    let again = |start| redecide(&log, &kinds, decider(11), start, &mut || {}).unwrap();
    let whole = again(Start { snapshot: None, since: 0 });
    assert_eq!(whole.differences, []);
    assert!(whole.is_equal() && whole.not_remade.is_empty());
    assert!(whole.dispatches > 4_000 && whole.refusals > 100 && whole.charges > 4_000, "{whole:?}");
    let cut = written.head.head.next / 3;
    let mut fold = Fold::genesis(&kinds, Signatures::Trust, log.head().ledger);
    let mut snapshot = None;
    fold.read_passing(&log, &mut |_, _, _| {}, &mut |head, world| {
        if snapshot.is_none() && head.next >= cut {
            let world = World::restore(&world.snapshot()).unwrap();
            snapshot = Some((world, *head));
        }
        Ok(())
    })
    .unwrap();
    // After the clock was set back, and long enough for the snapshot to lie before.
    let since = received_at(&log, 2 * cut);
    assert!(snapshot.as_ref().is_some_and(|(world, _): &(World, _)| world.counts.latest < since));
    let later = again(Start { snapshot: None, since });
    assert!(later.dispatches > 1_000 && later.dispatches < whole.dispatches);
    assert_eq!(again(Start { snapshot, since }), later);
    // Another policy, and nothing is made again.
    let other = read("[routing]\nhorizon_turns = 3").unwrap();
    let other = Decider::given(ledger_id(11), Lists::none(), other);
    let start = Start { snapshot: None, since: 0 };
    let none = redecide(&log, &kinds, other, start, &mut || {}).unwrap();
    assert_eq!((none.dispatches, none.charges), (0, 0));
    assert_eq!(none.not_remade[0].1, whole.dispatches + whole.refusals);
}

/// When the batch that holds a position was taken in.
fn received_at(log: &MemoryLog, position: u64) -> Millis {
    let (_, stored) = log.stored().range(..=position).next_back().unwrap();
    Entry::split(stored).unwrap().0.received
}

// A decision that was recorded otherwise is found, with what differs.
#[test]
fn a_forged_decision_is_found() {
    let (log, _) = written(Synth { turns: 200, seed: 11 });
    let kinds = KindTable::current();
    let mut left = 1;
    let forged = copied(&log, 11, &mut |body| match body {
        Body::Dispatch(dispatch) if left > 0 && dispatch.attempt == 0 => {
            left -= 1;
            dispatch.max_output = 31_999;
        }
        _ => {}
    });
    let start = Start { snapshot: None, since: 0 };
    let made = redecide(&forged, &kinds, decider(11), start, &mut || {}).unwrap();
    assert_eq!(made.differing, 1);
    let field = ("max_output", "31999".to_owned(), "32000".to_owned());
    assert_eq!(made.differences[0].fields, [field]);
    // So is a charge that usage and prices do not make.
    let mut left = 1;
    let forged = copied(&log, 11, &mut |body| match body {
        Body::Result(DispatchResult { charge: Some(charge), .. })
            if left > 0 && charge.basis == ChargeBasis::Priced =>
        {
            left -= 1;
            charge.cost.known += Pico(1);
        }
        _ => {}
    });
    let start = Start { snapshot: None, since: 0 };
    let made = redecide(&forged, &kinds, decider(11), start, &mut || {}).unwrap();
    assert!(made.differing >= 1);
    assert_eq!(made.differences[0].fields[0].0, "charge");
}

/// The same ledger written again by its own keys, with something changed.
fn copied(log: &MemoryLog, seed: u64, change: &mut dyn FnMut(&mut Body<'_>)) -> MemoryLog {
    let (ledger, kinds) = (ledger_id(seed), KindTable::current());
    let Keys { node, proxy, people, .. } = keys(seed);
    let others = ["second proxy", "second proxy, again"].map(|purpose| key(seed, purpose));
    let mut authors: BTreeMap<AuthorId, Author> = [node, proxy, people]
        .into_iter()
        .chain(others)
        .map(|key| (key.public(), Author::new(key, ledger, AuthorTip::default())))
        .collect();
    let mut copy = MemoryLog::new(ledger);
    for stored in log.stored().values() {
        let (entry, _, bytes) = Entry::split(stored).unwrap();
        let batch = Batch::parse(bytes).unwrap();
        let mut events = Events::new();
        for event in batch.events() {
            let mut body = event.decode(&kinds).unwrap();
            change(&mut body);
            match &body {
                Body::Dispatch(dispatch) => events.push(event.at, event.subject, dispatch),
                Body::Result(result) => events.push(event.at, event.subject, result),
                _ => events.push_raw(
                    event.kind,
                    event.version,
                    event.at,
                    event.subject,
                    event.payload,
                ),
            }
            .unwrap();
        }
        let author = authors.get_mut(&batch.header.author).unwrap();
        let sealed = author.seal(events).unwrap();
        let batch = admit(sealed, &ledger, &kinds, &mut Verifier::new()).unwrap();
        copy.append(&[batch], entry.received).unwrap();
    }
    copy
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
    assert_eq!(
        window.models.len(),
        12,
        "nine as asked for, three of them by another name where served"
    );
    let conversations = window.conversations.len() as u64;
    let lanes = u64::from(window.calls.last().unwrap().lane) + 1;
    assert!(conversations > 100 && lanes > conversations * 5 / 4, "{conversations} {lanes}");
    let share = |what: &dyn Fn(&&projections::gather::Call) -> bool| {
        window.calls.iter().filter(what).count() * 100 / window.calls.len()
    };
    // Nothing is known of refused turns, lost answers and those whose provider says nothing.
    let unknown = share(&|call| call.prompt.get().is_none());
    assert!((4..10).contains(&unknown), "{unknown}");
    assert!((5..25).contains(&share(&|call| call.prefix.get().is_none())));
    assert!((50..98).contains(&share(&|call| call.cache_read.get().is_some_and(|n| n > 0))));
    assert!(share(&|call| call.prompt.get().is_some_and(|n| n > 100_000)) > 5);
    let grows = |pair: &[projections::gather::Call]| {
        pair[0].lane == pair[1].lane && pair[1].prompt.get() > pair[0].prompt.get()
    };
    assert!(window.calls.windows(2).filter(|pair| grows(pair)).count() > 15_000);
}

#[test]
fn sessions_overlap_and_several_keys_write() {
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
    assert_eq!(authors.len(), 5, "node, proxy, second proxy, its next key, people");
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

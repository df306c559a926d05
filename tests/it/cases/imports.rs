//! Imports: each turn once, with what is finally known of it.

use events::admission::Admitted;
use events::batch::Author;
use events::event::Events;
use events::hash::LedgerSecret;
use events::ids::{Digest, Millis};
use events::kind::KindTable;
use events::log::{Log as _, ReadLog as _};
use events::memory::MemoryLog;
use events::payload::{Actor, ActorChange, Finish, Name, Parts, Stream};
use events::usage::Usage;
use projections::gather::Window;
use projections::projection::Projection as _;
use proptest::prelude::*;
use replay::import::{Basis, ImportedTurn, Importer, Recorded};

use crate::build::{LEDGER, admitted, append, author, folded, head_of, key, opened, usage};

fn imported(row: &str, at: Millis, usage: Usage) -> ImportedTurn<'_> {
    ImportedTurn { usage, finish: Finish::Unknown, ..crate::ledger::turn(row, at, 0) }
}

fn import(log: &mut MemoryLog, rows: &[(&str, Millis, Usage)]) -> Vec<Recorded> {
    let turns: Vec<_> = rows.iter().map(|(row, at, usage)| imported(row, *at, *usage)).collect();
    import_turns(log, &turns)
}

fn import_turns(log: &mut MemoryLog, turns: &[ImportedTurn<'_>]) -> Vec<Recorded> {
    let secret = LedgerSecret::new([9; 32]);
    let keyring = folded(log, &head_of(log)).unwrap().0.world.keyring;
    let kinds = KindTable::current();
    let basis = Basis { log: &*log, keyring: &keyring, secret: &secret, kinds: &kinds };
    let (mut importer, mut events) = (Importer::default(), Events::new());
    let recorded =
        turns.iter().map(|turn| importer.decide(&basis, turn, &mut events).unwrap()).collect();
    let mut author = Author::new(key(2), LEDGER, log.tip(&key(2).public()));
    let batch = Admitted::own(&mut author, events);
    log.append(batch.as_slice(), turns.last().map_or(0, |turn| turn.at)).unwrap();
    recorded
}

/// What every order of rows has to come to: turns, and every free projection.
fn outcome(log: &MemoryLog) -> (Window, Digest) {
    let (folded, window) = folded(log, &head_of(log)).unwrap();
    (window, folded.world.days.digest())
}

fn row() -> impl Strategy<Value = (u8, Millis, u8, Option<u8>, Usage, u8, u8)> {
    let usage = (0..4_u32, 0..4_u32).prop_map(|(prompt, output)| usage(prompt, output));
    // Days apart, so that what is known better moves from day to day.
    let at = (0..4_u64).prop_map(|day| day * 90_000_000);
    (0..3_u8, at, 0..3_u8, prop::option::of(0..4_u8), usage, 0..4_u8, 0..2_u8)
}

proptest! {
    // Copies of rows that each tell a part: in any order, in two halves, and twice.
    #[test]
    fn rows_come_to_the_same_in_any_order_in_halves_and_again(
        rows in prop::collection::vec(row(), 1..9),
        order in any::<u64>(),
        cut in 0..9_usize,
    ) {
        let names: Vec<String> = rows.iter().map(|row| format!("m{}", row.0)).collect();
        let turns: Vec<ImportedTurn<'_>> = rows
            .iter()
            .zip(&names)
            .map(|((_, at, conversation, news, usage, finish, agent), name)| ImportedTurn {
                conversation: ["c1", "c2", "c3"][usize::from(*conversation)],
                subagent: (*agent == 1).then_some("a"),
                news: news.map(|news| Parts(1 << news)),
                finish: [Finish::Unknown, Finish::EndTurn, Finish::ToolUse, Finish::Length]
                    [usize::from(*finish)],
                parts: news.map(Parts),
                prefix_tokens: news.map(u32::from),
                ..imported(name, *at, *usage)
            })
            .collect();
        let mut shuffled = turns.clone();
        let mut dice = order;
        for index in (1..shuffled.len()).rev() {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            shuffled.swap(index, usize::try_from(dice >> 33).unwrap() % (index + 1));
        }
        let mut whole = opened();
        import_turns(&mut whole, &turns);
        let expected = outcome(&whole);
        let mut again = opened();
        let (first, second) = shuffled.split_at(cut.min(shuffled.len()));
        import_turns(&mut again, second);
        import_turns(&mut again, first);
        prop_assert_eq!(&outcome(&again), &expected);
        let head = again.head();
        let repeated = import_turns(&mut again, &turns);
        prop_assert!(repeated.iter().all(|recorded| *recorded == Recorded::Repeated));
        prop_assert_eq!(again.head(), head);
    }
}

#[test]
fn case_16_one_answer_logged_per_block_counts_once() {
    let row = |at| ("m1", at, usage(100, 20));
    // A copy with an earlier time stamp tells when the turn really was.
    for (orders, second) in [([1, 2, 3], Recorded::Repeated), ([3, 1, 2], Recorded::Amended)] {
        let mut log = opened();
        let first = import(&mut log, &orders.map(row));
        assert_eq!(first, [Recorded::New, second, Recorded::Repeated]);
        let head = log.head();
        assert_eq!(
            import(&mut log, &orders.map(row)),
            [Recorded::Repeated; 3],
            "importing again adds nothing"
        );
        assert_eq!(log.head(), head);
        let (folded, window) = folded(&log, &head_of(&log)).unwrap();
        assert_eq!(window.turns, 1);
        assert_eq!(
            (window.calls[0].prompt.get(), window.calls[0].output.get()),
            (Some(100), Some(20))
        );
        assert_eq!(
            folded.world.days.iter().map(|(_, models)| models["acme/m1"].results).sum::<i64>(),
            1
        );
    }
}

#[test]
fn case_17_the_last_usage_counts_on_the_first_day() {
    const MAY_1: Millis = 1_777_679_998_000;
    let placeholder = ("m2", MAY_1, usage(50, 1));
    let last = ("m2", MAY_1 + 5_000, usage(50, 420));
    for parts in [
        vec![vec![placeholder, last]],
        vec![vec![placeholder], vec![last]],
        vec![vec![placeholder, last], vec![placeholder, last], vec![placeholder]],
    ] {
        let mut log = opened();
        for rows in &parts {
            import(&mut log, rows);
        }
        assert_eq!(log.head().next, 3 + 3, "importing again adds nothing");
        let (folded, window) = folded(&log, &head_of(&log)).unwrap();
        assert_eq!((window.calls.len(), window.calls[0].at), (1, MAY_1));
        assert_eq!(window.calls[0].output.get(), Some(420));
        let days: Vec<_> = folded
            .world
            .days
            .iter()
            .map(|(day, models)| (replay::dates::date_of_day(day), models["acme/m1"]))
            .collect();
        assert_eq!(days.len(), 1);
        assert_eq!(days[0].0, "2026-05-01");
        assert_eq!((days[0].1.prompt.known, days[0].1.output.known), (50, 420));
    }
    // The last copy first: its figure stays.
    let mut log = opened();
    import(&mut log, &[last, placeholder]);
    let (_, window) = folded(&log, &head_of(&log)).unwrap();
    assert_eq!(window.calls[0].output.get(), Some(420));
}

#[test]
fn an_import_cut_short_between_a_turn_and_its_result_is_finished_next_time() {
    let mut log = opened();
    import(&mut log, &[("m1", 5, usage(100, 20))]);
    let (_, bytes) = log.stored().iter().next_back().unwrap();
    let (_, _, batch) = events::entry::Entry::split(bytes).unwrap();
    let batch = events::batch::Batch::parse(batch).unwrap();
    let turn = batch.events().next().unwrap();
    // The same turn without its result, as a crash between two batches leaves it.
    let mut cut = opened();
    let mut events = Events::new();
    events.push_raw(turn.kind, turn.version, turn.at, turn.subject, turn.payload).unwrap();
    cut.append(&[admitted(author(2).seal(events).unwrap())], 5).unwrap();
    assert_eq!(import(&mut cut, &[("m1", 5, usage(100, 20))]), [Recorded::Amended]);
    let (_, window) = folded(&cut, &head_of(&cut)).unwrap();
    assert_eq!((window.unanswered, window.calls[0].output.get()), (0, Some(20)));
}

#[test]
fn what_strangers_say_of_a_turn_does_not_keep_its_figures_out() {
    let mut log = opened();
    import(&mut log, &[("m1", 5, usage(100, 20))]);
    let turn = log.stored().iter().next_back().map(|(_, bytes)| {
        let (_, _, batch) = events::entry::Entry::split(bytes).unwrap();
        events::batch::Batch::parse(batch).unwrap().events().next().unwrap().subject
    });
    let amend = events::payload::Amend {
        attempt: 0,
        engine: Name::new("acme/m1").unwrap(),
        turn_at: 5,
        replaces: usage(100, 20),
        usage: usage(100, 9_000),
        turn: None,
        booking: None,
        reason: events::payload::AmendReason::Corrected,
    };
    let mut events = Events::new();
    events.push(u64::MAX, turn.unwrap(), &amend).unwrap();
    log.append(&[admitted(author(4).seal(events).unwrap())], 6).unwrap();
    assert_eq!(import(&mut log, &[("m1", 7, usage(100, 420))]), [Recorded::Amended]);
    let (_, window) = folded(&log, &head_of(&log)).unwrap();
    assert_eq!(window.calls[0].output.get(), Some(420));
}

// What a key said while it had no right to has no effect, whatever right it got later.
#[test]
fn what_was_said_without_a_right_is_imported_with_one() {
    let mut log = opened();
    let secret = LedgerSecret::new([9; 32]);
    let early = imported("m1", 5, usage(100, 20));
    let mut events = Events::new();
    events.push(5, early.subject(&secret), &early.turn(&secret)).unwrap();
    events.push(5, early.subject(&secret), &early.result()).unwrap();
    let batch = Admitted::own(&mut author(4), events);
    log.append(batch.as_slice(), 5).unwrap();
    let enrol = Actor {
        key: key(4).public(),
        stream: Stream::Proxy,
        change: ActorChange::Enrolled,
        replaces: None,
    };
    let tip = log.tip(&key(1).public());
    append(&mut log, &mut Author::new(key(1), LEDGER, tip), &[(6, 4, &enrol)]);
    assert_eq!(import(&mut log, &[("m1", 5, usage(100, 20))]), [Recorded::New]);
    assert_eq!(outcome(&log).0.turns, 1);
}

#[test]
fn case_17_grown_figures_with_one_time_stamp_still_grow() {
    let grown: Vec<_> = (1..40).map(|output| ("m2", 7, usage(50, output))).collect();
    let mut log = opened();
    import(&mut log, &grown);
    let (_, window) = folded(&log, &head_of(&log)).unwrap();
    assert_eq!(window.calls[0].output.get(), Some(39));
}

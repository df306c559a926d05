//! Imports: each turn once, with what is finally known of it.

use events::admission::Admitted;
use events::batch::Author;
use events::event::Events;
use events::hash::LedgerSecret;
use events::ids::Millis;
use events::kind::KindTable;
use events::log::{Log as _, ReadLog as _};
use events::memory::MemoryLog;
use events::payload::{Finish, Name, RawPairs};
use events::usage::Usage;
use replay::import::{Basis, ImportedTurn, Importer, Recorded};

use crate::build::{LEDGER, admitted, author, folded, head_of, key, opened, usage};

fn imported(row: &str, at: Millis, usage: Usage) -> ImportedTurn<'_> {
    ImportedTurn {
        source: "test",
        row,
        source_key: None,
        client: Name::new("test").unwrap(),
        conversation: "c1",
        subagent: None,
        model: Name::new("acme/m1").unwrap(),
        at,
        answered_at: at,
        news: None,
        prefix_tokens: None,
        usage,
        raw_usage: RawPairs::default(),
        parts: None,
        finish: Finish::Unknown,
        latency_ms: None,
        ending: None,
    }
}

fn import(log: &mut MemoryLog, rows: &[(&str, Millis, Usage)]) -> Vec<Recorded> {
    let secret = LedgerSecret::new([9; 32]);
    let keyring = folded(log, &head_of(log)).unwrap().0.world.keyring;
    let kinds = KindTable::current();
    let basis = Basis { log: &*log, keyring: &keyring, secret: &secret, kinds: &kinds };
    let (mut importer, mut events) = (Importer::default(), Events::new());
    let mut decide = |(row, at, usage): &(&str, Millis, Usage)| {
        importer.decide(&basis, &imported(row, *at, *usage), &mut events).unwrap()
    };
    let recorded = rows.iter().map(&mut decide).collect();
    let mut author = Author::new(key(2), LEDGER, log.tip(&key(2).public()));
    let batch = Admitted::own(&mut author, events);
    log.append(batch.as_slice(), rows.last().map_or(0, |row| row.1)).unwrap();
    recorded
}

#[test]
fn case_16_one_answer_logged_per_block_counts_once() {
    let row = |at| ("m1", at, usage(100, 20));
    for orders in [[1, 2, 3], [3, 1, 2]] {
        let mut log = opened();
        let first = import(&mut log, &orders.map(row));
        assert_eq!(first, [Recorded::New, Recorded::Repeated, Recorded::Repeated]);
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
            folded.world.days.iter().map(|(_, models)| models["acme/m1"].results).sum::<u64>(),
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
        reason: events::payload::AmendReason::Corrected,
    };
    let mut events = Events::new();
    events.push(u64::MAX, turn.unwrap(), &amend).unwrap();
    log.append(&[admitted(author(4).seal(events).unwrap())], 6).unwrap();
    assert_eq!(import(&mut log, &[("m1", 7, usage(100, 420))]), [Recorded::Amended]);
    let (_, window) = folded(&log, &head_of(&log)).unwrap();
    assert_eq!(window.calls[0].output.get(), Some(420));
}

#[test]
fn case_17_grown_figures_with_one_time_stamp_still_grow() {
    let grown: Vec<_> = (1..40).map(|output| ("m2", 7, usage(50, output))).collect();
    let mut log = opened();
    import(&mut log, &grown);
    let (_, window) = folded(&log, &head_of(&log)).unwrap();
    assert_eq!(window.calls[0].output.get(), Some(39));
}

//! Cases from the field: faults that others reported, each with its right outcome.
//!
//! The cases count in nano-dollars; ferry stores pico-dollars.

use events::event::{Body, Events};
use events::hash::LedgerSecret;
use events::ids::Millis;
use events::kind::{Kind, KindSpec, KindTable, PayloadError};
use events::log::Log as _;
use events::memory::MemoryLog;
use events::money::Pico;
use events::payload::{Ending, Finish, Name, RawPairs, Stream, TurnClosed};
use events::rate::Rate;
use events::usage::{Convention, RawUsage, Usage, UsageMarks};
use events::version;
use projections::book::EnginePrice;
use projections::cost::{Bill, Quantities, Tariffs, bill};
use projections::projection::{Projection as _, SnapshotError};
use projections::world::World;
use proptest::prelude::*;
use replay::book_file::BookFile;
use replay::fold::Wrong;
use replay::import::{ImportedTurn, Importer, Recorded};
use replay::reprice::{By, Options, price};
use replay::writer::Writer;

use crate::build::{
    LEDGER, admitted, append, author, folded, head_of, key, opened, result, signed, subject, turn,
    usage,
};

const ACME: &str = r#"{
    "source": "cases", "dated": "2026-01-01", "unit": "USD per 1,000,000 tokens",
    "engines": {
        "acme/m1": {
            "input": "3", "output": "15", "cache_read": "0.3", "cache_write_5m": "3.75", "cache_write_1h": "6",
            "tiers": [{ "above_context": 200000, "input": "6", "output": "22.5", "cache_read": "0.6", "cache_write_5m": "7.5" }]
        },
        "acme/m2": {
            "input": "1", "output": "4",
            "tiers": [
                { "above_context": 499999, "input": "3", "output": "12" },
                { "above_context": 199999, "input": "2", "output": "8" }
            ]
        },
        "acme/m3": {
            "input": "0.44", "output": "1.32",
            "windows": [{ "from": "16:30", "to": "00:30", "input": "0.22", "output": "0.66" }]
        }
    }
}"#;

fn acme(engine: &str) -> EnginePrice {
    BookFile::parse(ACME.as_bytes()).unwrap().book().engine(engine).unwrap().clone()
}

fn normalised(convention: Convention, json: &str) -> Usage {
    RawUsage::from_object(&mut serde_json::Deserializer::from_str(json))
        .unwrap()
        .normalise(convention)
}

fn billed(engine: &str, at: Millis, usage: &Usage) -> Bill {
    bill(&acme(engine), at, &Quantities::reported(usage))
}

const fn nano(amount: i128) -> Option<Pico> {
    Some(Pico(amount * 1_000))
}

#[test]
fn case_1_cache_writes_are_not_billed_twice() {
    let usage = normalised(
        Convention::Anthropic,
        r#"{"input_tokens":3,"cache_creation_input_tokens":12000,"cache_read_input_tokens":0,"output_tokens":500}"#,
    );
    let bill = billed("acme/m1", 0, &usage);
    let amounts: Vec<_> = bill.parts.iter().map(|part| part.amount.unwrap().0 / 1_000).collect();
    assert_eq!(amounts, [9_000, 0, 45_000_000, 0, 7_500_000, 0, 0, 0]);
    assert_eq!(bill.cost.amount(), nano(52_509_000));
}

#[test]
fn case_2_openai_cached_tokens_are_a_subset_of_the_prompt() {
    let usage = normalised(
        Convention::OpenAi,
        r#"{"prompt_tokens":2000,"completion_tokens":300,"prompt_tokens_details":{"cached_tokens":1920}}"#,
    );
    assert_eq!(billed("acme/m1", 0, &usage).cost.amount(), nano(5_316_000));
}

#[test]
fn case_4_inconsistent_usage_never_goes_negative() {
    let usage = normalised(
        Convention::OpenAi,
        r#"{"prompt_tokens":100,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":160}}"#,
    );
    assert_eq!(billed("acme/m1", 0, &usage).cost.amount(), nano(45_000));
    // The mark and the raw figures are on the event, and replay sees the same.
    let raw = RawUsage::from_pairs([
        ("prompt_tokens", 100),
        ("prompt_tokens_details.cached_tokens", 160),
    ]);
    let mut served = result(0, "acme/m1", usage);
    served.raw_usage = RawPairs::of(&raw);
    let mut log = opened();
    append(&mut log, &mut author(2), &[(0, 7, &turn(1, "acme/m1")), (1, 7, &served)]);
    let mut seen = None;
    log.read(3, &mut |_, stored| {
        let (_, _, bytes) = events::entry::Entry::split(stored).unwrap();
        let batch = events::batch::Batch::parse(bytes).unwrap();
        for event in batch.events() {
            if let Ok(Body::Result(stored)) = event.decode(&KindTable::current()) {
                seen = Some((stored.usage, stored.raw_usage.pairs().len()));
            }
        }
        std::ops::ControlFlow::Continue(())
    })
    .unwrap();
    let (stored, pairs) = seen.unwrap();
    assert_eq!((stored, pairs), (usage, 2));
    assert!(stored.marks.contains(UsageMarks::INCONSISTENT));
}

#[test]
fn case_5_one_hour_writes_have_their_own_rate() {
    let split = normalised(
        Convention::Anthropic,
        r#"{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":100000,
            "cache_creation":{"ephemeral_5m_input_tokens":60000,"ephemeral_1h_input_tokens":40000}}"#,
    );
    assert_eq!(billed("acme/m1", 0, &split).cost.amount(), nano(465_000_000));
    let whole = normalised(
        Convention::Anthropic,
        r#"{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":100000}"#,
    );
    assert_eq!(billed("acme/m1", 0, &whole).cost.amount(), nano(375_000_000));
    assert!(whole.marks.contains(UsageMarks::WRITE_TTL_ASSUMED));
}

#[test]
fn case_7_the_tier_is_chosen_on_the_whole_prompt() {
    let bill = |input: u32| {
        let json = format!(
            r#"{{"input_tokens":{input},"cache_read_input_tokens":99000,"cache_creation_input_tokens":2000,"output_tokens":10}}"#
        );
        billed("acme/m1", 0, &normalised(Convention::Anthropic, &json))
    };
    assert_eq!(bill(100_000).cost.amount(), nano(674_625_000));
    assert_eq!(bill(99_000).cost.amount(), nano(334_350_000));
    assert_eq!((bill(100_000).tier_from, bill(99_000).tier_from), (Some(200_001), None));
}

#[test]
fn case_8_the_largest_tier_not_above_the_prompt_applies() {
    let usage =
        normalised(Convention::OpenAi, r#"{"prompt_tokens":250000,"completion_tokens":1000}"#);
    assert_eq!(billed("acme/m2", 0, &usage).cost.amount(), nano(508_000_000));
}

proptest! {
    // Case 8: whoever prices many requests gets what one bill says, around every threshold.
    #[test]
    fn case_8_forecast_and_bill_use_one_function(near in prop::sample::select(vec![0_u32, 200_000, 500_000]), off in 0_u32..8, at in 0_u64..200_000_000) {
        for engine in ["acme/m1", "acme/m2", "acme/m3"] {
            let quantities = Quantities::reported(&usage(near.saturating_add(off).saturating_sub(4), 1_000));
            let price = acme(engine);
            let bill = bill(&price, at, &quantities);
            prop_assert_eq!(bill.cost, Tariffs::new(price).cost(at, &quantities));
            let parts: Pico = bill.parts.iter().filter_map(|part| part.amount).sum();
            prop_assert_eq!(bill.cost.amount(), Some(parts));
        }
    }
}

#[test]
fn case_10_prices_by_the_utc_hour_wrap_midnight() {
    let thousand = usage(1_000, 0);
    let minutes = |hours: u64, minutes: u64| (hours * 60 + minutes) * 60_000;
    let cost = |at| billed("acme/m3", at, &thousand).cost.amount();
    assert_eq!(cost(minutes(23, 50)), nano(220_000));
    assert_eq!(cost(minutes(24, 30)), nano(440_000), "the end is exclusive");
    assert_eq!(cost(minutes(16, 29)), nano(440_000));
    assert_eq!(cost(minutes(16, 30)), nano(220_000));
}

#[test]
fn case_11_an_unpriced_model_is_not_free() {
    let mut log = opened();
    let mut proxy = author(2);
    let book = BookFile::parse(ACME.as_bytes()).unwrap();
    let unknown = [
        (0, 1, &turn(1, "newlab/unknown-9") as &dyn crate::build::Push),
        (1, 1, &result(0, "newlab/unknown-9", usage(900_000, 1_000))),
    ];
    append(&mut log, &mut proxy, &unknown);
    append(
        &mut log,
        &mut proxy,
        &[(2, 2, &turn(2, "acme/m1")), (3, 2, &result(2, "acme/m1", usage(1_000, 0)))],
    );
    let (_, window) = folded(&log, &head_of(&log)).unwrap();
    let options = Options { by: Some(By::Model), ..Options::default() };
    let priced =
        price(&window, &book.book(), &"recorded@cache=off".parse().unwrap(), options).unwrap();
    assert_eq!(priced.totals.cost.amount(), None, "a sum with an unknown part is no amount");
    assert_eq!(Some(priced.totals.cost.known), nano(3_000_000), "it is at least its known part");
    let unpriced = priced.by["newlab/unknown-9 (no price)"];
    assert_eq!((unpriced.prompt, unpriced.unknown_price), (900_000, 1));
    // A rate that is missing is unknown; a rate of zero is free.
    let mut half = acme("acme/m1");
    half.rates.output = None;
    half.tiers.clear();
    let bill = bill(&half, 0, &Quantities::reported(&usage(1_000, 1)));
    assert_eq!((bill.cost.amount(), bill.parts[4].amount), (None, None));
    half.rates.output = Some(Rate::ZERO);
    assert_eq!(
        projections::cost::bill(&half, 0, &Quantities::reported(&usage(1_000, 1))).cost.amount(),
        nano(3_000_000)
    );
}

fn imported<'a>(
    row: &'a str,
    at: Millis,
    usage: Usage,
    raw_usage: &'a RawUsage,
) -> ImportedTurn<'a> {
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
        raw_usage,
        parts: None,
        finish: Finish::Unknown,
        latency_ms: None,
        ending: None,
    }
}

fn import(log: &mut MemoryLog, rows: &[(&str, Millis, Usage)]) -> Vec<Recorded> {
    let secret = LedgerSecret::new([9; 32]);
    let raw = RawUsage::default();
    let keyring = folded(log, &head_of(log)).unwrap().0.world.keyring;
    let mut writer = Writer::new(log, key(2));
    let mut importer = Importer::new(&mut writer, &secret, &keyring);
    let recorded = rows
        .iter()
        .map(|(row, at, usage)| importer.record(&imported(row, *at, *usage, &raw)).unwrap())
        .collect();
    importer.finish().unwrap();
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

#[test]
fn case_20_every_attempt_is_billed_once() {
    let mut log = opened();
    let attempt = |attempt, output| {
        let mut served = result(0, "acme/m1", usage(1_000, output));
        served.attempt = attempt;
        served
    };
    let (first, second) = (attempt(1, 0), attempt(2, 50));
    append(
        &mut log,
        &mut author(2),
        &[(0, 1, &turn(1, "acme/m1")), (5, 1, &first), (9, 1, &second)],
    );
    let cost = |log: &MemoryLog| {
        let (_, window) = folded(log, &head_of(log)).unwrap();
        let book = BookFile::parse(ACME.as_bytes()).unwrap().book();
        let recorded =
            price(&window, &book, &"recorded@cache=off".parse().unwrap(), Options::default())
                .unwrap();
        let other =
            price(&window, &book, &"all:acme/m1@cache=off".parse().unwrap(), Options::default())
                .unwrap();
        assert_eq!(
            (recorded.totals.turns, other.totals.turns),
            (1, 1),
            "one turn, however many attempts"
        );
        (recorded.totals.cost.amount(), other.totals.cost.amount())
    };
    let once = (nano(2 * 3_000_000 + 750_000), nano(3_000_000 + 750_000));
    assert_eq!(cost(&log), once, "another strategy would not have had the failed attempt");
    // The same results, delivered again by another author, change nothing.
    append(
        &mut log,
        &mut author(3),
        &[(5, 1, &first), (9, 1, &second), (0, 1, &turn(1, "acme/m1"))],
    );
    assert_eq!(cost(&log), once);
    let (_, window) = folded(&log, &head_of(&log)).unwrap();
    assert_eq!(window.repeated, 3);
}

// Cases 22 and 23 also stand beside the types they are about, with all their inputs.
#[test]
fn case_22_and_23_sums_of_costs_are_sums_of_events() {
    let rate: Rate = "0.00000008333333333333334".parse().unwrap();
    let mut price = acme("acme/m1");
    price.rates.input = Some(rate);
    price.tiers.clear();
    let cost =
        |prompt| bill(&price, 0, &Quantities::reported(&usage(prompt, 0))).cost.amount().unwrap();
    let forward: Pico = [1, 1, 1, 1_000_000].map(cost).into_iter().sum();
    let backward: Pico = [1_000_000, 1, 1, 1].map(cost).into_iter().sum();
    assert_eq!((forward, backward), (Pico(83_333_583_332), Pico(83_333_583_332)));
}

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

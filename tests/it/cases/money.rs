//! Tokens and money.

use events::event::Body;
use events::ids::Millis;
use events::kind::KindTable;
use events::log::ReadLog as _;
use events::memory::MemoryLog;
use events::money::Pico;
use events::payload::RawPairs;
use events::rate::Rate;
use events::usage::{Convention, RawUsage, Usage, UsageMarks};
use projections::book::EnginePrice;
use projections::cost::{Bill, Quantities, bill};
use projections::tariffs::Tariffs;
use proptest::prelude::*;
use replay::book_file::BookFile;
use replay::reprice::{By, Options, price};

use crate::build::{append, author, folded, head_of, opened, result, turn, usage};

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

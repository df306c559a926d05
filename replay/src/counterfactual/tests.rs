//! What a policy is decided by, and what its decisions are priced by, are the same.

use std::sync::Arc;

use events::ids::Millis;
use events::money::Pico;
use events::payload::{Capabilities, Quality, Rates};
use events::rate::Rate;
use events::usage::UsageMarks;

use super::*;
use crate::decider::Lists;
use crate::policy_file::read;
use crate::prices::ListedPrice;
use crate::reprice::{Options, price_decided};

const MINUTE: Millis = 60_000;

fn call(number: u32, conversation: u32, lane: u32, at: Millis, prompt: Option<u32>) -> Call {
    Call {
        at,
        turn: numbered(number),
        lane,
        conversation,
        engine: 0,
        prompt: prompt.into(),
        prefix: Some(100_000).into(),
        output: Some(0).into(),
        reasoning: Some(0).into(),
        cache_read: None.into(),
        cache_write_5m: None.into(),
        cache_write_1h: None.into(),
        images: Some(0).into(),
        turn_coin: 0,
        session_coin: 0,
        attempt: 0,
        news: Parts::TEXT,
        marks: UsageMarks::default(),
        served: true,
    }
}

/// One engine: $1 a million to read, $10 to take in, $20 to write for five minutes, $40 for an hour.
fn lists() -> Lists {
    let rate = |text: &str| Some(Rate::per_million(text).unwrap());
    let rates = Rates {
        input: rate("10"),
        output: rate("1"),
        cache_read: rate("1"),
        cache_write_5m: rate("20"),
        cache_write_1h: rate("40"),
        ..Rates::default()
    };
    let listed = ListedPrice {
        engine: "acme/a".to_owned(),
        context: None,
        rates,
        tiers: Vec::new(),
        windows: Vec::new(),
        capabilities: Capabilities::default(),
        quality: Quality::default(),
    };
    let mut lists = Lists::none();
    Arc::make_mut(&mut lists.prices).prices.push(listed);
    lists
}

fn decided(policy: &str, calls: Vec<Call>) -> (Decided, Pico) {
    let window = Window {
        turns: calls.len() as u64,
        calls,
        conversations: vec!["a".to_owned(), "b".to_owned()],
        models: vec!["recorded/model".to_owned()],
        ..Window::default()
    };
    let policy = format!("[routing]\nengines = [\"acme/a\"]\n{policy}");
    let decider = Decider::given(events::bytes::Bytes([7; 32]), lists(), read(&policy).unwrap());
    let book = Book::genesis();
    let chosen = choose(&window, &book, decider, &mut || {}).unwrap();
    let decided = chosen.decided.clone();
    let priced = price_decided(&window, &book, chosen, Options::default());
    assert!(!priced.totals.cost.incomplete);
    (decided, priced.totals.cost.known)
}

fn usd(text: &str) -> Pico {
    text.parse().unwrap()
}

#[test]
fn writes_are_priced_for_as_long_as_they_are_kept() {
    let turns = |pause: Millis| {
        (0..3).map(|n| call(n, 0, 0, pause * Millis::from(n), Some(100_000))).collect::<Vec<_>>()
    };
    let cost = |ttl: &str, pause| decided(&format!("cache_ttl = \"{ttl}\"\n"), turns(pause)).1;
    assert_eq!(cost("5m", 20 * MINUTE), usd("6"), "2 each time: nothing is left after 20 minutes");
    assert_eq!(cost("1h", 20 * MINUTE), usd("4.2"), "4 once, then 0.1 to read it");
    assert_eq!(cost("1h", 61 * MINUTE), usd("12"));
    assert_eq!(cost("5m", MINUTE), usd("2.2"));
}

// A conversation's money is spent by its main agent and its sub-agents together.
#[test]
fn the_lanes_of_a_conversation_share_its_budget() {
    let budget = "[budgets.each]\nscope = \"conversation\"\nlimit_usd = \"3\"\n\
                  period = \"lifetime\"\non_exceeded = \"refuse\"\n";
    let calls = vec![
        call(0, 0, 0, 0, Some(100_000)),
        call(1, 0, 1, 1, Some(100_000)),
        call(2, 1, 2, 2, Some(100_000)),
    ];
    let (decided, cost) = decided(budget, calls);
    assert_eq!((decided.turns, decided.refused, cost), (3, 1, usd("4")));
}

#[test]
fn a_turn_whose_length_nobody_knows_is_counted_and_not_decided() {
    let calls = vec![call(0, 0, 0, 0, Some(100_000)), call(1, 0, 0, 1, None)];
    let (decided, cost) = decided("", calls);
    assert_eq!((decided.turns, decided.unknown_prompts, cost), (1, 1, usd("2")));
}

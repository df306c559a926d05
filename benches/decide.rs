//! What a decision takes: one candidate, a whole turn, and what is allocated for it, whatever the ledger holds.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench fails by panicking, and prints"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use events::batch::Batch;
use events::bytes::Bytes;
use events::event::{Body, Events};
use events::ids::{AuthorId, Millis, Subject};
use events::kind::KindTable;
use events::money::Pico;
use events::payload::{Ask, BudgetPeriod, BudgetScope, Name, Parts, Stream, Turn};
use projections::budgets::{Instance, Room};
use projections::decide::{Comparison, Inputs, Market, decide};
use projections::forecast::switch_pays;
use projections::policy::{Budget, OnExceeded, Policy, Rules};
use projections::projection::{Context, Projection as _};
use projections::world::World;
use replay::decider::Decider;
use replay::default_book::default_book;
use replay::effective_book::{PricePolicy, effective};
use replay::synth::{START, Synth};

const SEED: u64 = 7;
const ENGINES: usize = 350;
const ROUNDS: u32 = 20_000;
const NOW: Millis = START + 20 * 86_400_000;

/// The world after so many synthetic turns.
fn world_after(turns: u64) -> World {
    let kinds = KindTable::current();
    let mut world = World::genesis();
    let mut seq = 0;
    for next in (Synth { turns, seed: SEED }).batches().unwrap() {
        let next = next.unwrap();
        let batch = Batch::parse_header(next.batch.bytes()).unwrap();
        for event in batch.events() {
            let body = event.decode(&kinds).unwrap();
            let spec = kinds.get(event.kind);
            let context = Context {
                seq,
                author: batch.header.author,
                written_by: spec.map(|spec| spec.written_by),
                received: next.received,
                at: event.at,
                subject: event.subject,
            };
            world.tell(&context, &body);
            seq += 1;
        }
        world.settle();
    }
    world
}

/// Budgets of every scope, over so many engines of the bundled list.
fn policy(engines: usize) -> Policy {
    let list = default_book().unwrap();
    let named = list.prices.iter().map(|price| price.engine.clone());
    let mut policy = Policy::default();
    policy.routing.engines = ["anthropic/claude-opus-4-5", "anthropic/claude-sonnet-4-5"]
        .map(str::to_owned)
        .into_iter()
        .chain(named.filter(|name| !name.starts_with("anthropic/claude-")))
        .take(engines)
        .collect();
    let budget = |scope, period| Budget {
        scope,
        period,
        limit: Pico(1_000_000 * 1_000_000_000_000),
        zone: "Europe/Berlin".to_owned(),
        paced: period == BudgetPeriod::Month,
        on_exceeded: OnExceeded::Downgrade,
    };
    for (name, scope, period) in [
        ("turn", BudgetScope::Turn, BudgetPeriod::Lifetime),
        ("conversation", BudgetScope::Conversation, BudgetPeriod::Lifetime),
        ("client", BudgetScope::Client, BudgetPeriod::Rolling24h),
        ("project", BudgetScope::Project, BudgetPeriod::Day),
        ("month", BudgetScope::All, BudgetPeriod::Month),
    ] {
        policy.budgets.insert(name.to_owned(), budget(scope, period));
    }
    policy
}

/// A turn in flight whose lane is warm.
fn arrive(world: &mut World) -> Subject {
    let proxy: AuthorId = *world
        .keyring
        .keys()
        .find(|(_, key)| key.active && key.stream == Stream::Proxy)
        .map(|(author, _)| author)
        .unwrap();
    let name = |text| Name::new(text).unwrap();
    let turn = |ask| Turn {
        client: name("claude-code/2.1"),
        conversation: Bytes([9; 16]),
        subagent: None,
        model: name("auto"),
        news: Some(Parts::TOOL_RESULT),
        prefix_tokens: Some(100_000),
        source_key: None,
        ask,
    };
    let ask = Ask {
        profile: name("auto"),
        harness: Some(name("claude-code")),
        project: Some(name("atlas")),
        kind: None,
        prompt_tokens: 101_000,
        prompt_tokens_max: 110_000,
        images: 0,
        max_output: None,
    };
    let subject: Subject = Bytes([8; 16]);
    let tell = |world: &mut World, at: Millis, subject, body: &Body<'_>| {
        let context = Context {
            seq: world.counts.events,
            author: proxy,
            written_by: Some(Stream::Proxy),
            received: at,
            at,
            subject,
        };
        world.tell(&context, body);
    };
    tell(world, NOW - 60_000, Bytes([7; 16]), &Body::Turn(turn(None)));
    let raw = events::usage::RawUsage::from_pairs([
        ("input_tokens", 10),
        ("cache_creation_input_tokens", 99_990),
        ("output_tokens", 300),
    ]);
    let result = events::payload::DispatchResult {
        attempt: 0,
        turn_at: NOW - 60_000,
        engine: name("claude-sonnet-4-5"),
        usage: raw.normalise(events::usage::Convention::Anthropic),
        raw_usage: events::payload::RawPairs::default(),
        parts: None,
        finish: events::payload::Finish::ToolUse,
        latency_ms: None,
        charge: None,
    };
    tell(world, NOW - 60_000, Bytes([7; 16]), &Body::Result(result));
    tell(world, NOW, subject, &Body::Turn(turn(Some(ask))));
    world.settle();
    subject
}

/// Nanoseconds each of some rounds takes, sorted.
fn timed(rounds: u32, mut round: impl FnMut()) -> Vec<u128> {
    let mut took: Vec<u128> = (0..rounds)
        .map(|_| {
            let started = Instant::now();
            round();
            started.elapsed().as_nanos()
        })
        .collect();
    took.sort_unstable();
    took
}

fn percentile(took: &[u128], percent: usize) -> u128 {
    took[(took.len() - 1) * percent / 100]
}

fn one_candidate(world: &World, rules: &Rules, market: &Market, turn: &Subject) {
    let flight = world.routing.flights.get(turn).unwrap();
    let inputs = Inputs { world, rules, market, now: NOW };
    let comparison = Comparison::new(inputs, flight, true);
    let (name, offer) = market.offer("anthropic/claude-sonnet-4-5").unwrap();
    let (dear_name, dear) = market.offer("anthropic/claude-opus-4-5").unwrap();
    let dear = comparison.candidate(dear_name, dear).weighed.horizon;
    let rooms: Vec<Room<'_>> = rules
        .budgets("auto")
        .iter()
        .map(|rule| {
            let scope = rule.scope();
            let instance = Instance::of(scope, turn, flight, "");
            Room::of(&world.routing, rule, &instance, NOW)
        })
        .collect();
    let margin = rules.policy.routing.switch_margin;
    let started = Instant::now();
    const TIMES: u32 = 200_000;
    for _ in 0..TIMES {
        let candidate = comparison.candidate(black_box(name), black_box(offer));
        let switches = switch_pays(candidate.weighed.horizon, dear, margin);
        let fits = rooms.iter().all(|room| room.fits(candidate.needs()));
        black_box((candidate, switches, fits));
    }
    let each = started.elapsed().as_nanos() / u128::from(TIMES);
    println!(
        "one candidate (cost, cold, ceiling, horizon, both times to live, switch, 5 budgets): {each} ns"
    );
}

fn decisions(world: &World, engines: usize, turn: &Subject) {
    let policy = policy(engines);
    let rules = Rules::new(policy).unwrap();
    let list = default_book().unwrap();
    let market = Market::new(effective(&world.book, &list, &PricePolicy::default()), &rules);
    let flight = world.routing.flights.get(turn).unwrap();
    let inputs = Inputs { world, rules: &rules, market: &market, now: NOW };
    if engines == 2 {
        one_candidate(world, &rules, &market, turn);
    }
    let took = timed(ROUNDS / 10, || {
        black_box(decide(inputs, turn, flight));
    });
    let mut decider =
        Decider::new(rules.clone(), PricePolicy::default(), Arc::new(default_book().unwrap()));
    decider.market(world);
    let mut bytes = 0;
    let written = timed(ROUNDS / 10, || {
        let mut events = Events::new();
        black_box(decider.dispatch(world, turn, NOW, &mut events).unwrap());
        bytes = events.iter().next().unwrap().bytes.len();
    });
    println!(
        "{engines} engines: decide {} us median, {} us p99; with its event encoded and hashed {} us, {} us; {bytes} bytes",
        percentile(&took, 50) / 1_000,
        percentile(&took, 99) / 1_000,
        percentile(&written, 50) / 1_000,
        percentile(&written, 99) / 1_000,
    );
}

fn main() {
    let mut allocated = Vec::new();
    for turns in [10_000, 1_000_000] {
        let started = Instant::now();
        let mut world = world_after(turns);
        let turn = arrive(&mut world);
        println!(
            "{turns} turns: made and folded in {:.1} s, a snapshot of {} KB",
            started.elapsed().as_secs_f64(),
            world.snapshot().len() / 1_024,
        );
        for engines in [2, ENGINES] {
            decisions(&world, engines, &turn);
        }
        let rules = Rules::new(policy(12)).unwrap();
        let list = Arc::new(default_book().unwrap());
        let mut decider = Decider::new(rules, PricePolicy::default(), list);
        decider.market(&world);
        let info = allocation_counter::measure(|| {
            let mut events = Events::new();
            black_box(decider.dispatch(&world, &turn, NOW, &mut events).unwrap());
        });
        println!(
            "12 engines: {} bytes in {} allocations a decision",
            info.bytes_total, info.count_total
        );
        allocated.push(info.bytes_total);
    }
    assert_eq!(
        allocated[0], allocated[1],
        "a decision allocates as much, however much the ledger holds"
    );
}

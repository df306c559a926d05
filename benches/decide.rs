//! What a decision takes: one candidate, a whole turn, and what is allocated for it, whatever the ledger holds.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench fails by panicking, and prints"
)]

use std::hint::black_box;
use std::time::Instant;

use events::batch::Batch;
use events::bytes::Bytes;
use events::event::{Body, Events};
use events::ids::{AuthorId, Millis, Subject};
use events::kind::KindTable;
use events::payload::{
    Anatomy, Ask, DispatchResult, Effort, Ending, Features, Finish, Keywords, Name, Parts,
    RawPairs, Stream, TextSize, Turn, TurnClosed,
};
use events::usage::{Convention, RawUsage};
use projections::budgets::{Instance, Room};
use projections::decide::Market;
use projections::forecast::{Foreseen, Held, Horizon, switch_pays, weigh};
use projections::projection::{Context, Projection as _};
use projections::world::World;
use replay::decider::{Decider, Lists, Ruling};
use replay::default_book::default_book;
use replay::policy_file::{PolicyFile, read};
use replay::synth::{START, Synth, ledger_id};

const SEED: u64 = 7;
const ENGINES: usize = 350;
const ROUNDS: u32 = 4_000;
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

const BUDGETS: &str = r#"
[budgets.turn]
scope = "turn"
limit_usd = "1000000"
[budgets.conversation]
scope = "conversation"
limit_usd = "1000000"
[budgets.client]
scope = "client"
period = "rolling-24h"
limit_usd = "1000000"
zone = "Europe/Berlin"
[budgets.project]
scope = "project"
period = "day"
limit_usd = "1000000"
zone = "Europe/Berlin"
[budgets.month]
scope = "all"
period = "month"
limit_usd = "1000000"
zone = "Europe/Berlin"
paced = true
"#;

/// Budgets of every scope, over so many engines of the bundled list: OpenRouter's, and the vendors' own.
fn policy(engines: usize, objective: &str) -> PolicyFile {
    let list = default_book().unwrap();
    let wanted = |name: &&String| {
        ["anthropic/", "openrouter/", "openai/", "google/"]
            .iter()
            .any(|start| name.starts_with(start))
    };
    let names: Vec<String> = list.prices.iter().map(|price| price.engine.clone()).collect();
    let first = ["anthropic/claude-opus-4-5", "anthropic/claude-sonnet-4-5"].map(str::to_owned);
    let others = names.iter().filter(wanted).filter(|name| !first.contains(name)).cloned();
    let chosen: Vec<String> =
        first.iter().cloned().chain(others).take(engines).map(|name| format!("{name:?}")).collect();
    let text = format!(
        "[routing]\nobjective = \"{objective}\"\ntool_loops = \"free\"\ninclude_free = true\nengines = [{}]\n\
         [routing.value_usd]\nhard = \"0.5\"\nmoderate = \"0.2\"\nsimple = \"0.1\"\ntrivial = \"0.05\"\n{BUDGETS}",
        chosen.join(", ")
    );
    read(&text).unwrap()
}

fn name(text: &str) -> Name<'_> {
    Name::new(text).unwrap()
}

fn turn<'a>(ask: Option<Ask<'a>>) -> Turn<'a> {
    Turn {
        client: name("claude-code/2.1"),
        conversation: Bytes([9; 16]),
        subagent: None,
        model: name("auto"),
        news: Some(Parts::TOOL_RESULT),
        prefix_tokens: Some(100_000),
        source_key: None,
        ask,
    }
}

fn tell(world: &mut World, at: Millis, subject: Subject, body: &Body<'_>) {
    let proxy: AuthorId = *world
        .keyring
        .keys()
        .find(|(_, key)| key.active && key.stream == Stream::Proxy)
        .map(|(author, _)| author)
        .unwrap();
    let context = Context {
        seq: world.counts.events,
        author: proxy,
        written_by: Some(Stream::Proxy),
        received: at,
        at,
        subject,
    };
    world.tell(&context, body);
}

/// A request of 400 KB, twelve messages into a tool loop.
fn features() -> Features {
    let size = |bytes| TextSize { bytes, wide: 0 };
    Features {
        anatomy: Some(Anatomy {
            system: size(20_000),
            tools: size(60_000),
            user: size(4_000),
            assistant: size(40_000),
            results: size(240_000),
        }),
        tail: Some(size(3_000)),
        depth: Some(40),
        tools: Some(18),
        continues: Some(true),
        loop_depth: Some(12),
        distinct_tools: Some(5),
        tool_failed: Some(false),
        repeated_call: Some(false),
        circular_call: Some(false),
        read_only_tail: Some(false),
        images: Some(0),
        new_image: Some(false),
        code_blocks: Some(0),
        code_bytes: Some(0),
        diff: Some(false),
        keywords: Some(Keywords(0)),
        questions: Some(0),
        terse: Some(false),
        effort: Some(Effort::Medium),
        ..Features::default()
    }
}

/// A lane that is warm at an engine.
fn warm(world: &mut World) {
    let subject = Bytes([7; 16]);
    tell(world, NOW - 60_000, subject, &Body::Turn(turn(None)));
    let raw = RawUsage::from_pairs([
        ("input_tokens", 10),
        ("cache_creation_input_tokens", 99_990),
        ("output_tokens", 300),
    ]);
    let result = DispatchResult {
        attempt: 0,
        turn_at: NOW - 60_000,
        engine: name("claude-sonnet-4-5"),
        usage: raw.normalise(Convention::Anthropic),
        raw_usage: RawPairs::default(),
        parts: None,
        finish: Finish::ToolUse,
        first_ms: None,
        latency_ms: None,
        charge: None,
    };
    tell(world, NOW - 60_000, subject, &Body::Result(result));
    world.settle();
}

/// A turn of the warm lane arrives.
fn arrive(world: &mut World, number: u32) -> Subject {
    let mut subject: Subject = Bytes([8; 16]);
    subject.0[..4].copy_from_slice(&number.to_be_bytes());
    let ask = Ask {
        profile: name("auto"),
        harness: Some(name("claude-code")),
        project: Some(name("atlas")),
        kind: None,
        features: features(),
        prompt_tokens_max: 420_000,
        max_output: None,
    };
    tell(world, NOW, subject, &Body::Turn(turn(Some(ask))));
    world.settle();
    subject
}

fn percentile(took: &[u128], percent: usize) -> u128 {
    took[(took.len() - 1) * percent / 100]
}

/// One engine weighed: its cost, cold, at most, over the horizon with both times to live; then a switch and five budgets.
fn one_candidate(world: &World, ruling: &Ruling, market: &Market, turn: &Subject) {
    let flight = world.routing.flights.get(turn).unwrap();
    let tariffs = |engine| market.offer(engine).unwrap().1.tariffs.as_ref().unwrap();
    let (near, far) =
        (tariffs("anthropic/claude-sonnet-4-5"), tariffs("anthropic/claude-opus-4-5"));
    let turn_of = Foreseen {
        at: NOW,
        prompt: 101_000,
        prompt_max: 420_000,
        images: 0,
        output: 300,
        reasoning: 0,
        output_max: 32_000,
    };
    let habit = world.routing.lanes.habit("anthropic/claude-sonnet-4-5");
    let held = Held { tokens: 100_000, reliability: habit.reliability(), written: habit.written() };
    let horizon = Horizon {
        turns: 8,
        grows_by: 1_000,
        pauses: world.routing.lanes.pauses("claude-code/2.1", false),
        ttl: None,
    };
    let dear = weigh(far, &turn_of, held, &horizon).horizon;
    let rooms: Vec<Room<'_>> = ruling
        .rules
        .budgets("auto")
        .iter()
        .map(|rule| {
            let instance = Instance::of(rule.scope(), turn, flight, "");
            Room::of(&world.routing, rule, &instance, NOW)
        })
        .collect();
    let margin = ruling.rules.policy.routing.switch_margin;
    let started = Instant::now();
    const TIMES: u32 = 200_000;
    for _ in 0..TIMES {
        let weighed = weigh(black_box(near), black_box(&turn_of), held, &horizon);
        let switches = switch_pays(weighed.horizon, dear, margin);
        let fits = rooms.iter().all(|room| room.fits(weighed.expected.known));
        black_box((weighed, switches, fits));
    }
    let each = started.elapsed().as_nanos() / u128::from(TIMES);
    println!("one engine weighed, with a switch and 5 budgets: {each} ns");
}

/// Decided, encoded, hashed, and told to the world, as the owner does it.
fn decisions(world: &mut World, engines: usize, objective: &str) {
    let mut decider =
        Decider::given(ledger_id(SEED), Lists::bundled().unwrap(), policy(engines, objective));
    let market = decider.market(world).unwrap();
    let ruling = decider.rules(world).unwrap();
    let kinds = KindTable::current();
    let mut number = 0;
    if engines == 2 {
        let turn = arrive(world, 0);
        one_candidate(world, &ruling, &market, &turn);
        number += 1;
    }
    let (mut decided, mut whole, mut bytes) = (Vec::new(), Vec::new(), 0);
    for _ in 0..ROUNDS {
        let turn = arrive(world, number);
        number += 1;
        let started = Instant::now();
        decider.decided(world, &turn, NOW, |decision| black_box(&decision).is_dispatch()).unwrap();
        decided.push(started.elapsed().as_nanos());
        let started = Instant::now();
        let mut events = Events::new();
        black_box(decider.dispatch(world, &turn, NOW, &mut events).unwrap());
        for event in events.iter() {
            black_box(event.digest());
            bytes = event.bytes.len();
            tell(world, NOW, turn, &event.decode(&kinds).unwrap());
        }
        world.settle();
        whole.push(started.elapsed().as_nanos());
        let closed = TurnClosed { ending: Ending::Failed, attempts: 1, bytes_sent: None };
        tell(world, NOW, turn, &Body::TurnClosed(closed));
        world.settle();
    }
    decided.sort_unstable();
    whole.sort_unstable();
    let us = |took: &[u128], percent| percentile(took, percent) as f64 / 1_000.0;
    println!(
        "{engines} engines, {objective}: decided {:.1} us median, {:.1} us p99; encoded, hashed and applied too {:.1} us, {:.1} us; {bytes} bytes",
        us(&decided, 50),
        us(&decided, 99),
        us(&whole, 50),
        us(&whole, 99),
    );
}

fn main() {
    let mut allocated = Vec::new();
    for turns in [10_000, 1_000_000] {
        let started = Instant::now();
        let mut world = world_after(turns);
        warm(&mut world);
        println!(
            "{turns} turns: made and folded in {:.1} s, a snapshot of {} KB",
            started.elapsed().as_secs_f64(),
            world.snapshot().len() / 1_024,
        );
        decisions(&mut world, 2, "cheapest-sufficient");
        for objective in ["cheapest-sufficient", "seed-score", "value", "ordered"] {
            decisions(&mut world, ENGINES, objective);
        }
        let mut decider = Decider::given(
            ledger_id(SEED),
            Lists::bundled().unwrap(),
            policy(12, "cheapest-sufficient"),
        );
        decider.market(&world).unwrap();
        let turn = arrive(&mut world, u32::MAX);
        let info = allocation_counter::measure(|| {
            let mut events = Events::new();
            black_box(decider.dispatch(&world, &turn, NOW, &mut events).unwrap());
        });
        println!(
            "12 engines: {} bytes in {} allocations a decision",
            info.bytes_total, info.count_total
        );
        allocated.push((info.count_total, info.bytes_total));
    }
    // Figures are written in as many bytes as they need: a decision's event is some bytes longer or shorter.
    let [(times, bytes), (times_again, bytes_again)] = allocated[..] else { return };
    assert!(
        times == times_again && bytes.abs_diff(bytes_again) < bytes / 20,
        "a decision allocates as much, however much the ledger holds: {allocated:?}"
    );
}

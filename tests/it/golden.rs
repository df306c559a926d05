//! Golden bytes: every kind and version, with pairwise different fields, and the sample's digests.
//!
//! `FERRY_BLESS=1 cargo test` rewrites them; that is a decision, told in CHANGELOG.md.

use std::fmt::Write as _;
use std::path::Path;

use events::bytes::Bytes;
use events::cost::Cost;
use events::event::{Body, Payload};
use events::kind::{Kind, KindTable};
use events::memory::MemoryLog;
use events::money::Pico;
use events::payload::{
    Actor, ActorChange, Amend, AmendReason, Anatomy, Arm, Ask, Booking, BudgetCrossed, BudgetFact,
    BudgetPeriod, BudgetScope, CacheTtl, Capabilities, Charge, ChargeBasis, Choice, Class,
    ClassSource, ClockCorrected, Dispatch, DispatchResult, Draw, Effort, Ending, EngineFault,
    Exclusion, FaultClass, Features, Feedback, Finding, FindingCode, Finish, Forecast, Import,
    Keywords, LedgerOpened, MadeBy, Name, Parts, PolicySet, Price, PriceBook, Purpose, Quality,
    Rates, RawPairs, Refusal, RefusalReason, Replaced, Reservation, ReserveBasis, SourceKey,
    Stream, Task, TextSize, Tier, TierReason, Turn, TurnClosed, TurnFacts, TurnKind, TurnTier,
    Verdict, Window,
};
use events::rate::Rate;
use events::usage::{Convention, RawUsage, Usage};
use projections::book::{Book, EnginePrice};
use replay::effective_book::book_of;
use replay::report::{Labelled, book_rows};
use replay::reprice::{Options, price};
use replay::sample;

pub(crate) struct Example {
    pub(crate) kind: Kind,
    pub(crate) payload: Vec<u8>,
    pub(crate) debug: String,
}

fn example<P: Payload + std::fmt::Debug>(payload: &P) -> Example {
    Example {
        kind: P::KIND,
        payload: rmp_serde::to_vec(payload).unwrap(),
        debug: format!("{payload:?}"),
    }
}

fn name(text: &str) -> Name<'_> {
    Name::new(text).unwrap()
}

fn rates(first: u64) -> Rates {
    let rate = |step| Some(Rate::new(first + step, 9).unwrap());
    Rates {
        input: rate(1),
        output: rate(2),
        cache_read: rate(3),
        cache_write_5m: rate(4),
        cache_write_1h: rate(5),
        reasoning: rate(6),
        image: rate(7),
        request: None,
    }
}

const fn kind(task: Task, tier: TurnTier) -> TurnKind {
    TurnKind { task, tier }
}

const fn charge(basis: ChargeBasis, pico: i128) -> Charge {
    Charge { basis, cost: Cost::exactly(Pico(pico)) }
}

const fn made_by(first: u16) -> MadeBy {
    MadeBy { decide: first, world: first + 100, policy: Bytes([17; 16]) }
}

fn budget(scope: BudgetScope, first: u32) -> BudgetFact<'static> {
    let pico = |step: u32| Pico(i128::from(first + step));
    BudgetFact {
        name: name("month"),
        scope,
        period: BudgetPeriod::Month,
        limit: pico(1),
        spent: Cost::exactly(pico(2)),
        reserved: Cost::at_least(pico(3)),
        allowance: Some(pico(4)),
        today: Some(pico(5)),
        resets_at: Some(u64::from(first) + 6),
    }
}

/// One payload per kind, no two fields of a type alike.
pub(crate) fn examples() -> Vec<Example> {
    let raw = RawUsage::from_pairs([
        ("cache_creation.ephemeral_5m_input_tokens", 400),
        ("cache_creation.ephemeral_1h_input_tokens", 90),
        ("cache_creation_input_tokens", 500),
        ("cache_read_input_tokens", 6_000),
        ("input_tokens", 70_000),
        ("output_tokens", 8),
    ]);
    let usage = raw.normalise(Convention::Anthropic);
    let usage = Usage { reasoning: Some(5), images: Some(2), ..usage };
    vec![
        example(&LedgerOpened { node: Bytes([1; 32]) }),
        example(&Actor {
            key: Bytes([2; 32]),
            stream: Stream::Agent,
            change: ActorChange::Rotated,
            replaces: Some(Bytes([3; 32])),
        }),
        example(&Price {
            engine: name("acme/m1"),
            context: Some(200_000),
            rates: rates(10),
            tiers: vec![Tier { from_prompt: 200_001, rates: rates(20) }],
            windows: vec![Window { from_minute: 990, to_minute: 30, rates: rates(30) }],
            capabilities: Capabilities {
                tools: Some(true),
                images: Some(false),
                reasoning: None,
                output: Some(64_000),
            },
            quality: Quality { intelligence: Some(501), coding: Some(502), agentic: None },
            source: name("models.dev"),
        }),
        example(&PriceBook {
            source: name("models.dev"),
            dated: name("2026-07-02"),
            engines: 11,
            changed: 12,
            missing: 13,
            digest: Bytes([4; 32]),
            aliases: vec![(name("m1"), name("acme/m1"))],
            families: vec![(name("m1-"), name("m1"))],
            rows: vec![(name("all m1"), name("all:m1"))],
        }),
        example(&Turn {
            client: name("claude-code"),
            conversation: Bytes([5; 16]),
            subagent: Some(Bytes([6; 16])),
            model: name("claude-opus-4-5"),
            news: Some(Parts::TEXT | Parts::TOOL_RESULT),
            prefix_tokens: Some(70_400),
            source_key: Some(SourceKey::new("0001|main|17").unwrap()),
            ask: Some(Ask {
                profile: name("auto"),
                harness: Some(name("pi")),
                project: Some(name("atlas")),
                kind: Some(kind(Task::Coding, TurnTier::Hard)),
                features: features(),
                prompt_tokens_max: 50_002,
                max_output: Some(50_003),
            }),
        }),
        example(&Dispatch {
            purpose: Purpose::Judge,
            attempt: 6,
            engine: name("acme/m3"),
            choice: Choice::Downgraded,
            class: Class {
                kind: kind(Task::Data, TurnTier::Trivial),
                score: 611,
                confidence: 612,
                unknown_terms: 9,
                source: ClassSource::Stated,
            },
            tier: TurnTier::Moderate,
            moved: vec![TierReason::Held, TierReason::Explored],
            draw: Some(Draw { drawn: 60_021, below: 60_022, propensity: 623 }),
            relaxed: 2,
            despite_cool_off: true,
            prompt_tokens: 60_024,
            cache_ttl: CacheTtl::OneHour,
            max_output: 60_001,
            reserved: Reservation { basis: ReserveBasis::Stated, amount: Some(Pico(60_002)) },
            forecast: Forecast {
                cache_read: 60_003,
                cache_estimated: true,
                output: 60_004,
                expected: Cost::exactly(Pico(60_005)),
                cold: Cost::at_least(Pico(60_006)),
                ceiling: Cost::exactly(Pico(i128::from(i64::MAX) + 60_007)),
            },
            warm: Some(name("acme/m4")),
            arms: vec![Arm {
                engine: name("acme/m5"),
                chance: 631,
                quality: Some(632),
                expected: Cost::exactly(Pico(60_008)),
                horizon: Cost::at_least(Pico(60_009)),
                excluded: Some(Exclusion::PriceUnknown),
            }],
            looked_at: 350,
            excluded: vec![(Exclusion::OverBudget, 7)],
            budgets: vec![budget(BudgetScope::Client, 61_000)],
            made_by: made_by(10),
            record: Bytes([11; 32]),
        }),
        example(&Refusal {
            attempt: 12,
            reason: RefusalReason::BudgetExceeded,
            budget: Some(budget(BudgetScope::Project, 62_000)),
            needed: Some(Pico(62_009)),
            excluded: vec![(Exclusion::ContextTooSmall, 13)],
            made_by: made_by(14),
            record: Bytes([15; 32]),
        }),
        example(&DispatchResult {
            attempt: 1,
            turn_at: 1_767_571_200_000,
            engine: name("anthropic/claude-opus-4-5"),
            usage,
            raw_usage: RawPairs::of(&raw),
            parts: Some(Parts::TOOL_USE | Parts::THINKING),
            finish: Finish::Length,
            first_ms: Some(1_220),
            latency_ms: Some(7_340),
            charge: Some(charge(ChargeBasis::Priced, 63_000)),
        }),
        example(&PolicySet {
            scope: name("ledger"),
            sequence: 66,
            text: "[routing]\nhorizon_turns = 9\n",
        }),
        example(&EngineFault {
            attempt: 67,
            engine: name("acme/m7"),
            class: FaultClass::RateLimit,
            status: Some(429),
            retry_after_ms: Some(68_000),
        }),
        example(&Feedback {
            verdict: Verdict::Bad,
            attempt: 69,
            engine: name("acme/m8"),
            kind: Some(kind(Task::Chat, TurnTier::Moderate)),
            harness: Some(name("opencode")),
            replaces: Some(Replaced { verdict: Verdict::Good, at: 71_000 }),
        }),
        example(&TurnClosed { ending: Ending::Failed, attempts: 3, bytes_sent: Some(70_000) }),
        example(&Amend {
            attempt: 2,
            engine: name("acme/m1"),
            turn_at: 1_767_571_200_001,
            replaces: usage,
            usage: Usage { output: Some(420), ..usage },
            turn: Some(TurnFacts {
                was_at: 1_767_571_200_002,
                conversation: Bytes([8; 16]),
                subagent: Some(Bytes([9; 16])),
                news: Some(Parts::TEXT),
                prefix_tokens: Some(71),
                parts: Some(Parts::THINKING),
                finish: Finish::Length,
            }),
            booking: Some(Booking {
                dispatched: 1_767_571_200_003,
                engine: name("acme/m6"),
                conversation: Bytes([16; 16]),
                harness: Some(name("codex")),
                project: Some(name("borealis")),
                kind: Some(kind(Task::Vision, TurnTier::Simple)),
                was: charge(ChargeBasis::Estimated, 64_000),
                now: charge(ChargeBasis::Reported, 64_001),
            }),
            reason: AmendReason::ProviderFinal,
        }),
        example(&Import {
            source: name("agent-turns-csv"),
            rows: 21,
            turns: 22,
            repeated: 23,
            amended: 24,
            refused: 25,
            digest: Bytes([7; 32]),
        }),
        example(&Finding { code: FindingCode::LossAccepted, from: 31, to: 32 }),
        example(&ClockCorrected { ledger: 41, clock: 42 }),
        example(&BudgetCrossed { percent: 80, budget: budget(BudgetScope::Engine, 65_000) }),
    ]
}

/// Features of pairwise different values.
fn features() -> Features {
    let size = |bytes| TextSize { bytes, wide: bytes / 10 };
    Features {
        anatomy: Some(Anatomy {
            system: size(50_100),
            tools: size(50_200),
            user: size(50_300),
            assistant: size(50_400),
            results: size(50_500),
        }),
        prompt_tokens: Some(50_001),
        tail: Some(size(50_600)),
        new_tokens: Some(50_004),
        depth: Some(505),
        tools: Some(506),
        continues: Some(true),
        loop_depth: Some(507),
        distinct_tools: Some(508),
        tool_failed: Some(false),
        repeated_call: None,
        circular_call: Some(true),
        read_only_tail: None,
        images: Some(4),
        new_image: Some(false),
        code_blocks: Some(509),
        code_bytes: Some(50_010),
        diff: None,
        keywords: Some(Keywords(50_011)),
        questions: Some(512),
        terse: Some(true),
        effort: Some(Effort::XHigh),
    }
}

/// A body's payload, encoded anew.
pub(crate) fn encoded(body: &Body<'_>) -> Vec<u8> {
    match body {
        Body::LedgerOpened(payload) => rmp_serde::to_vec(payload),
        Body::Actor(payload) => rmp_serde::to_vec(payload),
        Body::Price(payload) => rmp_serde::to_vec(payload),
        Body::PriceBook(payload) => rmp_serde::to_vec(payload),
        Body::Turn(payload) => rmp_serde::to_vec(payload),
        Body::Dispatch(payload) => rmp_serde::to_vec(payload),
        Body::Refusal(payload) => rmp_serde::to_vec(payload),
        Body::BudgetCrossed(payload) => rmp_serde::to_vec(payload),
        Body::Result(payload) => rmp_serde::to_vec(payload),
        Body::Policy(payload) => rmp_serde::to_vec(payload),
        Body::EngineFault(payload) => rmp_serde::to_vec(payload),
        Body::Feedback(payload) => rmp_serde::to_vec(payload),
        Body::TurnClosed(payload) => rmp_serde::to_vec(payload),
        Body::Amend(payload) => rmp_serde::to_vec(payload),
        Body::Import(payload) => rmp_serde::to_vec(payload),
        Body::Finding(payload) => rmp_serde::to_vec(payload),
        Body::ClockCorrected(payload) => rmp_serde::to_vec(payload),
        Body::Unknown(kind) => panic!("no payload is known of {kind:?}"),
    }
    .unwrap()
}

/// Compares with a file of `tests/golden`, or rewrites it.
fn golden(file: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file);
    if std::env::var_os("FERRY_BLESS").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(expected, found, "{} differs; FERRY_BLESS=1 rewrites it", path.display());
}

#[test]
fn every_kind_and_version_has_its_bytes() {
    let kinds = KindTable::current();
    let examples = examples();
    let mut text = String::new();
    for spec in kinds.kinds() {
        assert_eq!(spec.versions.len(), 1, "{}: give each version its example", spec.name);
        let example = examples.iter().find(|example| example.kind == spec.kind).expect(spec.name);
        kinds.decode_canonical(spec.kind, 1, &example.payload).unwrap();
        let body = kinds.decode(spec.kind, 1, &example.payload).unwrap();
        assert_eq!(encoded(&body), example.payload);
        let hex: String = example.payload.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(text, "{:#06x} {} version 1\n{hex}\n{}\n", spec.kind.0, spec.name, example.debug)
            .unwrap();
    }
    golden("events.txt", &text);
}

#[test]
fn the_sample_has_its_published_digests() {
    let (log, head) = crate::oracle::ledger(&replay::sample::turns().unwrap());
    let report = crate::oracle::report_on(&log, &head);
    let (folded, _) = crate::build::folded(&log, &head).unwrap();
    let world = projections::projection::Projection::digest(&folded.world);
    let mut text = String::new();
    for (what, value) in [
        ("ledger id", report.ledger.id.clone()),
        ("events", report.ledger.events.to_string()),
        ("batches", report.ledger.batches.to_string()),
        ("link", report.ledger.link.clone()),
        ("world digest", world.to_string()),
        ("report digest", report.digest.clone()),
        (
            "known cost of all rows",
            report.rows.iter().map(|row| row.sums.cost().known).sum::<Pico>().to_string(),
        ),
    ] {
        writeln!(text, "{what}: {value}").unwrap();
    }
    golden("sample.txt", &text);
}

/// A rate as lists quote it.
fn quoted(rate: Option<Rate>) -> String {
    rate.map_or_else(|| "not stated".to_owned(), |rate| rate.to_string())
}

/// What two entries for one engine state differently.
fn differences(ours: &EnginePrice, other: &EnginePrice) -> Vec<String> {
    let rates = |price: &EnginePrice| {
        let Rates { input, output, cache_read, cache_write_5m, cache_write_1h, reasoning, .. } =
            price.rates;
        [
            ("input", quoted(input)),
            ("output", quoted(output)),
            ("cache read", quoted(cache_read)),
            ("5-minute write", quoted(cache_write_5m)),
            ("1-hour write", quoted(cache_write_1h)),
            ("reasoning", quoted(reasoning)),
            ("context", format!("{:?}", price.context)),
            ("tiers", format!("{:?}", price.tiers)),
        ]
    };
    rates(ours)
        .into_iter()
        .zip(rates(other))
        .filter(|(ours, other)| ours.1 != other.1)
        .map(|((what, ours), (_, other))| format!("{what} {ours} -> {other}"))
        .collect()
}

// The sample's rows by the bundled list: where a figure differs, so does the entry it is priced with.
#[test]
fn the_samples_rows_by_the_default_book() {
    let sample = sample::book().unwrap().book();
    let list = replay::default_book::default_book().unwrap();
    let default = book_of(&list).with_names(sample.names().unwrap().clone());
    let mut log = MemoryLog::new(sample::ledger_id());
    let turns = sample::turns().unwrap();
    let head = sample::build(&mut log, &turns, &sample::book().unwrap(), &mut || {}).unwrap();
    let (_, window) = crate::build::folded(&log, &head).unwrap();
    let mut table = String::new();
    for Labelled { label, strategy } in book_rows(&sample).unwrap() {
        let priced = |book| price(&window, book, &strategy, Options::default()).unwrap();
        let (ours, other) = (priced(&sample), priced(&default));
        let cost = |priced: &replay::reprice::Priced| {
            let Cost { known, incomplete } = priced.totals.cost;
            format!("{}{known}", if incomplete { "at least " } else { "" })
        };
        table.push_str(&format!("{label} | {} | {}\n", cost(&ours), cost(&other)));
        let engines = ours.engines.iter().filter_map(|used| used.found.as_ref());
        let why: std::collections::BTreeSet<String> = engines
            .flat_map(|(_, engine)| {
                let entry = |book: &Book| book.engine(engine).unwrap().clone();
                let differs = differences(&entry(&sample), &entry(&default));
                differs.into_iter().map(move |what| format!("  {engine}: {what}\n"))
            })
            .collect();
        assert!(cost(&ours) == cost(&other) || !why.is_empty(), "{label} differs for no reason");
        if cost(&ours) != cost(&other) {
            table.extend(why);
        }
    }
    golden("sample-by-default-book.txt", &table);
}

//! What a signed ledger costs per event: encode, decode, sign, verify, chain + decode + fold.
//!
//! Two mixes: the sample's events, and full live events with every field filled.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench fails by panicking, and prints"
)]

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use events::admission::admit;
use events::batch::{Author, AuthorTip, Batch, SignedBatch};
use events::bytes::Bytes;
use events::event::Events;
use events::ids::{LedgerId, Subject};
use events::kind::KindTable;
use events::log::ReadLog as _;
use events::memory::MemoryLog;
use events::payload::{DispatchResult, Finish, Name, Parts, RawPairs, SourceKey, Stream, Turn};
use events::sign::{BATCH_PREFIX, SigningKey, Verifier};
use events::usage::{Convention, RawUsage};
use replay::fold::{Checks, Signatures, fold};
use replay::sample;
use replay::writer::{Writer, open_ledger};

const LEDGER: LedgerId = Bytes([1; 32]);
const SIZES: [usize; 3] = [1, 64, 256];
/// Turns in the live mix: two events each.
const LIVE_TURNS: u64 = 50_000;

fn key() -> SigningKey {
    SigningKey::from_secret(&[2; 32])
}

fn author() -> Author {
    Author::new(key(), LEDGER, AuthorTip::default())
}

fn subject(number: u64) -> Subject {
    let mut bytes = [0; 16];
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    Bytes(bytes)
}

fn raw_usage() -> RawUsage {
    RawUsage::from_pairs([
        ("cache_creation.ephemeral_1h_input_tokens", 1_234),
        ("cache_creation.ephemeral_5m_input_tokens", 2_345),
        ("cache_creation_input_tokens", 3_579),
        ("cache_read_input_tokens", 123_456),
        ("input_tokens", 1_234),
        ("output_tokens", 789),
        ("server_tool_use.web_search_requests", 1),
    ])
}

fn live_turn(number: u64) -> Turn<'static> {
    Turn {
        client: Name::new("claude-code/2.1.45 (external, cli) linux x86-64 session in a terminal window of a large screen").unwrap(),
        conversation: Bytes([u8::try_from(number % 200).unwrap(); 16]),
        subagent: Some(Bytes([7; 16])),
        model: Name::new("openrouter/anthropic/claude-opus-4-5-20251101:extended-thinking").unwrap(),
        news: Some(Parts::TEXT | Parts::TOOL_RESULT),
        prefix_tokens: Some(123_456),
        source_key: Some(SourceKey::new("01JD8Q3V9W2X4Y5Z6A7B8C9D0E|session-main|17").unwrap()),
        ask: None,
    }
}

fn live_result<'a>(number: u64, raw: &'a RawUsage) -> DispatchResult<'a> {
    DispatchResult {
        attempt: 0,
        turn_at: number * 1_000,
        engine: Name::new("openrouter/anthropic/claude-opus-4-5-20251101:extended-thinking")
            .unwrap(),
        usage: raw.normalise(Convention::Anthropic),
        raw_usage: RawPairs::of(raw),
        parts: Some(Parts::TEXT | Parts::THINKING | Parts::TOOL_USE),
        finish: Finish::ToolUse,
        first_ms: None,
        latency_ms: Some(7_340),
        charge: None,
    }
}

fn gathered(size: usize, raw: &RawUsage) -> Events {
    let mut events = Events::new();
    for number in (0..).take(size) {
        if number % 2 == 0 {
            events.push(number * 1_000, subject(number), &live_turn(number)).unwrap();
        } else {
            events.push(number * 1_000, subject(number), &live_result(number, raw)).unwrap();
        }
    }
    events
}

fn sealed(size: usize) -> SignedBatch {
    author().seal(gathered(size, &raw_usage())).unwrap()
}

fn batches(criterion: &mut Criterion) {
    let kinds = KindTable::current();
    let raw = raw_usage();
    let mut group = criterion.benchmark_group("batch");
    for size in SIZES {
        group.throughput(Throughput::Elements(size as u64));
        let id = |what| BenchmarkId::new(what, size);
        group.bench_function(id("encode"), |bench| bench.iter(|| black_box(gathered(size, &raw))));
        group.bench_function(id("sign"), |bench| {
            let events = gathered(size, &raw);
            bench.iter_batched(
                || (author(), events.clone()),
                |(mut author, events)| author.seal(events),
                BatchSize::SmallInput,
            );
        });
        let batch = sealed(size);
        group.bench_function(id("decode"), |bench| {
            bench.iter(|| {
                for event in Batch::parse(&batch.bytes).unwrap().events() {
                    black_box(event.decode(&kinds).unwrap());
                }
            });
        });
        group.bench_function(id("verify"), |bench| {
            let mut verifier = Verifier::new();
            bench.iter(|| {
                let parsed = Batch::parse(&batch.bytes).unwrap();
                let author = parsed.header.author;
                verifier
                    .verify(&author, BATCH_PREFIX, parsed.header_bytes, &batch.signature)
                    .unwrap();
            });
        });
        group.bench_function(id("admit"), |bench| {
            let mut verifier = Verifier::new();
            bench.iter_batched(
                || batch.clone(),
                |batch| admit(batch, &LEDGER, &kinds, &mut verifier).unwrap(),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

fn sample_log() -> MemoryLog {
    let mut log = MemoryLog::new(sample::ledger_id());
    sample::build(&mut log, &sample::turns().unwrap(), &sample::book().unwrap(), &mut || {})
        .unwrap();
    log
}

fn live_log() -> MemoryLog {
    let mut log = MemoryLog::new(LEDGER);
    let streams = [(Stream::Proxy, key().public())];
    open_ledger(&mut log, SigningKey::from_secret(&[1; 32]), &streams, 0).unwrap();
    let raw = raw_usage();
    let mut writer = Writer::new(&mut log, key());
    for number in 0..LIVE_TURNS {
        writer.push(number * 1_000, subject(number), &live_turn(number)).unwrap();
        writer.push(number * 1_000 + 7, subject(number), &live_result(number, &raw)).unwrap();
    }
    writer.flush().unwrap();
    log
}

fn folds(criterion: &mut Criterion) {
    let kinds = KindTable::current();
    let mut group = criterion.benchmark_group("fold");
    group.sample_size(20);
    for (mix, log) in [("sample", sample_log()), ("live", live_log())] {
        let events = log.head().next;
        let bytes: usize = log.stored().values().map(Vec::len).sum();
        println!("{mix}: {events} events, {} bytes per event", bytes as u64 / events);
        group.throughput(Throughput::Elements(events));
        for (what, signatures) in
            [("chain_decode_fold", Signatures::Trust), ("verify_fold", Signatures::Check)]
        {
            let checks = Checks { kinds: &kinds, signatures, head: None };
            group.bench_function(BenchmarkId::new(what, mix), |bench| {
                bench.iter(|| {
                    fold(&log, checks, &mut |_, body, _| {
                        black_box(body);
                    })
                    .unwrap()
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, batches, folds);
criterion_main!(benches);

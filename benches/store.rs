//! A ledger of a million turns on disk: reading it back, verifying it, opening it.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench fails by panicking, and prints"
)]

use std::fs;
use std::path::Path;
use std::time::Instant;

use events::bytes::Bytes;
use events::ids::Subject;
use events::kind::KindTable;
use events::log::ReadLog as _;
use events::payload::{DispatchResult, Finish, Name, Parts, RawPairs, Stream, Turn};
use events::usage::{Convention, RawUsage};
use ferry::ledger::Owner;
use ferry::store::{Home, KeyFiles, Promise, Settings, Store};
use replay::fold::{Checks, Signatures, fold};
use replay::writer::Writer;

const TURNS: u64 = 1_000_000;
const EVENTS_A_BATCH: u64 = 64;

fn subject(number: u64) -> Subject {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    Bytes(bytes)
}

fn fill(store: &mut Store, home: &Home) {
    let raw = RawUsage::from_pairs([
        ("cache_read_input_tokens", 123_456),
        ("cache_creation_input_tokens", 2_345),
        ("input_tokens", 1_234),
        ("output_tokens", 789),
    ]);
    let model = Name::new("anthropic/claude-opus-4-5-20251101").unwrap();
    let proxy = KeyFiles::new(home.clone()).signing(Stream::Proxy).unwrap();
    let mut writer = Writer::new(store, proxy);
    for number in 0..TURNS {
        let turn = Turn {
            client: Name::new("claude-code").unwrap(),
            conversation: Bytes([u8::try_from(number % 251).unwrap(); 16]),
            subagent: None,
            model,
            news: Some(Parts::TOOL_RESULT),
            prefix_tokens: Some(120_000),
            source_key: None,
            ask: None,
        };
        let result = DispatchResult {
            attempt: 0,
            turn_at: number * 500,
            engine: model,
            usage: raw.normalise(Convention::Anthropic),
            raw_usage: RawPairs::of(&raw),
            parts: Some(Parts::TOOL_USE),
            finish: Finish::ToolUse,
            first_ms: None,
            latency_ms: Some(7_000),
            charge: None,
        };
        writer.push(number * 500, subject(number), &turn).unwrap();
        writer.push(number * 500 + 100, subject(number), &result).unwrap();
        if (number + 1) % (EVENTS_A_BATCH / 2) == 0 {
            writer.flush().unwrap();
        }
    }
    writer.flush().unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::new(folder.path().join("home"));
    let settings = || Settings { witness: None, ..Settings::from_system(Promise::Process) };
    Store::init(&home, &settings(), 0).unwrap();
    let (mut store, _) = Store::open(&home, settings()).unwrap();
    let started = Instant::now();
    fill(&mut store, &home);
    let events = store.head().next;
    let rate = |started: Instant| events as f64 / started.elapsed().as_secs_f64();
    println!("{events} events, {EVENTS_A_BATCH} a batch");
    println!("append, signed and vouched for: {:.0} events/s", rate(started));
    let kinds = KindTable::current();
    for (what, signatures) in
        [("scan, chain, decode, fold", Signatures::Trust), ("verify", Signatures::Check)]
    {
        let started = Instant::now();
        let checks = Checks { kinds: &kinds, signatures, head: None };
        fold(&store, checks, &mut |_, _, _| {}).unwrap();
        println!("{what}: {:.0} events/s", rate(started));
    }
    let killed = Home::new(folder.path().join("killed"));
    copy(home.path(), killed.path());
    store.close().unwrap();
    open_for_use("for the first time, folding everything", &home, events);
    // A running owner keeps a snapshot every 50,000 events: the one that was killed had one, too.
    copy(&home.snapshots(), &killed.snapshots());
    open_for_use("after kill -9", &killed, events);
    open_for_use("after a clean stop", &home, events);
}

fn open_for_use(what: &str, home: &Home, events: u64) {
    let settings = Settings { witness: None, ..Settings::from_system(Promise::Process) };
    let started = Instant::now();
    let owner = Owner::start(home, settings).unwrap();
    println!("open for use {what}: {:?}", started.elapsed());
    assert_eq!(owner.handle().view().head().next, events);
    owner.close().unwrap();
}

//! How long a turn waits for its answer: beside an import and alone, with syncs and without.
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench fails by panicking, and prints"
)]

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use events::admission::Admitted;
use events::batch::{Author, AuthorTip};
use events::bytes::Bytes;
use events::event::Events;
use events::log::{Log as _, ReadLog as _};
use events::payload::{Finish, Name, RawPairs, Stream};
use events::usage::{RawUsage, Usage};
use ferry::ledger::{
    Command, CommandError, Encoded, Handle, Owner, Queue, TURNS_A_COMMAND_MAX, encode_turn,
};
use ferry::store::{Home, KeyFiles, Promise, Settings, Store};
use replay::import::ImportedTurn;
use serde_bytes::Bytes as RawBytes;

/// How long each run takes.
const RUN: Duration = Duration::from_secs(10);
const TURNS_PER_S: u32 = 1_000;

struct Times(Vec<Duration>);

impl Times {
    fn at(&self, permille: usize) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted[(sorted.len() - 1) * permille / 1000]
    }

    fn print(&self, what: &str) {
        println!(
            "  {what:<28} {:>7} answers  p50 {:>9.1?}  p99 {:>9.1?}  p99.9 {:>9.1?}  worst {:>9.1?}",
            self.0.len(),
            self.at(500),
            self.at(990),
            self.at(999),
            self.at(1000),
        );
    }
}

fn row(source: &'static str, number: u64) -> Vec<u8> {
    let raw = RawUsage::from_pairs([("input_tokens", 1_234), ("output_tokens", 789)]);
    encode_turn(&ImportedTurn {
        source,
        row: &number.to_string(),
        source_key: None,
        client: Name::new("claude-code").unwrap(),
        conversation: "c1",
        subagent: None,
        model: Name::new("anthropic/claude-opus-4-5-20251101").unwrap(),
        at: 1_767_571_200_000 + number,
        answered_at: 1_767_571_201_000 + number,
        news: None,
        prefix_tokens: None,
        usage: Usage { prompt: Some(1_234), output: Some(789), ..Usage::default() },
        raw_usage: RawPairs::of(&raw),
        parts: None,
        finish: Finish::ToolUse,
        latency_ms: Some(7_340),
        ending: None,
    })
}

/// Imports as fast as it is let, until it is told to stop.
fn import(handle: &Handle, imported: &AtomicU64, stop: &AtomicBool) {
    while !stop.load(Ordering::SeqCst) {
        let start = imported.load(Ordering::SeqCst);
        let rows: Vec<Vec<u8>> =
            (start..).take(TURNS_A_COMMAND_MAX).map(|number| row("import", number)).collect();
        let command = Command::ImportTurns(rows.iter().map(|row| RawBytes::new(row)).collect());
        match handle.run(Queue::Bulk, &command) {
            Ok(_) => imported.fetch_add(rows.len() as u64, Ordering::SeqCst),
            Err(CommandError::Busy) => continue,
            Err(error) => panic!("{error}"),
        };
    }
}

/// Asks at a fixed pace, whatever the answers before took.
fn turns(handle: &Handle, first: u64) -> Times {
    let started = Instant::now();
    let (give, take) = channel();
    let count = u64::from(TURNS_PER_S) * RUN.as_secs();
    for number in 0..count {
        let encoded = row("live", first + number);
        let command = Encoded::new(&Command::ImportTurns(vec![RawBytes::new(&encoded)]));
        let due = started + Duration::from_secs(1) / TURNS_PER_S * u32::try_from(number).unwrap();
        if let Some(early) = due.checked_duration_since(Instant::now()) {
            std::thread::sleep(early);
        }
        let (give, asked) = (give.clone(), Instant::now());
        let answered = move |outcome: Result<_, _>| {
            outcome.unwrap();
            give.send(asked.elapsed()).unwrap();
        };
        handle.submit(Queue::Turns, command, answered).unwrap();
    }
    Times((0..count).map(|_| take.recv().unwrap()).collect())
}

fn beside_an_import(folder: &Path) {
    let (home, settings) = made(folder, "import");
    let owner = Owner::start(&home, settings).unwrap();
    let handle = owner.handle();
    println!("{TURNS_PER_S} turns/s of two events, each its own group unless several wait");
    let alone = turns(handle, 0);
    alone.print("alone");
    let (imported, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let beside = std::thread::scope(|scope| {
        scope.spawn(|| import(handle, &imported, &stop));
        let beside = turns(handle, 1_000_000);
        stop.store(true, Ordering::SeqCst);
        beside
    });
    beside.print("beside an import");
    println!(
        "  p99 {:.1}x; the import went on at {} turns/s",
        beside.at(990).as_secs_f64() / alone.at(990).as_secs_f64(),
        imported.load(Ordering::SeqCst) / RUN.as_secs(),
    );
    let started = Instant::now();
    let before = imported.load(Ordering::SeqCst);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| import(handle, &imported, &stop));
        std::thread::sleep(Duration::from_secs(3));
        stop.store(true, Ordering::SeqCst);
    });
    let rate = (imported.load(Ordering::SeqCst) - before) * 1000;
    println!(
        "  with nobody to wait for it: {} turns/s",
        u128::from(rate) / started.elapsed().as_millis()
    );
    owner.close().unwrap();
}

fn made(folder: &Path, name: &str) -> (Home, Settings) {
    let home = Home::new(folder.join(name));
    let settings = Settings { witness: None, ..Settings::from_system(Promise::Process) };
    Store::init(&home, &settings, 0).unwrap();
    (home, settings)
}

fn closed_loop(folder: &Path, name: &str, sync_every: Duration) -> Times {
    let (home, settings) = made(folder, name);
    let (mut store, _) = Store::open(&home, Settings { sync_every, ..settings }).unwrap();
    let proxy = KeyFiles::new(home).signing(Stream::Proxy).unwrap();
    let mut author = Author::new(proxy, store.head().ledger, AuthorTip::default());
    let started = Instant::now();
    let mut took = Vec::new();
    let closed = events::payload::TurnClosed {
        ending: events::payload::Ending::Aborted,
        attempts: 1,
        bytes_sent: None,
    };
    for number in 0_u64.. {
        if started.elapsed() > RUN {
            break;
        }
        let one = Instant::now();
        let mut events = Events::new();
        let mut subject = [0; 16];
        subject[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
        events.push(number, Bytes(subject), &closed).unwrap();
        let batch = Admitted::own(&mut author, events).unwrap();
        store.append(&[batch], 0).unwrap();
        took.push(one.elapsed());
    }
    store.close().unwrap();
    Times(took)
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    beside_an_import(folder.path());
    println!("\nclosed loop, one event a batch");
    let synced = closed_loop(folder.path(), "synced", Duration::from_millis(40));
    let never = closed_loop(folder.path(), "never", Duration::from_secs(3600));
    never.print("without any sync");
    synced.print("synced every 40 ms");
    println!("  p99.9 {:.2}x", synced.at(999).as_secs_f64() / never.at(999).as_secs_f64());
}

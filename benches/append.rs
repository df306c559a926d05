//! What appending costs: a plain file, SQLite, fjall alone, ferry; 1, 64 and 256 events a batch; both
//! promises. fjall alone and ferry write the same keys and bytes.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench fails by panicking, and prints"
)]

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use events::admission::Admitted;
use events::batch::{Author, AuthorTip};
use events::bytes::Bytes;
use events::event::Events;
use events::ids::{LedgerId, Subject};
use events::log::{Log as _, ReadLog as _};
use events::payload::{DispatchResult, Finish, Name, Parts, RawPairs, Stream};
use events::sign::{BATCH_PREFIX, SigningKey};
use events::usage::{Convention, RawUsage};
use ferry::store::{Home, KeyFiles, Promise, Settings, Store};
use fjall::{Database, KeyspaceCreateOptions, PersistMode};

const SIZES: [usize; 3] = [1, 64, 256];
/// How long each contender writes.
const RUN: Duration = Duration::from_secs(2);

/// Times of single commits, and how many events they held.
struct Times {
    took: Vec<Duration>,
    per_batch: usize,
    /// How often the engine began a new journal: the slowest commits wait for that.
    rotations: u64,
}

impl Times {
    fn events_per_s(&self) -> f64 {
        let total: Duration = self.took.iter().sum();
        (self.took.len() * self.per_batch) as f64 / total.as_secs_f64()
    }

    /// Journals are numbered: the first is 0.
    fn rotated(self, folder: &Path) -> Self {
        let number =
            |file: std::fs::DirEntry| file.file_name().to_str()?.strip_suffix(".jnl")?.parse().ok();
        let newest =
            std::fs::read_dir(folder).unwrap().filter_map(|file| number(file.unwrap())).max();
        Self { rotations: newest.unwrap_or(0), ..self }
    }

    fn at(&self, permille: usize) -> Duration {
        let mut sorted = self.took.clone();
        sorted.sort_unstable();
        sorted[(sorted.len() - 1) * permille / 1000]
    }
}

/// Writes batches until the time is up; the first tenth is warm-up and not counted.
fn timed(per_batch: usize, mut write: impl FnMut(u64)) -> Times {
    let started = Instant::now();
    let (mut took, mut number) = (Vec::new(), 0);
    while started.elapsed() < RUN {
        let one = Instant::now();
        write(number);
        let elapsed = one.elapsed();
        if started.elapsed() > RUN / 10 {
            took.push(elapsed);
        }
        number += 1;
    }
    Times { took, per_batch, rotations: 0 }
}

fn subject(number: u64) -> Subject {
    let mut bytes = [0; 16];
    // Spread, as keyed digests are.
    bytes[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    Bytes(bytes)
}

fn gathered(batch: u64, per_batch: usize, raw: &RawUsage) -> Events {
    let mut events = Events::new();
    let (usage, raw_usage) = (raw.normalise(Convention::Anthropic), RawPairs::of(raw));
    let mut result = DispatchResult {
        attempt: 0,
        turn_at: 0,
        engine: Name::new("openrouter/anthropic/claude-opus-4-5-20251101").unwrap(),
        usage,
        raw_usage,
        parts: Some(Parts::TEXT | Parts::TOOL_USE),
        finish: Finish::ToolUse,
        first_ms: None,
        latency_ms: Some(7_340),
        charge: None,
    };
    for number in (batch * per_batch as u64..).take(per_batch) {
        result.turn_at = number;
        events.push(number, subject(number), &result).unwrap();
    }
    events
}

fn raw_usage() -> RawUsage {
    RawUsage::from_pairs([
        ("cache_creation.ephemeral_5m_input_tokens", 2_345),
        ("cache_creation_input_tokens", 2_345),
        ("cache_read_input_tokens", 123_456),
        ("input_tokens", 1_234),
        ("output_tokens", 789),
    ])
}

/// What ferry stores of batches: entry and batch bytes, and what each event is about.
fn stored_forms(per_batch: usize) -> (Vec<u8>, Vec<Subject>) {
    let ledger: LedgerId = Bytes([1; 32]);
    let mut author = Author::new(SigningKey::from_secret(&[2; 32]), ledger, AuthorTip::default());
    let batch = Admitted::own(&mut author, gathered(0, per_batch, &raw_usage())).unwrap();
    let entry = events::admission::Chain::genesis(ledger).extend(&batch, 0).encode();
    (
        [&entry[..], batch.bytes()].concat(),
        batch.about().iter().map(|(_, subject)| *subject).collect(),
    )
}

fn plain_file(folder: &Path, per_batch: usize, promise: Promise) -> Times {
    let (bytes, _) = stored_forms(per_batch);
    let mut file = File::create(folder.join("plain")).unwrap();
    timed(per_batch, |_| {
        file.write_all(&bytes).unwrap();
        if promise == Promise::Power {
            file.sync_data().unwrap();
        }
    })
}

fn sqlite(folder: &Path, per_batch: usize, promise: Promise) -> Times {
    let (bytes, _) = stored_forms(per_batch);
    let mut database = rusqlite::Connection::open(folder.join("sqlite")).unwrap();
    let synchronous = if promise == Promise::Power { "FULL" } else { "NORMAL" };
    database.pragma_update(None, "journal_mode", "WAL").unwrap();
    database.pragma_update(None, "synchronous", synchronous).unwrap();
    database
        .execute_batch(
            "CREATE TABLE log (seq INTEGER PRIMARY KEY, stored BLOB);
             CREATE TABLE by_subject (subject BLOB, seq INTEGER, PRIMARY KEY (subject, seq)) WITHOUT ROWID;",
        )
        .unwrap();
    timed(per_batch, |batch| {
        let transaction = database.transaction().unwrap();
        let first = batch * per_batch as u64;
        transaction
            .prepare_cached("INSERT INTO log VALUES (?1, ?2)")
            .unwrap()
            .execute((first, &bytes))
            .unwrap();
        let mut insert =
            transaction.prepare_cached("INSERT INTO by_subject VALUES (?1, ?2)").unwrap();
        for seq in (first..).take(per_batch) {
            insert.execute((&subject(seq).0[..], seq)).unwrap();
        }
        drop(insert);
        transaction.commit().unwrap();
    })
}

fn fjall_alone(folder: &Path, per_batch: usize, promise: Promise) -> Times {
    let (bytes, _) = stored_forms(per_batch);
    let database =
        Database::builder(folder.join("fjall")).max_journaling_size(64 << 20).open().unwrap();
    let [log, by_id, by_subject, meta] = ["log", "by_id", "by_subject", "meta"]
        .map(|name| database.keyspace(name, KeyspaceCreateOptions::default).unwrap());
    let mode = if promise == Promise::Power { PersistMode::SyncData } else { PersistMode::Buffer };
    timed(per_batch, |batch| {
        let first = batch * per_batch as u64;
        let mut write = database.batch().durability(Some(mode));
        write.insert(&log, first.to_be_bytes(), bytes.clone());
        write.insert(&by_id, *blake3_like(batch), first.to_be_bytes());
        for seq in (first..).take(per_batch) {
            let mut key = [0; 24];
            key[..16].copy_from_slice(&subject(seq).0);
            key[16..].copy_from_slice(&seq.to_be_bytes());
            write.insert(&by_subject, key, []);
        }
        write.insert(&meta, [b'a'; 33], [0; 40]);
        write.commit().unwrap();
    })
    .rotated(&folder.join("fjall"))
}

/// 32 spread bytes, as a batch id has.
fn blake3_like(number: u64) -> Box<[u8; 32]> {
    let mut id = [0; 32];
    id[..16].copy_from_slice(&subject(number).0);
    Box::new(id)
}

fn ferry(folder: &Path, per_batch: usize, promise: Promise) -> Times {
    let home = Home::new(folder.join("ferry"));
    let ledger = home.ledger();
    let settings = Settings { witness: None, ..Settings::from_system(promise) };
    Store::init(&home, &settings, 0).unwrap();
    let (mut store, _) = Store::open(&home, settings).unwrap();
    let proxy = KeyFiles::new(home).signing(Stream::Proxy).unwrap();
    let mut author = Author::new(proxy, store.head().ledger, AuthorTip::default());
    let raw = raw_usage();
    let times = timed(per_batch, |batch| {
        let events = gathered(batch, per_batch, &raw);
        let batch = Admitted::own(&mut author, events).unwrap();
        store.append(&[batch], 0).unwrap();
    });
    let times = times.rotated(&ledger);
    store.close().unwrap();
    times
}

fn signature() -> Duration {
    let key = SigningKey::from_secret(&[2; 32]);
    let started = Instant::now();
    for _ in 0..2_000 {
        std::hint::black_box(key.sign(BATCH_PREFIX, &[7; 142]));
    }
    started.elapsed() / 2_000
}

fn main() {
    type Contender = fn(&Path, usize, Promise) -> Times;
    let contenders: [(&str, Contender); 4] = [
        ("plain file", plain_file),
        ("SQLite WAL", sqlite),
        ("fjall alone", fjall_alone),
        ("ferry", ferry),
    ];
    println!("one ed25519 signature: {:?}", signature());
    for promise in [Promise::Process, Promise::Power] {
        for per_batch in SIZES {
            let (bytes, _) = stored_forms(per_batch);
            println!(
                "\n{promise:?}, {per_batch} events a batch, {} bytes an event",
                bytes.len() / per_batch
            );
            let mut alone = None;
            for (name, run) in contenders {
                let folder = tempfile::tempdir().unwrap();
                let times = run(folder.path(), per_batch, promise);
                let rate = times.events_per_s();
                let ratio = match (name, alone) {
                    ("ferry", Some(alone)) => format!("  {:.2}x fjall alone", rate / alone),
                    _ => String::new(),
                };
                if name == "fjall alone" {
                    alone = Some(rate);
                }
                println!(
                    "  {name:<12} {rate:>10.0} events/s   p50 {:>9.1?}  p99 {:>9.1?}  p99.9 {:>9.1?}  rotations {:>2}{ratio}",
                    times.at(500),
                    times.at(990),
                    times.at(999),
                    times.rotations,
                );
            }
        }
    }
}

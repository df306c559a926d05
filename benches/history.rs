//! Importing and explaining: a million turns, new processes.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench fails by panicking, and prints"
)]

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use events::batch::Batch;
use events::entry::Entry;
use events::log::ReadLog as _;
use ferry::store::{Home, Promise, Settings, Store};
use nix::sys::resource::{UsageWho, getrusage};

const TURNS: u64 = 1_000_000;
const EXPLAINED: u64 = 100;
/// Turns of one conversation.
const CONVERSATION: u64 = 120;

/// A line of about a kilobyte, most of it text that is passed over.
fn line(number: u64) -> String {
    let (conversation, place) = (number / CONVERSATION, number % CONVERSATION);
    let at = 1_767_571_200_000 + conversation * 40_000 + place * 21_000;
    let (read, written) = (place * 900, 900 + number % 77);
    format!(
        r#"{{"id":"msg_{number}","conversation":"c{conversation}","client":"claude-code","model":"claude-opus-4-5-20251101","at":{at},"latency_ms":7340,"convention":"anthropic","usage":{{"input_tokens":3,"cache_read_input_tokens":{read},"cache_creation_input_tokens":{written},"output_tokens":{output}}},"finish":"tool_use","news":["tool_result"],"prompt":"{text}"}}"#,
        output = 20 + number % 900,
        text = "word ".repeat(120),
    )
}

fn write(path: &Path, turns: u64) {
    let mut file = BufWriter::new(File::create(path).unwrap());
    for number in 0..turns {
        writeln!(file, "{}", line(number)).unwrap();
    }
    file.flush().unwrap();
}

/// Time of the processes that have ended, on the processor.
fn busy() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let times = [usage.user_time(), usage.system_time()];
    let micros: i64 = times.iter().map(|time| time.tv_sec() * 1_000_000 + time.tv_usec()).sum();
    Duration::from_micros(u64::try_from(micros).unwrap())
}

/// Runs ferry; its output, how long it took, and how long its threads were on a processor.
fn ferry(home: &Path, arguments: &[&str]) -> (Vec<u8>, Duration, Duration) {
    let (started, before) = (Instant::now(), busy());
    let output = Command::new(env!("CARGO_BIN_EXE_ferry"))
        .env("FERRY_HOME", home)
        .env("FERRY_WITNESS", "off")
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success());
    (output.stdout, started.elapsed(), busy() - before)
}

/// What events at seeded positions all over the ledger are about.
fn seeded_turns(home: &Path) -> Vec<String> {
    let settings = Settings { witness: None, ..Settings::from_system(Promise::Process) };
    let (store, _) = Store::open(&Home::new(home), settings).unwrap();
    let end = store.head().next;
    let turns = (1..=EXPLAINED).map(|number| {
        let position = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (end - 1_000) + 500;
        let mut turn = None;
        store
            .read(position, &mut |first, stored| {
                let (_, _, bytes) = Entry::split(stored).unwrap();
                let batch = Batch::parse(bytes).unwrap();
                let index = usize::try_from(position - first).unwrap();
                turn = batch.events().nth(index).map(|event| event.subject.to_string());
                ControlFlow::Break(())
            })
            .unwrap();
        turn.unwrap()
    });
    let turns = turns.collect();
    store.close().unwrap();
    turns
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let (home, file) = (folder.path().join("home"), folder.path().join("turns.jsonl"));
    write(&file, TURNS);
    let size = file.metadata().unwrap().len();
    println!("{TURNS} turns, {} bytes a line", size / TURNS);
    let path = file.to_str().unwrap();
    let rate = |took: Duration| u128::from(TURNS) * 1_000 / took.as_millis();
    let (_, took, busy) = ferry(&home, &["import", "traffic", "--dry-run", path]);
    println!("read and told apart: {} turns/s, {} a processor second", rate(took), rate(busy));
    let (_, took, busy) = ferry(&home, &["import", "traffic", path]);
    println!("imported: {} turns/s, {} a processor second", rate(took), rate(busy));
    let (_, took, _) = ferry(&home, &["import", "traffic", path]);
    println!("imported again: {} turns/s", rate(took));
    let (_, took, _) = ferry(&home, &["turns"]);
    println!("newest turns listed: {took:?}");
    let mut times: Vec<Duration> =
        seeded_turns(&home).iter().map(|turn| ferry(&home, &["explain", turn]).1).collect();
    times.sort_unstable();
    let at = |place: usize| times[place];
    println!(
        "{EXPLAINED} turns explained, a process each: median {:?}, slowest {:?}",
        at(49),
        at(99)
    );
}

//! The ledger in use: its owner, its follower, and everybody who asks.

pub(crate) mod killed;
mod owner;
mod shared;

use std::process::{Child, Command as Process, Output, Stdio};
use std::time::{Duration, Instant};

use events::ids::Millis;
use events::log::ReadLog as _;
use events::payload::{Finish, Name, RawPairs};
use events::usage::Usage;
use ferry::ledger::{Command, Handle, Outcome, Owner, Queue, encode_turn};
use ferry::store::{Home, StoreError};
use replay::import::{ImportedTurn, Recorded};
use serde_bytes::Bytes as RawBytes;

use crate::store::{here, made};

/// Longer than any other process needs to become what it is to be.
const PATIENCE: Duration = Duration::from_secs(20);

/// A turn of its own for every row.
pub(crate) fn turn(row: &str, at: Millis, output: u32) -> ImportedTurn<'_> {
    ImportedTurn {
        source: "test",
        row,
        source_key: None,
        client: Name::new("test").unwrap(),
        conversation: "c1",
        subagent: None,
        model: Name::new("acme/m1").unwrap(),
        at,
        answered_at: at,
        news: None,
        prefix_tokens: None,
        usage: Usage { prompt: Some(100), output: Some(output), ..Usage::default() },
        raw_usage: RawPairs::default(),
        parts: None,
        finish: Finish::EndTurn,
        latency_ms: None,
        ending: None,
    }
}

/// Runs a command of turns, whatever it is run by.
pub(super) fn import<E: std::fmt::Debug>(
    turns: &[ImportedTurn<'_>],
    run: impl FnOnce(&Command<'_>) -> Result<Outcome, E>,
) -> Vec<Recorded> {
    let encoded: Vec<Vec<u8>> = turns.iter().map(encode_turn).collect();
    let turns = encoded.iter().map(|turn| RawBytes::new(turn)).collect();
    match run(&Command::ImportTurns(turns)).unwrap() {
        Outcome::Imported(recorded) => recorded,
        other => panic!("an import of turns was answered with {other:?}"),
    }
}

pub(super) fn import_here(handle: &Handle, turns: &[ImportedTurn<'_>]) -> Vec<Recorded> {
    import(turns, |command| handle.run(Queue::Turns, command))
}

/// The owner of a home. A process that another test is just starting holds every lock of this one for a moment: until
/// it has become what it is to be.
pub(crate) fn owned(home: &Home) -> Owner {
    let started = Instant::now();
    loop {
        match Owner::start(home, here()) {
            Err(StoreError::Busy) if started.elapsed() < PATIENCE => std::thread::yield_now(),
            started => return started.unwrap(),
        }
    }
}

/// The binary, on a home.
pub(crate) fn ferry(home: &Home) -> Process {
    let mut process = Process::new(env!("CARGO_BIN_EXE_ferry"));
    process.env("FERRY_HOME", home.path()).env("FERRY_WITNESS", "off");
    process
}

pub(crate) fn says(home: &Home, arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = ferry(home).args(arguments).output().unwrap();
    assert!(status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

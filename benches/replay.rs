//! `ferry replay --sample` as a person starts it: new processes, warm page cache, median and peak memory.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench fails by panicking, and prints"
)]

use std::process::{Command, Stdio};
use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};

const RUNS: usize = 5;

fn main() {
    let run = || {
        let started = Instant::now();
        let status = Command::new(env!("CARGO_BIN_EXE_ferry"))
            .args(["replay", "--sample"])
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success());
        started.elapsed()
    };
    run();
    let mut times: Vec<_> = (0..RUNS).map(|_| run()).collect();
    times.sort_unstable();
    let peak_kib = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap().max_rss();
    println!(
        "ferry replay --sample: median {:?} of {RUNS} new processes ({:?} to {:?}), peak memory {} MB",
        times[RUNS / 2],
        times[0],
        times[RUNS - 1],
        peak_kib * 1024 / 1_000_000,
    );
}

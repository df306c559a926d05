//! Kill -9 at seeded moments.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use events::log::ReadLog as _;
use ferry::store::{Home, Store};

use super::{append, here, made, verified};

const CHILD: &str = "FERRY_TEST_KILLED_CHILD";

/// Not a test of its own: the process that is killed, when the environment says so.
#[test]
fn child_that_appends_until_it_is_killed() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let home = Home::new(path);
    let (mut store, opened) = Store::open(&home, here()).unwrap();
    assert!(opened.lost.is_none());
    println!("answered {}", store.head().next);
    loop {
        append(&mut store, &home, 1);
        println!("answered {}", store.head().next);
    }
}

/// Kills a child at a seeded moment of its answers and gives the last position it answered.
fn kill_after(home: &Home, answers: usize) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store::kill::child_that_appends_until_it_is_killed", "--nocapture"])
        .env(CHILD, home.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut last = None;
    for _ in 0..answers {
        let answer = lines.by_ref().map(Result::unwrap).find_map(position);
        last = last.max(answer);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // What it answered before the kill and we had not read yet counts, too.
    last.max(lines.map_while(Result::ok).filter_map(position).max()).unwrap()
}

fn position(line: String) -> Option<u64> {
    line.strip_prefix("answered ")?.parse().ok()
}

/// Kills, reopens and checks, `rounds` times on one folder.
fn kill_rounds(rounds: usize) {
    let (_folder, home) = made();
    for round in 0..rounds {
        let answered = kill_after(&home, 1 + (round * 37) % 120);
        let (store, opened) = Store::open(&home, here()).unwrap();
        assert!(store.head().next >= answered, "round {round}: an answered event is gone");
        assert!(opened.lost.is_none());
        verified(&store);
        if round % 3 == 0 {
            store.close().unwrap();
        }
    }
}

// Law 3, `process`: 20 rounds here, 200 with FERRY_LONG=1.
#[test]
fn law_3_nothing_answered_is_lost_by_kill_9() {
    let long = std::env::var_os("FERRY_LONG").is_some();
    for _ in 0..if long { 20 } else { 2 } {
        kill_rounds(10);
    }
}

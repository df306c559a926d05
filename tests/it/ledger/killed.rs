//! An owner that is killed while others ask it.

use std::io::{BufRead as _, BufReader};

use events::kind::KindTable;
use ferry::ledger::{CommandError, Ledger, LedgerError};
use replay::fold::verify;

use super::*;

const CHILD: &str = "FERRY_TEST_KILLED_OWNER";

/// Not a test of its own: the owner that is killed, when the environment says so.
#[test]
fn child_that_owns_until_it_is_killed() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let _owner = Owner::start(&Home::new(path), here()).unwrap();
    println!("owns");
    loop {
        std::thread::park();
    }
}

pub(crate) fn owner_elsewhere(home: &Home) -> Child {
    let mut child = Process::new(std::env::current_exe().unwrap())
        .args(["--exact", "ledger::killed::child_that_owns_until_it_is_killed", "--nocapture"])
        .env(CHILD, home.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "owns"));
    child
}

pub(crate) fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_dead_owners_lock_and_socket_are_taken_cleanly() {
    let (_folder, home) = made();
    let child = owner_elsewhere(&home);
    assert!(says(&home, &["doctor"]).contains("its owner is a running ferry"));
    kill(child);
    assert!(home.run().join("ferry.sock").exists(), "nobody tidied up");
    let doctor = says(&home, &["doctor"]);
    assert!(doctor.contains("the stop before was not clean"), "{doctor}");
    assert!(!says(&home, &["doctor"]).contains("not clean"));
}

// The owner dies at some moment of many: each question was answered, or its outcome is unknown, and asking again
// gives each turn once.
#[test]
fn an_owner_killed_in_the_middle_leaves_unknown_outcomes_that_are_safe_to_ask_again() {
    let long = std::env::var_os("FERRY_LONG").is_some();
    for round in 0..if long { 40 } else { 4_u64 } {
        let (_folder, home) = made();
        let child = owner_elsewhere(&home);
        let ledger = Ledger::open(&home, here()).unwrap();
        let mut recorded = Vec::new();
        let mut ask = |row: u64| {
            recorded.extend(import(&[turn(&row.to_string(), row, 1)], |command| {
                ledger.run(Queue::Turns, command)
            }));
        };
        let dies_at = round * 13 % 50;
        (0..dies_at).for_each(&mut ask);
        // It dies while the question is on its way.
        let killer = std::thread::spawn(move || kill(child));
        let encoded = encode_turn(&turn("last", 1, 1));
        let command = Command::ImportTurns(vec![RawBytes::new(&encoded)]);
        match ledger.try_run(Queue::Turns, &command) {
            Ok(_) | Err(LedgerError::Command(CommandError::UnknownOutcome)) => {}
            Err(other) => panic!("{other}"),
        }
        killer.join().unwrap();
        ledger.run(Queue::Turns, &command).unwrap();
        (dies_at..60).for_each(&mut ask);
        assert_eq!(recorded, [Recorded::New; 60]);
        assert_eq!(ledger.other_owner(), None, "it took over");
        let folded = verify(&ledger.view().unwrap(), &KindTable::current(), None).unwrap();
        assert_eq!(folded.world.counts.events, 4 + 122, "each turn once");
        ledger.close().unwrap();
    }
}

// The real binary, importing through an owner that is killed: it takes over and finishes.
#[test]
fn an_import_outlives_the_owner_it_asked() {
    let (_folder, home) = made();
    let child = owner_elsewhere(&home);
    let file = home.path().join("turns.jsonl");
    let lines: String = (0..30_000)
        .map(|row| {
            let at = 1_767_571_200_000_u64 + row;
            format!("{{\"id\":\"{row}\",\"model\":\"m\",\"at\":{at},\"output_tokens\":1}}\n")
        })
        .collect();
    std::fs::write(&file, lines).unwrap();
    let mut importing = ferry(&home)
        .args(["import", "traffic", "--json", file.to_str().unwrap()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let ledger = Ledger::open(&home, here()).unwrap();
    while ledger.view().unwrap().head().next < 1_000 {
        assert!(importing.try_wait().unwrap().is_none(), "it is not done yet");
        std::thread::yield_now();
    }
    drop(ledger);
    kill(child);
    let output = importing.wait_with_output().unwrap();
    assert!(output.status.success());
    let verified = says(&home, &["ledger", "verify", "--json"]);
    assert!(verified.contains("\"events\":60005"), "{verified}");
}

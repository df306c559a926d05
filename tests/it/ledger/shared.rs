//! A ledger that one process owns and others ask.

use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};

use events::batch::{Author, AuthorTip};
use events::kind::KindTable;
use events::sign::SigningKey;
use ferry::ledger::Ledger;
use projections::projection::Projection as _;
use replay::fold::verify;

use super::owner::batch_of;
use super::*;

const TURNS: &str = r#"{"id":"1","conversation":"a","model":"claude-opus-4-5","at":"2026-02-01T00:00:00Z","prompt_tokens":1000,"output_tokens":10}
{"id":"2","conversation":"a","model":"claude-opus-4-5","at":"2026-02-01T00:01:00Z","prompt_tokens":2000,"cache_read_tokens":900,"output_tokens":20}
{"id":"3","conversation":"b","model":"acme/unheard-of","at":"2026-02-03T00:00:00Z","prompt_tokens":50}
"#;

fn with_turns(home: &Home) {
    let file = home.path().join("turns.jsonl");
    std::fs::write(&file, TURNS).unwrap();
    says(home, &["import", "traffic", file.to_str().unwrap()]);
}

// What people and programs are told must not depend on who has the ledger open.
#[test]
fn every_reading_command_says_the_same_with_and_without_an_owner() {
    let (_folder, home) = made();
    with_turns(&home);
    let export = home.path().join("export.ferry");
    let export = export.to_str().unwrap();
    let commands: [&[&str]; 12] = [
        &["replay"],
        &["replay", "--json"],
        &["replay", "--digest"],
        &["replay", "--redigest"],
        &["ledger", "show", "5"],
        &["ledger", "show", "6", "--json"],
        &["ledger", "tail", "-n", "4"],
        &["ledger", "verify"],
        &["ledger", "head"],
        &["keys", "list"],
        &["keys", "list", "--json"],
        &["ledger", "export", export],
    ];
    let all = || -> Vec<String> {
        let said = commands.iter().map(|command| without_times(&says(&home, command)));
        let said = said.collect();
        assert!(std::fs::metadata(export).unwrap().len() > 1_000);
        std::fs::rename(
            export,
            format!("{export}.{}", std::fs::read_dir(home.path()).unwrap().count()),
        )
        .unwrap();
        said
    };
    let alone = all();
    let owner = owned(&home);
    let asked = all();
    owner.close().unwrap();
    for ((alone, asked), command) in alone.iter().zip(&asked).zip(commands) {
        assert_eq!(alone, asked, "{command:?}");
    }
    insta::assert_snapshot!("redigest", without_digest(&alone[3]));
    insta::assert_snapshot!("show", without_ids(&alone[4]));
    insta::assert_snapshot!("tail", without_ids(&alone[6]));
}

fn without_times(text: &str) -> String {
    let line = |line: &str| match line.split_once("checked in ") {
        Some((before, _)) => format!("{before}checked in [time]\n"),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

fn without_digest(text: &str) -> String {
    text.lines()
        .map(|line| {
            if line.starts_with("digest ") {
                "digest [digest]\n".to_owned()
            } else {
                format!("{line}\n")
            }
        })
        .collect()
}

/// What is drawn for each ledger anew: hex digits, and when things were received.
fn without_ids(text: &str) -> String {
    let word = |word: &str| {
        let is_id = word.trim_matches(|c: char| "\",".contains(c)).len() >= 8
            && word.chars().all(|c| c.is_ascii_hexdigit() || "\",".contains(c));
        if is_id { "[id]".to_owned() } else { word.to_owned() }
    };
    text.lines()
        .map(|line| {
            let line = match line.split_once("received   ") {
                Some((before, _)) => format!("{before}received   [time]"),
                None if line.contains("  import ") => "[import]".to_owned(),
                None => line.to_owned(),
            };
            line.split(' ').map(word).collect::<Vec<_>>().join(" ") + "\n"
        })
        .collect()
}

#[test]
fn another_process_reads_appends_and_verifies_while_the_owner_works() {
    let (_folder, home) = made();
    let owner = owned(&home);
    let mode =
        |path: std::path::PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(home.run()), 0o700);
    assert_eq!(mode(home.run().join("ferry.sock")), 0o600);
    let working = std::sync::atomic::AtomicBool::new(true);
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let mut row = 0;
            while working.load(std::sync::atomic::Ordering::SeqCst) {
                import_here(owner.handle(), &[turn(&format!("own {row}"), row, 1)]);
                row += 1;
            }
            row
        });
        with_turns(&home);
        for _ in 0..3 {
            assert!(says(&home, &["ledger", "verify"]).contains("every position"));
            assert!(says(&home, &["replay", "--redigest"]).contains("the same world"));
        }
        let doctor = says(&home, &["doctor"]);
        assert!(doctor.contains("its owner is a running ferry 0.1.0"), "{doctor}");
        says(&home, &["keys", "rotate", "proxy"]);
        says(&home, &["keys", "rotate", "people"]);
        working.store(false, std::sync::atomic::Ordering::SeqCst);
        let own = worker.join().unwrap();
        let counts = owner.handle().ask(|world, _| world.counts).unwrap();
        assert_eq!((counts.events, counts.without_effect), (4 + 2 * own + 6 + 1 + 2, 0));
    });
    let digest = owner.handle().checkpoint().unwrap().digest;
    let folded = verify(&owner.handle().view(), &KindTable::current(), None).unwrap();
    assert_eq!(folded.world.digest(), digest);
    owner.close().unwrap();
    assert!(!home.run().join("ferry.sock").exists());
}

#[test]
fn a_ledger_is_asked_the_same_way_from_inside_and_outside() {
    let (_folder, home) = made();
    let owner = Ledger::open(&home, here()).unwrap();
    let asked = Ledger::open(&home, here()).unwrap();
    assert_eq!((owner.other_owner(), asked.other_owner().as_deref()), (None, Some("0.1.0-dev")));
    let ledger = owner.view().unwrap().head().ledger;
    let mut author = Author::new(SigningKey::from_secret(&[9; 32]), ledger, AuthorTip::default());
    let batch = batch_of(&mut author, 1);
    assert!(!asked.append(&batch).unwrap().repeated);
    assert!(owner.append(&batch).unwrap().repeated);
    let rows: Vec<String> = (0..700).map(|row| row.to_string()).collect();
    for chunk in rows.chunks(70) {
        let turns: Vec<_> = chunk.iter().map(|row| turn(row, 1, 1)).collect();
        import(&turns, |command| asked.run(Queue::Bulk, command));
    }
    assert_eq!(asked.checkpoint().unwrap(), owner.checkpoint().unwrap());
    assert_eq!(asked.world().unwrap(), owner.world().unwrap());
    let (inside, outside) = (owner.view().unwrap(), asked.view().unwrap());
    assert_eq!(inside.head(), outside.head());
    let id = events::batch::Batch::parse_header(&batch.bytes).unwrap().id;
    assert_eq!(outside.position_of(&id).unwrap(), Some(4));
    let subject = events::bytes::Bytes([1; 16]);
    assert_eq!(outside.positions_about(&subject).unwrap(), [4]);
    for from in [0, 3, 5, 700, 1404, 1405, 9999] {
        let all = |view: &ferry::ledger::LedgerView<'_>| {
            let mut stored = Vec::new();
            view.read(from, &mut |first, bytes| {
                stored.push((first, bytes.to_vec()));
                std::ops::ControlFlow::Continue(())
            })
            .unwrap();
            stored
        };
        assert_eq!(all(&inside), all(&outside), "from {from}");
    }
    asked.close().unwrap();
    owner.close().unwrap();
}

#[test]
fn when_the_owner_goes_the_next_takes_its_place() {
    let (_folder, home) = made();
    let first = Ledger::open(&home, here()).unwrap();
    let second = Ledger::open(&home, here()).unwrap();
    import(&[turn("a", 1, 1)], |command| first.run(Queue::Turns, command));
    first.close().unwrap();
    assert_eq!(
        import(&[turn("a", 1, 1), turn("b", 1, 1)], |command| second.run(Queue::Turns, command)),
        [Recorded::Repeated, Recorded::New]
    );
    assert_eq!(second.other_owner(), None);
    second.close().unwrap();
}

#[test]
fn whatever_comes_in_at_the_socket_the_owner_goes_on() {
    let (_folder, home) = made();
    let owner = owned(&home);
    let connect = || UnixStream::connect(home.run().join("ferry.sock")).unwrap();
    for bytes in [&b""[..], b"\0\0\0\x05hello", b"\xff\xff\xff\xff", b"\0\0\x10\0abc", &[0; 64]] {
        let mut stream = connect();
        stream.write_all(bytes).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
    }
    // A polite stranger with a frame that is no question is told so, and may ask again.
    let mut stream = connect();
    let frame = |stream: &mut UnixStream| {
        let mut length = [0; 4];
        stream.read_exact(&mut length).unwrap();
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        stream.read_exact(&mut frame).unwrap();
        frame
    };
    let hello = frame(&mut stream);
    let length = u32::try_from(hello.len()).unwrap().to_be_bytes();
    stream.write_all(&[&length[..], &hello].concat()).unwrap();
    for _ in 0..2 {
        stream.write_all(b"\0\0\0\x03abc").unwrap();
        let answer = String::from_utf8_lossy(&frame(&mut stream)).into_owned();
        assert!(answer.contains("Refused"), "{answer}");
    }
    // One that says nothing any more does not hold the owner up when it closes.
    let _silent = connect();
    import_here(owner.handle(), &[turn("a", 1, 1)]);
    owner.close().unwrap();
}

#[test]
fn an_owner_whose_socket_was_deleted_still_closes() {
    let (_folder, home) = made();
    let owner = owned(&home);
    std::fs::remove_dir_all(home.run()).unwrap();
    import_here(owner.handle(), &[turn("a", 1, 1)]);
    owner.close().unwrap();
}

#[test]
fn an_owner_that_says_other_things_is_named() {
    let (_folder, home) = made();
    let _lock = std::fs::File::options().write(true).open(home.path().join("lock")).unwrap();
    _lock.lock().unwrap();
    std::fs::create_dir(home.run()).unwrap();
    let listener = UnixListener::bind(home.run().join("ferry.sock")).unwrap();
    let newer = std::thread::spawn(move || {
        let hello = ("ferry", 99_u32, "9.9.9", events::ids::LedgerId::ZERO);
        let hello = rmp_serde::to_vec(&hello).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(&u32::try_from(hello.len()).unwrap().to_be_bytes()).unwrap();
        stream.write_all(&hello).unwrap();
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    });
    let output = ferry(&home).args(["ledger", "head"]).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(5));
    assert!(message.contains("the ledger's owner is ferry 9.9.9; restart it"), "{message}");
    newer.join().unwrap();
}

#[test]
fn a_home_with_a_long_path_is_served_from_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::new(folder.path().join("long".repeat(25)));
    let runtime = folder.path().join("runtime");
    let settings = ferry::store::Settings { runtime: runtime.clone(), ..here() };
    ferry::store::Store::init(&home, &settings, 1_000).unwrap();
    let owner = Owner::start(&home, settings).unwrap();
    assert!(says(&home, &["doctor"]).contains("its owner is a running ferry"));
    assert_eq!(std::fs::read_dir(&runtime).unwrap().count(), 1);
    owner.close().unwrap();
    assert_eq!(std::fs::read_dir(&runtime).unwrap().count(), 0);
}

//! Files as they come: whole, torn, mixed up, hostile.

mod csv;
mod json;
mod transcripts;

use std::convert::Infallible;
use std::io::BufReader;

use events::admission::Admitted;
use events::batch::Author;
use events::bytes::Bytes;
use events::event::Events;
use events::hash::{Domain, LedgerSecret, digest};
use events::kind::KindTable;
use events::log::{Log as _, ReadLog as _};
use events::memory::MemoryLog;
use events::payload::{DispatchResult, Ending, Finish, Parts, Stream, Turn};
use events::sign::SigningKey;
use events::usage::{Usage, UsageMarks};
use replay::fold::verify;
use replay::import::{Basis, ImportError, Importer, Recorded};
use replay::sample;
use replay::writer::open_ledger;

use super::lines::LINE_BYTES_MAX;
use super::*;

const HEADER: &str =
    "trace,agent,seq,t_s,model,in_tok,cached_tok,out_tok,api_s,think_s,stop,in_kinds,out_kinds\n";
const START: Millis = 1_767_571_200_000;

/// A row as tests look at it: the events it becomes, or why it does not.
#[derive(Debug)]
struct Seen {
    at: Millis,
    answered_at: Millis,
    ending: Option<Ending>,
    /// The turn's payload and its result's, printed.
    turn: String,
    result: String,
    usage: Usage,
    finish: Finish,
    latency_ms: Option<u32>,
    model: String,
    row: String,
    conversation: String,
    subagent: Option<String>,
    parts: [Option<Parts>; 2],
}

fn seen(turn: &ImportedTurn<'_>) -> Seen {
    let secret = LedgerSecret::new([7; 32]);
    let (event, result): (Turn<'_>, DispatchResult<'_>) = (turn.turn(&secret), turn.result());
    Seen {
        at: turn.at,
        answered_at: turn.answered_at,
        ending: turn.ending,
        turn: format!("{:?} {event:?}", turn.subject(&secret)),
        result: format!("{result:?}"),
        usage: turn.usage,
        finish: turn.finish,
        latency_ms: turn.latency_ms,
        model: turn.model.to_string(),
        row: turn.row.to_owned(),
        conversation: turn.conversation.to_owned(),
        subagent: turn.subagent.map(str::to_owned),
        parts: [turn.news, turn.parts],
    }
}

/// Every row, refusals printed; and the summary.
fn read_all(bytes: &[u8], options: &Options<'_>) -> (Vec<Result<Seen, String>>, Summary) {
    let mut rows = Vec::new();
    let each = &mut |row: Row<'_>| {
        rows.push(match row {
            Row::Turn(turn) => Ok(seen(&turn)),
            Row::Refused(refusal) => Err(refusal.to_string()),
        });
        Ok::<(), Infallible>(())
    };
    let summary = read(BufReader::with_capacity(61, bytes), options, each).unwrap();
    assert_eq!(summary.rows, rows.len() as u64);
    assert_eq!(summary.refused, rows.iter().filter(|row| row.is_err()).count() as u64);
    assert_eq!(summary.digest, digest(Domain::Source, bytes));
    (rows, summary)
}

fn refusals(rows: Vec<Result<Seen, String>>) -> Vec<String> {
    rows.into_iter().filter_map(Result::err).collect()
}

#[test]
fn a_huge_or_hostile_line_costs_nothing_but_itself() {
    let good = r#"{"id":"g","model":"m","at":1767571200000}"#;
    let huge = format!(r#"{{"id":"h","model":"m","prompt":"{}"}}"#, "x".repeat(LINE_BYTES_MAX));
    let deep = format!(r#"{{"id":"d","usage":{}1{}}}"#, "[".repeat(9_000), "]".repeat(9_000));
    let mut text = format!("{huge}\n{good}\n{deep}\n{good}\n").into_bytes();
    text.extend_from_slice(b"{\"id\":\"\xff\xfe\",\"model\":\"m\",\"at\":1767571200000}\n");
    text.extend_from_slice(good.as_bytes());
    let (rows, summary) = read_all(&text, &Options::default());
    assert_eq!((summary.rows, summary.refused), (6, 3));
    let refused = refusals(rows);
    assert_eq!(refused[0], "line 1: longer than 16777216 bytes");
    assert!(refused[1].starts_with("line 3: not JSON: recursion limit exceeded"), "{refused:?}");
    assert!(refused[2].starts_with("line 5: not JSON: invalid unicode"), "{refused:?}");
}

#[test]
fn files_that_are_no_traffic_say_so() {
    let read = |text: &str| {
        read(text.as_bytes(), &Options::default(), &mut |_| Ok::<(), Infallible>(()))
            .map(|summary| summary.rows)
            .map_err(|error| error.to_string())
    };
    assert_eq!(read(""), Err("the file is empty".to_owned()));
    assert_eq!(read(" \n\r\n"), Err("the file is empty".to_owned()));
    assert_eq!(
        read("\nhello,world\n").unwrap_err(),
        "line 2 begins with 'hello,world': neither the header of an agent-turn CSV (trace,agent,...) \
         nor a JSON object"
    );
    assert_eq!(read("trace,agent,seq\n"), Err("the header has no column t_s".to_owned()));
    assert_eq!(read(HEADER), Ok(0));
}

#[test]
fn the_reader_stops_when_its_listener_does_and_sources_keep_ids_apart() {
    #[derive(Debug, thiserror::Error)]
    #[error("full")]
    struct Full;
    let text = "{\"id\":\"g\",\"model\":\"m\",\"at\":1767571200000}\n";
    let stopped = read(text.repeat(3).as_bytes(), &Options::default(), &mut |_| Err(Full));
    assert!(matches!(stopped, Err(TrafficError::Stopped(Full))));
    let subject = |source: Option<&str>| {
        let options = Options { source, ..Options::default() };
        let secret = LedgerSecret::new([7; 32]);
        let mut found = Bytes([0; 16]);
        read(text.as_bytes(), &options, &mut |row| {
            if let Row::Turn(turn) = row {
                found = turn.subject(&secret);
            }
            Ok::<(), Infallible>(())
        })
        .unwrap();
        found
    };
    assert_eq!(subject(None), subject(Some("jsonl")));
    assert_ne!(subject(None), subject(Some("my proxy")));
}

#[test]
fn importing_a_file_again_changes_nothing() {
    let text = format!(
        "{}\n{}\n{}\n",
        r#"{"id":"a","model":"m","at":1767571200000,"prompt_tokens":10,"cache_read_tokens":10}"#,
        r#"{"id":"b","model":"m","at":1767571200000,"ending":"failed"}"#,
        r#"{"id":"a","model":"m","at":1767571200000,"prompt_tokens":10,"output_tokens":7}"#,
    );
    let mut log = MemoryLog::new(sample::ledger_id());
    let keys = sample::keys();
    open_ledger(&mut log, keys.node, &[(Stream::Proxy, keys.proxy.public())], START).unwrap();
    let secret = LedgerSecret::new([7; 32]);
    let mut import = |key: SigningKey| {
        let world = verify(&log, &KindTable::current(), None).unwrap().world;
        let kinds = KindTable::current();
        let basis = Basis { log: &log, keyring: &world.keyring, secret: &secret, kinds: &kinds };
        let (mut importer, mut events) = (Importer::default(), Events::new());
        let mut came = Vec::new();
        read(text.as_bytes(), &Options::default(), &mut |row| {
            if let Row::Turn(turn) = row {
                came.push(importer.decide(&basis, &turn, &mut events)?);
            }
            Ok::<(), ImportError<Infallible>>(())
        })
        .unwrap();
        let (ledger, tip) = (log.head().ledger, log.tip(&key.public()));
        let batch = Admitted::own(&mut Author::new(key, ledger, tip), events);
        log.append(batch.as_slice(), START).unwrap();
        came
    };
    assert_eq!(import(keys.proxy), [Recorded::New, Recorded::New, Recorded::Amended]);
    assert_eq!(import(sample::keys().proxy), [Recorded::Repeated; 3]);
    // Opened, enrolled; two turns with results, one of them closed, one amended.
    assert_eq!(verify(&log, &KindTable::current(), None).unwrap().head.next, 2 + 4 + 1 + 1);
}

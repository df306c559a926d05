//! `ferry import`: recorded traffic becomes events.

use std::fs::File;
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use events::hash::{Domain, Hasher};
use events::ids::Digest;
use events::payload::{Import as ImportEvent, Name};
use indicatif::ProgressBar;
use replay::import::{ImportedTurn, Recorded};
use serde::Serialize;
use serde_bytes::Bytes as RawBytes;

use super::home::HomeArg;
use super::prices::Prices;
use super::when::When;
use super::{draw_id, print_json};
use crate::failure::{Failure, Kind};
use crate::ledger::{self, Command, Ledger, LedgerError, Queue, TURNS_A_COMMAND_MAX, encode_turn};
use crate::progress;
use crate::store::clock;
use crate::traffic::places::{self, Place};
use crate::traffic::{Format, Options, Row, TrafficError, read};

/// Lines that could not be read and are named one by one; the rest is counted.
const REFUSALS_SHOWN: usize = 20;

/// Ids may be long: a command is sent when it holds this many bytes.
const COMMAND_BYTES: usize = 1024 * 1024;

/// Bring recorded traffic, or prices, into the ledger
#[derive(Debug, Args)]
pub(super) struct Import {
    #[command(flatten)]
    home: HomeArg,
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Traffic(Traffic),
    Prices(Prices),
}

/// Import recorded turns: sessions of Claude Code and Codex, agent-turn CSV, JSONL (docs/import.md)
#[derive(Debug, Args)]
#[command(after_help = "Without a file it looks where Claude Code and Codex keep their sessions.
Each turn is imported once, however often its file is: ids of rows are remembered.
No text of prompts or answers is kept.

Examples:
  ferry import traffic
  ferry import traffic --dry-run
  ferry import traffic ~/.claude/projects/-home-me-work
  ferry import traffic --source billing-export january.jsonl february.jsonl
  ferry import traffic --start 2026-01-05 agent_turns.csv")]
struct Traffic {
    /// Files, or folders of sessions
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Name of what gave the rows their ids; rows of one source with one id are one turn
    #[arg(long, value_name = "NAME")]
    source: Option<String>,
    /// When the sessions of an agent-turn CSV began, which tells only seconds from there; default today
    #[arg(long, value_name = "WHEN")]
    start: Option<When>,
    /// Read and count, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// What is read as one: a file, or a folder's sessions.
struct Batch {
    name: String,
    files: Vec<PathBuf>,
    /// What they are, where the place says so.
    format: Option<Format>,
}

/// What came of a file, or of a folder's sessions.
#[derive(Debug, Default, Serialize)]
struct Outcome {
    file: String,
    files: u64,
    format: &'static str,
    rows: u64,
    turns: u64,
    repeated: u64,
    amended: u64,
    refused: u64,
    /// The first lines that could not be read, each with why.
    refusals: Vec<String>,
    #[serde(skip)]
    expected: Option<Format>,
    #[serde(skip)]
    digest: Option<Digest>,
}

impl Import {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let traffic = match &self.what {
            What::Traffic(traffic) => traffic,
            What::Prices(prices) => {
                let list = prices.read()?;
                if prices.is_dry_run() {
                    return prices.run(&list, None);
                }
                self.home.make_if_missing()?;
                return self.home.with_ledger(|ledger| prices.run(&list, Some(ledger)));
            }
        };
        let batches = traffic.batches()?;
        let outcomes = if traffic.dry_run {
            batches.iter().map(|batch| traffic.count(batch)).collect::<Result<Vec<_>, _>>()?
        } else {
            self.home.make_if_missing()?;
            self.home.with_ledger(|ledger| {
                batches.iter().map(|batch| traffic.import(ledger, batch)).collect()
            })?
        };
        traffic.print(&outcomes)
    }
}

impl Traffic {
    /// What there is to read: nothing is begun where something is missing.
    fn batches(&self) -> Result<Vec<Batch>, Failure> {
        if self.files.is_empty() {
            return usual_batches();
        }
        let batch = |path: &PathBuf| {
            let name = printable(path);
            let files = if path.is_dir() { places::sessions(path) } else { vec![path.clone()] };
            if files.is_empty() || !path.exists() {
                let problem = "there is no such file, or no session in it; nothing was imported";
                return Err(Failure::usage(format!("importing {name}"), problem));
            }
            Ok(Batch { name, files, format: None })
        };
        self.files.iter().map(batch).collect()
    }

    fn import(&self, ledger: &Ledger, batch: &Batch) -> Result<Outcome, Failure> {
        let mut turns = Turns::new(ledger);
        let mut outcome = self.each_row(batch, &mut |turn| turns.push(turn))?;
        turns.send()?;
        let Turns { new, repeated, amended, .. } = turns;
        (outcome.turns, outcome.repeated, outcome.amended) = (new, repeated, amended);
        if outcome.files == 0 {
            // Not one of the files was traffic: each is refused by name, and no source was read.
            return Ok(outcome);
        }
        let id = draw_id("recording the import")?;
        let close = Command::CloseImport { id, at: clock(), import: outcome.event()? };
        ledger.run(Queue::Bulk, &close)?;
        Ok(outcome)
    }

    fn count(&self, batch: &Batch) -> Result<Outcome, Failure> {
        let mut turns = 0;
        let counted = self.each_row(batch, &mut |_| {
            turns += 1;
            Ok(())
        });
        counted.map(|outcome| Outcome { turns, ..outcome })
    }

    fn each_row(&self, batch: &Batch, take: &mut Take<'_>) -> Result<Outcome, Failure> {
        let bytes = |path: &PathBuf| path.metadata().map_or(0, |metadata| metadata.len());
        let bar = progress::bar("importing", batch.files.iter().map(bytes).sum());
        let expected = batch.format;
        let mut outcome = Outcome { file: batch.name.clone(), expected, ..Outcome::default() };
        let mut digests = Hasher::new(Domain::Source);
        for path in &batch.files {
            match self.read_file(path, &bar, take, &mut outcome) {
                Ok(Some(digest)) => drop(digests.fixed(digest.as_slice())),
                Ok(None) => {}
                Err(failure) => {
                    bar.finish_and_clear();
                    return Err(failure);
                }
            }
        }
        bar.finish_and_clear();
        outcome.digest = Some(digests.finish());
        Ok(outcome)
    }

    /// Reads a file and gives the digest of its bytes. Of several, one that is no traffic is refused by name, and one
    /// without a line is passed over.
    fn read_file(
        &self,
        path: &Path,
        bar: &ProgressBar,
        take: &mut Take<'_>,
        outcome: &mut Outcome,
    ) -> Result<Option<Digest>, Failure> {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let options = Options {
            format: outcome.expected,
            start: self.start.map_or_else(start_of_today, When::millis),
            source: self.source.as_deref(),
            file_name: &name,
        };
        let is_one_of_many = printable(path) != outcome.file;
        let reading = || format!("importing {}", path.display());
        let opened = File::open(path).map_err(TrafficError::Io);
        let summary = opened.and_then(|file| {
            let source = BufReader::new(bar.wrap_read(file));
            read(source, &options, &mut |row| match row {
                Row::Turn(turn) => take(&turn),
                Row::Refused(refusal) => {
                    outcome.refuse(path, &refusal.to_string());
                    Ok(())
                }
            })
        });
        match summary {
            Ok(summary) => {
                outcome.files += 1;
                outcome.format = summary.format.source();
                outcome.rows += summary.rows;
                Ok(Some(summary.digest))
            }
            Err(TrafficError::Stopped(error)) => Err(error.into()),
            Err(TrafficError::Empty) if is_one_of_many => Ok(None),
            Err(error) if is_one_of_many => {
                outcome.rows += 1;
                outcome.refuse(path, &error.to_string());
                Ok(None)
            }
            Err(error) => Err(Failure::usage(reading(), error)),
        }
    }

    fn print(&self, outcomes: &[Outcome]) -> Result<(), Failure> {
        let mut out = anstream::stdout().lock();
        if self.json {
            return print_json(&mut out, &outcomes);
        }
        for outcome in outcomes {
            let Outcome { file, files, rows, turns, repeated, amended, refused, .. } = outcome;
            let new = if self.dry_run { "turns" } else { "new turns" };
            write!(out, "{file}: ")?;
            if *files > 1 {
                write!(out, "{files} files, ")?;
            }
            write!(out, "{rows} rows, {turns} {new}")?;
            if !self.dry_run {
                write!(out, ", {repeated} known already, {amended} with better figures")?;
            }
            writeln!(out, ", {refused} refused")?;
            for refusal in &outcome.refusals {
                writeln!(out, "  {refusal}")?;
            }
            let named = u64::try_from(outcome.refusals.len()).unwrap_or(u64::MAX);
            if *refused > named {
                writeln!(out, "  and {} more", refused - named)?;
            }
        }
        Ok(())
    }
}

/// Where Claude Code and Codex keep their sessions; says what was found.
fn usual_batches() -> Result<Vec<Batch>, Failure> {
    let named =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let places = places::usual(std::env::home_dir().as_deref(), named);
    let is_empty = places.iter().all(|place| place.files.is_empty());
    for place in places.iter().filter(|place| is_empty || !place.files.is_empty()) {
        let (client, folder, files) = (place.client, place.folder.display(), place.files.len());
        let sessions = match files {
            0 => "no sessions".to_owned(),
            1 => "1 session".to_owned(),
            files => format!("{files} sessions"),
        };
        anstream::eprintln!("{client}: {sessions} in {folder}");
        if place.unreadable > 0 {
            anstream::eprintln!(
                "{client}: {} folders in {folder} cannot be read",
                place.unreadable
            );
        }
    }
    let found = places.into_iter().filter(|place| !place.files.is_empty());
    let batches: Vec<Batch> = found
        .map(|Place { format, folder, files, .. }| Batch {
            name: printable(&folder),
            files,
            format: Some(format),
        })
        .collect();
    if batches.is_empty() {
        let problem = "there are none in the usual places; name a file or a folder";
        return Err(Failure::usage("looking for sessions", problem));
    }
    Ok(batches)
}

/// A path as it is printed: names of files are anybody's.
fn printable(path: &Path) -> String {
    path.display().to_string().chars().flat_map(printable_char).collect()
}

fn printable_char(c: char) -> Vec<char> {
    if c.is_control() { c.escape_debug().collect() } else { vec![c] }
}

type Take<'t> = dyn FnMut(&ImportedTurn<'_>) -> Result<(), LedgerError> + 't;

impl Outcome {
    fn refuse(&mut self, path: &Path, refusal: &str) {
        self.refused += 1;
        if self.refusals.len() < REFUSALS_SHOWN {
            let refusal = refusal.strip_prefix("line ").unwrap_or(refusal);
            self.refusals.push(format!("{}:{refusal}", printable(path)));
        }
    }

    fn event(&self) -> Result<ImportEvent<'_>, Failure> {
        let naming = |error| Failure::new(Kind::Corrupt, "recording the import", error);
        Ok(ImportEvent {
            source: Name::new(self.format).map_err(|error| naming(error.to_string()))?,
            rows: self.rows,
            turns: self.turns,
            repeated: self.repeated,
            amended: self.amended,
            refused: self.refused,
            digest: self.digest.unwrap_or(Digest::ZERO),
        })
    }
}

/// Turns on their way to the ledger, as many at once as a command takes.
struct Turns<'l> {
    ledger: &'l Ledger,
    encoded: Vec<Vec<u8>>,
    bytes: usize,
    new: u64,
    repeated: u64,
    amended: u64,
}

impl<'l> Turns<'l> {
    const fn new(ledger: &'l Ledger) -> Self {
        Self { ledger, encoded: Vec::new(), bytes: 0, new: 0, repeated: 0, amended: 0 }
    }

    fn push(&mut self, turn: &ImportedTurn<'_>) -> Result<(), LedgerError> {
        let encoded = encode_turn(turn);
        if self.bytes + encoded.len() > COMMAND_BYTES {
            self.send()?;
        }
        self.bytes += encoded.len();
        self.encoded.push(encoded);
        if self.encoded.len() < TURNS_A_COMMAND_MAX { Ok(()) } else { self.send() }
    }

    fn send(&mut self) -> Result<(), LedgerError> {
        let encoded = std::mem::take(&mut self.encoded);
        self.bytes = 0;
        if encoded.is_empty() {
            return Ok(());
        }
        let turns = encoded.iter().map(|turn| RawBytes::new(turn)).collect();
        let outcome = self.ledger.run(Queue::Bulk, &Command::ImportTurns(turns))?;
        let ledger::Outcome::Imported(recorded) = outcome else {
            return Err(LedgerError::Confused);
        };
        for recorded in recorded {
            match recorded {
                Recorded::New => self.new += 1,
                Recorded::Repeated => self.repeated += 1,
                Recorded::Amended => self.amended += 1,
            }
        }
        Ok(())
    }
}

fn start_of_today() -> u64 {
    clock() / 86_400_000 * 86_400_000
}

//! `ferry import`: recorded traffic becomes events.

use std::fs::File;
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use events::ids::{Digest, Subject};
use events::payload::{Import as ImportEvent, Name};
use replay::import::{ImportedTurn, Recorded};
use serde::Serialize;
use serde_bytes::Bytes as RawBytes;

use super::home::HomeArg;
use super::print_json;
use super::when::When;
use crate::failure::{Failure, Kind};
use crate::ledger::{self, Command, Ledger, LedgerError, Queue, TURNS_A_COMMAND_MAX, encode_turn};
use crate::progress;
use crate::store::clock;
use crate::traffic::{Options, Row, TrafficError, read};

/// Lines that could not be read and are named one by one; the rest is counted.
const REFUSALS_SHOWN: usize = 20;

/// Ids may be long: a command is sent when it holds this many bytes.
const COMMAND_BYTES: usize = 1024 * 1024;

/// Bring recorded traffic into the ledger
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
}

/// Import recorded turns: agent-turn CSV or JSONL (docs/import.md)
#[derive(Debug, Args)]
#[command(
    after_help = "Each turn is imported once, however often its file is: ids of rows are remembered.
No text of prompts or answers is read.

Examples:
  ferry import traffic turns.jsonl
  ferry import traffic --source billing-export january.jsonl february.jsonl
  ferry import traffic --start 2026-01-05 agent_turns.csv
  ferry import traffic --dry-run turns.jsonl"
)]
struct Traffic {
    /// The files
    #[arg(required = true, value_name = "FILE")]
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

/// What came of one file.
#[derive(Debug, Default, Serialize)]
struct Outcome {
    file: String,
    format: &'static str,
    rows: u64,
    turns: u64,
    repeated: u64,
    amended: u64,
    refused: u64,
    /// The first lines that could not be read, each with why.
    refusals: Vec<String>,
    #[serde(skip)]
    digest: Option<Digest>,
}

impl Import {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let What::Traffic(traffic) = &self.what;
        if traffic.dry_run {
            let outcomes: Result<Vec<Outcome>, Failure> =
                traffic.files.iter().map(|file| traffic.count(file)).collect();
            return traffic.print(&outcomes?);
        }
        let outcomes = self.home.with_ledger(|ledger| traffic.import(ledger))?;
        traffic.print(&outcomes)
    }
}

impl Traffic {
    fn import(&self, ledger: &Ledger) -> Result<Vec<Outcome>, Failure> {
        if let Some(missing) = self.files.iter().find(|file| !file.is_file()) {
            let problem = "there is no such file; nothing was imported";
            return Err(Failure::usage(format!("importing {}", missing.display()), problem));
        }
        self.files.iter().map(|file| self.import_file(ledger, file)).collect()
    }

    fn import_file(&self, ledger: &Ledger, file: &Path) -> Result<Outcome, Failure> {
        let mut turns = Turns::new(ledger);
        let mut outcome = self.each_row(file, &mut |turn| turns.push(turn))?;
        turns.send()?;
        let Turns { new, repeated, amended, .. } = turns;
        (outcome.turns, outcome.repeated, outcome.amended) = (new, repeated, amended);
        let mut id = Subject::ZERO;
        getrandom::fill(&mut id.0)
            .map_err(|error| Failure::new(Kind::Corrupt, "recording the import", error))?;
        let close = Command::CloseImport { id, at: clock(), import: outcome.event()? };
        ledger.run(Queue::Bulk, &close)?;
        Ok(outcome)
    }

    fn count(&self, file: &Path) -> Result<Outcome, Failure> {
        let mut turns = 0;
        let counted = self.each_row(file, &mut |_| {
            turns += 1;
            Ok(())
        });
        counted.map(|outcome| Outcome { turns, ..outcome })
    }

    fn each_row(
        &self,
        path: &Path,
        take: &mut dyn FnMut(&ImportedTurn<'_>) -> Result<(), LedgerError>,
    ) -> Result<Outcome, Failure> {
        let reading = || format!("importing {}", path.display());
        let file = File::open(path).map_err(|error| Failure::usage(reading(), error))?;
        let bytes = file.metadata().map_or(0, |metadata| metadata.len());
        let bar = progress::bar("importing", bytes);
        let source = BufReader::new(bar.wrap_read(file));
        let options = Options {
            format: None,
            start: self.start.map_or_else(start_of_today, When::millis),
            source: self.source.as_deref(),
        };
        let mut outcome = Outcome { file: path.display().to_string(), ..Outcome::default() };
        let summary = read(source, &options, &mut |row| match row {
            Row::Turn(turn) => take(&turn),
            Row::Refused(refusal) => {
                outcome.refuse(path, &refusal.to_string());
                Ok(())
            }
        });
        bar.finish_and_clear();
        match summary {
            Ok(summary) => {
                outcome.format = summary.format.source();
                outcome.rows = summary.rows;
                outcome.digest = Some(summary.digest);
                Ok(outcome)
            }
            Err(TrafficError::Stopped(error)) => Err(error.into()),
            Err(error) => Err(Failure::usage(reading(), error)),
        }
    }

    fn print(&self, outcomes: &[Outcome]) -> Result<(), Failure> {
        let mut out = anstream::stdout().lock();
        if self.json {
            return print_json(&mut out, &outcomes);
        }
        for outcome in outcomes {
            let Outcome { file, rows, turns, repeated, amended, refused, .. } = outcome;
            let new = if self.dry_run { "turns" } else { "new turns" };
            write!(out, "{file}: {rows} rows, {turns} {new}")?;
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

impl Outcome {
    fn refuse(&mut self, path: &Path, refusal: &str) {
        self.refused += 1;
        if self.refusals.len() < REFUSALS_SHOWN {
            let refusal = refusal.strip_prefix("line ").unwrap_or(refusal);
            self.refusals.push(format!("{}:{refusal}", path.display()));
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

//! `ferry bench`: ledgers of a known make, for measuring.

use std::io::Write as _;

use clap::{Args, Subcommand};
use replay::synth::Synth;

use crate::failure::{Failure, Kind};
use crate::progress;
use crate::store::FjallLog;

/// Make ledgers of a known make, for measuring
#[derive(Debug, Args)]
pub(super) struct Bench {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Synth(SynthArgs),
}

/// Write a seeded ledger of every kind of event: the same seed gives the same bytes
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ferry bench synth --turns 1000000 --seed 7
  ferry bench synth --turns 1000000 --seed 7 --into synth-ledger")]
struct SynthArgs {
    /// Turns
    #[arg(long, default_value_t = 100_000)]
    turns: u64,
    /// Seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Keep the ledger's store in this folder; without it, it is thrown away
    #[arg(long, value_name = "DIR")]
    into: Option<std::path::PathBuf>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

impl Bench {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let Command::Synth(arguments) = &self.command;
        arguments.run()
    }
}

impl SynthArgs {
    fn run(&self) -> Result<(), Failure> {
        let making = |error: Box<dyn std::error::Error>| {
            Failure::new(Kind::Corrupt, "making the ledger", error)
        };
        let temporary = tempfile::tempdir().map_err(|error| making(error.into()))?;
        let folder = self.into.clone().unwrap_or_else(|| temporary.path().to_owned());
        let holds_something =
            std::fs::read_dir(&folder).is_ok_and(|mut files| files.next().is_some());
        if holds_something {
            let problem = "it is not empty; name a new folder";
            return Err(Failure::usage(format!("writing into {}", folder.display()), problem));
        }
        let mut log = FjallLog::throw_away(&folder, replay::synth::ledger_id(self.seed))?;
        let started = std::time::Instant::now();
        let bar = progress::bar("writing turns", self.turns);
        let synth = Synth { turns: self.turns, seed: self.seed };
        let written = synth.write(&mut log, &mut |totals| bar.set_position(totals.turns));
        bar.finish_and_clear();
        let written = written.map_err(|error| making(error.into()))?;
        log.flush()?;
        let (totals, head) = (written.totals, written.head.head);
        let rate = u128::from(totals.events) * 1000 / started.elapsed().as_millis().max(1);
        let mut out = anstream::stdout().lock();
        if self.json {
            let json = serde_json::json!({
                "ledger": head.ledger, "link": head.link, "turns": totals.turns, "events": totals.events,
                "batches": totals.batches, "repeated": totals.repeated, "amends": totals.amends,
            });
            writeln!(out, "{json}")?;
        } else {
            writeln!(
                out,
                "{} turns in {} events and {} batches, {rate} events/s\nledger {}\nlink   {}",
                totals.turns, totals.events, totals.batches, head.ledger, head.link
            )?;
        }
        Ok(())
    }
}

//! The command line: one file per command.

mod bench;
mod budget;
mod completions;
mod considered;
mod conversation;
mod decisions;
mod doctor;
mod explain;
mod feedback;
mod home;
mod import;
mod init;
mod keys;
mod ledger;
mod models;
mod policy;
mod prices;
mod redecide;
mod replay;
mod route;
mod turns;
mod when;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use events::ids::Subject;
use serde::Serialize;

use crate::failure::{Failure, Kind};

/// Routes AI-agent work and keeps a signed, replayable ledger of what every call cost.
#[derive(Debug, Parser)]
#[command(name = "ferry", version, propagate_version = true, arg_required_else_help = true)]
#[command(after_help = "Exit codes: 0 fine, 1 mismatch found, 2 usage, 3 corrupt, \
    4 rolled back or forked, 5 busy, 6 needs a newer ferry")]
pub(crate) struct Arguments {
    /// Print every cause of a failure
    #[arg(short, long, global = true)]
    verbose: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Init),
    Import(import::Import),
    Replay(replay::Replay),
    Turns(turns::Turns),
    Explain(explain::Explain),
    Models(models::Models),
    Route(route::Route),
    Policy(policy::PolicyCommand),
    Budget(budget::BudgetCommand),
    Feedback(feedback::FeedbackCommand),
    Ledger(ledger::Ledger),
    Keys(keys::Keys),
    Doctor(doctor::Doctor),
    Bench(bench::Bench),
    Completions(completions::Completions),
}

/// Parses, runs one command and turns its outcome into an exit code.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print(arguments.verbose);
            failure.kind.into()
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::Init(command) => command.run(),
        Command::Import(command) => command.run(),
        Command::Bench(command) => command.run(),
        Command::Doctor(command) => command.run(),
        Command::Replay(command) => command.run(),
        Command::Turns(command) => command.run(),
        Command::Explain(command) => command.run(),
        Command::Models(command) => command.run(),
        Command::Route(command) => command.run(),
        Command::Policy(command) => command.run(),
        Command::Budget(command) => command.run(),
        Command::Feedback(command) => command.run(),
        Command::Ledger(command) => command.run(),
        Command::Keys(command) => command.run(),
        Command::Completions(command) => command.run(),
    }
}

/// Prints a value as JSON, over several lines.
fn print_json(out: &mut impl Write, value: &impl Serialize) -> Result<(), Failure> {
    let json = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::new(Kind::Corrupt, "writing JSON", error))?;
    Ok(writeln!(out, "{json}")?)
}

/// Draws the id under which a command is said once, however often it is sent.
fn draw_id(context: &'static str) -> Result<Subject, Failure> {
    let mut id = Subject::ZERO;
    getrandom::fill(&mut id.0).map_err(|error| Failure::new(Kind::Corrupt, context, error))?;
    Ok(id)
}

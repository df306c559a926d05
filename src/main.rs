//! ferry routes AI-agent work and keeps a signed, replayable ledger of what every call cost.
//!
//! `main` parses, runs one command and turns its outcome into an exit code; nothing else.

mod cli;
mod failure;
mod progress;
mod render;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let arguments = cli::Arguments::parse();
    match cli::run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print(arguments.verbose);
            failure.kind.into()
        }
    }
}

//! `ferry feedback`: a person's word on an answer.

use std::io::Write as _;

use clap::{Args, ValueEnum};
use events::bytes::Bytes16;
use events::payload::Verdict;

use super::home::HomeArg;
use super::print_json;
use crate::failure::Failure;
use crate::ledger::{Command, Outcome, Queue};
use crate::store::clock;

/// Say whether an answer did what was asked: what engines are chosen by
#[derive(Debug, Args)]
#[command(
    after_help = "Who says otherwise later takes back what they said before. A word on an imported turn is kept, and \
moves no estimate: what the turn was like is not known.

Examples:
  ferry feedback 0b5e53d2a8a15f5b9f0c7f8d7c1f2a3b good
  ferry feedback 0b5e53d2a8a15f5b9f0c7f8d7c1f2a3b bad --json"
)]
pub(super) struct FeedbackCommand {
    #[command(flatten)]
    home: HomeArg,
    /// The turn's id
    turn: String,
    /// What you say of its answer
    verdict: VerdictArg,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum VerdictArg {
    /// It did what was asked
    Good,
    /// It did not
    Bad,
}

impl FeedbackCommand {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let Some(turn) = Bytes16::from_hex(&self.turn) else {
            let problem = "is no turn's id: 32 hex digits, as ferry turns lists them";
            return Err(Failure::usage(self.turn.clone(), problem));
        };
        let verdict = match self.verdict {
            VerdictArg::Good => Verdict::Good,
            VerdictArg::Bad => Verdict::Bad,
        };
        let command = Command::Judge { at: clock(), turn, verdict };
        let outcome = self.home.with_ledger(|ledger| Ok(ledger.run(Queue::Turns, &command)?))?;
        let mut out = anstream::stdout().lock();
        let Outcome::Written { first, repeated } = outcome else { return Ok(()) };
        if self.json {
            let json = serde_json::json!({ "position": first, "was_there": repeated });
            return print_json(&mut out, &json);
        }
        let said = if repeated { "was said already, at" } else { "written at" };
        writeln!(out, "{} {said} position {first}", verdict.label())?;
        Ok(())
    }
}

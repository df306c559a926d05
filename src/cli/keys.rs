//! `ferry keys`: who may write what.

use std::io::Write as _;

use clap::{Args, Subcommand};
use comfy_table::{Table, presets};
use events::kind::KindTable;
use replay::fold::{Checks, Signatures, fold};

use super::home::HomeArg;
use crate::failure::Failure;

/// Look at the ledger's keys
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ferry keys list
  ferry keys list --json")]
pub(super) struct Keys {
    #[command(flatten)]
    home: HomeArg,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the keys that may write, or once might
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

impl Keys {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let Command::List { json } = self.command;
        let store = self.home.open()?;
        let kinds = KindTable::current();
        let head = store.vouched_head()?;
        let checks = Checks { kinds: &kinds, signatures: Signatures::Trust, head: head.as_ref() };
        let keyring = fold(&store, checks, &mut |_, _, _| {})?.world.keyring;
        let mut out = anstream::stdout().lock();
        if json {
            let keys: Vec<_> = keyring
                .keys()
                .map(|(key, standing)| {
                    serde_json::json!({ "key": key, "stream": standing.stream, "active": standing.active })
                })
                .collect();
            writeln!(out, "{}", serde_json::Value::from(keys))?;
        } else {
            let mut table = Table::new();
            table.load_style(presets::NOTHING).set_header(["stream", "state", "key"]);
            for (key, standing) in keyring.keys() {
                let state = if standing.active { "active" } else { "retired" };
                table.add_row([standing.stream.label(), state, &key.to_string()]);
            }
            for line in table.lines() {
                writeln!(out, "{}", line.trim())?;
            }
        }
        Ok(store.close()?)
    }
}

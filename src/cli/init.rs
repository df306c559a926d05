//! `ferry init`: makes a ledger.

use std::io::Write as _;

use clap::Args;

use super::home::HomeArg;
use crate::failure::Failure;
use crate::store::{Promise, Settings, Store, clock};

/// Make a new ledger: its folder, its keys, its first events
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ferry init
  ferry init --home /srv/ferry

The keys in DIR/keys are the ledger's only ones: keep a copy where others cannot read it.")]
pub(super) struct Init {
    #[command(flatten)]
    home: HomeArg,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

impl Init {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let home = self.home.home()?;
        let ledger = Store::init(&home, &Settings::from_system(Promise::Process), clock())?;
        let path = home.path().display().to_string();
        let mut out = anstream::stdout().lock();
        if self.json {
            writeln!(out, "{}", serde_json::json!({ "home": path, "ledger": ledger }))?;
        } else {
            writeln!(out, "A new ledger in {path}\nledger {ledger}")?;
        }
        Ok(())
    }
}

//! Which ledger a command is about.

use std::path::PathBuf;

use clap::Args;

use crate::failure::{Failure, Kind, kind_of};
use crate::ledger::{CommandError, Ledger, LedgerError};
use crate::store::{Home, Lost, Promise, Settings, Store, StoreError, clock};

/// Where the ledger lies.
#[derive(Debug, Args)]
pub(super) struct HomeArg {
    /// The ledger's folder
    #[arg(long, value_name = "DIR", env = "FERRY_HOME", global = true)]
    home: Option<PathBuf>,
}

impl HomeArg {
    /// The folder that was named, else `~/.ferry`.
    pub(super) fn home(&self) -> Result<Home, Failure> {
        let named = self.home.clone();
        let default = || std::env::home_dir().map(|home| home.join(".ferry"));
        named.or_else(default).map(Home::new).ok_or_else(|| {
            Failure::usage("finding the ledger", "no home directory is known; give --home DIR")
        })
    }

    /// Makes a ledger where there is none: whoever brings something in wants one.
    pub(super) fn make_if_missing(&self) -> Result<(), Failure> {
        let home = self.home()?;
        if !home.has_ledger() {
            Store::init(&home, &Settings::from_system(Promise::Process), clock())?;
            anstream::eprintln!("ferry: made a new ledger in {}", home.path().display());
        }
        Ok(())
    }

    /// Opens the ledger, or finds its owner; asks it, and lets go of it either way: a question that fails is no
    /// unclean stop. Its own failure goes first.
    pub(super) fn with_ledger<T>(
        &self,
        ask: impl FnOnce(&Ledger) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let ledger = Ledger::open(&self.home()?, Settings::from_system(Promise::Process))?;
        if let Some(Lost { from, to }) = ledger.opened().and_then(|opened| opened.lost) {
            anstream::eprintln!(
                "ferry: a loss of power took positions {from} to {}: they had been answered, and not promised to \
                 survive one; the ledger says so too",
                to - 1,
            );
        }
        let answer = ask(&ledger);
        match (answer, ledger.close()) {
            // What stopped the owner is told when it is closed; whoever asked it learnt only that it stopped.
            (Err(_), Err(error)) if !matches!(error, StoreError::Stopped) => Err(error.into()),
            (Err(failure), _) => Err(failure),
            (Ok(answer), closed) => {
                closed?;
                Ok(answer)
            }
        }
    }
}

impl From<LedgerError> for Failure {
    fn from(error: LedgerError) -> Self {
        let kind = match error {
            LedgerError::Store(error) => return error.into(),
            LedgerError::Command(CommandError::Refused(_)) => Kind::Usage,
            LedgerError::Command(
                CommandError::Busy | CommandError::Closed | CommandError::UnknownOutcome,
            )
            | LedgerError::OtherVersion(_) => Kind::Busy,
            LedgerError::Command(CommandError::Stopped(_)) | LedgerError::Confused => Kind::Corrupt,
        };
        Self::new(kind, "the ledger", error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let kind = match &error {
            StoreError::Fold(fault) => kind_of(fault),
            StoreError::Busy => Kind::Busy,
            StoreError::Head(_) | StoreError::OtherLedger { .. } => Kind::RolledBack,
            StoreError::NoLedger { .. }
            | StoreError::Exists { .. }
            | StoreError::Key { .. }
            | StoreError::NodeKeyStays => Kind::Usage,
            _ => Kind::Corrupt,
        };
        Self::new(kind, "the ledger", error)
    }
}

//! Which ledger a command is about.

use std::path::PathBuf;

use clap::Args;

use crate::failure::{Failure, Kind};
use crate::store::{Home, Opened, Promise, Settings, Store, StoreError};

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

    /// Opens the ledger for use, and says what a stop before took.
    pub(super) fn open(&self) -> Result<Store, Failure> {
        let (store, opened) = Store::open(&self.home()?, Settings::from_system(Promise::Process))?;
        if let Opened { lost: Some(lost), .. } = opened {
            anstream::eprintln!(
                "ferry: a loss of power took positions {} to {}: they had been answered, and not promised to \
                 survive one; the ledger says so too",
                lost.from,
                lost.to - 1,
            );
        }
        Ok(store)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let kind = match &error {
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

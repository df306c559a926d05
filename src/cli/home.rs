//! Which ledger a command is about.

use std::path::PathBuf;

use clap::Args;
use events::kind::KindTable;
use events::log::Log as _;
use projections::keyring::Keyring;
use replay::fold::{Checks, Signatures, fold};

use crate::failure::{Failure, Kind};
use crate::progress;
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

    /// Opens the ledger, asks it, and closes it either way: a question that fails is no unclean stop. Its
    /// own failure goes first.
    pub(super) fn with_store<T>(
        &self,
        ask: impl FnOnce(&mut Store) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut store = self.open()?;
        let answer = ask(&mut store);
        let closed = store.close();
        let answer = answer?;
        closed?;
        Ok(answer)
    }

    /// Opens the ledger for use, and says what a stop before took.
    fn open(&self) -> Result<Store, Failure> {
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

/// Who may write what in a ledger, by all its events.
pub(super) fn keyring(store: &Store) -> Result<Keyring, Failure> {
    let kinds = KindTable::current();
    let head = store.vouched_head()?;
    let checks = Checks { kinds: &kinds, signatures: Signatures::Trust, head: head.as_ref() };
    let bar = progress::bar("reading the ledger", store.head().next);
    let folded = fold(store, checks, &mut |_, _, _| bar.inc(1));
    bar.finish_and_clear();
    Ok(folded?.world.keyring)
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

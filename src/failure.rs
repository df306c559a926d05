//! Failures as people meet them: one line, a hint where there is one, an exit code that means something.

use std::error::Error;
use std::process::ExitCode;

use replay::fold::{Fault, FoldError, Wrong};

use crate::ledger::LedgerError;
use crate::store::StoreError;

/// What kind of failure it is: each has its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Something is not as it should be: what was asked for said so.
    Mismatch = 1,
    /// Arguments or a file a person gave.
    Usage = 2,
    /// The ledger is damaged, or the machine failed.
    Corrupt = 3,
    /// The ledger is whole, but not the one that was promised.
    RolledBack = 4,
    /// Another process has the ledger.
    Busy = 5,
    /// The ledger was written by a newer ferry.
    NeedsNewerFerry = 6,
}

impl From<Kind> for ExitCode {
    fn from(kind: Kind) -> Self {
        Self::from(kind as u8)
    }
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What kind of failure it is.
    pub(crate) kind: Kind,
    doing: String,
    cause: Box<dyn Error>,
}

impl Failure {
    /// A failure with its cause, while doing something.
    pub(crate) fn new(
        kind: Kind,
        doing: impl Into<String>,
        cause: impl Into<Box<dyn Error>>,
    ) -> Self {
        Self { kind, doing: doing.into(), cause: cause.into() }
    }

    /// A failure of what a person gave.
    pub(crate) fn usage(doing: impl Into<String>, cause: impl Into<Box<dyn Error>>) -> Self {
        Self::new(Kind::Usage, doing, cause)
    }

    /// True when the reader of the output went away, which is no failure.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        self.cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    }

    /// Prints one line; with `verbose`, every cause under it.
    pub(crate) fn print(&self, verbose: bool) {
        anstream::eprintln!("ferry: {}: {}", self.doing, self.cause);
        if verbose {
            let mut cause = self.cause.source();
            while let Some(error) = cause {
                anstream::eprintln!("  because {error}");
                cause = error.source();
            }
            anstream::eprintln!("  ({:?}, exit code {})", self.kind, self.kind as u8);
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(Kind::Corrupt, "writing output", error)
    }
}

impl<E: Error + 'static> From<FoldError<E>> for Failure {
    fn from(error: FoldError<E>) -> Self {
        match error {
            FoldError::Fault(fault) => Self::new(kind_of(&fault), "reading the ledger", fault),
            FoldError::Store(error) => of_store(Box::new(error)),
        }
    }
}

/// What kind of failure a fault is.
pub(crate) const fn kind_of(fault: &Fault) -> Kind {
    if fault.what.needs_newer_ferry() {
        return Kind::NeedsNewerFerry;
    }
    match fault.what {
        Wrong::RolledBack { .. } | Wrong::Forked | Wrong::ForeignHead { .. } => Kind::RolledBack,
        _ => Kind::Corrupt,
    }
}

/// The failure of whatever a log is read from keeps its kind.
fn of_store(error: Box<dyn Error>) -> Failure {
    match error.downcast::<LedgerError>() {
        Ok(error) => (*error).into(),
        Err(error) => match error.downcast::<StoreError>() {
            Ok(error) => (*error).into(),
            Err(error) => Failure::new(Kind::Corrupt, "reading the ledger", error),
        },
    }
}

//! `ferry doctor`: what is well and what is not.

use std::io::Write as _;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;

use anstyle::{AnsiColor, Style};
use clap::Args;
use events::entry::Entry;
use events::head::Head;
use events::ids::{LedgerId, Millis, Seq};
use events::log::ReadLog as _;
use events::payload::Stream;
use nix::sys::statvfs::statvfs;
use serde::Serialize;

use super::home::HomeArg;
use super::print_json;
use crate::failure::{Failure, Kind};
use crate::ledger::{Ledger, LedgerError, LedgerView};
use crate::store::{Home, KeyFiles, Opened, Promise, Settings, StoreError, clock};

/// Less free space than this is worth a word: the store writes journals of 64 MiB.
const FREE_BYTES_WANTED: u64 = 512 * 1024 * 1024;
/// A ledger further ahead of the clock than this has seen another clock.
const CLOCK_AHEAD_MS: u64 = 60_000;

/// Check the ledger's folder, keys, head, clock and disk
#[derive(Debug, Args)]
#[command(after_help = "Exit code 1 when something is wrong.

Examples:
  ferry doctor
  ferry doctor --json")]
pub(super) struct Doctor {
    #[command(flatten)]
    home: HomeArg,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Warning,
    Wrong,
}

#[derive(Debug, Serialize)]
struct Check {
    what: &'static str,
    state: State,
    says: String,
}

impl Doctor {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let home = self.home.home()?;
        let mut checks = vec![version(), folder(&home), keys(&home), disk(&home)];
        checks.extend(ledger(&home)?);
        self.print(&checks)?;
        match checks.iter().filter(|check| check.state == State::Wrong).count() {
            0 => Ok(()),
            wrong => {
                Err(Failure::new(Kind::Mismatch, "examining the ledger", format!("{wrong} wrong")))
            }
        }
    }

    fn print(&self, checks: &[Check]) -> Result<(), Failure> {
        let mut out = anstream::stdout().lock();
        if self.json {
            return print_json(&mut out, &checks);
        }
        for Check { what, state, says } in checks {
            let (word, colour) = match state {
                State::Ok => ("ok", AnsiColor::Green),
                State::Warning => ("warning", AnsiColor::Yellow),
                State::Wrong => ("wrong", AnsiColor::Red),
            };
            let style: Style = colour.on_default();
            writeln!(out, "{style}{word:<8}{style:#} {what:<8} {says}")?;
        }
        Ok(())
    }
}

fn check(what: &'static str, state: State, says: impl Into<String>) -> Check {
    Check { what, state, says: says.into() }
}

fn version() -> Check {
    check("version", State::Ok, format!("ferry {}", env!("CARGO_PKG_VERSION")))
}

fn folder(home: &Home) -> Check {
    let path = home.path().display();
    match std::fs::metadata(home.path()) {
        Err(error) => check("folder", State::Wrong, format!("{path}: {error}; run ferry init")),
        Ok(metadata) if metadata.mode() & 0o077 != 0 => check(
            "folder",
            State::Warning,
            format!("others may look into {path}; run chmod 700 on it"),
        ),
        Ok(_) => check("folder", State::Ok, path.to_string()),
    }
}

fn keys(home: &Home) -> Check {
    let files = KeyFiles::new(home.clone());
    let streams = Stream::ALL.iter().map(|stream| files.signing(*stream).map(|_| ()));
    match streams.chain([files.secret().map(|_| ())]).collect::<Result<(), _>>() {
        Ok(()) => check("keys", State::Ok, "all there, and readable by their owner alone"),
        Err(error) => check("keys", State::Wrong, error.to_string()),
    }
}

/// The copy of the newest head that is kept apart from the ledger's folder.
fn witness(ledger: &LedgerId) -> Check {
    let Some(folder) = Settings::from_system(Promise::Process).witness else {
        return check(
            "witness",
            State::Ok,
            "off: putting back a whole older folder would go unnoticed",
        );
    };
    let path = folder.join(ledger.to_string());
    match std::fs::OpenOptions::new().write(true).open(&path) {
        Ok(_) => check("witness", State::Ok, path.display().to_string()),
        Err(error) => check("witness", State::Warning, format!("{}: {error}", path.display())),
    }
}

fn disk(home: &Home) -> Check {
    match statvfs(home.path()) {
        Err(error) => check("disk", State::Warning, format!("free space is unknown: {error}")),
        Ok(stat) => {
            let free = stat.blocks_available() * stat.fragment_size();
            let state = if free < FREE_BYTES_WANTED { State::Warning } else { State::Ok };
            check("disk", state, format!("{} MB free", free / 1_000_000))
        }
    }
}

/// Opens the ledger, which judges it, or asks its owner; then what it says of time.
fn ledger(home: &Home) -> Result<Vec<Check>, Failure> {
    let opened = Ledger::open(home, Settings::from_system(Promise::Process));
    let ledger = match opened {
        Ok(ledger) => ledger,
        Err(error) => {
            let busy = matches!(error, LedgerError::Store(StoreError::Busy));
            let state = if busy { State::Warning } else { State::Wrong };
            return Ok(vec![check("ledger", state, error.to_string())]);
        }
    };
    let looked = look(&ledger, home);
    let how = match (ledger.other_owner(), ledger.opened()) {
        (Some(version), _) => format!("; its owner is a running ferry {version}"),
        (None, Some(Opened { lost: Some(lost), .. })) => {
            format!("; a loss of power took positions {} to {}", lost.from, lost.to - 1)
        }
        (None, Some(Opened { was_clean: false, .. })) => {
            "; the stop before was not clean".to_owned()
        }
        _ => String::new(),
    };
    let lost = ledger.opened().is_some_and(|opened| opened.lost.is_some());
    // Closed either way: a look that fails is no unclean stop.
    let closed = ledger.close();
    let (head, newest, vouched) = looked?;
    closed?;
    let says = format!("ends at {}, vouched for up to {vouched}{how}", head.next);
    let state = if lost { State::Warning } else { State::Ok };
    Ok(vec![check("ledger", state, says), witness(&head.ledger), time(newest)])
}

/// Where the ledger ends, when it was last written to, and up to where it is vouched for.
fn look(ledger: &Ledger, home: &Home) -> Result<(Head, Millis, Seq), LedgerError> {
    let vouched = home.vouched_head()?.map_or(0, |vouched| vouched.signed.head.next);
    let view = ledger.view()?;
    Ok((view.head(), newest_received(&view)?, vouched))
}

/// When the newest batch was taken in.
fn newest_received(view: &LedgerView<'_>) -> Result<Millis, LedgerError> {
    let mut newest = 0;
    view.read(view.head().next.saturating_sub(1), &mut |_, stored| {
        newest = Entry::split(stored).map_or(0, |(entry, ..)| entry.received);
        ControlFlow::Break(())
    })?;
    Ok(newest)
}

fn time(newest: Millis) -> Check {
    let now = clock();
    if newest > now + CLOCK_AHEAD_MS {
        let ahead = (newest - now) / 1000;
        check("clock", State::Warning, format!("{ahead} s behind what the ledger has seen"))
    } else {
        check("clock", State::Ok, replay::dates::instant(now))
    }
}

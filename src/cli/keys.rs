//! `ferry keys`: who may write what.

use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use comfy_table::{Table, presets};
use events::bytes::Bytes32;
use events::ids::AuthorId;
use events::payload::{Actor, ActorChange, Stream};
use projections::keyring::{Key, Keyring};

use super::home::HomeArg;
use crate::failure::Failure;
use crate::ledger::{self, Ledger, Queue};
use crate::store::{KeyFiles, clock};

/// Look at the ledger's keys, and change them
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ferry keys list
  ferry keys rotate proxy
  ferry keys new proxy other-machine.key
  ferry keys revoke e6e05408c7a89501815eeaf5537b4c5d2cb8ed1931a6f8d4fb9fce315d5fde82")]
pub(super) struct Keys {
    #[command(flatten)]
    home: HomeArg,
    /// Print as JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the keys that may write, or once might
    List,
    /// Draw a key for another writer of a stream, into a file to be carried there
    New {
        /// What it writes
        stream: StreamArg,
        /// The file; it must not exist
        file: PathBuf,
    },
    /// Draw a new key for one of this ledger's own streams; the old one may not write any more
    Rotate {
        /// The stream
        stream: StreamArg,
    },
    /// Retire a key: what it wrote stands, and it writes no more
    Revoke {
        /// The public key, 64 hex digits
        key: String,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StreamArg {
    Node,
    Proxy,
    Agent,
    People,
}

impl From<StreamArg> for Stream {
    fn from(stream: StreamArg) -> Self {
        match stream {
            StreamArg::Node => Self::Node,
            StreamArg::Proxy => Self::Proxy,
            StreamArg::Agent => Self::Agent,
            StreamArg::People => Self::People,
        }
    }
}

impl Keys {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let files = KeyFiles::new(self.home.home()?);
        self.home.with_ledger(|ledger| self.run_on(ledger, &files))
    }

    fn run_on(&self, ledger: &Ledger, files: &KeyFiles) -> Result<(), Failure> {
        let change = |key, stream, change, replaces| {
            let actor = Actor { key, stream, change, replaces };
            ledger.run(Queue::Turns, &ledger::Command::ChangeKey { at: clock(), actor })
        };
        match &self.command {
            Command::List => self.list(&ledger.world()?.keyring),
            Command::New { stream, file } => {
                let stream = (*stream).into();
                let key = KeyFiles::draw_into(file)?.public();
                change(key, stream, ActorChange::Enrolled, None)?;
                self.say("enrolled", key, stream)
            }
            Command::Rotate { stream } => {
                let stream = (*stream).into();
                let key = files.draw_next(stream)?.public();
                let old = files.signing(stream)?.public();
                change(key, stream, ActorChange::Rotated, Some(old))?;
                self.say("rotated to", key, stream)
            }
            Command::Revoke { key } => {
                let (key, standing) = revocable(&ledger.world()?.keyring, key)?;
                change(key, standing.stream, ActorChange::Retired, None)?;
                self.say("retired", key, standing.stream)
            }
        }
    }

    fn say(&self, done: &str, key: AuthorId, stream: Stream) -> Result<(), Failure> {
        let mut out = anstream::stdout().lock();
        if self.json {
            let said = serde_json::json!({ "done": done, "key": key, "stream": stream });
            return Ok(writeln!(out, "{said}")?);
        }
        Ok(writeln!(out, "{} {done} {key}", stream.label())?)
    }

    fn list(&self, keyring: &Keyring) -> Result<(), Failure> {
        let mut out = anstream::stdout().lock();
        if self.json {
            let keys: Vec<_> = keyring
                .keys()
                .map(|(key, Key { stream, active, .. })| {
                    serde_json::json!({ "key": key, "stream": stream, "active": active })
                })
                .collect();
            return Ok(writeln!(out, "{}", serde_json::Value::from(keys))?);
        }
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_header(["stream", "state", "key"]);
        for (key, standing) in keyring.keys() {
            let state = if standing.active { "active" } else { "retired" };
            table.add_row([standing.stream.label(), state, &key.to_string()]);
        }
        for line in table.lines() {
            writeln!(out, "{}", line.trim())?;
        }
        Ok(())
    }
}

/// A key that is active. Whether the owner writes with it itself is for the owner to say.
fn revocable(keyring: &Keyring, text: &str) -> Result<(AuthorId, Key), Failure> {
    let refuse =
        |problem: &str| Err(Failure::usage(format!("revoking {text}"), problem.to_owned()));
    let Some(key) = Bytes32::from_hex(text) else {
        return refuse("a key is 64 hex digits; ferry keys list prints them");
    };
    match keyring.keys().find(|(known, _)| **known == key) {
        None => refuse("the ledger knows no such key; ferry keys list prints them"),
        Some((_, standing)) if !standing.active => refuse("it is retired already"),
        Some((_, standing)) if standing.stream == Stream::Node => {
            refuse("it is the node key, which signs the heads")
        }
        Some((_, standing)) => Ok((key, *standing)),
    }
}

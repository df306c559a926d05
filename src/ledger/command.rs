//! What the owner of a ledger is asked to do, and what comes of it.

use events::ids::{Millis, Seq, Subject};
use events::payload::{Actor, Import, PriceBook, Stream, Turn, TurnClosed, Verdict};
use replay::decider::{Attempted, Plan};
use replay::import::{EVENTS_A_TURN_MAX, ImportedTurn, Recorded};
use replay::writer::BULK_BATCH_EVENTS;
use serde::{Deserialize, Serialize};
use serde_bytes::Bytes as RawBytes;

/// Most turns in one command: their events fill a bulk batch at most.
pub const TURNS_A_COMMAND_MAX: usize = BULK_BATCH_EVENTS / EVENTS_A_TURN_MAX;

/// A command. Each can be given again when its outcome is unknown: what is there already is found by its
/// subject, and answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Command<'a> {
    /// Turns that a source tells of, each once, as [`encode_turn`] gives them.
    ImportTurns(#[serde(borrow)] Vec<&'a RawBytes>),
    /// A source was read.
    CloseImport {
        /// Drawn by whoever imported: the event's subject.
        id: Subject,
        /// When.
        at: Millis,
        /// What it came to.
        #[serde(borrow)]
        import: Import<'a>,
    },
    /// What engines charge, each as the payload of a price event: only what is new or different is written.
    ImportPrices {
        /// When.
        at: Millis,
        /// The prices, encoded.
        #[serde(borrow)]
        prices: Vec<&'a RawBytes>,
    },
    /// A list of prices was read.
    ClosePrices {
        /// Drawn by whoever imported, to know it by.
        id: Subject,
        /// When.
        at: Millis,
        /// What it came to.
        #[serde(borrow)]
        book: PriceBook<'a>,
    },
    /// A turn arrived: it is written down, and handed to an engine or refused.
    Ask {
        /// The turn's id, drawn by whoever asks.
        id: Subject,
        /// The turn, with what it asks for.
        #[serde(borrow)]
        turn: Turn<'a>,
    },
    /// A turn in flight needs another attempt: it is handed to an engine that has not failed it, or refused.
    Retry {
        /// The turn.
        turn: Subject,
        /// Attempts before this one.
        attempt: u16,
    },
    /// An attempt of a turn ended: what it cost is settled, or, where that was done already, corrected.
    EndAttempt {
        /// The turn.
        turn: Subject,
        /// How it ended.
        #[serde(borrow)]
        attempted: Attempted<'a>,
    },
    /// The client has its end of a turn: what is still set aside for it is settled.
    CloseTurn {
        /// The turn.
        turn: Subject,
        /// How it ended.
        closed: TurnClosed,
    },
    /// Rules take the place of those in force.
    SetPolicy {
        /// When.
        at: Millis,
        /// How often the ledger's rules were set, this time included: what was made from older rules is refused.
        sequence: u32,
        /// The rules, as TOML.
        text: &'a str,
    },
    /// A person judges the answer to a turn.
    Judge {
        /// When.
        at: Millis,
        /// The turn.
        turn: Subject,
        /// What they say.
        verdict: Verdict,
    },
    /// A key is enrolled, retired, or takes another's place.
    ChangeKey {
        /// When.
        at: Millis,
        /// The change.
        actor: Actor,
    },
}

impl Command<'_> {
    /// The stream its events are written by.
    pub(super) const fn stream(&self) -> Stream {
        match self {
            Self::ImportTurns(_)
            | Self::CloseImport { .. }
            | Self::ImportPrices { .. }
            | Self::ClosePrices { .. }
            | Self::Ask { .. }
            | Self::Retry { .. }
            | Self::EndAttempt { .. }
            | Self::CloseTurn { .. } => Stream::Proxy,
            Self::SetPolicy { .. } | Self::Judge { .. } => Stream::People,
            Self::ChangeKey { .. } => Stream::Node,
        }
    }
}

/// Most prices in one command.
pub const PRICES_A_COMMAND_MAX: usize = BULK_BATCH_EVENTS;

/// A turn as a command carries it.
#[must_use]
pub fn encode_turn(turn: &ImportedTurn<'_>) -> Vec<u8> {
    // Writing plain data to memory has no way to fail.
    rmp_serde::to_vec(turn).unwrap_or_default()
}

/// A command as it is queued and sent.
#[derive(Clone, Debug)]
pub struct Encoded(Vec<u8>);

impl Encoded {
    /// Encodes a command.
    #[must_use]
    pub fn new(command: &Command<'_>) -> Self {
        // Writing plain data to memory has no way to fail.
        Self(rmp_serde::to_vec(command).unwrap_or_default())
    }

    /// Takes what another process sent, when it is a command.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self, rmp_serde::decode::Error> {
        rmp_serde::from_slice::<Command<'_>>(bytes).map(|_| Self(bytes.to_vec()))
    }

    /// The command.
    ///
    /// # Errors
    /// None for what [`Encoded::new`] or [`Encoded::parse`] made.
    pub fn command(&self) -> Result<Command<'_>, rmp_serde::decode::Error> {
        rmp_serde::from_slice(&self.0)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// What came of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// Of each turn or price, in order.
    Imported(Vec<Recorded>),
    /// What a turn comes to.
    Planned(Plan),
    /// It is in the ledger.
    Written {
        /// Where.
        first: Seq,
        /// True when it was there already.
        repeated: bool,
    },
}

/// Why there is no outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum CommandError {
    /// It makes no sense in this ledger; nothing was written.
    #[error("{0}")]
    Refused(String),
    /// The queue is full; nothing was written. Try again a little later.
    #[error("the ledger's owner has more to do than it can; try again")]
    Busy,
    /// The ledger failed: what it holds is looked at when it is opened again.
    #[error("the ledger's owner stopped: {0}")]
    Stopped(String),
    /// The owner is closing; nothing was written. Whoever owns the ledger next can be asked.
    #[error("the ledger's owner is closing; ask again")]
    Closed,
    /// The owner died before it answered. What was asked for happened or did not; asking again is safe.
    #[error(
        "the ledger's owner went away before it answered: the outcome is unknown; it is safe to ask again"
    )]
    UnknownOutcome,
}

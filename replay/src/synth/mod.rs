//! Synthetic ledgers of any size: seeded, signed, of every kind of event, for benches and tests.
//!
//! Forty sessions go on at once, with prompts that grow turn by turn, sub-agents beside them, pauses,
//! failures and better figures that come late. Four keys write: the owner's node, proxy and people, and the
//! proxy of another machine, which imports sessions of its own and repeats some of the owner's turns.
//! The same turns and seed give the same bytes. Memory does not grow with the number of turns.
//!
//! Keys, ledger id and secret derive from the seed as the sample's do: whoever knows the seed has them,
//! so they protect nothing.

mod chores;
mod desk;
mod dice;
mod lane;
mod live;
mod policy;
mod stage;
#[cfg(test)]
mod tests;
mod traffic;
mod turn;

use events::bytes::Bytes32;
use events::event::EventError;
use events::hash::{Domain, Hasher, LedgerSecret};
use events::head::SignedHead;
use events::ids::{LedgerId, Millis};
use events::limits::BATCH_EVENTS_MAX;
use events::log::{AppendError, Log};
use events::payload::{NameError, Stream};
use events::sign::SigningKey;

pub use self::desk::SynthBatch;
use self::stage::{Cast, Stage};
use crate::book_file::BookFileError;
use crate::decider::{Decider, DeciderError};
use crate::policy_file::PolicyFileError;
use crate::writer::{BULK_BATCH_EVENTS, Keys};

/// Monday 2026-02-02 00:00 UTC: when every synthetic ledger begins. A million turns take about a
/// fortnight.
pub const START: Millis = 1_769_990_400_000;

const SEED: &[u8] = b"ferry synthetic ledger";

/// A synthetic ledger, before it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Synth {
    /// Distinct turns. Every kind of event is there from 100 turns on.
    pub turns: u64,
    /// What everything else is drawn from.
    pub seed: u64,
}

/// Why a synthetic ledger cannot be made. No build that passes its tests meets one.
#[derive(Debug, thiserror::Error)]
pub enum SynthError {
    /// An event does not fit the format.
    #[error(transparent)]
    Event(#[from] EventError),
    /// A name is none.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A turn cannot be decided.
    #[error(transparent)]
    Decider(#[from] DeciderError),
    /// The policy makes no sense.
    #[error(transparent)]
    Policy(#[from] PolicyFileError),
    /// The bundled price book is damaged.
    #[error("the bundled price book is damaged: {0}")]
    Book(#[from] BookFileError),
}

/// Why a synthetic ledger was not written to a log.
#[derive(Debug, thiserror::Error)]
pub enum SynthWriteError<E: std::error::Error + 'static> {
    /// It cannot be made.
    #[error(transparent)]
    Synth(#[from] SynthError),
    /// The log did not take it: it holds other events, is of another ledger, or failed.
    #[error(transparent)]
    Append(#[from] AppendError<E>),
}

/// What a synthetic ledger holds so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Distinct turns.
    pub turns: u64,
    /// Distinct results: attempts that ended.
    pub results: u64,
    /// Turns without any result.
    pub unanswered: u64,
    /// Turns and results the second proxy told of again.
    pub repeated: u64,
    /// Better figures.
    pub amends: u64,
    /// Events whose author had no right to say them any more.
    pub without_effect: u64,
    /// All events in sealed batches.
    pub events: u64,
    /// Sealed batches.
    pub batches: u64,
}

/// A written synthetic ledger.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// Its end, vouched for by its node key.
    pub head: SignedHead,
    /// What it holds.
    pub totals: Totals,
}

impl Synth {
    /// The ledger's batches of [`BULK_BATCH_EVENTS`], in the order to append them, made as they are
    /// asked for.
    ///
    /// # Errors
    /// [`SynthError`].
    pub fn batches(&self) -> Result<Batches, SynthError> {
        self.batches_of(BULK_BATCH_EVENTS)
    }

    /// The same events in batches of this many, 1 to [`BATCH_EVENTS_MAX`].
    ///
    /// # Errors
    /// [`SynthError`].
    pub fn batches_of(&self, events: usize) -> Result<Batches, SynthError> {
        let (seed, ledger) = (self.seed, ledger_id(self.seed));
        let Keys { node, proxy, agent, people } = keys(seed);
        let silent = [(Stream::Agent, agent.public())];
        let (second, successor) = (key(seed, "second proxy"), key(seed, "second proxy, again"));
        let cast = Cast { node, proxy, second, people, successor, silent };
        let events = events.clamp(1, BATCH_EVENTS_MAX);
        Ok(Batches {
            stage: Stage::open((self.turns, seed), secret(seed), ledger, cast, events)?,
            is_over: false,
        })
    }

    /// Writes the ledger to an empty log of [`ledger_id`], telling after each batch what it holds.
    ///
    /// # Errors
    /// [`SynthWriteError`].
    pub fn write<L: Log>(
        &self,
        log: &mut L,
        wrote: &mut dyn FnMut(&Totals),
    ) -> Result<Written, SynthWriteError<L::Error>> {
        let mut batches = self.batches()?;
        while let Some(next) = batches.next() {
            let SynthBatch { batch, received } = next?;
            log.append(&[batch], received)?;
            wrote(&batches.totals());
        }
        let head = SignedHead::sign(log.head(), &keys(self.seed).node);
        Ok(Written { head, totals: batches.totals() })
    }
}

/// The batches of a synthetic ledger.
pub struct Batches {
    stage: Stage,
    is_over: bool,
}

impl Batches {
    /// What has been made so far, batches included that are still to be asked for.
    #[must_use]
    pub const fn totals(&self) -> Totals {
        let desk = &self.stage.desk;
        Totals { events: desk.events(), batches: desk.batches(), ..self.stage.totals }
    }

    fn advance(&mut self) -> Result<Option<SynthBatch>, SynthError> {
        loop {
            let sealed = self.stage.desk.next_sealed();
            if sealed.is_some() || self.is_over {
                return Ok(sealed);
            }
            if !self.stage.step()? {
                self.is_over = true;
                self.stage.tell_import()?;
                self.stage.desk.flush_all();
            }
        }
    }
}

impl Iterator for Batches {
    type Item = Result<SynthBatch, SynthError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}

/// 32 bytes for a purpose, known to whoever knows the seed.
fn derived(seed: u64, purpose: &str) -> Bytes32 {
    let mut hasher = Hasher::new(Domain::SampleKey);
    hasher.part(SEED).fixed(&seed.to_be_bytes()).part(purpose.as_bytes()).finish()
}

fn key(seed: u64, purpose: &str) -> SigningKey {
    SigningKey::from_secret(&derived(seed, purpose).0)
}

/// The id of the seed's ledger.
#[must_use]
pub fn ledger_id(seed: u64) -> LedgerId {
    derived(seed, "ledger id")
}

/// The keys of its owner. They may write at every position.
#[must_use]
pub fn keys(seed: u64) -> Keys {
    Keys {
        node: key(seed, "node"),
        proxy: key(seed, "proxy"),
        agent: key(seed, "agent"),
        people: key(seed, "people"),
    }
}

/// What a synthetic ledger's turns are decided by: its decisions can be made again with it.
#[must_use]
pub fn decider(seed: u64) -> Decider {
    policy::decider(ledger_id(seed))
}

/// The secret that keys the ids of its imported turns.
#[must_use]
pub fn secret(seed: u64) -> LedgerSecret {
    LedgerSecret::new(derived(seed, "secret").0)
}

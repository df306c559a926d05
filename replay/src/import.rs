//! Recorded traffic becomes events: each turn once, grown figures as amends.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use events::batch::Batch;
use events::entry::Entry;
use events::event::{Body, EventError, EventRef, Events};
use events::hash::{Domain, LedgerSecret};
use events::ids::{AuthorId, Millis, Seq, Subject};
use events::kind::KindTable;
use events::log::ReadLog;
use events::payload::{
    Amend, AmendReason, DispatchResult, Ending, Finish, Name, Parts, RawPairs, SourceKey, Stream,
    Turn, TurnClosed,
};
use events::usage::Usage;
use projections::keyring::Keyring;
use serde::{Deserialize, Serialize};

/// Most events that come of one imported turn: turn, result, end.
pub const EVENTS_A_TURN_MAX: usize = 3;

/// One turn as a source tells it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ImportedTurn<'a> {
    /// The source's kind; with `row`, what makes the turn the same turn next time.
    pub source: &'a str,
    /// The source's own id of the row or message.
    pub row: &'a str,
    /// The row's key in clear, where the source's ids are not personal.
    #[serde(borrow)]
    pub source_key: Option<SourceKey<'a>>,
    /// What sent it.
    pub client: Name<'a>,
    /// The conversation's id in the source.
    pub conversation: &'a str,
    /// The sub-agent's id in the source; `None` is the main agent.
    pub subagent: Option<&'a str>,
    /// The model, as recorded.
    pub model: Name<'a>,
    /// When the request began.
    pub at: Millis,
    /// When the answer was complete.
    pub answered_at: Millis,
    /// What is new in the prompt.
    pub news: Option<Parts>,
    /// The longest prefix sent before.
    pub prefix_tokens: Option<u32>,
    /// Usage in ferry's convention.
    pub usage: Usage,
    /// Usage as the source has it.
    pub raw_usage: RawPairs<'a>,
    /// What the answer holds.
    pub parts: Option<Parts>,
    /// Why the answer ended.
    pub finish: Finish,
    /// From request to last byte.
    pub latency_ms: Option<u32>,
    /// How the turn ended, where the source says it was not answered.
    pub ending: Option<Ending>,
}

impl<'a> ImportedTurn<'a> {
    /// The turn's id in a ledger: a keyed digest of the source's own id.
    #[must_use]
    pub fn subject(&self, secret: &LedgerSecret) -> Subject {
        secret.digest16(Domain::ImportedTurn, &[self.source.as_bytes(), self.row.as_bytes()])
    }

    /// The turn's first event.
    #[must_use]
    pub fn turn(&self, secret: &LedgerSecret) -> Turn<'a> {
        let conversation = [self.source.as_bytes(), self.conversation.as_bytes()];
        Turn {
            client: self.client,
            conversation: secret.digest16(Domain::Conversation, &conversation),
            subagent: self.subagent.map(|subagent| {
                let [source, conversation] = conversation;
                secret.digest16(Domain::Subagent, &[source, conversation, subagent.as_bytes()])
            }),
            model: self.model,
            news: self.news,
            prefix_tokens: self.prefix_tokens,
            source_key: self.source_key,
        }
    }

    /// The turn's second event.
    #[must_use]
    pub fn result(&self) -> DispatchResult<'a> {
        DispatchResult {
            attempt: 0,
            turn_at: self.at,
            engine: self.model,
            usage: self.usage,
            raw_usage: self.raw_usage.clone(),
            parts: self.parts,
            finish: self.finish,
            latency_ms: self.latency_ms,
        }
    }
}

/// What came of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Recorded {
    /// It was new.
    New,
    /// It was there already.
    Repeated,
    /// It was there with another figure; the newer one is written beside it.
    Amended,
}

/// Why a row was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum ImportError<E: std::error::Error + 'static> {
    /// It cannot be encoded, or there is no room for it: [`EventError::BatchFull`].
    #[error(transparent)]
    Event(#[from] EventError),
    /// The store failed.
    #[error("the store failed: {0}")]
    Store(#[source] E),
    /// What the ledger holds of the turn cannot be read.
    #[error("position {seq} of the ledger is damaged: run ferry ledger verify")]
    Damaged {
        /// The position.
        seq: Seq,
    },
}

/// What a ledger knows of a turn's first attempt.
#[derive(Clone, Copy, Debug)]
struct Known {
    at: Millis,
    stated: Option<Stated>,
}

/// The figure that counts so far.
#[derive(Clone, Copy, Debug)]
struct Stated {
    usage: Usage,
    /// `at` of the event that states it.
    at: Millis,
}

/// Decides what a source's turns add to a ledger, each once.
#[derive(Debug, Default)]
pub struct Importer {
    /// What was decided and is not in the log yet.
    pending: BTreeMap<Subject, Known>,
}

/// What an import is decided by, besides the row.
pub struct Basis<'b, L: ?Sized> {
    /// The log as it stands.
    pub log: &'b L,
    /// Whom to believe: what the keyring's proxies wrote.
    pub keyring: &'b Keyring,
    /// The ledger's secret, for keyed digests.
    pub secret: &'b LedgerSecret,
    /// The kinds of this build.
    pub kinds: &'b KindTable,
}

impl Importer {
    /// Forgets what was pending: the log holds it by now.
    pub fn appended(&mut self) {
        self.pending.clear();
    }

    /// Decides one row: its events come behind `events`, all of them or none. A turn the ledger holds
    /// keeps its first time stamp; of its figures the most complete counts, whatever order they come in, so
    /// that importing again changes nothing.
    ///
    /// # Errors
    /// [`ImportError`].
    pub fn decide<L: ReadLog + ?Sized>(
        &mut self,
        basis: &Basis<'_, L>,
        row: &ImportedTurn<'_>,
        events: &mut Events,
    ) -> Result<Recorded, ImportError<L::Error>> {
        let turn = row.subject(basis.secret);
        let known = match self.pending.get(&turn) {
            Some(known) => Some(*known),
            None => basis.known(&turn)?,
        };
        let mut added = Events::new();
        let (recorded, now_known) = match known {
            None => {
                added.push(row.at, turn, &row.turn(basis.secret))?;
                (Recorded::New, answer(turn, row, row.at, &mut added)?)
            }
            Some(known) => match known.stated {
                // An import that was cut short left the turn without its result.
                None => (Recorded::Amended, answer(turn, row, known.at, &mut added)?),
                Some(stated) if completeness(&row.usage) <= completeness(&stated.usage) => {
                    return Ok(Recorded::Repeated);
                }
                Some(stated) => {
                    (Recorded::Amended, amend(turn, row, known.at, &stated, &mut added)?)
                }
            },
        };
        events.extend(&added)?;
        self.pending.insert(turn, now_known);
        Ok(recorded)
    }
}

/// A turn's result, and its end where it was not answered.
fn answer(
    turn: Subject,
    row: &ImportedTurn<'_>,
    turn_at: Millis,
    events: &mut Events,
) -> Result<Known, EventError> {
    let result = DispatchResult { turn_at, ..row.result() };
    events.push(row.answered_at, turn, &result)?;
    if let Some(ending) = row.ending {
        let closed = TurnClosed { ending, attempts: 1, bytes_sent: None };
        events.push(row.answered_at, turn, &closed)?;
    }
    Ok(Known { at: turn_at, stated: Some(Stated { usage: row.usage, at: row.answered_at }) })
}

/// A better figure than the one stated.
fn amend(
    turn: Subject,
    row: &ImportedTurn<'_>,
    turn_at: Millis,
    stated: &Stated,
    events: &mut Events,
) -> Result<Known, EventError> {
    // Of amends the highest (`at`, event id) counts: this one has to come later.
    let at = row.answered_at.max(stated.at.saturating_add(1));
    let amend = Amend {
        attempt: 0,
        engine: row.model,
        turn_at,
        replaces: stated.usage,
        usage: row.usage,
        reason: AmendReason::SourceGrew,
    };
    events.push(at, turn, &amend)?;
    Ok(Known { at: turn_at, stated: Some(Stated { usage: row.usage, at }) })
}

impl<L: ReadLog + ?Sized> Basis<'_, L> {
    fn known(&self, turn: &Subject) -> Result<Option<Known>, ImportError<L::Error>> {
        let mut known: Option<Known> = None;
        let positions = self.log.positions_about(turn).map_err(ImportError::Store)?;
        let mut rest = positions.as_slice();
        while let [seq, ..] = rest {
            // A turn and its result mostly lie in one batch: it is read once for both.
            let mut taken = 0;
            let read = self.log.read(*seq, &mut |first, stored| {
                taken = self.learn_all(first, stored, rest, &mut known);
                ControlFlow::Break(())
            });
            read.map_err(ImportError::Store)?;
            rest = match rest.get(taken..) {
                Some(left) if taken > 0 => left,
                _ => return Err(ImportError::Damaged { seq: *seq }),
            };
        }
        Ok(known)
    }

    /// Takes in what a stored batch says at the positions it holds; how many those were, before the first
    /// that does not decode.
    fn learn_all(
        &self,
        first: Seq,
        stored: &[u8],
        positions: &[Seq],
        known: &mut Option<Known>,
    ) -> usize {
        let batch = Entry::split(stored).and_then(|(_, _, bytes)| Batch::parse_header(bytes).ok());
        let Some(batch) = batch else { return 0 };
        let author = batch.header.author;
        let mut events = (first..).zip(batch.events());
        let learnt = positions.iter().take_while(|position| {
            let event = events.find(|(seq, _)| seq == *position);
            event.is_some_and(|(_, event)| self.learn(&Stored { author, event }, known).is_some())
        });
        learnt.count()
    }

    /// Takes in what one stored event says of a turn; `None` when it does not decode.
    fn learn(&self, event: &Stored<'_>, known: &mut Option<Known>) -> Option<()> {
        let body = event.event.decode(self.kinds).ok()?;
        if !self.keyring.has_written(&event.author, Stream::Proxy) {
            return Some(());
        }
        let at = event.event.at;
        let (usage, is_amend) = match body {
            Body::Turn(_) => {
                known.get_or_insert(Known { at, stated: None });
                return Some(());
            }
            Body::Result(result) if result.attempt == 0 => (result.usage, false),
            Body::Amend(amend) if amend.attempt == 0 => (amend.usage, true),
            _ => return Some(()),
        };
        if let Some(known) = known
            && known.stated.is_none_or(|stated| is_amend && at >= stated.at)
        {
            known.stated = Some(Stated { usage, at });
        }
        Some(())
    }
}

/// How much a figure says, so that the most complete of several can be told: copies of a message
/// grow, the last holds most.
fn completeness(usage: &Usage) -> [Option<u32>; 7] {
    [
        usage.output,
        usage.prompt,
        usage.cache_read,
        usage.cache_write_1h,
        usage.cache_write_5m,
        usage.reasoning,
        usage.images,
    ]
}

struct Stored<'a> {
    author: AuthorId,
    event: EventRef<'a>,
}

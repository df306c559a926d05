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

use crate::facts::Facts;

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
            ask: None,
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
            first_ms: None,
            latency_ms: self.latency_ms,
            charge: None,
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

/// What a ledger holds of a turn.
#[derive(Clone, Debug)]
struct Known {
    facts: Facts,
    /// The model its result is booked on: that of the row that told of it first.
    engine: String,
    /// `at` of the event that states the figure; `None` while there is no result.
    stated_at: Option<Millis>,
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

    /// Decides one row: its events come behind `events`, all of them or none. What the ledger holds of the turn is
    /// amended by what the row adds: the earliest time stamp, the most complete figure; whatever order rows come
    /// in, and however often.
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
            Some(known) => Some(known.clone()),
            None => basis.known(&turn)?,
        };
        let (said, result) = (row.turn(basis.secret), row.result());
        let told = Facts::of(&said, &result, row.at);
        let mut added = Events::new();
        let (recorded, now_known) = match known {
            None => {
                added.push(row.at, turn, &said)?;
                (Recorded::New, answer(turn, row, told, &mut added)?)
            }
            // An import that was cut short left the turn without its result.
            Some(Known { facts, stated_at: None, .. }) => {
                let facts = Facts { at: facts.at, ..told };
                (Recorded::Amended, answer(turn, row, facts, &mut added)?)
            }
            Some(known) => {
                let joined = known.facts.joined(&told);
                if joined == known.facts {
                    return Ok(Recorded::Repeated);
                }
                (Recorded::Amended, amend(turn, row, &known, joined, &mut added)?)
            }
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
    facts: Facts,
    events: &mut Events,
) -> Result<Known, EventError> {
    let result = DispatchResult { turn_at: facts.at, ..row.result() };
    events.push(row.answered_at, turn, &result)?;
    if let Some(ending) = row.ending {
        let closed = TurnClosed { ending, attempts: 1, bytes_sent: None };
        events.push(row.answered_at, turn, &closed)?;
    }
    let engine = row.model.as_str().to_owned();
    Ok(Known { facts, engine, stated_at: Some(row.answered_at) })
}

/// Better facts than those stated.
fn amend(
    turn: Subject,
    row: &ImportedTurn<'_>,
    known: &Known,
    now: Facts,
    events: &mut Events,
) -> Result<Known, EventError> {
    // Of amends the highest (`at`, event id) counts: this one has to come later.
    let after = known.stated_at.map_or(0, |stated| stated.saturating_add(1));
    let at = row.answered_at.max(after);
    let amend = Amend {
        attempt: 0,
        engine: Name::new(&known.engine).unwrap_or(row.model),
        turn_at: now.at,
        replaces: known.facts.usage,
        usage: now.usage,
        turn: Some(now.of_turn(known.facts.at)),
        booking: None,
        reason: AmendReason::SourceGrew,
    };
    events.push(at, turn, &amend)?;
    Ok(Known { facts: now, engine: known.engine.clone(), stated_at: Some(at) })
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
            event.is_some_and(|(seq, event)| {
                self.learn(&Stored { seq, author, event }, known).is_some()
            })
        });
        learnt.count()
    }

    /// Takes in what one stored event says of a turn; `None` when it does not decode.
    fn learn(&self, event: &Stored<'_>, known: &mut Option<Known>) -> Option<()> {
        let body = event.event.decode(self.kinds).ok()?;
        if !self.keyring.could_write(&event.author, Stream::Proxy, event.seq) {
            return Some(());
        }
        let at = event.event.at;
        match (body, known.as_mut()) {
            (Body::Turn(turn), None) => {
                let facts = Facts {
                    at,
                    conversation: turn.conversation,
                    subagent: turn.subagent,
                    news: turn.news,
                    prefix_tokens: turn.prefix_tokens,
                    usage: Usage::default(),
                    parts: None,
                    finish: Finish::Unknown,
                };
                let engine = turn.model.as_str().to_owned();
                *known = Some(Known { facts, engine, stated_at: None });
            }
            (Body::Result(result), Some(Known { facts, engine, stated_at }))
                if result.attempt == 0 && stated_at.is_none() =>
            {
                result.engine.as_str().clone_into(engine);
                let DispatchResult { usage, parts, finish, .. } = result;
                *facts = Facts { usage, parts, finish, ..*facts };
                *stated_at = Some(at);
            }
            (Body::Amend(amend), Some(Known { facts, stated_at, .. }))
                if amend.attempt == 0 && stated_at.is_none_or(|stated| at >= stated) =>
            {
                facts.follow(&amend);
                *stated_at = Some(at);
            }
            _ => {}
        }
        Some(())
    }
}

struct Stored<'a> {
    seq: Seq,
    author: AuthorId,
    event: EventRef<'a>,
}

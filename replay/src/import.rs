//! Recorded traffic becomes events: each turn once, grown figures as amends.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use events::batch::Batch;
use events::entry::Entry;
use events::event::{Body, EventRef};
use events::hash::{Domain, LedgerSecret};
use events::ids::{AuthorId, Millis, Seq, Subject};
use events::kind::KindTable;
use events::log::{AppendError, Log};
use events::payload::{
    Amend, AmendReason, DispatchResult, Ending, Finish, Name, Parts, RawPairs, SourceKey, Stream,
    Turn, TurnClosed,
};
use events::usage::{RawUsage, Usage};
use projections::keyring::Keyring;

use crate::writer::{WriteError, Writer};

/// One turn as a source tells it.
#[derive(Clone, Debug)]
pub struct ImportedTurn<'a> {
    /// The source's kind; with `row`, what makes the turn the same turn next time.
    pub source: &'a str,
    /// The source's own id of the row or message.
    pub row: &'a str,
    /// The row's key in clear, where the source's ids are not personal.
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
    pub raw_usage: &'a RawUsage,
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
            raw_usage: RawPairs::of(self.raw_usage),
            parts: self.parts,
            finish: self.finish,
            latency_ms: self.latency_ms,
        }
    }
}

/// What came of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// It could not be written.
    #[error(transparent)]
    Write(#[from] WriteError<E>),
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

/// Writes a source's turns to a log, each once.
pub struct Importer<'w, 'l, L: Log> {
    writer: &'w mut Writer<'l, L>,
    secret: &'w LedgerSecret,
    keyring: &'w Keyring,
    kinds: KindTable,
    /// Turns of the batch that is not written yet.
    pending: BTreeMap<Subject, Known>,
    pending_since: u64,
}

impl<'w, 'l, L: Log> Importer<'w, 'l, L> {
    /// An importer that writes through `writer` and believes what the keyring's proxies wrote.
    pub fn new(
        writer: &'w mut Writer<'l, L>,
        secret: &'w LedgerSecret,
        keyring: &'w Keyring,
    ) -> Self {
        let pending_since = writer.batches();
        let kinds = KindTable::current();
        Self { writer, secret, keyring, kinds, pending: BTreeMap::new(), pending_since }
    }

    /// Records one row. A turn the ledger holds keeps its first time stamp; of its figures the most
    /// complete counts, whatever order they come in, so that importing again changes nothing.
    ///
    /// # Errors
    /// [`ImportError`].
    pub fn record(&mut self, row: &ImportedTurn<'_>) -> Result<Recorded, ImportError<L::Error>> {
        let turn = row.subject(self.secret);
        let known = match self.pending.get(&turn) {
            Some(known) => Some(*known),
            None => self.known(&turn)?,
        };
        let Some(known) = known else {
            self.writer.reserve(3)?;
            self.writer.push(row.at, turn, &row.turn(self.secret))?;
            self.answer(turn, row, row.at)?;
            return Ok(Recorded::New);
        };
        match known.stated {
            // An import that was cut short left the turn without its result.
            None => {
                self.answer(turn, row, known.at)?;
                Ok(Recorded::Amended)
            }
            Some(stated) if completeness(&row.usage) <= completeness(&stated.usage) => {
                Ok(Recorded::Repeated)
            }
            Some(stated) => {
                // Of amends the highest (`at`, event id) counts: this one has to come later.
                let at = row.answered_at.max(stated.at.saturating_add(1));
                let amend = Amend {
                    attempt: 0,
                    engine: row.model,
                    turn_at: known.at,
                    replaces: stated.usage,
                    usage: row.usage,
                    reason: AmendReason::SourceGrew,
                };
                self.writer.push(at, turn, &amend)?;
                self.remember(turn, known.at, row.usage, at);
                Ok(Recorded::Amended)
            }
        }
    }

    /// Writes what is pending.
    ///
    /// # Errors
    /// [`ImportError`].
    pub fn finish(self) -> Result<(), ImportError<L::Error>> {
        Ok(self.writer.flush()?)
    }

    /// A turn's result, and its end where it was not answered.
    fn answer(
        &mut self,
        turn: Subject,
        row: &ImportedTurn<'_>,
        turn_at: Millis,
    ) -> Result<(), ImportError<L::Error>> {
        let result = DispatchResult { turn_at, ..row.result() };
        self.writer.push(row.answered_at, turn, &result)?;
        if let Some(ending) = row.ending {
            let closed = TurnClosed { ending, attempts: 1, bytes_sent: None };
            self.writer.push(row.answered_at, turn, &closed)?;
        }
        self.remember(turn, turn_at, row.usage, row.answered_at);
        Ok(())
    }

    /// What the log does not hold yet has to be remembered here.
    fn remember(&mut self, turn: Subject, turn_at: Millis, usage: Usage, at: Millis) {
        if self.writer.batches() != self.pending_since {
            self.pending.clear();
            self.pending_since = self.writer.batches();
        }
        self.pending.insert(turn, Known { at: turn_at, stated: Some(Stated { usage, at }) });
    }

    fn known(&self, turn: &Subject) -> Result<Option<Known>, ImportError<L::Error>> {
        let log = self.writer.log();
        let store = |error| ImportError::Write(WriteError::Append(AppendError::Store(error)));
        let mut known: Option<Known> = None;
        let positions = log.positions_about(turn).map_err(store)?;
        let mut rest = positions.as_slice();
        while let [seq, ..] = rest {
            // A turn and its result mostly lie in one batch: it is read once for both.
            let mut taken = 0;
            log.read(*seq, &mut |first, stored| {
                taken = self.learn_all(first, stored, rest, &mut known);
                ControlFlow::Break(())
            })
            .map_err(store)?;
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
        let body = event.event.decode(&self.kinds).ok()?;
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

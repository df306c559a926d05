//! Recorded traffic becomes events: each turn once, grown figures as amends.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use events::batch::Batch;
use events::entry::Entry;
use events::event::{Body, EventRef};
use events::hash::{Domain, LedgerSecret};
use events::ids::{Millis, Subject};
use events::kind::KindTable;
use events::log::Log;
use events::payload::{
    Amend, AmendReason, DispatchResult, Ending, Finish, Name, Parts, RawPairs, SourceKey, Turn,
    TurnClosed,
};
use events::usage::{RawUsage, Usage};

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

/// What a ledger knows of a turn's first attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    at: Millis,
    usage: Usage,
    /// `at` of the event that states the usage.
    stated_at: Millis,
}

/// Writes a source's turns to a log, each once.
pub struct Importer<'w, 'l, L: Log> {
    writer: &'w mut Writer<'l, L>,
    secret: &'w LedgerSecret,
    kinds: KindTable,
    pending: BTreeMap<Subject, Known>,
}

impl<'w, 'l, L: Log> Importer<'w, 'l, L> {
    /// An importer that writes through `writer`.
    pub fn new(writer: &'w mut Writer<'l, L>, secret: &'w LedgerSecret) -> Self {
        Self { writer, secret, kinds: KindTable::current(), pending: BTreeMap::new() }
    }

    /// Records one row. A turn the ledger holds keeps its first time stamp and takes the last usage.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn record(&mut self, row: &ImportedTurn<'_>) -> Result<Recorded, WriteError<L::Error>> {
        let turn = row.subject(self.secret);
        let known = match self.pending.get(&turn) {
            Some(known) => Some(*known),
            None => self.known(&turn)?,
        };
        let recorded = match known {
            None => {
                self.writer.push(row.at, turn, &row.turn(self.secret))?;
                self.writer.push(row.answered_at, turn, &row.result())?;
                if let Some(ending) = row.ending {
                    let closed = TurnClosed { ending, attempts: 1, bytes_sent: None };
                    self.writer.push(row.answered_at, turn, &closed)?;
                }
                self.remember(turn, row.at, row.usage, row.answered_at);
                Recorded::New
            }
            Some(known) if known.usage == row.usage => Recorded::Repeated,
            Some(known) => {
                // Of amends the highest (`at`, event id) counts: this one has to come later.
                let at = row.answered_at.max(known.stated_at + 1);
                let amend = Amend {
                    attempt: 0,
                    engine: row.model,
                    turn_at: known.at,
                    replaces: known.usage,
                    usage: row.usage,
                    reason: AmendReason::SourceGrew,
                };
                self.writer.push(at, turn, &amend)?;
                self.remember(turn, known.at, row.usage, at);
                Recorded::Amended
            }
        };
        Ok(recorded)
    }

    /// What is not in the log yet has to be remembered here.
    fn remember(&mut self, turn: Subject, at: Millis, usage: Usage, stated_at: Millis) {
        if self.writer.is_flushed() {
            self.pending.clear();
        } else {
            self.pending.insert(turn, Known { at, usage, stated_at });
        }
    }

    /// Writes what is pending.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn finish(self) -> Result<(), WriteError<L::Error>> {
        self.writer.flush()
    }

    fn known(&self, turn: &Subject) -> Result<Option<Known>, WriteError<L::Error>> {
        let log = self.writer.log();
        let store = |error| WriteError::Append(events::log::AppendError::Store(error));
        let mut arrived = None;
        let mut stated: Option<(Millis, Usage)> = None;
        for seq in log.positions_about(turn).map_err(store)? {
            log.read(seq, &mut |first, stored| {
                let event = event_at(stored, seq - first);
                match event.map(|event| (event.at, event.decode(&self.kinds))) {
                    Some((at, Ok(Body::Turn(_)))) => arrived = arrived.or(Some(at)),
                    Some((at, Ok(Body::Result(result)))) if result.attempt == 0 => {
                        stated = stated.or(Some((at, result.usage)));
                    }
                    Some((at, Ok(Body::Amend(amend))))
                        if amend.attempt == 0 && stated.is_none_or(|(newest, _)| at >= newest) =>
                    {
                        stated = Some((at, amend.usage));
                    }
                    _ => {}
                }
                ControlFlow::Break(())
            })
            .map_err(store)?;
        }
        Ok(arrived.map(|at| {
            let (stated_at, usage) = stated.unwrap_or((at, Usage::default()));
            Known { at, usage, stated_at }
        }))
    }
}

fn event_at(stored: &[u8], index: u64) -> Option<EventRef<'_>> {
    let (_, _, bytes) = Entry::split(stored)?;
    Batch::parse(bytes).ok()?.events().nth(usize::try_from(index).ok()?)
}

//! Gathers the recorded turns of a window, each once, with what is finally known of it.
//!
//! Events are collected as they come and resolved at the end, so nothing depends on the order they
//! were appended in: of repeated turns or results the lowest (`at`, event id) counts, of amends the
//! highest; everything is booked on the turn's `at`.

mod resolve;

use std::collections::BTreeMap;

use events::event::Body;
use events::hash::draw_u16;
use events::ids::{BatchId, LedgerId, Millis, Seq, Subject};
use events::payload::{Parts, TurnFacts};
use events::usage::{Usage, UsageMarks};
use sha2::{Digest as _, Sha256};

pub use self::resolve::Resolved;
use crate::projection::Located;

/// A token count that may be unknown, in four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity(u32);

impl Quantity {
    const UNKNOWN: u32 = u32::MAX;

    /// The count, if known.
    #[must_use]
    pub const fn get(self) -> Option<u32> {
        if self.0 == Self::UNKNOWN { None } else { Some(self.0) }
    }
}

impl From<Option<u32>> for Quantity {
    fn from(count: Option<u32>) -> Self {
        Self(count.unwrap_or(Self::UNKNOWN))
    }
}

/// One attempt of a turn: 80 bytes, so that a million fit where they must.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// When the turn arrived.
    pub at: Millis,
    /// The turn.
    pub turn: Subject,
    /// Its lane, numbered within the window.
    pub lane: u32,
    /// Its conversation, an index into [`Window::conversations`].
    pub conversation: u32,
    /// The engine that served, an index into [`Window::models`].
    pub engine: u32,
    /// The whole prompt.
    pub prompt: Quantity,
    /// The longest prefix sent before.
    pub prefix: Quantity,
    /// The answer.
    pub output: Quantity,
    /// Of the answer: reasoning, as reported.
    pub reasoning: Quantity,
    /// Of the prompt: read from a cache, as reported.
    pub cache_read: Quantity,
    /// Of the prompt: written for 5 minutes, as reported.
    pub cache_write_5m: Quantity,
    /// Of the prompt: written for 1 hour, as reported.
    pub cache_write_1h: Quantity,
    /// Images.
    pub images: Quantity,
    /// The turn's coin.
    pub turn_coin: u16,
    /// The lane's coin.
    pub session_coin: u16,
    /// Attempts before this one.
    pub attempt: u16,
    /// What is new in the prompt.
    pub news: Parts,
    /// How the usage came to be.
    pub marks: UsageMarks,
    /// True for the attempt that answered: the last one. Only it counts as a turn.
    pub served: bool,
}

const _: () = assert!(size_of::<Call>() == 80);

impl Call {
    /// The usage as reported, amends applied.
    #[must_use]
    pub fn usage(&self) -> Usage {
        Usage {
            prompt: self.prompt.get(),
            cache_read: self.cache_read.get(),
            cache_write_5m: self.cache_write_5m.get(),
            cache_write_1h: self.cache_write_1h.get(),
            output: self.output.get(),
            reasoning: self.reasoning.get(),
            images: self.images.get(),
            marks: self.marks,
        }
    }
}

/// The gathered turns of a window, by lane and time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Attempts, sorted by (lane, `at`, turn, attempt).
    pub calls: Vec<Call>,
    /// A label for each conversation: its part of the source key, else its digest.
    pub conversations: Vec<String>,
    /// Engine names as recorded.
    pub models: Vec<String>,
    /// Turns gathered.
    pub turns: u64,
    /// Turns without any result: their usage is unknown.
    pub unanswered: u64,
    /// Results whose turn is not in the log.
    pub orphans: u64,
    /// Repeated turns and results that did not count.
    pub repeated: u64,
}

/// A conversation and, in it, the main agent or a sub-agent.
pub type LaneKey = (Subject, Option<Subject>);

/// Where an event stands among others about the same thing.
#[derive(Clone, Copy)]
struct Place {
    at: Millis,
    seq: Seq,
}

#[derive(Clone, Copy)]
struct TurnFact {
    turn: Subject,
    place: Place,
    lane: LaneKey,
    model: u32,
    prefix: Quantity,
    news: Parts,
    turn_coin: u16,
    session_coin: u16,
    /// Coins of the source's own, which no better knowledge of the lane changes.
    has_own_coins: bool,
}

#[derive(Clone, Copy)]
struct UsageFact {
    turn: Subject,
    attempt: u16,
    place: Place,
    engine: u32,
    usage: Usage,
}

struct AmendFact {
    result: UsageFact,
    turn_at: Millis,
    turn: Option<TurnFacts>,
}

/// Collects events until [`Gather::resolve`].
pub struct Gather {
    ledger: LedgerId,
    with_coins: bool,
    batches: Vec<(Seq, BatchId)>,
    turns: Vec<TurnFact>,
    results: Vec<UsageFact>,
    amends: Vec<AmendFact>,
    models: BTreeMap<String, u32>,
    labels: BTreeMap<Subject, String>,
}

impl Gather {
    /// A gathering of a ledger's turns. Coins cost a hash each: ask for them when a strategy draws.
    #[must_use]
    pub const fn new(ledger: LedgerId, with_coins: bool) -> Self {
        Self {
            ledger,
            with_coins,
            batches: Vec::new(),
            turns: Vec::new(),
            results: Vec::new(),
            amends: Vec::new(),
            models: BTreeMap::new(),
            labels: BTreeMap::new(),
        }
    }

    /// Takes one event in. Events without effect in the world are not to be shown.
    pub fn tell(&mut self, located: &Located, body: &Body<'_>) {
        let Located { context, batch, index } = located;
        let place = Place { at: context.at, seq: context.seq };
        let turn = context.subject;
        match body {
            Body::Turn(fact) => {
                let lane = (fact.conversation, fact.subagent);
                let key = fact.source_key.map(|key| key.as_str());
                let (turn_coin, session_coin) = self.coins(&turn, &lane, key);
                self.label(fact.conversation, key);
                let model = self.model(fact.model.as_str());
                self.turns.push(TurnFact {
                    turn,
                    place,
                    lane,
                    model,
                    prefix: fact.prefix_tokens.into(),
                    news: fact.news.unwrap_or_default(),
                    turn_coin,
                    session_coin,
                    has_own_coins: key.is_some(),
                });
            }
            Body::Result(fact) => {
                let engine = self.model(fact.engine.as_str());
                let (attempt, usage) = (fact.attempt, fact.usage);
                self.results.push(UsageFact { turn, attempt, place, engine, usage });
            }
            Body::Amend(fact) => {
                let engine = self.model(fact.engine.as_str());
                let (attempt, usage) = (fact.attempt, fact.usage);
                let result = UsageFact { turn, attempt, place, engine, usage };
                self.amends.push(AmendFact { result, turn_at: fact.turn_at, turn: fact.turn });
            }
            _ => return,
        }
        let start = context.seq - u64::from(*index);
        if self.batches.last().is_none_or(|(first, _)| *first != start) {
            self.batches.push((start, *batch));
        }
    }

    fn model(&mut self, name: &str) -> u32 {
        if let Some(index) = self.models.get(name) {
            return *index;
        }
        let index = u32::try_from(self.models.len()).unwrap_or(u32::MAX);
        self.models.insert(name.to_owned(), index);
        index
    }

    fn label(&mut self, conversation: Subject, source_key: Option<&str>) {
        let Some(source_key) = source_key else { return };
        let label = source_key.split('|').next().unwrap_or(source_key);
        match self.labels.get(&conversation) {
            Some(known) if known.as_str() <= label => {}
            _ => {
                self.labels.insert(conversation, label.to_owned());
            }
        }
    }

    /// Coins of a turn and its lane: the first two bytes of SHA-256 over the source key, whole and
    /// without its last part, so that others can draw them too; else a keyed draw.
    fn coins(&self, turn: &Subject, lane: &LaneKey, source_key: Option<&str>) -> (u16, u16) {
        if !self.with_coins {
            return (0, 0);
        }
        match source_key {
            Some(key) => {
                let session = key.rsplit_once('|').map_or(key, |(session, _)| session);
                (sha256_u16(key), sha256_u16(session))
            }
            None => {
                let subagent = lane.1.unwrap_or(Subject::ZERO);
                let lane = [lane.0.0, subagent.0].concat();
                (
                    draw_u16(&self.ledger, turn.as_slice(), "mix:turn"),
                    draw_u16(&self.ledger, &lane, "mix:session"),
                )
            }
        }
    }

    /// Resolves what was gathered: each turn once, with what is finally known of it.
    #[must_use]
    pub fn resolve(self) -> Resolved {
        Resolved::of(self)
    }
}

fn sha256_u16(text: &str) -> u16 {
    let digest = Sha256::digest(text.as_bytes());
    u16::from_be_bytes([digest[0], digest[1]])
}

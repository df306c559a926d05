//! Gathers the recorded turns of a window, each once, with what is finally known of it.
//!
//! Events are collected as they come and resolved at the end, so nothing depends on the order they
//! were appended in: of repeated turns or results the lowest (`at`, event id) counts, of amends the
//! highest; everything is booked on the turn's `at`.

use std::collections::{BTreeMap, BTreeSet};

use events::event::Body;
use events::hash::draw_u16;
use events::ids::{BatchId, EventId, LedgerId, Millis, Seq, Subject};
use events::payload::Parts;
use events::usage::{Usage, UsageMarks};
use sha2::{Digest as _, Sha256};

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

struct TurnFact {
    turn: Subject,
    place: Place,
    lane: LaneKey,
    model: u32,
    prefix: Quantity,
    news: Parts,
    turn_coin: u16,
    session_coin: u16,
}

struct UsageFact {
    turn: Subject,
    attempt: u16,
    place: Place,
    engine: u32,
    usage: Usage,
}

/// Collects events until [`Gather::finish`].
pub struct Gather {
    ledger: LedgerId,
    with_coins: bool,
    batches: Vec<(Seq, BatchId)>,
    turns: Vec<TurnFact>,
    results: Vec<UsageFact>,
    amends: Vec<UsageFact>,
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
                self.amends.push(UsageFact { turn, attempt, place, engine, usage });
            }
            _ => return,
        }
        let start = context.seq - u64::from(*index);
        if self.batches.last().is_none_or(|(first, _)| *first != start) {
            self.batches.push((start, *batch));
        }
    }

    /// The newest arrival among the turns so far.
    #[must_use]
    pub fn newest_arrival(&self) -> Option<Millis> {
        self.turns.iter().map(|fact| fact.place.at).max()
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

    fn event_id(&self, seq: Seq) -> Option<EventId> {
        let index = self.batches.partition_point(|(first, _)| *first <= seq).checked_sub(1)?;
        let (first, batch) = &self.batches[index];
        Some(events::batch::event_id(batch, u32::try_from(seq - first).ok()?))
    }

    /// (`at`, event id); the id is looked up only where two events are at the same instant.
    fn before(&self, left: Place, right: Place) -> std::cmp::Ordering {
        left.at.cmp(&right.at).then_with(|| self.event_id(left.seq).cmp(&self.event_id(right.seq)))
    }

    /// Resolves what was gathered into the turns that arrived in `from..until`.
    #[must_use]
    pub fn finish(mut self, from: Millis, until: Millis) -> Window {
        let mut turns = std::mem::take(&mut self.turns);
        let mut results = std::mem::take(&mut self.results);
        let mut amends = std::mem::take(&mut self.amends);
        let order = |a: &UsageFact, b: &UsageFact| {
            (a.turn, a.attempt)
                .cmp(&(b.turn, b.attempt))
                .then_with(|| self.before(a.place, b.place))
        };
        turns.sort_unstable_by(|a, b| {
            a.turn.cmp(&b.turn).then_with(|| self.before(a.place, b.place))
        });
        results.sort_unstable_by(order);
        amends.sort_unstable_by(|a, b| order(b, a));
        let found = (turns.len() + results.len()) as u64;
        turns.dedup_by_key(|fact| fact.turn);
        results.dedup_by_key(|fact| (fact.turn, fact.attempt));
        // Sorted backwards: the first left of each key is the highest.
        amends.dedup_by_key(|fact| (fact.turn, fact.attempt));
        let mut window =
            Window { repeated: found - (turns.len() + results.len()) as u64, ..Window::default() };
        let amended = amends.into_iter().map(|fact| ((fact.turn, fact.attempt), fact)).collect();
        self.join(&turns, &results, &amended, from, until, &mut window);
        window
    }

    fn join(
        &self,
        turns: &[TurnFact],
        results: &[UsageFact],
        amended: &BTreeMap<(Subject, u16), UsageFact>,
        from: Millis,
        until: Millis,
        window: &mut Window,
    ) {
        let names = Names::of(self, turns);
        let mut rest = results;
        for turn in turns {
            let orphans = rest.partition_point(|fact| fact.turn < turn.turn);
            let (before, from_here) = rest.split_at(orphans);
            let (mine, after) =
                from_here.split_at(from_here.partition_point(|fact| fact.turn == turn.turn));
            window.orphans += before.len() as u64;
            rest = after;
            if !(from..until).contains(&turn.place.at) {
                continue;
            }
            window.turns += 1;
            let unknown = UsageFact {
                turn: turn.turn,
                attempt: 0,
                place: turn.place,
                engine: turn.model,
                usage: Usage::default(),
            };
            window.unanswered += u64::from(mine.is_empty());
            let attempts = if mine.is_empty() { std::slice::from_ref(&unknown) } else { mine };
            for (index, fact) in attempts.iter().enumerate() {
                let usage = amended.get(&(fact.turn, fact.attempt)).unwrap_or(fact).usage;
                let served = index + 1 == attempts.len();
                window.calls.push(names.call(turn, fact, &usage, served));
            }
        }
        window.orphans += rest.len() as u64;
        window.calls.sort_unstable_by_key(|call| (call.lane, call.at, call.turn, call.attempt));
        names.into_window(window);
    }
}

/// Ordinals by sorted name: they do not depend on the order of arrival.
struct Names {
    lanes: BTreeMap<LaneKey, u32>,
    conversations: BTreeMap<Subject, (u32, String)>,
    models: Vec<u32>,
    model_names: Vec<String>,
}

impl Names {
    fn of(gather: &Gather, turns: &[TurnFact]) -> Self {
        let mut lanes: BTreeMap<LaneKey, u32> = turns.iter().map(|fact| (fact.lane, 0)).collect();
        let mut conversations: BTreeMap<Subject, (u32, String)> = BTreeMap::new();
        for (((conversation, _), ordinal), number) in lanes.iter_mut().zip(0..) {
            *ordinal = number;
            conversations.entry(*conversation).or_default();
        }
        // Two sources may give two conversations one label.
        let mut seen = BTreeSet::new();
        let shared: BTreeSet<&String> =
            gather.labels.values().filter(|label| !seen.insert(*label)).collect();
        for ((key, (ordinal, label)), number) in conversations.iter_mut().zip(0..) {
            *ordinal = number;
            *label = match gather.labels.get(key) {
                Some(label) if shared.contains(label) => {
                    format!("{label} ({})", &key.to_string()[..8])
                }
                Some(label) => label.clone(),
                None => key.to_string(),
            };
        }
        let mut models = vec![0; gather.models.len()];
        for ((_, arrival), ordinal) in gather.models.iter().zip(0..) {
            models[*arrival as usize] = ordinal;
        }
        Self { lanes, conversations, models, model_names: gather.models.keys().cloned().collect() }
    }

    fn call(&self, turn: &TurnFact, fact: &UsageFact, usage: &Usage, served: bool) -> Call {
        Call {
            at: turn.place.at,
            turn: turn.turn,
            lane: self.lanes.get(&turn.lane).copied().unwrap_or(u32::MAX),
            conversation: self.conversations.get(&turn.lane.0).map_or(u32::MAX, |slot| slot.0),
            engine: self.models[fact.engine as usize],
            prompt: usage.prompt.into(),
            prefix: turn.prefix,
            output: usage.output.into(),
            reasoning: usage.reasoning.into(),
            cache_read: usage.cache_read.into(),
            cache_write_5m: usage.cache_write_5m.into(),
            cache_write_1h: usage.cache_write_1h.into(),
            images: usage.images.into(),
            turn_coin: turn.turn_coin,
            session_coin: turn.session_coin,
            attempt: fact.attempt,
            news: turn.news,
            marks: usage.marks,
            served,
        }
    }

    fn into_window(self, window: &mut Window) {
        window.conversations = self.conversations.into_values().map(|(_, label)| label).collect();
        window.models = self.model_names;
    }
}

fn sha256_u16(text: &str) -> u16 {
    let digest = Sha256::digest(text.as_bytes());
    u16::from_be_bytes([digest[0], digest[1]])
}

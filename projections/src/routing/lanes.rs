//! What is warm where: the prompt caches of each lane.

use std::collections::BTreeMap;

use events::ids::Millis;
use events::payload::{CacheTtl, TurnTier};
use events::usage::Usage;
use serde::{Deserialize, Serialize};

use super::flights::{Arrival, LaneKey};
use super::habits::{Habit, PAIRS_MIN, Pauses, ttl_ms};
use super::hold::Hold;
use crate::calendar::Span;
use crate::table::Table;

/// Prompts up to this long say nothing of a cache: providers do not keep them.
const SHORT_PROMPT: u32 = 1_000;
/// Engines whose caches a lane remembers.
const CACHES_MAX: usize = 8;
/// Lanes that are remembered.
const LANES_MAX: usize = 8_192;
/// Clients whose pauses are told apart.
const CLIENTS_MAX: usize = 64;

/// What one engine holds of a lane's prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warm {
    /// The engine, by its canonical name.
    pub engine: String,
    /// When it was last used.
    pub used_at: Millis,
    /// How long the prompt was then: what it holds at most.
    pub prompt: u32,
    /// How long it is kept after its last use.
    pub ttl: CacheTtl,
    /// True when the provider does not say what it holds.
    pub estimated: bool,
}

impl Warm {
    /// True while it is kept; the last instant is part of it.
    #[must_use]
    pub const fn is_alive(&self, now: Millis) -> bool {
        now.saturating_sub(self.used_at) <= ttl_ms(self.ttl)
    }
}

/// A main agent's or sub-agent's part of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// When its last turn arrived.
    pub at: Millis,
    /// The engine that served it, by its canonical name.
    pub engine: String,
    /// How long its prompt was, where known.
    pub prompt: Option<u32>,
    /// The tier it is held at.
    pub hold: Hold,
    /// A harder tier its last turn asked for, and was not served at because nobody had asked twice.
    pub deferred: Option<TurnTier>,
    /// What engines hold of it, the last used last.
    pub caches: Vec<Warm>,
}

impl Lane {
    /// What an engine holds from now on; nothing where it keeps nothing.
    fn remember(&mut self, engine: &str, warm: Option<Warm>) {
        self.caches.retain(|before| before.engine != engine);
        self.caches.extend(warm);
        if self.caches.len() > CACHES_MAX {
            self.caches.remove(0);
        }
    }

    /// What an engine holds, dead or alive.
    #[must_use]
    pub fn cache(&self, engine: &str) -> Option<&Warm> {
        self.caches.iter().find(|warm| warm.engine == engine)
    }
}

/// The tier a turn was served at, where it was decided here.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ServedAt {
    pub(super) tier: Option<TurnTier>,
    /// The harder one it asked for.
    pub(super) deferred: Option<TurnTier>,
}

/// What is warm where.
#[derive(Clone, Debug, PartialEq)]
pub struct Lanes {
    lanes: Table<LaneKey, Lane>,
    habits: Table<String, Habit>,
    /// By client, without its version: its main agents' pauses, and its sub-agents'.
    pauses: Table<String, [Pauses; 2]>,
}

/// The tables as a snapshot has them.
pub(super) type State =
    (BTreeMap<LaneKey, Lane>, BTreeMap<String, Habit>, BTreeMap<String, [Pauses; 2]>);

impl Lanes {
    pub(super) const fn new() -> Self {
        Self {
            lanes: Table::new("lanes"),
            habits: Table::new("lanes.habits"),
            pauses: Table::new("lanes.pauses"),
        }
    }

    pub(super) fn of((lanes, habits, pauses): State) -> Self {
        Self {
            lanes: Table::of("lanes", lanes),
            habits: Table::of("lanes.habits", habits),
            pauses: Table::of("lanes.pauses", pauses),
        }
    }

    #[expect(clippy::type_complexity, reason = "the tables, as they are")]
    pub(super) const fn tables(
        &self,
    ) -> (&Table<LaneKey, Lane>, &Table<String, Habit>, &Table<String, [Pauses; 2]>) {
        (&self.lanes, &self.habits, &self.pauses)
    }

    pub(super) fn settle(&mut self) {
        self.lanes.settle();
        self.habits.settle();
        self.pauses.settle();
    }

    /// A lane.
    #[must_use]
    pub fn get(&self, lane: &LaneKey) -> Option<&Lane> {
        self.lanes.get(lane)
    }

    /// How an engine's cache has behaved, by its canonical name.
    #[must_use]
    pub fn habit(&self, engine: &str) -> Habit {
        self.habits.get(engine).copied().unwrap_or_default()
    }

    /// How long a client pauses.
    #[must_use]
    pub fn pauses(&self, client: &str, is_subagent: bool) -> Pauses {
        let both = self.pauses.get(without_version(client)).copied().unwrap_or_default();
        both[usize::from(is_subagent)]
    }

    /// A turn was served: what it says of its engine's cache, and what is warm now.
    pub(super) fn serve(
        &mut self,
        arrival: &Arrival,
        engine: &str,
        usage: &Usage,
        served: ServedAt,
    ) {
        let ServedAt { tier, deferred } = served;
        let Some(lane) = self.lanes.get(&arrival.lane) else {
            let mut lane = Lane {
                at: arrival.at,
                engine: engine.to_owned(),
                prompt: usage.prompt,
                hold: Hold::default(),
                deferred,
                caches: Vec::new(),
            };
            lane.hold.served(tier, false);
            lane.caches.extend(self.warm(engine, arrival.at, usage, None));
            self.make_room();
            return self.lanes.insert(arrival.lane, lane);
        };
        let (before, pause) = (lane.cache(engine), arrival.at.saturating_sub(lane.at));
        let held = before
            .filter(|warm| lane.engine == engine && warm.is_alive(arrival.at))
            .map(|warm| warm.prompt);
        let ttl = before.map(|warm| warm.ttl);
        self.pause(arrival, pause);
        self.learn(engine, usage, held, arrival.prefix_tokens);
        let warm = self.warm(engine, arrival.at, usage, ttl);
        let Some(lane) = self.lanes.get_mut(&arrival.lane) else { return };
        lane.at = lane.at.max(arrival.at);
        lane.prompt = usage.prompt;
        lane.hold.served(tier, false);
        lane.deferred = deferred;
        if lane.engine != engine {
            engine.clone_into(&mut lane.engine);
        }
        lane.remember(engine, warm);
    }

    fn pause(&mut self, arrival: &Arrival, pause: Millis) {
        let client = without_version(&arrival.client);
        let is_subagent = usize::from(arrival.lane.1.is_some());
        if self.pauses.get(client).is_some() || self.pauses.len() < CLIENTS_MAX {
            self.pauses.change(client, Default::default, |both| both[is_subagent].count(pause));
        }
    }

    fn learn(&mut self, engine: &str, usage: &Usage, held: Option<u32>, prefix: Option<u32>) {
        let (Some(prompt), Some(read)) = (usage.prompt, usage.cache_read) else { return };
        let rest = prompt - read.min(prompt);
        let written =
            usage.cache_write_5m.zip(usage.cache_write_1h).map(|(five, hour)| five + hour);
        let could = held.filter(|held| *held > SHORT_PROMPT && prompt > SHORT_PROMPT);
        let could = could.map(|held| held.min(prompt).min(prefix.unwrap_or(prompt)));
        let could = could.filter(|could| *could > 0);
        if could.is_none() && (rest == 0 || written.is_none()) {
            return;
        }
        self.habits.change(engine, Habit::default, |habit| {
            if let Some(could) = could {
                habit.count_read(read, could);
            }
            if let Some(written) = written.filter(|_| rest > 0) {
                habit.count_written(written, rest);
            }
        });
    }

    /// What an engine holds once it has served a turn. Nothing where it says that it neither read nor wrote: that is a
    /// request without a cache, unless the engine is known to keep prompts without a word about it.
    fn warm(
        &self,
        engine: &str,
        at: Millis,
        usage: &Usage,
        before: Option<CacheTtl>,
    ) -> Option<Warm> {
        let prompt = usage.prompt?;
        let told = |part: Option<u32>| part.unwrap_or(0) > 0;
        let (read, five, hour) =
            (told(usage.cache_read), told(usage.cache_write_5m), told(usage.cache_write_1h));
        let estimated = usage.cache_read.is_none();
        let is_kept = read || five || hour || estimated || self.habit(engine).pairs >= PAIRS_MIN;
        let ttl = match (hour, five) {
            (true, _) => CacheTtl::OneHour,
            (_, true) => CacheTtl::FiveMinutes,
            // What was only read goes on as it was.
            _ => before.filter(|_| read).unwrap_or(CacheTtl::FiveMinutes),
        };
        let engine = engine.to_owned();
        is_kept.then_some(Warm { engine, used_at: at, prompt, ttl, estimated })
    }

    /// Forgets lanes whose last turn did not arrive within an interval.
    pub(super) fn forget_outside(&mut self, span: Span) {
        self.lanes.retain(|_, lane| span.holds(lane.at));
    }

    /// Years of history may be imported in a minute: of too many lanes the half that was used last is kept.
    fn make_room(&mut self) {
        if self.lanes.len() < LANES_MAX {
            return;
        }
        let mut last_used: Vec<Millis> = self.lanes.iter().map(|(_, lane)| lane.at).collect();
        last_used.sort_unstable();
        let middle = last_used[last_used.len() / 2];
        self.lanes.retain(|_, lane| lane.at > middle);
    }
}

/// `claude-code/2.1.45` without its version.
fn without_version(client: &str) -> &str {
    client.split_once('/').map_or(client, |(name, _)| name)
}

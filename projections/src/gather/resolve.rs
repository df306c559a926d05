//! From gathered events to turns: nothing depends on the order they came in.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use events::ids::{EventId, Millis, Seq, Subject};
use events::usage::Usage;

use super::{AmendFact, Call, Gather, LaneKey, Place, TurnFact, UsageFact, Window};

/// Names an attempt.
type Attempt = (Subject, u16);

/// The turns of a ledger, each once, with what is finally known of them.
pub struct Resolved {
    gather: Gather,
    turns: Vec<TurnFact>,
    results: Vec<UsageFact>,
    amended: BTreeMap<Attempt, Usage>,
    repeated: u64,
}

impl Gather {
    fn event_id(&self, seq: Seq) -> Option<EventId> {
        let index = self.batches.partition_point(|(first, _)| *first <= seq).checked_sub(1)?;
        let (first, batch) = &self.batches[index];
        Some(events::batch::event_id(batch, u32::try_from(seq - first).ok()?))
    }

    /// (`at`, event id); the id is looked up only where two events are at the same instant.
    fn before(&self, left: Place, right: Place) -> Ordering {
        left.at.cmp(&right.at).then_with(|| self.event_id(left.seq).cmp(&self.event_id(right.seq)))
    }

    /// By attempt, then as they were said.
    fn by_attempt(&self, a: &UsageFact, b: &UsageFact) -> Ordering {
        (a.turn, a.attempt).cmp(&(b.turn, b.attempt)).then_with(|| self.before(a.place, b.place))
    }

    /// The turn as an amend has it.
    fn amended(&self, turn: &TurnFact, amend: &AmendFact) -> TurnFact {
        let Some(facts) = amend.turn else { return *turn };
        let lane = (facts.conversation, facts.subagent);
        let session_coin = if turn.has_own_coins || lane == turn.lane {
            turn.session_coin
        } else {
            self.coins(&turn.turn, &lane, None).1
        };
        TurnFact {
            place: Place { at: amend.turn_at, ..turn.place },
            lane,
            prefix: facts.prefix_tokens.into(),
            news: facts.news.unwrap_or_default(),
            session_coin,
            ..*turn
        }
    }
}

impl Resolved {
    pub(super) fn of(mut gather: Gather) -> Self {
        let mut turns = std::mem::take(&mut gather.turns);
        let mut results = std::mem::take(&mut gather.results);
        let mut amends = std::mem::take(&mut gather.amends);
        turns.sort_unstable_by(|a, b| {
            a.turn.cmp(&b.turn).then_with(|| gather.before(a.place, b.place))
        });
        results.sort_unstable_by(|a, b| gather.by_attempt(a, b));
        // Of amends the highest counts: sorted backwards, it is the first of its attempt.
        amends.sort_unstable_by(|a, b| gather.by_attempt(&b.result, &a.result));
        let found = (turns.len() + results.len()) as u64;
        turns.dedup_by_key(|fact| fact.turn);
        results.dedup_by_key(|fact| (fact.turn, fact.attempt));
        let repeated = found - (turns.len() + results.len()) as u64;
        let mut amended = BTreeMap::new();
        let mut retold: BTreeMap<Subject, &AmendFact> = BTreeMap::new();
        for amend in &amends {
            let UsageFact { turn, attempt, usage, .. } = amend.result;
            amended.entry((turn, attempt)).or_insert(usage);
            if attempt == 0 && amend.turn.is_some() {
                retold.entry(turn).or_insert(amend);
            }
        }
        for turn in &mut turns {
            if let Some(amend) = retold.get(&turn.turn) {
                *turn = gather.amended(turn, amend);
            }
        }
        Self { gather, turns, results, amended, repeated }
    }

    /// The newest arrival.
    #[must_use]
    pub fn newest_arrival(&self) -> Option<Millis> {
        self.turns.iter().map(|fact| fact.place.at).max()
    }

    /// The turns that arrived in `from..until`.
    #[must_use]
    pub fn window(self, from: Millis, until: Millis) -> Window {
        let mut window = Window { repeated: self.repeated, ..Window::default() };
        let names = Names::of(&self.gather, &self.turns);
        let mut rest = self.results.as_slice();
        for turn in &self.turns {
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
            window.unanswered += u64::from(mine.is_empty());
            let unanswered = [unanswered(turn)];
            let attempts = if mine.is_empty() { &unanswered } else { mine };
            for (index, fact) in attempts.iter().enumerate() {
                let usage = self.amended.get(&(fact.turn, fact.attempt)).unwrap_or(&fact.usage);
                let served = index + 1 == attempts.len();
                window.calls.push(names.call(turn, fact, usage, served));
            }
        }
        window.orphans += rest.len() as u64;
        window.calls.sort_unstable_by_key(|call| (call.lane, call.at, call.turn, call.attempt));
        names.into_window(&mut window);
        window
    }
}

/// What stands for the result of a turn that has none.
fn unanswered(turn: &TurnFact) -> UsageFact {
    UsageFact {
        turn: turn.turn,
        attempt: 0,
        place: turn.place,
        engine: turn.model,
        usage: Usage::default(),
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

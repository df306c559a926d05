//! The activity of each UTC day, per model: what reports and limits are read from.
//!
//! Every event is counted as it comes, on the day its turn arrived. The owner keeps repeated turns
//! out of its log; where other authors repeat one, [`crate::gather`] tells which counts.

use std::collections::BTreeMap;

use events::event::Body;
use events::ids::{Digest, Millis};
use events::payload::Amend;
use events::usage::Usage;
use serde::{Deserialize, Serialize};

use crate::projection::{Context, Order, Projection, SnapshotError, restored, snapshot_of};
use crate::table::Table;

const MILLIS_PER_DAY: u64 = 86_400_000;

/// Most models a day tells apart: names are a client's own text, and the world has to stay small.
pub const MODELS_PER_DAY_MAX: usize = 256;
/// What further models of a day are counted under.
pub const OTHER_MODELS: &str = "(other models)";

/// Days since 1970-01-01, UTC.
#[must_use]
pub fn day_of(at: Millis) -> u32 {
    u32::try_from(at / MILLIS_PER_DAY).unwrap_or(u32::MAX)
}

/// A sum some of whose terms may be unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Sum of the known terms.
    pub known: i64,
    /// Number of unknown terms.
    pub unknown: i64,
}

impl Tally {
    fn count(&mut self, term: Option<u32>, times: i64) {
        match term {
            Some(term) => self.known = self.known.saturating_add(i64::from(term) * times),
            None => self.unknown = self.unknown.saturating_add(times),
        }
    }
}

/// One model's day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelDay {
    /// Turns that asked for the model.
    pub turns: i64,
    /// Results the model served.
    pub results: i64,
    /// Prompt tokens of its results.
    pub prompt: Tally,
    /// Tokens read from a cache, as reported.
    pub cache_read: Tally,
    /// Answer tokens of its results.
    pub output: Tally,
}

impl Tally {
    const fn join(&mut self, other: &Self) {
        self.known = self.known.saturating_add(other.known);
        self.unknown = self.unknown.saturating_add(other.unknown);
    }
}

impl ModelDay {
    const fn join(&mut self, other: &Self) {
        self.turns += other.turns;
        self.results += other.results;
        self.prompt.join(&other.prompt);
        self.cache_read.join(&other.cache_read);
        self.output.join(&other.output);
    }

    fn count(&mut self, usage: &Usage, times: i64) {
        self.prompt.count(usage.prompt, times);
        self.cache_read.count(usage.cache_read, times);
        self.output.count(usage.output, times);
    }
}

/// Whether a day tells a model apart: the first names do, in whatever order they come. A name that is not among them
/// any more joins the others.
fn has_room(models: &mut BTreeMap<String, ModelDay>, model: &str) -> bool {
    let told_apart = models.len() - usize::from(models.contains_key(OTHER_MODELS));
    if models.contains_key(model) || told_apart < MODELS_PER_DAY_MAX {
        return true;
    }
    let last = models.keys().rev().find(|name| *name != OTHER_MODELS).cloned();
    let Some(last) = last.filter(|last| model < last.as_str()) else { return false };
    let day = models.remove(&last).unwrap_or_default();
    models.entry(OTHER_MODELS.to_owned()).or_default().join(&day);
    true
}

/// Activity per day and model.
#[derive(Clone, Debug, PartialEq)]
pub struct Days {
    days: Table<u32, BTreeMap<String, ModelDay>>,
}

impl Days {
    /// The days, oldest first, each with its models.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &BTreeMap<String, ModelDay>)> {
        self.days.iter().map(|(day, models)| (*day, models))
    }

    fn change(&mut self, at: Millis, model: &str, change: impl FnOnce(&mut ModelDay)) {
        let day = day_of(at);
        let models = self.days.entry(day, BTreeMap::new);
        let name = if has_room(models, model) { model } else { OTHER_MODELS };
        let entry = models.entry(name.to_owned()).or_default();
        change(entry);
        // What was moved to another day leaves nothing behind.
        if *entry == ModelDay::default() {
            models.remove(name);
            if models.is_empty() {
                self.days.remove(&day);
            }
        }
    }
}

impl Days {
    /// Moves what was counted to what is known now, and to the day it belongs to.
    fn amend(&mut self, amend: &Amend<'_>) {
        let model = amend.engine.as_str();
        let was_at = amend.turn.map_or(amend.turn_at, |turn| turn.was_at);
        let mut count = |at, usage: &Usage, times: i64| {
            self.change(at, model, |day| {
                day.count(usage, times);
                if day_of(was_at) != day_of(amend.turn_at) {
                    day.turns += times;
                    day.results += times;
                }
            });
        };
        count(was_at, &amend.replaces, -1);
        count(amend.turn_at, &amend.usage, 1);
    }
}

impl Projection for Days {
    const NAME: &'static str = "days";
    const VERSION: u32 = 2;
    const ORDER: Order = Order::Free;

    fn genesis() -> Self {
        Self { days: Table::new(Self::NAME) }
    }

    fn apply(&mut self, context: &Context, body: &Body<'_>) {
        match body {
            Body::Turn(turn) => self.change(context.at, turn.model.as_str(), |day| day.turns += 1),
            Body::Result(result) => {
                self.change(result.turn_at, result.engine.as_str(), |day| {
                    day.results += 1;
                    day.count(&result.usage, 1);
                });
            }
            Body::Amend(amend) => self.amend(amend),
            _ => {}
        }
    }

    fn settle(&mut self) {
        self.days.settle();
    }

    fn digest(&self) -> Digest {
        self.days.digest()
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot_of::<Self>(&self.days)
    }

    fn restore(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let days: BTreeMap<_, _> = restored::<Self, _>(bytes)?;
        Ok(Self { days: Table::of(Self::NAME, days) })
    }
}

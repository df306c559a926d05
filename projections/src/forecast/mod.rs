//! What a turn is expected to cost on an engine, cold and warm, and with the turns that are to follow it.
//!
//! Everything is one cost function ([`crate::cost`]) on foreseen quantities: a write takes the place of an input token,
//! as it does on the bill, and both sides of a comparison pay for what is new in the prompt and for the answer.

use events::cost::Cost;
use events::ids::Millis;
use events::payload::CacheTtl;
use serde::Serialize;

use crate::cost::{PartKind, Quantities, Tariff};
use crate::policy::Permille;
use crate::routing::habits::{Pauses, Share};
use crate::tariffs::Tariffs;

/// A turn, as far as it can be foreseen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreseen {
    /// When it is.
    pub at: Millis,
    /// Its prompt, in tokens.
    pub prompt: u32,
    /// Its prompt is no longer than this.
    pub prompt_max: u32,
    /// Images in it.
    pub images: u32,
    /// Its answer, in tokens, reasoning included.
    pub output: u32,
    /// Of the answer: reasoning.
    pub reasoning: u32,
    /// Its answer is no longer than this.
    pub output_max: u32,
}

/// What an engine's cache holds for a turn, and how it behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Tokens of the prompt it could hold.
    pub tokens: u32,
    /// How much of what could be read is read.
    pub reliability: Share,
    /// How much of what is not read is written.
    pub written: Share,
}

/// The turns that are to follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// How many, this one included.
    pub turns: u32,
    /// By how many tokens the prompt grows each time.
    pub grows_by: u32,
    /// How long there is between them.
    pub pauses: Pauses,
    /// How long cache writes are to be kept; `None`: whichever pays.
    pub ttl: Option<CacheTtl>,
}

/// What a turn comes to on an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Weighed {
    /// Tokens expected to be read from its cache.
    pub read: u32,
    /// How long what is written is to be kept: which pays, over the horizon.
    pub ttl: CacheTtl,
    /// This turn.
    pub expected: Cost,
    /// This turn, with nothing warm: the dearer of no cache and of writing all of it.
    pub cold: Cost,
    /// More than this turn can come to.
    pub ceiling: Cost,
    /// This turn and those to follow.
    pub horizon: Cost,
}

impl Weighed {
    /// Of an engine whose price nobody knows.
    pub const UNPRICED: Self = Self {
        read: 0,
        ttl: CacheTtl::FiveMinutes,
        expected: Cost::UNKNOWN,
        cold: Cost::UNKNOWN,
        ceiling: Cost::UNKNOWN,
        horizon: Cost::UNKNOWN,
    };
}

/// Weighs an engine for a turn.
#[must_use]
pub fn weigh(tariffs: &Tariffs, turn: &Foreseen, held: Held, horizon: &Horizon) -> Weighed {
    let tariff = tariffs.at(turn.at, Some(turn.prompt));
    let read = held.reliability.times(held.tokens.min(turn.prompt));
    let next = Foreseen { prompt: turn.prompt.saturating_add(horizon.grows_by), ..*turn };
    let next_tariff = tariffs.at(turn.at, Some(next.prompt));
    let over = |ttl: CacheTtl| {
        let expected = tariff.cost(&split(turn, read, held.written, ttl, &tariff));
        let alive = horizon.pauses.alive(ttl).unwrap_or(Share::ALL);
        let read = alive.times(held.reliability.times(turn.prompt));
        let follows = next_tariff.cost(&split(&next, read, held.written, ttl, &next_tariff));
        (ttl, expected, expected + times(follows, horizon.turns.saturating_sub(1)))
    };
    let has_one_hour = tariff.states(PartKind::CacheWrite1h);
    let five_minutes = || over(CacheTtl::FiveMinutes);
    let (ttl, expected, whole) = match horizon.ttl {
        Some(CacheTtl::OneHour) if has_one_hour => over(CacheTtl::OneHour),
        None if has_one_hour && horizon.turns > 1 => {
            let (short, long) = (five_minutes(), over(CacheTtl::OneHour));
            if long.2.known < short.2.known { long } else { short }
        }
        _ => five_minutes(),
    };
    Weighed {
        read,
        ttl,
        expected,
        // Some lists have cache reads dearer than input: even then nothing expected is dearer than cold.
        cold: dearer(cold(&tariff, turn, ttl), expected),
        ceiling: ceiling(tariffs, turn),
        horizon: whole,
    }
}

/// The quantities of a turn that reads so much and writes a share of the rest. Where no write rate is stated nothing is
/// written: such a cache fills by itself.
fn split(turn: &Foreseen, read: u32, written: Share, ttl: CacheTtl, tariff: &Tariff) -> Quantities {
    let read = read.min(turn.prompt);
    let rest = turn.prompt - read;
    let write = match ttl {
        CacheTtl::FiveMinutes => PartKind::CacheWrite5m,
        CacheTtl::OneHour => PartKind::CacheWrite1h,
    };
    let written = if tariff.states(write) { written.times(rest) } else { 0 };
    quantities(turn, read, written, ttl)
}

/// The quantities of a turn whose prompt is read and written to this extent.
fn quantities(turn: &Foreseen, read: u32, written: u32, ttl: CacheTtl) -> Quantities {
    let reasoning = turn.reasoning.min(turn.output);
    let (five_minutes, one_hour) = match ttl {
        CacheTtl::FiveMinutes => (written, 0),
        CacheTtl::OneHour => (0, written),
    };
    Quantities {
        uncached: Some(turn.prompt - read - written),
        cache_read: Some(read),
        cache_write_5m: Some(five_minutes),
        cache_write_1h: Some(one_hour),
        output: Some(turn.output - reasoning),
        reasoning: Some(reasoning),
        images: Some(turn.images),
        requests: 1,
    }
}

/// Nothing warm: the dearer of no cache and of writing all of it, since some write rates are below the input rate.
fn cold(tariff: &Tariff, turn: &Foreseen, ttl: CacheTtl) -> Cost {
    let uncached = tariff.cost(&quantities(turn, 0, 0, ttl));
    let written = tariff.cost(&split(turn, 0, Share::ALL, ttl, tariff));
    dearer(uncached, written)
}

/// More than a turn can come to: the longest prompt and answer, each at the dearest rate that may apply to any of it,
/// in the dearest of the tiers it may fall into.
fn ceiling(tariffs: &Tariffs, turn: &Foreseen) -> Cost {
    let mut ceiling = Cost::ZERO;
    tariffs.each_up_to(turn.at, turn.prompt_max, &mut |longest, tariff| {
        let most = tariff.at_most(longest, turn.output_max, turn.images);
        ceiling = dearer(ceiling, most);
    });
    ceiling
}

fn dearer(a: Cost, b: Cost) -> Cost {
    Cost { known: a.known.max(b.known), incomplete: a.incomplete || b.incomplete }
}

fn times(cost: Cost, turns: u32) -> Cost {
    Cost { known: cost.known.times(turns), ..cost }
}

/// Whether going elsewhere pays: staying costs more than the margin times as much over the horizon. `None` where one
/// of them is not known.
#[must_use]
pub fn switch_pays(stay: Cost, switch: Cost, margin: Permille) -> Option<bool> {
    let (stay, switch) = (stay.amount()?, switch.amount()?);
    Some(stay.0.saturating_mul(1_000) > switch.0.saturating_mul(margin.0.into()))
}

#[cfg(test)]
mod tests;

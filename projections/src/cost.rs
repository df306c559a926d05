//! The one cost function: quantities times rates. Forecast, switch, budget, bill and replay all ask it.

use events::cost::Cost;
use events::ids::Millis;
use events::money::Pico;
use events::payload::{Rates, Window};
use events::rate::Rate;
use events::usage::Usage;

use crate::book::EnginePrice;

const MILLIS_PER_MINUTE: u64 = 60_000;
const MINUTES_PER_DAY: u64 = 24 * 60;

/// What is priced apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PartKind {
    /// Prompt tokens outside any cache.
    Uncached,
    /// Prompt tokens read from a cache.
    CacheRead,
    /// Prompt tokens written to a cache for 5 minutes.
    CacheWrite5m,
    /// Prompt tokens written to a cache for 1 hour.
    CacheWrite1h,
    /// Answer tokens, reasoning aside.
    Output,
    /// Reasoning tokens.
    Reasoning,
    /// Images.
    Images,
    /// The request itself.
    Request,
}

impl PartKind {
    /// Every kind, in the order of a bill.
    pub const ALL: [Self; 8] = [
        Self::Uncached,
        Self::CacheRead,
        Self::CacheWrite5m,
        Self::CacheWrite1h,
        Self::Output,
        Self::Reasoning,
        Self::Images,
        Self::Request,
    ];

    /// The words used in reports and JSON.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Uncached => "input",
            Self::CacheRead => "cache reads",
            Self::CacheWrite5m => "5-minute cache writes",
            Self::CacheWrite1h => "1-hour cache writes",
            Self::Output => "output",
            Self::Reasoning => "reasoning",
            Self::Images => "images",
            Self::Request => "requests",
        }
    }
}

/// What is to be paid for, per part. `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quantities {
    /// Prompt tokens outside any cache.
    pub uncached: Option<u32>,
    /// Prompt tokens read from a cache.
    pub cache_read: Option<u32>,
    /// Prompt tokens written to a cache for 5 minutes.
    pub cache_write_5m: Option<u32>,
    /// Prompt tokens written to a cache for 1 hour.
    pub cache_write_1h: Option<u32>,
    /// Answer tokens, reasoning aside.
    pub output: Option<u32>,
    /// Reasoning tokens.
    pub reasoning: Option<u32>,
    /// Images.
    pub images: Option<u32>,
    /// Requests.
    pub requests: u32,
}

impl Quantities {
    /// The quantities of one request as its provider reported them. Where the provider does not say
    /// how the prompt splits, all of it counts as uncached.
    #[must_use]
    pub fn reported(usage: &Usage) -> Self {
        let read = usage.cache_read.unwrap_or(0);
        let five_minutes = usage.cache_write_5m.unwrap_or(0);
        let one_hour = usage.cache_write_1h.unwrap_or(0);
        let reasoning = usage.reasoning.unwrap_or(0);
        let cached = read.saturating_add(five_minutes).saturating_add(one_hour);
        Self {
            uncached: usage.prompt.map(|prompt| prompt.saturating_sub(cached)),
            cache_read: Some(read),
            cache_write_5m: Some(five_minutes),
            cache_write_1h: Some(one_hour),
            output: usage.output.map(|output| output.saturating_sub(reasoning)),
            reasoning: usage.reasoning,
            images: usage.images,
            requests: 1,
        }
    }

    /// The whole prompt: what chooses the tier. `None` when a part of it is unknown.
    #[must_use]
    pub fn prompt(&self) -> Option<u32> {
        [self.uncached, self.cache_read, self.cache_write_5m, self.cache_write_1h]
            .into_iter()
            .try_fold(0_u32, |sum, part| Some(sum.saturating_add(part?)))
    }

    /// The quantities in the order of [`PartKind::ALL`].
    const fn list(&self) -> [Option<u32>; 8] {
        [
            self.uncached,
            self.cache_read,
            self.cache_write_5m,
            self.cache_write_1h,
            self.output,
            self.reasoning,
            self.images,
            Some(self.requests),
        ]
    }
}

/// Where a part's rate comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The engine states it.
    Stated,
    /// The input rate stands in for a missing read or write rate.
    InputRate,
    /// The 5-minute write rate, or the input rate, stands in for a missing 1-hour write rate: the
    /// cost is at least this.
    AtLeastWriteRate,
    /// The output rate stands in for a missing reasoning rate.
    OutputRate,
    /// The engine charges nothing of this kind.
    NotCharged,
    /// Unknown.
    Missing,
}

impl Basis {
    /// True when another rate stands in for a missing one.
    #[must_use]
    pub const fn is_stand_in(self) -> bool {
        matches!(self, Self::InputRate | Self::AtLeastWriteRate | Self::OutputRate)
    }

    /// The words used in reports and JSON.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Stated => "stated",
            Self::InputRate => "input rate",
            Self::AtLeastWriteRate => "5-minute write rate, at least",
            Self::OutputRate => "output rate",
            Self::NotCharged => "not charged",
            Self::Missing => "missing",
        }
    }
}

/// One line of a bill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// What is priced.
    pub kind: PartKind,
    /// How many; `None` is unknown.
    pub units: Option<u32>,
    /// Dollars per unit; `None` is unknown.
    pub rate: Option<Rate>,
    /// Where the rate comes from.
    pub basis: Basis,
    /// `units x rate`, rounded half to even once; `None` is unknown.
    pub amount: Option<Pico>,
}

/// A bill: its parts, their exact sum, and which rates applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bill {
    /// One part per kind, in the order of [`PartKind::ALL`].
    pub parts: [Part; 8],
    /// Sum of the parts.
    pub cost: Cost,
    /// The tier that applied, by the smallest prompt it applies to.
    pub tier_from: Option<u32>,
    /// The time window that applied, by its place in the price.
    pub window: Option<usize>,
}

/// The rates that apply to one request: what an engine charges at an instant for a prompt's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tariff {
    rates: [(Option<Rate>, Basis); 8],
    /// The tier that applies, by the smallest prompt it applies to.
    tier_from: Option<u32>,
    /// The time window that applies, by its place in the price.
    window: Option<usize>,
}

impl Tariff {
    /// The rates of a request. Of the tiers the largest not above the prompt applies, to the whole
    /// request; a prompt of unknown size has no tier.
    #[must_use]
    pub fn of(price: &EnginePrice, at: Millis, prompt: Option<u32>) -> Self {
        let tier = price
            .tiers
            .iter()
            .filter(|tier| prompt.is_some_and(|prompt| tier.from_prompt <= prompt))
            .max_by_key(|tier| tier.from_prompt);
        let window = price.windows.iter().position(|window| holds(window, at));
        // A tier's own rate beats a window's, and either beats the base rate.
        let layers = [
            tier.map(|tier| &tier.rates),
            window.map(|index| &price.windows[index].rates),
            Some(&price.rates),
        ];
        Self {
            rates: PartKind::ALL.map(|kind| rate(&layers, kind)),
            tier_from: tier.map(|tier| tier.from_prompt),
            window,
        }
    }

    /// The cost function: the exact sum of the parts, each rounded once.
    #[must_use]
    pub fn cost(&self, quantities: &Quantities) -> Cost {
        let list = quantities.list();
        (0..list.len())
            .filter(|index| list[*index] != Some(0))
            .map(|index| self.part(index, list[index]).cost())
            .sum()
    }

    fn part(&self, index: usize, units: Option<u32>) -> Part {
        let (rate, basis) = self.rates[index];
        let amount = amount(units, rate, basis);
        Part { kind: PartKind::ALL[index], units, rate, basis, amount }
    }

    /// A request with nothing warm: the dearer of no cache and of writing all of the prompt for five minutes, since
    /// some write rates are below the input rate. Of the answer so many tokens are (whole, reasoning).
    #[must_use]
    pub fn cold(&self, prompt: u32, (output, reasoning): (u32, u32), images: u32) -> Cost {
        let cost = |kind: PartKind, units: u32| self.part(kind as usize, Some(units)).cost();
        let uncached = cost(PartKind::Uncached, prompt);
        let prompt = if self.states(PartKind::CacheWrite5m) {
            let written = cost(PartKind::CacheWrite5m, prompt);
            if written.known > uncached.known { written } else { uncached }
        } else {
            uncached
        };
        let reasoning = reasoning.min(output);
        let mut cold = prompt + cost(PartKind::Output, output - reasoning);
        if reasoning > 0 {
            cold += cost(PartKind::Reasoning, reasoning);
        }
        if images > 0 {
            cold += cost(PartKind::Images, images);
        }
        cold + cost(PartKind::Request, 1)
    }

    /// What a million units cost; `None` where the rate is unknown.
    #[must_use]
    pub fn per_million(&self, kind: PartKind) -> Option<Pico> {
        self.rates[kind as usize].0.map(|rate| rate.times(1_000_000))
    }

    /// True when the engine states a rate for the kind itself.
    #[must_use]
    pub fn states(&self, kind: PartKind) -> bool {
        self.rates[kind as usize].1 == Basis::Stated
    }

    /// No request with at most this prompt, answer and images costs more: all of the prompt at the dearest of its
    /// rates, all of the answer likewise, and a pico-dollar a part for rounding.
    #[must_use]
    pub fn at_most(&self, prompt: u32, output: u32, images: u32) -> Cost {
        use PartKind::{
            CacheRead, CacheWrite1h, CacheWrite5m, Images, Output, Reasoning, Request, Uncached,
        };
        let dearest = |units: u32, kinds: &[PartKind]| {
            let amounts = kinds.iter().map(|kind| {
                let (rate, basis) = self.rates[*kind as usize];
                amount(Some(units), rate, basis)
            });
            let most = amounts.map(|amount| amount.map_or(Cost::UNKNOWN, Cost::exactly));
            most.fold(Cost::ZERO, |most, next| Cost {
                known: most.known.max(next.known),
                incomplete: most.incomplete || next.incomplete,
            })
        };
        dearest(prompt, &[Uncached, CacheRead, CacheWrite5m, CacheWrite1h])
            + dearest(output, &[Output, Reasoning])
            + dearest(images, &[Images])
            + dearest(1, &[Request])
            + Cost::exactly(Pico(PartKind::ALL.len() as i128))
    }

    /// The parts that others' rates stand in for, each with where its rate comes from.
    pub fn stand_ins(&self) -> impl Iterator<Item = (PartKind, Basis)> {
        let parts = PartKind::ALL.into_iter().zip(self.rates);
        parts.filter_map(|(kind, (_, basis))| basis.is_stand_in().then_some((kind, basis)))
    }

    /// The same, part by part.
    #[must_use]
    pub fn bill(&self, quantities: &Quantities) -> Bill {
        let list = quantities.list();
        Bill {
            parts: std::array::from_fn(|index| self.part(index, list[index])),
            cost: self.cost(quantities),
            tier_from: self.tier_from,
            window: self.window,
        }
    }
}

impl Part {
    const fn cost(&self) -> Cost {
        match (self.amount, self.units, self.basis) {
            (Some(_), Some(0), _) => Cost::ZERO,
            (Some(amount), _, Basis::AtLeastWriteRate) => Cost::at_least(amount),
            (Some(amount), ..) => Cost::exactly(amount),
            (None, ..) => Cost::UNKNOWN,
        }
    }
}

/// Prices one request at an instant.
#[must_use]
pub fn bill(price: &EnginePrice, at: Millis, quantities: &Quantities) -> Bill {
    Tariff::of(price, at, quantities.prompt()).bill(quantities)
}

/// Nothing of a kind costs nothing, whatever the rate; nor does what is not charged, however much.
fn amount(units: Option<u32>, rate: Option<Rate>, basis: Basis) -> Option<Pico> {
    match (units, basis) {
        (Some(0), _) | (_, Basis::NotCharged) => Some(Pico::ZERO),
        // Reasoning nobody told apart is in the output, which is priced alike; what is free costs nothing, however much.
        (None, Basis::OutputRate) => Some(Pico::ZERO),
        (None, _) if rate == Some(Rate::ZERO) => Some(Pico::ZERO),
        (units, _) => Some(rate?.times(units?)),
    }
}

/// The first layer that states a rate; else what stands in for it.
fn rate(layers: &[Option<&Rates>; 3], kind: PartKind) -> (Option<Rate>, Basis) {
    let first = |pick: fn(&Rates) -> Option<Rate>| layers.iter().flatten().find_map(|r| pick(r));
    let stated = |rate: Option<Rate>| rate.map(|rate| (Some(rate), Basis::Stated));
    let instead = |rate: Option<Rate>, basis| rate.map(|rate| (Some(rate), basis));
    let input = || first(|rates| rates.input);
    let five_minutes = || first(|rates| rates.cache_write_5m);
    let found = match kind {
        PartKind::Uncached => stated(input()),
        PartKind::CacheRead => {
            stated(first(|rates| rates.cache_read)).or_else(|| instead(input(), Basis::InputRate))
        }
        PartKind::CacheWrite5m => {
            stated(five_minutes()).or_else(|| instead(input(), Basis::InputRate))
        }
        PartKind::CacheWrite1h => stated(first(|rates| rates.cache_write_1h))
            .or_else(|| instead(five_minutes().or_else(input), Basis::AtLeastWriteRate)),
        PartKind::Output => stated(first(|rates| rates.output)),
        PartKind::Reasoning => {
            let output = first(|rates| rates.output);
            // Stated as high as the output's, it is the output's.
            let own = first(|rates| rates.reasoning).filter(|rate| output != Some(*rate));
            stated(own).or_else(|| instead(output, Basis::OutputRate))
        }
        PartKind::Images => {
            stated(first(|rates| rates.image)).or(Some((Some(Rate::ZERO), Basis::NotCharged)))
        }
        PartKind::Request => {
            stated(first(|rates| rates.request)).or(Some((Some(Rate::ZERO), Basis::NotCharged)))
        }
    };
    found.unwrap_or((None, Basis::Missing))
}

/// True when the window holds the instant's minute of the day, UTC; its end is exclusive.
fn holds(window: &Window, at: Millis) -> bool {
    let minute = at / MILLIS_PER_MINUTE % MINUTES_PER_DAY;
    let (from, to) = (u64::from(window.from_minute), u64::from(window.to_minute));
    if from <= to { (from..to).contains(&minute) } else { minute >= from || minute < to }
}

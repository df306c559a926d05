//! Rates of an entry: which field is which, and what is unknown, free or refused.

use events::payload::Rates;
use events::rate::{DecimalError, Rate};
use serde_json::value::RawValue;

use super::gather::Refusal;
use super::json::{Object, digits, is_positive};

/// A rate among [`Rates`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Input,
    Output,
    CacheRead,
    CacheWrite5m,
    CacheWrite1h,
    Reasoning,
    Image,
    Request,
}

impl Slot {
    pub(super) const ALL: [Self; 8] = [
        Self::Input,
        Self::Output,
        Self::CacheRead,
        Self::CacheWrite5m,
        Self::CacheWrite1h,
        Self::Reasoning,
        Self::Image,
        Self::Request,
    ];

    pub(super) const fn of(self, rates: &mut Rates) -> &mut Option<Rate> {
        match self {
            Self::Input => &mut rates.input,
            Self::Output => &mut rates.output,
            Self::CacheRead => &mut rates.cache_read,
            Self::CacheWrite5m => &mut rates.cache_write_5m,
            Self::CacheWrite1h => &mut rates.cache_write_1h,
            Self::Reasoning => &mut rates.reasoning,
            Self::Image => &mut rates.image,
            Self::Request => &mut rates.request,
        }
    }

    pub(super) const fn get(self, mut rates: Rates) -> Option<Rate> {
        *self.of(&mut rates)
    }
}

/// What a list's numbers are dollars of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unit {
    /// One token, image or request.
    Each,
    /// A million tokens.
    Million,
}

/// Whose rates are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The entry's own: what cannot be read is unknown.
    Base,
    /// A tier's or a window's, where leaving a rate out means the base rate: an unknown one cannot be said.
    Override,
}

/// One rate. A value that is no price is unknown; a price that cannot be kept exactly is refused.
pub(super) fn rate(
    field: &str,
    raw: &RawValue,
    unit: Unit,
    scope: Scope,
) -> Result<Option<Rate>, Refusal> {
    if raw.get() == "null" {
        return Ok(None);
    }
    let read = match (digits(raw), unit) {
        (None, _) => Err(DecimalError::NotDecimal),
        (Some(digits), Unit::Each) => digits.parse(),
        (Some(digits), Unit::Million) => Rate::per_million(&digits),
    };
    match (read, scope) {
        (Ok(rate), _) => Ok(Some(rate)),
        (Err(DecimalError::NotDecimal | DecimalError::Negative), Scope::Base) => Ok(None),
        (Err(error), Scope::Base) => Err(Refusal::new(field, raw.get(), error.to_string())),
        (Err(error), Scope::Override) => {
            let problem = format!("{error}, and the base rate would stand in for it");
            Err(Refusal::new(field, raw.get(), problem))
        }
    }
}

/// The rates of an object whose fields a table names.
pub(super) fn read(
    object: &Object<'_>,
    at: &str,
    fields: &[(&str, Slot)],
    unit: Unit,
    scope: Scope,
) -> Result<Rates, Refusal> {
    let mut rates = Rates::default();
    for (key, slot) in fields {
        if let Some(raw) = object.get(key) {
            *slot.of(&mut rates) = rate(&format!("{at}.{key}"), raw, unit, scope)?;
        }
    }
    Ok(rates)
}

fn is_paid(rate: Option<Rate>) -> bool {
    rate.is_some_and(|rate| rate != Rate::ZERO)
}

/// Takes out the zeros that mean "nothing on top".
///
/// Lists write a cache-write rate below the input rate where the provider charges written tokens as input and,
/// on top, something or nothing for keeping them; and a reasoning rate of 0 where reasoning is charged as output. Here
/// those rates are charged *instead of* the other: taken at their word, prompts and answers would cost next to nothing.
pub(super) fn without_surcharges(rates: &mut Rates, base: &Rates) {
    if let Some(input) = rates.input.or(base.input) {
        let is_whole = |rate: &Rate| rate.times(MANY_TOKENS) >= input.times(MANY_TOKENS);
        rates.cache_write_5m = rates.cache_write_5m.filter(is_whole);
        rates.cache_write_1h = rates.cache_write_1h.filter(is_whole);
    }
    if is_paid(rates.output.or(base.output)) {
        rates.reasoning = rates.reasoning.filter(|rate| *rate != Rate::ZERO);
    }
}

/// Rates are compared by what so many tokens cost.
const MANY_TOKENS: u32 = 1_000_000_000;

/// Refuses an entry whose tokens are free while it charges for something ferry does not count: listed,
/// it would read as free.
pub(super) fn check_other_charges(
    rates: &Rates,
    object: &Object<'_>,
    at: &str,
    is_other: impl Fn(&str) -> bool,
) -> Result<(), Refusal> {
    if (rates.input, rates.output) != (Some(Rate::ZERO), Some(Rate::ZERO)) {
        return Ok(());
    }
    match object.iter().find(|(key, raw)| is_other(key) && is_positive(raw)) {
        Some((key, raw)) => Err(Refusal::new(
            format!("{at}{key}"),
            raw.get(),
            "is charged beside free tokens, in a unit ferry does not count",
        )),
        None => Ok(()),
    }
}

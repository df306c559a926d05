//! Figures as policies write them: exact decimals, as text, since a number in TOML would not be exact.

use events::money::Pico;
use events::payload::{Quality, Task, TurnTier};
use events::rate::Rate;
use projections::policy::{ByKind, Permille};
use std::collections::BTreeMap;

use super::{PolicyFileError, word, wrong};

/// An amount of US dollars.
pub(super) fn usd(field: &str, text: &str) -> Result<Pico, PolicyFileError> {
    text.parse().map_err(|error| wrong(field, text, format!("is no amount of dollars: {error}")))
}

/// A factor or share with at most three digits after the point.
pub(super) fn permille(field: &str, text: &str) -> Result<Permille, PolicyFileError> {
    scaled(field, text, 3, "is no factor like 1.3").map(Permille)
}

/// A share of 0 to 1 with at most three digits after the point, in thousandths.
pub(super) fn share(field: &str, text: &str) -> Result<u16, PolicyFileError> {
    let share = scaled(field, text, 3, "is no share like 0.75")?;
    let share = u16::try_from(share).ok().filter(|share| *share <= 1_000);
    share.ok_or_else(|| wrong(field, text, "is not 0 to 1"))
}

/// A score of 0 to 100 with at most one digit after the point, in tenths.
pub(super) fn score(field: &str, text: &str) -> Result<u16, PolicyFileError> {
    let score = scaled(field, text, 1, "is no score like 61.5")?;
    let score = u16::try_from(score).ok().filter(|score| *score <= Quality::MAX);
    score.ok_or_else(|| wrong(field, text, "is not 0 to 100"))
}

fn scaled(field: &str, text: &str, digits: u8, problem: &str) -> Result<u32, PolicyFileError> {
    let factor: Result<Rate, _> = text.parse();
    let (mantissa, scale) = factor.map_err(|_| wrong(field, text, problem))?.decimal();
    let missing = digits.checked_sub(scale);
    let scaled = missing.and_then(|missing| mantissa.checked_mul(10_u64.pow(missing.into())));
    scaled.and_then(|scaled| u32::try_from(scaled).ok()).ok_or_else(|| {
        wrong(
            field,
            text,
            format!("is too large, or has more than {digits} digits after the point"),
        )
    })
}

/// Figures by kind of turn: `coding`, `hard` or `coding/hard`.
pub(super) fn by_kind<T: Copy>(
    field: &str,
    figures: &BTreeMap<String, String>,
    read: impl Fn(&str, &str) -> Result<T, PolicyFileError>,
) -> Result<ByKind<T>, PolicyFileError> {
    let mut all = ByKind::default();
    for (key, text) in figures {
        let field = format!("{field}.{key}");
        let (task, tier) = kind(&field, key)?;
        all.state(task, tier, read(&field, text)?);
    }
    Ok(all)
}

/// A task, a tier, or both.
type Of = (Option<Task>, Option<TurnTier>);

fn kind(field: &str, key: &str) -> Result<Of, PolicyFileError> {
    let tasks: Vec<_> = Task::ALL.iter().map(|task| (task.label(), *task)).collect();
    if let Some((task, tier)) = key.split_once('/') {
        return Ok((Some(word(field, task, &tasks)?), Some(word(field, tier, &tiers())?)));
    }
    let either: Vec<(&'static str, Of)> = tasks
        .iter()
        .map(|(label, task)| (*label, (Some(*task), None)))
        .chain(tiers().into_iter().map(|(label, tier)| (label, (None, Some(tier)))))
        .collect();
    word(field, key, &either)
}

/// The tiers by their words.
pub(super) fn tiers() -> Vec<(&'static str, TurnTier)> {
    TurnTier::ALL.iter().map(|tier| (tier.label(), *tier)).collect()
}

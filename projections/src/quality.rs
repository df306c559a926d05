//! How good engines are said to be: axes, names, what is never chosen, and floors and ceilings that follow the market.
//!
//! A score is in tenths of a point of 0 to 100. An engine nobody scores is unscored: nothing here makes a score up,
//! least of all from a price.

use std::fmt;

use events::payload::Quality;
use serde::{Deserialize, Serialize};

use crate::names::model_of;

/// What a score is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Axis {
    /// Thinking.
    Intelligence,
    /// Code.
    Coding,
    /// Working with tools.
    Agentic,
}

impl Axis {
    /// The axes.
    pub const ALL: [Self; 3] = [Self::Intelligence, Self::Coding, Self::Agentic];

    /// The word used in files, reports and JSON.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Intelligence => "intelligence",
            Self::Coding => "coding",
            Self::Agentic => "agentic",
        }
    }

    /// The score on this axis and no other.
    #[must_use]
    pub const fn of(self, quality: &Quality) -> Option<u16> {
        match self {
            Self::Intelligence => quality.intelligence,
            Self::Coding => quality.coding,
            Self::Agentic => quality.agentic,
        }
    }

    /// The place of this axis' score.
    #[must_use]
    pub const fn place(self, quality: &mut Quality) -> &mut Option<u16> {
        match self {
            Self::Intelligence => &mut quality.intelligence,
            Self::Coding => &mut quality.coding,
            Self::Agentic => &mut quality.agentic,
        }
    }

    /// This axis, then those that stand in for it, best first.
    #[must_use]
    pub const fn fallbacks(self) -> [Self; 3] {
        match self {
            Self::Intelligence => [self, Self::Coding, Self::Agentic],
            Self::Coding => [self, Self::Intelligence, Self::Agentic],
            Self::Agentic => [self, Self::Intelligence, Self::Coding],
        }
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// The score that counts on an axis, and the axis it is from; `None`: unscored.
#[must_use]
pub fn on_axis(quality: &Quality, axis: Axis) -> Option<(u16, Axis)> {
    axis.fallbacks().into_iter().find_map(|axis| Some((axis.of(quality)?, axis)))
}

/// An engine's own scores, and of others', best first, what it lacks. A score out of range is none.
#[must_use]
pub fn fill(own: Quality, others: impl IntoIterator<Item = Quality>) -> Quality {
    let mut filled = own;
    let in_range = |score: &u16| *score <= Quality::MAX;
    for axis in Axis::ALL {
        let place = axis.place(&mut filled);
        *place = place.filter(in_range);
    }
    for other in others {
        for axis in Axis::ALL {
            let place = axis.place(&mut filled);
            *place = place.or_else(|| axis.of(&other).filter(in_range));
        }
    }
    filled
}

/// How sellers pack a model without making another of it.
const PACKAGING: [&str; 7] = ["cloud", "free", "latest", "online", "nitro", "beta", "preview"];
/// Where Amazon serves a model from; it stands before the maker's name.
const REGIONS: [&str; 6] = ["us", "eu", "apac", "au", "jp", "global"];

/// The name a model is known by, however it is sold: lower case, without provider and packaging, `-` for every
/// separator. Sizes, efforts and dates stay: they tell models apart. A date is written `-20251101`.
///
/// Amazon's names, `eu.anthropic.claude-opus-4-5-20251101-v1:0`, lose region, maker and version.
#[must_use]
pub fn key(model: &str) -> String {
    let lower = model_of(model).trim_start_matches('~').to_ascii_lowercase();
    let (name, is_amazons) = without_maker(&lower);
    let dashed = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let parts: Vec<String> = name
        .chars()
        .map(dashed)
        .collect::<String>()
        .split('-')
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect();
    let mut parts = with_joined_date(parts);
    if is_amazons {
        without_version(&mut parts);
    }
    // A name that is nothing but packaging is left with its first word.
    while parts.len() > 1 && parts.last().is_some_and(|part| PACKAGING.contains(&part.as_str())) {
        parts.pop();
    }
    parts.join("-")
}

/// A key without its date, if it ends with one.
#[must_use]
pub fn undated(key: &str) -> Option<&str> {
    let (name, date) = key.rsplit_once('-')?;
    is_date(date).then_some(name)
}

/// The author a model's name states: the part before the last, without the mark of a floating name.
#[must_use]
pub fn author_of(engine: &str) -> Option<&str> {
    let (path, model) = engine.rsplit_once('/')?;
    let author = path.rsplit_once('/').map_or(path, |(_, author)| author);
    let stated = maker(&model.to_ascii_lowercase()).map(str::len);
    // Amazon writes the maker into the model's name.
    let stated = stated.and_then(|length| {
        let rest = region(model).map_or(model, |(_, rest)| rest);
        rest.get(..length)
    });
    Some(stated.unwrap_or(author).trim_start_matches('~'))
}

/// `eu.anthropic.claude-x` without what stands before the model, and whether anything did.
fn without_maker(name: &str) -> (&str, bool) {
    match maker(name) {
        Some(maker) => {
            let rest = region(name).map_or(name, |(_, rest)| rest);
            (rest.get(maker.len() + 1..).unwrap_or(rest), true)
        }
        None => (name, false),
    }
}

/// The maker in `anthropic.claude-x`: letters and a dot, then a word that begins with a letter. A version's dot
/// stands after a digit.
fn maker(name: &str) -> Option<&str> {
    let rest = region(name).map_or(name, |(_, rest)| rest);
    let (maker, model) = rest.split_once('.')?;
    let is_word = !maker.is_empty() && maker.bytes().all(|byte| byte.is_ascii_alphabetic());
    // `deepseek.v3-v1:0` and `deepseek.r1-v1:0` name no model but with their maker.
    let word = model.bytes().take_while(u8::is_ascii_alphabetic).count();
    (is_word && word > 1).then_some(maker)
}

fn region(name: &str) -> Option<(&str, &str)> {
    name.split_once('.').filter(|(region, _)| REGIONS.contains(region))
}

/// Amazon's `-v1:0` at the end.
fn without_version(parts: &mut Vec<String>) {
    let is_version = |part: &String| {
        let digits = part.strip_prefix('v').unwrap_or("");
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    let after = if parts.last().is_some_and(|part| part.len() == 1) { 2 } else { 1 };
    if let Some(at) = parts.len().checked_sub(after).filter(|at| *at > 0)
        && parts.get(at).is_some_and(is_version)
    {
        parts.truncate(at);
    }
}

fn is_date(text: &str) -> bool {
    text.len() == 8 && text.starts_with("20") && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `gpt-4o-2024-11-20` as `gpt-4o-20241120`: one way to write a date, wherever in the name it stands.
fn with_joined_date(parts: Vec<String>) -> Vec<String> {
    let found = parts.windows(3).position(|window| {
        let lengths: Vec<usize> = window.iter().map(String::len).collect();
        lengths == [4, 2, 2] && is_date(&window.concat())
    });
    let Some(at) = found else { return parts };
    let (mut joined, rest) =
        (parts.get(..at).unwrap_or(&[]).to_vec(), parts.get(at..).unwrap_or(&[]));
    joined.push(rest.iter().take(3).map(String::as_str).collect());
    joined.extend(rest.iter().skip(3).cloned());
    joined
}

/// Words in the names of models that answer with no text, or not what is asked.
const NO_ANSWERS: [&str; 16] = [
    "dall",
    "embed",
    "embedding",
    "embeddings",
    "image",
    "imagen",
    "moderation",
    "ocr",
    "rerank",
    "reranker",
    "sora",
    "transcribe",
    "tts",
    "veo",
    "video",
    "whisper",
];

/// True when a model's name says that it gives no answers to talk with.
fn gives_no_answers(engine: &str) -> bool {
    let model = model_of(engine);
    model
        .split(|c: char| !c.is_ascii_alphanumeric())
        .any(|word| NO_ANSWERS.iter().any(|no| word.eq_ignore_ascii_case(no)))
}

/// True for what no decision may choose, whatever policy says: floating names, whose model and price change under
/// them; batch endpoints, which answer tomorrow; models whose maker hides; routers, which choose again; and models that
/// make pictures, sounds or vectors.
#[must_use]
pub fn is_never_selectable(engine: &str) -> bool {
    let mut parts = engine.split('/').skip(1);
    let is_floating = parts.any(|part| part.starts_with('~')) || engine.starts_with('~');
    let author = engine.rsplit_once('/').map(|(path, _)| model_of(path));
    is_floating
        || gives_no_answers(engine)
        || engine.ends_with(":batch")
        // `openrouter/auto` and `openrouter/openrouter/auto`, not `openrouter/vendor/model`.
        || matches!(author, Some("stealth" | "openrouter"))
}

/// So many models have to pass a configured floor for it to stand.
const FLOOR_ADMITS_MIN: usize = 3;

/// The quality floors of the four tiers: the configured ones, lowered to the market's bands (its least, p25, p50 and
/// p75) where fewer than three models would pass. With enough models a band says nothing: to take the lower of the two
/// always would open every tier to models that fail at it.
#[must_use]
pub fn floors(scores_ascending: &[u16], configured: [u16; 4]) -> [u16; 4] {
    let count = scores_ascending.len();
    let mut tiers = 0..;
    configured.map(|floor| {
        let tier: usize = tiers.next().unwrap_or(0);
        let index = (count * tier / 4).min(count.saturating_sub(1));
        let band = scores_ascending.get(index).copied().unwrap_or(0);
        let admitted = count - scores_ascending.partition_point(|score| *score < floor);
        if admitted >= FLOOR_ADMITS_MIN { floor } else { floor.min(band) }
    })
}

/// The price ceilings of the four tiers that follow the market: p25, p50, p75 and p90 of its prices. A configured
/// ceiling only tightens them. Without prices only the configured ones are left.
#[must_use]
pub fn ceilings<T: Copy + Ord>(
    prices_ascending: &[T],
    configured: [Option<T>; 4],
) -> [Option<T>; 4] {
    let mut percents = [25, 50, 75, 90].into_iter();
    configured.map(|ceiling| {
        let percent: usize = percents.next().unwrap_or(100);
        let rank = (prices_ascending.len() * percent).div_ceil(100);
        let bound = rank.checked_sub(1).and_then(|index| prices_ascending.get(index).copied());
        ceiling.into_iter().chain(bound).min()
    })
}

#[cfg(test)]
mod tests;

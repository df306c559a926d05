//! What an entry says its engine can do, and how good it is. What is absent or malformed is unknown: it never refuses
//! the entry, whose prices are none the worse for it.

use events::payload::{Capabilities, Quality};
use events::rate::Rate;
use projections::quality::Axis;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::json::{Object, list, text, whole};

/// True or false; anything else is unknown.
pub(super) fn flag(raw: &RawValue) -> Option<bool> {
    serde_json::from_str(raw.get()).ok()
}

/// Whether a list of words has one of these; unknown for what is no list of words.
pub(super) fn lists(raw: &RawValue, words: &[&str]) -> Option<bool> {
    let items: Vec<_> = list(raw)?.into_iter().map(text).collect::<Option<_>>()?;
    Some(items.iter().any(|item| words.contains(&item.as_ref())))
}

/// A number of tokens above zero: lists write 0 for what they do not know.
pub(super) fn tokens(raw: &RawValue) -> Option<u32> {
    whole(raw).filter(|tokens| *tokens > 0)
}

/// A score of 0 to 100, in tenths of a point, rounded half up.
pub(crate) fn tenths(digits: &str) -> Option<u16> {
    let (mantissa, scale) = digits.parse::<Rate>().ok()?.decimal();
    let (mantissa, one) = (u128::from(mantissa), 10_u128.checked_pow(u32::from(scale))?);
    if mantissa > one.checked_mul(100)? {
        return None;
    }
    u16::try_from((mantissa.checked_mul(20)?.checked_add(one)?) / (one.checked_mul(2)?)).ok()
}

/// OpenRouter's `benchmarks`: `{"artificial_analysis": {"coding_index": 71.5, …}}`, or the axes by themselves. Only
/// numbers count.
pub(super) fn scores(raw: &RawValue) -> Quality {
    let mut quality = Quality::default();
    let Some(benchmarks) = Object::of(raw) else { return quality };
    let holders = [benchmarks.object("artificial_analysis"), Some(benchmarks)];
    for axis in Axis::ALL {
        let label = axis.label();
        let keys = [format!("{label}_index"), label.to_owned()];
        let found =
            holders.iter().flatten().flat_map(|holder| keys.iter().map(|key| holder.get(key)));
        let is_number = |raw: &&RawValue| raw.get().starts_with(|c: char| c.is_ascii_digit());
        let score = found.flatten().find(is_number).and_then(|raw| tenths(raw.get()));
        *axis.place(&mut quality) = score;
    }
    quality
}

/// What two entries of one engine say together: where they differ, nobody knows.
pub(super) fn agreed(
    a: (Capabilities, Quality),
    b: (Capabilities, Quality),
) -> (Capabilities, Quality) {
    fn both<T: PartialEq>(a: Option<T>, b: Option<T>) -> Option<T> {
        match (a, b) {
            (Some(a), Some(b)) => (a == b).then_some(a),
            (a, b) => a.or(b),
        }
    }
    let (of, or) = (a.0, b.0);
    let capabilities = Capabilities {
        tools: both(of.tools, or.tools),
        images: both(of.images, or.images),
        reasoning: both(of.reasoning, or.reasoning),
        output: both(of.output, or.output),
    };
    let mut quality = Quality::default();
    for axis in Axis::ALL {
        *axis.place(&mut quality) = both(axis.of(&a.1), axis.of(&b.1));
    }
    (capabilities, quality)
}

/// Capabilities in a book of ferry's own format.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CapabilitiesFile {
    tools: Option<bool>,
    images: Option<bool>,
    reasoning: Option<bool>,
    output: Option<u32>,
}

impl CapabilitiesFile {
    pub(crate) const fn capabilities(&self) -> Capabilities {
        let Self { tools, images, reasoning, output } = *self;
        Capabilities { tools, images, reasoning, output }
    }
}

/// Scores in a book of ferry's own format.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QualityFile {
    intelligence: Option<String>,
    coding: Option<String>,
    agentic: Option<String>,
}

impl QualityFile {
    /// The scores; else the axis and text of one that is none. What cannot be kept exactly is a mistake here.
    pub(crate) fn quality(&self) -> Result<Quality, (Axis, &str)> {
        let mut quality = Quality::default();
        let texts = [&self.intelligence, &self.coding, &self.agentic];
        for (axis, text) in Axis::ALL.into_iter().zip(texts) {
            let Some(text) = text else { continue };
            let is_short = text.split_once('.').is_none_or(|(_, tenth)| tenth.len() == 1);
            let score = tenths(text).filter(|_| is_short).ok_or((axis, text.as_str()))?;
            *axis.place(&mut quality) = Some(score);
        }
        Ok(quality)
    }
}

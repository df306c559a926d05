//! Raw usage as stored: sorted (dotted path, integer) pairs, borrowed from the event.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::Name;
use crate::limits::{RAW_USAGE_BYTES_MAX, RAW_USAGE_PAIRS_MAX};
use crate::usage::RawUsage;

/// What the provider said of usage, integer by integer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct RawPairs<'a>(Vec<(Name<'a>, i64)>);

impl<'a> RawPairs<'a> {
    /// The stored form of a raw usage: what fits the format's bounds, smallest paths first.
    #[must_use]
    pub fn of(raw: &'a RawUsage) -> Self {
        let mut bytes = 0;
        let pairs = raw.pairs().filter_map(|(path, value)| Some((Name::new(path).ok()?, value)));
        let within = pairs.take(RAW_USAGE_PAIRS_MAX).take_while(|(path, _)| {
            bytes += stored_bytes(path);
            bytes <= RAW_USAGE_BYTES_MAX
        });
        Self(within.collect())
    }

    /// The pairs, sorted by path.
    #[must_use]
    pub fn pairs(&self) -> &[(Name<'a>, i64)] {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawPairs<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pairs = Vec::<(Name<'a>, i64)>::deserialize(deserializer)?;
        let bytes: usize = pairs.iter().map(|(path, _)| stored_bytes(path)).sum();
        if pairs.len() > RAW_USAGE_PAIRS_MAX || bytes > RAW_USAGE_BYTES_MAX {
            return Err(D::Error::custom("more raw usage than the format keeps"));
        }
        if !pairs.is_sorted_by(|(before, _), (after, _)| before < after) {
            return Err(D::Error::custom("raw usage paths are not sorted"));
        }
        Ok(Self(pairs))
    }
}

/// What a pair counts as: its path and eight bytes of integer.
const fn stored_bytes(path: &Name<'_>) -> usize {
    path.as_str().len() + 8
}

//! What a provider said of usage, integer by integer.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::limits::{NAME_BYTES_MAX, RAW_USAGE_DEPTH_MAX, RAW_USAGE_PAIRS_READ_MAX};
use crate::payload::{RawPairs, is_printable_ascii};

/// The integers of a provider's usage object as sorted (dotted path, value) pairs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawUsage {
    pairs: BTreeMap<String, i64>,
    left_out: bool,
}

impl RawUsage {
    /// A usage of these pairs.
    pub fn from_pairs<S: Into<String>>(pairs: impl IntoIterator<Item = (S, i64)>) -> Self {
        let mut raw = Self::default();
        for (path, value) in pairs {
            raw.insert(path.into(), value);
        }
        raw
    }

    /// Reads the usage object of any self-describing format (JSON at the edges). Only integers are
    /// kept; nulls, texts, floats and lists are not usage.
    ///
    /// # Errors
    /// Whatever the deserializer finds wrong with its input.
    pub fn from_object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut raw = Self::default();
        Flatten { raw: &mut raw, path: String::new(), depth: 0 }.deserialize(deserializer)?;
        Ok(raw)
    }

    /// The pairs, sorted by path.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, i64)> {
        self.pairs.iter().map(|(path, value)| (path.as_str(), *value))
    }

    /// The value of a path.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<i64> {
        self.pairs.get(path).copied()
    }

    /// True when an event keeps less than the provider said.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.left_out || RawPairs::of(self).pairs().len() < self.pairs.len()
    }

    fn insert(&mut self, path: String, value: i64) {
        let fits = path.len() <= NAME_BYTES_MAX && is_printable_ascii(&path) && !path.is_empty();
        if fits && self.pairs.len() < RAW_USAGE_PAIRS_READ_MAX {
            self.pairs.insert(path, value);
        } else {
            self.left_out = true;
        }
    }
}

/// Walks a self-describing value, collecting integers under dotted paths.
struct Flatten<'r> {
    raw: &'r mut RawUsage,
    path: String,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Flatten<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Flatten<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a usage object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let path = if self.path.is_empty() { key } else { format!("{}.{key}", self.path) };
            if self.depth == RAW_USAGE_DEPTH_MAX {
                self.raw.left_out = true;
                map.next_value::<IgnoredAny>()?;
            } else {
                map.next_value_seed(Flatten { raw: self.raw, path, depth: self.depth + 1 })?;
            }
        }
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.raw.insert(self.path, value);
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        match i64::try_from(value) {
            Ok(value) => self.raw.insert(self.path, value),
            Err(_) => self.raw.left_out = true,
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    // Deserializers hand over whatever number the input holds; a fraction of a token is no count.
    #[expect(clippy::disallowed_types, reason = "serde's visitor names it; the value is dropped")]
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
}

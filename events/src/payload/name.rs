//! Short texts that are identifiers, not prose: bounded printable ASCII, borrowed from the event.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits::{NAME_BYTES_MAX, SOURCE_KEY_BYTES_MAX};

/// Why a text is no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a name is 1 to {max} bytes of printable ASCII, this is {found:?}")]
pub struct NameError {
    found: String,
    max: usize,
}

/// Printable ASCII of 1 to `MAX` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Text<'a, const MAX: usize>(&'a str);

/// Name of an engine, client, source or code: 1 to 128 bytes of printable ASCII.
pub type Name<'a> = Text<'a, NAME_BYTES_MAX>;

/// A source's own row key in clear, where its ids are not personal: 1 to 64 bytes.
pub type SourceKey<'a> = Text<'a, SOURCE_KEY_BYTES_MAX>;

impl<'a, const MAX: usize> Text<'a, MAX> {
    /// Checks a text.
    ///
    /// # Errors
    /// [`NameError`] when it is empty, too long, or holds anything but printable ASCII.
    pub fn new(text: &'a str) -> Result<Self, NameError> {
        if text.is_empty() || text.len() > MAX || !is_printable_ascii(text) {
            let found = text.chars().take(MAX + 1).collect();
            return Err(NameError { found, max: MAX });
        }
        Ok(Self(text))
    }

    /// The text.
    #[must_use]
    pub const fn as_str(self) -> &'a str {
        self.0
    }
}

impl<const MAX: usize> fmt::Display for Text<'_, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl<const MAX: usize> Serialize for Text<'_, MAX> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

impl<'de: 'a, 'a, const MAX: usize> Deserialize<'de> for Text<'a, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(<&'a str>::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// True for the characters names and paths may hold: the space, and `!` to `~`.
pub(crate) fn is_printable_ascii(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

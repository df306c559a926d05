//! What can be wrong with a body, and where.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::error::Category;
use serde_json::value::RawValue;
use serde_path_to_error::{Path, Segment};

/// Characters of a value that a refusal shows.
const SHOWN_CHARS: usize = 40;

/// Why a body is no request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WireError {
    /// It is not JSON, or not text at all.
    #[error(
        "the body is not JSON at line {line}, column {column}, near '{value}': send one JSON object in UTF-8"
    )]
    NotJson {
        /// The line, from 1.
        line: usize,
        /// The column, from 1, in bytes.
        column: usize,
        /// How the body goes on there.
        value: String,
    },
    /// What a request is about is not there.
    #[error("'{field}' is missing in '{value}': send a request with {field}")]
    Missing {
        /// The field.
        field: &'static str,
        /// How the body begins.
        value: String,
    },
    /// Nobody of that name speaks on this wire.
    #[error("{field}: '{value}' is no role here: use one of {known}")]
    Role {
        /// Where it stands.
        field: String,
        /// How the value begins.
        value: String,
        /// The roles there are.
        known: &'static str,
    },
    /// A value of the wrong type.
    #[error("{field}: '{value}' does not fit: send {expected}")]
    Type {
        /// Where it stands.
        field: String,
        /// How the value begins.
        value: String,
        /// What fits.
        expected: String,
    },
}

impl WireError {
    /// A body without what a request is about.
    pub(super) fn missing(field: &'static str, body: &[u8]) -> Self {
        Self::Missing { field, value: cut_bytes(body) }
    }

    /// A role that is none.
    pub(super) fn role(field: String, value: &str, known: &'static str) -> Self {
        Self::Role { field, value: cut(value), known }
    }

    /// The same, further in: its field stands within another.
    pub(super) fn within(mut self, outer: &str) -> Self {
        if let Self::Role { field, .. } | Self::Type { field, .. } = &mut self {
            *field = match field.as_str() {
                "" | "." if outer.is_empty() => "body".to_owned(),
                "" | "." => outer.to_owned(),
                inner if outer.is_empty() => inner.to_owned(),
                inner if inner.starts_with('[') => format!("{outer}{inner}"),
                inner => format!("{outer}.{inner}"),
            };
        }
        self
    }
}

/// Reads a whole body.
///
/// # Errors
/// [`WireError`] with the place.
pub(super) fn body<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, WireError> {
    let text = std::str::from_utf8(bytes).map_err(|fault| {
        let (before, rest) = bytes.split_at(fault.valid_up_to());
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        WireError::NotJson {
            line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
            column: before.len() - line_start + 1,
            value: cut_bytes(rest),
        }
    })?;
    json(text).map_err(|fault| fault.within(""))
}

/// Reads JSON that stands in a body.
///
/// # Errors
/// [`WireError`] with the place. The place is looked for only then: reading what is right costs one pass.
pub(super) fn json<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, WireError> {
    serde_json::from_str(text).map_err(|error| explain::<T>(text, &error))
}

fn explain<'a, T: Deserialize<'a>>(text: &'a str, error: &serde_json::Error) -> WireError {
    if error.classify() != Category::Data {
        let line = error.line();
        let rest = text.split('\n').nth(line.saturating_sub(1)).unwrap_or_default();
        let start = error.column().saturating_sub(1).min(rest.len());
        return WireError::NotJson {
            line,
            column: error.column(),
            value: cut_bytes(rest.as_bytes().split_at(start).1),
        };
    }
    let expected = expected(&error.to_string());
    let mut deserializer = serde_json::Deserializer::from_str(text);
    match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
        Err(traced) => {
            let value = value_at(text, traced.path()).map_or_else(String::new, cut);
            WireError::Type { field: traced.path().to_string(), value, expected }
        }
        Ok(_) => WireError::Type { field: String::new(), value: cut(text), expected },
    }
}

/// What would have fitted, out of the reader's words for what did not.
fn expected(words: &str) -> String {
    if words.starts_with("duplicate field") {
        return "each field once".to_owned();
    }
    let tail = words.rsplit_once("expected ").map_or("what the wire has there", |(_, tail)| tail);
    tail.rsplit_once(" at line ").map_or(tail, |(head, _)| head).to_owned()
}

fn value_at<'a>(text: &'a str, path: &Path) -> Option<&'a str> {
    path.iter().try_fold(text, |inner, segment| match segment {
        Segment::Seq { index } => {
            let items: Vec<&RawValue> = serde_json::from_str(inner).ok()?;
            items.get(*index).map(|item| item.get())
        }
        Segment::Map { key } => {
            let fields: BTreeMap<String, &RawValue> = serde_json::from_str(inner).ok()?;
            fields.get(key).map(|field| field.get())
        }
        Segment::Enum { .. } | Segment::Unknown => Some(inner),
    })
}

/// How a value begins: not much of it, and nothing a terminal would act on.
fn cut(text: &str) -> String {
    let mut chars = text.chars();
    let start: String = chars
        .by_ref()
        .take(SHOWN_CHARS)
        .map(|char| if char.is_control() { ' ' } else { char })
        .collect();
    let rest = if chars.next().is_some() { "..." } else { "" };
    start + rest
}

fn cut_bytes(bytes: &[u8]) -> String {
    let start = bytes.get(..SHOWN_CHARS * 4 + 4).unwrap_or(bytes);
    cut(&String::from_utf8_lossy(start))
}

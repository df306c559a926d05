//! A field of a JSON object, whatever it holds: wrong values are refused by name, not by the parser.

use std::borrow::Cow;
use std::fmt;

use events::ids::Millis;
use events::limits::TOKENS_MAX;
use events::usage::RawUsage;
use jiff::Timestamp;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

use super::fields::{AT_MAX, Problem, shown};

/// Longest id of a row, conversation or agent, in bytes. Only digests of them are kept.
const ID_BYTES_MAX: usize = 1_024;
/// Smallest integer that is taken for milliseconds since 1970: 1973-03-03. Smaller ones are seconds.
const MILLIS_MIN: i128 = 100_000_000_000;

/// What a field holds.
#[derive(Debug, Default)]
pub(super) enum Value<'l> {
    /// Nothing, or null.
    #[default]
    Absent,
    /// A text.
    Text(Cow<'l, str>),
    /// A whole number.
    Whole(i128),
    /// Another number.
    Fraction(f64),
    /// True or false.
    Truth(bool),
    /// A list.
    List(Vec<Value<'l>>),
    /// An object: the integers in it.
    Object(RawUsage),
}

impl fmt::Display for Value<'_> {
    /// As refusals show it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("null"),
            Self::Text(text) => f.write_str(&shown(text)),
            Self::Whole(number) => write!(f, "{number}"),
            Self::Fraction(number) => write!(f, "{number}"),
            Self::Truth(truth) => write!(f, "{truth}"),
            Self::List(_) => f.write_str("a list"),
            Self::Object(_) => f.write_str("an object"),
        }
    }
}

impl<'de: 'l, 'l> Deserialize<'de> for Value<'l> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value<'de>, E> {
        Ok(Value::Whole(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value<'de>, E> {
        Ok(Value::Whole(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value<'de>, E> {
        Ok(Value::Fraction(number))
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value<'de>, E> {
        Ok(Value::Truth(truth))
    }

    fn visit_unit<E>(self) -> Result<Value<'de>, E> {
        Ok(Value::Absent)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value<'de>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value<'de>, A::Error> {
        RawUsage::from_object(MapAccessDeserializer::new(map)).map(Value::Object)
    }
}

pub(super) fn needed<T>(field: &'static str, value: Option<T>) -> Result<T, Problem> {
    value.ok_or(Problem::Missing { field })
}

pub(super) fn wrong(field: &'static str, value: &Value<'_>, problem: impl Into<String>) -> Problem {
    Problem::Field { field, value: value.to_string(), problem: problem.into() }
}

/// What the parser says, with the place in the line. It says nothing of what values hold.
pub(super) fn syntax(error: &serde_json::Error) -> Problem {
    let text = error.to_string();
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    let place = format!("{what} at byte {}", error.column());
    Problem::Syntax(if what.starts_with("duplicate field") {
        place
    } else if error.is_data() {
        // What the parser says of a value of the wrong kind quotes it.
        format!("a value of the wrong kind at byte {}", error.column())
    } else if error.is_eof() {
        format!("not JSON: {place}: the line is cut short")
    } else {
        format!("not JSON: {place}")
    })
}

/// A text, or a number standing for one, as databases give ids.
pub(super) fn text<'l>(
    field: &'static str,
    value: Value<'l>,
) -> Result<Option<Cow<'l, str>>, Problem> {
    match value {
        Value::Absent => Ok(None),
        Value::Text(text) if text.is_empty() => Err(Problem::field(field, "", "is empty")),
        Value::Text(text) if text.len() > ID_BYTES_MAX => {
            Err(Problem::field(field, &text, format!("is longer than {ID_BYTES_MAX} bytes")))
        }
        Value::Text(text) => Ok(Some(text)),
        Value::Whole(number) => Ok(Some(Cow::Owned(number.to_string()))),
        other => Err(wrong(field, &other, "is no text")),
    }
}

pub(super) fn word<'v>(
    field: &'static str,
    value: &'v Value<'_>,
) -> Result<Option<&'v str>, Problem> {
    match value {
        Value::Absent => Ok(None),
        Value::Text(text) => Ok(Some(text)),
        other => Err(wrong(field, other, "is no text")),
    }
}

pub(super) fn tokens(field: &'static str, value: &Value<'_>) -> Result<Option<u32>, Problem> {
    match value {
        Value::Absent => Ok(None),
        Value::Whole(number) => {
            let tokens = u32::try_from(*number).ok().filter(|tokens| *tokens <= TOKENS_MAX);
            let out_of_range = || wrong(field, value, format!("is not from 0 to {TOKENS_MAX}"));
            tokens.ok_or_else(out_of_range).map(Some)
        }
        other => Err(wrong(field, other, "is no whole number")),
    }
}

/// An instant as RFC 3339 or milliseconds since 1970.
pub(super) fn instant(field: &'static str, value: &Value<'_>) -> Result<Option<Millis>, Problem> {
    let millis = match value {
        Value::Absent => return Ok(None),
        Value::Text(text) => match text.parse::<Timestamp>() {
            Ok(instant) => i128::from(instant.as_millisecond()),
            Err(_) => {
                let problem = "is no instant; write 2026-01-05T12:00:00Z, or milliseconds";
                return Err(wrong(field, value, problem));
            }
        },
        Value::Whole(number) if *number < MILLIS_MIN => {
            return Err(wrong(field, value, "is too small for milliseconds since 1970"));
        }
        Value::Whole(number) => *number,
        other => return Err(wrong(field, other, "is neither RFC 3339 nor whole milliseconds")),
    };
    let within = u64::try_from(millis).ok().filter(|millis| *millis <= AT_MAX);
    within.ok_or_else(|| wrong(field, value, "is not from 1970 to 9999")).map(Some)
}

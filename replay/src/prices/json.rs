//! JSON whose values stay text until somebody asks: a number is its own digits, never a float.

use std::borrow::Cow;
use std::fmt;

use events::rate::{DecimalError, Rate};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// An object's pairs, in the order they stand; a key may stand twice.
#[derive(Clone, Debug, Default)]
pub(super) struct Object<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> Object<'a> {
    /// The object a value is; `None` for any other value.
    pub(super) fn of(raw: &'a RawValue) -> Option<Self> {
        serde_json::from_str(raw.get()).ok()
    }

    /// The value of a key. `null` is the same as a key that is left out.
    pub(super) fn get(&self, key: &str) -> Option<&'a RawValue> {
        let found = self.0.iter().find(|(name, _)| name == key).map(|(_, raw)| *raw);
        found.filter(|raw| raw.get() != "null")
    }

    /// The object that is the value of a key.
    pub(super) fn object(&self, key: &str) -> Option<Self> {
        Self::of(self.get(key)?)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(key, raw)| (key.as_ref(), *raw))
    }

    /// A key that stands more than once, with its later value.
    pub(super) fn twice(&self) -> Option<(&str, &'a RawValue)> {
        let mut pairs: Vec<(&str, &RawValue)> = self.iter().collect();
        pairs.sort_by_key(|(key, _)| *key);
        pairs.windows(2).find(|pair| pair[0].0 == pair[1].0).map(|pair| pair[1])
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Object<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Object<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some((Text(key), value)) = map.next_entry()? {
                    pairs.push((key, value));
                }
                Ok(Object(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

/// The list a value is; `None` for any other value.
pub(super) fn list(raw: &RawValue) -> Option<Vec<&RawValue>> {
    serde_json::from_str(raw.get()).ok()
}

/// The text a value is; `None` for any other value.
pub(super) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str(raw.get()).ok().map(|Text(text)| text)
}

/// The digits of a number, or what a text holds; `None` for any other value.
pub(super) fn digits(raw: &RawValue) -> Option<Cow<'_, str>> {
    if raw.get().starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
        return Some(Cow::Borrowed(raw.get()));
    }
    text(raw)
}

/// The whole number a value is, however it is written: `256000`, `256000.0`, `2.56e5` or `"256000"`.
pub(super) fn whole(raw: &RawValue) -> Option<u32> {
    // Read as a number of millions, for the sake of the one decimal reader there is.
    let (mantissa, scale) = Rate::per_million(&digits(raw)?).ok()?.decimal();
    let shift = 6_u8.checked_sub(scale)?;
    u32::try_from(mantissa.checked_mul(10_u64.pow(u32::from(shift)))?).ok()
}

/// True when a value is a number above zero.
pub(super) fn is_positive(raw: &RawValue) -> bool {
    match digits(raw).map(|digits| digits.parse::<Rate>()) {
        Some(Ok(rate)) => rate != Rate::ZERO,
        Some(Err(DecimalError::TooManyDigits | DecimalError::TooLarge)) => true,
        Some(Err(DecimalError::NotDecimal | DecimalError::Negative)) | None => false,
    }
}

/// An object or a list: a whole file, or what it holds.
pub(super) enum Document<'a> {
    Object(Object<'a>),
    List(Vec<&'a RawValue>),
}

impl<'a> Document<'a> {
    pub(super) fn read(json: &'a [u8]) -> Result<Self, serde_json::Error> {
        Self::parse(serde_json::from_slice(json)?)
    }

    /// What a value holds; `None` if it is neither.
    pub(super) fn of(raw: &'a RawValue) -> Option<Self> {
        Self::parse(raw).ok()
    }

    fn parse(raw: &'a RawValue) -> Result<Self, serde_json::Error> {
        if raw.get().starts_with('[') {
            return Ok(Self::List(serde_json::from_str(raw.get())?));
        }
        Ok(Self::Object(serde_json::from_str(raw.get())?))
    }
}

//! Pieces all three wires are made of: texts, counts, lists and objects, any of which may be null.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::error::{WireError, json};

/// A text: empty for null. It is taken from the body as it stands where nothing in it is escaped. Half a surrogate
/// pair, as clients leave when they cut a text, becomes a replacement character.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl<'a> Text<'a> {
    /// It, unless it is empty.
    pub(super) fn some(self) -> Option<Cow<'a, str>> {
        Some(self.0).filter(|text| !text.is_empty())
    }

    fn of_borrowed(bytes: &'a [u8]) -> Self {
        Self(String::from_utf8_lossy(bytes))
    }

    fn of(bytes: &[u8]) -> Self {
        Self(Cow::Owned(String::from_utf8_lossy(bytes).into_owned()))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_option(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Text::default())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        // As bytes: of texts, the reader takes no halves of surrogate pairs.
        deserializer.deserialize_bytes(self)
    }

    fn visit_borrowed_bytes<E: Error>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        Ok(Text::of_borrowed(bytes))
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Text::of(bytes))
    }
}

/// A count: whole, however it is written, and the largest there is where it is larger than that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count(pub(super) Option<u32>);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = Option::<f64>::deserialize(deserializer)?;
        match number {
            None => Ok(Self(None)),
            // A cast of what is too large gives the largest there is.
            Some(number) if number >= 0.0 => Ok(Self(Some(number as u32))),
            Some(_) => Err(D::Error::custom("expected a count that is not negative")),
        }
    }
}

/// An object, and nothing for null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object<T>(pub(super) Option<T>);

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ObjectVisitor(PhantomData))
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Object(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|object| Object(Some(object)))
    }
}

/// A list of objects: empty for null. Nulls in it keep their places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct List<T>(Vec<Object<T>>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> List<T> {
    /// What is in it.
    pub(super) fn into_iter(self) -> impl Iterator<Item = T> {
        self.0.into_iter().filter_map(|object| object.0)
    }

    /// What is in it, each with its place in the request.
    pub(super) fn into_places(self) -> impl Iterator<Item = (usize, T)> {
        let places = self.0.into_iter().enumerate();
        places.filter_map(|(place, object)| object.0.map(|object| (place, object)))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = Option::<Vec<Object<T>>>::deserialize(deserializer)?;
        Ok(Self(list.unwrap_or_default()))
    }
}

/// What a message says: a text, or a list of parts.
#[derive(Clone, Debug)]
pub(super) enum Content<'a, P> {
    /// A text.
    Text(Text<'a>),
    /// Parts.
    Parts(List<P>),
}

impl<P> Default for Content<'_, P> {
    fn default() -> Self {
        Self::Text(Text::default())
    }
}

impl<'de: 'a, 'a, P: Deserialize<'de>> Deserialize<'de> for Content<'a, P> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_option(ContentVisitor(PhantomData))
    }
}

struct ContentVisitor<P>(PhantomData<P>);

impl<'de, P: Deserialize<'de>> Visitor<'de> for ContentVisitor<P> {
    type Value = Content<'de, P>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of parts")
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Content::default())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_bytes(self)
    }

    fn visit_borrowed_bytes<E: Error>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        Ok(Content::Text(Text::of_borrowed(bytes)))
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Content::Text(Text::of(bytes)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut parts = Vec::new();
        while let Some(part) = seq.next_element()? {
            parts.push(part);
        }
        Ok(Content::Parts(List(parts)))
    }
}

/// JSON as it stands in the body.
pub(super) type Raw<'a> = Option<&'a RawValue>;

/// JSON as it stands in the body; of a text, what it says.
///
/// # Errors
/// [`WireError`] for a text that is none.
pub(super) fn text_of(raw: Raw<'_>) -> Result<Cow<'_, str>, WireError> {
    match raw.map(RawValue::get) {
        None => Ok(Cow::Borrowed("")),
        Some(text) if text.starts_with('"') => json::<Text<'_>>(text).map(|text| text.0),
        Some(text) => Ok(Cow::Borrowed(text)),
    }
}

/// JSON as it stands in the body, to the byte.
pub(super) fn verbatim(raw: Raw<'_>) -> Cow<'_, str> {
    Cow::Borrowed(raw.map_or("", RawValue::get))
}

//! What a message holds, by kind: texts are passed over, not kept.

use std::fmt;

use events::payload::Parts;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The kinds of a message's content: a text, or a list of blocks that name their type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Content(pub(super) Option<Parts>);

/// The kind of a block by the name of its type; `None` for what ferry does not tell apart.
fn kind(name: &str) -> Option<Parts> {
    match name {
        "text" | "input_text" | "output_text" => Some(Parts::TEXT),
        "tool_result" | "web_search_tool_result" => Some(Parts::TOOL_RESULT),
        "tool_use" | "server_tool_use" => Some(Parts::TOOL_USE),
        "thinking" | "redacted_thinking" => Some(Parts::THINKING),
        _ => None,
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Blocks)
    }
}

struct Blocks;

impl<'de> Visitor<'de> for Blocks {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message's content")
    }

    fn visit_str<E>(self, _: &str) -> Result<Content, E> {
        Ok(Content(Some(Parts::TEXT)))
    }

    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(Content::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut blocks: A) -> Result<Content, A::Error> {
        let mut content = Content::default();
        while let Some(Block(kind)) = blocks.next_element()? {
            content.0 = Parts::known_to_either(content.0, kind);
        }
        Ok(content)
    }
}

/// One block: only its type is read.
struct Block(Option<Parts>);

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Block;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a block of a message's content")
    }

    fn visit_str<E>(self, _: &str) -> Result<Block, E> {
        Ok(Block(Some(Parts::TEXT)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Block, A::Error> {
        let mut found = None;
        while let Some(field) = fields.next_key::<std::borrow::Cow<'_, str>>()? {
            if field == "type" {
                found = kind(&fields.next_value::<std::borrow::Cow<'_, str>>()?);
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Block(found))
    }
}

//! turn: a request arrived at the proxy, or was imported.

use serde::{Deserialize, Serialize};

use super::{Ask, Name, SourceKey};
use crate::bytes::Bytes16;

/// Kinds of content, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Parts(pub u8);

impl Parts {
    /// Plain text.
    pub const TEXT: Self = Self(1);
    /// The result of a tool call.
    pub const TOOL_RESULT: Self = Self(2);
    /// A tool call.
    pub const TOOL_USE: Self = Self(4);
    /// Thinking.
    pub const THINKING: Self = Self(8);

    /// What two know together.
    #[must_use]
    pub fn known_to_either(a: Option<Self>, b: Option<Self>) -> Option<Self> {
        match (a, b) {
            (Some(a), Some(b)) => Some(a | b),
            (known, None) | (None, known) => known,
        }
    }

    /// True when every kind of `parts` is there.
    #[must_use]
    pub const fn contains(self, parts: Self) -> bool {
        self.0 & parts.0 == parts.0
    }
}

impl std::ops::BitOr for Parts {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// One request. The subject is the turn's id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn<'a> {
    /// What sent it.
    #[serde(borrow)]
    pub client: Name<'a>,
    /// Keyed digest of the conversation's id.
    pub conversation: Bytes16,
    /// Keyed digest of the sub-agent's id; `None` is the main agent.
    pub subagent: Option<Bytes16>,
    /// The model asked for, `provider/model` where the provider is known.
    pub model: Name<'a>,
    /// What is new in the prompt since the turn before.
    pub news: Option<Parts>,
    /// Longest prefix of the prompt that was sent before in this conversation, in tokens: an upper
    /// bound on what a cache could hold.
    pub prefix_tokens: Option<u32>,
    /// The source's own row key, where its ids are not personal.
    pub source_key: Option<SourceKey<'a>>,
    /// What a live turn asks for; `None` for one that is only told of.
    pub ask: Option<Ask<'a>>,
}

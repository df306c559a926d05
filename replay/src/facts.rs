//! What is known of an imported turn, and how it grows.

use events::ids::{Millis, Subject};
use events::payload::{Amend, DispatchResult, Finish, Parts, Turn, TurnFacts};
use events::usage::Usage;

/// What is known of a turn and its first attempt. Copies of one row may each tell a part of it: what they tell
/// together does not depend on the order they come in, since joining is commutative, associative and idempotent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) at: Millis,
    pub(crate) conversation: Subject,
    pub(crate) subagent: Option<Subject>,
    pub(crate) news: Option<Parts>,
    pub(crate) prefix_tokens: Option<u32>,
    pub(crate) usage: Usage,
    pub(crate) parts: Option<Parts>,
    pub(crate) finish: Finish,
}

impl Facts {
    pub(crate) fn of(turn: &Turn<'_>, result: &DispatchResult<'_>, at: Millis) -> Self {
        Self {
            at,
            conversation: turn.conversation,
            subagent: turn.subagent,
            news: turn.news,
            prefix_tokens: turn.prefix_tokens,
            usage: result.usage,
            parts: result.parts,
            finish: result.finish,
        }
    }

    /// The earliest copy says when and where the turn was, the most complete figure counts, and of the rest
    /// everything that any copy says.
    pub(crate) fn joined(&self, other: &Self) -> Self {
        let earliest = |facts: &Self| (facts.at, facts.conversation, facts.subagent);
        let (at, conversation, subagent) = earliest(self).min(earliest(other));
        let most =
            if completeness(&other.usage) > completeness(&self.usage) { other } else { self };
        Self {
            at,
            conversation,
            subagent,
            news: Parts::known_to_either(self.news, other.news),
            prefix_tokens: self.prefix_tokens.max(other.prefix_tokens),
            usage: most.usage,
            parts: Parts::known_to_either(self.parts, other.parts),
            finish: if other.finish as u8 > self.finish as u8 { other.finish } else { self.finish },
        }
    }

    /// The facts after an amend.
    pub(crate) fn follow(&mut self, amend: &Amend<'_>) {
        self.usage = amend.usage;
        if let Some(TurnFacts {
            conversation, subagent, news, prefix_tokens, parts, finish, ..
        }) = amend.turn
        {
            let (at, usage) = (amend.turn_at, amend.usage);
            *self = Self { at, conversation, subagent, news, prefix_tokens, usage, parts, finish };
        }
    }

    /// The turn's own facts, for an amend.
    pub(crate) fn of_turn(&self, was_at: Millis) -> TurnFacts {
        TurnFacts {
            was_at,
            conversation: self.conversation,
            subagent: self.subagent,
            news: self.news,
            prefix_tokens: self.prefix_tokens,
            parts: self.parts,
            finish: self.finish,
        }
    }
}

/// How much a figure says, so that the most complete of several can be told: copies of a message grow, the last holds
/// most. What is odd about it comes last, so that no order of copies makes a difference.
#[must_use]
pub fn completeness(usage: &Usage) -> [Option<u32>; 8] {
    [
        usage.output,
        usage.prompt,
        usage.cache_read,
        usage.cache_write_1h,
        usage.cache_write_5m,
        usage.reasoning,
        usage.images,
        Some(u32::from(usage.marks.bits())),
    ]
}

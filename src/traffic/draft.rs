//! A turn as read from a line, before its names are known to be names.

use std::borrow::Cow;

use events::ids::Millis;
use events::payload::{Ending, Finish, Name, Parts, RawPairs, SourceKey};
use events::usage::{RawUsage, Usage};
use replay::import::ImportedTurn;

use super::fields::Problem;

/// What a line says of a turn.
#[derive(Debug)]
pub(super) struct Draft<'l> {
    /// The row's own id.
    pub(super) row: Cow<'l, str>,
    /// Whether the source's ids are not personal, so that the row's may stand in clear.
    pub(super) row_in_clear: bool,
    /// What sent it.
    pub(super) client: Cow<'l, str>,
    /// The conversation's id; `None`: one of its own.
    pub(super) conversation: Option<Cow<'l, str>>,
    /// The sub-agent's id; `None`: the main agent.
    pub(super) subagent: Option<Cow<'l, str>>,
    /// The model, `provider/model` where the provider is known.
    pub(super) model: Cow<'l, str>,
    /// When the request began.
    pub(super) at: Millis,
    /// When the answer was complete.
    pub(super) answered_at: Millis,
    /// What is new in the prompt.
    pub(super) news: Option<Parts>,
    /// Longest prefix of the prompt sent before, in tokens.
    pub(super) prefix_tokens: Option<u32>,
    /// Usage in ferry's convention.
    pub(super) usage: Usage,
    /// Usage as the source has it.
    pub(super) raw_usage: RawUsage,
    /// What the answer holds.
    pub(super) parts: Option<Parts>,
    /// Why the answer ended.
    pub(super) finish: Finish,
    /// From request to last byte, in milliseconds.
    pub(super) latency_ms: Option<u32>,
    /// How it ended, where it was not answered.
    pub(super) ending: Option<Ending>,
}

impl Draft<'_> {
    /// The turn, of a source whose rows are keyed under `source`.
    ///
    /// # Errors
    /// [`Problem`] when client or model are no names.
    pub(super) fn turn<'d>(&'d self, source: &'d str) -> Result<ImportedTurn<'d>, Problem> {
        // A key that does not fit stays out: the digest of the row's id tells turns apart.
        let source_key = SourceKey::new(&self.row).ok().filter(|_| self.row_in_clear);
        Ok(ImportedTurn {
            source,
            row: &self.row,
            source_key,
            client: name("client", &self.client)?,
            conversation: self.conversation.as_ref().unwrap_or(&self.row),
            subagent: self.subagent.as_deref(),
            model: name("model", &self.model)?,
            at: self.at,
            answered_at: self.answered_at,
            news: self.news,
            prefix_tokens: self.prefix_tokens,
            usage: self.usage,
            raw_usage: RawPairs::of(&self.raw_usage),
            parts: self.parts,
            finish: self.finish,
            latency_ms: self.latency_ms,
            ending: self.ending,
        })
    }
}

fn name<'d>(field: &'static str, text: &'d str) -> Result<Name<'d>, Problem> {
    Name::new(text)
        .map_err(|_| Problem::field(field, text, "is no name: 1 to 128 bytes of printable ASCII"))
}

//! Sessions of Codex, as it keeps them under `~/.codex/sessions`: `docs/import.md` tells what is read.
//!
//! Each answer is followed by a line that counts the session's tokens so far and the answer's own. The same count comes
//! again when only limits have changed, and all of them when a session is forked: a call is known by its session and
//! the session's tokens up to it.

use std::borrow::Cow;

use events::ids::Millis;
use events::payload::{Finish, Parts};
use events::usage::{Convention, RawUsage};
use serde::Deserialize;

use super::draft::Draft;
use super::fields::Problem;
use super::jsonl::with_provider;
use super::value::{Value, instant, needed, syntax, text, word};

/// What counts make up a session's usage.
const COUNTS: [&str; 4] =
    ["input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens"];

/// Tokens written to a cache, which newer Codex tells.
const WRITTEN: &str = "cache_write_input_tokens";

/// What is read of a line.
#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'l"))]
struct Entry<'l> {
    #[serde(rename = "type", default)]
    kind: Value<'l>,
    #[serde(default)]
    timestamp: Value<'l>,
    #[serde(default)]
    payload: Option<Payload<'l>>,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'l"))]
struct Payload<'l> {
    #[serde(rename = "type", default)]
    kind: Value<'l>,
    #[serde(default)]
    id: Value<'l>,
    #[serde(default)]
    forked_from_id: Value<'l>,
    #[serde(default)]
    source: Option<Source<'l>>,
    #[serde(default)]
    model_provider: Value<'l>,
    #[serde(default)]
    model: Value<'l>,
    #[serde(default)]
    role: Value<'l>,
    #[serde(default)]
    info: Option<Info<'l>>,
}

/// Who started a session: a word, or an object that names a parent.
#[derive(Debug, Deserialize)]
#[serde(untagged, bound(deserialize = "'de: 'l"))]
enum Source<'l> {
    Subagent { subagent: Subagent<'l> },
    Other(serde::de::IgnoredAny),
}

#[derive(Debug, Deserialize)]
#[serde(untagged, bound(deserialize = "'de: 'l"))]
enum Subagent<'l> {
    Spawned { thread_spawn: Spawn<'l> },
    Other(serde::de::IgnoredAny),
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'l"))]
struct Spawn<'l> {
    parent_thread_id: Cow<'l, str>,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'l"))]
struct Info<'l> {
    #[serde(default)]
    total_token_usage: Value<'l>,
    #[serde(default)]
    last_token_usage: Value<'l>,
}

/// True for a line that a session's file begins with.
pub(super) fn begins(line: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Start<'l> {
        #[serde(rename = "type", borrow)]
        kind: Cow<'l, str>,
        #[serde(rename = "payload")]
        _payload: serde::de::IgnoredAny,
    }
    const KINDS: [&str; 5] =
        ["session_meta", "response_item", "event_msg", "turn_context", "compacted"];
    serde_json::from_slice::<Start<'_>>(line).is_ok_and(|start| KINDS.contains(&&*start.kind))
}

/// A session's file, line by line.
#[derive(Debug, Default)]
pub(super) struct Session {
    conversation: Option<String>,
    subagent: Option<String>,
    /// A session says first who it is; what it was forked from says so after.
    is_named: bool,
    provider: Option<String>,
    model: Option<String>,
    totals: Option<RawUsage>,
    /// When what led to the next answer was said.
    asked_at: Option<Millis>,
    news: Option<Parts>,
    parts: Option<Parts>,
}

impl Session {
    /// A session whose file is named `rollout-2025-10-01T12-00-00-<id>.jsonl`.
    pub(super) fn of_file(name: &str) -> Self {
        const ID_CHARS: usize = 36;
        let stem = name.strip_suffix(".jsonl").unwrap_or(name);
        let id = stem.len().checked_sub(ID_CHARS).and_then(|start| stem.get(start..));
        let id = id.filter(|id| stem.starts_with("rollout-") && id.matches('-').count() == 4);
        Self { conversation: id.map(str::to_owned), ..Self::default() }
    }

    /// The call a line counts, if it counts one.
    ///
    /// # Errors
    /// [`Problem`].
    pub(super) fn draft(&mut self, line: &[u8]) -> Result<Option<Draft<'static>>, Problem> {
        let entry: Entry<'_> = serde_json::from_slice(line).map_err(|error| syntax(&error))?;
        let Some(payload) = entry.payload else { return Ok(None) };
        match word("type", &entry.kind)? {
            Some("session_meta") => self.name(payload).map(|()| None),
            Some("turn_context") => {
                self.model = text("payload.model", payload.model)?.map(Cow::into_owned);
                Ok(None)
            }
            Some("response_item") => {
                let at = instant("timestamp", &entry.timestamp)?;
                self.hear(at, &payload)?;
                Ok(None)
            }
            Some("event_msg") if word("payload.type", &payload.kind)? == Some("token_count") => {
                let at = needed("timestamp", instant("timestamp", &entry.timestamp)?)?;
                payload.info.map_or(Ok(None), |info| self.count(at, info))
            }
            _ => Ok(None),
        }
    }

    /// Takes in who a session is. Of a fork of a fork the file repeats who they were, too: the conversation is the
    /// first of them all.
    fn name(&mut self, payload: Payload<'_>) -> Result<(), Problem> {
        let id = needed("payload.id", text("payload.id", payload.id)?)?.into_owned();
        let spawned_by = match payload.source {
            Some(Source::Subagent { subagent: Subagent::Spawned { thread_spawn } }) => {
                Some(thread_spawn.parent_thread_id)
            }
            _ => None,
        };
        let is_spawned = spawned_by.is_some();
        let forked_from = text("payload.forked_from_id", payload.forked_from_id)?;
        let parent = spawned_by.or(forked_from).map(Cow::into_owned);
        if self.is_named {
            if self.conversation.as_ref() == Some(&id) && parent.is_some() {
                self.conversation = parent;
            }
            return Ok(());
        }
        self.is_named = true;
        self.provider =
            text("payload.model_provider", payload.model_provider)?.map(Cow::into_owned);
        self.subagent = is_spawned.then(|| id.clone());
        self.conversation = Some(parent.unwrap_or(id));
        Ok(())
    }

    /// What was said to the model, and what it said: by kind.
    fn hear(&mut self, at: Option<Millis>, payload: &Payload<'_>) -> Result<(), Problem> {
        let kind = word("payload.type", &payload.kind)?.unwrap_or_default();
        let is_users = word("payload.role", &payload.role)? != Some("assistant");
        let (to_the_model, parts) = match kind {
            "message" => (is_users, Parts::TEXT),
            "reasoning" => (false, Parts::THINKING),
            kind if kind.ends_with("_call_output") => (true, Parts::TOOL_RESULT),
            kind if kind.ends_with("_call") => (false, Parts::TOOL_USE),
            _ => return Ok(()),
        };
        let heard = if to_the_model { &mut self.news } else { &mut self.parts };
        *heard = Some(heard.unwrap_or_default() | parts);
        if to_the_model {
            self.asked_at = at.or(self.asked_at);
        }
        Ok(())
    }

    fn count(&mut self, at: Millis, info: Info<'_>) -> Result<Option<Draft<'static>>, Problem> {
        let Value::Object(totals) = info.total_token_usage else {
            return Err(Problem::Missing { field: "payload.info.total_token_usage" });
        };
        let before = self.totals.replace(totals.clone());
        let counts = |usage: &RawUsage| COUNTS.map(|count| usage.get(count));
        if before.as_ref().is_some_and(|before| counts(before) == counts(&totals)) {
            return Ok(None);
        }
        let raw_usage = match info.last_token_usage {
            Value::Object(last) => last,
            _ => since(before.as_ref(), &totals),
        };
        if counts(&raw_usage).iter().flatten().all(|count| *count == 0) {
            // Codex notes that its context is full by a count of nothing.
            return Ok(None);
        }
        // A sub-agent's file may begin with its parent's counts: they are the parent's calls.
        let session = self.conversation.as_ref();
        let session = session.ok_or(Problem::Missing { field: "session_meta before it" })?;
        let model =
            self.model.as_ref().ok_or(Problem::Missing { field: "turn_context before it" })?;
        let so_far = counts(&totals).map(|count| count.unwrap_or(-1).to_string()).join(" ");
        let asked_at = self.asked_at.take().filter(|asked| *asked <= at);
        Ok(Some(Draft {
            row: Cow::Owned(format!("{session} {so_far}")),
            row_in_clear: false,
            client: Cow::Borrowed("codex"),
            conversation: self.conversation.clone().map(Cow::Owned),
            subagent: self.subagent.clone().map(Cow::Owned),
            model: with_provider(Cow::Owned(model.clone()), self.provider.clone().map(Cow::Owned)),
            at: asked_at.unwrap_or(at),
            answered_at: at,
            news: self.news.take(),
            prefix_tokens: None,
            usage: raw_usage.normalise(Convention::Codex),
            raw_usage,
            parts: self.parts.take(),
            finish: Finish::Unknown,
            latency_ms: None,
            ending: None,
        }))
    }
}

/// What a session's tokens grew by.
fn since(before: Option<&RawUsage>, totals: &RawUsage) -> RawUsage {
    let before = |count: &str| before.and_then(|before| before.get(count)).unwrap_or(0);
    let all = || COUNTS.into_iter().chain([WRITTEN]);
    // Less than before of anything: the session began to count anew.
    let is_anew = all().any(|count| totals.get(count).unwrap_or(0) < before(count));
    let grown = |count: &'static str| {
        let total = totals.get(count)?;
        Some((count, if is_anew { total } else { total - before(count) }))
    };
    RawUsage::from_pairs(all().filter_map(grown))
}

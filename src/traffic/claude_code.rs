//! Sessions of Claude Code, as it keeps them under `~/.claude/projects`: `docs/import.md` tells what is read.
//!
//! An answer stands in several lines, one per block of its content, each with the usage so far. Lines of one message
//! are put together here; copies in other files are known by the same id.

use std::borrow::Cow;
use std::collections::BTreeMap;

use events::ids::Millis;
use events::payload::{Finish, Parts};
use events::usage::{Convention, RawUsage};
use replay::facts::completeness;
use serde::Deserialize;

use super::content::Content;
use super::draft::Draft;
use super::fields::Problem;
use super::value::{Value, instant, needed, syntax, text};

/// What Claude Code calls the model of messages it wrote itself.
const SYNTHETIC: &str = "<synthetic>";

/// What is read of a line.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'l"))]
struct Entry<'l> {
    #[serde(rename = "type", default)]
    kind: Value<'l>,
    #[serde(default)]
    session_id: Value<'l>,
    #[serde(default)]
    forked_from: Option<ForkedFrom<'l>>,
    #[serde(default)]
    agent_id: Value<'l>,
    #[serde(default)]
    is_sidechain: Value<'l>,
    #[serde(default)]
    uuid: Value<'l>,
    #[serde(default)]
    parent_uuid: Value<'l>,
    #[serde(default)]
    request_id: Value<'l>,
    #[serde(default)]
    timestamp: Value<'l>,
    #[serde(default)]
    message: Option<Message<'l>>,
}

/// Where a copied line was said first.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'l"))]
struct ForkedFrom<'l> {
    #[serde(default)]
    session_id: Value<'l>,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'l"))]
struct Message<'l> {
    #[serde(default)]
    id: Value<'l>,
    #[serde(default)]
    model: Value<'l>,
    #[serde(default)]
    stop_reason: Value<'l>,
    #[serde(default)]
    usage: Value<'l>,
    #[serde(default)]
    content: Content,
}

/// True for a line that a session's file begins with.
pub(super) fn begins(line: &[u8]) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Start<'l> {
        #[serde(rename = "type", borrow)]
        _kind: Cow<'l, str>,
        session_id: Option<serde::de::IgnoredAny>,
        leaf_uuid: Option<serde::de::IgnoredAny>,
        snapshot: Option<serde::de::IgnoredAny>,
    }
    serde_json::from_slice::<Start<'_>>(line).is_ok_and(|start| {
        start.session_id.is_some() || start.leaf_uuid.is_some() || start.snapshot.is_some()
    })
}

/// One call of a model, as far as its lines have told it.
#[derive(Debug)]
struct Call {
    /// The first line that tells of it.
    line: u64,
    model: String,
    first_at: Millis,
    last_at: Millis,
    raw: RawUsage,
    news: Option<Parts>,
    parts: Option<Parts>,
    finish: Finish,
}

/// A session's file, line by line.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// By (message, request, model), and where they stand: copies in one file may tell of several sessions.
    calls: BTreeMap<(String, String, Option<String>), Call>,
    /// What a person or a tool said in a line, by the line's own id.
    said: BTreeMap<String, Parts>,
    /// Where a side chain began, by the line's own id.
    side_chains: BTreeMap<String, String>,
}

impl Session {
    /// Takes in one line. What is no answer of a model is passed over.
    ///
    /// # Errors
    /// [`Problem`].
    pub(super) fn take(&mut self, line: &[u8], number: u64) -> Result<(), Problem> {
        let entry: Entry<'_> = serde_json::from_slice(line).map_err(|error| syntax(&error))?;
        let parent = text("parentUuid", entry.parent_uuid)?;
        let side_chain = self.side_chain(&entry.is_sidechain, &entry.uuid, parent.as_deref())?;
        match (&entry.kind, entry.message) {
            (Value::Text(kind), Some(message)) if kind == "user" => {
                if let (Value::Text(uuid), Some(parts)) = (&entry.uuid, message.content.0) {
                    self.said.insert(uuid.clone().into_owned(), parts);
                }
                Ok(())
            }
            (Value::Text(kind), Some(message)) if kind == "assistant" => {
                let at = needed("timestamp", instant("timestamp", &entry.timestamp)?)?;
                let agent = text("agentId", entry.agent_id)?.map(Cow::into_owned);
                let session = match entry.forked_from {
                    Some(ForkedFrom { session_id: Value::Text(first) }) => Value::Text(first),
                    _ => entry.session_id,
                };
                let place = Place {
                    line: number,
                    at,
                    session: needed("sessionId", text("sessionId", session)?)?,
                    subagent: agent.or(side_chain),
                    news: parent.and_then(|parent| self.said.get(&*parent).copied()),
                    uuid: text("uuid", entry.uuid)?,
                    request: text("requestId", entry.request_id)?,
                };
                self.answer(place, message)
            }
            _ => Ok(()),
        }
    }

    /// The side chain a line belongs to: the id of the line it began with.
    fn side_chain(
        &mut self,
        is_in_one: &Value<'_>,
        uuid: &Value<'_>,
        parent: Option<&str>,
    ) -> Result<Option<String>, Problem> {
        if !matches!(is_in_one, Value::Truth(true)) {
            return Ok(None);
        }
        let Value::Text(uuid) = uuid else { return Err(Problem::Missing { field: "uuid" }) };
        let root = parent.and_then(|parent| self.side_chains.get(parent).cloned());
        let root = root.unwrap_or_else(|| uuid.clone().into_owned());
        self.side_chains.insert(uuid.clone().into_owned(), root.clone());
        Ok(Some(root))
    }

    fn answer(&mut self, place: Place<'_>, message: Message<'_>) -> Result<(), Problem> {
        let model = needed("message.model", text("message.model", message.model)?)?;
        if model == SYNTHETIC {
            return Ok(());
        }
        let Value::Object(raw) = message.usage else {
            return Err(Problem::Missing { field: "message.usage" });
        };
        let id = text("message.id", message.id)?.or(place.uuid);
        let id = needed("message.id", id)?;
        let finish = finish(&message.stop_reason)?;
        let key = format!("{id} {} {model}", place.request.as_deref().unwrap_or_default());
        let place_of_it = (key, place.session.into_owned(), place.subagent);
        let call = self.calls.entry(place_of_it).or_insert_with(|| Call {
            line: place.line,
            model: model.into_owned(),
            first_at: place.at,
            last_at: place.at,
            raw: RawUsage::default(),
            news: None,
            parts: None,
            finish: Finish::Unknown,
        });
        call.first_at = call.first_at.min(place.at);
        call.last_at = call.last_at.max(place.at);
        call.news = Parts::known_to_either(call.news, place.news);
        call.parts = Parts::known_to_either(call.parts, message.content.0);
        if finish as u8 > call.finish as u8 {
            call.finish = finish;
        }
        // Usage grows while an answer is written: the most complete counts, here as between files.
        if completeness(&raw.normalise(Convention::Anthropic))
            > completeness(&call.raw.normalise(Convention::Anthropic))
        {
            call.raw = raw;
        }
        Ok(())
    }

    /// The calls of the file, in the order they were made.
    pub(super) fn calls(&mut self) -> Vec<(u64, Draft<'static>)> {
        let mut calls: Vec<_> = std::mem::take(&mut self.calls).into_iter().collect();
        calls.sort_by_key(|(_, call)| (call.first_at, call.line));
        calls.into_iter().map(|(place, call)| (call.line, draft(place, call))).collect()
    }
}

/// Where a line's answer stands.
struct Place<'l> {
    line: u64,
    at: Millis,
    session: Cow<'l, str>,
    subagent: Option<String>,
    news: Option<Parts>,
    uuid: Option<Cow<'l, str>>,
    request: Option<Cow<'l, str>>,
}

fn draft(
    (key, conversation, subagent): (String, String, Option<String>),
    call: Call,
) -> Draft<'static> {
    Draft {
        row: Cow::Owned(key),
        row_in_clear: false,
        client: Cow::Borrowed("claude-code"),
        conversation: Some(Cow::Owned(conversation)),
        subagent: subagent.map(Cow::Owned),
        model: Cow::Owned(call.model),
        at: call.first_at,
        answered_at: call.last_at,
        news: call.news,
        prefix_tokens: None,
        usage: call.raw.normalise(Convention::Anthropic),
        raw_usage: call.raw,
        parts: call.parts,
        finish: call.finish,
        latency_ms: None,
        ending: None,
    }
}

/// Why an answer ended; reasons that ferry has no word for are unknown.
fn finish(reason: &Value<'_>) -> Result<Finish, Problem> {
    Ok(match reason {
        Value::Text(reason) => match &**reason {
            "end_turn" | "stop_sequence" => Finish::EndTurn,
            "tool_use" => Finish::ToolUse,
            "max_tokens" | "model_context_window_exceeded" => Finish::Length,
            "refusal" => Finish::Refused,
            _ => Finish::Unknown,
        },
        _ => Finish::Unknown,
    })
}

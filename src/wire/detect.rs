//! Which wire a body is of, told by its shape: for bodies that come without a word on it.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Wire;
use super::error::{WireError, body, json};
use super::shapes::{List, Object, Raw};

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow, default)]
    input: Raw<'a>,
    #[serde(borrow, default)]
    messages: Raw<'a>,
    #[serde(borrow, default)]
    system: Raw<'a>,
    #[serde(borrow, default)]
    anthropic_version: Raw<'a>,
    #[serde(borrow, default)]
    tools: Raw<'a>,
    #[serde(borrow, default)]
    max_tokens: Raw<'a>,
    #[serde(borrow, default)]
    tool_choice: Raw<'a>,
    #[serde(borrow, default)]
    stream_options: Raw<'a>,
    #[serde(borrow, default)]
    response_format: Raw<'a>,
    #[serde(borrow, default)]
    reasoning_effort: Raw<'a>,
}

#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow, default)]
    role: Raw<'a>,
    #[serde(borrow, default)]
    content: Raw<'a>,
    #[serde(borrow, default)]
    tool_calls: Raw<'a>,
}

#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Raw<'a>,
}

#[derive(Deserialize)]
struct Offer<'a> {
    #[serde(borrow, default)]
    function: Raw<'a>,
    #[serde(borrow, default)]
    input_schema: Raw<'a>,
}

/// Tells the wire of a body. A body of nothing but a model, messages and a limit could be of either wire that has
/// messages: the limit, which only Anthropic's has to have, decides.
///
/// # Errors
/// [`WireError`] for what is no JSON object, and for one without anything said.
pub(crate) fn detect(bytes: &[u8]) -> Result<Wire, WireError> {
    let Object(Some(body)) = body::<Object<Body<'_>>>(bytes)? else {
        return Err(WireError::missing("messages or input", bytes));
    };
    if body.input.is_some() {
        return Ok(Wire::Responses);
    }
    if body.messages.is_none() {
        return Err(WireError::missing("messages or input", bytes));
    }
    let said: Vec<Said<'_>> = list(body.messages);
    let tools: Vec<Offer<'_>> = list(body.tools);
    let for_sure = body.system.is_some()
        || body.anthropic_version.is_some()
        || tools.iter().any(|tool| tool.input_schema.is_some())
        || said.iter().any(has_blocks);
    let messages = for_sure || (body.max_tokens.is_some() && !is_chat(&body, &said, &tools));
    Ok(if messages { Wire::Messages } else { Wire::Chat })
}

/// What there is in a list; nothing for what is none: readers say what is wrong with it.
fn list<'a, T: Deserialize<'a>>(raw: Raw<'a>) -> Vec<T> {
    let list = json::<List<T>>(raw.map_or("null", RawValue::get));
    list.map(|list| list.into_iter().collect()).unwrap_or_default()
}

fn has_blocks(said: &Said<'_>) -> bool {
    let Some(content) = said.content.filter(|content| content.get().starts_with('[')) else {
        return false;
    };
    let kinds: Vec<Kind<'_>> = list(Some(content));
    kinds.iter().any(|kind| is_one_of(kind.kind, &[r#""tool_use""#, r#""tool_result""#]))
}

/// True when there is something in it that only chat completions have.
fn is_chat(body: &Body<'_>, said: &[Said<'_>], tools: &[Offer<'_>]) -> bool {
    const ROLES: [&str; 4] = [r#""system""#, r#""developer""#, r#""tool""#, r#""function""#];
    body.tool_choice.is_some_and(|choice| choice.get().starts_with('"'))
        || body.stream_options.is_some()
        || body.response_format.is_some()
        || body.reasoning_effort.is_some()
        || tools.iter().any(|tool| tool.function.is_some())
        || said.iter().any(|said| said.tool_calls.is_some() || is_one_of(said.role, &ROLES))
}

fn is_one_of(raw: Raw<'_>, words: &[&str]) -> bool {
    raw.is_some_and(|raw| words.contains(&raw.get()))
}

//! Recorded traffic as a JSON object per line: `docs/import.md` tells the fields.

use std::borrow::Cow;

use events::ids::Millis;
use events::payload::{Ending, Finish, Parts};
use events::usage::{Convention, RawUsage, Usage, UsageMarks};
use serde::Deserialize;

use super::draft::Draft;
use super::fields::Problem;
use super::value::{Value, instant, needed, syntax, text, tokens, word, wrong};

/// What sends turns of which a file does not say it.
const UNKNOWN_CLIENT: &str = "unknown";

/// The fields ferry reads; it passes over others, whatever they hold.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'l"))]
struct Fields<'l> {
    id: Value<'l>,
    conversation: Value<'l>,
    agent: Value<'l>,
    client: Value<'l>,
    model: Value<'l>,
    provider: Value<'l>,
    at: Value<'l>,
    answered_at: Value<'l>,
    latency_ms: Value<'l>,
    usage: Value<'l>,
    convention: Value<'l>,
    prompt_tokens: Value<'l>,
    output_tokens: Value<'l>,
    cache_read_tokens: Value<'l>,
    cache_write_5m_tokens: Value<'l>,
    cache_write_1h_tokens: Value<'l>,
    reasoning_tokens: Value<'l>,
    images: Value<'l>,
    prefix_tokens: Value<'l>,
    finish: Value<'l>,
    news: Value<'l>,
    parts: Value<'l>,
    ending: Value<'l>,
}

/// The turn of a line.
///
/// # Errors
/// [`Problem`].
pub(super) fn draft(line: &[u8]) -> Result<Draft<'_>, Problem> {
    if !line.trim_ascii_start().starts_with(b"{") {
        return Err(Problem::Syntax("not a JSON object".to_owned()));
    }
    let mut fields: Fields<'_> = serde_json::from_slice(line).map_err(|error| syntax(&error))?;
    let at = needed("at", instant("at", &fields.at)?)?;
    let (answered_at, latency_ms) = answered(at, &fields)?;
    let (usage, raw_usage) = usage(&mut fields)?;
    let prefix_tokens = tokens("prefix_tokens", &fields.prefix_tokens)?;
    if let Some((prefix, prompt)) = prefix_tokens.zip(usage.prompt)
        && prefix > prompt
    {
        let problem = format!("is more than the prompt's {prompt}");
        return Err(wrong("prefix_tokens", &fields.prefix_tokens, problem));
    }
    let model = needed("model", text("model", fields.model)?)?;
    Ok(Draft {
        row: needed("id", text("id", fields.id)?)?,
        row_in_clear: false,
        client: text("client", fields.client)?.unwrap_or(Cow::Borrowed(UNKNOWN_CLIENT)),
        conversation: text("conversation", fields.conversation)?,
        subagent: text("agent", fields.agent)?.filter(|agent| agent != "main"),
        model: with_provider(model, text("provider", fields.provider)?),
        at,
        answered_at,
        news: parts("news", &fields.news)?,
        prefix_tokens,
        usage,
        raw_usage,
        parts: parts("parts", &fields.parts)?,
        finish: finish(&fields.finish)?,
        latency_ms,
        ending: ending(&fields.ending)?,
    })
}

/// When the answer was complete and how long it took; each follows from the other.
fn answered(at: Millis, fields: &Fields<'_>) -> Result<(Millis, Option<u32>), Problem> {
    let latency = tokens("latency_ms", &fields.latency_ms)?;
    match instant("answered_at", &fields.answered_at)? {
        None => Ok((at + u64::from(latency.unwrap_or(0)), latency)),
        Some(answered) => {
            let took = answered.checked_sub(at);
            let took =
                took.ok_or_else(|| wrong("answered_at", &fields.answered_at, "is before at"))?;
            Ok((answered, latency.or(u32::try_from(took).ok())))
        }
    }
}

/// Usage in ferry's convention, and as the line has it.
fn usage(fields: &mut Fields<'_>) -> Result<(Usage, RawUsage), Problem> {
    let stated = stated_tokens(fields)?;
    match std::mem::take(&mut fields.usage) {
        Value::Absent => Ok((normalised(&stated)?, raw_of(&stated))),
        Value::Object(_) if stated.iter().any(|(_, tokens)| tokens.is_some()) => {
            let stated = stated.iter().find(|(_, tokens)| tokens.is_some());
            let field = stated.map_or("prompt_tokens", |(field, _)| *field);
            let problem = "stands beside usage: give either";
            Err(Problem::Field { field, value: "a count".to_owned(), problem: problem.to_owned() })
        }
        Value::Object(raw) => {
            let usage = raw.normalise(convention(&fields.convention)?);
            let says_something = usage.prompt.is_some() || usage.output.is_some();
            let is_odd = usage.marks.contains(UsageMarks::INCONSISTENT);
            if !says_something && !is_odd && raw.pairs().next().is_some() {
                let problem = "knows none of the counts in usage";
                return Err(wrong("convention", &fields.convention, problem));
            }
            Ok((usage, raw))
        }
        other => Err(wrong("usage", &other, "is no object")),
    }
}

type Stated = [(&'static str, Option<u32>); 7];

fn stated_tokens(fields: &Fields<'_>) -> Result<Stated, Problem> {
    let read = |field, value| Ok((field, tokens(field, value)?));
    Ok([
        read("prompt_tokens", &fields.prompt_tokens)?,
        read("cache_read_tokens", &fields.cache_read_tokens)?,
        read("cache_write_5m_tokens", &fields.cache_write_5m_tokens)?,
        read("cache_write_1h_tokens", &fields.cache_write_1h_tokens)?,
        read("output_tokens", &fields.output_tokens)?,
        read("reasoning_tokens", &fields.reasoning_tokens)?,
        read("images", &fields.images)?,
    ])
}

/// Counts that are in ferry's convention already.
fn normalised(stated: &Stated) -> Result<Usage, Problem> {
    let [prompt, cache_read, cache_write_5m, cache_write_1h, output, reasoning, images] =
        stated.map(|(_, tokens)| tokens);
    let is_silent = prompt.is_some() && cache_read.is_none();
    let marks = if is_silent { UsageMarks::CACHE_NOT_REPORTED } else { UsageMarks::default() };
    let usage = Usage {
        prompt,
        cache_read,
        cache_write_5m,
        cache_write_1h,
        output,
        reasoning,
        images,
        marks,
    };
    usage.check().map_err(|problem| {
        let pairs =
            stated.iter().filter_map(|(field, tokens)| Some(format!("{field} {}", (*tokens)?)));
        let value = pairs.collect::<Vec<_>>().join(", ");
        Problem::Field { field: "tokens", value, problem: format!("do not fit: {problem}") }
    })?;
    Ok(usage)
}

fn raw_of(stated: &Stated) -> RawUsage {
    RawUsage::from_pairs(
        stated.iter().filter_map(|(field, tokens)| Some((*field, i64::from((*tokens)?)))),
    )
}

fn convention(value: &Value<'_>) -> Result<Convention, Problem> {
    match needed("convention", word("convention", value)?)? {
        "openai" => Ok(Convention::OpenAi),
        "anthropic" => Ok(Convention::Anthropic),
        "otel" => Ok(Convention::OpenTelemetry),
        _ => Err(wrong("convention", value, "is none of openai, anthropic, otel")),
    }
}

/// `provider/model`, unless the model says so itself.
pub(super) fn with_provider<'l>(
    model: Cow<'l, str>,
    provider: Option<Cow<'l, str>>,
) -> Cow<'l, str> {
    match provider {
        Some(provider)
            if !model.strip_prefix(&*provider).is_some_and(|rest| rest.starts_with('/')) =>
        {
            Cow::Owned(format!("{provider}/{model}"))
        }
        _ => model,
    }
}

/// Why an answer ended, in ferry's words or a provider's.
fn finish(value: &Value<'_>) -> Result<Finish, Problem> {
    match word("finish", value)? {
        None | Some("unknown") => Ok(Finish::Unknown),
        Some("end_turn" | "stop" | "stop_sequence") => Ok(Finish::EndTurn),
        Some("tool_use" | "tool_calls" | "function_call") => Ok(Finish::ToolUse),
        Some("length" | "max_tokens" | "max_output_tokens") => Ok(Finish::Length),
        Some("refused" | "refusal" | "content_filter") => Ok(Finish::Refused),
        Some(_) => Err(wrong(
            "finish",
            value,
            "is none of end_turn, tool_use, length, refused, unknown; leave out what is not known",
        )),
    }
}

fn ending(value: &Value<'_>) -> Result<Option<Ending>, Problem> {
    match word("ending", value)? {
        None => Ok(None),
        Some("failed") => Ok(Some(Ending::Failed)),
        Some("aborted") => Ok(Some(Ending::Aborted)),
        Some(_) => {
            Err(wrong("ending", value, "is neither failed nor aborted; leave it out if answered"))
        }
    }
}

fn parts(field: &'static str, value: &Value<'_>) -> Result<Option<Parts>, Problem> {
    let list = match value {
        Value::Absent => return Ok(None),
        Value::List(list) => list,
        other => return Err(wrong(field, other, "is no list")),
    };
    let kind = |kind: &Value<'_>| match word(field, kind)? {
        Some("text") => Ok(Parts::TEXT),
        Some("tool_result") => Ok(Parts::TOOL_RESULT),
        Some("tool_use") => Ok(Parts::TOOL_USE),
        Some("thinking") => Ok(Parts::THINKING),
        _ => Err(wrong(field, kind, "is none of text, tool_result, tool_use, thinking")),
    };
    list.iter().try_fold(Parts::default(), |all, part| Ok(all | kind(part)?)).map(Some)
}

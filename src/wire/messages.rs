//! Messages.

use events::payload::Effort;
use projections::features::{Message, Request, Role, Tool, ToolCall};
use serde::Deserialize;

use super::error::{WireError, body};
use super::shapes::{Content, Count, List, Object, Raw, Text, verbatim};
use super::shared::{effort, say};

const ROLES: &str = "user, assistant, system";

/// The largest budget of thinking, in tokens, that counts as little, and as some.
const LOW_BUDGET: u32 = 2_048;
const MEDIUM_BUDGET: u32 = 8_192;

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(borrow, default)]
    system: Content<'a, Block<'a>>,
    #[serde(borrow, default)]
    messages: Option<List<Said<'a>>>,
    #[serde(borrow, default)]
    tools: List<Offer<'a>>,
    #[serde(borrow, default)]
    thinking: Object<Thinking<'a>>,
    #[serde(borrow, default)]
    output_config: Object<OutputConfig<'a>>,
    #[serde(default)]
    max_tokens: Count,
    #[serde(default)]
    stream: Option<bool>,
}

#[derive(Deserialize)]
struct Said<'a> {
    #[serde(borrow, default)]
    role: Text<'a>,
    #[serde(borrow, default)]
    content: Content<'a, Block<'a>>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    input: Raw<'a>,
    #[serde(borrow, default)]
    tool_use_id: Text<'a>,
    /// What a tool gave back. Other blocks have other things here.
    #[serde(borrow, default)]
    content: Raw<'a>,
    #[serde(default)]
    is_error: Option<bool>,
}

/// A block of what a tool gave back.
#[derive(Deserialize)]
struct Given<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    text: Text<'a>,
}

#[derive(Deserialize)]
struct Offer<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    description: Text<'a>,
    #[serde(borrow, default)]
    input_schema: Raw<'a>,
}

#[derive(Deserialize)]
struct Thinking<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(default)]
    budget_tokens: Count,
}

#[derive(Deserialize)]
struct OutputConfig<'a> {
    #[serde(borrow, default)]
    effort: Text<'a>,
}

/// Reads a body.
pub(super) fn read(bytes: &[u8]) -> Result<Request<'_>, WireError> {
    let Object(Some(body)) = body::<Object<Body<'_>>>(bytes)? else {
        return Err(WireError::missing("messages", bytes));
    };
    let said = body.messages.ok_or_else(|| WireError::missing("messages", bytes))?;
    let mut messages = Vec::new();
    let system = turn(Role::System, body.system).map_err(|fault| fault.within("system"))?;
    messages.extend(system.into_iter().filter(|message| !message.texts.is_empty()));
    for (place, said) in said.into_places() {
        let turn = role(&said.role.0).and_then(|role| turn(role, said.content));
        messages.extend(turn.map_err(|fault| fault.within(&format!("messages[{place}]")))?);
    }
    let word = body.output_config.0.and_then(|config| effort(&config.effort.0));
    let thinking = body.thinking.0.map(|thinking| budget(&thinking));
    Ok(Request {
        model: body.model.0,
        messages,
        tools: body.tools.into_iter().filter_map(tool).collect(),
        effort: word.or(thinking).unwrap_or(Effort::Unasked),
        max_output: body.max_tokens.0,
        stream: body.stream.unwrap_or(false),
    })
}

fn role(name: &str) -> Result<Role, WireError> {
    match name {
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        // Instructions clients put between what is said.
        "system" => Ok(Role::System),
        _ => Err(WireError::role("role".to_owned(), name, ROLES)),
    }
}

/// The messages one of the wire's stands for: what tools gave back, then what else is in it.
fn turn<'a>(role: Role, content: Content<'a, Block<'a>>) -> Result<Vec<Message<'a>>, WireError> {
    let mut messages = Vec::new();
    let mut rest = Message::new(role);
    match content {
        Content::Text(text) => say(&mut rest, text),
        Content::Parts(blocks) => {
            for (place, block) in blocks.into_places() {
                match &*block.kind.0 {
                    "text" | "" => say(&mut rest, block.text),
                    "image" => rest.images = rest.images.saturating_add(1),
                    "tool_use" => rest.calls.push(ToolCall {
                        id: block.id.0,
                        name: block.name.0,
                        arguments: verbatim(block.input),
                    }),
                    "tool_result" => {
                        let result = result(block);
                        let place = format!("content[{place}].content");
                        messages.push(result.map_err(|fault| fault.within(&place))?);
                    }
                    // Thinking, what the provider did by itself, and what nobody here knows.
                    _ => {}
                }
            }
        }
    }
    let said = !rest.texts.is_empty() || rest.images > 0 || !rest.calls.is_empty();
    if said || messages.is_empty() {
        messages.push(rest);
    }
    Ok(messages)
}

fn result(block: Block<'_>) -> Result<Message<'_>, WireError> {
    let mut message = Message::new(Role::Tool);
    let content = block.content.map_or("null", |content| content.get());
    match super::error::json::<Content<'_, Given<'_>>>(content)? {
        Content::Text(text) => say(&mut message, text),
        Content::Parts(parts) => {
            for part in parts.into_iter() {
                match &*part.kind.0 {
                    "image" => message.images = message.images.saturating_add(1),
                    _ => say(&mut message, part.text),
                }
            }
        }
    }
    message.answers = block.tool_use_id.some();
    message.failed = Some(block.is_error.unwrap_or(false));
    Ok(message)
}

/// A tool of the client's. The provider's own, which have a version and no schema, are not on offer here.
fn tool(offer: Offer<'_>) -> Option<Tool<'_>> {
    offer.input_schema?;
    Some(Tool {
        name: offer.name.0,
        description: offer.description.0,
        schema: verbatim(offer.input_schema),
    })
}

fn budget(thinking: &Thinking<'_>) -> Effort {
    match &*thinking.kind.0 {
        "disabled" => Effort::Off,
        "adaptive" => Effort::Medium,
        "enabled" => match thinking.budget_tokens.0 {
            Some(0..=LOW_BUDGET) => Effort::Low,
            Some(0..=MEDIUM_BUDGET) => Effort::Medium,
            _ => Effort::High,
        },
        _ => Effort::Unasked,
    }
}

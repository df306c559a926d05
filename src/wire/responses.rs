//! Responses.

use events::payload::Effort;
use projections::features::{Message, Request, Role, Tool, ToolCall};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::{WireError, body, json};
use super::shapes::{Content, Count, List, Object, Raw, Text, text_of, verbatim};
use super::shared::{Part, effort, role, say_all};

const ROLES: &str = "system, developer, user, assistant";

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(borrow, default)]
    instructions: Content<'a, Part<'a>>,
    #[serde(borrow, default)]
    input: Option<Content<'a, Item<'a>>>,
    #[serde(borrow, default)]
    tools: List<Offer<'a>>,
    #[serde(borrow, default)]
    reasoning: Object<Reasoning<'a>>,
    #[serde(default)]
    max_output_tokens: Count,
    #[serde(default)]
    stream: Option<bool>,
}

/// Anything the conversation is made of.
#[derive(Deserialize)]
struct Item<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    role: Text<'a>,
    #[serde(borrow, default)]
    content: Raw<'a>,
    #[serde(borrow, default)]
    call_id: Text<'a>,
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    arguments: Raw<'a>,
    #[serde(borrow, default)]
    input: Raw<'a>,
    #[serde(borrow, default)]
    action: Raw<'a>,
    #[serde(borrow, default)]
    operation: Raw<'a>,
    #[serde(borrow, default)]
    output: Raw<'a>,
    #[serde(borrow, default)]
    status: Raw<'a>,
    #[serde(borrow, default)]
    tools: Raw<'a>,
}

#[derive(Deserialize)]
struct Offer<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    description: Text<'a>,
    #[serde(borrow, default)]
    parameters: Raw<'a>,
    /// The grammar of a tool that takes plain text.
    #[serde(borrow, default)]
    format: Raw<'a>,
    /// The tools of a namespace.
    #[serde(borrow, default)]
    tools: Raw<'a>,
}

#[derive(Deserialize)]
struct Reasoning<'a> {
    #[serde(borrow, default)]
    effort: Text<'a>,
}

/// Reads a body.
pub(super) fn read(bytes: &[u8]) -> Result<Request<'_>, WireError> {
    let Object(Some(body)) = body::<Object<Body<'_>>>(bytes)? else {
        return Err(WireError::missing("input", bytes));
    };
    let mut talk = Talk { messages: Vec::new(), tools: Vec::new() };
    talk.tools.extend(body.tools.into_iter().map(tool));
    let mut instructions = Message::new(Role::System);
    say_all(&mut instructions, body.instructions);
    if !instructions.texts.is_empty() {
        talk.messages.push(instructions);
    }
    match body.input.ok_or_else(|| WireError::missing("input", bytes))? {
        Content::Text(text) => talk.messages.push(Message::text(Role::User, text.0)),
        Content::Parts(items) => {
            for (place, item) in items.into_places() {
                talk.take(item).map_err(|fault| fault.within(&format!("input[{place}]")))?;
            }
        }
    }
    let asked = body.reasoning.0.and_then(|reasoning| effort(&reasoning.effort.0));
    Ok(Request {
        model: body.model.0,
        messages: talk.messages,
        tools: talk.tools,
        effort: asked.unwrap_or(Effort::Unasked),
        max_output: body.max_output_tokens.0,
        stream: body.stream.unwrap_or(false),
    })
}

/// What has been read of the conversation.
struct Talk<'a> {
    messages: Vec<Message<'a>>,
    tools: Vec<Tool<'a>>,
}

impl<'a> Talk<'a> {
    fn take(&mut self, item: Item<'a>) -> Result<(), WireError> {
        match &*item.kind.0 {
            "" | "message" => self.messages.push(message(&item)?),
            // Tools the client brings in on the way.
            "additional_tools" => self.offer(item.tools)?,
            "tool_search_output" => {
                self.offer(item.tools)?;
                self.messages.push(result(item)?);
            }
            kind if kind.ends_with("_call_output") => self.messages.push(result(item)?),
            kind if is_call(kind, &item.call_id.0) => self.call(item)?,
            // Reasoning, what the provider did by itself, and what nobody here knows.
            _ => {}
        }
        Ok(())
    }

    fn offer(&mut self, tools: Raw<'a>) -> Result<(), WireError> {
        let tools = json::<List<Offer<'_>>>(tools.map_or("null", RawValue::get));
        let tools = tools.map_err(|fault| fault.within("tools"))?;
        self.tools.extend(tools.into_iter().map(tool));
        Ok(())
    }

    /// Calls belong to the turn of the model they stand in, with what it said before them.
    fn call(&mut self, item: Item<'a>) -> Result<(), WireError> {
        let arguments = item.arguments.or(item.input).or(item.action).or(item.operation);
        let arguments = text_of(arguments).map_err(|fault| fault.within("arguments"))?;
        let name = item.name.some().unwrap_or_else(|| {
            item.kind.0.strip_suffix("_call").unwrap_or_default().to_owned().into()
        });
        let call = ToolCall { id: item.call_id.0, name, arguments };
        match self.messages.last_mut() {
            Some(last) if last.role == Role::Assistant => last.calls.push(call),
            _ => {
                self.messages.push(Message { calls: vec![call], ..Message::new(Role::Assistant) });
            }
        }
        Ok(())
    }
}

/// True for what the client is to run. What the provider runs by itself has nothing a result could name it by.
fn is_call(kind: &str, id: &str) -> bool {
    let named = matches!(kind, "function_call" | "custom_tool_call" | "local_shell_call");
    named || (kind.ends_with("_call") && !id.is_empty())
}

fn message<'a>(item: &Item<'a>) -> Result<Message<'a>, WireError> {
    let name = &item.role.0;
    let role = role(name).ok_or_else(|| WireError::role("role".to_owned(), name, ROLES))?;
    let mut message = Message::new(role);
    let content = json(item.content.map_or("null", RawValue::get));
    say_all(&mut message, content.map_err(|fault: WireError| fault.within("content"))?);
    Ok(message)
}

fn result(item: Item<'_>) -> Result<Message<'_>, WireError> {
    let mut message = Message::new(Role::Tool);
    let output = item.output.map_or("null", RawValue::get);
    // Tools of the provider's own making answer with objects.
    if !output.starts_with('{') {
        let content = json(output);
        say_all(&mut message, content.map_err(|fault: WireError| fault.within("output"))?);
    }
    let said = !message.texts.is_empty() || message.images > 0;
    if !said && output.starts_with(['{', '[']) && output != "[]" {
        if output.contains("\"computer_screenshot\"") {
            message.images = 1;
        } else {
            message.texts.push(output.into());
        }
    }
    message.answers = item.call_id.some();
    message.tool = item.name.some();
    message.failed = match item.status.map(RawValue::get) {
        Some(r#""incomplete""# | r#""failed""#) => Some(true),
        Some(r#""completed""#) => Some(false),
        _ => None,
    };
    Ok(message)
}

fn tool(offer: Offer<'_>) -> Tool<'_> {
    Tool {
        name: offer.name.some().unwrap_or(offer.kind.0),
        description: offer.description.0,
        schema: verbatim(offer.parameters.or(offer.format).or(offer.tools)),
    }
}

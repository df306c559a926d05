//! Chat completions.

use events::payload::Effort;
use projections::features::{Message, Request, Role, Tool, ToolCall};
use serde::Deserialize;

use super::error::{WireError, body};
use super::shapes::{Content, Count, List, Object, Raw, Text, text_of, verbatim};
use super::shared::{Part, effort, role, say_all};

const ROLES: &str = "system, developer, user, assistant, tool, function";

#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow, default)]
    model: Text<'a>,
    #[serde(borrow, default)]
    messages: Option<List<Said<'a>>>,
    #[serde(borrow, default)]
    tools: List<Offer<'a>>,
    #[serde(borrow, default)]
    functions: List<Function<'a>>,
    #[serde(borrow, default)]
    reasoning: Object<Reasoning<'a>>,
    #[serde(borrow, default)]
    reasoning_effort: Text<'a>,
    #[serde(default)]
    max_completion_tokens: Count,
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
    content: Content<'a, Part<'a>>,
    #[serde(borrow, default)]
    tool_calls: List<Call<'a>>,
    #[serde(borrow, default)]
    function_call: Object<Called<'a>>,
    #[serde(borrow, default)]
    tool_call_id: Text<'a>,
    #[serde(borrow, default)]
    name: Text<'a>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow, default)]
    id: Text<'a>,
    #[serde(borrow, default)]
    function: Object<Called<'a>>,
    /// A call of a tool that takes plain text.
    #[serde(borrow, default)]
    custom: Object<Called<'a>>,
}

#[derive(Deserialize)]
struct Called<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    arguments: Raw<'a>,
    #[serde(borrow, default)]
    input: Raw<'a>,
}

#[derive(Deserialize)]
struct Offer<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    function: Object<Function<'a>>,
    #[serde(borrow, default)]
    custom: Object<Function<'a>>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
    #[serde(borrow, default)]
    description: Text<'a>,
    #[serde(borrow, default)]
    parameters: Raw<'a>,
    #[serde(borrow, default)]
    format: Raw<'a>,
}

#[derive(Deserialize)]
struct Reasoning<'a> {
    #[serde(borrow, default)]
    effort: Text<'a>,
    #[serde(default)]
    enabled: Option<bool>,
}

/// Reads a body.
pub(super) fn read(bytes: &[u8]) -> Result<Request<'_>, WireError> {
    let Object(Some(body)) = body::<Object<Body<'_>>>(bytes)? else {
        return Err(WireError::missing("messages", bytes));
    };
    let said = body.messages.ok_or_else(|| WireError::missing("messages", bytes))?;
    let messages = said.into_places().map(|(place, said)| message(place, said));
    let tools = body.tools.into_iter().map(offered);
    let legacy = body.functions.into_iter().map(tool);
    Ok(Request {
        model: body.model.0,
        messages: messages.collect::<Result<_, _>>()?,
        tools: tools.chain(legacy).collect(),
        effort: asked(body.reasoning, &body.reasoning_effort),
        max_output: body.max_completion_tokens.0.or(body.max_tokens.0),
        stream: body.stream.unwrap_or(false),
    })
}

fn message(place: usize, said: Said<'_>) -> Result<Message<'_>, WireError> {
    let role = match &*said.role.0 {
        "tool" | "function" => Role::Tool,
        name => role(name)
            .ok_or_else(|| WireError::role(format!("messages[{place}].role"), name, ROLES))?,
    };
    let mut message = Message::new(role);
    say_all(&mut message, said.content);
    for (nth, call) in said.tool_calls.into_places() {
        let called = call.function.0.or(call.custom.0);
        let call = called.map(|called| tool_call(call.id, called)).transpose();
        message.calls.extend(call.map_err(|fault| {
            fault.within(&format!("messages[{place}].tool_calls[{nth}].function.arguments"))
        })?);
    }
    if let Some(called) = said.function_call.0 {
        message.calls.push(tool_call(Text::default(), called)?);
    }
    if role == Role::Tool {
        message.answers = said.tool_call_id.some();
        message.tool = said.name.some();
    }
    Ok(message)
}

fn tool_call<'a>(id: Text<'a>, called: Called<'a>) -> Result<ToolCall<'a>, WireError> {
    let arguments = text_of(called.arguments.or(called.input))?;
    Ok(ToolCall { id: id.0, name: called.name.0, arguments })
}

fn offered(offer: Offer<'_>) -> Tool<'_> {
    match offer.function.0.or(offer.custom.0) {
        Some(function) => tool(function),
        None => Tool { name: offer.kind.0, description: "".into(), schema: "".into() },
    }
}

fn tool(function: Function<'_>) -> Tool<'_> {
    Tool {
        name: function.name.0,
        description: function.description.0,
        schema: verbatim(function.parameters.or(function.format)),
    }
}

/// What the object asks for comes before the flat field.
fn asked(object: Object<Reasoning<'_>>, flat: &Text<'_>) -> Effort {
    let object = object.0.and_then(|reasoning| match reasoning.enabled {
        Some(false) => Some(Effort::Off),
        _ => effort(&reasoning.effort.0),
    });
    object.or_else(|| effort(&flat.0)).unwrap_or(Effort::Unasked)
}

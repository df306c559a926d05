//! A request, whichever wire it came over: what can be told of it, and nothing more. It is looked at, never sent.

use std::borrow::Cow;

use events::payload::Effort;

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Instructions.
    System,
    /// A person, or what speaks for one.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall<'a> {
    /// What its result names it by.
    pub id: Cow<'a, str>,
    /// The tool.
    pub name: Cow<'a, str>,
    /// Its arguments, as they stand in the request.
    pub arguments: Cow<'a, str>,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message<'a> {
    /// Who says it.
    pub role: Role,
    /// Its texts, in order.
    pub texts: Vec<Cow<'a, str>>,
    /// Images in it.
    pub images: u32,
    /// Calls of tools in it.
    pub calls: Vec<ToolCall<'a>>,
    /// Of a tool's message: the call it answers, where it says so.
    pub answers: Option<Cow<'a, str>>,
    /// Of a tool's message: the tool, where it says so.
    pub tool: Option<Cow<'a, str>>,
    /// Of a tool's message: whether it failed, where the wire has a place to say so.
    pub failed: Option<bool>,
}

impl<'a> Message<'a> {
    /// A message that says nothing yet.
    #[must_use]
    pub const fn new(role: Role) -> Self {
        Self {
            role,
            texts: Vec::new(),
            images: 0,
            calls: Vec::new(),
            answers: None,
            tool: None,
            failed: None,
        }
    }

    /// A message of one text.
    #[must_use]
    pub fn text(role: Role, text: impl Into<Cow<'a, str>>) -> Self {
        Self { texts: vec![text.into()], ..Self::new(role) }
    }
}

/// A tool on offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// What it is said to do.
    pub description: Cow<'a, str>,
    /// Its parameters' schema, as it stands in the request.
    pub schema: Cow<'a, str>,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// The model asked for.
    pub model: Cow<'a, str>,
    /// Its messages, in order; instructions first where the wire keeps them apart.
    pub messages: Vec<Message<'a>>,
    /// The tools on offer.
    pub tools: Vec<Tool<'a>>,
    /// Reasoning asked for.
    pub effort: Effort,
    /// The longest answer the client takes, in tokens.
    pub max_output: Option<u32>,
    /// True when the answer is to come piece by piece.
    pub stream: bool,
}

//! The features of a request (router facts 1.2). Texts are those of the newest user messages and nothing before, so that
//! nothing said long ago weighs on what is asked now.

use std::borrow::Cow;
use std::collections::BTreeSet;

use events::limits::TOKENS_MAX;
use events::payload::{Anatomy, Features, TextSize};

use super::failures::looks_failed;
use super::request::{Message, Request, Role, Tool, ToolCall};
use super::tools::only_reads;
use super::{keywords, text};

/// Calls that are looked at for going in circles.
const CIRCLE: usize = 4;

/// What a request is like. Tokens stay unknown: nobody counted them yet.
#[must_use]
pub fn features(request: &Request<'_>) -> Features {
    let messages = request.messages.as_slice();
    let talk = up_to_last_said(messages);
    let continues = talk.last().is_some_and(|last| last.role == Role::Tool);
    let tail = run(talk, if continues { Role::Tool } else { Role::User });
    // What a person said before tools ran is not said again at each of their turns.
    let said = if continues { &[] } else { tail };
    let images = |of: &[Message<'_>]| {
        of.iter().fold(0, |sum: u32, message| sum.saturating_add(message.images)).min(TOKENS_MAX)
    };
    let calls = newest_calls(messages);
    Features {
        anatomy: Some(anatomy(request)),
        tail: Some(tail.iter().map(size).fold(TextSize::default(), text::plus)),
        depth: Some(depth(messages)),
        tools: Some(count(request.tools.len())),
        continues: Some(continues),
        loop_depth: Some(count(talk.iter().rev().take_while(|one| is_loop(one)).count())),
        distinct_tools: Some(count(tool_names(messages).len())),
        tool_failed: tool_failed(talk),
        repeated_call: Some(any_same(calls.get(..2).unwrap_or_default())),
        circular_call: Some(any_same(&calls)),
        read_only_tail: Some(continues && read_only(before(talk, tail))),
        images: Some(images(messages)),
        new_image: Some(images(said) > 0),
        effort: Some(request.effort),
        ..of_text(&joined(said))
    }
}

/// The features a text alone tells of.
fn of_text(said: &str) -> Features {
    let code = text::code(said);
    Features {
        code_blocks: Some(code.blocks),
        code_bytes: Some(code.bytes),
        diff: Some(text::is_diff(said)),
        keywords: Some(keywords(said)),
        questions: Some(text::questions(said)),
        terse: Some(text::is_terse(said)),
        ..Features::default()
    }
}

/// The texts a conversation is known by: those of the instructions it begins with, and those of its first other message.
/// Both stay what they are while it grows.
#[must_use]
pub fn conversation_texts<'r>(request: &'r Request<'_>) -> (Vec<&'r str>, Vec<&'r str>) {
    let mut messages = request.messages.iter().peekable();
    let mut instructions = Vec::new();
    while let Some(message) = messages.next_if(|message| message.role == Role::System) {
        instructions.extend(message.texts.iter().map(AsRef::as_ref));
    }
    let first = messages.next().map(|first| first.texts.iter().map(AsRef::as_ref).collect());
    (instructions, first.unwrap_or_default())
}

/// Some messages without the instructions they end with. Claude Code puts its own behind what a person says, and that is
/// still what is new.
fn up_to_last_said<'m, 'a>(messages: &'m [Message<'a>]) -> &'m [Message<'a>] {
    before(messages, run(messages, Role::System))
}

/// The messages of a role that some messages end with.
fn run<'m, 'a>(messages: &'m [Message<'a>], role: Role) -> &'m [Message<'a>] {
    let others = messages.iter().rposition(|message| message.role != role);
    messages.get(others.map_or(0, |at| at + 1)..).unwrap_or_default()
}

/// What stands before a run that some messages end with.
fn before<'m, 'a>(messages: &'m [Message<'a>], run: &[Message<'a>]) -> &'m [Message<'a>] {
    messages.get(..messages.len().saturating_sub(run.len())).unwrap_or_default()
}

/// What some messages say, as one text. What is in two parts begins on two lines.
fn joined<'m>(messages: &'m [Message<'_>]) -> Cow<'m, str> {
    let parts = messages.iter().flat_map(|message| &message.texts).map(AsRef::as_ref);
    match parts.collect::<Vec<&str>>().as_slice() {
        [] => Cow::Borrowed(""),
        [only] => Cow::Borrowed(only),
        parts => Cow::Owned(parts.join("\n")),
    }
}

fn size(message: &Message<'_>) -> TextSize {
    let texts = message.texts.iter();
    let called = message.calls.iter().flat_map(|call| [&call.name, &call.arguments]);
    texts.chain(called).map(|said| text::size(said)).fold(TextSize::default(), text::plus)
}

fn tool_size(tool: &Tool<'_>) -> TextSize {
    let texts = [&tool.name, &tool.description, &tool.schema];
    texts.into_iter().map(|said| text::size(said)).fold(TextSize::default(), text::plus)
}

fn anatomy(request: &Request<'_>) -> Anatomy {
    let tools = request.tools.iter().map(tool_size).fold(TextSize::default(), text::plus);
    let mut anatomy = Anatomy { tools, ..Anatomy::default() };
    for message in &request.messages {
        let part = match message.role {
            Role::System => &mut anatomy.system,
            Role::User => &mut anatomy.user,
            Role::Assistant => &mut anatomy.assistant,
            Role::Tool => &mut anatomy.results,
        };
        *part = text::plus(*part, size(message));
    }
    anatomy
}

/// User and assistant messages.
fn depth(messages: &[Message<'_>]) -> u32 {
    let speaks = |message: &&Message<'_>| matches!(message.role, Role::User | Role::Assistant);
    text::saturated(messages.iter().filter(speaks).count()).min(TOKENS_MAX)
}

/// True for what a loop of tools is made of: their results, and the turns that call them.
fn is_loop(message: &Message<'_>) -> bool {
    match message.role {
        Role::Tool => true,
        Role::Assistant => !message.calls.is_empty(),
        Role::System | Role::User => false,
    }
}

/// The tools that were called, and those that answer.
fn tool_names<'m>(messages: &'m [Message<'_>]) -> BTreeSet<&'m str> {
    let mut names = BTreeSet::new();
    for message in messages {
        match message.role {
            Role::Assistant => names.extend(message.calls.iter().map(|call| call.name.as_ref())),
            Role::Tool => names.extend(message.tool.as_deref()),
            Role::System | Role::User => {}
        }
    }
    names
}

/// The most recent calls, the latest first.
fn newest_calls<'m, 'a>(messages: &'m [Message<'a>]) -> Vec<&'m ToolCall<'a>> {
    let assistant = messages.iter().rev().filter(|message| message.role == Role::Assistant);
    assistant.flat_map(|message| message.calls.iter().rev()).take(CIRCLE).collect()
}

/// True when two calls are the same, byte by byte. What names them to their results is always another.
fn any_same(calls: &[&ToolCall<'_>]) -> bool {
    let same = |one: &ToolCall<'_>, other: &ToolCall<'_>| {
        one.name == other.name && one.arguments == other.arguments
    };
    calls.iter().enumerate().any(|(at, one)| calls.iter().skip(at + 1).any(|two| same(one, two)))
}

/// Whether one of the last tool results is a failure. They are also the last when a person answers them directly; once
/// the model replies, they are dealt with. Unknown where the wire has no place to say so and no text says it.
fn tool_failed(messages: &[Message<'_>]) -> Option<bool> {
    let messages = before(messages, run(messages, Role::User));
    let results = run(messages, Role::Tool);
    let says_so = |result: &Message<'_>| result.texts.iter().any(|text| looks_failed(text));
    if results.iter().any(|result| result.failed.unwrap_or_else(|| says_so(result))) {
        return Some(true);
    }
    results.iter().all(|result| result.failed.is_some()).then_some(false)
}

/// True when some messages end with calls, and all of them only read. Some wires give a turn's calls a message each.
fn read_only(messages: &[Message<'_>]) -> bool {
    let mut calls =
        run(messages, Role::Assistant).iter().flat_map(|message| &message.calls).peekable();
    calls.peek().is_some() && calls.all(|call| only_reads(&call.name))
}

fn count(of: usize) -> u16 {
    u16::try_from(of).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

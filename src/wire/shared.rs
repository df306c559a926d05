//! What the readers have in common.

use std::borrow::Cow;
use std::collections::BTreeMap;

use events::payload::Effort;
use projections::features::{Message, Role};
use serde::Deserialize;

use super::shapes::{Content, Text};

/// A part of what a message says, on both wires of OpenAI's.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Part<'a> {
    #[serde(borrow, default, rename = "type")]
    kind: Text<'a>,
    #[serde(borrow, default)]
    text: Text<'a>,
    #[serde(borrow, default)]
    refusal: Text<'a>,
}

/// Puts a text into a message, unless there is nothing in it.
pub(super) fn say<'a>(message: &mut Message<'a>, text: Text<'a>) {
    message.texts.extend(text.some());
}

/// Puts what is said into a message.
pub(super) fn say_all<'a>(message: &mut Message<'a>, content: Content<'a, Part<'a>>) {
    let parts = match content {
        Content::Text(text) => return say(message, text),
        Content::Parts(parts) => parts,
    };
    for part in parts.into_iter() {
        match &*part.kind.0 {
            "image_url" | "input_image" | "image" | "computer_screenshot" => {
                message.images = message.images.saturating_add(1);
            }
            "thinking" | "reasoning" | "reasoning_text" => {}
            _ => {
                say(message, part.text);
                say(message, part.refusal);
            }
        }
    }
}

/// The role of one of OpenAI's names, of those both wires have.
pub(super) fn role(name: &str) -> Option<Role> {
    match name {
        "system" | "developer" => Some(Role::System),
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        _ => None,
    }
}

/// The effort of a word; nothing for a word nobody knows.
pub(super) fn effort(word: &str) -> Option<Effort> {
    Some(match word.to_ascii_lowercase().as_str() {
        "none" | "off" => Effort::Off,
        "minimal" => Effort::Minimal,
        "low" => Effort::Low,
        "medium" => Effort::Medium,
        "high" => Effort::High,
        "xhigh" => Effort::XHigh,
        "max" => Effort::Max,
        _ => return None,
    })
}

/// Gives each result its tool's name where it does not say it, from the call it answers.
pub(super) fn name_results(messages: &mut [Message<'_>]) {
    let mut called: BTreeMap<Cow<'_, str>, Cow<'_, str>> = BTreeMap::new();
    for message in messages {
        if let (None, Some(id)) = (&message.tool, &message.answers) {
            message.tool = called.get(id).cloned();
        }
        let named =
            message.calls.iter().filter(|call| !call.id.is_empty() && !call.name.is_empty());
        called.extend(named.map(|call| (call.id.clone(), call.name.clone())));
    }
}

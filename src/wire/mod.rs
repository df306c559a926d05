//! Requests as clients send them, read from the three wires into one shape. What is read is looked at, never sent.

mod chat;
mod detect;
mod error;
mod messages;
mod responses;
mod shapes;
mod shared;
#[cfg(test)]
mod tests;

use projections::features::Request;

pub(crate) use self::detect::detect;
pub(crate) use self::error::WireError;

/// A wire: how a client writes its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    /// Chat completions, by OpenAI and nearly everybody.
    Chat,
    /// Responses, by OpenAI.
    Responses,
    /// Messages, by Anthropic.
    Messages,
}

impl Wire {
    /// Every wire.
    pub(crate) const ALL: [Self; 3] = [Self::Chat, Self::Responses, Self::Messages];

    /// Its name, as people and files have it.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Chat => "openai-chat",
            Self::Responses => "openai-responses",
            Self::Messages => "anthropic-messages",
        }
    }
}

/// Reads a request's body. Fields that are null count as absent, fields nobody here knows are passed over.
///
/// # Errors
/// [`WireError`] names the field that is not as its wire has it.
pub(crate) fn read(wire: Wire, body: &[u8]) -> Result<Request<'_>, WireError> {
    let mut request = match wire {
        Wire::Chat => chat::read(body),
        Wire::Responses => responses::read(body),
        Wire::Messages => messages::read(body),
    }?;
    shared::name_results(&mut request.messages);
    Ok(request)
}

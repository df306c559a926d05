//! What a request is like, told from what it says.

mod extract;
mod failures;
mod keywords;
mod request;
mod text;
mod tools;

pub use self::extract::{conversation_texts, features};
pub use self::keywords::{asks_for_data, asks_for_documents, complexity, keywords, triviality};
pub use self::request::{Message, Request, Role, Tool, ToolCall};

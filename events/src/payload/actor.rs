//! actor: a key is enrolled, retired or rotated, vouched for by a known key.

use serde::{Deserialize, Serialize};

use crate::codes::codes;
use crate::ids::AuthorId;

codes! {
    /// What a key writes. One key per stream, so that streams can be shared apart.
    Stream {
        /// Opens the ledger, enrols keys, signs heads, reports what it finds.
        Node = 1 "node",
        /// Turns, results, prices and imports.
        Proxy = 2 "proxy",
        /// Orders and what follows from them.
        Agent = 3 "agent",
        /// Policy, feedback, overrides and answers.
        People = 4 "people",
    }
}

codes! {
    /// What happened to a key.
    ActorChange {
        /// It may write from here on.
        Enrolled = 1 "enrolled",
        /// It may not write any more.
        Retired = 2 "retired",
        /// It takes the place of another key of its stream.
        Rotated = 3 "rotated",
    }
}

/// A change of who may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// The key it is about.
    pub key: AuthorId,
    /// What the key writes.
    pub stream: Stream,
    /// What happened.
    pub change: ActorChange,
    /// For a rotation: the key that stops writing.
    pub replaces: Option<AuthorId>,
}

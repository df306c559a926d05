//! turn-closed: the client has its end of a turn.

use serde::{Deserialize, Serialize};

use crate::codes::codes;

codes! {
    /// How a turn ended for the client.
    Ending {
        /// It got a whole answer.
        Committed = 1 "committed",
        /// It got an error.
        Failed = 2 "failed",
        /// It went away first.
        Aborted = 3 "aborted",
    }
}

/// The end of a turn. An imported turn has one only where its source says it was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnClosed {
    /// How it ended.
    pub ending: Ending,
    /// Attempts made.
    pub attempts: u16,
    /// Bytes the client was sent.
    pub bytes_sent: Option<u64>,
}

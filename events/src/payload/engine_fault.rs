//! engine-fault: the engine failed, not the work.

use serde::{Deserialize, Serialize};

use super::Name;
use crate::codes::codes;

codes! {
    /// How an engine failed.
    FaultClass {
        /// The key is refused.
        Auth = 1 "auth",
        /// What was paid for is used up.
        Quota = 2 "quota",
        /// Too much at once.
        RateLimit = 3 "rate_limit",
        /// The prompt is too long for it.
        ContextLength = 4 "context_length",
        /// It does not take such a request.
        InvalidRequest = 5 "invalid_request",
        /// It is not there.
        ModelUnavailable = 6 "model_unavailable",
        /// It will not answer such a request.
        Moderation = 7 "moderation",
        /// It broke.
        UpstreamError = 8 "upstream_error",
        /// It did not answer in time.
        Timeout = 9 "timeout",
        /// It cannot be reached.
        Network = 10 "network",
    }
}

/// An engine failed an attempt. The subject is the turn or order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineFault<'a> {
    /// Attempts before the one it failed.
    pub attempt: u16,
    /// The engine, as it was dispatched to.
    #[serde(borrow)]
    pub engine: Name<'a>,
    /// How.
    pub class: FaultClass,
    /// Status of its answer, where there was one.
    pub status: Option<u16>,
    /// How long it asks to be left alone, in milliseconds.
    pub retry_after_ms: Option<u32>,
}

//! How an engine serves: how often it does, and how long that takes.

use std::collections::BTreeMap;

use events::payload::FaultClass;
use serde::{Deserialize, Serialize};

/// Harnesses whose experience with an engine is told apart.
const HARNESSES_MAX: usize = 16;
/// Answers a wait is learned from: twice as many are halved.
const ANSWERS_KEPT: u32 = 100;

/// Attempts that were served, and that were not though the engine could have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trust {
    /// Attempts.
    pub attempts: u32,
    /// Of them: failures.
    pub failures: u32,
}

impl Trust {
    const fn count(&mut self, failed: bool) {
        self.attempts = self.attempts.saturating_add(1);
        self.failures = self.failures.saturating_add(failed as u32);
    }

    /// The chance of being served, in thousandths: (served + 1) / (attempts + 2), with what people say as further
    /// attempts (router facts 8.2). `words` are thousandths of attempts: (good, bad).
    #[must_use]
    pub fn rate(&self, words: (u64, u64)) -> u32 {
        let thousand = |count: u32| u64::from(count) * 1_000;
        let served = thousand(self.attempts.saturating_sub(self.failures)) + words.0;
        let all = thousand(self.attempts) + words.0 + words.1 + 2_000;
        u32::try_from((served + 1_000) * 1_000 / all).unwrap_or(1_000)
    }
}

/// How long answers take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Answers that were timed.
    pub answers: u32,
    first_ms: u64,
    streamed_tokens: u64,
    streamed_ms: u64,
}

impl Latency {
    fn count(&mut self, first_ms: u32, whole_ms: u32, output: u32) {
        let Some(streamed) = whole_ms.checked_sub(first_ms) else { return };
        self.answers += 1;
        self.first_ms += u64::from(first_ms);
        self.streamed_tokens += u64::from(output);
        self.streamed_ms += u64::from(streamed);
        if self.answers >= 2 * ANSWERS_KEPT {
            self.answers /= 2;
            self.first_ms /= 2;
            self.streamed_tokens /= 2;
            self.streamed_ms /= 2;
        }
    }

    /// How long an answer of so many tokens takes, in milliseconds; `None` before there are enough to tell.
    #[must_use]
    pub fn wait_ms(&self, output: u32, min_samples: u32) -> Option<u32> {
        if self.answers < min_samples.max(1) {
            return None;
        }
        let first = self.first_ms / u64::from(self.answers);
        let rest = u128::from(output) * u128::from(self.streamed_ms);
        let rest = rest.checked_div(u128::from(self.streamed_tokens)).unwrap_or(0);
        Some(u32::try_from(u128::from(first) + rest).unwrap_or(u32::MAX))
    }
}

/// How an engine serves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    all: Trust,
    by_harness: BTreeMap<String, Trust>,
    /// How long it takes.
    pub latency: Latency,
}

/// A key, a quota, a rule of the provider's or a client that went away says nothing of the engine (router facts 6.4).
#[must_use]
pub const fn is_the_engines_fault(class: FaultClass) -> bool {
    match class {
        FaultClass::Auth
        | FaultClass::Quota
        | FaultClass::ModelUnavailable
        | FaultClass::Moderation => false,
        FaultClass::RateLimit
        | FaultClass::ContextLength
        | FaultClass::InvalidRequest
        | FaultClass::UpstreamError
        | FaultClass::Timeout
        | FaultClass::Network => true,
    }
}

impl Service {
    /// An attempt ended.
    pub(super) fn attempted(&mut self, harness: Option<&str>, failed: bool) {
        self.all.count(failed);
        let Some(harness) = harness else { return };
        if let Some(known) = self.by_harness.get_mut(harness) {
            known.count(failed);
        } else if self.by_harness.len() < HARNESSES_MAX {
            let mut trust = Trust::default();
            trust.count(failed);
            self.by_harness.insert(harness.to_owned(), trust);
        }
    }

    /// An answer was timed.
    pub(super) fn timed(&mut self, first_ms: u32, whole_ms: u32, output: u32) {
        self.latency.count(first_ms, whole_ms, output);
    }

    /// How far it can be trusted; with a harness, by what that one has seen.
    #[must_use]
    pub fn trust(&self, harness: Option<&str>) -> Trust {
        match harness {
            None => self.all,
            Some(harness) => self.by_harness.get(harness).copied().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Router facts 8.2: (served + 1) / (attempts + 2), a person's word as further attempts.
    #[test]
    fn trust_is_smoothed_and_words_count_as_attempts() {
        let rate = |attempts, failures, words| Trust { attempts, failures }.rate(words);
        assert_eq!(rate(0, 0, (0, 0)), 500);
        assert_eq!(rate(12, 4, (0, 0)), 642);
        assert_eq!(rate(98, 0, (0, 0)), 990);
        assert_eq!(rate(8, 0, (0, 5_000)), 600, "9 of 15");
        assert_eq!(rate(8, 8, (10_000, 0)), 550, "11 of 20");
        assert_eq!(rate(u32::MAX, u32::MAX, (u64::from(u32::MAX), 0)), 0);
    }

    // 4.2: time to the first token, and the answer at the pace that was seen.
    #[test]
    fn a_wait_is_the_first_token_and_the_rest_at_the_pace_seen() {
        let mut latency = Latency::default();
        for _ in 0..20 {
            latency.count(1_000, 11_000, 300);
        }
        assert_eq!(latency.wait_ms(600, 20), Some(21_000));
        assert_eq!(latency.wait_ms(600, 21), None, "not enough answers yet");
        latency.count(9_000, 100, 7);
        assert_eq!(latency.answers, 20, "what ends before it begins says nothing");
        for _ in 0..10_000 {
            latency.count(500, 500, 0);
        }
        assert!(latency.answers < 200 && latency.wait_ms(600, 20).unwrap() < 700, "the old fades");
    }

    #[test]
    fn harnesses_are_told_apart_up_to_a_bound() {
        let mut service = Service::default();
        for number in 0..40 {
            service.attempted(Some(&format!("h{number}")), number % 2 == 0);
        }
        assert_eq!(service.trust(None), Trust { attempts: 40, failures: 20 });
        assert_eq!(service.trust(Some("h0")), Trust { attempts: 1, failures: 1 });
        assert_eq!(service.trust(Some("h39")), Trust::default(), "beyond the bound");
        assert_eq!(service.by_harness.len(), HARNESSES_MAX);
    }
}

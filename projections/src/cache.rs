//! The cache model: what a provider's prompt cache would have held.
//!
//! One entry per lane and engine: when it was last used and how long the prompt was then. The next
//! prompt reads from it what it shares with what was sent before, unless the entry has run out. The
//! rest of the prompt is written. What a provider reports is kept apart from this model.

use events::ids::Millis;

/// How a cache behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheRules {
    /// How long what is written lives after its last use, inclusive, in milliseconds; `None` is for ever.
    pub ttl_ms: Option<u64>,
}

/// How many prompt tokens a turn reads from the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Tokens read.
    pub tokens: u32,
    /// True when the shared prefix is unknown and the shorter of the two prompts stood in for it.
    pub assumed_prefix: bool,
}

#[derive(Clone, Copy, Debug)]
struct Warm {
    used_at: Millis,
    prompt: u32,
    ttl_ms: Option<u64>,
}

/// What is warm for one lane, per engine.
#[derive(Clone, Debug, Default)]
pub struct LaneCache(Vec<(u64, Warm)>);

impl LaneCache {
    /// A lane that has sent nothing yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Serves one turn: what it reads, after which its own prompt is what is warm.
    ///
    /// `prefix` is the longest prefix of the prompt that was sent before, if known; a lane that has
    /// not used the engine reads nothing, whatever the prefix.
    pub fn serve(
        &mut self,
        rules: CacheRules,
        engine: u64,
        at: Millis,
        prompt: u32,
        prefix: Option<u32>,
    ) -> Hit {
        let now = Warm { used_at: at, prompt, ttl_ms: rules.ttl_ms };
        let slot = match self.0.iter().position(|(known, _)| *known == engine) {
            Some(index) => &mut self.0[index].1,
            None => {
                self.0.push((engine, now));
                return Hit { tokens: 0, assumed_prefix: false };
            }
        };
        let age = at.saturating_sub(slot.used_at);
        let alive = slot.ttl_ms.is_none_or(|ttl| age <= ttl);
        let shared = prefix.unwrap_or(prompt).min(prompt).min(slot.prompt);
        *slot = now;
        Hit { tokens: if alive { shared } else { 0 }, assumed_prefix: alive && prefix.is_none() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIVE_MINUTES: CacheRules = CacheRules { ttl_ms: Some(300_000) };

    #[test]
    fn reads_what_is_shared_and_still_alive() {
        let mut cache = LaneCache::new();
        let mut hit = |at, prompt, prefix| cache.serve(FIVE_MINUTES, 1, at, prompt, prefix).tokens;
        assert_eq!(hit(0, 1_000, Some(900)), 0, "nothing is warm yet");
        assert_eq!(hit(300_000, 1_200, Some(1_000)), 1_000, "the time to live is inclusive");
        assert_eq!(hit(600_001, 1_300, Some(1_200)), 0, "a millisecond later it is gone");
        assert_eq!(hit(600_002, 2_000, Some(1_500)), 1_300, "no more than was sent");
        assert_eq!(hit(600_003, 500, Some(900)), 500, "no more than the prompt");
    }

    #[test]
    fn engines_share_nothing_and_an_unknown_prefix_is_marked() {
        let mut cache = LaneCache::new();
        cache.serve(FIVE_MINUTES, 1, 0, 1_000, None);
        assert_eq!(cache.serve(FIVE_MINUTES, 2, 1, 1_000, None).tokens, 0);
        let hit = cache.serve(FIVE_MINUTES, 1, 2, 800, None);
        assert_eq!(hit, Hit { tokens: 800, assumed_prefix: true });
        let forever = CacheRules { ttl_ms: None };
        cache.serve(forever, 2, 3, 900, Some(900));
        assert_eq!(
            cache.serve(FIVE_MINUTES, 2, u64::MAX, 900, Some(900)).tokens,
            900,
            "it was written for ever"
        );
        assert_eq!(cache.serve(FIVE_MINUTES, 2, 5, 900, Some(900)).tokens, 900, "no negative ages");
    }
}

//! Token usage: the providers' conventions brought to one, with what they said kept beside it.
//!
//! Anthropic's `input_tokens` leaves cached tokens out, OpenAI's and OpenTelemetry's counts hold
//! them; OpenAI reports cache writes inside the prompt too. Everything is normalised once, here:
//! `prompt = uncached + read + written`, always.

mod normalise;
mod raw;

use serde::{Deserialize, Serialize};

pub use self::normalise::Convention;
pub use self::raw::RawUsage;
use crate::limits::TOKENS_MAX;

/// Something to know about how a [`Usage`] came to be, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UsageMarks(u16);

impl UsageMarks {
    /// The marks as a number, a bit each.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// The provider's figures contradict each other or are out of range; they were clamped.
    pub const INCONSISTENT: Self = Self(1);
    /// Cache writes came without their time to live and count as 5-minute writes.
    pub const WRITE_TTL_ASSUMED: Self = Self(2);
    /// The provider said nothing of cache reads: how the prompt splits is unknown.
    pub const CACHE_NOT_REPORTED: Self = Self(4);
    /// The usage object held more than is kept.
    pub const RAW_TRUNCATED: Self = Self(8);

    /// True when every bit of `marks` is set.
    #[must_use]
    pub const fn contains(self, marks: Self) -> bool {
        self.0 & marks.0 == marks.0
    }

    const fn with(self, marks: Self, set: bool) -> Self {
        if set { Self(self.0 | marks.0) } else { self }
    }

    /// The words used in reports and JSON.
    #[must_use]
    pub fn labels(self) -> Vec<&'static str> {
        let all = [
            (Self::INCONSISTENT, "usage_inconsistent"),
            (Self::WRITE_TTL_ASSUMED, "write_ttl_assumed_5m"),
            (Self::CACHE_NOT_REPORTED, "cache_not_reported"),
            (Self::RAW_TRUNCATED, "raw_usage_truncated"),
        ];
        all.into_iter().filter(|(mark, _)| self.contains(*mark)).map(|(_, label)| label).collect()
    }
}

/// Normalised usage of one request, in tokens. `None` is unknown, which is never zero.
///
/// No figure is above [`TOKENS_MAX`], and no part is larger than its whole: an event that says otherwise is
/// neither written nor read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The whole prompt: uncached, read from and written to the cache.
    pub prompt: Option<u32>,
    /// Of the prompt: read from the provider's cache, as reported.
    pub cache_read: Option<u32>,
    /// Of the prompt: written to the cache for 5 minutes, as reported.
    pub cache_write_5m: Option<u32>,
    /// Of the prompt: written to the cache for 1 hour, as reported.
    pub cache_write_1h: Option<u32>,
    /// The whole answer, reasoning included.
    pub output: Option<u32>,
    /// Of the answer: reasoning, as reported.
    pub reasoning: Option<u32>,
    /// Images in the prompt.
    pub images: Option<u32>,
    /// How the figures came to be.
    pub marks: UsageMarks,
}

impl Usage {
    /// Checks that no figure is out of range and no part larger than its whole: an event that holds
    /// other usage is refused.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn check(&self) -> Result<(), &'static str> {
        let cached = [self.cache_read, self.cache_write_5m, self.cache_write_1h];
        let figures = [self.prompt, self.output, self.reasoning, self.images];
        if cached.iter().chain(&figures).flatten().any(|figure| *figure > TOKENS_MAX) {
            return Err("a token count is larger than any request");
        }
        let cached: u64 = cached.iter().flatten().map(|figure| u64::from(*figure)).sum();
        if self.prompt.is_some_and(|prompt| cached > u64::from(prompt)) {
            return Err("the cached tokens are more than the prompt");
        }
        if self.output.zip(self.reasoning).is_some_and(|(output, part)| part > output) {
            return Err("the reasoning is more than the answer");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::RAW_USAGE_PAIRS_MAX;
    use crate::payload::RawPairs;
    use proptest::prelude::*;

    fn raw(json: &str) -> RawUsage {
        RawUsage::from_object(&mut serde_json::Deserializer::from_str(json)).unwrap()
    }

    #[test]
    fn openai_cached_tokens_are_part_of_the_prompt() {
        let usage = raw(r#"{"prompt_tokens":2000,"completion_tokens":300,
            "prompt_tokens_details":{"cached_tokens":1920},"service_tier":"default","cost":0.01}"#)
        .normalise(Convention::OpenAi);
        assert_eq!((usage.prompt, usage.cache_read), (Some(2000), Some(1920)));
        assert_eq!((usage.cache_write_5m, usage.cache_write_1h), (Some(0), Some(0)));
        assert_eq!(usage.marks, UsageMarks::default());
    }

    #[test]
    fn openai_responses_and_cache_writes_inside_the_input() {
        let usage = raw(r#"{"input_tokens":5000,"output_tokens":90,
            "input_tokens_details":{"cached_tokens":1000,"cache_write_tokens":3000},
            "output_tokens_details":{"reasoning_tokens":64}}"#)
        .normalise(Convention::OpenAi);
        assert_eq!(usage.prompt, Some(5000));
        assert_eq!((usage.cache_read, usage.cache_write_5m), (Some(1000), Some(3000)));
        assert_eq!((usage.output, usage.reasoning), (Some(90), Some(64)));
        assert_eq!(usage.marks.labels(), ["write_ttl_assumed_5m"]);
    }

    #[test]
    fn a_provider_silent_on_caching_leaves_the_split_unknown() {
        let usage =
            raw(r#"{"prompt_tokens":10,"completion_tokens":2}"#).normalise(Convention::OpenAi);
        assert_eq!((usage.prompt, usage.cache_read, usage.cache_write_5m), (Some(10), None, None));
        assert_eq!(usage.marks.labels(), ["cache_not_reported"]);
    }

    // Case 4: cached > prompt is clamped and marked; the raw usage is kept as it was.
    #[test]
    fn case_4_inconsistent_usage_is_clamped_and_marked() {
        let raw = raw(r#"{"prompt_tokens":100,"completion_tokens":1,
            "prompt_tokens_details":{"cached_tokens":160}}"#);
        let usage = raw.normalise(Convention::OpenAi);
        assert_eq!((usage.prompt, usage.cache_read), (Some(100), Some(100)));
        assert!(usage.marks.contains(UsageMarks::INCONSISTENT));
        assert!(raw.pairs().any(|pair| pair == ("prompt_tokens_details.cached_tokens", 160)));
    }

    #[test]
    fn anthropic_input_leaves_the_cache_out() {
        let usage = raw(r#"{"input_tokens":3,"cache_creation_input_tokens":12000,
            "cache_read_input_tokens":0,"output_tokens":500}"#)
        .normalise(Convention::Anthropic);
        assert_eq!((usage.prompt, usage.cache_write_5m), (Some(12_003), Some(12_000)));
        assert_eq!(usage.marks.labels(), ["write_ttl_assumed_5m"]);
    }

    #[test]
    fn anthropic_write_kinds_are_told_apart() {
        let usage = raw(r#"{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":100000,
            "cache_creation":{"ephemeral_5m_input_tokens":60000,"ephemeral_1h_input_tokens":40000}}"#)
        .normalise(Convention::Anthropic);
        assert_eq!((usage.cache_write_5m, usage.cache_write_1h), (Some(60_000), Some(40_000)));
        assert_eq!(usage.prompt, Some(100_000));
        assert_eq!(usage.marks.labels(), Vec::<&str>::new());
    }

    #[test]
    fn opentelemetry_attributes_include_the_cache() {
        let usage = RawUsage::from_pairs([
            ("gen_ai.usage.input_tokens", 100),
            ("gen_ai.usage.cache_read.input_tokens", 50),
            ("gen_ai.usage.cache_creation.input_tokens", 25),
            ("gen_ai.usage.output_tokens", 7),
        ])
        .normalise(Convention::OpenTelemetry);
        assert_eq!(
            (usage.prompt, usage.cache_read, usage.cache_write_5m),
            (Some(100), Some(50), Some(25))
        );
    }

    #[test]
    fn figures_out_of_range_are_unknown_not_zero() {
        let usage = raw(r#"{"prompt_tokens":-5,"completion_tokens":99999999999}"#)
            .normalise(Convention::OpenAi);
        assert_eq!((usage.prompt, usage.output), (None, None));
        assert!(usage.marks.contains(UsageMarks::INCONSISTENT));
    }

    #[test]
    fn an_unusable_part_leaves_its_whole_unknown() {
        let usage =
            raw(r#"{"input_tokens":3,"cache_read_input_tokens":5000000000,"output_tokens":5}"#)
                .normalise(Convention::Anthropic);
        assert_eq!((usage.prompt, usage.cache_read, usage.output), (None, None, Some(5)));
        assert!(usage.marks.contains(UsageMarks::INCONSISTENT));
        let usage = raw(r#"{"prompt_tokens":10,"completion_tokens":2,
                "prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":-1}}"#)
        .normalise(Convention::OpenAi);
        assert_eq!((usage.cache_read, usage.cache_write_5m), (Some(4), None));
    }

    #[test]
    fn parts_larger_than_their_whole_make_no_sense() {
        let usage = Usage { prompt: Some(100), cache_read: Some(60), ..Usage::default() };
        assert!(Usage { cache_write_1h: Some(40), ..usage }.check().is_ok());
        assert!(Usage { cache_write_1h: Some(41), ..usage }.check().is_err());
        assert!(Usage { prompt: Some(u32::MAX), ..usage }.check().is_err());
        assert!(Usage { output: Some(1), reasoning: Some(2), ..usage }.check().is_err());
    }

    #[test]
    fn hostile_usage_objects_are_cut_to_the_bounds() {
        let many: String = (0..200).map(|i| format!("\"k{i:03}\":{i},")).collect();
        let flat = raw(&format!("{{{many}\"prompt_tokens\":1}}"));
        assert_eq!(RawPairs::of(&flat).pairs().len(), RAW_USAGE_PAIRS_MAX);
        assert_eq!(
            flat.normalise(Convention::OpenAi).prompt,
            Some(1),
            "what is cut was read first"
        );
        assert!(flat.normalise(Convention::OpenAi).marks.contains(UsageMarks::RAW_TRUNCATED));
        let deep = format!("{}1{}", "{\"a\":".repeat(100), "}".repeat(100));
        assert_eq!(raw(&deep).pairs().count(), 0);
        assert_eq!(
            raw(r#"{"a":[1,{"b":2}],"c":null,"d":"x","e":true,"f":18446744073709551615}"#)
                .pairs()
                .count(),
            0
        );
    }

    proptest! {
        #[test]
        fn parts_never_exceed_their_whole(
            prompt in any::<i64>(), read in any::<i64>(), write in any::<i64>(), output in any::<i64>(),
        ) {
            let usage = RawUsage::from_pairs([
                ("prompt_tokens", prompt),
                ("prompt_tokens_details.cached_tokens", read),
                ("prompt_tokens_details.cache_write_tokens", write),
                ("completion_tokens", output),
            ])
            .normalise(Convention::OpenAi);
            prop_assert_eq!(usage.check(), Ok(()));
        }
    }
}

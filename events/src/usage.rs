//! Token usage: the providers' conventions brought to one, with what they said kept beside it.
//!
//! Anthropic's `input_tokens` leaves cached tokens out, OpenAI's and OpenTelemetry's counts hold
//! them; OpenAI reports cache writes inside the prompt too. Everything is normalised once, here:
//! `prompt = uncached + read + written`, always.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::limits::{
    NAME_BYTES_MAX, RAW_USAGE_BYTES_MAX, RAW_USAGE_DEPTH_MAX, RAW_USAGE_PAIRS_MAX, TOKENS_MAX,
};

/// Something to know about how a [`Usage`] came to be, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UsageMarks(u16);

impl UsageMarks {
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

/// Which provider's convention a usage object follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convention {
    /// OpenAI chat and Responses, and what calls itself compatible: the prompt includes the cache.
    OpenAi,
    /// Anthropic Messages: the input leaves the cache out.
    Anthropic,
    /// OpenTelemetry `gen_ai.usage.*`: the input includes the cache.
    OpenTelemetry,
}

/// The integers of a provider's usage object as sorted (dotted path, value) pairs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawUsage {
    pairs: BTreeMap<String, i64>,
    truncated: bool,
}

impl RawUsage {
    /// Keeps the pairs that fit the format's bounds, smallest paths first.
    pub fn from_pairs<S: Into<String>>(pairs: impl IntoIterator<Item = (S, i64)>) -> Self {
        let mut raw = Self::default();
        for (path, value) in pairs {
            raw.insert(path.into(), value);
        }
        raw.trim();
        raw
    }

    /// The pairs, sorted by path.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, i64)> {
        self.pairs.iter().map(|(path, value)| (path.as_str(), *value))
    }

    fn insert(&mut self, path: String, value: i64) {
        if path.len() <= NAME_BYTES_MAX && is_printable_ascii(&path) {
            self.pairs.insert(path, value);
        } else {
            self.truncated = true;
        }
    }

    fn trim(&mut self) {
        let mut bytes = 0;
        let mut kept = 0;
        self.pairs.retain(|path, _| {
            bytes += path.len() + 8;
            kept += 1;
            kept <= RAW_USAGE_PAIRS_MAX && bytes <= RAW_USAGE_BYTES_MAX
        });
        self.truncated |= kept > RAW_USAGE_PAIRS_MAX || bytes > RAW_USAGE_BYTES_MAX;
    }

    /// Reads the usage object of any self-describing format (JSON at the edges). Only integers are
    /// kept; nulls, texts, floats and lists are not usage.
    ///
    /// # Errors
    /// Whatever the deserializer finds wrong with its input.
    pub fn from_object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut raw = Self::default();
        Flatten { raw: &mut raw, path: String::new(), depth: 0 }.deserialize(deserializer)?;
        raw.trim();
        Ok(raw)
    }

    /// Brings the pairs to one convention.
    #[must_use]
    pub fn normalise(&self, convention: Convention) -> Usage {
        let mut usage = match convention {
            Convention::OpenAi => self.normalise_openai(),
            Convention::Anthropic => self.normalise_anthropic(),
            Convention::OpenTelemetry => self.normalise_inclusive(
                &["gen_ai.usage.input_tokens"],
                &["gen_ai.usage.cache_read.input_tokens"],
                &["gen_ai.usage.cache_creation.input_tokens"],
                &["gen_ai.usage.output_tokens"],
                &["gen_ai.usage.reasoning.output_tokens"],
            ),
        };
        usage.marks = usage.marks.with(UsageMarks::RAW_TRUNCATED, self.truncated);
        usage
    }

    fn normalise_openai(&self) -> Usage {
        self.normalise_inclusive(
            &["prompt_tokens", "input_tokens"],
            &["prompt_tokens_details.cached_tokens", "input_tokens_details.cached_tokens"],
            &[
                "prompt_tokens_details.cache_write_tokens",
                "input_tokens_details.cache_write_tokens",
            ],
            &["completion_tokens", "output_tokens"],
            &[
                "completion_tokens_details.reasoning_tokens",
                "output_tokens_details.reasoning_tokens",
            ],
        )
    }

    /// Conventions in which the prompt count holds the cached tokens.
    fn normalise_inclusive(
        &self,
        prompt: &[&str],
        read: &[&str],
        write: &[&str],
        output: &[&str],
        reasoning: &[&str],
    ) -> Usage {
        let mut odd = false;
        let [prompt, read, write, output, reasoning] =
            [prompt, read, write, output, reasoning].map(|paths| self.tokens(paths, &mut odd));
        // A write nobody mentions beside a reported read did not happen; with neither, the split is unknown.
        let write = write.or(read.map(|_| 0));
        let read_in_prompt = clamp(read, prompt, &mut odd);
        let rest = prompt.zip(read_in_prompt).map(|(prompt, read)| prompt - read).or(prompt);
        let write_in_prompt = clamp(write, rest, &mut odd);
        Usage {
            prompt,
            cache_read: read_in_prompt,
            cache_write_5m: write_in_prompt,
            cache_write_1h: write_in_prompt.map(|_| 0),
            output,
            reasoning: clamp(reasoning, output, &mut odd),
            images: None,
            marks: UsageMarks::default()
                .with(UsageMarks::INCONSISTENT, odd)
                .with(UsageMarks::WRITE_TTL_ASSUMED, write_in_prompt.is_some_and(|n| n > 0))
                .with(UsageMarks::CACHE_NOT_REPORTED, read.is_none()),
        }
    }

    /// Anthropic: input + creation + read = prompt. Absent cache fields mean a request without cache.
    fn normalise_anthropic(&self) -> Usage {
        let mut odd = false;
        let mut tokens = |path: &str| self.tokens(&[path], &mut odd);
        let input = tokens("input_tokens");
        let read = tokens("cache_read_input_tokens");
        let created = tokens("cache_creation_input_tokens");
        let five_minutes = tokens("cache_creation.ephemeral_5m_input_tokens");
        let one_hour = tokens("cache_creation.ephemeral_1h_input_tokens");
        let output = tokens("output_tokens");
        let split = five_minutes.is_some() || one_hour.is_some();
        let one_hour = one_hour.unwrap_or(0);
        let stated = u64::from(five_minutes.unwrap_or(0)) + u64::from(one_hour);
        let written = u64::from(created.unwrap_or(0)).max(stated);
        odd |= split && created.is_some_and(|created| u64::from(created) != stated);
        let five_minutes = bounded(written - u64::from(one_hour), &mut odd);
        let prompt = input.and_then(|input| {
            bounded(u64::from(input) + u64::from(read.unwrap_or(0)) + written, &mut odd)
        });
        Usage {
            prompt,
            cache_read: Some(read.unwrap_or(0)),
            cache_write_5m: five_minutes,
            cache_write_1h: Some(one_hour),
            output,
            reasoning: None,
            images: None,
            marks: UsageMarks::default()
                .with(UsageMarks::INCONSISTENT, odd)
                .with(UsageMarks::WRITE_TTL_ASSUMED, !split && written > 0)
                .with(UsageMarks::CACHE_NOT_REPORTED, read.is_none() && created.is_none()),
        }
    }

    /// The first of `paths` that is there; a value out of range is unknown, and odd.
    fn tokens(&self, paths: &[&str], odd: &mut bool) -> Option<u32> {
        let value = paths.iter().find_map(|path| self.pairs.get(*path))?;
        match u64::try_from(*value) {
            Ok(value) => bounded(value, odd),
            Err(_) => {
                *odd = true;
                None
            }
        }
    }
}

fn bounded(value: u64, odd: &mut bool) -> Option<u32> {
    let bounded = u32::try_from(value).ok().filter(|tokens| *tokens <= TOKENS_MAX);
    *odd |= bounded.is_none();
    bounded
}

/// A part can be no larger than its whole.
fn clamp(part: Option<u32>, whole: Option<u32>, odd: &mut bool) -> Option<u32> {
    match (part, whole) {
        (Some(part), Some(whole)) if part > whole => {
            *odd = true;
            Some(whole)
        }
        (part, _) => part,
    }
}

/// True for the characters names and paths may hold: `!` to `~`, and the space between them.
pub(crate) fn is_printable_ascii(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// Walks a self-describing value, collecting integers under dotted paths.
struct Flatten<'r> {
    raw: &'r mut RawUsage,
    path: String,
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for Flatten<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Flatten<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a usage object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let path = if self.path.is_empty() { key } else { format!("{}.{key}", self.path) };
            if self.depth == RAW_USAGE_DEPTH_MAX {
                self.raw.truncated = true;
                map.next_value::<IgnoredAny>()?;
            } else {
                map.next_value_seed(Flatten { raw: self.raw, path, depth: self.depth + 1 })?;
            }
        }
        Ok(())
    }

    fn visit_i64<E>(self, value: i64) -> Result<(), E> {
        self.raw.insert(self.path, value);
        Ok(())
    }

    fn visit_u64<E>(self, value: u64) -> Result<(), E> {
        match i64::try_from(value) {
            Ok(value) => self.raw.insert(self.path, value),
            Err(_) => self.raw.truncated = true,
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    // Deserializers hand over whatever number the input holds; a fraction of a token is no count.
    #[expect(clippy::disallowed_types, reason = "serde's visitor names it; the value is dropped")]
    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn hostile_usage_objects_are_cut_to_the_bounds() {
        let many: String = (0..200).map(|i| format!("\"k{i:03}\":{i},")).collect();
        let flat = raw(&format!("{{{many}\"prompt_tokens\":1}}"));
        assert!(flat.pairs().count() <= RAW_USAGE_PAIRS_MAX);
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
            if let (Some(prompt), Some(read), Some(write)) =
                (usage.prompt, usage.cache_read, usage.cache_write_5m)
            {
                prop_assert!(u64::from(read) + u64::from(write) <= u64::from(prompt));
            }
        }
    }
}

//! From what providers say to one convention.

use super::{RawUsage, Usage, UsageMarks};
use crate::limits::TOKENS_MAX;

/// Which provider's convention a usage object follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convention {
    /// OpenAI chat and Responses, and what calls itself compatible: the prompt includes the cache.
    OpenAi,
    /// Anthropic Messages: the input leaves the cache out.
    Anthropic,
    /// OpenTelemetry `gen_ai.usage.*`: the input includes the cache.
    OpenTelemetry,
    /// Codex's own records of Responses usage: the input includes the cache.
    Codex,
}

/// A count as a provider states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stated {
    /// Not mentioned.
    Absent,
    /// Negative, or more than any request takes: nobody knows what it means.
    Unusable,
    /// So many tokens.
    Tokens(u32),
}

impl Stated {
    fn of(value: Option<i64>) -> Self {
        match value.map(u32::try_from) {
            None => Self::Absent,
            Some(Ok(tokens)) if tokens <= TOKENS_MAX => Self::Tokens(tokens),
            Some(_) => Self::Unusable,
        }
    }

    /// The count, with a count for one that is not mentioned.
    const fn or(self, absent: Option<u32>) -> Option<u32> {
        match self {
            Self::Absent => absent,
            Self::Unusable => None,
            Self::Tokens(tokens) => Some(tokens),
        }
    }

    const fn known(self) -> Option<u32> {
        self.or(None)
    }
}

/// Where a convention that counts the cache inside the prompt keeps its figures.
struct Paths {
    prompt: &'static [&'static str],
    read: &'static [&'static str],
    write: &'static [&'static str],
    output: &'static [&'static str],
    reasoning: &'static [&'static str],
}

const OPENAI: Paths = Paths {
    prompt: &["prompt_tokens", "input_tokens"],
    read: &["prompt_tokens_details.cached_tokens", "input_tokens_details.cached_tokens"],
    write: &["prompt_tokens_details.cache_write_tokens", "input_tokens_details.cache_write_tokens"],
    output: &["completion_tokens", "output_tokens"],
    reasoning: &[
        "completion_tokens_details.reasoning_tokens",
        "output_tokens_details.reasoning_tokens",
    ],
};

const OPENTELEMETRY: Paths = Paths {
    prompt: &["gen_ai.usage.input_tokens"],
    read: &["gen_ai.usage.cache_read.input_tokens"],
    write: &["gen_ai.usage.cache_creation.input_tokens"],
    output: &["gen_ai.usage.output_tokens"],
    reasoning: &["gen_ai.usage.reasoning.output_tokens"],
};

const CODEX: Paths = Paths {
    prompt: &["input_tokens"],
    read: &["cached_input_tokens"],
    write: &["cache_write_input_tokens"],
    output: &["output_tokens"],
    reasoning: &["reasoning_output_tokens"],
};

impl RawUsage {
    /// Brings the pairs to one convention.
    #[must_use]
    pub fn normalise(&self, convention: Convention) -> Usage {
        let mut usage = match convention {
            Convention::OpenAi => self.inclusive(&OPENAI),
            Convention::OpenTelemetry => self.inclusive(&OPENTELEMETRY),
            Convention::Codex => self.inclusive(&CODEX),
            Convention::Anthropic => self.anthropic(),
        };
        usage.marks = usage.marks.with(UsageMarks::RAW_TRUNCATED, self.is_truncated());
        usage
    }

    /// Conventions in which the prompt count holds the cached tokens.
    fn inclusive(&self, paths: &Paths) -> Usage {
        let [prompt, read, write, output, reasoning] =
            [paths.prompt, paths.read, paths.write, paths.output, paths.reasoning]
                .map(|paths| self.stated(paths));
        let stated = [prompt, read, write, output, reasoning];
        let mut odd = stated.contains(&Stated::Unusable);
        let whole = prompt.known();
        let read_in_prompt = clamp(read.known(), whole, &mut odd);
        // A write nobody mentions beside a reported read did not happen; with neither, the split is unknown.
        let write = write.or(read_in_prompt.map(|_| 0));
        let rest = whole.map(|prompt| prompt - read_in_prompt.unwrap_or(0));
        let write_in_prompt = clamp(write, rest, &mut odd);
        Usage {
            prompt: whole,
            cache_read: read_in_prompt,
            cache_write_5m: write_in_prompt,
            cache_write_1h: write_in_prompt.map(|_| 0),
            output: output.known(),
            reasoning: clamp(reasoning.known(), output.known(), &mut odd),
            images: None,
            marks: UsageMarks::default()
                .with(UsageMarks::INCONSISTENT, odd)
                .with(UsageMarks::WRITE_TTL_ASSUMED, write_in_prompt.is_some_and(|n| n > 0))
                .with(UsageMarks::CACHE_NOT_REPORTED, read.known().is_none()),
        }
    }

    /// Anthropic: input + creation + read = prompt. Absent cache fields mean a request without cache.
    fn anthropic(&self) -> Usage {
        let input = self.stated(&["input_tokens"]);
        let read = self.stated(&["cache_read_input_tokens"]);
        let created = self.stated(&["cache_creation_input_tokens"]);
        let five_minutes = self.stated(&["cache_creation.ephemeral_5m_input_tokens"]);
        let one_hour = self.stated(&["cache_creation.ephemeral_1h_input_tokens"]);
        let output = self.stated(&["output_tokens"]);
        let stated = [input, read, created, five_minutes, one_hour, output];
        let mut odd = stated.contains(&Stated::Unusable);
        let split = five_minutes != Stated::Absent || one_hour != Stated::Absent;
        let writes = if split {
            let parts = five_minutes.or(Some(0)).zip(one_hour.or(Some(0)));
            parts.map(|(five, hour)| with_remainder(five, hour, created.known(), &mut odd))
        } else {
            created.or(Some(0)).map(|created| (u64::from(created), 0))
        };
        let parts = input.known().zip(read.or(Some(0))).zip(writes);
        let prompt = parts.and_then(|((input, read), (five, hour))| {
            bounded(u64::from(input) + u64::from(read) + five + u64::from(hour), &mut odd)
        });
        // Parts of a prompt nobody knows are not kept apart: none could be checked against it.
        let within = |part: Option<u64>| prompt.and(part).and_then(|part| u32::try_from(part).ok());
        Usage {
            prompt,
            cache_read: within(read.or(Some(0)).map(u64::from)),
            cache_write_5m: within(writes.map(|(five, _)| five)),
            cache_write_1h: within(writes.map(|(_, hour)| u64::from(hour))),
            output: output.known(),
            reasoning: None,
            images: None,
            marks: UsageMarks::default()
                .with(UsageMarks::INCONSISTENT, odd)
                .with(
                    UsageMarks::WRITE_TTL_ASSUMED,
                    !split && created.known().is_some_and(|n| n > 0),
                )
                .with(
                    UsageMarks::CACHE_NOT_REPORTED,
                    read == Stated::Absent && created == Stated::Absent,
                ),
        }
    }

    /// The first of `paths` that is there.
    fn stated(&self, paths: &[&str]) -> Stated {
        Stated::of(paths.iter().find_map(|path| self.get(path)))
    }
}

/// Writes by time to live; what the sum holds beyond the two counts as 5-minute writes.
fn with_remainder(five: u32, hour: u32, sum: Option<u32>, odd: &mut bool) -> (u64, u32) {
    let split = u64::from(five) + u64::from(hour);
    let sum = sum.map_or(split, u64::from);
    *odd |= sum != split;
    (u64::from(five) + sum.saturating_sub(split), hour)
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

//! What a request is like, as far as it can be told before anybody answers it: values, or unknown.

use serde::{Deserialize, Serialize};

use crate::codes::codes;
use crate::limits::TOKENS_MAX;

codes! {
    /// How much reasoning a client asks for.
    Effort {
        /// The client does not say.
        Unasked = 0 "unasked",
        /// None.
        Off = 1 "off",
        /// As little as there is.
        Minimal = 2 "minimal",
        /// Little.
        Low = 3 "low",
        /// Some.
        Medium = 4 "medium",
        /// Much.
        High = 5 "high",
        /// More than that.
        XHigh = 6 "xhigh",
        /// As much as there is.
        Max = 7 "max",
    }
}

/// The size of a text, as tokenizers see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextSize {
    /// Bytes of UTF-8, all of them.
    pub bytes: u32,
    /// Characters of scripts written without spaces (Chinese, Japanese, Korean), of three bytes each.
    pub wide: u32,
}

/// The sizes of a request's parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anatomy {
    /// Instructions: system and developer messages.
    pub system: TextSize,
    /// The tools on offer: names, descriptions, schemas.
    pub tools: TextSize,
    /// What people say.
    pub user: TextSize,
    /// What the model said, its tool calls' arguments included.
    pub assistant: TextSize,
    /// What tools gave back.
    pub results: TextSize,
}

/// Words that tell how hard a piece of work is, one bit each: `projections::features` gives them their meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Keywords(pub u32);

/// What a request is like. `None` is unknown: its source does not say. Texts are those of the newest user message, so
/// that nothing said long ago weighs on what is asked now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Features {
    /// The prompt's parts.
    pub anatomy: Option<Anatomy>,
    /// The whole prompt in tokens, where somebody counted them.
    pub prompt_tokens: Option<u32>,
    /// What is new at the prompt's end: the last tool results, or the last user messages.
    pub tail: Option<TextSize>,
    /// The same in tokens, where somebody counted them.
    pub new_tokens: Option<u32>,
    /// User and assistant messages.
    pub depth: Option<u32>,
    /// Tools on offer.
    pub tools: Option<u16>,
    /// True when it ends with tool results.
    pub continues: Option<bool>,
    /// Messages of tool calls and their results it ends with, without a person between them: 2 for a round trip.
    pub loop_depth: Option<u16>,
    /// Different tools that were called.
    pub distinct_tools: Option<u16>,
    /// True when one of the last tool results is a failure.
    pub tool_failed: Option<bool>,
    /// True when the last two tool calls are the same.
    pub repeated_call: Option<bool>,
    /// True when any two of the last four tool calls are the same.
    pub circular_call: Option<bool>,
    /// True when all tools the last results are from only read.
    pub read_only_tail: Option<bool>,
    /// Images, anywhere.
    pub images: Option<u32>,
    /// True when the newest user message brings one.
    pub new_image: Option<bool>,
    /// Fenced code blocks.
    pub code_blocks: Option<u16>,
    /// Bytes in them.
    pub code_bytes: Option<u32>,
    /// True when it looks like a diff.
    pub diff: Option<bool>,
    /// Words that tell of the work.
    pub keywords: Option<Keywords>,
    /// Question marks.
    pub questions: Option<u16>,
    /// True for an instruction of one short sentence.
    pub terse: Option<bool>,
    /// Reasoning asked for.
    pub effort: Option<Effort>,
}

impl Features {
    /// Checks that the figures are in range.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn check(&self) -> Result<(), &'static str> {
        let counts = [self.prompt_tokens, self.new_tokens, self.images, self.depth];
        if counts.iter().flatten().any(|count| *count > TOKENS_MAX) {
            return Err("a count is larger than any request");
        }
        let parts = self.anatomy.map(|anatomy| {
            let Anatomy { system, tools, user, assistant, results } = anatomy;
            [system, tools, user, assistant, results]
        });
        let mut texts = parts.iter().flatten().chain(self.tail.iter());
        if texts.any(|text| text.wide > text.bytes / 3) {
            return Err("a text has more wide characters than its bytes can hold");
        }
        Ok(())
    }
}

//! From bytes to tokens: the shape is fixed, a factor per family of tokenizers is learned from bills.

use events::limits::TOKENS_MAX;
use events::payload::{Anatomy, Features, TextSize};
use serde::{Deserialize, Serialize};

use crate::names::model_of;

/// Families of tokenizers: how the names of their models begin, and bytes per token in thousandths until enough bills
/// have shown otherwise (router facts 1.3). The last is of whatever fits none.
const FAMILIES: [(&str, &[&str], u32); 10] = [
    ("claude", &["claude"], 3_600),
    ("gpt", &["gpt", "chatgpt", "codex", "o1", "o3", "o4"], 3_600),
    ("gemini", &["gemini", "gemma"], 3_600),
    ("deepseek", &["deepseek"], 3_400),
    ("llama", &["llama", "meta-llama"], 3_600),
    ("qwen", &["qwen", "qwq"], 3_600),
    ("grok", &["grok"], 3_600),
    ("mistral", &["mistral", "ministral", "mixtral", "codestral", "devstral", "magistral"], 3_600),
    ("glm", &["glm"], 3_600),
    ("other", &[], 3_600),
];
/// How many families there are.
pub const FAMILIES_COUNT: usize = FAMILIES.len();
/// Tokens of an image.
const IMAGE_TOKENS: u32 = 1_100;
/// Bills a learned factor needs.
const SAMPLES_MIN: u32 = 20;
/// Bytes per token outside of these, in thousandths, are a provider's own way of counting: they teach nothing.
const PLAUSIBLE: std::ops::RangeInclusive<u64> = 1_500..=8_000;
/// Bills a factor is learned from: twice as many are halved.
const SAMPLES_KEPT: u32 = 10_000;

/// A family of tokenizers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Family(u8);

impl Family {
    /// The family of whatever fits none.
    pub const OTHER: Self = Self(FAMILIES.len() as u8 - 1);

    /// OpenAI's: what is counted with before anything is known.
    pub const GPT: Self = Self(1);
    /// Every family, by its place.
    pub const ALL: [Self; FAMILIES_COUNT] = {
        let mut all = [Self(0); FAMILIES_COUNT];
        let mut index = 0;
        while index < all.len() {
            all[index] = Self(index as u8);
            index += 1;
        }
        all
    };

    /// An engine's family, by its model's name.
    #[must_use]
    pub fn of(engine: &str) -> Self {
        let model = model_of(engine);
        let fits = |starts: &[&str]| starts.iter().any(|start| model.starts_with(start));
        let found = FAMILIES.iter().position(|(_, starts, _)| fits(starts));
        found.and_then(|index| u8::try_from(index).ok()).map_or(Self::OTHER, Self)
    }

    /// Its place among the families.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Its name.
    #[must_use]
    pub fn label(self) -> &'static str {
        FAMILIES.get(self.index()).map_or("other", |(name, ..)| name)
    }
}

/// Bytes as tokenizers feel them: a wide character counts for four, so that even the densest tokenizer that is
/// plausible makes half a token of it.
const fn felt(text: TextSize) -> u64 {
    text.bytes as u64 + text.wide as u64
}

/// The whole prompt's bytes as tokenizers feel them.
fn felt_prompt(anatomy: &Anatomy) -> u64 {
    let Anatomy { system, tools, user, assistant, results } = *anatomy;
    [system, tools, user, assistant, results].into_iter().map(felt).sum()
}

/// What bills say of each family's bytes per token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calibration {
    bytes: u64,
    tokens: u64,
    /// Bills it was learned from.
    pub samples: u32,
}

impl Calibration {
    /// A bill came for a prompt of this size.
    pub(crate) fn count(&mut self, bytes: u64, tokens: u32) {
        let tokens = u64::from(tokens);
        let ratio = (bytes * 1_000).checked_div(tokens);
        if !ratio.is_some_and(|ratio| PLAUSIBLE.contains(&ratio)) {
            return;
        }
        self.bytes += bytes;
        self.tokens += tokens;
        self.samples += 1;
        if self.samples >= 2 * SAMPLES_KEPT {
            self.bytes /= 2;
            self.tokens /= 2;
            self.samples /= 2;
        }
    }

    /// Bytes per token, in thousandths.
    fn ratio(&self, family: Family) -> u64 {
        let listed = FAMILIES.get(family.index()).map_or(3_600, |(.., ratio)| *ratio);
        let learned = (self.bytes * 1_000).checked_div(self.tokens);
        learned.filter(|_| self.samples >= SAMPLES_MIN).unwrap_or_else(|| listed.into())
    }
}

/// What a bill teaches: the prompt's bytes, where they are known and hold no images.
#[must_use]
pub(crate) fn teaches(features: &Features) -> Option<u64> {
    let anatomy = features.anatomy.filter(|_| features.images == Some(0))?;
    Some(felt_prompt(&anatomy))
}

/// Tokens a provider may add to each message, and to a request, to frame them.
const FRAME_TOKENS: u64 = 16;
const REQUEST_TOKENS: u64 = 1_024;
/// More tokens than any provider makes of an image.
const IMAGE_TOKENS_MAX: u64 = 16_384;

/// No tokenizer makes more of a prompt than this: a token a byte, and what providers add.
#[must_use]
pub fn longest(features: &Features) -> u32 {
    let bytes = features.anatomy.map_or(0, |anatomy| {
        let Anatomy { system, tools, user, assistant, results } = anatomy;
        [system, tools, user, assistant, results].iter().map(|text| u64::from(text.bytes)).sum()
    });
    // Of tools' messages none is counted in the depth: at most one answers each of the others' bytes.
    let messages = u64::from(features.depth.unwrap_or(0)) * 2;
    let images = u64::from(features.images.unwrap_or(0)) * IMAGE_TOKENS_MAX;
    let most = bytes + messages * FRAME_TOKENS + images + REQUEST_TOKENS;
    u32::try_from(most).unwrap_or(TOKENS_MAX).min(TOKENS_MAX)
}

/// A prompt in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PromptTokens {
    /// All of it.
    pub prompt: u32,
    /// What is new at its end; `None`: unknown.
    pub new: Option<u32>,
}

impl PromptTokens {
    /// A prompt as a family of tokenizers sees it, and no longer than it can be. What was counted needs no estimate;
    /// of what is neither counted nor measured nothing is known, and the longest it can be is taken.
    #[must_use]
    pub fn of(features: &Features, most: u32, family: Family, learned: &Calibration) -> Self {
        let ratio = learned.ratio(family);
        let tokens = |felt: u64| (felt * 1_000).div_ceil(ratio);
        let measured = features.anatomy.map(|anatomy| {
            let images = u64::from(features.images.unwrap_or(0)) * u64::from(IMAGE_TOKENS);
            let all = tokens(felt_prompt(&anatomy)) + images;
            u32::try_from(all).unwrap_or(u32::MAX)
        });
        let prompt = features.prompt_tokens.or(measured).unwrap_or(most).min(most);
        let share = || {
            let (all, tail) = (felt_prompt(&features.anatomy?), felt(features.tail?));
            if all == 0 || tail == 0 {
                return Some(0);
            }
            let share = (u128::from(prompt) * u128::from(tail.min(all)) + u128::from(all) / 2)
                / u128::from(all);
            Some(u32::try_from(share.max(1)).unwrap_or(u32::MAX))
        };
        Self { prompt, new: features.new_tokens.or_else(share) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn size(text: &str) -> TextSize {
        let wide = text.chars().filter(|c| *c == '漢').count();
        TextSize { bytes: text.len() as u32, wide: wide as u32 }
    }

    fn of(text: TextSize, learned: &Calibration) -> u32 {
        let anatomy = Anatomy { user: text, ..Anatomy::default() };
        let features = Features { anatomy: Some(anatomy), images: Some(0), ..Features::default() };
        PromptTokens::of(&features, u32::MAX, Family::of("claude-x"), learned).prompt
    }

    // Case 25: no cliffs, no collapsed runs.
    #[test]
    fn case_25_dense_scripts_long_identifiers_and_long_texts_are_counted_alike() {
        let fresh = Calibration::default();
        let (wide, run) =
            (of(size(&"漢".repeat(2_000)), &fresh), of(size(&"a".repeat(2_000)), &fresh));
        assert!(wide >= 1_000, "half a token a character at least: {wide}");
        assert_eq!(run, 556);
        assert_eq!(of(size(&"x y ".repeat(60_000)), &fresh), 66_667);
        let mut dense = Calibration::default();
        (0..SAMPLES_MIN).for_each(|_| dense.count(8_000, 1_000));
        assert_eq!(of(size(&"漢".repeat(2_000)), &dense), 1_000, "whatever was learned");
    }

    #[test]
    fn calibration_needs_bills_and_leaves_the_implausible_out() {
        let mut learned = Calibration::default();
        for _ in 0..19 {
            learned.count(3_000, 1_000);
        }
        // 8.4 times as many tokens as others would count.
        learned.count(3_600, 8_400);
        learned.count(0, 10);
        learned.count(10, 0);
        let text = TextSize { bytes: 36_000, wide: 0 };
        assert_eq!((learned.samples, of(text, &learned)), (19, 10_000), "the listed ratio still");
        learned.count(3_000, 1_000);
        assert_eq!(of(text, &learned), 12_000);
    }

    #[test]
    fn what_was_counted_needs_no_estimate_and_nothing_is_longer_than_it_can_be() {
        let counted =
            Features { prompt_tokens: Some(500), new_tokens: Some(7), ..Features::default() };
        let of = |features: &Features, most| {
            PromptTokens::of(features, most, Family::OTHER, &Calibration::default())
        };
        assert_eq!(of(&counted, 900), PromptTokens { prompt: 500, new: Some(7) });
        assert_eq!(of(&Features::default(), 900), PromptTokens { prompt: 900, new: None });
        let anatomy = Anatomy {
            system: TextSize { bytes: 36_000, wide: 0 },
            user: TextSize { bytes: 360, wide: 0 },
            ..Anatomy::default()
        };
        let measured = Features {
            anatomy: Some(anatomy),
            tail: Some(anatomy.user),
            images: Some(2),
            ..Features::default()
        };
        assert_eq!(of(&measured, u32::MAX).prompt, 10_100 + 2_200);
        assert_eq!(of(&measured, u32::MAX).new, Some(122));
        assert_eq!(of(&measured, 5_000).prompt, 5_000);
    }

    #[test]
    fn families_are_told_by_the_model() {
        for (engine, family) in [
            ("anthropic/claude-opus-4-5", "claude"),
            ("openrouter/openai/gpt-5.5", "gpt"),
            ("openai/o3-mini", "gpt"),
            ("deepseek/deepseek-chat", "deepseek"),
            ("alibaba/qwen3-max", "qwen"),
            ("acme/m1", "other"),
        ] {
            assert_eq!(Family::of(engine).label(), family, "{engine}");
        }
    }

    proptest! {
        #[test]
        fn more_text_is_never_fewer_tokens(bytes in 0..10_000_000_u32, wide in 0..1_000_u32, more in 0..5_000_u32) {
            let fresh = Calibration::default();
            let (less, longer) = (
                TextSize { bytes: bytes + 3 * wide, wide },
                TextSize { bytes: bytes + 3 * wide + more, wide },
            );
            let (a, b) = (of(less, &fresh), of(longer, &fresh));
            prop_assert!(a <= b && b - a <= more, "{a} {b}");
        }
    }
}

//! Size classes of models.

use serde::{Deserialize, Serialize};

use super::words::Billions;

/// How large a model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Under 10 billion parameters, or as good.
    Small,
    /// Under 70 billion parameters, or as good.
    Medium,
    /// More.
    Large,
}

impl Class {
    /// Every class, smallest first.
    pub const ALL: [Self; 3] = [Self::Small, Self::Medium, Self::Large];

    /// Its place in [`Class::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The word used in policies, reports and JSON.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }

    /// Reads a label.
    #[must_use]
    pub fn parse(label: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| label.eq_ignore_ascii_case(class.label()))
    }

    pub(super) const fn below_large(self) -> i32 {
        match self {
            Self::Small => 2,
            Self::Medium => 1,
            Self::Large => 0,
        }
    }
}

const SMALL_WORDS: [&str; 4] = ["haiku", "mini", "nano", "small"];
const LARGE_WORDS: [&str; 6] = ["opus", "pro", "ultra", "large", "reasoner", "r1"];

/// The class of a model that nobody declares one for: by its active parameters, else all of them, else by words.
#[must_use]
pub fn guess_class(model: &str) -> Class {
    let model = model.to_lowercase();
    let words: Vec<&str> = model.split(['-', '_', '/', ':', ' ', '@']).collect();
    let first = |read: fn(&str) -> Option<Billions>| words.iter().find_map(|word| read(word));
    if let Some(size) = first(Billions::parse_active).or_else(|| first(Billions::parse)) {
        return super::scaled::class(size);
    }
    let has = |known: &[&str]| words.iter().any(|word| known.contains(word));
    if has(&SMALL_WORDS) || ["flash-lite", "flash_lite"].iter().any(|lite| model.contains(lite)) {
        Class::Small
    } else if has(&LARGE_WORDS) {
        Class::Large
    } else {
        Class::Medium
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // 2.7
    #[test]
    fn a_class_is_guessed_from_the_name() {
        let cases = [
            ("qwen2.5-coder:7b", Class::Small),
            ("llama3.1:9.9b", Class::Small),
            ("qwen3-30b-a3b", Class::Small),
            ("nemotron-3-super-120b-a12b", Class::Medium),
            ("qwen2.5:32b", Class::Medium),
            ("llama3.3:70b", Class::Large),
            ("mixtral:8x7b", Class::Medium),
            ("claude-haiku-4-5", Class::Small),
            ("gpt-5-mini", Class::Small),
            ("gpt-5-nano", Class::Small),
            ("mistral-small", Class::Small),
            ("gemini-2.5-flash-lite", Class::Small),
            ("gemini_flash_lite", Class::Small),
            ("anthropic/Claude-Opus-4", Class::Large),
            ("gemini-2.5-pro", Class::Large),
            ("nemotron-ultra", Class::Large),
            ("mistral-large", Class::Large),
            ("deepseek-reasoner", Class::Large),
            ("deepseek-r1", Class::Large),
            ("claude-sonnet-4", Class::Medium),
            ("", Class::Medium),
        ];
        for (model, expected) in cases {
            assert_eq!(guess_class(model), expected, "{model}");
        }
    }

    #[test]
    fn labels_are_read_back() {
        for (index, class) in Class::ALL.into_iter().enumerate() {
            assert_eq!((class.index(), Class::parse(class.label())), (index, Some(class)));
        }
    }
}

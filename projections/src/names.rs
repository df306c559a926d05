//! From a recorded model name to a priced engine, step by step.

use std::borrow::Cow;

/// Vendors by how the names of their models begin.
const VENDORS: &[(&str, &str)] = &[
    ("claude", "anthropic"),
    ("gpt-", "openai"),
    ("chatgpt-", "openai"),
    ("codex-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("gemini", "google"),
    ("gemma", "google"),
    ("deepseek", "deepseek"),
    ("grok", "xai"),
    ("mistral", "mistral"),
    ("codestral", "mistral"),
    ("devstral", "mistral"),
    ("qwen", "alibaba"),
    ("kimi", "moonshotai"),
    ("glm", "zhipuai"),
    ("minimax", "minimax"),
];

/// How a name led to an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The recorded name is the engine's id.
    Exact,
    /// A person says what it stands for.
    Mapped,
    /// A short name of the book.
    Alias,
    /// The model's own vendor has an entry for it.
    Vendor,
    /// Without its date suffix.
    WithoutDate,
    /// The vendor's entry, without the date suffix.
    VendorWithoutDate,
    /// By the start of its name, as the book's families say.
    Family,
}

impl Step {
    /// The words used in reports and JSON.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Exact => "exact id",
            Self::Mapped => "policy",
            Self::Alias => "alias",
            Self::Vendor => "vendor's entry",
            Self::WithoutDate => "without date",
            Self::VendorWithoutDate => "vendor's entry without date",
            Self::Family => "family",
        }
    }
}

/// The names to look for, best first: recorded provider and exact id; then the vendor's own entry;
/// then both without the date suffix.
pub fn candidates(recorded: &str) -> impl Iterator<Item = (Step, String)> {
    let undated = without_date(recorded);
    let vendor = |name: &str| Some(format!("{}/{}", vendor_of(name)?, model_of(name)));
    [
        Some((Step::Exact, recorded.to_owned())),
        vendor(recorded).map(|name| (Step::Vendor, name)),
        undated.map(|name| (Step::WithoutDate, name.to_owned())),
        undated.and_then(vendor).map(|name| (Step::VendorWithoutDate, name)),
    ]
    .into_iter()
    .flatten()
}

/// One name for whatever a model is recorded as: with its vendor where no provider is stated, without its date.
#[must_use]
pub fn canonical(recorded: &str) -> Cow<'_, str> {
    let name = without_date(recorded).unwrap_or(recorded);
    match vendor_of(name).filter(|_| !name.contains('/')) {
        Some(vendor) => Cow::Owned(format!("{vendor}/{name}")),
        None => Cow::Borrowed(name),
    }
}

/// The last part of `provider/.../model`.
#[must_use]
pub fn model_of(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, model)| model)
}

fn vendor_of(name: &str) -> Option<&'static str> {
    let model = model_of(name);
    VENDORS.iter().find(|(start, _)| model.starts_with(start)).map(|(_, vendor)| *vendor)
}

/// `claude-opus-4-5-20251101` and `gpt-5.5-2026-02-01` without their dates.
fn without_date(name: &str) -> Option<&str> {
    let digits =
        |text: &str, count| text.len() == count && text.bytes().all(|b| b.is_ascii_digit());
    let (rest, last) = name.rsplit_once('-')?;
    if digits(last, 8) && last.starts_with("20") {
        return Some(rest);
    }
    let (rest, month) = rest.rsplit_once('-')?;
    let (rest, year) = rest.rsplit_once('-')?;
    (digits(last, 2) && digits(month, 2) && digits(year, 4) && year.starts_with("20"))
        .then_some(rest)
}

/// True when a provider that says it was `served` means what was `asked`: providers call models by names of their own.
#[must_use]
pub fn is_the_same_model(served: &str, asked: &str) -> bool {
    model_of(&canonical(served)) == model_of(&canonical(asked))
}

/// The engine that what came of an attempt says something of: the one that was `asked`, whatever its provider calls it,
/// unless another model `served`.
#[must_use]
pub fn engine_meant<'n>(served: &'n str, asked: &'n str) -> &'n str {
    if is_the_same_model(served, asked) { asked } else { served }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(recorded: &str) -> Vec<String> {
        candidates(recorded).map(|(_, name)| name).collect()
    }

    #[test]
    fn names_are_looked_for_best_first() {
        assert_eq!(
            names("claude-opus-4-5-20251101"),
            [
                "claude-opus-4-5-20251101",
                "anthropic/claude-opus-4-5-20251101",
                "claude-opus-4-5",
                "anthropic/claude-opus-4-5",
            ]
        );
        assert_eq!(
            names("openrouter/openai/gpt-5.5-2026-02-01")[2..],
            ["openrouter/openai/gpt-5.5", "openai/gpt-5.5"]
        );
        assert_eq!(names("acme/m1"), ["acme/m1"]);
    }

    #[test]
    fn a_model_has_one_canonical_name() {
        for recorded in ["claude-opus-4-5-20251101", "claude-opus-4-5", "anthropic/claude-opus-4-5"]
        {
            assert_eq!(canonical(recorded), "anthropic/claude-opus-4-5");
        }
        assert_eq!(canonical("openrouter/openai/gpt-5.5"), "openrouter/openai/gpt-5.5");
        assert_eq!(canonical("acme-1"), "acme-1");
    }

    #[test]
    fn only_dates_are_cut_off() {
        for name in ["claude-sonnet-4", "m-12345678", "m-2026", "m-01-02", "é-ééééé"] {
            assert_eq!(without_date(name), None, "{name}");
        }
    }
}

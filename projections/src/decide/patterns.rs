//! Patterns of engine names: `*` stands for anything, everything else for itself.

use regex::RegexSet;

/// Some patterns, each of a whole name.
#[derive(Clone, Debug)]
pub(super) struct Patterns(RegexSet);

impl Patterns {
    pub(super) fn new<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Self {
        let whole = |pattern: &str| {
            let parts: Vec<String> = pattern.split('*').map(regex::escape).collect();
            format!("^{}$", parts.join(".*"))
        };
        // Escaped texts with `.*` between them are always patterns; should they be too many to hold, none fits.
        let set = RegexSet::new(patterns.into_iter().map(whole));
        Self(set.unwrap_or_else(|_| RegexSet::empty()))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn match_any(&self, name: &str) -> bool {
        self.0.is_match(name)
    }

    /// The first pattern that fits.
    pub(super) fn first(&self, name: &str) -> Option<usize> {
        self.0.matches(name).iter().next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_star_is_special_and_patterns_are_of_whole_names() {
        let of = |pattern: &str, name: &str| Patterns::new([pattern]).match_any(name);
        assert!(of("anthropic/*", "anthropic/claude-opus-4-5"));
        assert!(of("*haiku*", "anthropic/claude-haiku-4-5"));
        assert!(of("*", "x"));
        assert!(!of("haiku", "anthropic/claude-haiku-4-5"));
        assert!(!of("a.c", "abc") && of("a.c", "a.c"));
        assert!(of("sonnet[1m]", "sonnet[1m]") && !of("sonnet[1m]", "sonnetm"));
        assert!(Patterns::new([]).is_empty());
        assert_eq!(Patterns::new(["b*", "*b"]).first("ab"), Some(1));
    }
}

//! Patterns of engine names: `*` stands for anything, everything else for itself.

use wildmatch::WildMatchPattern;

/// No name holds this: a single unknown character is nothing a pattern can ask for.
const NO_CHARACTER: char = '\0';

/// Some patterns, each of a whole name.
#[derive(Clone, Debug)]
pub(super) struct Patterns(Vec<WildMatchPattern<'*', NO_CHARACTER>>);

impl Patterns {
    pub(super) fn new<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Self {
        Self(patterns.into_iter().map(WildMatchPattern::new).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn match_any(&self, name: &str) -> bool {
        self.first(name).is_some()
    }

    /// The first pattern that fits.
    pub(super) fn first(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|pattern| pattern.matches(name))
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
        assert!(!of("a?c", "abc") && of("a?c", "a?c"));
        assert!(of("sonnet[1m]", "sonnet[1m]") && !of("sonnet[1m]", "sonnetm"));
        assert!(Patterns::new([]).is_empty());
        assert_eq!(Patterns::new(["b*", "*b"]).first("ab"), Some(1));
    }

    // A rule that is too long to be followed must not be a rule that is not there.
    #[test]
    fn any_number_of_stars_is_followed() {
        let long = "a*".repeat(64);
        let many = (0..500).map(|_| long.as_str()).chain(["*"]);
        assert_eq!(Patterns::new(many).first("anthropic/claude-haiku-4-5"), Some(500));
        assert!(Patterns::new([long.as_str()]).match_any(&"ab".repeat(64)));
    }
}

//! Words that tell how hard a piece of work is, and of what kind (router facts 1.2).

use std::sync::LazyLock;

use events::payload::Keywords;
use regex::RegexSet;

/// What a word tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tells {
    /// Hard work.
    Hard,
    /// Easy work.
    Easy,
}

/// The words, each the bit of its place: bit 0 is the first. Recorded turns hold these bits, so an entry never moves
/// and never changes its meaning; a new one goes to the end. `\w*` at a word's end is any ending.
const WORDS: [(&str, Tells); 22] = [
    ("architecture", Tells::Hard),
    (r"refactor\w*", Tells::Hard),
    (r"debug\w*", Tells::Hard),
    ("race", Tells::Hard),
    (r"deadlock\w*", Tells::Hard),
    ("why", Tells::Hard),
    (r"root\s+cause", Tells::Hard),
    (r"design\w*", Tells::Hard),
    (r"optimi[sz]\w*", Tells::Hard),
    ("security", Tells::Hard),
    (r"migrat\w*", Tells::Hard),
    (r"concurren\w*", Tells::Hard),
    (r"invariant\w*", Tells::Hard),
    (r"proof\w*", Tells::Hard),
    (r"rename\w*", Tells::Easy),
    ("typos?", Tells::Easy),
    (r"format\w*", Tells::Easy),
    (r"bump\w*", Tells::Easy),
    ("comments?", Tells::Easy),
    ("changelogs?", Tells::Easy),
    (r"add\s+(?:an?|some)\s+tests?", Tells::Easy),
    ("lint(?:ing|ed)?", Tells::Easy),
];

/// `architecture`.
const ARCHITECTURE: u32 = 1;
/// `design*`.
const DESIGN: u32 = 1 << 7;
/// `optimi[sz]*`.
const OPTIMIZE: u32 = 1 << 8;
/// `migrat*`.
const MIGRATE: u32 = 1 << 10;

/// The words that tell of hard work, and those that tell of easy work.
const HARD: u32 = all(Tells::Hard);
const EASY: u32 = all(Tells::Easy);

// The words are all ASCII, and so are the borders between words: a letter with an accent is one. Only so is a text in
// any language searched in one quick pass. The fallback is never taken: a test compiles every word.
static PATTERNS: LazyLock<RegexSet> = LazyLock::new(|| {
    let whole = WORDS.map(|(word, _)| format!(r"(?i-u)\b(?:{word})\b"));
    RegexSet::new(whole).unwrap_or_else(|_| RegexSet::empty())
});

const fn all(tells: Tells) -> u32 {
    let (mut bits, mut at) = (0, 0);
    while at < WORDS.len() {
        if WORDS[at].1 as u8 == tells as u8 {
            bits |= 1 << at;
        }
        at += 1;
    }
    bits
}

/// The words of a text that tell of the work. Case does not matter, nor how often a word stands there.
#[must_use]
pub fn keywords(text: &str) -> Keywords {
    Keywords(PATTERNS.matches(text).iter().fold(0, |bits, at| bits | 1 << at))
}

/// How many different words tell of hard work.
#[must_use]
pub const fn complexity(keywords: Keywords) -> u32 {
    (keywords.0 & HARD).count_ones()
}

/// How many different words tell of easy work.
#[must_use]
pub const fn triviality(keywords: Keywords) -> u32 {
    (keywords.0 & EASY).count_ones()
}

/// True when a word asks for work on data: to optimise, or to migrate.
#[must_use]
pub const fn asks_for_data(keywords: Keywords) -> bool {
    keywords.0 & (OPTIMIZE | MIGRATE) > 0
}

/// True when a word asks for documents: a design, or an architecture.
#[must_use]
pub const fn asks_for_documents(keywords: Keywords) -> bool {
    keywords.0 & (DESIGN | ARCHITECTURE) > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(text: &str) -> (u32, u32) {
        let told = keywords(text);
        (complexity(told), triviality(told))
    }

    #[test]
    fn every_word_is_searched_for_and_has_its_bit() {
        assert_eq!(PATTERNS.len(), WORDS.len());
        for (at, text) in [
            "architecture",
            "refactored",
            "debugger",
            "race",
            "deadlocks",
            "why",
            "root cause",
            "designing",
            "optimise",
            "security",
            "migration",
            "concurrency",
            "invariants",
            "proofs",
            "renames",
            "typo",
            "formatter",
            "bumped",
            "comment",
            "changelog",
            "add a test",
            "lint",
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!(keywords(text), Keywords(1 << at), "{text}");
            assert_eq!(keywords(&text.to_uppercase()), Keywords(1 << at), "{text}");
        }
        assert_eq!(HARD | EASY, (1 << WORDS.len()) - 1);
        assert_eq!((HARD & EASY, HARD.count_ones()), (0, 14));
    }

    #[test]
    fn words_are_whole_but_for_their_endings() {
        for (text, expected) in [
            ("", (0, 0)),
            ("architectures", (0, 0)),
            ("architectural", (0, 0)),
            ("refactor refactoring refactored", (1, 0)),
            ("the debug_race helper", (1, 0)),
            ("races, trace, racing", (0, 0)),
            ("a race!", (1, 0)),
            ("Why? WHY?", (1, 0)),
            ("whys", (0, 0)),
            ("root\n  cause", (1, 0)),
            ("root causes", (0, 0)),
            ("rootcause", (0, 0)),
            ("optimize, optimising", (1, 0)),
            ("optimal", (0, 0)),
            ("insecurity", (0, 0)),
            ("migrate concurrently", (2, 0)),
            ("waterproof", (0, 0)),
            ("prefix reformat", (0, 0)),
            ("rename: formatting typos", (0, 3)),
            ("commented", (0, 0)),
            ("comments and changelogs", (0, 2)),
            ("Add an test; add some  tests", (0, 1)),
            ("add tests", (0, 0)),
            ("add the test", (0, 0)),
            ("linting, linted", (0, 1)),
            ("linter splint lints", (0, 0)),
            ("design\u{e9} na\u{ef}ve \u{65e5}\u{672c} race", (2, 0)),
        ] {
            assert_eq!(counts(text), expected, "{text:?}");
        }
    }

    #[test]
    fn some_words_tell_the_kind_of_work() {
        for (text, data, documents) in [
            ("optimise it", true, false),
            ("Optimization", true, false),
            ("migrated", true, false),
            ("a redesign", false, false),
            ("designs", false, true),
            ("Architecture", false, true),
            ("migrate the design", true, true),
            ("refactor", false, false),
        ] {
            let told = keywords(text);
            assert_eq!(
                (asks_for_data(told), asks_for_documents(told)),
                (data, documents),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn other_bits_count_for_nothing(bits: u32) {
            let known = Keywords(bits & (HARD | EASY));
            prop_assert_eq!(complexity(Keywords(bits)), complexity(known));
            prop_assert_eq!(
                complexity(known) + triviality(known),
                known.0.count_ones()
            );
        }

        #[test]
        fn texts_on_lines_of_their_own_tell_what_each_tells(
            one in "(race|typo|why|[a-z ]{0,9})", other in "(lint|design|[a-z\u{e4} ]{0,9})"
        ) {
            let both = keywords(&format!("{one}.\n{other}"));
            prop_assert_eq!(both.0, keywords(&one).0 | keywords(&other).0);
        }
    }
}

//! What can be told of a text without understanding it (router facts 1.2).

use events::payload::TextSize;

/// What opens a block of code, and what closes it.
const FENCE: &str = "```";
/// The longest instruction that is terse, in bytes.
const TERSE_MAX: usize = 128;

/// Blocks of code in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Code {
    /// Blocks that are opened and closed.
    pub(super) blocks: u16,
    /// Bytes between their fences, the words after an opening fence included.
    pub(super) bytes: u32,
}

/// The blocks of code in a text. One that is never closed is none.
pub(super) fn code(text: &str) -> Code {
    let mut code = Code::default();
    let mut pieces = text.split(FENCE).skip(1);
    let mut inside = pieces.next();
    // Pieces go inside, outside, inside, ...: one is inside when another comes after it.
    while let (Some(piece), Some(_)) = (inside, pieces.next()) {
        code.blocks = code.blocks.saturating_add(1);
        code.bytes = code.bytes.saturating_add(saturated(piece.len()));
        inside = pieces.next();
    }
    code
}

/// True when some line begins as a diff's lines do. Bare `---` and `+++` are also what Markdown draws rules with.
pub(super) fn is_diff(text: &str) -> bool {
    text.split('\n').any(|line| {
        let hunk = line.strip_prefix("@@ -").and_then(|rest| rest.bytes().next());
        hunk.is_some_and(|byte| byte.is_ascii_digit())
            || ["diff --git ", "+++ b/", "--- a/"].iter().any(|mark| line.starts_with(mark))
    })
}

/// Question marks in a text.
pub(super) fn questions(text: &str) -> u16 {
    let marks = text.bytes().filter(|byte| *byte == b'?').count();
    u16::try_from(marks).unwrap_or(u16::MAX)
}

/// True for an instruction of one short sentence, with no block of code.
pub(super) fn is_terse(text: &str) -> bool {
    let text = text.trim();
    let short = !text.is_empty() && text.len() <= TERSE_MAX;
    short && code(text).blocks == 0 && sentence_ends(text) <= 1
}

/// Places where a sentence ends. A stop ends one only before a space or at the end: the dots of `src/main.rs` and `1.2`
/// end nothing. The stops of Chinese and Japanese need no space after them.
fn sentence_ends(text: &str) -> usize {
    let mut characters = text.chars().peekable();
    let mut ends = 0;
    while let Some(character) = characters.next() {
        let is_end = match character {
            '.' | '!' | '?' => characters.peek().is_none_or(|next| next.is_whitespace()),
            '\u{3002}' | '\u{ff01}' | '\u{ff1f}' => true,
            _ => false,
        };
        ends += usize::from(is_end);
    }
    ends
}

/// The size of a text.
pub(super) fn size(text: &str) -> TextSize {
    let bytes = saturated(text.len());
    let wide = if text.is_ascii() { 0 } else { text.chars().filter(|c| is_wide(*c)).count() };
    TextSize { bytes, wide: saturated(wide).min(bytes / 3) }
}

/// The size of two texts.
pub(super) fn plus(one: TextSize, other: TextSize) -> TextSize {
    let bytes = one.bytes.saturating_add(other.bytes);
    // A count of bytes that is full holds no more characters than it would.
    TextSize { bytes, wide: one.wide.saturating_add(other.wide).min(bytes / 3) }
}

/// True for ideographs, kana and hangul of three bytes of UTF-8. Rarer ideographs take four bytes, and stay uncounted.
const fn is_wide(character: char) -> bool {
    matches!(character,
        '\u{1100}'..='\u{11ff}' // Hangul jamo
        | '\u{2e80}'..='\u{2fdf}' // radicals of ideographs
        | '\u{3005}'..='\u{3007}' // marks that stand for ideographs
        | '\u{3040}'..='\u{30ff}' // hiragana, katakana
        | '\u{3130}'..='\u{318f}' // Hangul jamo, for compatibility
        | '\u{31f0}'..='\u{31ff}' // katakana for Ainu
        | '\u{3400}'..='\u{4dbf}' // ideographs, extension A
        | '\u{4e00}'..='\u{9fff}' // ideographs
        | '\u{a960}'..='\u{a97f}' // Hangul jamo, extended A
        | '\u{ac00}'..='\u{d7ff}' // Hangul syllables; jamo, extended B
        | '\u{f900}'..='\u{faff}' // ideographs, for compatibility
        | '\u{ff66}'..='\u{ffdc}' // half-width katakana and hangul
    )
}

/// A length as events count it.
pub(super) fn saturated(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blocks_of_code_are_closed_ones() {
        for (text, blocks, bytes) in [
            ("", 0, 0),
            ("``", 0, 0),
            ("a ``` b", 0, 0),
            ("```\nx\n```", 1, 3),
            ("```rust\nx\n``` then", 1, 7),
            ("```a``` b ```cd```", 2, 3),
            ("```a``` b ```cd", 1, 1),
            ("``````", 1, 0),
            ("```\u{65e5}```", 1, 3),
        ] {
            assert_eq!(code(text), Code { blocks, bytes }, "{text:?}");
        }
        assert_eq!(code(&"``````".repeat(70_000)).blocks, u16::MAX);
    }

    #[test]
    fn diffs_are_told_by_how_lines_begin() {
        for text in [
            "diff --git a/x b/x",
            "see:\n@@ -1,2 +1,3 @@",
            "x\n+++ b/src/lib.rs",
            "--- a/src/lib.rs\r\nx",
        ] {
            assert!(is_diff(text), "{text:?}");
        }
        for text in [
            "",
            "---",
            "+++",
            "--- b/x",
            "+++ a/x",
            "@@ -x",
            "@@ -",
            "@@ 1",
            " --- a/x",
            "a diff --git x",
            "diff --git",
            "title\n---\ntext",
        ] {
            assert!(!is_diff(text), "{text:?}");
        }
    }

    #[test]
    fn question_marks_are_counted() {
        assert_eq!((questions(""), questions("a? b?? c"), questions("x?y")), (0, 3, 1));
        assert_eq!(questions(&"?".repeat(70_000)), u16::MAX);
    }

    #[test]
    fn one_short_sentence_is_terse() {
        let (longest, longer) = ("x".repeat(128), "x".repeat(129));
        for text in [
            "fix the typo",
            "Fix it.",
            "  go!\n",
            "why?",
            "fix src/main.rs.",
            "bump to 1.2.3",
            "wait...",
            "a ``` b",
            &longest,
            "\u{4fee}\u{3002}",
        ] {
            assert!(is_terse(text), "{text:?}");
        }
        for text in [
            "",
            " \n ",
            "One. Two.",
            "ok? go!",
            "x\n```\ny\n```",
            &longer,
            "\u{4fee}\u{3002}\u{4fee}\u{3002}",
        ] {
            assert!(!is_terse(text), "{text:?}");
        }
    }

    #[test]
    fn wide_characters_are_ideographs_kana_and_hangul() {
        for (text, bytes, wide) in [
            ("", 0, 0),
            ("plain", 5, 0),
            ("\u{e9}\u{416}", 4, 0),
            ("\u{65e5}\u{672c}\u{8a9e}", 9, 3),
            ("\u{3042}\u{30a2}\u{d55c}\u{ff71}", 12, 4),
            ("\u{3001}\u{3002}\u{2026}\u{0e01}", 12, 0),
            ("\u{20000}\u{1f600}", 8, 0),
        ] {
            assert_eq!(size(text), TextSize { bytes, wide }, "{text}");
        }
        for character in (char::MIN..=char::MAX).filter(|character| is_wide(*character)) {
            assert_eq!(character.len_utf8(), 3, "{character:?}");
        }
    }

    #[test]
    fn sizes_that_are_full_stay_true() {
        let full = TextSize { bytes: u32::MAX, wide: u32::MAX / 3 };
        assert_eq!(plus(full, full), full);
        assert_eq!(plus(full, TextSize { bytes: 3, wide: 1 }), full);
    }

    proptest! {
        #[test]
        fn the_size_of_two_texts_is_the_sum(one: String, other in "[a\u{65e5}\u{d55c}\u{e9}]{0,30}") {
            let both = size(&format!("{one}{other}"));
            prop_assert_eq!(plus(size(&one), size(&other)), both);
            prop_assert!(both.wide <= both.bytes / 3);
        }

        #[test]
        fn code_is_part_of_its_text(text in "[`a\n ]{0,60}") {
            let code = code(&text);
            prop_assert!(code.bytes as usize + 6 * usize::from(code.blocks) <= text.len());
        }
    }
}

//! What tools that failed say (router facts 1.2). Kept literal: a failure that is none buys a dearer engine.

use std::sync::LazyLock;

use regex::RegexSet;

/// The marks of a failure. Case matters: `ERROR:` is what logs say all day.
const MARKS: [&str; 5] = [
    r"(?m)^[Ee]rror:",
    r"Traceback \(most recent call last\):",
    "command not found",
    // Zero is success, with however many digits. Codex and Claude Code begin a line with it.
    r"(?-u:\b)(?:[Ee]xit code|[Ee]xited with code):? -?0*[1-9]",
    // GNU make's last words.
    r"\*\*\* \[.*\] Error [0-9]",
];

// The fallback is never taken: a test compiles every mark.
static PATTERNS: LazyLock<RegexSet> =
    LazyLock::new(|| RegexSet::new(MARKS).unwrap_or_else(|_| RegexSet::empty()));

/// True when what a tool gave back says that it failed.
pub(super) fn looks_failed(text: &str) -> bool {
    PATTERNS.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_told_by_their_marks() {
        assert_eq!(PATTERNS.len(), MARKS.len());
        for text in [
            "error: no such file",
            "Error: no such file",
            "warning: x\nerror: y",
            "ok\r\nError: y",
            "Traceback (most recent call last):\n  File \"x\"",
            "  Traceback (most recent call last):",
            "bash: foo: command not found",
            "exit code 1",
            "Process exited with code 137",
            "(exit code 010)",
            "exit code -1",
            "Exit code 1",
            "Exit code: 2\nWall time: 1 s",
            "exit code 0\nexit code 2",
            "make: *** [Makefile:2: all] Error 1",
            "make[1]: *** [all] Error 2",
            "gmake: *** [a[1].o] Error 127",
        ] {
            assert!(looks_failed(text), "{text:?}");
        }
    }

    #[test]
    fn what_only_looks_like_a_failure_is_none() {
        for text in [
            "",
            "all good",
            "ERROR: x",
            "eRROR: x",
            "  error: indented",
            "an error: in a line",
            "error[E0425]: cannot find",
            "Errors: 0",
            "[tool error] x",
            "Traceback",
            "traceback (most recent call last):",
            "Command not found",
            "exit code 0",
            "exited with code 0",
            "exit code 000.",
            "exit code 0x1",
            "exit code",
            "exit code\n1",
            "exit codes 1",
            "nonexit code 1",
            "Exit code: 0",
            "make: [Makefile:2: all] Error 1 (ignored)",
            "*** [all]\nError 1",
            "*** [all] Error",
        ] {
            assert!(!looks_failed(text), "{text:?}");
        }
    }
}

//! Fields of a line: what can be wrong with them, and how the ones formats share are read.

use events::ids::Millis;
use events::limits::TOKENS_MAX;

use super::lines::LINE_BYTES_MAX;

/// Characters of a value that a refusal shows.
const SHOWN_CHARS: usize = 40;

/// The last instant that is taken: the end of the year 9999.
pub(super) const AT_MAX: Millis = 253_402_300_799_999;

/// Why a line is no turn.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// It is longer than any line of traffic.
    #[error("longer than {LINE_BYTES_MAX} bytes")]
    TooLong,
    /// It is not in the file's format.
    #[error("{0}")]
    Syntax(String),
    /// A field that has to be there is not.
    #[error("{field} is missing")]
    Missing {
        /// The field.
        field: &'static str,
    },
    /// A field has a value it cannot have.
    #[error("{field}: {value} {problem}")]
    Field {
        /// The field.
        field: &'static str,
        /// How the value begins.
        value: String,
        /// What is wrong with it, or what to write instead.
        problem: String,
    },
}

impl Problem {
    /// A field whose text is wrong.
    pub(super) fn field(field: &'static str, text: &str, problem: impl Into<String>) -> Self {
        Self::Field { field, value: shown(text), problem: problem.into() }
    }
}

/// A text as refusals show it: quoted, escaped, not much of it.
pub(super) fn shown(text: &str) -> String {
    let mut chars = text.chars();
    let start: String = chars.by_ref().take(SHOWN_CHARS).flat_map(char::escape_debug).collect();
    let rest = if chars.next().is_some() { "..." } else { "" };
    format!("'{start}{rest}'")
}

/// A token count of decimal digits.
///
/// # Errors
/// [`Problem`] for anything else, and for more tokens than a request can have.
pub(super) fn tokens(field: &'static str, text: &str) -> Result<u32, Problem> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|tokens| digits && *tokens <= TOKENS_MAX)
        .ok_or_else(|| Problem::field(field, text, "is no number of tokens"))
}

/// Decimal seconds as whole milliseconds.
///
/// # Errors
/// [`Problem`] for anything else, for a part of a millisecond, and for more than 49 days.
pub(super) fn seconds(field: &'static str, text: &str) -> Result<u32, Problem> {
    let wrong = |problem| Problem::field(field, text, problem);
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return Err(wrong("is no number of seconds"));
    }
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > 3 {
        return Err(wrong("is finer than a millisecond"));
    }
    let millis = format!("{fraction:0<3}").parse::<u32>().unwrap_or(0);
    whole
        .parse::<u32>()
        .ok()
        .and_then(|whole| whole.checked_mul(1_000)?.checked_add(millis))
        .ok_or_else(|| wrong("is longer than 49 days"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_exact_milliseconds() {
        for (text, millis) in [
            ("0", 0),
            ("7.34", 7_340),
            ("21.1200", 21_120),
            ("0.005", 5),
            ("4294967.295", u32::MAX),
        ] {
            assert_eq!(seconds("api_s", text).unwrap(), millis);
        }
        for text in ["", ".", "1.", ".5", "-1", "+1", "1e3", "1.0001", "4294967.296", "nan", "1,5"]
        {
            assert!(seconds("api_s", text).is_err(), "{text}");
        }
    }

    #[test]
    fn tokens_are_digits_and_bounded() {
        assert_eq!(tokens("in_tok", "4294967294").unwrap(), TOKENS_MAX);
        for text in ["", "-1", "+1", " 1", "1.0", "4294967295", "1e3"] {
            assert!(tokens("in_tok", text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_shown_of_a_value_is_short_and_harmless() {
        assert_eq!(shown("a\u{1b}[31m\n"), "'a\\u{1b}[31m\\n'");
        assert_eq!(shown(&"x".repeat(1_000)), format!("'{}...'", "x".repeat(SHOWN_CHARS)));
        let problem = Problem::field("stop", "z", "is none of u, e");
        assert_eq!(problem.to_string(), "stop: 'z' is none of u, e");
    }
}

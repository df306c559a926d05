//! A model's name as words, and the number of parameters it states.

use std::fmt;

/// Parameters in millionths of a billion: 7b is 7,000,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Billions(u64);

impl Billions {
    const PER_ONE: u64 = 1_000_000;
    const DECIMALS: usize = 6;

    pub(super) const fn of(billions: u32) -> Self {
        Self(billions as u64 * Self::PER_ONE)
    }

    pub(super) const fn millionths(self) -> u64 {
        self.0
    }

    /// Reads `7b` or `1.5b`; nothing has no parameters, or more digits of them than six and six.
    pub(super) fn parse(word: &str) -> Option<Self> {
        let number = word.strip_suffix('b')?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        if !is_number(whole) || !is_number(fraction) {
            return None;
        }
        let fraction = format!("{fraction:0<width$}", width = Self::DECIMALS);
        let millionths =
            whole.parse::<u64>().ok()? * Self::PER_ONE + fraction.parse::<u64>().ok()?;
        (millionths > 0).then_some(Self(millionths))
    }

    /// Reads `a3b`: the parameters that are active at a time.
    pub(super) fn parse_active(word: &str) -> Option<Self> {
        Self::parse(word.strip_prefix('a')?)
    }

    /// Reads `8x7b`: experts share much, so any number of them counts as three.
    fn parse_experts(word: &str) -> Option<Self> {
        let (experts, each) = word.split_once('x')?;
        is_number(experts).then_some(())?;
        Some(Self(Self::parse(each)?.0 * 3))
    }

    /// A dense model that does about as well as one with so many in all and so many active.
    fn geometric_mean(total: Self, active: Self) -> Self {
        let root = (u128::from(total.0) * u128::from(active.0)).isqrt();
        Self(u64::try_from(root).unwrap_or(u64::MAX))
    }
}

/// `32b`; below ten with one decimal unless that is 0: `9.5b`, `7b`.
impl fmt::Display for Billions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenth = Self::PER_ONE / 10;
        if *self >= Self::of(10) {
            return write!(f, "{}b", (self.0 + Self::PER_ONE / 2) / Self::PER_ONE);
        }
        let tenths = (self.0 + tenth / 2) / tenth;
        match tenths % 10 {
            0 => write!(f, "{}b", tenths / 10),
            rest => write!(f, "{}.{rest}b", tenths / 10),
        }
    }
}

fn is_number(digits: &str) -> bool {
    (1..=Billions::DECIMALS).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit())
}

/// A name, taken apart.
pub(super) struct Name {
    words: Vec<String>,
    joined: String,
    /// The parameters it states, as those of a dense model.
    pub(super) size: Option<Billions>,
}

impl Name {
    pub(super) fn new(name: &str) -> Self {
        let words = words(&name.to_lowercase());
        Self { size: size(&words), joined: words.join("-"), words }
    }

    /// Whether it is one of the words.
    pub(super) fn has(&self, word: &str) -> bool {
        self.words.iter().any(|own| own == word)
    }

    /// Whether the words, joined by `-`, contain it.
    pub(super) fn contains(&self, text: &str) -> bool {
        self.joined.contains(text)
    }

    /// Whether a word passes the test.
    pub(super) fn any(&self, test: impl Fn(&str) -> bool) -> bool {
        self.words.iter().any(|word| test(word))
    }
}

/// Runs of letters and digits; a dot between two digits is part of a run: `qwen2.5`.
fn words(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let is_digit = |index: Option<usize>| {
        index.and_then(|index| chars.get(index)).is_some_and(char::is_ascii_digit)
    };
    let mut words = vec![String::new()];
    for (index, &char) in chars.iter().enumerate() {
        let is_decimal_point =
            char == '.' && is_digit(index.checked_sub(1)) && is_digit(Some(index + 1));
        match words.last_mut() {
            Some(word) if char.is_alphanumeric() || is_decimal_point => word.push(char),
            _ => words.push(String::new()),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn size(words: &[String]) -> Option<Billions> {
    let total = words
        .iter()
        .find_map(|word| Billions::parse(word).or_else(|| Billions::parse_experts(word)))?;
    let active = words.iter().find_map(|word| Billions::parse_active(word));
    Some(match active.filter(|active| *active < total) {
        Some(active) => Billions::geometric_mean(total, active),
        None => total,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dot_between_digits_stays_and_any_other_splits() {
        let cases = [
            ("Qwen2.5-Coder:7B", "qwen2.5 coder 7b"),
            ("us.deepseek.r1-v1:0", "us deepseek r1 v1 0"),
            ("sonnet[1m]", "sonnet 1m"),
            ("a.5 6. .7", "a 5 6 7"),
            ("1.2.3", "1.2.3"),
            ("--//", ""),
            ("", ""),
        ];
        for (name, expected) in cases {
            assert_eq!(Name::new(name).words.join(" "), expected, "{name}");
        }
    }

    // 3.6: `<n>b`, `<k>x<n>b` as 3n, `a<n>b` as the root of total times active.
    #[test]
    fn parameters_are_read_from_names() {
        let cases = [
            ("llama3.1:8b", "8b"),
            ("qwen2.5:0.5b", "0.5b"),
            ("mixtral:8x7b", "21b"),
            ("mixtral-8x22b", "66b"),
            ("qwen3-30b-a3b", "9.5b"),
            ("qwen3-235b-a22b", "72b"),
            ("a22b-of-235b", "72b"),
            ("m-8b-a8b", "8b"),
            ("m-7b-70b", "7b"),
            ("m-9.96b", "10b"),
            ("m-1.04b", "1b"),
        ];
        for (name, expected) in cases {
            let size = Name::new(name).size.map(|size| size.to_string());
            assert_eq!(size.as_deref(), Some(expected), "{name}");
        }
    }

    #[test]
    fn what_is_no_number_of_parameters_is_none() {
        for name in ["", "b", "7", "7bb", "v7b", "a3b", "x7b", "8xb", "0b", "1234567b", "é7b"] {
            assert_eq!(Name::new(name).size, None, "{name}");
        }
    }
}

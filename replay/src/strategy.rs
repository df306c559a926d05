//! Strategies: which engine takes each recorded turn, and under which cache rules.
//!
//! `all:MODEL`, `recorded`, `recorded:family`, `mix:turn|session:SHARE:STRONG,WEAK`,
//! `tool-result:MODEL,else:MODEL`, each with options `@ttl=SECONDS|none,write=5m|1h,cache=off`.
//! Options start at the last `@` that one of the three follows, since model ids may hold one too.

use std::fmt;
use std::str::FromStr;

use events::rate::Rate;

/// The time to live of a provider's cache writes, which sets their rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// At the 5-minute rate.
    FiveMinutes,
    /// At the 1-hour rate.
    OneHour,
}

impl FromStr for WriteKind {
    type Err = StrategyError;

    fn from_str(text: &str) -> Result<Self, StrategyError> {
        match text {
            "5m" => Ok(Self::FiveMinutes),
            "1h" => Ok(Self::OneHour),
            other => Err(StrategyError::Option { option: format!("write={other}") }),
        }
    }
}

/// How long a cache entry lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ttl {
    /// Seconds after its last use, inclusive.
    Seconds(u32),
    /// For ever.
    Never,
}

impl FromStr for Ttl {
    type Err = StrategyError;

    fn from_str(text: &str) -> Result<Self, StrategyError> {
        match text {
            "none" => Ok(Self::Never),
            seconds => seconds
                .parse()
                .map(Self::Seconds)
                .map_err(|_| StrategyError::Option { option: format!("ttl={seconds}") }),
        }
    }
}

/// Cache rules as far as somebody stated them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheOptions {
    /// How long entries live.
    pub ttl: Option<Ttl>,
    /// The rate of writes, whatever the time to live.
    pub write: Option<WriteKind>,
    /// No cache at all: every prompt token at the input rate.
    pub off: bool,
}

impl CacheOptions {
    /// These options, with others where they say nothing. Rules for a cache say that there is one.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        let speaks_of_a_cache = self.ttl.is_some() || self.write.is_some();
        Self {
            ttl: self.ttl.or(others.ttl),
            write: self.write.or(others.write),
            off: self.off || (others.off && !speaks_of_a_cache),
        }
    }
}

/// A share of turns or sessions, exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share(Rate);

impl Share {
    /// True when a coin, drawn from 65,536, falls below the share.
    #[must_use]
    pub fn takes(self, coin: u16) -> bool {
        let (mantissa, scale) = self.0.decimal();
        u128::from(coin) * 10_u128.pow(u32::from(scale)) < u128::from(mantissa) * 65_536
    }
}

impl FromStr for Share {
    type Err = StrategyError;

    fn from_str(text: &str) -> Result<Self, StrategyError> {
        let wrong = || StrategyError::Share { share: text.to_owned() };
        let share: Rate = text.parse().map_err(|_| wrong())?;
        let (mantissa, scale) = share.decimal();
        let within = u128::from(mantissa) <= 10_u128.pow(u32::from(scale));
        within.then_some(Self(share)).ok_or_else(wrong)
    }
}

/// What one coin decides for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// Each turn.
    Turn,
    /// A whole lane.
    Session,
}

/// Which engine takes a turn. Models are ids or aliases of the book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// One model takes all.
    All(String),
    /// The engine that served, by its recorded name.
    Recorded,
    /// The engine of the recorded model's family.
    RecordedFamily,
    /// A coin decides between two models.
    Mix {
        /// What each coin decides for.
        per: Per,
        /// The strong model's share.
        share: Share,
        /// The model below the share.
        strong: String,
        /// The model otherwise.
        weak: String,
    },
    /// Turns that bring tool results go to one model, others to another.
    ToolResult {
        /// The model for tool results.
        then: String,
        /// The model otherwise.
        otherwise: String,
    },
}

impl Choice {
    /// The models it names.
    #[must_use]
    pub fn models(&self) -> Vec<&str> {
        match self {
            Self::All(model) => vec![model],
            Self::Recorded | Self::RecordedFamily => Vec::new(),
            Self::Mix { strong, weak, .. } => vec![strong, weak],
            Self::ToolResult { then, otherwise } => vec![then, otherwise],
        }
    }
}

/// A choice and its cache rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// Which engine takes a turn.
    pub choice: Choice,
    /// Rules that were stated with it.
    pub cache: CacheOptions,
    text: String,
}

impl Strategy {
    /// `recorded`.
    #[must_use]
    pub fn recorded() -> Self {
        Self::without_options(Choice::Recorded, "recorded")
    }

    /// `recorded:family`.
    #[must_use]
    pub fn recorded_by_family() -> Self {
        Self::without_options(Choice::RecordedFamily, "recorded:family")
    }

    fn without_options(choice: Choice, text: &str) -> Self {
        Self { choice, cache: CacheOptions::default(), text: text.to_owned() }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Why a text is no strategy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StrategyError {
    /// None of the forms.
    #[error(
        "'{text}' is no strategy; write all:MODEL, recorded, recorded:family, \
         mix:turn|session:SHARE:STRONG,WEAK or tool-result:MODEL,else:MODEL"
    )]
    Form {
        /// The text.
        text: String,
    },
    /// Not a share.
    #[error("'{share}' is no share; write a number from 0 to 1, such as 0.25")]
    Share {
        /// The text.
        share: String,
    },
    /// Not an option.
    #[error(
        "'{option}' is no option; write ttl=SECONDS, ttl=none, write=5m, write=1h or cache=off"
    )]
    Option {
        /// The text.
        option: String,
    },
}

impl FromStr for Strategy {
    type Err = StrategyError;

    fn from_str(text: &str) -> Result<Self, StrategyError> {
        let (choice, options) = split_options(text);
        let cache = options.map_or(Ok(CacheOptions::default()), parse_options)?;
        let form = || StrategyError::Form { text: text.to_owned() };
        Ok(Self { choice: parse_choice(choice).ok_or_else(form)??, cache, text: text.to_owned() })
    }
}

fn split_options(text: &str) -> (&str, Option<&str>) {
    let starts_option =
        |rest: &str| ["ttl=", "write=", "cache="].iter().any(|option| rest.starts_with(option));
    text.rmatch_indices('@')
        .find(|(at, _)| starts_option(&text[at + 1..]))
        .map_or((text, None), |(at, _)| (&text[..at], Some(&text[at + 1..])))
}

fn parse_options(text: &str) -> Result<CacheOptions, StrategyError> {
    let mut options = CacheOptions::default();
    for option in text.split(',') {
        match option.split_once('=') {
            Some(("ttl", ttl)) if options.ttl.is_none() => options.ttl = Some(ttl.parse()?),
            Some(("write", write)) if options.write.is_none() => {
                options.write = Some(write.parse()?);
            }
            Some(("cache", "off")) => options.off = true,
            _ => return Err(StrategyError::Option { option: option.to_owned() }),
        }
    }
    Ok(options)
}

/// `None` when the text has none of the forms; an error inside when a part of one is wrong.
fn parse_choice(text: &str) -> Option<Result<Choice, StrategyError>> {
    let model = |name: &str| (!name.is_empty()).then(|| name.to_owned());
    let choice = match text.split_once(':') {
        None if text == "recorded" => Choice::Recorded,
        Some(("recorded", "family")) => Choice::RecordedFamily,
        Some(("all", name)) => Choice::All(model(name)?),
        Some(("tool-result", models)) => {
            let (then, otherwise) = models.split_once(",else:")?;
            Choice::ToolResult { then: model(then)?, otherwise: model(otherwise)? }
        }
        Some(("mix", rest)) => {
            let (per, rest) = rest.split_once(':')?;
            let per = match per {
                "turn" => Per::Turn,
                "session" => Per::Session,
                _ => return None,
            };
            let (share, models) = rest.split_once(':')?;
            let (strong, weak) = models.split_once(',')?;
            let (strong, weak) = (model(strong)?, model(weak)?);
            match share.parse() {
                Ok(share) => Choice::Mix { per, share, strong, weak },
                Err(error) => return Some(Err(error)),
            }
        }
        _ => return None,
    };
    Some(Ok(choice))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Strategy {
        text.parse().unwrap()
    }

    #[test]
    fn reads_every_form() {
        assert_eq!(parsed("recorded").choice, Choice::Recorded);
        assert_eq!(parsed("recorded:family").choice, Choice::RecordedFamily);
        assert_eq!(parsed("all:openai/gpt-5.5").choice, Choice::All("openai/gpt-5.5".into()));
        assert_eq!(
            parsed("tool-result:haiku,else:opus").choice,
            Choice::ToolResult { then: "haiku".into(), otherwise: "opus".into() }
        );
        assert_eq!(
            parsed("mix:session:0.1:opus,deepseek/v3:free").choice,
            Choice::Mix {
                per: Per::Session,
                share: "0.1".parse().unwrap(),
                strong: "opus".into(),
                weak: "deepseek/v3:free".into(),
            }
        );
    }

    #[test]
    fn options_start_at_the_last_at_sign_that_an_option_follows() {
        let strategy = parsed("all:a@b@ttl=3600,write=1h");
        assert_eq!(strategy.choice, Choice::All("a@b".into()));
        assert_eq!(strategy.cache.ttl, Some(Ttl::Seconds(3600)));
        assert_eq!(strategy.cache.write, Some(WriteKind::OneHour));
        assert_eq!(parsed("all:a@b").choice, Choice::All("a@b".into()));
        assert_eq!(parsed("recorded@ttl=none,cache=off").cache.ttl, Some(Ttl::Never));
        assert!(parsed("recorded@cache=off").cache.off);
    }

    #[test]
    fn refuses_what_it_does_not_understand() {
        for text in
            ["", "all:", "all", "mix:day:0.5:a,b", "mix:turn:0.5:a", "tool-result:a,b", "best"]
        {
            assert!(matches!(text.parse::<Strategy>(), Err(StrategyError::Form { .. })), "{text}");
        }
        for share in ["1.01", "-0.1", "half", ""] {
            let text = format!("mix:turn:{share}:a,b");
            assert!(matches!(text.parse::<Strategy>(), Err(StrategyError::Share { .. })), "{text}");
        }
        for option in ["ttl=soon", "ttl=-1", "write=2h", "cache=on", "ttl=1,ttl=2", "ttl=1,"] {
            let text = format!("recorded@{option}");
            assert!(
                matches!(text.parse::<Strategy>(), Err(StrategyError::Option { .. })),
                "{text}"
            );
        }
    }

    #[test]
    fn shares_are_exact() {
        let share = |text: &str| text.parse::<Share>().unwrap();
        assert!(!share("0").takes(0));
        assert!(share("1").takes(u16::MAX));
        assert!(share("0.5").takes(32_767) && !share("0.5").takes(32_768));
        assert!(share("0.1").takes(6_553) && !share("0.1").takes(6_554));
    }
}

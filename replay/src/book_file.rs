//! A price book as a JSON file: decimal texts, never floats.
//!
//! ```json
//! { "source": "my prices", "dated": "2026-07-02", "unit": "USD per 1,000,000 tokens",
//!   "engines": { "acme/m1": { "context": 200000, "input": "3", "output": "15", "cache_read": "0.3",
//!     "tiers": [ { "above_context": 200000, "input": "6" } ],
//!     "windows": [ { "from": "16:30", "to": "00:30", "input": "1.5" } ],
//!     "capabilities": { "tools": true, "images": false, "reasoning": true, "output": 64000 },
//!     "quality": { "intelligence": "55", "coding": "62.5", "agentic": "48" } } },
//!   "aliases": { "m1": "acme/m1" },
//!   "families": [ ["m1-", "m1"] ],
//!   "rows": [ ["all m1", "all:m1"] ] }
//! ```
//!
//! `image` and `request` are dollars each; every other rate is dollars per million tokens. Scores are of 0 to 100, with
//! at most one digit after the point. What is left out is unknown.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use events::event::Body;
use events::hash::{Domain, digest, engine_subject};
use events::ids::{AuthorId, Digest, Millis, Subject};
use events::log::Log;
use events::payload::{Capabilities, Name, Price, PriceBook, Quality, Rates, Tier, Window};
use events::rate::{DecimalError, Rate};
use projections::book::Book;
use projections::projection::{Context, Projection as _};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};

use crate::prices::abilities::{CapabilitiesFile, QualityFile};
use crate::strategy::{Strategy, StrategyError};
use crate::writer::{WriteError, Writer};

const UNIT: &str = "USD per 1,000,000 tokens";

/// Why a file is no price book.
#[derive(Debug, thiserror::Error)]
pub enum BookFileError {
    /// Not the JSON of a book.
    #[error("not a price book: {0}")]
    Json(#[from] serde_json::Error),
    /// A field with a value it cannot have.
    #[error("{field}: '{value}' {problem}")]
    Field {
        /// Where it stands.
        field: String,
        /// What it holds.
        value: String,
        /// What is wrong with it, and what to write instead.
        problem: String,
    },
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    source: String,
    dated: String,
    unit: String,
    #[serde(deserialize_with = "each_key_once")]
    engines: BTreeMap<String, EngineFile>,
    #[serde(default, deserialize_with = "each_key_once")]
    aliases: BTreeMap<String, String>,
    #[serde(default)]
    families: Vec<(String, String)>,
    #[serde(default)]
    rows: Vec<(String, String)>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EngineFile {
    context: Option<u32>,
    input: Option<String>,
    output: Option<String>,
    cache_read: Option<String>,
    cache_write_5m: Option<String>,
    cache_write_1h: Option<String>,
    reasoning: Option<String>,
    image: Option<String>,
    request: Option<String>,
    #[serde(default)]
    tiers: Vec<OverrideFile>,
    #[serde(default)]
    windows: Vec<OverrideFile>,
    #[serde(default)]
    capabilities: CapabilitiesFile,
    #[serde(default)]
    quality: QualityFile,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OverrideFile {
    above_context: Option<u32>,
    from: Option<String>,
    to: Option<String>,
    input: Option<String>,
    output: Option<String>,
    cache_read: Option<String>,
    cache_write_5m: Option<String>,
    cache_write_1h: Option<String>,
    reasoning: Option<String>,
    image: Option<String>,
    request: Option<String>,
}

/// The rates of an engine, a tier or a window, which name them alike.
macro_rules! rates_of {
    ($file:expr, $field:expr) => {
        Rates {
            input: per_million($field, "input", &$file.input)?,
            output: per_million($field, "output", &$file.output)?,
            cache_read: per_million($field, "cache_read", &$file.cache_read)?,
            cache_write_5m: per_million($field, "cache_write_5m", &$file.cache_write_5m)?,
            cache_write_1h: per_million($field, "cache_write_1h", &$file.cache_write_1h)?,
            reasoning: per_million($field, "reasoning", &$file.reasoning)?,
            image: each($field, "image", &$file.image)?,
            request: each($field, "request", &$file.request)?,
        }
    };
}

/// A price book read from a file.
#[derive(Debug)]
pub struct BookFile {
    file: File,
    prices: Vec<(String, EngineRates)>,
    digest: Digest,
}

#[derive(Debug)]
struct EngineRates {
    context: Option<u32>,
    rates: Rates,
    tiers: Vec<Tier>,
    windows: Vec<Window>,
    capabilities: Capabilities,
    quality: Quality,
}

impl BookFile {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// [`BookFileError`], naming the field, its value and the remedy.
    pub fn parse(json: &[u8]) -> Result<Self, BookFileError> {
        let file: File = serde_json::from_slice(json)?;
        if file.unit != UNIT {
            return Err(field("unit", &file.unit, format!("is not known; write \"{UNIT}\"")));
        }
        check_date(&file.dated)?;
        let names = [("source", &file.source)];
        let pairs = file.aliases.iter().map(|pair| ("aliases", pair));
        let lists = [("families", &file.families), ("rows", &file.rows)];
        let listed = lists
            .into_iter()
            .flat_map(|(name, pairs)| pairs.iter().map(move |(a, b)| (name, (a, b))));
        let texts = pairs.chain(listed).flat_map(|(name, (a, b))| [(name, a), (name, b)]);
        for (name, text) in names.into_iter().chain(texts) {
            self::name(name, text)?;
        }
        let prices = file
            .engines
            .iter()
            .map(|(engine, rates)| Ok((engine.clone(), engine_rates(engine, rates)?)))
            .collect::<Result<_, BookFileError>>()?;
        let book = Self { prices, digest: digest(Domain::Book, json), file };
        book.check_names()?;
        Ok(book)
    }

    /// Every alias, family and row has to lead to an engine of the book.
    fn check_names(&self) -> Result<(), BookFileError> {
        let File { engines, aliases, families, rows, .. } = &self.file;
        let unknown = |at: &str, name: &str| Err(field(at, name, "is no engine of this book"));
        for (alias, engine) in aliases {
            if !engines.contains_key(engine) {
                return unknown(&format!("aliases.{alias}"), engine);
            }
        }
        let is_known = |name: &str| engines.contains_key(name) || aliases.contains_key(name);
        for (prefix, name) in families {
            if !is_known(name) {
                return unknown(&format!("families.{prefix}"), name);
            }
        }
        for (label, text) in rows {
            let at = format!("rows.{label}");
            let strategy: Strategy =
                text.parse().map_err(|error: StrategyError| field(&at, text, error.to_string()))?;
            if let Some(name) = strategy.choice.models().into_iter().find(|name| !is_known(name)) {
                return unknown(&at, name);
            }
        }
        Ok(())
    }

    /// The price events' payloads, by engine.
    pub fn prices(&self) -> impl Iterator<Item = Price<'_>> {
        self.prices.iter().filter_map(|(engine, rates)| {
            Some(Price {
                engine: Name::new(engine).ok()?,
                context: rates.context,
                rates: rates.rates,
                tiers: rates.tiers.clone(),
                windows: rates.windows.clone(),
                capabilities: rates.capabilities,
                quality: rates.quality,
                source: Name::new(&self.file.source).ok()?,
            })
        })
    }

    /// The price-book event's payload, for a ledger without prices before.
    #[must_use]
    pub fn closing(&self) -> Option<PriceBook<'_>> {
        fn pair<'a>((a, b): (&'a String, &'a String)) -> Option<(Name<'a>, Name<'a>)> {
            Some((Name::new(a).ok()?, Name::new(b).ok()?))
        }
        let count = u32::try_from(self.prices.len()).unwrap_or(u32::MAX);
        Some(PriceBook {
            source: Name::new(&self.file.source).ok()?,
            dated: Name::new(&self.file.dated).ok()?,
            engines: count,
            changed: count,
            missing: 0,
            digest: self.digest,
            aliases: self.file.aliases.iter().filter_map(pair).collect(),
            families: self.file.families.iter().map(|(a, b)| (a, b)).filter_map(pair).collect(),
            rows: self.file.rows.iter().map(|(a, b)| (a, b)).filter_map(pair).collect(),
        })
    }

    /// Writes the book to a ledger: a price event per engine, then the price-book event.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn write<L: Log>(
        &self,
        writer: &mut Writer<'_, L>,
        at: Millis,
    ) -> Result<(), WriteError<L::Error>> {
        for price in self.prices() {
            writer.push(at, engine_subject(price.engine.as_str()), &price)?;
        }
        if let Some(closing) = self.closing() {
            writer.push(at, engine_subject(&self.file.source), &closing)?;
        }
        Ok(())
    }

    /// The book by itself, outside any ledger.
    #[must_use]
    pub fn book(&self) -> Book {
        let mut book = Book::genesis();
        let mut context = Context {
            seq: 0,
            author: AuthorId::ZERO,
            written_by: None,
            received: 0,
            at: 0,
            subject: Subject::ZERO,
        };
        for price in self.prices() {
            book.apply(&context, &Body::Price(price));
            context.seq += 1;
        }
        if let Some(closing) = self.closing() {
            book.apply(&context, &Body::PriceBook(closing));
        }
        book.settle();
        book
    }
}

/// Reads a map, refusing a key that stands twice: JSON would let the last one win.
fn each_key_once<'de, D, V>(deserializer: D) -> Result<BTreeMap<String, V>, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
{
    struct Entries<V>(PhantomData<V>);
    impl<'de, V: Deserialize<'de>> Visitor<'de> for Entries<V> {
        type Value = BTreeMap<String, V>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a map")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut entries = BTreeMap::new();
            while let Some((key, value)) = map.next_entry::<String, V>()? {
                if entries.insert(key.clone(), value).is_some() {
                    return Err(A::Error::custom(format!("'{key}' stands twice")));
                }
            }
            Ok(entries)
        }
    }
    deserializer.deserialize_map(Entries(PhantomData))
}

fn engine_rates(engine: &str, file: &EngineFile) -> Result<EngineRates, BookFileError> {
    let at = format!("engines.{engine}");
    name(&at, engine)?;
    let mut tiers = Vec::new();
    for (index, tier) in file.tiers.iter().enumerate() {
        let at = format!("{at}.tiers[{index}]");
        let above = tier.above_context.filter(|_| tier.from.is_none() && tier.to.is_none());
        let above = above.and_then(|above| above.checked_add(1)).ok_or_else(|| {
            field(&at, "", "needs above_context, the prompt tokens it begins above, and no times")
        })?;
        tiers.push(Tier { from_prompt: above, rates: rates_of!(tier, &at) });
    }
    tiers.sort_by_key(|tier| tier.from_prompt);
    let mut windows = Vec::new();
    for (index, window) in file.windows.iter().enumerate() {
        let at = format!("{at}.windows[{index}]");
        if window.above_context.is_some() {
            return Err(field(&at, "above_context", "belongs to a tier, not to a window"));
        }
        windows.push(Window {
            from_minute: minute(&at, "from", window.from.as_deref())?,
            to_minute: minute(&at, "to", window.to.as_deref())?,
            rates: rates_of!(window, &at),
        });
    }
    let quality = file.quality.quality().map_err(|(axis, text)| {
        let problem = "is no score; write 0 to 100 as \"62.5\", or leave it out if unknown";
        field(&format!("{at}.quality.{axis}"), text, problem)
    })?;
    Ok(EngineRates {
        context: file.context,
        rates: rates_of!(file, &at),
        tiers,
        windows,
        capabilities: file.capabilities.capabilities(),
        quality,
    })
}

fn field(field: &str, value: &str, problem: impl Into<String>) -> BookFileError {
    BookFileError::Field {
        field: field.to_owned(),
        value: value.to_owned(),
        problem: problem.into(),
    }
}

fn name(at: &str, text: &str) -> Result<(), BookFileError> {
    Name::new(text).map(|_| ()).map_err(|error| field(at, text, format!("is no name: {error}")))
}

fn check_date(text: &str) -> Result<(), BookFileError> {
    if crate::dates::is_date(text) {
        return Ok(());
    }
    Err(field("dated", text, "is no day; write it as YYYY-MM-DD"))
}

fn minute(at: &str, key: &str, text: Option<&str>) -> Result<u16, BookFileError> {
    let time = text.and_then(|text| {
        let (hours, minutes) = text.split_once(':')?;
        let two = |part: &str| (part.len() == 2).then(|| part.parse::<u16>().ok())?;
        Some((two(hours)?, two(minutes)?))
    });
    match time {
        Some((hours, minutes)) if hours < 24 && minutes < 60 => Ok(hours * 60 + minutes),
        _ => {
            let value = text.unwrap_or("");
            Err(field(&format!("{at}.{key}"), value, "is no time of day, UTC; write it as HH:MM"))
        }
    }
}

fn per_million(at: &str, key: &str, text: &Option<String>) -> Result<Option<Rate>, BookFileError> {
    rate(at, key, text, Rate::per_million)
}

fn each(at: &str, key: &str, text: &Option<String>) -> Result<Option<Rate>, BookFileError> {
    rate(at, key, text, str::parse)
}

fn rate(
    at: &str,
    key: &str,
    text: &Option<String>,
    read: fn(&str) -> Result<Rate, DecimalError>,
) -> Result<Option<Rate>, BookFileError> {
    text.as_ref().map(|text| read(text)).transpose().map_err(|error| {
        let value = text.as_deref().unwrap_or("");
        let problem =
            format!("is no rate ({error}); write dollars as \"0.5\", or leave it out if unknown");
        field(&format!("{at}.{key}"), value, problem)
    })
}

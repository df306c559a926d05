//! Price lists as their publishers write them, read as exact decimals: models.dev, LiteLLM, OpenRouter,
//! and books in ferry's own format. What each field means is told in `docs/prices.md`.
//!
//! An entry is listed whole or not at all. A price that is not stated is unknown, never zero; one that
//! cannot be kept exactly, or applies in a way ferry does not know, refuses its entry by name.

pub(crate) mod abilities;
mod gather;
mod json;
mod litellm;
mod models_dev;
mod openrouter;
mod rates;
#[cfg(test)]
mod tests;

use std::fmt;

use events::hash::{Domain, digest};
use events::ids::Digest;
use events::payload::{Capabilities, Name, Price, Quality, Rates, Tier, Window};
use serde_json::value::RawValue;

use self::gather::{Gathered, Refusal};
use self::json::{Document, Object, text};
use crate::book_file::{BookFile, BookFileError};
use crate::dates::is_date;

/// Where a saved file says of which day it is.
const META: &str = "_meta";

/// Who writes price lists of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListFormat {
    /// models.dev: `api.json` as published, or its models by `provider/model`.
    ModelsDev,
    /// LiteLLM: `model_prices_and_context_window.json`.
    LiteLlm,
    /// OpenRouter: an answer of `/api/v1/models`.
    OpenRouter,
    /// A book in ferry's own format.
    Ferry,
}

impl ListFormat {
    /// The list's name: the source of its prices.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::ModelsDev => "models.dev",
            Self::LiteLlm => "LiteLLM",
            Self::OpenRouter => "OpenRouter",
            Self::Ferry => "ferry",
        }
    }
}

/// What an engine charges, as a list says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedPrice {
    /// The engine, `provider/model`: 1 to 128 characters of printable ASCII.
    pub engine: String,
    /// Longest prompt + output it takes, in tokens.
    pub context: Option<u32>,
    /// Rates where no tier or window says otherwise.
    pub rates: Rates,
    /// Tiers, smallest prompt first.
    pub tiers: Vec<Tier>,
    /// Windows; the first that holds the instant applies.
    pub windows: Vec<Window>,
    /// What it can do; what a list does not say is unknown.
    pub capabilities: Capabilities,
    /// How good the list says it is.
    pub quality: Quality,
}

impl ListedPrice {
    /// The payload of a price event; `None` if the engine is no name, which no engine of a list is.
    #[must_use]
    pub fn price<'a>(&'a self, source: Name<'a>) -> Option<Price<'a>> {
        Some(Price {
            engine: Name::new(&self.engine).ok()?,
            context: self.context,
            rates: self.rates,
            tiers: self.tiers.clone(),
            windows: self.windows.clone(),
            capabilities: self.capabilities,
            quality: self.quality,
            source,
        })
    }
}

/// An entry that is not listed, and why. Its texts are printable and short.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RefusedPrice {
    /// The entry, as the list names it.
    pub entry: String,
    /// The field that was the reason.
    pub field: String,
    /// What it holds.
    pub value: String,
    /// What is wrong with it.
    pub problem: String,
}

impl fmt::Display for RefusedPrice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entry, field, value, problem } = self;
        write!(f, "{entry}: {field} '{value}' {problem}")
    }
}

/// A price list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriceList {
    /// Its form.
    pub format: ListFormat,
    /// Where the prices were read: 1 to 128 characters of printable ASCII.
    pub source: String,
    /// The day the prices are of, `YYYY-MM-DD`, if the file says it.
    pub dated: Option<String>,
    /// The prices, by engine, each engine once.
    pub prices: Vec<ListedPrice>,
    /// The entries that are not listed, by name.
    pub refused: Vec<RefusedPrice>,
    /// How many entries had a price for neither input nor output.
    pub unpriced: u64,
    /// Digest of the file's bytes.
    pub digest: Digest,
}

impl PriceList {
    /// The price of the engine of this exact id.
    #[must_use]
    pub fn engine(&self, id: &str) -> Option<&ListedPrice> {
        let found = self.prices.binary_search_by(|price| price.engine.as_str().cmp(id));
        self.prices.get(found.ok()?)
    }
}

/// Why a file is no price list.
#[derive(Debug, thiserror::Error)]
pub enum PriceListError {
    /// Not JSON.
    #[error("not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// JSON, but none of the formats.
    #[error(
        "no price list of a known format; known are models.dev (api.json), LiteLLM \
         (model_prices_and_context_window.json), OpenRouter (an answer of /api/v1/models) and ferry's own \
         (with \"unit\" and \"engines\")"
    )]
    Unrecognised,
    /// A key of the file's frame stands twice: which of the two counts is nobody's guess.
    #[error("'{0}' stands twice")]
    Twice(String),
    /// A book in ferry's own format with a mistake.
    #[error(transparent)]
    Book(#[from] BookFileError),
}

/// Reads a price list of any known format, which its content tells.
///
/// # Errors
/// [`PriceListError`] when the file as a whole cannot be read. A single entry that cannot be is in
/// [`PriceList::refused`].
pub fn parse(json: &[u8]) -> Result<PriceList, PriceListError> {
    let document = Document::read(json)?;
    let frame = match &document {
        Document::Object(object) => object.clone(),
        Document::List(_) => Object::default(),
    };
    if frame.get("engines").is_some() {
        return Ok(own_book(&BookFile::parse(json)?, json));
    }
    let (format, members) = recognise(document)?;
    let gathered = match (format, &members) {
        (ListFormat::OpenRouter, Document::List(items)) => openrouter::gather_list(items),
        (ListFormat::OpenRouter, Document::Object(members)) => openrouter::gather(named(members)),
        (ListFormat::ModelsDev, Document::Object(members)) => models_dev::gather(named(members)),
        (ListFormat::LiteLlm, Document::Object(members)) => litellm::gather(named(members)),
        _ => return Err(PriceListError::Unrecognised),
    };
    let (prices, refused, unpriced) = gathered.finish();
    Ok(PriceList {
        format,
        source: format.label().to_owned(),
        dated: date_of(&frame),
        prices,
        refused,
        unpriced,
        digest: digest(Domain::Book, json),
    })
}

/// A book somebody wrote for ferry is taken as it stands, engines without a price included.
fn own_book(book: &BookFile, json: &[u8]) -> PriceList {
    let closing = book.closing();
    let source = closing.as_ref().map_or(ListFormat::Ferry.label(), |book| book.source.as_str());
    let listed = |price: Price<'_>| ListedPrice {
        engine: price.engine.as_str().to_owned(),
        context: price.context,
        rates: price.rates,
        tiers: price.tiers,
        windows: price.windows,
        capabilities: price.capabilities,
        quality: price.quality,
    };
    PriceList {
        format: ListFormat::Ferry,
        source: source.to_owned(),
        dated: closing.as_ref().map(|book| book.dated.as_str().to_owned()),
        prices: book.prices().map(listed).collect(),
        refused: Vec::new(),
        unpriced: 0,
        digest: digest(Domain::Book, json),
    }
}

/// Finds a file's entries, and whose form they have.
fn recognise(document: Document<'_>) -> Result<(ListFormat, Document<'_>), PriceListError> {
    let inner = match &document {
        Document::Object(frame) => ["data", "models"].into_iter().find_map(|key| {
            let raw = frame.get(key)?;
            let members = Document::of(raw)?;
            Some((key, form_of(&members)?, members))
        }),
        Document::List(_) => None,
    };
    match (inner, document) {
        (Some((key, form, members)), Document::Object(frame)) => {
            if frame.iter().filter(|(name, _)| *name == key).count() > 1 {
                return Err(PriceListError::Twice(key.to_owned()));
            }
            Ok((form, members))
        }
        (_, document) => {
            form_of(&document).map(|form| (form, document)).ok_or(PriceListError::Unrecognised)
        }
    }
}

/// A map's entries, without what whoever saved the file wrote beside them.
fn named<'n, 'a>(members: &'n Object<'a>) -> impl Iterator<Item = (&'n str, &'a RawValue)> {
    members.iter().filter(|(key, _)| *key != META)
}

/// The form of the first member that has one.
fn form_of(members: &Document<'_>) -> Option<ListFormat> {
    match members {
        Document::Object(object) => object.iter().find_map(|(_, raw)| form_of_entry(raw)),
        Document::List(items) => items.iter().find_map(|raw| form_of_entry(raw)),
    }
}

fn form_of_entry(raw: &RawValue) -> Option<ListFormat> {
    let entry = Object::of(raw)?;
    let has = |key: &str| entry.get(key).is_some();
    if has("litellm_provider") || entry.iter().any(|(key, _)| key.contains("cost_per_token")) {
        Some(ListFormat::LiteLlm)
    } else if has("pricing") {
        Some(ListFormat::OpenRouter)
    } else if has("cost") || has("limit") || entry.object("models").is_some() {
        Some(ListFormat::ModelsDev)
    } else {
        None
    }
}

/// The day a file's `_meta` says it is of.
fn date_of(frame: &Object<'_>) -> Option<String> {
    let date = text(frame.object(META)?.get("date")?)?;
    date.get(..10).filter(|day| is_date(day)).map(str::to_owned)
}

/// The members that are objects; the others are refused.
fn entries<'n, 'a>(
    members: impl Iterator<Item = (&'n str, &'a RawValue)>,
    gathered: &mut Gathered,
) -> Vec<(&'n str, Object<'a>)> {
    let mut entries = Vec::new();
    for (name, raw) in members {
        match object_at("entry", raw) {
            Ok(entry) => entries.push((name, entry)),
            Err(refusal) => gathered.refuse(name, refusal),
        }
    }
    entries
}

/// The object a value is, with no key twice: JSON would let either count.
fn object_at<'a>(field: &str, raw: &'a RawValue) -> Result<Object<'a>, Refusal> {
    let object = Object::of(raw).ok_or_else(|| Refusal::new(field, raw.get(), "is no object"))?;
    match object.twice() {
        Some((key, raw)) => Err(Refusal::new(format!("{field}.{key}"), raw.get(), "stands twice")),
        None => Ok(object),
    }
}

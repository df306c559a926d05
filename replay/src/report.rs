//! The report of a replay: its rows, as people, programs and other machines read them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use events::cost::Cost;
use events::hash::{Domain, Hasher};
use events::head::Head;
use events::ids::{Digest, Millis};
use events::money::Pico;
use projections::book::Book;
use projections::gather::Window;
use serde::Serialize;

use crate::reprice::{By, Options, Priced, RepriceError, Totals, date, date_of_day, price};
use crate::strategy::{CacheOptions, Strategy, StrategyError, Ttl, WriteKind};

/// Name and version of the JSON this module writes; fields are only ever added within a version.
pub const SCHEMA: &str = "ferry.replay/1";
const MILLIS_PER_30_DAYS: u64 = 30 * 86_400_000;

/// A strategy and what to call it.
#[derive(Clone, Debug)]
pub struct Labelled {
    /// What rows are called.
    pub label: String,
    /// What they price.
    pub strategy: Strategy,
}

impl Labelled {
    /// A strategy called by its own text.
    #[must_use]
    pub fn plain(strategy: Strategy) -> Self {
        Self { label: strategy.to_string(), strategy }
    }
}

/// Why there is no report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// A row of the book is no strategy.
    #[error("row '{label}': {error}")]
    Row {
        /// The row's label.
        label: String,
        /// What is wrong with it.
        error: StrategyError,
    },
    /// A strategy cannot be priced.
    #[error("strategy '{strategy}': {error}")]
    Reprice {
        /// The strategy.
        strategy: String,
        /// What is wrong with it.
        error: RepriceError,
    },
}

/// What to report.
#[derive(Clone, Debug)]
pub struct Request {
    /// The rows.
    pub strategies: Vec<Labelled>,
    /// The row others are compared with, and whose cached tokens naive figures use.
    pub reference: Strategy,
    /// Cache rules where a strategy states none.
    pub cache: CacheOptions,
    /// What to break each row down by.
    pub by: Option<By>,
    /// First instant of the window.
    pub from: Millis,
    /// Instant after the window.
    pub until: Millis,
}

/// The rows a book asks for.
///
/// # Errors
/// [`ReportError::Row`].
pub fn book_rows(book: &Book) -> Result<Vec<Labelled>, ReportError> {
    let rows = book.names().map_or(&[][..], |names| &names.rows);
    rows.iter()
        .map(|(label, strategy)| match strategy.parse() {
            Ok(strategy) => Ok(Labelled { label: label.clone(), strategy }),
            Err(error) => Err(ReportError::Row { label: label.clone(), error }),
        })
        .collect()
}

/// What rows are compared with: the recorded turns, by the book's families where it has some.
#[must_use]
pub fn reference(book: &Book) -> Strategy {
    let by_family = book.names().is_some_and(|names| !names.families.is_empty());
    if by_family { Strategy::recorded_by_family() } else { Strategy::recorded() }
}

/// The rows of a book that asks for none: recorded, recorded without cache, and each of the five
/// most used models for all turns.
///
/// # Errors
/// [`ReportError::Row`] when a model's name cannot stand in a strategy.
pub fn default_rows(book: &Book, window: &Window) -> Result<Vec<Labelled>, ReportError> {
    let mut uses: BTreeMap<&str, u64> = BTreeMap::new();
    for call in window.calls.iter().filter(|call| call.served) {
        let recorded = book.recorded(&window.models[call.engine as usize]);
        if let Some((_, engine)) = recorded {
            *uses.entry(&engine.engine).or_default() += 1;
        }
    }
    let mut most_used: Vec<_> = uses.into_iter().collect();
    most_used.sort_by_key(|(engine, uses)| (Reverse(*uses), *engine));
    let models = most_used.iter().take(5).map(|(engine, _)| format!("all:{engine}"));
    ["recorded".to_owned(), "recorded@cache=off".to_owned()]
        .into_iter()
        .chain(models)
        .map(|text| match text.parse() {
            Ok(strategy) => Ok(Labelled::plain(strategy)),
            Err(error) => Err(ReportError::Row { label: text, error }),
        })
        .collect()
}

/// A whole report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The ledger it was read from.
    pub ledger: LedgerSummary,
    /// The turns it is about.
    pub window: WindowSummary,
    /// The prices it used.
    pub book: BookSummary,
    /// Share of the prompt the recorded row reads from the cache, four decimals.
    pub recorded_cached_share: String,
    /// What the figures assume.
    pub assumes: Vec<String>,
    /// One row per strategy.
    pub rows: Vec<Row>,
    /// Digest over ledger link and rows: equal reports of equal ledgers have equal ones.
    pub digest: String,
}

/// The ledger a report was read from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LedgerSummary {
    /// Its id.
    pub id: String,
    /// Events in it.
    pub events: u64,
    /// Batches they came in.
    pub batches: u64,
    /// Link of its newest entry.
    pub link: String,
}

/// The turns a report is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WindowSummary {
    /// First instant, RFC 3339 UTC.
    pub from: String,
    /// Instant after the last, RFC 3339 UTC.
    pub until: String,
    /// Turns.
    pub turns: u64,
    /// Conversations.
    pub conversations: u64,
    /// Lanes: main agents and sub-agents.
    pub lanes: u64,
    /// Prompt tokens of turns with known usage.
    pub prompt_tokens: u64,
    /// Answer tokens of turns with known usage.
    pub output_tokens: u64,
    /// Length of the window, in milliseconds.
    pub window_ms: u64,
    /// First to last turn, in milliseconds.
    pub span_ms: u64,
    /// Turns without a result.
    pub unanswered: u64,
    /// Repeated turns and results that did not count.
    pub repeated: u64,
    /// Results whose turn is not in the ledger.
    pub orphans: u64,
}

/// The prices a report used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BookSummary {
    /// Where they were read.
    pub source: String,
    /// The day they are of.
    pub dated: String,
    /// Engines in the book.
    pub engines: u64,
}

/// One strategy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// What it is called.
    pub label: String,
    /// What it is.
    pub strategy: String,
    /// `list_price`: what the book says. (`billed` would be what somebody paid.)
    pub basis: &'static str,
    /// Its sums.
    #[serde(flatten)]
    pub sums: Sums,
    /// Cost / cost of the reference row, four decimals; null when either is unknown.
    pub ratio_to_recorded: Option<String>,
    /// For a single model: the naive figure and why it differs.
    pub naive: Option<NaiveRow>,
    /// Cost per UTC day.
    pub days: Vec<DayCost>,
    /// Sums broken down, if asked for.
    pub by: Vec<Group>,
}

/// Sums of a row or of a part of it. Dollars are decimal text with 12 decimals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sums {
    /// Turns.
    pub turns: u64,
    /// Cost; null when a part is unknown.
    pub cost_usd: Option<String>,
    /// The known part of the cost.
    pub cost_at_least_usd: String,
    /// True when a part of the cost is unknown.
    pub cost_incomplete: bool,
    /// Cost per turn; null when a part is unknown.
    pub cost_per_turn_usd: Option<String>,
    /// Cost per 30 days at the window's pace; null when a part is unknown.
    pub cost_per_30d_usd: Option<String>,
    /// Prompt tokens.
    pub prompt_tokens: u64,
    /// Of them: read from the cache.
    pub cache_read_tokens: u64,
    /// Share of the prompt read from the cache, four decimals.
    pub cached_share: String,
    /// Answer tokens.
    pub output_tokens: u64,
    /// Turns that went to another engine than the turn before in their lane.
    pub switches: u64,
    /// Turns longer than the engine's context; priced as if they fitted, since they did run somewhere.
    pub misfits: u64,
    /// Turns of unknown price.
    pub unknown_price: u64,
    /// Turns of unknown usage.
    pub unknown_usage: u64,
    /// Turns priced by the weaker cache rule, their shared prefix being unknown.
    pub assumed_prefix: u64,
    /// Turns priced with the cached tokens the provider reported.
    pub as_reported: u64,
    #[serde(skip)]
    cost: Cost,
    #[serde(skip)]
    per_turn: Option<Pico>,
    #[serde(skip)]
    per_30_days: Option<Pico>,
}

impl Sums {
    fn of(totals: &Totals, window_ms: u64) -> Self {
        let amount = totals.cost.amount();
        let per_turn = amount.map(|cost| cost.scaled(1, totals.turns));
        let per_30_days = amount.map(|cost| cost.scaled(MILLIS_PER_30_DAYS, window_ms));
        Self {
            turns: totals.turns,
            cost_usd: amount.map(|cost| cost.to_string()),
            cost_at_least_usd: totals.cost.known.to_string(),
            cost_incomplete: totals.cost.incomplete,
            cost_per_turn_usd: per_turn.map(|cost| cost.to_string()),
            cost_per_30d_usd: per_30_days.map(|cost| cost.to_string()),
            prompt_tokens: totals.prompt,
            cache_read_tokens: totals.cache_read,
            cached_share: quotient4(totals.cache_read.into(), totals.prompt.into()),
            output_tokens: totals.output,
            switches: totals.switches,
            misfits: totals.misfits,
            unknown_price: totals.unknown_price,
            unknown_usage: totals.unknown_usage,
            assumed_prefix: totals.assumed_prefix,
            as_reported: totals.as_reported,
            cost: totals.cost,
            per_turn,
            per_30_days,
        }
    }

    /// The cost, for those who draw or align it.
    #[must_use]
    pub const fn cost(&self) -> Cost {
        self.cost
    }

    /// The cost per turn, if known.
    #[must_use]
    pub const fn per_turn(&self) -> Option<Pico> {
        self.per_turn
    }

    /// The cost per 30 days, if known.
    #[must_use]
    pub const fn per_30_days(&self) -> Option<Pico> {
        self.per_30_days
    }
}

/// A single model's naive figure: every turn at base rates with the recorded row's cached tokens.
/// Naive + own cache + cache writes + tiers = the row's cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NaiveRow {
    /// The naive figure; null when a part is unknown.
    pub cost_usd: Option<String>,
    /// Its own cache would have held other tokens.
    pub own_cache_usd: String,
    /// Cache writes cost more than plain input.
    pub cache_writes_usd: String,
    /// Long prompts and times of day have their own rates.
    pub tiers_usd: String,
    #[serde(skip)]
    cost: Cost,
}

impl NaiveRow {
    /// The figure, for those who draw or align it.
    #[must_use]
    pub const fn cost(&self) -> Cost {
        self.cost
    }
}

/// One day of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DayCost {
    /// `YYYY-MM-DD`, UTC.
    pub day: String,
    /// The known part of its cost.
    pub cost_at_least_usd: String,
    #[serde(skip)]
    cost: Cost,
}

impl DayCost {
    /// The cost, for those who draw it.
    #[must_use]
    pub const fn cost(&self) -> Cost {
        self.cost
    }
}

/// A part of a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    /// The model, day or conversation.
    pub key: String,
    /// Its sums.
    #[serde(flatten)]
    pub sums: Sums,
}

/// Makes a report, telling `priced` after each row.
///
/// # Errors
/// [`ReportError`].
pub fn report(
    head: &Head,
    batches: u64,
    book: &Book,
    window: &Window,
    request: &Request,
    priced: &mut dyn FnMut(),
) -> Result<Report, ReportError> {
    let run = |strategy: &Strategy, options: Options<'_>| {
        price(window, book, strategy, options)
            .map_err(|error| ReportError::Reprice { strategy: strategy.to_string(), error })
    };
    let options = Options { cache: request.cache, by: None, recorded_hits: None };
    let reference = run(&request.reference, options)?;
    let options =
        Options { by: request.by, recorded_hits: Some(&reference.hits), cache: request.cache };
    let window_ms = request.until - request.from;
    let rows = request
        .strategies
        .iter()
        .map(|labelled| {
            let row = run(&labelled.strategy, options)?;
            priced();
            Ok(row_of(labelled, &row, reference.totals.cost, window_ms))
        })
        .collect::<Result<Vec<_>, ReportError>>()?;
    let names = book.names();
    Ok(Report {
        schema: SCHEMA,
        ledger: LedgerSummary {
            id: head.ledger.to_string(),
            events: head.next,
            batches,
            link: head.link.to_string(),
        },
        window: summary(window, &reference.totals, request),
        book: BookSummary {
            source: names.map_or_else(String::new, |names| names.source.clone()),
            dated: names.map_or_else(String::new, |names| names.dated.clone()),
            engines: book.engines().count() as u64,
        },
        recorded_cached_share: quotient4(
            reference.totals.cache_read.into(),
            reference.totals.prompt.into(),
        ),
        assumes: assumptions(request.cache),
        digest: digest(head, &rows).to_string(),
        rows,
    })
}

fn row_of(labelled: &Labelled, priced: &Priced, reference: Cost, window_ms: u64) -> Row {
    Row {
        label: labelled.label.clone(),
        strategy: labelled.strategy.to_string(),
        basis: "list_price",
        sums: Sums::of(&priced.totals, window_ms),
        ratio_to_recorded: priced.totals.cost.amount().zip(reference.amount()).and_then(
            |(cost, reference)| {
                let (cost, reference) = (u128::try_from(cost.0), u128::try_from(reference.0));
                cost.ok().zip(reference.ok().filter(|r| *r > 0)).map(|(c, r)| quotient4(c, r))
            },
        ),
        naive: priced.naive.map(|naive| NaiveRow {
            cost_usd: naive.cost.amount().map(|amount| amount.to_string()),
            own_cache_usd: naive.own_cache.to_string(),
            cache_writes_usd: naive.cache_writes.to_string(),
            tiers_usd: naive.tiers.to_string(),
            cost: naive.cost,
        }),
        days: priced
            .days
            .iter()
            .map(|(day, cost)| DayCost {
                day: date_of_day(*day),
                cost_at_least_usd: cost.known.to_string(),
                cost: *cost,
            })
            .collect(),
        by: priced
            .by
            .iter()
            .map(|(key, totals)| Group { key: key.clone(), sums: Sums::of(totals, window_ms) })
            .collect(),
    }
}

fn summary(window: &Window, totals: &Totals, request: &Request) -> WindowSummary {
    let at = || window.calls.iter().map(|call| call.at);
    let span_ms = at().max().zip(at().min()).map_or(0, |(last, first)| last - first);
    let mut conversations: Vec<u32> = window.calls.iter().map(|call| call.conversation).collect();
    conversations.sort_unstable();
    conversations.dedup();
    let lanes = window.calls.chunk_by(|a, b| a.lane == b.lane).count() as u64;
    WindowSummary {
        from: instant(request.from),
        until: instant(request.until),
        turns: window.turns,
        conversations: conversations.len() as u64,
        lanes,
        prompt_tokens: totals.prompt,
        output_tokens: totals.output,
        window_ms: request.until - request.from,
        span_ms,
        unanswered: window.unanswered,
        repeated: window.repeated,
        orphans: window.orphans,
    }
}

fn instant(at: Millis) -> String {
    let millis = i64::try_from(at).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(millis).map_or_else(|_| date(at), |at| at.to_string())
}

fn assumptions(cache: CacheOptions) -> Vec<String> {
    let ttl = match cache.ttl {
        _ if cache.off => "no cache: every prompt token at the input rate".to_owned(),
        None => "a 5-minute cache per conversation, agent and engine".to_owned(),
        Some(Ttl::Seconds(seconds)) => {
            format!("a {seconds}-second cache per conversation, agent and engine")
        }
        Some(Ttl::Never) => {
            "a cache that never expires per conversation, agent and engine".to_owned()
        }
    };
    let write = match cache.write {
        Some(WriteKind::OneHour) => "writes at the 1-hour rate",
        _ => "writes at the 5-minute rate",
    };
    let mut assumes = vec![ttl];
    if !cache.off {
        assumes.push(write.to_owned());
    }
    assumes.extend(
        [
            "a row's own options (@ttl, write, cache) go before these",
            "other models would have taken other turns, and as many output tokens as recorded",
            "turns that do not fit a model's context are priced as if they did, and counted",
            "quality is not in this table",
        ]
        .map(str::to_owned),
    );
    assumes
}

fn digest(head: &Head, rows: &[Row]) -> Digest {
    // Rows are plain data: writing them to memory has no way to fail.
    let rows = serde_json::to_vec(rows).unwrap_or_default();
    Hasher::new(Domain::Report).fixed(head.link.as_slice()).part(&rows).finish()
}

/// `part / whole` with four decimals, rounded half up; `0.0000` when the whole is 0.
fn quotient4(part: u128, whole: u128) -> String {
    if whole == 0 {
        return "0.0000".to_owned();
    }
    // Split first: pico-dollars times 10,000 could leave 128 bits.
    let (units, rest) = (part / whole, part % whole);
    let rounded = units * 10_000 + (rest * 20_000 + whole) / (whole * 2);
    format!("{}.{:04}", rounded / 10_000, rounded % 10_000)
}

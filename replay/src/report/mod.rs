//! The report of a replay: its rows, as people, programs and other machines read them.

mod rows;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use events::hash::{Domain, Hasher};
use events::head::Head;
use events::ids::{Digest, Millis};
use projections::book::Book;
use projections::gather::Window;

pub use self::rows::{
    BookSummary, DayCost, EngineRow, Group, LedgerSummary, NaiveRow, PolicyRow, Report, Row,
    SCHEMA, Sums, WindowSummary,
};
use self::rows::{quotient4, row_of};
use crate::counterfactual::{CounterfactualError, choose};
use crate::dates::instant;
use crate::decider::Decider;
use crate::reprice::{By, Options, Priced, RepriceError, Totals, price, price_decided};
use crate::strategy::{CacheOptions, Strategy, StrategyError, Ttl, WriteKind};

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
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A row of the book is no strategy.
    #[error("row '{label}': {error}")]
    Row {
        /// The row's label.
        label: String,
        /// What is wrong with it.
        error: StrategyError,
    },
    /// A policy cannot decide.
    #[error("policy '{policy}': {error}")]
    Decide {
        /// The policy.
        policy: String,
        /// What is wrong.
        error: CounterfactualError,
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

/// A policy to decide every turn again by, and what to call it.
#[derive(Clone, Debug)]
pub struct Variant {
    /// What its row is called.
    pub label: String,
    /// What decides.
    pub decider: Decider,
}

/// What to report.
#[derive(Clone, Debug)]
pub struct Request {
    /// Policies to decide every turn again by.
    pub policies: Vec<Variant>,
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
    let window_ms = request.until.saturating_sub(request.from);
    let rows = request
        .strategies
        .iter()
        .map(|labelled| {
            let row = run(&labelled.strategy, options)?;
            priced();
            let names = (labelled.label.as_str(), labelled.strategy.to_string());
            Ok(row_of((names.0, &names.1), &row, reference.totals.cost, window_ms))
        })
        .collect::<Result<Vec<_>, ReportError>>()?;
    let mut policies = Vec::new();
    for variant in &request.policies {
        let row = decided(window, book, variant, options, &reference, window_ms, priced)?;
        policies.push(row);
    }
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
        assumes: assumptions(request.cache, !policies.is_empty()),
        digest: digest(head, &rows, &policies).to_string(),
        rows,
        policies,
    })
}

/// The row of a policy: every turn decided again, then priced as every row is.
fn decided(
    window: &Window,
    book: &Book,
    variant: &Variant,
    options: Options<'_>,
    reference: &Priced,
    window_ms: u64,
    seen: &mut dyn FnMut(),
) -> Result<PolicyRow, ReportError> {
    let failed = |error| ReportError::Decide { policy: variant.label.clone(), error };
    let chosen = choose(window, book, variant.decider.clone(), seen).map_err(failed)?;
    let decided = chosen.decided.clone();
    let priced = price_decided(window, book, chosen, options);
    let reference = reference.totals.cost;
    let strategy = format!("policy:{}", variant.label);
    let row = row_of((&variant.label, &strategy), &priced, reference, window_ms);
    Ok(PolicyRow { row, decided })
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
        window_ms: request.until.saturating_sub(request.from),
        span_ms,
        unanswered: window.unanswered,
        repeated: window.repeated,
        orphans: window.orphans,
    }
}

fn assumptions(cache: CacheOptions, decides: bool) -> Vec<String> {
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
    if decides {
        assumes.push(
            "policies decide each turn by what was recorded of it: counts, not words; engines are what lists say today"
                .to_owned(),
        );
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

fn digest(head: &Head, rows: &[Row], policies: &[PolicyRow]) -> Digest {
    // Rows are plain data: writing them to memory has no way to fail.
    let rows = serde_json::to_vec(rows).unwrap_or_default();
    let mut hasher = Hasher::new(Domain::Report);
    hasher.fixed(head.link.as_slice()).part(&rows);
    if !policies.is_empty() {
        hasher.part(&serde_json::to_vec(policies).unwrap_or_default());
    }
    hasher.finish()
}

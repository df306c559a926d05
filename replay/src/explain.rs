//! Why one turn cost what it cost: its bill part by part, the cache it met, and what others would have paid.

use events::cost::Cost;
use events::ids::{Millis, Subject};
use events::payload::{Capabilities, Quality, Rates};
use projections::book::{Book, EnginePrice};
use projections::cost::{Basis, Bill, Part, Quantities, bill};
use projections::gather::{Call, Window};
use serde::Serialize;

use crate::dates::instant;
use crate::report::Labelled;
use crate::reprice::{DEFAULT_TTL_SECONDS, Options, RepriceError, price_each};
use crate::strategy::Strategy;

/// One line of a bill, as it is printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartLine {
    /// What is priced.
    pub part: &'static str,
    /// How many tokens, images or requests; `None` is unknown.
    pub units: Option<u32>,
    /// US dollars per unit; `None` is unknown.
    pub rate_usd: Option<String>,
    /// Where the rate comes from.
    pub basis: &'static str,
    /// `units x rate`, rounded once; `None` is unknown.
    pub amount_usd: Option<String>,
}

/// What one attempt cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Attempt {
    /// Attempts before it.
    pub attempt: u16,
    /// The model, as recorded.
    pub model: String,
    /// The engine whose price was used, and how the name led there.
    pub engine: Option<PriceUsed>,
    /// The bill, part by part.
    pub parts: Vec<PartLine>,
    /// The whole prompt: the sum of its parts.
    pub prompt_tokens: Option<u32>,
    /// Smallest prompt of the tier that applied.
    pub tier_from: Option<u32>,
    /// Place of the time window that applied.
    pub window: Option<usize>,
    /// Exact sum of the parts; `None` when one of them is unknown.
    pub cost_usd: Option<String>,
    /// Sum of what is known.
    pub cost_at_least_usd: String,
    /// False when the cache model split the prompt, because the provider did not.
    pub as_reported: bool,
    /// True when prompt and output go beyond the engine's context.
    pub beyond_context: bool,
    /// The sum, for comparing.
    #[serde(skip)]
    pub cost: Cost,
}

/// The price an attempt was priced with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PriceUsed {
    /// The engine.
    pub engine: String,
    /// How the recorded name led to it.
    pub step: &'static str,
    /// Where the price was read.
    pub source: String,
    /// Position of the price event, where the ledger holds it.
    pub position: Option<u64>,
}

/// The cache a turn met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CacheMet {
    /// The turn before it in its lane, on the same engine.
    pub previous: Option<Previous>,
    /// Longest prefix that had been sent before, if known.
    pub prefix_tokens: Option<u32>,
    /// Tokens an entry of five minutes could have held: what the cache model reads.
    pub model_reads: u32,
    /// Tokens the provider says were read.
    pub reported_reads: Option<u32>,
    /// Tokens the provider says were written for 5 minutes, and for 1 hour.
    pub reported_writes: [Option<u32>; 2],
}

/// A turn that left something in the cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Previous {
    /// Its id.
    pub turn: Subject,
    /// From then to now, in milliseconds.
    pub age_ms: Millis,
    /// How long its prompt was.
    pub prompt_tokens: Option<u32>,
    /// True when an entry of five minutes was still alive.
    pub alive_5m: bool,
    /// True when an entry of one hour was still alive.
    pub alive_1h: bool,
}

/// What the turn would have cost under a strategy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Other {
    /// The strategy.
    pub strategy: String,
    /// The engine it would have gone to.
    pub engine: Option<String>,
    /// What it would have cost; `None` when that is not known.
    pub cost_usd: Option<String>,
    /// Tokens it would have read from the cache.
    pub cache_read_tokens: u64,
}

/// Why a turn cost what it cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The turn's id.
    pub turn: Subject,
    /// When it arrived, UTC.
    pub at: String,
    /// Its conversation, as reports call it.
    pub conversation: String,
    /// Which of its lane's turns it is, counted from 1 by time, and how many there are. A lane is the main agent's, or a
    /// sub-agent's, part of a conversation.
    pub place: [u64; 2],
    /// Its attempts; the last one served.
    pub attempts: Vec<Attempt>,
    /// The cache the last attempt met.
    pub cache: CacheMet,
    /// What others would have paid, in the conversation as it was.
    pub others: Vec<Other>,
}

/// Explains a turn of a window that holds its whole conversation; `None` when it is not there.
///
/// # Errors
/// [`RepriceError`] when a strategy names an engine the book does not have.
pub fn explain(
    window: &Window,
    turn: Subject,
    book: &Book,
    others: &[Labelled],
) -> Result<Option<Explanation>, RepriceError> {
    let Some(place) = window.calls.iter().rposition(|call| call.turn == turn) else {
        return Ok(None);
    };
    let served = window.calls[place];
    let mut attempts = Vec::new();
    let recorded = Strategy::recorded();
    price_each(window, book, &recorded, Options::default(), &mut |call, priced| {
        if call.turn == turn {
            let model = &window.models[call.engine as usize];
            attempts.push(attempt(
                book,
                model,
                call,
                priced.engine,
                &priced.quantities,
                &priced.totals,
            ));
        }
    })?;
    let mut paid = Vec::new();
    for Labelled { label, strategy } in others {
        price_each(window, book, strategy, Options::default(), &mut |call, priced| {
            if call.turn == turn && call.served {
                paid.push(Other {
                    strategy: label.clone(),
                    engine: priced.engine.map(|engine| engine.engine.clone()),
                    cost_usd: priced.totals.cost.amount().map(|amount| amount.to_string()),
                    cache_read_tokens: priced.totals.cache_read,
                });
            }
        })?;
    }
    let lane = window.calls.iter().filter(|call| call.lane == served.lane && call.served);
    let before =
        lane.clone().filter(|call| (call.at, call.turn) < (served.at, served.turn)).count();
    Ok(Some(Explanation {
        turn,
        at: instant(served.at),
        conversation: window.conversations[served.conversation as usize].clone(),
        place: [before as u64 + 1, lane.count() as u64],
        attempts,
        cache: cache_met(window, book, &served),
        others: paid,
    }))
}

fn attempt(
    book: &Book,
    model: &str,
    call: &Call,
    engine: Option<&EnginePrice>,
    quantities: &Quantities,
    totals: &crate::reprice::Totals,
) -> Attempt {
    let billed: Option<Bill> = engine.map(|engine| bill(engine, call.at, quantities));
    let used = engine.zip(book.recorded(model)).map(|(engine, (step, _))| PriceUsed {
        engine: engine.engine.clone(),
        step: step.label(),
        source: engine.source.clone(),
        position: engine.seq,
    });
    let parts = billed.map_or_else(|| unpriced(quantities), |bill| bill.parts);
    // What was not told apart and costs nothing more needs no line.
    let is_said = |part: &Part| {
        let (units, basis) = (part.units, part.basis);
        !matches!((units, basis), (Some(0), _) | (_, Basis::NotCharged) | (None, Basis::OutputRate))
    };
    let lines = parts.into_iter().filter(is_said);
    Attempt {
        attempt: call.attempt,
        model: model.to_owned(),
        engine: used,
        parts: lines
            .map(|part| PartLine {
                part: part.kind.label(),
                units: part.units,
                rate_usd: part.rate.map(|rate| rate.to_string()),
                basis: part.basis.label(),
                amount_usd: part.amount.map(|amount| amount.to_string()),
            })
            .collect(),
        prompt_tokens: quantities.prompt(),
        tier_from: billed.and_then(|bill| bill.tier_from),
        window: billed.and_then(|bill| bill.window),
        cost_usd: totals.cost.amount().map(|amount| amount.to_string()),
        cost_at_least_usd: totals.cost.known.to_string(),
        as_reported: call.cache_read.get().is_some() || call.prompt.get().is_none(),
        beyond_context: engine
            .zip(call.prompt.get())
            .zip(call.output.get())
            .is_some_and(|((engine, prompt), output)| !engine.fits(prompt, output)),
        cost: totals.cost,
    }
}

/// The parts of a bill nobody can make: how much there was, and no rate.
fn unpriced(quantities: &Quantities) -> [Part; 8] {
    let nothing = EnginePrice {
        engine: String::new(),
        context: None,
        rates: Rates::default(),
        tiers: Vec::new(),
        windows: Vec::new(),
        capabilities: Capabilities::default(),
        quality: Quality::default(),
        source: String::new(),
        seq: None,
    };
    bill(&nothing, 0, quantities).parts
}

/// What the lane's turn before, on the same engine, had left.
fn cache_met(window: &Window, book: &Book, served: &Call) -> CacheMet {
    const HOUR_MS: Millis = 3_600_000;
    let engine = |call: &Call| {
        let model = &window.models[call.engine as usize];
        book.recorded(model).map_or(model.as_str(), |(_, engine)| engine.engine.as_str())
    };
    let before = window.calls.iter().filter(|call| {
        call.lane == served.lane
            && call.prompt.get().is_some()
            && (call.at, call.turn) < (served.at, served.turn)
            && engine(call) == engine(served)
    });
    let previous = before.max_by_key(|call| (call.at, call.turn, call.attempt));
    let age_ms = previous.map_or(0, |previous| served.at - previous.at);
    let alive_5m = age_ms <= Millis::from(DEFAULT_TTL_SECONDS) * 1_000;
    let shared = previous.filter(|_| alive_5m).and_then(|previous| {
        let prompt = served.prompt.get()?;
        Some(served.prefix.get().unwrap_or(prompt).min(prompt).min(previous.prompt.get()?))
    });
    CacheMet {
        previous: previous.map(|previous| Previous {
            turn: previous.turn,
            age_ms,
            prompt_tokens: previous.prompt.get(),
            alive_5m,
            alive_1h: age_ms <= HOUR_MS,
        }),
        prefix_tokens: served.prefix.get(),
        model_reads: shared.unwrap_or(0),
        reported_reads: served.cache_read.get(),
        reported_writes: [served.cache_write_5m.get(), served.cache_write_1h.get()],
    }
}

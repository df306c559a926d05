//! What a report says, as its JSON has it (documented in docs/replay-json.md).

use events::cost::Cost;
use events::money::Pico;
use projections::cost::{Basis, PartKind};
use serde::Serialize;

use crate::counterfactual::Decided;
use crate::dates::date_of_day;
use crate::reprice::{EngineUse, Priced, Totals};

/// Name and version of the JSON this module writes; fields are only ever added within a version.
pub const SCHEMA: &str = "ferry.replay/1";
const MILLIS_PER_30_DAYS: u64 = 30 * 86_400_000;

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
    /// One row per policy that decided every turn again.
    pub policies: Vec<PolicyRow>,
    /// Digest over ledger link and rows: equal reports of equal ledgers have equal ones.
    pub digest: String,
}

impl Report {
    /// Every row: the strategies', then the policies'.
    pub fn all_rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().chain(self.policies.iter().map(|policy| &policy.row))
    }
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
    /// The engines it prices turns with.
    pub engines: Vec<EngineRow>,
    /// Cost / cost of the reference row, four decimals; null when either is unknown.
    pub ratio_to_recorded: Option<String>,
    /// For a single model: the naive figure and why it differs.
    pub naive: Option<NaiveRow>,
    /// Cost per UTC day.
    pub days: Vec<DayCost>,
    /// Sums broken down, if asked for.
    pub by: Vec<Group>,
}

/// A policy that decided every turn again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PolicyRow {
    /// What that came to, as every row has it.
    #[serde(flatten)]
    pub row: Row,
    /// What it decided.
    pub decided: Decided,
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
    /// Turns that cost at least what stands here: another rate stands in for a missing one.
    pub at_least: u64,
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
    pub(super) fn of(totals: &Totals, window_ms: u64) -> Self {
        let amount = totals.cost.amount();
        let per_turn = amount.and_then(|cost| cost.scaled(1, totals.turns));
        let per_30_days = amount.and_then(|cost| cost.scaled(MILLIS_PER_30_DAYS, window_ms));
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
            at_least: totals.at_least,
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

/// An engine a row prices turns with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EngineRow {
    /// The name it was looked for by: a strategy's, or a recorded model's.
    pub name: String,
    /// The entry of the book; null when the book has none.
    pub engine: Option<String>,
    /// How the name led there.
    pub step: Option<&'static str>,
    /// Rates that others stand in for, as `cache reads: input rate`.
    pub stand_ins: Vec<String>,
}

impl EngineRow {
    fn of(engine: &EngineUse) -> Self {
        let stand_in =
            |(part, basis): &(PartKind, Basis)| format!("{}: {}", part.label(), basis.label());
        Self {
            name: engine.name.clone(),
            engine: engine.found.as_ref().map(|(_, id)| id.clone()),
            step: engine.found.as_ref().map(|(step, _)| step.label()),
            stand_ins: engine.stand_ins.iter().map(stand_in).collect(),
        }
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

pub(super) fn row_of(
    (label, strategy): (&str, &str),
    priced: &Priced,
    reference: Cost,
    window_ms: u64,
) -> Row {
    Row {
        label: label.to_owned(),
        strategy: strategy.to_owned(),
        basis: "list_price",
        sums: Sums::of(&priced.totals, window_ms),
        engines: priced.engines.iter().map(EngineRow::of).collect(),
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

/// `part / whole` with four decimals, rounded half up; `0.0000` when the whole is 0.
pub(super) fn quotient4(part: u128, whole: u128) -> String {
    if whole == 0 {
        return "0.0000".to_owned();
    }
    // Long division, digit by digit, so that no product leaves 128 bits.
    let (mut digits, mut rest) = (part / whole, part % whole);
    for _ in 0..4 {
        let (digit, left) = times_ten(rest, whole);
        (digits, rest) = (digits.saturating_mul(10).saturating_add(digit), left);
    }
    let rounded = digits.saturating_add(u128::from(rest >= whole - rest));
    format!("{}.{:04}", rounded / 10_000, rounded % 10_000)
}

/// Quotient and remainder of `rest x 10 / whole`, for a rest below the whole.
fn times_ten(rest: u128, whole: u128) -> (u128, u128) {
    let (mut digit, mut left) = (0, 0_u128);
    for _ in 0..10 {
        match left.checked_sub(whole - rest) {
            Some(over) => (digit, left) = (digit + 1, over),
            None => left += rest,
        }
    }
    (digit, left)
}

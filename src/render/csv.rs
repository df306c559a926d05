//! Rows as CSV: one line per row, or per part of a row where it is broken down.

use replay::report::{Report, Row, Sums};

const COLUMNS: [&str; 22] = [
    "label",
    "strategy",
    "key",
    "basis",
    "cost_usd",
    "cost_at_least_usd",
    "ratio_to_recorded",
    "cost_per_turn_usd",
    "cost_per_30d_usd",
    "naive_usd",
    "turns",
    "prompt_tokens",
    "cache_read_tokens",
    "output_tokens",
    "cached_share",
    "switches",
    "misfits",
    "unknown_price",
    "unknown_usage",
    "at_least",
    "assumed_prefix",
    "as_reported",
];

/// The rows of a report. Unknown figures are empty.
pub(crate) fn rows(report: &Report) -> Result<Vec<u8>, csv::Error> {
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record(COLUMNS)?;
    for row in report.all_rows() {
        if row.by.is_empty() {
            out.write_record(record(row, "", &row.sums, true))?;
        }
        for group in &row.by {
            out.write_record(record(row, &group.key, &group.sums, false))?;
        }
    }
    out.into_inner().map_err(|error| error.into_error().into())
}

/// `whole` is true for a row itself: the ratio and the naive figure are of whole rows only.
fn record(row: &Row, key: &str, sums: &Sums, whole: bool) -> [String; COLUMNS.len()] {
    let known = |figure: &Option<String>| figure.clone().unwrap_or_default();
    let naive = row.naive.as_ref().filter(|_| whole);
    [
        row.label.clone(),
        row.strategy.clone(),
        key.to_owned(),
        row.basis.to_owned(),
        known(&sums.cost_usd),
        sums.cost_at_least_usd.clone(),
        known(&row.ratio_to_recorded.clone().filter(|_| whole)),
        known(&sums.cost_per_turn_usd),
        known(&sums.cost_per_30d_usd),
        naive.map_or_else(String::new, |naive| known(&naive.cost_usd)),
        sums.turns.to_string(),
        sums.prompt_tokens.to_string(),
        sums.cache_read_tokens.to_string(),
        sums.output_tokens.to_string(),
        sums.cached_share.clone(),
        sums.switches.to_string(),
        sums.misfits.to_string(),
        sums.unknown_price.to_string(),
        sums.unknown_usage.to_string(),
        sums.at_least.to_string(),
        sums.assumed_prefix.to_string(),
        sums.as_reported.to_string(),
    ]
}

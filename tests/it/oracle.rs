//! The sample week against the reference calculation's exact digits.

use events::head::SignedHead;
use events::memory::MemoryLog;
use replay::report::{Report, Request, book_rows, report};
use replay::sample::{self, SampleTurn};
use replay::strategy::CacheOptions;

use crate::build::folded;

pub(crate) fn ledger(turns: &[SampleTurn]) -> (MemoryLog, SignedHead) {
    let mut log = MemoryLog::new(sample::ledger_id());
    let head = sample::build(&mut log, turns, &sample::book().unwrap(), &mut || {}).unwrap();
    (log, head)
}

/// Reads a sample ledger back and reports on it.
pub(crate) fn report_on(log: &MemoryLog, head: &SignedHead) -> Report {
    let (folded, window) = folded(log, head).unwrap();
    let request = Request {
        policies: Vec::new(),
        strategies: book_rows(&folded.world.book).unwrap(),
        reference: "recorded:family".parse().unwrap(),
        cache: CacheOptions::default(),
        by: None,
        from: sample::WEEK_START,
        until: sample::WEEK_START + sample::WEEK,
    };
    report(&folded.head, folded.batches, &folded.world.book, &window, &request, &mut || {}).unwrap()
}

#[test]
fn every_row_of_the_oracle_to_the_last_digit() {
    let (log, head) = ledger(&sample::turns().unwrap());
    let report = report_on(&log, &head);
    assert_eq!(report.rows.len(), 18);
    let expected = include_str!("../golden/oracle.txt");
    for (row, line) in report.rows.iter().zip(expected.lines().skip(1)) {
        let [label, usd, switches, cached, _, misfits] =
            line.split(" | ").collect::<Vec<_>>().try_into().unwrap();
        let found = (
            row.label.as_str(),
            row.sums.cost_usd.as_deref(),
            row.sums.switches.to_string(),
            row.sums.cached_share.as_str(),
            row.sums.misfits.to_string(),
        );
        assert_eq!(found, (label, Some(usd), switches.to_owned(), cached, misfits.to_owned()));
    }
}

// The sum of a single model's naive figure and its three differences is its fair figure.
#[test]
fn naive_figures_are_explained_to_the_last_digit() {
    let (log, head) = ledger(&sample::turns().unwrap());
    let amount = |text: &str| text.parse::<events::money::Pico>().unwrap();
    let mut explained = 0;
    for row in report_on(&log, &head).rows {
        let Some(naive) = row.naive else { continue };
        let parts =
            [naive.cost_usd.unwrap(), naive.own_cache_usd, naive.cache_writes_usd, naive.tiers_usd];
        let sum: events::money::Pico = parts.iter().map(|part| amount(part)).sum();
        assert_eq!(sum, amount(&row.sums.cost_usd.unwrap()), "{}", row.label);
        explained += 1;
    }
    assert_eq!(explained, 11, "every single-model row has a naive figure");
}

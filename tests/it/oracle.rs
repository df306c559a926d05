//! The sample week against the reference calculation's exact digits.

use events::kind::KindTable;
use events::memory::MemoryLog;
use projections::gather::{Gather, Window};
use projections::world::Effect;
use replay::fold::{Checks, Folded, Signatures, fold};
use replay::report::{Report, Request, book_rows, report};
use replay::sample;
use replay::strategy::CacheOptions;

/// Builds a ledger of the turns, reads it back, and reports on it.
pub fn report_on(log: &MemoryLog, head: &events::head::SignedHead) -> Report {
    let (folded, window) = folded(log, head);
    let request = Request {
        strategies: book_rows(&folded.world.book).unwrap(),
        reference: "recorded:family".parse().unwrap(),
        cache: CacheOptions::default(),
        by: None,
        from: sample::WEEK_START,
        until: sample::WEEK_START + sample::WEEK,
    };
    report(&folded.head, folded.batches, &folded.world.book, &window, &request, &mut || {}).unwrap()
}

pub fn folded(log: &MemoryLog, head: &events::head::SignedHead) -> (Folded, Window) {
    let kinds = KindTable::current();
    let checks = Checks { kinds: &kinds, signatures: Signatures::Check, head: Some(head) };
    let mut gather = Gather::new(sample::ledger_id(), true);
    let folded = fold(log, checks, &mut |context, body, effect| {
        if effect == Effect::Applied {
            gather.tell(context, body);
        }
    })
    .unwrap();
    (folded, gather.finish(0, u64::MAX))
}

#[test]
fn every_row_of_the_oracle_to_the_last_digit() {
    let mut log = MemoryLog::new(sample::ledger_id());
    let turns = sample::turns().unwrap();
    let head = sample::build(&mut log, &turns, &sample::book().unwrap(), &mut || {}).unwrap();
    let report = report_on(&log, &head);
    let expected = include_str!("../golden/oracle.txt");
    let mut rows = report.rows.iter();
    for line in expected.lines().skip(1) {
        let [label, usd, switches, cached, _, misfits] =
            line.split(" | ").collect::<Vec<_>>().try_into().unwrap();
        let row = rows.next().unwrap();
        let found = (
            row.label.as_str(),
            row.sums.cost_usd.as_deref(),
            row.sums.switches.to_string(),
            row.sums.cached_share.as_str(),
            row.sums.misfits.to_string(),
        );
        assert_eq!(found, (label, Some(usd), switches.to_owned(), cached, misfits.to_owned()));
    }
    assert!(rows.next().is_none());
}

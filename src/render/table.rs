//! The report as an aligned table.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::time::Duration;

use anstyle::Style;
use comfy_table::{CellAlignment, Table, presets};
use events::cost::Cost;
use events::money::{Pico, group_thousands};
use replay::report::{PolicyRow, Report, Row, Sums};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
/// Most parts of a row that are printed; the rest is counted.
const PARTS_SHOWN: usize = 12;

/// Prints a report: what it is about, its rows, what they assume.
pub(crate) fn print(out: &mut impl Write, report: &Report, checked_in: Duration) -> io::Result<()> {
    headline(out, report, checked_in)?;
    writeln!(out)?;
    if report.window.turns == 0 {
        return writeln!(out, "No turns in this window: ferry import traffic FILE brings some in.");
    }
    print_table(out, &main_table(report))?;
    for row in report.all_rows().filter(|row| !row.by.is_empty()) {
        writeln!(out, "\n{BOLD}{}{BOLD:#}", row.label)?;
        print_table(out, &parts_table(row))?;
        if row.by.len() > PARTS_SHOWN {
            let rest = row.by.len() - PARTS_SHOWN;
            writeln!(out, "{DIM}and {rest} more: --json or --csv prints all{DIM:#}")?;
        }
    }
    policies(out, report)?;
    notes(out, report)
}

fn headline(out: &mut impl Write, report: &Report, checked_in: Duration) -> io::Result<()> {
    let window = &report.window;
    let ratio = window.prompt_tokens / window.output_tokens.max(1);
    let from = window.from.split('T').next().unwrap_or_default();
    let reference = report.recorded_cached_share.as_str();
    writeln!(
        out,
        "{BOLD}Agent traffic{BOLD:#}   {} turns · {} conversations · {} prompt tokens ({ratio}:1) · {} read from cache",
        count(window.turns),
        count(window.conversations),
        billions(window.prompt_tokens),
        percent(reference),
    )?;
    writeln!(
        out,
        "{BOLD}Window{BOLD:#}          {} from {from}, UTC · first to last turn {}",
        days(window.window_ms),
        days(window.span_ms),
    )?;
    writeln!(
        out,
        "{BOLD}Ledger{BOLD:#}          {} events in {} batches · every link and digest checked in {}.{} s",
        count(report.ledger.events),
        count(report.ledger.batches),
        checked_in.as_millis() / 1000,
        checked_in.as_millis() / 100 % 10,
    )?;
    writeln!(
        out,
        "{BOLD}Prices{BOLD:#}          {}, dated {} · all figures at list price: nobody was billed these",
        report.book.source, report.book.dated,
    )
}

fn print_table(out: &mut impl Write, table: &Table) -> io::Result<()> {
    for line in table.lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// A borderless table: the first column left, numbers right.
fn aligned(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if index > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// A figure that only some reports need.
type Extra = (&'static str, fn(&Sums) -> u64);

/// Columns that are shown only where a row needs them.
fn extras(report: &Report) -> Vec<Extra> {
    let all: [Extra; 5] = [
        ("at least", |sums| sums.at_least),
        ("no price", |sums| sums.unknown_price),
        ("no usage", |sums| sums.unknown_usage),
        ("weaker rule", |sums| sums.assumed_prefix),
        ("as reported", |sums| sums.as_reported),
    ];
    let needed = |(_, figure): &Extra| report.all_rows().any(|row| figure(&row.sums) > 0);
    all.into_iter().filter(needed).collect()
}

fn main_table(report: &Report) -> Table {
    let extras = extras(report);
    let has_naive = report.all_rows().any(|row| row.naive.is_some());
    let mut header = vec![
        "strategy",
        "at list price",
        "vs recorded",
        "per turn",
        "per 30 d",
        "cached",
        "switches",
        "do not fit",
    ];
    header.extend(extras.iter().map(|(title, _)| *title));
    if has_naive {
        header.push("naive");
    }
    let mut table = aligned(&header);
    for row in report.all_rows() {
        let mut cells = vec![row.label.clone()];
        if row.sums.turns == 0 {
            // Nothing was served: that costs nothing, and is no saving.
            cells.extend(
                std::iter::once("none served".to_owned()).chain((2..8).map(|_| String::new())),
            );
        } else {
            cells.push(dollars(row.sums.cost(), 2));
            cells.push(row.ratio_to_recorded.as_deref().map_or_else(unknown, ratio));
            cells.extend(rates(&row.sums));
        }
        cells.extend(extras.iter().map(|(_, figure)| count(figure(&row.sums))));
        if has_naive {
            cells.push(
                row.naive.as_ref().map_or_else(String::new, |naive| dollars(naive.cost(), 2)),
            );
        }
        table.add_row(cells);
    }
    table
}

/// Per turn, per 30 days, cached, switches, do not fit.
fn rates(sums: &Sums) -> [String; 5] {
    [
        sums.per_turn().map_or_else(unknown, |cost| format!("${}", cost.grouped(4))),
        sums.per_30_days().map_or_else(unknown, |cost| format!("${}", cost.grouped(0))),
        percent(&sums.cached_share),
        count(sums.switches),
        count(sums.misfits),
    ]
}

fn parts_table(row: &Row) -> Table {
    let mut table = aligned(&[
        "",
        "at list price",
        "turns",
        "per turn",
        "per 30 d",
        "cached",
        "switches",
        "do not fit",
    ]);
    let mut parts: Vec<_> = row.by.iter().collect();
    if parts.len() > PARTS_SHOWN {
        parts.sort_by_key(|part| std::cmp::Reverse(part.sums.cost().known));
        parts.truncate(PARTS_SHOWN);
    }
    for part in parts {
        let mut cells =
            vec![part.key.clone(), dollars(part.sums.cost(), 2), count(part.sums.turns)];
        cells.extend(rates(&part.sums));
        table.add_row(cells);
    }
    table
}

fn notes(out: &mut impl Write, report: &Report) -> io::Result<()> {
    writeln!(out, "\n{BOLD}Assumes{BOLD:#}")?;
    for assumption in &report.assumes {
        writeln!(out, "  {assumption}")?;
    }
    let any = |figure: fn(&Sums) -> u64| report.all_rows().any(|row| figure(&row.sums) > 0);
    let has_naive = report.all_rows().any(|row| row.naive.is_some());
    let notes: [(bool, &str, &[&str]); 6] = [
        (
            any(|sums| sums.misfits),
            "Do not fit",
            &[
                "Turns whose prompt + output go beyond the context in this book.",
                "Recorded turns did run: long-context rates are not in this book, so their bill is at least this.",
            ],
        ),
        (
            has_naive,
            "Naive",
            &[
                "The same tokens at the model's base rates, with the recorded row's cached tokens.",
                "The row itself adds its own cache, its cache-write rates and its long-prompt tiers; --json has each part.",
            ],
        ),
        (
            any(|sums| sums.at_least),
            "At least",
            &[
                "Turns whose 1-hour cache writes have no rate of their own: the 5-minute rate stands in for it.",
            ],
        ),
        (
            any(|sums| sums.unknown_price),
            "No price",
            &["Turns this book has no price for: figures with a \u{2265} are at least this."],
        ),
        (
            any(|sums| sums.unknown_usage),
            "No usage",
            &["Turns whose usage is unknown: figures with a \u{2265} are at least this."],
        ),
        (
            any(|sums| sums.assumed_prefix),
            "Weaker rule",
            &["Turns whose shared prefix is unknown: the shorter of two prompts stands in for it."],
        ),
    ];
    for (_, title, lines) in notes.iter().filter(|(needed, ..)| *needed) {
        writeln!(out, "{BOLD}{title}{BOLD:#}")?;
        for line in *lines {
            writeln!(out, "  {line}")?;
        }
    }
    let stand_ins = stand_ins(report);
    if !stand_ins.is_empty() {
        writeln!(out, "{BOLD}Stand-in rates{BOLD:#}")?;
    }
    for (stand_in, engines) in stand_ins {
        writeln!(out, "  {stand_in}   {}", engines.into_iter().collect::<Vec<_>>().join(", "))?;
    }
    Ok(())
}

/// Engines of a policy that are named.
const SERVED_BY_SHOWN: usize = 5;

/// What each policy decided.
fn policies(out: &mut impl Write, report: &Report) -> io::Result<()> {
    for PolicyRow { row, decided } in &report.policies {
        writeln!(out, "\n{BOLD}Policy {}{BOLD:#}", row.label)?;
        let (known, terms) = decided.terms_known;
        writeln!(
            out,
            "  {} turns decided over {} engines, {} refused; {} of {} terms of their scores are known ({})",
            count(decided.turns),
            count(decided.engines),
            count(decided.refused),
            count(known),
            count(terms),
            percent(&share(known, terms)),
        )?;
        if decided.unknown_prompts > 0 {
            writeln!(
                out,
                "  {} turns not decided: nobody knows how long their prompts were",
                count(decided.unknown_prompts)
            )?;
        }
        let of = |counts: &BTreeMap<&'static str, u64>| {
            let each = counts.iter().map(|(label, turns)| format!("{label} {}", count(*turns)));
            each.collect::<Vec<_>>().join(", ")
        };
        writeln!(out, "  tiers: {}", of(&decided.tiers))?;
        writeln!(out, "  chosen: {}", of(&decided.choices))?;
        let mut served: Vec<(&String, &u64)> = decided.served_by.iter().collect();
        served.sort_by_key(|(engine, turns)| (Reverse(**turns), *engine));
        for (engine, turns) in served.iter().take(SERVED_BY_SHOWN) {
            let part = percent(&share(**turns, decided.turns));
            writeln!(out, "  {:>7}  {engine}", part)?;
        }
        if served.len() > SERVED_BY_SHOWN {
            let rest = served.len() - SERVED_BY_SHOWN;
            writeln!(out, "{DIM}  and {rest} more engines: --json names them{DIM:#}")?;
        }
        writeln!(out, "  digest of its decisions {}", decided.digest)?;
    }
    Ok(())
}

/// `part / whole` with four decimals.
fn share(part: u64, whole: u64) -> String {
    let ten_thousandths = (u128::from(part) * 10_000).checked_div(whole.into()).unwrap_or(0);
    format!("{}.{:04}", ten_thousandths / 10_000, ten_thousandths % 10_000)
}

/// Cache rates that the input rate stands in for, with the engines concerned.
fn stand_ins(report: &Report) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut found: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for engine in report.all_rows().flat_map(|row| &row.engines) {
        let cached = engine.stand_ins.iter().filter(|stand_in| stand_in.ends_with(": input rate"));
        for stand_in in cached {
            found.entry(stand_in).or_default().extend(engine.engine.as_deref());
        }
    }
    found
}

fn dollars(cost: Cost, digits: u8) -> String {
    let at_least = if cost.incomplete { "≥ " } else { "" };
    if cost.incomplete && cost.known == Pico::ZERO {
        return unknown();
    }
    format!("{at_least}${}", cost.known.grouped(digits))
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn count(number: u64) -> String {
    group_thousands(number.into())
}

/// `6,037,000,000` as `6.04 B`.
fn billions(tokens: u64) -> String {
    let scaled = |unit: u64, suffix: &str| {
        let hundredths = (u128::from(tokens) * 100 + u128::from(unit) / 2) / u128::from(unit);
        format!("{}.{:02} {suffix}", hundredths / 100, hundredths % 100)
    };
    match tokens {
        1_000_000_000.. => scaled(1_000_000_000, "B"),
        1_000_000.. => scaled(1_000_000, "M"),
        _ => count(tokens),
    }
}

/// `0.9160` as `91.6 %`.
fn percent(share: &str) -> String {
    let ten_thousandths: u64 = share.replace('.', "").parse().unwrap_or(0);
    let tenths = (ten_thousandths + 5) / 10;
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// `5.8208` as `5.82x`.
fn ratio(text: &str) -> String {
    let rounded: Pico = text.parse().unwrap_or_default();
    format!("{}x", rounded.grouped(2))
}

fn days(span_ms: u64) -> String {
    let tenths = (span_ms + 4_320_000) / 8_640_000;
    if tenths.is_multiple_of(10) {
        format!("{} days", tenths / 10)
    } else {
        format!("{}.{} days", tenths / 10, tenths % 10)
    }
}

//! A decision with everything it looked at, as people read it.

use std::collections::BTreeMap;
use std::io::Write;

use anstyle::Style;
use comfy_table::{CellAlignment, Table, presets};
use replay::considered::{Considered, Engine, Exceeded, Figure, Term};

use super::turns::short;
use crate::failure::Failure;

const BOLD: Style = Style::new().bold();
/// Columns an indented list of names takes.
const LINE: usize = 110;

/// Prints a decision: what the turn was taken for, who could take it, who could not and why.
pub(super) fn print(out: &mut impl Write, considered: &Considered) -> Result<(), Failure> {
    headline(out, considered)?;
    writeln!(out, "\n{BOLD}Engines that can take it{BOLD:#}")?;
    if considered.viable().next().is_none() {
        writeln!(out, "  none")?;
    } else {
        viable(out, considered)?;
    }
    excluded(out, considered)?;
    // What was asked for stands at the top, which may be far up by now.
    match &considered.engine {
        Some(engine) => writeln!(out, "\n{BOLD}{engine}{BOLD:#} takes it")?,
        None => writeln!(out, "\nnobody takes it: {}", considered.outcome)?,
    }
    Ok(())
}

fn headline(out: &mut impl Write, considered: &Considered) -> Result<(), Failure> {
    let Considered { task, asked_tier, score, confidence, prompt_tokens, .. } = considered;
    let went = considered.engine.as_ref().zip(considered.choice);
    match went {
        Some((engine, choice)) => writeln!(out, "{BOLD}{engine}{BOLD:#} ({choice})")?,
        None => writeln!(out, "{BOLD}refused{BOLD:#}: {}", considered.outcome)?,
    }
    let new = considered.new_tokens.map_or_else(String::new, |new| format!(", {new} of it new"));
    writeln!(out, "  prompt       {prompt_tokens} tokens{new}")?;
    writeln!(out, "  taken for    {task}, {asked_tier}: score {score}, confidence {confidence}")?;
    writeln!(out, "  terms        {}", terms(&considered.terms))?;
    let unknown = unknown(&considered.terms);
    if !unknown.is_empty() {
        writeln!(out, "  not known    {unknown}")?;
    }
    let moved = match considered.moved.as_slice() {
        [] => String::new(),
        moved => format!(" ({})", moved.join(", ")),
    };
    writeln!(out, "  served at    {}{moved}", considered.tier)?;
    let ((work, size), (axis, rank_axis)) = (considered.work, considered.axes);
    writeln!(
        out,
        "  asks for     {work}, {size}, done well with a chance of {}; at least {} on {axis}, ranked on {rank_axis}",
        considered.threshold, considered.floor
    )?;
    if let Some(budget) = &considered.budget {
        let Exceeded { name, scope, limit_usd, spent_usd, reserved_usd, needed_usd, resets_at } =
            budget;
        let needed =
            needed_usd.as_ref().map_or_else(String::new, |needed| format!("; ${needed} needed"));
        let again = resets_at.as_ref().map_or_else(String::new, |at| format!("; room again {at}"));
        writeln!(
            out,
            "  budget       {name} ({scope}): ${spent_usd} spent and ${reserved_usd} set aside of ${limit_usd}{needed}{again}"
        )?;
    }
    lifted(out, considered)?;
    if let Some((drawn, below)) = considered.draw {
        writeln!(out, "  explores     below {below} of 2^32; drawn {drawn}")?;
    }
    Ok(())
}

/// Of no engine at all nothing has to be lifted.
fn lifted(out: &mut impl Write, considered: &Considered) -> Result<(), Failure> {
    if considered.engines.is_empty() {
        writeln!(out, "  engines      none lies behind the profile's upstreams or list")?;
        return Ok(());
    }
    let filters = ["price ceilings", "quality floors", "trust and latency"];
    let filters = &filters[..usize::from(considered.relaxed).min(filters.len())];
    let cool_offs = considered.despite_cool_off.then_some("cool-offs");
    let lifted: Vec<&str> = filters.iter().copied().chain(cool_offs).collect();
    if !lifted.is_empty() {
        writeln!(out, "  lifted       {}: nothing passed them", lifted.join(", "))?;
    }
    Ok(())
}

fn terms(terms: &[Term]) -> String {
    let signed = |adds: &str| {
        if adds.starts_with('-') { adds.to_owned() } else { format!("+{adds}") }
    };
    let counted = terms.iter().filter_map(|term| Some((term.name, term.adds.as_deref()?)));
    let counted = counted.filter(|(_, adds)| *adds != "0.00");
    let counted: Vec<String> =
        counted.map(|(name, adds)| format!("{} {name}", signed(adds))).collect();
    let all = std::iter::once("0.30 to begin with".to_owned()).chain(counted);
    all.collect::<Vec<_>>().join(", ")
}

fn unknown(terms: &[Term]) -> String {
    let unknown = terms.iter().filter(|term| term.adds.is_none()).map(|term| term.name);
    unknown.collect::<Vec<_>>().join(", ")
}

fn viable(out: &mut impl Write, considered: &Considered) -> Result<(), Failure> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([
        "", "engine", "chance", "quality", "cold", "expected", "horizon", "trust", "wait", "prior",
    ]);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if (2..9).contains(&index) || index == 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for engine in considered.viable() {
        table.add_row(row(engine));
    }
    for line in table.lines() {
        writeln!(out, "  {}", line.trim_end())?;
    }
    Ok(())
}

fn row(engine: &Engine) -> [String; 10] {
    let dollars = |figure: &Option<Figure>| figure.as_ref().map_or_else(String::new, amount);
    let prior = if engine.labels == ("0.000".to_owned(), "0.000".to_owned()) {
        engine.prior.clone()
    } else {
        let (verified, refuted) = &engine.labels;
        format!("{}, {verified} for it, {refuted} against", engine.prior)
    };
    [
        engine.place.map_or_else(String::new, |place| place.to_string()),
        engine.engine.clone(),
        engine.chance.clone(),
        engine.rank_quality.clone().unwrap_or_else(|| "unscored".to_owned()),
        amount(&engine.cold),
        dollars(&engine.expected),
        dollars(&engine.horizon),
        engine.trust.clone(),
        engine.wait_ms.map_or_else(String::new, |wait| format!("{wait} ms")),
        prior,
    ]
}

fn amount(figure: &Figure) -> String {
    match figure {
        Figure { usd, at_least: true } if usd.chars().all(|c| matches!(c, '0' | '.')) => {
            "unknown".to_owned()
        }
        Figure { usd, at_least: true } => format!("≥ ${}", six(usd)),
        Figure { usd, at_least: false } => format!("${}", six(usd)),
    }
}

/// Dollars to a ten-thousandth of a cent, rounded down: the whole figure stands in JSON.
fn six(usd: &str) -> &str {
    usd.find('.').and_then(|point| usd.get(..point + 7)).unwrap_or_else(|| short(usd))
}

/// The engines that cannot take it, by reason, each named.
fn excluded(out: &mut impl Write, considered: &Considered) -> Result<(), Failure> {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for engine in &considered.engines {
        if let Some(reason) = engine.excluded {
            by_reason.entry(reason).or_default().push(&engine.engine);
        }
    }
    if by_reason.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{BOLD}Excluded{BOLD:#}")?;
    for (reason, mut engines) in by_reason {
        engines.sort_unstable();
        let unscored = considered
            .engines
            .iter()
            .filter(|engine| engine.excluded == Some(reason) && engine.quality.is_none());
        let unscored = match (reason, unscored.count()) {
            (_, 0) => String::new(),
            ("below_quality_floor", count) => {
                format!(", {count} of them because nobody scores them")
            }
            _ => String::new(),
        };
        writeln!(out, "  {reason}: {}{unscored}", engines.len())?;
        let mut line = String::new();
        for engine in engines {
            if line.len() + engine.len() > LINE {
                writeln!(out, "    {}", line.trim_end())?;
                line.clear();
            }
            line.push_str(engine);
            line.push(' ');
        }
        writeln!(out, "    {}", line.trim_end())?;
    }
    Ok(())
}

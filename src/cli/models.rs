//! `ferry models`: which price a model's turns are priced with, and why.

use std::collections::BTreeMap;
use std::io::Write;

use clap::{Args, Subcommand};
use comfy_table::{CellAlignment, Table, presets};
use events::payload::Rates;
use events::rate::Rate;
use projections::book::{Book, EnginePrice};
use projections::projection::Projection as _;
use projections::world::World;
use serde::Serialize;

use super::home::HomeArg;
use super::prices::effective_book;
use super::print_json;
use crate::failure::Failure;

/// Show the prices that count: for the models of your turns, or any
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  ferry models
  ferry models list opus
  ferry models resolve claude-opus-4-5-20251101"
)]
pub(super) struct Models {
    #[command(flatten)]
    home: HomeArg,
    /// Print as JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the engines whose name holds a text
    List {
        /// The text; all engines without
        #[arg(default_value = "")]
        text: String,
    },
    /// Show each step from a recorded name to the entry that is used
    Resolve {
        /// The name
        name: String,
    },
}

/// A model and the price it leads to.
#[derive(Debug, Serialize)]
struct Shown<'b> {
    name: String,
    turns: Option<i64>,
    /// How the name led there.
    step: Option<&'static str>,
    #[serde(flatten)]
    price: Option<Terms<'b>>,
}

/// An engine's price as it is shown: dollars per token.
#[derive(Debug, Serialize)]
struct Terms<'b> {
    engine: &'b str,
    source: &'b str,
    /// Position of the price event, where the ledger holds it.
    position: Option<u64>,
    context: Option<u32>,
    #[serde(flatten)]
    rates: &'b Rates,
    tiers: &'b [events::payload::Tier],
    windows: &'b [events::payload::Window],
}

impl<'b> From<&'b EnginePrice> for Terms<'b> {
    fn from(price: &'b EnginePrice) -> Self {
        Self {
            engine: &price.engine,
            source: &price.source,
            position: price.seq,
            context: price.context,
            rates: &price.rates,
            tiers: &price.tiers,
            windows: &price.windows,
        }
    }
}

impl Models {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let home = self.home.home()?;
        let world = if home.has_ledger() || self.command.is_none() {
            Some(self.home.with_ledger(|ledger| Ok(ledger.world()?))?)
        } else {
            None
        };
        let empty = World::genesis();
        let book = effective_book(world.as_ref().unwrap_or(&empty))?;
        match (&self.command, &world) {
            (Some(Command::Resolve { name }), _) => self.resolve(&book, name),
            (Some(Command::List { text }), _) => {
                let engines = book.engines().filter(|price| price.engine.contains(text));
                let shown = engines.map(|price| Shown {
                    name: price.engine.clone(),
                    turns: None,
                    step: None,
                    price: Some(price.into()),
                });
                self.print(&shown.collect::<Vec<_>>())
            }
            (None, Some(world)) => self.print(&used(world, &book)),
            (None, None) => self.print(&[]),
        }
    }

    fn print(&self, models: &[Shown<'_>]) -> Result<(), Failure> {
        let mut out = anstream::stdout().lock();
        if self.json {
            return print_json(&mut out, &models);
        }
        if models.is_empty() {
            writeln!(
                out,
                "none; ferry import traffic brings turns, ferry import prices more prices"
            )?;
            return Ok(());
        }
        let with_turns = models.iter().any(|model| model.turns.is_some());
        let mut header = vec!["model"];
        if with_turns {
            header.extend(["turns", "priced as"]);
        }
        header.extend([
            "input",
            "cache read",
            "write 5m",
            "write 1h",
            "output",
            "context",
            "source",
        ]);
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_header(header);
        for model in models {
            let mut row = vec![model.name.clone()];
            if with_turns {
                row.push(model.turns.map_or_else(String::new, |turns| turns.to_string()));
                row.push(model.price.as_ref().map_or("unknown", |price| price.engine).to_owned());
            }
            if let Some(Terms { rates, context, source, .. }) = &model.price {
                let write_1h = rates.cache_write_1h;
                let shown =
                    [rates.input, rates.cache_read, rates.cache_write_5m, write_1h, rates.output];
                row.extend(shown.map(per_million));
                row.push(context.map_or_else(|| "-".to_owned(), |context| context.to_string()));
                row.push((*source).to_owned());
            }
            table.add_row(row);
        }
        let text = [0, table.column_count() - 1, if with_turns { 2 } else { 0 }];
        for (index, column) in table.column_iter_mut().enumerate() {
            if !text.contains(&index) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for line in table.lines() {
            writeln!(out, "{}", line.trim())?;
        }
        writeln!(out, "USD per 1,000,000 tokens, at list price; - is not stated")?;
        Ok(())
    }

    fn resolve(&self, book: &Book, name: &str) -> Result<(), Failure> {
        let steps = book.steps(name);
        let used = book.recorded(name).map(|(_, price)| price);
        let mut out = anstream::stdout().lock();
        if self.json {
            let steps: Vec<_> = steps
                .iter()
                .map(|(step, name, found)| {
                    serde_json::json!({ "step": step.label(), "name": name, "found": found.is_some() })
                })
                .collect();
            let price = used.map(Terms::from);
            let json = serde_json::json!({ "name": name, "steps": steps, "price": price });
            return print_json(&mut out, &json);
        }
        for (step, name, found) in &steps {
            let says = match found {
                Some(price) if used.is_some_and(|used| used.engine == price.engine) => "used",
                Some(_) => "there, not used",
                None => "no such entry",
            };
            writeln!(out, "{:<28} {name}: {says}", step.label())?;
        }
        match used {
            Some(price) => print_terms(&mut out, price),
            None => {
                writeln!(
                    out,
                    "Its price is unknown. A list may have it (ferry import prices), or say what it is: docs/prices.md"
                )?;
                Ok(())
            }
        }
    }
}

/// The engines that the ledger's turns are priced with, most used first.
pub(super) fn most_used(world: &World, book: &Book) -> Vec<String> {
    let mut engines = Vec::new();
    for Shown { price, .. } in used(world, book) {
        let engine = price.map(|price| price.engine.to_owned());
        engines.extend(engine.filter(|engine| !engines.contains(engine)));
    }
    engines
}

/// The models of the ledger's turns, most used first.
fn used<'b>(world: &World, book: &'b Book) -> Vec<Shown<'b>> {
    let mut turns: BTreeMap<&str, i64> = BTreeMap::new();
    for (_, models) in world.days.iter() {
        for (model, day) in models {
            *turns.entry(model).or_default() += day.turns;
        }
    }
    let mut turns: Vec<(&str, i64)> = turns.into_iter().collect();
    turns.sort_by_key(|(model, turns)| (std::cmp::Reverse(*turns), *model));
    let shown = turns.into_iter().map(|(model, turns)| {
        let found = book.recorded(model);
        Shown {
            name: model.to_owned(),
            turns: Some(turns),
            step: found.map(|(step, _)| step.label()),
            price: found.map(|(_, price)| price.into()),
        }
    });
    shown.collect()
}

/// An engine's price, rate by rate.
fn print_terms(out: &mut impl Write, price: &EnginePrice) -> Result<(), Failure> {
    let from = match price.seq {
        Some(position) => format!("{}, position {position} of the ledger", price.source),
        None if price.source == projections::book::POLICY_SOURCE => "policy".to_owned(),
        None => format!("{}, bundled", price.source),
    };
    writeln!(out, "\n{} ({from})", price.engine)?;
    if let Some(context) = price.context {
        writeln!(out, "  context {context}")?;
    }
    print_rates(out, "", &price.rates)?;
    for tier in &price.tiers {
        print_rates(out, &format!("from {} prompt tokens: ", tier.from_prompt), &tier.rates)?;
    }
    for window in &price.windows {
        let clock = |minute: u16| format!("{:02}:{:02}", minute / 60, minute % 60);
        let (from, to) = (clock(window.from_minute), clock(window.to_minute));
        print_rates(out, &format!("{from} to {to} UTC: "), &window.rates)?;
    }
    Ok(())
}

fn print_rates(out: &mut impl Write, when: &str, rates: &Rates) -> Result<(), Failure> {
    let tokens = [
        ("input", rates.input),
        ("cache read", rates.cache_read),
        ("cache write 5m", rates.cache_write_5m),
        ("cache write 1h", rates.cache_write_1h),
        ("output", rates.output),
        ("reasoning", rates.reasoning),
    ];
    let each = [("image", rates.image), ("request", rates.request)];
    let tokens = tokens.into_iter().filter_map(|(what, rate)| {
        rate.map(|rate| format!("{what} ${} a million", per_million(Some(rate))))
    });
    let each =
        each.into_iter().filter_map(|(what, rate)| rate.map(|rate| format!("{what} ${rate}")));
    let all: Vec<String> = tokens.chain(each).collect();
    Ok(writeln!(out, "  {when}{}", all.join(", "))?)
}

/// Dollars per million units, exactly.
pub(super) fn per_million(rate: Option<Rate>) -> String {
    let Some(rate) = rate else { return "-".to_owned() };
    let (mantissa, scale) = rate.decimal();
    let digits = mantissa.to_string();
    let scale = usize::from(scale);
    if scale <= 6 {
        return format!("{digits}{}", "0".repeat(if mantissa == 0 { 0 } else { 6 - scale }));
    }
    let after = scale - 6;
    let padded = format!("{digits:0>width$}", width = after + 1);
    let (whole, fraction) = padded.split_at(padded.len() - after);
    format!("{whole}.{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_shown_per_million_to_the_last_digit() {
        for text in ["5", "0.5", "6.25", "0.08333333333333334", "0", "120", "1000000"] {
            let rate = Rate::per_million(text).unwrap();
            assert_eq!(per_million(Some(rate)), text);
        }
        assert_eq!(per_million(None), "-");
    }
}

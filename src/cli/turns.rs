//! `ferry turns`: the newest turns, a line each.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::Write as _;

use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use events::ids::Subject;
use events::kind::KindTable;
use projections::book::Book;
use projections::gather::{Call, Window};
use replay::dates::instant;
use replay::reprice::{Options, price_each};
use replay::strategy::Strategy;
use serde::Serialize;

use super::conversation::Events;
use super::home::HomeArg;
use super::prices::effective_book;
use super::print_json;
use super::replay::{checks, read};
use super::when::When;
use crate::failure::Failure;
use crate::ledger::Ledger;
use crate::store::Home;

/// List the newest turns: when, from where, which model, how many tokens, at what cost
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ferry turns
  ferry turns -n 100 --since 2026-01-05
  ferry turns --conversation 5f0c
  ferry explain last")]
pub(super) struct Turns {
    #[command(flatten)]
    home: HomeArg,
    /// How many
    #[arg(short = 'n', long, default_value_t = 20)]
    count: usize,
    /// Only of the conversation whose id begins so
    #[arg(long, value_name = "ID")]
    conversation: Option<String>,
    /// Only from this day or instant on, UTC
    #[arg(long, value_name = "WHEN")]
    since: Option<When>,
    /// Only before this day or instant, UTC
    #[arg(long, value_name = "WHEN")]
    until: Option<When>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// A turn, as it is listed.
#[derive(Debug, Serialize)]
struct Listed {
    at: String,
    client: String,
    conversation: String,
    model: String,
    prompt_tokens: Option<u32>,
    cache_read_tokens: Option<u32>,
    output_tokens: Option<u32>,
    /// At list price; `None` when it is not known.
    cost_usd: Option<String>,
    cost_at_least_usd: String,
    turn: String,
}

impl Turns {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let home = self.home.home()?;
        let listed = self.home.with_ledger(|ledger| self.list(ledger, &home))?;
        self.print(&listed)
    }

    fn list(&self, ledger: &Ledger, home: &Home) -> Result<Vec<Listed>, Failure> {
        let (window, book, world) = everything(ledger, home, (self.since, self.until))?;
        let calls = newest(&window, self.conversation.as_deref(), self.count);
        let costs = costs(&window, &book, &calls)?;
        let view = ledger.view()?;
        let events = Events::new(&view, &world);
        let listed = calls.iter().map(|call| {
            let client =
                events.conversation(call.turn)?.map_or_else(String::new, |(_, client)| client);
            let cost = costs.get(&call.turn).copied().unwrap_or_default();
            Ok(Listed {
                at: instant(call.at),
                client,
                conversation: window.conversations[call.conversation as usize].clone(),
                model: window.models[call.engine as usize].clone(),
                prompt_tokens: call.prompt.get(),
                cache_read_tokens: call.cache_read.get(),
                output_tokens: call.output.get(),
                cost_usd: cost.amount().map(|amount| amount.to_string()),
                cost_at_least_usd: cost.known.to_string(),
                turn: call.turn.to_string(),
            })
        });
        listed.collect()
    }

    fn print(&self, listed: &[Listed]) -> Result<(), Failure> {
        let mut out = anstream::stdout().lock();
        if self.json {
            return print_json(&mut out, &listed);
        }
        if listed.is_empty() {
            writeln!(out, "no such turns; ferry import traffic brings some")?;
            return Ok(());
        }
        let header =
            ["at", "client", "conversation", "model", "prompt", "cached", "output", "cost", "turn"];
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_header(header);
        let count = |tokens: Option<u32>| tokens.map_or_else(|| "?".to_owned(), |n| n.to_string());
        for turn in listed {
            let cost = match &turn.cost_usd {
                Some(cost) => format!("${}", short(cost)),
                None if turn.cost_at_least_usd.trim_matches(['0', '.']).is_empty() => {
                    "unknown".to_owned()
                }
                None => format!("≥ ${}", short(&turn.cost_at_least_usd)),
            };
            table.add_row([
                turn.at.clone(),
                turn.client.clone(),
                turn.conversation.chars().take(12).collect(),
                turn.model.clone(),
                count(turn.prompt_tokens),
                count(turn.cache_read_tokens),
                count(turn.output_tokens),
                cost,
                turn.turn.clone(),
            ]);
        }
        for index in 4..8 {
            if let Some(column) = table.column_mut(index) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for line in table.lines() {
            writeln!(out, "{}", line.trim())?;
        }
        writeln!(out, "At list price: what was billed is not known. ferry explain TURN says why")?;
        Ok(())
    }
}

/// Dollars to a hundredth of a cent, rounded down: the whole figure stands in JSON.
pub(super) fn short(usd: &str) -> &str {
    match usd.find('.') {
        Some(point) => usd.get(..point + 5).unwrap_or(usd),
        None => usd,
    }
}

/// The turns of a ledger, the prices that count, and who may write what.
pub(super) fn everything(
    ledger: &Ledger,
    home: &Home,
    (since, until): (Option<When>, Option<When>),
) -> Result<(Window, Book, projections::keyring::Keyring), Failure> {
    let kinds = KindTable::current();
    // Asked first: what is vouched for is in the log already.
    let vouched = home.vouched_head()?;
    let (folded, gather) = read(&ledger.view()?, checks(&kinds, vouched.as_ref()))?;
    let book = effective_book(&folded.world)?;
    let since = since.map_or(0, When::millis);
    let window = gather.resolve().window(since, until.map_or(u64::MAX, When::millis));
    Ok((window, book, folded.world.keyring))
}

/// The newest turns, newest first; of a conversation whose id begins so, where one is named.
pub(super) fn newest(window: &Window, conversation: Option<&str>, count: usize) -> Vec<Call> {
    let is_in = |call: &&Call| {
        conversation
            .is_none_or(|start| window.conversations[call.conversation as usize].starts_with(start))
    };
    let mut calls: Vec<Call> =
        window.calls.iter().filter(|call| call.served).filter(is_in).copied().collect();
    calls.sort_unstable_by_key(|call| Reverse((call.at, call.turn)));
    calls.truncate(count);
    calls
}

/// What some turns cost as recorded, all their attempts together.
fn costs(
    window: &Window,
    book: &Book,
    calls: &[Call],
) -> Result<BTreeMap<Subject, events::cost::Cost>, Failure> {
    let mut costs: BTreeMap<Subject, _> =
        calls.iter().map(|call| (call.turn, events::cost::Cost::ZERO)).collect();
    price_each(window, book, &Strategy::recorded(), Options::default(), &mut |call, priced| {
        if let Some(cost) = costs.get_mut(&call.turn) {
            *cost += priced.totals.cost;
        }
    })
    .map_err(|error| Failure::usage("pricing turns", error))?;
    Ok(costs)
}

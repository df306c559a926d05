//! `ferry budget`: how the policy's budgets stand.

use std::io::Write as _;

use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use events::ids::Millis;
use events::money::Pico;
use events::payload::BudgetScope;
use projections::budgets::{Instance, Room};
use projections::policy::{BudgetRule, Rules};
use projections::routing::Routing;
use projections::routing::spend::{Account, UNNAMED};
use replay::dates::instant;
use serde::Serialize;

use super::home::HomeArg;
use super::policy::in_force;
use super::print_json;
use crate::failure::Failure;
use crate::store::clock;

/// Conversations and turns that are listed without `--all`: those that cost most.
const SHOWN: usize = 5;

/// Show how budgets stand: spent, set aside, free, and when there is room again
#[derive(Debug, Args)]
#[command(after_help = "Budgets are part of the policy (docs/budgets.md):

  [budgets.month]
  scope = \"all\"                # turn, conversation, client, project, engine, all
  period = \"month\"             # rolling-24h, day, week, month
  limit_usd = \"200\"
  zone = \"Europe/Berlin\"

  ferry policy set policy.toml

Examples:
  ferry budget
  ferry budget --all
  ferry budget --json")]
pub(super) struct BudgetCommand {
    #[command(flatten)]
    home: HomeArg,
    /// List every conversation and turn, not only those that cost most
    #[arg(long)]
    all: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// One budget for one of the things it counts money for.
#[derive(Debug, Serialize)]
struct Standing {
    budget: String,
    /// The profile that says so; `None`: the policy itself.
    profile: Option<String>,
    scope: &'static str,
    of: String,
    period: &'static str,
    zone: String,
    limit_usd: Pico,
    /// What is known of what was spent.
    spent_usd: Pico,
    /// True when more was spent than is known.
    spent_is_at_least: bool,
    reserved_usd: Pico,
    /// True when more is set aside than is known.
    reserved_is_at_least: bool,
    /// Below zero where more was spent than the limit.
    free_usd: Pico,
    /// Of a paced month: what may be spent today, and what of it is settled or set aside.
    today_allowance_usd: Option<Pico>,
    today_used_usd: Option<Pico>,
    resets_at: Option<String>,
}

impl BudgetCommand {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let (world, now) = self.home.with_ledger(|ledger| {
            // What is received is never before what the ledger has seen.
            Ok((ledger.world()?, clock()))
        })?;
        let rules = in_force(&world)?.rules;
        let (standings, left_out) = self.standings(&world.routing, &rules, now);
        let mut out = anstream::stdout().lock();
        if self.json {
            return print_json(&mut out, &standings);
        }
        if rules.every_budget().next().is_none() {
            writeln!(out, "no budgets; a policy may say some: ferry budget --help")?;
            return Ok(());
        }
        if standings.is_empty() {
            writeln!(out, "nothing has been spent that a budget counts")?;
            return Ok(());
        }
        print(&mut out, &standings)?;
        if left_out > 0 {
            writeln!(out, "and {left_out} more with more left: ferry budget --all")?;
        }
        Ok(())
    }

    /// How every budget stands, and how many standings were left out.
    fn standings(&self, routing: &Routing, rules: &Rules, now: Millis) -> (Vec<Standing>, usize) {
        let (mut standings, mut left_out) = (Vec::new(), 0);
        for (profile, rule) in rules.every_budget() {
            let mut rooms: Vec<(Room<'_>, String)> = instances(routing, rule.scope())
                .into_iter()
                .map(|(instance, of)| (Room::of(routing, rule, &instance, now), of))
                .collect();
            let is_many = matches!(rule.scope(), BudgetScope::Turn | BudgetScope::Conversation);
            if is_many {
                rooms.sort_by_key(|(room, _)| room.free());
                let shown = if self.all { usize::MAX } else { SHOWN };
                left_out += rooms.len().saturating_sub(shown);
                rooms.truncate(shown);
            }
            standings.extend(rooms.iter().map(|(room, of)| standing(profile, rule, room, of)));
        }
        (standings, left_out)
    }
}

/// What a budget of a scope counts money for, each with its name.
fn instances(routing: &Routing, scope: BudgetScope) -> Vec<(Instance, String)> {
    let spend = &routing.spend;
    let of_accounts = |accounts: Vec<Account>| {
        let named = accounts.into_iter().map(|account| {
            let name = match &account {
                Account::All => "all".to_owned(),
                Account::Client(name) | Account::Project(name) | Account::Engine(name) => {
                    name.clone()
                }
            };
            (Instance::Account(account), name)
        });
        named.collect()
    };
    let with_open = |kind: fn(String) -> Account, open: Vec<Account>| {
        let mut accounts: Vec<Account> = spend.names(kind).cloned().chain(open).collect();
        accounts.sort();
        accounts.dedup();
        of_accounts(accounts)
    };
    let open = |which: usize| {
        routing.flights.iter().map(move |(_, flight)| flight.accounts[which].clone()).collect()
    };
    match scope {
        BudgetScope::All => of_accounts(vec![Account::All]),
        BudgetScope::Client => with_open(Account::Client, open(0)),
        BudgetScope::Project => with_open(Account::Project, open(1)),
        BudgetScope::Engine => {
            let open = routing.flights.iter().flat_map(|(_, flight)| &flight.open);
            with_open(
                Account::Engine,
                open.map(|open| Account::Engine(open.engine.clone())).collect(),
            )
        }
        BudgetScope::Conversation => {
            let open = routing.flights.iter().map(|(_, flight)| flight.arrival.lane.0);
            let mut all: Vec<_> = spend.conversations().map(|(id, _)| *id).chain(open).collect();
            all.sort_unstable();
            all.dedup();
            all.into_iter().map(|id| (Instance::Conversation(id), id.to_string())).collect()
        }
        BudgetScope::Turn => {
            let turns = routing.flights.iter();
            turns.map(|(turn, _)| (Instance::Turn(*turn), turn.to_string())).collect()
        }
    }
}

fn standing(profile: Option<&str>, rule: &BudgetRule, room: &Room<'_>, of: &str) -> Standing {
    Standing {
        budget: rule.name.clone(),
        profile: profile.map(str::to_owned),
        scope: rule.budget.scope.label(),
        of: of.to_owned(),
        period: rule.budget.period.label(),
        zone: rule.budget.zone.clone(),
        limit_usd: rule.budget.limit,
        spent_usd: room.spent.known,
        spent_is_at_least: room.spent.incomplete,
        reserved_usd: room.reserved.known,
        reserved_is_at_least: room.reserved.incomplete,
        free_usd: room.free(),
        today_allowance_usd: room.today.map(|today| today.allowance),
        today_used_usd: room.today.map(|today| today.used),
        resets_at: room.resets_at().map(instant),
    }
}

fn print(out: &mut impl std::io::Write, standings: &[Standing]) -> Result<(), Failure> {
    let header =
        ["budget", "counts", "period", "limit", "spent", "set aside", "free", "room again at"];
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    for standing in standings {
        table.add_row(row(standing));
    }
    for index in 3..7 {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in table.lines() {
        writeln!(out, "{}", line.trim())?;
    }
    for standing in standings {
        let today = standing.today_allowance_usd.zip(standing.today_used_usd);
        if let Some((allowance, used)) = today {
            writeln!(
                out,
                "{}, {}: ${} may be spent today, ${} of it is spent or set aside",
                standing.budget,
                standing.of,
                allowance.grouped(4),
                used.grouped(4),
            )?;
        }
    }
    Ok(())
}

fn row(standing: &Standing) -> [String; 8] {
    let budget = match &standing.profile {
        Some(profile) => format!("{} ({profile})", standing.budget),
        None => standing.budget.clone(),
    };
    let counts = match standing.scope {
        "all" => "everything".to_owned(),
        scope if standing.of == UNNAMED => format!("{scope}s without a name"),
        scope => format!("{scope} {}", standing.of),
    };
    let period = match standing.period {
        "lifetime" => String::new(),
        "rolling-24h" => "24 hours".to_owned(),
        period => format!("{period}, {}", standing.zone),
    };
    let cost = |known: Pico, incomplete: bool| {
        let mark = if incomplete { "≥ " } else { "" };
        format!("{mark}${}", known.grouped(4))
    };
    let free = if standing.free_usd < Pico::ZERO {
        format!("over by ${}", (-standing.free_usd).grouped(4))
    } else {
        let mark =
            if standing.spent_is_at_least || standing.reserved_is_at_least { "≤ " } else { "" };
        format!("{mark}${}", standing.free_usd.grouped(4))
    };
    [
        budget,
        counts,
        period,
        format!("${}", standing.limit_usd.grouped(4)),
        cost(standing.spent_usd, standing.spent_is_at_least),
        cost(standing.reserved_usd, standing.reserved_is_at_least),
        free,
        standing.resets_at.clone().unwrap_or_default(),
    ]
}

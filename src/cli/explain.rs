//! `ferry explain`: why one turn cost what it cost.

use std::collections::BTreeSet;
use std::io::Write;

use clap::Args;
use events::bytes::Bytes16;
use events::ids::{Seq, Subject};
use events::kind::KindTable;
use events::log::ReadLog as _;
use events::money::Pico;
use events::payload::Charge;
use projections::world::World;
use replay::decider::Decider;
use replay::effective_book::Subscription;
use replay::explain::{Attempt, CacheMet, Explanation, Other, explain};
use replay::redecide::{Remade, remake};
use replay::report::Labelled;
use replay::strategy::Strategy;
use serde::Serialize;

use super::conversation::{Events, ShownEvent};
use super::home::HomeArg;
use super::models::per_million;
use super::policy::in_force;
use super::prices::{bundled_lists, effective_book};
use super::redecide::snapshot_at;
use super::turns::{everything, newest, short};
use super::{considered, print_json};
use crate::failure::Failure;
use crate::ledger::{Ledger, LedgerView};
use crate::store::Home;

/// Other models a turn is priced with: the ledger's most used.
const OTHER_MODELS: usize = 5;
/// Events that are folded without being asked, to make a decision again.
const REMADE_OVER_MAX: u64 = 200_000;
/// Turns that are suggested for an id nobody knows.
const SUGGESTED: usize = 3;

/// Explain a turn: its events, the cache it met, each part of its cost, what others would have paid
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ferry explain last
  ferry explain last --conversation 5f0c
  ferry explain 0b5e53d2a8a15f5b9f0c7f8d7c1f2a3b
  ferry explain 0b5e --strategy all:anthropic/claude-haiku-4-5 --json")]
pub(super) struct Explain {
    #[command(flatten)]
    home: HomeArg,
    /// The turn's id, or how it begins; or `last`
    turn: String,
    /// With `last`: of the conversation whose id begins so
    #[arg(long, value_name = "ID")]
    conversation: Option<String>,
    /// Also price this strategy; may be given several times
    #[arg(long, value_name = "STRATEGY")]
    strategy: Vec<Strategy>,
    /// List every engine that was looked at, however far back the decision lies
    #[arg(long)]
    engines: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Explained {
    #[serde(flatten)]
    explanation: Explanation,
    client: String,
    /// Nobody was billed these figures, as far as the ledger knows.
    basis: &'static str,
    /// What covers the served engine, where policy says so.
    subscription: Option<Subscription>,
    /// What was decided for it, as people read it; programs find it among the events.
    #[serde(skip)]
    decisions: Vec<(Seq, Vec<String>)>,
    /// The same made again from the world as it was, with every engine that was looked at.
    remade: Vec<Remade>,
    /// True when that would have taken a while, and nobody asked for it.
    #[serde(skip)]
    is_far: bool,
    /// What its attempts were charged with, where they were dispatched here.
    charges: Vec<Charged>,
    events: Vec<ShownEvent>,
}

/// What an attempt was charged with.
#[derive(Debug, Serialize)]
struct Charged {
    attempt: u16,
    /// Reported by the provider, priced by its usage, estimated, or void.
    basis: &'static str,
    amount_usd: Pico,
    /// True when a part of it is not known.
    at_least: bool,
}

impl Charged {
    fn new(attempt: u16, charge: Charge) -> Self {
        let Charge { basis, cost } = charge;
        let (amount_usd, at_least) = (cost.known, cost.incomplete);
        Self { attempt, basis: basis.label(), amount_usd, at_least }
    }
}

impl Explain {
    pub(super) fn run(&self) -> Result<(), Failure> {
        let home = self.home.home()?;
        let explained = self.home.with_ledger(|ledger| self.explain(ledger, &home))?;
        let mut out = anstream::stdout().lock();
        if self.json {
            return print_json(&mut out, &explained);
        }
        print(&mut out, &explained)
    }

    fn explain(&self, ledger: &Ledger, home: &Home) -> Result<Explained, Failure> {
        let turn = match Bytes16::from_hex(&self.turn) {
            Some(turn) => turn,
            None => self.look_for(ledger, home)?,
        };
        let world = ledger.world()?;
        let view = ledger.view()?;
        let events = Events::new(&view, &world.keyring);
        let Some((conversation, client)) = events.conversation(turn)? else {
            return Err(self.unknown(ledger, home)?);
        };
        let window = events.window(conversation)?;
        let book = effective_book(&world)?;
        let others = self.others(&world, &book)?;
        let explanation = explain(&window, turn, &book, &others)
            .map_err(|error| Failure::usage("pricing strategies", error))?;
        let Some(explanation) = explanation else { return Err(self.unknown(ledger, home)?) };
        let (about, charges) = (events.about(turn)?, events.charges(turn)?);
        let served = explanation.attempts.last().and_then(|attempt| attempt.engine.as_ref());
        let policy = in_force(&world)?.prices;
        let subscription = served.and_then(|used| policy.subscription(&used.engine)).cloned();
        let charges = charges.into_iter().map(|(attempt, charge)| Charged::new(attempt, charge));
        let charges = charges.collect();
        let basis = "list_price";
        let decisions = events.decisions(turn)?;
        let events = about;
        let (remade, is_far) = self.remake(&view, home, &decisions)?;
        Ok(Explained {
            explanation,
            client,
            basis,
            subscription,
            decisions,
            remade,
            is_far,
            charges,
            events,
        })
    }

    /// Makes decisions again, unless too many events lie between them and the snapshot before.
    fn remake(
        &self,
        view: &LedgerView<'_>,
        home: &Home,
        decisions: &[(Seq, Vec<String>)],
    ) -> Result<(Vec<Remade>, bool), Failure> {
        let positions: BTreeSet<Seq> = decisions.iter().map(|(position, _)| *position).collect();
        let (Some(first), Some(last)) = (positions.first(), positions.last()) else {
            return Ok((Vec::new(), false));
        };
        let snapshot = snapshot_at(view, home, *first)?;
        let from = snapshot.as_ref().map_or(0, |(_, head)| head.next);
        if last - from > REMADE_OVER_MAX && !self.engines {
            return Ok((Vec::new(), true));
        }
        let decider = Decider::new(view.head().ledger, bundled_lists()?);
        Ok((remake(view, &KindTable::current(), decider, snapshot, &positions)?, false))
    }

    /// Strategies the turn is compared with: without a cache, the ledger's most used models, and what was asked for.
    fn others(
        &self,
        world: &World,
        book: &projections::book::Book,
    ) -> Result<Vec<Labelled>, Failure> {
        let used = super::models::most_used(world, book).into_iter().take(OTHER_MODELS);
        let texts = std::iter::once("recorded@cache=off".to_owned())
            .chain(used.map(|engine| format!("all:{engine}")));
        let parsed = texts.map(|text| {
            let strategy: Result<Strategy, _> = text.parse();
            strategy.map(Labelled::plain).map_err(|error| Failure::usage(text, error))
        });
        let asked = self.strategy.iter().cloned().map(|strategy| Ok(Labelled::plain(strategy)));
        parsed.chain(asked).collect()
    }

    /// The newest turn, or the one whose id begins as was given.
    fn look_for(&self, ledger: &Ledger, home: &Home) -> Result<Subject, Failure> {
        let (window, ..) = everything(ledger, home, (None, None))?;
        if self.turn == "last" {
            let newest = newest(&window, self.conversation.as_deref(), 1);
            let problem = "there is no turn; ferry turns lists them";
            return newest
                .first()
                .map(|call| call.turn)
                .ok_or_else(|| Failure::usage("explaining the last turn", problem));
        }
        let mut found: Vec<Subject> = window.calls.iter().map(|call| call.turn).collect();
        found.sort_unstable();
        found.dedup();
        let wanted = self.turn.to_ascii_lowercase();
        let like: Vec<&Subject> =
            found.iter().filter(|turn| turn.to_string().starts_with(&wanted)).collect();
        match like.as_slice() {
            [turn] => Ok(**turn),
            [] => Err(self.not_found(&found)),
            [..] => {
                let some = like.iter().take(SUGGESTED).map(ToString::to_string).collect::<Vec<_>>();
                let problem = format!("{} turns begin so: {}, ...", like.len(), some.join(", "));
                Err(Failure::usage(format!("explaining {}", self.turn), problem))
            }
        }
    }

    fn unknown(&self, ledger: &Ledger, home: &Home) -> Result<Failure, Failure> {
        let (window, ..) = everything(ledger, home, (None, None))?;
        let turns: Vec<Subject> = window.calls.iter().map(|call| call.turn).collect();
        Ok(self.not_found(&turns))
    }

    /// Nothing is known of the turn: those whose ids are most alike are suggested.
    fn not_found(&self, turns: &[Subject]) -> Failure {
        let wanted = self.turn.to_ascii_lowercase();
        let mut near: Vec<(usize, String)> = turns
            .iter()
            .map(|turn| {
                let id = turn.to_string();
                let same = id.bytes().zip(wanted.bytes()).take_while(|(a, b)| a == b).count();
                (usize::MAX - same, id)
            })
            .collect();
        near.sort();
        near.dedup();
        let near: Vec<String> = near.into_iter().take(SUGGESTED).map(|(_, id)| id).collect();
        let hint = match near.as_slice() {
            [] => "there are no turns; ferry import traffic brings them".to_owned(),
            near => format!(
                "no turn has this id; near ones are {}; ferry turns lists the newest",
                near.join(", ")
            ),
        };
        Failure::usage(format!("explaining {}", self.turn), hint)
    }
}

fn print(out: &mut impl Write, explained: &Explained) -> Result<(), Failure> {
    let Explanation { turn, at, conversation, place, attempts, cache, others, .. } =
        &explained.explanation;
    writeln!(out, "Turn {turn}")?;
    writeln!(
        out,
        "  {at}, {} · conversation {conversation}, turn {} of {} in its lane",
        explained.client, place[0], place[1]
    )?;
    for attempt in attempts {
        print_attempt(out, attempt, attempts.len() > 1)?;
    }
    match &explained.subscription {
        Some(Subscription { monthly_usd, quota }) => {
            let quota = quota.as_ref().map_or_else(String::new, |quota| format!(", {quota}"));
            writeln!(
                out,
                "  at list price; a subscription of ${monthly_usd} a month covers it{quota}"
            )?;
        }
        None if explained.charges.is_empty() => {
            writeln!(out, "  at list price: what was billed is not known")?;
        }
        None => {}
    }
    for Charged { attempt, basis, amount_usd, at_least } in &explained.charges {
        let mark = if *at_least { "≥ " } else { "" };
        writeln!(out, "  attempt {attempt} was charged {mark}${amount_usd} ({basis})")?;
    }
    print_decisions(out, explained)?;
    print_cache(out, cache)?;
    print_others(out, others, attempts.last())?;
    print_events(out, &explained.events)
}

fn print_decisions(out: &mut impl Write, explained: &Explained) -> Result<(), Failure> {
    if !explained.decisions.is_empty() {
        writeln!(out, "\nDecided")?;
    }
    for (position, lines) in &explained.decisions {
        for (index, line) in lines.iter().enumerate() {
            let indent = if index == 0 { "  " } else { "    " };
            writeln!(out, "{indent}{line}")?;
        }
        match explained.remade.iter().find(|remade| remade.position == *position) {
            Some(remade) => {
                let equal = if remade.is_equal { "byte for byte" } else { "and it differs" };
                writeln!(out, "    made again, {equal}:\n")?;
                considered::print(out, &remade.considered)?;
            }
            None if explained.is_far => {
                writeln!(out, "    every engine that was looked at: ferry explain --engines")?;
            }
            None => writeln!(
                out,
                "    made by another version or under other lists: it is not made again"
            )?,
        }
    }
    Ok(())
}

fn print_attempt(
    out: &mut impl Write,
    attempt: &Attempt,
    is_one_of_several: bool,
) -> Result<(), Failure> {
    let which =
        if is_one_of_several { format!("Attempt {}: ", attempt.attempt) } else { String::new() };
    writeln!(out, "\n{which}{}", attempt.model)?;
    match &attempt.engine {
        Some(used) => {
            let from = match used.position {
                Some(position) => format!("{}, position {position}", used.source),
                None => used.source.clone(),
            };
            writeln!(out, "  priced as {} ({}; {from})", used.engine, used.step)?;
        }
        None => writeln!(out, "  no price is known: ferry models resolve {}", attempt.model)?,
    }
    if let Some(from) = attempt.tier_from {
        writeln!(out, "  long-context rates: the prompt has at least {from} tokens")?;
    }
    for part in &attempt.parts {
        let units = part.units.map_or_else(|| "?".to_owned(), |units| units.to_string());
        let rate = part.rate_usd.as_ref().map_or_else(
            || "unknown rate".to_owned(),
            |rate| match rate.parse() {
                Ok(rate) => format!("${} a million", per_million(Some(rate))),
                Err(_) => format!("${rate}"),
            },
        );
        let amount = part
            .amount_usd
            .as_ref()
            .map_or_else(|| "unknown".to_owned(), |amount| format!("${amount}"));
        let basis =
            if part.basis == "stated" { String::new() } else { format!("  ({})", part.basis) };
        writeln!(out, "  {:<22} {units:>11} x {rate:<22} = {amount:>18}{basis}", part.part)?;
    }
    let prompt = attempt.prompt_tokens.map_or_else(|| "?".to_owned(), |prompt| prompt.to_string());
    let cost = match &attempt.cost_usd {
        Some(cost) => format!("${cost}"),
        None => format!("≥ ${}", attempt.cost_at_least_usd),
    };
    writeln!(out, "  {:<22} {prompt:>11} prompt tokens{:<11} = {cost:>18}", "sum", "")?;
    if attempt.beyond_context {
        writeln!(
            out,
            "  beyond the context in this book: it did run; long-context rates may be missing, so this is at least"
        )?;
    }
    if !attempt.as_reported {
        writeln!(
            out,
            "  the provider did not say how the prompt splits: this is the cache model's split"
        )?;
    }
    Ok(())
}

fn print_cache(out: &mut impl Write, cache: &CacheMet) -> Result<(), Failure> {
    writeln!(out, "\nCache")?;
    match &cache.previous {
        None => writeln!(out, "  nothing: the first turn of its conversation on this engine")?,
        Some(previous) => {
            let state = match (previous.alive_5m, previous.alive_1h) {
                (true, _) => "an entry of 5 minutes was alive",
                (false, true) => "an entry of 5 minutes had run out, one of 1 hour was alive",
                (false, false) => "every entry had run out",
            };
            let prompt = previous.prompt_tokens.map_or_else(|| "?".to_owned(), |n| n.to_string());
            writeln!(
                out,
                "  turn {} was {} before, with {prompt} prompt tokens: {state}",
                previous.turn,
                duration(previous.age_ms),
            )?;
        }
    }
    if let Some(prefix) = cache.prefix_tokens {
        writeln!(out, "  {prefix} tokens of the prompt had been sent before")?;
    }
    let said = |tokens: Option<u32>| tokens.map_or_else(|| "unknown".to_owned(), |n| n.to_string());
    let [five, hour] = cache.reported_writes.map(said);
    writeln!(
        out,
        "  read: {} reported, {} by the cache model; written: {five} for 5 minutes, {hour} for 1 hour",
        said(cache.reported_reads),
        cache.model_reads,
    )?;
    Ok(())
}

fn print_others(
    out: &mut impl Write,
    others: &[Other],
    served: Option<&Attempt>,
) -> Result<(), Failure> {
    writeln!(out, "\nWhat others would have paid for this turn, in this conversation")?;
    let own = served.and_then(|attempt| attempt.cost.amount());
    for other in others {
        let cost = other
            .cost_usd
            .as_ref()
            .map_or_else(|| "unknown".to_owned(), |cost| format!("${}", short(cost)));
        let against = match (&other.cost_usd, own) {
            (Some(cost), Some(own)) if cost.as_str() == own.to_string() => "  the same",
            _ => "",
        };
        writeln!(
            out,
            "  {:<48} {cost:>12}  {:>9} read from cache{against}",
            other.strategy, other.cache_read_tokens
        )?;
    }
    writeln!(
        out,
        "  Another model would have answered otherwise; its tokens are taken to be as many."
    )?;
    Ok(())
}

fn print_events(out: &mut impl Write, events: &[ShownEvent]) -> Result<(), Failure> {
    writeln!(out, "\nEvents")?;
    for event in events {
        let ShownEvent { position, kind, at, author, batch, signature, counts, .. } = event;
        let counts = if *counts { "" } else { ", without effect" };
        writeln!(
            out,
            "  {position:>10}  {at:<24}  {kind:<12} author {} batch {} signature {signature}{counts}",
            &author[..8],
            &batch[..8],
        )?;
    }
    Ok(())
}

/// A duration as people say it.
fn duration(ms: u64) -> String {
    match ms / 1_000 {
        seconds if seconds < 120 => format!("{seconds} s"),
        seconds if seconds < 7_200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}

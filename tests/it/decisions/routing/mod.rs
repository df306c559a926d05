//! The worked values and cases of choosing: filters by name, widening, rescue, holds, cool-offs, exploration, objectives.

use events::ids::Millis;
use events::payload::{
    Capabilities, Choice, FaultClass, Features, Keywords, Price, Quality, Rates, Task, TurnKind,
    TurnTier, Verdict,
};
use projections::policy::{
    Explore, ExploreWhen, Objective, Permille, Policy, Routing, TaskRules, ToolLoops,
};
use replay::decider::Plan;

use super::driver::{Driver, End, Wants, decider, engine, listed, rates};

mod experience;
mod filters;
mod objectives;
mod tiers;

/// 2026-03-10 12:00 UTC.
const NOON: Millis = 1_773_144_000_000;
const CODE: TurnKind = TurnKind { task: Task::Coding, tier: TurnTier::Simple };

fn cheap() -> Rates {
    rates("0.1", "0.4", Some("0.01"), None)
}

fn dear() -> Rates {
    rates("5", "25", Some("0.5"), Some("6.25"))
}

/// Engines that policy names, and nothing but what it says of them.
fn policy(engines: &[&str]) -> Policy {
    let engines = engines.iter().map(|engine| (*engine).to_owned()).collect();
    Policy { routing: Routing { engines, ..Routing::default() }, ..Policy::default() }
}

fn coding(tier: TurnTier) -> Wants {
    let features = Features { tools: Some(3), images: Some(0), ..Features::default() };
    Wants { kind: Some(TurnKind { task: Task::Coding, tier }), features, ..Wants::default() }
}

fn scored(price: Price<'static>, score: u16) -> Price<'static> {
    let quality = Quality { coding: Some(score), intelligence: Some(score), agentic: Some(score) };
    Price { quality, ..price }
}

fn tier_of(plan: &Plan) -> TurnTier {
    match plan {
        Plan::Dispatch { tier, .. } => *tier,
        Plan::Refused { .. } => panic!("{plan:?}"),
    }
}

fn choice_of(plan: &Plan) -> Choice {
    match plan {
        Plan::Dispatch { choice, .. } => *choice,
        Plan::Refused { .. } => panic!("{plan:?}"),
    }
}

/// A turn that is served.
fn served(driver: &mut Driver, wants: Wants) -> Plan {
    let (turn, plan) = driver.ask(wants);
    driver.end(&turn, End::Used { prompt: wants.prompt, output: 100, read: wants.prompt / 2 });
    driver.close(&turn);
    driver.now += 10_000;
    plan
}

/// The lane of what is asked for by default.
fn driver_lane() -> (events::ids::Subject, Option<events::ids::Subject>) {
    (events::bytes::Bytes([1; 16]), None)
}

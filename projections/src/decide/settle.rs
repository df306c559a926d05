//! What an attempt is charged with once it has ended, and the marks that its charge passes.

use events::cost::Cost;
use events::money::Pico;
use events::payload::{BudgetCrossed, Charge, ChargeBasis, ReserveBasis};
use events::usage::Usage;

use super::Inputs;
use crate::budgets::{Instance, Room};
use crate::cost::{PartKind, Quantities};
use crate::routing::flights::{Flight, Open, Stake};
use crate::tariffs::Tariffs;

/// How an attempt ended, as far as money is concerned.
#[derive(Clone, Copy, Debug)]
pub struct AttemptEnd<'e> {
    /// The engine that served it.
    pub engine: &'e str,
    /// What it used.
    pub usage: Usage,
    /// What the provider says it cost.
    pub reported: Option<Pico>,
    /// Whether a byte of it reached the engine; unless that is impossible, it did.
    pub reached_engine: bool,
}

/// What an attempt is charged with: nothing where no byte reached the engine; else what the provider says; else its
/// usage at the prices that held when it was dispatched; else what was set aside, as an estimate. The tariffs are those
/// of the engine that the end says something of.
#[must_use]
pub fn charge(stake: &Stake<'_>, tariffs: Option<&Tariffs>, end: &AttemptEnd<'_>) -> Charge {
    let known = |basis, cost| Charge { basis, cost };
    if !end.reached_engine {
        return known(ChargeBasis::Void, Cost::ZERO);
    }
    if let Some(reported) = end.reported.filter(|reported| *reported >= Pico::ZERO) {
        return known(ChargeBasis::Reported, Cost::exactly(reported));
    }
    if stake.basis == ReserveBasis::Local {
        return known(ChargeBasis::Priced, Cost::ZERO);
    }
    let priced = tariffs.and_then(|tariffs| priced(tariffs, stake, end));
    priced.map_or_else(|| stake.estimated(), |cost| known(ChargeBasis::Priced, cost))
}

/// Usage at its price; `None` where either is not known. A rate that only states "at least" leaves its mark.
fn priced(tariffs: &Tariffs, stake: &Stake<'_>, end: &AttemptEnd<'_>) -> Option<Cost> {
    if end.usage.prompt.is_none() || end.usage.output.is_none() {
        return None;
    }
    let quantities = Quantities::reported(&end.usage);
    let bill = tariffs.at(stake.dispatched, quantities.prompt()).bill(&quantities);
    // Images nobody counted are no reason to know nothing.
    let is_known =
        |part: &crate::cost::Part| part.amount.is_some() || part.kind == PartKind::Images;
    bill.parts.iter().all(is_known).then_some(bill.cost)
}

/// The marks of budgets that a charge passes. Told before the charge is booked.
#[must_use]
pub fn crossings<'d>(
    inputs: Inputs<'d>,
    flight: &Flight,
    open: &Open,
    charge: Charge,
) -> Vec<BudgetCrossed<'d>> {
    let routing = &inputs.world.routing;
    let mut crossed = Vec::new();
    for rule in inputs.rules.budgets(&flight.asked.profile) {
        let instance = Instance::of(rule.scope(), inputs.turn, flight, &open.engine);
        let mut room = Room::of(routing, rule, &instance, inputs.now);
        // What was dispatched before the period began is booked before it.
        if !room.span.holds(open.dispatched) {
            continue;
        }
        let marks = room.crosses(charge.cost.known);
        room.spent += charge.cost;
        room.reserved.known = room.reserved.known - open.reserved.unwrap_or(Pico::ZERO);
        if let Some(budget) = room.fact() {
            crossed.extend(marks.map(|percent| BudgetCrossed { percent, budget }));
        }
    }
    crossed
}

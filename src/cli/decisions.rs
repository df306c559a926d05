//! Recorded decisions, as people read them.

use events::cost::Cost;
use events::event::Body;
use events::payload::{Arm, BudgetFact, Dispatch, ExclusionCount, Refusal};
use replay::dates::instant;

/// Engines a decision names besides the chosen one.
const OTHERS_SHOWN: usize = 4;

/// What an event decided, in lines; nothing where it is no decision.
pub(super) fn lines(body: &Body<'_>) -> Vec<String> {
    match body {
        Body::Dispatch(dispatch) => dispatched(dispatch),
        Body::Refusal(refusal) => refused(refusal),
        _ => Vec::new(),
    }
}

fn dispatched(dispatch: &Dispatch<'_>) -> Vec<String> {
    let Dispatch { attempt, engine, choice, reserved, forecast, arms, .. } = dispatch;
    let aside = reserved.amount.map_or_else(|| "nothing".to_owned(), |amount| format!("${amount}"));
    let mut lines = vec![format!(
        "attempt {attempt}: {engine} ({}); {aside} set aside ({}), {} expected, {} tokens of it from cache",
        choice.label(),
        reserved.basis.label(),
        cost(forecast.expected),
        forecast.cache_read,
    )];
    if let Some(chosen) = arms.first() {
        lines.push(format!("over the horizon {}", cost(chosen.horizon)));
    }
    lines.extend(arms.iter().skip(1).take(OTHERS_SHOWN).map(other));
    lines.extend(excluded(&dispatch.excluded));
    lines.extend(dispatch.budgets.iter().map(budget));
    lines
}

fn refused(refusal: &Refusal<'_>) -> Vec<String> {
    let mut lines =
        vec![format!("attempt {}: refused, {}", refusal.attempt, refusal.reason.label())];
    if let Some(needed) = refusal.needed {
        lines.push(format!("the cheapest engine that can take it needs ${needed}"));
    }
    lines.extend(refusal.budget.iter().map(budget));
    lines.extend(excluded(&refusal.excluded));
    lines
}

fn other(arm: &Arm<'_>) -> String {
    let why = arm.excluded.map_or_else(String::new, |excluded| format!(", {}", excluded.label()));
    format!(
        "{} {} now, {} over the horizon{why}",
        arm.engine,
        cost(arm.expected),
        cost(arm.horizon)
    )
}

fn excluded(counts: &[ExclusionCount]) -> Option<String> {
    let counts: Vec<String> =
        counts.iter().map(|(exclusion, count)| format!("{count} {}", exclusion.label())).collect();
    (!counts.is_empty()).then(|| format!("excluded: {}", counts.join(", ")))
}

fn budget(fact: &BudgetFact<'_>) -> String {
    let today = fact.allowance.zip(fact.today).map_or_else(String::new, |(allowance, today)| {
        format!("; today ${allowance}, of it used ${today}")
    });
    let resets =
        fact.resets_at.map_or_else(String::new, |at| format!("; room again {}", instant(at)));
    format!(
        "budget {} of {} a {}: {} spent, {} set aside{today}{resets}",
        fact.name,
        fact.limit,
        fact.scope.label(),
        cost(fact.spent),
        cost(fact.reserved),
    )
}

fn cost(cost: Cost) -> String {
    match cost {
        Cost::UNKNOWN => "unknown".to_owned(),
        Cost { known, incomplete: true } => format!("≥ ${known}"),
        Cost { known, incomplete: false } => format!("${known}"),
    }
}

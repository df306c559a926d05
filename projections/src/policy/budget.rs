//! Limits on what is spent.

use events::money::Pico;
use events::payload::{BudgetPeriod, BudgetScope};
use serde::Serialize;

use super::{PolicyError, check_name, is_amount, wrong};
use crate::calendar::Zone;

/// What happens to a turn whose engine does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum OnExceeded {
    /// The cheapest engine that fits takes it; where none does it is refused.
    #[default]
    Downgrade,
    /// It is refused.
    Refuse,
}

/// A limit on what is spent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Budget {
    /// What money is counted for.
    pub scope: BudgetScope,
    /// How long it is counted together.
    pub period: BudgetPeriod,
    /// The limit.
    pub limit: Pico,
    /// Whose days, weeks and months: an IANA name.
    pub zone: String,
    /// Whether a month's money is spread evenly over its days.
    pub paced: bool,
    /// What happens beyond it.
    pub on_exceeded: OnExceeded,
}

/// A budget with its name and time zone.
#[derive(Clone, Debug)]
pub struct BudgetRule {
    /// Its name.
    pub name: String,
    /// What it says.
    pub budget: Budget,
    /// Whose days.
    pub zone: Zone,
}

impl BudgetRule {
    /// What money is counted for.
    #[must_use]
    pub const fn scope(&self) -> BudgetScope {
        self.budget.scope
    }
}

pub(super) fn rules<'b>(
    field: &str,
    budgets: impl Iterator<Item = (&'b String, &'b Budget)>,
) -> Result<Vec<BudgetRule>, PolicyError> {
    budgets.map(|(name, budget)| rule(&format!("{field}.{name}"), name, budget)).collect()
}

fn rule(field: &str, name: &str, budget: &Budget) -> Result<BudgetRule, PolicyError> {
    use BudgetPeriod::{Lifetime, Month};
    use BudgetScope::{Conversation, Turn};
    check_name(field, name)?;
    if !is_amount(budget.limit) {
        let problem = "is negative, or more than there is";
        return Err(wrong(format!("{field}.limit_usd"), budget.limit, problem));
    }
    let is_lifetime = budget.period == Lifetime;
    if is_lifetime != matches!(budget.scope, Turn | Conversation) {
        let problem = if is_lifetime {
            "needs a period: rolling-24h, day, week or month"
        } else {
            "is counted as long as it lasts: leave period out"
        };
        return Err(wrong(field, budget.scope.label(), problem));
    }
    if budget.paced && budget.period != Month {
        return Err(wrong(
            format!("{field}.paced"),
            true,
            "spreads a month over its days: set period = \"month\"",
        ));
    }
    let Some(zone) = Zone::named(&budget.zone) else {
        return Err(wrong(
            format!("{field}.zone"),
            &budget.zone,
            "is no time zone; write one like Europe/Berlin",
        ));
    };
    Ok(BudgetRule { name: name.to_owned(), budget: budget.clone(), zone })
}

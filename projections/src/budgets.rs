//! Budgets: what is spent, set aside and free, and whether a turn still fits.
//!
//! `spent + reserved + free = limit`, exactly, at every position. What is set aside counts on the instant of its
//! dispatch, as its charge will: no turn can slip from one period into another.

use events::cost::Cost;
use events::ids::{Millis, Subject};
use events::money::Pico;
use events::payload::{BudgetFact, BudgetPeriod, BudgetScope, Name};

use crate::calendar::Span;
use crate::policy::BudgetRule;
use crate::routing::Routing;
use crate::routing::flights::{Flight, Open};
use crate::routing::spend::{Account, quarter_begins};

const DAY_MS: Millis = 86_400_000;

/// Shares of a limit whose crossing is an event, in percent.
pub const MARKS: [u8; 3] = [50, 80, 100];

/// One of the things a budget counts money for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instance {
    /// A turn.
    Turn(Subject),
    /// A conversation.
    Conversation(Subject),
    /// An account.
    Account(Account),
}

impl Instance {
    /// What a budget counts a turn's money for.
    #[must_use]
    pub fn of(scope: BudgetScope, turn: &Subject, flight: &Flight, engine: &str) -> Self {
        let [client, project] = &flight.accounts;
        match scope {
            BudgetScope::Turn => Self::Turn(*turn),
            BudgetScope::Conversation => Self::Conversation(flight.arrival.lane.0),
            BudgetScope::Client => Self::Account(client.clone()),
            BudgetScope::Project => Self::Account(project.clone()),
            BudgetScope::Engine => Self::Account(Account::Engine(engine.to_owned())),
            BudgetScope::All => Self::Account(Account::All),
        }
    }

    fn counts(&self, turn: &Subject, flight: &Flight, open: &Open) -> bool {
        match self {
            Self::Turn(counted) => counted == turn,
            Self::Conversation(counted) => *counted == flight.arrival.lane.0,
            Self::Account(Account::All) => true,
            Self::Account(Account::Engine(engine)) => *engine == open.engine,
            Self::Account(named) => flight.accounts.contains(named),
        }
    }
}

/// How a paced month stands today.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Today {
    /// What may be spent today: what is left of the month before today, over the days that are left, today included.
    pub allowance: Pico,
    /// What of it is settled or set aside.
    pub used: Pico,
    /// When it ends.
    pub ends: Millis,
}

/// How a budget stands for one of the things it counts money for.
#[derive(Clone, Debug)]
pub struct Room<'r> {
    /// The budget.
    pub rule: &'r BudgetRule,
    /// Settled; incomplete where some of it is not known.
    pub spent: Cost,
    /// Set aside for what is on its way; incomplete where some of it is not known.
    pub reserved: Cost,
    /// What money is counted together; all of time for what is counted as long as it lasts.
    pub span: Span,
    /// Of a paced month.
    pub today: Option<Today>,
    /// Of the last 24 hours: when the oldest money in them leaves.
    leaves_at: Option<Millis>,
}

impl<'r> Room<'r> {
    /// How a budget stands now.
    #[must_use]
    pub fn of(routing: &Routing, rule: &'r BudgetRule, instance: &Instance, now: Millis) -> Self {
        let span = span(rule, now);
        let spent = spent(routing, instance, span);
        let reserved = reserved(routing, instance, span);
        let today = rule.budget.paced.then(|| {
            let day = rule.zone.day(now);
            let used = (self::spent(routing, instance, day)
                + self::reserved(routing, instance, day))
            .known;
            let before = (spent + reserved).known - used;
            let left = Pico((rule.budget.limit - before).0.max(0));
            let days = i128::from(rule.zone.days_left_in_month(now).max(1));
            Today { allowance: Pico(left.0 / days), used, ends: day.to }
        });
        let leaves_at = match (rule.budget.period, instance) {
            (BudgetPeriod::Rolling24h, Instance::Account(account)) => {
                routing.spend.oldest_since(account, span.from).map(|oldest| oldest + DAY_MS)
            }
            _ => None,
        };
        Self { rule, spent, reserved, span, today, leaves_at }
    }

    /// What is left of the limit; below zero where more was spent.
    #[must_use]
    pub fn free(&self) -> Pico {
        self.rule.budget.limit - self.spent.known - self.reserved.known
    }

    /// What may be set aside now: what is left, and of a paced month what is left of today's allowance.
    #[must_use]
    pub fn available(&self) -> Pico {
        self.today
            .map_or_else(|| self.free(), |today| self.free().min(today.allowance - today.used))
    }

    /// True when so much may be set aside.
    #[must_use]
    pub fn fits(&self, needed: Pico) -> bool {
        needed <= self.available()
    }

    /// When there is room again: the end of the period, or of today where today's allowance stands in the way; of the
    /// last 24 hours, when the oldest money in them leaves.
    #[must_use]
    pub fn resets_at(&self) -> Option<Millis> {
        match self.today {
            Some(today) if today.allowance - today.used < self.free() => Some(today.ends),
            _ if self.span.to < Millis::MAX => Some(self.span.to),
            _ => self.leaves_at,
        }
    }

    /// What events say of it.
    #[must_use]
    pub fn fact(&self) -> Option<BudgetFact<'r>> {
        Some(BudgetFact {
            name: Name::new(&self.rule.name).ok()?,
            scope: self.rule.budget.scope,
            period: self.rule.budget.period,
            limit: self.rule.budget.limit,
            spent: self.spent,
            reserved: self.reserved,
            allowance: self.today.map(|today| today.allowance),
            today: self.today.map(|today| today.used),
            resets_at: self.resets_at(),
        })
    }

    /// The marks that so much more settled money passes.
    pub fn crosses(&self, more: Pico) -> impl Iterator<Item = u8> + use<> {
        let (limit, before) = (self.rule.budget.limit, self.spent.known);
        let after = before + more;
        MARKS.into_iter().filter(move |mark| {
            let at = limit.0.saturating_mul((*mark).into());
            before.0.saturating_mul(100) < at && at <= after.0.saturating_mul(100)
        })
    }
}

/// The period that holds an instant. The last 24 hours end with it, and begin on a quarter of an hour.
fn span(rule: &BudgetRule, now: Millis) -> Span {
    match rule.budget.period {
        BudgetPeriod::Lifetime => Span::ALL,
        BudgetPeriod::Rolling24h => {
            Span { from: quarter_begins(now.saturating_sub(DAY_MS)), to: Millis::MAX }
        }
        BudgetPeriod::Day => rule.zone.day(now),
        BudgetPeriod::Week => rule.zone.week(now),
        BudgetPeriod::Month => rule.zone.month(now),
    }
}

fn spent(routing: &Routing, instance: &Instance, span: Span) -> Cost {
    match instance {
        Instance::Turn(turn) => routing.flights.get(turn).map_or(Cost::ZERO, |flight| flight.spent),
        Instance::Conversation(conversation) => routing.spend.conversation(conversation),
        Instance::Account(account) => routing.spend.between(account, span),
    }
}

fn reserved(routing: &Routing, instance: &Instance, span: Span) -> Cost {
    let open = routing
        .flights
        .iter()
        .flat_map(|(turn, flight)| flight.open.iter().map(move |open| (turn, flight, open)));
    let counted = open.filter(|(turn, flight, open)| {
        span.holds(open.dispatched) && instance.counts(turn, flight, open)
    });
    counted.map(|(.., open)| open.reserved.map_or(Cost::UNKNOWN, Cost::exactly)).sum()
}

//! What was spent, per account and time: what budgets are held against.
//!
//! It knows nothing of any policy: a budget that is new today knows what was spent last week. Money is kept by the
//! quarter of an hour and by the UTC day, since every time zone's days begin on a quarter.

use std::collections::{BTreeMap, BTreeSet};

use events::cost::Cost;
use events::ids::{Millis, Subject};
use events::payload::{Ask, Booking};
use serde::{Deserialize, Serialize};

use crate::calendar::Span;
use crate::days::day_of;
use crate::table::Table;

const QUARTER: Millis = 15 * 60 * 1_000;
const QUARTERS_A_DAY: u32 = 96;
/// Days with spend that are kept: a month of any zone, and a few to look back.
const DAYS_KEPT: usize = 40;
/// Days with spend a conversation is kept for.
const CONVERSATION_DAYS_KEPT: usize = 8;
/// Clients and projects that are told apart; those that come later share an account. Names are a client's own text,
/// and the world has to stay small.
pub const NAMES_MAX: usize = 64;
/// The account of clients and projects that are not told apart.
pub const OTHERS: &str = "(others)";
/// The account of clients and projects without a name.
pub const UNNAMED: &str = "(unnamed)";

/// Whose money it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Account {
    /// Everybody's.
    All,
    /// A client's, by its harness.
    Client(String),
    /// A project's.
    Project(String),
    /// An engine's.
    Engine(String),
}

/// What a conversation has cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversationSpend {
    /// What it was charged with.
    pub cost: Cost,
    /// When its last charge was dispatched.
    pub last: Millis,
}

/// What was spent.
#[derive(Clone, Debug, PartialEq)]
pub struct Spend {
    quarters: Table<(Account, u32), Cost>,
    days: Table<(Account, u32), Cost>,
    conversations: Table<Subject, ConversationSpend>,
}

/// The tables as a snapshot has them.
pub(super) type State = (
    BTreeMap<(Account, u32), Cost>,
    BTreeMap<(Account, u32), Cost>,
    BTreeMap<Subject, ConversationSpend>,
);

/// Where a charge is booked.
pub(super) struct Place<'p> {
    pub(super) dispatched: Millis,
    pub(super) engine: &'p str,
    pub(super) conversation: Subject,
    pub(super) accounts: [Account; 2],
}

/// A charge in the place of another. What was not known stays marked where it is booked together with others.
pub(super) fn rebooked(booked: Cost, was: Cost, now: Cost) -> Cost {
    let incomplete = booked.incomplete || now.incomplete;
    Cost { known: booked.known + now.known - was.known, incomplete }
}

fn quarter_of(at: Millis) -> u32 {
    u32::try_from(at / QUARTER).unwrap_or(u32::MAX)
}

/// The quarter of an hour that holds an instant, where it begins.
#[must_use]
pub const fn quarter_begins(at: Millis) -> Millis {
    at - at % QUARTER
}

impl Spend {
    pub(super) const fn new() -> Self {
        Self {
            quarters: Table::new("spend.quarters"),
            days: Table::new("spend.days"),
            conversations: Table::new("spend.conversations"),
        }
    }

    pub(super) fn of((quarters, days, conversations): State) -> Self {
        Self {
            quarters: Table::of("spend.quarters", quarters),
            days: Table::of("spend.days", days),
            conversations: Table::of("spend.conversations", conversations),
        }
    }

    #[expect(clippy::type_complexity, reason = "the tables, as they are")]
    pub(super) const fn tables(
        &self,
    ) -> (
        &Table<(Account, u32), Cost>,
        &Table<(Account, u32), Cost>,
        &Table<Subject, ConversationSpend>,
    ) {
        (&self.quarters, &self.days, &self.conversations)
    }

    pub(super) fn settle(&mut self) {
        self.quarters.settle();
        self.days.settle();
        self.conversations.settle();
    }

    /// The account of a client.
    #[must_use]
    pub fn client(&self, harness: Option<&str>) -> Account {
        self.named(Account::Client, harness, std::iter::empty())
    }

    /// The account of a project.
    #[must_use]
    pub fn project(&self, project: Option<&str>) -> Account {
        self.named(Account::Project, project, std::iter::empty())
    }

    /// The client's account of a turn that arrives, and its project's. Those of turns in flight take room too: a name
    /// keeps its account though others come in between.
    pub(super) fn accounts<'s, I: Iterator<Item = &'s Account>>(
        &'s self,
        ask: &Ask<'_>,
        in_flight: impl Fn() -> I,
    ) -> [Account; 2] {
        let harness = ask.harness.map(|name| name.as_str());
        let project = ask.project.map(|name| name.as_str());
        [
            self.named(Account::Client, harness, in_flight()),
            self.named(Account::Project, project, in_flight()),
        ]
    }

    /// Where a charge is booked.
    pub(super) fn place<'b>(&self, booking: &Booking<'b>) -> Place<'b> {
        let harness = booking.harness.map(|name| name.as_str());
        let project = booking.project.map(|name| name.as_str());
        Place {
            dispatched: booking.dispatched,
            engine: booking.engine.as_str(),
            conversation: booking.conversation,
            accounts: [self.client(harness), self.project(project)],
        }
    }

    /// A name's own account, as long as there is room; those that come later share one.
    fn named<'s>(
        &'s self,
        kind: fn(String) -> Account,
        name: Option<&str>,
        in_flight: impl Iterator<Item = &'s Account>,
    ) -> Account {
        let account = kind(name.unwrap_or(UNNAMED).to_owned());
        if self.has(&account) {
            return account;
        }
        let is_kind =
            |other: &&Account| std::mem::discriminant(*other) == std::mem::discriminant(&account);
        let mut names: BTreeSet<&Account> = self.names(kind).collect();
        names.extend(in_flight.filter(is_kind));
        if names.contains(&account) || names.len() < NAMES_MAX {
            account
        } else {
            kind(OTHERS.to_owned())
        }
    }

    fn has(&self, account: &Account) -> bool {
        self.of_days(account, 0, u32::MAX).next().is_some()
    }

    /// The names there are accounts of.
    pub fn names(&self, kind: fn(String) -> Account) -> impl Iterator<Item = &Account> {
        let first = (kind(String::new()), 0);
        let mut last: Option<&Account> = None;
        let same_kind = move |account: &Account| {
            std::mem::discriminant(account) == std::mem::discriminant(&kind(String::new()))
        };
        self.days
            .range(first..)
            .map(|((account, _), _)| account)
            .take_while(move |account| same_kind(account))
            .filter(move |account| last.replace(*account) != Some(*account))
    }

    fn of_days(&self, account: &Account, from: u32, to: u32) -> impl Iterator<Item = &Cost> {
        self.days.range((account.clone(), from)..(account.clone(), to)).map(|(_, cost)| cost)
    }

    /// What an account spent in an interval. An interval that begins within a quarter of an hour counts all of that
    /// quarter: never less than was spent.
    #[must_use]
    pub fn between(&self, account: &Account, span: Span) -> Cost {
        let from = quarter_of(span.from);
        let to = quarter_of(span.to.saturating_add(QUARTER - 1));
        let (first_day, last_day) = (from.div_ceil(QUARTERS_A_DAY), to / QUARTERS_A_DAY);
        let quarters = |from: u32, to: u32| -> Cost {
            self.quarters
                .range((account.clone(), from)..(account.clone(), to))
                .map(|(_, cost)| *cost)
                .sum()
        };
        if first_day >= last_day {
            return quarters(from, to);
        }
        let days: Cost = self.of_days(account, first_day, last_day).copied().sum();
        quarters(from, first_day * QUARTERS_A_DAY) + days + quarters(last_day * QUARTERS_A_DAY, to)
    }

    /// The end of the first quarter of an hour, from an instant on, in which an account spent something.
    #[must_use]
    pub fn oldest_since(&self, account: &Account, from: Millis) -> Option<Millis> {
        let from = (account.clone(), quarter_of(from));
        let spent = self.quarters.range(from..).take_while(|((of, _), _)| of == account);
        let mut spent = spent.filter(|(_, cost)| **cost != Cost::ZERO);
        spent.next().map(|((_, quarter), _)| (Millis::from(*quarter) + 1) * QUARTER)
    }

    /// What a conversation has cost.
    #[must_use]
    pub fn conversation(&self, conversation: &Subject) -> Cost {
        self.conversations.get(conversation).map_or(Cost::ZERO, |spend| spend.cost)
    }

    /// What conversations have cost, each with when its last charge was dispatched.
    pub fn conversations(&self) -> impl Iterator<Item = (&Subject, &ConversationSpend)> {
        self.conversations.iter()
    }

    /// Books a charge.
    pub(super) fn book(&mut self, place: &Place<'_>, cost: Cost) {
        self.change(place, |booked| *booked += cost);
    }

    /// Puts a charge in the place of another.
    pub(super) fn rebook(&mut self, place: &Place<'_>, was: Cost, now: Cost) {
        self.change(place, |booked| *booked = rebooked(*booked, was, now));
    }

    fn change(&mut self, place: &Place<'_>, change: impl Fn(&mut Cost)) {
        let [client, project] = place.accounts.clone();
        let accounts = [Account::All, client, project, Account::Engine(place.engine.to_owned())];
        let quarter = quarter_of(place.dispatched);
        let day = quarter / QUARTERS_A_DAY;
        for account in accounts {
            change(self.quarters.entry((account.clone(), quarter), || Cost::ZERO));
            change(self.days.entry((account, day), || Cost::ZERO));
        }
        let new = || ConversationSpend { cost: Cost::ZERO, last: place.dispatched };
        let conversation = self.conversations.entry(place.conversation, new);
        change(&mut conversation.cost);
        conversation.last = conversation.last.max(place.dispatched);
    }

    /// Forgets all but the newest days on which anything was spent: of accounts 40, of conversations 8. Days are counted,
    /// not measured from a clock: one that is set ahead, and back, makes nothing be forgotten.
    pub(super) fn forget(&mut self) {
        let all = (Account::All, 0)..=(Account::All, u32::MAX);
        let booked: Vec<u32> = self.days.range(all).map(|((_, day), _)| *day).collect();
        let newest = |days: usize| booked.len().checked_sub(days).map(|oldest| booked[oldest]);
        if let Some(day) = newest(DAYS_KEPT) {
            self.days.retain(|(_, of), _| *of >= day);
            self.quarters.retain(|(_, of), _| *of >= day.saturating_mul(QUARTERS_A_DAY));
        }
        if let Some(day) = newest(CONVERSATION_DAYS_KEPT) {
            self.conversations.retain(|_, spend| day_of(spend.last) >= day);
        }
    }
}

//! The worked values of the router's budgets and choices, and cases from the field.

use std::collections::BTreeMap;

use events::ids::Millis;
use events::money::Pico;
use events::payload::{BudgetPeriod, BudgetScope, Choice};
use projections::budgets::Instance;
use projections::calendar::Zone;
use projections::forecast::{Foreseen, Held, Horizon, weigh};
use projections::policy::{Budget, Objective, OnExceeded, Policy, Profile, Reserve, Routing};
use projections::routing::habits::{Pauses, Share};
use projections::routing::spend::Account;
use projections::tariffs::Tariffs;
use replay::decider::{Exceeded, Plan};
use replay::effective_book::book_of;

use super::driver::{Driver, End, Wants, engine, rates};
use events::bytes::Bytes;

/// 2026-03-10 12:00 UTC.
const NOON: Millis = 1_773_144_000_000;
const HOUR: Millis = 3_600_000;

pub(super) fn usd(text: &str) -> Pico {
    text.parse().unwrap()
}

pub(super) fn budget(scope: BudgetScope, period: BudgetPeriod, limit: &str) -> Budget {
    let on_exceeded = OnExceeded::Downgrade;
    Budget { scope, period, limit: usd(limit), zone: "UTC".to_owned(), paced: false, on_exceeded }
}

pub(super) fn policy(engines: &[&str], budgets: &[(&str, Budget)]) -> Policy {
    let engines = engines.iter().map(|engine| (*engine).to_owned()).collect();
    Policy {
        routing: Routing {
            objective: Objective::Ordered,
            engines,
            reserve: Reserve::Ceiling,
            ..Routing::default()
        },
        budgets: budgets
            .iter()
            .map(|(name, budget)| ((*name).to_owned(), budget.clone()))
            .collect(),
        profiles: BTreeMap::new(),
    }
}

/// A million tokens of `acme/m1` cost 10 dollars, of `acme/m2` 1 dollar: 1,250 + 1,000 tokens are a ceiling of
/// $0.0225 and $0.00225, and eight pico-dollars for rounding.
fn driver(policy: &Policy) -> Driver {
    let mut driver = Driver::new(policy, NOON);
    driver.price("acme/m1", rates("10", "10", None, None), Vec::new());
    driver.price("acme/m2", rates("1", "1", None, None), Vec::new());
    driver
}

fn refused(plan: &Plan) -> &Exceeded {
    match plan {
        Plan::Refused { budget: Some(exceeded) } => exceeded,
        other => panic!("{other:?}"),
    }
}

/// Spends an amount at once.
fn spend(driver: &mut Driver, wants: Wants, amount: &str) {
    let (turn, plan) = driver.ask(wants);
    assert!(engine(&plan).is_some(), "{plan:?}");
    driver.end(&turn, End::Reported(usd(amount).0));
    driver.close(&turn);
}

use BudgetPeriod::{Day, Lifetime, Month, Rolling24h, Week};
use BudgetScope::{All, Client, Conversation, Engine, Project, Turn};

// 7: a turn whose engine does not fit its budget goes to the cheapest that does; where none does, it is refused.
#[test]
fn beyond_a_budget_the_cheapest_that_fits_takes_the_turn() {
    let turn = |limit| policy(&["acme/m1", "acme/m2"], &[("turn", budget(Turn, Lifetime, limit))]);
    let (_, plan) = driver(&turn("0.0226")).ask(Wants::default());
    assert_eq!(engine(&plan), Some("acme/m1"));
    let (_, plan) = driver(&turn("0.02")).ask(Wants::default());
    let Plan::Dispatch { engine, choice, .. } = &plan else { panic!("{plan:?}") };
    assert_eq!((engine.as_str(), *choice), ("acme/m2", Choice::Downgraded));
    let (_, plan) = driver(&turn("0.002")).ask(Wants::default());
    let exceeded = refused(&plan);
    assert_eq!((exceeded.name.as_str(), exceeded.scope.as_str()), ("turn", "turn"));
    assert_eq!((exceeded.limit, exceeded.needed), (usd("0.002"), Some(Pico(usd("0.00225").0 + 8))));
}

#[test]
fn a_budget_that_refuses_does_not_look_for_a_cheaper_engine() {
    let refuses = Budget { on_exceeded: OnExceeded::Refuse, ..budget(Turn, Lifetime, "0.02") };
    let (_, plan) =
        driver(&policy(&["acme/m1", "acme/m2"], &[("turn", refuses)])).ask(Wants::default());
    assert_eq!(refused(&plan).needed, Some(Pico(usd("0.0225").0 + 8)));
}

// 7: a conversation's, a client's and a project's money is counted apart; those without a name share one.
#[test]
fn money_is_counted_for_whom_the_budget_says() {
    for (scope, period) in [(Conversation, Lifetime), (Client, Day), (Project, Day)] {
        let mut driver = driver(&policy(&["acme/m1"], &[("b", budget(scope, period, "1"))]));
        spend(&mut driver, Wants::default(), "0.99");
        assert_eq!(refused(&driver.ask(Wants::default()).1).spent, usd("0.99"));
        let (harness, project) = (Some("codex"), Some("borealis"));
        let other = Wants { conversation: 2, harness, project, ..Wants::default() };
        assert!(engine(&driver.ask(other).1).is_some(), "{scope:?}: another one's money");
        let nameless = Wants { harness: None, project: None, conversation: 3, ..Wants::default() };
        spend(&mut driver, nameless, "0.99");
        if scope != Conversation {
            let another = Wants { conversation: 4, ..nameless };
            assert_eq!(refused(&driver.ask(another).1).spent, usd("0.99"), "they share one");
        }
    }
}

// 7: a rolling day counts the last 24 hours, in quarters of an hour, never less.
#[test]
fn a_rolling_day_frees_money_a_day_later() {
    let mut driver = driver(&policy(&["acme/m1"], &[("day", budget(All, Rolling24h, "1"))]));
    driver.now = NOON + HOUR / 2;
    spend(&mut driver, Wants::default(), "0.99");
    driver.now = NOON + 24 * HOUR;
    let (_, plan) = driver.ask(Wants::default());
    let frees = NOON + 24 * HOUR + HOUR * 3 / 4;
    assert_eq!(
        refused(&plan).resets_at,
        Some(frees),
        "when the quarter it was spent in has passed"
    );
    driver.now = frees - 1;
    assert!(engine(&driver.ask(Wants::default()).1).is_none());
    driver.now = frees;
    assert!(engine(&driver.ask(Wants::default()).1).is_some());
}

// Case 55: a daily limit of Shanghai is there again at 16:00 UTC, and counts nothing from before.
#[test]
fn case_55_a_day_of_another_zone_resets_on_time() {
    let day = Budget { zone: "Asia/Shanghai".to_owned(), ..budget(All, Day, "100.01") };
    let mut driver = driver(&policy(&["acme/m1"], &[("day", day)]));
    driver.now = NOON + 90 * 60_000;
    spend(&mut driver, Wants::default(), "100");
    driver.now = NOON + 3 * HOUR + 59 * 60_000;
    let (_, plan) = driver.ask(Wants::default());
    assert_eq!(refused(&plan).resets_at, Some(NOON + 4 * HOUR));
    driver.now = NOON + 4 * HOUR + 60_000;
    assert!(engine(&driver.ask(Wants::default()).1).is_some());
    let room = driver.room("day", &Instance::Account(Account::All));
    assert_eq!(room.spent.known, Pico::ZERO);
}

// Case 56: an engine's week begins on Monday, 00:00 UTC.
#[test]
fn case_56_an_engines_week_begins_on_monday() {
    let week = budget(Engine, Week, "1");
    let mut driver = driver(&policy(&["acme/m1", "acme/m2"], &[("week", week)]));
    driver.now = 1_795_996_799_000; // 2026-11-29T23:59:59Z, a Sunday
    spend(&mut driver, Wants::default(), "0.99");
    let (_, plan) = driver.ask(Wants::default());
    assert_eq!(engine(&plan), Some("acme/m2"), "another engine's money is its own");
    driver.now += 1_000;
    assert_eq!(engine(&driver.ask(Wants::default()).1), Some("acme/m1"));
}

// 7: a paced month. The original's formula: max(0, (target - spent this month) / days left, today's included). It takes
// what is spent today from the month as well as from the day, so that the allowance shrinks while it is used, and
// reserves nothing. Here the allowance is what was left this morning, over the days that are left: with nothing spent
// today it is the original's.
#[test]
fn a_paced_month_spreads_what_is_left_over_the_days_that_are_left() {
    let month = Budget { paced: true, ..budget(All, Month, "31") };
    let mut driver = driver(&policy(&["acme/m1"], &[("month", month)]));
    let all = Instance::Account(Account::All);
    let today = |driver: &Driver| driver.room("month", &all).today.unwrap();
    driver.now = 1_772_323_200_000 + HOUR; // 2026-03-01T01:00Z: 31 days left
    assert_eq!(today(&driver).allowance, usd("1"));
    spend(&mut driver, Wants::default(), "0.7");
    assert_eq!((today(&driver).allowance, today(&driver).used), (usd("1"), usd("0.7")));
    spend(&mut driver, Wants::default(), "0.29");
    let (_, plan) = driver.ask(Wants::default());
    let exceeded = refused(&plan);
    assert_eq!(exceeded.allowance, Some(usd("1")));
    assert_eq!(exceeded.resets_at, Some(1_772_323_200_000 + 24 * HOUR), "tomorrow, not next month");
    driver.now += 24 * HOUR;
    assert_eq!(
        today(&driver).allowance,
        Pico((31 - 1) * 1_000_000_000_000 / 30 + 10_000_000_000 / 30)
    );
    driver.now = 1_772_323_200_000 + 30 * 24 * HOUR;
    assert_eq!(today(&driver).allowance, usd("30.01"), "the last day has all that is left");
}

// 7: what a profile says goes before what the policy says, field by field of its budgets.
#[test]
fn a_profile_has_budgets_and_engines_of_its_own() {
    let mut policy = policy(&["acme/m1"], &[("turn", budget(Turn, Lifetime, "1"))]);
    let tight = budget(Turn, Lifetime, "0.01");
    let profile =
        Profile { budgets: BTreeMap::from([("turn".to_owned(), tight)]), ..Profile::default() };
    policy.profiles.insert("auto-cheap".to_owned(), profile);
    let mut driver = driver(&policy);
    assert!(engine(&driver.ask(Wants::default()).1).is_some());
    let cheap = Wants { profile: "auto-cheap", ..Wants::default() };
    assert_eq!(refused(&driver.ask(cheap).1).limit, usd("0.01"));
}

// Case 52: a limit of 1.00, 0.90 spent, eight turns at once that take 0.04 each: two are let through. The original
// checks without setting aside, and lets all eight through.
#[test]
fn case_52_turns_at_once_cannot_spend_the_same_money() {
    let mut policy = policy(&["acme/m1"], &[("day", budget(All, Day, "1"))]);
    policy.routing.reserve = Reserve::Expected;
    let mut driver = driver(&policy);
    driver.price("acme/m1", rates("10", "30", None, None), Vec::new());
    spend(&mut driver, Wants::default(), "0.9");
    // 1,000 prompt tokens and 1,000 expected of an answer at most: 0.01 + 0.03.
    let wants = Wants { prompt: 1_000, max_output: 1_000, ..Wants::default() };
    let asked: Vec<_> = (0..8).map(|_| driver.ask(wants)).collect();
    let let_through: Vec<_> = asked.iter().filter(|(_, plan)| engine(plan).is_some()).collect();
    assert_eq!(let_through.len(), 2);
    let room = driver.room("day", &Instance::Account(Account::All));
    assert_eq!((room.spent.known, room.reserved.known), (usd("0.9"), usd("0.08")));
    assert_eq!(room.free(), usd("0.02"));
    for (turn, _) in &asked {
        driver.end(turn, End::Used { prompt: 1_000, output: 900, read: 0 });
        driver.close(turn);
    }
    let room = driver.room("day", &Instance::Account(Account::All));
    assert_eq!((room.spent.known, room.reserved.known), (usd("0.974"), Pico::ZERO));
}

// Case 11: an unknown price is not zero. Under a budget the turn is refused, or takes what policy states for such
// turns; where no budget applies it is served, and unknown.
#[test]
fn case_11_an_unknown_price_does_not_slip_through_a_budget() {
    let mut budgeted = policy(&["newlab/unknown-9"], &[("week", budget(All, Week, "1"))]);
    let (_, plan) = driver(&budgeted).ask(Wants::default());
    assert_eq!(plan, Plan::Refused { budget: None });
    budgeted.routing.unknown_price = Some(usd("0.4"));
    let mut driver_ = driver(&budgeted);
    let asked: Vec<_> = (0..3).map(|_| driver_.ask(Wants::default())).collect();
    assert!(engine(&asked[0].1).is_some() && engine(&asked[1].1).is_some());
    assert_eq!(refused(&asked[2].1).reserved, usd("0.8"));
    let charge =
        driver_.end(&asked[0].0, End::Used { prompt: 900_000, output: 1_000, read: 0 }).unwrap();
    assert_eq!((charge.basis.label(), charge.cost.amount()), ("estimated", Some(usd("0.4"))));
    let mut free = driver(&policy(&["newlab/unknown-9"], &[]));
    let (turn, plan) = free.ask(Wants::default());
    assert_eq!(engine(&plan), Some("newlab/unknown-9"));
    let charge = free.end(&turn, End::Used { prompt: 9, output: 9, read: 0 }).unwrap();
    assert_eq!(charge.cost.amount(), None, "shown as unknown, not as nothing");
}

#[test]
fn what_runs_at_home_is_free() {
    let mut policy = policy(&["ollama/qwen3"], &[("turn", budget(Turn, Lifetime, "0"))]);
    policy.routing.local = vec!["ollama".to_owned()];
    let mut driver = driver(&policy);
    let (turn, plan) = driver.ask(Wants::default());
    assert_eq!(engine(&plan), Some("ollama/qwen3"));
    let charge = driver.end(&turn, End::Used { prompt: 9, output: 9, read: 0 }).unwrap();
    assert_eq!(charge.cost.amount(), Some(Pico::ZERO));
}

fn cheapest(mut policy: Policy) -> Policy {
    policy.routing.objective = Objective::CheapestSufficient;
    policy
}

// 5.3: candidates, then stay or switch, then budgets. A lane's warm engine is kept, though another that is no better
// stands first; once it has failed the turn, it is not asked again.
#[test]
fn a_warm_engine_is_kept_until_going_elsewhere_pays() {
    let policy = cheapest(policy(&["acme/first", "acme/warm"], &[]));
    let mut driver = Driver::new(&policy, NOON);
    driver.price("acme/first", rates("2.9", "15", Some("0.29"), Some("3.6")), Vec::new());
    driver.price("acme/warm", rates("3", "15", Some("0.3"), Some("3.75")), Vec::new());
    let wants = Wants { prompt: 100_000, max_output: 100, ..Wants::default() };
    let (turn, plan) = driver.ask(wants);
    assert_eq!(engine(&plan), Some("acme/first"));
    driver.end(&turn, End::Lost);
    let again = driver.retry(&turn);
    assert_eq!(engine(&again), Some("acme/warm"), "what failed the turn is not asked again");
    driver.end(&turn, End::Used { prompt: 100_000, output: 10, read: 100_000 });
    assert_eq!(driver.retry(&turn), Plan::Refused { budget: None }, "nobody is left");
    driver.close(&turn);
    driver.now += 60_000;
    let (turn, plan) = driver.ask(Wants { prompt: 101_000, ..wants });
    let Plan::Dispatch { engine: kept, choice, .. } = &plan else { panic!("{plan:?}") };
    assert_eq!((kept.as_str(), *choice), ("acme/warm", Choice::Stayed));
    driver.close(&turn);
    // Five minutes after its last use nothing is warm any more.
    driver.now += 300_001;
    let (_, plan) = driver.ask(Wants { prompt: 101_000, ..wants });
    assert_eq!(engine(&plan), Some("acme/first"));
}

// 5.4: with eight turns to go a tenth of the price is worth a cold start.
#[test]
fn a_cheaper_engine_takes_over_where_it_pays_off() {
    let policy = cheapest(policy(&["acme/cheap", "acme/dear"], &[]));
    let mut driver = Driver::new(&policy, NOON);
    driver.price("acme/cheap", rates("0.75", "3", Some("0.075"), Some("0.04")), Vec::new());
    driver.price("acme/dear", rates("2.55", "10", Some("0.256"), None), Vec::new());
    let wants = Wants { prompt: 100_000, max_output: 100, ..Wants::default() };
    let (turn, _) = driver.ask(wants);
    driver.end(&turn, End::NeverSent);
    assert_eq!(engine(&driver.retry(&turn)), Some("acme/dear"));
    driver.end(&turn, End::Used { prompt: 100_000, output: 10, read: 90_000 });
    driver.close(&turn);
    driver.now += 60_000;
    let (_, plan) = driver.ask(Wants { prompt: 100_100, ..wants });
    let Plan::Dispatch { engine, choice, .. } = &plan else { panic!("{plan:?}") };
    assert_eq!((engine.as_str(), *choice), ("acme/cheap", Choice::Switched));
}

// Marks are passed once each, with the charge that passes them.
#[test]
fn fifty_eighty_and_a_hundred_percent_are_events() {
    let mut driver = driver(&policy(&["acme/m1"], &[("day", budget(All, Day, "1"))]));
    let crossed = |driver: &Driver| {
        let kinds = events::kind::KindTable::current();
        let mut marks = Vec::new();
        for stored in driver.log.stored().values() {
            let (_, _, bytes) = events::entry::Entry::split(stored).unwrap();
            for event in events::batch::Batch::parse(bytes).unwrap().events() {
                if let events::event::Body::BudgetCrossed(crossed) = event.decode(&kinds).unwrap() {
                    marks.push((crossed.percent, crossed.budget.spent.known));
                }
            }
        }
        marks
    };
    spend(&mut driver, Wants::default(), "0.49");
    assert_eq!(crossed(&driver), []);
    spend(&mut driver, Wants::default(), "0.01");
    assert_eq!(crossed(&driver), [(50, usd("0.5"))]);
    spend(&mut driver, Wants::default(), "0.3");
    let (first, _) = driver.ask(Wants::default());
    let (second, _) = driver.ask(Wants::default());
    driver.end(&first, End::Reported(usd("0.2").0));
    assert_eq!(crossed(&driver), [(50, usd("0.5")), (80, usd("0.8")), (100, usd("1"))]);
    driver.end(&second, End::Reported(usd("0.2").0));
    assert_eq!(crossed(&driver).len(), 3, "beyond the limit there is no further mark");
    driver.check_folds();
}

// What was dispatched before midnight is yesterday's money, though its charge comes after.
#[test]
fn a_charge_belongs_to_the_day_of_its_dispatch() {
    let mut driver = driver(&policy(&["acme/m1"], &[("day", budget(All, Day, "1"))]));
    let all = Instance::Account(Account::All);
    let midnight = Zone::UTC.day(NOON).to;
    driver.now = midnight - 1;
    let (turn, _) = driver.ask(Wants::default());
    driver.now = midnight;
    assert_eq!(driver.room("day", &all).reserved.known, Pico::ZERO);
    driver.end(&turn, End::Reported(usd("0.9").0));
    assert_eq!(driver.room("day", &all).spent.known, Pico::ZERO);
    driver.now = midnight - 1;
    assert_eq!(driver.room("day", &all).spent.known, usd("0.9"));
    assert_eq!(driver.world.routing.spend.conversation(&Bytes([1; 16])).known, usd("0.9"));
}

// The price that holds when a turn is dispatched is the one it is charged with.
#[test]
fn a_price_that_changes_on_the_way_changes_no_charge() {
    let mut driver = driver(&policy(&["acme/m1"], &[("day", budget(All, Day, "1"))]));
    let (turn, _) = driver.ask(Wants::default());
    driver.price("acme/m1", rates("1000", "1000", None, None), Vec::new());
    let charge = driver.end(&turn, End::Used { prompt: 1_000, output: 100, read: 0 }).unwrap();
    assert_eq!(charge.cost.amount(), Some(usd("0.011")));
}

// 5.1's invariant, over every engine of the bundled list: nothing expected is dearer than cold, and nothing cold dearer
// than the ceiling.
#[test]
fn over_the_whole_catalogue_cold_lies_between_expected_and_ceiling() {
    let list = replay::default_book::default_book().unwrap();
    let book = book_of(&list);
    let mut weighed_engines = 0;
    for price in book.engines().filter(|price| price.rates.input.is_some()) {
        let tariffs = Tariffs::new(price.clone());
        for prompt in [1, 999, 128_000, 200_000, 200_001, 272_001, 900_000] {
            for share in [0, 1 << 14, 1 << 15, 1 << 16] {
                let (prompt_max, output_max) = (prompt + prompt / 8, 4_000);
                let turn = Foreseen {
                    at: NOON,
                    prompt,
                    prompt_max,
                    images: 2,
                    output: 1_024,
                    reasoning: 100,
                    output_max,
                };
                let reliability = Share(share);
                let held = Held { tokens: prompt, reliability, written: reliability };
                let horizon =
                    Horizon { turns: 8, grows_by: 500, pauses: Pauses::default(), ttl: None };
                let weighed = weigh(&tariffs, &turn, held, &horizon);
                let [expected, cold, ceiling] =
                    [weighed.expected, weighed.cold, weighed.ceiling].map(|cost| cost.known.0);
                assert!(expected <= cold, "{}: {weighed:?}", price.engine);
                assert!(cold <= ceiling, "{}: {weighed:?}", price.engine);
                weighed_engines += 1;
            }
        }
    }
    assert!(weighed_engines > 28 * 1_000, "{weighed_engines}");
}

// Providers call a model by names of their own: it is charged at the price of the engine that was asked.
#[test]
fn a_model_served_under_its_dated_name_is_the_one_that_was_asked() {
    let mut driver = Driver::new(&policy(&["my-proxy/claude-x-1"], &[]), NOON);
    driver.price("my-proxy/claude-x-1", rates("1", "1", None, None), Vec::new());
    driver.price("anthropic/claude-x-1", rates("50", "50", None, None), Vec::new());
    let (turn, _) = driver.ask(Wants::default());
    let charge = driver.end_as(
        &turn,
        "claude-x-1-20260101",
        End::Used { prompt: 1_000, output: 0, read: 0 },
    );
    assert_eq!(charge.unwrap().cost.amount(), Some(usd("0.001")));
    let (turn, _) = driver.ask(Wants::default());
    let other = driver.end_as(&turn, "claude-x-2", End::Used { prompt: 1_000, output: 0, read: 0 });
    assert_eq!(other.unwrap().basis.label(), "estimated", "another model, of no known price");
}

// What hangs up on the way passes marks too.
#[test]
fn a_hang_up_passes_marks() {
    let mut driver = driver(&policy(&["acme/m1"], &[("day", budget(All, Day, "0.03"))]));
    let (turn, _) = driver.ask(Wants::default());
    driver.close(&turn);
    let kinds = events::kind::KindTable::current();
    let marks = driver.log.stored().values().flat_map(|stored| {
        let (_, _, bytes) = events::entry::Entry::split(stored).unwrap();
        let batch = events::batch::Batch::parse(bytes).unwrap();
        let bodies: Vec<Option<u8>> = batch
            .events()
            .map(|event| match event.decode(&kinds).unwrap() {
                events::event::Body::BudgetCrossed(crossed) => Some(crossed.percent),
                _ => None,
            })
            .collect();
        bodies.into_iter().flatten()
    });
    assert_eq!(marks.collect::<Vec<_>>(), [50], "0.0225 of 0.03");
}

// Law 6: what runs at home is charged nothing, however its turn ended.
#[test]
fn law_6_a_lost_turn_at_home_is_charged_the_same_again() {
    let mut policy = policy(&["ollama/qwen3"], &[]);
    policy.routing.local = vec!["ollama".to_owned()];
    let mut driver = Driver::new(&policy, NOON);
    let (turn, _) = driver.ask(Wants::default());
    driver.close(&turn);
    let start = replay::redecide::Start { snapshot: None, since: 0 };
    let kinds = events::kind::KindTable::current();
    let decider = super::driver::decider(&policy);
    let made = replay::redecide::redecide(&driver.log, &kinds, decider, start, &mut || {}).unwrap();
    assert_eq!((made.dispatches, made.charges, made.differing), (1, 1, 0));
}

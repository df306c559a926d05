//! The policy synthetic turns are decided under: budgets of every scope and period, some of them tight.

use std::collections::BTreeMap;
use std::sync::Arc;

use events::ids::Digest;
use events::money::Pico;
use events::payload::{BudgetPeriod, BudgetScope};
use projections::policy::{
    Budget, OnExceeded, Policy, PolicyError, Profile, Reserve, Routing, Rules,
};

use super::lane::MODELS;
use crate::decider::Decider;
use crate::effective_book::PricePolicy;
use crate::prices::{ListFormat, PriceList};

/// Whose turns nothing may be spent on.
pub(super) const PENNILESS: &str = "penniless";
/// Whose turns go to an engine without a price, within a budget.
pub(super) const UNLISTED: &str = "unlisted";

const fn usd(cents: i128) -> Pico {
    Pico(cents * 10_000_000_000)
}

fn budget(scope: BudgetScope, period: BudgetPeriod, limit: Pico) -> Budget {
    let on_exceeded = OnExceeded::Downgrade;
    Budget { scope, period, limit, zone: "UTC".to_owned(), paced: false, on_exceeded }
}

fn policy() -> Policy {
    use BudgetPeriod::{Day, Lifetime, Month, Rolling24h, Week};
    use BudgetScope::{All, Client, Conversation, Engine, Project, Turn};
    let named = |name: &str, budget| (name.to_owned(), budget);
    let budgets = BTreeMap::from([
        named("conversation", budget(Conversation, Lifetime, usd(5_000))),
        named("client", budget(Client, Rolling24h, usd(5_000_000))),
        named(
            "project",
            Budget {
                zone: "Asia/Shanghai".to_owned(),
                paced: true,
                ..budget(Project, Month, usd(100_000_000))
            },
        ),
        named("engine", budget(Engine, Week, usd(50_000_000))),
        named(
            "day",
            Budget { zone: "Europe/Berlin".to_owned(), ..budget(All, Day, usd(10_000_000)) },
        ),
    ]);
    let turn = |limit| {
        named("turn", Budget { on_exceeded: OnExceeded::Refuse, ..budget(Turn, Lifetime, limit) })
    };
    let mut profiles = BTreeMap::from([
        (
            PENNILESS.to_owned(),
            Profile { engines: None, budgets: BTreeMap::from([turn(Pico::ZERO)]) },
        ),
        (
            UNLISTED.to_owned(),
            Profile {
                engines: Some(vec!["acme/unlisted-1".to_owned()]),
                budgets: BTreeMap::from([turn(usd(1))]),
            },
        ),
    ]);
    let fallbacks = [&MODELS[2], &MODELS[5], &MODELS[6]].map(|model| model.engine.to_owned());
    for model in &MODELS {
        let mut engines = vec![model.engine.to_owned()];
        engines.extend(fallbacks.iter().filter(|fallback| *fallback != model.engine).cloned());
        let profile = Profile { engines: Some(engines), budgets: BTreeMap::new() };
        profiles.insert(model.profile().to_owned(), profile);
    }
    let engines = MODELS.iter().map(|model| model.engine.to_owned()).collect();
    let routing = Routing {
        engines,
        reserve: Reserve::Expected,
        unknown_price: Some(usd(1)),
        ..Routing::default()
    };
    Policy { routing, budgets, profiles }
}

/// Decides as every synthetic ledger's owner does: by the prices the ledger holds, and no list.
///
/// # Errors
/// None: the policy is a constant.
pub(super) fn decider() -> Result<Decider, PolicyError> {
    let list = PriceList {
        format: ListFormat::ModelsDev,
        source: "none".to_owned(),
        dated: None,
        prices: Vec::new(),
        refused: Vec::new(),
        unpriced: 0,
        digest: Digest::ZERO,
    };
    Ok(Decider::new(Rules::new(policy())?, PricePolicy::default(), Arc::new(list)))
}

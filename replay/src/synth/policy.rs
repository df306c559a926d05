//! The policy synthetic turns are decided under: budgets of every scope and period, some of them tight.

use std::fmt::Write as _;

use events::ids::LedgerId;

use super::lane::MODELS;
use crate::decider::{Decider, Lists};

/// Whose turns nothing may be spent on.
pub(super) const PENNILESS: &str = "penniless";
/// Whose turns go to an engine without a price, within a budget.
pub(super) const UNLISTED: &str = "unlisted";

const GENERAL: &str = r#"
[routing]
objective = "ordered"
tool_loops = "free"
unknown_price_usd = "0.01"
[routing.explore]
moderate = "0.1"
hard = "0.1"
[budgets.conversation]
scope = "conversation"
limit_usd = "50"
[budgets.client]
scope = "client"
period = "rolling-24h"
limit_usd = "50000"
[budgets.project]
scope = "project"
period = "month"
limit_usd = "1000000"
zone = "Asia/Shanghai"
paced = true
[budgets.engine]
scope = "engine"
limit_usd = "500000"
[budgets.day]
scope = "all"
period = "day"
limit_usd = "100000"
zone = "Europe/Berlin"
[profiles.penniless.budgets.turn]
scope = "turn"
limit_usd = "0"
on_exceeded = "refuse"
[profiles.unlisted]
engines = ["acme/unlisted-1"]
[profiles.unlisted.budgets.turn]
scope = "turn"
limit_usd = "0.01"
on_exceeded = "refuse"
"#;

/// The policy, as a person would write it: each model has a profile that prefers it.
pub(super) fn text() -> String {
    let fallbacks = [&MODELS[2], &MODELS[5], &MODELS[6]].map(|model| model.engine);
    let listed = |engines: &[&str]| {
        let quoted: Vec<String> = engines.iter().map(|engine| format!("\"{engine}\"")).collect();
        format!("engines = [{}]", quoted.join(", "))
    };
    let all: Vec<&str> = MODELS.iter().map(|model| model.engine).collect();
    let mut text = GENERAL.replacen("[routing]\n", &format!("[routing]\n{}\n", listed(&all)), 1);
    for model in &MODELS {
        let others = fallbacks.iter().copied().filter(|fallback| *fallback != model.engine);
        let engines: Vec<&str> = std::iter::once(model.engine).chain(others).collect();
        // Writing to a text has no way to fail.
        let _ = writeln!(text, "[profiles.\"{}\"]\n{}", model.profile(), listed(&engines));
    }
    text
}

/// Decides as every synthetic ledger's owner does: by the rules and prices the ledger holds, and no list.
pub(super) fn decider(ledger: LedgerId) -> Decider {
    Decider::new(ledger, Lists::none())
}

//! `[budgets.NAME]`: limits on what is spent.

use std::collections::BTreeMap;

use events::payload::{BudgetPeriod, BudgetScope};
use projections::policy::{Budget, OnExceeded};
use serde::Deserialize;

use super::figures::usd;
use super::{PolicyFileError, word, wrong};

pub(super) type BudgetFiles = BTreeMap<String, BudgetFile>;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct BudgetFile {
    scope: Option<String>,
    period: Option<String>,
    limit_usd: Option<String>,
    zone: Option<String>,
    paced: Option<bool>,
    on_exceeded: Option<String>,
}

pub(super) fn read(files: BudgetFiles) -> Result<BTreeMap<String, Budget>, PolicyFileError> {
    read_over("budgets", files, &BTreeMap::new())
}

/// Budgets that may leave out what another of the same name says.
pub(super) fn read_over(
    field: &str,
    files: BudgetFiles,
    base: &BTreeMap<String, Budget>,
) -> Result<BTreeMap<String, Budget>, PolicyFileError> {
    let budget = |(name, file): (String, BudgetFile)| {
        let read = budget(&format!("{field}.{name}"), &file, base.get(&name))?;
        Ok((name, read))
    };
    files.into_iter().map(budget).collect()
}

fn budget(
    field: &str,
    file: &BudgetFile,
    base: Option<&Budget>,
) -> Result<Budget, PolicyFileError> {
    let scopes: Vec<_> = BudgetScope::ALL.iter().map(|scope| (scope.label(), *scope)).collect();
    let periods: Vec<_> =
        BudgetPeriod::ALL.iter().map(|period| (period.label(), *period)).collect();
    let outcomes = [("downgrade", OnExceeded::Downgrade), ("refuse", OnExceeded::Refuse)];
    let of = |key: &str| format!("{field}.{key}");
    let missing = |key: &str, problem: &str| wrong(&of(key), "", problem);
    let scope = match &file.scope {
        Some(text) => word(&of("scope"), text, &scopes)?,
        None => base.map(|base| base.scope).ok_or_else(|| {
            missing("scope", "is missing: turn, conversation, client, project, engine or all")
        })?,
    };
    let limit = match &file.limit_usd {
        Some(text) => usd(&of("limit_usd"), text)?,
        None => base
            .map(|base| base.limit)
            .ok_or_else(|| missing("limit_usd", "is missing: dollars, as text like \"5.00\""))?,
    };
    let period = match &file.period {
        Some(text) => word(&of("period"), text, &periods)?,
        None => base.map_or_else(|| by_default(scope), |base| base.period),
    };
    let outcome = file.on_exceeded.as_ref().map(|text| word(&of("on_exceeded"), text, &outcomes));
    Ok(Budget {
        scope,
        period,
        limit,
        zone: match (&file.zone, base) {
            (Some(zone), _) => zone.clone(),
            (None, Some(base)) => base.zone.clone(),
            (None, None) => "UTC".to_owned(),
        },
        paced: file.paced.or(base.map(|base| base.paced)).unwrap_or(false),
        on_exceeded: outcome
            .transpose()?
            .or(base.map(|base| base.on_exceeded))
            .unwrap_or(OnExceeded::Downgrade),
    })
}

/// Turns and conversations are counted as long as they last, an engine by the week. For the rest nothing goes without
/// saying: what is left out is refused.
const fn by_default(scope: BudgetScope) -> BudgetPeriod {
    match scope {
        BudgetScope::Engine => BudgetPeriod::Week,
        _ => BudgetPeriod::Lifetime,
    }
}

#[cfg(test)]
mod tests {
    use super::super::read as parse;
    use super::*;

    const BUDGETS: &str = "
        [routing]
        engines = [\"acme/m1\", \"acme/m2\"]
        reserve = \"ceiling\"
        switch_margin = \"1.25\"
        [budgets.turn]
        scope = \"turn\"
        limit_usd = \"0.50\"
        [budgets.month]
        scope = \"all\"
        period = \"month\"
        limit_usd = \"200\"
        zone = \"Europe/Berlin\"
        paced = true
        [profiles.auto-cheap]
        engines = [\"acme/m2\"]
        [profiles.auto-cheap.budgets.turn]
        limit_usd = \"0.05\"
        on_exceeded = \"refuse\"
    ";

    #[test]
    fn profiles_override_budgets_field_by_field() {
        let rules = parse(BUDGETS).unwrap().rules;
        assert_eq!(rules.policy.routing.switch_margin.0, 1_250);
        assert_eq!(rules.policy.budgets["month"].period, BudgetPeriod::Month);
        let turn = |profile: &str| {
            let rule = rules.budgets(profile).iter().find(|rule| rule.name == "turn").unwrap();
            (rule.budget.limit.grouped(2), rule.budget.on_exceeded, rule.budget.scope)
        };
        assert_eq!(turn("auto"), ("0.50".to_owned(), OnExceeded::Downgrade, BudgetScope::Turn));
        assert_eq!(turn("auto-cheap"), ("0.05".to_owned(), OnExceeded::Refuse, BudgetScope::Turn));
        assert_eq!(rules.budgets("auto-cheap").len(), 2, "what it does not say holds as it is");
        assert_eq!(rules.profile("auto-cheap").engines, ["acme/m2"]);
        assert_eq!(rules.profile("auto").engines, ["acme/m1", "acme/m2"]);
    }

    #[test]
    fn what_makes_no_sense_is_named_with_its_remedy() {
        let problem = |text: &str| parse(text).unwrap_err().to_string();
        let budget = |text: &str| problem(&format!("[budgets.b]\nlimit_usd = \"1\"\n{text}"));
        assert_eq!(
            budget("scope = \"team\""),
            "budgets.b.scope: 'team' is none of turn, conversation, client, project, engine, all"
        );
        assert!(budget("scope = \"all\"").contains("needs a period"));
        assert!(budget("scope = \"turn\"\nperiod = \"day\"").contains("leave period out"));
        assert!(
            budget("scope = \"all\"\nperiod = \"day\"\nzone = \"Berlin\"")
                .contains("budgets.b.zone: 'Berlin' is no time zone; write one like Europe/Berlin")
        );
        assert!(
            budget("scope = \"all\"\nperiod = \"day\"\npaced = true")
                .contains("set period = \"month\"")
        );
        assert!(
            problem("[budgets.b]\nscope = \"turn\"").contains("budgets.b.limit_usd: '' is missing")
        );
        assert!(
            problem("[budgets.b]\nscope = \"turn\"\nlimit_usd = \"-1\"")
                .contains("budgets.b.limit_usd: '-1")
        );
        assert!(problem("[routing]\nswitch_margin = \"0.9\"").contains("is not 1 to 10"));
        assert!(problem("[routing]\nhorizon_turns = 0").contains("is not 1 to 1000"));
        assert!(problem("[routing]\nengines = [\"a\", \"a\"]").contains("stands there twice"));
        assert!(problem("[routing]\nreserve = \"all\"").contains("is none of expected, ceiling"));
    }
}

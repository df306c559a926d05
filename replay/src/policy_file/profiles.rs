//! `[profiles.NAME]`: what a profile says differently.

use std::collections::BTreeMap;

use projections::policy::{Budget, Profile};
use serde::Deserialize;

use super::figures::tiers;
use super::routing::objectives;
use super::{PolicyFileError, budgets, word};

pub(super) type ProfileFiles = BTreeMap<String, ProfileFile>;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ProfileFile {
    objective: Option<String>,
    engines: Option<Vec<String>>,
    upstreams: Option<Vec<String>>,
    allow: Option<Vec<String>>,
    deny: Vec<String>,
    min_tier: Option<String>,
    max_tier: Option<String>,
    max_output_tokens: Option<u32>,
    budgets: budgets::BudgetFiles,
}

/// What profiles say, on top of the policy's own budgets.
pub(super) fn read(
    files: ProfileFiles,
    base: &BTreeMap<String, Budget>,
) -> Result<BTreeMap<String, Profile>, PolicyFileError> {
    let profile = |(name, file): (String, ProfileFile)| {
        let field = format!("profiles.{name}");
        let tier = |key: &str, text: Option<String>| {
            text.map(|text| word(&format!("{field}.{key}"), &text, &tiers())).transpose()
        };
        let objective = file
            .objective
            .map(|text| word(&format!("{field}.objective"), &text, &objectives()))
            .transpose()?;
        let profile = Profile {
            objective,
            engines: file.engines,
            upstreams: file.upstreams,
            allow: file.allow,
            deny: file.deny,
            min_tier: tier("min_tier", file.min_tier)?,
            max_tier: tier("max_tier", file.max_tier)?,
            max_output_tokens: file.max_output_tokens,
            budgets: budgets::read_over(&format!("{field}.budgets"), file.budgets, base)?,
        };
        Ok((name, profile))
    };
    files.into_iter().map(profile).collect()
}

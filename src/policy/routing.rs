//! `[routing]` and `[profiles.NAME]`: who takes turns.

use std::collections::BTreeMap;

use events::payload::CacheTtl;
use events::rate::Rate;
use projections::policy::{Budget, Permille, Profile, Reserve, Routing};
use serde::Deserialize;

use super::{PolicyError, budgets, usd, word, wrong};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RoutingFile {
    engines: Vec<String>,
    local: Vec<String>,
    reserve: Option<String>,
    horizon_turns: Option<u32>,
    switch_margin: Option<String>,
    max_output_tokens: Option<u32>,
    unknown_price_usd: Option<String>,
    cache_ttl: Option<String>,
}

pub(super) type ProfileFiles = BTreeMap<String, ProfileFile>;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ProfileFile {
    engines: Option<Vec<String>>,
    budgets: budgets::BudgetFiles,
}

pub(super) fn read(file: RoutingFile) -> Result<Routing, PolicyError> {
    let default = Routing::default();
    let reserves = [("expected", Reserve::Expected), ("ceiling", Reserve::Ceiling)];
    let ttls =
        [("auto", None), ("5m", Some(CacheTtl::FiveMinutes)), ("1h", Some(CacheTtl::OneHour))];
    let reserve = file.reserve.map(|text| word("routing.reserve", &text, &reserves)).transpose()?;
    let margin = file.switch_margin.map(|text| permille("routing.switch_margin", &text));
    let unknown = file.unknown_price_usd.map(|text| usd("routing.unknown_price_usd", &text));
    let ttl = file.cache_ttl.map(|text| word("routing.cache_ttl", &text, &ttls)).transpose()?;
    Ok(Routing {
        engines: file.engines,
        local: file.local,
        reserve: reserve.unwrap_or(default.reserve),
        horizon_turns: file.horizon_turns.unwrap_or(default.horizon_turns),
        switch_margin: margin.transpose()?.unwrap_or(default.switch_margin),
        max_output_tokens: file.max_output_tokens.unwrap_or(default.max_output_tokens),
        unknown_price: unknown.transpose()?,
        cache_ttl: ttl.flatten(),
    })
}

/// What profiles say, on top of the policy's own budgets.
pub(super) fn profiles(
    files: ProfileFiles,
    base: &BTreeMap<String, Budget>,
) -> Result<BTreeMap<String, Profile>, PolicyError> {
    let profile = |(name, file): (String, ProfileFile)| {
        let budgets = budgets::read_over(&format!("profiles.{name}.budgets"), file.budgets, base)?;
        Ok((name, Profile { engines: file.engines, budgets }))
    };
    files.into_iter().map(profile).collect()
}

/// A factor with at most three digits after the point, as text: a number in TOML would not be exact.
fn permille(field: &str, text: &str) -> Result<Permille, PolicyError> {
    let factor: Result<Rate, _> = text.parse();
    let (mantissa, scale) =
        factor.map_err(|_| wrong(field, text, "is no factor like 1.3"))?.decimal();
    let missing = 3_u8.checked_sub(scale);
    let permille = missing.and_then(|missing| mantissa.checked_mul(10_u64.pow(missing.into())));
    let permille = permille.and_then(|permille| u32::try_from(permille).ok());
    permille.map(Permille).ok_or_else(|| {
        wrong(field, text, "has more than three digits after the point, or is too large")
    })
}

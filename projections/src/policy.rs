//! What people say about routing and money: engines, reserves, budgets, profiles.

use std::collections::BTreeMap;

use events::bytes::Bytes16;
use events::hash::{Domain, digest};
use events::money::Pico;
use events::payload::{BudgetPeriod, BudgetScope, CacheTtl, Name};
use serde::Serialize;

use crate::calendar::Zone;

/// How much is set aside for a dispatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Reserve {
    /// What is expected. Turns that go on at once may together come to more than a limit.
    #[default]
    Expected,
    /// More than it can come to: with known prices and honest usage no limit is ever exceeded.
    Ceiling,
}

/// Thousandths: 1,300 is 1.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Permille(pub u32);

/// Who takes turns, and how they are weighed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Routing {
    /// The engines, best first.
    pub engines: Vec<String>,
    /// Upstreams of one's own (`ollama` of `ollama/qwen3`): what runs there is free.
    pub local: Vec<String>,
    /// How much is set aside.
    pub reserve: Reserve,
    /// Turns a switch has to pay off in.
    pub horizon_turns: u32,
    /// Staying has to cost this many times as much as a switch before there is one.
    pub switch_margin: Permille,
    /// The longest answer asked for where the client does not say, in tokens.
    pub max_output_tokens: u32,
    /// What is set aside for a turn whose price is not known, where a budget applies; `None`: it is refused.
    pub unknown_price: Option<Pico>,
    /// How long cache writes are to be kept; `None`: whichever pays.
    pub cache_ttl: Option<CacheTtl>,
}

impl Default for Routing {
    fn default() -> Self {
        Self {
            engines: Vec::new(),
            local: Vec::new(),
            reserve: Reserve::default(),
            horizon_turns: 8,
            switch_margin: Permille(1_300),
            max_output_tokens: 32_000,
            unknown_price: None,
            cache_ttl: None,
        }
    }
}

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

/// What a profile says differently.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Profile {
    /// Its engines, best first, instead of the policy's.
    pub engines: Option<Vec<String>>,
    /// Its own budgets, instead of the policy's of the same name.
    pub budgets: BTreeMap<String, Budget>,
}

/// What people say about routing and money.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Policy {
    /// Who takes turns.
    pub routing: Routing,
    /// Limits, by name.
    pub budgets: BTreeMap<String, Budget>,
    /// What profiles say differently, by name.
    pub profiles: BTreeMap<String, Profile>,
}

/// Why a policy cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: '{value}' {problem}")]
pub struct PolicyError {
    /// Where it stands.
    pub field: String,
    /// What it holds.
    pub value: String,
    /// What is wrong, and what would be right.
    pub problem: &'static str,
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

/// A policy that can be followed.
#[derive(Clone, Debug)]
pub struct Rules {
    /// What it says.
    pub policy: Policy,
    /// Digest of its canonical form.
    pub digest: Bytes16,
    /// The budgets of turns under no profile the policy knows.
    budgets: Vec<BudgetRule>,
    profiles: BTreeMap<String, Vec<BudgetRule>>,
}

impl Rules {
    /// Checks a policy.
    ///
    /// # Errors
    /// [`PolicyError`] with the first thing that makes no sense.
    pub fn new(policy: Policy) -> Result<Self, PolicyError> {
        check_routing(&policy.routing)?;
        let budgets = rules("budgets", policy.budgets.iter())?;
        let mut profiles = BTreeMap::new();
        for (name, profile) in &policy.profiles {
            let field = format!("profiles.{name}");
            check_name("profiles", name)?;
            check_engines(
                &format!("{field}.engines"),
                profile.engines.as_deref().unwrap_or_default(),
            )?;
            let mut own = policy.budgets.clone();
            own.extend(profile.budgets.clone());
            profiles.insert(name.clone(), rules(&format!("{field}.budgets"), own.iter())?);
        }
        let digest = digest_of(&policy);
        Ok(Self { policy, digest, budgets, profiles })
    }

    /// The same rules, as part of more that people say: the digest is of both.
    #[must_use]
    pub fn along_with(mut self, more: &impl Serialize) -> Self {
        self.digest = digest_of(&(&self.policy, more));
        self
    }

    /// The budgets that apply under a profile.
    #[must_use]
    pub fn budgets(&self, profile: &str) -> &[BudgetRule] {
        self.profiles.get(profile).unwrap_or(&self.budgets)
    }

    /// Every budget there is: the policy's own, then those that profiles say differently, each with its profile.
    pub fn every_budget(&self) -> impl Iterator<Item = (Option<&str>, &BudgetRule)> {
        let own = self.budgets.iter().map(|rule| (None, rule));
        let of_profiles = self.profiles.iter().flat_map(|(name, rules)| {
            let differs = |rule: &&BudgetRule| {
                self.policy
                    .profiles
                    .get(name)
                    .is_some_and(|profile| profile.budgets.contains_key(&rule.name))
            };
            rules.iter().filter(differs).map(move |rule| (Some(name.as_str()), rule))
        });
        own.chain(of_profiles)
    }

    /// The engines of a profile, best first.
    #[must_use]
    pub fn engines(&self, profile: &str) -> &[String] {
        let own = self.policy.profiles.get(profile).and_then(|profile| profile.engines.as_ref());
        own.unwrap_or(&self.policy.routing.engines)
    }

    /// Every engine any profile names, each once, in order of name.
    #[must_use]
    pub fn every_engine(&self) -> Vec<&str> {
        let of_profiles =
            self.policy.profiles.values().filter_map(|profile| profile.engines.as_ref());
        let all = of_profiles.flatten().chain(&self.policy.routing.engines);
        let mut names: Vec<&str> = all.map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// True when an engine runs on an upstream of one's own.
    #[must_use]
    pub fn is_local(&self, engine: &str) -> bool {
        let upstream = engine.split_once('/').map_or(engine, |(upstream, _)| upstream);
        self.policy.routing.local.iter().any(|local| local == upstream)
    }
}

fn digest_of(canonical: &impl Serialize) -> Bytes16 {
    // Writing plain data to memory has no way to fail.
    let whole = digest(Domain::Policy, &rmp_serde::to_vec(canonical).unwrap_or_default());
    let mut digest = Bytes16::ZERO;
    digest.0.copy_from_slice(&whole.0[..16]);
    digest
}

fn wrong(field: impl Into<String>, value: impl ToString, problem: &'static str) -> PolicyError {
    PolicyError { field: field.into(), value: value.to_string(), problem }
}

fn is_amount(amount: Pico) -> bool {
    (Pico::ZERO..=Pico::MAX).contains(&amount)
}

fn check_name(field: &str, name: &str) -> Result<(), PolicyError> {
    let problem = "is no name: 1 to 128 characters of printable ASCII";
    Name::new(name)
        .map(|_| ())
        .map_err(|_| wrong(field, name.chars().take(40).collect::<String>(), problem))
}

fn check_engines(field: &str, engines: &[String]) -> Result<(), PolicyError> {
    for (index, engine) in engines.iter().enumerate() {
        check_name(field, engine)?;
        if engines[..index].contains(engine) {
            return Err(wrong(field, engine, "stands there twice"));
        }
    }
    Ok(())
}

fn check_routing(routing: &Routing) -> Result<(), PolicyError> {
    check_engines("routing.engines", &routing.engines)?;
    routing.local.iter().try_for_each(|local| check_name("routing.local", local))?;
    if !(1..=1_000).contains(&routing.horizon_turns) {
        return Err(wrong("routing.horizon_turns", routing.horizon_turns, "is not 1 to 1000"));
    }
    if !(Permille(1_000)..=Permille(10_000)).contains(&routing.switch_margin) {
        let margin = format!("{} thousandths", routing.switch_margin.0);
        return Err(wrong("routing.switch_margin", margin, "is not 1 to 10"));
    }
    if routing.max_output_tokens == 0 {
        return Err(wrong("routing.max_output_tokens", 0, "leaves no room for an answer"));
    }
    if let Some(price) = routing.unknown_price.filter(|price| !is_amount(*price)) {
        return Err(wrong(
            "routing.unknown_price_usd",
            price,
            "is negative, or more than there is",
        ));
    }
    Ok(())
}

fn rules<'b>(
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

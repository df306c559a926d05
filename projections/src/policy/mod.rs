//! What people say about routing and money: engines, objectives, tiers, reserves, budgets, profiles.

mod budget;
mod routing;

use std::collections::{BTreeMap, BTreeSet};

use events::bytes::Bytes16;
use events::hash::{Domain, digest};
use events::money::Pico;
use events::payload::{Name, Quality, TurnTier};
use serde::Serialize;

use self::budget::rules;
pub use self::budget::{Budget, BudgetRule, OnExceeded};
pub use self::routing::{
    ByKind, EngineFacts, Explore, ExploreWhen, HoldRules, LatencyRules, Objective, Permille,
    Reserve, Routing, TaskRules, TierRules, ToolLoops, TrustRules,
};

/// What a profile says differently.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Profile {
    /// What engines are chosen by, instead of the policy's objective.
    pub objective: Option<Objective>,
    /// Its engines, best first, instead of the policy's.
    pub engines: Option<Vec<String>>,
    /// Its upstreams, instead of the policy's.
    pub upstreams: Option<Vec<String>>,
    /// Patterns: no other engine takes its turns, instead of the policy's.
    pub allow: Option<Vec<String>>,
    /// Patterns: no such engine takes its turns, besides the policy's.
    pub deny: Vec<String>,
    /// The easiest tier its turns are served at.
    pub min_tier: Option<TurnTier>,
    /// The hardest tier its turns are served at.
    pub max_tier: Option<TurnTier>,
    /// The longest answer asked for where the client does not say, in tokens, instead of the policy's.
    pub max_output_tokens: Option<u32>,
    /// Its own budgets, instead of the policy's of the same name.
    pub budgets: BTreeMap<String, Budget>,
}

/// Profiles that are there without being stated: which tiers each serves at (router facts 3.6).
pub const BUILT_IN_PROFILES: [(&str, TurnTier, TurnTier); 4] = [
    ("auto", TurnTier::Trivial, TurnTier::Hard),
    ("auto-cheap", TurnTier::Trivial, TurnTier::Simple),
    ("auto-max", TurnTier::Moderate, TurnTier::Hard),
    ("auto-sub", TurnTier::Trivial, TurnTier::Moderate),
];

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

/// What holds under a profile.
#[derive(Clone, Debug)]
pub struct ProfileRules {
    /// What engines are chosen by.
    pub objective: Objective,
    /// The engines, best first; none: all of the upstreams'.
    pub engines: Vec<String>,
    /// The upstreams whose engines take turns, where no engines are named.
    pub upstreams: Vec<String>,
    /// Patterns: no other engine takes turns; none: all do.
    pub allow: Vec<String>,
    /// Patterns: no such engine takes turns.
    pub deny: Vec<String>,
    /// The easiest tier turns are served at, and the hardest.
    pub tiers: (TurnTier, TurnTier),
    /// The longest answer asked for where the client does not say, in tokens.
    pub max_output_tokens: u32,
    /// The budgets that apply.
    pub budgets: Vec<BudgetRule>,
}

/// A policy that can be followed.
#[derive(Clone, Debug)]
pub struct Rules {
    /// What it says.
    pub policy: Policy,
    /// Digest of its canonical form.
    pub digest: Bytes16,
    /// The rules of turns under no profile the policy knows.
    other: ProfileRules,
    profiles: BTreeMap<String, ProfileRules>,
}

impl Rules {
    /// Checks a policy.
    ///
    /// # Errors
    /// [`PolicyError`] with the first thing that makes no sense.
    pub fn new(policy: Policy) -> Result<Self, PolicyError> {
        check_routing(&policy.routing)?;
        let other = profile_rules(&policy, "budgets", &Profile::default(), None)?;
        let built_in = BUILT_IN_PROFILES.map(|(name, ..)| name.to_owned());
        let names: BTreeSet<&String> = built_in.iter().chain(policy.profiles.keys()).collect();
        let mut profiles = BTreeMap::new();
        for name in names {
            let field = format!("profiles.{name}");
            check_name("profiles", name)?;
            let stated = policy.profiles.get(name).cloned().unwrap_or_default();
            let tiers = BUILT_IN_PROFILES.iter().find(|(built_in, ..)| built_in == name);
            let tiers = tiers.map(|(_, min, max)| (*min, *max));
            check_profile(&field, &stated)?;
            let rules = profile_rules(&policy, &format!("{field}.budgets"), &stated, tiers)?;
            if rules.tiers.0 > rules.tiers.1 {
                let problem = "is above max_tier: no tier lies between them";
                return Err(wrong(format!("{field}.min_tier"), rules.tiers.0.label(), problem));
            }
            let unvalued = rules.objective == Objective::Value
                && policy.routing.value.figures().next().is_none();
            if unvalued {
                let problem = "needs routing.value_usd: what doing it well is worth";
                return Err(wrong(format!("{field}.objective"), "value", problem));
            }
            if rules.objective == Objective::Ordered && rules.engines.is_empty() {
                let problem = "needs engines, best first: a catalogue has no order";
                return Err(wrong(format!("{field}.objective"), "ordered", problem));
            }
            profiles.insert(name.clone(), rules);
        }
        let digest = digest_of(&policy);
        Ok(Self { policy, digest, other, profiles })
    }

    /// The same rules, as part of more that people say: the digest is of both.
    #[must_use]
    pub fn along_with(mut self, more: &impl Serialize) -> Self {
        self.digest = digest_of(&(&self.policy, more));
        self
    }

    /// What holds under a profile.
    #[must_use]
    pub fn profile(&self, profile: &str) -> &ProfileRules {
        self.profiles.get(profile).unwrap_or(&self.other)
    }

    /// The profiles there are, by name.
    pub fn profiles(&self) -> impl Iterator<Item = (&str, &ProfileRules)> {
        self.profiles.iter().map(|(name, rules)| (name.as_str(), rules))
    }

    /// What holds under profiles the policy does not know.
    #[must_use]
    pub const fn other(&self) -> &ProfileRules {
        &self.other
    }

    /// The budgets that apply under a profile.
    #[must_use]
    pub fn budgets(&self, profile: &str) -> &[BudgetRule] {
        &self.profile(profile).budgets
    }

    /// Every budget there is: the policy's own, then those that profiles say differently, each with its profile.
    pub fn every_budget(&self) -> impl Iterator<Item = (Option<&str>, &BudgetRule)> {
        let own = self.other.budgets.iter().map(|rule| (None, rule));
        let of_profiles = self.profiles.iter().flat_map(|(name, rules)| {
            let differs = |rule: &&BudgetRule| {
                self.policy
                    .profiles
                    .get(name)
                    .is_some_and(|profile| profile.budgets.contains_key(&rule.name))
            };
            rules.budgets.iter().filter(differs).map(move |rule| (Some(name.as_str()), rule))
        });
        own.chain(of_profiles)
    }

    /// True when an engine runs on an upstream of one's own.
    #[must_use]
    pub fn is_local(&self, engine: &str) -> bool {
        self.policy.routing.local.iter().any(|local| local == upstream_of(engine))
    }
}

/// The upstream an engine lies behind: `ollama` of `ollama/qwen3`.
#[must_use]
pub fn upstream_of(engine: &str) -> &str {
    engine.split_once('/').map_or(engine, |(upstream, _)| upstream)
}

/// What holds under a profile, with what it leaves out taken from the policy.
fn profile_rules(
    policy: &Policy,
    budgets_field: &str,
    stated: &Profile,
    built_in: Option<(TurnTier, TurnTier)>,
) -> Result<ProfileRules, PolicyError> {
    let routing = &policy.routing;
    let mut budgets = policy.budgets.clone();
    budgets.extend(stated.budgets.clone());
    let (min, max) = built_in.unwrap_or((TurnTier::Trivial, TurnTier::Hard));
    let mut deny = routing.deny.clone();
    deny.extend(stated.deny.iter().cloned());
    Ok(ProfileRules {
        objective: stated.objective.unwrap_or(routing.objective),
        engines: stated.engines.clone().unwrap_or_else(|| routing.engines.clone()),
        upstreams: stated.upstreams.clone().unwrap_or_else(|| routing.upstreams.clone()),
        allow: stated.allow.clone().unwrap_or_else(|| routing.allow.clone()),
        deny,
        tiers: (stated.min_tier.unwrap_or(min), stated.max_tier.unwrap_or(max)),
        max_output_tokens: stated.max_output_tokens.unwrap_or(routing.max_output_tokens),
        budgets: rules(budgets_field, budgets.iter())?,
    })
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

/// Names, or patterns of names, each once.
fn check_names(field: &str, names: &[String]) -> Result<(), PolicyError> {
    for (index, name) in names.iter().enumerate() {
        check_name(field, name)?;
        if names[..index].contains(name) {
            return Err(wrong(field, name, "stands there twice"));
        }
    }
    Ok(())
}

fn check_profile(field: &str, profile: &Profile) -> Result<(), PolicyError> {
    let lists = [
        ("engines", profile.engines.as_deref()),
        ("upstreams", profile.upstreams.as_deref()),
        ("allow", profile.allow.as_deref()),
        ("deny", Some(profile.deny.as_slice())),
    ];
    for (name, list) in lists {
        check_names(&format!("{field}.{name}"), list.unwrap_or_default())?;
    }
    if profile.max_output_tokens == Some(0) {
        let problem = "leaves no room for an answer";
        return Err(wrong(format!("{field}.max_output_tokens"), 0, problem));
    }
    Ok(())
}

fn check_routing(routing: &Routing) -> Result<(), PolicyError> {
    for (field, list) in [
        ("routing.engines", &routing.engines),
        ("routing.upstreams", &routing.upstreams),
        ("routing.allow", &routing.allow),
        ("routing.deny", &routing.deny),
        ("routing.local", &routing.local),
    ] {
        check_names(field, list)?;
    }
    if !(1..=1_000).contains(&routing.horizon_turns) {
        return Err(wrong("routing.horizon_turns", routing.horizon_turns, "is not 1 to 1000"));
    }
    between("routing.switch_margin", routing.switch_margin, (1_000, 10_000), "is not 1 to 10")?;
    between(
        "routing.context_headroom",
        routing.context_headroom,
        (1_000, 10_000),
        "is not 1 to 10",
    )?;
    between("routing.min_trust", routing.trust.min, (0, 1_000), "is not 0 to 1")?;
    between(
        "routing.confirm_upgrade_below",
        routing.hold.confirm_below,
        (0, 1_000),
        "is not 0 to 1",
    )?;
    between(
        "routing.mechanical_retry_factor",
        routing.hold.mechanical_retry_factor,
        (0, 1_000),
        "is not 0 to 1",
    )?;
    between(
        "routing.feedback_weight",
        routing.trust.feedback_weight,
        (0, 100_000),
        "is not 0 to 100",
    )?;
    between("routing.latency_weight", routing.latency.weight, (0, 100_000), "is not 0 to 100")?;
    if routing.max_output_tokens == 0 {
        return Err(wrong("routing.max_output_tokens", 0, "leaves no room for an answer"));
    }
    if routing.latency.reference_tokens_per_s == 0 {
        return Err(wrong("routing.latency_reference_tokens_per_s", 0, "would take for ever"));
    }
    for (upstream, bias) in &routing.cost_bias {
        check_name("routing.cost_bias", upstream)?;
        let field = format!("routing.cost_bias.{upstream}");
        between(&field, *bias, (1, 100_000), "is not 0.001 to 100")?;
    }
    check_amounts(routing)?;
    check_scores(routing)?;
    if let Some((pattern, bias)) =
        routing.bias.iter().find(|(_, bias)| !(-100..=100).contains(bias))
    {
        return Err(wrong(format!("routing.bias.{pattern}"), bias, "is not -100 to 100"));
    }
    Ok(())
}

fn between(
    field: &str,
    share: Permille,
    (least, most): (u32, u32),
    problem: &'static str,
) -> Result<(), PolicyError> {
    if (least..=most).contains(&share.0) {
        return Ok(());
    }
    Err(wrong(field, format!("{} thousandths", share.0), problem))
}

fn check_amounts(routing: &Routing) -> Result<(), PolicyError> {
    let tiers = routing.tiers.iter().flat_map(|tier| [tier.max_input, tier.max_output]);
    let amounts = tiers.map(|amount| ("routing.tiers", amount));
    let amounts = amounts.chain([("routing.unknown_price_usd", routing.unknown_price)]);
    let amounts =
        amounts.chain(routing.value.figures().map(|value| ("routing.value_usd", Some(value))));
    for (field, amount) in amounts {
        if let Some(amount) = amount.filter(|amount| !is_amount(*amount)) {
            return Err(wrong(field, amount, "is negative, or more than there is"));
        }
    }
    Ok(())
}

fn check_scores(routing: &Routing) -> Result<(), PolicyError> {
    let tiers = routing.tiers.iter().map(|tier| ("routing.tiers", Some(tier.min_quality)));
    let tasks = routing.tasks.values().map(|task| ("routing.tasks", task.min_quality));
    let facts = routing.facts.values().flat_map(|facts| {
        let Quality { intelligence, coding, agentic } = facts.quality;
        [intelligence, coding, agentic].map(|score| ("engines", score))
    });
    let agentic = [("routing.min_agentic_for_tools", Some(routing.min_agentic_for_tools))];
    let mut scores = tiers.chain(tasks).chain(facts).chain(agentic);
    if let Some((field, score)) =
        scores.find(|(_, score)| score.is_some_and(|score| score > Quality::MAX))
    {
        return Err(wrong(field, score.unwrap_or(0), "is above 1000 tenths of a point"));
    }
    let mut chances = routing.thresholds.figures();
    if let Some(chance) = chances.find(|chance| *chance > 1_000) {
        return Err(wrong("routing.thresholds", chance, "is not 0 to 1"));
    }
    for name in routing.facts.keys() {
        check_name("engines", name)?;
    }
    Ok(())
}

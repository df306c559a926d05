//! `[routing]`: who takes turns, and by what they are chosen.

use std::collections::BTreeMap;

use events::payload::{CacheTtl, Task};
use projections::policy::{
    Explore, ExploreWhen, HoldRules, LatencyRules, Objective, Permille, Reserve, Routing,
    TaskRules, TierRules, ToolLoops, TrustRules,
};
use projections::quality::Axis;
use serde::Deserialize;

use super::figures::{by_kind, permille, score, share, usd};
use super::{PolicyFileError, word, wrong};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RoutingFile {
    objective: Option<String>,
    engines: Vec<String>,
    upstreams: Vec<String>,
    allow: Vec<String>,
    deny: Vec<String>,
    include_free: bool,
    local: Vec<String>,
    reserve: Option<String>,
    horizon_turns: Option<u32>,
    switch_margin: Option<String>,
    tool_loops: Option<String>,
    max_output_tokens: Option<u32>,
    context_headroom: Option<String>,
    unknown_price_usd: Option<String>,
    cache_ttl: Option<String>,
    min_agentic_for_tools: Option<String>,
    adaptive_floors: Option<bool>,
    adaptive_ceilings: Option<bool>,
    normalise_quality: Option<bool>,
    min_trust: Option<String>,
    min_trust_attempts: Option<u32>,
    feedback_weight: Option<String>,
    feedback_by_task: Option<bool>,
    trust_scoped_by_harness: Option<bool>,
    max_wait_ms: Option<u32>,
    latency_weight: Option<String>,
    latency_weight_in_loops: Option<String>,
    latency_reference_ms: Option<u32>,
    latency_reference_tokens_per_s: Option<u32>,
    latency_min_samples: Option<u32>,
    confirm_upgrade_below: Option<String>,
    max_downgrade_tiers: Option<u8>,
    mechanical_retry_factor: Option<String>,
    break_hold_on_mechanical: Option<bool>,
    tiers: TierFiles,
    tasks: TaskFiles,
    thresholds: BTreeMap<String, String>,
    value_usd: BTreeMap<String, String>,
    bias: BTreeMap<String, i8>,
    cost_bias: BTreeMap<String, String>,
    explore: ExploreFile,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TierFiles {
    trivial: TierFile,
    simple: TierFile,
    moderate: TierFile,
    hard: TierFile,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TierFile {
    min_quality: Option<String>,
    max_input_usd_per_million: Option<String>,
    max_output_usd_per_million: Option<String>,
    quality_exponent: Option<u8>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TaskFiles {
    chat: Option<TaskFile>,
    coding: Option<TaskFile>,
    data: Option<TaskFile>,
    documentation: Option<TaskFile>,
    vision: Option<TaskFile>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TaskFile {
    axis: Option<String>,
    min_quality: Option<String>,
    prefer: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ExploreFile {
    trivial: Option<String>,
    simple: Option<String>,
    moderate: Option<String>,
    hard: Option<String>,
    when: Option<String>,
}

/// The objectives by their words.
pub(super) const fn objectives() -> [(&'static str, Objective); 4] {
    [
        ("cheapest-sufficient", Objective::CheapestSufficient),
        ("seed-score", Objective::SeedScore),
        ("ordered", Objective::Ordered),
        ("value", Objective::Value),
    ]
}

type Read<T> = Result<T, PolicyFileError>;

/// A word of a set, where one is stated.
fn stated<T: Copy>(
    key: &str,
    text: Option<&String>,
    words: &[(&'static str, T)],
) -> Read<Option<T>> {
    text.map(|text| word(&format!("routing.{key}"), text, words)).transpose()
}

/// A factor, where one is stated.
fn factor(key: &str, text: Option<&String>, otherwise: Permille) -> Read<Permille> {
    text.map_or(Ok(otherwise), |text| permille(&format!("routing.{key}"), text))
}

pub(super) fn read(file: RoutingFile) -> Read<Routing> {
    let default = Routing::default();
    let reserves = [("expected", Reserve::Expected), ("ceiling", Reserve::Ceiling)];
    let ttls =
        [("auto", None), ("5m", Some(CacheTtl::FiveMinutes)), ("1h", Some(CacheTtl::OneHour))];
    let loops = [("stay", ToolLoops::Stay), ("free", ToolLoops::Free)];
    let unknown = file.unknown_price_usd.as_ref();
    let agentic = file.min_agentic_for_tools.as_ref();
    let objective = stated("objective", file.objective.as_ref(), &objectives())?;
    let (trust, latency, hold) = (trust(&file)?, latency(&file)?, hold(&file)?);
    Ok(Routing {
        objective: objective.unwrap_or_default(),
        reserve: stated("reserve", file.reserve.as_ref(), &reserves)?.unwrap_or_default(),
        tool_loops: stated("tool_loops", file.tool_loops.as_ref(), &loops)?.unwrap_or_default(),
        cache_ttl: stated("cache_ttl", file.cache_ttl.as_ref(), &ttls)?.flatten(),
        include_free: file.include_free,
        horizon_turns: file.horizon_turns.unwrap_or(default.horizon_turns),
        switch_margin: factor("switch_margin", file.switch_margin.as_ref(), default.switch_margin)?,
        max_output_tokens: file.max_output_tokens.unwrap_or(default.max_output_tokens),
        context_headroom: factor(
            "context_headroom",
            file.context_headroom.as_ref(),
            default.context_headroom,
        )?,
        unknown_price: unknown.map(|text| usd("routing.unknown_price_usd", text)).transpose()?,
        min_agentic_for_tools: agentic.map_or(Ok(default.min_agentic_for_tools), |text| {
            score("routing.min_agentic_for_tools", text)
        })?,
        tiers: tiers(&file.tiers, default.tiers)?,
        adaptive_floors: file.adaptive_floors.unwrap_or(default.adaptive_floors),
        adaptive_ceilings: file.adaptive_ceilings.unwrap_or(default.adaptive_ceilings),
        normalise_quality: file.normalise_quality.unwrap_or(default.normalise_quality),
        tasks: tasks(file.tasks)?,
        thresholds: by_kind("routing.thresholds", &file.thresholds, share)?,
        value: by_kind("routing.value_usd", &file.value_usd, usd)?,
        bias: file.bias.into_iter().collect(),
        cost_bias: cost_bias(file.cost_bias)?,
        explore: explore(&file.explore)?,
        engines: file.engines,
        upstreams: file.upstreams,
        allow: file.allow,
        deny: file.deny,
        local: file.local,
        trust,
        latency,
        hold,
        facts: default.facts,
    })
}

fn cost_bias(factors: BTreeMap<String, String>) -> Read<BTreeMap<String, Permille>> {
    let factor = |(upstream, text): (String, String)| {
        let factor = permille(&format!("routing.cost_bias.{upstream}"), &text)?;
        Ok((upstream, factor))
    };
    factors.into_iter().map(factor).collect()
}

fn trust(file: &RoutingFile) -> Read<TrustRules> {
    let default = Routing::default().trust;
    let weight = file.feedback_weight.as_ref();
    Ok(TrustRules {
        min: factor("min_trust", file.min_trust.as_ref(), default.min)?,
        min_attempts: file.min_trust_attempts.unwrap_or(default.min_attempts),
        feedback_weight: factor("feedback_weight", weight, default.feedback_weight)?,
        feedback_by_task: file.feedback_by_task.unwrap_or(default.feedback_by_task),
        by_harness: file.trust_scoped_by_harness.unwrap_or(default.by_harness),
    })
}

fn latency(file: &RoutingFile) -> Read<LatencyRules> {
    let default = Routing::default().latency;
    let in_loops = file.latency_weight_in_loops.as_ref();
    let in_loops = in_loops.map(|text| permille("routing.latency_weight_in_loops", text));
    let per_s = file.latency_reference_tokens_per_s;
    Ok(LatencyRules {
        max_wait_ms: file.max_wait_ms,
        weight: factor("latency_weight", file.latency_weight.as_ref(), default.weight)?,
        weight_in_loops: in_loops.transpose()?,
        reference_ms: file.latency_reference_ms.unwrap_or(default.reference_ms),
        reference_tokens_per_s: per_s.unwrap_or(default.reference_tokens_per_s),
        min_samples: file.latency_min_samples.unwrap_or(default.min_samples),
    })
}

fn hold(file: &RoutingFile) -> Read<HoldRules> {
    let default = Routing::default().hold;
    let retry = file.mechanical_retry_factor.as_ref();
    let confirm = file.confirm_upgrade_below.as_ref();
    let escapes = file.break_hold_on_mechanical;
    Ok(HoldRules {
        confirm_below: factor("confirm_upgrade_below", confirm, default.confirm_below)?,
        max_downgrade: file.max_downgrade_tiers.unwrap_or(default.max_downgrade),
        mechanical_retry_factor: factor(
            "mechanical_retry_factor",
            retry,
            default.mechanical_retry_factor,
        )?,
        break_on_mechanical: escapes.unwrap_or(default.break_on_mechanical),
    })
}

fn tiers(files: &TierFiles, defaults: [TierRules; 4]) -> Read<[TierRules; 4]> {
    let [trivial, simple, moderate, hard] = defaults;
    Ok([
        tier("trivial", &files.trivial, trivial)?,
        tier("simple", &files.simple, simple)?,
        tier("moderate", &files.moderate, moderate)?,
        tier("hard", &files.hard, hard)?,
    ])
}

fn tier(name: &str, file: &TierFile, default: TierRules) -> Read<TierRules> {
    let of = |key: &str| format!("routing.tiers.{name}.{key}");
    let most = |key: &str, text: &Option<String>| {
        text.as_ref().map(|text| usd(&of(key), text)).transpose()
    };
    let floor = file.min_quality.as_ref();
    Ok(TierRules {
        min_quality: floor
            .map_or(Ok(default.min_quality), |text| score(&of("min_quality"), text))?,
        max_input: most("max_input_usd_per_million", &file.max_input_usd_per_million)?,
        max_output: most("max_output_usd_per_million", &file.max_output_usd_per_million)?,
        quality_exponent: file.quality_exponent.unwrap_or(default.quality_exponent),
    })
}

fn tasks(files: TaskFiles) -> Read<BTreeMap<Task, TaskRules>> {
    let TaskFiles { chat, coding, data, documentation, vision } = files;
    let all = [
        (Task::Chat, chat),
        (Task::Coding, coding),
        (Task::Data, data),
        (Task::Documentation, documentation),
        (Task::Vision, vision),
    ];
    let stated = all.into_iter().filter_map(|(task, file)| Some((task, file?)));
    stated.map(|(task, file)| Ok((task, task_rules(task, file)?))).collect()
}

fn task_rules(task: Task, file: TaskFile) -> Read<TaskRules> {
    let of = |key: &str| format!("routing.tasks.{}.{key}", task.label());
    let axes = Axis::ALL.map(|axis| (axis.label(), axis));
    let floor = file.min_quality.map(|text| score(&of("min_quality"), &text));
    Ok(TaskRules {
        axis: file.axis.map(|text| word(&of("axis"), &text, &axes)).transpose()?,
        min_quality: floor.transpose()?,
        prefer: file.prefer,
    })
}

fn explore(file: &ExploreFile) -> Read<Explore> {
    let when = [
        ("not-held", ExploreWhen::NotHeld),
        ("cold-cache", ExploreWhen::ColdCache),
        ("always", ExploreWhen::Always),
    ];
    let rate = |key: &str, text: &Option<String>| {
        text.as_ref().map_or(Ok(0), |text| share(&format!("routing.explore.{key}"), text))
    };
    if file.trivial.is_some() {
        let problem = "explores nothing: no tier is easier";
        return Err(wrong(
            "routing.explore.trivial",
            file.trivial.clone().unwrap_or_default(),
            problem,
        ));
    }
    Ok(Explore {
        rates: [
            0,
            rate("simple", &file.simple)?,
            rate("moderate", &file.moderate)?,
            rate("hard", &file.hard)?,
        ],
        when: stated("explore.when", file.when.as_ref(), &when)?.unwrap_or_default(),
    })
}

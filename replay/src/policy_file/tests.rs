//! What a policy may say, and how it is told what it may not.

use events::money::Pico;
use events::payload::{Task, TurnKind, TurnTier};
use projections::policy::{ExploreWhen, Objective, Permille, ToolLoops};
use projections::profiles::{Class, Strength};
use projections::quality::Axis;

use super::*;

const ALL: &str = r#"
    # What a policy may say.
    [routing]
    objective = "seed-score"
    upstreams = ["anthropic", "openrouter"]
    allow = ["anthropic/*"]
    deny = ["*preview*"]
    include_free = true
    tool_loops = "free"
    context_headroom = "1.5"
    min_trust = "0.8"
    min_trust_attempts = 20
    feedback_weight = "2.5"
    feedback_by_task = true
    trust_scoped_by_harness = true
    max_wait_ms = 60000
    latency_weight = "0.5"
    latency_weight_in_loops = "0.25"
    confirm_upgrade_below = "0"
    max_downgrade_tiers = 3
    mechanical_retry_factor = "1"
    min_agentic_for_tools = "30.5"
    [routing.tiers.hard]
    min_quality = "70.5"
    max_input_usd_per_million = "4"
    quality_exponent = 5
    [routing.tasks.coding]
    axis = "agentic"
    min_quality = "50"
    prefer = ["*codex*"]
    [routing.thresholds]
    coding = "0.8"
    "coding/hard" = "0.9"
    trivial = "0.5"
    [routing.value_usd]
    hard = "1.50"
    [routing.bias]
    "anthropic/*" = 20
    [routing.explore]
    hard = "0.2"
    when = "cold-cache"
    [profiles.auto-cheap]
    objective = "ordered"
    engines = ["anthropic/claude-haiku-4-5"]
    deny = ["x/*"]
    max_tier = "moderate"
    [engines."ollama/qwen3"]
    tools = true
    context_tokens = 32768
    coding = "41.5"
    class = "medium"
    strengths = ["code"]
"#;

#[test]
fn everything_is_read_exactly() {
    let rules = read(ALL).unwrap().rules;
    let routing = &rules.policy.routing;
    assert_eq!((routing.objective, routing.tool_loops), (Objective::SeedScore, ToolLoops::Free));
    assert_eq!((routing.context_headroom, routing.min_agentic_for_tools), (Permille(1_500), 305));
    assert_eq!(
        (routing.trust.min, routing.trust.feedback_weight),
        (Permille(800), Permille(2_500))
    );
    assert!(routing.trust.by_harness && routing.trust.feedback_by_task && routing.include_free);
    assert_eq!(routing.latency.weight_in_loops, Some(Permille(250)));
    assert_eq!((routing.hold.confirm_below, routing.hold.max_downgrade), (Permille::ZERO, 3));
    let hard = routing.tiers[3];
    assert_eq!((hard.min_quality, hard.quality_exponent), (705, 5));
    assert_eq!(hard.max_input, Some(Pico(4_000_000_000_000)));
    assert_eq!(routing.tiers[1].min_quality, 400, "what is left out is as it was");
    let coding = &routing.tasks[&Task::Coding];
    assert_eq!((coding.axis, coding.min_quality), (Some(Axis::Agentic), Some(500)));
    let threshold = |task, tier| routing.thresholds.of(TurnKind { task, tier });
    assert_eq!(threshold(Task::Coding, TurnTier::Hard), Some(900), "the nearest counts");
    assert_eq!(threshold(Task::Coding, TurnTier::Trivial), Some(800));
    assert_eq!(threshold(Task::Chat, TurnTier::Trivial), Some(500));
    assert_eq!(threshold(Task::Chat, TurnTier::Simple), None);
    assert_eq!(routing.bias, [("anthropic/*".to_owned(), 20)]);
    assert_eq!(
        (routing.explore.rates, routing.explore.when),
        ([0, 0, 0, 200], ExploreWhen::ColdCache)
    );
    let cheap = rules.profile("auto-cheap");
    assert_eq!((cheap.objective, cheap.tiers.1), (Objective::Ordered, TurnTier::Moderate));
    assert_eq!(cheap.deny, ["*preview*", "x/*"], "a profile denies more");
    assert_eq!(cheap.allow, ["anthropic/*"]);
    let qwen = &routing.facts["ollama/qwen3"];
    assert_eq!(
        (qwen.tools, qwen.context, qwen.quality.coding),
        (Some(true), Some(32_768), Some(415))
    );
    assert_eq!(
        (qwen.class, qwen.strengths.as_slice()),
        (Some(Class::Medium), &[Strength::Code][..])
    );
}

#[test]
fn profiles_are_there_without_being_stated() {
    let rules = read("").unwrap().rules;
    let tiers = |profile: &str| rules.profile(profile).tiers;
    assert_eq!(tiers("auto"), (TurnTier::Trivial, TurnTier::Hard));
    assert_eq!(tiers("auto-cheap"), (TurnTier::Trivial, TurnTier::Simple));
    assert_eq!(tiers("auto-max"), (TurnTier::Moderate, TurnTier::Hard));
    assert_eq!(tiers("auto-sub"), (TurnTier::Trivial, TurnTier::Moderate));
    assert_eq!(tiers("anything"), (TurnTier::Trivial, TurnTier::Hard));
}

#[test]
fn what_makes_no_sense_is_named_with_its_remedy() {
    let problem = |text: &str| read(text).unwrap_err().to_string();
    assert_eq!(
        problem("[routing]\n\nhorizon_turn = 3"),
        "line 3: unknown key 'horizon_turn'; did you mean 'horizon_turns'?"
    );
    assert_eq!(
        problem("[zzzzzzz]"),
        "line 1: unknown key 'zzzzzzz'; known are prices, routing, budgets, profiles, engines"
    );
    assert!(problem("[routing.tiers.hrad]\nmin_quality = \"3\"").contains("did you mean 'hard'?"));
    assert!(problem("[routing]\nhorizon_turns = \"x\"").starts_with("line 2: invalid type"));
    assert!(problem("[routing").starts_with("line 1: "));
    assert_eq!(
        problem("[routing]\nobjective = \"cheapest\""),
        "routing.objective: 'cheapest' is none of cheapest-sufficient, seed-score, ordered, value"
    );
    assert!(problem("[routing]\nobjective = \"orderd\"").ends_with("did you mean ordered?"));
    assert!(problem("[routing]\nobjective = \"value\"").contains("needs routing.value_usd"));
    assert!(problem("[routing]\nmin_trust = \"1.1\"").contains("is not 0 to 1"));
    assert!(problem("[routing.thresholds]\ncoding = \"70\"").contains("is not 0 to 1"));
    assert!(problem("[routing.thresholds]\ncodng = \"0.7\"").contains("did you mean coding?"));
    assert!(
        problem("[routing.thresholds]\n\"coding/hrd\" = \"0.7\"").contains("did you mean hard?")
    );
    assert!(problem("[routing.tiers.hard]\nmin_quality = \"101\"").contains("is not 0 to 100"));
    assert!(problem("[routing.bias]\n\"a/*\" = 101").contains("is not -100 to 100"));
    assert!(problem("[routing.explore]\ntrivial = \"0.1\"").contains("explores nothing"));
    assert!(
        problem("[profiles.p]\nmin_tier = \"hard\"\nmax_tier = \"simple\"")
            .contains("profiles.p.min_tier: 'hard' is above max_tier")
    );
    assert!(problem("[engines.\"a/b\"]\nclass = \"huge\"").contains("is none of"));
    assert!(problem(&format!("# {}", "x".repeat(50_000))).contains("50002 bytes"));
}

#[test]
fn the_canonical_form_says_the_same_without_comments_and_in_order() {
    let text = canonical(ALL).unwrap();
    assert!(!text.contains('#') && text.find("allow").unwrap() < text.find("upstreams").unwrap());
    assert_eq!(canonical(&text).unwrap(), text);
    let (before, after) = (read(ALL).unwrap(), read(&text).unwrap());
    assert_eq!(before.rules.policy, after.rules.policy);
    assert_eq!(before.rules.digest, after.rules.digest);
}

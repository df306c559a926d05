//! The worked values and cases of choosing: filters by name, widening, rescue, holds, cool-offs, exploration, objectives.

use events::ids::Millis;
use events::payload::{
    Capabilities, Choice, FaultClass, Features, Keywords, Price, Quality, Rates, Task, TurnKind,
    TurnTier, Verdict,
};
use projections::policy::{
    Explore, ExploreWhen, Objective, Permille, Policy, Routing, TaskRules, ToolLoops,
};
use replay::decider::Plan;

use super::driver::{Driver, End, Wants, engine, listed, rates};

/// 2026-03-10 12:00 UTC.
const NOON: Millis = 1_773_144_000_000;
const CODE: TurnKind = TurnKind { task: Task::Coding, tier: TurnTier::Simple };

fn cheap() -> Rates {
    rates("0.1", "0.4", Some("0.01"), None)
}

fn dear() -> Rates {
    rates("5", "25", Some("0.5"), Some("6.25"))
}

/// Engines that policy names, and nothing but what it says of them.
fn policy(engines: &[&str]) -> Policy {
    let engines = engines.iter().map(|engine| (*engine).to_owned()).collect();
    Policy { routing: Routing { engines, ..Routing::default() }, ..Policy::default() }
}

fn coding(tier: TurnTier) -> Wants {
    let features = Features { tools: Some(3), images: Some(0), ..Features::default() };
    Wants { kind: Some(TurnKind { task: Task::Coding, tier }), features, ..Wants::default() }
}

fn scored(price: Price<'static>, score: u16) -> Price<'static> {
    let quality = Quality { coding: Some(score), intelligence: Some(score), agentic: Some(score) };
    Price { quality, ..price }
}

fn tier_of(plan: &Plan) -> TurnTier {
    match plan {
        Plan::Dispatch { tier, .. } => *tier,
        Plan::Refused { .. } => panic!("{plan:?}"),
    }
}

fn choice_of(plan: &Plan) -> Choice {
    match plan {
        Plan::Dispatch { choice, .. } => *choice,
        Plan::Refused { .. } => panic!("{plan:?}"),
    }
}

/// A turn that is served.
fn served(driver: &mut Driver, wants: Wants) -> Plan {
    let (turn, plan) = driver.ask(wants);
    driver.end(&turn, End::Used { prompt: wants.prompt, output: 100, read: wants.prompt / 2 });
    driver.close(&turn);
    driver.now += 10_000;
    plan
}

// 4.1: every exclusion by its exact name, the first in the order of the filters.
#[test]
fn each_exclusion_has_its_exact_name() {
    let mut policy = policy(&[
        "acme/free",
        "acme/blind",
        "acme/toolless",
        "acme/unfit",
        "acme/weak",
        "acme/unscored",
        "acme/dear",
        "acme/denied",
        "acme/small",
        "acme/good",
        "other/good",
        "acme/never:batch",
    ]);
    policy.routing.allow = vec!["acme/*".to_owned()];
    policy.routing.deny = vec!["*denied".to_owned()];
    policy.routing.tiers.iter_mut().for_each(|tier| tier.max_input = Some("2".parse().unwrap()));
    policy.routing.tiers[0].min_quality = 400;
    let mut driver = Driver::new(&policy, NOON);
    let able = |tools, images| Capabilities {
        tools: Some(tools),
        images: Some(images),
        ..Capabilities::default()
    };
    let with = |engine, rates, capabilities| Price { capabilities, ..listed(engine, rates) };
    driver.list(&with("acme/free", rates("0", "0", None, None), able(true, true)));
    driver.list(&with("acme/blind", cheap(), able(true, false)));
    driver.list(&with("acme/toolless", cheap(), able(false, false)));
    let agentic = Quality { agentic: Some(249), coding: Some(900), intelligence: Some(900) };
    driver.list(&Price { quality: agentic, ..with("acme/unfit", cheap(), able(true, false)) });
    driver.list(&scored(with("acme/weak", cheap(), able(true, true)), 399));
    driver.list(&Price {
        quality: Quality::default(),
        ..with("acme/unscored", cheap(), able(true, true))
    });
    driver.list(&with("acme/dear", dear(), able(true, true)));
    driver.list(&with("acme/denied", cheap(), able(true, true)));
    driver.list(&Price { context: Some(2_273), ..with("acme/small", cheap(), able(true, true)) });
    driver.list(&with("acme/good", cheap(), able(true, true)));
    driver.list(&with("other/good", cheap(), able(true, true)));
    driver.list(&with("acme/never:batch", cheap(), able(true, true)));
    let mut wants = coding(TurnTier::Simple);
    wants.features.images = Some(1);
    let (turn, plan) = driver.ask(wants);
    assert_eq!(engine(&plan), Some("acme/good"));
    let considered = driver.considered();
    let why =
        |engine: &str| considered.engines.iter().find(|of| of.engine == engine).unwrap().excluded;
    for (engine, expected) in [
        ("acme/good", None),
        ("acme/dear", Some("over_price_ceiling")),
        ("acme/never:batch", Some("denylisted")),
        ("acme/denied", Some("denylisted")),
        ("other/good", Some("not_allowlisted")),
        ("acme/free", Some("free_tier_excluded")),
        ("acme/toolless", Some("no_tool_support")),
        // Neither good with tools nor able to see: the gate comes first.
        ("acme/unfit", Some("below_quality_floor")),
        ("acme/blind", Some("no_image_support")),
        // 1,000 x 1.25 + 1,024 = 2,274.
        ("acme/small", Some("context_too_small")),
        ("acme/weak", Some("below_quality_floor")),
        ("acme/unscored", Some("below_quality_floor")),
    ] {
        assert_eq!(why(engine), expected, "{engine}");
    }
    // Nothing else is left: price ceilings are lifted.
    driver.end(&turn, End::Lost);
    let again = driver.would_consider(&turn);
    let why = |engine: &str| again.engines.iter().find(|of| of.engine == engine).unwrap().excluded;
    assert_eq!(why("acme/good"), Some("failed_this_turn"));
    assert_eq!((why("acme/dear"), again.relaxed), (None, 1));
    driver.check_folds();
}

// 4.1, 9: a pin skips the floor, and nothing else.
#[test]
fn what_is_preferred_skips_the_quality_floor_alone() {
    let mut policy = policy(&["acme/unscored", "acme/good", "acme/blind"]);
    let prefer = vec!["acme/blind".to_owned(), "acme/unscored".to_owned()];
    policy.routing.tasks.insert(Task::Coding, TaskRules { prefer, ..TaskRules::default() });
    policy.routing.objective = Objective::Ordered;
    let mut driver = Driver::new(&policy, NOON);
    driver.list(&Price { quality: Quality::default(), ..listed("acme/unscored", dear()) });
    driver.list(&listed("acme/good", cheap()));
    let blind = Capabilities { tools: Some(false), ..Capabilities::default() };
    driver.list(&Price { capabilities: blind, ..listed("acme/blind", cheap()) });
    let (_, plan) = driver.ask(coding(TurnTier::Hard));
    assert_eq!(engine(&plan), Some("acme/unscored"));
}

// 4.3: tier, one up, one down, two up: the first that has an engine; then filters are lifted one after another.
#[test]
fn tiers_are_widened_and_filters_lifted_in_order() {
    let mut policy = policy(&["acme/mid", "acme/top"]);
    policy.routing.adaptive_floors = false;
    policy.routing.tiers[1].max_input = Some("0.01".parse().unwrap());
    let mut driver = Driver::new(&policy, NOON);
    driver.list(&scored(listed("acme/mid", cheap()), 650));
    driver.list(&scored(listed("acme/top", dear()), 750));
    // Nothing is as cheap as a simple turn may be: one up there is.
    let plan = served(&mut driver, coding(TurnTier::Simple));
    assert_eq!((engine(&plan), tier_of(&plan)), (Some("acme/mid"), TurnTier::Moderate));
    // A profile that ends at simple is not left: ceilings are lifted instead.
    let cheap = Wants { profile: "auto-cheap", conversation: 2, ..coding(TurnTier::Hard) };
    let (turn, plan) = driver.ask(cheap);
    assert_eq!(tier_of(&plan), TurnTier::Trivial, "down before anything is lifted");
    assert_eq!(driver.considered().moved, ["profile", "widened"]);
    driver.close(&turn);
    let mut strict = policy.clone();
    strict.routing.tiers.iter_mut().for_each(|tier| tier.min_quality = 900);
    let mut driver = Driver::new(&strict, NOON);
    driver.list(&scored(listed("acme/mid", rates("1", "1", None, None)), 650));
    driver.list(&scored(listed("acme/top", dear()), 750));
    let (_, plan) = driver.ask(coding(TurnTier::Moderate));
    assert_eq!(engine(&plan), Some("acme/mid"));
    assert_eq!(driver.considered().relaxed, 2);
}

#[test]
fn nothing_lifts_what_a_turn_cannot_do_without() {
    let mut driver = Driver::new(&policy(&["acme/toolless"]), NOON);
    let toolless = Capabilities { tools: Some(false), ..Capabilities::default() };
    driver.list(&Price { capabilities: toolless, ..listed("acme/toolless", cheap()) });
    assert_eq!(driver.ask(coding(TurnTier::Simple)).1, Plan::Refused { budget: None });
}

// 5.3, 2 and 5.5: a lane is held at the tier it was served at for two turns, and comes down a tier at a time.
#[test]
fn a_lane_is_held_and_let_down_slowly() {
    let mut policy = policy(&["acme/a"]);
    policy.routing.tool_loops = ToolLoops::Free;
    let mut driver = Driver::new(&policy, NOON);
    driver.list(&listed("acme/a", cheap()));
    let tiers: Vec<TurnTier> =
        [TurnTier::Hard, TurnTier::Trivial, TurnTier::Trivial, TurnTier::Trivial]
            .map(|tier| tier_of(&served(&mut driver, coding(tier))))
            .to_vec();
    use TurnTier::{Hard, Moderate};
    assert_eq!(
        tiers,
        [Hard, Hard, Moderate, Moderate],
        "held; then down by one, which holds again"
    );
    // Tool results that are classed below it are not held, but come down slowly too.
    let mut running = coding(TurnTier::Trivial);
    running.features.continues = Some(true);
    running.conversation = 2;
    served(&mut driver, Wants { conversation: 2, ..coding(TurnTier::Hard) });
    let (_, plan) = driver.ask(running);
    assert_eq!(tier_of(&plan), Moderate);
    assert_eq!(driver.considered().moved, ["max_downgrade"]);
}

// 5.3, 4: what would cost a warm cache has to be asked for twice, unless it is certain.
#[test]
fn an_uncertain_upgrade_is_confirmed_by_the_next_turn() {
    let features = |keywords: u32| Features {
        continues: Some(false),
        tool_failed: Some(false),
        circular_call: Some(false),
        read_only_tail: Some(false),
        loop_depth: Some(0),
        depth: Some(0),
        tools: Some(3),
        images: Some(0),
        new_image: Some(false),
        keywords: Some(Keywords(keywords)),
        code_blocks: Some(0),
        diff: Some(false),
        questions: Some(0),
        terse: Some(false),
        new_tokens: Some(1),
        effort: Some(events::payload::Effort::Unasked),
        ..Features::default()
    };
    let mut driver = Driver::new(&policy(&["acme/a"]), NOON);
    driver.list(&listed("acme/a", cheap()));
    let plain = Wants { features: features(0), ..Wants::default() };
    assert_eq!(tier_of(&served(&mut driver, plain)), TurnTier::Simple);
    // Two complexity keywords: 0.33 + 0.20 = 0.53, a confidence of 0.24.
    let words = projections::features::keywords("debug the architecture").0;
    let harder = Wants { features: features(words), ..Wants::default() };
    let (turn, plan) = driver.ask(harder);
    let considered = driver.considered();
    assert_eq!((considered.score.as_str(), considered.confidence.as_str()), ("0.53", "0.24"));
    assert_eq!((tier_of(&plan), considered.moved), (TurnTier::Simple, vec!["upgrade_deferred"]));
    driver.end(&turn, End::Used { prompt: 1_000, output: 1, read: 500 });
    driver.close(&turn);
    driver.now += 10_000;
    assert_eq!(tier_of(&served(&mut driver, harder)), TurnTier::Moderate, "asked for twice");
    // A hard signal needs no confirmation; nor does a lane that has nothing warm.
    let failed = Features { tool_failed: Some(true), ..features(0) };
    let other = Wants { conversation: 2, ..plain };
    served(&mut driver, other);
    let plan = served(&mut driver, Wants { features: failed, ..other });
    assert_eq!(tier_of(&plan), TurnTier::Moderate);
    let third = Wants { conversation: 3, ..plain };
    served(&mut driver, third);
    driver.now += 400_000;
    assert_eq!(
        tier_of(&served(&mut driver, Wants { conversation: 3, ..harder })),
        TurnTier::Moderate
    );
}

// Case 59: between a tool call and its result a lane stays where it is, whatever is cheaper; a person's next word may
// send it elsewhere, with both sums weighed.
#[test]
fn case_59_a_lane_never_moves_between_a_tool_call_and_its_result() {
    let mut driver = Driver::new(&policy(&["acme/m1", "other/m2"]), NOON);
    driver.list(&scored(listed("acme/m1", rates("3", "15", Some("0.3"), Some("3.75"))), 900));
    driver.list(&scored(listed("other/m2", rates("2.9", "15", Some("0.29"), Some("3.6"))), 900));
    let mut wants = coding(TurnTier::Moderate);
    wants.prompt = 150_000;
    let (turn, _) = driver.ask(wants);
    driver.end(&turn, End::NeverSent);
    driver.retry(&turn);
    driver.end(&turn, End::Used { prompt: 150_000, output: 10, read: 140_000 });
    driver.close(&turn);
    let kept = driver.world.routing.lanes.get(&driver_lane()).unwrap().engine.clone();
    driver.now += 40_000;
    let mut results = wants;
    results.features.continues = Some(true);
    let (turn, plan) = driver.ask(results);
    assert_eq!((engine(&plan), choice_of(&plan)), (Some(kept.as_str()), Choice::Stayed));
    assert!(driver.considered().moved.is_empty(), "at its own tier");
    driver.close(&turn);
    // Even with nothing warm any more, and though the other is cheaper.
    driver.now += 4_000_000;
    let (turn, plan) = driver.ask(results);
    assert_eq!(engine(&plan), Some(kept.as_str()));
    driver.end(&turn, End::Failed(FaultClass::UpstreamError, None));
    assert_ne!(engine(&driver.retry(&turn)), Some(kept.as_str()), "what failed cannot go on");
    driver.close(&turn);
    driver.now += 4_000_000;
    let (_, plan) = driver.ask(wants);
    assert_eq!(engine(&plan), Some("other/m2"), "a person spoke, and nothing is warm");
}

fn driver_lane() -> (events::ids::Subject, Option<events::ids::Subject>) {
    (events::bytes::Bytes([1; 16]), None)
}

// Cool-offs of turns: 5 s, 30 s, 2 min, 10 min for failures in a row, visible to the very next decision; what serves is
// well again. Case 47: being refused a connection is no exception, and says something of the whole upstream.
#[test]
fn case_47_what_failed_is_left_alone_for_longer_each_time() {
    let mut driver = Driver::new(&policy(&["acme/a", "acme/b", "other/c"]), NOON);
    driver.list(&scored(listed("acme/a", rates("0.1", "0.1", None, None)), 900));
    driver.list(&scored(listed("acme/b", rates("1", "1", None, None)), 900));
    driver.list(&scored(listed("other/c", rates("9", "9", None, None)), 900));
    let mut conversation = 0;
    let mut next = |driver: &mut Driver| {
        conversation += 1;
        driver.ask(Wants { conversation, ..coding(TurnTier::Simple) })
    };
    for wait in [5_000, 30_000, 120_000, 600_000, 600_000] {
        let (turn, plan) = next(&mut driver);
        assert_eq!(engine(&plan), Some("acme/a"));
        driver.end(&turn, End::Failed(FaultClass::UpstreamError, None));
        driver.close(&turn);
        let until = driver.world.routing.cool_offs.until("acme/a", driver.now).unwrap();
        assert_eq!(until - driver.now, wait);
        assert_eq!(engine(&next(&mut driver).1), Some("acme/b"), "the very next decision");
        driver.now = until;
    }
    let (turn, _) = next(&mut driver);
    driver.end(&turn, End::Used { prompt: 1_000, output: 1, read: 0 });
    assert!(driver.world.routing.cool_offs.is_empty(), "it serves: it is well");
    // A connection that fails.
    let (turn, _) = next(&mut driver);
    driver.end(&turn, End::Failed(FaultClass::Network, None));
    let (_, plan) = next(&mut driver);
    assert_eq!(engine(&plan), Some("other/c"), "neither of the upstream's engines");
    driver.check_folds();
}

// Several turns that fail together are one failure; a request that is at fault cools nothing.
#[test]
fn turns_that_fail_together_count_once() {
    let mut driver = Driver::new(&policy(&["acme/a"]), NOON);
    driver.list(&listed("acme/a", cheap()));
    let turns: Vec<_> =
        (0..4).map(|c| driver.ask(Wants { conversation: c, ..Wants::default() }).0).collect();
    for turn in &turns[..3] {
        driver.now += 1;
        driver.end(turn, End::Failed(FaultClass::Timeout, None));
    }
    let (_, cool_off) = driver.world.routing.cool_offs.engines().next().unwrap();
    assert_eq!(cool_off.failures, 1);
    assert_eq!(
        driver.world.routing.cool_offs.until("acme/a", driver.now),
        Some(driver.now + 5_000)
    );
    let mut driver = Driver::new(&policy(&["acme/a"]), NOON);
    driver.list(&listed("acme/a", cheap()));
    for class in [FaultClass::ContextLength, FaultClass::InvalidRequest, FaultClass::Moderation] {
        let (turn, _) = driver.ask(Wants::default());
        driver.end(&turn, End::Failed(class, None));
        driver.close(&turn);
    }
    assert!(driver.world.routing.cool_offs.is_empty());
}

// Retry-After is granted; the last engine that could take a turn is tried all the same, and the reason says so.
#[test]
fn the_last_eligible_engine_is_tried_though_it_cools_off() {
    let mut driver = Driver::new(&policy(&["acme/a"]), NOON);
    driver.list(&listed("acme/a", cheap()));
    let (turn, _) = driver.ask(Wants::default());
    driver.end(&turn, End::Failed(FaultClass::RateLimit, Some(120_000)));
    driver.close(&turn);
    assert_eq!(driver.world.routing.cool_offs.until("acme/a", NOON), Some(NOON + 120_000));
    let (_, plan) = driver.ask(Wants { conversation: 2, ..Wants::default() });
    assert_eq!((engine(&plan), choice_of(&plan)), (Some("acme/a"), Choice::LastEligible));
    assert_eq!(driver.considered().relaxed, 4);
}

// 6.4: keys, quotas, a provider's rules and clients that go away never count against an engine.
#[test]
fn what_is_no_fault_of_an_engines_does_not_count_against_it() {
    let mut driver = Driver::new(&policy(&["acme/a"]), NOON);
    driver.list(&listed("acme/a", cheap()));
    let trust = |driver: &Driver| {
        let mut all = driver.world.routing.learned.service();
        all.next().map_or((0, 0), |(_, service)| {
            let trust = service.trust(None);
            (trust.attempts, trust.failures)
        })
    };
    for class in
        [FaultClass::Auth, FaultClass::Quota, FaultClass::Moderation, FaultClass::ModelUnavailable]
    {
        let (turn, _) = driver.ask(Wants::default());
        driver.end(&turn, End::Failed(class, None));
        driver.close(&turn);
    }
    let (turn, _) = driver.ask(Wants::default());
    driver.close(&turn);
    assert_eq!(trust(&driver), (0, 0), "a client that went away says nothing either");
    for class in
        [FaultClass::UpstreamError, FaultClass::Timeout, FaultClass::RateLimit, FaultClass::Network]
    {
        let (turn, _) = driver.ask(Wants::default());
        driver.end(&turn, End::Failed(class, None));
        driver.close(&turn);
    }
    served(&mut driver, Wants::default());
    assert_eq!(trust(&driver), (5, 4));
}

// 8.2: (served + 1) / (attempts + 2); left out below 0.7 from twelve attempts on.
#[test]
fn an_engine_that_fails_too_often_is_left_out() {
    let mut driver = Driver::new(&policy(&["acme/a", "acme/b"]), NOON);
    driver.list(&scored(listed("acme/a", cheap()), 900));
    driver.list(&scored(listed("acme/b", dear()), 900));
    for number in 0..12 {
        let (turn, plan) = driver.ask(Wants { conversation: number, ..coding(TurnTier::Simple) });
        assert_eq!(engine(&plan), Some("acme/a"), "{number}");
        let end = if number % 3 == 0 {
            End::Failed(FaultClass::InvalidRequest, None)
        } else {
            End::Used { prompt: 1_000, output: 10, read: 0 }
        };
        driver.end(&turn, end);
        driver.close(&turn);
    }
    // 9 / 14 = 0.642.
    let (_, plan) = driver.ask(Wants { conversation: 50, ..coding(TurnTier::Simple) });
    assert_eq!(engine(&plan), Some("acme/b"));
    let considered = driver.considered();
    let a = considered.engines.iter().find(|of| of.engine == "acme/a").unwrap();
    assert_eq!((a.excluded, a.trust.as_str()), (Some("untrusted"), "0.642"));
}

// 4.1, 12: from twenty timed answers on, engines that take longer than policy allows are left out.
#[test]
fn an_engine_that_takes_too_long_is_left_out() {
    let mut policy = policy(&["acme/a", "acme/b"]);
    policy.routing.latency.max_wait_ms = Some(1_000);
    let mut driver = Driver::new(&policy, NOON);
    driver.list(&scored(listed("acme/a", cheap()), 900));
    driver.list(&scored(listed("acme/b", dear()), 900));
    for number in 0..20 {
        let plan = served(&mut driver, Wants { conversation: number, ..coding(TurnTier::Simple) });
        assert_eq!(engine(&plan), Some("acme/a"), "{number}");
    }
    // 100 tokens are expected, near enough: 200 ms, and 10 ms for each.
    let (_, plan) = driver.ask(Wants { conversation: 50, ..coding(TurnTier::Simple) });
    assert_eq!(engine(&plan), Some("acme/b"));
    let considered = driver.considered();
    let a = considered.engines.iter().find(|of| of.engine == "acme/a").unwrap();
    assert_eq!(a.excluded, Some("over_latency_ceiling"));
    assert!(a.wait_ms.unwrap() > 1_000);
}

// 3.2 for turns: labels alone move an estimate; what is merely served does not.
#[test]
fn labels_move_estimates_and_nothing_else_does() {
    let mut driver = Driver::new(&policy(&["acme/sonnet"]), NOON);
    driver.list(&listed("acme/sonnet", cheap()));
    let chance = |driver: &mut Driver| {
        let (turn, _) = driver.ask(coding(TurnTier::Simple));
        let chance = driver.considered().engines[0].chance.clone();
        driver.close(&turn);
        chance
    };
    assert_eq!(chance(&mut driver), "0.88", "a profile's prior");
    for _ in 0..40 {
        served(&mut driver, coding(TurnTier::Simple));
    }
    assert_eq!(chance(&mut driver), "0.88");
    let (turn, _) = driver.ask(coding(TurnTier::Simple));
    for _ in 0..4 {
        driver.judge(&turn, "acme/sonnet", CODE, Verdict::Bad);
    }
    // (4 x 0.88 + 0) / (4 + 4)
    assert_eq!(chance(&mut driver), "0.44");
    let other = TurnKind { tier: TurnTier::Hard, ..CODE };
    driver.judge(&turn, "acme/sonnet", other, Verdict::Good);
    assert_eq!(chance(&mut driver), "0.44", "another kind's label");
    driver.now += 14 * 86_400_000;
    // Half of each label is left: 3.52 / 6.
    assert_eq!(chance(&mut driver), "0.587");
    driver.check_folds();
}

// 3.4: of those that are likely enough the cheapest; within a tenth, or $0.0005, the likelier; where none is likely
// enough, the likeliest.
#[test]
fn the_cheapest_that_is_sufficient_takes_the_turn() {
    let names =
        ["acme/claude-opus-1", "acme/claude-sonnet-1", "acme/claude-haiku-1", "acme/gpt-5-mini"];
    let policy = policy(&names);
    let mut driver = Driver::new(&policy, NOON);
    driver.list(&scored(listed(names[0], rates("5", "25", None, None)), 900));
    driver.list(&scored(listed(names[1], rates("3", "15", None, None)), 900));
    driver.list(&scored(listed(names[2], rates("1", "5", None, None)), 900));
    driver.list(&scored(listed(names[3], rates("0.25", "2", None, None)), 900));
    let mut conversation = 0;
    let mut next = |driver: &mut Driver, tier| {
        conversation += 1;
        let wants = Wants { conversation, prompt: 100_000, ..coding(tier) };
        let (_, plan) = driver.ask(wants);
        (driver.considered(), engine(&plan).unwrap().to_owned())
    };
    // Chores: haiku is .82, gpt-5-mini .80, both above .70.
    assert_eq!(next(&mut driver, TurnTier::Trivial).1, names[3]);
    // Code: haiku's .72 is below .75, gpt-5-mini's .76 is not.
    let (considered, chosen) = next(&mut driver, TurnTier::Simple);
    assert_eq!((chosen.as_str(), considered.threshold.as_str()), (names[3], "0.75"));
    // Large code: .80; gpt-5-mini is .71, sonnet .88.
    let (considered, chosen) = next(&mut driver, TurnTier::Hard);
    assert_eq!((chosen.as_str(), considered.threshold.as_str()), (names[1], "0.80"));
    let order: Vec<&str> = considered.viable().map(|of| of.engine.as_str()).collect();
    assert_eq!(order, [names[1], names[0], names[3], names[2]], "then the likeliest of the rest");
    // A stated threshold is exact, large or not: 0.9 leaves opus alone.
    let mut strict = policy.clone();
    strict.routing.thresholds.state(Some(Task::Coding), Some(TurnTier::Hard), 900);
    driver.decider = super::driver::decider(&strict);
    let (considered, chosen) = next(&mut driver, TurnTier::Hard);
    assert_eq!((chosen.as_str(), considered.threshold.as_str()), (names[0], "0.90"));
    strict.routing.thresholds.state(Some(Task::Coding), Some(TurnTier::Hard), 990);
    driver.decider = super::driver::decider(&strict);
    assert_eq!(next(&mut driver, TurnTier::Hard).1, names[0], "none is likely enough");
    // Bias decides between those that come to the same, and nothing else.
    let mut biased = policy.clone();
    biased.routing.bias = vec![("*haiku*".to_owned(), 100)];
    driver.decider = super::driver::decider(&biased);
    assert_eq!(next(&mut driver, TurnTier::Trivial).1, names[3], "too dear to come to the same");
    driver.list(&scored(listed(names[2], rates("0.26", "2", None, None)), 900));
    assert_eq!(next(&mut driver, TurnTier::Trivial).1, names[2]);
}

// 4.2, and failure 22: what an upstream counts as costing holds for ceilings as for the choice, and changes no bill.
#[test]
fn a_cost_bias_counts_for_ceilings_and_choice_alone() {
    let mut policy = policy(&["acme/a", "other/b"]);
    policy.routing.cost_bias.insert("acme".to_owned(), Permille(3_000));
    let mut driver = Driver::new(&policy, NOON);
    driver.list(&scored(listed("acme/a", rates("1", "1", None, None)), 900));
    driver.list(&scored(listed("other/b", rates("2", "2", None, None)), 900));
    let wants = Wants { prompt: 100_000, ..coding(TurnTier::Simple) };
    assert_eq!(engine(&driver.ask(wants).1), Some("other/b"));
    policy.routing.tiers.iter_mut().for_each(|tier| tier.max_input = Some("2.5".parse().unwrap()));
    policy.routing.engines.truncate(1);
    driver.decider = super::driver::decider(&policy);
    let (turn, plan) = driver.ask(Wants { conversation: 2, ..wants });
    assert_eq!((engine(&plan), driver.considered().relaxed), (Some("acme/a"), 1), "3 is above 2.5");
    let charge = driver.end(&turn, End::Used { prompt: 100_000, output: 0, read: 0 }).unwrap();
    assert_eq!(charge.cost.amount(), Some("0.1".parse().unwrap()));
}

// 4.2: quality to the power of the tier's exponent, over what it costs.
#[test]
fn seed_score_weighs_quality_against_cost() {
    let mut policy = policy(&["acme/low", "acme/high"]);
    policy.routing.objective = Objective::SeedScore;
    policy.routing.tiers.iter_mut().for_each(|tier| tier.max_input = Some("1000".parse().unwrap()));
    let mut driver = Driver::new(&policy, NOON);
    driver.list(&scored(listed("acme/low", rates("1", "1", None, None)), 725));
    driver.list(&scored(listed("acme/high", rates("1.3", "1.3", None, None)), 800));
    let first = |driver: &mut Driver, conversation, tier| {
        let (_, plan) = driver.ask(Wants { conversation, ..coding(tier) });
        engine(&plan).unwrap().to_owned()
    };
    // Exponents 0, 0, 1, 3: (800 / 725)^3 = 1.34 is worth 1.3 times the price, 1.10 is not.
    assert_eq!(first(&mut driver, 1, TurnTier::Simple), "acme/low");
    assert_eq!(first(&mut driver, 2, TurnTier::Moderate), "acme/low");
    assert_eq!(first(&mut driver, 3, TurnTier::Hard), "acme/high");
}

// What the original's exponent cannot say: pay for quality, as much as it is worth.
#[test]
fn value_pays_for_quality_as_much_as_it_is_worth() {
    let mut policy = policy(&["acme/low", "acme/mid", "acme/high"]);
    policy.routing.objective = Objective::Value;
    let value = |driver: &mut Driver, policy: &mut Policy, usd: &str, conversation| {
        policy.routing.value.state(Some(Task::Coding), None, usd.parse().unwrap());
        driver.decider = super::driver::decider(policy);
        let (_, plan) =
            driver.ask(Wants { conversation, prompt: 100_000, ..coding(TurnTier::Hard) });
        engine(&plan).unwrap().to_owned()
    };
    policy.routing.value.state(Some(Task::Coding), None, "1".parse().unwrap());
    let mut driver = Driver::new(&policy, NOON);
    // A turn of 100,000 tokens costs 0.1, 0.5 and 5 dollars; quality between 0 and 1 is 0, 0.8 and 1.
    driver.list(&scored(listed("acme/low", rates("1", "0", None, None)), 730));
    driver.list(&scored(listed("acme/mid", rates("5", "0", None, None)), 770));
    driver.list(&scored(listed("acme/high", rates("50", "0", None, None)), 780));
    assert_eq!(value(&mut driver, &mut policy, "0.4", 1), "acme/low");
    assert_eq!(value(&mut driver, &mut policy, "1", 2), "acme/mid");
    assert_eq!(value(&mut driver, &mut policy, "22", 3), "acme/mid");
    assert_eq!(value(&mut driver, &mut policy, "23", 4), "acme/high", "0.2 x 23 is more than 4.5");
}

// 4.4: a keyed draw, recorded with the chance of what came of it; one tier lower; never again on a second attempt.
#[test]
fn exploration_is_drawn_recorded_and_happens_as_often_as_it_should() {
    let mut policy = policy(&["acme/a"]);
    policy.routing.explore = Explore { rates: [0, 0, 150, 0], when: ExploreWhen::NotHeld };
    let mut driver = Driver::new(&policy, NOON);
    driver.list(&listed("acme/a", cheap()));
    let mut explored = 0;
    for number in 0..400_u32 {
        let conversation = (number % 200) as u8;
        driver.now += 604_800_000;
        let (turn, plan) = driver.ask(Wants { conversation, ..coding(TurnTier::Moderate) });
        let considered = driver.considered();
        let (drawn, below) = considered.draw.unwrap();
        assert_eq!(below, (150_u64 << 32).div_euclid(1_000) as u32);
        let explores = drawn < below;
        explored += u32::from(explores);
        assert_eq!(tier_of(&plan), if explores { TurnTier::Simple } else { TurnTier::Moderate });
        assert_eq!(considered.moved, if explores { vec!["explored"] } else { vec![] });
        if explores {
            driver.end(&turn, End::Lost);
            assert_eq!(driver.would_consider(&turn).draw, None, "not on a second attempt");
        }
        driver.close(&turn);
    }
    assert!((40..85).contains(&explored), "{explored} of 400 at 15 %");
    driver.check_folds();
}

#[test]
fn a_built_in_profile_bounds_the_tiers() {
    let mut driver = Driver::new(&policy(&["acme/a"]), NOON);
    driver.list(&listed("acme/a", cheap()));
    let tier = |driver: &mut Driver, profile, tier, conversation| {
        let wants = Wants { profile, conversation, ..coding(tier) };
        tier_of(&driver.ask(wants).1)
    };
    use TurnTier::{Hard, Moderate, Simple, Trivial};
    assert_eq!(tier(&mut driver, "auto-cheap", Hard, 1), Simple);
    assert_eq!(tier(&mut driver, "auto-max", Trivial, 2), Moderate);
    assert_eq!(tier(&mut driver, "auto-sub", Hard, 3), Moderate);
    assert_eq!(tier(&mut driver, "auto", Hard, 4), Hard);
}

// The example of docs/deciding.md: how floors and thresholds combine, objective by objective.
#[test]
fn the_documents_example_comes_out_as_it_says() {
    let names =
        ["acme/claude-opus-4", "acme/claude-sonnet-4", "acme/gpt-5-mini", "acme/deepseek-v4-pro"];
    let mut policy = policy(&names);
    policy.routing.adaptive_floors = false;
    let mut driver = Driver::new(&policy, NOON);
    let list = [(780, "5"), (740, "3"), (730, "0.3"), (660, "0.3")];
    for (name, (quality, input)) in names.into_iter().zip(list) {
        driver.list(&scored(listed(name, rates(input, "0", None, None)), quality));
    }
    let mut conversation = 0;
    let mut chosen = |driver: &mut Driver, policy: &Policy| {
        conversation += 1;
        driver.decider = super::driver::decider(policy);
        let wants = Wants { conversation, prompt: 100_000, ..coding(TurnTier::Hard) };
        let (_, plan) = driver.ask(wants);
        engine(&plan).unwrap().to_owned()
    };
    assert_eq!(chosen(&mut driver, &policy), names[1]);
    let chances: Vec<String> = driver
        .considered()
        .engines
        .iter()
        .map(|of| format!("{} {}", of.engine, of.chance))
        .collect();
    for (name, chance) in names.into_iter().zip(["0.92", "0.88", "0.71", "0.86"]) {
        assert!(chances.contains(&format!("{name} {chance}")), "{chances:?}");
    }
    let hard = (Some(Task::Coding), Some(TurnTier::Hard));
    let mut surer = policy.clone();
    surer.routing.thresholds.state(hard.0, hard.1, 900);
    assert_eq!(chosen(&mut driver, &surer), names[0]);
    let mut lower = policy.clone();
    lower.routing.tiers[3].min_quality = 600;
    assert_eq!(chosen(&mut driver, &lower), names[3]);
    let mut seed = policy.clone();
    seed.routing.objective = Objective::SeedScore;
    assert_eq!(chosen(&mut driver, &seed), names[2]);
    let mut value = policy.clone();
    value.routing.objective = Objective::Value;
    value.routing.value.state(hard.0, hard.1, "1".parse().unwrap());
    assert_eq!(chosen(&mut driver, &value), names[0]);
    value.routing.value.state(hard.0, hard.1, "0.40".parse().unwrap());
    assert_eq!(chosen(&mut driver, &value), names[2]);
    let mut ordered = policy.clone();
    ordered.routing.objective = Objective::Ordered;
    assert_eq!(chosen(&mut driver, &ordered), names[0]);
}

//! Who could take a turn: filters by name, in order, and when they are lifted.

use super::*;

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

// Design 7: before a rule is lifted, who would pass it is tried, though it cools off.
#[test]
fn a_cool_off_lifts_no_rule() {
    let mut policy = policy(&["acme/a", "acme/b"]);
    policy.routing.tiers.iter_mut().for_each(|tier| tier.max_input = Some("1".parse().unwrap()));
    let mut driver = Driver::new(&policy, NOON);
    driver.list(&scored(listed("acme/a", rates("0.5", "1", None, None)), 900));
    driver.list(&scored(listed("acme/b", rates("50", "1", None, None)), 900));
    let (turn, plan) = driver.ask(coding(TurnTier::Simple));
    assert_eq!(engine(&plan), Some("acme/a"));
    driver.end(&turn, End::Failed(FaultClass::UpstreamError, None));
    driver.close(&turn);
    let (turn, plan) = driver.ask(coding(TurnTier::Simple));
    assert_eq!((engine(&plan), choice_of(&plan)), (Some("acme/a"), Choice::LastEligible));
    let considered = driver.considered();
    assert_eq!((considered.relaxed, considered.despite_cool_off), (0, true));
    let b = considered.engines.iter().find(|of| of.engine == "acme/b").unwrap();
    assert_eq!(b.excluded, Some("over_price_ceiling"));
    // Once it has failed this turn too, there is nobody else.
    driver.end(&turn, End::Failed(FaultClass::UpstreamError, None));
    assert_eq!(engine(&driver.retry(&turn)), Some("acme/b"));
}

// Providers refuse to be asked for an answer that could not fit beside the prompt.
#[test]
fn no_answer_is_asked_for_that_the_context_has_no_room_for() {
    let mut driver = Driver::new(&policy(&["acme/a"]), NOON);
    driver.list(&Price { context: Some(32_768), ..listed("acme/a", cheap()) });
    let longest = |driver: &mut Driver, prompt| {
        let wants = Wants { prompt, max_output: 32_000, ..Wants::default() };
        match driver.ask(wants).1 {
            Plan::Dispatch { max_output, .. } => max_output,
            plan => panic!("{plan:?}"),
        }
    };
    assert_eq!(longest(&mut driver, 20_000), 32_768 - 25_000, "1.25 times the prompt");
    assert_eq!(longest(&mut driver, 100), 32_000);
}

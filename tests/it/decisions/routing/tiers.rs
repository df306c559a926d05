//! At which tier a turn is served: holds, confirmation, tool loops, exploration, profiles.

use super::*;

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

// What lies below the profile is no place to wait for a second asking.
#[test]
fn a_profile_that_begins_higher_needs_no_confirmation() {
    let mut driver = Driver::new(&policy(&["acme/a"]), NOON);
    driver.list(&listed("acme/a", cheap()));
    served(&mut driver, Wants::default());
    let (_, plan) = driver.ask(Wants { profile: "auto-max", ..Wants::default() });
    assert_eq!(tier_of(&plan), TurnTier::Moderate);
    assert_eq!(driver.considered().moved, ["profile"]);
}

// A tool loop goes on where it runs, as long as its profile knows the tier; what had to be lifted for it is told.
#[test]
fn a_tool_loop_keeps_to_its_profile_and_tells_what_it_lifts() {
    let mut policy = policy(&["acme/a", "acme/b"]);
    policy.routing.adaptive_floors = false;
    let mut driver = Driver::new(&policy, NOON);
    driver.list(&scored(listed("acme/a", dear()), 900));
    driver.list(&scored(listed("acme/b", cheap()), 600));
    let hard = coding(TurnTier::Hard);
    assert_eq!(engine(&served(&mut driver, hard)), Some("acme/a"));
    let features = Features { continues: Some(true), ..hard.features };
    let results = Wants { features, ..coding(TurnTier::Trivial) };
    let (turn, plan) = driver.ask(Wants { profile: "auto-cheap", ..results });
    assert_eq!(engine(&plan), Some("acme/b"));
    assert!(tier_of(&plan) <= TurnTier::Simple);
    driver.close(&turn);
    let mut strict = policy.clone();
    strict.routing.tiers.iter_mut().for_each(|tier| tier.max_input = Some("1".parse().unwrap()));
    driver.decider = decider(&strict);
    let (_, plan) = driver.ask(results);
    assert_eq!((engine(&plan), choice_of(&plan)), (Some("acme/a"), Choice::Stayed));
    assert_eq!(driver.considered().relaxed, 1, "it is dearer than its tier may be");
}

//! What failures, answers and people teach: cool-offs, trust, waits, labels.

use super::*;

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
    let considered = driver.considered();
    assert_eq!((considered.relaxed, considered.despite_cool_off), (0, true));
}

// Asking for no time at all is asking for nothing.
#[test]
fn an_engine_that_asks_for_no_time_is_left_alone_all_the_same() {
    let mut driver = Driver::new(&policy(&["acme/a"]), NOON);
    driver.list(&listed("acme/a", cheap()));
    let (turn, _) = driver.ask(Wants::default());
    driver.end(&turn, End::Failed(FaultClass::RateLimit, Some(0)));
    assert_eq!(driver.world.routing.cool_offs.until("acme/a", NOON), Some(NOON + 5_000));
}

// An answer that was on its way when its engine failed another turn says nothing of how it is since.
#[test]
fn what_was_dispatched_before_a_failure_lifts_no_cool_off() {
    let mut driver = Driver::new(&policy(&["acme/a", "acme/b"]), NOON);
    driver.list(&scored(listed("acme/a", cheap()), 900));
    driver.list(&scored(listed("acme/b", dear()), 900));
    let (streams, _) = driver.ask(coding(TurnTier::Simple));
    driver.now += 1_000;
    let (fails, _) = driver.ask(Wants { conversation: 2, ..coding(TurnTier::Simple) });
    driver.end(&fails, End::Failed(FaultClass::RateLimit, Some(3_600_000)));
    let until = driver.now + 3_600_000;
    driver.now += 1_000;
    driver.end(&streams, End::Used { prompt: 1_000, output: 10, read: 0 });
    let of_a = |driver: &Driver| driver.world.routing.cool_offs.until("acme/a", driver.now);
    assert_eq!(of_a(&driver), Some(until));
    driver.now = until;
    let (turn, plan) = driver.ask(Wants { conversation: 3, ..coding(TurnTier::Simple) });
    assert_eq!(engine(&plan), Some("acme/a"));
    driver.end(&turn, End::Used { prompt: 1_000, output: 10, read: 0 });
    assert!(driver.world.routing.cool_offs.is_empty());
}

// When another model answers for it, an engine is not well again; its upstream is.
#[test]
fn a_fallback_of_the_providers_own_says_nothing_of_the_engine() {
    let mut driver = Driver::new(&policy(&["openrouter/acme/a"]), NOON);
    driver.list(&listed("openrouter/acme/a", cheap()));
    for class in [FaultClass::UpstreamError, FaultClass::Network] {
        let (turn, _) = driver.ask(Wants::default());
        driver.end(&turn, End::Failed(class, None));
        driver.close(&turn);
    }
    driver.now += 60_000;
    let (turn, _) = driver.ask(Wants::default());
    driver.end_as(&turn, "other/b", End::Used { prompt: 1_000, output: 10, read: 0 });
    let cool_offs = &driver.world.routing.cool_offs;
    assert_eq!((cool_offs.engines().count(), cool_offs.upstreams().count()), (1, 0));
}

// A stream that breaks once it has begun has usage, and is a failure all the same.
#[test]
fn an_answer_that_breaks_off_is_paid_for_and_is_no_answer() {
    let mut driver = Driver::new(&policy(&["acme/a", "acme/b"]), NOON);
    driver.list(&scored(listed("acme/a", cheap()), 900));
    driver.list(&scored(listed("acme/b", dear()), 900));
    let (turn, _) = driver.ask(coding(TurnTier::Simple));
    let charge = driver.end(&turn, End::Broke(FaultClass::RateLimit, 1_000)).unwrap();
    assert!(charge.cost.known > events::money::Pico::ZERO);
    let routing = &driver.world.routing;
    assert_eq!(routing.cool_offs.until("acme/a", NOON), Some(NOON + 5_000));
    assert!(routing.lanes.get(&driver_lane()).is_none(), "nothing was served there");
    assert_eq!(routing.learned.expected("acme/a", CODE).output, 1_024, "that was no answer");
    let (_, service) = routing.learned.service().next().unwrap();
    let trust = service.trust(None);
    assert_eq!((trust.attempts, trust.failures, service.latency.answers), (1, 1, 0));
    assert_eq!(engine(&driver.retry(&turn)), Some("acme/b"));
    driver.end(&turn, End::Broke(FaultClass::Moderation, 1_000));
    let trusted = driver.world.routing.learned.service().map(|(engine, _)| engine.as_str());
    assert_eq!(trusted.collect::<Vec<_>>(), ["acme/a"], "no fault of the engine's, no service");
    driver.check_folds();
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

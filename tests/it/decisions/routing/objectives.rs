//! Who goes first of those that could take a turn, and when that is worth leaving what is warm.

use super::*;

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
    driver.decider = decider(&strict);
    let (considered, chosen) = next(&mut driver, TurnTier::Hard);
    assert_eq!((chosen.as_str(), considered.threshold.as_str()), (names[0], "0.90"));
    strict.routing.thresholds.state(Some(Task::Coding), Some(TurnTier::Hard), 990);
    driver.decider = decider(&strict);
    assert_eq!(next(&mut driver, TurnTier::Hard).1, names[0], "none is likely enough");
    // Bias decides between those that come to the same, and nothing else.
    let mut biased = policy.clone();
    biased.routing.bias = vec![("*haiku*".to_owned(), 100)];
    driver.decider = decider(&biased);
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
    driver.decider = decider(&policy);
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
        driver.decider = decider(policy);
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
        driver.decider = decider(policy);
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

// The exponent is that of the tier a turn is served at, not of the one it asks for.
#[test]
fn seed_score_weighs_by_the_tier_that_is_served() {
    let mut policy = policy(&["acme/low", "acme/high"]);
    policy.routing.objective = Objective::SeedScore;
    policy.routing.tiers.iter_mut().for_each(|tier| tier.max_input = Some("1000".parse().unwrap()));
    policy.routing.tiers[2].quality_exponent = 20;
    let mut driver = Driver::new(&policy, NOON);
    driver.list(&scored(listed("acme/low", rates("1", "1", None, None)), 725));
    driver.list(&scored(listed("acme/high", rates("1.3", "1.3", None, None)), 800));
    let (_, plan) = driver.ask(Wants { profile: "auto-max", ..coding(TurnTier::Trivial) });
    assert_eq!((engine(&plan), tier_of(&plan)), (Some("acme/high"), TurnTier::Moderate));
}

// Staying saves money; it is no reason to have hard work done by who will most likely not do it well.
#[test]
fn what_is_warm_is_kept_only_where_it_does_as_well() {
    let names = ["acme/claude-opus-1", "acme/claude-haiku-1"];
    let policy = policy(&names);
    let went = |policy: &Policy| {
        let mut driver = Driver::new(policy, NOON);
        driver.list(&scored(listed(names[0], dear()), 900));
        driver.list(&scored(listed(names[1], rates("1", "5", Some("0.1"), None)), 850));
        // An easy turn leaves something warm at the cheaper one.
        let easy = Wants { prompt: 50_000, ..coding(TurnTier::Trivial) };
        let (turn, _) = driver.ask(easy);
        while driver.flight(&turn).unwrap().open[0].engine != names[1] {
            driver.end(&turn, End::NeverSent);
            driver.retry(&turn);
        }
        driver.end(&turn, End::Used { prompt: 50_000, output: 100, read: 25_000 });
        driver.close(&turn);
        driver.now += 10_000;
        let (_, plan) = driver.ask(Wants { prompt: 50_100, ..coding(TurnTier::Hard) });
        (usize::from(engine(&plan) == Some(names[1])), choice_of(&plan))
    };
    assert_eq!(went(&policy), (0, Choice::Switched), "haiku does hard code with .62");
    let mut lenient = policy.clone();
    lenient.routing.thresholds.state(Some(Task::Coding), Some(TurnTier::Hard), 600);
    assert_eq!(went(&lenient), (1, Choice::First), "and that is enough here");
    let mut ordered = policy.clone();
    ordered.routing.objective = Objective::Ordered;
    assert_eq!(went(&ordered), (0, Choice::Switched), "a list is a list");
    let mut value = policy.clone();
    value.routing.objective = Objective::Value;
    value.routing.horizon_turns = 1;
    let mut worth = |usd: &str| {
        value.routing.value.state(Some(Task::Coding), None, usd.parse().unwrap());
        went(&value)
    };
    assert_eq!(worth("0.1"), (1, Choice::First), "the best is not worth its price");
    assert_eq!(worth("0.3"), (1, Choice::Stayed), "barely worth it, and a cold start");
    assert_eq!(worth("1"), (0, Choice::Switched));
}

// A lane that had to leave the first of a list for a while comes back to it.
#[test]
fn a_list_is_followed_from_its_first_again() {
    let mut policy = policy(&["acme/first", "acme/second"]);
    policy.routing.objective = Objective::Ordered;
    let mut driver = Driver::new(&policy, NOON);
    driver.list(&listed("acme/first", dear()));
    driver.list(&listed("acme/second", cheap()));
    let wants = Wants { prompt: 100_000, ..Wants::default() };
    let (turn, _) = driver.ask(wants);
    driver.end(&turn, End::Failed(FaultClass::UpstreamError, None));
    assert_eq!(engine(&driver.retry(&turn)), Some("acme/second"));
    driver.end(&turn, End::Used { prompt: 100_000, output: 10, read: 90_000 });
    driver.close(&turn);
    assert_eq!(engine(&driver.ask(wants).1), Some("acme/second"), "the first cools off");
    driver.now += 5_000;
    assert_eq!(engine(&driver.ask(wants).1), Some("acme/first"));
}

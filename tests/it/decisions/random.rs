//! Random engines, policies, requests and histories: a decision never panics, never picks what it excluded, does not
//! depend on the order engines are listed in, and only labels move estimates.

use events::event::Events;
use events::ids::{Millis, Subject};
use events::payload::{
    Capabilities, Effort, FaultClass, Features, Keywords, Price, Quality, Task, TextSize, TurnKind,
    TurnTier, Verdict,
};
use projections::policy::{
    Explore, ExploreWhen, Objective, Permille, Policy, Reserve, Routing, ToolLoops,
};
use proptest::prelude::*;

use super::driver::{Driver, End, Wants, decider, engine, listed, rates};
use super::worked::budget;

const NOON: Millis = 1_773_144_000_000;
const NAMES: [&str; 12] = [
    "anthropic/claude-opus-4-5",
    "anthropic/claude-haiku-4-5",
    "openai/gpt-5-mini",
    "openai/gpt-5.5",
    "openrouter/deepseek/deepseek-v4-pro",
    "openrouter/qwen/qwen3-32b",
    "openrouter/meta-llama/llama-3.3-70b",
    "google/gemini-2.5-flash",
    "mistral/codestral-latest",
    "acme/m1",
    "acme/m2:batch",
    "ollama/qwen3",
];
/// Longest encoded dispatch.
const DISPATCH_BYTES_MAX: usize = 1_536;

#[derive(Clone, Debug)]
struct Listed {
    input: u32,
    output: u32,
    cached: bool,
    context: Option<u32>,
    able: [Option<bool>; 2],
    scores: [Option<u16>; 3],
}

#[derive(Clone, Debug)]
enum Step {
    Ask {
        conversation: u8,
        prompt: u32,
        features: Box<Features>,
        kind: Option<(u8, u8)>,
        profile: u8,
    },
    End(prop::sample::Index, End),
    Close(prop::sample::Index),
    Judge(usize, bool),
    Wait(Millis),
}

fn engine_listed() -> impl Strategy<Value = Listed> {
    let score = || proptest::option::weighted(0.7, 0_u16..=1_000);
    let able = || proptest::option::of(any::<bool>());
    (
        0_u32..100,
        0_u32..500,
        any::<bool>(),
        proptest::option::of(1_000_u32..2_000_000),
        [able(), able()],
        [score(), score(), score()],
    )
        .prop_map(|(input, output, cached, context, able, scores)| Listed {
            input,
            output,
            cached,
            context,
            able,
            scores,
        })
}

fn features() -> impl Strategy<Value = Features> {
    let flag = || proptest::option::of(any::<bool>());
    let small = || proptest::option::of(0_u16..60);
    (
        [flag(), flag(), flag(), flag(), flag(), flag()],
        [small(), small(), small(), small()],
        proptest::option::of(any::<u32>()),
        proptest::option::of(0_usize..Effort::ALL.len()),
        proptest::option::of(0_u32..300_000),
        proptest::option::of(0_u32..3),
    )
        .prop_map(|(flags, counts, keywords, effort, bytes, images)| Features {
            tail: bytes.map(|bytes| TextSize { bytes, wide: bytes / 9 }),
            continues: flags[0],
            tool_failed: flags[1],
            circular_call: flags[2],
            diff: flags[3],
            terse: flags[4],
            new_image: flags[5],
            tools: counts[0],
            loop_depth: counts[1],
            code_blocks: counts[2],
            questions: counts[3],
            depth: counts[1].map(u32::from),
            keywords: keywords.map(Keywords),
            effort: effort.map(|index| Effort::ALL[index]),
            images,
            new_tokens: bytes,
            ..Features::default()
        })
}

fn step() -> impl Strategy<Value = Step> {
    let which = any::<prop::sample::Index>;
    let end = prop_oneof![
        4 => (1_u32..300_000, 0_u32..9_000, 0_u32..300_000)
            .prop_map(|(prompt, output, read)| End::Used { prompt, output, read }),
        1 => Just(End::Lost),
        1 => Just(End::NeverSent),
        3 => (0..FaultClass::ALL.len(), proptest::option::of(0_u32..900_000))
            .prop_map(|(class, after)| End::Failed(FaultClass::ALL[class], after)),
        1 => (0..FaultClass::ALL.len(), 1_u32..300_000)
            .prop_map(|(class, prompt)| End::Broke(FaultClass::ALL[class], prompt)),
    ];
    let kind = proptest::option::of((0_u8..5, 0_u8..4));
    prop_oneof![
        5 => (0_u8..4, 1_u32..400_000, features(), kind, 0_u8..4).prop_map(
            |(conversation, prompt, features, kind, profile)| Step::Ask {
                conversation, prompt, features: Box::new(features), kind, profile
            }
        ),
        4 => (which(), end).prop_map(|(turn, end)| Step::End(turn, end)),
        2 => which().prop_map(Step::Close),
        2 => (0..NAMES.len(), any::<bool>()).prop_map(|(name, good)| Step::Judge(name, good)),
        1 => (0_u64..100_000_000).prop_map(Step::Wait),
    ]
}

fn policy() -> impl Strategy<Value = Policy> {
    let objective = prop_oneof![
        3 => Just(Objective::CheapestSufficient),
        1 => Just(Objective::SeedScore),
        1 => Just(Objective::Ordered),
        1 => Just(Objective::Value),
    ];
    (
        objective,
        any::<[bool; 8]>(),
        proptest::option::of(0_u16..=1_000),
        [0_u16..=1_000, 0_u16..=1_000, 0_u16..=1_000],
        0_u32..=1_000,
        0_u8..4,
        proptest::option::of(1_i128..40),
    )
        .prop_map(|(objective, flags, threshold, floors, confirm, down, limit)| {
            let mut routing = Routing {
                objective,
                upstreams: [
                    "anthropic",
                    "openai",
                    "openrouter",
                    "google",
                    "mistral",
                    "acme",
                    "ollama",
                ]
                .map(str::to_owned)
                .to_vec(),
                tool_loops: if flags[0] { ToolLoops::Free } else { ToolLoops::Stay },
                include_free: flags[1],
                adaptive_floors: flags[2],
                adaptive_ceilings: flags[3],
                normalise_quality: flags[4],
                reserve: if flags[5] { Reserve::Ceiling } else { Reserve::Expected },
                local: if flags[6] { vec!["ollama".to_owned()] } else { Vec::new() },
                deny: if flags[7] { vec!["*mini".to_owned()] } else { Vec::new() },
                explore: Explore { rates: [0, 200, 300, 400], when: ExploreWhen::Always },
                ..Routing::default()
            };
            routing
                .tiers
                .iter_mut()
                .skip(1)
                .zip(floors)
                .for_each(|(tier, floor)| tier.min_quality = floor);
            routing.hold.confirm_below = Permille(confirm);
            routing.hold.max_downgrade = down;
            routing.trust.min_attempts = 2;
            routing.trust.feedback_weight = Permille(confirm * 3);
            routing.trust.by_harness = flags[3];
            routing.latency.max_wait_ms = flags[2].then_some(1);
            if let Some(threshold) = threshold {
                routing.thresholds.state(Some(Task::Coding), None, threshold);
            }
            routing.value.state(None, Some(TurnTier::Hard), "0.4".parse().unwrap());
            if objective == Objective::Ordered {
                routing.engines = NAMES.map(str::to_owned).to_vec();
            }
            let mut policy = Policy { routing, ..Policy::default() };
            if let Some(limit) = limit {
                use events::payload::{BudgetPeriod, BudgetScope};
                let of = budget(
                    BudgetScope::Conversation,
                    BudgetPeriod::Lifetime,
                    &format!("0.{limit:02}"),
                );
                policy.budgets.insert("conversation".to_owned(), of);
            }
            policy
        })
}

fn price(name: &'static str, listed_as: &Listed) -> Price<'static> {
    let per_million = |cents: u32| format!("{}.{:02}", cents / 100, cents % 100);
    let read = listed_as.cached.then(|| per_million(listed_as.input / 10));
    let write = listed_as.cached.then(|| per_million(listed_as.input * 5 / 4));
    let of = rates(
        &per_million(listed_as.input),
        &per_million(listed_as.output),
        read.as_deref(),
        write.as_deref(),
    );
    let [tools, images] = listed_as.able;
    let [intelligence, coding, agentic] = listed_as.scores;
    Price {
        context: listed_as.context,
        capabilities: Capabilities { tools, images, ..Capabilities::default() },
        quality: Quality { intelligence, coding, agentic },
        ..listed(name, of)
    }
}

/// Checks the newest decision of a turn against everything that was looked at.
fn check(driver: &mut Driver, turn: &Subject) {
    let considered = driver.would_consider(turn);
    let viable = considered.viable().count();
    let excluded: usize = considered.excluded.values().sum();
    assert_eq!(viable + excluded, considered.engines.len(), "every engine is one or the other");
    if let Some(chosen) = &considered.engine {
        let chosen = considered.engines.iter().find(|of| of.engine == *chosen).unwrap();
        assert_eq!(chosen.excluded, None, "{} was excluded", chosen.engine);
        assert!(!chosen.engine.ends_with(":batch"));
    }
    let now = driver.now;
    let (world, decider) = (&driver.world, &mut driver.decider);
    let checked = decider.decided(world, turn, now, |decision| {
        if let projections::decide::Decision::Dispatch(dispatch) = decision {
            let mut events = Events::new();
            events.push(now, *turn, &dispatch).unwrap();
            assert!(events.iter().next().unwrap().bytes.len() <= DISPATCH_BYTES_MAX);
            assert_eq!(dispatch.arms[0].engine, dispatch.engine);
            assert!(dispatch.arms[0].excluded.is_none());
            let counted: u16 = dispatch.excluded.iter().map(|(_, count)| *count).sum();
            assert_eq!(usize::from(counted), excluded);
            assert_eq!(usize::from(dispatch.looked_at), considered.engines.len());
            assert!(dispatch.forecast.expected.known <= dispatch.forecast.cold.known);
            if let Some(draw) = dispatch.draw {
                assert!(draw.propensity <= 1_000);
            }
        }
    });
    checked.unwrap().unwrap();
}

fn run(policy: &Policy, engines: &[(usize, Listed)], steps: &[Step]) -> Driver {
    let mut driver = Driver::new(policy, NOON);
    for (name, listed) in engines {
        driver.list(&price(NAMES[*name], listed));
    }
    let profiles = ["auto", "auto-cheap", "auto-max", "auto-sub"];
    for step in steps {
        let turns: Vec<Subject> =
            driver.world.routing.flights.iter().map(|(turn, _)| *turn).collect();
        match step {
            Step::Ask { conversation, prompt, features, kind, profile } => {
                let kind = kind.map(|(task, tier)| TurnKind {
                    task: Task::ALL[usize::from(task)],
                    tier: TurnTier::ALL[usize::from(tier)],
                });
                let wants = Wants {
                    conversation: *conversation,
                    prompt: *prompt,
                    features: **features,
                    kind,
                    profile: profiles[usize::from(*profile)],
                    ..Wants::default()
                };
                let before = driver.world.routing.learned.labels().count();
                let (turn, plan) = driver.ask(wants);
                check(&mut driver, &turn);
                assert_eq!(driver.world.routing.learned.labels().count(), before);
                if engine(&plan).is_none() {
                    driver.close(&turn);
                }
            }
            Step::End(of, end) if !turns.is_empty() => {
                let turn = of.get(&turns);
                let labels: Vec<_> = driver
                    .world
                    .routing
                    .learned
                    .labels()
                    .map(|(e, l)| (e.clone(), l.clone()))
                    .collect();
                driver.end(turn, *end);
                let after: Vec<_> = driver
                    .world
                    .routing
                    .learned
                    .labels()
                    .map(|(e, l)| (e.clone(), l.clone()))
                    .collect();
                assert_eq!(labels, after, "what was served is no evidence");
                if driver.flight(turn).is_some_and(|flight| flight.attempts() < 3) {
                    driver.retry(turn);
                    check(&mut driver, turn);
                }
            }
            Step::Close(of) if !turns.is_empty() => driver.close(of.get(&turns)),
            Step::Judge(name, good) => {
                let kind = TurnKind { task: Task::Coding, tier: TurnTier::Simple };
                let verdict = if *good { Verdict::Good } else { Verdict::Bad };
                driver.judge(&events::bytes::Bytes([3; 16]), NAMES[*name], kind, verdict);
            }
            Step::Wait(ms) => driver.now += ms,
            _ => {}
        }
    }
    driver
}

fn cases() -> u32 {
    if std::env::var_os("FERRY_LONG").is_some() { 3_000 } else { 150 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn decisions_keep_their_word_whatever_comes(
        policy in policy(),
        engines in proptest::collection::vec((0..NAMES.len(), engine_listed()), 0..16),
        steps in proptest::collection::vec(step(), 1..40),
    ) {
        let driver = run(&policy, &engines, &steps);
        driver.check_folds();
        // Law 6, on a history of every kind of fault.
        let start = replay::redecide::Start { snapshot: None, since: 0 };
        let kinds = events::kind::KindTable::current();
        let made = replay::redecide::redecide(&driver.log, &kinds, decider(&policy), start, &mut || {}).unwrap();
        prop_assert_eq!(made.differences, vec![]);
    }

    #[test]
    fn the_order_engines_are_listed_in_does_not_matter(
        policy in policy(),
        engines in proptest::collection::btree_map(0..NAMES.len(), engine_listed(), 1..12),
        asked in proptest::collection::vec(step().prop_filter("turns alone", |step| matches!(step, Step::Ask { .. })), 1..6),
        seed in any::<u64>(),
    ) {
        let engines: Vec<(usize, Listed)> = engines.into_iter().collect();
        let mut shuffled = engines.clone();
        let count = shuffled.len();
        for index in (1..count).rev() {
            let other = seed.rotate_left(index as u32 * 7) as usize % (index + 1);
            shuffled.swap(index, other);
        }
        let told = |driver: &Driver| -> Vec<_> {
            let flights = driver.world.routing.flights.iter();
            flights.map(|(turn, flight)| (*turn, flight.tried.clone(), flight.open.clone())).collect()
        };
        prop_assert_eq!(told(&run(&policy, &engines, &asked)), told(&run(&policy, &shuffled, &asked)));
    }
}

// 350 engines of the bundled list, every budget, the longest names first: a dispatch is at most 1.5 KB.
#[test]
fn a_dispatch_stays_short_over_350_engines() {
    let list = replay::default_book::default_book().unwrap();
    let mut names: Vec<&str> = list.prices.iter().map(|price| price.engine.as_str()).collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names.truncate(350);
    use events::payload::{BudgetPeriod as Period, BudgetScope as Scope};
    let mut policy = Policy::default();
    policy.routing.engines = names.iter().map(|name| (*name).to_owned()).collect();
    policy.routing.include_free = true;
    policy.routing.adaptive_floors = true;
    policy.routing.explore = Explore { rates: [0, 999, 999, 999], when: ExploreWhen::Always };
    for (scope, period) in [
        (Scope::Turn, Period::Lifetime),
        (Scope::Conversation, Period::Lifetime),
        (Scope::Client, Period::Rolling24h),
        (Scope::Project, Period::Day),
        (Scope::All, Period::Month),
    ] {
        let name = format!("{:-<128}", scope.label());
        let mut of = budget(scope, period, "99999999999");
        of.paced = period == Period::Month;
        policy.budgets.insert(name, of);
    }
    let mut driver = Driver::new(&policy, NOON);
    let lists = replay::decider::Lists::bundled().unwrap();
    let rules = projections::policy::Rules::new(policy).unwrap();
    let prices = replay::effective_book::PricePolicy::default();
    let given = replay::policy_file::PolicyFile { prices, rules };
    driver.decider = replay::decider::Decider::given(crate::build::LEDGER, lists, given);
    for prompt in [1_000, 900_000] {
        let features = Features { images: Some(0), ..Features::default() };
        let (turn, plan) = driver.ask(Wants { prompt, features, ..Wants::default() });
        assert!(engine(&plan).is_some());
        driver.close(&turn);
    }
    let mut longest = 0;
    for stored in driver.log.stored().values() {
        let (_, _, bytes) = events::entry::Entry::split(stored).unwrap();
        let batch = events::batch::Batch::parse(bytes).unwrap();
        let dispatches = batch.events().filter(|event| event.kind == events::kind::Kind::DISPATCH);
        longest = dispatches.map(|event| event.bytes.len()).fold(longest, usize::max);
    }
    assert!((800..=DISPATCH_BYTES_MAX).contains(&longest), "{longest} bytes");
}

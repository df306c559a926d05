//! 3.4's rules, one by one.

use events::money::Pico;
use proptest::prelude::*;

use super::*;
use crate::estimates::Chance;
use crate::profiles::Milli;
use crate::work::Work;

fn price(usd: &str, economy: Economy) -> CallPrice {
    CallPrice { amount: usd.parse().unwrap(), economy, assumed: false, weekly_cap: None }
}

fn arm(name: &str, thousandths: u32, usd: &str) -> Arm {
    Arm {
        name: name.to_owned(),
        machine: "here".to_owned(),
        chance: Chance(thousandths * 1_000),
        price: price(usd, if usd == "0" { Economy::Free } else { Economy::Paid }),
        bias: 0,
        tier_distance: 0,
        latency_ms: None,
        rank: 0,
    }
}

fn subscription(name: &str, thousandths: u32, cap: u32) -> Arm {
    let week = Some(Week { cap, used: cap / 2 });
    let paid = Paid::Subscription;
    let pricing = Pricing { paid, local: false, flagged: false, declared: None, week };
    Arm {
        price: price_of_call(&pricing, crate::work::Size::Medium, 0),
        ..arm(name, thousandths, "0")
    }
}

const fn terms() -> Terms {
    Terms {
        work: Work::CodeChange,
        threshold: Milli(750),
        floor: None,
        code_relaxed: false,
        again: false,
    }
}

fn after(engine: &str, thousandths: u32) -> Terms {
    let floor = Floor { engine: engine.to_owned(), chance: Chance(thousandths * 1_000) };
    Terms { floor: Some(floor), ..terms() }
}

fn winner<'a>(arms: &'a [Arm], terms: &Terms) -> &'a str {
    &arms[choose(arms, terms).unwrap().index].name
}

fn order(arms: &[Arm], terms: &Terms) -> Vec<String> {
    try_order(arms, terms).into_iter().map(|index| arms[index].name.clone()).collect()
}

#[test]
fn the_cheapest_sufficient_engine_wins_and_the_rest_follow() {
    let arms = [arm("dear", 920, "0.5"), arm("weak", 749, "0"), arm("fit", 750, "0.1")];
    assert_eq!(winner(&arms, &terms()), "fit");
    assert_eq!(order(&arms, &terms()), ["fit", "dear", "weak"]);
    assert_eq!(choose(&[], &terms()), None);
    assert!(try_order(&[], &terms()).is_empty());
}

#[test]
fn a_threshold_is_reached_and_a_floor_is_beaten() {
    let just = |millionths| [Arm { chance: Chance(millionths), ..arm("it", 0, "0.1") }];
    let sufficient =
        |millionths, terms: &Terms| choose(&just(millionths), terms).unwrap().sufficient;
    assert!(sufficient(750_000, &terms()));
    assert!(!sufficient(749_999, &terms()));
    assert!(!sufficient(800_000, &after("failed", 800)));
    assert!(sufficient(800_001, &after("failed", 800)));
}

#[test]
fn who_takes_a_failed_order_beats_the_floor_or_else_is_the_best_there_is() {
    let arms = [arm("cheap", 760, "0.01"), arm("better", 850, "0.2")];
    assert_eq!(winner(&arms, &after("failed", 800)), "better");
    assert_eq!(winner(&arms, &after("failed", 900)), "better", "none beats it");
    assert_eq!(order(&arms, &after("failed", 800)), ["better", "cheap"]);
}

// band = max(10% of the cheapest, $0.0005)
#[test]
fn prices_within_the_band_tie() {
    let cases = [
        ("0.1", "0.11", true),
        ("0.1", "0.110000000001", false),
        ("0.001", "0.0015", true),
        ("0.001", "0.001500000001", false),
        ("0", "0.0005", true),
        ("0", "0.000500000001", false),
        ("0.005", "0.0055", true),
        ("0.000000000015", "0.000500000015", true),
    ];
    for (cheapest, other, ties) in cases {
        let preferred = Arm { bias: 1, ..arm("other", 800, other) };
        let arms = [arm("cheapest", 800, cheapest), preferred];
        let expected = if ties { "other" } else { "cheapest" };
        assert_eq!(winner(&arms, &terms()), expected, "{cheapest} {other}");
    }
}

// bias desc, economy, tier distance asc, p in .005 steps desc, latency asc (unknown last), rank, name, machine
#[test]
fn ties_are_broken_in_order() {
    let base = || Arm { latency_ms: Some(900), rank: 5, tier_distance: 1, ..arm("m", 800, "0.1") };
    let free = CallPrice { economy: Economy::Free, ..base().price };
    // From the last that decides to the first: each beats all before it.
    let rising = [
        base(),
        Arm { machine: "far".to_owned(), ..base() },
        Arm { name: "l".to_owned(), machine: "zoo".to_owned(), ..base() },
        Arm { name: "z".to_owned(), rank: 4, ..base() },
        Arm { latency_ms: Some(800), rank: 9, ..base() },
        Arm { chance: Chance(805_000), latency_ms: None, ..base() },
        Arm { tier_distance: 0, chance: Chance(760_000), ..base() },
        Arm { price: free, tier_distance: 2, ..base() },
        Arm { bias: 1, tier_distance: 2, ..base() },
    ];
    let expected: Vec<usize> = (0..rising.len()).rev().collect();
    assert_eq!(try_order(&rising, &terms()), expected);
    let known = Arm { latency_ms: Some(u32::MAX), ..base() };
    let unknown = Arm { latency_ms: None, rank: 0, ..base() };
    assert_eq!(try_order(&[unknown, known], &terms()), [1, 0], "unknown is last");
}

#[test]
fn chances_in_the_same_step_are_one() {
    let of = |millionths, rank| Arm { chance: Chance(millionths), rank, ..arm("m", 0, "0.1") };
    assert_eq!(try_order(&[of(802_499, 1), of(797_500, 0)], &terms()), [1, 0]);
    assert_eq!(try_order(&[of(802_500, 1), of(802_499, 0)], &terms()), [0, 1]);
}

#[test]
fn without_a_sufficient_engine_the_likeliest_wins_and_near_ones_by_price() {
    let arms = [arm("best", 700, "0.5"), arm("near", 695, "0.1"), arm("cheap", 694, "0")];
    assert_eq!(winner(&arms, &terms()), "near");
    // With "near" gone, "best" is .006 above "cheap".
    assert_eq!(order(&arms, &terms()), ["near", "best", "cheap"]);
    let same = [arm("b", 700, "0.1"), Arm { bias: 1, ..arm("c", 697, "0.1") }];
    assert_eq!(winner(&same, &terms()), "c", "the same price: the tie-break");
}

#[test]
fn the_likeliest_of_all_that_failed_tries_again() {
    let arms = [arm("cheap", 800, "0"), arm("best", 900, "0.5")];
    let again = Terms { again: true, ..after("best", 900) };
    assert_eq!(winner(&arms, &again), "best");
    assert!(!choose(&arms, &again).unwrap().sufficient);
}

// weight of the policy, and (listed - place) / (listed + 1)
#[test]
fn bias_is_a_weight_and_a_place() {
    let cases = [
        (&[][..], None, 0, 0),
        (&[-5, 20], None, 3, 20_000),
        (&[-5], None, 3, -5_000),
        (&[127], None, 0, 100_000),
        (&[], Some(0), 3, 750),
        (&[], Some(1), 3, 500),
        (&[], Some(2), 3, 250),
        (&[2], Some(0), 1, 2_500),
        (&[], Some(0), 1_000_000, 999),
        (&[], Some(9), 3, 0),
    ];
    for (weights, place, listed, expected) in cases {
        assert_eq!(bias(weights, place, listed), expected, "{weights:?} {place:?} of {listed}");
    }
}

#[test]
fn tier_distance_is_to_a_judge_for_plans_and_to_the_wanted_tier_for_others() {
    let tiers = [Tier::Chore, Tier::Build, Tier::Judge];
    assert_eq!(tiers.map(|tier| tier_distance(Work::Plan, tier, Tier::Judge)), [2, 1, 0]);
    assert_eq!(tiers.map(|tier| tier_distance(Work::Docs, tier, Tier::Chore)), [0, 1, 2]);
    assert_eq!(tiers.map(|tier| tier_distance(Work::Docs, tier, Tier::Build)), [0, 0, 1]);
}

#[test]
fn reasons_follow_the_grammar() {
    let reason = |arms: &[Arm], terms: &Terms| choose(arms, terms).unwrap().reason.to_string();
    let glm = arm("glm", 820, "0.1");
    let near = Arm { tier_distance: 1, ..arm("near", 860, "0.105") };
    let cases = [
        (
            reason(std::slice::from_ref(&glm), &terms()),
            "glm: $0.100, p 0.82 for code-change >= 0.75, cheapest sufficient",
        ),
        (
            reason(&[glm.clone(), near], &terms()),
            "glm: $0.100, p 0.82 for code-change >= 0.75, cheapest sufficient; tied on price with near, its tier is nearer",
        ),
        (
            reason(&[subscription("big", 800, 2_000), subscription("small", 900, 300)], &terms()),
            "big: subscription $0.010, p 0.80 for code-change >= 0.75, cheapest sufficient; preferred over a smaller cap (small 300/wk)",
        ),
        (
            reason(&[glm.clone(), arm("qwen", 760, "0")], &after("qwen3", 780)),
            "glm: $0.100, p 0.82 for code-change >= 0.75, cheapest sufficient; escalated: it beats qwen3",
        ),
        (
            reason(&[arm("qwen", 620, "0")], &Terms { work: Work::Review, ..terms() }),
            "qwen: free, p 0.62 for review, the highest of the engines that can do it (none reach 0.75)",
        ),
        (
            reason(&[arm("qwen", 620, "0")], &after("glm", 820)),
            "qwen: free, p 0.62 for code-change, the highest of the engines that can do it (none reach 0.75 and beat 0.82 of the engine that failed)",
        ),
        (
            reason(std::slice::from_ref(&glm), &Terms { code_relaxed: true, ..terms() }),
            "glm: $0.100, p 0.82 for code-change >= 0.75, cheapest sufficient; code not asked for: no engine could take it with that",
        ),
        (
            reason(&[glm], &Terms { again: true, ..after("glm", 820) }),
            "glm: $0.100, p 0.82 for code-change, the highest of the engines that can do it; retried: all of them failed it, the likeliest tries again",
        ),
    ];
    for (reason, expected) in cases {
        assert_eq!(reason, expected);
    }
}

#[test]
fn a_reason_says_what_decided_a_tie() {
    let base = || Arm { rank: 5, tier_distance: 1, ..arm("m", 800, "0.1") };
    let free = CallPrice { economy: Economy::Free, ..base().price };
    let cases = [
        (Arm { bias: 1, ..base() }, "policy prefers it"),
        (Arm { price: free, ..base() }, "free before paid"),
        (Arm { tier_distance: 0, ..base() }, "its tier is nearer"),
        (Arm { chance: Chance(850_000), ..base() }, "its p is higher"),
        (Arm { latency_ms: Some(1), ..base() }, "it answers faster"),
        (Arm { rank: 1, ..base() }, "it is ranked before"),
        (Arm { name: "a".to_owned(), ..base() }, "its name comes first"),
    ];
    for (better, expected) in cases {
        let chosen = choose(&[base(), better], &terms()).unwrap();
        let decided = format!("tied on price with m, {expected}");
        assert_eq!(chosen.reason.notes.first().unwrap().to_string(), decided);
    }
}

fn some_arm() -> impl Strategy<Value = Arm> {
    let near = prop_oneof![740_000_u32..760_000, 0_u32..=1_000_000];
    let pico =
        prop_oneof![Just(0_i128), 90_000_000_000_i128..112_000_000_000, 0..1_000_000_000_i128];
    let economy =
        prop_oneof![Just(Economy::Free), Just(Economy::Subscription), Just(Economy::Paid)];
    let cap = prop::option::of(1_u32..3);
    let latency_ms = prop::option::of(0_u32..3);
    ("[ab]", "[xy]", near, pico, economy, cap, -1..=1_i32, 0..3_u8, latency_ms, 0..4_u32).prop_map(
        |(
            name,
            machine,
            chance,
            pico,
            economy,
            weekly_cap,
            bias,
            tier_distance,
            latency_ms,
            rank,
        )| Arm {
            name,
            machine,
            chance: Chance(chance),
            price: CallPrice { amount: Pico(pico), economy, assumed: false, weekly_cap },
            bias,
            tier_distance,
            latency_ms,
            rank,
        },
    )
}

fn shuffled_arms() -> impl Strategy<Value = (Vec<Arm>, Vec<Arm>)> {
    prop::collection::vec(some_arm(), 1..12)
        .prop_flat_map(|arms| (Just(arms.clone()), Just(arms).prop_shuffle()))
}

proptest! {
    #[test]
    fn the_order_of_arms_does_not_matter(
        (arms, shuffled) in shuffled_arms(), floor in prop::option::of(700_u32..800), again: bool
    ) {
        let terms = Terms { again, ..floor.map_or_else(terms, |floor| after("f", floor)) };
        let [first, second] = [&arms, &shuffled].map(|arms| choose(arms, &terms).unwrap());
        prop_assert_eq!(&arms[first.index], &shuffled[second.index]);
        prop_assert_eq!((first.sufficient, &first.reason), (second.sufficient, &second.reason));
        let tried = |arms: &[Arm]| -> Vec<Arm> {
            try_order(arms, &terms).into_iter().map(|index| arms[index].clone()).collect()
        };
        prop_assert_eq!(tried(&arms), tried(&shuffled));
        prop_assert_eq!(try_order(&arms, &terms)[0], first.index);
    }

    #[test]
    fn every_arm_is_tried_once_and_sufficient_ones_first((arms, _) in shuffled_arms()) {
        let order = try_order(&arms, &terms());
        let mut sorted = order.clone();
        sorted.sort_unstable();
        prop_assert_eq!(sorted, (0..arms.len()).collect::<Vec<_>>());
        let is_enough = |index: &usize| arms[*index].chance >= Chance(750_000);
        prop_assert!(order.is_sorted_by_key(|index| !is_enough(index)));
    }
}

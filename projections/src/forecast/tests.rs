//! The worked values of the router that ferry's takes after (its cost function, forecasts, and stay or switch), and
//! where ferry comes to others on purpose.

use events::cost::Cost;
use events::payload::{CacheTtl, Capabilities, Quality, Rates, Tier};
use events::rate::Rate;
use proptest::prelude::*;

use super::*;
use crate::book::EnginePrice;

fn per_million(text: &str) -> Option<Rate> {
    Some(Rate::per_million(text).unwrap())
}

fn tariffs(rates: Rates) -> Tariffs {
    tiered(rates, Vec::new())
}

fn tiered(rates: Rates, tiers: Vec<Tier>) -> Tariffs {
    Tariffs::new(EnginePrice {
        engine: "acme/m".to_owned(),
        context: None,
        rates,
        tiers,
        windows: Vec::new(),
        capabilities: Capabilities::default(),
        quality: Quality::default(),
        source: "test".to_owned(),
        seq: None,
    })
}

fn rates(input: &str, output: &str, read: Option<&str>, write: Option<&str>) -> Rates {
    Rates {
        input: per_million(input),
        output: per_million(output),
        cache_read: read.and_then(per_million),
        cache_write_5m: write.and_then(per_million),
        ..Rates::default()
    }
}

fn turn(prompt: u32, output: u32) -> Foreseen {
    let (prompt_max, output_max) = (prompt, output);
    Foreseen { at: 0, prompt, prompt_max, images: 0, output, reasoning: 0, output_max }
}

const fn held(tokens: u32) -> Held {
    Held { tokens, reliability: Share::ALL, written: Share::NONE }
}

fn horizon(turns: u32) -> Horizon {
    Horizon { turns, grows_by: 0, pauses: Pauses::default(), ttl: Some(CacheTtl::FiveMinutes) }
}

fn usd(text: &str) -> Cost {
    Cost::exactly(text.parse().unwrap())
}

// 5.1: cached tokens are the rounded share of the prompt, and cost the read rate.
#[test]
fn a_warm_forecast_reads_the_rounded_share_of_the_prompt() {
    let engine = tariffs(rates("3", "15", Some("0.3"), None));
    let warm = |share: Share, prompt: u32| {
        let held = Held { tokens: prompt, reliability: share, written: Share::NONE };
        weigh(&engine, &turn(prompt, 100), held, &horizon(1))
    };
    let weighed = warm(Share::of(9, 10), 1_005);
    assert_eq!(weighed.read, 904, "904.5 less what a 65,536th leaves");
    assert_eq!(weighed.expected, usd("0.0020742"), "101 fresh, 904 read, 100 answered");
    assert_eq!(weighed.cold, usd("0.004515"));
    assert_eq!(warm(Share::ALL, 1_000).expected, usd("0.0018"));
    assert_eq!(warm(Share::NONE, 1_000).expected, usd("0.0045"));
}

// 5.1: cold is the dearer of no cache and of writing everything, since some write rates are below the input rate.
#[test]
fn cold_is_the_dearer_of_no_cache_and_a_first_write() {
    let dear_write = tariffs(rates("3", "15", Some("0.3"), Some("3.75")));
    let cheap_write = tariffs(rates("0.75", "3", Some("0.075"), Some("0.04")));
    let cold = |engine: &Tariffs| weigh(engine, &turn(100_000, 0), held(0), &horizon(1)).cold;
    assert_eq!(cold(&dear_write), usd("0.375"));
    assert_eq!(cold(&cheap_write), usd("0.075"), "not 0.004");
}

// 5.1: the highest tier that applies, for the whole request; images and the request itself are charged too.
#[test]
fn forecasts_know_tiers_images_and_request_fees() {
    let above = Tier { from_prompt: 200_001, rates: rates("6", "22.5", Some("0.6"), None) };
    let base = Rates {
        image: Some("0.001".parse().unwrap()),
        request: Some("0.01".parse().unwrap()),
        ..rates("3", "15", Some("0.3"), None)
    };
    let engine = tiered(base, vec![above]);
    let of = |prompt: u32| {
        let turn = Foreseen { images: 2, ..turn(prompt, 1_000) };
        weigh(&engine, &turn, held(0), &horizon(1)).expected
    };
    assert_eq!(of(200_000), usd("0.627"), "0.6 + 0.015 + 2 images + 1 request");
    assert_eq!(of(200_001), usd("1.234506"), "all of it at the tier's rates");
}

// 5.1: reasoning is part of the answer, and apart only where its rate is.
#[test]
fn reasoning_is_priced_apart_only_where_a_rate_is_stated() {
    let turn = Foreseen { reasoning: 400, ..turn(0, 1_000) };
    let plain = rates("1", "10", None, None);
    let cost = |rates| weigh(&tariffs(rates), &turn, held(0), &horizon(1)).expected;
    assert_eq!(cost(plain), usd("0.01"));
    assert_eq!(cost(Rates { reasoning: per_million("20"), ..plain }), usd("0.014"));
}

// 5.4's worked check: 100k warm at $2.55/$0.256 against $0.75/$0.075 with a write rate of $0.04. The original comes to
// 0.0256 and 0.079 a turn: it adds the write rate to the input rate, forgets what is new in the prompt, and forgets the
// answers. Here a write takes an input token's place (0.075 for the cold turn); both sides pay for the rest alike. The
// decisions are the same: stay for one turn, switch for eight.
#[test]
fn the_worked_switch_stays_for_one_turn_and_goes_for_eight() {
    let warm = tariffs(rates("2.55", "0", Some("0.256"), None));
    let other = tariffs(rates("0.75", "0", Some("0.075"), Some("0.04")));
    let decides = |turns: u32| {
        let stay = weigh(&warm, &turn(100_000, 0), held(100_000), &horizon(turns)).horizon;
        let switch = weigh(&other, &turn(100_000, 0), held(0), &horizon(turns)).horizon;
        (stay, switch, switch_pays(stay, switch, Permille(1_300)))
    };
    assert_eq!(decides(1), (usd("0.0256"), usd("0.075"), Some(false)));
    assert_eq!(decides(8), (usd("0.2048"), usd("0.1275"), Some(true)));
    // The original's own sums, for the record: 8 x 0.0256 = 0.2048 > (0.079 + 7 x 0.0075) x 1.3 = 0.17095.
    let original = switch_pays(usd("0.2048"), usd("0.1315"), Permille(1_300));
    assert_eq!(original, Some(true));
}

// 5.4's first weak spot: a write rate of 1.25 times the input rate was charged as 2.25 times.
#[test]
fn a_cold_turn_pays_for_each_token_once() {
    let engine = tariffs(rates("4", "0", Some("0.4"), Some("5")));
    let all_written = Held { tokens: 0, reliability: Share::ALL, written: Share::ALL };
    let weighed = weigh(&engine, &turn(100_000, 0), all_written, &horizon(1));
    assert_eq!(weighed.expected, usd("0.5"), "not 0.9");
}

// 5.4's other weak spots: staying pays for what is new in the prompt, and both sides pay for answers.
#[test]
fn what_is_new_and_the_answer_are_paid_for_on_both_sides() {
    let engine = tariffs(rates("2", "10", Some("0.2"), None));
    let weighed = weigh(&engine, &turn(110_000, 1_000), held(100_000), &horizon(1));
    assert_eq!(weighed.expected, usd("0.05"), "0.02 read, 0.02 new, 0.01 answered");
    // Dear answers keep a turn from an engine that is cheap to read: by reads alone it would go.
    let stay = tariffs(rates("2", "10", Some("0.2"), None));
    let other = tariffs(rates("0.5", "200", Some("0.05"), None));
    let of = |engine: &Tariffs, tokens| {
        weigh(engine, &turn(10_000, 1_000), held(tokens), &horizon(8)).horizon
    };
    assert_eq!(switch_pays(of(&stay, 10_000), of(&other, 0), Permille(1_300)), Some(false));
}

// A warm cache of 150k tokens is not thrown away for a follow-up of three words (case 59).
#[test]
fn case_59_a_short_follow_up_stays_where_the_cache_is_warm() {
    let warm = tariffs(rates("3", "15", Some("0.3"), Some("3.75")));
    let fifth = tariffs(rates("0.6", "3", None, None));
    let of = |engine: &Tariffs, tokens| {
        let turn = turn(150_010, 200);
        weigh(engine, &turn, held(tokens), &horizon(1)).horizon
    };
    assert_eq!(switch_pays(of(&warm, 150_000), of(&fifth, 0), Permille(1_300)), Some(false));
}

// Where a figure is not known there is nothing to weigh.
#[test]
fn unknown_prices_are_not_weighed() {
    let unknown = weigh(&tariffs(Rates::default()), &turn(10, 10), held(0), &horizon(8));
    assert_eq!(unknown.horizon.amount(), None);
    assert_eq!(switch_pays(unknown.horizon, usd("1"), Permille(1_300)), None);
    assert_eq!(unknown.ceiling.amount(), None);
}

fn pauses(five_minutes: u32, one_hour: u32, longer: u32) -> Pauses {
    Pauses { five_minutes, one_hour, longer }
}

// Writing for an hour costs 2 instead of 1.25 input tokens; it pays where pauses outlive five minutes often enough.
#[test]
fn the_time_to_live_that_pays_follows_the_pauses() {
    let anthropic =
        Rates { cache_write_1h: per_million("6"), ..rates("3", "15", Some("0.3"), Some("3.75")) };
    let engine = tariffs(anthropic);
    let ttl = |pauses: Pauses, grows_by: u32| {
        let horizon = Horizon { turns: 8, grows_by, pauses, ttl: None };
        let held = Held { tokens: 100_000, reliability: Share::ALL, written: Share::ALL };
        weigh(&engine, &turn(102_000, 500), held, &horizon).ttl
    };
    assert_eq!(ttl(Pauses::default(), 2_000), CacheTtl::FiveMinutes, "nothing is known of pauses");
    assert_eq!(ttl(pauses(100, 0, 0), 2_000), CacheTtl::FiveMinutes, "an agent in a loop");
    assert_eq!(ttl(pauses(70, 30, 0), 2_000), CacheTtl::OneHour, "a person who thinks");
    assert_eq!(ttl(pauses(30, 0, 70), 2_000), CacheTtl::FiveMinutes, "gone for the day");
    assert_eq!(ttl(pauses(97, 3, 0), 60_000), CacheTtl::FiveMinutes, "what is new outweighs it");
    // Without a rate of its own an hour is not to be had.
    let horizon = Horizon { ttl: Some(CacheTtl::OneHour), ..horizon(8) };
    let plain = tariffs(rates("3", "15", Some("0.3"), Some("3.75")));
    assert_eq!(weigh(&plain, &turn(1_000, 10), held(0), &horizon).ttl, CacheTtl::FiveMinutes);
    assert_eq!(weigh(&engine, &turn(1_000, 10), held(0), &horizon).ttl, CacheTtl::OneHour);
}

fn any_rates() -> impl Strategy<Value = Rates> {
    let some = || {
        (0_u64..60_000_000, 6_u8..14).prop_map(|(mantissa, scale)| Rate::new(mantissa, scale).ok())
    };
    let optional = move || prop::option::of(some()).prop_map(Option::flatten);
    (some(), some(), optional(), optional(), optional(), optional(), optional(), optional())
        .prop_map(
            |(
                input,
                output,
                cache_read,
                cache_write_5m,
                cache_write_1h,
                reasoning,
                image,
                request,
            )| Rates {
                input,
                output,
                cache_read,
                cache_write_5m,
                cache_write_1h,
                reasoning,
                image,
                request,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    // Whatever a request within its bounds uses, it does not come to more than its ceiling: what makes a budget hold.
    #[test]
    fn no_honest_use_costs_more_than_the_ceiling(
        base in any_rates(),
        tiers in prop::collection::vec((0_u32..400_000, any_rates()), 0..4),
        prompt_max in 0_u32..500_000,
        output_max in 0_u32..60_000,
        images in 0_u32..5,
        parts in prop::collection::vec(0_u32..1_000, 7),
    ) {
        let tiers = tiers.into_iter().map(|(from_prompt, rates)| Tier { from_prompt, rates }).collect();
        let engine = tiered(base, tiers);
        let foreseen = Foreseen {
            at: 0, prompt: prompt_max / 2, prompt_max, images, output: output_max / 3, reasoning: 0, output_max,
        };
        let share = |of: u32, part: usize| (u64::from(of) * u64::from(parts[part]) / 1_000) as u32;
        let prompt = share(prompt_max, 0);
        let read = share(prompt, 1);
        let five_minutes = share(prompt - read, 2);
        let one_hour = share(prompt - read - five_minutes, 3);
        let output = share(output_max, 4);
        let reasoning = share(output, 5);
        let used = Quantities {
            uncached: Some(prompt - read - five_minutes - one_hour),
            cache_read: Some(read),
            cache_write_5m: Some(five_minutes),
            cache_write_1h: Some(one_hour),
            output: Some(output - reasoning),
            reasoning: Some(reasoning),
            images: Some(share(images, 6)),
            requests: 1,
        };
        let weighed = weigh(&engine, &foreseen, held(0), &horizon(1));
        prop_assert!(engine.cost(0, &used).known <= weighed.ceiling.known);
    }

    // 5.1's invariant: nothing expected is dearer than cold, nothing cold dearer than the ceiling.
    #[test]
    fn cold_lies_between_what_is_expected_and_the_ceiling(
        base in any_rates(), prompt in 0_u32..500_000, tokens in 0_u32..500_000,
        reliability in 0_u32..=65_536, written in 0_u32..=65_536,
    ) {
        let engine = tariffs(base);
        let held = Held { tokens, reliability: Share(reliability), written: Share(written) };
        let weighed = weigh(&engine, &turn(prompt, 100), held, &horizon(1));
        prop_assert!(weighed.expected.known <= weighed.cold.known);
        prop_assert!(weighed.cold.known <= weighed.ceiling.known);
    }
}

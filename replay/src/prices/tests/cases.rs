//! Cases from the field, through the one cost function. Their figures are nano-dollars.

use events::money::Pico;
use events::payload::Price;
use projections::cost::{Basis, Tariff};
use projections::tariffs::Tariffs;

use super::*;

fn nano(nanos: i128) -> Cost {
    Cost::exactly(Pico(nanos * 1_000))
}

fn usage(prompt: u32, completion: u32) -> String {
    format!(r#"{{"prompt_tokens":{prompt},"completion_tokens":{completion}}}"#)
}

fn engine_price(list: &PriceList, engine: &str) -> EnginePrice {
    let price: Price<'_> =
        list.engine(engine).unwrap().price(Name::new("OpenRouter").unwrap()).unwrap();
    EnginePrice::of(&price, None)
}

const M2: &str = r#"{"data":[{"id":"acme/m2","pricing":{"prompt":"0.000001","completion":"0.000004",
    "overrides":[{"min_prompt_tokens":500000,"prompt":"0.000003","completion":"0.000012"},
                 {"min_prompt_tokens":200000,"prompt":"0.000002","completion":"0.000008"}]}}]}"#;

// Case 8: the largest threshold not above the prompt applies, in whatever order they stand.
#[test]
fn case_8_several_tiers_unsorted() {
    let list = read(M2);
    let engine = "openrouter/acme/m2";
    let cost = |prompt| bill_of(&list, engine, 0, &usage(prompt, 1_000));
    assert_eq!(cost(250_000).cost, nano(508_000_000));
    assert_eq!(cost(250_000).tier_from, Some(200_000));
    assert_eq!(cost(199_999).cost, nano(199_999_000 + 4_000_000));
    assert_eq!(cost(200_000).cost, nano(400_000_000 + 8_000_000), "from the threshold on");
    assert_eq!(cost(500_000).cost, nano(1_500_000_000 + 12_000_000));
    // Forecast and ledger ask by different ways; near each threshold they have to agree.
    let price = engine_price(&list, engine);
    let tariffs = Tariffs::new(price.clone());
    for prompt in (199_990..200_010).chain(499_990..500_010) {
        assert_eq!(tariffs.at(0, Some(prompt)), Tariff::of(&price, 0, Some(prompt)), "{prompt}");
    }
}

// Case 10: windows of the UTC day wrap midnight; their end is exclusive.
#[test]
fn case_10_prices_by_the_utc_hour() {
    let list = read(
        r#"[{"id":"acme/m3","pricing":{"prompt":"0.00000044","completion":"0.00000132",
            "overrides":[{"utc_start":1630,"utc_end":30,"prompt":"0.00000022","completion":"0.00000066"}]}}]"#,
    );
    let at = |text: &str| {
        let instant: jiff::Timestamp = text.parse().unwrap();
        let at = Millis::try_from(instant.as_millisecond()).unwrap();
        bill_of(&list, "openrouter/acme/m3", at, &usage(1_000, 0)).cost
    };
    assert_eq!(at("2026-03-01T23:50:00Z"), nano(220_000));
    assert_eq!(at("2026-03-02T00:30:00Z"), nano(440_000));
    assert_eq!(at("2026-03-02T00:29:59Z"), nano(220_000));
    assert_eq!(at("2026-03-02T16:29:59Z"), nano(440_000));
    assert_eq!(at("2026-03-02T16:30:00Z"), nano(220_000));
}

// Case 11: a model without a price is not in the list, so its cost is unknown and not zero; nor is it
// where only a part of the price is missing.
#[test]
fn case_11_an_unpriced_model_is_not_free() {
    let list = read(
        r#"{"newlab":{"models":{"unknown-9":{"limit":{"context":1000000}},
            "half-known":{"cost":{"output":10}},"free":{"cost":{"input":0,"output":0}}}}}"#,
    );
    assert_eq!((list.engine("newlab/unknown-9"), list.unpriced), (None, 1));
    let call = usage(900_000, 1_000);
    let half = bill_of(&list, "newlab/half-known", 0, &call);
    assert_eq!(half.cost, Cost { known: Pico(10_000_000 * 1_000), incomplete: true });
    assert_eq!((half.cost.amount(), half.parts[0].basis), (None, Basis::Missing));
    assert_eq!(bill_of(&list, "newlab/free", 0, &call).cost, Cost::ZERO);
}

// Case 23: a long tail is kept; each event is rounded once, half to even, and the sum is of the events.
#[test]
fn case_23_price_strings_with_long_tails() {
    let list = read(
        r#"[{"id":"acme/m4","pricing":{"prompt":"0.00000008333333333333334","completion":"0"}}]"#,
    );
    let rate = list.prices[0].rates.input.unwrap();
    assert_eq!(rate.to_string(), "0.00000008333333333333334");
    let cost = |prompt| bill_of(&list, "openrouter/acme/m4", 0, &usage(prompt, 0)).cost;
    assert_eq!(cost(1), Cost::exactly(Pico(83_333)));
    assert_eq!(cost(1_000_000), Cost::exactly(Pico(83_333_333_333)));
    let events = [1, 1, 1, 1_000_000].map(cost);
    let sum: Cost = events.into_iter().sum();
    assert_eq!(sum, Cost::exactly(Pico(3 * 83_333 + 83_333_333_333)));
}

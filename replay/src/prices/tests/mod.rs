//! Lists as they are published, and as nobody should publish them.

mod abilities;
mod cases;
mod hostile;
mod litellm;
mod models_dev;
mod openrouter;

use events::cost::Cost;
use events::ids::Millis;
use events::payload::Name;
use events::rate::Rate;
use events::usage::{Convention, RawUsage};
use projections::book::EnginePrice;
use projections::cost::{Bill, Quantities, bill};

use super::*;

/// Dollars per unit.
fn usd(text: &str) -> Option<Rate> {
    Some(text.parse().unwrap())
}

fn read(json: &str) -> PriceList {
    let list = parse(json.as_bytes()).unwrap();
    let mut engines: Vec<&str> = list.prices.iter().map(|price| price.engine.as_str()).collect();
    assert!(engines.is_sorted(), "{engines:?}");
    engines.dedup();
    assert_eq!(engines.len(), list.prices.len(), "each engine once");
    list
}

/// The only entry that is refused, as a line.
fn only_refusal(json: &str) -> String {
    let list = read(json);
    assert_eq!(list.refused.len(), 1, "{:?}", list.refused);
    list.refused[0].to_string()
}

/// What a list bills for usage in OpenAI's convention.
fn bill_of(list: &PriceList, engine: &str, at: Millis, usage: &str) -> Bill {
    let price = list.engine(engine).unwrap();
    let price = price.price(Name::new(&list.source).unwrap()).unwrap();
    let raw = RawUsage::from_object(&mut serde_json::Deserializer::from_str(usage)).unwrap();
    let quantities = Quantities::reported(&raw.normalise(Convention::OpenAi));
    bill(&EnginePrice::of(&price, None), at, &quantities)
}

#[test]
fn an_engine_is_found_by_its_exact_id() {
    let list = read(r#"{"b/m":{"cost":{"input":1}},"a/m":{"cost":{"input":2}}}"#);
    assert_eq!(list.engine("a/m").unwrap().rates.input, usd("0.000002"));
    assert_eq!(list.engine("a"), None);
}

#[test]
fn a_book_of_ones_own_is_read_as_it_stands() {
    let json = r#"{"source":"my prices","dated":"2026-07-02","unit":"USD per 1,000,000 tokens",
        "engines":{"acme/m1":{"context":200000,"input":"3","cache_write_5m":"0",
            "tiers":[{"above_context":200000,"input":"6"}]},"acme/m0":{"context":10}}}"#;
    let list = read(json);
    assert_eq!((list.format, list.source.as_str()), (ListFormat::Ferry, "my prices"));
    assert_eq!(list.dated.as_deref(), Some("2026-07-02"));
    assert_eq!(list.prices.len(), 2, "engines without a price are kept");
    let price = list.engine("acme/m1").unwrap();
    assert_eq!((price.rates.input, price.rates.cache_write_5m), (usd("0.000003"), usd("0")));
    assert_eq!(price.tiers[0].from_prompt, 200_001);
    assert_eq!(list.digest, digest(Domain::Book, json.as_bytes()));
    let broken = json.replace("USD per 1,000,000 tokens", "EUR");
    assert!(matches!(parse(broken.as_bytes()), Err(PriceListError::Book(_))));
}

#[test]
fn what_is_no_list_says_which_are_known() {
    for json in ["{}", "[]", "[1,2]", r#"{"models":[]}"#, r#"{"data":{"a":1}}"#, r#"{"a":{"b":1}}"#]
    {
        let error = parse(json.as_bytes()).unwrap_err();
        assert!(matches!(error, PriceListError::Unrecognised), "{json}: {error}");
        for known in ["models.dev", "LiteLLM", "OpenRouter", "ferry's own"] {
            assert!(error.to_string().contains(known), "{error}");
        }
    }
    for json in ["", "null", "3", "\"data\"", "{", "[{]", "{} x", "\u{feff}{}"] {
        assert!(matches!(parse(json.as_bytes()), Err(PriceListError::Json(_))), "{json}");
    }
}

#[test]
fn a_list_of_another_form_than_its_members_is_none() {
    let error = parse(br#"[{"litellm_provider":"a","input_cost_per_token":1}]"#).unwrap_err();
    assert!(matches!(error, PriceListError::Unrecognised), "{error}");
}

#[test]
fn keys_that_stand_twice_are_decided() {
    let frame = r#"{"_meta":1,"_meta":2,"data":[{"id":"a","pricing":{}}],"data":[]}"#;
    assert!(matches!(parse(frame.as_bytes()), Err(PriceListError::Twice(key)) if key == "data"));
    let same = read(r#"{"a/m":{"cost":{"input":1}},"a/m":{"cost":{"input":1.0}}}"#);
    assert_eq!((same.prices.len(), same.refused.len()), (1, 0), "they agree");
    let other = read(r#"{"a/m":{"cost":{"input":1}},"a/m":{"cost":{"input":2}}}"#);
    assert_eq!((other.prices.len(), other.refused.len()), (0, 2), "neither counts");
    assert_eq!(
        only_refusal(r#"{"a/m":{"cost":{"input":1,"output":2,"input":3}}}"#),
        "a/m: cost.input '3' stands twice"
    );
    assert_eq!(
        only_refusal(r#"{"a/m":{"cost":{"input":1},"cost":null}}"#),
        "a/m: entry.cost 'null' stands twice"
    );
}

#[test]
fn a_cost_is_known_only_where_its_rates_are() {
    let list = read(r#"{"a/m":{"cost":{"output":15}}}"#);
    let bill = bill_of(&list, "a/m", 0, r#"{"prompt_tokens":10,"completion_tokens":1}"#);
    assert_eq!(bill.cost, Cost::at_least("0.000015".parse().unwrap()));
}

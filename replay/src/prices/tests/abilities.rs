//! What lists say engines can do, and how good they are.

use super::*;
use crate::prices::abilities::tenths;

const fn can(
    tools: Option<bool>,
    images: Option<bool>,
    reasoning: Option<bool>,
    output: Option<u32>,
) -> Capabilities {
    Capabilities { tools, images, reasoning, output }
}

const UNKNOWN: Capabilities = can(None, None, None, None);

/// The capabilities of the only engine of a list, nothing of which is refused.
fn of(json: &str) -> Capabilities {
    let list = read(json);
    assert_eq!((list.prices.len(), list.refused.len()), (1, 0), "{json}");
    list.prices[0].capabilities
}

#[test]
fn models_devs_are_read() {
    let of = |fields: &str| of(&format!(r#"{{"a/m":{{"cost":{{"input":1}}{fields}}}}}"#));
    let all = r#","tool_call":true,"reasoning":false,"modalities":{"input":["text","image"],"output":["text"]},
        "limit":{"context":9,"output":64000}"#;
    assert_eq!(of(all), can(Some(true), Some(true), Some(false), Some(64_000)));
    assert_eq!(of(r#","modalities":{"input":["text"]}"#).images, Some(false));
    assert_eq!(of(""), UNKNOWN);
    let broken = r#","tool_call":"yes","reasoning":1,"modalities":{"input":["image",7]},"limit":{"output":0}"#;
    assert_eq!(of(broken), UNKNOWN, "malformed is unknown, and the price stands");
    assert_eq!(of(r#","modalities":["image"],"limit":7"#), UNKNOWN);
    assert_eq!(of(r#","modalities":{"input":"image"},"limit":{"output":-5}"#), UNKNOWN);
}

#[test]
fn litellms_are_read() {
    let of = |fields: &str| {
        of(&format!(r#"{{"a/m":{{"litellm_provider":"a","input_cost_per_token":1{fields}}}}}"#))
    };
    let all = r#","supports_function_calling":true,"supports_vision":false,"supports_reasoning":true,
        "max_output_tokens":8192"#;
    assert_eq!(of(all), can(Some(true), Some(false), Some(true), Some(8_192)));
    assert_eq!(of(""), UNKNOWN, "what it does not say is unknown, not false");
    let broken =
        r#","supports_function_calling":"true","supports_vision":[],"max_output_tokens":"many""#;
    assert_eq!(of(broken), UNKNOWN);
}

#[test]
fn openrouters_are_read_as_answered_and_as_saved() {
    let of = |fields: &str| of(&format!(r#"[{{"id":"a/m","pricing":{{"prompt":"1"}}{fields}}}]"#));
    let answered = r#","supported_parameters":["tools","include_reasoning"],
        "architecture":{"input_modalities":["image","text"]},"top_provider":{"max_completion_tokens":32000}"#;
    let all = can(Some(true), Some(true), Some(true), Some(32_000));
    assert_eq!(of(answered), all);
    assert_eq!(of(r#","params":["reasoning","tools"],"in":["text","image"],"max_out":32000"#), all);
    let none = r#","supported_parameters":["temperature"],"input_modalities":["text"]"#;
    assert_eq!(of(none), can(Some(false), Some(false), Some(false), None));
    assert_eq!(of(""), UNKNOWN);
    let broken = r#","supported_parameters":{"tools":true},"architecture":{"input_modalities":[null]},
        "top_provider":{"max_completion_tokens":1.5}"#;
    assert_eq!(of(broken), UNKNOWN);
}

#[test]
fn openrouters_scores_are_read() {
    let of = |benchmarks: &str| {
        let list = read(&format!(
            r#"[{{"id":"a/m","pricing":{{"prompt":"1"}},"benchmarks":{benchmarks}}}]"#
        ));
        let Quality { intelligence, coding, agentic } = list.prices[0].quality;
        [intelligence, coding, agentic]
    };
    let answered = r#"{"artificial_analysis":{"coding_index":71.5,"agentic_index":51.25,"intelligence_index":0},
        "design_arena":[{"elo":1200}]}"#;
    assert_eq!(of(answered), [Some(0), Some(715), Some(513)]);
    assert_eq!(of(r#"{"coding":100,"agentic":null}"#), [None, Some(1_000), None]);
    let out = r#"{"artificial_analysis":{"coding_index":100.01,"agentic_index":-1,"intelligence_index":"46"}}"#;
    assert_eq!(of(out), [None; 3], "out of range, or no number");
    for broken in [
        "7",
        "[]",
        r#"{"artificial_analysis":[71.5]}"#,
        r#"{"artificial_analysis":{"coding_index":1e400}}"#,
    ] {
        assert_eq!(of(broken), [None; 3], "{broken}");
    }
}

#[test]
fn scores_are_rounded_to_tenths() {
    let all = ["0", "0.04", "0.05", "71.55", "7.155e1", "99.96", "100", "100.0"].map(tenths);
    assert_eq!(all, [0, 0, 1, 716, 716, 1_000, 1_000, 1_000].map(Some));
    for none in ["", "-1", "100.000000001", "NaN", "1e9", "71,5"] {
        assert_eq!(tenths(none), None, "{none}");
    }
}

#[test]
fn entries_that_charge_the_same_agree_whatever_else_they_say() {
    let list = read(
        r#"{"m":{"litellm_provider":"d","input_cost_per_token":1,"supports_vision":true,"supports_reasoning":true},
            "m":{"litellm_provider":"d","input_cost_per_token":1,"supports_vision":false,"max_output_tokens":9}}"#,
    );
    assert_eq!((list.prices.len(), list.refused.len()), (1, 0));
    assert_eq!(list.prices[0].capabilities, can(None, None, Some(true), Some(9)));
    let list = read(
        r#"{"m":{"litellm_provider":"d","input_cost_per_token":1,"supports_vision":true},
            "d/m":{"litellm_provider":"d","input_cost_per_token":1,"supports_vision":false}}"#,
    );
    assert_eq!(
        list.prices[0].capabilities.images,
        Some(false),
        "the name the list spells out counts"
    );
}

#[test]
fn a_book_of_ones_own_may_say_both() {
    let book = |engine: &str| {
        format!(
            r#"{{"source":"s","dated":"2026-07-02","unit":"USD per 1,000,000 tokens","engines":{{"a/m":{{{engine}}}}}}}"#
        )
    };
    let list = read(&book(
        r#""capabilities":{"tools":true,"output":64000},"quality":{"coding":"62.5","agentic":"48"}"#,
    ));
    assert_eq!(list.prices[0].capabilities, can(Some(true), None, None, Some(64_000)));
    assert_eq!(
        list.prices[0].quality,
        Quality { intelligence: None, coding: Some(625), agentic: Some(480) }
    );
    assert_eq!(read(&book("")).prices[0].capabilities, UNKNOWN);
    let price = list.prices[0].price(Name::new("s").unwrap()).unwrap();
    let engine = EnginePrice::of(&price, None);
    assert_eq!((engine.capabilities, engine.quality), (price.capabilities, price.quality));
    for (engine, field) in [
        (r#""quality":{"coding":"100.1"}"#, "engines.a/m.quality.coding: '100.1' is no score"),
        (r#""quality":{"agentic":"62.55"}"#, "engines.a/m.quality.agentic: '62.55' is no score"),
        (r#""quality":{"speed":"1"}"#, "unknown field `speed`"),
        (r#""capabilities":{"audio":true}"#, "unknown field `audio`"),
    ] {
        let error = parse(book(engine).as_bytes()).unwrap_err().to_string();
        assert!(error.contains(field), "{error}");
    }
}

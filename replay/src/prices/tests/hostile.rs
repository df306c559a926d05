//! Whatever bytes come, there is an error or a list.

use proptest::prelude::*;

use super::*;

const LISTS: [&str; 4] = [
    r#"{"acme":{"id":"acme","models":{"m1":{"limit":{"context":9},"cost":{"input":3,"output":1.5e1,"cache_write":0,
        "tiers":[{"input":6,"tier":{"type":"context","size":200000}}]}}}}}"#,
    r#"{"m":{"litellm_provider":"a","input_cost_per_token":1e-6,"input_cost_per_token_above_200k_tokens":2e-6},
        "q/m":{"tiered_pricing":[{"range":[0,9.0],"input_cost_per_token":1},{"range":[9,10],"input_cost_per_token":2}]}}"#,
    r#"{"data":[{"id":"a/m","context_length":9,"pricing":{"prompt":"0.1","completion":"-1","overrides":[
        {"min_prompt_tokens":5,"prompt":"1"},{"utc_start":1630,"utc_end":30,"completion":"0.2"}]}}]}"#,
    r#"{"source":"s","dated":"2026-07-02","unit":"USD per 1,000,000 tokens","engines":{"a/m":{"input":"3"}}}"#,
];

/// What every list promises, wherever it came from.
fn check(json: &[u8]) {
    let Ok(list) = parse(json) else { return };
    assert!(list.prices.is_sorted_by(|a, b| a.engine < b.engine));
    let source = Name::new(&list.source).unwrap();
    for price in &list.prices {
        assert!(price.price(source).is_some());
        assert!(price.tiers.is_sorted_by(|a, b| a.from_prompt < b.from_prompt));
        assert!(price.windows.iter().all(|window| window.from_minute < 1440));
        assert!(price.windows.iter().all(|window| window.to_minute < 1440));
        assert!(list.engine(&price.engine).is_some());
    }
    for refused in &list.refused {
        let line = refused.to_string();
        assert!(line.bytes().all(|byte| matches!(byte, b' '..=b'~')), "{line:?}");
        assert!(line.len() < 600, "{line:?}");
    }
}

/// A value made of the words lists are made of.
fn any_value() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "models",
        "data",
        "cost",
        "limit",
        "context",
        "pricing",
        "overrides",
        "tiers",
        "id",
        "input",
        "output",
        "prompt",
        "completion",
        "min_prompt_tokens",
        "utc_start",
        "utc_end",
        "a/m",
        "above_context",
        "litellm_provider",
        "input_cost_per_token",
        "tiered_pricing",
        "range",
        "input_cost_per_token_above_200k_tokens",
        "engines",
        "_meta",
        "date",
        "tier",
        "type",
        "size",
        "tool_call",
        "modalities",
        "supported_parameters",
        "benchmarks",
        "artificial_analysis",
        "coding_index",
        "supports_vision",
    ]);
    let leaf = prop_oneof![
        word.clone().prop_map(|word| format!("{word:?}")),
        "-?(0|[1-9][0-9]{0,24})(\\.[0-9]{1,24})?([eE][-+]?[0-9]{1,6})?",
        Just("null".to_owned()),
        Just("\"\\ud800\"".to_owned()),
        Just("\"2026-07-02\"".to_owned()),
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        let pairs = prop::collection::vec((word.clone(), inner.clone()), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            pairs.prop_map(|pairs| {
                let pairs: Vec<String> =
                    pairs.iter().map(|(key, value)| format!("{key:?}:{value}")).collect();
                format!("{{{}}}", pairs.join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&bytes);
    }

    #[test]
    fn any_json_of_the_right_words(json in any_value()) {
        check(json.as_bytes());
    }

    #[test]
    fn lists_with_bytes_changed(
        list in prop::sample::select(LISTS.to_vec()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = list.as_bytes().to_vec();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        check(&bytes);
    }

    #[test]
    fn lists_cut_short(list in prop::sample::select(LISTS.to_vec()), place in any::<prop::sample::Index>()) {
        check(&list.as_bytes()[..place.index(list.len())]);
    }
}

#[test]
fn the_lists_that_are_changed_are_lists() {
    for json in LISTS {
        let list = read(json);
        assert_eq!((list.prices.is_empty(), list.refused.len()), (false, 0), "{json}");
    }
}

#[test]
fn depth_costs_no_stack() {
    let deep = "[".repeat(200_000) + &"]".repeat(200_000);
    assert!(matches!(parse(deep.as_bytes()), Err(PriceListError::Unrecognised)));
    let entry = format!(r#"{{"a/m":{{"cost":{{"input":{deep},"output":1}}}}}}"#);
    assert_eq!(read(&entry).prices[0].rates.input, None);
}

#[test]
fn names_are_bounded_and_refusals_printable() {
    let long = "x".repeat(127);
    let list = read(&format!(
        r#"{{"a/{long}":{{"cost":{{"input":1}}}},"é/m":{{"cost":{{"input":1}}}},"a/\u001b[2J":{{"cost":{{"input":1}}}},
            "":{{"cost":{{"input":1}}}},"a/{}":{{"cost":{{"input":1}}}}}}"#,
        "x".repeat(126)
    ));
    assert_eq!((list.prices.len(), list.refused.len()), (1, 4));
    let problem = "is no name of 1 to 128 characters of printable ASCII";
    assert!(list.refused.iter().all(|refused| refused.problem == problem));
    assert!(list.refused.iter().any(|refused| refused.entry == "a/?[2J"));
    assert!(list.refused.iter().all(|refused| refused.entry.len() <= 128));
}

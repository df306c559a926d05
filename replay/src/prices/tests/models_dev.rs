use super::*;

/// As published: providers with their models.
const API: &str = r#"{
  "acme": { "id": "acme", "env": ["ACME_KEY"], "npm": "@ai-sdk/acme", "name": "Acme", "models": {
    "m1": { "id": "m1", "name": "M One", "limit": { "context": 1000000, "output": 64000 },
      "cost": { "input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75,
        "tiers": [ { "input": 6, "output": 22.5, "cache_read": 0.6, "tier": { "type": "context", "size": 200000 } } ],
        "context_over_200k": { "input": 99, "output": 99 } } },
    "m1-old": { "id": "m1-old", "limit": { "context": 0, "output": 0 },
      "cost": { "input": 2.5, "output": 10, "context_over_200k": { "input": 5, "output": 15 } } },
    "lab/m2:free": { "id": "lab/m2:free", "cost": { "input": 0, "output": 0 } },
    "m3": { "id": "m3", "limit": { "context": 8192, "output": 8192 } } } },
  "empty": { "id": "empty", "name": "No models", "models": {} }
}"#;

/// As ferry's own snapshot keeps it: models by `provider/model`.
const STORED: &str = r#"{
  "_meta": { "commit": "f3fc692", "date": "2026-07-02T00:40:28+08:00", "licence": "MIT" },
  "models": {
    "acme/m1": { "limit": { "context": 1000000, "output": 64000 },
      "cost": { "input": 3.0, "output": 15.0, "cache_read": 0.3, "cache_write": 3.75,
        "tiers": [ { "above_context": 200000, "input": 6.0, "output": 22.5, "cache_read": 0.6 } ] } },
    "acme/m3": { "limit": { "context": 8192, "output": 8192 } }
  },
  "providers": { "acme": { "name": "Acme", "npm": "@ai-sdk/acme" } }
}"#;

#[test]
fn both_shapes_say_the_same() {
    let (api, stored) = (read(API), read(STORED));
    assert_eq!((api.format, stored.format), (ListFormat::ModelsDev, ListFormat::ModelsDev));
    assert_eq!((api.dated, stored.dated.as_deref()), (None, Some("2026-07-02")));
    assert_eq!((api.unpriced, stored.unpriced), (1, 1));
    assert_eq!(stored.prices, [read(API).engine("acme/m1").unwrap().clone()]);
    assert_eq!(
        api.prices.iter().map(|price| price.engine.as_str()).collect::<Vec<_>>(),
        ["acme/lab/m2:free", "acme/m1", "acme/m1-old"],
    );
}

#[test]
fn a_published_file_may_be_saved_with_its_day() {
    let dated = read(&API.replacen('{', r#"{"_meta":{"date":"2026-07-02"},"#, 1));
    assert_eq!((dated.dated.as_deref(), dated.unpriced), (Some("2026-07-02"), 1));
    assert_eq!(dated.prices, read(API).prices);
}

#[test]
fn rates_are_dollars_per_million_and_tiers_begin_above_their_size() {
    let list = read(API);
    let price = list.engine("acme/m1").unwrap();
    let Rates { input, output, cache_read, cache_write_5m, cache_write_1h, .. } = price.rates;
    assert_eq!([input, output], [usd("0.000003"), usd("0.000015")]);
    assert_eq!([cache_read, cache_write_5m], [usd("0.0000003"), usd("0.00000375")]);
    assert_eq!(cache_write_1h, None, "models.dev does not tell");
    assert_eq!(price.context, Some(1_000_000));
    let [tier] = price.tiers[..] else { panic!("{:?}", price.tiers) };
    assert_eq!((tier.from_prompt, tier.rates.input), (200_001, usd("0.000006")));
    assert_eq!(tier.rates.cache_write_5m, None, "the base rate");
}

#[test]
fn the_older_way_to_write_a_tier_counts_where_it_stands_alone() {
    let list = read(API);
    let old = list.engine("acme/m1-old").unwrap();
    assert_eq!(old.context, None, "a context of 0 is unknown");
    assert_eq!(old.tiers.len(), 1);
    assert_eq!((old.tiers[0].from_prompt, old.tiers[0].rates.output), (200_001, usd("0.000015")));
}

#[test]
fn zero_is_free_and_no_price_is_unknown() {
    let list = read(API);
    let free = list.engine("acme/lab/m2:free").unwrap();
    assert_eq!((free.rates.input, free.rates.output), (Some(Rate::ZERO), Some(Rate::ZERO)));
    assert_eq!(list.engine("acme/m3"), None);
    let list = read(
        r#"{"a/1":{"cost":{"input":null,"output":"x"}},"a/2":{"cost":{"input":-1,"output":true}},
            "a/3":{"cost":null},"a/4":{"cost":{"input":"0.5","cache_read":[],"output":-0.1}},"a/5":{"cost":{}}}"#,
    );
    assert_eq!((list.prices.len(), list.unpriced, list.refused.len()), (1, 4, 0));
    assert_eq!(list.prices[0].rates, Rates { input: usd("0.0000005"), ..Rates::default() });
}

// A provider that charges written tokens as input is listed with a write rate of 0.
#[test]
fn a_surcharge_of_zero_does_not_make_the_prompt_free() {
    let list = read(
        r#"{"a/m":{"cost":{"input":0.6,"output":2.2,"cache_read":0,"cache_write":0,"reasoning":0,
             "tiers":[{"above_context":1000,"cache_write":0,"reasoning":0,"cache_read":0.1}]}},
            "a/f":{"cost":{"input":0,"output":0,"cache_write":0,"reasoning":0}}}"#,
    );
    let price = list.engine("a/m").unwrap();
    assert_eq!([price.rates.cache_write_5m, price.rates.reasoning], [None, None]);
    assert_eq!(price.rates.cache_read, Some(Rate::ZERO), "reads may be free");
    let tier = price.tiers[0].rates;
    assert_eq!(tier, Rates { cache_read: usd("0.0000001"), ..Rates::default() });
    let free = list.engine("a/f").unwrap().rates;
    assert_eq!([free.cache_write_5m, free.reasoning], [Some(Rate::ZERO); 2]);
}

#[test]
fn digits_are_kept_as_they_stand_or_refused() {
    let list = read(
        r#"{"a/1":{"cost":{"input":0.30000000000000004,"output":1.1e-1}},
            "a/2":{"cost":{"input":0.0049999999999999999,"output":1}},
            "a/3":{"cost":{"input":1e13,"output":1}},"a/4":{"cost":{"input":1e400}}}"#,
    );
    let kept = list.engine("a/1").unwrap().rates;
    assert_eq!(kept.input.unwrap().to_string(), "0.00000030000000000000004");
    assert_eq!(kept.output, usd("0.00000011"));
    let lines: Vec<String> = list.refused.iter().map(RefusedPrice::to_string).collect();
    assert_eq!(
        lines,
        [
            "a/2: cost.input '0.0049999999999999999' more digits than can be kept exactly",
            "a/3: cost.input '1e13' larger than 1000000 dollars",
            "a/4: cost.input '1e400' larger than 1000000 dollars",
        ]
    );
}

#[test]
fn a_tier_that_cannot_be_said_refuses_its_entry() {
    let refusal = |tier: &str| {
        only_refusal(&format!(r#"{{"a/m":{{"cost":{{"input":1,"output":2,"tiers":{tier}}}}}}}"#))
    };
    let unknown = "a/m: cost.tiers[0].input '-1' negative, and the base rate would stand in for it";
    assert_eq!(refusal(r#"[{"above_context":1,"input":-1}]"#), unknown);
    assert_eq!(refusal("3"), "a/m: cost.tiers '3' is no list");
    assert_eq!(refusal("[3]"), "a/m: cost.tiers[0] '3' is no object");
    assert_eq!(
        refusal(r#"[{"above_context":7,"input":1},{"above_context":7,"input":2}]"#),
        "a/m: tiers '8' begins two tiers"
    );
    let nowhere = "does not say above how many prompt tokens it applies";
    for tier in [
        r#"{"input":2}"#,
        r#"{"above_context":1.5,"input":2}"#,
        r#"{"above_context":4294967295,"input":2}"#,
        r#"{"tier":{"type":"batch","size":9},"input":2}"#,
        r#"{"tier":{"size":9},"input":2}"#,
    ] {
        assert_eq!(refusal(&format!("[{tier}]")), format!("a/m: cost.tiers[0] '{tier}' {nowhere}"));
    }
    let many: Vec<String> =
        (0..65).map(|size| format!(r#"{{"above_context":{size},"input":1}}"#)).collect();
    let many = format!("[{}]", many.join(","));
    assert_eq!(refusal(&many), "a/m: tiers '65' are more than the 64 ferry keeps");
}

#[test]
fn tokens_that_are_free_beside_what_is_not_are_refused() {
    assert_eq!(
        only_refusal(r#"{"a/tts":{"cost":{"input":0,"output":0,"output_audio":12}}}"#),
        "a/tts: cost.output_audio '12' is charged beside free tokens, in a unit ferry does not count"
    );
}

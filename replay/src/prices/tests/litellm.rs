use super::*;

const MAP: &str = r#"{
  "sample_spec": { "litellm_provider": "one of the providers", "mode": "one of the modes",
    "input_cost_per_token": 0.0, "output_cost_per_token": 0.0, "max_tokens": "documentation" },
  "claude-m1": { "litellm_provider": "anthropic", "mode": "chat", "max_input_tokens": 1000000,
    "input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05,
    "cache_creation_input_token_cost": 3.75e-06, "cache_creation_input_token_cost_above_1hr": 6e-06,
    "cache_read_input_token_cost": 3e-07, "input_cost_per_token_batches": 1.5e-06,
    "input_cost_per_token_above_200k_tokens": 6e-06, "output_cost_per_token_above_200k_tokens": 2.25e-05,
    "cache_creation_input_token_cost_above_1hr_above_200k_tokens": 1.2e-05,
    "cache_creation_input_token_cost_above_12hr_above_200k_tokens": 9e-05,
    "input_cost_per_token_above_200k_tokens_batches": 3e-06, "search_context_cost_per_query": {"low": 0.01} },
  "azure/m2": { "litellm_provider": "azure", "input_cost_per_token": "2e-06",
    "output_cost_per_token": 8e-06, "output_cost_per_reasoning_token": 9e-06,
    "input_cost_per_token_above_272k_tokens": 4e-06, "input_cost_per_token_above_128k_tokens": 3e-06,
    "input_cost_per_image": 0.0011, "input_cost_per_request": 0.005 },
  "image-m3": { "litellm_provider": "acme", "output_cost_per_image": 0.04 },
  "floating": { "alias_of": "claude-m1" }
}"#;

#[test]
fn keys_are_engines_and_their_suffixes_tiers() {
    let list = read(MAP);
    assert_eq!((list.format, list.source.as_str()), (ListFormat::LiteLlm, "LiteLLM"));
    assert_eq!((list.prices.len(), list.unpriced, list.refused.len()), (2, 2, 0));
    let price = list.engine("anthropic/claude-m1").unwrap();
    assert_eq!(price.context, Some(1_000_000));
    let Rates { input, output, cache_read, cache_write_5m, cache_write_1h, .. } = price.rates;
    assert_eq!([input, output], [usd("0.000003"), usd("0.000015")]);
    assert_eq!([cache_write_5m, cache_write_1h], [usd("0.00000375"), usd("0.000006")]);
    assert_eq!(cache_read, usd("0.0000003"));
    let [tier] = price.tiers[..] else { panic!("{:?}", price.tiers) };
    let above = Rates {
        input: usd("0.000006"),
        output: usd("0.0000225"),
        cache_write_1h: usd("0.000012"),
        ..Rates::default()
    };
    assert_eq!((tier.from_prompt, tier.rates), (200_001, above));
}

#[test]
fn several_tiers_reasoning_images_and_requests_are_kept() {
    let list = read(MAP);
    let price = list.engine("azure/m2").unwrap();
    let Rates { input, reasoning, image, request, .. } = price.rates;
    assert_eq!([input, reasoning], [usd("0.000002"), usd("0.000009")]);
    assert_eq!([image, request], [usd("0.0011"), usd("0.005")]);
    let tiers: Vec<_> =
        price.tiers.iter().map(|tier| (tier.from_prompt, tier.rates.input)).collect();
    assert_eq!(tiers, [(128_001, usd("0.000003")), (272_001, usd("0.000004"))]);
}

#[test]
fn the_wrapped_map_is_the_same_map() {
    let wrapped = read(&format!(r#"{{"_meta":{{"date":"2026-11-30"}},"models":{MAP}}}"#));
    assert_eq!(wrapped.prices, read(MAP).prices);
    assert_eq!(wrapped.dated.as_deref(), Some("2026-11-30"));
    assert_eq!(
        read(&format!(r#"{{"_meta":{{"date":"today, I think"}},"models":{MAP}}}"#)).dated,
        None
    );
}

fn ranges(ranges: &str, rest: &str) -> String {
    format!(r#"{{"q/m":{{"litellm_provider":"q",{rest}"tiered_pricing":[{ranges}]}}}}"#)
}

const RANGES: &str = r#"
    {"range":[0,32e3],"input_cost_per_token":1e-06,"output_cost_per_token":4e-06},
    {"range":[32000.0,128000],"input_cost_per_token":2e-06,"output_cost_per_token":8e-06},
    {"range":[128000,"256000"],"input_cost_per_token":3e-06,"output_cost_per_token":1.2e-05}"#;

#[test]
fn ranges_price_the_whole_request_by_the_prompt() {
    let flat = r#""input_cost_per_token":0.000001,"cache_read_input_token_cost":1e-7,"#;
    for rest in ["", flat] {
        let list = read(&ranges(RANGES, rest));
        let price = list.engine("q/m").unwrap();
        assert_eq!((price.rates.input, price.rates.output), (usd("0.000001"), usd("0.000004")));
        let froms: Vec<_> = price.tiers.iter().map(|tier| tier.from_prompt).collect();
        assert_eq!(froms, [32_001, 128_001]);
        let cost = |prompt: u32| {
            let usage = format!(r#"{{"prompt_tokens":{prompt},"completion_tokens":1000}}"#);
            bill_of(&list, "q/m", 0, &usage).cost.amount().unwrap()
        };
        assert_eq!(cost(32_000), "0.036".parse().unwrap());
        assert_eq!(cost(32_001), "0.072002".parse().unwrap());
        assert_eq!(cost(900_000), "2.712".parse().unwrap(), "beyond the last range");
    }
}

#[test]
fn ranges_that_could_be_read_in_two_ways_refuse_their_entry() {
    let problem = |list: &str, rest: &str| {
        let list = read(&ranges(list, rest));
        assert_eq!((list.prices.len(), list.refused.len()), (0, 1));
        (list.refused[0].field.clone(), list.refused[0].problem.clone())
    };
    let gap = "does not go on where the range before it ends";
    let one = r#"{"range":[0,10],"input_cost_per_token":1}"#;
    let (field, why) =
        problem(&format!(r#"{one},{{"range":[11,20],"input_cost_per_token":2}}"#), "");
    assert_eq!((field.as_str(), why.as_str()), ("tiered_pricing[1].range", gap));
    assert_eq!(problem(r#"{"range":[5,10],"input_cost_per_token":1}"#, "").1, gap);
    assert_eq!(problem(r#"{"range":[0,0],"input_cost_per_token":1}"#, "").1, gap);
    let less = format!(r#"{one},{{"range":[10,20],"output_cost_per_token":2}}"#);
    assert_eq!(problem(&less, "").1, "does not state the rates the first range states");
    let other = problem(one, r#""input_cost_per_token":2,"#);
    assert_eq!(other.1, "has a first range of other rates than the entry");
    let beside = problem(one, r#""input_cost_per_token_above_200k_tokens":2,"#);
    assert_eq!(beside.1, "stands beside rates above a number of tokens");
    for (item, field) in [
        (r#"{"input_cost_per_token":1}"#, "tiered_pricing[0].range"),
        (r#"{"range":[0,1.5],"input_cost_per_token":1}"#, "tiered_pricing[0].range"),
        (r#"{"range":[0,9],"input_cost_per_token":-1}"#, "tiered_pricing[0].input_cost_per_token"),
        ("7", "tiered_pricing[0]"),
        ("", "tiered_pricing"),
    ] {
        assert_eq!(problem(item, "").0, field, "{item}");
    }
}

#[test]
fn an_engine_spelled_out_goes_before_one_put_together() {
    let entry =
        |price: &str| format!(r#"{{"litellm_provider":"d","input_cost_per_token":{price}}}"#);
    let map = |a: &str, b: &str| format!(r#"{{"m":{},"d/m":{}}}"#, entry(a), entry(b));
    let agreed = read(&map("1e-6", "0.000001"));
    assert_eq!((agreed.prices.len(), agreed.refused.len()), (1, 0));
    let differing = read(&map("1e-6", "2e-6"));
    assert_eq!(differing.engine("d/m").unwrap().rates.input, usd("0.000002"));
    assert_eq!(
        differing.refused[0].to_string(),
        "m: engine 'd/m' stands more than once, with other terms"
    );
}

#[test]
fn entries_that_would_be_mispriced_are_refused() {
    let refusal =
        |fields: &str| only_refusal(&format!(r#"{{"a/m":{{"litellm_provider":"a",{fields}}}}}"#));
    let free = r#""input_cost_per_token":0,"output_cost_per_token":0"#;
    let unit = "is charged beside free tokens, in a unit ferry does not count";
    assert_eq!(
        refusal(&format!(r#"{free},"output_cost_per_image":0.08"#)),
        format!("a/m: output_cost_per_image '0.08' {unit}")
    );
    assert_eq!(
        refusal(&format!(r#"{free},"input_cost_per_image_token":1e-30"#)),
        format!("a/m: input_cost_per_image_token '1e-30' {unit}")
    );
    assert_eq!(
        refusal(r#""input_cost_per_token":1,"input_cost_per_token_above_half_tokens":2"#),
        "a/m: input_cost_per_token_above_half_tokens '' begins above a number of tokens ferry cannot read"
    );
    assert_eq!(
        refusal(r#""input_cost_per_token":1,"off_peak_pricing":{"hours_utc":"16:30-00:30"}"#),
        r#"a/m: off_peak_pricing '{"hours_utc":"16:30-00:30"}' is not understood"#
    );
    assert_eq!(
        refusal(r#""input_cost_per_token":1.2345678901234567e-10"#),
        "a/m: input_cost_per_token '1.2345678901234567e-10' more digits than can be kept exactly"
    );
    assert_eq!(
        only_refusal(r#"{"m":{"input_cost_per_token":1}}"#),
        "m: litellm_provider '' is missing, and the key names no provider"
    );
    let kept = read(&format!(
        r#"{{"a/m":{{{free},"input_cost_per_request":0.1,"input_cost_per_token_flex":1}}}}"#
    ));
    assert_eq!(kept.engine("a/m").unwrap().rates.request, usd("0.1"), "requests are counted");
}

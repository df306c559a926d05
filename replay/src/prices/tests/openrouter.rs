use super::*;

const ANSWER: &str = r#"{"data":[
  {"id":"vendor/m2:free","context_length":131072,"pricing":{"prompt":"0","completion":"0","web_search":"0.01"}},
  {"id":"vendor/m1","name":"M1","context_length":1000000,"top_provider":{"context_length":200000},
   "pricing":{"prompt":"0.000003","completion":"0.000015","input_cache_read":"0.0000003",
     "input_cache_write":"0.00000375","input_cache_write_1h":"0.000006","internal_reasoning":"0.000016",
     "image":"0.0048","request":"0.01","web_search":"0.01","discount":0}},
  {"id":"openrouter/auto","context_length":2000000,"pricing":{"prompt":"-1","completion":"-1"}},
  {"id":"vendor/m3","context_length":null,"pricing":{"prompt":"0.000001","completion":"-1","image":""}},
  {"id":"vendor/m4","context_length":8192}
]}"#;

#[test]
fn ids_stay_and_are_openrouters() {
    let list = read(ANSWER);
    assert_eq!((list.format, list.source.as_str()), (ListFormat::OpenRouter, "OpenRouter"));
    assert_eq!((list.prices.len(), list.unpriced, list.refused.len()), (3, 2, 0));
    let price = list.engine("openrouter/vendor/m1").unwrap();
    let all = Rates {
        input: usd("0.000003"),
        output: usd("0.000015"),
        cache_read: usd("0.0000003"),
        cache_write_5m: usd("0.00000375"),
        cache_write_1h: usd("0.000006"),
        reasoning: usd("0.000016"),
        image: usd("0.0048"),
        request: usd("0.01"),
    };
    assert_eq!((price.rates, price.context), (all, Some(1_000_000)));
    let free = list.engine("openrouter/vendor/m2:free").unwrap();
    assert_eq!(free.rates.input, Some(Rate::ZERO));
    let partial = list.engine("openrouter/vendor/m3").unwrap();
    assert_eq!(partial.rates, Rates { input: usd("0.000001"), ..Rates::default() });
    assert_eq!(partial.context, None);
}

#[test]
fn a_bare_list_and_a_map_by_id_are_the_same_answer() {
    let inner = ANSWER.strip_prefix(r#"{"data":"#).unwrap().strip_suffix('}').unwrap();
    assert_eq!(read(inner).prices, read(ANSWER).prices);
    let map = r#"{"_meta":{},"models":{"vendor/m3":{"context":null,
        "pricing":{"prompt":"0.000001","completion":"-1"}}}}"#;
    assert_eq!(read(map).prices, [read(ANSWER).engine("openrouter/vendor/m3").unwrap().clone()]);
}

fn model(overrides: &str) -> String {
    format!(
        r#"{{"data":[{{"id":"a/m","pricing":{{"prompt":"0.000001","completion":"0.000004",
            "overrides":{overrides}}}}}]}}"#
    )
}

#[test]
fn overrides_come_in_any_order() {
    let list = read(&model(
        r#"[{"utc_start":1800,"utc_end":"2400","prompt":"0.0000007"},
            {"min_prompt_tokens":500000,"completion":"0.000012"},
            {"utc_start":100,"utc_end":430,"prompt":"0.0000005","audio":"0.1"},
            {"min_prompt_tokens":200000,"prompt":"0.000002","completion":"0.000008"}]"#,
    ));
    let price = list.engine("openrouter/a/m").unwrap();
    let tiers: Vec<_> = price
        .tiers
        .iter()
        .map(|tier| (tier.from_prompt, tier.rates.input, tier.rates.output))
        .collect();
    let both =
        [(200_000, usd("0.000002"), usd("0.000008")), (500_000, usd("0.000002"), usd("0.000012"))];
    assert_eq!(tiers, both, "every tier a prompt reaches applies");
    let windows: Vec<_> =
        price.windows.iter().map(|window| (window.from_minute, window.to_minute)).collect();
    assert_eq!(windows, [(60, 270), (1080, 0)]);
}

#[test]
fn overrides_ferry_cannot_say_refuse_their_entry() {
    let problem = |overrides: &str| {
        let list = read(&model(overrides));
        assert_eq!((list.prices.len(), list.refused.len()), (0, 1), "{overrides}");
        (list.refused[0].field.clone(), list.refused[0].problem.clone())
    };
    let needs = "needs min_prompt_tokens, or utc_start with utc_end, and not both";
    for overrides in [
        r#"[{"prompt":"1"}]"#,
        r#"[{"utc_start":100,"prompt":"1"}]"#,
        r#"[{"min_prompt_tokens":1,"utc_start":100,"utc_end":200,"prompt":"1"}]"#,
    ] {
        assert_eq!(problem(overrides).1, needs);
    }
    let days = r#"[{"utc_start":100,"utc_end":200,"utc_days":["monday"],"prompt":"1"}]"#;
    let (field, why) = problem(days);
    assert_eq!(field, "pricing.overrides[0].utc_days");
    assert_eq!(why, "may be a condition ferry does not know");
    for (from, to) in
        [("1260", "100"), ("2400", "100"), ("-1", "100"), ("\"x\"", "1"), ("1", "2401")]
    {
        let window = format!(r#"[{{"utc_start":{from},"utc_end":{to},"prompt":"1"}}]"#);
        assert_eq!(problem(&window).1, "is no time of day as HHMM", "{window}");
    }
    let whole_day = r#"[{"utc_start":0,"utc_end":2400,"prompt":"1"}]"#;
    assert_eq!(problem(whole_day).1, "begins when it ends");
    let overlapping = r#"[{"utc_start":2200,"utc_end":200,"prompt":"1"},
        {"utc_start":100,"utc_end":300,"prompt":"2"}]"#;
    assert_eq!(problem(overlapping).1, "overlaps another time of day");
    let later =
        r#"[{"min_prompt_tokens":9,"prompt":"1"},{"utc_start":100,"utc_end":300,"prompt":"2"}]"#;
    assert_eq!(
        problem(later).1,
        "stands after a tier of the same rates, which ferry lets go first"
    );
    assert_eq!(
        problem(r#"[{"min_prompt_tokens":"many","prompt":"1"}]"#).1,
        "is no number of tokens"
    );
    assert_eq!(problem("{}").1, "is no list");
    assert_eq!(problem("[null]").1, "is no object");
    let unknown = r#"[{"min_prompt_tokens":9,"prompt":"-1"}]"#;
    assert_eq!(problem(unknown).1, "negative, and the base rate would stand in for it");
}

#[test]
fn entries_without_an_id_are_refused_by_their_place() {
    let list = read(r#"[{"id":"a","pricing":{"prompt":"1"}},{"pricing":{"prompt":"1"}},7]"#);
    assert_eq!(list.prices.len(), 1);
    let lines: Vec<String> = list.refused.iter().map(RefusedPrice::to_string).collect();
    assert_eq!(lines, ["[1]: id '' is missing or no text", "[2]: entry '7' is no object"]);
}

#[test]
fn reasoning_of_zero_is_charged_as_output() {
    let list = read(
        r#"[{"id":"a","pricing":{"prompt":"0.000001","completion":"0.000004","internal_reasoning":"0"}}]"#,
    );
    let usage = r#"{"prompt_tokens":0,"completion_tokens":1000,
        "completion_tokens_details":{"reasoning_tokens":600}}"#;
    let bill = bill_of(&list, "openrouter/a", 0, usage);
    assert_eq!(bill.cost, Cost::exactly("0.004".parse().unwrap()));
}

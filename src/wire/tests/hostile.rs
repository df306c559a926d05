use super::*;

#[test]
fn refusals_name_the_field_its_value_and_what_to_do() {
    let long = "x".repeat(100);
    let role = format!(r#"{{"messages":[{{"role":"user"}},null,{{"role":"{long}"}}]}}"#);
    let shown = "x".repeat(40);
    assert_eq!(
        refusal(Wire::Chat, &role),
        format!(
            "messages[2].role: '{shown}...' is no role here: use one of system, developer, user, assistant, tool, function"
        )
    );
    let cases = [
        (
            Wire::Messages,
            r#"{"messages":[{"role":"tool"}]}"#,
            "messages[0].role: 'tool' is no role",
        ),
        (Wire::Responses, r#"{"input":[{"role":"tool"}]}"#, "input[0].role: 'tool' is no role"),
        (
            Wire::Chat,
            r#"{"messages":[{"role":"user","content":5}]}"#,
            "messages[0].content: '5' does not fit: send a text or a list of parts",
        ),
        (
            Wire::Chat,
            r#"{"messages":[{"role":"user","content":[{"text":{}}]}]}"#,
            "messages[0].content[0].text: '{}' does not fit: send a text",
        ),
        (
            Wire::Chat,
            r#"{"messages":[["user","hi"]]}"#,
            r#"messages[0]: '["user","hi"]' does not fit: send an object"#,
        ),
        (Wire::Chat, r#"{"messages":{}}"#, "messages: '{}' does not fit: send a sequence"),
        (Wire::Chat, r#"{"messages":[],"messages":[]}"#, "each field once"),
        (
            Wire::Responses,
            r#"{"input":[{"role":"user","content":[7]}]}"#,
            "input[0].content[0]: '7' does not fit: send an object",
        ),
        (
            Wire::Responses,
            r#"{"input":[{"type":"function_call_output","output":7}]}"#,
            "input[0].output: '7' does not fit: send a text or a list of parts",
        ),
        (
            Wire::Messages,
            r#"{"messages":[{"role":"user","content":[{"type":"tool_result","content":true}]}]}"#,
            "messages[0].content[0].content: 'true' does not fit",
        ),
        (
            Wire::Messages,
            r#"{"messages":[],"stream":"yes"}"#,
            r#"stream: '"yes"' does not fit: send a boolean"#,
        ),
        (Wire::Chat, "{}", "'messages' is missing in '{}'"),
        (Wire::Responses, r#"{"input":null}"#, "'input' is missing"),
        (Wire::Chat, "null", "'messages' is missing in 'null'"),
        (Wire::Chat, "[]", "body: '[]' does not fit: send an object"),
        (Wire::Chat, "", "the body is not JSON at line 1"),
        (
            Wire::Chat,
            "{\n\"messages\": nope}",
            "the body is not JSON at line 2, column 14, near 'ope}'",
        ),
        (Wire::Chat, r#"{"messages":[]} x"#, "the body is not JSON"),
    ];
    for (wire, body, words) in cases {
        let refusal = refusal(wire, body);
        assert!(refusal.contains(words), "{body}: {refusal}");
    }
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    for wire in WIRES {
        let error = read(wire, b"{\n\"model\":\"\xff\"}").unwrap_err();
        assert!(matches!(error, WireError::NotJson { line: 2, column: 10, .. }), "{error:?}");
    }
}

#[test]
fn halves_of_surrogate_pairs_are_taken() {
    let body = r#"{"messages":[{"role":"user","content":"cut \ud83d"}]}"#;
    let request = request(Wire::Chat, body);
    assert!(request.messages[0].texts[0].starts_with("cut \u{fffd}"));
}

#[test]
fn depth_does_not_overflow() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let objects = format!("{}1{}", r#"{"content":"#.repeat(100_000), "}".repeat(100_000));
    for wire in WIRES {
        for inner in [&deep, &objects] {
            for field in ["messages", "input", "content", "tools", "unknown", "system"] {
                let _ = read(wire, format!(r#"{{"{field}":{inner}}}"#).as_bytes());
                let said = format!(r#"{{"role":"user","{field}":{inner}}}"#);
                let _ =
                    read(wire, format!(r#"{{"messages":[{said}],"input":[{said}]}}"#).as_bytes());
                let _ = detect(said.as_bytes());
            }
            let _ = read(wire, inner.as_bytes());
            let _ = detect(inner.as_bytes());
        }
    }
}

const KEYS: [&str; 24] = [
    "arguments",
    "call_id",
    "content",
    "function",
    "functions",
    "id",
    "input",
    "input_schema",
    "instructions",
    "max_tokens",
    "messages",
    "model",
    "name",
    "output",
    "parameters",
    "reasoning",
    "role",
    "status",
    "stream",
    "system",
    "text",
    "tool_calls",
    "tools",
    "type",
];

const WORDS: [&str; 12] = [
    "user",
    "assistant",
    "system",
    "tool",
    "text",
    "tool_use",
    "tool_result",
    "message",
    "function_call",
    "function_call_output",
    "additional_tools",
    "image",
];

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        proptest::sample::select(&WORDS[..]).prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        let keys = proptest::sample::select(&KEYS[..]).prop_map(str::to_owned);
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(keys, inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
        for wire in WIRES {
            let _ = read(wire, &bytes);
        }
        let _ = detect(&bytes);
    }

    #[test]
    fn no_json_panics(value in values()) {
        for body in [value.to_string(), json!({"messages": [value], "input": [value]}).to_string()] {
            for wire in WIRES {
                if let Err(error) = read(wire, body.as_bytes()) {
                    prop_assert!(!matches!(error, WireError::NotJson { .. }), "{}", error);
                }
            }
            let _ = detect(body.as_bytes());
        }
    }

    #[test]
    fn no_cut_body_panics(wire in proptest::sample::select(&WIRES[..]), cut in 0..1_000_usize) {
        let whole = body(wire).as_bytes();
        let part = whole.get(..cut).unwrap_or(whole);
        prop_assert!(part == whole || read(wire, part).is_err());
    }
}

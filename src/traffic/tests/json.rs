//! JSON lines.

use super::*;

fn jsonl(text: &str) -> Vec<Result<Seen, String>> {
    let options = Options { format: Some(Format::Jsonl), ..Options::default() };
    read_all(text.as_bytes(), &options).0
}

/// One line with these fields beside id, model and instant.
fn with(fields: &str) -> Result<Seen, String> {
    let line = format!(r#"{{"id":"r1","model":"m","at":{START}{fields}}}"#);
    jsonl(&line).remove(0)
}

#[test]
fn a_full_json_line_says_everything() {
    let line = r#"{"id":"msg_1","conversation":"c1","agent":"explore","client":"codex/1.0",
        "model":"claude-opus-4-5","provider":"anthropic","at":"2026-01-05T01:00:00.250+01:00",
        "answered_at":"2026-01-05T00:00:09Z","convention":"anthropic","prefix_tokens":12000,
        "usage":{"input_tokens":3,"cache_read_input_tokens":12000,"cache_creation_input_tokens":5,
            "cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":5},
            "output_tokens":500,"service_tier":"standard"},
        "finish":"max_tokens","news":["text","tool_result"],"parts":["thinking","tool_use"],
        "ending":"aborted","prompt":"never kept","nested":{"deep":[1,2,{"a":null}]}}"#
        .replace('\n', " ");
    let (rows, summary) = read_all(line.as_bytes(), &Options::default());
    let seen = rows[0].as_ref().unwrap();
    assert_eq!(summary.format, Format::Jsonl);
    assert_eq!((seen.at, seen.answered_at), (START + 250, START + 9_000));
    assert_eq!((seen.latency_ms, seen.finish), (Some(8_750), Finish::Length));
    assert_eq!(seen.model, "anthropic/claude-opus-4-5");
    assert_eq!((seen.conversation.as_str(), seen.subagent.as_deref()), ("c1", Some("explore")));
    assert_eq!((seen.usage.prompt, seen.usage.cache_write_1h), (Some(12_008), Some(5)));
    assert_eq!(seen.ending, Some(Ending::Aborted));
    let [news, parts] = seen.parts;
    assert_eq!(news, Some(Parts::TEXT | Parts::TOOL_RESULT));
    assert_eq!(parts, Some(Parts::THINKING | Parts::TOOL_USE));
    assert!(seen.turn.contains("source_key: None"), "ids may be personal");
    assert!(!format!("{seen:?}").contains("never kept"));
}

#[test]
fn a_bare_json_line_leaves_the_rest_unknown() {
    let seen = with("").unwrap();
    assert_eq!((seen.usage, seen.latency_ms), (Usage::default(), None));
    assert_eq!((seen.at, seen.answered_at, seen.ending), (START, START, None));
    assert_eq!((seen.conversation.as_str(), seen.subagent.clone()), ("r1", None));
    assert!(seen.turn.contains("client: Text(\"unknown\")"));
    let nulls =
        with(r#","usage":null,"agent":null,"finish":null,"news":null,"prompt_tokens":null"#);
    assert_eq!(format!("{:?}", nulls.unwrap()), format!("{seen:?}"));
    assert_eq!(with(r#","agent":"main""#).unwrap().subagent, None);
    let late = with(r#","latency_ms":1500"#).unwrap();
    assert_eq!((late.answered_at, late.latency_ms), (START + 1_500, Some(1_500)));
    let numbered = jsonl(r#"{"id":17,"model":"m","at":1767571200000,"conversation":-4}"#).remove(0);
    assert_eq!(numbered.unwrap().row, "17");
}

#[test]
fn normalised_tokens_are_taken_as_they_are() {
    let seen = with(
        r#","prompt_tokens":100,"output_tokens":9,"cache_read_tokens":60,"cache_write_5m_tokens":30,
           "cache_write_1h_tokens":10,"reasoning_tokens":9,"images":1"#
            .replace('\n', " ")
            .as_str(),
    )
    .unwrap();
    let usage = Usage {
        prompt: Some(100),
        cache_read: Some(60),
        cache_write_5m: Some(30),
        cache_write_1h: Some(10),
        output: Some(9),
        reasoning: Some(9),
        images: Some(1),
        marks: UsageMarks::default(),
    };
    assert_eq!(seen.usage, usage);
    assert!(seen.result.contains("Text(\"cache_read_tokens\"), 60"));
    let silent = with(r#","prompt_tokens":100"#).unwrap().usage;
    assert_eq!(silent.marks.labels(), ["cache_not_reported"]);
}

#[test]
fn providers_and_models_make_one_name() {
    let model = |fields: &str| {
        let line = format!(r#"{{"id":"r","at":{START},{fields}}}"#);
        jsonl(&line).remove(0).unwrap().model
    };
    assert_eq!(model(r#""model":"gpt-5.5","provider":"openai""#), "openai/gpt-5.5");
    assert_eq!(model(r#""model":"openai/gpt-5.5","provider":"openai""#), "openai/gpt-5.5");
    assert_eq!(model(r#""model":"a/m","provider":"openrouter""#), "openrouter/a/m");
    assert_eq!(model(r#""model":"openairy","provider":"openai""#), "openai/openairy");
}

#[test]
fn bad_json_fields_are_named_with_their_value() {
    let bad = [
        (r#","latency_ms":1.5"#, "latency_ms: 1.5 is no whole number"),
        (r#","prompt_tokens":-1"#, "prompt_tokens: -1 is not from 0 to 4294967294"),
        (r#","output_tokens":"12""#, "output_tokens: '12' is no whole number"),
        (r#","images":true"#, "images: true is no whole number"),
        (r#","answered_at":1767571199999"#, "answered_at: 1767571199999 is before at"),
        (r#","usage":5"#, "usage: 5 is no object"),
        (r#","usage":{"input_tokens":1}"#, "convention is missing"),
        (
            r#","usage":{"x":1},"convention":"grpc""#,
            "convention: 'grpc' is none of openai, anthropic, otel",
        ),
        (
            r#","usage":{"prompt_tokens":1},"convention":"otel""#,
            "convention: 'otel' knows none of the counts in usage",
        ),
        (
            r#","usage":{},"convention":"otel","output_tokens":3"#,
            "output_tokens: a count stands beside usage: give either",
        ),
        (
            r#","prompt_tokens":10,"cache_read_tokens":11"#,
            "tokens: prompt_tokens 10, cache_read_tokens 11 do not fit: the cached tokens are more \
             than the prompt",
        ),
        (
            r#","prompt_tokens":10,"prefix_tokens":11"#,
            "prefix_tokens: 11 is more than the prompt's 10",
        ),
        (r#","news":"text""#, "news: 'text' is no list"),
        (
            r#","parts":["text","image"]"#,
            "parts: 'image' is none of text, tool_result, tool_use, thinking",
        ),
        (r#","parts":[["text"]]"#, "parts: a list is no text"),
        (
            r#","finish":"bored""#,
            "finish: 'bored' is none of end_turn, tool_use, length, refused, unknown; leave out what \
             is not known",
        ),
        (
            r#","ending":"committed""#,
            "ending: 'committed' is neither failed nor aborted; leave it out if answered",
        ),
        (r#","client":"""#, "client: '' is empty"),
        (r#","conversation":{"a":1}"#, "conversation: an object is no text"),
        (r#","id":"again""#, "duplicate field `id` at byte 46"),
    ];
    for (fields, problem) in bad {
        assert_eq!(with(fields).unwrap_err(), format!("line 1: {problem}"), "{fields}");
    }
    let long = with(&format!(r#","agent":"{}""#, "x".repeat(1_025))).unwrap_err();
    assert!(long.ends_with("...' is longer than 1024 bytes"), "{long}");
}

#[test]
fn instants_are_checked_for_what_people_mix_up() {
    let at = |at: &str| jsonl(&format!(r#"{{"id":"r","model":"m","at":{at}}}"#)).remove(0);
    assert_eq!(at("\"2026-01-05T00:00:00Z\"").unwrap().at, START);
    assert_eq!(at("1767571200000").unwrap().at, START);
    assert_eq!(at("253402300799999").unwrap().at, 253_402_300_799_999);
    for (text, problem) in [
        ("1767571200", "1767571200 is too small for milliseconds since 1970"),
        ("-1", "-1 is too small for milliseconds since 1970"),
        ("1767571200000000", "1767571200000000 is not from 1970 to 9999"),
        ("1767571200.5", "1767571200.5 is neither RFC 3339 nor whole milliseconds"),
        ("\"1969-12-31T23:59:59Z\"", "'1969-12-31T23:59:59Z' is not from 1970 to 9999"),
        (
            "\"2026-01-05 00:00\"",
            "'2026-01-05 00:00' is no instant; write 2026-01-05T12:00:00Z, or milliseconds",
        ),
    ] {
        assert_eq!(at(text).unwrap_err(), format!("line 1: at: {problem}"));
    }
}

#[test]
fn lines_that_are_no_objects_are_refused_one_by_one() {
    let good = r#"{"id":"g","model":"m","at":1767571200000}"#;
    let text = format!(
        "\u{feff}{good}\r\n\r\n[1,2]\r\nnull\r\n{{\"id\":\"a\",\"at\":1767571200000}}\r\n{{\"model\":\"m\"\r\n\
         {good} {good}\r\n  {good}  \r\n{{}}\r\n{}",
        &good[..20]
    );
    let rows = jsonl(&text);
    assert_eq!(rows.iter().filter(|row| row.is_ok()).count(), 2);
    let refused = refusals(rows);
    assert_eq!(
        refused,
        [
            "line 3: not a JSON object",
            "line 4: not a JSON object",
            "line 5: model is missing",
            "line 6: not JSON: EOF while parsing an object at byte 12: the line is cut short",
            "line 7: not JSON: trailing characters at byte 43",
            "line 9: at is missing",
            "line 10: not JSON: EOF while parsing a string at byte 20: the line is cut short",
        ]
    );
}

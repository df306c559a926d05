//! Sessions of Claude Code and Codex.

use super::*;

fn session(text: &str) -> Vec<Seen> {
    let (rows, _) = read_all(text.as_bytes(), &Options::default());
    rows.into_iter().map(Result::unwrap).collect()
}

/// A line of Claude Code: type, uuid, parent, seconds, and more fields.
fn line(kind: &str, uuid: &str, parent: &str, second: u32, more: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        r#"{{"parentUuid":{parent},"isSidechain":false,"userType":"external","cwd":"/home/me/secret","sessionId":"s1","version":"2.0.1","gitBranch":"main","type":"{kind}","uuid":"{uuid}","timestamp":"2026-01-05T00:00:{second:02}.000Z",{more}}}"#
    )
}

/// An answer's line: message, model, usage, stop reason, block.
fn answer(message: &str, model: &str, usage: &str, stop: &str, block: &str) -> String {
    format!(
        r#""requestId":"req_{message}","message":{{"id":"{message}","type":"message","role":"assistant","model":"{model}","content":[{block}],"stop_reason":{stop},"stop_sequence":null,"usage":{usage}}}"#
    )
}

const MODEL: &str = "claude-opus-4-5-20251101";
const TEXT: &str = r#"{"type":"text","text":"never kept"}"#;
const TOOL: &str =
    r#"{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"never kept"}}"#;

fn usage(output: u32) -> String {
    format!(
        r#"{{"input_tokens":3,"cache_creation_input_tokens":1000,"cache_read_input_tokens":5000,"cache_creation":{{"ephemeral_5m_input_tokens":400,"ephemeral_1h_input_tokens":600}},"output_tokens":{output},"service_tier":"standard"}}"#
    )
}

fn user(uuid: &str, parent: &str, second: u32, content: &str) -> String {
    line(
        "user",
        uuid,
        parent,
        second,
        &format!(r#""message":{{"role":"user","content":{content}}}"#),
    )
}

fn small_session() -> Vec<String> {
    let said = |message, output, stop, block| answer(message, MODEL, &usage(output), stop, block);
    vec![
        r#"{"type":"summary","summary":"never kept","leafUuid":"u0"}"#.to_owned(),
        user("u1", "", 1, r#""never kept""#),
        // One answer, a line per block; the last tells how it ended.
        line("assistant", "a1", "u1", 3, &said("m1", 1, "null", TEXT)),
        line("assistant", "a2", "a1", 5, &said("m1", 250, r#""tool_use""#, TOOL)),
        user(
            "u2",
            "a2",
            6,
            r#"[{"type":"tool_result","tool_use_id":"t1","content":"never kept"}]"#,
        ),
        line("assistant", "a3", "u2", 9, &said("m2", 40, r#""end_turn""#, TEXT)),
        line("system", "x1", "a3", 9, r#""content":"never kept","level":"info""#),
        line("assistant", "a4", "a3", 10, &answer("m3", "<synthetic>", "{}", "null", TEXT)),
    ]
}

// Cases 16 and 17: one answer logged once per block; the last usage and the first time stamp.
#[test]
fn lines_of_one_message_are_one_call() {
    for end in ["\n", "\r\n"] {
        let calls = session(&small_session().join(end));
        assert_eq!(calls.len(), 2);
        let [first, second] = [&calls[0], &calls[1]];
        assert_eq!((first.at, first.answered_at), (START + 3_000, START + 5_000));
        assert_eq!((first.usage.prompt, first.usage.output), (Some(6_003), Some(250)));
        assert_eq!(
            (first.usage.cache_write_5m, first.usage.cache_write_1h),
            (Some(400), Some(600))
        );
        assert_eq!((first.usage.cache_read, first.finish), (Some(5_000), Finish::ToolUse));
        assert_eq!(first.parts, [Some(Parts::TEXT), Some(Parts::TEXT | Parts::TOOL_USE)]);
        assert_eq!(second.parts, [Some(Parts::TOOL_RESULT), Some(Parts::TEXT)]);
        assert_eq!((second.conversation.as_str(), second.subagent.as_deref()), ("s1", None));
        assert_eq!((second.model.as_str(), second.finish), (MODEL, Finish::EndTurn));
        assert!(
            !format!("{calls:?}").contains("never kept") && !format!("{calls:?}").contains("/home")
        );
    }
}

#[test]
fn a_torn_last_line_is_named_and_the_rest_counts() {
    let text = small_session().join("\n");
    let torn = text.rfind("\"usage\"").unwrap();
    let (rows, summary) = read_all(&text.as_bytes()[..torn], &Options::default());
    assert_eq!((summary.format, summary.rows, summary.refused), (Format::ClaudeCode, 3, 1));
    let refused = refusals(rows);
    assert!(
        refused[0].starts_with("line 8: not JSON: EOF") && refused[0].contains("cut short"),
        "{refused:?}"
    );
}

#[test]
fn sub_agents_stand_apart_in_either_layout() {
    let said = answer("m9", MODEL, &usage(7), "null", TEXT);
    let in_line = |uuid, parent, more: &str| {
        line("assistant", uuid, parent, 20, more)
            .replace(r#""isSidechain":false"#, r#""isSidechain":true"#)
    };
    let chain_start =
        user("c1", "", 19, r#""task""#).replace(r#""isSidechain":false"#, r#""isSidechain":true"#);
    let next = answer("m10", MODEL, &usage(8), "null", TOOL);
    let text = [chain_start, in_line("c2", "c1", &said), in_line("c3", "c2", &next)].join("\n");
    let calls = session(&text);
    assert_eq!(
        calls.iter().map(|call| call.subagent.as_deref()).collect::<Vec<_>>(),
        [Some("c1"); 2]
    );
    let file = line("assistant", "b1", "", 20, &said)
        .replace(r#""userType""#, r#""agentId":"a17","userType""#);
    let own_file = session(&file);
    assert_eq!(own_file[0].subagent.as_deref(), Some("a17"));
    assert_eq!(own_file[0].conversation, "s1");
    assert_eq!(own_file[0].row, calls[0].row, "wherever it stands, it is that message");
}

#[test]
fn copies_in_a_session_that_was_gone_on_with_are_the_same_calls() {
    let first = small_session();
    let copied: Vec<String> = first.iter().map(|line| line.replace("\"s1\"", "\"s2\"")).collect();
    let (before, after) = (session(&first.join("\n")), session(&copied.join("\n")));
    assert_eq!(before[0].row, after[0].row);
    assert_ne!(before[0].conversation, after[0].conversation);
    // In one file each place is told; which counts is decided as between files.
    let both = session(&[copied, first.clone()].concat().join("\n"));
    assert_eq!(both.len(), 4);
    assert_eq!(both.iter().filter(|call| call.row == before[0].row).count(), 2);
    // A copy that says where it is from is there.
    let forked: Vec<String> = first
        .iter()
        .map(|line| {
            line.replace(
                r#""sessionId":"s1""#,
                r#""sessionId":"s2","forkedFrom":{"sessionId":"s1","messageUuid":"x"}"#,
            )
        })
        .collect();
    assert!(session(&forked.join("\n")).iter().all(|call| call.conversation == "s1"));
}

#[test]
fn what_an_answer_lacks_is_named() {
    let lacking = |from: &str, to: &str| {
        let good = line("assistant", "a1", "", 1, &answer("m1", MODEL, &usage(1), "null", TEXT));
        let (rows, _) = read_all(
            good.replace(from, to).as_bytes(),
            &Options { format: Some(Format::ClaudeCode), ..Options::default() },
        );
        refusals(rows).pop().unwrap_or_default()
    };
    assert_eq!(lacking(r#""sessionId":"s1","#, ""), "line 1: sessionId is missing");
    assert_eq!(lacking(MODEL, ""), "line 1: message.model: '' is empty");
    assert_eq!(lacking(r#""usage":"#, r#""used":"#), "line 1: message.usage is missing");
    assert!(lacking("2026-01-05T00", "yesterday").starts_with("line 1: timestamp: 'yesterday"));
    assert_eq!(lacking(r#""id":"m1","#, ""), "", "a line has an id of its own");
    // Unknown models are recorded as they are called: that no price is known is for others to find.
    let strange =
        line("assistant", "a1", "", 1, &answer("m1", "glm-9-air", &usage(1), "null", TEXT));
    assert_eq!(session(&strange)[0].model, "glm-9-air");
}

fn codex(second: u32, kind: &str, payload: &str) -> String {
    format!(
        r#"{{"timestamp":"2026-01-05T00:00:{second:02}.000Z","type":"{kind}","payload":{payload}}}"#
    )
}

fn tokens(counts: [u32; 4]) -> String {
    let [input, cached, output, reasoning] = counts;
    format!(
        r#"{{"input_tokens":{input},"cached_input_tokens":{cached},"output_tokens":{output},"reasoning_output_tokens":{reasoning},"total_tokens":{}}}"#,
        input + output
    )
}

fn counted(second: u32, total: [u32; 4], last: Option<[u32; 4]>) -> String {
    let last = last.map_or_else(|| "null".to_owned(), tokens);
    let total = tokens(total);
    codex(
        second,
        "event_msg",
        &format!(
            r#"{{"type":"token_count","info":{{"total_token_usage":{total},"last_token_usage":{last},"model_context_window":272000}},"rate_limits":{{"primary":{{"used_percent":3.5}}}}}}"#
        ),
    )
}

const META: &str = r#"{"id":"c0ffee00-0000-4000-8000-000000000001","timestamp":"2026-01-05T00:00:00Z","cwd":"/home/me/secret","originator":"codex_cli_rs","cli_version":"0.171.0","source":"cli","model_provider":"openai","instructions":"never kept"}"#;

fn codex_session(meta: &str) -> Vec<String> {
    let item = |second, payload: &str| codex(second, "response_item", payload);
    let says = r#"[{"type":"output_text","text":"never kept"}]"#;
    vec![
        codex(0, "session_meta", meta),
        codex(
            0,
            "turn_context",
            r#"{"cwd":"/x","model":"gpt-5.5","effort":"high","summary":"auto"}"#,
        ),
        item(
            1,
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"never kept"}]}"#,
        ),
        // Case 14: null is not zero.
        codex(1, "event_msg", r#"{"type":"token_count","info":null,"rate_limits":null}"#),
        item(4, r#"{"type":"reasoning","summary":[],"encrypted_content":"never kept"}"#),
        item(
            5,
            r#"{"type":"function_call","name":"shell","arguments":"never kept","call_id":"c1"}"#,
        ),
        counted(5, [9_000, 1_000, 200, 120], Some([9_000, 1_000, 200, 120])),
        // Only the limits changed: no call.
        counted(6, [9_000, 1_000, 200, 120], Some([9_000, 1_000, 200, 120])),
        item(8, r#"{"type":"function_call_output","call_id":"c1","output":"never kept"}"#),
        item(9, &format!(r#"{{"type":"message","role":"assistant","content":{says}}}"#)),
        counted(9, [18_500, 10_000, 260, 120], None),
    ]
}

#[test]
fn a_codex_session_counts_each_call_once() {
    let (rows, summary) = read_all(codex_session(META).join("\n").as_bytes(), &Options::default());
    assert_eq!((summary.format, summary.rows, summary.refused), (Format::Codex, 2, 0));
    let calls: Vec<Seen> = rows.into_iter().map(Result::unwrap).collect();
    let [first, second] = [&calls[0], &calls[1]];
    assert_eq!((first.at, first.answered_at), (START + 1_000, START + 5_000));
    assert_eq!((first.usage.prompt, first.usage.cache_read), (Some(9_000), Some(1_000)));
    assert_eq!((first.usage.output, first.usage.reasoning), (Some(200), Some(120)));
    assert_eq!(first.parts, [Some(Parts::TEXT), Some(Parts::THINKING | Parts::TOOL_USE)]);
    assert_eq!(first.model, "openai/gpt-5.5");
    assert_eq!(first.conversation, "c0ffee00-0000-4000-8000-000000000001");
    // What the session grew by, where the call's own counts are not told.
    assert_eq!((second.usage.prompt, second.usage.cache_read), (Some(9_500), Some(9_000)));
    assert_eq!((second.usage.output, second.usage.reasoning), (Some(60), Some(0)));
    assert_eq!(second.parts, [Some(Parts::TOOL_RESULT), Some(Parts::TEXT)]);
    assert!(!format!("{calls:?}").contains("never kept"));
}

#[test]
fn forks_and_sub_agents_of_codex_repeat_no_call() {
    let rows = |meta: &str| -> Vec<(String, Option<String>)> {
        let calls = session(&codex_session(meta).join("\n"));
        calls.into_iter().map(|call| (call.row, call.subagent)).collect()
    };
    let original = rows(META);
    let other = META.replace("c0ffee00-0000-4000-8000-000000000001", "d00d");
    assert_ne!(rows(&other), original);
    let forked = other.replace(
        r#""source""#,
        r#""forked_from_id":"c0ffee00-0000-4000-8000-000000000001","source""#,
    );
    assert_eq!(rows(&forked), original);
    let spawned = other.replace(
        r#""source":"cli""#,
        r#""source":{"subagent":{"thread_spawn":{"parent_thread_id":"c0ffee00-0000-4000-8000-000000000001","depth":1}}}"#,
    );
    assert_eq!(rows(&spawned)[0], (original[0].0.clone(), Some("d00d".to_owned())));
}

#[test]
fn a_fork_of_a_fork_is_the_first_of_them_all() {
    let meta = |id: &str, from: &str| {
        let id = META.replace("c0ffee00-0000-4000-8000-000000000001", id);
        id.replace(r#""source""#, &format!(r#""forked_from_id":"{from}","source""#))
    };
    let original = session(&codex_session(META).join("\n"));
    // The file of the second fork repeats who the first was.
    let mut lines = codex_session(&meta("c2", "c1"));
    lines.insert(1, codex(0, "session_meta", &meta("c1", "c0ffee00-0000-4000-8000-000000000001")));
    let rows: Vec<String> = session(&lines.join("\n")).into_iter().map(|call| call.row).collect();
    assert_eq!(rows, [original[0].row.clone(), original[1].row.clone()]);
}

#[test]
fn a_count_of_nothing_is_no_call_and_written_tokens_are_told() {
    let mut lines = codex_session(META);
    lines.push(counted(20, [20_000, 10_000, 260, 120], Some([0; 4])));
    assert_eq!(session(&lines.join("\n")).len(), 2);
    let written =
        lines[6].replace(r#""output_tokens""#, r#""cache_write_input_tokens":500,"output_tokens""#);
    lines[6] = written;
    let first = session(&lines.join("\n")).remove(0);
    assert_eq!((first.usage.cache_write_5m, first.usage.prompt), (Some(500), Some(9_000)));
}

#[test]
fn a_value_of_the_wrong_kind_is_refused_without_being_shown() {
    for line in [
        r#"{"type":"assistant","sessionId":"s","message":"my secret prompt"}"#,
        r#"{"type":"event_msg","payload":"my secret prompt"}"#,
    ] {
        let (rows, _) = read_all(line.as_bytes(), &Options::default());
        let refused = refusals(rows).remove(0);
        assert!(
            refused.contains("a value of the wrong kind at byte") && !refused.contains("secret"),
            "{refused}"
        );
    }
}

#[test]
fn a_torn_first_line_does_not_hide_what_a_file_is() {
    let text = format!("{{\"torn\":1}}\n{}", small_session().join("\n"));
    let (rows, summary) = read_all(text.as_bytes(), &Options::default());
    assert_eq!((summary.format, summary.refused), (Format::ClaudeCode, 1));
    assert_eq!(rows.iter().filter(|row| row.is_ok()).count(), 2);
}

#[test]
fn what_a_codex_session_does_not_say_is_named_or_told_by_its_file() {
    let text = codex_session(META)[1..].join("\n");
    let options = |file_name| Options { file_name, ..Options::default() };
    let (rows, _) = read_all(text.as_bytes(), &options("notes.jsonl"));
    assert_eq!(
        refusals(rows),
        ["line 6: session_meta before it is missing", "line 10: session_meta before it is missing"]
    );
    let name = "rollout-2026-01-05T00-00-00-c0ffee00-0000-4000-8000-000000000001.jsonl";
    let (rows, _) = read_all(text.as_bytes(), &options(name));
    let whole = session(&codex_session(META).join("\n"));
    let told: Vec<String> = rows.into_iter().map(|row| row.unwrap().row).collect();
    assert_eq!(told, [whole[0].row.clone(), whole[1].row.clone()]);
    let no_model = codex_session(META).into_iter().filter(|line| !line.contains("turn_context"));
    let (rows, _) =
        read_all(no_model.collect::<Vec<_>>().join("\n").as_bytes(), &Options::default());
    assert_eq!(refusals(rows)[0], "line 6: turn_context before it is missing");
}

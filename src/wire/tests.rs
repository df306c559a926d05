use std::borrow::Cow;
use std::collections::BTreeMap;

use events::payload::Effort;
use projections::features::{Message, Request, Role, complexity, features};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Wire, WireError, detect, read};

mod hostile;

const WIRES: [Wire; 3] = [Wire::Chat, Wire::Responses, Wire::Messages];

const CHAT: &str = r#"{"model":"m","stream":true,"max_tokens":64,"messages":[
    {"role":"system","content":"Be brief."},
    {"role":"user","content":"List\nfiles"},
    {"role":"assistant","content":"Looking.","tool_calls":[
        {"id":"c1","type":"function","function":{"name":"ls","arguments":"{\"z\": 1, \"a\": []}"}}]},
    {"role":"tool","tool_call_id":"c1","content":"a.rs"},
    {"role":"user","content":[{"type":"text","text":"Thanks"}]}],
    "tools":[{"type":"function","function":{"name":"ls","description":"lists","parameters":{"b": 1, "a": 2}}}]}"#;

const RESPONSES: &str = r#"{"model":"m","stream":true,"max_output_tokens":64,"instructions":"Be brief.","input":[
    {"role":"user","content":"List\nfiles"},
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Looking."}]},
    {"type":"reasoning","summary":[]},
    {"type":"function_call","call_id":"c1","name":"ls","arguments":"{\"z\": 1, \"a\": []}"},
    {"type":"function_call_output","call_id":"c1","output":"a.rs"},
    {"type":"message","role":"user","content":[{"type":"input_text","text":"Thanks"}]}],
    "tools":[{"type":"function","name":"ls","description":"lists","parameters":{"b": 1, "a": 2}}]}"#;

const MESSAGES: &str = r#"{"model":"m","stream":true,"max_tokens":64,"system":[{"type":"text","text":"Be brief."}],"messages":[
    {"role":"user","content":"List\nfiles"},
    {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},
        {"type":"text","text":"Looking."},
        {"type":"tool_use","id":"c1","name":"ls","input":{"z": 1, "a": []}}]},
    {"role":"user","content":[{"type":"text","text":"Thanks"},
        {"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"a.rs"}]}]}],
    "tools":[{"name":"ls","description":"lists","input_schema":{"b": 1, "a": 2}},
        {"type":"web_search_20250305","name":"web_search"}]}"#;

fn body(wire: Wire) -> &'static str {
    match wire {
        Wire::Chat => CHAT,
        Wire::Responses => RESPONSES,
        Wire::Messages => MESSAGES,
    }
}

#[track_caller]
fn request(wire: Wire, body: &str) -> Request<'_> {
    read(wire, body.as_bytes()).unwrap()
}

#[track_caller]
fn refusal(wire: Wire, body: &str) -> String {
    read(wire, body.as_bytes()).unwrap_err().to_string()
}

#[test]
fn one_conversation_reads_the_same_on_every_wire() {
    let mut chat = request(Wire::Chat, CHAT);
    assert_eq!(chat, request(Wire::Responses, RESPONSES));
    chat.messages[3].failed = Some(false);
    assert_eq!(chat, request(Wire::Messages, MESSAGES));

    let roles: Vec<Role> = chat.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::System, Role::User, Role::Assistant, Role::Tool, Role::User]);
    let called = &chat.messages[2].calls[0];
    assert_eq!((&*called.name, &*called.arguments), ("ls", r#"{"z": 1, "a": []}"#));
    assert_eq!(chat.messages[3].tool.as_deref(), Some("ls"));
    assert_eq!(chat.tools.len(), 1);
    assert_eq!(chat.tools[0].schema, r#"{"b": 1, "a": 2}"#);
    assert_eq!((&*chat.model, chat.max_output, chat.stream), ("m", Some(64), true));
}

#[test]
fn texts_are_borrowed_where_nothing_is_escaped() {
    for wire in WIRES {
        let request = request(wire, body(wire));
        assert!(matches!(request.model, Cow::Borrowed(_)));
        assert!(matches!(request.messages[0].texts[0], Cow::Borrowed(_)), "{wire:?}");
        assert!(matches!(request.messages[1].texts[0], Cow::Owned(_)), "{wire:?}");
        assert!(matches!(request.messages[4].texts[0], Cow::Borrowed(_)), "{wire:?}");
        assert!(matches!(request.tools[0].schema, Cow::Borrowed(_)), "{wire:?}");
    }
}

#[test]
fn nulls_count_as_absent() {
    let case = r#"{"input":[{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":null,"content":null,"status":null},
        {"id":"fc_1","type":"function_call","call_id":"c1","name":"f","arguments":"{}"},
        {"type":"function_call_output","call_id":"c1","output":"ok"}]}"#;
    let request_34 = request(Wire::Responses, case);
    assert_eq!(request_34.messages.len(), 2);
    assert_eq!(request_34.messages[1].tool.as_deref(), Some("f"));
    assert_eq!(request_34.messages[1].failed, None);

    let chat = r#"{"model":null,"stream":null,"max_tokens":null,"tools":null,"functions":null,"reasoning":null,
        "reasoning_effort":null,"messages":[null,{"role":"user","content":null,"tool_calls":null,"name":null},
        {"role":"assistant","content":[null,{"type":"text","text":null}],"tool_calls":[null,{"id":null,"function":null}],"function_call":null}]}"#;
    let request_chat = request(Wire::Chat, chat);
    assert_eq!(request_chat.messages, [Message::new(Role::User), Message::new(Role::Assistant)]);
    let responses = r#"{"instructions":null,"tools":[null],"reasoning":{"effort":null},"max_output_tokens":null,
        "input":[null,{"type":null,"role":"user","content":null},{"type":"function_call_output","call_id":null,"output":null}]}"#;
    assert_eq!(request(Wire::Responses, responses).messages.len(), 2);
    let messages = r#"{"system":null,"thinking":null,"output_config":{"effort":null},"tools":[null,{"input_schema":null}],"messages":[
        {"role":"user","content":[null,{"type":"tool_result","tool_use_id":"x","content":null,"is_error":null}]}]}"#;
    let request_messages = request(Wire::Messages, messages);
    assert_eq!(request_messages.messages[0].failed, Some(false));
    assert!(request_messages.tools.is_empty());
}

#[test]
fn instructions_behind_what_a_person_says_hide_nothing() {
    let body = r#"{"system":"x","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"why?"}]},
        {"role":"system","content":"Tools: many."}]}"#;
    let told = features(&request(Wire::Messages, body));
    assert_eq!(told.tail.map(|tail| tail.bytes), Some(4));
    assert_eq!((told.keywords.map(complexity), told.questions), (Some(1), Some(1)));
}

#[test]
fn images_are_counted() {
    let chat = r#"{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:"}},{"type":"text","text":"?"}]}]}"#;
    let responses = r#"{"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:"},{"type":"input_text","text":"?"}]}]}"#;
    let messages = r#"{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":""}},{"type":"text","text":"?"}]}]}"#;
    for (wire, body) in
        [(Wire::Chat, chat), (Wire::Responses, responses), (Wire::Messages, messages)]
    {
        let message = &request(wire, body).messages[0];
        assert_eq!((message.images, &message.texts[..]), (1, &["?".into()][..]), "{wire:?}");
    }
    let result = r#"{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","is_error":true,"content":[{"type":"image"},{"type":"text","text":"no"}]}]}]}"#;
    let message = &request(Wire::Messages, result).messages[0];
    assert_eq!((message.role, message.images, message.failed), (Role::Tool, 1, Some(true)));
    let screen = r#"{"input":[{"type":"computer_call_output","call_id":"x","output":{"type":"computer_screenshot","image_url":"data:"}}]}"#;
    assert_eq!(request(Wire::Responses, screen).messages[0].images, 1);
}

#[test]
fn effort_has_many_forms() {
    let forms = [
        (Wire::Chat, json!({}), Effort::Unasked),
        (Wire::Chat, json!({"reasoning_effort": "minimal"}), Effort::Minimal),
        (Wire::Chat, json!({"reasoning_effort": "none"}), Effort::Off),
        (Wire::Chat, json!({"reasoning_effort": "enormous"}), Effort::Unasked),
        (
            Wire::Chat,
            json!({"reasoning_effort": "low", "reasoning": {"effort": "xhigh"}}),
            Effort::XHigh,
        ),
        (
            Wire::Chat,
            json!({"reasoning_effort": "low", "reasoning": {"enabled": false}}),
            Effort::Off,
        ),
        (
            Wire::Chat,
            json!({"reasoning_effort": "low", "reasoning": {"enabled": true}}),
            Effort::Low,
        ),
        (
            Wire::Responses,
            json!({"reasoning": {"effort": "high", "summary": "auto"}}),
            Effort::High,
        ),
        (Wire::Responses, json!({"reasoning": {"summary": "auto"}}), Effort::Unasked),
        (Wire::Messages, json!({"thinking": {"type": "disabled"}}), Effort::Off),
        (Wire::Messages, json!({"thinking": {"type": "adaptive"}}), Effort::Medium),
        (
            Wire::Messages,
            json!({"thinking": {"type": "enabled", "budget_tokens": 2048}}),
            Effort::Low,
        ),
        (
            Wire::Messages,
            json!({"thinking": {"type": "enabled", "budget_tokens": 2049}}),
            Effort::Medium,
        ),
        (
            Wire::Messages,
            json!({"thinking": {"type": "enabled", "budget_tokens": 8192}}),
            Effort::Medium,
        ),
        (
            Wire::Messages,
            json!({"thinking": {"type": "enabled", "budget_tokens": 8193}}),
            Effort::High,
        ),
        (
            Wire::Messages,
            json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}}),
            Effort::Max,
        ),
    ];
    for (wire, mut body, effort) in forms {
        body["messages"] = json!([]);
        body["input"] = json!([]);
        assert_eq!(request(wire, &body.to_string()).effort, effort, "{wire:?} {body}");
    }
}

#[test]
fn limits_are_whole_and_never_too_large() {
    for (given, max) in
        [("4096", Some(4096)), ("1e3", Some(1000)), ("99999999999", Some(u32::MAX)), ("null", None)]
    {
        let body = format!(r#"{{"messages":[],"max_tokens":7,"max_completion_tokens":{given}}}"#);
        assert_eq!(request(Wire::Chat, &body).max_output, max.or(Some(7)));
    }
    let body = r#"{"messages":[],"max_tokens":-1}"#;
    assert!(
        refusal(Wire::Messages, body).contains("max_tokens: '-1' does not fit"),
        "{}",
        refusal(Wire::Messages, body)
    );
}

#[test]
fn older_functions_are_read() {
    let body = r#"{"messages":[{"role":"assistant","function_call":{"name":"f","arguments":"{}"}},
        {"role":"function","name":"f","content":"1"}],"functions":[{"name":"f","parameters":{}}]}"#;
    let request = request(Wire::Chat, body);
    assert_eq!(request.messages[0].calls[0].name, "f");
    assert_eq!(
        (request.messages[1].role, request.messages[1].tool.as_deref()),
        (Role::Tool, Some("f"))
    );
    assert_eq!(request.tools[0].name, "f");
}

#[test]
fn responses_calls_join_and_odd_items_are_told_apart() {
    let body = r#"{"input":[
        {"type":"function_call","call_id":"a","name":"f","arguments":"{}"},
        {"type":"reasoning","summary":[]},
        {"type":"custom_tool_call","call_id":"b","name":"apply_patch","input":"*** Begin\n"},
        {"type":"local_shell_call","call_id":"c","action":{"command":["ls"]}},
        {"type":"web_search_call","id":"ws_1","status":"completed"},
        {"type":"function_call_output","call_id":"a","output":"1","status":"completed"},
        {"type":"custom_tool_call_output","call_id":"b","output":[{"type":"input_text","text":"2"}],"status":"failed"},
        {"type":"local_shell_call_output","call_id":"c","output":"3"},
        {"type":"shell_call_output","call_id":"d","output":[{"stdout":"4"}]},
        {"type":"additional_tools","role":"developer","tools":[{"type":"custom","name":"exec","format":{"type":"text"}}]},
        {"type":"item_reference","id":"x"}],
        "tools":[{"type":"web_search"},{"type":"namespace","name":"n","tools":[ {} ]}]}"#;
    let request = request(Wire::Responses, body);
    assert_eq!(request.messages.len(), 5);
    let calls: Vec<_> =
        request.messages[0].calls.iter().map(|call| (&*call.name, &*call.arguments)).collect();
    let shell = ("local_shell", r#"{"command":["ls"]}"#);
    assert_eq!(calls, [("f", "{}"), ("apply_patch", "*** Begin\n"), shell]);
    let results: Vec<_> =
        request.messages[1..].iter().map(|it| (it.tool.as_deref(), it.failed)).collect();
    let expected = [
        (Some("f"), Some(false)),
        (Some("apply_patch"), Some(true)),
        (Some("local_shell"), None),
        (None, None),
    ];
    assert_eq!(results, expected);
    assert_eq!(request.messages[4].texts, [r#"[{"stdout":"4"}]"#]);
    let tools: Vec<_> = request.tools.iter().map(|tool| (&*tool.name, &*tool.schema)).collect();
    assert_eq!(tools, [("web_search", ""), ("n", "[ {} ]"), ("exec", r#"{"type":"text"}"#)]);
}

#[test]
fn one_text_is_one_message() {
    let request = request(Wire::Responses, r#"{"input":"hi"}"#);
    assert_eq!(request.messages, [Message::text(Role::User, "hi")]);
}

#[test]
fn the_wire_is_told_by_shape() {
    for wire in WIRES {
        assert_eq!(detect(body(wire).as_bytes()), Ok(wire));
    }
    let shapes = [
        (r#"{"messages":[{"role":"user","content":"x"}]}"#, Wire::Chat),
        (r#"{"messages":[{"role":"user","content":"x"}],"max_tokens":1}"#, Wire::Messages),
        (r#"{"messages":[{"role":"system","content":"x"}],"max_tokens":1}"#, Wire::Chat),
        (r#"{"messages":[],"max_tokens":1,"tool_choice":"auto"}"#, Wire::Chat),
        (r#"{"messages":[],"max_tokens":1,"tool_choice":{"type":"any"}}"#, Wire::Messages),
        (r#"{"messages":[],"max_tokens":1,"stream_options":{}}"#, Wire::Chat),
        (r#"{"messages":[],"max_tokens":1,"tools":[{"function":{}}]}"#, Wire::Chat),
        (r#"{"messages":[],"system":"x"}"#, Wire::Messages),
        (r#"{"messages":[],"anthropic_version":"x"}"#, Wire::Messages),
        (r#"{"messages":[{"content":[{"type":"tool_result"}]}]}"#, Wire::Messages),
        (r#"{"messages":[{"content":5}, 7],"tools":8}"#, Wire::Chat),
        (r#"{"input":"x"}"#, Wire::Responses),
    ];
    for (body, wire) in shapes {
        assert_eq!(detect(body.as_bytes()), Ok(wire), "{body}");
    }
    for body in ["", "[]", "{}", "null", "7", r#"{"messages":null}"#] {
        detect(body.as_bytes()).unwrap_err();
    }
}

/// Reads what clients sent, from the folder the variable names; says how much of it there was.
#[test]
#[expect(clippy::print_stdout, reason = "the counts are for whoever runs it with a folder")]
fn captures_read() {
    let Some(folder) = std::env::var_os("FERRY_CAPTURES") else { return };
    let mut counts: BTreeMap<(&str, bool), usize> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let capture: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let sent = &capture["request"];
        let to = sent["path"].as_str().unwrap();
        let places = [
            ("/chat/completions", Wire::Chat),
            ("/responses", Wire::Responses),
            ("/messages", Wire::Messages),
        ];
        let found =
            places.iter().find(|(place, _)| to.contains(place) && !to.contains("count_tokens"));
        let (Some((_, wire)), Some("POST")) = (found, sent["method"].as_str()) else { continue };
        let body = sent["body"].to_string();
        let request = request(*wire, &body);
        assert!(!request.messages.is_empty(), "{}", path.display());
        let told = detect(body.as_bytes()).unwrap();
        *counts.entry((wire.label(), told == *wire)).or_default() += 1;
        if told != *wire {
            println!("{} looks like {}", path.display(), told.label());
        }
    }
    println!("(wire, told by shape) and how many: {counts:#?}");
    assert!(!counts.is_empty());
}

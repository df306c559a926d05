//! Each row of router facts 1.2.

use super::*;
use events::payload::{Effort, Keywords};

use crate::features::complexity;

fn user(text: &str) -> Message<'_> {
    Message::text(Role::User, text)
}

fn assistant(text: &str) -> Message<'_> {
    Message::text(Role::Assistant, text)
}

fn call<'a>(name: &'a str, arguments: &'a str) -> ToolCall<'a> {
    ToolCall { id: "1".into(), name: name.into(), arguments: arguments.into() }
}

fn calls<'a>(calls: &[(&'a str, &'a str)]) -> Message<'a> {
    let calls = calls.iter().map(|(name, arguments)| call(name, arguments)).collect();
    Message { calls, ..Message::new(Role::Assistant) }
}

fn result(text: &str, failed: Option<bool>) -> Message<'_> {
    Message { failed, ..Message::text(Role::Tool, text) }
}

pub(super) fn request(messages: Vec<Message<'_>>) -> Request<'_> {
    Request {
        model: "m".into(),
        messages,
        tools: Vec::new(),
        effort: Effort::Unasked,
        max_output: None,
        stream: false,
    }
}

fn told(messages: &[Message<'_>]) -> Features {
    features(&request(messages.to_vec()))
}

#[test]
fn nothing_is_in_an_empty_request() {
    let none = TextSize::default();
    assert_eq!(
        told(&[]),
        Features {
            anatomy: Some(Anatomy::default()),
            prompt_tokens: None,
            tail: Some(none),
            new_tokens: None,
            depth: Some(0),
            tools: Some(0),
            continues: Some(false),
            loop_depth: Some(0),
            distinct_tools: Some(0),
            tool_failed: Some(false),
            repeated_call: Some(false),
            circular_call: Some(false),
            read_only_tail: Some(false),
            images: Some(0),
            new_image: Some(false),
            code_blocks: Some(0),
            code_bytes: Some(0),
            diff: Some(false),
            keywords: Some(Keywords(0)),
            questions: Some(0),
            terse: Some(false),
            effort: Some(Effort::Unasked),
        }
    );
}

#[test]
fn history_does_not_inflate_what_is_asked_now() {
    let long = "why this architecture?\n```\nx\n```\n--- a/x";
    let features = told(&[user(long), assistant(long), user("fix the typo")]);
    assert_eq!(features.keywords, Some(keywords("typo")));
    assert_eq!((features.code_blocks, features.code_bytes), (Some(0), Some(0)));
    assert_eq!((features.diff, features.questions), (Some(false), Some(0)));
    assert_eq!((features.terse, features.depth), (Some(true), Some(3)));
    let asked = told(&[assistant("hi"), user("why?"), user("```\nx\n```\n+++ b/x")]);
    assert_eq!(asked.keywords.map(complexity), Some(1), "a run of user messages is one text");
    assert_eq!((asked.code_blocks, asked.code_bytes), (Some(1), Some(3)));
    assert_eq!((asked.diff, asked.questions, asked.terse), (Some(true), Some(1), Some(false)));
}

#[test]
fn parts_of_a_message_begin_on_lines_of_their_own() {
    let texts = vec!["see".into(), "--- a/x".into()];
    let parts = Message { texts, ..Message::new(Role::User) };
    assert_eq!(told(&[parts]).diff, Some(true));
}

#[test]
fn a_loop_of_tools_says_nothing_again() {
    let asked = Message { images: 1, ..user("why this race?") };
    let begun = [asked.clone(), calls(&[("read", "{}")]), result("why", Some(false))];
    let features = told(&begun);
    assert_eq!(features.keywords, Some(Keywords(0)));
    assert_eq!((features.questions, features.terse), (Some(0), Some(false)));
    assert_eq!((features.images, features.new_image), (Some(1), Some(false)));
    assert_eq!(features.continues, Some(true));
    assert_eq!(told(std::slice::from_ref(&asked)).new_image, Some(true));
    let later = told(&[asked, assistant("so"), user("go on")]);
    assert_eq!((later.images, later.new_image), (Some(1), Some(false)));
    assert_eq!(told(&[user("why"), assistant("Be")]).keywords, Some(Keywords(0)), "a reply begun");
}

#[test]
fn the_tail_is_what_is_new_at_the_end() {
    let bytes = |messages: &[Message<'_>]| told(messages).tail.unwrap().bytes;
    let (ask, turn) = (user("four"), calls(&[("ls", "{}")]));
    let (one, two) = (result("a", None), result("bc", None));
    assert_eq!(bytes(&[user("x"), assistant("y"), ask.clone(), user("five5")]), 9);
    assert_eq!(bytes(&[ask.clone(), turn.clone(), one.clone(), two.clone()]), 3);
    assert_eq!(bytes(&[ask.clone(), turn, one, two, ask.clone()]), 4);
    assert_eq!(bytes(&[ask.clone(), assistant("y")]), 0);
    assert_eq!(bytes(&[Message::text(Role::System, "y")]), 0);
}

#[test]
fn instructions_at_the_end_hide_nothing() {
    let image = Message { images: 1, ..user("why this race?") };
    let (turn, back) = (calls(&[("read", "{}")]), result("error: no", None));
    for said in [
        vec![image.clone()],
        vec![image.clone(), turn.clone(), back.clone()],
        vec![image.clone(), turn, back, user("so?")],
        vec![image, assistant("so")],
        vec![],
    ] {
        let expected = told(&said);
        for brief in 1..3 {
            let mut messages = said.clone();
            messages.resize(said.len() + brief, Message::new(Role::System));
            assert_eq!(told(&messages), expected, "{messages:?}");
        }
    }
}

#[test]
fn a_round_trip_is_two_deep() {
    let (ask, turn, back) = (user("go"), calls(&[("ls", "{}")]), result("a", None));
    for (messages, loops, depth) in [
        (vec![ask.clone()], 0, 1),
        (vec![ask.clone(), turn.clone(), back.clone()], 2, 2),
        (vec![ask.clone(), turn.clone(), back.clone(), turn.clone(), back.clone()], 4, 3),
        (vec![ask.clone(), turn.clone(), back.clone(), back.clone()], 3, 2),
        (vec![ask.clone(), assistant("so"), turn.clone(), back.clone()], 2, 3),
        (vec![turn.clone(), back.clone(), Message::new(Role::System), back.clone()], 1, 1),
        (vec![turn, back, ask], 0, 2),
    ] {
        let features = told(&messages);
        assert_eq!(
            (features.loop_depth, features.depth),
            (Some(loops), Some(depth)),
            "{messages:?}"
        );
    }
    let endless = vec![result("", None); 70_000];
    assert_eq!(told(&endless).loop_depth, Some(u16::MAX));
}

#[test]
fn tools_are_told_apart_by_name() {
    let named = Message { tool: Some("grep".into()), ..result("x", None) };
    let turn = calls(&[("ls", "1"), ("ls", "2"), ("cat", "1")]);
    assert_eq!(told(&[turn.clone(), named]).distinct_tools, Some(3));
    assert_eq!(told(&[turn, result("x", None), user("so")]).distinct_tools, Some(2));
}

#[test]
fn calls_are_the_same_byte_by_byte() {
    let (a, b, c, d) = (("x", "{}"), ("x", "{ }"), ("y", "{}"), ("z", ""));
    for (made, repeated, circular) in [
        (vec![], false, false),
        (vec![a], false, false),
        (vec![a, b], false, false),
        (vec![a, c], false, false),
        (vec![a, a], true, true),
        (vec![a, b, a], false, true),
        (vec![a, a, b], false, true),
        (vec![a, b, c, a], false, true),
        (vec![a, b, c, d, a], false, false),
        (vec![a, a, b, c, d], false, false),
        (vec![b, c, d, a, a], true, true),
    ] {
        let expected = (Some(repeated), Some(circular));
        let separate: Vec<_> = made.iter().flat_map(|one| [calls(&[*one]), user("go")]).collect();
        for messages in [separate, vec![calls(&made)]] {
            let features = told(&messages);
            assert_eq!((features.repeated_call, features.circular_call), expected, "{made:?}");
        }
    }
    let other_id = ToolCall { id: "2".into(), ..call("x", "{}") };
    let other = Message { calls: vec![other_id], ..Message::new(Role::Assistant) };
    assert_eq!(told(&[calls(&[a]), other]).repeated_call, Some(true));
}

#[test]
fn failures_are_known_unknown_or_none() {
    let turn = calls(&[("x", "{}")]);
    let (good, bad, unsaid) = (Some(false), Some(true), None);
    let (fine, marked) = ("ok", "error: no");
    for (results, failed) in [
        (vec![], Some(false)),
        (vec![(fine, good)], Some(false)),
        (vec![(fine, bad)], Some(true)),
        (vec![(marked, good)], Some(false)),
        (vec![(marked, unsaid)], Some(true)),
        (vec![(fine, unsaid)], None),
        (vec![(fine, good), (fine, unsaid)], None),
        (vec![(fine, unsaid), (fine, bad)], Some(true)),
        (vec![(marked, unsaid), (fine, good)], Some(true)),
    ] {
        let mut messages = vec![user("error: mine"), turn.clone()];
        messages.extend(results.iter().map(|(text, bit)| result(text, *bit)));
        let after = |more: &[Message<'_>]| {
            let messages: Vec<_> = messages.iter().chain(more).cloned().collect();
            told(&messages).tool_failed
        };
        assert_eq!(after(&[]), failed, "{results:?}");
        assert_eq!(after(&[user("so"), user("well")]), failed, "a person answers: {results:?}");
        assert_eq!(after(&[assistant("I see")]), Some(false), "the model replied");
        assert_eq!(after(&[assistant("I see"), user("so")]), Some(false), "the model replied");
        let next = [turn.clone(), result(fine, good)];
        assert_eq!(after(&next), Some(false), "only the last results count");
    }
}

#[test]
fn a_read_only_tail_is_of_calls_that_only_read() {
    let (read, edit) = (("Read", "{}"), ("edit", "{}"));
    let back = result("a", None);
    for (messages, expected) in [
        (vec![calls(&[read]), back.clone()], true),
        (vec![calls(&[read, ("glob", "")]), back.clone(), back.clone()], true),
        (vec![calls(&[edit]), back.clone(), calls(&[read]), back.clone()], true),
        (vec![calls(&[read, edit]), back.clone()], false),
        (vec![calls(&[edit]), calls(&[read]), back.clone()], false),
        (vec![calls(&[read]), assistant("so"), back.clone()], true),
        (vec![assistant("so"), back.clone()], false),
        (vec![user("so"), back.clone()], false),
        (vec![back.clone()], false),
        (vec![calls(&[read])], false),
        (vec![calls(&[read]), back, user("so")], false),
    ] {
        assert_eq!(told(&messages).read_only_tail, Some(expected), "{messages:?}");
    }
}

#[test]
fn every_part_is_measured() {
    let tool = Tool { name: "ls".into(), description: "lists".into(), schema: "{\u{65e5}}".into() };
    let talk = Message { calls: vec![call("ls", "[1]")], ..assistant("let me") };
    let asked = Request {
        tools: vec![tool; 70_000],
        effort: Effort::High,
        ..request(vec![
            Message::text(Role::System, "be"),
            user("\u{d55c}x"),
            talk,
            result("a\nb", None),
            Message::text(Role::System, "brief"),
        ])
    };
    let features = features(&asked);
    let size = |bytes, wide| TextSize { bytes, wide };
    let expected = Anatomy {
        system: size(7, 0),
        tools: size(840_000, 70_000),
        user: size(4, 1),
        assistant: size(11, 0),
        results: size(3, 0),
    };
    assert_eq!(features.anatomy, Some(expected));
    assert_eq!((features.tools, features.effort), (Some(u16::MAX), Some(Effort::High)));
    assert_eq!((features.prompt_tokens, features.new_tokens), (None, None));
}

#[test]
fn a_conversation_is_known_by_how_it_begins() {
    let system = |text| Message::text(Role::System, text);
    let parts = Message { texts: vec!["a".into(), "b".into()], ..Message::new(Role::User) };
    let begun = request(vec![system("x"), system("y"), parts, user("c"), system("z")]);
    assert_eq!(conversation_texts(&begun), (vec!["x", "y"], vec!["a", "b"]));
    assert_eq!(conversation_texts(&request(vec![user("a")])), (vec![], vec!["a"]));
    assert_eq!(conversation_texts(&request(vec![system("x")])), (vec!["x"], vec![]));
    assert_eq!(conversation_texts(&request(vec![])), (vec![], vec![]));
}

//! What holds of any request.

use proptest::prelude::*;

use super::tests::request;
use super::*;

fn any_text() -> impl Strategy<Value = Cow<'static, str>> {
    let text = "(why |typo|```|\\?|\n|error: |exit code 1|--- a/|[a-z .\u{65e5}\u{e9}]){0,6}";
    prop_oneof![text.prop_map(Cow::Owned), any::<String>().prop_map(Cow::Owned)]
}

fn any_role() -> impl Strategy<Value = Role> {
    prop::sample::select(vec![Role::System, Role::User, Role::Assistant, Role::Tool])
}

fn any_call() -> impl Strategy<Value = ToolCall<'static>> {
    let names = prop::sample::select(vec!["read", "edit", "ls"]);
    (any_text(), names, any_text()).prop_map(|(id, name, arguments)| ToolCall {
        id,
        name: name.into(),
        arguments,
    })
}

fn any_message() -> impl Strategy<Value = Message<'static>> {
    let texts = prop::collection::vec(any_text(), 0..3);
    let calls = prop::collection::vec(any_call(), 0..3);
    let tool = prop::option::of(any_text());
    (any_role(), texts, any::<u32>(), calls, tool, any::<Option<bool>>()).prop_map(
        |(role, texts, images, calls, tool, failed)| Message {
            role,
            texts,
            images,
            calls,
            answers: None,
            tool,
            failed,
        },
    )
}

fn any_request() -> impl Strategy<Value = Request<'static>> {
    let tool = (any_text(), any_text(), any_text()).prop_map(|(name, description, schema)| Tool {
        name,
        description,
        schema,
    });
    let tools = prop::collection::vec(tool, 0..3);
    (prop::collection::vec(any_message(), 0..9), tools)
        .prop_map(|(messages, tools)| Request { tools, ..request(messages) })
}

/// The features that no history changes.
fn of_now(features: Features) -> Features {
    let Features { tail, continues, new_image, .. } = features;
    let Features { code_blocks, code_bytes, diff, keywords, questions, terse, .. } = features;
    Features {
        tail,
        continues,
        new_image,
        code_blocks,
        code_bytes,
        diff,
        keywords,
        questions,
        terse,
        ..Features::default()
    }
}

proptest! {
    #[test]
    fn any_request_has_features_in_range(request in any_request()) {
        let told = features(&request);
        prop_assert_eq!(told.check(), Ok(()));
        prop_assert_eq!(told, features(&request.clone()));
        let (instructions, first) = conversation_texts(&request);
        let texts: usize = request.messages.iter().map(|message| message.texts.len()).sum();
        prop_assert!(instructions.len() + first.len() <= texts);
    }

    #[test]
    fn history_changes_nothing_that_is_said_now(
        request in any_request(),
        mut history in prop::collection::vec(any_message(), 0..9),
        border in prop::sample::select(vec![Role::System, Role::Assistant]),
    ) {
        // What ends with instructions alone is told by what stands before them.
        prop_assume!(request.messages.iter().any(|message| message.role != Role::System));
        let now = of_now(features(&request));
        history.push(Message { role: border, ..Message::new(border) });
        history.extend(request.messages.iter().cloned());
        let grown = Request { messages: history, ..request };
        prop_assert_eq!(of_now(features(&grown)), now);
    }

    #[test]
    fn growing_keeps_what_a_conversation_is_known_by(
        request in any_request(), more in prop::collection::vec(any_message(), 0..5)
    ) {
        prop_assume!(request.messages.iter().any(|message| message.role != Role::System));
        let mut grown = request.clone();
        grown.messages.extend(more);
        prop_assert_eq!(conversation_texts(&grown), conversation_texts(&request));
    }
}

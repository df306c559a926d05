//! Worked values of router facts 2.1 and 1.4.

use super::*;
use proptest::prelude::*;

const WEIGHTS: Weights = Weights { mechanical_retry_factor: Permille(200) };

/// A request in which nothing stands out.
fn plain() -> Features {
    Features {
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
        new_tokens: Some(10),
        prompt_tokens: Some(100),
        ..Features::default()
    }
}

fn class(features: &Features) -> Class {
    let tokens = PromptTokens { prompt: 100, new: features.new_tokens };
    classify(features, tokens, None, WEIGHTS)
}

fn score(features: &Features) -> u16 {
    class(features).score
}

#[test]
fn each_term_adds_what_the_table_says() {
    let f = plain();
    assert_eq!(score(&f), 300);
    let effort = |effort| Features { effort: Some(effort), ..f };
    for (features, expected) in [
        (Features { continues: Some(true), ..f }, 20),
        (Features { tool_failed: Some(true), ..f }, 560),
        (Features { circular_call: Some(true), ..f }, 540),
        (Features { repeated_call: Some(true), ..f }, 300),
        (effort(Effort::Off), 300),
        (effort(Effort::Minimal), 300),
        (effort(Effort::Low), 300),
        (effort(Effort::Medium), 440),
        (effort(Effort::High), 540),
        (effort(Effort::XHigh), 600),
        (effort(Effort::Max), 640),
        (Features { terse: Some(true), ..f }, 200),
        (Features { code_blocks: Some(1), ..f }, 340),
        (Features { code_blocks: Some(9), ..f }, 380),
        (Features { diff: Some(true), ..f }, 350),
        (Features { questions: Some(1), ..f }, 330),
        (Features { questions: Some(7), ..f }, 360),
        (Features { new_tokens: Some(2_000), ..f }, 300),
        (Features { new_tokens: Some(2_001), ..f }, 350),
        (Features { new_tokens: Some(8_001), ..f }, 400),
        (Features { depth: Some(5), ..f }, 320),
        (Features { depth: Some(500), ..f }, 380),
        (Features { loop_depth: Some(2), ..f }, 284),
        (Features { new_image: Some(true), images: Some(1), ..f }, 340),
        (Features { images: Some(1), ..f }, 300),
        (Features { tools: Some(12), ..f }, 330),
    ] {
        assert_eq!(score(&features), expected, "{features:?}");
    }
}

#[test]
fn keywords_count_up_to_three() {
    let told = |text: &str| Features { keywords: Some(crate::features::keywords(text)), ..plain() };
    assert_eq!(score(&told("a race in the Architecture")), 500);
    assert_eq!(score(&told("why debug a race, a deadlock and the root cause")), 600, "capped");
    assert_eq!(score(&told("bump it")), 210);
    assert_eq!(score(&told("rename, reformat, bump, lint: format the changelog's typos")), 30);
}

// 2.1, "pure-depth behaviour": as deep as the loop, tools on offer.
#[test]
fn depth_alone_reaches_moderate_and_never_hard() {
    let deep = |depth: u16| Features {
        continues: Some(true),
        depth: Some(depth.into()),
        loop_depth: Some(depth),
        tools: Some(8),
        ..plain()
    };
    for (depth, expected, tier) in [
        (2, 42, TurnTier::Trivial),
        (11, 238, TurnTier::Trivial),
        (12, 260, TurnTier::Simple),
        (23, 490, TurnTier::Simple),
        (24, 508, TurnTier::Moderate),
        (25, 520, TurnTier::Moderate),
        (26, 520, TurnTier::Moderate),
        (u16::MAX, 520, TurnTier::Moderate),
    ] {
        let class = class(&deep(depth));
        assert_eq!((class.score, class.kind.tier), (expected, tier), "{depth}");
    }
}

#[test]
fn failures_while_tools_run_weigh_a_fifth() {
    let running = Features { continues: Some(true), ..plain() };
    assert_eq!(score(&running), 20);
    assert_eq!(score(&Features { tool_failed: Some(true), ..running }), 72);
    assert_eq!(score(&Features { circular_call: Some(true), ..running }), 68);
    let undamped = Weights { mechanical_retry_factor: Permille::ONE };
    let failed = Features { tool_failed: Some(true), ..running };
    let tokens = PromptTokens { prompt: 100, new: Some(10) };
    assert_eq!(classify(&failed, tokens, None, undamped).score, 280);
}

#[test]
fn confidence_is_how_far_the_nearest_border_is() {
    let at = |score| confidence(score, 0);
    assert_eq!((at(0), at(125), at(250), at(375), at(500)), (1_000, 1_000, 0, 1_000, 0));
    // 0.6 is within 0.075 of a border.
    assert_eq!((at(325), at(326)), (600, 608));
    assert_eq!(at(1_000), 1_000);
}

#[test]
fn an_unknown_term_adds_nothing_lowers_confidence_and_is_named() {
    let known = Features { questions: Some(2), ..plain() };
    let unknown = Features { keywords: None, ..known };
    assert_eq!(score(&known), score(&unknown));
    assert_eq!((class(&known).unknown_terms, class(&unknown).unknown_terms), (0, 2));
    assert!(class(&unknown).confidence < class(&known).confidence);
    let tokens = PromptTokens { prompt: 1, new: None };
    let terms = terms(&unknown, tokens, WEIGHTS);
    let unnamed: Vec<_> = TERMS.iter().zip(terms).filter(|(_, term)| term.is_none()).collect();
    assert_eq!(
        unnamed.iter().map(|(name, _)| **name).collect::<Vec<_>>(),
        ["complexity keywords", "triviality keywords", "new content"]
    );
    assert_eq!(class(&Features::default()).confidence, 0);
}

// 1.4: the first that fits.
#[test]
fn tasks_are_told_in_order() {
    let f = plain();
    let words = |text: &str| Features { keywords: Some(crate::features::keywords(text)), ..f };
    for (features, task) in [
        (f, Task::Chat),
        (words("optimise the query"), Task::Data),
        (words("migrate the design"), Task::Data),
        (words("the architecture of it"), Task::Documentation),
        (Features { tools: Some(1), ..words("design") }, Task::Coding),
        (Features { code_blocks: Some(1), ..f }, Task::Coding),
        (Features { diff: Some(true), ..f }, Task::Coding),
        (Features { loop_depth: Some(2), ..f }, Task::Coding),
        (Features { new_image: Some(true), tools: Some(1), ..f }, Task::Vision),
        (Features { images: Some(1), ..f }, Task::Chat),
    ] {
        assert_eq!(class(&features).kind.task, task, "{features:?}");
    }
}

#[test]
fn what_a_client_states_goes_first() {
    let stated = TurnKind { task: Task::Data, tier: TurnTier::Hard };
    let tokens = PromptTokens::default();
    let class = classify(&plain(), tokens, Some(stated), WEIGHTS);
    assert_eq!((class.kind, class.confidence), (stated, 1_000));
    assert_eq!((class.source, class.score), (ClassSource::Stated, 300));
}

proptest! {
    #[test]
    fn scores_stay_within_bounds(
        depth in proptest::option::of(any::<u32>()),
        loops in proptest::option::of(any::<u16>()),
        keywords in proptest::option::of(any::<u32>()),
        flags in proptest::collection::vec(proptest::option::of(any::<bool>()), 5),
        new in proptest::option::of(any::<u32>()),
    ) {
        let features = Features {
            depth,
            loop_depth: loops,
            keywords: keywords.map(Keywords),
            continues: flags[0],
            tool_failed: flags[1],
            circular_call: flags[2],
            terse: flags[3],
            diff: flags[4],
            ..plain()
        };
        let class = classify(&features, PromptTokens { prompt: 1, new }, None, WEIGHTS);
        prop_assert!(class.score <= 1_000 && class.confidence <= 1_000);
        prop_assert_eq!(class.kind.tier, tier(class.score.into()));
    }
}

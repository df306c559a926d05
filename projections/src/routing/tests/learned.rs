//! Answers, predictions, pauses.

use super::*;

// 5.1: the original expects 1,024 tokens everywhere, while answers average 200. Ferry learns them, by engine and kind.
#[test]
fn expected_answers_are_learned_by_engine_and_kind() {
    let mut told = Told::new();
    let expected = |told: &Told, kind| told.routing.learned.expected("acme/m1", kind).output;
    assert_eq!(expected(&told, KIND), ANSWER_TOKENS);
    for turn in 0..50_u8 {
        told.turn(0, turn, 1, ask(None, None));
        told.dispatch(1, turn, 0, "acme/m1", Some(7));
        told.result(2, turn, 0, "acme/m1", anthropic(100, 0, 0, 200), charged(5));
    }
    for turn in 50..100_u64 {
        told.served(turn, 2, "acme/m1", anthropic(100, 0, 0, 3_000));
    }
    assert_eq!(expected(&told, KIND), (200 * 50 + 4 * 1_578 + 27) / 54, "near its kind's 200");
    let hard = TurnKind { tier: TurnTier::Hard, ..KIND };
    assert_eq!(expected(&told, hard), 1_578, "(4 x 1024 + 50 x 200 + 50 x 3000) / 104");
}

#[test]
fn predictions_are_held_against_bills() {
    let mut told = Told::new();
    let mut turn = 0;
    let mut one = |told: &mut Told, reserved, charge: Option<Charge>| {
        turn += 1;
        told.turn(0, turn, 1, ask(None, None));
        told.dispatch(1, turn, 0, "acme/m1", reserved);
        told.result(2, turn, 0, "acme/m1", anthropic(100, 0, 0, 1), charge);
    };
    one(&mut told, Some(10), charged(7));
    one(&mut told, Some(10), charged(12));
    one(&mut told, None, charged(12));
    one(&mut told, Some(10), None);
    let (engine, accuracy) = told.routing.learned.accuracy().next().unwrap();
    assert_eq!(engine, "acme/m1");
    assert_eq!((accuracy.compared, accuracy.over, accuracy.unknown), (2, 1, 2));
    assert_eq!(
        (accuracy.predicted, accuracy.charged, accuracy.off_by),
        (Pico(20), Pico(19), Pico(5))
    );
}

#[test]
fn pauses_are_counted_by_client_without_its_version() {
    let mut told = Told::new();
    let mut at = 0;
    for pause in
        [60_000, 60_000, 60_000, 60_000, 60_000, 600_000, 600_000, 600_000, 4 * HOUR, 4 * HOUR]
    {
        told.served(at, 1, "acme/m1", anthropic(2_000, 0, 2_000, 5));
        at += pause;
    }
    assert_eq!(
        told.routing.lanes.pauses("pi/2", false).alive(CacheTtl::FiveMinutes),
        None,
        "nine so far"
    );
    told.served(at, 1, "acme/m1", anthropic(2_000, 0, 2_000, 5));
    let pauses = told.routing.lanes.pauses("pi/2", false);
    assert_eq!(pauses.alive(CacheTtl::FiveMinutes), Some(Share::of(5, 10)));
    assert_eq!(pauses.alive(CacheTtl::OneHour), Some(Share::of(8, 10)));
    assert_eq!(told.routing.lanes.pauses("pi/2", true).alive(CacheTtl::OneHour), None);
}

// 1.3: bills teach how many bytes a token has, by the family of the engine that served.
#[test]
fn bills_calibrate_the_tokenizer_of_the_family_that_served() {
    use crate::tokens::{Family, PromptTokens};
    let mut told = Told::new();
    let size = TextSize { bytes: 30_000, wide: 0 };
    let anatomy = Anatomy { user: size, ..Anatomy::default() };
    let features = Features { anatomy: Some(anatomy), images: Some(0), ..Features::default() };
    let of = |told: &Told, engine: &str| {
        let family = Family::of(engine);
        let learned = told.routing.learned.calibration(family);
        PromptTokens::of(&features, u32::MAX, family, &learned).prompt
    };
    assert_eq!(of(&told, "acme/qwen3"), 8_334);
    for turn in 0..20_u8 {
        let asks = Ask { features, prompt_tokens_max: 40_000, ..ask(None, None).unwrap() };
        told.turn(0, turn, 1, Some(asks));
        told.dispatch(1, turn, 0, "acme/qwen3", Some(7));
        told.result(2, turn, 0, "acme/qwen3", anthropic(10_000, 0, 0, 200), charged(5));
    }
    assert_eq!((of(&told, "acme/qwen3"), of(&told, "acme/m1")), (10_000, 8_334));
}

// Sources and upstreams name whatever they like: there is an end to what is learned of engines nobody asked for.
#[test]
fn names_nobody_asked_for_are_learned_as_long_as_there_is_room() {
    let mut routing = Routing::genesis();
    let known = |routing: &Routing| routing.learned.answers().count();
    for number in 0..1_500_u32 {
        assert_eq!(routing.learned.meets(&format!("x/{number}"), false), number < 1_024);
    }
    assert_eq!(known(&routing), 1_024);
    assert!(routing.learned.meets("x/7", false), "who is known stays known");
    assert!(routing.learned.meets("acme/asked", true), "who was asked for always is");
    assert_eq!(known(&routing), 1_025);
}

//! What is warm where, and how far it can be relied on.

use super::*;

// 5.2: warm for five minutes, the last instant included, after a turn that read or wrote.
#[test]
fn a_lane_is_warm_after_it_read_or_wrote() {
    let mut told = Told::new();
    let lane = (Bytes([1; 16]), None);
    let warm = |told: &Told, engine: &str| {
        let lane = told.routing.lanes.get(&lane).cloned();
        lane.and_then(|lane| lane.cache(engine).cloned())
    };
    told.served(1_000, 1, "claude-opus-4-5-20251101", anthropic(9_000, 0, 0, 5));
    assert!(warm(&told, "anthropic/claude-opus-4-5").is_none(), "a request without a cache");
    told.served(2_000, 1, "anthropic/claude-opus-4-5", anthropic(9_000, 0, 8_000, 5));
    let held = warm(&told, "anthropic/claude-opus-4-5").unwrap();
    assert_eq!((held.prompt, held.ttl, held.estimated), (9_000, CacheTtl::FiveMinutes, false));
    assert!(held.is_alive(302_000) && !held.is_alive(302_001));
    // A provider that says nothing keeps what was sent last: an estimate, and marked.
    told.served(3_000, 1, "ollama/qwen3", silent(7_000));
    assert!(warm(&told, "ollama/qwen3").unwrap().estimated);
    // The turn elsewhere leaves the first engine's cache as it was; a turn there that keeps nothing empties it.
    assert!(warm(&told, "anthropic/claude-opus-4-5").is_some());
    told.served(4_000, 1, "anthropic/claude-opus-4-5", anthropic(500, 0, 0, 5));
    assert!(warm(&told, "anthropic/claude-opus-4-5").is_none());
}

#[test]
fn what_is_written_for_an_hour_is_kept_for_an_hour() {
    let mut told = Told::new();
    let hour =
        Usage { cache_write_5m: Some(0), cache_write_1h: Some(800), ..anthropic(9_000, 0, 800, 5) };
    told.served(0, 1, "acme/m1", hour);
    told.served(HOUR, 1, "acme/m1", anthropic(9_100, 9_000, 0, 5));
    let lane = told.routing.lanes.get(&(Bytes([1; 16]), None)).unwrap();
    assert!(
        lane.cache("acme/m1").unwrap().is_alive(2 * HOUR),
        "reading keeps it as it was written"
    );
}

// 5.2: reliability is the mean of min(1, read / min(previous, prompt)) over pairs of one lane and engine within the time
// to live, both prompts above 1,000 tokens; from ten pairs on, and 1 before.
#[test]
fn reliability_is_measured_over_pairs_within_the_time_to_live() {
    let mut told = Told::new();
    let habit = |told: &Told| told.routing.lanes.habit("acme/m1");
    told.served(0, 1, "acme/m1", anthropic(2_000, 0, 2_000, 5));
    for pair in 1..=9_u64 {
        told.served(pair * 1_000, 1, "acme/m1", anthropic(2_000, 1_000, 1_000, 5));
    }
    assert_eq!((habit(&told).pairs, habit(&told).reliability()), (9, Share::ALL));
    told.served(10_000, 1, "acme/m1", anthropic(2_000, 1_000, 1_000, 5));
    assert_eq!((habit(&told).pairs, habit(&told).reliability()), (10, Share::of(1, 2)));
    // More than could be read counts as all of it; the shorter prompt is what could be.
    told.served(11_000, 1, "acme/m1", anthropic(1_500, 1_500, 0, 5));
    assert_eq!(habit(&told).pairs, 11);
    // No pairs: after the time to live, with a short prompt, after another engine, where nothing is reported.
    told.served(400_000, 1, "acme/m1", anthropic(2_000, 0, 2_000, 5));
    told.served(401_000, 1, "acme/m1", anthropic(900, 900, 0, 5));
    told.served(402_000, 1, "acme/m2", anthropic(2_000, 0, 2_000, 5));
    told.served(403_000, 1, "acme/m1", anthropic(2_000, 0, 2_000, 5));
    told.served(404_000, 1, "acme/m1", silent(2_000));
    assert_eq!(habit(&told).pairs, 11);
}

// A cache that fills by itself reports reads and no writes: it is known to be kept once it has been read often enough.
#[test]
fn caches_that_fill_by_themselves_are_found_out() {
    let mut told = Told::new();
    let is_warm = |told: &Told, conversation: u8| {
        let lane = told.routing.lanes.get(&(Bytes([conversation; 16]), None)).unwrap();
        lane.cache("openai/gpt").is_some()
    };
    told.served(0, 1, "openai/gpt", openai(5_000, 0));
    assert!(!is_warm(&told, 1));
    for turn in 1..=12 {
        told.served(turn * 1_000, 1, "openai/gpt", openai(5_000, 4_500));
    }
    told.served(20_000, 2, "openai/gpt", openai(5_000, 0));
    assert!(is_warm(&told, 2), "ten pairs have shown that it keeps prompts");
    let reliability = told.routing.lanes.habit("openai/gpt").reliability();
    assert_eq!(reliability, Share::of(9, 10));
}

#[test]
fn lanes_leave_after_a_week() {
    let mut told = Told::new();
    told.served(0, 1, "acme/m1", anthropic(2_000, 0, 2_000, 5));
    told.turn(HOUR, 2, 2, ask(None, None));
    told.dispatch(HOUR, 2, 0, "acme/m1", Some(7));
    told.close(HOUR, 2);
    told.served(6 * 24 * HOUR, 3, "acme/m1", anthropic(2_000, 0, 2_000, 5));
    assert!(told.routing.lanes.get(&(Bytes([1; 16]), None)).is_some());
    told.served(8 * 24 * HOUR + HOUR, 3, "acme/m1", anthropic(2_000, 0, 2_000, 5));
    assert!(told.routing.lanes.get(&(Bytes([1; 16]), None)).is_none());
    assert!(told.routing.lanes.get(&(Bytes([3; 16]), None)).is_some());
}

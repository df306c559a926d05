//! What turns in flight, spend, lanes and learned figures come to.

use events::bytes::Bytes;
use events::cost::Cost;
use events::ids::AuthorId;
use events::money::Pico;
use events::payload::{
    Ask, CacheTtl, Charge, Choice, Dispatch, DispatchResult, Ending, Finish, Forecast, MadeBy,
    Name, Purpose, RawPairs, Reservation, ReserveBasis, Task, Turn, TurnClosed, TurnKind, TurnTier,
};
use events::usage::{Convention, RawUsage, Usage};

use super::lanes::Share;
use super::learned::ANSWER_TOKENS;
use super::spend::{Account, NAMES_MAX, OTHERS, UNNAMED};
use super::*;
use crate::calendar::Span;

const HOUR: Millis = 3_600_000;
const KIND: TurnKind = TurnKind { task: Task::Coding, tier: TurnTier::Simple };

fn name(text: &str) -> Name<'_> {
    Name::new(text).unwrap()
}

/// A ledger without a log: events are told as they are thought of.
struct Told {
    routing: Routing,
    seq: u64,
}

impl Told {
    fn new() -> Self {
        Self { routing: Routing::genesis(), seq: 0 }
    }

    fn tell(&mut self, at: Millis, turn: u8, body: &Body<'_>) {
        let context = Context {
            seq: self.seq,
            author: AuthorId::ZERO,
            written_by: None,
            received: at,
            at,
            subject: Bytes([turn; 16]),
        };
        self.seq += 1;
        self.routing.apply(&context, body);
        // Law 1, all along: a world that went through a snapshot is the same.
        self.routing.settle();
        let restored = Routing::restore(&self.routing.snapshot()).unwrap();
        assert_eq!(restored.digest(), self.routing.digest());
    }

    fn turn(&mut self, at: Millis, turn: u8, conversation: u8, ask: Option<Ask<'_>>) {
        let said = Turn {
            client: name("pi/1"),
            conversation: Bytes([conversation; 16]),
            subagent: None,
            model: name("auto"),
            news: None,
            prefix_tokens: None,
            source_key: None,
            ask,
        };
        self.tell(at, turn, &Body::Turn(said));
    }

    fn dispatch(
        &mut self,
        at: Millis,
        turn: u8,
        attempt: u16,
        engine: &str,
        reserved: Option<i128>,
    ) {
        let amount = reserved.map(Pico);
        let cost = amount.map_or(Cost::UNKNOWN, Cost::exactly);
        let dispatch = Dispatch {
            purpose: Purpose::Turn,
            attempt,
            engine: name(engine),
            choice: Choice::First,
            cache_ttl: CacheTtl::FiveMinutes,
            max_output: 100,
            reserved: Reservation { basis: ReserveBasis::Expected, amount },
            forecast: Forecast {
                cache_read: 0,
                cache_estimated: false,
                output: 1,
                expected: cost,
                cold: cost,
                ceiling: cost,
            },
            warm: None,
            held: None,
            arms: Vec::new(),
            excluded: Vec::new(),
            budgets: Vec::new(),
            made_by: MadeBy { decide: 1, world: 1, policy: Bytes([0; 16]) },
            record: Digest::ZERO,
        };
        self.tell(at, turn, &Body::Dispatch(dispatch));
    }

    fn result(
        &mut self,
        at: Millis,
        turn: u8,
        attempt: u16,
        engine: &str,
        usage: Usage,
        charge: Option<Charge>,
    ) {
        let result = DispatchResult {
            attempt,
            turn_at: at,
            engine: name(engine),
            usage,
            raw_usage: RawPairs::default(),
            parts: None,
            finish: Finish::EndTurn,
            latency_ms: None,
            charge,
        };
        self.tell(at, turn, &Body::Result(result));
    }

    fn close(&mut self, at: Millis, turn: u8) {
        let closed = TurnClosed { ending: Ending::Committed, attempts: 1, bytes_sent: None };
        self.tell(at, turn, &Body::TurnClosed(closed));
    }

    /// A turn that is only told of, served at once.
    fn served(&mut self, at: Millis, conversation: u8, engine: &str, usage: Usage) {
        let turn = u8::try_from(self.seq % 251).unwrap();
        self.turn(at, turn, conversation, None);
        self.result(at, turn, 0, engine, usage, None);
    }

    fn spent(&self, account: &Account, from: Millis, to: Millis) -> Cost {
        self.routing.spend.between(account, Span { from, to })
    }
}

fn ask<'a>(harness: Option<&'a str>, project: Option<&'a str>) -> Option<Ask<'a>> {
    Some(Ask {
        profile: name("auto"),
        harness: harness.map(name),
        project: project.map(name),
        kind: Some(KIND),
        prompt_tokens: 100,
        prompt_tokens_max: 120,
        images: 0,
        max_output: None,
    })
}

fn charged(pico: i128) -> Option<Charge> {
    Some(Charge { basis: ChargeBasis::Priced, cost: Cost::exactly(Pico(pico)) })
}

fn anthropic(prompt: i64, read: i64, written: i64, output: i64) -> Usage {
    let raw = RawUsage::from_pairs([
        ("input_tokens", prompt - read - written),
        ("cache_read_input_tokens", read),
        ("cache_creation_input_tokens", written),
        ("output_tokens", output),
    ]);
    raw.normalise(Convention::Anthropic)
}

fn openai(prompt: i64, read: i64) -> Usage {
    let raw = RawUsage::from_pairs([
        ("prompt_tokens", prompt),
        ("prompt_tokens_details.cached_tokens", read),
        ("completion_tokens", 10),
    ]);
    raw.normalise(Convention::OpenAi)
}

fn silent(prompt: u32) -> Usage {
    Usage { prompt: Some(prompt), output: Some(10), ..Usage::default() }
}

// What is set aside is counted until its attempt ends, and what it is charged with after.
#[test]
fn a_reservation_lives_as_long_as_its_attempt() {
    let mut told = Told::new();
    told.turn(0, 1, 9, ask(Some("pi"), Some("atlas")));
    told.dispatch(1, 1, 0, "acme/m1", Some(40));
    let flight = told.routing.flights.get(&Bytes([1; 16])).unwrap();
    assert_eq!((flight.open.len(), flight.attempts()), (1, 1));
    told.result(2, 1, 0, "acme/m1", anthropic(100, 0, 0, 7), charged(25));
    let flight = told.routing.flights.get(&Bytes([1; 16])).unwrap();
    assert_eq!((flight.open.len(), flight.spent), (0, Cost::exactly(Pico(25))));
    for account in [
        Account::All,
        Account::Client("pi".to_owned()),
        Account::Project("atlas".to_owned()),
        Account::Engine("acme/m1".to_owned()),
    ] {
        assert_eq!(told.spent(&account, 0, HOUR), Cost::exactly(Pico(25)), "{account:?}");
    }
    assert_eq!(told.routing.spend.conversation(&Bytes([9; 16])), Cost::exactly(Pico(25)));
    told.result(3, 1, 0, "acme/m1", anthropic(100, 0, 0, 7), charged(25));
    assert_eq!(told.spent(&Account::All, 0, HOUR), Cost::exactly(Pico(25)), "said twice, once");
    told.close(4, 1);
    assert!(told.routing.flights.get(&Bytes([1; 16])).is_none());
}

// Case 53: reserved and crashed, reserved and settled for less, reserved and never dispatched. Nothing is left open, and
// the sum is that of what was settled. The clock ends none of them: the crash's is ended by the turn's end.
#[test]
fn case_53_no_reservation_survives_its_turn() {
    let mut told = Told::new();
    for turn in 1..=3 {
        told.turn(0, turn, turn, ask(None, None));
        told.dispatch(1, turn, 0, "acme/m1", Some(40));
    }
    told.turn(30 * 24 * HOUR, 8, 8, None);
    let open = |told: &Told| {
        told.routing.flights.iter().map(|(_, flight)| flight.open.len()).sum::<usize>()
    };
    assert_eq!(open(&told), 3, "a month later, as much as before: the clock frees nothing");
    told.result(2, 2, 0, "acme/m1", anthropic(100, 0, 0, 7), charged(10));
    let void = Charge { basis: ChargeBasis::Void, cost: Cost::ZERO };
    told.result(2, 3, 0, "acme/m1", Usage::default(), Some(void));
    for turn in 1..=3 {
        told.close(3, turn);
    }
    assert_eq!(open(&told), 0);
    assert_eq!(told.spent(&Account::All, 0, HOUR), Cost::exactly(Pico(40 + 10)));
    assert_eq!(told.routing.spend.client(None), Account::Client(UNNAMED.to_owned()));
}

// Case 19: a cut attempt is charged by itself, and never with another's figures.
#[test]
fn case_19_attempts_are_charged_one_by_one() {
    let mut told = Told::new();
    told.turn(0, 1, 1, ask(None, None));
    told.dispatch(1, 1, 0, "acme/a", Some(40));
    told.dispatch(1, 1, 1, "acme/b", Some(50));
    let void = Charge { basis: ChargeBasis::Void, cost: Cost::ZERO };
    told.result(2, 1, 0, "acme/a", Usage::default(), Some(void));
    told.result(3, 1, 1, "acme/b", anthropic(100, 0, 0, 10), charged(30));
    assert_eq!(told.spent(&Account::Engine("acme/a".to_owned()), 0, HOUR), Cost::ZERO);
    assert_eq!(told.spent(&Account::Engine("acme/b".to_owned()), 0, HOUR), Cost::exactly(Pico(30)));
    assert_eq!(told.routing.flights.get(&Bytes([1; 16])).unwrap().tried, ["acme/a", "acme/b"]);
}

#[test]
fn what_nobody_knows_stays_unknown_in_every_sum() {
    let mut told = Told::new();
    told.turn(0, 1, 1, ask(None, None));
    told.dispatch(1, 1, 0, "acme/m1", None);
    told.close(2, 1);
    assert_eq!(told.spent(&Account::All, 0, HOUR), Cost::UNKNOWN);
}

// Every interval counts what lies in it, whatever the mix of days and quarters of an hour.
#[test]
fn spend_is_summed_over_any_interval() {
    let mut told = Told::new();
    let quarter = HOUR / 4;
    let times: Vec<Millis> = (0..400).map(|step| step * 7 * quarter + 1).collect();
    for (index, at) in times.iter().enumerate() {
        let turn = u8::try_from(index % 200).unwrap();
        told.turn(*at, turn, 1, ask(None, None));
        told.dispatch(*at, turn, 0, "acme/m1", Some(5));
        told.result(*at, turn, 0, "acme/m1", anthropic(10, 0, 0, 1), charged(1 << (index % 60)));
        told.close(*at, turn);
    }
    let newest = *times.last().unwrap();
    let oldest = newest - 29 * 24 * HOUR;
    for from in (0..60).map(|step| oldest + step * 5 * quarter) {
        let from = from - from % quarter;
        for to in (0..60).map(|step| from + step * 9 * quarter) {
            let within = times.iter().enumerate().filter(|(_, at)| (from..to).contains(at));
            let expected: i128 = within.map(|(index, _)| 1 << (index % 60)).sum();
            assert_eq!(told.spent(&Account::All, from, to).known, Pico(expected), "{from} {to}");
        }
    }
    let inside = told.spent(&Account::All, times[300] + 1_000, times[300] + 2_000);
    assert_eq!(inside.known, Pico(1 << (300 % 60)), "a quarter that is begun counts whole");
}

// Names are a client's own text: beyond so many they share an account, and the world stays small.
#[test]
fn later_names_share_an_account() {
    let mut told = Told::new();
    for index in 0..NAMES_MAX + 20 {
        let harness = format!("harness-{index:03}");
        let turn = u8::try_from(index).unwrap();
        told.turn(0, turn, 1, ask(Some(&harness), None));
        told.dispatch(1, turn, 0, "acme/m1", Some(1));
        told.result(2, turn, 0, "acme/m1", anthropic(10, 0, 0, 1), charged(1));
    }
    let names = told.routing.spend.names(Account::Client).count();
    assert_eq!(names, NAMES_MAX + 1);
    let others = told.spent(&Account::Client(OTHERS.to_owned()), 0, HOUR);
    assert_eq!(others, Cost::exactly(Pico(20)));
    let first = told.spent(&Account::Client("harness-000".to_owned()), 0, HOUR);
    assert_eq!(first, Cost::exactly(Pico(1)));
    assert_eq!(told.spent(&Account::All, 0, HOUR), Cost::exactly(Pico(84)));
}

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
fn lanes_and_conversations_leave_after_a_week() {
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
    assert_eq!(told.routing.spend.conversation(&Bytes([2; 16])), Cost::ZERO);
    assert_eq!(told.spent(&Account::All, 0, 2 * HOUR), Cost::exactly(Pico(7)), "accounts keep it");
}

// 5.1: the original expects 1,024 tokens everywhere, while answers average 200. Ferry learns them, by engine and kind.
#[test]
fn expected_answers_are_learned_by_engine_and_kind() {
    let mut told = Told::new();
    let expected = |told: &Told, kind| told.routing.learned.expected("acme/m1", kind).output;
    assert_eq!(expected(&told, None), ANSWER_TOKENS);
    for turn in 0..50_u8 {
        told.turn(0, turn, 1, ask(None, None));
        told.dispatch(1, turn, 0, "acme/m1", Some(7));
        told.result(2, turn, 0, "acme/m1", anthropic(100, 0, 0, 200), charged(5));
    }
    for turn in 50..100_u64 {
        told.served(turn, 2, "acme/m1", anthropic(100, 0, 0, 3_000));
    }
    assert_eq!(
        expected(&told, Some(KIND)),
        (200 * 50 + 4 * 1_578 + 27) / 54,
        "near its kind's 200"
    );
    assert_eq!(expected(&told, None), 1_578, "(4 x 1024 + 50 x 200 + 50 x 3000) / 104");
    let hard = TurnKind { tier: TurnTier::Hard, ..KIND };
    assert_eq!(expected(&told, Some(hard)), 1_578, "of another kind, what is known of the engine");
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

// A turn that says it is of the year 2100 ages nothing: the owner's clock does.
#[test]
fn no_turn_can_make_the_ledger_forget() {
    let mut told = Told::new();
    told.turn(HOUR, 1, 1, ask(None, None));
    told.dispatch(HOUR, 1, 0, "acme/m1", Some(7));
    told.result(HOUR, 1, 0, "acme/m1", anthropic(2_000, 0, 2_000, 5), charged(7));
    let (at, received) = (4_102_444_800_000, 2 * HOUR);
    let context = Context {
        seq: told.seq,
        author: AuthorId::ZERO,
        written_by: None,
        received,
        at,
        subject: Bytes([2; 16]),
    };
    let turn = Turn {
        client: name("pi/1"),
        conversation: Bytes([2; 16]),
        subagent: None,
        model: name("auto"),
        news: None,
        prefix_tokens: None,
        source_key: None,
        ask: None,
    };
    told.routing.apply(&context, &Body::Turn(turn));
    assert_eq!(told.spent(&Account::All, 0, 2 * HOUR), Cost::exactly(Pico(7)));
    assert!(told.routing.lanes.get(&(Bytes([1; 16]), None)).is_some());
    assert_eq!(told.routing.spend.conversation(&Bytes([1; 16])), Cost::exactly(Pico(7)));
}

#[test]
fn accounts_keep_forty_days() {
    let mut told = Told::new();
    told.turn(HOUR, 1, 1, ask(Some("gone"), None));
    told.dispatch(HOUR, 1, 0, "acme/m1", Some(7));
    told.close(HOUR, 1);
    let gone = Account::Client("gone".to_owned());
    told.turn(40 * 24 * HOUR, 2, 2, ask(None, None));
    assert_eq!(told.spent(&gone, 0, 2 * HOUR), Cost::exactly(Pico(7)));
    told.turn(42 * 24 * HOUR, 3, 2, ask(None, None));
    assert_eq!(told.spent(&gone, 0, 2 * HOUR), Cost::ZERO);
    assert_eq!(told.routing.spend.names(Account::Client).count(), 0, "its place is free again");
}

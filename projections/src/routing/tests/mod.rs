//! What turns in flight, spend, lanes and learned figures come to.

mod caches;
mod learned;
mod money;

use events::bytes::Bytes;
use events::cost::Cost;
use events::ids::AuthorId;
use events::money::Pico;
use events::payload::{
    Anatomy, Ask, CacheTtl, Charge, Choice, Class, ClassSource, Dispatch, DispatchResult, Ending,
    Features, Finish, Forecast, MadeBy, Name, Purpose, RawPairs, Reservation, ReserveBasis, Task,
    TextSize, Turn, TurnClosed, TurnKind, TurnTier,
};
use events::usage::{Convention, RawUsage, Usage};

use super::habits::Share;
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
            class: Class {
                kind: KIND,
                score: 300,
                confidence: 400,
                unknown_terms: 0,
                source: ClassSource::Heuristic,
            },
            tier: TurnTier::Simple,
            moved: Vec::new(),
            draw: None,
            relaxed: 0,
            despite_cool_off: false,
            prompt_tokens: 100,
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
            arms: Vec::new(),
            looked_at: 0,
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
            first_ms: None,
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
        features: Features { prompt_tokens: Some(100), images: Some(0), ..Features::default() },
        prompt_tokens_max: 120,
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

//! Small ledgers for tests.

use events::admission::{Admitted, admit};
use events::batch::{Author, AuthorTip, SignedBatch};
use events::bytes::{Bytes16, Bytes32};
use events::cost::Cost;
use events::event::{Body, Events, Payload};
use events::head::SignedHead;
use events::ids::{LedgerId, Millis, Subject};
use events::kind::KindTable;
use events::log::{Log as _, ReadLog as _};
use events::memory::MemoryLog;
use events::money::Pico;
use events::payload::{
    Ask, CacheTtl, Charge, ChargeBasis, Choice, Class, ClassSource, Dispatch, DispatchResult,
    Features, Finish, Forecast, MadeBy, Name, Parts, Purpose, RawPairs, Reservation, ReserveBasis,
    SourceKey, Stream, Task, Turn, TurnKind, TurnTier,
};
use events::sign::{SigningKey, Verifier};
use events::usage::Usage;
use projections::gather::{Gather, Window};
use projections::projection::Located;
use projections::world::Effect;
use replay::fold::{Checks, Fault, FoldError, Folded, Signatures, fold};
use replay::writer::open_ledger;

pub(crate) const LEDGER: LedgerId = Bytes32::ZERO;

pub(crate) fn key(seed: u8) -> SigningKey {
    SigningKey::from_secret(&[seed; 32])
}

pub(crate) fn author(seed: u8) -> Author {
    Author::new(key(seed), LEDGER, AuthorTip::default())
}

pub(crate) fn subject(number: u64) -> Subject {
    let mut bytes = [0; 16];
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    events::bytes::Bytes(bytes)
}

/// Node key 1; proxies 2 and 3.
pub(crate) fn opened() -> MemoryLog {
    opened_by(&[(Stream::Proxy, 2), (Stream::Proxy, 3)])
}

/// Node key 1, and these.
pub(crate) fn opened_by(writers: &[(Stream, u8)]) -> MemoryLog {
    let mut log = MemoryLog::new(LEDGER);
    let public = |(stream, seed): &(Stream, u8)| (*stream, key(*seed).public());
    let writers: Vec<_> = writers.iter().map(public).collect();
    open_ledger(&mut log, key(1), &writers, 0).unwrap();
    log
}

pub(crate) fn signed(author: &mut Author, events: &[(Millis, u64, &dyn Push)]) -> SignedBatch {
    let mut batch = Events::new();
    for (at, about, payload) in events {
        payload.push(&mut batch, *at, subject(*about));
    }
    author.seal(batch).unwrap()
}

pub(crate) fn admitted(batch: SignedBatch) -> Admitted {
    admit(batch, &LEDGER, &KindTable::current(), &mut Verifier::new()).unwrap()
}

pub(crate) fn append(
    log: &mut MemoryLog,
    author: &mut Author,
    events: &[(Millis, u64, &dyn Push)],
) {
    let batch = admitted(signed(author, events));
    log.append(&[batch], events.last().unwrap().0).unwrap();
}

/// A payload of whatever kind, so that tests can list several.
pub(crate) trait Push {
    fn push(&self, events: &mut Events, at: Millis, subject: Subject);
}

impl<P: Payload> Push for P {
    fn push(&self, events: &mut Events, at: Millis, subject: Subject) {
        events.push(at, subject, self).unwrap();
    }
}

pub(crate) fn turn(conversation: u8, model: &'static str) -> Turn<'static> {
    Turn {
        client: Name::new("test").unwrap(),
        conversation: events::bytes::Bytes([conversation; 16]),
        subagent: None::<Bytes16>,
        model: Name::new(model).unwrap(),
        news: Some(Parts::TEXT),
        prefix_tokens: None,
        source_key: None::<SourceKey<'static>>,
        ask: None,
    }
}

pub(crate) fn result(
    turn_at: Millis,
    engine: &'static str,
    usage: Usage,
) -> DispatchResult<'static> {
    DispatchResult {
        attempt: 0,
        turn_at,
        engine: Name::new(engine).unwrap(),
        usage,
        raw_usage: RawPairs::default(),
        parts: None,
        finish: Finish::EndTurn,
        first_ms: None,
        latency_ms: None,
        charge: None,
    }
}

pub(crate) fn ask(number: u64) -> Ask<'static> {
    Ask {
        profile: Name::new("auto").unwrap(),
        harness: number.is_multiple_of(2).then(|| Name::new("pi").unwrap()),
        project: number.is_multiple_of(3).then(|| Name::new("atlas").unwrap()),
        kind: None,
        features: counted(1_000),
        prompt_tokens_max: 1_200,
        max_output: Some(500),
    }
}

/// What is known of a request whose tokens alone were counted.
pub(crate) fn counted(prompt: u32) -> Features {
    Features { prompt_tokens: Some(prompt), images: Some(0), ..Features::default() }
}

const fn class() -> Class {
    let kind = TurnKind { task: Task::Coding, tier: TurnTier::Simple };
    let source = ClassSource::Heuristic;
    Class { kind, score: 300, confidence: 400, unknown_terms: 0, source }
}

/// A dispatch nobody decided.
pub(crate) fn dispatch(
    attempt: u16,
    engine: &'static str,
    amount: Option<Pico>,
) -> Dispatch<'static> {
    let cost = amount.map_or(Cost::UNKNOWN, Cost::exactly);
    let (cache_read, cache_estimated, output) = (0, false, 100);
    Dispatch {
        purpose: Purpose::Turn,
        attempt,
        engine: Name::new(engine).unwrap(),
        choice: Choice::First,
        class: class(),
        tier: TurnTier::Simple,
        moved: Vec::new(),
        draw: None,
        relaxed: 0,
        despite_cool_off: false,
        prompt_tokens: 1_000,
        cache_ttl: CacheTtl::FiveMinutes,
        max_output: 500,
        reserved: Reservation { basis: ReserveBasis::Expected, amount },
        forecast: Forecast {
            cache_read,
            cache_estimated,
            output,
            expected: cost,
            cold: cost,
            ceiling: cost,
        },
        warm: None,
        arms: Vec::new(),
        looked_at: 1,
        excluded: Vec::new(),
        budgets: Vec::new(),
        made_by: MadeBy { decide: 0, world: 0, policy: Bytes16::ZERO },
        record: Bytes32::ZERO,
    }
}

pub(crate) const fn charge(pico: i64) -> Charge {
    Charge { basis: ChargeBasis::Priced, cost: Cost::exactly(Pico(pico as i128)) }
}

pub(crate) fn usage(prompt: u32, output: u32) -> Usage {
    Usage { prompt: Some(prompt), output: Some(output), ..Usage::default() }
}

/// Folds and gathers a log, checking everything.
pub(crate) fn folded(log: &MemoryLog, head: &SignedHead) -> Result<(Folded, Window), Fault> {
    let mut gather = Gather::new(head.head.ledger, true);
    let observed = &mut |located: &Located, body: &Body<'_>, effect: Effect| {
        if effect == Effect::Applied {
            gather.tell(located, body);
        }
    };
    let kinds = KindTable::current();
    let checks = Checks { kinds: &kinds, signatures: Signatures::Check, head: Some(head) };
    match fold(log, checks, observed) {
        Ok(folded) => Ok((folded, gather.resolve().window(0, u64::MAX))),
        Err(FoldError::Fault(fault)) => Err(fault),
        Err(FoldError::Store(never)) => match never {},
    }
}

/// The head of a log, signed by its node key.
pub(crate) fn head_of(log: &MemoryLog) -> SignedHead {
    SignedHead::sign(log.head(), &key(1))
}

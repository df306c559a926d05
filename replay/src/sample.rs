//! The bundled sample: a week of real coding-agent traffic, as counts.
//!
//! The traces stand in `sample/week.msgpack` and the prices in `sample/sample-book.json`; where they
//! come from is told in `docs/data.md`. Keys, ledger id and secret derive from a published seed, so
//! that everybody's sample ledger has the same bytes.

use events::bytes::Bytes32;
use events::hash::{Domain, Hasher, LedgerSecret, digest};
use events::head::SignedHead;
use events::ids::{LedgerId, Millis};
use events::log::Log;
use events::payload::{Finish, Import, Name, NameError, Parts, RawPairs, SourceKey, Stream};
use events::sign::SigningKey;
use events::usage::{RawUsage, Usage};
use serde::{Deserialize, Serialize};

use crate::book_file::{BookFile, BookFileError};
use crate::import::ImportedTurn;
use crate::writer::{Keys, WriteError, Writer, author_subject, open_ledger};

/// What keys, ledger id and secret of the sample derive from. It is published: they protect nothing.
pub const SEED: &[u8] = b"ferry sample week, seed 1";
/// Monday 2026-01-05 00:00 UTC: the week the traces are spread over.
pub const WEEK_START: Millis = 1_767_571_200_000;
/// A week in milliseconds.
pub const WEEK: Millis = 604_800_000;

const WEEK_FILE: &[u8] = include_bytes!("../sample/week.msgpack");
const BOOK_FILE: &[u8] = include_bytes!("../sample/sample-book.json");
/// The source's kind: what its rows' ids are keyed under.
pub const SOURCE: &str = "agent-turns-csv";
/// What sent every turn of such a source.
pub const CLIENT: &str = "claude-code";

/// Why the sample cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SampleError<E: std::error::Error + 'static> {
    /// The bundled traces do not decode.
    #[error("the bundled traces are damaged: {0}")]
    Traces(#[from] rmp_serde::decode::Error),
    /// A name in them is none.
    #[error("the bundled traces are damaged: {0}")]
    Name(#[from] NameError),
    /// The bundled book does not parse.
    #[error("the bundled price book is damaged: {0}")]
    Book(#[from] BookFileError),
    /// The log did not take it.
    #[error(transparent)]
    Write(#[from] WriteError<E>),
}

/// One recorded call of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleTurn {
    /// The session it belongs to.
    pub trace: String,
    /// `main`, or a sub-agent.
    pub agent: String,
    /// Its number among the agent's calls.
    pub seq: u32,
    /// When it began, in seconds from the trace's start.
    pub start_s: u32,
    /// The model, as recorded.
    pub model: String,
    /// The whole prompt, in tokens.
    pub prompt: u32,
    /// The longest run of 64-token blocks at the front that had been sent before.
    pub prefix: u32,
    /// The answer, in tokens.
    pub output: u32,
    /// How long the call took, in milliseconds.
    pub api_ms: u32,
    /// Why the answer ended.
    pub finish: Finish,
    /// What was new in the prompt.
    pub news: Parts,
    /// What the answer held.
    pub parts: Parts,
}

/// The traces as bundled: columns of small integers.
#[derive(Debug, Serialize, Deserialize)]
pub struct WeekFile {
    /// Model names.
    pub models: Vec<String>,
    /// The sessions, by name.
    pub traces: Vec<TraceFile>,
}

/// One session's calls, column by column, in the order of the source.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct TraceFile {
    /// The session's name.
    pub name: String,
    /// Its agents.
    pub agents: Vec<String>,
    /// Per call: index into `agents`.
    pub agent: Vec<u32>,
    /// Per call: its number among the agent's calls.
    pub seq: Vec<u32>,
    /// Per call: seconds from the trace's start.
    pub start_s: Vec<u32>,
    /// Per call: index into the file's models.
    pub model: Vec<u32>,
    /// Per call: prompt tokens.
    pub prompt: Vec<u32>,
    /// Per call: prompt tokens not sent before.
    pub fresh: Vec<u32>,
    /// Per call: answer tokens.
    pub output: Vec<u32>,
    /// Per call: duration in hundredths of a second.
    pub api_cs: Vec<u32>,
    /// Per call: [`Finish`] as a number.
    pub finish: Vec<Finish>,
    /// Per call: what was new in the prompt.
    pub news: Vec<Parts>,
    /// Per call: what the answer held.
    pub parts: Vec<Parts>,
}

/// The bundled calls, by trace and in the source's order.
///
/// # Errors
/// When the bundled file does not decode, which no build that passes its tests does.
pub fn turns() -> Result<Vec<SampleTurn>, rmp_serde::decode::Error> {
    let file: WeekFile = rmp_serde::from_slice(WEEK_FILE)?;
    let short = || rmp_serde::decode::Error::Uncategorized("a column is too short".to_owned());
    let mut turns = Vec::new();
    for trace in &file.traces {
        for row in 0..trace.agent.len() {
            turns.push(trace.turn(row, &file.models).ok_or_else(short)?);
        }
    }
    Ok(turns)
}

impl TraceFile {
    fn turn(&self, row: usize, models: &[String]) -> Option<SampleTurn> {
        let prompt = *self.prompt.get(row)?;
        Some(SampleTurn {
            trace: self.name.clone(),
            agent: self.agents.get(*self.agent.get(row)? as usize)?.clone(),
            seq: *self.seq.get(row)?,
            start_s: *self.start_s.get(row)?,
            model: models.get(*self.model.get(row)? as usize)?.clone(),
            prompt,
            prefix: prompt.checked_sub(*self.fresh.get(row)?)?,
            output: *self.output.get(row)?,
            api_ms: self.api_cs.get(row)?.checked_mul(10)?,
            finish: *self.finish.get(row)?,
            news: *self.news.get(row)?,
            parts: *self.parts.get(row)?,
        })
    }
}

/// The bundled price book.
///
/// # Errors
/// When the bundled file does not parse, which no build that passes its tests does.
pub fn book() -> Result<BookFile, BookFileError> {
    BookFile::parse(BOOK_FILE)
}

/// 32 published bytes for a purpose.
fn derived(purpose: &str) -> Bytes32 {
    Hasher::new(Domain::SampleKey).part(SEED).part(purpose.as_bytes()).finish()
}

/// The sample ledger's id.
#[must_use]
pub fn ledger_id() -> LedgerId {
    derived("ledger id")
}

/// The sample ledger's keys.
#[must_use]
pub fn keys() -> Keys {
    let key = |purpose| SigningKey::from_secret(&derived(purpose).0);
    Keys { node: key("node"), proxy: key("proxy"), agent: key("agent"), people: key("people") }
}

/// Builds the sample ledger in an empty log and signs its head.
///
/// # Errors
/// [`SampleError`].
pub fn build<L: Log>(
    log: &mut L,
    turns: &[SampleTurn],
    book: &BookFile,
    wrote: &mut dyn FnMut(),
) -> Result<SignedHead, SampleError<L::Error>> {
    let keys = keys();
    let streams = [
        (Stream::Proxy, keys.proxy.public()),
        (Stream::Agent, keys.agent.public()),
        (Stream::People, keys.people.public()),
    ];
    open_ledger(log, keys.node, &streams, WEEK_START)?;
    let importer = author_subject(&keys.proxy.public());
    let mut writer = Writer::new(log, keys.proxy);
    book.write(&mut writer, WEEK_START)?;
    writer.flush()?;
    write_turns(&mut writer, turns, wrote)?;
    let import = Import {
        source: Name::new(SOURCE)?,
        rows: turns.len() as u64,
        turns: turns.len() as u64,
        repeated: 0,
        amended: 0,
        refused: 0,
        digest: digest(Domain::Source, WEEK_FILE),
    };
    writer.push(WEEK_START + WEEK, importer, &import)?;
    writer.flush()?;
    Ok(SignedHead::sign(log.head(), &self::keys().node))
}

/// When a turn began, on the sample's week.
fn started(turn: &SampleTurn, starts: &[(&str, u64)]) -> Millis {
    let trace = starts.binary_search_by(|(name, _)| (*name).cmp(&turn.trace)).unwrap_or(0);
    let start_s = starts.get(trace).map_or(0, |(_, start)| *start);
    WEEK_START + (start_s + u64::from(turn.start_s)) * 1_000
}

/// Trace i of n, by name, starts at floor(i x (week - its length) / n) seconds into the week.
fn trace_starts(turns: &[SampleTurn]) -> Vec<(&str, u64)> {
    let mut lengths: Vec<(&str, u64)> = turns
        .iter()
        .map(|turn| {
            let end_ms = u64::from(turn.start_s) * 1_000 + u64::from(turn.api_ms);
            (turn.trace.as_str(), end_ms.div_ceil(1_000))
        })
        .collect();
    lengths.sort_unstable_by(|a, b| a.0.cmp(b.0).then(b.1.cmp(&a.1)));
    lengths.dedup_by_key(|(trace, _)| *trace);
    let count = lengths.len() as u64;
    for ((_, slot), index) in lengths.iter_mut().zip(0..) {
        *slot = index * (WEEK / 1_000).saturating_sub(*slot) / count;
    }
    lengths
}

/// What the source says of usage, by its own names.
fn raw_usage(turn: &SampleTurn) -> RawUsage {
    RawUsage::from_pairs([
        ("cached_tok", i64::from(turn.prefix)),
        ("in_tok", i64::from(turn.prompt)),
        ("out_tok", i64::from(turn.output)),
    ])
}

/// Appends every turn's two events by (`at`, source key, kind).
fn write_turns<L: Log>(
    writer: &mut Writer<'_, L>,
    turns: &[SampleTurn],
    wrote: &mut dyn FnMut(),
) -> Result<(), SampleError<L::Error>> {
    let secret = LedgerSecret::new(derived("secret").0);
    let starts = trace_starts(turns);
    let keys: Vec<String> =
        turns.iter().map(|turn| format!("{}|{}|{}", turn.trace, turn.agent, turn.seq)).collect();
    let mut order = Vec::with_capacity(turns.len() * 2);
    for ((turn, key), index) in turns.iter().zip(&keys).zip(0_usize..) {
        let at = started(turn, &starts);
        order.push((at, key.as_str(), false, index));
        order.push((at + u64::from(turn.api_ms), key.as_str(), true, index));
    }
    order.sort_unstable();
    for (at, key, is_result, index) in order {
        let turn = &turns[index];
        let raw_usage = if is_result { raw_usage(turn) } else { RawUsage::default() };
        let began = if is_result { at - u64::from(turn.api_ms) } else { at };
        let row = ImportedTurn {
            source: SOURCE,
            row: key,
            source_key: Some(SourceKey::new(key)?),
            client: Name::new(CLIENT)?,
            conversation: &turn.trace,
            subagent: (turn.agent != "main").then_some(turn.agent.as_str()),
            model: Name::new(&turn.model)?,
            at: began,
            answered_at: began + u64::from(turn.api_ms),
            news: Some(turn.news),
            prefix_tokens: Some(turn.prefix),
            // The traces tell what had been sent before, not what was read from a cache.
            usage: Usage {
                prompt: Some(turn.prompt),
                output: Some(turn.output),
                ..Usage::default()
            },
            raw_usage: RawPairs::of(&raw_usage),
            parts: Some(turn.parts),
            finish: turn.finish,
            latency_ms: Some(turn.api_ms),
            ending: None,
        };
        let subject = row.subject(&secret);
        if is_result {
            writer.push(at, subject, &row.result())?;
        } else {
            writer.push(at, subject, &row.turn(&secret))?;
            wrote();
        }
    }
    writer.flush()?;
    Ok(())
}

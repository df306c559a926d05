//! The agent-turn CSV of kv-cache-tester, whose week ferry bundles: one call of a model per line, in
//! counts.
//!
//! `trace,agent,seq,t_s,model,in_tok,cached_tok,out_tok,api_s,think_s,stop,in_kinds,out_kinds`: columns
//! are found by name, `think_s` and others are passed over. `cached_tok` is what had been sent before in
//! the trace, not what a cache held.

use std::borrow::Cow;
use std::io::{Cursor, SeekFrom};

use csv::{Position, Reader, ReaderBuilder, StringRecord, Trim};
use events::ids::Millis;
use events::payload::{Finish, Parts};
use events::usage::{RawUsage, Usage};
use replay::sample::CLIENT;

use super::draft::Draft;
use super::fields::{AT_MAX, Problem, seconds, tokens};

/// The columns a turn is read from, in the order of [`Columns::places`].
const COLUMNS: [&str; 12] = [
    "trace",
    "agent",
    "seq",
    "t_s",
    "model",
    "in_tok",
    "cached_tok",
    "out_tok",
    "api_s",
    "stop",
    "in_kinds",
    "out_kinds",
];

/// Where a file's header puts its columns.
pub(super) struct Columns {
    places: [usize; COLUMNS.len()],
    count: usize,
    cells: Cells,
}

impl Columns {
    /// True when a line is such a header, or means to be one.
    pub(super) fn are_in(line: &[u8]) -> bool {
        Cells::new().of(line).is_ok_and(|header| header.iter().any(|name| name == COLUMNS[0]))
    }

    /// The columns of a header.
    ///
    /// # Errors
    /// The first column it lacks.
    pub(super) fn of(line: &[u8]) -> Result<Self, &'static str> {
        let mut cells = Cells::new();
        let header = cells.of(line).map_err(|_| COLUMNS[0])?;
        let mut places = [0; COLUMNS.len()];
        for (place, column) in places.iter_mut().zip(COLUMNS) {
            let found = header.iter().position(|name| name == column);
            *place = found.ok_or(column)?;
        }
        Ok(Self { places, count: header.len(), cells })
    }

    /// The turn of a line, in a trace that starts at `start`.
    ///
    /// # Errors
    /// [`Problem`].
    pub(super) fn draft(&mut self, line: &[u8], start: Millis) -> Result<Draft<'static>, Problem> {
        let cells = self.cells.of(line)?;
        if cells.len() != self.count {
            let (found, due) = (cells.len(), self.count);
            return Err(Problem::Syntax(format!("{found} cells, the header has {due}")));
        }
        let at = |column: usize| cells.get(self.places[column]).unwrap_or("");
        let [
            trace,
            agent,
            seq,
            t_s,
            model,
            in_tok,
            cached_tok,
            out_tok,
            api_s,
            stop,
            in_kinds,
            out_kinds,
        ] = std::array::from_fn(at);
        for (field, text) in [("trace", trace), ("agent", agent), ("model", model)] {
            if text.is_empty() {
                return Err(Problem::Missing { field });
            }
        }
        let seq = tokens("seq", seq).map_err(|_| Problem::field("seq", seq, "is no number"))?;
        let prompt = tokens("in_tok", in_tok)?;
        let prefix = tokens("cached_tok", cached_tok)?;
        if prefix > prompt {
            let problem = format!("is more than the {prompt} of in_tok");
            return Err(Problem::field("cached_tok", cached_tok, problem));
        }
        let output = tokens("out_tok", out_tok)?;
        let latency = seconds("api_s", api_s)?;
        let began = start.checked_add(u64::from(seconds("t_s", t_s)?)).filter(|at| *at <= AT_MAX);
        let began = began.ok_or_else(|| Problem::field("t_s", t_s, "is beyond the year 9999"))?;
        Ok(Draft {
            row: Cow::Owned(format!("{trace}|{agent}|{seq}")),
            row_in_clear: true,
            client: Cow::Borrowed(CLIENT),
            conversation: Some(Cow::Owned(trace.to_owned())),
            subagent: (agent != "main").then(|| Cow::Owned(agent.to_owned())),
            model: Cow::Owned(model.to_owned()),
            at: began,
            answered_at: began + u64::from(latency),
            news: Some(kinds("in_kinds", in_kinds)?),
            prefix_tokens: Some(prefix),
            // The traces tell what had been sent before, not what was read from a cache.
            usage: Usage { prompt: Some(prompt), output: Some(output), ..Usage::default() },
            raw_usage: RawUsage::from_pairs([
                ("cached_tok", i64::from(prefix)),
                ("in_tok", i64::from(prompt)),
                ("out_tok", i64::from(output)),
            ]),
            parts: Some(kinds("out_kinds", out_kinds)?),
            finish: finish(stop)?,
            latency_ms: Some(latency),
            ending: None,
        })
    }
}

/// Splits lines into cells, each by itself, so that a stray quote spoils no other. A reader is dear to
/// make and is used again for every line.
struct Cells {
    reader: Reader<Cursor<Vec<u8>>>,
    cells: StringRecord,
}

impl Cells {
    fn new() -> Self {
        let mut builder = ReaderBuilder::new();
        builder.has_headers(false).flexible(true).trim(Trim::All);
        let reader = builder.from_reader(Cursor::new(Vec::new()));
        Self { reader, cells: StringRecord::new() }
    }

    fn of(&mut self, line: &[u8]) -> Result<&StringRecord, Problem> {
        let text = self.reader.get_mut().get_mut();
        text.clear();
        text.extend_from_slice(line);
        self.reader
            .seek_raw(SeekFrom::Start(0), Position::new())
            .and_then(|()| self.reader.read_record(&mut self.cells))
            .map_err(|_| Problem::Syntax("not UTF-8".to_owned()))?;
        Ok(&self.cells)
    }
}

fn finish(stop: &str) -> Result<Finish, Problem> {
    match stop {
        "u" => Ok(Finish::ToolUse),
        "e" => Ok(Finish::EndTurn),
        "" => Ok(Finish::Unknown),
        other => Err(Problem::field("stop", other, "is none of u (tool use), e (end), or empty")),
    }
}

fn kinds(field: &'static str, letters: &str) -> Result<Parts, Problem> {
    letters.chars().try_fold(Parts::default(), |parts, letter| {
        let kind = match letter {
            'T' => Parts::TEXT,
            'R' => Parts::TOOL_RESULT,
            'U' => Parts::TOOL_USE,
            'K' => Parts::THINKING,
            _ => return Err(Problem::field(field, letters, "holds other letters than T, R, U, K")),
        };
        Ok(parts | kind)
    })
}

//! Recorded traffic from elsewhere, read line by line: `docs/import.md` tells the formats.
//!
//! A line is a turn or a refusal; no bad line stops the rest. Counts, names and instants are read,
//! never a prompt's or an answer's text.

mod agent_turns_csv;
mod draft;
mod fields;
mod jsonl;
mod lines;
#[cfg(test)]
mod tests;
mod value;

use std::error::Error;
use std::io::{self, BufRead};

use events::ids::{Digest, Millis};
use replay::import::ImportedTurn;

use self::agent_turns_csv::Columns;
use self::draft::Draft;
pub(crate) use self::fields::Problem;
use self::lines::{Line, Lines};

/// A format of recorded traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// The columns of kv-cache-tester's agent turns.
    AgentTurnsCsv,
    /// A JSON object per line.
    Jsonl,
}

impl Format {
    /// What the ids of its rows are keyed under where nobody says otherwise, and what import events
    /// call it.
    pub(crate) const fn source(self) -> &'static str {
        match self {
            Self::AgentTurnsCsv => replay::sample::SOURCE,
            Self::Jsonl => "jsonl",
        }
    }
}

/// What a file does not say itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options<'a> {
    /// The format; `None`: told by the first line.
    pub(crate) format: Option<Format>,
    /// When every trace of an agent-turn CSV starts: it tells seconds from there.
    pub(crate) start: Millis,
    /// What the ids of rows are keyed under; `None`: [`Format::source`]. Files of one source share
    /// their ids, files of different ones do not.
    pub(crate) source: Option<&'a str>,
}

/// A line that is no turn.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {problem}")]
pub(crate) struct Refusal {
    /// Its number, counted from 1.
    pub(crate) line: u64,
    /// What is wrong with it, naming field and value.
    pub(crate) problem: Problem,
}

/// What came of one line.
#[derive(Debug)]
pub(crate) enum Row<'a> {
    /// A turn.
    Turn(ImportedTurn<'a>),
    /// None.
    Refused(Refusal),
}

/// What reading a file came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Summary {
    /// The file's format.
    pub(crate) format: Format,
    /// Rows read, refused ones included. Blank lines and a header are none.
    pub(crate) rows: u64,
    /// Of them: refused.
    pub(crate) refused: u64,
    /// Digest of the file's bytes ([`events::hash::Domain::Source`]).
    pub(crate) digest: Digest,
}

/// Why a file was not read to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TrafficError<E: Error + 'static> {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It holds nothing.
    #[error("the file is empty")]
    Empty,
    /// Its first line is of no format ferry knows.
    #[error(
        "line {line} begins with {start}: neither the header of an agent-turn CSV (trace,agent,...) \
         nor a JSON object"
    )]
    UnknownFormat {
        /// The first line that is not blank.
        line: u64,
        /// How it begins.
        start: String,
    },
    /// Its header lacks a column.
    #[error("the header has no column {column}")]
    Column {
        /// The column.
        column: &'static str,
    },
    /// Whoever was given the rows stopped.
    #[error(transparent)]
    Stopped(E),
}

/// Is given each row in turn; an error of it ends the reading.
pub(crate) type Each<'e, E> = dyn FnMut(Row<'_>) -> Result<(), E> + 'e;

/// Reads a file of recorded traffic, giving each row to `each`.
///
/// # Errors
/// [`TrafficError`]. A line that is no turn is none of them: it is given as [`Row::Refused`].
pub(crate) fn read<E: Error + 'static>(
    source: impl BufRead,
    options: &Options<'_>,
    each: &mut Each<'_, E>,
) -> Result<Summary, TrafficError<E>> {
    let mut lines = Lines::new(source);
    let mut parser = None;
    let mut tally = Tally { each, rows: 0, refused: 0 };
    while let Some((number, line)) = lines.next()? {
        if line.is_blank() {
            continue;
        }
        let (parser, is_row) = match &mut parser {
            Some(parser) => (parser, true),
            none => {
                let begun = Parser::begin(options, number, &line)?;
                let is_row = matches!(begun, Parser::Jsonl);
                (none.insert(begun), is_row)
            }
        };
        if is_row {
            tally.take(parser, options, number, &line).map_err(TrafficError::Stopped)?;
        }
    }
    let format = parser.as_ref().map(Parser::format).or(options.format);
    let format = format.ok_or(TrafficError::Empty)?;
    Ok(Summary { format, rows: tally.rows, refused: tally.refused, digest: lines.digest() })
}

/// Reads the lines of one format.
enum Parser {
    AgentTurnsCsv(Box<Columns>),
    Jsonl,
}

impl Parser {
    /// The parser of a file that begins with this line.
    fn begin<E: Error + 'static>(
        options: &Options<'_>,
        number: u64,
        line: &Line<'_>,
    ) -> Result<Self, TrafficError<E>> {
        let is_object = line.bytes.trim_ascii_start().starts_with(b"{");
        match options.format {
            Some(Format::Jsonl) => Ok(Self::Jsonl),
            None if is_object => Ok(Self::Jsonl),
            None if !Columns::are_in(line.bytes) => {
                let start = fields::shown(&String::from_utf8_lossy(line.bytes));
                Err(TrafficError::UnknownFormat { line: number, start })
            }
            Some(Format::AgentTurnsCsv) | None => Columns::of(line.bytes)
                .map(|columns| Self::AgentTurnsCsv(Box::new(columns)))
                .map_err(|column| TrafficError::Column { column }),
        }
    }

    const fn format(&self) -> Format {
        match self {
            Self::AgentTurnsCsv(_) => Format::AgentTurnsCsv,
            Self::Jsonl => Format::Jsonl,
        }
    }

    fn draft<'l>(&mut self, options: &Options<'_>, line: &Line<'l>) -> Result<Draft<'l>, Problem> {
        if line.is_cut {
            return Err(Problem::TooLong);
        }
        match self {
            Self::AgentTurnsCsv(columns) => columns.draft(line.bytes, options.start),
            Self::Jsonl => jsonl::draft(line.bytes),
        }
    }
}

/// Counts rows as they are given away.
struct Tally<'t, 'e, E> {
    each: &'t mut Each<'e, E>,
    rows: u64,
    refused: u64,
}

impl<E> Tally<'_, '_, E> {
    fn take(
        &mut self,
        parser: &mut Parser,
        options: &Options<'_>,
        line: u64,
        text: &Line<'_>,
    ) -> Result<(), E> {
        self.rows += 1;
        let source = options.source.unwrap_or(parser.format().source());
        let draft = match parser.draft(options, text) {
            Ok(draft) => draft,
            Err(problem) => return self.refuse(line, problem),
        };
        match draft.turn(source) {
            Ok(turn) => (self.each)(Row::Turn(turn)),
            Err(problem) => self.refuse(line, problem),
        }
    }

    fn refuse(&mut self, line: u64, problem: Problem) -> Result<(), E> {
        self.refused += 1;
        (self.each)(Row::Refused(Refusal { line, problem }))
    }
}

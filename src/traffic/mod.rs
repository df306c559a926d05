//! Recorded traffic from elsewhere, read line by line: `docs/import.md` tells the formats.
//!
//! A line is a turn or a refusal; no bad line stops the rest. Counts, names and instants are read,
//! never a prompt's or an answer's text.

mod agent_turns_csv;
mod claude_code;
mod codex;
mod content;
mod draft;
mod fields;
mod jsonl;
mod lines;
pub(crate) mod places;
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
    /// A session of Claude Code, as it keeps it.
    ClaudeCode,
    /// A session of Codex, as it keeps it.
    Codex,
    /// A JSON object per line.
    Jsonl,
}

impl Format {
    /// What the ids of its rows are keyed under where nobody says otherwise, and what import events
    /// call it.
    pub(crate) const fn source(self) -> &'static str {
        match self {
            Self::AgentTurnsCsv => replay::sample::SOURCE,
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
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
    /// The file's name, without folders: some clients keep a session's id in it.
    pub(crate) file_name: &'a str,
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
    /// Calls of models read, and refused lines. Blank lines, a header, and what else a transcript holds are none.
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
    let mut tally = Tally { each, rows: 0, refused: 0, source: options.source };
    while let Some((number, line)) = lines.next()? {
        if line.is_blank() {
            continue;
        }
        let (parser, is_header) = match &mut parser {
            Some(parser) => {
                // A torn first line tells nothing: the first that does, does.
                if tally.rows == tally.refused && matches!(parser, Parser::Jsonl) {
                    let begun = Parser::begin::<E>(options, number, &line);
                    if let Ok(begun @ (Parser::ClaudeCode(_) | Parser::Codex(_))) = begun {
                        *parser = begun;
                    }
                }
                (parser, false)
            }
            none => {
                let begun = Parser::begin(options, number, &line)?;
                let is_header = matches!(begun, Parser::AgentTurnsCsv(_));
                (none.insert(begun), is_header)
            }
        };
        if !is_header {
            let drafted = parser.draft(options, &line, number);
            tally.take(parser.format(), number, drafted).map_err(TrafficError::Stopped)?;
        }
    }
    if let Some(parser) = &mut parser {
        for (number, draft) in parser.rest() {
            tally.take(parser.format(), number, Ok(Some(draft))).map_err(TrafficError::Stopped)?;
        }
    }
    let format = parser.as_ref().map(Parser::format).or(options.format);
    let format = format.ok_or(TrafficError::Empty)?;
    Ok(Summary { format, rows: tally.rows, refused: tally.refused, digest: lines.digest() })
}

/// Reads the lines of one format.
enum Parser {
    AgentTurnsCsv(Box<Columns>),
    ClaudeCode(Box<claude_code::Session>),
    Codex(Box<codex::Session>),
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
            None if is_object && codex::begins(line.bytes) => Ok(Self::codex(options)),
            None if is_object && claude_code::begins(line.bytes) => Ok(Self::claude_code()),
            None if is_object => Ok(Self::Jsonl),
            Some(Format::ClaudeCode) => Ok(Self::claude_code()),
            Some(Format::Codex) => Ok(Self::codex(options)),
            Some(Format::Jsonl) => Ok(Self::Jsonl),
            None if !Columns::are_in(line.bytes) => {
                let start = fields::shown(&String::from_utf8_lossy(line.bytes));
                Err(TrafficError::UnknownFormat { line: number, start })
            }
            Some(Format::AgentTurnsCsv) | None => Columns::of(line.bytes)
                .map(|columns| Self::AgentTurnsCsv(Box::new(columns)))
                .map_err(|column| TrafficError::Column { column }),
        }
    }

    fn claude_code() -> Self {
        Self::ClaudeCode(Box::default())
    }

    fn codex(options: &Options<'_>) -> Self {
        Self::Codex(Box::new(codex::Session::of_file(options.file_name)))
    }

    const fn format(&self) -> Format {
        match self {
            Self::AgentTurnsCsv(_) => Format::AgentTurnsCsv,
            Self::ClaudeCode(_) => Format::ClaudeCode,
            Self::Codex(_) => Format::Codex,
            Self::Jsonl => Format::Jsonl,
        }
    }

    /// The turn of a line; `None` when it is of none, or not of it alone.
    fn draft<'l>(
        &mut self,
        options: &Options<'_>,
        line: &Line<'l>,
        number: u64,
    ) -> Result<Option<Draft<'l>>, Problem> {
        if line.is_cut {
            return Err(Problem::TooLong);
        }
        match self {
            Self::AgentTurnsCsv(columns) => columns.draft(line.bytes, options.start).map(Some),
            Self::ClaudeCode(session) => session.take(line.bytes, number).map(|()| None),
            Self::Codex(session) => session.draft(line.bytes),
            Self::Jsonl => jsonl::draft(line.bytes).map(Some),
        }
    }

    /// The turns that are known whole only at the end, each with its first line.
    fn rest(&mut self) -> Vec<(u64, Draft<'static>)> {
        match self {
            Self::ClaudeCode(session) => session.calls(),
            Self::AgentTurnsCsv(_) | Self::Codex(_) | Self::Jsonl => Vec::new(),
        }
    }
}

/// Counts rows as they are given away.
struct Tally<'t, 'e, E> {
    each: &'t mut Each<'e, E>,
    rows: u64,
    refused: u64,
    source: Option<&'t str>,
}

impl<E> Tally<'_, '_, E> {
    fn take(
        &mut self,
        format: Format,
        line: u64,
        drafted: Result<Option<Draft<'_>>, Problem>,
    ) -> Result<(), E> {
        let draft = match drafted {
            Ok(None) => return Ok(()),
            Ok(Some(draft)) => draft,
            Err(problem) => return self.refuse(line, problem),
        };
        match draft.turn(self.source.unwrap_or(format.source())) {
            Ok(turn) => {
                self.rows += 1;
                (self.each)(Row::Turn(turn))
            }
            Err(problem) => self.refuse(line, problem),
        }
    }

    fn refuse(&mut self, line: u64, problem: Problem) -> Result<(), E> {
        self.rows += 1;
        self.refused += 1;
        (self.each)(Row::Refused(Refusal { line, problem }))
    }
}

//! `ferry replay`: what recorded turns cost, and would have cost under other strategies.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use events::head::SignedHead;
use events::ids::Millis;
use events::kind::KindTable;
use events::log::Log;
use events::memory::MemoryLog;
use projections::book::Book;
use projections::gather::{Gather, Window};
use projections::world::Effect;
use replay::book_file::BookFile;
use replay::fold::{Checks, Folded, Signatures, fold};
use replay::report::{Labelled, Report, Request, book_rows, default_rows, reference, report};
use replay::reprice::By;
use replay::sample;
use replay::strategy::{CacheOptions, Strategy, Ttl, WriteKind};

use crate::failure::{Failure, Kind};
use crate::{progress, render};

/// The sample's week: first instant, and instant after the last.
const WINDOW: (Millis, Millis) = (sample::WEEK_START, sample::WEEK_START + sample::WEEK);

/// Reprice recorded turns: what they cost, and would have cost under other strategies
#[derive(Debug, Args)]
#[command(after_help = "Strategies:
  all:MODEL                         one model for every turn
  recorded                          each turn on the model that served it, by its recorded name
  recorded:family                   the same, by the book's model families
  mix:turn|session:SHARE:A,B        A for a share of turns or sessions, else B
  tool-result:A,else:B              A for turns that bring tool results, else B
  ...@ttl=SECONDS|none,write=5m|1h,cache=off   with cache rules of its own

Examples:
  ferry replay --sample
  ferry replay --sample --strategy all:haiku --strategy mix:turn:0.25:opus,haiku
  ferry replay --sample --strategy all:opus --by model --ttl 3600 --write 1h
  ferry replay --sample --prices my-prices.json --json
  ferry replay --sample --plot week.svg")]
pub(crate) struct Replay {
    /// Replay the bundled week of agent traffic
    #[arg(long, required = true)]
    sample: bool,
    /// Price this strategy instead of the default rows; may be given several times
    #[arg(long, value_name = "STRATEGY")]
    strategy: Vec<Strategy>,
    /// Break each row down
    #[arg(long, value_name = "WHAT")]
    by: Option<ByArg>,
    /// Seconds a cache entry lives after its last use, or none, where a strategy does not say
    #[arg(long, value_name = "SECONDS|none")]
    ttl: Option<Ttl>,
    /// Rate of cache writes where a strategy does not say: 5m or 1h
    #[arg(long, value_name = "5m|1h")]
    write: Option<WriteKind>,
    /// Price every prompt token at the input rate
    #[arg(long)]
    no_cache: bool,
    /// Use the prices of this book (JSON) instead of the ledger's
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// Print the report as JSON (docs/replay-json.md)
    #[arg(long, conflicts_with_all = ["csv", "digest"])]
    json: bool,
    /// Print the rows as CSV
    #[arg(long, conflicts_with = "digest")]
    csv: bool,
    /// Print only the digest of ledger and rows: equal on every machine
    #[arg(long)]
    digest: bool,
    /// Also draw cost per strategy and by day into this SVG file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ByArg {
    Model,
    Day,
    Conversation,
}

impl From<ByArg> for By {
    fn from(by: ByArg) -> Self {
        match by {
            ByArg::Model => Self::Model,
            ByArg::Day => Self::Day,
            ByArg::Conversation => Self::Conversation,
        }
    }
}

impl Replay {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let prices = self.prices()?;
        let (log, head) = sample_ledger()?;
        let started = Instant::now();
        let (folded, window) = read(&log, &head)?;
        let checked_in = started.elapsed();
        let book = prices.as_ref().map_or_else(|| folded.world.book.clone(), BookFile::book);
        let report = self.report(&folded, &window, &book)?;
        if let Some(path) = &self.plot {
            render::plot::draw(&report, path)
                .map_err(|error| Failure::usage(format!("drawing {}", path.display()), error))?;
        }
        self.print(&report, checked_in)
    }

    fn prices(&self) -> Result<Option<BookFile>, Failure> {
        let Some(path) = &self.prices else { return Ok(None) };
        let reading = || format!("reading prices from {}", path.display());
        let json = std::fs::read(path).map_err(|error| Failure::usage(reading(), error))?;
        BookFile::parse(&json).map(Some).map_err(|error| Failure::usage(reading(), error))
    }

    fn report(&self, folded: &Folded, window: &Window, book: &Book) -> Result<Report, Failure> {
        let pricing = |error| Failure::usage("pricing strategies", error);
        let request = Request {
            strategies: self.strategies(book, window).map_err(pricing)?,
            reference: reference(book),
            cache: CacheOptions { ttl: self.ttl, write: self.write, off: self.no_cache },
            by: self.by.map(By::from),
            from: WINDOW.0,
            until: WINDOW.1,
        };
        let bar = progress::bar("pricing strategies", request.strategies.len() as u64);
        let head = &folded.head;
        let report = report(head, folded.batches, book, window, &request, &mut || bar.inc(1))
            .map_err(pricing);
        bar.finish_and_clear();
        report
    }

    fn strategies(
        &self,
        book: &Book,
        window: &Window,
    ) -> Result<Vec<Labelled>, replay::report::ReportError> {
        if !self.strategy.is_empty() {
            return Ok(self.strategy.iter().cloned().map(Labelled::plain).collect());
        }
        let rows = book_rows(book)?;
        if rows.is_empty() { default_rows(book, window) } else { Ok(rows) }
    }

    fn print(&self, report: &Report, checked_in: Duration) -> Result<(), Failure> {
        let mut out = anstream::stdout().lock();
        if self.digest {
            writeln!(out, "{}", report.digest)?;
        } else if self.json {
            let json = serde_json::to_string_pretty(report)
                .map_err(|error| Failure::new(Kind::Corrupt, "writing JSON", error))?;
            writeln!(out, "{json}")?;
        } else if self.csv {
            let csv = render::csv::rows(report)
                .map_err(|error| Failure::new(Kind::Corrupt, "writing CSV", error))?;
            out.write_all(&csv)?;
        } else {
            render::table::print(&mut out, report, checked_in)?;
        }
        Ok(out.flush()?)
    }
}

/// The bundled week as a throw-away ledger: imported, signed, stored.
fn sample_ledger() -> Result<(MemoryLog, SignedHead), Failure> {
    let making =
        |error: Box<dyn std::error::Error>| Failure::new(Kind::Corrupt, "making the sample", error);
    let turns = sample::turns().map_err(|error| making(error.into()))?;
    let book = sample::book().map_err(|error| making(error.into()))?;
    let mut log = MemoryLog::new(sample::ledger_id());
    let bar = progress::bar("importing the sample", turns.len() as u64);
    let head = sample::build(&mut log, &turns, &book, &mut || bar.inc(1))
        .map_err(|error| making(error.into()))?;
    bar.finish_and_clear();
    Ok((log, head))
}

/// Reads a ledger back: every link, digest and signature is checked before anything is counted.
fn read<L: Log>(log: &L, head: &SignedHead) -> Result<(Folded, Window), Failure> {
    let kinds = KindTable::current();
    let checks = Checks { kinds: &kinds, signatures: Signatures::Check, head: Some(head) };
    let mut gather = Gather::new(head.head.ledger, true);
    let bar = progress::bar("checking the ledger", head.head.next);
    let folded = fold(log, checks, &mut |context, body, effect| {
        bar.inc(1);
        if effect == Effect::Applied {
            gather.tell(context, body);
        }
    });
    bar.finish_and_clear();
    Ok((folded?, gather.finish(WINDOW.0, WINDOW.1)))
}

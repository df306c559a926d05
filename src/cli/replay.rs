//! `ferry replay`: what recorded turns cost, and would have cost under other strategies.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use events::head::{Head, SignedHead};
use events::ids::Millis;
use events::kind::KindTable;
use events::log::{Log, ReadLog};
use events::memory::MemoryLog;
use projections::book::{Book, BookNames};
use projections::gather::{Gather, Resolved, Window};
use projections::projection::Projection as _;
use projections::world::Effect;
use replay::decider::Decider;
use replay::default_book::default_book;
use replay::effective_book::{PricePolicy, book_of};
use replay::fold::{Checks, Folded, Signatures, fold};
use replay::report::{
    Labelled, Report, Request, Variant, book_rows, default_rows, reference, report,
};
use replay::reprice::By;
use replay::sample;
use replay::strategy::{CacheOptions, Strategy, Ttl, WriteKind};

use super::home::HomeArg;
use super::policy::read_policy;
use super::prices::{bundled_lists, effective_book, read_list};
use super::print_json;
use super::redecide::Remake;
use super::when::When;
use crate::failure::{Failure, Kind};
use crate::ledger::{Checkpoint, Ledger};
use crate::store::{FjallLog, Home, Vouched};
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
  ferry replay
  ferry replay --since 2026-01-05 --until 2026-01-12
  ferry replay --sample
  ferry replay --sample --strategy all:haiku --strategy mix:turn:0.25:opus,haiku
  ferry replay --sample --strategy all:opus --by model --ttl 3600 --write 1h
  ferry replay --sample --prices my-prices.json --json
  ferry replay --sample --plot week.svg
  ferry replay --sample --policy docs/examples/cheap.toml docs/examples/quality.toml
  ferry replay --redecide --since 2026-01-05")]
pub(crate) struct Replay {
    #[command(flatten)]
    home: HomeArg,
    /// Replay the bundled week of agent traffic instead of the ledger
    #[arg(long, conflicts_with_all = ["since", "until"])]
    sample: bool,
    /// Keep the sample's throw-away ledger in memory instead of on disk
    #[arg(long, requires = "sample")]
    memory: bool,
    /// First day or instant, UTC: 2026-01-05 or 2026-01-05T08:00:00Z; default 7 days before the newest turn
    #[arg(long, value_name = "WHEN")]
    since: Option<When>,
    /// Day or instant after the last, UTC; default after the newest turn
    #[arg(long, value_name = "WHEN")]
    until: Option<When>,
    /// Fold the whole ledger again from its first event, without snapshots, and compare with the live world
    #[arg(long, conflicts_with_all = ["sample", "since", "until", "strategy", "prices", "csv", "digest", "plot"])]
    redigest: bool,
    /// Make the recorded decisions again, and compare them byte for byte; default the newest 7 days
    #[arg(long, conflicts_with_all = ["sample", "redigest", "strategy", "by", "ttl", "write", "no_cache", "prices", "csv", "plot"])]
    redecide: bool,
    /// With --redecide: fold from the first event instead of from a snapshot
    #[arg(long, requires = "redecide")]
    no_snapshots: bool,
    /// Decide every turn again by this policy, and price what it decided; several may be named. With --redecide: the
    /// policy the decisions were made under, instead of the ledger's own
    #[arg(long, value_name = "FILE", num_args = 1..)]
    policy: Vec<PathBuf>,
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
    /// Use the prices of this list (docs/prices.md) instead of the ledger's; `default` is the bundled one
    #[arg(long, value_name = "FILE|default")]
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
        let kinds = KindTable::current();
        if !self.sample {
            let home = self.home.home()?;
            return self.home.with_ledger(|ledger| {
                // Asked first: what is vouched for is in the log already.
                let vouched = home.vouched_head()?;
                if self.redecide {
                    return self.redecide(ledger, &home);
                }
                if self.redigest {
                    return self.refold(ledger, vouched.as_ref());
                }
                self.replay(&ledger.view()?, checks(&kinds, vouched.as_ref()), prices.as_ref())
            });
        }
        if self.memory {
            let (log, head) = sample_ledger(MemoryLog::new(sample::ledger_id()))?;
            let checks = Checks { head: Some(&head), ..checks(&kinds, None) };
            return self.replay(&log, checks, prices.as_ref());
        }
        let folder = tempfile::tempdir().map_err(|error| making_sample(error.into()))?;
        let (log, head) = sample_ledger(FjallLog::throw_away(folder.path(), sample::ledger_id())?)?;
        let checks = Checks { head: Some(&head), ..checks(&kinds, None) };
        self.replay(&log, checks, prices.as_ref())
    }

    /// Folds everything again, from the first event and without snapshots, and compares.
    fn refold(&self, ledger: &Ledger, vouched: Option<&Vouched>) -> Result<(), Failure> {
        let kinds = KindTable::current();
        let Checkpoint { head, digest } = ledger.checkpoint()?;
        let log = ledger.view()?.until(head);
        let bar = progress::bar("folding the ledger again", head.next);
        let folded = fold(&log, checks(&kinds, vouched), &mut |_, _, _| bar.inc(1));
        bar.finish_and_clear();
        let again = folded?.world.digest();
        let mut out = anstream::stdout().lock();
        let position = head.next;
        if self.json {
            let json = serde_json::json!({
                "position": position, "live": digest, "refolded": again, "equal": again == digest,
            });
            writeln!(out, "{json}")?;
        } else if again == digest {
            writeln!(out, "{position} events folded again: the same world\ndigest {digest}")?;
        }
        if again == digest {
            return Ok(());
        }
        let differs = format!("the live world is {digest}, folded again it is {again}");
        Err(Failure::new(Kind::Mismatch, format!("position {position}"), differs))
    }

    fn redecide(&self, ledger: &Ledger, home: &Home) -> Result<(), Failure> {
        if self.policy.len() > 1 {
            let problem = "decisions were made under one policy: name one";
            return Err(Failure::usage("making decisions again", problem));
        }
        let given = self.policy.first().map(|path| read_policy(path)).transpose()?;
        let request = Remake {
            since: self.since.map(When::millis),
            from_snapshot: !self.no_snapshots,
            json: self.json,
            digest_only: self.digest,
        };
        request.run(ledger, home, given.map(|(_, policy)| policy))
    }

    fn replay<L: ReadLog>(
        &self,
        log: &L,
        checks: Checks<'_>,
        prices: Option<&Prices>,
    ) -> Result<(), Failure> {
        let started = Instant::now();
        let (folded, gather) = read(log, checks)?;
        let checked_in = started.elapsed();
        let resolved = gather.resolve();
        let (from, until) = self.window(&resolved);
        let window = resolved.window(from, until);
        let mut book = self.book(&folded, prices)?;
        if !self.policy.is_empty() {
            // A policy may send turns anywhere: what the ledger has no price of, the bundled list may have.
            let names = book.names().cloned();
            book = bundled_lists()?.book(&book, &PricePolicy::default());
            book = names.into_iter().fold(book, Book::with_names);
        }
        let report = self.report(&folded, &window, &book, (from, until))?;
        if let Some(path) = &self.plot {
            render::plot::draw(&report, path)
                .map_err(|error| Failure::usage(format!("drawing {}", path.display()), error))?;
        }
        self.print(&report, checked_in)
    }

    /// What was asked for; else the newest seven days there are turns in.
    fn window(&self, resolved: &Resolved) -> (Millis, Millis) {
        if self.sample {
            return WINDOW;
        }
        let after_newest =
            || resolved.newest_arrival().map_or(0, |newest| newest.saturating_add(1));
        let until = self.until.map_or_else(after_newest, |when| when.millis());
        let from =
            self.since.map_or_else(|| until.saturating_sub(sample::WEEK), |when| when.millis());
        (from.min(until), until)
    }

    /// The prices that were given; else the ones that count for the ledger. The sample has its own.
    fn book(&self, folded: &Folded, prices: Option<&Prices>) -> Result<Book, Failure> {
        let own = &folded.world.book;
        match prices {
            Some(Prices { book, has_names: true }) => Ok(book.clone()),
            // A list gives no names: those of the ledger's book lead into it.
            Some(Prices { book, has_names: false }) => Ok(match own.names() {
                Some(names) => book.clone().with_names(BookNames {
                    source: book.names().map_or_else(String::new, |names| names.source.clone()),
                    dated: book.names().map_or_else(String::new, |names| names.dated.clone()),
                    ..names.clone()
                }),
                None => book.clone(),
            }),
            None if self.sample => Ok(own.clone()),
            None => effective_book(&folded.world),
        }
    }

    fn prices(&self) -> Result<Option<Prices>, Failure> {
        let Some(path) = &self.prices else { return Ok(None) };
        if path.as_os_str() == "default" {
            let list = default_book().map_err(|error| {
                Failure::new(Kind::Corrupt, "reading the bundled prices", error)
            })?;
            return Ok(Some(Prices { book: book_of(&list), has_names: false }));
        }
        Ok(Some(match read_list(path)? {
            (_, Some(own)) => Prices { book: own.book(), has_names: true },
            (list, None) => Prices { book: book_of(&list), has_names: false },
        }))
    }

    fn report(
        &self,
        folded: &Folded,
        window: &Window,
        book: &Book,
        (from, until): (Millis, Millis),
    ) -> Result<Report, Failure> {
        let pricing = |error| Failure::usage("pricing strategies", error);
        let request = Request {
            policies: self.variants(&folded.head)?,
            strategies: self.strategies(book, window).map_err(pricing)?,
            // One's own turns are compared with what they were, not with their model's family.
            reference: if self.sample { reference(book) } else { Strategy::recorded() },
            cache: CacheOptions { ttl: self.ttl, write: self.write, off: self.no_cache },
            by: self.by.map(By::from),
            from,
            until,
        };
        // A row is priced in a moment; a policy decides every turn.
        let steps = request.strategies.len() as u64 + window.turns * request.policies.len() as u64;
        let bar = progress::bar("pricing", steps);
        let head = &folded.head;
        let report = report(head, folded.batches, book, window, &request, &mut || bar.inc(1))
            .map_err(pricing);
        bar.finish_and_clear();
        report
    }

    /// The policies to decide by, called by the names of their files.
    fn variants(&self, head: &Head) -> Result<Vec<Variant>, Failure> {
        let lists = bundled_lists()?;
        let variant = |path: &PathBuf| {
            let (_, policy) = read_policy(path)?;
            let stem = |path: &PathBuf| path.file_stem().unwrap_or(path.as_os_str()).to_owned();
            let is_alone =
                self.policy.iter().filter(|other| stem(other) == stem(path)).count() == 1;
            let name = if is_alone { stem(path) } else { path.clone().into_os_string() };
            let label = name.to_string_lossy().into_owned();
            Ok(Variant { label, decider: Decider::given(head.ledger, lists.clone(), policy) })
        };
        self.policy.iter().map(variant).collect()
    }

    fn strategies(
        &self,
        book: &Book,
        window: &Window,
    ) -> Result<Vec<Labelled>, replay::report::ReportError> {
        if !self.strategy.is_empty() {
            return Ok(self.strategy.iter().cloned().map(Labelled::plain).collect());
        }
        let rows = if self.sample { book_rows(book)? } else { Vec::new() };
        if rows.is_empty() { default_rows(book, window) } else { Ok(rows) }
    }

    fn print(&self, report: &Report, checked_in: Duration) -> Result<(), Failure> {
        let mut out = anstream::stdout().lock();
        if self.digest {
            writeln!(out, "{}", report.digest)?;
        } else if self.json {
            print_json(&mut out, report)?;
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

/// Prices that were given.
struct Prices {
    book: Book,
    /// Whether it gives names of its own.
    has_names: bool,
}

fn making_sample(error: Box<dyn std::error::Error>) -> Failure {
    Failure::new(Kind::Corrupt, "making the sample", error)
}

/// The bundled week in a throw-away ledger: imported, signed, stored.
fn sample_ledger<L: Log>(mut log: L) -> Result<(L, SignedHead), Failure> {
    let turns = sample::turns().map_err(|error| making_sample(error.into()))?;
    let book = sample::book().map_err(|error| making_sample(error.into()))?;
    let bar = progress::bar("importing the sample", turns.len() as u64);
    let head = sample::build(&mut log, &turns, &book, &mut || bar.inc(1))
        .map_err(|error| making_sample(error.into()))?;
    bar.finish_and_clear();
    Ok((log, head))
}

/// Signatures below what is vouched for were checked when they were admitted.
pub(super) fn checks<'a>(kinds: &'a KindTable, vouched: Option<&'a Vouched>) -> Checks<'a> {
    let signatures = Signatures::CheckFrom(vouched.map_or(0, Vouched::admitted));
    Checks { kinds, signatures, head: vouched.map(|vouched| &vouched.signed) }
}

/// Reads a ledger back: every position, link and digest is checked before anything is counted.
pub(super) fn read<L: ReadLog>(log: &L, checks: Checks<'_>) -> Result<(Folded, Gather), Failure> {
    let mut gather = Gather::new(log.head().ledger, true);
    let bar = progress::bar("checking the ledger", log.head().next);
    let folded = fold(log, checks, &mut |located, body, effect| {
        bar.inc(1);
        if effect == Effect::Applied {
            gather.tell(located, body);
        }
    });
    bar.finish_and_clear();
    Ok((folded?, gather))
}

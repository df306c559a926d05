//! The prices that count for a ledger, and `ferry import prices`.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use events::payload::{Name, Price, PriceBook};
use projections::book::Book;
use projections::world::World;
use replay::book_file::BookFile;
use replay::dates::{date, is_date};
use replay::decider::Lists;
use replay::import::Recorded;
use replay::prices::{PriceList, parse};
use serde::Serialize;
use serde_bytes::Bytes as RawBytes;

use super::policy::in_force;
use super::{draw_id, print_json};
use crate::failure::{Failure, Kind};
use crate::ledger::{Command, Ledger, LedgerError, Outcome, PRICES_A_COMMAND_MAX, Queue};
use crate::progress;
use crate::store::clock;

/// Engines that are named when a list lacks them, or cannot be read; the rest is counted.
const SHOWN: usize = 10;
/// A list may lack this many engines its source had before, or a twentieth of them, without a word.
const MISSING_MAX: usize = 20;

/// Longest list that is read, in bytes.
const LIST_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// The book that counts: the rules in force, then the ledger's prices, then the bundled lists.
pub(super) fn effective_book(world: &World) -> Result<Book, Failure> {
    let policy = in_force(world)?.prices;
    Ok(bundled_lists()?.book(&world.book, &policy))
}

/// What comes with ferry.
pub(super) fn bundled_lists() -> Result<Lists, Failure> {
    Lists::bundled()
        .map_err(|error| Failure::new(Kind::Corrupt, "reading the bundled lists", error))
}

/// Import prices: models.dev, LiteLLM, OpenRouter, or a book of ferry's own (docs/prices.md)
#[derive(Debug, Args)]
#[command(
    after_help = "Only what is new or different becomes an event. A bundled list is used where nothing else is known.

Examples:
  curl -o api.json https://models.dev/api.json && ferry import prices api.json
  ferry import prices --dated 2026-11-30 model_prices_and_context_window.json
  ferry import prices --dry-run models.json"
)]
pub(super) struct Prices {
    /// The list
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The day the prices are of; default the day the list says, else today
    #[arg(long, value_name = "YYYY-MM-DD")]
    dated: Option<String>,
    /// Import a list that lacks many engines its source had before
    #[arg(long)]
    accept_shrink: bool,
    /// Read and count, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Imported {
    file: String,
    format: &'static str,
    source: String,
    dated: String,
    engines: usize,
    new: usize,
    changed: usize,
    /// Engines the same source had before.
    missing: usize,
    unpriced: u64,
    refused: usize,
    /// The first entries that could not be read, each with why.
    refusals: Vec<String>,
}

impl Prices {
    /// Reads the list; what is wrong with it is told before anything is opened.
    pub(super) fn read(&self) -> Result<(PriceList, Option<BookFile>), Failure> {
        if let Some(day) = self.dated.as_ref().filter(|day| !is_date(day)) {
            return Err(Failure::usage("--dated", format!("'{day}' is no day; write 2026-11-30")));
        }
        read_list(&self.file)
    }

    pub(super) const fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// Brings a list into a ledger; without one, says what it holds.
    pub(super) fn run(
        &self,
        (list, book): &(PriceList, Option<BookFile>),
        ledger: Option<&Ledger>,
    ) -> Result<(), Failure> {
        let today = || date(clock());
        let dated = self.dated.clone().or_else(|| list.dated.clone()).unwrap_or_else(today);
        let mut imported = Imported {
            file: self.file.display().to_string(),
            format: list.format.label(),
            source: list.source.clone(),
            dated,
            engines: list.prices.len(),
            new: 0,
            changed: 0,
            missing: 0,
            unpriced: list.unpriced,
            refused: list.refused.len(),
            refusals: list.refused.iter().take(SHOWN).map(ToString::to_string).collect(),
        };
        if let Some(ledger) = ledger {
            let missing = missing(list, &ledger.world()?.book);
            imported.missing = missing.len();
            self.check_shrink(list, &missing)?;
            write(ledger, list, book.as_ref(), &mut imported)?;
        }
        self.print(&imported)
    }

    /// A list that lost much of what it had is more likely cut short than right.
    fn check_shrink(&self, list: &PriceList, missing: &[String]) -> Result<(), Failure> {
        let had = list.prices.len() + missing.len();
        if self.accept_shrink || missing.len() <= MISSING_MAX.max(had / 20) {
            return Ok(());
        }
        let some = missing.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
        let problem = format!(
            "{} lacks {} engines it had before ({some}, ...); nothing was imported. If that is right: --accept-shrink",
            list.source,
            missing.len(),
        );
        Err(Failure::usage(format!("importing {}", self.file.display()), problem))
    }

    fn print(&self, imported: &Imported) -> Result<(), Failure> {
        let mut out = anstream::stdout().lock();
        if self.json {
            return print_json(&mut out, imported);
        }
        let Imported { file, source, dated, engines, new, changed, missing, unpriced, .. } =
            imported;
        write!(out, "{file}: {source}, dated {dated}: {engines} engines")?;
        if !self.dry_run {
            write!(out, ", {new} new, {changed} changed, {missing} no longer listed")?;
        }
        writeln!(out, "; {unpriced} without a price, {} refused", imported.refused)?;
        for refusal in &imported.refusals {
            writeln!(out, "  {refusal}")?;
        }
        if imported.refused > imported.refusals.len() {
            writeln!(out, "  and {} more", imported.refused - imported.refusals.len())?;
        }
        Ok(())
    }
}

/// A price list of any format, and the names a book of ferry's own gives.
pub(super) fn read_list(path: &Path) -> Result<(PriceList, Option<BookFile>), Failure> {
    let reading = || format!("reading prices from {}", path.display());
    let mut json = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| Failure::usage(reading(), error))?;
    file.take(LIST_BYTES_MAX + 1)
        .read_to_end(&mut json)
        .map_err(|error| Failure::usage(reading(), error))?;
    if json.len() as u64 > LIST_BYTES_MAX {
        let problem = format!("longer than any price list: {LIST_BYTES_MAX} bytes");
        return Err(Failure::usage(reading(), problem));
    }
    let list = parse(&json).map_err(|error| Failure::usage(reading(), error))?;
    Ok((list, BookFile::parse(&json).ok()))
}

/// Engines of the ledger's book that came from the same source and are not in the list.
fn missing(list: &PriceList, book: &Book) -> Vec<String> {
    let of_source = book.engines().filter(|price| price.source == list.source);
    let gone = of_source.filter(|price| list.engine(&price.engine).is_none());
    gone.map(|price| price.engine.clone()).collect()
}

fn write(
    ledger: &Ledger,
    list: &PriceList,
    book: Option<&BookFile>,
    imported: &mut Imported,
) -> Result<(), Failure> {
    let naming = |error| Failure::usage("recording prices", error);
    let source = Name::new(&list.source).map_err(naming)?;
    let bar = progress::bar("importing prices", list.prices.len() as u64);
    for chunk in list.prices.chunks(PRICES_A_COMMAND_MAX) {
        let prices = chunk.iter().filter_map(|listed| listed.price(source));
        let encoded: Vec<Vec<u8>> = prices.map(|price| encode(&price)).collect();
        let prices = encoded.iter().map(|price| RawBytes::new(price)).collect();
        let command = Command::ImportPrices { at: clock(), prices };
        let Outcome::Imported(recorded) = ledger.run(Queue::Bulk, &command)? else {
            return Err(LedgerError::Confused.into());
        };
        let count = |what| recorded.iter().filter(|recorded| **recorded == what).count();
        imported.new += count(Recorded::New);
        imported.changed += count(Recorded::Amended);
        bar.inc(chunk.len() as u64);
    }
    bar.finish_and_clear();
    let as_u32 = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    let own = book.and_then(BookFile::closing);
    let (aliases, families, rows) =
        own.map(|own| (own.aliases, own.families, own.rows)).unwrap_or_default();
    let closing = PriceBook {
        source,
        dated: Name::new(&imported.dated).map_err(naming)?,
        engines: as_u32(list.prices.len()),
        changed: as_u32(imported.new + imported.changed),
        missing: as_u32(imported.missing),
        digest: list.digest,
        aliases,
        families,
        rows,
    };
    let id = draw_id("recording prices")?;
    ledger.run(Queue::Bulk, &Command::ClosePrices { id, at: clock(), book: closing })?;
    Ok(())
}

fn encode(price: &Price<'_>) -> Vec<u8> {
    // Writing plain data to memory has no way to fail.
    rmp_serde::to_vec(price).unwrap_or_default()
}

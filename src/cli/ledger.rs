//! `ferry ledger`: looking at the ledger itself.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use events::batch::Batch;
use events::entry::Entry;
use events::event::{Body, EventRef};
use events::head::SignedHead;
use events::ids::{AuthorId, Seq};
use events::kind::KindTable;
use events::log::ReadLog;
use replay::dates::instant;
use replay::fold::{Checks, Folded, Signatures, fold};
use serde::Serialize;

use super::home::HomeArg;
use crate::failure::{Failure, Kind};
use crate::ledger::LedgerView;
use crate::progress;
use crate::store::{Copy, Home, Promise, Settings, Store};

/// Look at the ledger itself: its events, its links, its head
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ferry ledger tail -n 20
  ferry ledger show 1234 --json
  ferry ledger verify
  ferry ledger verify --copy /backup/ferry
  ferry ledger export ledger.ferry")]
pub(super) struct Ledger {
    #[command(flatten)]
    home: HomeArg,
    /// Print as JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the event at a position, whole
    Show {
        /// Its position
        position: Seq,
    },
    /// Print the newest events, a line each
    Tail {
        /// How many
        #[arg(short = 'n', long, default_value_t = 10)]
        count: u64,
    },
    /// Check every position, link, digest, signature and payload, and the head
    Verify {
        /// Check this copy of a ledger's folder instead; it is not written to
        #[arg(long, value_name = "DIR")]
        copy: Option<PathBuf>,
    },
    /// Print where the ledger ends, and what is vouched for outside it
    Head,
    /// Accept a store that is refused because of what it lost
    #[command(
        after_help = "A refused ledger is whole as far as it goes, but not what had been promised: an older copy \
        was put back, or its files were lost. Accepting makes what is there the ledger, for good; a finding in it \
        tells what is missing. A hole inside the ledger cannot be accepted."
    )]
    Repair {
        /// Accept that everything after the store's end is gone
        #[arg(long, required = true)]
        accept_loss: bool,
    },
    /// Write every stored batch to a file: length (u32, big-endian), entry, batch
    Export {
        /// The file; it must not exist
        file: PathBuf,
    },
}

impl Ledger {
    pub(super) fn run(&self) -> Result<(), Failure> {
        match &self.command {
            Command::Verify { copy: Some(folder) } => {
                let copy = Copy::open(&Home::new(folder))?;
                self.verify(&copy.log, Some(&copy.head.signed))
            }
            Command::Verify { copy: None } => {
                let home = self.home.home()?;
                self.home.with_ledger(|ledger| {
                    // Asked first: what is vouched for is in the log already.
                    let vouched = home.vouched_head()?.map(|vouched| vouched.signed);
                    self.verify(&ledger.view()?, vouched.as_ref())
                })
            }
            Command::Repair { .. } => self.repair(),
            Command::Show { position } => {
                self.home.with_ledger(|ledger| self.show(&ledger.view()?, *position))
            }
            Command::Tail { count } => {
                self.home.with_ledger(|ledger| self.tail(&ledger.view()?, *count))
            }
            Command::Head => self.head(),
            Command::Export { file } => {
                self.home.with_ledger(|ledger| export(&ledger.view()?, file))
            }
        }
    }

    fn repair(&self) -> Result<(), Failure> {
        let settings = Settings::from_system(Promise::Process);
        let mut out = anstream::stdout().lock();
        let Some((store, accepted)) = Store::accept_loss(&self.home.home()?, settings)? else {
            writeln!(out, "nothing to repair: the store is what was promised")?;
            return Ok(());
        };
        writeln!(out, "accepted: {}", accepted.refusal)?;
        let lost = accepted.lost;
        if lost.to > lost.from {
            writeln!(
                out,
                "positions {} to {} are gone; a finding in the ledger says so",
                lost.from,
                lost.to - 1
            )?;
        }
        Ok(store.close()?)
    }

    fn show(&self, log: &LedgerView<'_>, position: Seq) -> Result<(), Failure> {
        let mut shown = Ok(false);
        log.read(position, &mut |first, stored| {
            shown = located(stored).and_then(|found| {
                let index = usize::try_from(position.saturating_sub(first)).unwrap_or(usize::MAX);
                match found.batch.events().nth(index) {
                    Some(event) => self.print_event(&found, &event, position, true).map(|()| true),
                    None => Ok(false),
                }
            });
            ControlFlow::Break(())
        })?;
        if shown? {
            return Ok(());
        }
        let end = log.head().next;
        let problem = format!("there is no position {position}; the ledger ends before {end}");
        Err(Failure::usage("showing an event", problem))
    }

    fn tail(&self, log: &LedgerView<'_>, count: u64) -> Result<(), Failure> {
        let from = log.head().next.saturating_sub(count);
        let mut outcome = Ok(());
        log.read(from, &mut |first, stored| {
            outcome = located(stored).and_then(|found| {
                (first..)
                    .zip(found.batch.events())
                    .filter(|(seq, _)| *seq >= from)
                    .try_for_each(|(seq, event)| self.print_event(&found, &event, seq, false))
            });
            if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        outcome
    }

    fn print_event(
        &self,
        found: &Located<'_>,
        event: &EventRef<'_>,
        seq: Seq,
        whole: bool,
    ) -> Result<(), Failure> {
        let kinds = KindTable::current();
        let body = event
            .decode(&kinds)
            .map_err(|error| Failure::new(Kind::Corrupt, format!("position {seq}"), error))?;
        let shown = Shown {
            position: seq,
            kind: kinds.get(event.kind).map_or("unknown", |spec| spec.name),
            at: instant(event.at),
            received: instant(found.entry.received),
            author: found.batch.header.author,
            author_seq: found.batch.header.author_seq,
            batch: found.batch.id.to_string(),
            subject: event.subject.to_string(),
            says: body,
        };
        let mut out = anstream::stdout().lock();
        if self.json {
            let json = if whole {
                serde_json::to_string_pretty(&shown)
            } else {
                serde_json::to_string(&shown)
            };
            writeln!(out, "{}", json.map_err(json_failure)?)?;
        } else if whole {
            writeln!(out, "position   {}\nkind       {}", shown.position, shown.kind)?;
            writeln!(out, "at         {}\nreceived   {}", shown.at, shown.received)?;
            writeln!(out, "author     {} (batch {})", shown.author, shown.author_seq)?;
            writeln!(out, "batch      {}\nsubject    {}", shown.batch, shown.subject)?;
            writeln!(out, "{}", serde_json::to_string_pretty(&shown.says).map_err(json_failure)?)?;
        } else {
            let author = &shown.author.to_string()[..8];
            let subject = &shown.subject[..8];
            let at = &shown.at;
            writeln!(out, "{seq:>10}  {at:<24}  {:<15}  {author}  {subject}", shown.kind)?;
        }
        Ok(())
    }

    fn head(&self) -> Result<(), Failure> {
        let home = self.home.home()?;
        let (vouched, head) = self.home.with_ledger(|ledger| {
            let vouched = home.vouched_head()?.map(|vouched| vouched.signed);
            Ok((vouched, ledger.view()?.head()))
        })?;
        let mut out = anstream::stdout().lock();
        if self.json {
            let vouched = vouched.map(|signed| {
                serde_json::json!({ "next": signed.head.next, "link": signed.head.link, "node": signed.node })
            });
            let head = serde_json::json!({
                "ledger": head.ledger, "next": head.next, "link": head.link, "vouched": vouched,
            });
            writeln!(out, "{head}")?;
        } else {
            writeln!(
                out,
                "ledger     {}\nends at    {}\nlink       {}",
                head.ledger, head.next, head.link
            )?;
            if let Some(signed) = vouched {
                writeln!(out, "vouched    {} by {}", signed.head.next, signed.node)?;
            }
        }
        Ok(())
    }

    fn verify<L: ReadLog>(&self, log: &L, head: Option<&SignedHead>) -> Result<(), Failure> {
        let kinds = KindTable::current();
        let checks = Checks { kinds: &kinds, signatures: Signatures::Check, head };
        let bar = progress::bar("checking the ledger", log.head().next);
        let folded = fold(log, checks, &mut |_, _, _| bar.inc(1));
        bar.finish_and_clear();
        print_verified(&folded?, head, self.json)
    }
}

fn print_verified(folded: &Folded, head: Option<&SignedHead>, json: bool) -> Result<(), Failure> {
    let counts = folded.world.counts;
    let mut out = anstream::stdout().lock();
    if json {
        let verified = serde_json::json!({
            "ledger": folded.head.ledger, "events": counts.events, "batches": folded.batches,
            "link": folded.head.link, "vouched": head.map(|signed| signed.head.next),
            "without_effect": counts.without_effect, "skipped": counts.skipped,
        });
        writeln!(out, "{verified}")?;
        return Ok(());
    }
    writeln!(
        out,
        "{} events in {} batches: every position, link, digest, signature and payload is good",
        counts.events, folded.batches
    )?;
    if let Some(signed) = head {
        writeln!(
            out,
            "the head outside the ledger vouches for everything before {}",
            signed.head.next
        )?;
    }
    if counts.without_effect + counts.skipped > 0 {
        writeln!(
            out,
            "{} events without effect (their authors had no right to say them), {} of unknown ancillary kinds",
            counts.without_effect, counts.skipped
        )?;
    }
    Ok(())
}

/// A stored batch with its entry.
struct Located<'a> {
    entry: Entry,
    batch: Batch<'a>,
}

fn located(stored: &[u8]) -> Result<Located<'_>, Failure> {
    let damaged = |error: &str| Failure::new(Kind::Corrupt, "reading the ledger", error);
    let (entry, _, bytes) = Entry::split(stored).ok_or_else(|| damaged("an entry is cut short"))?;
    let batch = Batch::parse(bytes).map_err(|error| damaged(&error.to_string()))?;
    Ok(Located { entry, batch })
}

/// An event as `--json` prints it.
#[derive(Serialize)]
struct Shown<'a> {
    position: Seq,
    kind: &'static str,
    at: String,
    received: String,
    author: AuthorId,
    author_seq: u64,
    batch: String,
    subject: String,
    says: Body<'a>,
}

fn json_failure(error: serde_json::Error) -> Failure {
    Failure::new(Kind::Corrupt, "writing JSON", error)
}

fn export(log: &LedgerView<'_>, path: &PathBuf) -> Result<(), Failure> {
    let exporting =
        |error: std::io::Error| Failure::usage(format!("exporting to {}", path.display()), error);
    let mut file = BufWriter::new(File::create_new(path).map_err(exporting)?);
    let bar = progress::bar("exporting", log.head().next);
    let mut outcome = Ok(());
    log.read(0, &mut |first, stored| {
        bar.set_position(first);
        let length = u32::try_from(stored.len()).unwrap_or(u32::MAX).to_be_bytes();
        outcome = file.write_all(&length).and_then(|()| file.write_all(stored));
        if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    bar.finish_and_clear();
    outcome.and_then(|()| file.flush()).map_err(exporting)
}

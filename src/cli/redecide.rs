//! `ferry replay --redecide`: recorded decisions made again, and compared.

use std::io::Write as _;

use events::entry::Entry;
use events::head::Head;
use events::ids::{Millis, Seq};
use events::kind::KindTable;
use events::log::ReadLog as _;
use projections::world::World;
use replay::dates::instant;
use replay::decider::Decider;
use replay::policy_file::PolicyFile;
use replay::redecide::{NotRemade, Redecided, Start, redecide};
use serde::Serialize;

use super::prices::bundled_lists;
use super::print_json;
use crate::failure::{Failure, Kind};
use crate::ledger::{Ledger, LedgerView};
use crate::progress;
use crate::store::{Home, Snapshots};

const WEEK_MS: Millis = 7 * 86_400_000;

/// Which decisions are to be made again, and how it is told.
pub(super) struct Remake {
    /// From when on; `None`: the newest seven days.
    pub(super) since: Option<Millis>,
    /// Whether the fold may begin at a snapshot.
    pub(super) from_snapshot: bool,
    pub(super) json: bool,
    pub(super) digest_only: bool,
}

#[derive(Serialize)]
struct Told<'r> {
    since: String,
    #[serde(flatten)]
    made: &'r Redecided,
}

impl Remake {
    pub(super) fn run(
        &self,
        ledger: &Ledger,
        home: &Home,
        given: Option<PolicyFile>,
    ) -> Result<(), Failure> {
        let view = ledger.view()?;
        let since = match self.since {
            Some(since) => since,
            None => newest(&view)?.saturating_sub(WEEK_MS),
        };
        let snapshot = if self.from_snapshot { snapshot(&view, home, since)? } else { None };
        let (id, lists) = (view.head().ledger, bundled_lists()?);
        let decider = match given {
            Some(policy) => Decider::given(id, lists, policy),
            None => Decider::new(id, lists),
        };
        let from = snapshot.as_ref().map_or(0, |(_, head)| head.next);
        let bar = progress::bar("deciding again", view.head().next - from);
        let start = Start { snapshot, since };
        let made = redecide(&view, &KindTable::current(), decider, start, &mut || bar.inc(1));
        bar.finish_and_clear();
        let made = made?;
        self.print(&made, since)?;
        if made.is_equal() {
            return Ok(());
        }
        let problem = format!("{} came out otherwise", made.differing);
        Err(Failure::new(Kind::Mismatch, "making decisions again", problem))
    }

    fn print(&self, made: &Redecided, since: Millis) -> Result<(), Failure> {
        let mut out = anstream::stdout().lock();
        let since = instant(since);
        if self.digest_only {
            writeln!(out, "{}", made.digest)?;
            return Ok(());
        }
        if self.json {
            return print_json(&mut out, &Told { since, made });
        }
        let Redecided { dispatches, refusals, charges, differing, .. } = made;
        writeln!(out, "Decisions since {since}, made again")?;
        writeln!(
            out,
            "  {dispatches} dispatches, {refusals} refusals and {charges} charges are equal, byte for byte"
        )?;
        if *differing > 0 {
            writeln!(out, "  {differing} came out otherwise")?;
        }
        for (reason, count) in &made.not_remade {
            writeln!(out, "  {count} {}", not_remade(reason))?;
        }
        writeln!(out, "  set aside ${}, charged ${}", made.reserved, made.charged)?;
        for difference in &made.differences {
            let (position, turn) = (difference.position, difference.turn);
            writeln!(out, "\nPosition {position}, turn {turn}, attempt {}", difference.attempt)?;
            for (field, recorded, again) in &difference.fields {
                writeln!(out, "  {field}\n    recorded {recorded}\n    again    {again}")?;
            }
        }
        writeln!(out, "digest {}", made.digest)?;
        Ok(())
    }
}

fn not_remade(reason: &NotRemade) -> String {
    match reason {
        NotRemade::OtherVersion { decide, world } => {
            format!("were made by decide v{decide} on folds v{world}, and are not made again")
        }
        NotRemade::OtherPolicy { policy } => {
            format!("were made under other rules or lists ({policy}), and are not made again")
        }
    }
}

/// When the newest batch was taken in.
fn newest(view: &LedgerView<'_>) -> Result<Millis, Failure> {
    let mut received = 0;
    view.batch_at(view.head().next.saturating_sub(1), &mut |stored| {
        received = Entry::split(stored).map_or(0, |(entry, ..)| entry.received);
    })?;
    Ok(received)
}

/// The newest snapshot that stands on the log at or before a position.
pub(super) fn snapshot_at(
    view: &LedgerView<'_>,
    home: &Home,
    position: Seq,
) -> Result<Option<(World, Head)>, Failure> {
    snapshot_where(view, home, |_, head| head.next <= position)
}

/// The newest snapshot that stands on the log before an instant.
fn snapshot(
    view: &LedgerView<'_>,
    home: &Home,
    since: Millis,
) -> Result<Option<(World, Head)>, Failure> {
    // Nothing that is to be decided again lies before it.
    snapshot_where(view, home, |world, _| world.counts.latest < since)
}

fn snapshot_where(
    view: &LedgerView<'_>,
    home: &Home,
    will_do: impl Fn(&World, &Head) -> bool,
) -> Result<Option<(World, Head)>, Failure> {
    let snapshots = Snapshots::of(home, view.head().ledger)?;
    let mut failed = None;
    let found = snapshots.newest_where(|world, head| {
        if !will_do(world, head) {
            return false;
        }
        stands(view, head).unwrap_or_else(|failure| {
            failed = Some(failure);
            false
        })
    });
    failed.map_or(Ok(found), Err)
}

/// True when the log has the head's link at its position.
fn stands(view: &LedgerView<'_>, head: &Head) -> Result<bool, Failure> {
    let position = head.next;
    if position == 0 || position >= view.head().next {
        return Ok(false);
    }
    let mut link = None;
    view.batch_at(position, &mut |stored| {
        link = Entry::split(stored)
            .filter(|(entry, ..)| entry.first == position)
            .map(|(entry, ..)| entry.previous);
    })?;
    Ok(link == Some(head.link))
}

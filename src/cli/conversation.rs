//! The events of single turns and of whole conversations, found by index: a look at one need not read all.

use std::collections::{BTreeMap, BTreeSet};

use events::batch::Batch;
use events::entry::Entry;
use events::event::{Body, EventRef};
use events::ids::{Seq, Subject};
use events::kind::KindTable;
use events::log::ReadLog as _;
use events::payload::{Charge, Stream};
use events::sign::{BATCH_PREFIX, Verifier};
use projections::gather::{Gather, Window};
use projections::keyring::Keyring;
use projections::projection::{Context, Located};
use replay::dates::instant;
use serde::Serialize;
use serde_json::Value;

use super::decisions;
use crate::failure::{Failure, Kind};
use crate::ledger::LedgerView;

/// A stored event, as it is shown.
#[derive(Debug, Serialize)]
pub(super) struct ShownEvent {
    pub(super) position: Seq,
    pub(super) kind: &'static str,
    pub(super) at: String,
    pub(super) received: String,
    pub(super) author: String,
    pub(super) batch: String,
    /// Whether the author's signature over the batch is good.
    pub(super) signature: String,
    /// Whether its author had the right to say it: what has not counts for nothing.
    pub(super) counts: bool,
    pub(super) says: Value,
}

/// Reads single events of a ledger.
pub(super) struct Events<'v> {
    view: &'v LedgerView<'v>,
    keyring: &'v Keyring,
    kinds: KindTable,
}

impl<'v> Events<'v> {
    pub(super) fn new(view: &'v LedgerView<'v>, keyring: &'v Keyring) -> Self {
        Self { view, keyring, kinds: KindTable::current() }
    }

    /// The events about a turn, in the order of the log.
    pub(super) fn about(&self, turn: Subject) -> Result<Vec<ShownEvent>, Failure> {
        let positions: BTreeSet<Seq> = self.view.positions_about(&turn)?.into_iter().collect();
        let mut verifier = Verifier::new();
        let mut shown = Vec::new();
        self.each(&positions, &mut |stored, entry, located, event, body| {
            let signature = verifier
                .verify(
                    &located.context.author,
                    BATCH_PREFIX,
                    stored.header_bytes,
                    &entry.signature,
                )
                .map_or_else(|error| error.to_string(), |()| "good".to_owned());
            shown.push(ShownEvent {
                position: located.context.seq,
                kind: self.kinds.get(event.kind).map_or("unknown", |spec| spec.name),
                at: instant(event.at),
                received: instant(entry.received),
                author: located.context.author.to_string(),
                batch: located.batch.to_string(),
                signature,
                counts: self.counts(located),
                // What a payload says is plain data.
                says: serde_json::to_value(body).unwrap_or_default(),
            });
        })?;
        Ok(shown)
    }

    /// The conversation a turn is in, as is known now, and what sent it; `None` where nothing about it counts.
    pub(super) fn conversation(&self, turn: Subject) -> Result<Option<(Subject, String)>, Failure> {
        let positions: BTreeSet<Seq> = self.view.positions_about(&turn)?.into_iter().collect();
        let mut found = None;
        self.each(&positions, &mut |_, _, located, _, body| match body {
            Body::Turn(turn) if self.counts(located) => {
                found.get_or_insert((turn.conversation, turn.client.as_str().to_owned()));
            }
            Body::Amend(amend) if self.counts(located) => {
                if let (Some((conversation, _)), Some(facts)) = (&mut found, amend.turn) {
                    *conversation = facts.conversation;
                }
            }
            _ => {}
        })?;
        Ok(found)
    }

    /// What a turn's attempts were charged with, as is known now.
    pub(super) fn charges(&self, turn: Subject) -> Result<BTreeMap<u16, Charge>, Failure> {
        let positions: BTreeSet<Seq> = self.view.positions_about(&turn)?.into_iter().collect();
        let mut charges = BTreeMap::new();
        self.each(&positions, &mut |_, _, located, _, body| {
            let (attempt, charge) = match body {
                Body::Result(result) => (result.attempt, result.charge),
                Body::Amend(amend) => (amend.attempt, amend.booking.map(|booking| booking.now)),
                _ => return,
            };
            if let Some(charge) = charge.filter(|_| self.counts(located)) {
                charges.insert(attempt, charge);
            }
        })?;
        Ok(charges)
    }

    /// What was decided for a turn, one decision after another: where, and in lines.
    pub(super) fn decisions(&self, turn: Subject) -> Result<Vec<(Seq, Vec<String>)>, Failure> {
        let positions: BTreeSet<Seq> = self.view.positions_about(&turn)?.into_iter().collect();
        let mut decisions = Vec::new();
        self.each(&positions, &mut |_, _, located, _, body| {
            let lines = decisions::lines(body);
            if !lines.is_empty() && self.counts(located) {
                decisions.push((located.context.seq, lines));
            }
        })?;
        Ok(decisions)
    }

    /// Every turn of a conversation, gathered.
    pub(super) fn window(&self, conversation: Subject) -> Result<Window, Failure> {
        let about: BTreeSet<Seq> = self.view.positions_about(&conversation)?.into_iter().collect();
        let mut turns = BTreeSet::new();
        self.each(&about, &mut |_, _, located, _, _| {
            turns.insert(located.context.subject);
        })?;
        let mut positions = BTreeSet::new();
        for turn in &turns {
            positions.extend(self.view.positions_about(turn)?);
        }
        let mut gather = Gather::new(self.view.head().ledger, true);
        self.each(&positions, &mut |_, _, located, _, body| {
            if self.counts(located) {
                gather.tell(located, body);
            }
        })?;
        Ok(gather.resolve().window(0, u64::MAX))
    }

    /// What the world would say of it: of turns proxies tell, and people what they think of answers.
    fn counts(&self, located: &Located) -> bool {
        let Context { author, seq, written_by, .. } = located.context;
        let streams = [Stream::Proxy, Stream::People];
        let told_by = written_by.filter(|stream| streams.contains(stream));
        told_by.is_some_and(|stream| self.keyring.could_write(&author, stream, seq))
    }

    /// Shows the events at some positions; each stored batch is read once.
    fn each(&self, positions: &BTreeSet<Seq>, see: &mut See<'_>) -> Result<(), Failure> {
        let mut rest = positions.iter().copied().peekable();
        while let Some(next) = rest.peek().copied() {
            let mut outcome = Ok(());
            let mut end = next;
            self.view.batch_at(next, &mut |stored| {
                outcome = self.see_batch(stored, positions, see).map(|batch_end| end = batch_end);
            })?;
            outcome?;
            if end <= next {
                let problem = "the log has no such event; run ferry ledger verify";
                return Err(Failure::new(Kind::Corrupt, format!("position {next}"), problem));
            }
            while rest.next_if(|position| *position < end).is_some() {}
        }
        Ok(())
    }

    /// Where the batch ends.
    fn see_batch(
        &self,
        stored: &[u8],
        positions: &BTreeSet<Seq>,
        see: &mut See<'_>,
    ) -> Result<Seq, Failure> {
        let damaged =
            |what: &str| Failure::new(Kind::Corrupt, "reading the ledger", what.to_owned());
        let (entry, _, bytes) =
            Entry::split(stored).ok_or_else(|| damaged("an entry is cut short"))?;
        let batch = Batch::parse(bytes).map_err(|error| damaged(&error.to_string()))?;
        let end = entry.first.saturating_add(u64::from(batch.header.count));
        for ((index, event), seq) in (0..).zip(batch.events()).zip(entry.first..) {
            if !positions.contains(&seq) {
                continue;
            }
            let body = event.decode(&self.kinds).map_err(|error| damaged(&error.to_string()))?;
            let context = Context {
                seq,
                author: batch.header.author,
                written_by: self.kinds.get(event.kind).map(|spec| spec.written_by),
                received: entry.received,
                at: event.at,
                subject: event.subject,
            };
            see(&batch, &entry, &Located { context, batch: batch.id, index }, &event, &body);
        }
        Ok(end)
    }
}

type See<'s> = dyn FnMut(&Batch<'_>, &Entry, &Located, &EventRef<'_>, &Body<'_>) + 's;

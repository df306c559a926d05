//! What goes on at one instant of a synthetic ledger: a bounded number of lanes, and what is to come.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use events::hash::LedgerSecret;
use events::ids::{AuthorId, LedgerId, Millis, Subject};
use events::payload::{Amend, Stream};
use events::sign::SigningKey;

use super::desk::{By, Desk};
use super::dice::{Dice, Draw};
use super::lane::Lane;
use super::{START, SynthError, Totals, policy};
use crate::book_file::BookFile;
use crate::sample;

/// Sessions going on at once; each may have one sub-agent at work beside it.
const SESSIONS_LIVE: usize = 40;

/// The keys a synthetic ledger is written with.
pub(super) struct Cast {
    /// The owner's node key.
    pub(super) node: SigningKey,
    /// The owner's proxy.
    pub(super) proxy: SigningKey,
    /// Another machine's proxy.
    pub(super) second: SigningKey,
    /// Takes the second proxy's place half-way.
    pub(super) successor: SigningKey,
    /// What people say.
    pub(super) people: SigningKey,
    /// Enrolled keys that have nothing to write yet.
    pub(super) silent: [(Stream, AuthorId); 1],
}

/// A better figure that is still to come.
pub(super) struct Late {
    /// Who writes it.
    pub(super) by: By,
    /// The turn it is about.
    pub(super) turn: Subject,
    /// The figure.
    pub(super) amend: Amend<'static>,
    /// Whether it is corrected once more.
    pub(super) again: bool,
}

/// What the second proxy has read since it last summed up.
#[derive(Clone, Copy, Default)]
pub(super) struct Read {
    /// Turns nobody else told of.
    pub(super) turns: u64,
    /// Turns the owner's proxy told of too.
    pub(super) repeated: u64,
    /// Better figures.
    pub(super) amended: u64,
}

/// A ledger being written.
pub(super) struct Stage {
    /// Turns it is to have.
    pub(super) turns: u64,
    /// The ledger's dice.
    pub(super) dice: Dice,
    /// What keys the digests of imported ids.
    pub(super) secret: LedgerSecret,
    /// The prices it begins with.
    pub(super) book: BookFile,
    /// Where its authors write.
    pub(super) desk: Desk,
    /// What has been written so far.
    pub(super) totals: Totals,
    /// What the next import event tells of.
    pub(super) read: Read,
    /// Better figures still to come, by instant and a number that tells them apart.
    pub(super) late: BTreeMap<(Millis, u64), Late>,
    /// Turns decided so far.
    pub(super) decided: u64,
    /// Price changes so far.
    pub(super) price_changes: u32,
    /// Findings so far.
    pub(super) findings: usize,
    /// The second proxy's next key.
    pub(super) successor: Option<SigningKey>,
    /// True time, which lanes live by.
    pub(super) now: Millis,
    /// How far the clocks that stamp events are behind it.
    pub(super) setback: Millis,
    lanes: Vec<Option<Lane>>,
    /// When each lane acts next.
    due: BinaryHeap<Reverse<(Millis, usize)>>,
    sessions: u64,
}

impl Stage {
    /// Opens a ledger and lets its first sessions begin.
    ///
    /// # Errors
    /// None: what it writes is within the format's bounds.
    pub(super) fn open(
        (turns, seed): (u64, u64),
        secret: LedgerSecret,
        ledger: LedgerId,
        cast: Cast,
        batch_events: usize,
    ) -> Result<Self, SynthError> {
        let mut stage = Self {
            turns,
            dice: Dice::new(seed),
            secret,
            book: sample::book()?,
            desk: Desk::new(
                ledger,
                [cast.node, cast.proxy, cast.second, cast.people],
                batch_events,
                policy::decider(ledger),
            ),
            totals: Totals::default(),
            read: Read::default(),
            late: BTreeMap::new(),
            decided: 0,
            price_changes: 0,
            findings: 0,
            successor: Some(cast.successor),
            now: START,
            setback: 0,
            lanes: (0..2 * SESSIONS_LIVE).map(|_| None).collect(),
            due: BinaryHeap::new(),
            sessions: 0,
        };
        stage.enrol(&cast.silent)?;
        stage.price()?;
        stage.rule()?;
        for slot in 0..SESSIONS_LIVE {
            stage.begin(slot)?;
        }
        Ok(stage)
    }

    /// Lanes and late figures it keeps at the moment.
    #[cfg(test)]
    pub(super) fn load(&self) -> usize {
        self.lanes.iter().flatten().count() + self.late.len() + self.due.len()
    }

    /// What the clocks that stamp events say.
    pub(super) const fn clock(&self) -> Millis {
        self.now - self.setback
    }

    /// Lets the next thing happen; false when nothing is left to happen.
    ///
    /// # Errors
    /// None: what it writes is within the format's bounds.
    pub(super) fn step(&mut self) -> Result<bool, SynthError> {
        let due = self.due.peek().map(|Reverse((at, _))| *at);
        let late = self.late.first_key_value().map(|((at, _), _)| *at);
        match (due, late) {
            (None, None) => return Ok(false),
            (Some(due), late) if late.is_none_or(|late| due < late) => self.act()?,
            _ => self.amend()?,
        }
        Ok(true)
    }

    /// The lane that is due sends its next turn, or an attempt of it ends.
    fn act(&mut self) -> Result<(), SynthError> {
        let Some(Reverse((at, slot))) = self.due.pop() else { return Ok(()) };
        self.now = at;
        let Some(mut lane) = self.lanes[slot].take() else { return Ok(()) };
        match lane.asked.take() {
            Some(asked) => self.answer(&mut lane, asked)?,
            // Once the ledger has its turns, whoever does not wait for an answer leaves.
            None if self.totals.turns == self.turns => return Ok(()),
            None => self.ask(&mut lane)?,
        }
        if let Some(asked) = &lane.asked {
            self.due.push(Reverse((at + Millis::from(asked.latency_ms()), slot)));
        } else if lane.is_over() {
            return if slot < SESSIONS_LIVE { self.begin(slot) } else { Ok(()) };
        } else {
            self.due.push(Reverse((at + lane.pause(), slot)));
            self.spawn(slot, &mut lane);
        }
        self.lanes[slot] = Some(lane);
        Ok(())
    }

    /// A new session begins in a slot.
    fn begin(&mut self, slot: usize) -> Result<(), SynthError> {
        let lane = Lane::main(self.sessions, self.dice, &self.secret)?;
        self.sessions += 1;
        self.due.push(Reverse((self.now + lane.pause(), slot)));
        self.lanes[slot] = Some(lane);
        Ok(())
    }

    /// Now and then a main agent calls a sub-agent, which works beside it.
    fn spawn(&mut self, slot: usize, lane: &mut Lane) {
        let beside = slot + SESSIONS_LIVE;
        let is_free = self.lanes.get(beside).is_some_and(Option::is_none);
        if is_free && lane.turn_dice().one_in(Draw::Spawns, 24) {
            let subagent = lane.spawn(&self.secret);
            self.due.push(Reverse((self.now + subagent.pause() / 8, beside)));
            self.lanes[beside] = Some(subagent);
        }
    }
}

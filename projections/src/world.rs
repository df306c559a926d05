//! The world: the product of all folds at a position.

use std::collections::BTreeMap;

use events::event::Body;
use events::ids::{AuthorId, Digest, Millis};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use crate::book::Book;
use crate::days::Days;
use crate::in_force::Policies;
use crate::keyring::{Key, Keyring};
use crate::projection::{
    Context, Order, Projection, SnapshotError, combined, restored, snapshot_of,
};
use crate::routing::Routing;

/// What came of telling the world an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It counts.
    Applied,
    /// Its author had no right to say it, or it makes no sense where it stands: stored, counted, no more.
    WithoutEffect,
    /// An ancillary kind this build does not know.
    Skipped,
}

/// How many events there were, and how many had no effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// All events.
    pub events: u64,
    /// Without authority or sense.
    pub without_effect: u64,
    /// Of unknown ancillary kinds.
    pub skipped: u64,
    /// The latest instant one was taken in at. Clocks are set back: the newest may have been taken in before.
    pub latest: Millis,
}

/// Everything derived from a ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct World {
    /// Who may write what.
    pub keyring: Keyring,
    /// What engines charge.
    pub book: Book,
    /// The rules in force.
    pub policies: Policies,
    /// What happened per day.
    pub days: Days,
    /// What decisions on turns are made from.
    pub routing: Routing,
    /// How many events there were.
    pub counts: Counts,
}

impl World {
    /// Takes one event in and says whether it counts.
    pub fn tell(&mut self, context: &Context, body: &Body<'_>) -> Effect {
        self.counts.events += 1;
        self.counts.latest = self.counts.latest.max(context.received);
        let is_possible = self.keyring.allows(context, body)
            && self.follow_keys(context, body)
            && self.follows_rules(body);
        if !is_possible {
            self.counts.without_effect += 1;
            return Effect::WithoutEffect;
        }
        if let Body::Unknown(_) = body {
            self.counts.skipped += 1;
            return Effect::Skipped;
        }
        self.book.apply(context, body);
        self.policies.apply(context, body);
        self.days.apply(context, body);
        self.routing.apply(context, body);
        Effect::Applied
    }

    /// False for rules that do not follow on the ones in force.
    fn follows_rules(&self, body: &Body<'_>) -> bool {
        match body {
            Body::Policy(set) => self.policies.follows(set),
            _ => true,
        }
    }

    /// Follows a change of keys; false when it is impossible, though its author may say such things.
    fn follow_keys(&mut self, context: &Context, body: &Body<'_>) -> bool {
        match body {
            Body::Actor(actor) => self.keyring.change(actor, context.seq),
            Body::LedgerOpened(opened) => self.keyring.open(opened.node),
            _ => true,
        }
    }
}

impl Projection for World {
    const NAME: &'static str = "world";
    const VERSION: u32 = 4;
    const ORDER: Order = Order::Local;

    fn genesis() -> Self {
        Self {
            keyring: Keyring::new(),
            book: Book::genesis(),
            policies: Policies::genesis(),
            days: Days::genesis(),
            routing: Routing::genesis(),
            counts: Counts::default(),
        }
    }

    fn apply(&mut self, context: &Context, body: &Body<'_>) {
        self.tell(context, body);
    }

    fn settle(&mut self) {
        self.keyring.settle();
        self.book.settle();
        self.policies.settle();
        self.days.settle();
        self.routing.settle();
    }

    fn digest(&self) -> Digest {
        let counts = snapshot_of::<Self>(&self.counts);
        let counts = events::hash::digest(events::hash::Domain::State, &counts);
        combined(
            Self::NAME,
            &[
                self.keyring.table().digest(),
                self.book.digest(),
                self.policies.digest(),
                self.days.digest(),
                self.routing.digest(),
                counts,
            ],
        )
    }

    fn snapshot(&self) -> Vec<u8> {
        let parts = [
            self.book.snapshot(),
            self.policies.snapshot(),
            self.days.snapshot(),
            self.routing.snapshot(),
        ]
        .map(ByteBuf::from);
        snapshot_of::<Self>(&(self.keyring.table(), parts, self.counts))
    }

    fn restore(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let (keys, parts, counts): State = restored::<Self, _>(bytes)?;
        let [book, policies, days, routing] = &parts;
        Ok(Self {
            keyring: Keyring::of(keys),
            book: Book::restore(book)?,
            policies: Policies::restore(policies)?,
            days: Days::restore(days)?,
            routing: Routing::restore(routing)?,
            counts,
        })
    }
}

type State = (BTreeMap<AuthorId, Key>, [ByteBuf; 4], Counts);

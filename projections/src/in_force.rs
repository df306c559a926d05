//! The rules in force: what the newest policy of each scope says.

use std::collections::BTreeMap;

use events::event::Body;
use events::ids::{Digest, Millis, Seq};
use events::payload::PolicySet;
use serde::{Deserialize, Serialize};

use crate::projection::{Context, Order, Projection, SnapshotError, restored, snapshot_of};
use crate::table::Table;

/// A policy that is in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InForce {
    /// How often the scope's rules were set, this time included.
    pub sequence: u32,
    /// The event that set it.
    pub seq: Seq,
    /// When it was taken in.
    pub since: Millis,
    /// What it says: TOML.
    pub text: String,
}

/// The rules in force.
#[derive(Clone, Debug, PartialEq)]
pub struct Policies {
    by_scope: Table<String, InForce>,
}

impl Policies {
    /// The rules the whole ledger goes by; `None` before any are set.
    #[must_use]
    pub fn ledger(&self) -> Option<&InForce> {
        self.by_scope.get(PolicySet::LEDGER)
    }

    /// True when a change follows on what is in force: one that was made from older rules would undo what lies between.
    #[must_use]
    pub fn follows(&self, set: &PolicySet<'_>) -> bool {
        let before = self.by_scope.get(set.scope.as_str()).map_or(0, |policy| policy.sequence);
        set.scope.as_str() == PolicySet::LEDGER && before.checked_add(1) == Some(set.sequence)
    }
}

impl Projection for Policies {
    const NAME: &'static str = "policies";
    const VERSION: u32 = 1;
    const ORDER: Order = Order::Local;

    fn genesis() -> Self {
        Self { by_scope: Table::new("policies") }
    }

    fn apply(&mut self, context: &Context, body: &Body<'_>) {
        let Body::Policy(set) = body else { return };
        if self.follows(set) {
            let in_force = InForce {
                sequence: set.sequence,
                seq: context.seq,
                since: context.received,
                text: set.text.to_owned(),
            };
            self.by_scope.insert(set.scope.as_str().to_owned(), in_force);
        }
    }

    fn settle(&mut self) {
        self.by_scope.settle();
    }

    fn digest(&self) -> Digest {
        self.by_scope.digest()
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot_of::<Self>(&self.by_scope)
    }

    fn restore(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let by_scope: BTreeMap<String, InForce> = restored::<Self, _>(bytes)?;
        Ok(Self { by_scope: Table::of("policies", by_scope) })
    }
}

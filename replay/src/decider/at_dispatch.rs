//! What engines charged when turns were dispatched to them, until what came of it is known.

use std::collections::BTreeMap;

use events::ids::{Millis, Subject};
use projections::tariffs::Tariffs;

/// Dispatches that are remembered: those in flight, and those that were estimated and may be corrected.
const DISPATCHES_MAX: usize = 16_384;

/// The prices of one dispatch.
#[derive(Clone, Debug)]
pub(super) struct Held {
    dispatched: Millis,
    /// `None` where nobody knew its engine's.
    pub(super) tariffs: Option<Tariffs>,
}

/// The prices that held when turns were dispatched, by turn and attempt.
#[derive(Clone, Debug)]
pub(super) struct AtDispatch(BTreeMap<(Subject, u16), Held>);

impl AtDispatch {
    pub(super) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    pub(super) fn get(&self, attempt: (Subject, u16)) -> Option<&Held> {
        self.0.get(&attempt)
    }

    /// Remembers a dispatch; of too many the half that was made last is kept.
    pub(super) fn remember(
        &mut self,
        attempt: (Subject, u16),
        dispatched: Millis,
        tariffs: Option<Tariffs>,
    ) {
        if self.0.len() >= DISPATCHES_MAX {
            let mut instants: Vec<Millis> = self.0.values().map(|held| held.dispatched).collect();
            instants.sort_unstable();
            let middle = instants[instants.len() / 2];
            self.0.retain(|_, held| held.dispatched > middle);
        }
        self.0.insert(attempt, Held { dispatched, tariffs });
    }

    pub(super) fn forget(&mut self, attempt: (Subject, u16)) {
        self.0.remove(&attempt);
    }
}

//! How attempts and turns end.

use events::event::Events;
use events::ids::{Millis, Subject};
use events::money::Pico;
use events::payload::{
    Charge, DispatchResult, Ending, EngineFault, FaultClass, Finish, Name, Parts, RawPairs,
    TurnClosed,
};
use events::usage::Usage;
use projections::decide::AttemptEnd;
use projections::routing::flights::Flight;
use projections::world::World;
use serde::{Deserialize, Serialize};

use super::{Decider, DeciderError};

/// How an engine failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// How.
    pub class: FaultClass,
    /// Status of its answer, where there was one.
    pub status: Option<u16>,
    /// How long it asks to be left alone, in milliseconds.
    pub retry_after_ms: Option<u32>,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempted<'a> {
    /// Attempts before it.
    pub attempt: u16,
    /// The engine that served it.
    #[serde(borrow)]
    pub engine: Name<'a>,
    /// What it used.
    pub usage: Usage,
    /// The same, as the provider said it.
    pub raw_usage: RawPairs<'a>,
    /// What the answer holds.
    pub parts: Option<Parts>,
    /// Why the answer ended.
    pub finish: Finish,
    /// From request to the first of the answer, in milliseconds.
    pub first_ms: Option<u32>,
    /// From request to last byte, in milliseconds.
    pub latency_ms: Option<u32>,
    /// How the engine failed, where it did.
    pub fault: Option<Fault>,
    /// What the provider says it cost.
    pub reported: Option<Pico>,
    /// False only where no byte of it can have reached the engine.
    pub reached_engine: bool,
}

impl<'a> Attempted<'a> {
    /// An attempt of which nothing is known but that it is over.
    #[must_use]
    pub fn unknown(attempt: u16, engine: Name<'a>) -> Self {
        Self {
            attempt,
            engine,
            usage: Usage::default(),
            raw_usage: RawPairs::default(),
            parts: None,
            finish: Finish::Unknown,
            first_ms: None,
            latency_ms: None,
            fault: None,
            reported: None,
            reached_engine: true,
        }
    }

    pub(super) const fn end(&self) -> AttemptEnd<'a> {
        AttemptEnd {
            engine: self.engine.as_str(),
            usage: self.usage,
            reported: self.reported,
            reached_engine: self.reached_engine,
        }
    }

    pub(super) fn result(&self, turn_at: Millis, charge: Charge) -> DispatchResult<'a> {
        DispatchResult { charge: Some(charge), ..self.told(turn_at) }
    }

    /// What is written of the engine, where it failed: of the one that was dispatched to.
    pub(super) const fn engine_fault<'e>(&self, dispatched: Name<'e>) -> Option<EngineFault<'e>> {
        let Some(Fault { class, status, retry_after_ms }) = self.fault else { return None };
        let attempt = self.attempt;
        Some(EngineFault { attempt, engine: dispatched, class, status, retry_after_ms })
    }

    /// The result of an attempt that is only told of: nobody here charges anything.
    #[must_use]
    pub fn told(&self, turn_at: Millis) -> DispatchResult<'a> {
        DispatchResult {
            attempt: self.attempt,
            turn_at,
            engine: self.engine,
            usage: self.usage,
            raw_usage: self.raw_usage.clone(),
            parts: self.parts,
            finish: self.finish,
            first_ms: self.first_ms,
            latency_ms: self.latency_ms,
            charge: None,
        }
    }
}

/// Writes the end of a turn, and before it of every attempt that has none: what was set aside for it is taken, since
/// nobody says what it cost. With a decider, the marks of budgets that this passes are written too.
///
/// # Errors
/// [`DeciderError`].
pub fn close(
    world: &World,
    mut decider: Option<&mut Decider>,
    (turn, flight): (&Subject, &Flight),
    now: Millis,
    closed: &TurnClosed,
    events: &mut Events,
) -> Result<(), DeciderError> {
    for open in &flight.open {
        let Ok(engine) = Name::new(&open.engine) else { continue };
        let attempted = Attempted::unknown(open.attempt, engine);
        let charge = open.estimated();
        events.push(now, *turn, &attempted.result(flight.arrival.at, charge))?;
        if let Some(decider) = decider.as_deref_mut() {
            decider.mark(world, (turn, flight, open), now, charge, events)?;
        }
    }
    Ok(events.push(now, *turn, closed)?)
}

/// The end of a turn whose owner is gone.
#[must_use]
pub fn orphaned(flight: &Flight) -> TurnClosed {
    TurnClosed { ending: Ending::Failed, attempts: flight.attempts(), bytes_sent: None }
}

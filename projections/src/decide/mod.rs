//! What a turn comes to: an engine, with money set aside for it, or a refusal.
//!
//! A pure function of the world, the policy, the prices and the instant. The same inputs give the same bytes.

mod asking;
mod candidates;
mod catalogue;
mod choice;
mod field;
mod objective;
mod patterns;
mod record;
mod settle;
mod tiering;
mod weighing;

use events::ids::{LedgerId, Millis, Subject};
use events::payload::{Dispatch, Refusal};

pub use self::asking::Asking;
pub use self::candidates::{Candidate, Relax};
pub use self::catalogue::{Market, Offer};
pub use self::choice::Making;
pub use self::field::{Entry, Field, TierAsks};
pub use self::settle::{AttemptEnd, charge, crossings};
pub use self::tiering::Tiering;
pub use self::weighing::Weighing;
use crate::policy::Rules;
use crate::routing::flights::Flight;
use crate::work::{Size, Work};
use crate::world::World;

/// Raised whenever the same inputs come to mean another decision.
pub const VERSION: u16 = 2;

/// What a decision is made from.
#[derive(Clone, Copy)]
pub struct Inputs<'d> {
    /// Everything the ledger says.
    pub world: &'d World,
    /// What people say.
    pub rules: &'d Rules,
    /// What engines charge, and are.
    pub market: &'d Market,
    /// The ledger: what draws are keyed by.
    pub ledger: &'d LedgerId,
    /// The turn.
    pub turn: &'d Subject,
    /// When it is, by the ledger's clock.
    pub now: Millis,
    /// The kind of an order whose engine is asked for; `None`: what the turn is taken for.
    pub work: Option<(Work, Size)>,
}

/// What a turn comes to.
#[derive(Clone, Debug)]
pub enum Decision<'d> {
    /// It is handed to an engine.
    Dispatch(Dispatch<'d>),
    /// Nothing may be dispatched.
    Refusal(Refusal<'d>),
}

impl Decision<'_> {
    /// True when the turn is handed to an engine.
    #[must_use]
    pub const fn is_dispatch(&self) -> bool {
        matches!(self, Self::Dispatch(_))
    }
}

/// Decides a turn in flight: the engine of its next attempt.
#[must_use]
pub fn decide<'d>(inputs: Inputs<'d>, flight: &'d Flight) -> Decision<'d> {
    let mut making = Making::new(inputs, flight);
    let outcome = making.choose();
    making.write(&outcome)
}

/// The same, with everything that was looked at.
#[must_use]
pub fn consider<'d>(inputs: Inputs<'d>, flight: &'d Flight) -> (Decision<'d>, Making<'d>) {
    let mut making = Making::new(inputs, flight);
    let outcome = making.choose();
    (making.write(&outcome), making)
}

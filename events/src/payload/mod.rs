//! The payloads: one file per kind, each a frozen struct in its newest version.
//!
//! A payload is MessagePack in compact array form. Fields are never reordered, skipped or given
//! defaults; a change makes a new version, and `upcast` alone knows the old ones. Structs nested in
//! a payload are frozen with it.

mod actor;
mod amend;
mod ask;
mod budget;
mod charge;
mod clock_corrected;
mod dispatch;
mod engine_fault;
mod features;
mod feedback;
mod finding;
mod import;
mod ledger_opened;
mod name;
mod policy;
mod price;
mod price_book;
mod raw_usage;
mod refusal;
mod result;
mod turn;
mod turn_closed;

pub use actor::{Actor, ActorChange, Stream};
pub use amend::{Amend, AmendReason, TurnFacts};
pub use ask::{Ask, Task, TurnKind, TurnTier};
pub use budget::{BudgetCrossed, BudgetFact, BudgetPeriod, BudgetScope};
pub use charge::{Booking, Charge, ChargeBasis};
pub use clock_corrected::ClockCorrected;
pub use dispatch::{
    Arm, CacheTtl, Choice, Class, ClassSource, Dispatch, Draw, Exclusion, ExclusionCount, Forecast,
    MadeBy, Purpose, Reservation, ReserveBasis, TierReason,
};
pub use engine_fault::{EngineFault, FaultClass};
pub use features::{Anatomy, Effort, Features, Keywords, TextSize};
pub use feedback::{Feedback, Replaced, Verdict};
pub use finding::{Finding, FindingCode};
pub use import::Import;
pub use ledger_opened::LedgerOpened;
pub(crate) use name::is_printable_ascii;
pub use name::{Name, NameError, SourceKey};
pub use policy::PolicySet;
pub use price::{Capabilities, Price, Quality, Rates, Tier, Window};
pub use price_book::PriceBook;
pub use raw_usage::RawPairs;
pub use refusal::{Refusal, RefusalReason};
pub use result::{DispatchResult, Finish};
pub use turn::{Parts, Turn};
pub use turn_closed::{Ending, TurnClosed};

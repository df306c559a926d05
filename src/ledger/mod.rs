//! The ledger in use: one owner writes it, everybody else asks the owner.
//!
//! Whoever first gets the lock owns the store and serves a socket beside it; others connect to that. [`Ledger`] is whichever of the two a process has.

mod command;
mod decide;
mod follower;
mod group;
mod handle;
mod live;
mod open;
mod own_keys;
mod owner;
mod pace;
mod people;
mod socket;
mod turns;

pub use command::{
    Command, CommandError, Encoded, Outcome, PRICES_A_COMMAND_MAX, TURNS_A_COMMAND_MAX, encode_turn,
};
pub use handle::{Checkpoint, Handle, Queue};
pub use open::{Ledger, LedgerError, LedgerView};
pub use owner::{Owner, OwnerSettings};

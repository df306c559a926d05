//! The socket beside a ledger: how other processes ask its owner.

mod client;
mod path;
mod protocol;
mod server;

pub(super) use client::{AskError, Client, ConnectError};
pub(super) use protocol::{Ask, Reply};
pub(super) use server::Server;

//! ferry routes AI-agent work and keeps a signed, replayable ledger of what every call cost.
//!
//! This crate is the imperative shell: storage, command line, files. What it shows is computed by `replay`
//! and `projections`.

mod cli;
mod failure;
pub mod ledger;
mod progress;
mod render;
pub mod store;
mod traffic;
mod wire;

pub use cli::main;

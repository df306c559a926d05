//! Drives ferry's folds over any log: verify it, gather its turns, reprice them under other strategies.
//!
//! This crate does no I/O and knows no clock, entropy, environment, thread or float: the same log and
//! the same code give the same bytes.
#![deny(clippy::float_arithmetic)]

pub mod book_file;
mod chooser;
pub mod considered;
pub mod counterfactual;
pub mod dates;
pub mod decider;
pub mod default_book;
pub mod effective_book;
pub mod explain;
pub mod facts;
pub mod fault;
pub mod fold;
pub mod import;
pub mod naive;
pub mod policy_file;
pub mod prices;
pub mod quality_table;
pub mod redecide;
pub mod report;
pub mod reprice;
pub mod sample;
pub mod strategy;
pub mod synth;
pub mod writer;

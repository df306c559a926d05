//! ferry's folds and decisions: pure functions of a log.
//!
//! A projection says nothing the events do not say, and can be deleted and made again. This crate
//! does no I/O and knows no clock, entropy, environment, thread or float.
#![deny(clippy::float_arithmetic)]

pub mod book;
pub mod budgets;
pub mod cache;
pub mod calendar;
pub mod classify;
pub mod cost;
pub mod days;
pub mod decide;
pub mod estimates;
pub mod features;
pub mod forecast;
pub mod gather;
pub mod in_force;
pub mod keyring;
mod logarithm;
pub mod names;
pub mod policy;
pub mod profiles;
pub mod projection;
pub mod quality;
pub mod routing;
pub mod sufficiency;
pub mod table;
pub mod tariffs;
pub mod tokens;
pub mod work;
pub mod world;

//! Tests of the whole: the real binary, the sample week, the laws, the cases from the field.
#![expect(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod build;
mod cases;
mod cli;
mod counterfactual;
mod decisions;
mod golden;
mod history;
mod laws;
mod ledger;
mod oracle;
mod perturbed;
mod refusals;
mod store;

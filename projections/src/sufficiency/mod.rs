//! Who takes an order: the cheapest engine that is likely enough to do it well.
//!
//! Money is whole pico-dollars and chances are whole millionths, so what is close is compared exactly and the order in
//! which engines are given never matters.

mod choice;
mod price;
mod reason;
#[cfg(test)]
mod tests;

pub use choice::{
    Arm, Chosen, Decider, Floor, Terms, Tier, bias, choose, tier_distance, try_order,
};
pub use price::{
    ASSUMED_INPUT, ASSUMED_OUTPUT, CallPrice, Declared, Economy, Paid, Pricing, Week, assumed,
    price_of_call, scarcity, tokens_of_call,
};
pub use reason::{Note, Reason, Verdict};

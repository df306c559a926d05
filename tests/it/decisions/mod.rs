//! Decisions on turns: budgets under any interleaving, the golden log, the owner that makes them.

mod driver;
mod golden;
mod law_7;
mod owner;
mod random;
mod routing;
mod worked;

//! policy: signed rules, in force from their position on.

use serde::{Deserialize, Serialize};

use super::Name;

/// Rules that take the place of those before them. The subject is the scope's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicySet<'a> {
    /// Whose rules: `ledger` for all of it.
    #[serde(borrow)]
    pub scope: Name<'a>,
    /// Rises by one with every change of the scope: what does not follow on the newest has no effect.
    pub sequence: u32,
    /// The rules: TOML, without comments, tables and keys in order.
    pub text: &'a str,
}

impl PolicySet<'_> {
    /// The rules a whole ledger goes by.
    pub const LEDGER: &'static str = "ledger";
}

//! ledger-opened: the first event of every ledger.

use serde::{Deserialize, Serialize};

use crate::ids::AuthorId;

/// Opens a ledger. Authored by the node key it names; nothing before it, nothing like it after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerOpened {
    /// The owner's node key, which signs heads and enrols authors.
    pub node: AuthorId,
}

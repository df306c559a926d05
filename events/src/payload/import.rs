//! import: a source was read.

use serde::{Deserialize, Serialize};

use super::Name;
use crate::ids::Digest;

/// What reading a source came to. Ancillary: no number depends on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import<'a> {
    /// The source's format.
    #[serde(borrow)]
    pub source: Name<'a>,
    /// Rows read.
    pub rows: u64,
    /// Turns that were new.
    pub turns: u64,
    /// Rows that were in the ledger already.
    pub repeated: u64,
    /// Rows with a better figure for a turn in the ledger.
    pub amended: u64,
    /// Rows that could not be read; each was named to whoever imported.
    pub refused: u64,
    /// Digest of the source's bytes.
    pub digest: Digest,
}

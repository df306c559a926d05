//! price-book: closes an import of prices.

use serde::{Deserialize, Serialize};

use super::Name;
use crate::ids::Digest;

/// What an import of prices came to, and the names a book gives to engines and comparisons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceBook<'a> {
    /// Where the prices were read.
    #[serde(borrow)]
    pub source: Name<'a>,
    /// The day the prices are of, as `YYYY-MM-DD`.
    pub dated: Name<'a>,
    /// Engines in the book.
    pub engines: u32,
    /// Engines whose price was new or different: as many price events came before this one.
    pub changed: u32,
    /// Engines the book before had and this one lacks.
    pub missing: u32,
    /// Digest of the source's bytes.
    pub digest: Digest,
    /// Short names: (alias, engine).
    pub aliases: Vec<(Name<'a>, Name<'a>)>,
    /// Recorded models by the start of their name, the first match counts: (prefix, alias or engine).
    pub families: Vec<(Name<'a>, Name<'a>)>,
    /// Default comparisons: (label, strategy).
    pub rows: Vec<(Name<'a>, Name<'a>)>,
}

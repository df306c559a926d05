//! What a projection is, and what it is told of an event.

use events::event::Body;
use events::hash::{Domain, Hasher};
use events::ids::{AuthorId, BatchId, Digest, Millis, Seq, Subject};
use events::payload::Stream;

/// Whether a projection depends on how the authors' batches interleave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// It reads this ledger's order and times of receipt.
    Local,
    /// It reads only event id, author, `at` and payload: any interleaving gives the same.
    Free,
}

/// Where an event stands and who wrote it: what a fold may depend on.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// Its position.
    pub seq: Seq,
    /// Its author.
    pub author: AuthorId,
    /// The stream whose keys may write its kind; `None` for an ancillary kind this build does not know.
    pub written_by: Option<Stream>,
    /// When the owner took it in.
    pub received: Millis,
    /// When it happened, by its author's clock.
    pub at: Millis,
    /// What it is about.
    pub subject: Subject,
}

/// An event where it is stored. The world is told an event before its batch is sealed, so no fold of
/// the world sees more than the context.
#[derive(Clone, Copy, Debug)]
pub struct Located {
    /// Where it stands.
    pub context: Context,
    /// The batch it came in.
    pub batch: BatchId,
    /// Its index in the batch.
    pub index: u32,
}

/// Why a snapshot cannot be used; it is discarded then, and the fold starts earlier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// Made by another version of the projection.
    #[error("the snapshot is of {found}, this is {expected}")]
    OtherVersion {
        /// This projection and version.
        expected: String,
        /// The snapshot's.
        found: String,
    },
    /// The bytes do not decode.
    #[error("the snapshot does not decode: {0}")]
    Malformed(String),
}

/// A deterministic fold.
///
/// - `apply` is total: an event that makes no sense is counted and has no effect.
/// - Folding `a ++ b` equals restoring a snapshot of the fold of `a` and folding `b` (law 1).
/// - Equal states have equal digests. A digest is up to date after [`Projection::settle`].
pub trait Projection: Clone + PartialEq + Sized {
    /// Its name, part of its digest.
    const NAME: &'static str;
    /// Raised whenever `apply` comes to mean something else.
    const VERSION: u32;
    /// What it depends on.
    const ORDER: Order;

    /// The state before the first event.
    fn genesis() -> Self;

    /// Takes one event in.
    fn apply(&mut self, context: &Context, body: &Body<'_>);

    /// Brings the digest up to date; called at the end of each batch.
    fn settle(&mut self);

    /// Digest of the state, as of the last [`Projection::settle`].
    fn digest(&self) -> Digest;

    /// The state as bytes; equal states give equal bytes.
    fn snapshot(&self) -> Vec<u8>;

    /// The state of a snapshot.
    ///
    /// # Errors
    /// [`SnapshotError`] for another version or anything that is not a snapshot.
    fn restore(bytes: &[u8]) -> Result<Self, SnapshotError>;
}

/// Encodes a state behind its projection's name and version.
#[must_use]
pub fn snapshot_of<P: Projection>(state: &impl serde::Serialize) -> Vec<u8> {
    // Writing plain data to memory has no way to fail.
    rmp_serde::to_vec(&(P::NAME, P::VERSION, state)).unwrap_or_default()
}

/// Decodes what [`snapshot_of`] encoded.
///
/// # Errors
/// [`SnapshotError`].
pub fn restored<P: Projection, S: serde::de::DeserializeOwned + serde::Serialize>(
    bytes: &[u8],
) -> Result<S, SnapshotError> {
    let malformed = |error: rmp_serde::decode::Error| SnapshotError::Malformed(error.to_string());
    let (name, version, _) =
        rmp_serde::from_slice::<(String, u32, serde::de::IgnoredAny)>(bytes).map_err(malformed)?;
    if name != P::NAME || version != P::VERSION {
        return Err(SnapshotError::OtherVersion {
            expected: format!("{} version {}", P::NAME, P::VERSION),
            found: format!("{name} version {version}"),
        });
    }
    let (_, _, state) = rmp_serde::from_slice::<(String, u32, S)>(bytes).map_err(malformed)?;
    if snapshot_of::<P>(&state) != bytes {
        return Err(SnapshotError::Malformed("it is not what its state encodes to".to_owned()));
    }
    Ok(state)
}

/// One digest of several.
#[must_use]
pub fn combined(name: &str, digests: &[Digest]) -> Digest {
    let mut hasher = Hasher::new(Domain::State);
    hasher.part(name.as_bytes());
    for digest in digests {
        hasher.fixed(digest.as_slice());
    }
    hasher.finish()
}

//! An entry: the owner's record of a stored batch, linked to the entry before.
//!
//! 144 bytes, big-endian: first seq u64, received u64, previous link 32, batch id 32, signature 64.
//! The stored form of a batch is its entry followed by its bytes.

use crate::bytes::Reader;
use crate::hash::{Domain, digest};
use crate::ids::{BatchId, Digest, LedgerId, Millis, Seq};
use crate::sign::Signature;

/// Bytes of an entry.
pub const ENTRY_BYTES: usize = 8 + 8 + 32 + 32 + 64;

/// Where and when a batch was stored, and what came before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Position of the batch's first event.
    pub first: Seq,
    /// When the owner took it in.
    pub received: Millis,
    /// Link of the entry before.
    pub previous: Digest,
    /// The batch.
    pub batch: BatchId,
    /// The author's signature over the batch's header.
    pub signature: Signature,
}

impl Entry {
    /// The entry's bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; ENTRY_BYTES] {
        let mut out = [0; ENTRY_BYTES];
        out[..8].copy_from_slice(&self.first.to_be_bytes());
        out[8..16].copy_from_slice(&self.received.to_be_bytes());
        out[16..48].copy_from_slice(self.previous.as_slice());
        out[48..80].copy_from_slice(self.batch.as_slice());
        out[80..].copy_from_slice(self.signature.as_slice());
        out
    }

    /// Splits the stored form into its entry, the entry's link, and the batch's bytes. `None` when it
    /// is too short.
    #[must_use]
    pub fn split(stored: &[u8]) -> Option<(Self, Digest, &[u8])> {
        let (bytes, batch) = stored.split_at_checked(ENTRY_BYTES)?;
        let mut reader = Reader(bytes);
        let entry = Self {
            first: reader.u64()?,
            received: reader.u64()?,
            previous: reader.bytes()?,
            batch: reader.bytes()?,
            signature: reader.bytes()?,
        };
        Some((entry, link(bytes), batch))
    }
}

/// The link of an entry's bytes.
#[must_use]
pub fn link(entry: &[u8]) -> Digest {
    digest(Domain::Entry, entry)
}

/// The link before the first entry of a ledger.
#[must_use]
pub fn genesis_link(ledger: &LedgerId) -> Digest {
    digest(Domain::Genesis, ledger.as_slice())
}

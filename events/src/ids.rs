//! Identities, positions and instants.

use crate::bytes::{Bytes16, Bytes32};

/// Position of an event in this ledger, counted from 0 without gaps.
pub type Seq = u64;

/// An instant: milliseconds since 1970-01-01T00:00:00Z.
pub type Millis = u64;

/// A blake3 digest.
pub type Digest = Bytes32;

/// 32 random bytes drawn at `init`; every batch names the ledger it belongs to.
pub type LedgerId = Bytes32;

/// An author's ed25519 public key.
pub type AuthorId = Bytes32;

/// Digest of a batch header: identity and idempotency key of the batch.
pub type BatchId = Bytes32;

/// Digest of (batch id, index in the batch): names one event from outside its batch.
pub type EventId = Bytes32;

/// 16 bytes fixed before an event is written: a turn, an order, an engine or an author.
pub type Subject = Bytes16;

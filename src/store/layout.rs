//! Keyspaces and keys. Every key has a fixed width: the engine cannot be opened again after an empty or
//! overlong one.

use events::batch::AuthorTip;
use events::bytes::Bytes;
use events::ids::{AuthorId, BatchId, LedgerId, Seq, Subject};

/// First seq, big-endian -> entry and batch.
pub(super) const LOG: &str = "log";
/// Batch id -> first seq.
pub(super) const BY_ID: &str = "by_id";
/// Subject and seq -> nothing: which events are about a subject.
pub(super) const BY_SUBJECT: &str = "by_subject";
/// One tag byte and 32 bytes -> the ledger's id, or an author's tip.
pub(super) const META: &str = "meta";

const LEDGER_TAG: u8 = b'l';
const AUTHOR_TAG: u8 = b'a';

pub(super) const LEDGER_KEY: [u8; 33] = {
    let mut key = [0; 33];
    key[0] = LEDGER_TAG;
    key
};

/// Prefix of every author's key.
pub(super) const AUTHOR_PREFIX: [u8; 1] = [AUTHOR_TAG];

pub(super) const fn seq_key(seq: Seq) -> [u8; 8] {
    seq.to_be_bytes()
}

pub(super) fn seq_of(key: &[u8]) -> Option<Seq> {
    key.try_into().ok().map(Seq::from_be_bytes)
}

pub(super) fn subject_key(subject: &Subject, seq: Seq) -> [u8; 24] {
    let mut key = [0; 24];
    key[..16].copy_from_slice(subject.as_slice());
    key[16..].copy_from_slice(&seq.to_be_bytes());
    key
}

pub(super) fn seq_of_subject_key(key: &[u8]) -> Option<Seq> {
    seq_of(key.get(16..)?)
}

pub(super) fn subject_of(key: &[u8]) -> Option<Subject> {
    key.get(..16)?.try_into().ok().map(Bytes)
}

pub(super) fn author_key(author: &AuthorId) -> [u8; 33] {
    let mut key = [AUTHOR_TAG; 33];
    key[1..].copy_from_slice(author.as_slice());
    key
}

pub(super) fn author_of(key: &[u8]) -> Option<AuthorId> {
    key.get(1..)?.try_into().ok().map(Bytes)
}

pub(super) fn encode_tip(batches: u64, newest: &BatchId) -> [u8; 40] {
    let mut value = [0; 40];
    value[..8].copy_from_slice(&batches.to_be_bytes());
    value[8..].copy_from_slice(newest.as_slice());
    value
}

pub(super) fn decode_tip(value: &[u8]) -> Option<AuthorTip> {
    let (batches, newest) = value.split_at_checked(8)?;
    let batches = u64::from_be_bytes(batches.try_into().ok()?);
    Some(AuthorTip { batches, newest: Some(Bytes(newest.try_into().ok()?)) })
}

pub(super) fn decode_ledger(value: &[u8]) -> Option<LedgerId> {
    value.try_into().ok().map(Bytes)
}

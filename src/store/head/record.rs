//! A record of the head: 228 bytes, big-endian.
//!
//! format u16 · flags u8 (1 clean, 2 power) · verifier u8 · counter u64 · boot 16 · ledger 32 · next u64 ·
//! link 32 · node 32 · proof 64 (a signature, or a keyed digest and zeros) · checksum 32.

use events::bytes::{Bytes, Bytes16};
use events::hash::{Domain, LedgerSecret, digest, mac};
use events::head::{Head, SignedHead};
use events::ids::AuthorId;
use events::sign::{SigningKey, Verifier};

/// Bytes of a record.
pub(super) const RECORD_BYTES: usize = CHECKSUM_AT + 32;
const FORMAT: u16 = 1;
const PROOF_AT: usize = 2 + 1 + 1 + 8 + 16 + 32 + 8 + 32 + 32;
const CHECKSUM_AT: usize = PROOF_AT + 64;

/// What one record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// How often its kind has been written: of two, the higher is newer.
    pub counter: u64,
    /// The boot it was written in; zero where the system does not tell.
    pub boot: Bytes16,
    /// True when nothing was to come after it.
    pub clean: bool,
    /// True when answers waited for the store to be synced.
    pub power: bool,
    /// The rules by which every batch before the head was admitted ([`events::sign::VERIFIER`]).
    pub verifier: u8,
    /// The end of the log.
    pub head: Head,
}

/// What stands where a record should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Nothing was ever written there.
    Missing,
    /// Not a whole record, or one that nobody who may write it wrote.
    Torn,
    /// A record.
    Written(Record),
}

impl Slot {
    /// The record, if one stands there.
    #[must_use]
    pub const fn record(self) -> Option<Record> {
        match self {
            Self::Written(record) => Some(record),
            Self::Missing | Self::Torn => None,
        }
    }
}

impl Record {
    /// The record's bytes, proved by the node's signature over the head.
    #[must_use]
    pub fn signed(&self, node: &SigningKey) -> [u8; RECORD_BYTES] {
        let signature = SignedHead::sign(self.head, node).signature;
        self.encode(&node.public(), |_| signature.0)
    }

    /// The record's bytes, proved by a keyed digest: thirty times faster, and good within one boot.
    #[must_use]
    pub fn keyed(&self, node: &AuthorId, key: &LedgerSecret) -> [u8; RECORD_BYTES] {
        self.encode(node, |message| {
            let mut proof = [0; 64];
            proof[..32].copy_from_slice(mac(key, message).as_bytes());
            proof
        })
    }

    fn encode(&self, node: &AuthorId, proof: impl FnOnce(&[u8]) -> [u8; 64]) -> [u8; RECORD_BYTES] {
        let mut out = [0; RECORD_BYTES];
        let head = &self.head;
        let fields: [&[u8]; 8] = [
            &FORMAT.to_be_bytes(),
            &[u8::from(self.clean) | u8::from(self.power) << 1, self.verifier],
            &self.counter.to_be_bytes(),
            self.boot.as_slice(),
            head.ledger.as_slice(),
            &head.next.to_be_bytes(),
            head.link.as_slice(),
            node.as_slice(),
        ];
        let mut at = 0;
        for field in fields {
            out[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        }
        let proof = proof(&out[..PROOF_AT]);
        out[PROOF_AT..CHECKSUM_AT].copy_from_slice(&proof);
        let checksum = digest(Domain::HeadRecord, &out[..CHECKSUM_AT]);
        out[CHECKSUM_AT..].copy_from_slice(checksum.as_slice());
        out
    }

    /// Reads a record and its proof.
    #[must_use]
    pub fn parse(bytes: &[u8], check: impl FnOnce(&Self, &Proof<'_>) -> bool) -> Slot {
        if bytes.is_empty() || bytes.iter().all(|byte| *byte == 0) {
            return Slot::Missing;
        }
        let Some((record, proof)) = parse(bytes) else { return Slot::Torn };
        if check(&record, &proof) { Slot::Written(record) } else { Slot::Torn }
    }
}

/// What vouches for a record.
pub struct Proof<'a> {
    message: &'a [u8],
    node: AuthorId,
    proof: [u8; 64],
}

impl Proof<'_> {
    /// True for this node's signature over the record's head.
    #[must_use]
    pub fn is_signed_by(&self, node: &AuthorId, record: &Record) -> bool {
        self.node == *node && self.signed_head(record).check(&mut Verifier::new()).is_ok()
    }

    /// The head as its node signed it, whoever that is.
    #[must_use]
    pub const fn signed_head(&self, record: &Record) -> SignedHead {
        SignedHead { head: record.head, node: self.node, signature: Bytes(self.proof) }
    }

    /// True for a keyed digest of this key.
    #[must_use]
    pub fn is_keyed_by(&self, key: &LedgerSecret) -> bool {
        let (digest, rest) = self.proof.split_at(32);
        mac(key, self.message) == *digest && rest.iter().all(|byte| *byte == 0)
    }
}

fn parse(bytes: &[u8]) -> Option<(Record, Proof<'_>)> {
    if bytes.len() != RECORD_BYTES || bytes[..2] != FORMAT.to_be_bytes() {
        return None;
    }
    let checksum = digest(Domain::HeadRecord, &bytes[..CHECKSUM_AT]);
    if bytes[CHECKSUM_AT..] != checksum.0 {
        return None;
    }
    let array = |at: usize| -> Option<[u8; 32]> { bytes.get(at..at + 32)?.try_into().ok() };
    let number = |at: usize| -> Option<u64> {
        Some(u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
    };
    let record = Record {
        clean: bytes[2] & 1 != 0,
        power: bytes[2] & 2 != 0,
        verifier: bytes[3],
        counter: number(4)?,
        boot: Bytes(bytes.get(12..28)?.try_into().ok()?),
        head: Head { ledger: Bytes(array(28)?), next: number(60)?, link: Bytes(array(68)?) },
    };
    let proof = bytes.get(PROOF_AT..CHECKSUM_AT)?.try_into().ok()?;
    let message = &bytes[..PROOF_AT];
    Some((record, Proof { message, node: Bytes(array(100)?), proof }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        Record {
            counter: 7,
            boot: Bytes([1; 16]),
            clean: true,
            power: true,
            verifier: 3,
            head: Head { ledger: Bytes([2; 32]), next: 9, link: Bytes([3; 32]) },
        }
    }

    #[test]
    fn round_trips_and_every_flipped_bit_is_noticed() {
        let node = SigningKey::from_secret(&[4; 32]);
        let key = LedgerSecret::new([5; 32]);
        let signed = record().signed(&node);
        let keyed = record().keyed(&node.public(), &key);
        let as_signed = |bytes: &[u8]| {
            Record::parse(bytes, |record, proof| proof.is_signed_by(&node.public(), record))
        };
        let as_keyed = |bytes: &[u8]| Record::parse(bytes, |_, proof| proof.is_keyed_by(&key));
        assert_eq!(as_signed(&signed), Slot::Written(record()));
        assert_eq!(as_keyed(&keyed), Slot::Written(record()));
        assert_eq!((as_keyed(&signed), as_signed(&keyed)), (Slot::Torn, Slot::Torn));
        for bit in 0..RECORD_BYTES * 8 {
            let (mut signed, mut keyed) = (signed, keyed);
            signed[bit / 8] ^= 1 << (bit % 8);
            keyed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!((as_signed(&signed), as_keyed(&keyed)), (Slot::Torn, Slot::Torn), "{bit}");
        }
        assert_eq!(as_keyed(&keyed[..100]), Slot::Torn);
        assert_eq!(as_keyed(&[0; RECORD_BYTES]), Slot::Missing);
        assert_eq!(as_keyed(&[]), Slot::Missing);
    }

    #[test]
    fn another_key_proves_nothing() {
        let (node, other) = (SigningKey::from_secret(&[4; 32]), SigningKey::from_secret(&[6; 32]));
        let signed = record().signed(&other);
        let slot =
            Record::parse(&signed, |record, proof| proof.is_signed_by(&node.public(), record));
        assert_eq!(slot, Slot::Torn);
    }
}

//! The head: where a ledger ends. Kept, signed, outside the store, it binds the tail.

use serde::{Deserialize, Serialize};

use crate::bytes::Reader;
use crate::ids::{AuthorId, Digest, LedgerId, Seq};
use crate::sign::{HEAD_PREFIX, SignError, Signature, SigningKey, Verifier};

/// Bytes of a signed head.
pub const SIGNED_HEAD_BYTES: usize = 32 + 8 + 32 + 32 + 64;

/// The end of a log: as a log tells it, unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The ledger.
    pub ledger: LedgerId,
    /// Position the next event will take.
    pub next: Seq,
    /// Link of the newest entry.
    pub link: Digest,
}

/// A head with the node key that vouches for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedHead {
    /// What is vouched for.
    pub head: Head,
    /// Whose word it is.
    pub node: AuthorId,
    /// Signature over the rest.
    pub signature: Signature,
}

impl SignedHead {
    /// Signs a head.
    #[must_use]
    pub fn sign(head: Head, node: &SigningKey) -> Self {
        let id = node.public();
        Self { head, node: id, signature: node.sign(HEAD_PREFIX, &message(&head, &id)) }
    }

    /// Checks the signature. That `node` is the ledger's node key is for the keyring to say.
    ///
    /// # Errors
    /// [`SignError`].
    pub fn check(&self, verifier: &mut Verifier) -> Result<(), SignError> {
        verifier.verify(&self.node, HEAD_PREFIX, &message(&self.head, &self.node), &self.signature)
    }

    /// The stored form: ledger 32, next u64, link 32, node 32, signature 64.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = message(&self.head, &self.node);
        out.extend_from_slice(self.signature.as_slice());
        out
    }

    /// Reads exactly [`SIGNED_HEAD_BYTES`] bytes; nothing is checked.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let head = Head { ledger: reader.bytes()?, next: reader.u64()?, link: reader.bytes()? };
        let signed = Self { head, node: reader.bytes()?, signature: reader.bytes()? };
        reader.0.is_empty().then_some(signed)
    }
}

fn message(head: &Head, node: &AuthorId) -> Vec<u8> {
    let mut out = Vec::with_capacity(SIGNED_HEAD_BYTES);
    out.extend_from_slice(head.ledger.as_slice());
    out.extend_from_slice(&head.next.to_be_bytes());
    out.extend_from_slice(head.link.as_slice());
    out.extend_from_slice(node.as_slice());
    out
}

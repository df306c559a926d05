//! Signatures: the only place that names ed25519.
//!
//! A signature is good when `verify_strict` says so for a sound key: one that is not weak and has no
//! torsion, since on crafted signatures of other keys verifiers disagree. There is no batch
//! verification, whose answer would depend on what is verified together.

use std::collections::BTreeMap;

use ed25519_dalek::{Signer as _, VerifyingKey};

use crate::bytes::Bytes;
use crate::ids::AuthorId;

/// An ed25519 signature.
pub type Signature = Bytes<64>;

/// What batch headers are signed behind, so that a signature fits nothing else.
pub const BATCH_PREFIX: &[u8; 24] = b"ferry/batch/ed25519/v1\n\0";
/// What heads are signed behind.
pub const HEAD_PREFIX: &[u8; 24] = b"ferry/head/ed25519/v1\n\0\0";

/// Which rules signatures are judged by. Raised when they change: what was admitted by other rules is
/// checked again.
pub const VERIFIER: u8 = 1;

/// Why a signature or a key is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    /// The bytes are no point of the curve.
    #[error("the key is not an ed25519 public key")]
    NotAKey,
    /// A key of small order: one signature would fit every message.
    #[error("the key is weak: one signature of it fits every message")]
    WeakKey,
    /// A key of mixed order: verifiers disagree on its signatures.
    #[error("the key is of mixed order: verifiers disagree on its signatures")]
    MixedOrderKey,
    /// The signature is not this key's over these bytes.
    #[error("the signature does not match")]
    BadSignature,
}

/// A secret key. It is wiped when dropped, and does not print.
pub struct SigningKey(ed25519_dalek::SigningKey);

impl SigningKey {
    /// The key of 32 secret bytes.
    #[must_use]
    pub fn from_secret(secret: &[u8; 32]) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(secret))
    }

    /// The public key.
    #[must_use]
    pub fn public(&self) -> AuthorId {
        Bytes(self.0.verifying_key().to_bytes())
    }

    /// Signs `prefix` followed by `message`. The same input gives the same bytes.
    #[must_use]
    pub fn sign(&self, prefix: &[u8; 24], message: &[u8]) -> Signature {
        Bytes(self.0.sign(&[prefix, message].concat()).to_bytes())
    }
}

/// Checks signatures, keeping the keys it has found sound.
#[derive(Clone, Debug, Default)]
pub struct Verifier(BTreeMap<AuthorId, VerifyingKey>);

impl Verifier {
    /// A verifier that has seen no key.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks `author`'s signature over `prefix` followed by `message`.
    ///
    /// # Errors
    /// [`SignError`], the key's unsoundness before the signature's.
    pub fn verify(
        &mut self,
        author: &AuthorId,
        prefix: &[u8; 24],
        message: &[u8],
        signature: &Signature,
    ) -> Result<(), SignError> {
        let known = self.0.get(author).copied();
        let key = known.map_or_else(|| sound_key(author), Ok)?;
        let signature = ed25519_dalek::Signature::from_bytes(&signature.0);
        key.verify_strict(&[prefix, message].concat(), &signature)
            .map_err(|_| SignError::BadSignature)?;
        if known.is_none() {
            // Only now: strangers could fill the memory with keys that signed nothing.
            self.0.insert(*author, key);
        }
        Ok(())
    }
}

fn sound_key(author: &AuthorId) -> Result<VerifyingKey, SignError> {
    let key = VerifyingKey::from_bytes(&author.0).map_err(|_| SignError::NotAKey)?;
    if key.is_weak() {
        return Err(SignError::WeakKey);
    }
    if !key.to_edwards().is_torsion_free() {
        return Err(SignError::MixedOrderKey);
    }
    Ok(key)
}

/// Checks that a key may be enrolled.
///
/// # Errors
/// [`SignError`] when it is no key, weak, or of mixed order.
pub fn check_key(author: &AuthorId) -> Result<(), SignError> {
    sound_key(author).map(|_| ())
}

//! The only place that holds blake3 contexts: one per use, so no digest can stand for another.

use std::sync::LazyLock;

use crate::bytes::{Bytes, Bytes16, Bytes32};
use crate::ids::Digest;

/// What a digest is of. Each has its own key, derived from a fixed, dated context string.
#[derive(Clone, Copy, Debug)]
pub enum Domain {
    /// One event's bytes.
    Event,
    /// The digests of a batch's events, in order.
    Events,
    /// A batch header: the batch id.
    Batch,
    /// (batch id, index): an event's id.
    EventId,
    /// A ledger id: the link before the first entry.
    Genesis,
    /// An entry: the link.
    Entry,
    /// An engine's name: the subject of its prices.
    Engine,
    /// A book of prices: what a price-book event sums up.
    Book,
    /// A source's own row id, keyed: the subject of an imported turn.
    ImportedTurn,
    /// A client's conversation id, keyed.
    Conversation,
    /// A client's sub-agent id within a conversation, keyed.
    Subagent,
    /// A key of a published sample, from its seed.
    SampleKey,
    /// A keyed draw: (ledger id, event, purpose).
    Draw,
    /// An imported source's bytes.
    Source,
    /// One entry of a projection's state.
    State,
    /// The rows of a report.
    Report,
    /// A record of the head kept outside the store.
    HeadRecord,
    /// The key that vouches for head records within one boot, from the node key.
    HeadMacKey,
    /// The key that vouches for snapshots, from the node key.
    SnapshotKey,
    /// The key that names withheld texts, from the ledger's secret.
    BlobKey,
    /// A policy's canonical form.
    Policy,
    /// A whole decision record.
    Decision,
}

const CONTEXTS: [(Domain, &str); 22] = [
    (Domain::Event, "ferry 2026-11-30 event v1"),
    (Domain::Events, "ferry 2026-11-30 events of a batch v1"),
    (Domain::Batch, "ferry 2026-11-30 batch header v1"),
    (Domain::EventId, "ferry 2026-11-30 event id v1"),
    (Domain::Genesis, "ferry 2026-11-30 genesis link v1"),
    (Domain::Entry, "ferry 2026-11-30 entry link v1"),
    (Domain::Engine, "ferry 2026-11-30 engine subject v1"),
    (Domain::Book, "ferry 2026-11-30 price book v1"),
    (Domain::ImportedTurn, "ferry 2026-11-30 imported turn subject v1"),
    (Domain::Conversation, "ferry 2026-11-30 conversation key v1"),
    (Domain::Subagent, "ferry 2026-11-30 sub-agent key v1"),
    (Domain::SampleKey, "ferry 2026-11-30 sample key v1"),
    (Domain::Draw, "ferry 2026-11-30 draw v1"),
    (Domain::Source, "ferry 2026-11-30 import source v1"),
    (Domain::State, "ferry 2026-11-30 projection state v1"),
    (Domain::Report, "ferry 2026-11-30 report rows v1"),
    (Domain::HeadRecord, "ferry 2026-11-30 head record v1"),
    (Domain::HeadMacKey, "ferry 2026-11-30 head mac key v1"),
    (Domain::SnapshotKey, "ferry 2026-11-30 snapshot key v1"),
    (Domain::BlobKey, "ferry 2026-11-30 blob key v1"),
    (Domain::Policy, "ferry 2026-11-30 policy v1"),
    (Domain::Decision, "ferry 2026-11-30 decision record v1"),
];

static KEYS: LazyLock<[[u8; 32]; CONTEXTS.len()]> =
    LazyLock::new(|| CONTEXTS.map(|(_, context)| blake3::derive_key(context, &[])));

fn domain_key(domain: Domain) -> &'static [u8; 32] {
    &KEYS[domain as usize]
}

/// Digest of `bytes` for one use.
#[must_use]
pub fn digest(domain: Domain, bytes: &[u8]) -> Digest {
    Bytes(*blake3::keyed_hash(domain_key(domain), bytes).as_bytes())
}

/// Collects the parts of a digest that are too large, or too many, to lie side by side first.
pub struct Hasher(blake3::Hasher);

impl Hasher {
    /// Starts a digest for one use.
    #[must_use]
    pub fn new(domain: Domain) -> Self {
        Self(blake3::Hasher::new_keyed(domain_key(domain)))
    }

    /// Adds bytes whose length is fixed by the layout.
    pub fn fixed(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update(bytes);
        self
    }

    /// Adds bytes of any length, their length first, so that no two lists of parts collide.
    pub fn part(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.update(&(bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
        self
    }

    /// The digest of all parts so far.
    #[must_use]
    pub fn finish(&self) -> Digest {
        Bytes(*self.0.finalize().as_bytes())
    }
}

/// A ledger's secret: what makes digests of personal ids useless to whoever does not hold it.
#[derive(Clone)]
pub struct LedgerSecret([u8; 32]);

impl LedgerSecret {
    /// Wraps 32 secret bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Keyed digest of `parts` for one use, cut to the 16 bytes of a subject or conversation key.
    #[must_use]
    pub fn digest16(&self, domain: Domain, parts: &[&[u8]]) -> Bytes16 {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(domain_key(domain));
        for part in parts {
            hasher.update(&(part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        let mut out = [0; 16];
        hasher.finalize_xof().fill(&mut out);
        Bytes(out)
    }
}

impl LedgerSecret {
    /// Keyed digest of bytes for one use.
    #[must_use]
    pub fn digest(&self, domain: Domain, bytes: &[u8]) -> Digest {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(domain_key(domain)).update(bytes);
        Bytes(*hasher.finalize().as_bytes())
    }
}

/// A message authentication code: whoever lacks the key can neither make nor check one. Comparing takes
/// the same time wherever two differ.
#[must_use]
pub fn mac(key: &LedgerSecret, bytes: &[u8]) -> blake3::Hash {
    blake3::keyed_hash(&key.0, bytes)
}

/// Subject of an engine's events: a digest of its name, cut to 16 bytes.
#[must_use]
pub fn engine_subject(name: &str) -> Bytes16 {
    let mut out = [0; 16];
    out.copy_from_slice(&digest(Domain::Engine, name.as_bytes()).0[..16]);
    Bytes(out)
}

/// Subject of the policies of a scope, likewise.
#[must_use]
pub fn policy_subject(scope: &str) -> Bytes16 {
    let mut out = [0; 16];
    out.copy_from_slice(&digest(Domain::Policy, scope.as_bytes()).0[..16]);
    Bytes(out)
}

/// A keyed draw in `0..65,536`, fixed by (ledger id, event, purpose): adding one changes no other.
#[must_use]
pub fn draw_u16(ledger: &Bytes32, event: &[u8], purpose: &str) -> u16 {
    let drawn = drawn(ledger, event, purpose);
    u16::from_be_bytes([drawn.0[0], drawn.0[1]])
}

/// The same in `0..2^32`.
#[must_use]
pub fn draw_u32(ledger: &Bytes32, event: &[u8], purpose: &str) -> u32 {
    let drawn = drawn(ledger, event, purpose);
    u32::from_be_bytes([drawn.0[0], drawn.0[1], drawn.0[2], drawn.0[3]])
}

fn drawn(ledger: &Bytes32, event: &[u8], purpose: &str) -> Digest {
    Hasher::new(Domain::Draw).fixed(ledger.as_slice()).part(event).part(purpose.as_bytes()).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contexts_stand_at_their_own_index_and_differ() {
        for (index, (domain, context)) in CONTEXTS.iter().enumerate() {
            assert_eq!(*domain as usize, index, "{context}");
            assert!(CONTEXTS[..index].iter().all(|(_, other)| other != context));
        }
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        let joined = |parts: &[&str]| {
            let mut hasher = Hasher::new(Domain::Book);
            for part in parts {
                hasher.part(part.as_bytes());
            }
            hasher.finish()
        };
        assert_ne!(joined(&["ab", "c"]), joined(&["a", "bc"]));
        let secret = LedgerSecret::new([7; 32]);
        assert_ne!(
            secret.digest16(Domain::Conversation, &[b"ab", b"c"]),
            secret.digest16(Domain::Conversation, &[b"a", b"bc"])
        );
        assert_ne!(
            secret.digest16(Domain::Conversation, &[b"a"]),
            secret.digest16(Domain::Subagent, &[b"a"])
        );
    }

    // Case 76: a draw is a function of its event and purpose, not of a stream.
    #[test]
    fn a_draw_depends_on_ledger_event_and_purpose_alone() {
        let ledger = Bytes32::ZERO;
        let explore = draw_u16(&ledger, b"turn", "explore");
        let _ = draw_u16(&ledger, b"turn", "another draw in between");
        assert_eq!(draw_u16(&ledger, b"turn", "explore"), explore);
        assert_ne!(draw_u16(&ledger, b"turn", "jitter"), explore);
        assert_ne!(draw_u16(&Bytes([1; 32]), b"turn", "explore"), explore);
    }
}

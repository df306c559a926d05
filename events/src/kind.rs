//! Kinds of events and their versions, as a value: tests can pass a table of their own.

use serde::Serialize;

use crate::event::Body;
use crate::payload::Stream;

/// Number of a kind. Kinds from [`Kind::ANCILLARY`] on may be skipped by a fold that does not know them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Kind(pub u16);

impl Kind {
    /// The ancillary bit.
    pub const ANCILLARY: u16 = 0x8000;

    /// A ledger begins.
    pub const LEDGER_OPENED: Self = Self(1);
    /// A key is enrolled, retired or rotated.
    pub const ACTOR: Self = Self(2);
    /// An engine's price changed.
    pub const PRICE: Self = Self(3);
    /// An import of prices ended.
    pub const PRICE_BOOK: Self = Self(4);
    /// Rules changed.
    pub const POLICY: Self = Self(5);
    /// A request arrived.
    pub const TURN: Self = Self(6);
    /// Something billable is about to be handed to an engine.
    pub const DISPATCH: Self = Self(7);
    /// Nothing may be dispatched.
    pub const REFUSAL: Self = Self(8);
    /// An attempt ended.
    pub const RESULT: Self = Self(9);
    /// The client has its end of a turn.
    pub const TURN_CLOSED: Self = Self(10);
    /// An engine failed.
    pub const ENGINE_FAULT: Self = Self(11);
    /// A person judged an answer.
    pub const FEEDBACK: Self = Self(12);
    /// A better figure arrived.
    pub const AMEND: Self = Self(14);
    /// A source was read.
    pub const IMPORT: Self = Self(0x8001);
    /// Something was found.
    pub const FINDING: Self = Self(0x8002);
    /// The clock went back.
    pub const CLOCK_CORRECTED: Self = Self(0x8003);
    /// A budget came to a mark.
    pub const BUDGET_CROSSED: Self = Self(0x8004);

    /// True when a fold that does not know the kind may pass over it.
    #[must_use]
    pub const fn is_ancillary(self) -> bool {
        self.0 & Self::ANCILLARY != 0
    }
}

/// Why a payload is not what its kind and version say.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    /// A kind this build does not know.
    #[error("kind {kind:#06x} is unknown: it needs a newer ferry")]
    UnknownKind {
        /// The kind.
        kind: u16,
    },
    /// A version newer than this build knows.
    #[error("{name} version {version} needs a newer ferry: this one knows up to {newest}")]
    NewerVersion {
        /// The kind's name.
        name: &'static str,
        /// The version.
        version: u8,
        /// The newest version known.
        newest: u8,
    },
    /// The bytes are not the MessagePack of that version's struct.
    #[error("{name} version {version} is malformed: {detail}")]
    Malformed {
        /// The kind's name.
        name: &'static str,
        /// The version.
        version: u8,
        /// What the decoder met.
        detail: String,
    },
    /// The bytes decode, but encode to other bytes: two encodings of one value.
    #[error("{name} version {version} is not in canonical form")]
    NotCanonical {
        /// The kind's name.
        name: &'static str,
        /// The version.
        version: u8,
    },
}

impl PayloadError {
    /// True when a newer ferry would know.
    #[must_use]
    pub const fn needs_newer_ferry(&self) -> bool {
        matches!(self, Self::UnknownKind { .. } | Self::NewerVersion { .. })
    }
}

/// Why one version's decoder refused; the table adds the kind and version.
#[derive(Debug)]
pub enum VersionError {
    /// Not this version's struct.
    Malformed(String),
    /// Decodes, but encodes otherwise.
    NotCanonical,
}

/// Decodes a payload and brings it to the newest vocabulary.
pub type Decoder = for<'a> fn(&'a [u8]) -> Result<Body<'a>, VersionError>;

/// One frozen version of a payload.
#[derive(Clone, Copy, Debug)]
pub struct VersionSpec {
    /// Decodes the version and brings it to the newest vocabulary.
    pub decode: Decoder,
    /// The same, and refuses what does not encode to the same bytes again.
    pub decode_canonical: Decoder,
}

/// One kind.
#[derive(Clone, Copy, Debug)]
pub struct KindSpec {
    /// Its number.
    pub kind: Kind,
    /// Its name in documents, reports and JSON.
    pub name: &'static str,
    /// The stream whose keys may write it.
    pub written_by: Stream,
    /// Its versions, version 1 first.
    pub versions: &'static [VersionSpec],
}

/// The kinds a build knows.
#[derive(Clone, Debug)]
pub struct KindTable(Vec<KindSpec>);

impl KindTable {
    /// A table of these kinds.
    #[must_use]
    pub fn new(mut kinds: Vec<KindSpec>) -> Self {
        kinds.sort_by_key(|spec| spec.kind);
        Self(kinds)
    }

    /// The kinds, by number.
    #[must_use]
    pub fn kinds(&self) -> &[KindSpec] {
        &self.0
    }

    /// What is known of a kind.
    #[must_use]
    pub fn get(&self, kind: Kind) -> Option<&KindSpec> {
        self.0.binary_search_by_key(&kind, |spec| spec.kind).ok().map(|index| &self.0[index])
    }

    /// Decodes a payload into the newest vocabulary.
    ///
    /// # Errors
    /// [`PayloadError`]; an unknown kind or version is one unless the kind is ancillary: that gives
    /// [`Body::Unknown`].
    pub fn decode<'a>(
        &self,
        kind: Kind,
        version: u8,
        payload: &'a [u8],
    ) -> Result<Body<'a>, PayloadError> {
        self.decode_with(kind, version, payload, |spec| spec.decode)
    }

    /// Decodes a payload that is the one encoding of what it says. Unknown ancillary kinds are opaque.
    ///
    /// # Errors
    /// As [`KindTable::decode`], and [`PayloadError::NotCanonical`].
    pub fn decode_canonical<'a>(
        &self,
        kind: Kind,
        version: u8,
        payload: &'a [u8],
    ) -> Result<Body<'a>, PayloadError> {
        self.decode_with(kind, version, payload, |spec| spec.decode_canonical)
    }

    fn decode_with<'a>(
        &self,
        kind: Kind,
        version: u8,
        payload: &'a [u8],
        decoder: fn(&VersionSpec) -> Decoder,
    ) -> Result<Body<'a>, PayloadError> {
        match self.version(kind, version)? {
            Some((name, spec)) => {
                decoder(spec)(payload).map_err(|error| in_context(error, name, version))
            }
            None => Ok(Body::Unknown(kind)),
        }
    }

    fn version(
        &self,
        kind: Kind,
        version: u8,
    ) -> Result<Option<(&'static str, &'static VersionSpec)>, PayloadError> {
        let Some(spec) = self.get(kind) else {
            let unknown = PayloadError::UnknownKind { kind: kind.0 };
            return if kind.is_ancillary() { Ok(None) } else { Err(unknown) };
        };
        let Some(index) = usize::from(version).checked_sub(1) else {
            let detail = "versions count from 1".to_owned();
            return Err(PayloadError::Malformed { name: spec.name, version, detail });
        };
        match spec.versions.get(index) {
            Some(known) => Ok(Some((spec.name, known))),
            None if kind.is_ancillary() => Ok(None),
            None => {
                let newest = u8::try_from(spec.versions.len()).unwrap_or(u8::MAX);
                Err(PayloadError::NewerVersion { name: spec.name, version, newest })
            }
        }
    }
}

fn in_context(error: VersionError, name: &'static str, version: u8) -> PayloadError {
    match error {
        VersionError::Malformed(detail) => PayloadError::Malformed { name, version, detail },
        VersionError::NotCanonical => PayloadError::NotCanonical { name, version },
    }
}

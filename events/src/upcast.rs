//! The kinds of this build and every version of their payloads: the one place that knows old ones.
//!
//! To change a payload, freeze the old struct here as `<Name>V1`, write `From` to the new one, and
//! list both: `versions: &[version!(Turn, TurnV1), version!(Turn, Turn<'_>)]`. Stored bytes are never
//! rewritten, so their signatures stay good.

use serde::Serialize;

use crate::event::Payload;
use crate::ids::Subject;
use crate::kind::{Kind, KindSpec, KindTable, VersionError};
use crate::payload::{
    Actor, Amend, Ask, BudgetCrossed, ClockCorrected, Dispatch, DispatchResult, EngineFault,
    Feedback, Finding, Import, LedgerOpened, PolicySet, Price, PriceBook, Refusal, Stream, Turn,
    TurnClosed,
};

/// The decoder and canonical check of one version of a payload.
#[macro_export]
macro_rules! version {
    ($variant:ident, $payload:ty) => {{
        fn parse(bytes: &[u8]) -> Result<$payload, $crate::kind::VersionError> {
            $crate::upcast::from_slice(bytes)
        }
        fn decode(bytes: &[u8]) -> Result<$crate::event::Body<'_>, $crate::kind::VersionError> {
            Ok($crate::event::Body::$variant($crate::upcast::sound(parse(bytes)?.into())?))
        }
        fn decode_canonical(
            bytes: &[u8],
        ) -> Result<$crate::event::Body<'_>, $crate::kind::VersionError> {
            let payload = parse(bytes)?;
            $crate::upcast::canonical(&payload, bytes)?;
            Ok($crate::event::Body::$variant($crate::upcast::sound(payload.into())?))
        }
        $crate::kind::VersionSpec { decode, decode_canonical }
    }};
}

macro_rules! payloads {
    (
        $($kind:ident $name:literal $stream:ident $variant:ident $payload:ty
            $(, checks $($field:ident)+)? $(, also about $about:expr)?;)+
    ) => {
        $(impl Payload for $payload {
            const KIND: Kind = Kind::$kind;
            const VERSION: u8 = 1;

            fn check(&self) -> Result<(), &'static str> {
                $($(self.$field.check()?;)+)?
                Ok(())
            }

            fn also_about(&self) -> Option<Subject> {
                None$(.or($about(self)))?
            }
        })+

        impl KindTable {
            /// The kinds of this build.
            #[must_use]
            pub fn current() -> Self {
                Self::new(vec![$(KindSpec {
                    kind: Kind::$kind,
                    name: $name,
                    written_by: Stream::$stream,
                    versions: &[version!($variant, $payload)],
                }),+])
            }
        }
    };
}

payloads! {
    LEDGER_OPENED "ledger-opened" Node LedgerOpened LedgerOpened;
    ACTOR "actor" Node Actor Actor;
    PRICE "price" Proxy Price Price<'_>, checks quality;
    PRICE_BOOK "price-book" Proxy PriceBook PriceBook<'_>;
    POLICY "policy" People Policy PolicySet<'_>;
    TURN "turn" Proxy Turn Turn<'_>, checks ask, also about conversation_of_turn;
    DISPATCH "dispatch" Proxy Dispatch Dispatch<'_>;
    REFUSAL "refusal" Proxy Refusal Refusal<'_>;
    RESULT "result" Proxy Result DispatchResult<'_>, checks usage;
    TURN_CLOSED "turn-closed" Proxy TurnClosed TurnClosed;
    ENGINE_FAULT "engine-fault" Proxy EngineFault EngineFault<'_>;
    FEEDBACK "feedback" People Feedback Feedback<'_>;
    AMEND "amend" Proxy Amend Amend<'_>, checks usage replaces, also about conversation_of_amend;
    IMPORT "import" Proxy Import Import<'_>;
    FINDING "finding" Node Finding Finding;
    CLOCK_CORRECTED "clock-corrected" Node ClockCorrected ClockCorrected;
    BUDGET_CROSSED "budget-crossed" Proxy BudgetCrossed BudgetCrossed<'_>;
}

/// What is part of a payload and can make no sense.
trait Sound {
    fn check(&self) -> Result<(), &'static str>;
}

impl Sound for Option<Ask<'_>> {
    fn check(&self) -> Result<(), &'static str> {
        self.as_ref().map_or(Ok(()), Ask::check)
    }
}

#[expect(clippy::unnecessary_wraps, reason = "as the table of payloads asks")]
const fn conversation_of_turn(turn: &Turn<'_>) -> Option<Subject> {
    Some(turn.conversation)
}

fn conversation_of_amend(amend: &Amend<'_>) -> Option<Subject> {
    amend.turn.map(|turn| turn.conversation)
}

/// Decodes MessagePack, borrowing texts from `bytes`. Trailing bytes are left to [`canonical`].
///
/// # Errors
/// [`VersionError::Malformed`] with what the decoder met.
pub fn from_slice<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, VersionError> {
    rmp_serde::from_slice(bytes).map_err(|error| VersionError::Malformed(error.to_string()))
}

/// A payload that makes sense.
///
/// # Errors
/// [`VersionError::Malformed`] with what is wrong.
pub fn sound<P: Payload>(payload: P) -> Result<P, VersionError> {
    match payload.check() {
        Ok(()) => Ok(payload),
        Err(detail) => Err(VersionError::Malformed(detail.to_owned())),
    }
}

/// Checks that `value` encodes to exactly `bytes`.
///
/// # Errors
/// [`VersionError::NotCanonical`] when it does not.
pub fn canonical<T: Serialize>(value: &T, bytes: &[u8]) -> Result<(), VersionError> {
    let mut rest = Unwritten(bytes);
    match rmp_serde::encode::write(&mut rest, value) {
        Ok(()) if rest.0.is_empty() => Ok(()),
        _ => Err(VersionError::NotCanonical),
    }
}

/// A writer that compares instead of keeping: it refuses the first byte that differs.
struct Unwritten<'a>(&'a [u8]);

impl std::io::Write for Unwritten<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.0.strip_prefix(bytes) {
            Some(rest) => {
                self.0 = rest;
                Ok(bytes.len())
            }
            None => Err(std::io::ErrorKind::InvalidData.into()),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

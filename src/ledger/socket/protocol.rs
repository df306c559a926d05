//! What owner and others say to each other: frames of a length (u32, big-endian) and MessagePack.

use std::io::{self, ErrorKind, Read, Write};

use events::head::Head;
use events::ids::{BatchId, Digest, LedgerId, Seq, Subject};
use events::sign::Signature;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_bytes::{ByteBuf, Bytes as RawBytes};

use crate::ledger::command::{CommandError, Outcome};

/// Raised whenever what is said changes.
pub(super) const PROTOCOL: u32 = 3;
/// Longest frame: a world, or a page and one more batch.
const FRAME_BYTES_MAX: u32 = 16 * 1024 * 1024;
/// A page of stored batches ends behind this many bytes.
pub(super) const PAGE_BYTES: usize = 1024 * 1024;

/// Each side's first frame. Its form is the same in every protocol.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    /// `ferry`.
    pub(super) what: String,
    pub(super) protocol: u32,
    pub(super) version: String,
    /// The owner's ledger; zeros from whoever asks.
    pub(super) ledger: LedgerId,
}

impl Hello {
    pub(super) fn new(ledger: LedgerId) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { what: "ferry".to_owned(), protocol: PROTOCOL, version, ledger }
    }

    /// Whether the other side is ferry, and says the same things.
    pub(super) fn agrees(&self) -> bool {
        self.what == "ferry" && self.protocol == PROTOCOL
    }
}

/// A question to the owner.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::ledger) enum Ask<'a> {
    /// Run a command.
    Run {
        bulk: bool,
        #[serde(borrow)]
        command: &'a RawBytes,
    },
    /// Append a signed batch.
    Append {
        signature: Signature,
        #[serde(borrow)]
        bytes: &'a RawBytes,
    },
    /// Where the log ends.
    Head,
    /// Stored batches, from the one that holds `from` to `end`: as many as fit a page.
    Read { from: Seq, end: Seq },
    /// The position of a batch.
    PositionOf(BatchId),
    /// The positions of events about a subject.
    PositionsAbout(Subject),
    /// The live world's digest.
    Checkpoint,
    /// The follower's world, encoded.
    World,
}

/// The owner's answer.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::ledger) enum Reply {
    Outcome(Outcome),
    Receipt { first: Seq, repeated: bool },
    Head(Head),
    Batches(Vec<(Seq, ByteBuf)>),
    Position(Option<Seq>),
    Positions(Vec<Seq>),
    Checkpoint { head: Head, digest: Digest },
    World(ByteBuf),
    Failed(CommandError),
}

pub(super) fn write(out: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut frame = vec![0; 4];
    rmp_serde::encode::write(&mut frame, message).map_err(io::Error::other)?;
    let length = u32::try_from(frame.len() - 4).unwrap_or(u32::MAX);
    if length > FRAME_BYTES_MAX {
        let problem = format!("{length} bytes at once; {FRAME_BYTES_MAX} are allowed");
        return Err(io::Error::new(ErrorKind::InvalidInput, problem));
    }
    frame[..4].copy_from_slice(&length.to_be_bytes());
    out.write_all(&frame)
}

/// Reads one frame; `None` where the other side has ended.
pub(super) fn read(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = u32::from_be_bytes(length);
    if length > FRAME_BYTES_MAX {
        let problem = format!("a frame of {length} bytes is longer than {FRAME_BYTES_MAX}");
        return Err(io::Error::new(ErrorKind::InvalidData, problem));
    }
    let mut frame = Vec::new();
    // Room is taken as bytes come, not as the length promises.
    let read = from.take(u64::from(length)).read_to_end(&mut frame)?;
    if read < length as usize {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(frame))
}

/// Reads one message.
pub(super) fn receive<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    let frame = read(from)?.ok_or(ErrorKind::UnexpectedEof)?;
    rmp_serde::from_slice(&frame).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

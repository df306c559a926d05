//! The side of a process that asks.

use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use events::ids::LedgerId;

use super::path;
use super::protocol::{self, Ask, Hello, Reply};
use crate::ledger::command::CommandError;
use crate::store::Home;

/// An owner says hello at once, or is not one.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);

/// Why an owner cannot be asked.
#[derive(Debug)]
pub(in crate::ledger) enum ConnectError {
    /// Nobody answers there, or not any more.
    Nobody,
    /// The owner says other things than this ferry.
    OtherVersion(String),
}

/// Why there is no answer.
#[derive(Debug)]
pub(in crate::ledger) enum AskError {
    /// The owner says why, or is gone.
    Command(CommandError),
    /// What it says makes no sense.
    Confused,
}

/// A connection to the owner.
pub(in crate::ledger) struct Client {
    stream: RefCell<UnixStream>,
    version: String,
}

impl Client {
    pub(in crate::ledger) fn connect(home: &Home) -> Result<Self, ConnectError> {
        match Self::greet(home) {
            Ok((_, hello)) if !hello.agrees() => Err(ConnectError::OtherVersion(hello.version)),
            // The way to a socket elsewhere may be an old one.
            Ok((_, hello)) if is_of_another(home, &hello.ledger) => Err(ConnectError::Nobody),
            Ok((stream, hello)) => {
                Ok(Self { stream: RefCell::new(stream), version: hello.version })
            }
            Err(_) => Err(ConnectError::Nobody),
        }
    }

    fn greet(home: &Home) -> io::Result<(UnixStream, Hello)> {
        let mut stream = UnixStream::connect(path::find(home))?;
        stream.set_read_timeout(Some(HELLO_TIMEOUT))?;
        let hello: Hello = protocol::receive(&mut stream)?;
        protocol::write(&mut stream, &Hello::new(LedgerId::ZERO))?;
        stream.set_read_timeout(None)?;
        Ok((stream, hello))
    }

    /// The owner's version of ferry.
    pub(in crate::ledger) fn version(&self) -> &str {
        &self.version
    }

    /// Asks, and waits for the answer. After a failure to understand each other the connection is over.
    pub(in crate::ledger) fn ask(&self, ask: &Ask<'_>) -> Result<Reply, AskError> {
        let stream = &mut *self.stream.borrow_mut();
        let asked = match protocol::write(stream, ask) {
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                return Err(AskError::Command(CommandError::Refused(error.to_string())));
            }
            written => written.and_then(|()| protocol::receive::<Reply>(stream)),
        };
        match asked {
            Ok(Reply::Failed(error)) => Err(AskError::Command(error)),
            Ok(reply) => Ok(reply),
            Err(error) => {
                let _ = stream.shutdown(Shutdown::Both);
                Err(match error.kind() {
                    ErrorKind::InvalidData => AskError::Confused,
                    _ => AskError::Command(CommandError::UnknownOutcome),
                })
            }
        }
    }
}

fn is_of_another(home: &Home, ledger: &LedgerId) -> bool {
    let vouched = home.vouched_head().ok().flatten();
    vouched.is_some_and(|vouched| vouched.signed.head.ledger != *ledger)
}

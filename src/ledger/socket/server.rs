//! The owner's side: a thread that accepts, and one for each process that asks.

use std::fs::Permissions;
use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::ops::ControlFlow;
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use events::batch::SignedBatch;
use events::ids::Seq;
use events::log::ReadLog as _;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use projections::projection::Projection as _;
use serde_bytes::ByteBuf;

use super::path;
use super::protocol::{self, Ask, Hello, PAGE_BYTES, Reply};
use crate::ledger::command::{CommandError, Encoded};
use crate::ledger::handle::{Checkpoint, Handle, Queue};
use crate::store::{Home, StoreError};

/// Most processes that are served at once.
const CONNECTIONS_MAX: usize = 64;
/// Whoever does not say hello is let go.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);
/// Whoever does not take its answer is let go.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long to wait before accepting again after the system could not.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

type Connections = Arc<Mutex<Vec<(UnixStream, JoinHandle<()>)>>>;

fn locked(connections: &Connections) -> MutexGuard<'_, Vec<(UnixStream, JoinHandle<()>)>> {
    connections.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves the socket of a ledger.
pub(in crate::ledger) struct Server {
    home: Home,
    path: PathBuf,
    connections: Connections,
    /// Closed to wake the thread that accepts.
    awake: UnixStream,
    accepting: JoinHandle<()>,
}

impl Server {
    pub(in crate::ledger) fn start(
        home: &Home,
        runtime: &Path,
        handle: Handle,
    ) -> Result<Self, StoreError> {
        let path = path::prepare(home, runtime).map_err(StoreError::file(&home.run()))?;
        let failed = StoreError::file(&path);
        let connections = Connections::default();
        let listening = || {
            let listener = UnixListener::bind(&path)?;
            std::fs::set_permissions(&path, Permissions::from_mode(0o600))?;
            listener.set_nonblocking(true)?;
            let (awake, asleep) = UnixStream::pair()?;
            let connections = Arc::clone(&connections);
            let accepting = Builder::new()
                .name("ferry-socket".to_owned())
                .spawn(move || accept(&listener, &asleep, &connections, &handle))?;
            Ok((awake, accepting))
        };
        let (awake, accepting) = listening().map_err(failed)?;
        Ok(Self { home: home.clone(), path: path.clone(), connections, awake, accepting })
    }

    /// Accepts no more, answers what was asked, and ends every connection.
    pub(in crate::ledger) fn stop(self) {
        drop(self.awake);
        let _ = self.accepting.join();
        let _ = path::clear(&self.home, &self.path);
        let connections = std::mem::take(&mut *locked(&self.connections));
        for (stream, _) in &connections {
            let _ = stream.shutdown(Shutdown::Read);
        }
        for (_, thread) in connections {
            let _ = thread.join();
        }
    }
}

/// Accepts until the other end of `asleep` is closed.
fn accept(
    listener: &UnixListener,
    asleep: &UnixStream,
    connections: &Connections,
    handle: &Handle,
) {
    loop {
        let mut ready = [
            PollFd::new(listener.as_fd(), PollFlags::POLLIN),
            PollFd::new(asleep.as_fd(), PollFlags::POLLIN),
        ];
        let polled = poll(&mut ready, PollTimeout::NONE);
        if ready[1].any().unwrap_or(false) {
            return;
        }
        let accepted = polled.map_err(io::Error::from).and_then(|_| listener.accept());
        match accepted {
            Ok((stream, _)) => admit(stream, connections, handle),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            // Out of descriptors, for one: somebody may give some back.
            Err(_) => std::thread::sleep(ACCEPT_AGAIN),
        }
    }
}

/// Gives a connection a thread of its own; where there are too many, it is dropped and will come again.
fn admit(stream: UnixStream, connections: &Connections, handle: &Handle) {
    let mut connections = locked(connections);
    connections.retain(|(_, thread)| !thread.is_finished());
    let Ok(kept) = stream.try_clone() else { return };
    if connections.len() >= CONNECTIONS_MAX {
        return;
    }
    let handle = handle.clone();
    let thread = Builder::new().name("ferry-asked".to_owned()).spawn(move || {
        // Whatever goes wrong with one connection is that connection's: it is over.
        let _ = serve(&stream, &handle);
        // The clone that is kept for stopping would hold the connection open.
        let _ = stream.shutdown(Shutdown::Both);
    });
    if let Ok(thread) = thread {
        connections.push((kept, thread));
    }
}

fn serve(mut stream: &UnixStream, handle: &Handle) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
    stream.set_read_timeout(Some(HELLO_TIMEOUT))?;
    protocol::write(&mut stream, &Hello::new(handle.ledger))?;
    let hello: Hello = protocol::receive(&mut stream)?;
    if !hello.agrees() {
        return Ok(());
    }
    stream.set_read_timeout(None)?;
    while let Some(frame) = protocol::read(&mut stream)? {
        let reply = match rmp_serde::from_slice::<Ask<'_>>(&frame) {
            Ok(ask) => answer(ask, handle).unwrap_or_else(Reply::Failed),
            Err(error) => Reply::Failed(CommandError::Refused(error.to_string())),
        };
        match protocol::write(&mut stream, &reply) {
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                let problem = format!("the answer is too long: {error}");
                protocol::write(&mut stream, &Reply::Failed(CommandError::Refused(problem)))?;
            }
            written => written?,
        }
    }
    Ok(())
}

fn answer(ask: Ask<'_>, handle: &Handle) -> Result<Reply, CommandError> {
    let read = |error: StoreError| CommandError::Stopped(error.to_string());
    Ok(match ask {
        Ask::Run { bulk, command } => {
            let queue = if bulk { Queue::Bulk } else { Queue::Turns };
            let command = Encoded::parse(command)
                .map_err(|error| CommandError::Refused(format!("no command: {error}")))?;
            Reply::Outcome(handle.run_encoded(queue, command)?)
        }
        Ask::Append { signature, bytes } => {
            let batch = SignedBatch { signature, bytes: bytes.to_vec() };
            let receipt = handle.append(batch)?;
            Reply::Receipt { first: receipt.first, repeated: receipt.repeated }
        }
        Ask::Head => Reply::Head(handle.view().head()),
        Ask::Read { from, end } => Reply::Batches(page(handle, from, end).map_err(read)?),
        Ask::PositionOf(batch) => Reply::Position(handle.view().position_of(&batch).map_err(read)?),
        Ask::PositionsAbout(subject) => {
            Reply::Positions(handle.view().positions_about(&subject).map_err(read)?)
        }
        Ask::Checkpoint => {
            let Checkpoint { head, digest } = handle.checkpoint()?;
            Reply::Checkpoint { head, digest }
        }
        Ask::World => handle.ask(|world, _| Reply::World(ByteBuf::from(world.snapshot())))?,
    })
}

fn page(handle: &Handle, from: Seq, end: Seq) -> Result<Vec<(Seq, ByteBuf)>, StoreError> {
    let (mut batches, mut bytes) = (Vec::new(), 0);
    handle.view().read(from, &mut |first, stored| {
        if first >= end {
            return ControlFlow::Break(());
        }
        batches.push((first, ByteBuf::from(stored)));
        bytes += stored.len();
        if bytes < PAGE_BYTES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    Ok(batches)
}

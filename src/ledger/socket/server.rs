//! The owner's side: a thread that accepts, and one for each process that asks.

use std::fs::Permissions;
use std::io;
use std::net::Shutdown;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use events::batch::SignedBatch;
use events::ids::Seq;
use events::log::ReadLog as _;
use projections::projection::Projection as _;
use serde_bytes::ByteBuf;

use super::path;
use super::protocol::{self, Ask, Hello, PAGE_BYTES, Reply};
use crate::ledger::command::{CommandError, Encoded};
use crate::ledger::handle::{Checkpoint, Handle, Queue};
use crate::store::{Home, StoreError};

/// Most processes that are served at once.
const CONNECTIONS_MAX: usize = 64;
/// Whoever does not take its answer is let go.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);

struct Shared {
    stopping: AtomicBool,
    connections: Mutex<Vec<(UnixStream, JoinHandle<()>)>>,
}

impl Shared {
    fn connections(&self) -> MutexGuard<'_, Vec<(UnixStream, JoinHandle<()>)>> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Serves the socket of a ledger.
pub(in crate::ledger) struct Server {
    home: Home,
    path: PathBuf,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

impl Server {
    pub(in crate::ledger) fn start(
        home: &Home,
        runtime: &std::path::Path,
        handle: Handle,
    ) -> Result<Self, StoreError> {
        let failed = |error| StoreError::file(&home.run())(error);
        let path = path::prepare(home, runtime, &handle.ledger).map_err(failed)?;
        let listener = UnixListener::bind(&path).map_err(StoreError::file(&path))?;
        std::fs::set_permissions(&path, Permissions::from_mode(0o600))
            .map_err(StoreError::file(&path))?;
        let shared = Arc::new(Shared {
            stopping: AtomicBool::new(false),
            connections: Mutex::new(Vec::new()),
        });
        let accepting = Builder::new()
            .name("ferry-socket".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || accept(&listener, &shared, &handle)
            })
            .map_err(StoreError::file(&path))?;
        Ok(Self { home: home.clone(), path, shared, accepting })
    }

    /// Accepts no more, answers what was asked, and ends every connection.
    pub(in crate::ledger) fn stop(self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // The thread that accepts is woken by somebody who comes in vain; then the door is taken away.
        let _ = UnixStream::connect(&self.path);
        let _ = self.accepting.join();
        let _ = path::clear(&self.home, &self.path);
        let connections = std::mem::take(&mut *self.shared.connections());
        for (stream, _) in &connections {
            let _ = stream.shutdown(Shutdown::Read);
        }
        for (_, thread) in connections {
            let _ = thread.join();
        }
    }
}

fn accept(listener: &UnixListener, shared: &Shared, handle: &Handle) {
    for stream in listener.incoming() {
        if shared.stopping.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = stream else { continue };
        let mut connections = shared.connections();
        connections.retain(|(_, thread)| !thread.is_finished());
        if connections.len() >= CONNECTIONS_MAX {
            // Dropped: it will come again.
            continue;
        }
        let handle = handle.clone();
        let Ok(kept) = stream.try_clone() else { continue };
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
}

fn serve(mut stream: &UnixStream, handle: &Handle) -> io::Result<()> {
    stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
    protocol::write(&mut stream, &Hello::new(handle.ledger))?;
    let hello: Hello = protocol::receive(&mut stream)?;
    if !hello.agrees() {
        return Ok(());
    }
    while let Some(frame) = protocol::read(&mut stream)? {
        let reply = match rmp_serde::from_slice::<Ask<'_>>(&frame) {
            Ok(ask) => answer(ask, handle).unwrap_or_else(Reply::Failed),
            Err(error) => Reply::Failed(CommandError::Refused(error.to_string())),
        };
        protocol::write(&mut stream, &reply)?;
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

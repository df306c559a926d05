//! The owner of a ledger in this process: opened, served, closed.

use std::thread::{Builder, JoinHandle};

use events::head::Head;
use events::ids::Millis;
use events::kind::KindTable;
use events::log::ReadLog as _;
use projections::world::World;
use replay::fold::{Fold, Signatures};

use super::follower::Follower;
use super::handle::{Handle, queues};
use super::live::Live;
use super::own_keys::OwnKeys;
use super::socket::Server;
use crate::store::{Home, Opened, Sealed, Settings, Store, StoreError, clock};

/// What an owner is started with.
pub struct OwnerSettings {
    /// What the store is opened with.
    pub store: Settings,
    /// The clock events are received by.
    pub clock: Box<dyn Fn() -> Millis + Send>,
}

impl From<Settings> for OwnerSettings {
    fn from(store: Settings) -> Self {
        Self { store, clock: Box::new(clock) }
    }
}

/// The ledger in this process.
pub struct Owner {
    handle: Handle,
    opened: Opened,
    server: Option<Server>,
    thread: JoinHandle<Result<Sealed, StoreError>>,
}

impl Owner {
    /// Opens a ledger, brings its world up to its end, and serves the socket beside it.
    ///
    /// # Errors
    /// [`StoreError`]; [`StoreError::Busy`] when another process owns it.
    pub fn start(home: &Home, settings: impl Into<OwnerSettings>) -> Result<Self, StoreError> {
        let settings = settings.into();
        let runtime = settings.store.runtime.clone();
        let (store, opened) = Store::open(home, settings.store)?;
        let snapshots = store.snapshots()?;
        let keys = OwnKeys::read(home, &store)?;
        let (world, head) = current_world(&store)?;
        let (follower, following) = Follower::start(world.clone(), head, store.reader(), snapshots)
            .map_err(StoreError::file(home.path()))?;
        let (queues, waiting) = queues();
        let (ledger, reader) = (head.ledger, store.reader());
        let handle = Handle { ledger, queues, reader, follower: follower.clone() };
        let live = Live::new(store, world, keys, settings.clock, follower);
        let thread = Builder::new()
            .name("ferry-owner".to_owned())
            .spawn(move || live.work(waiting, following))
            .map_err(StoreError::file(home.path()))?;
        let mut owner = Self { handle, opened, server: None, thread };
        match Server::start(home, &runtime, owner.handle.clone()) {
            Ok(server) => owner.server = Some(server),
            Err(error) => {
                owner.close()?;
                return Err(error);
            }
        }
        Ok(owner)
    }

    /// How it was found when it was opened.
    #[must_use]
    pub const fn opened(&self) -> Opened {
        self.opened
    }

    /// What the owner is asked with.
    #[must_use]
    pub const fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Takes no more, answers what is queued, and closes the store cleanly.
    ///
    /// # Errors
    /// What failed, now or before.
    pub fn close(self) -> Result<(), StoreError> {
        let Self { handle, server, thread, .. } = self;
        if let Some(server) = server {
            server.stop();
        }
        handle.stop();
        let sealed = thread.join().unwrap_or(Err(StoreError::Stopped))?;
        drop(handle);
        sealed.tidy();
        Ok(())
    }
}

/// The world at the end of a store: from its newest snapshot, and what came since.
fn current_world(store: &Store) -> Result<(World, Head), StoreError> {
    let kinds = KindTable::current();
    let snapshot = store.snapshots()?.newest(|position| store.link_at(position))?;
    let mut fold = match snapshot {
        Some((world, head)) => Fold::resume(&kinds, Signatures::Trust, world, head),
        None => Fold::genesis(&kinds, Signatures::Trust, store.head().ledger),
    };
    fold.read(store, &mut |_, _, _| {})?;
    let head = fold.head();
    Ok((fold.into_world(), head))
}

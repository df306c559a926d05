//! Syncs the journal beside the commits, never in their way.
//!
//! `persist` holds the engine's journal lock and stalls commits for milliseconds. A file descriptor of our
//! own does not: read the committed position, find the newest journal, sync it; then everything before that
//! position is safe, because the engine syncs a sealed journal before it makes the next.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use events::bytes::Bytes16;
use events::head::Head;
use events::sign::VERIFIER;

use super::StoreError;
use super::head::{Record, SyncSlots};

#[derive(Debug)]
struct Progress {
    committed: Head,
    /// What a sync record vouches for; nothing before the first round.
    synced: Option<Head>,
    stopping: bool,
    failed: bool,
}

impl Progress {
    fn is_synced(&self) -> bool {
        self.synced == Some(self.committed)
    }
}

struct Shared {
    progress: Mutex<Progress>,
    changed: Condvar,
}

impl Shared {
    fn progress(&self) -> std::sync::MutexGuard<'_, Progress> {
        // A panic elsewhere leaves plain positions behind, each whole.
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread that syncs, and what it has come to.
pub(super) struct Syncer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Result<SyncState, StoreError>>>,
}

/// What the thread works with; given back when it ends.
pub(super) struct SyncState {
    pub(super) slots: SyncSlots,
    pub(super) counter: u64,
    pub(super) boot: Bytes16,
    pub(super) power: bool,
    /// From the start of one round to the next.
    pub(super) every: Duration,
}

impl SyncState {
    /// Writes the record of a finished sync.
    pub(super) fn record(&mut self, head: Head, clean: bool) -> Result<(), StoreError> {
        self.counter += 1;
        let (counter, boot, power) = (self.counter, self.boot, self.power);
        self.slots.write(&Record { counter, boot, clean, power, verifier: VERIFIER, head })
    }
}

impl Syncer {
    /// Starts the thread for the journals of a folder.
    pub(super) fn start(
        folder: PathBuf,
        state: SyncState,
        committed: Head,
    ) -> Result<Self, StoreError> {
        let progress = Progress { committed, synced: None, stopping: false, failed: false };
        let shared = Arc::new(Shared { progress: Mutex::new(progress), changed: Condvar::new() });
        let thread = Builder::new()
            .name("ferry-sync".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                let journals = Journals { folder: folder.clone(), open: None };
                move || run(&shared, journals, state)
            })
            .map_err(StoreError::file(&folder))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Tells the thread that more was committed. Fails when a sync has failed: the engine does not notice.
    pub(super) fn committed(&self, head: Head) -> Result<(), StoreError> {
        let mut progress = self.shared.progress();
        if progress.failed {
            return Err(StoreError::SyncFailed);
        }
        let was_synced = progress.is_synced();
        progress.committed = head;
        if was_synced {
            self.shared.changed.notify_all();
        }
        Ok(())
    }

    /// The newest head a sync record of this process vouches for: what may leave the machine.
    pub(super) fn synced(&self) -> Option<Head> {
        self.shared.progress().synced
    }

    /// Waits until everything committed is synced and vouched for.
    pub(super) fn wait(&self) -> Result<Head, StoreError> {
        let progress = self.shared.progress();
        let target = progress.committed;
        let waiting = |progress: &mut Progress| {
            let is_there = progress.synced.is_some_and(|synced| synced.next >= target.next);
            !progress.failed && !is_there
        };
        let progress = self
            .shared
            .changed
            .wait_while(progress, waiting)
            .unwrap_or_else(PoisonError::into_inner);
        progress.synced.filter(|_| !progress.failed).ok_or(StoreError::SyncFailed)
    }

    /// Ends the thread after a last sync.
    pub(super) fn stop(mut self) -> Result<SyncState, StoreError> {
        self.ask_to_stop();
        let thread = self.thread.take().ok_or(StoreError::SyncFailed)?;
        thread.join().map_err(|_| StoreError::SyncFailed)?
    }

    fn ask_to_stop(&self) {
        self.shared.progress().stopping = true;
        self.shared.changed.notify_all();
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.ask_to_stop();
        if let Some(thread) = self.thread.take() {
            // Whoever drops instead of closing has its answer already: the stop was not clean.
            let _ = thread.join();
        }
    }
}

fn run(
    shared: &Shared,
    mut journals: Journals,
    mut state: SyncState,
) -> Result<SyncState, StoreError> {
    let _stopped = Stopped(shared);
    loop {
        let (head, stopping) = {
            let idle = |progress: &mut Progress| !progress.stopping && progress.is_synced();
            let progress = shared
                .changed
                .wait_while(shared.progress(), idle)
                .unwrap_or_else(PoisonError::into_inner);
            (progress.committed, progress.stopping)
        };
        let started = Instant::now();
        if Some(head) != shared.progress().synced {
            // Where answers waited for a sync, the journal needs no other.
            let synced = if state.power { Ok(()) } else { journals.sync() };
            let synced = synced.and_then(|()| state.record(head, false));
            let mut progress = shared.progress();
            match synced {
                Ok(()) => progress.synced = Some(head),
                Err(error) => {
                    progress.failed = true;
                    shared.changed.notify_all();
                    return Err(error);
                }
            }
            shared.changed.notify_all();
        }
        if stopping {
            return Ok(state);
        }
        // Commits gather for the next sync; a request to stop does not wait for it.
        let rest = state.every.saturating_sub(started.elapsed());
        let _ = shared
            .changed
            .wait_timeout_while(shared.progress(), rest, |progress| !progress.stopping);
    }
}

/// However the thread ends, nobody goes on waiting for it.
struct Stopped<'s>(&'s Shared);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        let mut progress = self.0.progress();
        if !progress.stopping {
            progress.failed = true;
        }
        self.0.changed.notify_all();
    }
}

/// The engine's journals: `N.jnl`, the highest is written to.
struct Journals {
    folder: PathBuf,
    open: Option<(u64, File)>,
}

impl Journals {
    fn sync(&mut self) -> Result<(), StoreError> {
        loop {
            let newest = newest_journal(&self.folder)?;
            if self.open.as_ref().is_none_or(|(number, _)| *number != newest) {
                let path = journal_path(&self.folder, newest);
                match File::open(&path) {
                    Ok(file) => self.open = Some((newest, file)),
                    // Sealed, written to synced tables and removed since it was listed.
                    Err(error) if error.kind() == ErrorKind::NotFound => continue,
                    Err(error) => return Err(StoreError::file(&path)(error)),
                }
            }
            if let Some((_, file)) = &self.open {
                return file.sync_data().map_err(StoreError::file(&self.folder));
            }
        }
    }
}

pub(super) fn journal_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number}.jnl"))
}

pub(super) fn newest_journal(folder: &Path) -> Result<u64, StoreError> {
    let mut newest = None;
    for entry in std::fs::read_dir(folder).map_err(StoreError::file(folder))? {
        let name = entry.map_err(StoreError::file(folder))?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".jnl")?.parse().ok());
        newest = newest.max(number);
    }
    newest.ok_or(StoreError::Damaged { what: "journal folder" })
}

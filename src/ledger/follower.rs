//! The follower: a second fold on a thread of its own. It answers queries, writes snapshots, and checks at
//! positions the owner picks that its world is the live world.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use events::head::Head;
use events::ids::{Digest, Seq};
use events::kind::KindTable;
use projections::projection::Projection as _;
use projections::world::World;
use replay::fold::{Fold, Signatures};

use crate::store::{Reader, SNAPSHOT_EVENTS, Snapshots, StoreError};

/// How long the follower rests after it has caught up, unless it is asked: commits gather meanwhile.
const REST: Duration = Duration::from_millis(20);
/// On a clean stop a snapshot is written when the newest is farther back than this.
const WORTH_A_SNAPSHOT: u64 = 1_000;

type Query = Box<dyn FnOnce(&World, &Head) + Send>;

struct State {
    committed: Head,
    /// The live world's digest at a position, to be compared there.
    checkpoint: Option<(Seq, Digest)>,
    queries: Vec<Query>,
    resting: bool,
    stopping: bool,
    /// Why it ended, when it was not asked to.
    failed: Option<StoreError>,
    ended: bool,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Each field is whole by itself, whatever panicked elsewhere.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What owner and readers hold of the follower.
#[derive(Clone)]
pub(super) struct Follower(Arc<Shared>);

impl Follower {
    /// Starts the thread with the world at the end of the log.
    pub(super) fn start(
        world: World,
        head: Head,
        reader: Reader,
        snapshots: Snapshots,
    ) -> std::io::Result<(Self, JoinHandle<()>)> {
        let state = State {
            committed: head,
            checkpoint: None,
            queries: Vec::new(),
            resting: false,
            stopping: false,
            failed: None,
            ended: false,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let thread = Builder::new().name("ferry-follower".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || {
                let _ended = Ended(&shared);
                follow(&shared, world, head, &reader, &snapshots);
            }
        })?;
        Ok((Self(shared), thread))
    }

    /// The end of the log as the owner last published it.
    pub(super) fn committed(&self) -> Head {
        self.0.state().committed
    }

    /// Publishes a commit. With the live world's digest there, when the owner has time to be checked and the
    /// last one was compared; true then.
    pub(super) fn publish(
        &self,
        head: Head,
        digest: Option<impl FnOnce() -> Digest>,
    ) -> Result<bool, StoreError> {
        let mut state = self.0.state();
        if state.ended {
            return Err(state.failed.take().unwrap_or(StoreError::Stopped));
        }
        state.committed = head;
        let digest = digest.filter(|_| state.checkpoint.is_none());
        let is_checked = digest.is_some();
        if let Some(digest) = digest {
            state.checkpoint = Some((head.next, digest()));
        }
        if !state.resting {
            self.0.changed.notify_all();
        }
        Ok(is_checked)
    }

    /// Asks the follower's world, once it has come to everything that is committed now. The answer is dropped
    /// with the question when the follower has ended.
    pub(super) fn ask(&self, query: impl FnOnce(&World, &Head) + Send + 'static) {
        let mut state = self.0.state();
        if !state.ended {
            state.queries.push(Box::new(query));
            self.0.changed.notify_all();
        }
    }

    /// Ends the thread once it has caught up, answered, compared and written what is worth it.
    pub(super) fn stop(&self) {
        self.0.state().stopping = true;
        self.0.changed.notify_all();
    }

    /// Why it ended, when it was not asked to.
    pub(super) fn failed(&self) -> Option<StoreError> {
        self.0.state().failed.take()
    }
}

/// However the thread ends, nobody goes on waiting for it.
struct Ended<'s>(&'s Shared);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.ended = true;
        state.queries.clear();
    }
}

fn follow(shared: &Shared, world: World, head: Head, reader: &Reader, snapshots: &Snapshots) {
    let kinds = KindTable::current();
    let mut fold = Fold::resume(&kinds, Signatures::Trust, world, head);
    let mut written = snapshots.newest_position().unwrap_or(0);
    loop {
        let (target, queries, stopping) = {
            let position = fold.head().next;
            let idle = |state: &mut State| {
                state.committed.next == position && state.queries.is_empty() && !state.stopping
            };
            let mut state = shared
                .changed
                .wait_while(shared.state(), idle)
                .unwrap_or_else(PoisonError::into_inner);
            (state.committed, std::mem::take(&mut state.queries), state.stopping)
        };
        if let Err(error) = catch_up(shared, &mut fold, reader, target, snapshots, &mut written) {
            shared.state().failed = Some(error);
            // Whatever they were made from is in doubt.
            let _ = snapshots.clear();
            return;
        }
        for query in queries {
            query(fold.world(), &fold.head());
        }
        if stopping {
            if fold.head().next >= written + WORTH_A_SNAPSHOT {
                let _ = snapshots.write(fold.world(), &fold.head());
            }
            return;
        }
        rest(shared);
    }
}

/// Lets commits gather; a question or a stop does not wait for them.
fn rest(shared: &Shared) {
    let mut state = shared.state();
    state.resting = true;
    let until = Instant::now() + REST;
    while state.queries.is_empty() && !state.stopping {
        let Some(left) = until.checked_duration_since(Instant::now()) else { break };
        state = shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
    }
    state.resting = false;
}

/// Folds up to a head, compares where the owner wants it, and writes snapshots on the way.
fn catch_up(
    shared: &Shared,
    fold: &mut Fold<'_>,
    reader: &Reader,
    target: Head,
    snapshots: &Snapshots,
    written: &mut Seq,
) -> Result<(), StoreError> {
    let mut differs = None;
    let mut pass = |head: &Head, world: &World| {
        let mut state = shared.state();
        if let Some((at, digest)) = state.checkpoint.filter(|(at, _)| *at <= head.next) {
            if at == head.next && digest != world.digest() {
                differs = Some(at);
            }
            state.checkpoint = None;
        }
        drop(state);
        if head.next >= *written + SNAPSHOT_EVENTS {
            // A snapshot that cannot be written costs the next open some time, and nothing else.
            let _ = snapshots.write(world, head);
            *written = head.next;
        }
        Ok(())
    };
    let read = fold.read_passing(&reader.at(target), &mut |_, _, _| {}, &mut pass);
    match (differs, read) {
        (Some(at), _) => Err(StoreError::Diverged { at }),
        (None, read) => read.map_err(Into::into),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::FjallLog;
    use events::hash::LedgerSecret;
    use events::log::ReadLog as _;
    use replay::synth::{Synth, ledger_id};

    /// A follower of a small ledger, from its start, and the world at its end.
    fn following(folder: &std::path::Path) -> (Follower, JoinHandle<()>, World, Head, Snapshots) {
        let mut log = FjallLog::throw_away(&folder.join("ledger"), ledger_id(3)).unwrap();
        let start = log.head();
        Synth { turns: 600, seed: 3 }.write(&mut log, &mut |_| {}).unwrap();
        let kinds = KindTable::current();
        let mut fold = Fold::genesis(&kinds, Signatures::Trust, start.ledger);
        fold.read(&log, &mut |_, _, _| {}).unwrap();
        let secret = LedgerSecret::new([1; 32]);
        let snapshots = Snapshots::new(folder.join("snapshots"), start.ledger, secret);
        let (follower, thread) =
            Follower::start(World::genesis(), start, log.reader(), snapshots.clone()).unwrap();
        (follower, thread, fold.into_world(), log.head(), snapshots)
    }

    #[test]
    fn it_catches_up_compares_answers_and_keeps_a_snapshot() {
        let folder = tempfile::tempdir().unwrap();
        let (follower, thread, world, head, snapshots) = following(folder.path());
        assert!(follower.publish(head, Some(|| world.digest())).unwrap());
        let (give, take) = std::sync::mpsc::channel();
        follower.ask(move |world, head| give.send((world.digest(), *head)).unwrap());
        assert_eq!(take.recv().unwrap(), (world.digest(), head));
        assert!(follower.publish(head, None::<fn() -> Digest>).is_ok(), "they agree");
        follower.stop();
        thread.join().unwrap();
        assert_eq!(snapshots.newest_position(), Some(head.next));
    }

    // What would be a fault of ferry, or of the machine's memory: it is noticed, and nothing is built upon it.
    #[test]
    fn a_live_world_that_is_another_stops_the_owner() {
        let folder = tempfile::tempdir().unwrap();
        let (follower, thread, mut world, head, snapshots) = following(folder.path());
        world.counts.events += 1;
        snapshots.write(&world, &head).unwrap();
        follower.publish(head, Some(|| world.digest())).unwrap();
        thread.join().unwrap();
        assert!(matches!(
            follower.publish(head, None::<fn() -> Digest>),
            Err(StoreError::Diverged { at }) if at == head.next
        ));
        assert_eq!(snapshots.newest_position(), None, "what was made from it is in doubt");
        let (give, take) = std::sync::mpsc::channel::<()>();
        follower.ask(move |_, _| give.send(()).unwrap());
        assert!(take.recv().is_err(), "nobody waits for it");
    }

    #[test]
    fn a_log_that_is_shorter_than_was_said_is_a_fault() {
        let folder = tempfile::tempdir().unwrap();
        let (follower, thread, _, head, _) = following(folder.path());
        let longer = Head { next: head.next + 1, ..head };
        follower.publish(longer, None::<fn() -> Digest>).unwrap();
        thread.join().unwrap();
        assert!(matches!(follower.failed(), Some(StoreError::Fold(_))));
    }
}

//! The owner in one process.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use events::batch::{Author, AuthorTip, SignedBatch};
use events::bytes::Bytes;
use events::entry::Entry;
use events::event::Events;
use events::ids::{Millis, Subject};
use events::kind::KindTable;
use events::payload::{Actor, ActorChange, Ending, Import, Name, Stream, TurnClosed};
use events::sign::SigningKey;
use ferry::ledger::{CommandError, Encoded, OwnerSettings};
use ferry::store::{KeyFiles, Store};
use projections::projection::Projection as _;
use replay::fold::verify;
use std::ops::ControlFlow;

use super::*;
use crate::store::{copied, journals, verified};

fn import_event(turns: u64) -> Import<'static> {
    Import {
        source: Name::new("test").unwrap(),
        rows: turns,
        turns,
        repeated: 0,
        amended: 0,
        refused: 0,
        digest: Bytes([3; 32]),
    }
}

fn retire(key: &SigningKey) -> Command<'static> {
    let key = key.public();
    let change = ActorChange::Retired;
    let actor = Actor { key, stream: Stream::Proxy, change, replaces: None };
    Command::ChangeKey { at: 5, actor }
}

// Law 2, in production's own way, and against a fold from the first event.
#[test]
fn law_2_live_world_follower_and_a_fold_from_genesis_are_one() {
    let (_folder, home) = made();
    let owner = owned(&home);
    let handle = owner.handle();
    let kinds = KindTable::current();
    for round in 0..30_u64 {
        let rows: Vec<String> =
            (0..round % 7 + 1).map(|row| format!("{}", row + round / 2)).collect();
        let at = round * 40_000_000;
        let turns: Vec<_> =
            rows.iter().map(|row| turn(row, at, u32::try_from(round).unwrap())).collect();
        import_here(handle, &turns);
        let checkpoint = handle.checkpoint().unwrap();
        let view = handle.view();
        assert_eq!(view.head(), checkpoint.head);
        assert_eq!(verify(&view, &kinds, None).unwrap().world.digest(), checkpoint.digest);
        let followed = handle.ask(|world, head| (world.digest(), *head)).unwrap();
        assert_eq!(followed, (checkpoint.digest, checkpoint.head));
    }
    owner.close().unwrap();
}

#[test]
fn what_many_threads_ask_at_once_is_decided_one_after_another() {
    let (_folder, home) = made();
    let owner = owned(&home);
    let count =
        |recorded: Recorded, all: &[Recorded]| all.iter().filter(|r| **r == recorded).count();
    let all: Vec<Recorded> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let one =
                        |row: u64| import_here(owner.handle(), &[turn(&row.to_string(), row, 9)]);
                    (0..200).flat_map(one).collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(count(Recorded::New, &all), 200, "each turn is new once");
    assert_eq!(count(Recorded::Repeated, &all), 600);
    let view = owner.handle().view();
    let folded = verify(&view, &KindTable::current(), None).unwrap();
    assert_eq!(folded.world.counts.events, 4 + 400);
    assert_eq!(folded.world.digest(), owner.handle().checkpoint().unwrap().digest);
    owner.close().unwrap();
}

// Groups form while the owner is held up: here by its clock.
fn held_up(home: &Home) -> (Owner, impl Fn(), Receiver<()>) {
    let (go, wait) = channel::<()>();
    let (tell, began) = channel();
    let clock = move || {
        tell.send(()).unwrap();
        // When the test lets go of its end, time is no matter any more.
        let _ = wait.recv();
        7_000
    };
    let settings = OwnerSettings { store: here(), clock: Box::new(clock) };
    (Owner::start(home, settings).unwrap(), move || go.send(()).unwrap(), began)
}

/// Gives a command, and its outcome to whoever listens.
fn submit(handle: &Handle, command: &Command<'_>, give: &Sender<Answered>) {
    let give = give.clone();
    let answer = move |outcome| drop(give.send(outcome));
    handle.submit(Queue::Turns, Encoded::new(command), answer).unwrap();
}

type Answered = Result<Outcome, CommandError>;

#[test]
fn a_group_is_signed_once_a_stream_and_its_commands_see_each_other() {
    let (_folder, home) = made();
    let (owner, go, began) = held_up(&home);
    let handle = owner.handle();
    let (give, take) = channel();
    let submit = |command: &Command<'_>| submit(handle, command, &give);
    let one = |row: &str| {
        let encoded = encode_turn(&turn(row, 1, 1));
        submit(&Command::ImportTurns(vec![RawBytes::new(&encoded)]));
    };
    one("a");
    began.recv().unwrap();
    // While the first is being begun, these gather; the node's batch parts the proxy's.
    for row in ["b", "b", "c"] {
        one(row);
    }
    let proxy = SigningKey::from_secret(&[9; 32]);
    let actor = Actor {
        key: proxy.public(),
        stream: Stream::Proxy,
        change: ActorChange::Enrolled,
        replaces: None,
    };
    submit(&Command::ChangeKey { at: 5, actor });
    submit(&Command::CloseImport { id: Bytes([8; 16]), at: 6, import: import_event(3) });
    submit(&Command::CloseImport { id: Bytes([8; 16]), at: 6, import: import_event(3) });
    go();
    let answers: Vec<Outcome> = (0..7).map(|_| take.recv().unwrap().unwrap()).collect();
    let imported = |recorded| Outcome::Imported(vec![recorded]);
    let written = |first, repeated| Outcome::Written { first, repeated };
    assert_eq!(
        answers,
        [
            imported(Recorded::New),
            imported(Recorded::New),
            imported(Recorded::Repeated),
            imported(Recorded::New),
            written(10, false),
            written(11, false),
            written(11, true),
        ]
    );
    let mut batches = Vec::new();
    let collect = &mut |first, stored: &[u8]| {
        batches.push((first, Entry::split(stored).unwrap().0.received));
        ControlFlow::Continue(())
    };
    handle.view().read(4, collect).unwrap();
    // One batch for all six proxy events, one for the node's, one for the proxy's after it.
    assert_eq!(batches, [(4, 7_000), (10, 7_000), (11, 7_000)]);
    drop(go);
    owner.close().unwrap();
}

#[test]
fn a_full_queue_is_busy_and_nothing_of_it_is_lost() {
    let (_folder, home) = made();
    let (owner, go, began) = held_up(&home);
    let handle = owner.handle();
    let (give, take) = channel();
    let mut taken = 0;
    let busy = loop {
        let encoded = encode_turn(&turn(&taken.to_string(), 1, 1));
        let command = Encoded::new(&Command::ImportTurns(vec![RawBytes::new(&encoded)]));
        let give = give.clone();
        match handle.submit(Queue::Turns, command, move |outcome| drop(give.send(outcome))) {
            Ok(()) => taken += 1,
            Err(error) => break error,
        }
        if taken == 1 {
            began.recv().unwrap();
        }
    };
    assert_eq!((busy, taken), (CommandError::Busy, 1 + 1024));
    drop(go);
    let new =
        (0..taken).filter(|_| take.recv().unwrap() == Ok(Outcome::Imported(vec![Recorded::New])));
    assert_eq!(new.count(), taken);
    owner.close().unwrap();
}

#[test]
fn every_command_can_be_given_again() {
    let (_folder, home) = made();
    let owner = owned(&home);
    let handle = owner.handle();
    let close = Command::CloseImport { id: Bytes([8; 16]), at: 6, import: import_event(0) };
    let proxy = SigningKey::from_secret(&[9; 32]);
    let actor = Actor {
        key: proxy.public(),
        stream: Stream::Proxy,
        change: ActorChange::Enrolled,
        replaces: None,
    };
    let enrol = Command::ChangeKey { at: 5, actor };
    for command in [close, enrol, retire(&proxy)] {
        let Outcome::Written { first, repeated: false } =
            handle.run(Queue::Turns, &command).unwrap()
        else {
            panic!("it was new")
        };
        let again = handle.run(Queue::Turns, &command).unwrap();
        assert_eq!(again, Outcome::Written { first, repeated: true });
    }
    assert_eq!(handle.view().head().next, 4 + 3);
    let never = SigningKey::from_secret(&[10; 32]);
    let refused = handle.run(Queue::Turns, &retire(&never)).unwrap_err();
    assert!(matches!(refused, CommandError::Refused(_)), "{refused}");
    assert_eq!(handle.view().head().next, 4 + 3, "what is refused leaves nothing");
    owner.close().unwrap();
}

#[test]
fn a_signed_batch_of_another_author_is_judged_appended_and_answered_again() {
    let (_folder, home) = made();
    let owner = owned(&home);
    let handle = owner.handle();
    let ledger = handle.view().head().ledger;
    let mut author = Author::new(SigningKey::from_secret(&[9; 32]), ledger, AuthorTip::default());
    let batch = batch_of(&mut author, 1);
    let next = batch_of(&mut author, 2);
    let gap = handle.append(next.clone()).unwrap_err();
    assert!(gap.to_string().contains("batch 1 came where 0 was due"), "{gap}");
    let receipt = handle.append(batch.clone()).unwrap();
    assert_eq!((receipt.first, receipt.repeated), (4, false));
    let again = handle.append(batch.clone()).unwrap();
    assert_eq!((again.first, again.repeated), (4, true));
    let mut forged = next.clone();
    forged.signature.0[5] ^= 1;
    assert!(matches!(handle.append(forged), Err(CommandError::Refused(_))));
    assert_eq!(handle.append(next).unwrap().first, 5);
    // Nobody enrolled the author: what it says is stored, and counts for nothing.
    let counts = handle.ask(|world, _| world.counts).unwrap();
    assert_eq!((counts.events, counts.without_effect), (6, 2));
    let digest = handle.checkpoint().unwrap().digest;
    let folded = verify(&handle.view(), &KindTable::current(), None).unwrap();
    assert_eq!(folded.world.digest(), digest);
    owner.close().unwrap();
}

pub(super) fn batch_of(author: &mut Author, number: u8) -> SignedBatch {
    let mut events = Events::new();
    let closed = TurnClosed { ending: Ending::Aborted, attempts: 1, bytes_sent: None };
    let subject: Subject = Bytes([number; 16]);
    events.push(u64::from(number), subject, &closed).unwrap();
    author.seal(events).unwrap()
}

// Batches of the owner's own key that come back, as from an export after a loss.
#[test]
fn own_batches_that_come_signed_are_gone_on_from() {
    let (folder, home) = made();
    let before = copied(&home, &folder.path().join("before"));
    let mut lost = Vec::new();
    let owner = Owner::start(&before, here()).unwrap();
    import_here(owner.handle(), &[turn("a", 1, 1)]);
    let collect = &mut |_, stored: &[u8]| {
        let (entry, _, bytes) = Entry::split(stored).unwrap();
        lost.push(SignedBatch { signature: entry.signature, bytes: bytes.to_vec() });
        ControlFlow::Continue(())
    };
    owner.handle().view().read(4, collect).unwrap();
    owner.close().unwrap();
    let owner = owned(&home);
    for batch in lost {
        owner.handle().append(batch).unwrap();
    }
    assert_eq!(
        import_here(owner.handle(), &[turn("a", 1, 1), turn("b", 1, 1)]),
        [Recorded::Repeated, Recorded::New]
    );
    owner.close().unwrap();
}

#[test]
fn time_in_the_ledger_never_runs_back_but_for_a_clock_that_was_set_back() {
    let (_folder, home) = made();
    let now = Arc::new(AtomicU64::new(0));
    let clock = {
        let now = Arc::clone(&now);
        move || now.load(Ordering::SeqCst)
    };
    let settings = OwnerSettings { store: here(), clock: Box::new(clock) };
    let owner = Owner::start(&home, settings).unwrap();
    let handle = owner.handle();
    let at: [Millis; 6] = [500_000, 450_000, 510_000, 440_000, 300_000, 300_000];
    for (row, clock) in at.into_iter().enumerate() {
        now.store(clock, Ordering::SeqCst);
        if row == 4 {
            // The node's own command stands in one batch with its correction.
            let key = SigningKey::from_secret(&[9; 32]).public();
            let change = ActorChange::Enrolled;
            let actor = Actor { key, stream: Stream::Agent, change, replaces: None };
            handle.run(Queue::Turns, &Command::ChangeKey { at: clock, actor }).unwrap();
        } else {
            import_here(handle, &[turn(&row.to_string(), clock, 1)]);
        }
    }
    let mut received = Vec::new();
    let collect = &mut |first, stored: &[u8]| {
        received.push((first, Entry::split(stored).unwrap().0.received));
        ControlFlow::Continue(())
    };
    handle.view().read(4, collect).unwrap();
    // 50 s back is nothing; 70 s back is an event, and time goes on from there.
    assert_eq!(
        received,
        [
            (4, 500_000),
            (6, 500_000),
            (8, 510_000),
            (10, 440_000),
            (11, 440_000),
            (13, 300_000),
            (15, 300_000),
        ]
    );
    let digest = handle.checkpoint().unwrap().digest;
    let folded = verify(&handle.view(), &KindTable::current(), None).unwrap();
    assert_eq!(folded.world.digest(), digest, "the corrections are in the live world, too");
    owner.close().unwrap();
}

#[test]
fn a_rotated_key_is_used_from_the_next_event_on() {
    let (_folder, home) = made();
    let owner = owned(&home);
    let handle = owner.handle();
    let files = KeyFiles::new(home.clone());
    let old = files.signing(Stream::Proxy).unwrap().public();
    import_here(handle, &[turn("a", 1, 1)]);
    let key = files.draw_next(Stream::Proxy).unwrap().public();
    let change = ActorChange::Rotated;
    let actor = Actor { key, stream: Stream::Proxy, change, replaces: Some(old) };
    let rotate = Command::ChangeKey { at: 2, actor };
    handle.run(Queue::Turns, &rotate).unwrap();
    assert_eq!(files.signing(Stream::Proxy).unwrap().public(), key);
    import_here(handle, &[turn("b", 3, 1)]);
    let counts = handle.ask(|world, _| world.counts).unwrap();
    assert_eq!((counts.events, counts.without_effect), (4 + 2 + 1 + 2, 0));
    // What would leave the ledger without a key to write with is refused.
    let retire = Actor { key, stream: Stream::Proxy, change: ActorChange::Retired, replaces: None };
    let stranger = SigningKey::from_secret(&[9; 32]).public();
    let lost = Actor { key: stranger, stream: Stream::Proxy, change, replaces: Some(key) };
    for (actor, why) in [(retire, "rotate it instead"), (lost, "secret is not beside the old one")]
    {
        let command = Command::ChangeKey { at: 4, actor };
        let refused = handle.run(Queue::Turns, &command).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
    import_here(handle, &[turn("c", 5, 1)]);
    owner.close().unwrap();
}

#[test]
fn snapshots_shorten_the_next_start_and_may_be_anything() {
    let (_folder, home) = made();
    let owner = owned(&home);
    let rows: Vec<String> = (0..800).map(|row| row.to_string()).collect();
    for chunk in rows.chunks(80) {
        let turns: Vec<_> = chunk.iter().map(|row| turn(row, 1, 1)).collect();
        import_here(owner.handle(), &turns);
    }
    let digest = owner.handle().checkpoint().unwrap().digest;
    owner.close().unwrap();
    let snapshot =
        || std::fs::read_dir(home.snapshots()).unwrap().next().map(|file| file.unwrap().path());
    let path = snapshot().unwrap();
    assert!(path.to_str().unwrap().ends_with("00000000000000001604"), "{}", path.display());
    let digest_now = || {
        let owner = owned(&home);
        let digest = owner.handle().checkpoint().unwrap().digest;
        owner.close().unwrap();
        digest
    };
    assert_eq!(digest_now(), digest);
    let sound = std::fs::read(&path).unwrap();
    let mut odd = sound.clone();
    *odd.last_mut().unwrap() ^= 1;
    std::fs::write(&path, odd).unwrap();
    assert_eq!(digest_now(), digest);
    assert_eq!(std::fs::read(&path).unwrap(), sound, "an odd one is deleted and made again");
}

#[test]
fn the_store_is_free_and_clean_after_closing() {
    let (_folder, home) = made();
    let owner = owned(&home);
    import_here(owner.handle(), &[turn("a", 1, 1)]);
    assert!(matches!(Store::open(&home, here()), Err(StoreError::Busy)));
    let handle = owner.handle().clone();
    owner.close().unwrap();
    assert_eq!(handle.checkpoint(), Err(CommandError::Closed));
    assert!(handle.ask(|_, head| head.next).is_err());
    drop(handle);
    let (store, opened) = Store::open(&home, here()).unwrap();
    assert!(opened.was_clean);
    assert_eq!(verified(&store).head.next, 6);
}

// The engine reads its newest journal again at each start: after a clean stop there is nothing in it.
#[test]
fn a_clean_stop_leaves_an_empty_journal_and_a_deleted_one_takes_nothing() {
    let (_folder, home) = made();
    for row in ["a", "b"] {
        let owner = owned(&home);
        import_here(owner.handle(), &[turn(row, 1, 1)]);
        owner.close().unwrap();
        let journal = journals(&home).pop().unwrap();
        assert_eq!(std::fs::metadata(&journal).unwrap().len(), 0);
        if row == "a" {
            std::fs::remove_file(journal).unwrap();
        }
    }
    let (store, opened) = Store::open(&home, here()).unwrap();
    assert!(opened.was_clean);
    assert_eq!(verified(&store).head.next, 4 + 4);
}

// The new key of a stream is there for whatever came behind its rotation in one group.
#[test]
fn commands_behind_a_rotation_are_written_by_the_new_key() {
    let (_folder, home) = made();
    let (owner, go, began) = held_up(&home);
    let handle = owner.handle();
    let files = KeyFiles::new(home.clone());
    let old = files.signing(Stream::Proxy).unwrap().public();
    let key = files.draw_next(Stream::Proxy).unwrap().public();
    let change = ActorChange::Rotated;
    let actor = Actor { key, stream: Stream::Proxy, change, replaces: Some(old) };
    let (give, take) = channel();
    let submit = |command: &Command<'_>| submit(handle, command, &give);
    let one = |row: &str| {
        let encoded = encode_turn(&turn(row, 1, 1));
        submit(&Command::ImportTurns(vec![RawBytes::new(&encoded)]));
    };
    one("a");
    began.recv().unwrap();
    submit(&Command::ChangeKey { at: 2, actor });
    one("b");
    go();
    drop(go);
    assert!((0..3).all(|_| take.recv().unwrap().is_ok()));
    let counts = handle.ask(|world, _| world.counts).unwrap();
    assert_eq!((counts.events, counts.without_effect), (4 + 2 + 1 + 2, 0));
    owner.close().unwrap();
}

#[test]
fn own_events_need_no_judge_but_count_as_admitted() {
    let (_folder, home) = made();
    let owner = owned(&home);
    import_here(owner.handle(), &[turn("a", 1, 1)]);
    owner.close().unwrap();
    assert_eq!(home.vouched_head().unwrap().unwrap().admitted(), 6);
}

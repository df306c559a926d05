//! The suite every log must pass. Call [`run`] from a test with a way to make and reopen logs.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test suite fails by panicking")]

use std::ops::ControlFlow;

use crate::admission::{Admitted, Chain, Refusal, admit};
use crate::batch::{Author, AuthorTip, SignedBatch};
use crate::bytes::{Bytes, Bytes32};
use crate::entry::Entry;
use crate::event::Events;
use crate::ids::{LedgerId, Millis, Seq, Subject};
use crate::kind::KindTable;
use crate::log::{AppendError, Log, ReadLog as _};
use crate::payload::{Ending, TurnClosed};
use crate::sign::{SigningKey, Verifier};

/// How the suite makes logs.
pub trait Subjects {
    /// The log under test.
    type Log: Log;
    /// An empty log of a ledger.
    fn fresh(&mut self, ledger: LedgerId) -> Self::Log;
    /// The same log, closed and opened again. A log that lives in memory gives itself back.
    fn reopen(&mut self, log: Self::Log) -> Self::Log;
}

const LEDGER: LedgerId = Bytes([0x11; 32]);

/// Runs the whole suite.
///
/// # Panics
/// With the rule that was broken.
pub fn run(subjects: &mut impl Subjects) {
    an_empty_log_stands_at_its_genesis(subjects);
    positions_are_dense_and_reads_start_where_asked(subjects);
    repeated_batches_change_nothing(subjects);
    groups_are_appended_whole_or_not_at_all(subjects);
    author_chains_are_dense(subjects);
    other_ledgers_are_refused(subjects);
    subjects_are_found_in_order(subjects);
    what_is_read_is_what_was_written(subjects);
}

fn author(seed: u8, ledger: LedgerId) -> Author {
    Author::new(SigningKey::from_secret(&[seed; 32]), ledger, AuthorTip::default())
}

fn subject(number: u64) -> Subject {
    let mut bytes = [0; 16];
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    Bytes(bytes)
}

fn sealed(author: &mut Author, at: Millis, about: &[u64]) -> SignedBatch {
    let mut events = Events::new();
    for number in about {
        let closed = TurnClosed { ending: Ending::Aborted, attempts: 1, bytes_sent: Some(*number) };
        events.push(at, subject(*number), &closed).unwrap();
    }
    author.seal(events).unwrap()
}

fn admitted(batch: SignedBatch, ledger: LedgerId) -> Admitted {
    admit(batch, &ledger, &KindTable::current(), &mut Verifier::new()).unwrap()
}

fn write(author: &mut Author, at: Millis, about: &[u64]) -> Admitted {
    admitted(sealed(author, at, about), LEDGER)
}

fn stored<L: Log>(log: &L, from: Seq) -> Vec<(Seq, Vec<u8>)> {
    let mut out = Vec::new();
    log.read(from, &mut |first, bytes| {
        out.push((first, bytes.to_vec()));
        ControlFlow::Continue(())
    })
    .unwrap();
    out
}

fn refusal<T: std::fmt::Debug, E: std::error::Error>(
    outcome: Result<T, AppendError<E>>,
) -> (usize, Refusal) {
    match outcome {
        Err(AppendError::Refused { index, refusal }) => (index, refusal),
        other => panic!("a refusal was due, this came: {other:?}"),
    }
}

fn an_empty_log_stands_at_its_genesis(subjects: &mut impl Subjects) {
    let log = subjects.fresh(LEDGER);
    assert_eq!(log.head(), Chain::genesis(LEDGER).head());
    assert_eq!(log.tip(&Bytes32::ZERO), AuthorTip::default());
    assert_eq!(stored(&log, 0), []);
    assert_eq!(stored(&log, 7), []);
    let log = subjects.reopen(log);
    assert_eq!(log.head(), Chain::genesis(LEDGER).head());
}

fn positions_are_dense_and_reads_start_where_asked(subjects: &mut impl Subjects) {
    let mut log = subjects.fresh(LEDGER);
    let (mut one, mut two) = (author(1, LEDGER), author(2, LEDGER));
    let group = [write(&mut one, 10, &[1, 2, 3]), write(&mut two, 11, &[4])];
    let receipts = log.append(&group, 12).unwrap();
    assert_eq!(receipts.iter().map(|receipt| receipt.first).collect::<Vec<_>>(), [0, 3]);
    log.append(&[write(&mut one, 13, &[5, 6])], 14).unwrap();
    assert_eq!(log.head().next, 6);
    let log = subjects.reopen(log);
    assert_eq!(log.head().next, 6);
    let firsts = |from| stored(&log, from).iter().map(|(first, _)| *first).collect::<Vec<_>>();
    assert_eq!(firsts(0), [0, 3, 4]);
    assert_eq!(firsts(2), [0, 3, 4], "the batch that holds position 2 comes first");
    assert_eq!(firsts(3), [3, 4]);
    assert_eq!(firsts(5), [4]);
    assert!(firsts(6).is_empty(), "nothing stands at the end");
    let mut seen = 0;
    log.read(0, &mut |_, _| {
        seen += 1;
        ControlFlow::Break(())
    })
    .unwrap();
    assert_eq!(seen, 1, "a visitor that breaks sees no more");
}

// Law 5, case 71.
fn repeated_batches_change_nothing(subjects: &mut impl Subjects) {
    let mut log = subjects.fresh(LEDGER);
    let mut one = author(1, LEDGER);
    let first = write(&mut one, 10, &[1]);
    log.append(std::slice::from_ref(&first), 10).unwrap();
    for number in 2..300 {
        log.append(&[write(&mut one, 10, &[number])], 10).unwrap();
    }
    let mut log = subjects.reopen(log);
    let (head, before) = (log.head(), stored(&log, 0));
    let again = log.append(&[first.clone(), first.clone()], 99).unwrap();
    assert!(again.iter().all(|receipt| receipt.repeated && receipt.first == 0));
    assert_eq!((log.head(), stored(&log, 0)), (head, before));
    assert_eq!(log.position_of(&first.id()).unwrap(), Some(0));
    assert_eq!(log.position_of(&Bytes32::ZERO).unwrap(), None);
    let twice = write(&mut one, 11, &[7]);
    let receipts = log.append(&[twice.clone(), twice], 12).unwrap();
    assert_eq!(receipts[0].first, receipts[1].first, "twice in one group is once in the log");
    assert_eq!(log.head().next, head.next + 1);
}

fn groups_are_appended_whole_or_not_at_all(subjects: &mut impl Subjects) {
    let mut log = subjects.fresh(LEDGER);
    let (mut one, mut two) = (author(1, LEDGER), author(2, LEDGER));
    log.append(&[write(&mut one, 10, &[1])], 10).unwrap();
    let good = write(&mut one, 11, &[2]);
    write(&mut two, 11, &[3]);
    let gap = write(&mut two, 12, &[4]);
    let head = log.head();
    let (index, why) = refusal(log.append(&[good.clone(), gap], 13));
    assert_eq!(index, 1);
    assert!(matches!(why, Refusal::AuthorGap { expected: 0, found: 1, .. }), "{why:?}");
    assert_eq!(log.head(), head);
    assert_eq!(log.position_of(&good.id()).unwrap(), None);
    assert!(log.positions_about(&subject(2)).unwrap().is_empty());
    log.append(&[good], 14).unwrap();
    assert_eq!(log.head().next, 2, "the good batch is still welcome alone");
}

fn author_chains_are_dense(subjects: &mut impl Subjects) {
    let mut log = subjects.fresh(LEDGER);
    let (mut one, mut fork) = (author(1, LEDGER), author(1, LEDGER));
    log.append(&[write(&mut one, 10, &[1])], 10).unwrap();
    let other = write(&mut fork, 10, &[2]);
    let (_, why) = refusal(log.append(&[other], 11));
    assert!(matches!(why, Refusal::AuthorForked { author_seq: 0, .. }), "{why:?}");
    let after_fork = write(&mut fork, 12, &[3]);
    let (_, why) = refusal(log.append(&[after_fork], 13));
    assert!(matches!(why, Refusal::AuthorChainBroken { author_seq: 1, .. }), "{why:?}");
    let log = subjects.reopen(log);
    let tip = log.tip(&one.id());
    assert_eq!(tip.batches, 1);
    assert_eq!(tip.newest.map(|id| log.position_of(&id).unwrap()), Some(Some(0)));
}

fn other_ledgers_are_refused(subjects: &mut impl Subjects) {
    let mut log = subjects.fresh(LEDGER);
    let elsewhere = Bytes([0x22; 32]);
    let foreign = admitted(sealed(&mut author(1, elsewhere), 10, &[1]), elsewhere);
    let (_, why) = refusal(log.append(&[foreign], 10));
    assert_eq!(why, Refusal::ForeignLedger { expected: LEDGER, found: elsewhere });
}

fn subjects_are_found_in_order(subjects: &mut impl Subjects) {
    let mut log = subjects.fresh(LEDGER);
    let mut one = author(1, LEDGER);
    log.append(&[write(&mut one, 10, &[7, 8, 7])], 10).unwrap();
    log.append(&[write(&mut one, 11, &[9, 7])], 11).unwrap();
    let log = subjects.reopen(log);
    assert_eq!(log.positions_about(&subject(7)).unwrap(), [0, 2, 4]);
    assert_eq!(log.positions_about(&subject(8)).unwrap(), [1]);
    assert!(log.positions_about(&subject(6)).unwrap().is_empty());
}

fn what_is_read_is_what_was_written(subjects: &mut impl Subjects) {
    let mut log = subjects.fresh(LEDGER);
    let (mut one, mut two) = (author(1, LEDGER), author(2, LEDGER));
    let written: Vec<Admitted> = (0..40)
        .map(|number| {
            let author = if number % 3 == 0 { &mut two } else { &mut one };
            let batch = write(author, number, &[number, number + 1000]);
            log.append(std::slice::from_ref(&batch), number).unwrap();
            batch
        })
        .collect();
    let log = subjects.reopen(log);
    let mut chain = Chain::genesis(LEDGER);
    let stored = stored(&log, 0);
    assert_eq!(stored.len(), written.len());
    for ((first, bytes), batch) in stored.iter().zip(&written) {
        let (entry, _, rest) = Entry::split(bytes).unwrap();
        assert_eq!((entry.first, entry.batch, rest), (*first, batch.id(), batch.bytes()));
        assert_eq!(entry.signature, batch.signature());
        chain.follow(bytes).unwrap();
    }
    assert_eq!(chain.head(), log.head());
}

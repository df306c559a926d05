//! The rule by which a store is judged against the heads kept outside it: a pure function.

use std::fmt;

use events::bytes::Bytes16;
use events::head::Head;
use events::ids::{Digest, LedgerId, Seq};

use super::{Record, Slot};

/// What there is to judge by.
pub struct Evidence<'e> {
    /// The running boot; zero where the system does not tell.
    pub boot: Bytes16,
    /// The record written after each commit.
    pub run: Slot,
    /// The records written after each sync.
    pub sync: [Slot; 2],
    /// The copy of a sync record kept elsewhere, if one is.
    pub witness: Slot,
    /// Where the store ends.
    pub store: Head,
    /// The link at a position of the store, where a batch ends there.
    pub link_at: &'e dyn Fn(Seq) -> Option<Digest>,
}

/// How the process before stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It said that nothing was to come.
    Clean,
    /// It was cut off; nothing that was answered is missing.
    Unclean,
    /// The machine was cut off. Positions from `from` to before `to` were answered and never promised to
    /// survive that; they are gone.
    LostTail {
        /// The first position that is gone.
        from: Seq,
        /// The position after the last.
        to: Seq,
    },
}

/// Why a store is refused. Positions count events: everything before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// No record vouches for the store.
    #[error("HeadMissing: {0}; the store cannot be told from an older copy of itself")]
    HeadMissing(Missing),
    /// The store ends before a position that was vouched for.
    #[error(
        "RolledBack: the store ends at position {have}, {by} vouches for everything before {promised}"
    )]
    RolledBack {
        /// Where the store ends.
        have: Seq,
        /// What was vouched for.
        promised: Seq,
        /// Which record vouches.
        by: Voucher,
    },
    /// The store has another past than the one that was vouched for.
    #[error(
        "Forked: {by} vouches for another past before position {at} than the store holds (it ends at {have})"
    )]
    Forked {
        /// The position vouched for.
        at: Seq,
        /// Where the store ends.
        have: Seq,
        /// Which record vouches.
        by: Voucher,
    },
    /// A record is of another ledger.
    #[error("the head record {by} is of ledger {found}, the store of {expected}")]
    Foreign {
        /// The store's ledger.
        expected: LedgerId,
        /// The record's.
        found: LedgerId,
        /// Which record.
        by: Voucher,
    },
}

/// Which record is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Both records of a sync.
    Sync,
    /// The record of this boot's commits, though this boot synced some.
    Run,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sync => "neither head/sync.a nor head/sync.b holds a record",
            Self::Run => "head/run holds no record of this boot",
        })
    }
}

/// Which record vouches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voucher {
    /// The record of commits.
    Run,
    /// The newest record of a sync.
    Sync,
    /// The copy kept elsewhere.
    Witness,
}

impl fmt::Display for Voucher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Run => "head/run",
            Self::Sync => "head/sync",
            Self::Witness => "the witness",
        })
    }
}

/// Judges a store. A store that goes beyond every record is fine: a record follows its commit.
///
/// - Within one boot the store has to reach `run`: what a killed process wrote is in the system's memory.
/// - In another boot it has to reach the newest sync record; `run` tells what was answered beyond, which
///   counts as lost where the store is shorter, unless answers had waited for a sync: then it too was
///   promised. A `run` of another boot that names another past is a leftover of one that was lost.
///
/// # Errors
/// [`Refusal`].
pub fn judge(evidence: &Evidence<'_>) -> Result<Stop, Refusal> {
    let newest = |slots: [Slot; 2]| {
        slots.into_iter().filter_map(Slot::record).max_by_key(|record| record.counter)
    };
    let sync = newest(evidence.sync).ok_or(Refusal::HeadMissing(Missing::Sync))?;
    evidence.reaches(&sync, Voucher::Sync)?;
    if let Some(witness) = evidence.witness.record() {
        evidence.reaches(&witness, Voucher::Witness)?;
    }
    let is_this_boot =
        |record: &Record| record.boot == evidence.boot && evidence.boot != Bytes16::ZERO;
    let Some(run) = evidence.run.record() else {
        let missing = Refusal::HeadMissing(Missing::Run);
        return if is_this_boot(&sync) { Err(missing) } else { Ok(Stop::Unclean) };
    };
    if is_this_boot(&run) || run.power {
        evidence.reaches(&run, Voucher::Run)?;
    } else {
        // What an earlier boot answered without a sync was not promised to be there, or to be the past.
        evidence.of_this_ledger(&run, Voucher::Run)?;
    }
    let (from, to) = (evidence.store.next, run.head.next);
    if from < to {
        return Ok(Stop::LostTail { from, to });
    }
    let nothing_came_after = run.head == evidence.store && sync.head == evidence.store;
    let is_clean = run.clean && sync.clean && nothing_came_after;
    Ok(if is_clean { Stop::Clean } else { Stop::Unclean })
}

impl Evidence<'_> {
    fn reaches(&self, record: &Record, by: Voucher) -> Result<(), Refusal> {
        self.of_this_ledger(record, by)?;
        let (have, promised) = (self.store.next, record.head.next);
        if have < promised {
            return Err(Refusal::RolledBack { have, promised, by });
        }
        if (self.link_at)(promised) != Some(record.head.link) {
            return Err(Refusal::Forked { at: promised, have, by });
        }
        Ok(())
    }

    fn of_this_ledger(&self, record: &Record, by: Voucher) -> Result<(), Refusal> {
        let (expected, found) = (self.store.ledger, record.head.ledger);
        if found == expected { Ok(()) } else { Err(Refusal::Foreign { expected, found, by }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use events::bytes::Bytes;

    const NOW: Bytes16 = Bytes([1; 16]);
    const BEFORE: Bytes16 = Bytes([2; 16]);
    const LEDGER: LedgerId = Bytes([3; 32]);

    /// The link at each position of the one true past.
    fn link(position: Seq) -> Digest {
        Bytes([u8::try_from(position).unwrap(); 32])
    }

    fn written(counter: u64, next: Seq, boot: Bytes16) -> Slot {
        let head = Head { ledger: LEDGER, next, link: link(next) };
        Slot::Written(Record { counter, boot, clean: false, power: false, verifier: 1, head })
    }

    fn with(slot: Slot, change: impl FnOnce(&mut Record)) -> Slot {
        let mut record = slot.record().unwrap();
        change(&mut record);
        Slot::Written(record)
    }

    fn judged(run: Slot, sync: [Slot; 2], witness: Slot, have: Seq) -> Result<Stop, Refusal> {
        let store = Head { ledger: LEDGER, next: have, link: link(have) };
        let link_at = |position| (position <= have).then(|| link(position));
        judge(&Evidence { boot: NOW, run, sync, witness, store, link_at: &link_at })
    }

    #[test]
    fn within_one_boot_everything_answered_has_to_be_there() {
        let sync = [written(1, 4, NOW), written(2, 6, NOW)];
        let run = written(9, 10, NOW);
        assert_eq!(judged(run, sync, Slot::Missing, 10), Ok(Stop::Unclean));
        assert_eq!(judged(run, sync, Slot::Missing, 12), Ok(Stop::Unclean), "longer is fine");
        let lost = Refusal::RolledBack { have: 9, promised: 10, by: Voucher::Run };
        assert_eq!(judged(run, sync, Slot::Missing, 9), Err(lost));
        for gone in [Slot::Missing, Slot::Torn] {
            let missing = Err(Refusal::HeadMissing(Missing::Run));
            assert_eq!(judged(gone, sync, Slot::Missing, 10), missing);
        }
    }

    #[test]
    fn in_another_boot_only_what_was_synced_was_promised() {
        let sync = [written(1, 4, BEFORE), written(2, 6, BEFORE)];
        let run = written(9, 10, BEFORE);
        assert_eq!(judged(run, sync, Slot::Missing, 10), Ok(Stop::Unclean));
        let tail = Stop::LostTail { from: 7, to: 10 };
        assert_eq!(judged(run, sync, Slot::Missing, 7), Ok(tail));
        let lost = Refusal::RolledBack { have: 5, promised: 6, by: Voucher::Sync };
        assert_eq!(judged(run, sync, Slot::Missing, 5), Err(lost));
        assert_eq!(judged(Slot::Torn, sync, Slot::Missing, 6), Ok(Stop::Unclean));
        let power = with(run, |record| record.power = true);
        let lost = Refusal::RolledBack { have: 7, promised: 10, by: Voucher::Run };
        assert_eq!(
            judged(power, sync, Slot::Missing, 7),
            Err(lost),
            "answers had waited for a sync"
        );
    }

    #[test]
    fn a_torn_sync_record_leaves_the_one_before() {
        let run = Slot::Torn;
        let sync = [written(1, 4, BEFORE), Slot::Torn];
        assert_eq!(judged(run, sync, Slot::Missing, 4), Ok(Stop::Unclean));
        for none in [[Slot::Torn, Slot::Missing], [Slot::Missing, Slot::Missing]] {
            let missing = Err(Refusal::HeadMissing(Missing::Sync));
            assert_eq!(judged(written(9, 4, NOW), none, Slot::Missing, 4), missing);
        }
    }

    #[test]
    fn the_newest_sync_record_counts_wherever_it_stands() {
        let run = Slot::Torn;
        for sync in [
            [written(8, 6, BEFORE), written(7, 4, BEFORE)],
            [written(7, 4, BEFORE), written(8, 6, BEFORE)],
        ] {
            assert!(judged(run, sync, Slot::Missing, 5).is_err());
            assert!(judged(run, sync, Slot::Missing, 6).is_ok());
        }
    }

    #[test]
    fn a_whole_older_home_is_noticed_by_the_witness() {
        let sync = [written(1, 4, BEFORE), written(2, 6, BEFORE)];
        let run = written(9, 6, BEFORE);
        let witness = written(5, 20, BEFORE);
        let rolled = Refusal::RolledBack { have: 6, promised: 20, by: Voucher::Witness };
        assert_eq!(judged(run, sync, witness, 6), Err(rolled));
        assert_eq!(judged(run, sync, written(1, 4, BEFORE), 6), Ok(Stop::Unclean));
    }

    #[test]
    fn another_past_and_another_ledger_are_named() {
        let sync = [written(1, 4, NOW), Slot::Missing];
        let forked = with(written(9, 10, NOW), |record| record.head.link = link(99));
        let refusal = Refusal::Forked { at: 10, have: 10, by: Voucher::Run };
        assert_eq!(judged(forked, sync, Slot::Missing, 10), Err(refusal));
        let foreign = with(written(9, 10, NOW), |record| record.head.ledger = Bytes([9; 32]));
        assert!(matches!(judged(foreign, sync, Slot::Missing, 10), Err(Refusal::Foreign { .. })));
    }

    #[test]
    fn a_stop_is_clean_only_when_both_records_say_so() {
        let clean = |slot| with(slot, |record| record.clean = true);
        let run = written(9, 6, BEFORE);
        let sync = [written(1, 4, BEFORE), clean(written(2, 6, BEFORE))];
        assert_eq!(judged(clean(run), sync, Slot::Missing, 6), Ok(Stop::Clean));
        assert_eq!(judged(run, sync, Slot::Missing, 6), Ok(Stop::Unclean));
        let both = [sync[0], sync[1]];
        assert_eq!(
            judged(clean(run), both, Slot::Missing, 8),
            Ok(Stop::Unclean),
            "something came after"
        );
    }

    #[test]
    fn a_leftover_of_a_lost_past_refuses_nothing() {
        let sync = [written(1, 4, BEFORE), written(2, 20, BEFORE)];
        let older = Bytes([9; 16]);
        let leftover = with(written(9, 10, older), |record| record.head.link = link(99));
        assert_eq!(judged(leftover, sync, Slot::Missing, 20), Ok(Stop::Unclean));
    }
}

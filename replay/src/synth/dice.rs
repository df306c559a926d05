//! Keyed draws: the only randomness of a synthetic ledger.

use std::ops::RangeInclusive;

/// What a draw is for. A new purpose changes no other draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Draw {
    Origin,
    Client,
    Model,
    HourWrites,
    TellsPrefix,
    Turns,
    Opening,
    News,
    Compacts,
    EditsHistory,
    HidesPrefix,
    Pause,
    PauseKind,
    SwitchesModel,
    Latency,
    Fate,
    Output,
    Reasoning,
    Stray,
    Spawns,
    Repeats,
    RepeatDelay,
    AmendDelay,
    SubjectHigh,
    SubjectLow,
    ReportsCost,
    ReportedCost,
    Project,
    Tier,
    Fault,
    Judges,
    Judged,
    Features,
}

/// Odd, so that its multiples meet every 64-bit value once: the step of splitmix64.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The dice of one thing: a ledger, a session in it, a turn of that. A draw is a function of the thing
/// and its purpose, never of the draws before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dice(u64);

impl Dice {
    /// The dice of a whole ledger.
    pub(super) const fn new(seed: u64) -> Self {
        Self(mixed(seed))
    }

    /// The dice of the thing with this number within this one.
    pub(super) const fn of(self, number: u64) -> Self {
        Self(mixed(self.0 ^ mixed(number.wrapping_add(STEP))))
    }

    /// 64 even bits.
    pub(super) const fn draw(self, purpose: Draw) -> u64 {
        mixed(self.0.wrapping_add(STEP.wrapping_mul(purpose as u64 + 1)))
    }

    /// A number below `count`; 0 when there is none.
    pub(super) fn below(self, purpose: Draw, count: u32) -> u32 {
        part(self.draw(purpose) >> 32, count)
    }

    /// True once in `count` times.
    pub(super) fn one_in(self, purpose: Draw, count: u32) -> bool {
        self.below(purpose, count) == 0
    }

    /// A number of the range.
    pub(super) fn between(self, purpose: Draw, range: RangeInclusive<u32>) -> u32 {
        range.start() + self.below(purpose, range.end() - range.start() + 1)
    }

    /// A number from `low` up to `low` doubled so often, each doubling as likely as the next: most are
    /// small, some are large, as sizes and pauses are in the field.
    pub(super) fn skewed(self, purpose: Draw, low: u32, doublings: u32) -> u32 {
        let drawn = self.draw(purpose);
        let base = low << part(drawn & 0xffff_ffff, doublings);
        base + part(drawn >> 32, base)
    }
}

/// 32 even bits as a number below `count`.
fn part(bits: u64, count: u32) -> u32 {
    u32::try_from((bits * u64::from(count)) >> 32).unwrap_or(0)
}

/// The finaliser of splitmix64: every input bit moves every output bit.
const fn mixed(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_depends_on_its_thing_and_purpose_alone() {
        let dice = Dice::new(7).of(3);
        assert_eq!(dice.draw(Draw::Model), Dice::new(7).of(3).draw(Draw::Model));
        assert_ne!(dice.draw(Draw::Model), dice.draw(Draw::Client));
        assert_ne!(dice.draw(Draw::Model), Dice::new(7).of(4).draw(Draw::Model));
        assert_ne!(dice.draw(Draw::Model), Dice::new(8).of(3).draw(Draw::Model));
    }

    #[test]
    fn draws_stay_in_their_range_and_meet_its_ends() {
        let dice = |number| Dice::new(1).of(number);
        let drawn: Vec<u32> = (0..2_000).map(|n| dice(n).between(Draw::News, 3..=6)).collect();
        assert_eq!(drawn.iter().min(), Some(&3));
        assert_eq!(drawn.iter().max(), Some(&6));
        let drawn: Vec<u32> = (0..2_000).map(|n| dice(n).skewed(Draw::News, 100, 4)).collect();
        assert!(drawn.iter().all(|value| (100..1_600).contains(value)));
        assert!(drawn.iter().any(|value| *value < 150) && drawn.iter().any(|value| *value > 1_400));
        let hits = (0..8_000).filter(|n| dice(*n).one_in(Draw::Stray, 8)).count();
        assert!((900..1_100).contains(&hits), "{hits} of 8,000");
        assert_eq!(dice(1).below(Draw::Fate, 0), 0);
    }
}

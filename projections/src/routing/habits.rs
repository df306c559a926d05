//! How far an engine's prompt cache can be relied on, and how long clients pause: measured over many turns.

use events::ids::Millis;
use events::payload::CacheTtl;
use serde::{Deserialize, Serialize};

/// Pairs of turns a habit is measured over: twice as many are halved.
const PAIRS_KEPT: u32 = 3_000;
/// Pairs from which on a habit is relied on.
pub(super) const PAIRS_MIN: u32 = 10;

/// A share, in 65,536ths: 65,536 is all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Share(pub u32);

impl Share {
    /// All of it.
    pub const ALL: Self = Self(1 << 16);
    /// Nothing.
    pub const NONE: Self = Self(0);

    /// `part / whole`, at most all; nothing of nothing.
    #[must_use]
    pub fn of(part: u64, whole: u64) -> Self {
        let share = (part.min(whole) << 16).checked_div(whole).unwrap_or(0);
        Self(u32::try_from(share).unwrap_or(Self::ALL.0))
    }

    /// The share of so many, rounded half up.
    #[must_use]
    pub fn times(self, of: u32) -> u32 {
        let share = (u64::from(of) * u64::from(self.0) + (1 << 15)) >> 16;
        u32::try_from(share).unwrap_or(u32::MAX)
    }
}

/// How long a cache entry lives.
#[must_use]
pub const fn ttl_ms(ttl: CacheTtl) -> Millis {
    match ttl {
        CacheTtl::FiveMinutes => 300_000,
        CacheTtl::OneHour => 3_600_000,
    }
}

/// How a provider's cache of an engine has behaved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Habit {
    /// Pairs of turns in a row of which the second could have read what the first sent.
    pub pairs: u32,
    /// Sum over them of the share it did read, in 65,536ths.
    read: u64,
    /// Turns with a rest that was not read.
    rests: u32,
    /// Sum over them of the share that was written, in 65,536ths.
    written: u64,
}

impl Habit {
    /// How much of what could be read is read. All of it, until enough turns have shown otherwise.
    #[must_use]
    pub fn reliability(&self) -> Share {
        mean(self.read, self.pairs)
    }

    /// How much of what is not read is written. All of it, until enough turns have shown otherwise.
    #[must_use]
    pub fn written(&self) -> Share {
        mean(self.written, self.rests)
    }

    pub(super) fn count_read(&mut self, read: u32, could: u32) {
        count(&mut self.read, &mut self.pairs, Share::of(read.into(), could.into()));
    }

    pub(super) fn count_written(&mut self, written: u32, rest: u32) {
        count(&mut self.written, &mut self.rests, Share::of(written.into(), rest.into()));
    }
}

fn mean(sum: u64, of: u32) -> Share {
    if of < PAIRS_MIN {
        return Share::ALL;
    }
    Share(u32::try_from(sum / u64::from(of)).unwrap_or(Share::ALL.0))
}

/// Counts a share; what is old counts for less and less.
const fn count(sum: &mut u64, of: &mut u32, share: Share) {
    *sum += share.0 as u64;
    *of += 1;
    if *of >= 2 * PAIRS_KEPT {
        *sum /= 2;
        *of /= 2;
    }
}

/// How long a client's lanes pause between turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pauses {
    /// No longer than a cache entry of five minutes lives.
    pub five_minutes: u32,
    /// Longer, and no longer than one of an hour lives.
    pub one_hour: u32,
    /// Longer still.
    pub longer: u32,
}

impl Pauses {
    pub(super) fn count(&mut self, pause: Millis) {
        let counted = if pause <= ttl_ms(CacheTtl::FiveMinutes) {
            &mut self.five_minutes
        } else if pause <= ttl_ms(CacheTtl::OneHour) {
            &mut self.one_hour
        } else {
            &mut self.longer
        };
        *counted += 1;
        if self.all() >= 2 * PAIRS_KEPT {
            self.five_minutes /= 2;
            self.one_hour /= 2;
            self.longer /= 2;
        }
    }

    const fn all(&self) -> u32 {
        self.five_minutes + self.one_hour + self.longer
    }

    /// The chance that an entry is still alive at the next turn; `None` until enough turns have shown it.
    #[must_use]
    pub fn alive(&self, ttl: CacheTtl) -> Option<Share> {
        let within = match ttl {
            CacheTtl::FiveMinutes => self.five_minutes,
            CacheTtl::OneHour => self.five_minutes + self.one_hour,
        };
        (self.all() >= PAIRS_MIN).then(|| Share::of(within.into(), self.all().into()))
    }
}

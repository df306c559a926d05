//! How fast bulk work goes while turns are served.

use std::time::{Duration, Instant};

/// Bulk events a second while turns are served, when commits are quick.
const EVENTS_PER_S: u32 = 30_000;
/// It is not slowed below this.
const EVENTS_PER_S_MIN: u32 = 1_000;
/// A commit that takes longer than this holds turns up.
const SLOW_COMMIT: Duration = Duration::from_millis(2);
/// Turns are being served while the last one is not older than this.
const SERVING: Duration = Duration::from_secs(1);
/// After this long without a slow commit the rate is doubled again.
const RECOVERY: Duration = Duration::from_secs(1);

/// Keeps bulk work from holding turns up.
pub(super) struct Pace {
    events_per_s: u32,
    changed: Instant,
    last_turn: Option<Instant>,
    /// When the next bulk batch may go.
    next: Instant,
}

impl Pace {
    pub(super) const fn new(now: Instant) -> Self {
        Self { events_per_s: EVENTS_PER_S, changed: now, last_turn: None, next: now }
    }

    /// A turn was served.
    pub(super) const fn turn(&mut self, now: Instant) {
        self.last_turn = Some(now);
    }

    fn serves_turns(&self, now: Instant) -> bool {
        self.last_turn.is_some_and(|turn| now.duration_since(turn) < SERVING)
    }

    /// Until when bulk work has to wait; `None`: it may go now.
    pub(super) fn wait(&self, now: Instant) -> Option<Instant> {
        (self.serves_turns(now) && self.next > now).then_some(self.next)
    }

    /// A bulk batch went.
    pub(super) fn bulk(&mut self, events: u32, started: Instant, now: Instant) {
        if !self.serves_turns(now) {
            self.events_per_s = EVENTS_PER_S;
            return;
        }
        if now.duration_since(started) > SLOW_COMMIT {
            self.events_per_s = (self.events_per_s / 2).max(EVENTS_PER_S_MIN);
            self.changed = now;
        } else if now.duration_since(self.changed) > RECOVERY {
            self.events_per_s = (self.events_per_s * 2).min(EVENTS_PER_S);
            self.changed = now;
        }
        // What is known already writes no event and takes time to look up: bulk work never has more than half.
        let paced = started + Duration::from_secs(1) * events / self.events_per_s;
        self.next = paced.max(now + now.duration_since(started));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BATCH: u32 = 300;

    #[test]
    fn bulk_is_paced_only_while_turns_are_served() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        pace.bulk(BATCH, start, start);
        assert_eq!(pace.wait(start), None);
        pace.turn(start);
        pace.bulk(BATCH, start, start);
        let next = start + Duration::from_millis(10);
        assert_eq!(pace.wait(start), Some(next));
        assert_eq!(pace.wait(next), None);
        assert_eq!(pace.wait(start + SERVING), None);
    }

    #[test]
    fn a_slow_commit_halves_the_rate_and_time_gives_it_back() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        pace.turn(start);
        let slow = start + Duration::from_millis(3);
        pace.bulk(BATCH, start, slow);
        assert_eq!(pace.wait(slow), Some(start + Duration::from_millis(20)));
        pace.bulk(0, start, slow);
        assert_eq!(pace.wait(slow), Some(slow + Duration::from_millis(3)), "half of the time");
        for _ in 0..10 {
            pace.bulk(BATCH, start, slow);
        }
        assert_eq!(pace.events_per_s, EVENTS_PER_S_MIN);
        let mut now = slow;
        for _ in 0..10 {
            now += Duration::from_millis(1_001);
            pace.turn(now);
            pace.bulk(BATCH, now, now);
        }
        assert_eq!(pace.events_per_s, EVENTS_PER_S);
    }
}

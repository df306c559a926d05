//! A turn on its way: what becomes of it, and what comes of its attempts.

use events::ids::{Millis, Subject};
use events::money::Pico;
use events::payload::{AmendReason, FaultClass, Finish, Parts};
use events::usage::{RawUsage, Usage};

use super::dice::{Dice, Draw};
use super::lane::Model;
use crate::decider::Fault;

/// What becomes of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// An answer with usage.
    Answered,
    /// An answer of whose usage nothing is known.
    Unmetered,
    /// A first attempt without usage, then an answer.
    Retried,
    /// The client got an error.
    Failed,
    /// The client went away.
    Aborted,
    /// Nothing is known of how it went on.
    Silent,
}

/// A turn that waits for its answer.
pub(super) struct Asked {
    /// The turn.
    pub(super) subject: Subject,
    /// Its number in the ledger.
    pub(super) number: u64,
    /// When it arrived, as its events say.
    pub(super) turn_at: Millis,
    /// When the attempt that is being waited for began, undisturbed by clocks.
    pub(super) since: Millis,
    /// Attempts before that one.
    pub(super) attempt: u16,
    /// What becomes of it.
    pub(super) fate: Fate,
    /// True when the second proxy tells of it too.
    pub(super) repeated: bool,
    /// Of the prompt: what the provider still holds.
    pub(super) held: u32,
    /// The model that serves it.
    pub(super) served: &'static Model,
    /// The turn's dice.
    pub(super) dice: Dice,
}

/// A turn that was just written down.
pub(super) struct Sent {
    /// The turn.
    pub(super) subject: Subject,
    /// Its number in the ledger.
    pub(super) number: u64,
    /// When it arrived, as its events say.
    pub(super) at: Millis,
    /// When it arrived, undisturbed by clocks.
    pub(super) now: Millis,
}

/// What came of an attempt.
pub(super) struct Answer {
    /// Usage as known with it.
    pub(super) usage: Usage,
    /// Usage as the provider says it, by its own names.
    pub(super) raw: RawUsage,
    /// A better figure that comes later.
    pub(super) later: Option<(Usage, AmendReason)>,
    /// What the answer holds.
    pub(super) parts: Option<Parts>,
    /// Why it ended.
    pub(super) finish: Finish,
}

impl Answer {
    /// None came; what was used is unknown.
    pub(super) fn missing() -> Self {
        let (usage, raw) = (Usage::default(), RawUsage::default());
        Self { usage, raw, later: None, parts: None, finish: Finish::Unknown }
    }
}

impl Asked {
    /// The first attempt of a turn begins.
    pub(super) fn begin(
        sent: Sent,
        (held, served): (u32, &'static Model),
        dice: Dice,
        may_be_repeated: bool,
    ) -> Self {
        Self {
            subject: sent.subject,
            number: sent.number,
            turn_at: sent.at,
            since: sent.now,
            attempt: 0,
            fate: fate(dice),
            repeated: may_be_repeated && dice.one_in(Draw::Repeats, 16),
            held,
            served,
            dice,
        }
    }

    /// One turn in 40 is given a better figure later. By number, so that small ledgers have one too.
    pub(super) fn is_amended(&self) -> bool {
        self.number % 40 == 17 && matches!(self.fate, Fate::Answered | Fate::Retried)
    }

    /// One better figure in eight is corrected once more.
    pub(super) const fn is_amended_twice(&self) -> bool {
        self.number % 320 == 57
    }

    /// The next attempt begins.
    pub(super) fn again(self, now: Millis, served: &'static Model) -> Self {
        Self { attempt: self.attempt + 1, since: now, served, ..self }
    }

    /// When the first of the answer comes, if one does.
    pub(super) fn first_ms(&self) -> Option<u32> {
        let answers = matches!(self.fate, Fate::Answered | Fate::Unmetered)
            || (self.fate == Fate::Retried && self.attempt > 0);
        answers.then(|| self.latency_ms() / 3)
    }

    /// How the engine failed, where it is the engine that did.
    pub(super) fn fault(&self) -> Option<Fault> {
        let fails = self.fate == Fate::Failed || (self.fate == Fate::Retried && self.attempt == 0);
        let class =
            FaultClass::ALL[self.dice.below(Draw::Fault, FaultClass::ALL.len() as u32) as usize];
        let is_limit = class == FaultClass::RateLimit;
        fails.then_some(Fault {
            class,
            status: is_limit.then_some(429),
            retry_after_ms: is_limit.then_some(20_000),
        })
    }

    /// How long this attempt takes.
    pub(super) fn latency_ms(&self) -> u32 {
        self.dice.of(u64::from(self.attempt)).skewed(Draw::Latency, 700, 6)
    }

    /// Now and then the provider says what it cost.
    pub(super) fn reported(&self) -> Option<Pico> {
        let says = self.fate == Fate::Answered && self.dice.one_in(Draw::ReportsCost, 10);
        says.then(|| Pico(i128::from(self.dice.skewed(Draw::ReportedCost, 2_000, 8)) * 1_000_000))
    }

    /// How long after its answer a better figure comes.
    pub(super) fn amend_delay(&self) -> Millis {
        Millis::from(self.dice.between(Draw::AmendDelay, 1_000..=90_000))
    }

    /// How much later than the first the second proxy's clock has it; often not at all.
    pub(super) fn repeat_delay(&self) -> Millis {
        Millis::from(self.dice.below(Draw::RepeatDelay, 4) * 350)
    }

    /// Of an answer so long: reasoning.
    pub(super) fn reasoning(&self, output: i64) -> i64 {
        output * i64::from(self.dice.below(Draw::Reasoning, 80)) / 100
    }
}

fn fate(dice: Dice) -> Fate {
    match dice.below(Draw::Fate, 1_000) {
        0..3 => Fate::Silent,
        3..9 => Fate::Aborted,
        9..15 => Fate::Failed,
        15..27 => Fate::Retried,
        27..37 => Fate::Unmetered,
        _ => Fate::Answered,
    }
}

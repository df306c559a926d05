//! The events of turns: asked, answered, closed, repeated, amended.

use events::bytes::Bytes;
use events::hash::Domain;
use events::ids::{Millis, Subject};
use events::payload::{
    Amend, AmendReason, Booking, Ending, Name, RawPairs, SourceKey, Turn, TurnClosed, TurnKind,
};
use events::usage::Usage;

use super::SynthError;
use super::desk::By;
use super::dice::{Dice, Draw};
use super::lane::{Lane, SOURCE};
use super::stage::{Late, Stage};
use super::turn::{Answer, Asked, Fate, Sent};
use crate::decider::Attempted;

impl Stage {
    /// A lane sends its next turn.
    ///
    /// # Errors
    /// None: what it writes is within the format's bounds.
    pub(super) fn ask(&mut self, lane: &mut Lane) -> Result<(), SynthError> {
        let (number, at) = (self.totals.turns, self.clock());
        let prompt = lane.compose(self.now);
        let row = (lane.by == By::Second).then(|| lane.row());
        let subject = match &row {
            Some(row) => {
                let parts = [SOURCE.as_bytes(), row.as_bytes()];
                self.secret.digest16(Domain::ImportedTurn, &parts)
            }
            None => drawn_subject(self.dice.of(number)),
        };
        let ask = match lane.by {
            By::Proxy => Some(self.asks(lane, &prompt)?),
            _ => None,
        };
        let turn = Turn {
            client: lane.client,
            conversation: lane.conversation,
            subagent: lane.subagent,
            model: lane.model().name()?,
            news: Some(prompt.news),
            prefix_tokens: prompt.prefix,
            source_key: row.as_deref().map(SourceKey::new).transpose()?,
            ask,
        };
        self.desk.push(lane.by, at, subject, &turn)?;
        self.totals.turns += 1;
        let mut asked = lane.send(&prompt, Sent { subject, number, at, now: self.now });
        // By number, so that small ledgers have one too.
        if ask.is_some() && self.decided % 24 == 11 {
            asked.fate = Fate::Retried;
        }
        if asked.repeated {
            // Clients' own records tell nothing of what was asked here.
            let turn = Turn { ask: None, ..turn };
            self.desk.push(By::Second, at + asked.repeat_delay(), subject, &turn)?;
            self.totals.repeated += 1;
            self.read.repeated += 1;
        }
        self.read.turns += u64::from(row.is_some());
        lane.asked = if ask.is_some() { self.dispatch(lane, asked)? } else { Some(asked) };
        self.keep_house()
    }

    /// An attempt of a lane's turn ends.
    ///
    /// # Errors
    /// None: what it writes is within the format's bounds.
    pub(super) fn answer(&mut self, lane: &mut Lane, asked: Asked) -> Result<(), SynthError> {
        match asked.fate {
            Fate::Silent => {
                lane.lose();
                if lane.by == By::Proxy {
                    self.orphan(&asked)?;
                } else {
                    self.totals.unanswered += 1;
                }
            }
            Fate::Retried if asked.attempt == 0 => {
                self.settle(lane, &asked, &Answer::missing())?;
                let served = asked.served;
                let again = asked.again(self.now, served);
                lane.asked =
                    if lane.by == By::Proxy { self.dispatch(lane, again)? } else { Some(again) };
            }
            Fate::Failed | Fate::Aborted => {
                lane.lose();
                self.settle(lane, &asked, &Answer::missing())?;
                let failed = asked.fate == Fate::Failed;
                let (ending, bytes) =
                    if failed { (Ending::Failed, None) } else { (Ending::Aborted, Some(0)) };
                self.close(lane.by, &asked, ending, bytes)?;
            }
            Fate::Unmetered | Fate::Retried | Fate::Answered => {
                let answer = lane.answer(&asked, self.now);
                let kind = self.settle(lane, &asked, &answer)?;
                self.judge(&asked, kind)?;
                // An imported turn has an end of its own only where it was not answered.
                if lane.by == By::Proxy {
                    let bytes = Some(lane.answer_bytes());
                    self.close(By::Proxy, &asked, Ending::Committed, bytes)?;
                }
            }
        }
        Ok(())
    }

    /// Writes an attempt's result, and notes what is to become of its figure. What the turn was taken for, where it was
    /// decided here.
    fn settle(
        &mut self,
        lane: &Lane,
        asked: &Asked,
        answer: &Answer,
    ) -> Result<Option<TurnKind>, SynthError> {
        let is_live = lane.by == By::Proxy;
        let engine = if is_live { Name::new(asked.served.engine)? } else { asked.served.name()? };
        let attempted = Attempted {
            usage: answer.usage,
            raw_usage: RawPairs::of(&answer.raw),
            parts: answer.parts,
            finish: answer.finish,
            first_ms: asked.first_ms(),
            latency_ms: u32::try_from(self.now - asked.since).ok(),
            fault: asked.fault(),
            reported: asked.reported(),
            reached_engine: asked.fate != Fate::Failed,
            ..Attempted::unknown(asked.attempt, engine)
        };
        let result = attempted.told(asked.turn_at);
        let booking = if is_live {
            self.end(lane, asked, &attempted)?
        } else {
            self.desk.push(lane.by, self.clock(), asked.subject, &result)?;
            None
        };
        self.totals.results += 1;
        if asked.repeated {
            let at = self.clock() + asked.repeat_delay();
            self.desk.push(By::Second, at, asked.subject, &result)?;
            self.totals.repeated += 1;
        }
        if let Some((usage, reason)) = answer.later {
            let amend = Amend {
                attempt: asked.attempt,
                engine,
                turn_at: asked.turn_at,
                replaces: answer.usage,
                usage,
                turn: None,
                booking,
                reason,
            };
            let (turn, again) = (asked.subject, asked.is_amended_twice());
            let late = Late { by: lane.by, turn, amend, again };
            self.late.insert((self.now + asked.amend_delay(), asked.number), late);
        }
        Ok(booking.and_then(|booking| booking.kind))
    }

    /// Writes a turn's end.
    fn close(
        &mut self,
        by: By,
        asked: &Asked,
        ending: Ending,
        bytes_sent: Option<u64>,
    ) -> Result<(), SynthError> {
        self.close_after(by, asked, (ending, asked.attempt + 1), bytes_sent)
    }

    /// Writes the end of a turn after so many attempts.
    pub(super) fn close_after(
        &mut self,
        by: By,
        asked: &Asked,
        (ending, attempts): (Ending, u16),
        bytes_sent: Option<u64>,
    ) -> Result<(), SynthError> {
        let closed = TurnClosed { ending, attempts, bytes_sent };
        Ok(self.desk.push(by, self.clock(), asked.subject, &closed)?)
    }

    /// The better figure that is due comes.
    ///
    /// # Errors
    /// None: what it writes is within the format's bounds.
    pub(super) fn amend(&mut self) -> Result<(), SynthError> {
        let Some(((at, number), mut late)) = self.late.pop_first() else { return Ok(()) };
        self.now = at;
        let Amend { attempt, engine, usage, booking, .. } = late.amend;
        let figures = Attempted { usage, ..Attempted::unknown(attempt, engine) };
        let rebooked = |booking| self.desk.rebooked(&late.turn, booking, &figures);
        late.amend.booking = booking.map(rebooked).transpose()?;
        self.desk.push(late.by, self.clock(), late.turn, &late.amend)?;
        self.totals.amends += 1;
        self.read.amended += u64::from(late.by == By::Second);
        if late.again {
            let usage = corrected(&late.amend.usage);
            let (replaces, reason) = (late.amend.usage, AmendReason::Corrected);
            let booking = late.amend.booking.map(|booking| Booking { was: booking.now, ..booking });
            let amend = Amend { replaces, usage, reason, booking, ..late.amend };
            self.late.insert((at + CORRECTED_AFTER, number), Late { amend, again: false, ..late });
        }
        Ok(())
    }
}

/// From a better figure to its correction. More than the clock goes back: of amends the latest counts.
const CORRECTED_AFTER: Millis = 300_000;

/// One answer token more than was said.
fn corrected(usage: &Usage) -> Usage {
    Usage { output: usage.output.map(|output| output + 1), ..*usage }
}

/// A live turn's id, as an owner draws it.
fn drawn_subject(dice: Dice) -> Subject {
    let mut subject = [0; 16];
    subject[..8].copy_from_slice(&dice.draw(Draw::SubjectHigh).to_be_bytes());
    subject[8..].copy_from_slice(&dice.draw(Draw::SubjectLow).to_be_bytes());
    Bytes(subject)
}

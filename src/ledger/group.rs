//! A commit group: what several commands say, decided one after another, appended and answered together.

use std::collections::BTreeMap;

use events::event::Events;
use events::ids::{Millis, Seq, Subject};
use events::limits::BATCH_EVENTS_MAX;
use events::payload::{Actor, Stream};
use replay::writer::BULK_BATCH_EVENTS;

use super::command::{CommandError, Outcome};
use super::handle::Answer;

/// What one group holds before it is appended.
pub(super) struct Group {
    /// When the owner took it in.
    pub(super) received: Millis,
    /// Each stream's events, one batch each, in the order they were decided.
    pub(super) runs: Vec<(Stream, Events)>,
    /// The position the next event will take.
    pub(super) next: Seq,
    /// Commands that were given under an id.
    pub(super) said: BTreeMap<Subject, Seq>,
    /// Changes of keys, carried out once they are safe.
    pub(super) keys: Vec<Actor>,
    answers: Vec<(Answer<Outcome>, Result<Outcome, CommandError>)>,
}

impl Group {
    pub(super) const fn new(received: Millis, next: Seq) -> Self {
        Self {
            received,
            runs: Vec::new(),
            next,
            said: BTreeMap::new(),
            keys: Vec::new(),
            answers: Vec::new(),
        }
    }

    /// True when another command of a stream has room. Events stand in the order they were decided in: a
    /// stream whose batch has been passed by another stream's is not gone back to.
    pub(super) fn has_room(&self, stream: Stream) -> bool {
        match self.runs.last() {
            Some((newest, events)) if *newest == stream => {
                events.len() + BULK_BATCH_EVENTS <= BATCH_EVENTS_MAX
            }
            _ => self.runs.iter().all(|(before, _)| *before != stream),
        }
    }

    /// The batch that a stream's next events belong to.
    pub(super) fn run(&mut self, stream: Stream) -> &mut Events {
        let is_new = self.runs.last().is_none_or(|(newest, _)| *newest != stream);
        if is_new {
            self.runs.push((stream, Events::new()));
        }
        let newest = self.runs.len() - 1;
        &mut self.runs[newest].1
    }

    pub(super) fn events(&self) -> usize {
        self.runs.iter().map(|(_, events)| events.len()).sum()
    }

    /// Keeps an answer back until the group is safe.
    pub(super) fn answer(&mut self, answer: Answer<Outcome>, with: Result<Outcome, CommandError>) {
        self.answers.push((answer, with));
    }

    /// Gives the answers out.
    pub(super) fn answer_all(self) {
        for (answer, with) in self.answers {
            answer(with);
        }
    }

    /// Tells everybody that the group was lost.
    pub(super) fn fail_all(self, error: &CommandError) {
        for (answer, _) in self.answers {
            answer(Err(error.clone()));
        }
    }
}

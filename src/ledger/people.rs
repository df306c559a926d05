//! What people say: rules, and what they think of answers.

use events::event::Events;
use events::hash::policy_subject;
use events::ids::{Millis, Subject};
use events::payload::{Feedback, Name, PolicySet, Verdict};
use replay::policy_file::{canonical, read};

use super::command::Outcome;
use super::decide::{Decided, Stop};
use super::group::Group;
use super::live::Live;

impl Live {
    /// Rules come into force where they are written down. Said again, they are in force already.
    pub(super) fn set_policy(
        &mut self,
        at: Millis,
        sequence: u32,
        text: &str,
        group: &Group,
    ) -> Result<Decided, Stop> {
        // Whoever asks may be another ferry: what this one could not follow is not written.
        let refused =
            |error: replay::policy_file::PolicyFileError| Stop::Refused(error.to_string());
        read(text).map_err(refused)?;
        if canonical(text).map_err(refused)? != text {
            return Err(Stop::Refused("the policy is not in its canonical form".to_owned()));
        }
        let in_force = self.world.policies.ledger();
        if let Some(policy) = in_force.filter(|policy| policy.text == text) {
            return Ok(Decided::known(policy.seq));
        }
        let before = in_force.map_or(0, |policy| policy.sequence);
        if before.checked_add(1) != Some(sequence) {
            let problem = format!(
                "the rules were set {before} times, and these are to be number {sequence}: look at \
                 what is in force (ferry policy show) and set them again"
            );
            return Err(Stop::Refused(problem));
        }
        let scope = name(PolicySet::LEDGER)?;
        let set = PolicySet { scope, sequence, text };
        let mut events = Events::new();
        events.push(at, policy_subject(PolicySet::LEDGER), &set)?;
        Ok(written(events, group))
    }

    /// A person's word on the answer that a turn's client got: the last attempt's that was served.
    pub(super) fn judge(
        &mut self,
        at: Millis,
        turn: &Subject,
        verdict: Verdict,
        group: &mut Group,
    ) -> Result<Decided, Stop> {
        self.commit_before(group)?;
        let Some(served) = self.served(turn)? else {
            return Err(Stop::Refused(format!("turn {turn} has no answer in this ledger")));
        };
        if let Some((_, position)) = served.said.filter(|(said, _)| said.verdict == verdict) {
            return Ok(Decided::known(position));
        }
        let feedback = Feedback {
            verdict,
            attempt: served.attempt,
            engine: name(&served.engine)?,
            kind: served.kind,
            harness: served.harness.as_deref().map(name).transpose()?,
            replaces: served.said.map(|(said, _)| said),
        };
        let mut events = Events::new();
        events.push(at, *turn, &feedback)?;
        Ok(written(events, group))
    }
}

fn name(text: &str) -> Result<Name<'_>, Stop> {
    Name::new(text).map_err(|error| Stop::Refused(error.to_string()))
}

const fn written(events: Events, group: &Group) -> Decided {
    let outcome = Outcome::Written { first: group.next, repeated: false };
    Decided { events, outcome, key: None }
}

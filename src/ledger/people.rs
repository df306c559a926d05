//! What people say: rules, and what they think of answers.

use std::collections::{BTreeMap, BTreeSet};

use events::event::{Body, Events};
use events::hash::policy_subject;
use events::ids::{Millis, Seq, Subject};
use events::payload::{Feedback, Name, PolicySet, Replaced, TurnKind, Verdict};
use projections::names::engine_meant;
use replay::policy_file::{canonical, read};

use super::command::Outcome;
use super::decide::{Decided, Stop};
use super::group::Group;
use super::live::Live;
use crate::store::StoreError;

/// The answer of a turn that was served.
struct Served {
    attempt: u16,
    /// By the name it was dispatched to, unless another model served.
    engine: String,
    kind: Option<TurnKind>,
    harness: Option<String>,
    /// What a person said of it last, and where that stands.
    said: Option<(Replaced, Seq)>,
}

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

    /// The answer a turn's client got, where it got one.
    fn served(&self, turn: &Subject) -> Result<Option<Served>, StoreError> {
        let mut served: Option<Served> = None;
        let mut dispatched: BTreeMap<u16, (String, TurnKind)> = BTreeMap::new();
        let mut failed = BTreeSet::new();
        let mut harness = None;
        self.each_about(turn, &mut |at, body| match body {
            Body::Turn(turn) => {
                harness = turn.ask.and_then(|ask| ask.harness).map(|name| name.as_str().to_owned());
            }
            Body::Dispatch(dispatch) => {
                let of = (dispatch.engine.as_str().to_owned(), dispatch.class.kind);
                dispatched.insert(dispatch.attempt, of);
            }
            Body::EngineFault(fault) => {
                failed.insert(fault.attempt);
            }
            Body::Result(result)
                if result.usage.prompt.is_some() && !failed.contains(&result.attempt) =>
            {
                let of = dispatched.get(&result.attempt);
                let asked = of.map_or(result.engine.as_str(), |(engine, _)| engine);
                served = Some(Served {
                    attempt: result.attempt,
                    engine: engine_meant(result.engine.as_str(), asked).to_owned(),
                    kind: of.map(|(_, kind)| *kind),
                    harness: harness.clone(),
                    said: None,
                });
            }
            Body::Feedback(feedback) => {
                let said = Replaced { verdict: feedback.verdict, at: at.received };
                if let Some(served) =
                    served.as_mut().filter(|served| served.attempt == feedback.attempt)
                {
                    served.said = Some((said, at.position));
                }
            }
            _ => {}
        })?;
        Ok(served)
    }
}

fn name(text: &str) -> Result<Name<'_>, Stop> {
    Name::new(text).map_err(|error| Stop::Refused(error.to_string()))
}

const fn written(events: Events, group: &Group) -> Decided {
    let outcome = Outcome::Written { first: group.next, repeated: false };
    Decided { events, outcome, key: None }
}

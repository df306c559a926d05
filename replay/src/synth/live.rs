//! Turns of the owner's own proxy: asked, decided, dispatched, charged.

use events::payload::{Ask, Booking, Ending, Name, Task, TurnKind, TurnTier};

use super::SynthError;
use super::desk::By;
use super::dice::Draw;
use super::lane::{Lane, Model};
use super::policy::{PENNILESS, UNLISTED};
use super::stage::Stage;
use super::turn::Asked;
use crate::decider::{Attempted, Plan};

const PROJECTS: [&str; 3] = ["atlas", "borealis", "cygnus"];

impl Stage {
    /// What a lane's next turn asks for. Every 24th has no money, every 24th goes to an engine without a price.
    ///
    /// # Errors
    /// None: the names are constants.
    pub(super) fn asks(&mut self, lane: &Lane) -> Result<Ask<'static>, SynthError> {
        let (dice, number) = (lane.turn_dice(), self.decided);
        self.decided += 1;
        let profile = match number % 24 {
            5 => PENNILESS,
            17 => UNLISTED,
            _ => lane.model().profile(),
        };
        let project = PROJECTS.get(dice.below(Draw::Project, 4) as usize);
        let tier = TurnTier::ALL[dice.below(Draw::Tier, 4) as usize];
        let prompt = lane.prompt();
        Ok(Ask {
            profile: Name::new(profile)?,
            harness: dice.one_in(Draw::Client, 3).then_some(lane.client),
            project: project.map(|project| Name::new(project)).transpose()?,
            kind: Some(TurnKind { task: Task::Coding, tier }),
            prompt_tokens: prompt,
            prompt_tokens_max: prompt.saturating_add(prompt / 4),
            images: 0,
            max_output: None,
        })
    }

    /// Decides the next attempt of a turn: how it goes on, unless nothing may be dispatched for it.
    ///
    /// # Errors
    /// None: what it writes is within the format's bounds.
    pub(super) fn dispatch(
        &mut self,
        lane: &mut Lane,
        asked: Asked,
    ) -> Result<Option<Asked>, SynthError> {
        let plan = self.desk.dispatch(self.clock(), &asked.subject)?;
        if let Some(Plan::Dispatch { engine, .. }) = plan {
            let served = Model::of_engine(&engine).unwrap_or(asked.served);
            return Ok(Some(Asked { served, ..asked }));
        }
        lane.lose();
        self.totals.unanswered += u64::from(asked.attempt == 0);
        self.close_after(By::Proxy, &asked, (Ending::Failed, asked.attempt), None)?;
        Ok(None)
    }

    /// Writes the end of an attempt: where its charge is booked.
    ///
    /// # Errors
    /// None: what it writes is within the format's bounds.
    pub(super) fn end(
        &mut self,
        lane: &Lane,
        asked: &Asked,
        attempted: &Attempted<'_>,
    ) -> Result<Option<Booking<'static>>, SynthError> {
        let at = self.clock();
        let Some((flight, open, charge)) = self.desk.end(at, &asked.subject, attempted)? else {
            return Ok(None);
        };
        let known = |name: &Option<String>, names: &[&'static str]| {
            names.iter().find(|known| name.as_deref() == Some(**known)).copied()
        };
        let harness = flight.harness.as_ref().map(|_| lane.client);
        let project = known(&flight.project, &PROJECTS).map(Name::new).transpose()?;
        Ok(Some(Booking {
            dispatched: open.dispatched,
            engine: Name::new(asked.served.engine)?,
            conversation: lane.conversation,
            harness,
            project,
            kind: flight.kind,
            was: charge,
            now: charge,
        }))
    }

    /// Nobody says any more how a turn went on.
    ///
    /// # Errors
    /// None: what it writes is within the format's bounds.
    pub(super) fn orphan(&mut self, asked: &Asked) -> Result<(), SynthError> {
        self.desk.close_orphan(self.clock(), &asked.subject)?;
        self.totals.results += 1;
        Ok(())
    }
}

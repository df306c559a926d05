//! Turns of the owner's own proxy: asked, decided, dispatched, charged.

use events::payload::{
    Anatomy, Ask, Booking, Effort, Ending, Features, Feedback, Keywords, Name, Parts, Task,
    TextSize, TurnKind, TurnTier, Verdict,
};

use super::SynthError;
use super::desk::By;
use super::dice::{Dice, Draw};
use super::lane::{Lane, Model, Prompt};
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
    pub(super) fn asks(
        &mut self,
        lane: &Lane,
        composed: &Prompt,
    ) -> Result<Ask<'static>, SynthError> {
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
            // Most turns leave it to their features.
            kind: dice.one_in(Draw::Tier, 4).then_some(TurnKind { task: Task::Coding, tier }),
            features: features(dice, prompt, composed),
            prompt_tokens_max: prompt.saturating_add(prompt / 4),
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
            kind: Some(open.kind),
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

    /// One answer in eight of those decided here is judged by a person.
    ///
    /// # Errors
    /// None: what it writes is within the format's bounds.
    pub(super) fn judge(
        &mut self,
        asked: &Asked,
        kind: Option<TurnKind>,
    ) -> Result<(), SynthError> {
        let dice = asked.dice;
        if kind.is_none() || !dice.one_in(Draw::Judges, 8) {
            return Ok(());
        }
        let verdict = if dice.below(Draw::Judged, 5) == 0 { Verdict::Bad } else { Verdict::Good };
        let feedback = Feedback {
            verdict,
            attempt: asked.attempt,
            engine: Name::new(asked.served.engine)?,
            kind,
            harness: None,
            replaces: None,
        };
        Ok(self.desk.push(By::People, self.clock(), asked.subject, &feedback)?)
    }
}

/// What a synthetic request is like.
fn features(dice: Dice, prompt: u32, composed: &Prompt) -> Features {
    let drawn = dice.draw(Draw::Features);
    let some = |bit: u32| drawn >> bit & 1 == 1;
    let continues = composed.news.contains(Parts::TOOL_RESULT);
    let loops = if continues { 2 + u16::from(drawn.to_be_bytes()[0] % 40) } else { 0 };
    let bytes = prompt.saturating_mul(4);
    let text = TextSize { bytes, wide: 0 };
    Features {
        anatomy: Some(Anatomy { user: text, ..Anatomy::default() }),
        prompt_tokens: some(1).then_some(prompt),
        tail: Some(TextSize { bytes: bytes / 16, wide: 0 }),
        depth: Some(u32::from(loops) + 3),
        tools: Some(9),
        continues: Some(continues),
        loop_depth: Some(loops),
        distinct_tools: Some(3),
        tool_failed: some(2).then_some(some(3) && some(4)),
        repeated_call: Some(false),
        circular_call: Some(some(5) && some(6) && some(7)),
        images: Some(0),
        new_image: Some(false),
        code_blocks: Some(u16::from(some(8))),
        diff: Some(some(9) && some(10)),
        keywords: Some(Keywords((drawn >> 32) as u32 & 0b1_0001)),
        questions: Some(u16::from(some(11))),
        terse: Some(some(12) && some(13)),
        effort: some(14).then_some(Effort::Medium),
        ..Features::default()
    }
}

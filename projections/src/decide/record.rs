//! What is written of a decision.

use events::bytes::Bytes16;
use events::hash::{Domain, Hasher};
use events::ids::{Digest, Millis, Subject};
use events::payload::{
    Arm, BudgetFact, Choice, Class, Dispatch, Exclusion, ExclusionCount, MadeBy, Purpose, Refusal,
    RefusalReason,
};
use serde::Serialize;

use super::choice::{Making, Outcome};
use super::tiering::Tiering;
use super::weighing::Weighing;
use super::{Decision, VERSION};
use crate::projection::Projection as _;
use crate::tokens::PromptTokens;
use crate::world::World;

/// Bytes the names of the engines a dispatch tells of take together at most, so that it stays short.
const ARM_NAMES_MAX: usize = 400;
/// Bytes of a candidate in a decision's record.
const CANDIDATE_BYTES: usize = 1 + 4 + 17;

/// What a decision looked at besides its candidates.
#[derive(Serialize)]
struct Frame<'r, 'd> {
    turn: &'r Subject,
    attempt: u16,
    now: Millis,
    policy: Bytes16,
    market: &'r Digest,
    class: Class,
    tokens: PromptTokens,
    tier: u8,
    moved: &'r [events::payload::TierReason],
    relaxed: (u8, bool),
    weighed: Vec<(usize, crate::forecast::Weighed)>,
    budgets: &'r [BudgetFact<'d>],
    chosen: Option<(usize, Choice)>,
    exceeded: Option<&'r BudgetFact<'d>>,
}

impl<'d> Making<'d> {
    pub(super) fn write(&self, outcome: &Outcome<'d>) -> Decision<'d> {
        match outcome {
            Outcome::Chosen(place, choice) => self.dispatch(*place, *choice),
            Outcome::Exceeded { budget, needed } => {
                let mut refusal = self.refusal(RefusalReason::BudgetExceeded, budget.as_ref());
                refusal.needed = Some(*needed);
                Decision::Refusal(refusal)
            }
            Outcome::NoEngine => Decision::Refusal(self.refusal(RefusalReason::NoEngine, None)),
        }
    }

    fn dispatch(&self, place: usize, choice: Choice) -> Decision<'d> {
        let chosen = &self.weighed[place];
        let budgets = self.facts(Some(chosen));
        let record = self.record(&budgets, Some((place, choice)), None);
        let Tiering { tier, moved, draw } = &self.tiering;
        Decision::Dispatch(Dispatch {
            purpose: Purpose::Turn,
            attempt: self.asking.flight.attempts(),
            engine: chosen.engine,
            choice,
            class: self.asking.class,
            tier: *tier,
            moved: moved.clone(),
            draw: *draw,
            relaxed: self.lifted.filters as u8,
            despite_cool_off: self.lifted.cool_offs,
            prompt_tokens: self.candidates[chosen.index].prompt,
            cache_ttl: chosen.weighed.ttl,
            max_output: chosen.max_output,
            reserved: chosen.reservation,
            forecast: chosen.forecast(),
            warm: self.warm.map(|warm| self.weighed[warm].engine),
            arms: self.arms(place),
            looked_at: u16::try_from(self.candidates.len()).unwrap_or(u16::MAX),
            excluded: self.excluded(),
            made_by: self.made_by(),
            budgets,
            record,
        })
    }

    fn refusal(&self, reason: RefusalReason, budget: Option<&BudgetFact<'d>>) -> Refusal<'d> {
        let record = self.record(&self.facts(None), None, budget);
        Refusal {
            attempt: self.asking.flight.attempts(),
            reason,
            budget: budget.copied(),
            needed: None,
            excluded: self.excluded(),
            made_by: self.made_by(),
            record,
        }
    }

    /// The chosen engine, then the others in order of preference, as long as their names leave room.
    fn arms(&self, chosen: usize) -> Vec<Arm<'d>> {
        let others = (0..self.weighed.len()).filter(|place| *place != chosen);
        let in_order = std::iter::once(chosen).chain(others);
        let mut names = 0;
        in_order
            .map(|place| &self.weighed[place])
            .take_while(|of| {
                names += of.engine.as_str().len();
                names <= ARM_NAMES_MAX
            })
            .map(|of| Arm { excluded: self.exclusions[of.index], ..of.arm() })
            .collect()
    }

    fn excluded(&self) -> Vec<ExclusionCount> {
        let mut counts = [0_u16; Exclusion::ALL.len() + 1];
        for exclusion in self.exclusions.iter().flatten() {
            let count = &mut counts[*exclusion as usize];
            *count = count.saturating_add(1);
        }
        let count = |exclusion: &Exclusion| (*exclusion, counts[*exclusion as usize]);
        Exclusion::ALL.iter().map(count).filter(|(_, count)| *count > 0).collect()
    }

    const fn made_by(&self) -> MadeBy {
        let policy = self.asking.inputs.rules.digest;
        MadeBy { decide: VERSION, world: World::VERSION as u16, policy }
    }

    /// Digest of everything that was looked at.
    fn record(
        &self,
        budgets: &[BudgetFact<'d>],
        chosen: Option<(usize, Choice)>,
        exceeded: Option<&BudgetFact<'d>>,
    ) -> Digest {
        let weighed = |of: &Weighing<'_>| (of.index, of.weighed);
        let frame = Frame {
            turn: self.asking.inputs.turn,
            attempt: self.asking.flight.attempts(),
            now: self.asking.inputs.now,
            policy: self.asking.inputs.rules.digest,
            market: &self.asking.inputs.market.digest,
            class: self.asking.class,
            tokens: self.asking.prompt_tokens(),
            tier: self.tiering.tier as u8,
            moved: &self.tiering.moved,
            relaxed: (self.lifted.filters as u8, self.lifted.cool_offs),
            weighed: self.weighed.iter().map(weighed).collect(),
            budgets,
            chosen,
            exceeded,
        };
        let mut bytes = Vec::with_capacity(self.candidates.len() * CANDIDATE_BYTES);
        for (candidate, exclusion) in self.candidates.iter().zip(&self.exclusions) {
            bytes.push(exclusion.map_or(0, |exclusion| exclusion as u8));
            bytes.extend_from_slice(&candidate.chance.0.to_be_bytes());
            bytes.extend_from_slice(&candidate.cold.known.0.to_be_bytes());
            bytes.push(candidate.cold.incomplete.into());
        }
        let mut hasher = Hasher::new(Domain::Decision);
        // Writing plain data to memory has no way to fail.
        hasher.part(&rmp_serde::to_vec(&frame).unwrap_or_default()).part(&bytes);
        hasher.finish()
    }
}

//! A turn, as decisions see it: what it is taken for, how long it is, what its lane holds.

use events::money::Pico;
use events::payload::{Class, Task, TurnKind};

use super::Inputs;
use crate::classify::{Terms, Weights, classify, terms, work_of};
use crate::policy::ProfileRules;
use crate::quality::Axis;
use crate::routing::flights::Flight;
use crate::routing::lanes::{Lane, Warm};
use crate::tokens::{FAMILIES_COUNT, Family, PromptTokens};
use crate::work::{Size, Work};

/// What is the same for every engine that could take a turn.
pub struct Asking<'d> {
    pub(super) inputs: Inputs<'d>,
    pub(super) flight: &'d Flight,
    pub(super) profile: &'d ProfileRules,
    /// The lane, where it has been served before.
    pub(super) lane: Option<&'d Lane>,
    /// What the turn is taken for.
    pub(super) class: Class,
    /// What profiles know such a turn as.
    pub(super) work: (Work, Size),
    /// The least chance of doing it well, in thousandths.
    pub(super) threshold: u16,
    /// The axis its floors are on.
    pub(super) axis: Axis,
    /// The axis engines are ranked on: work with tools, where tools are on offer.
    pub(super) rank_axis: Axis,
    /// The least quality whatever the tier, in tenths of a point.
    pub(super) task_floor: u16,
    /// Its prompt as each family of tokenizers sees it.
    tokens: [PromptTokens; FAMILIES_COUNT],
    /// The family its class was told with.
    family: Family,
}

impl<'d> Asking<'d> {
    pub(super) fn new(inputs: Inputs<'d>, flight: &'d Flight) -> Self {
        let routing = &inputs.world.routing;
        let policy = &inputs.rules.policy.routing;
        let lane = routing.lanes.get(&flight.arrival.lane);
        let (features, most) = (&flight.asked.features, flight.asked.prompt_tokens_max);
        let tokens = Family::ALL.map(|family| {
            PromptTokens::of(features, most, family, &routing.learned.calibration(family))
        });
        // Before an engine is chosen, the lane's last one counts.
        let family = lane.map_or(Family::GPT, |lane| Family::of(&lane.engine));
        let weights = Weights { mechanical_retry_factor: policy.hold.mechanical_retry_factor };
        let class = classify(features, tokens[family.index()], flight.asked.kind, weights);
        let task = policy.tasks.get(&class.kind.task);
        let own = if class.kind.task == Task::Coding { Axis::Coding } else { Axis::Intelligence };
        let axis = task.and_then(|task| task.axis).unwrap_or(own);
        let has_tools = features.tools.is_some_and(|tools| tools > 0);
        let work = inputs.work.unwrap_or_else(|| work_of(class.kind));
        let stated = policy.thresholds.of(class.kind).map(crate::profiles::Milli);
        Self {
            inputs,
            flight,
            profile: inputs.rules.profile(&flight.asked.profile),
            lane,
            class,
            work,
            threshold: crate::estimates::threshold(work.0, work.1, stated).0,
            axis,
            task_floor: task.and_then(|task| task.min_quality).unwrap_or(0),
            rank_axis: if has_tools { Axis::Agentic } else { axis },
            tokens,
            family,
        }
    }

    /// What each term of its score adds.
    #[must_use]
    pub fn terms(&self) -> Terms {
        let hold = self.inputs.rules.policy.routing.hold;
        let weights = Weights { mechanical_retry_factor: hold.mechanical_retry_factor };
        terms(&self.flight.asked.features, self.tokens[self.family.index()], weights)
    }

    /// What the turn is taken for.
    #[must_use]
    pub const fn class(&self) -> Class {
        self.class
    }

    /// What profiles know such a turn as.
    #[must_use]
    pub const fn work(&self) -> (Work, Size) {
        self.work
    }

    /// The least chance of doing it well, in thousandths.
    #[must_use]
    pub const fn threshold(&self) -> u16 {
        self.threshold
    }

    /// The axis its floors are on, and the one engines are ranked on.
    #[must_use]
    pub const fn axes(&self) -> (Axis, Axis) {
        (self.axis, self.rank_axis)
    }

    /// Its kind.
    pub(super) const fn kind(&self) -> TurnKind {
        self.class.kind
    }

    /// Its prompt as an engine of a family sees it, in tokens.
    pub(super) const fn prompt(&self, family: Family) -> u32 {
        self.tokens[family.index()].prompt
    }

    /// Its prompt as its class was told with.
    #[must_use]
    pub const fn prompt_tokens(&self) -> PromptTokens {
        self.tokens[self.family.index()]
    }

    /// Images in it, as far as is known.
    pub(super) fn images(&self) -> u32 {
        self.flight.asked.features.images.unwrap_or(0)
    }

    /// True where tools are on offer, as far as is known.
    pub(super) fn has_tools(&self) -> bool {
        self.flight.asked.features.tools.is_some_and(|tools| tools > 0)
    }

    /// True while tools run: nobody has said anything since.
    pub(super) fn is_mechanical(&self) -> bool {
        self.flight.asked.features.continues == Some(true)
    }

    /// What an engine holds of the lane, while it is kept.
    pub(super) fn warm(&self, canonical: &str) -> Option<&'d Warm> {
        let warm = self.lane.and_then(|lane| lane.cache(canonical));
        warm.filter(|warm| warm.is_alive(self.inputs.now))
    }

    /// True while something is warm at the engine that served the lane last.
    pub(super) fn is_warm(&self) -> bool {
        self.lane.is_some_and(|lane| self.warm(&lane.engine).is_some())
    }

    /// What doing it well is worth.
    pub(super) fn value(&self) -> Option<Pico> {
        self.inputs.rules.policy.routing.value.of(self.kind())
    }
}

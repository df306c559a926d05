//! What results and people teach: how long answers get, how good predictions were, who does what well.

use std::collections::BTreeMap;

use events::cost::Cost;
use events::money::Pico;
use events::payload::{TurnKind, Verdict};
use serde::{Deserialize, Serialize};

use super::service::Service;
use crate::estimates::Labels;
use crate::table::Table;
use crate::tokens::{Calibration, Family};

/// An answer nobody has seen the like of, in tokens.
pub const ANSWER_TOKENS: u32 = 1_024;
/// An expectation counts for so many answers seen.
const PRIOR_ANSWERS: u64 = 4;
/// One label, in thousandths.
const LABEL: u64 = 1_000;
/// Answers a mean is taken over: twice as many are halved.
const ANSWERS_KEPT: u32 = 1_000;
/// Engines that are learned of though nobody here asked for them: sources and upstreams name whatever they like.
const STRANGERS_MAX: usize = 1_024;

/// The answers of one engine to turns of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answers {
    /// How many.
    pub seen: u32,
    /// Their tokens, reasoning included.
    output: u64,
    /// Of them: reasoning, where it was told.
    reasoning: u64,
}

/// An answer that is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Tokens, reasoning included.
    pub output: u32,
    /// Of them: reasoning.
    pub reasoning: u32,
}

impl Expected {
    /// Of an engine that has not answered yet.
    pub const UNSEEN: Self = Self { output: ANSWER_TOKENS, reasoning: 0 };
}

impl Answers {
    fn count(&mut self, output: u32, reasoning: u32) {
        self.seen += 1;
        self.output += u64::from(output);
        self.reasoning += u64::from(reasoning);
        if self.seen >= 2 * ANSWERS_KEPT {
            self.seen /= 2;
            self.output /= 2;
            self.reasoning /= 2;
        }
    }

    /// The mean, to begin with near another expectation.
    fn beside(&self, prior: Expected) -> Expected {
        let mean = |sum: u64, prior: u32| {
            let all = PRIOR_ANSWERS + u64::from(self.seen);
            let sum = sum + PRIOR_ANSWERS * u64::from(prior);
            u32::try_from((sum + all / 2) / all).unwrap_or(u32::MAX)
        };
        let output = mean(self.output, prior.output);
        Expected { output, reasoning: mean(self.reasoning, prior.reasoning).min(output) }
    }
}

/// How predictions for one engine compare with what was charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accuracy {
    /// Attempts with both figures.
    pub compared: u64,
    /// Of them: predicted to cost more than they did.
    pub over: u64,
    /// What they were predicted to cost.
    pub predicted: Pico,
    /// What they were charged with.
    pub charged: Pico,
    /// By how much predictions were off, one by one, up or down.
    pub off_by: Pico,
    /// Attempts of which a figure is not known, or was itself an estimate.
    pub unknown: u64,
}

impl Accuracy {
    fn count(&mut self, predicted: Pico, charged: Pico) {
        self.compared += 1;
        self.over += u64::from(predicted > charged);
        self.predicted += predicted;
        self.charged += charged;
        self.off_by += Pico((predicted.0 - charged.0).abs());
    }
}

/// The answers of one engine: all of them, and by the kind of turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineAnswers {
    all: Answers,
    by_kind: BTreeMap<TurnKind, Answers>,
}

impl EngineAnswers {
    /// The answer that is expected: what was given to turns of the kind, beside what was given to all, beside
    /// [`ANSWER_TOKENS`].
    #[must_use]
    pub fn expected(&self, kind: TurnKind) -> Expected {
        let any = self.all.beside(Expected::UNSEEN);
        self.by_kind.get(&kind).map_or(any, |seen| seen.beside(any))
    }
}

/// What people say of an engine's answers, by kind of turn.
pub type EngineLabels = BTreeMap<TurnKind, Labels>;

/// What results and people teach. Engines go by their canonical names.
#[derive(Clone, Debug, PartialEq)]
pub struct Learned {
    answers: Table<String, EngineAnswers>,
    accuracy: Table<String, Accuracy>,
    service: Table<String, Service>,
    labels: Table<String, EngineLabels>,
    calibration: Table<Family, Calibration>,
}

/// The tables as a snapshot has them.
pub(super) type State = (
    BTreeMap<String, EngineAnswers>,
    BTreeMap<String, Accuracy>,
    BTreeMap<String, Service>,
    BTreeMap<String, EngineLabels>,
    BTreeMap<Family, Calibration>,
);

/// The tables, borrowed.
pub(super) type Tables<'t> = (
    &'t Table<String, EngineAnswers>,
    &'t Table<String, Accuracy>,
    &'t Table<String, Service>,
    &'t Table<String, EngineLabels>,
    &'t Table<Family, Calibration>,
);

impl Learned {
    pub(super) const fn new() -> Self {
        Self {
            answers: Table::new("learned.answers"),
            accuracy: Table::new("learned.accuracy"),
            service: Table::new("learned.service"),
            labels: Table::new("learned.labels"),
            calibration: Table::new("learned.calibration"),
        }
    }

    pub(super) fn of((answers, accuracy, service, labels, calibration): State) -> Self {
        Self {
            answers: Table::of("learned.answers", answers),
            accuracy: Table::of("learned.accuracy", accuracy),
            service: Table::of("learned.service", service),
            labels: Table::of("learned.labels", labels),
            calibration: Table::of("learned.calibration", calibration),
        }
    }

    pub(super) const fn tables(&self) -> Tables<'_> {
        (&self.answers, &self.accuracy, &self.service, &self.labels, &self.calibration)
    }

    pub(super) fn settle(&mut self) {
        self.answers.settle();
        self.accuracy.settle();
        self.service.settle();
        self.labels.settle();
        self.calibration.settle();
    }

    /// The answer an engine is expected to give.
    #[must_use]
    pub fn expected(&self, engine: &str, kind: TurnKind) -> Expected {
        self.answers.get(engine).map_or(Expected::UNSEEN, |seen| seen.expected(kind))
    }

    /// The answers of engines that have answered, by name.
    pub fn answers(&self) -> impl Iterator<Item = (&String, &EngineAnswers)> {
        self.answers.iter()
    }

    /// How engines serve, by name.
    pub fn service(&self) -> impl Iterator<Item = (&String, &Service)> {
        self.service.iter()
    }

    /// What people say of engines, by name.
    pub fn labels(&self) -> impl Iterator<Item = (&String, &EngineLabels)> {
        self.labels.iter()
    }

    /// What people say of an engine.
    #[must_use]
    pub fn labels_of(&self, engine: &str) -> Option<&EngineLabels> {
        self.labels.get(engine)
    }

    /// What bills say of a family's tokenizer.
    #[must_use]
    pub fn calibration(&self, family: Family) -> Calibration {
        self.calibration.get(&family).copied().unwrap_or_default()
    }

    /// How good predictions were, by engine.
    pub fn accuracy(&self) -> impl Iterator<Item = (&String, &Accuracy)> {
        self.accuracy.iter()
    }

    /// True for an engine that there is something to learn of: one that was asked for, or that there is room for.
    pub(super) fn meets(&mut self, engine: &str, is_asked: bool) -> bool {
        let is_known = self.answers.get(engine).is_some();
        if !is_known && (is_asked || self.answers.len() < STRANGERS_MAX) {
            self.answers.insert(engine.to_owned(), EngineAnswers::default());
            return true;
        }
        is_known
    }

    /// An answer came.
    pub(super) fn answered(
        &mut self,
        engine: &str,
        kind: Option<TurnKind>,
        output: u32,
        reasoning: u32,
    ) {
        self.answers.change(engine, EngineAnswers::default, |answers| {
            answers.all.count(output, reasoning);
            if let Some(kind) = kind {
                answers.by_kind.entry(kind).or_default().count(output, reasoning);
            }
        });
    }

    /// An engine served, or failed to.
    pub(super) fn service_of(&mut self, engine: &str, tell: impl FnOnce(&mut Service)) {
        self.service.change(engine, Service::default, tell);
    }

    /// A person judged an answer to a turn of a kind.
    pub(super) fn judged(&mut self, engine: &str, kind: TurnKind, day: u32, verdict: Verdict) {
        let (verified, refuted) = label(verdict);
        self.labels.change(engine, EngineLabels::new, |labels| {
            labels.entry(kind).or_default().add(day, verified, refuted);
        });
    }

    /// A person took a word back that counted from a day on.
    pub(super) fn unjudged(&mut self, engine: &str, kind: TurnKind, day: u32, verdict: Verdict) {
        let (verified, refuted) = label(verdict);
        self.labels.change(engine, EngineLabels::new, |labels| {
            labels.entry(kind).or_default().take(day, verified, refuted);
        });
    }

    /// A bill told how many tokens a prompt's bytes came to.
    pub(super) fn calibrate(&mut self, engine: &str, bytes: u64, tokens: u32) {
        let family = Family::of(engine);
        self.calibration.change(&family, Calibration::default, |known| known.count(bytes, tokens));
    }

    /// A bill came; `None` where the charge is no bill.
    pub(super) fn billed(&mut self, engine: &str, expected: Cost, charged: Option<Cost>) {
        let known = expected.amount().zip(charged.and_then(Cost::amount));
        self.accuracy.change(engine, Accuracy::default, |accuracy| match known {
            Some((predicted, charged)) => accuracy.count(predicted, charged),
            None => accuracy.unknown += 1,
        });
    }
}

/// One label: what it verifies and what it refutes, in thousandths.
const fn label(verdict: Verdict) -> (u64, u64) {
    match verdict {
        Verdict::Good => (LABEL, 0),
        Verdict::Bad => (0, LABEL),
    }
}

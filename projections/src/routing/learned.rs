//! What results teach: how long answers get, and how good predictions were.

use std::collections::BTreeMap;

use events::cost::Cost;
use events::money::Pico;
use events::payload::TurnKind;
use serde::{Deserialize, Serialize};

use crate::table::Table;

/// An answer nobody has seen the like of, in tokens.
pub const ANSWER_TOKENS: u32 = 1_024;
/// An expectation counts for so many answers seen.
const PRIOR_ANSWERS: u64 = 4;
/// Answers a mean is taken over: twice as many are halved.
const ANSWERS_KEPT: u32 = 1_000;

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

/// What results teach.
#[derive(Clone, Debug, PartialEq)]
pub struct Learned {
    answers: Table<String, EngineAnswers>,
    accuracy: Table<String, Accuracy>,
}

/// The tables as a snapshot has them.
pub(super) type State = (BTreeMap<String, EngineAnswers>, BTreeMap<String, Accuracy>);

impl Learned {
    pub(super) const fn new() -> Self {
        Self { answers: Table::new("learned.answers"), accuracy: Table::new("learned.accuracy") }
    }

    pub(super) fn of((answers, accuracy): State) -> Self {
        Self {
            answers: Table::of("learned.answers", answers),
            accuracy: Table::of("learned.accuracy", accuracy),
        }
    }

    pub(super) const fn tables(&self) -> (&Table<String, EngineAnswers>, &Table<String, Accuracy>) {
        (&self.answers, &self.accuracy)
    }

    pub(super) fn settle(&mut self) {
        self.answers.settle();
        self.accuracy.settle();
    }

    /// The answer an engine is expected to give, by its canonical name: what it gave to turns of the kind, beside what
    /// it gave to all, beside [`ANSWER_TOKENS`].
    #[must_use]
    pub fn expected(&self, engine: &str, kind: Option<TurnKind>) -> Expected {
        let unseen = Expected { output: ANSWER_TOKENS, reasoning: 0 };
        let Some(seen) = self.answers.get(engine) else { return unseen };
        let any = seen.all.beside(unseen);
        let of_kind = kind.and_then(|kind| seen.by_kind.get(&kind));
        of_kind.map_or(any, |seen| seen.beside(any))
    }

    /// How good predictions were, by engine.
    pub fn accuracy(&self) -> impl Iterator<Item = (&String, &Accuracy)> {
        self.accuracy.iter()
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

    /// A bill came; `None` where the charge is no bill.
    pub(super) fn billed(&mut self, engine: &str, expected: Cost, charged: Option<Cost>) {
        let known = expected.amount().zip(charged.and_then(Cost::amount));
        self.accuracy.change(engine, Accuracy::default, |accuracy| match known {
            Some((predicted, charged)) => accuracy.count(predicted, charged),
            None => accuracy.unknown += 1,
        });
    }
}

//! Which engine takes a turn: a strategy's choice, resolved against a book.

use events::payload::{CacheTtl, Parts};
use projections::book::{Book, EnginePrice};
use projections::cost::{Basis, PartKind, Tariff};
use projections::gather::{Call, Window};
use projections::names::Step;
use projections::tariffs::Tariffs;

use crate::counterfactual::Chosen;
use crate::strategy::{Choice, Per, Share};

/// Why a strategy cannot be priced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RepriceError {
    /// The book has no such engine.
    #[error("the price book has no '{name}'{}", near_text(near))]
    UnknownModel {
        /// The name.
        name: String,
        /// Names of the book that look like it.
        near: Vec<String>,
    },
}

fn near_text(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) }
}

/// An engine a strategy priced turns with, and how it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineUse {
    /// The name it was looked for by: a strategy's, or a recorded model's.
    pub name: String,
    /// How the name led to an engine; `None` when it led to none.
    pub found: Option<(Step, String)>,
    /// Rates of the engine that others stand in for.
    pub stand_ins: Vec<(PartKind, Basis)>,
}

/// The engines a strategy may choose, resolved against a book.
pub(crate) enum Chooser {
    One(Tariffs),
    /// By the call's recorded engine.
    Recorded(Vec<Option<Tariffs>>),
    Mix {
        per: Per,
        share: Share,
        strong: Tariffs,
        weak: Tariffs,
    },
    ToolResult {
        then: Tariffs,
        otherwise: Tariffs,
    },
    /// By what a policy decided.
    Decided(Chosen),
}

impl Chooser {
    pub(crate) fn new(
        choice: &Choice,
        book: &Book,
        window: &Window,
        uses: &mut Vec<EngineUse>,
    ) -> Result<Self, RepriceError> {
        let mut named = |name: &str| {
            let found = named(book, name)?;
            uses.push(EngineUse::of(name, Some(found)));
            Ok(Tariffs::new(found.1.clone()))
        };
        Ok(match choice {
            Choice::All(model) => Self::One(named(model)?),
            Choice::Mix { per, share, strong, weak } => {
                Self::Mix { per: *per, share: *share, strong: named(strong)?, weak: named(weak)? }
            }
            Choice::ToolResult { then, otherwise } => {
                Self::ToolResult { then: named(then)?, otherwise: named(otherwise)? }
            }
            Choice::Recorded | Choice::RecordedFamily => {
                let by_family = *choice == Choice::RecordedFamily;
                let engines = window.models.iter().map(|model| {
                    let found = if by_family { book.family(model) } else { book.recorded(model) };
                    uses.push(EngineUse::of(model, found));
                    found.map(|(_, engine)| Tariffs::new(engine.clone()))
                });
                Self::Recorded(engines.collect())
            }
        })
    }

    /// The engine of a call, by its place in the window.
    pub(crate) fn choose(&self, index: usize, call: &Call) -> Option<&Tariffs> {
        match self {
            Self::Decided(chosen) => {
                let went = chosen.by_call.get(index).copied().flatten()?;
                chosen.engines.get(went.engine as usize)
            }
            Self::One(engine) => Some(engine),
            Self::Recorded(engines) => engines[call.engine as usize].as_ref(),
            Self::Mix { per, share, strong, weak } => {
                let coin = if *per == Per::Turn { call.turn_coin } else { call.session_coin };
                Some(if share.takes(coin) { strong } else { weak })
            }
            Self::ToolResult { then, otherwise } => {
                Some(if call.news.contains(Parts::TOOL_RESULT) { then } else { otherwise })
            }
        }
    }
}

impl Chooser {
    /// How long a call's cache writes are kept, where that was decided call by call.
    pub(crate) fn ttl(&self, index: usize) -> Option<CacheTtl> {
        match self {
            Self::Decided(chosen) => Some(chosen.by_call.get(index).copied().flatten()?.ttl),
            _ => None,
        }
    }
}

impl EngineUse {
    pub(crate) fn of(name: &str, found: Option<(Step, &EnginePrice)>) -> Self {
        let tariff = found.map(|(_, engine)| Tariff::of(engine, 0, None));
        Self {
            name: name.to_owned(),
            found: found.map(|(step, engine)| (step, engine.engine.clone())),
            stand_ins: tariff.iter().flat_map(Tariff::stand_ins).collect(),
        }
    }
}

fn named<'b>(book: &'b Book, name: &str) -> Result<(Step, &'b EnginePrice), RepriceError> {
    book.named(name).ok_or_else(|| {
        let aliases = book.names().into_iter().flat_map(|names| &names.aliases);
        let known =
            aliases.map(|(alias, _)| alias).chain(book.engines().map(|price| &price.engine));
        let near = known.filter(|known| looks_like(known, name)).take(3).cloned().collect();
        RepriceError::UnknownModel { name: name.to_owned(), near }
    })
}

/// True when one name holds the other, or a few keystrokes lead from one to the other.
fn looks_like(known: &str, name: &str) -> bool {
    let (known, name) = (known.to_ascii_lowercase(), name.to_ascii_lowercase());
    known.contains(&name)
        || name.contains(&known)
        || strsim::damerau_levenshtein(&known, &name) <= 1 + name.len() / 5
}

/// What tells engines apart for caches and switches: the engine, or the name of an unpriced model.
pub(crate) fn identity(call: &Call, engine: Option<&Tariffs>) -> u64 {
    match engine {
        Some(engine) => engine.id() << 1,
        None => u64::from(call.engine) << 1 | 1,
    }
}

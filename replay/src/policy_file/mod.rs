//! A policy as people write it: one TOML of prices, routing, budgets, profiles and engines, and its one canonical form.

mod budgets;
mod engines;
mod figures;
mod prices;
mod profiles;
mod routing;
#[cfg(test)]
mod tests;

use std::ops::Range;

use events::limits::POLICY_BYTES_MAX;
use projections::policy::{Policy, Rules};
use serde::Deserialize;

use crate::effective_book::PricePolicy;

/// Why a policy cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyFileError {
    /// It is longer than any policy.
    #[error("it has {bytes} bytes, more than the {POLICY_BYTES_MAX} a policy may have")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// It is no TOML.
    #[error("{at}{problem}")]
    Toml {
        /// Where: `line 3: `, or nothing.
        at: String,
        /// What is wrong.
        problem: String,
    },
    /// A key ferry does not know.
    #[error("{at}unknown key '{key}'{}", suggestion(nearest.as_deref(), known))]
    UnknownKey {
        /// Where: `line 3: `, or nothing.
        at: String,
        /// The key.
        key: String,
        /// The known one it looks like.
        nearest: Option<String>,
        /// Every one that is known there.
        known: Vec<String>,
    },
    /// A field with a value it cannot have.
    #[error("{field}: '{value}' {problem}")]
    Field {
        /// Where it stands.
        field: String,
        /// What it holds.
        value: String,
        /// What is wrong with it, and what would be right.
        problem: String,
    },
    /// It makes no sense as a whole.
    #[error(transparent)]
    Rules(#[from] projections::policy::PolicyError),
}

fn suggestion(nearest: Option<&str>, known: &[String]) -> String {
    match nearest {
        Some(nearest) => format!("; did you mean '{nearest}'?"),
        None => format!("; known are {}", known.join(", ")),
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    prices: prices::Prices,
    routing: routing::RoutingFile,
    budgets: budgets::BudgetFiles,
    profiles: profiles::ProfileFiles,
    engines: engines::EngineFiles,
}

/// What a policy says.
#[derive(Clone, Debug)]
pub struct PolicyFile {
    /// About prices.
    pub prices: PricePolicy,
    /// About routing and budgets.
    pub rules: Rules,
}

/// Reads a policy.
///
/// # Errors
/// [`PolicyFileError`] with the first thing that is wrong.
pub fn read(text: &str) -> Result<PolicyFile, PolicyFileError> {
    if text.len() > POLICY_BYTES_MAX {
        return Err(PolicyFileError::TooLong { bytes: text.len() });
    }
    let file: File = toml::from_str(text).map_err(|error| in_words(text, &error))?;
    let File { prices, routing, budgets, profiles, engines } = file;
    let budgets = budgets::read(budgets)?;
    let profiles = profiles::read(profiles, &budgets)?;
    let mut routing = routing::read(routing)?;
    routing.facts = engines::read(engines)?;
    let policy = Policy { routing, budgets, profiles };
    Ok(PolicyFile { prices: prices::read(prices)?, rules: Rules::new(policy)? })
}

/// The one form of what a policy says: no comments, tables and keys in order.
///
/// # Errors
/// [`PolicyFileError::Toml`] when it is none.
pub fn canonical(text: &str) -> Result<String, PolicyFileError> {
    let table: toml::Table = toml::from_str(text).map_err(|error| in_words(text, &error))?;
    toml::to_string(&table)
        .map_err(|error| PolicyFileError::Toml { at: String::new(), problem: error.to_string() })
}

/// Serde names an unknown field and the known ones in its message, each between backticks.
fn in_words(text: &str, error: &toml::de::Error) -> PolicyFileError {
    let at = error.span().map_or_else(String::new, |span| line_of(text, &span));
    let message = error.message();
    let mut quoted = message.split('`').skip(1).step_by(2).map(str::to_owned);
    match (message.starts_with("unknown field"), quoted.next()) {
        (true, Some(key)) => {
            let known: Vec<String> = quoted.collect();
            let nearest = nearest(&key, known.iter().map(String::as_str)).map(str::to_owned);
            PolicyFileError::UnknownKey { at, key, nearest, known }
        }
        _ => PolicyFileError::Toml { at, problem: message.to_owned() },
    }
}

fn line_of(text: &str, span: &Range<usize>) -> String {
    let before = text.get(..span.start).unwrap_or(text);
    format!("line {}: ", before.matches('\n').count() + 1)
}

/// The word a few keystrokes away.
pub fn nearest<'w>(word: &str, words: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    let distance = |known: &str| strsim::damerau_levenshtein(known, word);
    let near = words.map(|known| (distance(known), known)).min()?;
    (near.0 <= 1 + word.len() / 3).then_some(near.1)
}

fn wrong(field: &str, value: impl Into<String>, problem: impl Into<String>) -> PolicyFileError {
    PolicyFileError::Field { field: field.to_owned(), value: value.into(), problem: problem.into() }
}

/// One of a set of words; the nearest is suggested for another.
fn word<T: Copy>(
    field: &str,
    text: &str,
    words: &[(&'static str, T)],
) -> Result<T, PolicyFileError> {
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
        return Ok(*value);
    }
    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let meant = nearest(text, known.iter().copied());
    let meant = meant.map_or_else(String::new, |meant| format!("; did you mean {meant}?"));
    Err(wrong(field, text, format!("is none of {}{meant}", known.join(", "))))
}

//! `policy.toml` in a ledger's folder: what a person says about prices, routing and budgets.

mod budgets;
mod prices;
mod routing;

use std::path::Path;

use events::payload::Name;
use projections::policy::{Policy, Rules};
use replay::effective_book::PricePolicy;
use serde::Deserialize;

/// Longest policy that is read, in bytes.
const BYTES_MAX: u64 = 1024 * 1024;

/// Why a policy cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PolicyError {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// It is longer than any policy.
    #[error("longer than {BYTES_MAX} bytes")]
    TooLong,
    /// It is no TOML, or says what ferry does not know.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// A field with a value it cannot have.
    #[error("{field}: '{value}' {problem}")]
    Field {
        /// Where it stands.
        field: String,
        /// What it holds.
        value: String,
        /// What is wrong with it.
        problem: String,
    },
    /// It makes no sense as a whole.
    #[error(transparent)]
    Rules(#[from] projections::policy::PolicyError),
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    prices: prices::Prices,
    routing: routing::RoutingFile,
    budgets: budgets::BudgetFiles,
    profiles: routing::ProfileFiles,
}

/// What a policy file says.
#[derive(Clone, Debug)]
pub(crate) struct PolicyFile {
    /// About prices.
    pub(crate) prices: PricePolicy,
    /// About routing and budgets.
    pub(crate) rules: Rules,
}

/// The policy of a folder; nothing is said where there is none.
pub(crate) fn read(path: &Path) -> Result<PolicyFile, PolicyError> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => parse(""),
        Err(error) => Err(error.into()),
        Ok(metadata) if metadata.len() > BYTES_MAX => Err(PolicyError::TooLong),
        Ok(_) => parse(&std::fs::read_to_string(path)?),
    }
}

fn parse(text: &str) -> Result<PolicyFile, PolicyError> {
    let File { prices, routing, budgets, profiles } = toml::from_str(text)?;
    let budgets = budgets::read(budgets)?;
    let profiles = routing::profiles(profiles, &budgets)?;
    let policy = Policy { routing: routing::read(routing)?, budgets, profiles };
    Ok(PolicyFile { prices: prices::read(prices)?, rules: Rules::new(policy)? })
}

fn name(field: &str, text: &str) -> Result<(), PolicyError> {
    let problem = "is no name: 1 to 128 characters of printable ASCII";
    Name::new(text)
        .map(|_| ())
        .map_err(|_| wrong(field, text.chars().take(40).collect::<String>(), problem))
}

fn wrong(field: &str, value: impl Into<String>, problem: impl Into<String>) -> PolicyError {
    PolicyError::Field { field: field.to_owned(), value: value.into(), problem: problem.into() }
}

/// One of a set of words; the nearest is suggested for another.
fn word<T: Copy>(field: &str, text: &str, words: &[(&'static str, T)]) -> Result<T, PolicyError> {
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
        return Ok(*value);
    }
    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    Err(wrong(field, text, format!("is none of {}", known.join(", "))))
}

/// An amount of US dollars, as text: a number in TOML would not be exact.
fn usd(field: &str, text: &str) -> Result<events::money::Pico, PolicyError> {
    text.parse().map_err(|error| wrong(field, text, format!("is no amount of dollars: {error}")))
}

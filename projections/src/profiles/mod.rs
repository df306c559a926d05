//! What is believed of a model before there are labels: built-in profiles of known families, else the size class.
//!
//! A profile is found by the model's name alone. Chances are thousandths ([`Milli`]), so nothing here is a float.

mod class;
mod families;
mod prior;
mod scaled;
#[cfg(test)]
mod tests;
mod words;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::work::{Size, Work};
use families::{FAMILIES, Makes};
use words::Name;

pub use class::{Class, guess_class};
pub use prior::{Strength, prior_of};

/// A chance in thousandths: 920 is .92.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Milli(pub u16);

impl Milli {
    /// No prior is below it.
    pub const LEAST: Self = Self(50);
    /// No prior is above it.
    pub const MOST: Self = Self(950);

    /// The nearest prior to so many thousandths.
    #[must_use]
    pub fn clamped(thousandths: i32) -> Self {
        let bounded = thousandths.clamp(i32::from(Self::LEAST.0), i32::from(Self::MOST.0));
        Self(u16::try_from(bounded).unwrap_or(Self::LEAST.0))
    }
}

/// The kinds of work a profile rates, in the order of its rows.
const RATED: [Work; 8] = [
    Work::CodeChange,
    Work::Review,
    Work::Plan,
    Work::Docs,
    Work::Tests,
    Work::Chore,
    Work::Research,
    Work::Translate,
];

/// What is believed of the models of a family.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Profile {
    /// `claude-opus`; with the parameters where they matter: `qwen ~32b`.
    pub family: Cow<'static, str>,
    /// How large they are held to be.
    pub class: Class,
    /// The strength that the priors have in them already.
    pub credits: Option<Strength>,
    /// Of small and medium work, in the order of [`RATED`].
    priors: [Milli; 8],
}

/// Thousandths that large work is harder for each class below large.
const HARDER_PER_CLASS: i32 = 50;

impl Profile {
    /// The chance that work is done well; `None` for media, which the families were not rated for.
    #[must_use]
    pub fn prior(&self, work: Work, size: Size) -> Option<Milli> {
        let prior = match RATED.into_iter().position(|rated| rated == work) {
            Some(column) => i32::from(self.priors[column].0),
            None if work == Work::Other => self.mean(),
            None => return None,
        };
        let harder = match size {
            Size::Large => HARDER_PER_CLASS * self.class.below_large(),
            Size::Small | Size::Medium => 0,
        };
        Some(Milli::clamped(prior - harder))
    }

    /// Rounded half up.
    fn mean(&self) -> i32 {
        (self.priors.iter().map(|prior| i32::from(prior.0)).sum::<i32>() + 4) / 8
    }
}

/// The profile of a model by its name; of an engine that names no model, by the engine's name.
#[must_use]
pub fn profile(model: &str, engine_name: &str) -> Option<Profile> {
    let name = Name::new(if model.trim().is_empty() { engine_name } else { model });
    let family = FAMILIES.iter().find(|family| (family.matches)(&name))?;
    let credits = family.credits;
    match family.makes {
        Makes::Fixed(class, hundredths) => Some(Profile {
            family: Cow::Borrowed(family.label),
            class,
            credits,
            priors: hundredths.map(|hundredths| Milli(u16::from(hundredths) * 10)),
        }),
        Makes::Scaled { offsets, shift, default_size } => {
            let size = name.size.or_else(|| default_size(&name))?;
            Some(Profile {
                family: Cow::Owned(format!("{} ~{size}", family.label)),
                class: scaled::class(size),
                credits,
                priors: offsets.priors(size, shift(&name)),
            })
        }
    }
}

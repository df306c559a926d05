//! The chance that an engine does a kind of work well, before there is a label.

use serde::{Deserialize, Serialize};

use super::{Class, Milli, Profile};
use crate::work::{Size, Work};

/// What an engine is said to be good at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strength {
    /// Writing code.
    Code,
    /// Writing tests.
    Tests,
    /// Writing documents.
    Docs,
    /// Judging work.
    Review,
    /// Thinking things through.
    Reasoning,
    /// Keeping much in mind.
    LongContext,
    /// Translating.
    Translation,
    /// Mathematics; helps no kind of order.
    Math,
}

impl Strength {
    /// Every strength.
    pub const ALL: [Self; 8] = [
        Self::Code,
        Self::Tests,
        Self::Docs,
        Self::Review,
        Self::Reasoning,
        Self::LongContext,
        Self::Translation,
        Self::Math,
    ];

    /// The word used in policies, reports and JSON.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Tests => "tests",
            Self::Docs => "docs",
            Self::Review => "review",
            Self::Reasoning => "reasoning",
            Self::LongContext => "long-context",
            Self::Translation => "translation",
            Self::Math => "math",
        }
    }

    /// Reads a label.
    #[must_use]
    pub fn parse(label: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|strength| label.eq_ignore_ascii_case(strength.label()))
    }

    /// The strengths that help with a kind of work.
    #[must_use]
    pub const fn helping(work: Work) -> &'static [Self] {
        match work {
            Work::CodeChange => &[Self::Code],
            Work::Tests => &[Self::Tests, Self::Code],
            Work::Docs => &[Self::Docs],
            Work::Review => &[Self::Review, Self::Reasoning],
            Work::Plan => &[Self::Reasoning],
            Work::Research => &[Self::Reasoning, Self::LongContext],
            Work::Translate => &[Self::Translation],
            _ => &[],
        }
    }
}

/// Thousandths for each strength that helps, and the most that they all come to.
const STRENGTH: i32 = 50;
const STRENGTHS_MOST: i32 = 100;
/// Thousandths that work is harder for each step it is larger than the model.
const HARDER_PER_STEP: i32 = 100;

/// The prior of an engine: by the model's profile where it rates the kind, else by its class, and by its strengths.
///
/// The class is the engine's (declared or [guessed](super::guess_class)); without one it is the profile's, and
/// without that the smallest, which promises least.
#[must_use]
pub fn prior_of(
    profile: Option<&Profile>,
    class: Option<Class>,
    work: Work,
    size: Size,
    strengths: &[Strength],
) -> Milli {
    let rated = profile.and_then(|profile| profile.prior(work, size));
    let credited = rated.and(profile).and_then(|profile| profile.credits);
    let base = rated.map_or_else(
        || {
            let class = class.or(profile.map(|profile| profile.class)).unwrap_or(Class::Small);
            of_class(class, size)
        },
        |prior| i32::from(prior.0),
    );
    Milli::clamped(base + bonus(work, strengths, credited))
}

fn of_class(class: Class, size: Size) -> i32 {
    let (base, steps) = match class {
        Class::Large => (800, 0),
        Class::Medium => (700, size.index().saturating_sub(Class::Medium.index())),
        Class::Small => (550, size.index()),
    };
    base - HARDER_PER_STEP * i32::try_from(steps).unwrap_or_default()
}

fn bonus(work: Work, strengths: &[Strength], credited: Option<Strength>) -> i32 {
    let helping = Strength::helping(work)
        .iter()
        .filter(|strength| strengths.contains(strength) && credited != Some(**strength));
    helping.map(|_| STRENGTH).sum::<i32>().min(STRENGTHS_MOST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::profile;

    #[test]
    fn labels_are_read_back() {
        for strength in Strength::ALL {
            assert_eq!(Strength::parse(strength.label()), Some(strength));
        }
    }

    // 3.2: class large .80, medium .70, small .55; .10 less per step that the work is larger.
    #[test]
    fn a_class_is_a_prior() {
        let cases = [
            (Class::Large, [800, 800, 800]),
            (Class::Medium, [700, 700, 600]),
            (Class::Small, [550, 450, 350]),
        ];
        for (class, expected) in cases {
            let priors = Size::ALL.map(|size| prior_of(None, Some(class), Work::Docs, size, &[]).0);
            assert_eq!(priors, expected, "{class:?}");
        }
        assert_eq!(prior_of(None, None, Work::Docs, Size::Small, &[]), Milli(550));
    }

    // 3.2: which strengths help with which kind.
    #[test]
    fn strengths_help_with_their_kinds() {
        for work in Work::ALL {
            let expected: &[&str] = match work.label() {
                "code-change" => &["code"],
                "tests" => &["tests", "code"],
                "docs" => &["docs"],
                "review" => &["review", "reasoning"],
                "plan" => &["reasoning"],
                "research" => &["reasoning", "long-context"],
                "translate" => &["translation"],
                _ => &[],
            };
            let helping: Vec<&str> =
                Strength::helping(work).iter().map(|strength| strength.label()).collect();
            assert_eq!(helping, expected, "{work:?}");
            let all = prior_of(None, Some(Class::Small), work, Size::Small, &Strength::ALL);
            assert_eq!(usize::from(all.0), 550 + 50 * expected.len(), "{work:?}");
        }
    }

    #[test]
    fn a_strength_counts_once_and_not_where_the_profile_has_it_already() {
        let large = Some(Class::Large);
        let prior = |model: &str, class, work, strengths: &[Strength]| {
            let profile = profile(model, "");
            prior_of(profile.as_ref(), class, work, Size::Medium, strengths).0
        };
        use Strength::{Code, LongContext, Reasoning, Tests};
        assert_eq!(prior("acme", large, Work::CodeChange, &[Code, Code]), 850);
        assert_eq!(prior("claude-haiku", None, Work::CodeChange, &[Code]), 770);
        assert_eq!(prior("gpt-5-codex-mini", None, Work::CodeChange, &[Code]), 780, "credited");
        assert_eq!(prior("gpt-5-codex-mini", None, Work::Tests, &[Code, Tests]), 830);
        assert_eq!(prior("qwq:32b", None, Work::Research, &[Reasoning, LongContext]), 810);
        assert_eq!(prior("claude-opus", None, Work::CodeChange, &[Code]), 950, "no more");
    }

    // 3.2: profile beats class, even a declared class; 3.6: media have no prior and fall back to class.
    #[test]
    fn a_profile_beats_the_class_where_it_rates_the_kind() {
        let haiku = profile("claude-haiku", "");
        let prior = |class, work| prior_of(haiku.as_ref(), class, work, Size::Small, &[]).0;
        assert_eq!(prior(Some(Class::Large), Work::Docs), 780);
        assert_eq!(prior(Some(Class::Large), Work::Image), 800);
        assert_eq!(prior(None, Work::Image), 550, "the profile's class");
    }
}

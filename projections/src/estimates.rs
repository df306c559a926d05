//! The chance that an engine does a kind of work well: a prior, and labels that fade by half every fourteen days.
//!
//! Counts are milli-labels: one label is 1,000. They are kept per day and fade when they are read, so their order
//! never matters and a question as of any day has one answer.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::profiles::{Class, Milli, Profile};
use crate::work::{Size, Work};

/// A chance in millionths: 820,000 is .82.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Chance(pub u32);

impl Chance {
    /// It always goes well.
    pub const CERTAIN: Self = Self(1_000_000);

    /// Rounded half up to thousandths, as decisions record it.
    #[must_use]
    pub const fn thousandths(self) -> u32 {
        (self.0 + 500) / 1_000
    }
}

impl From<Milli> for Chance {
    fn from(chance: Milli) -> Self {
        Self(u32::from(chance.0) * 1_000)
    }
}

/// Rounded half up to hundredths: `0.82`.
impl fmt::Display for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hundredths = (self.0 + 5_000) / 10_000;
        write!(f, "{}.{:02}", hundredths / 100, hundredths % 100)
    }
}

/// Labels that the prior counts as much as, in milli-labels.
const PRIOR_WEIGHT: u128 = 4_000;

/// `(4 x prior + verified) / (4 + verified + refuted)`, rounded half up to millionths.
#[must_use]
pub fn estimate(prior: Milli, verified_milli: u64, refuted_milli: u64) -> Chance {
    let (verified, refuted) = (u128::from(verified_milli), u128::from(refuted_milli));
    let prior = u128::from(prior.0.min(1_000)) * PRIOR_WEIGHT / 1_000;
    let labels = PRIOR_WEIGHT + verified + refuted;
    let millionths = ((prior + verified) * u128::from(Chance::CERTAIN.0) + labels / 2) / labels;
    Chance(u32::try_from(millionths).unwrap_or(Chance::CERTAIN.0))
}

/// Days in which a label fades to half of what it was.
pub const HALF_LIFE_DAYS: u32 = 14;
/// What is left of a label after so many days is the last that a Q32 factor can hold; after more it is nothing.
pub const FADED_AFTER_DAYS: u32 = 32 * HALF_LIFE_DAYS;

/// `2^(-day/14)` in Q63, for the days of one half-life.
const WITHIN_HALF_LIFE: [u64; HALF_LIFE_DAYS as usize] = [
    9_223_372_036_854_775_808,
    8_777_838_461_888_376_115,
    8_353_826_318_089_359_996,
    7_950_296_016_018_194_506,
    7_566_258_183_444_155_114,
    7_200_771_239_610_737_978,
    6_852_939_086_675_810_322,
    6_521_908_912_666_391_106,
    6_206_869_100_561_364_850,
    5_907_047_238_375_635_036,
    5_621_708_225_366_857_994,
    5_350_152_469_721_570_749,
    5_091_714_173_301_814_673,
    4_845_759_699_246_811_049,
];

/// What is left of one after so many days, in Q32: `2^(-days/14)` rounded half up.
const FACTORS: [u64; FADED_AFTER_DAYS as usize + 1] = {
    let mut factors = [0; FADED_AFTER_DAYS as usize + 1];
    let mut days = 0;
    while days < factors.len() {
        let half_lives = days / WITHIN_HALF_LIFE.len();
        let q33 = WITHIN_HALF_LIFE[days % WITHIN_HALF_LIFE.len()] >> (30 + half_lives);
        factors[days] = q33.div_ceil(2);
        days += 1;
    }
    factors
};

fn factor(days: u32) -> u64 {
    usize::try_from(days).ok().and_then(|days| FACTORS.get(days)).copied().unwrap_or(0)
}

/// What is left of a count after so many days, rounded half up.
#[must_use]
pub fn decayed(milli: u64, days: u32) -> u64 {
    from_q32(u128::from(milli) * u128::from(factor(days)))
}

fn from_q32(count: u128) -> u64 {
    u64::try_from((count + (1 << 31)) >> 32).unwrap_or(u64::MAX)
}

/// The labels an engine has for a kind of work, by UTC day.
///
/// No day is kept from which nothing is left on the newest: at most [`FADED_AFTER_DAYS`] and one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels {
    /// By day since 1970: what was verified and what was refuted, in milli-labels.
    days: BTreeMap<u32, (u64, u64)>,
}

impl Labels {
    /// Counts labels of a day, in milli-labels.
    pub fn add(&mut self, day: u32, verified_milli: u64, refuted_milli: u64) {
        if (verified_milli, refuted_milli) == (0, 0) {
            return;
        }
        let (verified, refuted) = self.days.entry(day).or_default();
        *verified = verified.saturating_add(verified_milli);
        *refuted = refuted.saturating_add(refuted_milli);
        self.forget_the_faded();
    }

    /// Takes labels of a day back, as far as there are any.
    pub fn take(&mut self, day: u32, verified_milli: u64, refuted_milli: u64) {
        let Some((verified, refuted)) = self.days.get_mut(&day) else { return };
        *verified = verified.saturating_sub(verified_milli);
        *refuted = refuted.saturating_sub(refuted_milli);
        if (*verified, *refuted) == (0, 0) {
            self.days.remove(&day);
        }
    }

    fn forget_the_faded(&mut self) {
        let Some((&newest, _)) = self.days.last_key_value() else { return };
        while let Some(oldest) = self.days.first_entry() {
            if newest - oldest.key() <= FADED_AFTER_DAYS {
                return;
            }
            oldest.remove();
        }
    }

    /// What is left of them on a day: verified and refuted, in milli-labels, rounded half up. Labels of later days
    /// count in full.
    #[must_use]
    pub fn at(&self, as_of_day: u32) -> (u64, u64) {
        let mut left = (0, 0);
        for (day, (verified, refuted)) in &self.days {
            let factor = u128::from(factor(as_of_day.saturating_sub(*day)));
            left.0 += u128::from(*verified) * factor;
            left.1 += u128::from(*refuted) * factor;
        }
        (from_q32(left.0), from_q32(left.1))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.days.is_empty()
    }
}

/// The chance that a kind of work has to be done well with: the stated one, else 3.4's.
#[must_use]
pub const fn threshold(work: Work, size: Size, stated: Option<Milli>) -> Milli {
    if let Some(stated) = stated {
        return stated;
    }
    let base = match work {
        Work::Review | Work::Plan => 800,
        Work::Docs | Work::Chore | Work::Tests | Work::Research => 700,
        _ => 750,
    };
    match size {
        Size::Large => Milli(base + 50),
        Size::Small | Size::Medium => Milli(base),
    }
}

/// Milli-labels from which on an estimate's basis names them.
const NAMED_FROM: u64 = 500;

/// What an estimate rests on, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Basis {
    /// The profile's family, or the class.
    pub prior: String,
    /// What is left of the verified labels, in milli-labels.
    pub verified: u64,
    /// What is left of the refuted labels, in milli-labels.
    pub refuted: u64,
}

impl Basis {
    /// The basis of an estimate of work that the profile rates, or that only the class says something of.
    #[must_use]
    pub fn new(
        profile: Option<&Profile>,
        class: Class,
        work: Work,
        (verified, refuted): (u64, u64),
    ) -> Self {
        let rating = profile.filter(|profile| profile.prior(work, Size::Medium).is_some());
        let prior = rating.map_or_else(
            || format!("class {}", class.label()),
            |profile| format!("model profile: {}", profile.family),
        );
        Self { prior, verified, refuted }
    }
}

/// `model profile: qwen ~32b, ledger 3 verified 1 refuted`, in whole labels.
impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.prior)?;
        if self.verified.saturating_add(self.refuted) < NAMED_FROM {
            return Ok(());
        }
        let [verified, refuted] = [self.verified, self.refuted].map(whole_labels);
        write!(f, ", ledger {verified} verified {refuted} refuted")
    }
}

/// Rounded half up.
const fn whole_labels(milli: u64) -> u64 {
    milli / 1_000 + (milli % 1_000 >= 500) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::profile;
    use proptest::prelude::*;

    // 3.4's test vectors.
    #[test]
    fn labels_move_the_chance_away_from_the_prior() {
        let cases = [
            (550, 6, 0, "0.82", 820_000),
            (700, 4, 0, "0.85", 850_000),
            (700, 0, 4, "0.35", 350_000),
        ];
        for (prior, verified, refuted, shown, expected) in cases {
            let chance = estimate(Milli(prior), verified * 1_000, refuted * 1_000);
            assert_eq!((chance, chance.to_string()), (Chance(expected), shown.to_owned()));
        }
    }

    // 3.4: ten half-lives later back to the prior within 0.01.
    #[test]
    fn ten_half_lives_later_it_is_the_prior_again() {
        for (prior, verified, refuted) in [(550, 6_000, 0), (700, 4_000, 0), (700, 0, 4_000)] {
            let mut labels = Labels::default();
            labels.add(20_000, verified, refuted);
            let (verified, refuted) = labels.at(20_000 + 10 * HALF_LIFE_DAYS);
            let chance = estimate(Milli(prior), verified, refuted);
            assert!(chance.0.abs_diff(u32::from(prior) * 1_000) < 10_000, "{chance:?}");
        }
    }

    #[test]
    fn what_is_left_halves_exactly_and_never_grows() {
        for half_lives in 0..=32 {
            assert_eq!(factor(half_lives * HALF_LIFE_DAYS), 1 << (32 - half_lives));
        }
        for days in 0..=FADED_AFTER_DAYS {
            assert!(factor(days + 1) <= factor(days), "{days}");
            let half = factor(days).div_ceil(2);
            assert!(factor(days + HALF_LIFE_DAYS).abs_diff(half) <= 1, "{days}");
        }
        assert_eq!(factor(FADED_AFTER_DAYS), 1);
        assert_eq!((factor(FADED_AFTER_DAYS + 1), factor(u32::MAX)), (0, 0));
    }

    // Products of powers are powers of sums: with the half-lives exact, no other numbers have this.
    #[test]
    fn days_within_a_half_life_multiply() {
        let q63 = |days: usize| u128::from(WITHIN_HALF_LIFE[days % 14]) >> (days / 14);
        for (first, second) in (0..14).flat_map(|first| (0..14).map(move |second| (first, second)))
        {
            let product = (q63(first) * q63(second)) >> 63;
            assert!(product.abs_diff(q63(first + second)) <= 2, "{first} {second}");
        }
    }

    #[test]
    fn counts_fade_rounded_half_up() {
        let cases = [
            (1_000, 0, 1_000),
            (1_000, 1, 952),
            (1_000, 7, 707),
            (1_000, 14, 500),
            (1_000, 140, 1),
            (1_000, 154, 0),
            (1, 14, 1),
            (u64::MAX, 0, u64::MAX),
            (u64::MAX, FADED_AFTER_DAYS + 1, 0),
        ];
        for (milli, days, expected) in cases {
            assert_eq!(decayed(milli, days), expected, "{milli} after {days} days");
        }
    }

    #[test]
    fn no_day_is_kept_that_nothing_is_left_of() {
        let mut labels = Labels::default();
        labels.add(1_000, 1_000, 0);
        labels.add(1_000 + FADED_AFTER_DAYS, 1_000, 0);
        assert_eq!(labels.days.len(), 2);
        labels.add(1_001 + FADED_AFTER_DAYS, 0, 1_000);
        assert_eq!(labels.days.len(), 2);
        labels.add(1_000, 1_000, 0);
        labels.add(u32::MAX, 0, 0);
        assert_eq!(labels.days.len(), 2, "too old, and nothing");
        assert_eq!(labels.at(0), (1_000, 1_000), "later labels count in full");
    }

    #[test]
    fn thresholds_are_as_specified() {
        for work in Work::ALL {
            let expected = match work.label() {
                "review" | "plan" => 800,
                "docs" | "chore" | "tests" | "research" => 700,
                _ => 750,
            };
            let of = |size, stated| threshold(work, size, stated).0;
            assert_eq!(of(Size::Small, None), expected, "{work:?}");
            assert_eq!(of(Size::Medium, None), expected, "{work:?}");
            assert_eq!(of(Size::Large, None), expected + 50, "{work:?}");
            assert_eq!(of(Size::Large, Some(Milli(333))), 333, "{work:?}: a stated one is exact");
        }
    }

    #[test]
    fn the_basis_names_labels_from_half_a_label_on() {
        let qwen = profile("qwen2.5:32b", "");
        let basis = |profile: Option<&Profile>, work, labels| {
            Basis::new(profile, Class::Medium, work, labels).to_string()
        };
        assert_eq!(basis(qwen.as_ref(), Work::Docs, (300, 199)), "model profile: qwen ~32b");
        assert_eq!(
            basis(qwen.as_ref(), Work::Docs, (2_600, 499)),
            "model profile: qwen ~32b, ledger 3 verified 0 refuted"
        );
        assert_eq!(basis(qwen.as_ref(), Work::Image, (0, 0)), "class medium");
        assert_eq!(basis(None, Work::Docs, (0, 500)), "class medium, ledger 0 verified 1 refuted");
    }

    fn adds() -> impl Strategy<Value = Vec<(u32, u64, u64)>> {
        let day = prop_oneof![0_u32..1_500, 20_000_u32..20_030, any::<u32>()];
        let count = || prop_oneof![0_u64..5_000, any::<u64>()];
        prop::collection::vec((day, count(), count()), 0..40)
    }

    fn labels(adds: &[(u32, u64, u64)]) -> Labels {
        let mut labels = Labels::default();
        for &(day, verified, refuted) in adds {
            labels.add(day, verified, refuted);
        }
        labels
    }

    proptest! {
        #[test]
        fn the_order_of_labels_does_not_matter(
            (adds, shuffled) in adds().prop_flat_map(|adds| (Just(adds.clone()), Just(adds).prop_shuffle()))
        ) {
            prop_assert_eq!(labels(&adds), labels(&shuffled));
            prop_assert!(labels(&adds).days.len() <= FADED_AFTER_DAYS as usize + 1);
        }

        #[test]
        fn one_day_fades_as_a_count_does(milli: u64, age in 0_u32..600) {
            prop_assert_eq!(labels(&[(9_000, milli, 0)]).at(9_000 + age).0, decayed(milli, age));
        }

        #[test]
        fn more_verified_never_lowers_a_chance_and_more_refuted_never_raises_it(
            prior in 0_u16..=1_000, verified: u64, refuted: u64, more: u64
        ) {
            let chance = estimate(Milli(prior), verified, refuted);
            let better = estimate(Milli(prior), verified.saturating_add(more), refuted);
            let worse = estimate(Milli(prior), verified, refuted.saturating_add(more));
            prop_assert!(worse <= chance && chance <= better && better <= Chance::CERTAIN);
        }

        #[test]
        fn without_labels_a_chance_is_its_prior(prior in 0_u16..=1_000) {
            prop_assert_eq!(estimate(Milli(prior), 0, 0), Chance::from(Milli(prior)));
        }
    }
}

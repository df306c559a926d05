//! Families whose models differ by their number of parameters: one level for it, and an offset per kind of work.

use super::words::Billions;
use super::{Class, Milli};
use crate::logarithm::log2;

/// Hundredths a family is better or worse at a kind than its size says, in the order of
/// [`super::RATED`].
#[derive(Clone, Copy)]
pub(super) struct Offsets([i16; 8]);

impl Offsets {
    pub(super) const GENERAL: Self = Self([0, -2, -3, 2, -2, 2, -3, 0]);
    pub(super) const QWEN: Self = Self([0, -3, -4, 4, -2, 4, -4, 2]);
    pub(super) const LLAMA: Self = Self([-4, -2, -2, 2, -3, 0, -2, 0]);
    pub(super) const MISTRAL: Self = Self([-3, -2, -3, 0, -2, 0, -3, 2]);
    pub(super) const CODER: Self = Self([8, -2, -8, -6, 6, -2, -10, -6]);
    pub(super) const REASONER: Self = Self([2, 3, 4, -4, -2, -6, 2, -3]);
    pub(super) const SEES: Self = Self([-6, -4, -5, -2, -4, 0, -4, 0]);

    /// The chances of models of the size, each rounded to hundredths.
    pub(super) fn priors(self, size: Billions, shift: i16) -> [Milli; 8] {
        let hundredth = MILLIONTHS / 100;
        // Offsets are whole hundredths: the level alone needs rounding, and rounds the sum.
        let level = (level(size) + hundredth / 2) / hundredth;
        let level = i32::try_from(level).unwrap_or(i32::MAX);
        self.0.map(|offset| {
            Milli::clamped((level + i32::from(offset) + i32::from(shift)).saturating_mul(10))
        })
    }
}

const MILLIONTHS: u64 = 1_000_000;

/// Billions of parameters, and the chance in millionths that models of that size do work well.
const ANCHORS: [(Billions, u64); 8] = [
    (Billions::of(1), 400_000),
    (Billions::of(3), 480_000),
    (Billions::of(7), 580_000),
    (Billions::of(14), 660_000),
    (Billions::of(32), 740_000),
    (Billions::of(72), 800_000),
    (Billions::of(200), 850_000),
    (Billions::of(400), 880_000),
];

/// In millionths: linear in the logarithm of the size between two anchors, flat outside all of them.
pub(super) fn level(size: Billions) -> u64 {
    let above = ANCHORS.partition_point(|(anchor, _)| *anchor <= size);
    let Some(below) = above.checked_sub(1) else { return ANCHORS[0].1 };
    let (low, low_level) = ANCHORS[below];
    let Some(&(high, high_level)) = ANCHORS.get(above) else { return low_level };
    let [low, size, high] = [low, size, high].map(|at| u128::from(log2(at.millionths())));
    let rise = u128::from(high_level - low_level);
    let risen = (rise * (size - low) + (high - low) / 2) / (high - low);
    low_level + u64::try_from(risen).unwrap_or_default()
}

/// How large models of the size are held to be.
pub(super) fn class(size: Billions) -> Class {
    if size < Billions::of(10) {
        Class::Small
    } else if size < Billions::of(70) {
        Class::Medium
    } else {
        Class::Large
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logarithm::{LOG_BITS, log2};

    fn level_of(size: &str) -> u64 {
        level(Billions::parse(size).unwrap())
    }

    // 3.6: the anchors, and every level the specification names, in thousandths.
    #[test]
    fn levels_are_linear_in_the_logarithm_of_the_size() {
        let cases = [
            ("0.5b", 400),
            ("1b", 400),
            ("1.5b", 430),
            ("3b", 480),
            ("4b", 514),
            ("7b", 580),
            ("8b", 595),
            ("9.5b", 615),
            ("12b", 642),
            ("14b", 660),
            ("22b", 704),
            ("24b", 712),
            ("30b", 734),
            ("32b", 740),
            // .786510: the specification prints .786, as of .7865 rounded half to even.
            ("60b", 787),
            ("70b", 798),
            ("72b", 800),
            ("100b", 816),
            ("123b", 826),
            ("200b", 850),
            ("235b", 857),
            ("400b", 880),
            ("671b", 880),
        ];
        for (size, expected) in cases {
            assert_eq!((level_of(size) + 500) / 1_000, expected, "{size}");
        }
    }

    #[test]
    fn levels_are_exact_to_the_last_digit_kept() {
        let cases = [
            ("1.5b", 429_526),
            ("4b", 513_953),
            ("22b", 703_740),
            ("60b", 786_510),
            ("235b", 856_980),
        ];
        for (size, expected) in cases {
            assert_eq!(level_of(size), expected, "{size}");
        }
    }

    #[test]
    fn logarithms_of_powers_of_two_are_whole() {
        for power in 0_u32..64 {
            assert_eq!(log2(1 << power), u64::from(power) << LOG_BITS);
        }
    }

    #[test]
    fn class_goes_by_size() {
        let cases = [("9.99b", Class::Small), ("10b", Class::Medium), ("69.9b", Class::Medium)];
        for (size, expected) in cases {
            assert_eq!(class(Billions::parse(size).unwrap()), expected, "{size}");
        }
        assert_eq!(class(Billions::of(70)), Class::Large);
    }
}

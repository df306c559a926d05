//! A cost that may be known in part: unknown is a value, carried through sums.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

use crate::money::Pico;

/// What something cost: the parts that are known, and whether others are not.
///
/// Sums are associative and commutative, with [`Cost::ZERO`] as identity: one unknown part makes the
/// whole sum "at least".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// Sum of the known parts.
    pub known: Pico,
    /// True when a part is missing: the cost is at least `known`.
    pub incomplete: bool,
}

impl Cost {
    /// Known to be nothing.
    pub const ZERO: Self = Self { known: Pico::ZERO, incomplete: false };
    /// Nothing is known: never the same as nothing.
    pub const UNKNOWN: Self = Self { known: Pico::ZERO, incomplete: true };

    /// A cost without a missing part.
    #[must_use]
    pub const fn exactly(amount: Pico) -> Self {
        Self { known: amount, incomplete: false }
    }

    /// A cost of at least `amount`.
    #[must_use]
    pub const fn at_least(amount: Pico) -> Self {
        Self { known: amount, incomplete: true }
    }

    /// The amount, unless a part is missing.
    #[must_use]
    pub const fn amount(self) -> Option<Pico> {
        if self.incomplete { None } else { Some(self.known) }
    }
}

impl Add for Cost {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { known: self.known + other.known, incomplete: self.incomplete || other.incomplete }
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_cost() -> impl Strategy<Value = Cost> {
        (any::<i64>(), any::<bool>())
            .prop_map(|(pico, incomplete)| Cost { known: Pico(pico.into()), incomplete })
    }

    proptest! {
        // Law 8 for costs with unknown parts.
        #[test]
        fn law_8_sums_do_not_depend_on_order_or_grouping(
            costs in prop::collection::vec(any_cost(), 0..20), cut in 0_usize..20, seed in any::<u64>(),
        ) {
            let whole: Cost = costs.iter().copied().sum();
            let (left, right) = costs.split_at(cut.min(costs.len()));
            let halves = left.iter().copied().sum::<Cost>() + right.iter().copied().sum::<Cost>();
            prop_assert_eq!(whole, halves);
            let mut shuffled = costs.clone();
            shuffled.sort_by_key(|cost| cost.known.0 ^ i128::from(seed));
            prop_assert_eq!(whole, shuffled.into_iter().sum());
        }
    }
}

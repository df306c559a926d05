//! Money: whole pico-dollars (1e-12 USD), never a float.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub};
use std::str::FromStr;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits::AMOUNT_PICO_MAX;
use crate::rate::{DecimalError, parse_decimal};

/// Decimal digits of a dollar that a [`Pico`] holds.
pub const PICO_DIGITS: u8 = 12;
const PICO_PER_USD: u128 = 1_000_000_000_000;

/// An amount of money in pico-dollars. Sums are exact, so their order does not matter. They end at 10^20 dollars, which
/// only what is forged comes to: what a sum says can always be written down, and read again.
///
/// People and programs read it as decimal text; in payloads it is the shortest integer that holds it, or 16 bytes
/// where none does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pico(pub i128);

impl Pico {
    /// No money.
    pub const ZERO: Self = Self(0);
    /// More than any sum of bills.
    pub const MAX: Self = Self(AMOUNT_PICO_MAX.cast_signed());

    const fn bounded(pico: i128) -> Self {
        if pico > Self::MAX.0 {
            Self::MAX
        } else if pico < -Self::MAX.0 {
            Self(-Self::MAX.0)
        } else {
            Self(pico)
        }
    }

    /// So many times the amount.
    #[must_use]
    pub const fn times(self, times: u32) -> Self {
        Self::bounded(self.0.saturating_mul(times as i128))
    }

    /// Rounded half away from zero to `digits` (0 to 12) decimals, whole dollars grouped by commas.
    #[must_use]
    pub fn grouped(self, digits: u8) -> String {
        let digits = digits.min(PICO_DIGITS);
        let unit = 10_u128.pow(u32::from(PICO_DIGITS - digits));
        let rounded = self.0.unsigned_abs().saturating_add(unit / 2) / unit;
        let per_usd = 10_u128.pow(u32::from(digits));
        let sign = if self.0 < 0 && rounded > 0 { "-" } else { "" };
        let whole = group_thousands(rounded / per_usd);
        match digits {
            0 => format!("{sign}{whole}"),
            _ => {
                format!("{sign}{whole}.{:0width$}", rounded % per_usd, width = usize::from(digits))
            }
        }
    }

    /// `self x numerator / denominator`, rounded half to even; `None` where that is no amount.
    #[must_use]
    pub fn scaled(self, numerator: u64, denominator: u64) -> Option<Self> {
        let denominator = u128::from(denominator);
        let (magnitude, numerator) = (self.0.unsigned_abs(), u128::from(numerator));
        // Whole and rest apart: their products stay within 128 bits longer.
        let whole = magnitude.checked_div(denominator)?.checked_mul(numerator)?;
        let rest = (magnitude % denominator).checked_mul(numerator)?;
        let floor = whole.checked_add(rest / denominator)?;
        let scaled = floor + u128::from(rounds_up(floor, rest % denominator, denominator));
        let scaled = i128::try_from(scaled).ok()?;
        Some(Self(if self.0 < 0 { -scaled } else { scaled }))
    }
}

/// `1234567` as `1,234,567`.
#[must_use]
pub fn group_thousands(number: u128) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Quotient rounded to the nearest integer, ties to the even one. `denominator` must not be 0.
pub(crate) const fn div_half_even(numerator: u128, denominator: u128) -> u128 {
    let (floor, rest) = (numerator / denominator, numerator % denominator);
    if rounds_up(floor, rest, denominator) { floor + 1 } else { floor }
}

/// Whether `floor + rest / denominator` is nearer to the integer above, or as near and that one even.
const fn rounds_up(floor: u128, rest: u128, denominator: u128) -> bool {
    let to_above = denominator - rest;
    rest > to_above || (rest == to_above && floor % 2 == 1)
}

impl Serialize for Pico {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            return serializer.collect_str(self);
        }
        match i64::try_from(self.0) {
            Ok(pico) => serializer.serialize_i64(pico),
            Err(_) => serializer.serialize_bytes(&self.0.to_be_bytes()),
        }
    }
}

impl<'de> Deserialize<'de> for Pico {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(PicoVisitor)
        } else {
            deserializer.deserialize_any(PicoVisitor)
        }
    }
}

struct PicoVisitor;

impl Visitor<'_> for PicoVisitor {
    type Value = Pico;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an amount in pico-dollars")
    }

    fn visit_i64<E: serde::de::Error>(self, pico: i64) -> Result<Pico, E> {
        Ok(Pico(pico.into()))
    }

    fn visit_u64<E: serde::de::Error>(self, pico: u64) -> Result<Pico, E> {
        Ok(Pico(pico.into()))
    }

    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Pico, E> {
        let bytes = bytes.try_into().map_err(|_| E::invalid_length(bytes.len(), &self))?;
        let pico = i128::from_be_bytes(bytes);
        if pico.unsigned_abs() > AMOUNT_PICO_MAX {
            return Err(E::custom("an amount is larger than any price could make it"));
        }
        Ok(Pico(pico))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Pico, E> {
        text.parse().map_err(E::custom)
    }
}

/// Dollars as decimal text with all 12 digits, e.g. `0.052509000000`.
impl fmt::Display for Pico {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.0.unsigned_abs();
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(f, "{sign}{}.{:012}", magnitude / PICO_PER_USD, magnitude % PICO_PER_USD)
    }
}

/// Reads dollars as decimal text; more than 12 digits after the point are refused, not rounded.
impl FromStr for Pico {
    type Err = DecimalError;

    fn from_str(text: &str) -> Result<Self, DecimalError> {
        let (magnitude, negative) = match text.strip_prefix('-') {
            Some(magnitude) => (magnitude, true),
            None => (text, false),
        };
        let (mantissa, scale) = parse_decimal(magnitude)?;
        let missing = PICO_DIGITS.checked_sub(scale).ok_or(DecimalError::TooManyDigits)?;
        let pico = mantissa
            .checked_mul(10_u128.pow(u32::from(missing)))
            .and_then(|pico| i128::try_from(pico).ok())
            .ok_or(DecimalError::TooLarge)?;
        Ok(Self(if negative { -pico } else { pico }))
    }
}

impl Add for Pico {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::bounded(self.0.saturating_add(other.0))
    }
}

impl Sub for Pico {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::bounded(self.0.saturating_sub(other.0))
    }
}

impl Neg for Pico {
    type Output = Self;
    fn neg(self) -> Self {
        Self::bounded(self.0.saturating_neg())
    }
}

impl AddAssign for Pico {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Pico {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn permutations(items: &[Pico]) -> Vec<Vec<Pico>> {
        match items {
            [] => vec![vec![]],
            _ => (0..items.len())
                .flat_map(|index| {
                    let mut rest = items.to_vec();
                    let first = rest.remove(index);
                    permutations(&rest).into_iter().map(move |mut tail| {
                        tail.insert(0, first);
                        tail
                    })
                })
                .collect(),
        }
    }

    // Case 22: the same rows in another order give the same last digit.
    #[test]
    fn case_22_sums_do_not_depend_on_order() {
        let amounts: Vec<Pico> = ["0.1", "0.2", "0.3", "10000000000.1", "-10000000000.1"]
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        let orders = permutations(&amounts);
        assert_eq!(orders.len(), 120);
        for order in orders {
            assert_eq!(order.into_iter().sum::<Pico>().to_string(), "0.600000000000");
        }
    }

    #[test]
    fn prints_exactly_and_for_people() {
        let amount: Pico = "6477.08753425".parse().unwrap();
        assert_eq!(amount.to_string(), "6477.087534250000");
        assert_eq!(amount.grouped(2), "6,477.09");
        assert_eq!(Pico(-5_000_000_000).grouped(2), "-0.01");
        assert_eq!(Pico(-4_999_999_999).grouped(2), "0.00");
        assert_eq!(Pico(-1).to_string(), "-0.000000000001");
        assert_eq!(Pico(1_234_567 * 1_000_000_000_000).grouped(0), "1,234,567");
        assert_eq!("1.0000000000001".parse::<Pico>(), Err(DecimalError::TooManyDigits));
    }

    #[test]
    fn amounts_of_every_size_are_stored_as_they_are() {
        let most = AMOUNT_PICO_MAX.cast_signed();
        let (high, low) = (i128::from(i64::MAX), i128::from(i64::MIN) - 1);
        for pico in [0, 1, -1, 127, -33, high, low, most, -most] {
            let bytes = rmp_serde::to_vec(&Pico(pico)).unwrap();
            assert_eq!(rmp_serde::from_slice::<Pico>(&bytes).unwrap(), Pico(pico));
        }
        assert_eq!(rmp_serde::to_vec(&Pico(5)).unwrap(), [5], "small ones take one byte");
        assert!(rmp_serde::from_slice::<Pico>(&[0xc4, 2, 0, 1]).is_err());
        let beyond = rmp_serde::to_vec(&Pico(most + 1)).unwrap();
        assert!(rmp_serde::from_slice::<Pico>(&beyond).is_err());
    }

    #[test]
    fn scaling_rounds_half_to_even_and_knows_no_zero_division() {
        assert_eq!(Pico(5).scaled(1, 2), Some(Pico(2)));
        assert_eq!(Pico(7).scaled(1, 2), Some(Pico(4)));
        assert_eq!(Pico(-5).scaled(1, 2), Some(Pico(-2)));
        assert_eq!(Pico(5).scaled(1, 0), None);
        assert_eq!(Pico(7_000).scaled(30, 7), Some(Pico(30_000)));
        assert_eq!(Pico(i128::MAX).scaled(2, 1), None);
    }

    proptest! {
        #[test]
        fn text_round_trips(pico in -i128::MAX..i128::MAX) {
            prop_assert_eq!(Pico(pico).to_string().parse(), Ok(Pico(pico)));
        }
    }
}

//! Rates: US dollars per unit (a token, an image, a request) as exact decimals.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::limits::{RATE_SCALE_MAX, RATE_USD_MAX};
use crate::money::{PICO_DIGITS, Pico, div_half_even};

/// Why a decimal text is not a number ferry accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecimalError {
    /// Not of the form `12`, `0.5`, `.5` or `1.2e-7`.
    #[error("not a decimal number")]
    NotDecimal,
    /// Below zero; some lists write -1 for "unknown".
    #[error("negative")]
    Negative,
    /// More digits than the format keeps; nothing is rounded silently.
    #[error("more digits than can be kept exactly")]
    TooManyDigits,
    /// Larger than any price could be.
    #[error("larger than {RATE_USD_MAX} dollars")]
    TooLarge,
}

/// Reads an unsigned decimal, with an exponent if need be, into the least (mantissa, scale).
pub(crate) fn parse_decimal(text: &str) -> Result<(u128, u8), DecimalError> {
    if text.starts_with('-') {
        return Err(DecimalError::Negative);
    }
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => {
            (number, exponent.parse::<i16>().map_err(|_| DecimalError::NotDecimal)?)
        }
        None => (text, 0),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return Err(DecimalError::NotDecimal);
    }
    let mut mantissa: u128 = 0;
    let mut scale = -i32::from(exponent);
    let mut trailing_zeros = 0;
    for (index, digit) in whole.bytes().chain(fraction.bytes()).enumerate() {
        if !digit.is_ascii_digit() {
            return Err(DecimalError::NotDecimal);
        }
        scale += i32::from(index >= whole.len());
        if digit == b'0' {
            trailing_zeros += 1;
            continue;
        }
        // Zeros are taken in only once a digit follows them: a long tail of zeros costs no room.
        mantissa = 10_u128
            .checked_pow(trailing_zeros + 1)
            .and_then(|shift| mantissa.checked_mul(shift))
            .or((mantissa == 0).then_some(0))
            .and_then(|shifted| shifted.checked_add(u128::from(digit - b'0')))
            .ok_or(DecimalError::TooManyDigits)?;
        trailing_zeros = 0;
    }
    if mantissa == 0 {
        return Ok((0, 0));
    }
    scale -= i32::try_from(trailing_zeros).unwrap_or(i32::MAX);
    if scale < 0 {
        mantissa = 10_u128
            .checked_pow(scale.unsigned_abs())
            .and_then(|shift| mantissa.checked_mul(shift))
            .ok_or(DecimalError::TooLarge)?;
        scale = 0;
    }
    let scale = u8::try_from(scale).map_err(|_| DecimalError::TooManyDigits)?;
    Ok((mantissa, scale))
}

/// A price per unit: `mantissa / 10^scale` US dollars, in least form (no trailing zero digits).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    mantissa: u64,
    scale: u8,
}

impl Rate {
    /// Free of charge: a known price, unlike a missing one.
    pub const ZERO: Self = Self { mantissa: 0, scale: 0 };

    /// `mantissa / 10^scale` dollars per unit, reduced to its least form.
    ///
    /// # Errors
    /// [`DecimalError::TooManyDigits`] beyond [`RATE_SCALE_MAX`] decimals, [`DecimalError::TooLarge`]
    /// above [`RATE_USD_MAX`] dollars.
    pub fn new(mut mantissa: u64, mut scale: u8) -> Result<Self, DecimalError> {
        while scale > 0 && mantissa.is_multiple_of(10) {
            mantissa /= 10;
            scale -= 1;
        }
        if scale > RATE_SCALE_MAX {
            return Err(DecimalError::TooManyDigits);
        }
        let limit = u128::from(RATE_USD_MAX) * 10_u128.pow(u32::from(scale));
        if u128::from(mantissa) > limit {
            return Err(DecimalError::TooLarge);
        }
        Ok(Self { mantissa, scale })
    }

    /// A parsed decimal, which has no trailing zeros after the point.
    fn least(mantissa: u128, scale: u8) -> Result<Self, DecimalError> {
        if mantissa > u128::from(RATE_USD_MAX) * 10_u128.pow(u32::from(scale.min(RATE_SCALE_MAX))) {
            return Err(DecimalError::TooLarge);
        }
        Self::new(u64::try_from(mantissa).map_err(|_| DecimalError::TooManyDigits)?, scale)
    }

    /// Reads a price quoted per million units, the way most price lists print it.
    ///
    /// # Errors
    /// As [`Rate::new`], and [`DecimalError::NotDecimal`] or [`DecimalError::Negative`] for other texts.
    pub fn per_million(text: &str) -> Result<Self, DecimalError> {
        let (mantissa, scale) = parse_decimal(text)?;
        Self::least(mantissa, scale.saturating_add(6))
    }

    /// The exact decimal: `mantissa / 10^scale`.
    #[must_use]
    pub const fn decimal(self) -> (u64, u8) {
        (self.mantissa, self.scale)
    }

    /// `units x rate`, rounded half to even to whole pico-dollars, once.
    #[must_use]
    pub fn times(self, units: u32) -> Pico {
        // RATE_USD_MAX and 32-bit units keep both branches far inside 128 bits.
        let product = u128::from(self.mantissa) * u128::from(units);
        let pico = if self.scale <= PICO_DIGITS {
            product * POWERS_OF_TEN[usize::from(PICO_DIGITS - self.scale)]
        } else {
            div_half_even(product, POWERS_OF_TEN[usize::from(self.scale - PICO_DIGITS)])
        };
        Pico(pico.cast_signed())
    }
}

const POWERS_OF_TEN: [u128; 13] = {
    let mut powers = [1; 13];
    let mut index = 1;
    while index < powers.len() {
        powers[index] = powers[index - 1] * 10;
        index += 1;
    }
    powers
};

/// Dollars per unit, e.g. `0.00000625`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let per_usd = 10_u128.pow(u32::from(self.scale));
        let mantissa = u128::from(self.mantissa);
        match self.scale {
            0 => write!(f, "{mantissa}"),
            scale => {
                write!(
                    f,
                    "{}.{:0width$}",
                    mantissa / per_usd,
                    mantissa % per_usd,
                    width = usize::from(scale)
                )
            }
        }
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Reads dollars per unit.
impl FromStr for Rate {
    type Err = DecimalError;

    fn from_str(text: &str) -> Result<Self, DecimalError> {
        let (mantissa, scale) = parse_decimal(text)?;
        Self::least(mantissa, scale)
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            (self.mantissa, self.scale).serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (mantissa, scale) = <(u64, u8)>::deserialize(deserializer)?;
        Self::new(mantissa, scale).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    // Case 23: a long tail is kept as a decimal; each event is rounded once, half to even.
    #[test]
    fn case_23_price_strings_with_long_tails() {
        let rate: Rate = "0.00000008333333333333334".parse().unwrap();
        assert_eq!(rate.to_string(), "0.00000008333333333333334");
        let events: Vec<Pico> = [1, 1, 1, 1_000_000].map(|units| rate.times(units)).to_vec();
        assert_eq!(events[0], Pico(83_333));
        assert_eq!(events[3], Pico(83_333_333_333));
        assert_eq!(events.iter().copied().sum::<Pico>(), Pico(3 * 83_333 + 83_333_333_333));
    }

    #[test]
    fn rounds_half_to_even_once() {
        let half_pico: Rate = "5e-13".parse().unwrap();
        assert_eq!([1, 2, 3, 5].map(|units| half_pico.times(units).0), [0, 1, 2, 2]);
    }

    #[test]
    fn reads_the_forms_price_lists_use_and_refuses_others() {
        let rate = |text: &str| text.parse::<Rate>();
        assert_eq!(rate("1e-06"), rate("0.000001"));
        assert_eq!(rate("1.50E+1"), rate("15"));
        assert_eq!(rate(".5"), rate("0.50000000000000000000000000000000000000"));
        assert_eq!(rate("0e99"), Ok(Rate::ZERO));
        assert_eq!(Rate::per_million("6.25"), rate("0.00000625"));
        assert_eq!(rate("-1"), Err(DecimalError::Negative));
        for text in ["", ".", "1.2.3", "0x1", " 1", "1_0", "NaN", "1e", "e5", "1e99999", "+1"] {
            assert_eq!(rate(text), Err(DecimalError::NotDecimal), "{text:?}");
        }
        assert_eq!(rate("0.1234567890123456789012345"), Err(DecimalError::TooManyDigits));
        assert_eq!(rate("1e-25"), Err(DecimalError::TooManyDigits));
        assert_eq!(rate("1000001"), Err(DecimalError::TooLarge));
        assert_eq!(rate("1e30"), Err(DecimalError::TooLarge));
    }

    #[test]
    fn the_largest_rate_times_the_largest_count_stays_exact() {
        let rate = Rate::new(RATE_USD_MAX, 0).unwrap();
        assert_eq!(rate.times(u32::MAX).0, i128::from(u32::MAX) * 1_000_000 * 1_000_000_000_000);
        let longest = Rate::new(u64::MAX, 24).unwrap();
        assert!(longest.times(u32::MAX) > Pico::ZERO);
    }

    proptest! {
        #[test]
        fn text_round_trips(mantissa in 0..u64::MAX, scale in 14..=RATE_SCALE_MAX) {
            let rate = Rate::new(mantissa, scale).unwrap();
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
        }

        #[test]
        fn any_text_gives_an_answer(text in "[-+0-9.eE]{0,40}") {
            let _ = text.parse::<Rate>();
            let _ = text.parse::<Pico>();
        }
    }
}

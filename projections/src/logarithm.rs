//! The binary logarithm, in integers.

/// Bits after the point of [`log2`].
pub(crate) const LOG_BITS: u32 = 32;

/// The binary logarithm of a positive number, with [`LOG_BITS`] after the point, by repeated squaring: each square gives
/// a bit. Of nothing it is that of one.
#[must_use]
pub(crate) fn log2(number: u64) -> u64 {
    let number = number.max(1);
    let whole = number.ilog2();
    let mut mantissa = number << (63 - whole);
    let mut log = u64::from(whole);
    for _ in 0..LOG_BITS {
        // Below 2^65: of two halves one is enough to multiply.
        let square = (u128::from(mantissa) * u128::from(mantissa)) >> 63;
        let bit = square >> 64;
        mantissa = u64::try_from(square >> bit).unwrap_or(u64::MAX);
        log = (log << 1) | u64::from(bit == 1);
    }
    log
}

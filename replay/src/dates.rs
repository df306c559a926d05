//! Instants and days as text, UTC.

use events::ids::Millis;
use projections::days::day_of;

/// The UTC day of an instant, `YYYY-MM-DD`.
#[must_use]
pub fn date(at: Millis) -> String {
    date_of_day(day_of(at))
}

/// A day counted from 1970-01-01 as `YYYY-MM-DD`; beyond the year 9999, its number.
#[must_use]
pub fn date_of_day(day: u32) -> String {
    let epoch = jiff::civil::date(1970, 1, 1);
    let span = jiff::Span::new().try_days(day);
    let date = span.and_then(|span| epoch.checked_add(span));
    date.map_or_else(|_| format!("day {day}"), |date| date.to_string())
}

/// An instant as RFC 3339; beyond the year 9999, its day's number.
#[must_use]
pub fn instant(at: Millis) -> String {
    let timestamp =
        i64::try_from(at).ok().and_then(|millis| jiff::Timestamp::from_millisecond(millis).ok());
    timestamp.map_or_else(|| date(at), |timestamp| timestamp.to_string())
}

/// True for a day written as `YYYY-MM-DD`.
#[must_use]
pub fn is_date(text: &str) -> bool {
    text.parse::<jiff::civil::Date>().is_ok_and(|date| date.to_string() == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_has_one_form() {
        assert!(is_date("2026-07-02"));
        for text in ["2026-7-2", "2026-02-30", "20260702", "2026-07-02T00:00", ""] {
            assert!(!is_date(text), "{text:?}");
        }
    }

    #[test]
    fn any_instant_has_a_text() {
        assert_eq!(instant(1_767_571_200_000), "2026-01-05T00:00:00Z");
        assert_eq!(date(1_767_571_199_999), "2026-01-04");
        assert_eq!(date(u64::MAX), "day 4294967295");
        assert_eq!(instant(u64::MAX), "day 4294967295");
        assert_eq!(date_of_day(2_932_896), "9999-12-31");
        assert_eq!(date_of_day(2_932_897), "day 2932897");
    }
}

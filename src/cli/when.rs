//! Instants as people write them.

use std::str::FromStr;

use events::ids::Millis;

/// A day or an instant, UTC.
#[derive(Clone, Copy, Debug)]
pub(super) struct When(Millis);

impl When {
    /// Milliseconds since 1970.
    pub(super) const fn millis(self) -> Millis {
        self.0
    }
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let whole_day = || format!("{text}T00:00:00Z").parse::<jiff::Timestamp>();
        let instant = text.parse::<jiff::Timestamp>().or_else(|_| whole_day()).map_err(|_| {
            format!("'{text}' is no day or instant; write 2026-01-05 or 2026-01-05T08:00:00Z")
        })?;
        Millis::try_from(instant.as_millisecond()).map(Self).map_err(|_| "before 1970".to_owned())
    }
}

//! The date and time of the system, in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

/// A moment.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// Seconds since 1970.
    seconds: f64,
}

impl Moment {
    /// Now. A clock before 1970 counts as 1970.
    pub fn now() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { seconds: since.as_secs_f64() }
    }

    /// Seconds since 1970.
    pub fn seconds(self) -> f64 {
        self.seconds
    }

    /// `20251116-093005`, for names of files.
    pub fn stamp(self) -> String {
        let ([year, month, day], [hour, minute, second]) = self.parts();
        format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
    }

    /// `2025-11-16T09:30:05Z`.
    pub fn iso(self) -> String {
        let ([year, month, day], [hour, minute, second]) = self.parts();
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }

    fn parts(self) -> ([u64; 3], [u64; 3]) {
        let seconds = self.seconds as u64;
        let of_day = seconds % 86_400;
        (date(seconds / 86_400), [of_day / 3600, of_day / 60 % 60, of_day % 60])
    }
}

/// Year, month and day of a day since 1970. Counts from 1 March 0000, so that the leap day is the last of its year.
fn date(days: u64) -> [u64; 3] {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let of_month = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    [400 * era + year + u64::from(month <= 2), month, of_month]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against `date -u -d @SECONDS`.
    #[test]
    fn seconds_become_dates() {
        for (seconds, iso, stamp) in [
            (0.0, "1970-01-01T00:00:00Z", "19700101-000000"),
            (951_782_399.9, "2000-02-28T23:59:59Z", "20000228-235959"),
            (951_782_400.0, "2000-02-29T00:00:00Z", "20000229-000000"),
            (1_763_285_405.0, "2025-11-16T09:30:05Z", "20251116-093005"),
            (4_107_542_400.0, "2100-03-01T00:00:00Z", "21000301-000000"),
        ] {
            let moment = Moment { seconds };
            assert_eq!((moment.iso().as_str(), moment.stamp().as_str()), (iso, stamp));
        }
    }
}

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
        let since = system_time().duration_since(UNIX_EPOCH).unwrap_or_default();
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

/// The clock of the system, which may be set while a run goes on; only dates come from it. Times that are measured come
/// from a `Stopwatch`.
fn system_time() -> SystemTime {
    #[cfg(test)]
    return SystemTime::now() - tests::set_back();
    #[cfg(not(test))]
    SystemTime::now()
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
    use crate::folder::{Old, RunFolder};
    use crate::journal::Board;
    use crate::progress::Progress;
    use crate::rhythm::Rhythm;
    use crate::session::{Asked, Keep, Session};
    use iglu::config::{Auto, Config};
    use iglu::run::Trials;
    use iglu_report::{Run, names, tensorboard};
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    /// By how many seconds the clock is set back.
    static SET_BACK: AtomicU64 = AtomicU64::new(0);

    pub(super) fn set_back() -> Duration {
        Duration::from_secs(SET_BACK.load(Ordering::Relaxed))
    }

    const DAY: u64 = 86_400;

    /// Files for TensorBoard in the order in which it reads them.
    fn boards(folder: &Path) -> Vec<String> {
        let names = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut boards: Vec<String> = names.filter(|name| name.starts_with(tensorboard::NAME)).collect();
        boards.sort();
        boards
    }

    /// Case 72 of the matrix of bad inputs: a run, one that goes on after the clock was set back by a day, and one that
    /// begins in the year 1969.
    #[test]
    fn a_clock_that_is_set_back_changes_nothing_but_dates() {
        let base = std::env::temp_dir().join(format!("iglu-cli-{}-clock", std::process::id()));
        let _ = fs::remove_dir_all(&base);
        let data = iglu_data::load("synth:village@0.1", &iglu_data::LoadOptions::default()).unwrap();
        let mut config = Config::default();
        (config.network.hidden, config.train.epochs) = (Auto::Set(8), Auto::Set(4));
        let keep = Keep { board: Board::On, rhythm: Rhythm::Epochs(1) };
        let session = Session::new(&data, "synth:village@0.1", keep, Trials::default());
        let train = |folder: &RunFolder, resume: bool| {
            let from = if resume { folder.checkpoint().unwrap() } else { None };
            assert_eq!(from.is_some(), resume);
            let asked = Asked { data: (&data).into(), config: &config, folder, from, load: 0.0 };
            session.run(asked, &mut Progress::silent()).unwrap();
            Run::read(folder.path()).unwrap()
        };
        let folder = RunFolder::given(&base.join("a"), Old::Refuse).unwrap();
        let model = |folder: &RunFolder| fs::read(folder.model()).unwrap();
        let whole = train(&folder, false);
        let (best, first_board) = (model(&folder), boards(folder.path()));
        fs::remove_file(folder.path().join(names::SUMMARY)).unwrap();

        SET_BACK.store(DAY, Ordering::Relaxed);
        let earlier = Moment::now();
        let resumed = train(&folder, true);
        assert!(earlier.iso() < whole.origin.time, "the clock goes backwards");
        assert!(model(&folder) == best, "another model");
        assert_eq!(resumed.origin.time, whole.origin.time);
        let summary = fs::read_to_string(folder.path().join(names::SUMMARY)).unwrap();
        assert!(summary.contains(&format!("\"time\": \"{}\"", whole.origin.time)), "{summary}");
        let mut last = 0.0;
        for epoch in &resumed.epochs {
            let total = epoch.seconds.total;
            assert!(total > last && total < 3600.0, "{total} seconds after {last}");
            last = total;
        }
        let both = boards(folder.path());
        assert_eq!(
            (both.len(), &both[0]),
            (2, &first_board[0]),
            "the file of the part that follows comes last"
        );

        let runs: PathBuf = base.join("runs");
        let now = RunFolder::fresh_in(&runs, "v", earlier).unwrap();
        let again = RunFolder::fresh_in(&runs, "v", earlier).unwrap();
        assert_ne!(now.path(), again.path());
        SET_BACK.store(200 * 366 * DAY, Ordering::Relaxed);
        let old = RunFolder::fresh_in(&runs, "v", Moment::now()).unwrap();
        assert!(old.path().ends_with("v-19700101-000000"), "{}", old.path().display());
        assert_eq!(train(&old, false).origin.time, "1970-01-01T00:00:00Z");
        assert!(model(&old) == best, "another model");
        SET_BACK.store(0, Ordering::Relaxed);
        fs::remove_dir_all(&base).unwrap();
    }

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

//! How often a run writes a checkpoint.

use iglu::observe::Stopwatch;
use std::str::FromStr;

/// What `--checkpoint` says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rhythm {
    /// After every so many epochs.
    Epochs(usize),
    /// At the end of an epoch, when this many seconds have passed.
    Seconds(f64),
    /// Only when the run is interrupted.
    Never,
}

impl FromStr for Rhythm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}`; expected a number of epochs, of seconds (`30s`), or never");
        let rhythm = match text.strip_suffix('s') {
            None if text == "never" => Self::Never,
            None => Self::Epochs(text.parse().map_err(|_| wrong())?),
            Some(seconds) => Self::Seconds(seconds.parse().map_err(|_| wrong())?),
        };
        let good = match rhythm {
            Self::Epochs(n) => n > 0,
            Self::Seconds(s) => s >= 0.0 && s.is_finite(),
            Self::Never => true,
        };
        if good { Ok(rhythm) } else { Err(wrong()) }
    }
}

/// A rhythm that goes on.
#[derive(Debug)]
pub struct Beat {
    rhythm: Rhythm,
    epoch: usize,
    watch: Stopwatch,
}

impl Beat {
    /// Begins after some epoch.
    pub fn new(rhythm: Rhythm, epoch: usize) -> Self {
        Self { rhythm, epoch, watch: Stopwatch::new() }
    }

    /// Whether something is due after an epoch; counts from there, if so.
    pub fn due(&mut self, epoch: usize) -> bool {
        let due = match self.rhythm {
            Rhythm::Epochs(n) => epoch >= self.epoch + n,
            Rhythm::Seconds(s) => self.watch.seconds() >= s,
            Rhythm::Never => false,
        };
        if due {
            *self = Self::new(self.rhythm, epoch);
        }
        due
    }

    /// The epoch of the last one.
    pub fn last(&self) -> usize {
        self.epoch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rhythms_are_epochs_seconds_or_never() {
        let check = |text: &str, expect: Rhythm| assert_eq!(text.parse(), Ok(expect));
        check("1", Rhythm::Epochs(1));
        check("0.5s", Rhythm::Seconds(0.5));
        check("never", Rhythm::Never);
        for bad in ["0", "-1", "", "s", "-1s", "infs", "often"] {
            assert!(bad.parse::<Rhythm>().unwrap_err().contains("expected a number of epochs"), "{bad}");
        }
    }

    #[test]
    fn epochs_are_counted_from_the_last_one() {
        let mut beat = Beat::new(Rhythm::Epochs(3), 2);
        assert_eq!((3..12).filter(|&e| beat.due(e)).collect::<Vec<_>>(), [5, 8, 11]);
        // An epoch that cannot be stopped at is made up for.
        assert!(!beat.due(13) && beat.due(15) && beat.last() == 15);
        assert!(Beat::new(Rhythm::Seconds(0.0), 0).due(1) && !Beat::new(Rhythm::Never, 0).due(9));
    }
}

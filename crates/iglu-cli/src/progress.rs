//! Progress on stderr: one bar on a terminal, one plain line per evaluation elsewhere.

use crate::{text, trials};
use iglu::observe::{Control, Event, HistoryPoint, Observer, Stopwatch};
use iglu_report::numbers::duration;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use serde_json::{Map, Value};
use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How progress is shown.
#[derive(Debug)]
enum Style {
    Terminal(ProgressBar),
    Log,
    Silent,
}

/// Listens to a run and shows how far it is.
#[derive(Debug)]
pub struct Progress {
    style: Style,
    best: Option<(usize, f64)>,
    last: Option<f64>,
    /// Settings of the last trial.
    tried: Option<Map<String, Value>>,
    pace: Arc<Mutex<Pace>>,
    watch: Stopwatch,
    late: Option<Late>,
}

/// What `work` gives; people are told that `source` is being read, if that takes long.
pub fn while_reading<T>(source: &str, work: impl FnOnce() -> T) -> T {
    while_doing(&format!("reading {source}"), work)
}

/// What `work` gives; people are told that `path` is being written, if that takes long.
pub fn while_writing<T>(path: &Path, work: impl FnOnce() -> T) -> T {
    while_doing(&format!("writing {}", path.display()), work)
}

fn while_doing<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let mut progress = Progress::on_stderr();
    progress.wait(what);
    let result = work();
    progress.clear();
    result
}

/// A line for log files about something that takes long: written after [`Late::AFTER`], unless this is dropped before.
#[derive(Debug)]
struct Late {
    _done: Sender<()>,
}

impl Late {
    const AFTER: Duration = Duration::from_secs(2);

    fn new(what: &str) -> Self {
        let (done, waiting) = mpsc::channel();
        let line = format!("{what} ...");
        std::thread::spawn(move || {
            if waiting.recv_timeout(Self::AFTER) == Err(RecvTimeoutError::Timeout) {
                text::note(&line);
            }
        });
        Self { _done: done }
    }
}

impl Progress {
    /// Progress as stderr can show it.
    pub fn on_stderr() -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let terminal = io::stderr().is_terminal() && !dumb;
        Self::new(if terminal { Style::Terminal(ProgressBar::no_length()) } else { Style::Log })
    }

    /// No progress.
    pub fn silent() -> Self {
        Self::new(Style::Silent)
    }

    fn new(style: Style) -> Self {
        let pace = Arc::new(Mutex::new(Pace::default()));
        Self { style, best: None, last: None, tried: None, pace, watch: Stopwatch::new(), late: None }
    }

    /// Says what is done before the first epoch: on a terminal at once, in a log if it takes long. Forgets the run before.
    pub fn wait(&mut self, what: &str) {
        self.clear();
        (self.best, self.last, self.tried) = (None, None, None);
        *self.pace() = Pace::default();
        match &mut self.style {
            Style::Terminal(bar) => {
                *bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
                bar.set_style(style("{spinner} {wide_msg} {elapsed}").tick_chars("-\\|/ "));
                bar.set_message(what.to_string());
                bar.enable_steady_tick(Duration::from_millis(200));
            }
            Style::Log => self.late = Some(Late::new(what)),
            Style::Silent => {}
        }
    }

    /// Says which of several runs begins.
    pub fn begin(&mut self, run: &str) {
        self.clear();
        if !matches!(self.style, Style::Silent) {
            text::note(run);
        }
        self.wait("starting");
    }

    /// Takes over what an earlier part of the run has reached.
    pub fn remember(&mut self, best: &HistoryPoint) {
        self.take(best, true);
    }

    /// Tells something, above the bar if there is one.
    pub fn say(&self, what: &str) {
        match &self.style {
            Style::Terminal(bar) => bar.suspend(|| text::note(what)),
            Style::Log => text::note(what),
            Style::Silent => {}
        }
    }

    /// Leaves the last line as it is, so that what follows starts on its own.
    pub fn finish(&self) {
        if let Style::Terminal(bar) = &self.style {
            bar.abandon();
        }
    }

    /// Takes away what was shown while waiting; the bar of a finished run stays.
    fn clear(&mut self) {
        self.late = None;
        if let Style::Terminal(bar) = &self.style
            && !bar.is_finished()
        {
            bar.finish_and_clear();
        }
    }

    fn pace(&self) -> std::sync::MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&mut self, scores: &HistoryPoint, best: bool) {
        self.last = scores.val;
        if let (true, Some(val)) = (best, scores.val) {
            self.best = Some((scores.epoch, val));
        }
    }

    /// Loss and scores.
    fn numbers(&self, loss: f64) -> String {
        let parts = [
            Some(format!("loss {loss:.4}")),
            self.last.map(|val| format!("val {val:.4}")),
            self.best.map(|(epoch, val)| format!("best {val:.4} (epoch {epoch})")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("  ")
    }

    /// A line that can stand alone.
    fn line(&self, epoch: usize, epochs: usize, loss: f64) -> String {
        let width = epochs.to_string().len();
        let left = self.pace().left().map_or(String::new(), |s| format!("  left {}", duration(s)));
        format!("epoch {epoch:>width$}/{epochs}  {}{left}", self.numbers(loss))
    }

    /// Turns the spinner of the start into the bar of the epochs.
    fn show_bar(&self, bar: &ProgressBar, epochs: usize) {
        let (pace, watch) = (Arc::clone(&self.pace), self.watch);
        let left = move |_: &ProgressState, out: &mut dyn Write| {
            let pace = pace.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(seconds) = pace.left_at(watch.seconds()) {
                // Writing to the bar's own text cannot fail.
                let _ = write!(out, "left {}", duration(seconds));
            }
        };
        bar.set_length(epochs as u64);
        bar.set_style(
            style("epoch {pos}/{len} [{bar:12}] {wide_msg} {left}")
                .with_key("left", left)
                .progress_chars("=> "),
        );
    }

    fn epoch(&mut self, epoch: usize, epochs: usize, loss: f64, evaluated: bool, started: bool) {
        self.late = None;
        let now = self.watch.seconds();
        if !started {
            self.pace().mark(epoch, epochs, now);
        } else if epoch > 0 {
            *self.pace() = Pace::begin(epoch, epochs, now);
        }
        match &self.style {
            Style::Terminal(bar) => {
                if bar.length().is_none() {
                    self.show_bar(bar, epochs);
                }
                bar.set_message(self.numbers(loss));
                bar.set_position(epoch as u64);
            }
            Style::Log if evaluated => text::note(&self.line(epoch, epochs, loss)),
            Style::Log | Style::Silent => {}
        }
    }
}

/// A style whose template is ours and so is right.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// How fast epochs follow each other, evaluations included. The first one is where counting begins: what comes before
/// it (reading, preparing, start) does not repeat.
#[derive(Debug, Clone, Copy, Default)]
struct Pace {
    epochs: usize,
    first: Option<(usize, f64)>,
    last: (usize, f64),
}

impl Pace {
    /// An epoch to count from.
    fn begin(epoch: usize, epochs: usize, seconds: f64) -> Self {
        Self { epochs, first: Some((epoch, seconds)), last: (epoch, seconds) }
    }

    fn mark(&mut self, epoch: usize, epochs: usize, seconds: f64) {
        self.epochs = epochs;
        self.first = self.first.or(Some((epoch, seconds)));
        self.last = (epoch, seconds);
    }

    /// Seconds to go when the last epoch ended; nothing at the end, or before two epochs are done.
    fn left(&self) -> Option<f64> {
        let (first, begin) = self.first?;
        let (last, end) = self.last;
        let rest = self.epochs.checked_sub(last).filter(|&r| r > 0)?;
        let done = last.checked_sub(first).filter(|&d| d > 0)?;
        Some((end - begin) / done as f64 * rest as f64)
    }

    /// Seconds to go at some later moment.
    fn left_at(&self, now: f64) -> Option<f64> {
        self.left().map(|left| (left - (now - self.last.1)).max(0.0))
    }
}

impl Observer for Progress {
    fn event(&mut self, event: &Event) -> Control {
        if let Event::RolledBack { epoch, why, rate_factor } = event {
            let from = if *epoch == 0 { "from the start".into() } else { format!("from epoch {epoch}") };
            self.say(&format!("diverged ({why}): again {from} at {rate_factor} of the learning rate"));
        }
        if let Event::Tried { config, scores, .. } = event
            && let (Ok(settings), Some(val)) = (trials::values(config), scores.val)
        {
            let what = match scores.epoch {
                1 => format!("an epoch: {}", trials::changed(&settings, self.tried.as_ref())),
                _ => "another epoch:".to_string(),
            };
            self.say(&format!("tried for {what}  val {val:.4}"));
            self.tried = Some(settings);
        }
        if let &Event::Epoch { epoch, epochs, loss, scores, best, seconds, .. } = event {
            if let Some(scores) = &scores {
                self.take(scores, best);
            }
            // What was part of the start is told in one go.
            self.epoch(epoch, epochs, loss, scores.is_some(), seconds.train <= seconds.start);
        }
        Control::Continue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores(epoch: usize, val: Option<f64>) -> HistoryPoint {
        HistoryPoint { epoch, train_seconds: 0.0, loss: 0.5, val, test: None }
    }

    #[test]
    fn the_line_tells_epoch_scores_and_time_left() {
        let mut progress = Progress::silent();
        let at = |progress: &Progress, epoch: usize| {
            // A start of a minute, then two seconds for each epoch.
            progress.pace().mark(epoch, 10, 60.0 + 2.0 * epoch as f64);
            progress.line(epoch, 10, 0.5)
        };
        assert_eq!(at(&progress, 1), "epoch  1/10  loss 0.5000");
        progress.take(&scores(2, Some(0.75)), true);
        progress.take(&scores(3, Some(0.7)), false);
        let expect = "epoch  3/10  loss 0.5000  val 0.7000  best 0.7500 (epoch 2)  left 14.0 s";
        assert_eq!(at(&progress, 3), expect);
        assert_eq!(progress.pace().left_at(60.0 + 6.0 + 1.5), Some(12.5));
        assert_eq!(progress.pace().left_at(200.0), Some(0.0));
        assert_eq!(at(&progress, 10), "epoch 10/10  loss 0.5000  val 0.7000  best 0.7500 (epoch 2)");
    }

    #[test]
    fn data_without_validation_nodes_shows_no_score() {
        let mut progress = Progress::silent();
        progress.take(&scores(1, None), true);
        assert_eq!(progress.line(1, 1, f64::NAN), "epoch 1/1  loss NaN");
    }

    #[test]
    fn another_run_begins_anew() {
        let mut progress = Progress::silent();
        progress.take(&scores(1, Some(0.5)), true);
        progress.pace().mark(1, 3, 1.0);
        progress.pace().mark(2, 3, 2.0);
        progress.begin("seed 1");
        progress.pace().mark(1, 3, 9.0);
        assert_eq!(progress.line(1, 3, 0.25), "epoch 1/3  loss 0.2500");
    }
}

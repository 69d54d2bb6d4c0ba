//! Progress on stderr: one line that is rewritten on a terminal, one line per evaluation elsewhere.

use crate::text;
use iglu::observe::{Control, Event, HistoryPoint, Observer};
use std::io::{self, IsTerminal, Write};

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Terminal,
    Log,
    Silent,
}

/// Listens to a run and shows how far it is.
#[derive(Debug)]
pub struct Progress {
    style: Style,
    best: Option<(usize, f64)>,
    last: Option<f64>,
    shown: bool,
}

impl Progress {
    /// Progress as stderr can show it.
    pub fn on_stderr() -> Self {
        Self::new(if io::stderr().is_terminal() { Style::Terminal } else { Style::Log })
    }

    /// No progress.
    pub fn silent() -> Self {
        Self::new(Style::Silent)
    }

    fn new(style: Style) -> Self {
        Self { style, best: None, last: None, shown: false }
    }

    /// Leaves the line, so that what follows starts on its own.
    pub fn finish(&self) {
        if self.style == Style::Terminal && self.shown {
            text::note("");
        }
    }

    fn take(&mut self, scores: &HistoryPoint, best: bool) {
        self.last = scores.val;
        if let (true, Some(val)) = (best, scores.val) {
            self.best = Some((scores.epoch, val));
        }
    }

    fn line(&self, at: At) -> String {
        let width = at.epochs.to_string().len();
        let parts = [
            Some(format!("epoch {:>width$}/{}", at.epoch, at.epochs)),
            Some(format!("loss {:.4}", at.loss)),
            self.last.map(|val| format!("val {val:.4}")),
            self.best.map(|(epoch, val)| format!("best {val:.4} (epoch {epoch})")),
            at.left().map(|seconds| format!("left {}", text::duration(seconds))),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("  ")
    }

    fn show(&mut self, line: &str, evaluated: bool) {
        self.shown = true;
        match self.style {
            Style::Terminal => rewrite(line),
            Style::Log if evaluated => text::note(line),
            Style::Log | Style::Silent => {}
        }
    }
}

/// How far a run is.
#[derive(Debug, Clone, Copy)]
struct At {
    epoch: usize,
    epochs: usize,
    loss: f64,
    seconds: f64,
}

impl At {
    /// Seconds to go if the rest takes as long as what is done; nothing at the end.
    fn left(self) -> Option<f64> {
        let rest = self.epochs.checked_sub(self.epoch).filter(|&r| r > 0)?;
        Some(self.seconds / self.epoch.max(1) as f64 * rest as f64)
    }
}

/// Writes over the current line of the terminal and clears what is left of the old one.
fn rewrite(line: &str) {
    let mut err = io::stderr().lock();
    let _ = write!(err, "\r{line}\x1b[K").and_then(|()| err.flush());
}

impl Observer for Progress {
    fn event(&mut self, event: &Event) -> Control {
        if let &Event::Epoch { epoch, epochs, loss, scores, best, seconds } = event {
            if let Some(scores) = &scores {
                self.take(scores, best);
            }
            let line = self.line(At { epoch, epochs, loss, seconds });
            self.show(&line, scores.is_some());
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
        let at = |epoch| At { epoch, epochs: 10, loss: 0.5, seconds: 2.0 * epoch as f64 };
        assert_eq!(progress.line(at(1)), "epoch  1/10  loss 0.5000  left 18.0 s");
        progress.take(&scores(2, Some(0.75)), true);
        progress.take(&scores(3, Some(0.7)), false);
        let expect = "epoch  3/10  loss 0.5000  val 0.7000  best 0.7500 (epoch 2)  left 14.0 s";
        assert_eq!(progress.line(at(3)), expect);
        assert_eq!(progress.line(at(10)), "epoch 10/10  loss 0.5000  val 0.7000  best 0.7500 (epoch 2)");
    }

    #[test]
    fn data_without_validation_nodes_shows_no_score() {
        let mut progress = Progress::silent();
        progress.take(&scores(1, None), true);
        let line = progress.line(At { epoch: 1, epochs: 1, loss: f64::NAN, seconds: 0.0 });
        assert_eq!(line, "epoch 1/1  loss NaN");
    }
}

//! The warm start: the same network with `A = I`, trained on the training rows of `X^0` for a few epochs.
//!
//! Why: in the first refresh the lazy layers would follow one frozen alpha that came through random upper layers;
//! that kills units for good. The start needs no sparse product at all.

use super::batches;
use super::engine::Engine;
use super::objective::Task;
use super::passes::update;
use crate::config::Start;
use crate::network::Network;
use crate::program::{Call, Dropping, Norms, RowSet};
use crate::{Error, Real, Result};

/// Learning rate of the start.
const RATE: f64 = 0.01;

/// Epochs in a row that must be judged clearly worse than the best one: a single one may be an accident.
const FALLS: usize = 2;

/// What somebody says of a network that is being started.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// Its score: more is better.
    pub score: f64,
    /// By how much a score must be below another for that not to be chance.
    pub slack: f64,
}

/// Judges a network that is being started, after every epoch.
pub type Judge<'j> = dyn FnMut(&Network) -> Option<Verdict> + 'j;

/// How a start went.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StartReport {
    /// Training loss of the last epoch that counts.
    pub loss: f64,
    /// Epochs that count.
    pub epochs: usize,
}

/// The best network of a start so far.
struct Peak {
    score: f64,
    report: StartReport,
    network: Network,
}

impl Engine<'_> {
    /// Runs the start, or nothing where there is none. Where the judge's score stays clearly below its best, the start learns
    /// its rows by heart: it ends, and the network with the best score is kept.
    pub fn warm_start(&mut self, judge: &mut Judge<'_>) -> Result<Option<StartReport>> {
        let t = &self.config.train;
        let epochs = if t.start == Start::Random { 0 } else { t.start_epochs };
        if epochs == 0 {
            return Ok(None);
        }
        let (rate, size) = (t.start_dropout, batches::size(t.batch, self.rows.len()));
        let program = self.network.chain(1, true);
        let mut optimisers = self.fresh_optimisers();
        let Self { caches, side, network, lanes, loss, rows, key, interrupt, rate_factor, .. } = self;
        let job = caches.job(&program, side);
        let mut report = StartReport { loss: 0.0, epochs: 0 };
        let (mut peak, mut falls): (Option<Peak>, usize) = (None, 0);
        for epoch in 0..epochs {
            let key = key.with("start").at(epoch as u64);
            let mut shuffled = rows.clone();
            key.with("batch").shuffle(&mut shuffled);
            let mut last = 0.0;
            for (b, batch) in shuffled.chunks(size).enumerate() {
                let params = network.params_from(1);
                let dropping = Dropping::Rate(key.with("dropout").at(b as u64), rate);
                let call = Call { params: &params, norms: Norms::Batch, dropping };
                let task = Task { loss, scale: rows.len() as Real / batch.len() as Real, only: None };
                last += job.gradient(&call, RowSet::List(batch), &task, lanes);
                interrupt.check()?;
                update(network, &mut optimisers, 1, *rate_factor * RATE, lanes.gradient());
            }
            if !last.is_finite() {
                let place = format!("start, epoch {}", epoch + 1);
                return Err(Error::diverged(
                    place,
                    format!("training loss is {last}"),
                    "set train.start to random",
                ));
            }
            report = StartReport { loss: last, epochs: epoch + 1 };
            let Some(Verdict { score, slack }) = judge(network) else { continue };
            let Some(best) = peak.as_ref().filter(|best| score <= best.score) else {
                peak = Some(Peak { score, report, network: network.clone() });
                falls = 0;
                continue;
            };
            falls = if score < best.score - slack { falls + 1 } else { 0 };
            if falls == FALLS {
                network.take_params(&best.network);
                report = best.report;
                break;
            }
        }
        drop(job);
        (1..=self.network.depth()).for_each(|k| self.caches.mark_trained(k));
        Ok(Some(report))
    }
}

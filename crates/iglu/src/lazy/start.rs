//! The warm start: the same network with `A = I`, trained on the training rows of `X^0` for a few epochs.
//!
//! Why: in the first refresh the lazy layers would follow one frozen alpha that came through random upper layers;
//! that kills units for good. The start needs no sparse product at all.

use super::batches;
use super::engine::Engine;
use super::objective::Task;
use super::passes::update;
use crate::config::Start;
use crate::program::{Call, Dropping, Norms, RowSet};
use crate::{Error, Real, Result};

/// Learning rate of the start.
const RATE: f64 = 0.01;

impl Engine<'_> {
    /// Runs the start; returns its last training loss, or nothing where there is none.
    pub fn warm_start(&mut self) -> Result<Option<f64>> {
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
        let mut last = 0.0;
        for epoch in 0..epochs {
            let key = key.with("start").at(epoch as u64);
            let mut shuffled = rows.clone();
            key.with("batch").shuffle(&mut shuffled);
            last = 0.0;
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
        }
        drop(job);
        (1..=self.network.depth()).for_each(|k| self.caches.mark_trained(k));
        Ok(Some(last))
    }
}

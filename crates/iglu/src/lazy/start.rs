//! The warm start: the same network with `A = I`, trained on the training rows of `X^0` for a few epochs.
//!
//! Why: in the first refresh the lazy layers would follow one frozen alpha that came through random upper layers;
//! that kills units for good. The start needs no sparse product at all.

use super::batches;
use super::engine::Engine;
use super::objective::Task;
use super::passes::update;
use crate::config::{Order, Start};
use crate::optim::Optimiser;
use crate::program::{Call, Dropping, Job, Norms, RowSet};
use crate::{Error, Real, Result};

/// Learning rate of the start.
const RATE: f64 = 0.01;

impl Engine<'_> {
    /// Runs the start; returns its last training loss, or nothing where there is none.
    pub(super) fn warm_start(&mut self) -> Result<Option<f64>> {
        let t = &self.config.train;
        let epochs = if t.start == Start::Random { 0 } else { t.start_epochs };
        if epochs == 0 {
            return Ok(None);
        }
        let (rate, size) = (t.start_dropout, batches::size(t.batch, self.rows.len()));
        let program = self.network.chain(1, true);
        let mut optimisers = self.start_optimisers();
        let mut loss = 0.0;
        for epoch in 0..epochs {
            let key = self.key.with("start").at(epoch as u64);
            let mut rows = self.rows.clone();
            key.with("batch").shuffle(&mut rows);
            loss = 0.0;
            for (b, batch) in rows.chunks(size).enumerate() {
                let inputs = vec![self.side.features(); program.inputs().count()];
                let job = Job::new(&program, inputs);
                let params = self.network.params_from(1);
                let dropping = Dropping::Rate(key.with("dropout").at(b as u64), rate);
                let call = Call { params: &params, norms: Norms::Batch, dropping };
                let scale = self.rows.len() as Real / batch.len() as Real;
                let task = Task { loss: &self.loss, scale };
                loss += job.gradient(&call, RowSet::List(batch), &task, &mut self.lanes);
                update(&mut self.network, &mut optimisers, 1, RATE, self.lanes.gradient());
            }
            if !loss.is_finite() {
                let place = format!("start, epoch {}", epoch + 1);
                return Err(Error::diverged(place, format!("training loss is {loss}"), "set train.start to random"));
            }
        }
        if self.config.train.order == Order::Exact {
            self.lanes = crate::program::Lanes::default();
        }
        (1..=self.network.depth()).for_each(|k| self.caches.mark_trained(k));
        Ok(Some(loss))
    }

    fn start_optimisers(&self) -> Vec<Optimiser> {
        self.fresh_optimisers()
    }
}

//! Training passes: one lazy layer, the tail, or everything exactly.

use super::batches::{self, PassOf};
use super::engine::{Engine, Moment};
use super::objective::{Centre, Lazy, Task};
use super::refresh::Pull;
use crate::config::{GradientScale, LazyDropout};
use crate::kernels::rowwise::Mask;
use crate::network::{Network, Sight};
use crate::optim::{Mean, Optimiser};
use crate::program::{Call, Dropping, Lanes, Norms, RowSet};
use crate::rng::Key;
use crate::{Mat, Real, Result, Table};

/// Learning rate of the exact epochs at the end, as a share of `optim.lr`.
pub const POLISH_RATE: f64 = 0.1;

/// One optimiser step of layers `from..` from gradients in the same order.
pub(super) fn update(
    network: &mut Network,
    optimisers: &mut [Optimiser],
    from: usize,
    lr: f64,
    grads: &mut [Mat],
) {
    let mut rest = grads;
    let mut k = from;
    while !rest.is_empty() {
        let layer = network.at_mut(k);
        let (mine, others) = rest.split_at_mut(layer.params.len());
        rest = others;
        let decays: Vec<bool> = layer.program.params().iter().map(|p| p.decay).collect();
        let mut params: Vec<&mut [Real]> = layer.params.iter_mut().map(Mat::data_mut).collect();
        let mut grads: Vec<&mut [Real]> = mine.iter_mut().map(Mat::data_mut).collect();
        optimisers[k].step(lr, &mut params, &mut grads, &decays);
        k += 1;
    }
}

/// Stream of the dropout masks of one step of layer k.
fn dropout_key(run: Key, k: usize, step: u64) -> Key {
    run.with("dropout").at(k as u64).at(step)
}

impl Engine<'_> {
    /// All batches of a visit: `passes` passes, each cut to the present part of the epoch.
    fn visit_batches(&mut self, k: usize, passes: usize, moment: Moment, tail: bool) -> Vec<Vec<u32>> {
        let rows = if tail { &self.rows } else { &self.reach[k] };
        let t = &self.config.train;
        let batch = if tail { super::tail_batch(t) } else { t.batch };
        let size = batches::size(batch, rows.len());
        let mut all = Vec::new();
        for _ in 0..passes {
            // All parts of an epoch cut the same pass, so that together they see every row once.
            let pass = self.pass_clock[k];
            let of =
                PassOf { rows, size, key: self.key.with("batch").at(k as u64), pass, serial: self.serial };
            let drawn = self.batches.draw(&of);
            all.extend_from_slice(batches::part(&drawn, moment.part, moment.parts));
            if moment.part + 1 == moment.parts {
                self.pass_clock[k] += 1;
                self.serial += 1;
            }
        }
        all
    }

    /// `T_k`: mini-batches over layer k with frozen `alpha^k`.
    pub(super) fn train(&mut self, k: usize, moment: Moment) -> Result<()> {
        if self.network.at(k).params.is_empty() {
            return Ok(());
        }
        self.caches.ensure_z(k, &self.network, &self.side, &self.scratch);
        if self.control.active() {
            self.centre(k);
        }
        let visit = self.visit_batches(k, super::passes(&self.config), moment, false);
        let count = self.reach[k].len();
        let (scaling, whole) = (self.config.train.gradient, self.loss.denominator());
        let weight = (self.control.lambda / count.max(1) as f64) as Real;
        let rates: Vec<f64> =
            (0..visit.len()).map(|b| self.rate(moment, b as f64 / visit.len() as f64)).collect();
        let (alpha_rate, lazy_dropout) =
            (self.config.train.alpha_dropout, self.config.train.lazy_dropout.or(LazyDropout::Off));
        let Self { programs, caches, side, network, optimisers, lanes, control, key, interrupt, .. } = self;
        let job = caches.job(&programs[k], side);
        let matched = lazy_dropout == LazyDropout::Matched && control.active();
        let before = if matched { network.at(k).params.clone() } else { Vec::new() };
        let mut masked = Mat::default();
        let (mut value, mut stopped) = (0.0, Ok(()));
        for (batch, lr) in visit.iter().zip(rates) {
            let key = dropout_key(*key, k, optimisers[k].clock());
            let dropping =
                if lazy_dropout == LazyDropout::Off { Dropping::Off } else { Dropping::AsBuilt(key) };
            if matched {
                masked = Mat::zeros(batch.len(), programs[k].width());
                let params: Vec<&Mat> = before.iter().collect();
                job.forward(
                    &Call { params: &params, norms: Norms::Batch, dropping },
                    RowSet::List(batch),
                    &mut masked,
                );
            }
            let centre = if matched { Centre::ByPosition(&masked) } else { Centre::ByNode(&caches.x[k]) };
            let objective = Lazy {
                alpha: &caches.alpha[k],
                scale: match scaling {
                    GradientScale::Unbiased => count as Real / batch.len() as Real,
                    GradientScale::Released => 1.0,
                    GradientScale::Sum => whole as Real,
                },
                proximal: control.active().then_some((weight, centre)),
                mask: (alpha_rate > 0.0).then(|| Mask { key: key.with("alpha").u64(0), rate: alpha_rate }),
            };
            let params = network.at(k).param_refs();
            let call = Call { params: &params, norms: Norms::Batch, dropping };
            value = job.gradient(&call, RowSet::List(batch), &objective, lanes);
            stopped = interrupt.check();
            if !value.is_finite() || stopped.is_err() {
                break;
            }
            update(network, optimisers, k, lr, lanes.gradient());
        }
        drop(job);
        stopped?;
        self.check_finite(value, moment, k, "surrogate loss")?;
        self.caches.alpha_age[k] += visit.len() as u64;
        self.caches.mark_trained(k);
        Ok(())
    }

    /// Makes `X^k` the centre `c = f_k(Z; E_old)` of the visit.
    fn centre(&mut self, k: usize) {
        if !self.caches.consistent(k, &self.network) {
            self.make_x(k, Dropping::Off);
        }
        self.control.centre(k);
    }

    /// `Tail(k)`: layers k..L together on the fresh mini-batch loss.
    pub(super) fn train_tail(&mut self, k: usize, moment: Moment) -> Result<()> {
        self.caches.ensure_z(k, &self.network, &self.side, &self.scratch);
        let passes = self.config.train.tail_passes.or(super::passes(&self.config));
        let visit = self.visit_batches(k, passes, moment, true);
        let loss = self.tail_batches(k, &visit, |e, share| e.rate(moment, share))?;
        self.last_loss = loss / passes as f64 * moment.parts as f64;
        self.check_finite(loss, moment, k, "training loss")
    }

    /// Passes of the tail between a warm start and the first alpha.
    pub(super) fn first_tail(&mut self, passes: usize) -> Result<()> {
        let k = self.tail_from();
        let moment = Moment { epoch: 0, epochs: 1, part: 0, parts: 1 };
        self.caches.ensure_z(k, &self.network, &self.side, &self.scratch);
        let visit = self.visit_batches(k, passes, moment, true);
        let rate = self.rate_factor * self.config.optim.lr;
        let loss = self.tail_batches(k, &visit, |_, _| rate)?;
        self.check_finite(loss, moment, k, "training loss")
    }

    fn tail_batches(
        &mut self,
        k: usize,
        visit: &[Vec<u32>],
        rate: impl Fn(&Self, f64) -> f64,
    ) -> Result<f64> {
        let rates: Vec<f64> = (0..visit.len()).map(|b| rate(self, b as f64 / visit.len() as f64)).collect();
        let unbiased = self.config.train.gradient == GradientScale::Unbiased;
        let unaveraged =
            visit.len() - (super::average(&self.config, self.rows.len()) * visit.len() as f64) as usize;
        let mut mean = Mean::default();
        let Self { tail, caches, side, network, optimisers, lanes, loss, rows, key, interrupt, .. } = self;
        let program = tail.as_ref().expect("a plan with a tail has its program");
        let job = caches.job(program, side);
        let mut total = 0.0;
        for (step, (batch, lr)) in visit.iter().zip(rates).enumerate() {
            let scale = if unbiased { rows.len() as f64 / batch.len() as f64 } else { loss.denominator() };
            let dropping = Dropping::AsBuilt(dropout_key(*key, k, optimisers[k].clock()));
            let params = network.params_from(k);
            let call = Call { params: &params, norms: Norms::Batch, dropping };
            let task = Task { loss, scale: scale as Real, only: None };
            total += job.gradient(&call, RowSet::List(batch), &task, lanes);
            interrupt.check()?;
            if !total.is_finite() {
                break;
            }
            update(network, optimisers, k, lr, lanes.gradient());
            if step >= unaveraged {
                mean.add(&network.params_from(k).iter().map(|p| p.data()).collect::<Vec<_>>());
            }
        }
        drop(job);
        mean.write(&mut network.params_from_mut(k).into_iter().map(Mat::data_mut).collect::<Vec<_>>());
        (k..=self.network.depth()).for_each(|m| self.caches.mark_trained(m));
        Ok(total)
    }

    /// `Tail(1)` on the whole graph: one step of ordinary back-propagation.
    pub(super) fn exact_step(&mut self, moment: Moment) -> Result<()> {
        let (loss, mut grads) =
            self.exact_gradient(Dropping::AsBuilt(self.key.with("exact").at(self.optimisers[1].clock())));
        self.interrupt.check()?;
        self.check_finite(loss, moment, self.network.graph_layers(), "training loss")?;
        // A bad number that an activation hides would spread to all layers at once.
        self.check_network(moment.epoch)?;
        self.last_loss = loss;
        let lr = self.rate(moment, 0.0);
        for k in 1..=self.network.depth() {
            update(&mut self.network, &mut self.optimisers, k, lr, &mut grads[k]);
            self.caches.mark_trained(k);
        }
        Ok(())
    }

    /// Exact epoch `epoch` (from 0) at the end of lazy training, at a tenth of the learning rate.
    pub fn polish(&mut self, epoch: usize) -> Result<f64> {
        let moment = Moment { epoch, epochs: epoch + 1, part: 0, parts: 1 };
        let (loss, mut grads) = self.exact_gradient(Dropping::Off);
        self.interrupt.check()?;
        self.check_finite(loss, moment, self.network.graph_layers(), "training loss while polishing")?;
        let lr = POLISH_RATE * self.rate_factor * self.config.optim.lr;
        for k in 1..=self.network.depth() {
            update(&mut self.network, &mut self.optimisers, k, lr, &mut grads[k]);
            self.caches.mark_trained(k);
        }
        self.check_network(epoch)?;
        Ok(loss)
    }

    /// Training loss and its gradient for every layer (index 0 is empty), all embeddings refreshed on the way.
    pub fn exact_gradient(&mut self, dropping: Dropping) -> (f64, Vec<Vec<Mat>>) {
        let (top, depth) = (self.network.graph_layers(), self.network.depth());
        let keyed = |k: usize| match dropping {
            Dropping::AsBuilt(key) => Dropping::AsBuilt(key.at(k as u64)),
            other => other,
        };
        for k in 1..top {
            self.caches.ensure_z(k, &self.network, &self.side, &self.scratch);
            self.refresh_norms(k, keyed(k));
            self.make_x(k, keyed(k));
        }
        self.caches.ensure_z(top, &self.network, &self.side, &self.scratch);
        let mut grads = vec![Vec::new(); depth + 1];
        let width = |k: usize| if k == 0 { 0 } else { self.network.width(k) };
        let mut alphas: Vec<Table> =
            (0..top).map(|k| Table::Full(self.scratch.zeros(self.side.nodes(), width(k)))).collect();
        let mut lanes = std::mem::take(&mut self.lanes);
        let loss = self.exact_tail(keyed(top), &mut alphas, &mut lanes, &mut grads);
        for k in (1..top).rev() {
            let alpha = std::mem::take(&mut alphas[k]);
            // The layers below will change X^{k-1} before Z^k is read again.
            let z = (k > 1).then(|| self.caches.take_z(k));
            let upper = Lazy { alpha: &alpha, scale: 1.0, proximal: None, mask: None };
            let params = self.network.at(k).param_refs();
            let pull = Pull {
                program: &self.programs[k],
                from: k,
                params: &params,
                rows: self.row_set(k),
                objective: &upper,
                norms: Norms::Batch,
                dropping: keyed(k),
            };
            let mut targets: Vec<(usize, &mut Table)> =
                alphas.iter_mut().enumerate().take(k).skip(1).collect();
            self.pull(&pull, z, &mut targets, Some(&mut lanes));
            grads[k] = lanes.gradient().to_vec();
            alpha.give(&self.scratch);
        }
        self.lanes = lanes;
        for k in top..=depth {
            self.refresh_x(k);
        }
        (loss, grads)
    }

    fn exact_tail(
        &self,
        dropping: Dropping,
        alphas: &mut [Table],
        lanes: &mut Lanes,
        grads: &mut [Vec<Mat>],
    ) -> f64 {
        let top = self.network.graph_layers();
        let chain;
        let program = if let (Some(tail), true) = (&self.tail, self.tail_from() == top) {
            tail
        } else {
            chain = self.network.chain(top, Sight::Graph);
            &chain
        };
        let params = self.network.params_from(top);
        let (rows, task) = self.loss_rows(program);
        let norms = Norms::Batch;
        let pull = Pull { program, from: top, params: &params, rows, objective: &task, norms, dropping };
        let mut targets: Vec<(usize, &mut Table)> = alphas.iter_mut().enumerate().skip(1).collect();
        let loss = self.pull(&pull, None, &mut targets, Some(lanes));
        let mut all = lanes.gradient().to_vec().into_iter();
        for k in top..=self.network.depth() {
            grads[k] = all.by_ref().take(self.network.at(k).params.len()).collect();
        }
        loss
    }

    /// Gradient of layer k's parameters from the cached `alpha^k` over all its rows (Lemma 1.1).
    pub fn lazy_gradient(&mut self, k: usize) -> Vec<Mat> {
        self.caches.ensure_z(k, &self.network, &self.side, &self.scratch);
        let objective = Lazy { alpha: &self.caches.alpha[k], scale: 1.0, proximal: None, mask: None };
        let program = &self.programs[k];
        let job = self.caches.job(program, &self.side);
        let params = self.network.at(k).param_refs();
        let call = Call { params: &params, norms: Norms::Batch, dropping: Dropping::Off };
        let mut lanes = Lanes::default();
        job.gradient(&call, self.row_set(k), &objective, &mut lanes);
        lanes.into_gradient()
    }
}

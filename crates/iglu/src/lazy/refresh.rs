//! Refreshes of whole caches: embeddings upwards, incomplete gradients downwards (Lemma 1.2).

use super::engine::{Engine, Moment};
use super::objective::{Lazy, Task};
use super::plan::Plan;
use crate::kernels::gemm::{Into, Packed};
use crate::kernels::stored::{self, Stored};
use crate::kernels::{Rows, RowsMut, rowwise};
use crate::look::Look;
use crate::program::{
    Call, Dropping, Heard, Input, Lanes, LinearUse, NormState, Norms, Objective, Program, Put, RowSet,
    Source, Value, Wanted,
};
use crate::table::with_table;
use crate::{Mat, Real, Result, Table};
use rayon::prelude::*;

/// Where the gradient of a pull comes from, and what it passes through.
pub(super) struct Pull<'p> {
    /// The layers it goes through, as one program.
    pub(super) program: &'p Program,
    /// The first of them.
    pub(super) from: usize,
    /// Parameters of the program.
    pub(super) params: &'p [&'p Mat],
    /// Rows with a gradient, and what is minimised there.
    pub(super) rows: RowSet<'p>,
    pub(super) objective: &'p dyn Objective,
    /// Statistics of batch norms: those of the rows, known or not.
    pub(super) norms: Norms<'p>,
    pub(super) dropping: Dropping,
}

/// The way of a gradient from a program to the embeddings below.
struct Route {
    /// Where it is taken.
    value: Value,
    width: usize,
    /// The layer whose alpha it belongs to.
    target: usize,
    way: Way,
}

enum Way {
    /// To the row itself.
    Own,
    /// To the neighbours that part of an aggregate came from.
    Neighbours {
        part: usize,
        /// Taken behind this linear map of the aggregate, because that is narrower.
        map: Option<LinearUse>,
    },
}

impl Engine<'_> {
    /// `Z^k` and `X^k` of all rows; keeps what the visit has gained along `alpha^k`.
    pub(super) fn refresh_x(&mut self, k: usize) {
        if k > 1 {
            self.caches.ensure_z(k, &self.network, &self.side, &self.scratch);
        }
        if !self.caches.knows_norms(k, &self.network) {
            self.refresh_norms(k, Dropping::Off);
        }
        if k >= self.plan.uncached {
            // Nobody reads X^K or the logits between epochs: evaluation makes them from Z^K when it wants them.
            return;
        }
        if self.caches.consistent(k, &self.network) {
            return;
        }
        let promised = self.make_x(k, Dropping::Off);
        if self.control.centred == Some(k) {
            self.control.promised += promised;
            self.control.centred = None;
        }
    }

    /// Statistics of layer k's batch norms over all rows of the training graph, where its inputs are there.
    pub(super) fn refresh_norms(&mut self, k: usize, dropping: Dropping) {
        let program = &self.programs[k];
        if program.batch_norms() == 0 || !self.inputs_exist(program) {
            return;
        }
        let job = self.caches.job(program, &self.side);
        let params = self.network.at(k).param_refs();
        let call = Call { params: &params, norms: Norms::Batch, dropping };
        let norms = job.states(&call, RowSet::All(self.side.nodes()));
        drop(job);
        self.network.at_mut(k).norms = norms;
        if dropping == Dropping::Off {
            self.caches.mark_norms(k);
        } else {
            self.caches.forget_norms(k);
        }
    }

    fn inputs_exist(&self, program: &Program) -> bool {
        program.inputs().all(|s| match s {
            Source::Embedding(m) => m == 0 || self.caches.x[m].rows() > 0,
            Source::Attended { layer } => layer == 1 || self.caches.x[layer - 1].rows() > 0,
            Source::Aggregate { layer, .. } => layer == 1 || !self.caches.z[layer].is_empty(),
            Source::Degree(_) => true,
        })
    }

    /// `X^k` of all rows from the caches, in the place of the old one; returns `<alpha^k, new - old>` where both are there.
    pub(super) fn make_x(&mut self, k: usize, dropping: Dropping) -> f64 {
        let mut x = std::mem::take(&mut self.caches.x[k]);
        let (program, layer, n) = (&self.programs[k], self.network.at(k), self.side.nodes());
        let alpha = Some(&self.caches.alpha[k]).filter(|a| a.rows() == n && x.rows() == n);
        if x.rows() != n {
            x = Table::take(&self.scratch, layer.storage, n, program.width());
        }
        let params = layer.param_refs();
        let call = Call { params: &params, norms: Norms::Stored(&layer.norms), dropping };
        let job = self.caches.job(program, &self.side);
        let promised = with_table!(&mut x, m => match alpha {
            None => {
                job.forward(&call, RowSet::All(n), m);
                0.0
            }
            Some(alpha) => with_table!(alpha, alpha => {
                job.forward_over(&call, RowSet::All(n), m, |r, x, new| replaced(alpha.row(r), x, new))
            }),
        });
        drop(job);
        self.caches.x[k] = x;
        self.caches.mark_refreshed(k);
        promised
    }

    /// `alpha^k` from all layers that read `X^k`; the bias of the old one is measured on the way.
    pub(super) fn refresh_alpha(&mut self, k: usize, moment: Moment) -> Result<()> {
        let sample = self.bias_sample(k);
        let (n, width, depth) = (self.side.nodes(), self.network.width(k), self.network.depth());
        std::mem::take(&mut self.caches.alpha[k]).give(&self.scratch);
        let mut alpha = Table::take_zeros(&self.scratch, self.network.at(k).storage, n, width);
        if k == depth {
            self.loss_gradient(&mut alpha);
        } else {
            let tail = self.plan.uncached;
            for m in k + 1..tail.min(depth + 1) {
                self.interrupt.check()?;
                self.pull_layer(m, k, &mut alpha);
            }
            if (tail..=depth).any(|m| self.network.at(m).reads(k)) {
                let value = self.pull_tail(k, &mut alpha);
                self.check_finite(value, moment, tail, "training loss")?;
                self.control.loss_at_refresh = Some(value);
            }
        }
        self.caches.alpha[k] = alpha;
        if let Some(sample) = sample {
            self.measure_bias(k, sample);
        }
        self.caches.alpha_age[k] = 0;
        Ok(())
    }

    /// Gives `alpha^k` back once its layer is trained and refreshed, where it will be made anew before it is used again;
    /// what telemetry compares with its successor is kept.
    pub(super) fn release_alpha(&mut self, k: usize) {
        let train = &self.config.train;
        if !Plan::renews_alphas(train.order, train.frequency) || self.caches.alpha[k].rows() == 0 {
            return;
        }
        self.stale[k] = self.sampled_alpha(k);
        std::mem::take(&mut self.caches.alpha[k]).give(&self.scratch);
    }

    /// Gives `X^k` back once its gradient is there, where it will be made anew before anybody reads it.
    pub(super) fn release_x(&mut self, k: usize) {
        if Plan::renews_embeddings(&self.config.train, &self.network, k) {
            self.caches.take_x(k).give(&self.scratch);
        }
    }

    /// `G`, from the cached logits.
    fn loss_gradient(&mut self, g: &mut Table) {
        let full = "logits are kept in full";
        let (logits, g) =
            (self.caches.x[self.network.depth()].full().expect(full), g.full_mut().expect(full));
        let mut value = 0.0;
        for &r in &self.rows {
            value += self.loss.row(r as usize, logits.row(r as usize), g.row_mut(r as usize));
        }
        self.control.loss_at_refresh = Some(value);
        self.last_loss = value;
    }

    /// Adds what layer m passes down to `alpha^k`.
    fn pull_layer(&mut self, m: usize, k: usize, alpha: &mut Table) {
        if !self.network.at(m).reads(k) {
            return;
        }
        self.caches.ensure_z(m, &self.network, &self.side, &self.scratch);
        let z = self.last_z(m, k, m);
        let upper = Lazy { alpha: &self.caches.alpha[m], scale: 1.0, proximal: None, mask: None };
        let params = self.network.at(m).param_refs();
        let (rows, known) = (self.row_set(m), self.known_norms(m, m));
        let pull = Pull {
            program: &self.programs[m],
            from: m,
            params: &params,
            rows,
            objective: &upper,
            norms: known.as_deref().map_or(Norms::Batch, Norms::Known),
            dropping: Dropping::Off,
        };
        self.pull(&pull, z, &mut [(k, alpha)], None);
    }

    /// `Z^m`, where `alpha^k` is the last that layers m to `upto` pass down before `X^{m-1}` changes: then the gradient may
    /// have its place.
    fn last_z(&mut self, m: usize, k: usize, upto: usize) -> Option<Vec<Table>> {
        let renewed = Plan::renews_aggregates(self.config.train.order, self.config.train.frequency);
        let again = (1..k).any(|j| (m..=upto).any(|m| self.network.at(m).reads(j)));
        (renewed && !again && m > 1).then(|| self.caches.take_z(m))
    }

    /// Adds what the layers trained on the fresh loss pass down to `alpha^k`; returns the loss.
    fn pull_tail(&mut self, k: usize, alpha: &mut Table) -> f64 {
        let from = self.plan.uncached;
        self.caches.ensure_z(from, &self.network, &self.side, &self.scratch);
        let z = self.last_z(from, k, self.network.depth());
        let program = self.tail.as_ref().expect("a plan with a tail has its program");
        let (rows, task) = self.loss_rows(program);
        let params = self.network.params_from(from);
        let known = self.known_norms(from, self.network.depth());
        let norms = known.as_deref().map_or(Norms::Batch, Norms::Known);
        let pull =
            Pull { program, from, params: &params, rows, objective: &task, norms, dropping: Dropping::Off };
        self.pull(&pull, z, &mut [(k, alpha)], None)
    }

    /// Rows with a gradient at layer m; all rows where batch norms need everybody's statistics.
    pub(super) fn row_set(&self, m: usize) -> RowSet<'_> {
        let (rows, n) = (&self.reach[m], self.side.nodes());
        let everybody = rows.len() == n || self.programs[m].batch_norms() > 0;
        if everybody { RowSet::All(n) } else { RowSet::List(rows) }
    }

    /// Rows of a whole-graph pass on the loss, and the loss on the training nodes among them.
    pub(super) fn loss_rows(&self, program: &Program) -> (RowSet<'_>, Task<'_>) {
        let n = self.side.nodes();
        let everybody = program.batch_norms() > 0 && self.rows.len() < n;
        let task = Task { loss: &self.loss, scale: 1.0, only: everybody.then_some(&self.members) };
        (if everybody { RowSet::All(n) } else { RowSet::List(&self.rows) }, task)
    }

    /// The way of the gradient at input `input`; `None` for what has another way (attention) or none.
    fn route(&self, pull: &Pull<'_>, input: usize) -> Option<Route> {
        let source = pull.program.inputs().nth(input).expect("an input of the program");
        let (value, width) = (pull.program.input_value(input), pull.program.input_width(input));
        match source {
            Source::Embedding(m) => Some(Route { value, width, target: m, way: Way::Own }),
            Source::Aggregate { layer, part } => {
                let exchange = self.network.at(layer).look.is_linear() && pull.dropping == Dropping::Off;
                let map = pull.program.only_map(input).filter(|m| exchange && m.width < width);
                let (value, width) = map.map_or((value, width), |m| (m.result, m.width));
                Some(Route { value, width, target: layer - 1, way: Way::Neighbours { part, map } })
            }
            Source::Attended { .. } | Source::Degree(_) => None,
        }
    }

    /// The vector-Jacobian product of some layers, added to `alpha^k` for each target `(k, alpha^k)`; parameter
    /// gradients into `lanes`. `z` is the aggregate of the first of them where nobody needs it after that: gradients
    /// take its place. Returns the objective's value.
    pub(super) fn pull(
        &self,
        pull: &Pull<'_>,
        z: Option<Vec<Table>>,
        targets: &mut [(usize, &mut Table)],
        lanes: Option<&mut Lanes>,
    ) -> f64 {
        let inputs = 0..pull.program.inputs().count();
        let mut routes: Vec<Route> = inputs.filter_map(|i| self.route(pull, i)).collect();
        routes.retain(|r| targets.iter().any(|(k, _)| *k > 0 && *k == r.target));
        let listened = pull.program.inputs().find_map(|s| match s {
            Source::Attended { layer } => Some(layer - 1),
            _ => None,
        });
        let mut heard =
            listened.filter(|m| targets.iter().any(|(k, _)| k == m && *k > 0)).map(|m| (m, Heard::default()));
        let (own, sent): (Vec<Route>, Vec<Route>) =
            routes.into_iter().partition(|r| matches!(r.way, Way::Own));
        let mut z: Vec<Option<Table>> = z.unwrap_or_default().into_iter().map(Some).collect();
        let mut parts: Vec<(Put, Table)> =
            sent.iter().map(|r| self.place(r, pull, &mut z, targets)).collect();
        let width = self.network.width(pull.from - 1);
        let job = self.caches.job_with(pull.program, &self.side, |layer, part| match z.get(part) {
            Some(None) if layer == pull.from => Input::Lent(width),
            Some(Some(table)) if layer == pull.from => self.caches.aggregate(layer, part, table),
            _ => self.caches.aggregate(layer, part, &self.caches.z[layer][part]),
        });
        let call = Call { params: pull.params, norms: pull.norms, dropping: pull.dropping };
        let mut wanted: Vec<Wanted<'_>> = Vec::new();
        for (k, alpha) in targets.iter_mut() {
            let to = own.iter().find(|r| r.target == *k);
            wanted.extend(to.map(|r| Wanted::at_nodes(r.value, alpha)));
        }
        for (route, (put, part)) in sent.iter().zip(&mut parts) {
            wanted.push(Wanted { value: route.value, out: part, put: *put });
        }
        let ears = heard.as_mut().map(|(_, heard)| heard);
        let value = job.gradients_heard(&call, pull.rows, pull.objective, lanes, &mut wanted, ears);
        drop((job, wanted));
        let mut moments: Vec<(usize, Mat)> = Vec::new();
        let layer = self.network.at(pull.from);
        for (route, (_, d)) in sent.iter().zip(parts) {
            let Way::Neighbours { part, map } = route.way else { unreachable!("sent to neighbours") };
            if layer.look == Look::Moments {
                moments.push((part, d.into_full()));
            } else {
                self.add_linear(pull, part, map, d, target(targets, route.target));
            }
        }
        if !moments.is_empty() {
            let kept = self.caches.z[pull.from].iter();
            let z: Vec<&Table> = kept.chain(z.iter().flatten()).collect();
            self.add_moments(pull.from, &z, moments, target(targets, pull.from - 1));
        }
        if let Some((m, heard)) = heard {
            let rows = heard.ids.as_deref().map_or(RowSet::All(self.side.nodes()), RowSet::List);
            with_table!(target(targets, m), alpha => scatter(&heard.d, rows, alpha));
        }
        z.into_iter().flatten().for_each(|z| z.give(&self.scratch));
        value
    }

    /// Statistics of all rows for the batch norms of layers `from..=to`, where refreshes have left them.
    fn known_norms(&self, from: usize, to: usize) -> Option<Vec<NormState>> {
        let layers = || (from..=to).filter(|&k| !self.network.at(k).norms.is_empty());
        let known = layers().all(|k| self.caches.knows_norms(k, &self.network));
        known.then(|| layers().flat_map(|k| self.network.at(k).norms.clone()).collect())
    }

    /// A row for every node that has a kept aggregate, for what is sent to its neighbours: the aggregate itself where it may
    /// be had, else zeros where not every row is in the pass.
    fn place(
        &self,
        route: &Route,
        pull: &Pull<'_>,
        z: &mut [Option<Table>],
        targets: &mut [(usize, &mut Table)],
    ) -> (Put, Table) {
        let storage = target(targets, route.target).storage();
        if let Way::Neighbours { part, map: None } = route.way
            && self.network.at(pull.from).look.is_linear()
            && pull.program.batch_norms() == 0
            && !pull.rows.is_empty()
            && let Some(lent) = z.get_mut(part)
            && lent.as_ref().is_some_and(|z| z.storage() == storage)
            && let Some(table) = lent.take()
        {
            return (Put::InExchange, table);
        }
        let (n, width) = (self.side.nodes(), route.width);
        match (pull.rows, self.caches.chosen(pull.from)) {
            (RowSet::List(_), None) => (Put::AtNodes, Table::take_zeros(&self.scratch, storage, n, width)),
            (rows, _) => (Put::InOrder, Table::take(&self.scratch, storage, rows.len(), width)),
        }
    }

    /// Adds `A^T d` to `alpha`, and takes the way through the linear map after that where the gradient was taken before
    /// it: `A^T (dH W^T) = (A^T dH) W^T`.
    fn add_linear(&self, pull: &Pull<'_>, part: usize, map: Option<LinearUse>, d: Table, alpha: &mut Table) {
        match map {
            None => with_table!(&d, d => with_table!(alpha, m => self.add_transposed(pull.from, part, d, m))),
            Some(map) => {
                let mut sent = self.scratch.zeros(self.side.nodes(), map.width);
                with_table!(&d, d => self.add_transposed(pull.from, part, d, &mut sent));
                with_table!(alpha, m => add_mapped_back(&sent, pull.params[map.param], map, m));
                self.scratch.give(sent);
            }
        }
        d.give(&self.scratch);
    }

    /// `out += A^T d` for an operator of layer k, `d` having the rows that its aggregates are kept for.
    fn add_transposed<S: Stored, T: Stored>(&self, k: usize, part: usize, d: &Mat<S>, out: &mut Mat<T>) {
        match self.caches.chosen(k) {
            Some(chosen) => chosen.add_transposed(part, d, out),
            None => self.side.operator(self.network.at(k), part).add_transposed(d, out),
        }
    }

    /// Adds what the moments of layer k send back to `alpha^{k-1}`.
    fn add_moments(&self, k: usize, z: &[&Table], mut given: Vec<(usize, Mat)>, alpha: &mut Table) {
        given.sort_by_key(|(part, _)| *part);
        let d: Vec<Mat> = given.into_iter().map(|(_, d)| d).collect();
        let [a, b, c, e] = &d[..] else { unreachable!("a layer reads all four moments") };
        self.side.add_moments_back(&self.caches.x[k - 1], z, [a, b, c, e], alpha);
        d.into_iter().for_each(|d| self.scratch.give(d));
    }

    /// Training loss of the present tail on the present caches: one dense forward.
    pub(super) fn tail_loss(&mut self) -> f64 {
        let from = self.tail_from();
        self.caches.ensure_z(from, &self.network, &self.side, &self.scratch);
        let program = self.tail.as_ref().expect("a plan with a tail has its program");
        let params = self.network.params_from(from);
        let job = self.caches.job(program, &self.side);
        let call = Call { params: &params, norms: Norms::Batch, dropping: Dropping::Off };
        let (rows, task) = self.loss_rows(program);
        job.value(&call, rows, &task)
    }
}

/// The `alpha^k` among the targets of a pull.
fn target<'t>(targets: &'t mut [(usize, &mut Table)], k: usize) -> &'t mut Table {
    let found = targets.iter_mut().find(|(m, _)| *m == k);
    found.map(|(_, alpha)| &mut **alpha).expect("only targets are kept")
}

/// Makes `x` the new row; returns `<alpha, new - old>`.
fn replaced<S: Stored, T: Stored>(alpha: &[S], x: &mut [T], new: &[Real]) -> f64 {
    let old = rowwise::inner_row(alpha, x);
    stored::copy(new, x);
    (rowwise::inner_row(alpha, x) - old) as f64
}

/// `alpha += sent W^T` for the rows of `W` that a map uses.
fn add_mapped_back<T: Stored>(sent: &Mat, w: &Mat, map: LinearUse, alpha: &mut Mat<T>) {
    const BLOCK: usize = 256;
    let (from, to) = (sent.cols(), alpha.cols());
    let weights = Rows { data: &w.data()[map.first_row * w.cols()..], rows: to, cols: from, stride: from };
    let mut arranged = Packed::default();
    arranged.columns(weights, map.precision);
    let blocks = alpha.data_mut().par_chunks_mut(BLOCK * to).zip(sent.data().par_chunks(BLOCK * from));
    blocks.for_each_init(
        || vec![0.0; BLOCK * to],
        |mapped, (alpha, sent)| {
            let rows = alpha.len() / to;
            let mapped = &mut mapped[..alpha.len()];
            let out = RowsMut::dense(mapped, rows, to);
            let sent = Rows::dense(sent, rows, from);
            arranged.product(sent, out, Into::Set);
            stored::add(mapped, alpha);
        },
    );
}

/// `to[ids[i]] += from[i]`, ids sorted.
fn scatter<S: Stored, T: Stored>(from: &Mat<S>, rows: RowSet<'_>, to: &mut Mat<T>) {
    const BLOCK: usize = 4096;
    let cols = to.cols().max(1);
    match rows {
        RowSet::All(_) => {
            let pieces = to.data_mut().par_chunks_mut(BLOCK * cols).zip(from.data().par_chunks(BLOCK * cols));
            pieces.for_each(|(to, from)| stored::add(from, to));
        }
        RowSet::List(ids) => to.data_mut().par_chunks_mut(BLOCK * cols).enumerate().for_each(|(b, to)| {
            let first = ids.partition_point(|&r| (r as usize) < b * BLOCK);
            let last = ids.partition_point(|&r| (r as usize) < (b + 1) * BLOCK);
            for i in first..last {
                let at = (ids[i] as usize - b * BLOCK) * cols;
                stored::add(from.row(i), &mut to[at..at + cols]);
            }
        }),
    }
}

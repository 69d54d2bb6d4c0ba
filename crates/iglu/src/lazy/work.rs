//! What the steps of an order have to do, whoever does it: dense products, sparse products, rows read and written.
//!
//! Counted is what the mathematics needs of tables that are too large for a cache. Row-wise functions, optimiser
//! steps and whatever an implementation computes twice are not: they are what time is lost to. Inputs count as
//! dense, attention and moments are left out.

use super::batches;
use super::engine::Engine;
use super::plan::Step;
use crate::config::{Batch, Order};
use crate::kernels::limits::{Form, Product};
use crate::network::{Layer, Network};
use crate::program::{Gradients, Program, Repeated, Source, Value};
use crate::side::Side;
use crate::{Real, Storage};

/// Rows read at random from a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gathered {
    /// Rows of the table.
    pub rows: usize,
    /// Its columns, in full numbers: two rounded ones are one.
    pub cols: usize,
    /// Bytes read.
    pub bytes: f64,
    /// Whether they are rows of neighbours, to be added up.
    pub summed: bool,
}

/// What has to be done.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Work {
    /// Dense products.
    pub products: Vec<Repeated>,
    /// Operations of sparse products.
    pub sparse_flops: f64,
    /// Rows read at random.
    pub gathered: Vec<Gathered>,
    /// Bytes read or written in order.
    pub streamed: f64,
}

impl Work {
    /// Operations of the dense products.
    pub fn dense_flops(&self) -> f64 {
        self.products.iter().map(|r| r.product.flops() * r.times).sum()
    }

    /// Bytes read and written.
    pub fn bytes(&self) -> f64 {
        self.streamed + self.gathered.iter().map(|g| g.bytes).sum::<f64>()
    }

    /// Does this as well.
    pub fn add(&mut self, other: Self) {
        self.products.extend(other.products);
        self.sparse_flops += other.sparse_flops;
        self.gathered.extend(other.gathered);
        self.streamed += other.streamed;
    }

    fn gather(&mut self, rows: usize, kept: Kept, reads: f64) {
        let bytes = kept.0 * kept.1.bytes();
        let cols = bytes.div_ceil(size_of::<Real>());
        self.gathered.push(Gathered { rows, cols, bytes: reads * bytes as f64, summed: false });
    }

    fn stream(&mut self, rows: usize, kept: Kept) {
        self.streamed += rows as f64 * (kept.0 * kept.1.bytes()) as f64;
    }

    /// `A X` for the operators of a layer.
    fn aggregate(&mut self, side: &Side, layer: &Layer, x: Kept) {
        let n = side.nodes();
        for part in (0..layer.look.parts()).filter(|_| layer.look.is_linear()) {
            self.sum(n, x, side.operator(layer, part).graph().columns().len(), n);
        }
    }

    /// `rows` sums of `entries` rows of a table of `n` in all.
    pub fn sum(&mut self, n: usize, x: Kept, entries: usize, rows: usize) {
        self.sparse_flops += 2.0 * (entries * x.0) as f64;
        self.gather(n, x, entries as f64);
        self.gathered.last_mut().expect("just gathered").summed = true;
        self.stream(rows, x);
        self.streamed += (4 * entries + 8 * rows) as f64;
    }

    /// One layer's output for all nodes, from its inputs.
    fn forward(&mut self, network: &Network, layer: &Layer, nodes: usize) {
        self.products.extend(layer.program.products(nodes, nodes, &Gradients::default()));
        self.read(network, &layer.program, nodes);
        self.stream(nodes, (layer.width(), layer.storage));
    }

    /// The inputs of a program, in order.
    fn read(&mut self, network: &Network, program: &Program, nodes: usize) {
        (0..program.inputs().count()).for_each(|i| self.stream(nodes, input(network, program, i)));
    }
}

/// Columns, and how they are kept.
pub type Kept = (usize, Storage);

/// `X^k`, what is aggregated of it, or `alpha^k`.
fn table(network: &Network, k: usize) -> Kept {
    (network.width(k), if k == 0 { Storage::F32 } else { network.at(k).storage })
}

/// What an input of a program is read from.
fn input(network: &Network, program: &Program, i: usize) -> Kept {
    let of = match program.inputs().nth(i).expect("an input of the program") {
        Source::Embedding(m) => m,
        Source::Aggregate { layer, .. } | Source::Attended { layer } => layer - 1,
        Source::Degree(_) => 0,
    };
    (program.input_width(i), table(network, of).1)
}

/// What inference for some nodes does on a side, by what they reach; the aggregates of the first layer are there.
pub fn inference(network: &Network, side: &Side, reach: &[Vec<u32>]) -> Work {
    let mut work = Work::default();
    for k in 1..=network.depth() {
        let (layer, nodes) = (network.at(k), &reach[k]);
        let parts = if k > 1 && layer.look.is_linear() { layer.look.parts() } else { 0 };
        for part in 0..parts {
            let operator = side.operator(layer, part);
            let entries = nodes.iter().map(|&v| operator.reached(v as usize).len()).sum();
            work.sum(side.nodes(), table(network, k - 1), entries, nodes.len());
        }
        work.forward(network, layer, nodes.len());
    }
    work
}

impl Engine<'_> {
    /// What `Z^k` costs.
    pub fn aggregation_work(&self, k: usize) -> Work {
        let mut work = Work::default();
        let layer = self.network.at(k);
        let x = table(&self.network, k - 1);
        match self.caches.chosen(k) {
            None if k == 1 => {}
            None => work.aggregate(&self.side, layer, x),
            Some(chosen) => {
                let parts = 0..layer.look.parts();
                parts.for_each(|part| work.sum(self.side.nodes(), x, chosen.entries(part), chosen.len()));
            }
        }
        work
    }

    /// What a step costs without the aggregates it may have to make first; of a training step: all its batches in an
    /// epoch. Steps of the order `exact` are not counted.
    pub fn step_work(&self, step: Step) -> Work {
        match step {
            _ if self.config.train.order == Order::Exact => Work::default(),
            Step::RefreshX(k) => self.embedding_work(k),
            Step::RefreshAlpha(k) => self.alpha_work(k),
            Step::Train(k) => {
                let (rows, batch) = (self.reach[k].len(), self.config.train.batch);
                let mut work = self.pass_work(&self.programs[k], rows, super::passes(&self.config), batch);
                let read = rows * super::passes(&self.config);
                let tables = if self.control.active() { 2.0 } else { 1.0 };
                work.gather(self.side.nodes(), table(&self.network, k), tables * read as f64);
                work
            }
            Step::TrainTail(_) => {
                let train = &self.config.train;
                let passes = train.tail_passes.or(super::passes(&self.config));
                let batch = super::tail_batch(train);
                let tail = self.tail.as_ref();
                tail.map_or_else(Work::default, |p| self.pass_work(p, self.rows.len(), passes, batch))
            }
        }
    }

    /// What the logits of these nodes cost where caches have everything below the tail ([`Engine::logits`]).
    pub fn logits_work(&self, nodes: &[u32]) -> Option<Work> {
        let from = self.fresh_below()?;
        let tail = self.tail.as_ref()?;
        let (layer, mut work) = (self.network.at(from), Work::default());
        if self.caches.chosen(from).is_some() {
            // Aggregates are kept for the training nodes; those of the others are made now.
            let absent = || nodes.iter().map(|&v| v as usize).filter(|&v| !self.members[v]);
            for part in 0..layer.look.parts() {
                let operator = self.side.operator(layer, part);
                let entries = absent().map(|v| operator.reached(v).len()).sum();
                work.sum(self.side.nodes(), table(&self.network, from - 1), entries, absent().count());
            }
        }
        work.products.extend(tail.products(nodes.len(), nodes.len(), &Gradients::default()));
        work.read(&self.network, tail, nodes.len());
        work.stream(nodes.len(), (tail.width(), Storage::F32));
        Some(work)
    }

    fn pass_work(&self, program: &Program, rows: usize, passes: usize, batch: Batch) -> Work {
        let all = Gradients { params: true, values: Vec::new() };
        let size = batches::size(batch, rows);
        let mut work = Work { products: program.products(rows * passes, size, &all), ..Work::default() };
        for i in 0..program.inputs().count() {
            work.gather(self.side.nodes(), input(&self.network, program, i), (rows * passes) as f64);
        }
        work
    }

    fn embedding_work(&self, k: usize) -> Work {
        let mut work = Work::default();
        if k < self.plan.uncached {
            work.forward(&self.network, self.network.at(k), self.side.nodes());
        }
        work
    }

    fn alpha_work(&self, k: usize) -> Work {
        let mut work = Work::default();
        work.stream(self.side.nodes(), table(&self.network, k));
        let uncached = self.plan.uncached;
        for m in (k + 1..uncached.min(self.network.depth() + 1)).filter(|&m| self.network.at(m).reads(k)) {
            work.stream(self.reach[m].len(), table(&self.network, m));
            self.pull_work(&self.programs[m], m, (k, self.reach[m].len()), &mut work);
        }
        if let Some(tail) = self.tail.as_ref().filter(|_| uncached <= self.network.depth()) {
            self.pull_work(tail, uncached, (k, self.rows.len()), &mut work);
        }
        work
    }

    /// Rows of the gradients that layer k sends to neighbours, and how often one is read.
    fn sent(&self, k: usize, part: usize) -> (usize, usize) {
        let all = || self.side.operator(self.network.at(k), part).graph().columns().len();
        self.caches.chosen(k).map_or_else(|| (self.side.nodes(), all()), |c| (c.len(), c.entries(part)))
    }

    /// Adds the way of the gradient of some rows through a program that begins at layer `from` to `alpha^k`.
    fn pull_work(&self, program: &Program, from: usize, (k, rows): (usize, usize), work: &mut Work) {
        let (n, layer, to) = (self.side.nodes(), self.network.at(from), self.network.width(k));
        let mut values: Vec<Value> = Vec::new();
        for (i, source) in program.inputs().enumerate() {
            match source {
                Source::Embedding(m) if m == k => {
                    values.push(program.input_value(i));
                    (0..3).for_each(|_| work.stream(rows, table(&self.network, k)));
                }
                Source::Aggregate { layer: of, part } if of == k + 1 => {
                    let map = program.only_map(i).filter(|m| m.width < program.input_width(i));
                    let width = map.map_or(to, |m| m.width);
                    values.push(map.map_or(program.input_value(i), |m| m.result));
                    let kept = (width, self.network.at(k).storage);
                    work.stream(rows, kept);
                    if layer.look.is_linear() {
                        let (read, entries) = self.sent(from, part);
                        work.sum(read, kept, entries, n);
                    }
                    if let Some(map) = map {
                        let block = 256.min(n);
                        let product =
                            Product { precision: map.precision, form: Form::Nt, m: block, k: width, n: to };
                        work.products.push(Repeated { product, times: n as f64 / block as f64 });
                        work.stream(n, (width, Storage::F32));
                        (0..2).for_each(|_| work.stream(n, table(&self.network, k)));
                    }
                }
                _ => {}
            }
        }
        if !values.is_empty() {
            let gradients = Gradients { params: false, values };
            work.products.extend(program.products(rows, rows, &gradients));
            work.read(&self.network, program, rows);
        }
    }
}

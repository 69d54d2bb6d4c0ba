//! One dataset: prepared as `iglu train` does it, some epochs step by step, every phase timed.

use super::machine::Machine;
use super::phase::{Phase, median};
use crate::memory;
use crate::train::training_options;
use iglu::config::{Config, Scaling, Setting};
use iglu::constant::Constant;
use iglu::kernels::limits::Product;
use iglu::lazy::plan::Step;
use iglu::lazy::work::{self, Work};
use iglu::lazy::{Engine, StepTime};
use iglu::loss::{LossOptions, TaskLoss};
use iglu::metrics::Metric;
use iglu::model::Preprocess;
use iglu::network::{ModelShape, Network};
use iglu::observe::Stopwatch;
use iglu::side::Sides;
use iglu::{Dataset, Error, Mat, Result, Storage};
use serde::Serialize;
use std::sync::Arc;

/// Results of one dataset.
#[derive(Serialize)]
pub struct Trial {
    /// The dataset.
    pub data: String,
    /// Recipe of the network, if one fits the shape.
    pub recipe: Option<&'static str>,
    /// Nodes and edges.
    pub nodes: usize,
    /// Undirected edges, or arcs of directed graphs.
    pub edges: usize,
    /// Rows of the training side.
    pub train_nodes: usize,
    /// Training rows.
    pub rows: usize,
    /// Timed epochs.
    pub epochs: usize,
    /// Seconds of reading or making the data.
    pub load_seconds: f64,
    /// Seconds of putting communities one after the other; nothing where nodes were left as they are.
    pub reorder_seconds: Option<f64>,
    /// Seconds of operators and constant aggregates.
    pub prepare_seconds: f64,
    /// Largest resident size while preparing and training.
    pub peak_bytes: Option<u64>,
    /// Seconds of every epoch, training and refreshes.
    pub epoch_seconds: Vec<f64>,
    /// All phases of an epoch together.
    pub epoch: Phase,
    /// Seconds of an epoch over those of the same operations in square products and the same bytes.
    pub square_ratio: f64,
    /// The phases of an epoch in order, and evaluation.
    pub phases: Vec<Phase>,
    /// Sparse products alone.
    pub aggregations: Vec<Aggregation>,
    /// Dense products alone.
    pub products: Vec<Rate>,
}

/// A sparse product of the training side's operator with random rows.
#[derive(Serialize)]
pub struct Aggregation {
    /// Columns.
    pub cols: usize,
    /// Best of all repetitions.
    pub seconds: f64,
    /// Bytes read and written, per second, in 10^9: rows of neighbours, their numbers, and the result.
    pub gbytes: f64,
    /// Bytes per second of rows that are only read at random, in 10^9.
    pub limit_gbytes: f64,
    /// Share of the time that memory needs for these bytes at the measured rates.
    pub share: f64,
}

/// How fast a product is.
#[derive(Serialize)]
pub struct Rate {
    /// The product.
    #[serde(flatten)]
    pub product: Product,
    /// 10^9 operations per second.
    pub gflops: f64,
    /// Share of the peak.
    pub share: f64,
}

/// Seconds of each phase, epoch by epoch.
#[derive(Default)]
struct Times(Vec<(String, Vec<f64>)>);

impl Times {
    fn of(&mut self, name: &str) -> &mut Vec<f64> {
        let at = self.0.iter().position(|(n, _)| n == name).unwrap_or_else(|| {
            self.0.push((name.to_string(), Vec::new()));
            self.0.len() - 1
        });
        &mut self.0[at].1
    }

    /// The steps of epoch `epoch` (from 0); a step that comes several times counts once.
    fn add(&mut self, epoch: usize, steps: &[StepTime]) {
        let mut add = |name: &str, seconds: f64| {
            let times = self.of(name);
            times.resize(epoch + 1, 0.0);
            times[epoch] += seconds;
        };
        for s in steps {
            if s.aggregation > 0.0 {
                add(&aggregation_of(s.step), s.aggregation);
            }
            add(&s.step.to_string(), s.seconds - s.aggregation);
        }
    }
}

/// The aggregate that a step makes if it is stale.
fn aggregated(step: Step) -> usize {
    match step {
        Step::RefreshX(k) | Step::Train(k) | Step::TrainTail(k) => k,
        Step::RefreshAlpha(k) => k + 1,
    }
}

fn aggregation_of(step: Step) -> String {
    format!("Z_{}", aggregated(step))
}

/// What is to be measured.
pub struct Order<'a> {
    /// The dataset, as `iglu train` takes it.
    pub source: &'a str,
    /// Recipe of the network, for the record.
    pub recipe: Option<&'static str>,
    /// The configuration.
    pub config: Config,
    /// Timed epochs.
    pub repeat: usize,
}

/// Times of some epochs after one that warms up.
#[derive(Default)]
struct Epochs {
    phases: Times,
    /// Of whole epochs.
    seconds: Vec<f64>,
    evaluation: Vec<f64>,
    /// The steps of the last one.
    steps: Vec<StepTime>,
}

/// Trains, and measures the machine's limits for the same work.
pub fn run(order: &Order<'_>, machine: &mut Machine) -> Result<Trial> {
    let mut clock = Stopwatch::new();
    let data = iglu_data::load(order.source, &training_options(&order.config.data))?;
    if data.split.train.is_empty() {
        return Err(Error::data(order.source, "no training node", "measure on data with a split"));
    }
    let load_seconds = clock.lap();
    memory::forget_peak();
    let reordered = iglu::run::reordered(&order.config, &data);
    let reorder_seconds = reordered.is_some().then(|| clock.lap());
    let mut data = reordered.unwrap_or(data);
    let config = iglu::run::resolve(&order.config, &data);
    let preprocess =
        Preprocess::learn(config.data.features.or(Scaling::Raw), &data.features, &data.split.train);
    let network = Network::new(&config.network, &ModelShape::of(&data), config.seed)?;
    let scaled = preprocess.apply(data.take_features());
    let features = Arc::new(Constant::new(scaled, config.constants()));
    let sides = Sides::new(&data, &features, &network, config.train.setting);
    let (labels, rows) = Sides::training(&data, config.train.setting);
    let loss = TaskLoss::new(&labels, &rows, &LossOptions::default())?;
    let mut engine = Engine::new(&config, network, sides.train.clone(), loss, rows.clone());
    let prepare_seconds = clock.lap();
    let evaluation = Evaluation::new(&engine, &sides, &config, &data);
    let mut epochs = train(&mut engine, order.repeat, |engine| evaluation.run(engine))?;
    let peak_bytes = memory::peak_bytes();
    let works = works(&engine, &epochs.steps);
    let mut all = Work::default();
    works.iter().for_each(|(_, work)| all.add(work.clone()));
    let evaluated = evaluation.work(&engine);
    // The caches go before the limits are measured, which takes tables of its own.
    let network = engine.into_network();
    for work in [&all, &evaluated] {
        machine.measure(work);
    }
    let aggregations = aggregations(&network, &sides, &all, machine);
    let mut phases: Vec<Phase> = works
        .iter()
        .map(|(name, work)| Phase::new(name, median(epochs.phases.of(name)), work, machine))
        .collect();
    phases.push(Phase::new("evaluation", median(&epochs.evaluation), &evaluated, machine));
    let epoch = Phase::new("epoch", median(&epochs.seconds), &all, machine);
    Ok(Trial {
        data: data.name.clone(),
        recipe: order.recipe,
        nodes: data.graph.nodes(),
        edges: data.graph.counts().edges,
        train_nodes: sides.train.nodes(),
        rows: rows.len(),
        epochs: order.repeat,
        load_seconds,
        reorder_seconds,
        prepare_seconds,
        peak_bytes,
        square_ratio: epoch.seconds / (epoch.square_seconds + epoch.memory_seconds),
        epoch_seconds: epochs.seconds,
        epoch,
        phases,
        aggregations,
        products: rates(&all, machine),
    })
}

fn train(
    engine: &mut Engine<'_>,
    repeat: usize,
    mut evaluate: impl FnMut(&mut Engine<'_>),
) -> Result<Epochs> {
    let mut out = Epochs::default();
    engine.begin()?;
    for epoch in 0..=repeat {
        engine.take_timeline();
        engine.epoch(epoch, repeat + 1)?;
        out.steps = engine.take_timeline();
        let watch = Stopwatch::new();
        evaluate(engine);
        if epoch > 0 {
            out.evaluation.push(watch.seconds());
            out.phases.add(epoch - 1, &out.steps);
            out.seconds.push(out.steps.iter().map(|s| s.seconds).sum());
        }
    }
    Ok(out)
}

/// What the steps of an epoch have to do, by the names of their phases.
fn works(engine: &Engine<'_>, steps: &[StepTime]) -> Vec<(String, Work)> {
    let mut out: Vec<(String, Work)> = Vec::new();
    let mut add = |name: String, work: Work, again: bool| match out.iter_mut().find(|(n, _)| *n == name) {
        Some((_, sum)) if again => sum.add(work),
        Some(_) => {}
        None => out.push((name, work)),
    };
    for s in steps {
        if s.aggregation > 0.0 {
            add(aggregation_of(s.step), engine.aggregation_work(aggregated(s.step)), true);
        }
        // The batches of a training step are counted for the whole epoch.
        let refresh = matches!(s.step, Step::RefreshX(_) | Step::RefreshAlpha(_));
        add(s.step.to_string(), engine.step_work(s.step), refresh);
    }
    out
}

/// Scores as after an epoch of training.
struct Evaluation<'a> {
    sides: &'a Sides,
    config: &'a Config,
    data: &'a Dataset,
    /// Whose embeddings the scored nodes need, layer by layer.
    reach: Vec<Vec<u32>>,
}

impl<'a> Evaluation<'a> {
    fn new(engine: &Engine<'_>, sides: &'a Sides, config: &'a Config, data: &'a Dataset) -> Self {
        Self { sides, config, data, reach: engine.network().reach(&sides.full, &data.split.scored()) }
    }

    fn scored(&self) -> &[u32] {
        self.reach.last().expect("one list for each layer")
    }

    /// Whether the caches of training are those of the graph that is scored.
    fn uses_caches(&self) -> bool {
        self.config.train.setting == Setting::Transductive
    }

    /// What it costs after an epoch.
    fn work(&self, engine: &Engine<'_>) -> Work {
        let cached = self.uses_caches().then(|| engine.logits_work(self.scored())).flatten();
        cached.unwrap_or_else(|| work::inference(engine.network(), &self.sides.full, &self.reach))
    }

    fn run(&self, engine: &mut Engine<'_>) {
        let cached = self.uses_caches().then(|| engine.logits(self.scored())).flatten();
        let infer = || engine.infer_for(&self.sides.full, &self.reach);
        let logits = cached.map_or_else(infer, Ok).expect("nobody can ask to stop");
        let metric = self.config.select.metric.or(Metric::default_for(&self.data.labels));
        for rows in [&self.data.split.val, &self.data.split.test] {
            std::hint::black_box(metric.score(&logits, &self.data.labels, rows));
        }
    }
}

/// The sparse products of an epoch alone, one for each width.
fn aggregations(network: &Network, sides: &Sides, all: &Work, machine: &Machine) -> Vec<Aggregation> {
    let side = &sides.train;
    let layer = network.layers().iter().find(|l| l.look.is_linear());
    let Some(operator) = layer.map(|l| side.operator(l, 0)) else { return Vec::new() };
    let entries = operator.graph().columns().len();
    let mut widths: Vec<usize> = all.gathered.iter().filter(|g| g.summed).map(|g| g.cols).collect();
    widths.sort_unstable();
    widths.dedup();
    let one = |cols: usize| {
        let (x, mut out) = (operator.apply(&Mat::zeros(side.nodes(), cols)), Mat::zeros(side.nodes(), cols));
        let time = |out: &mut Mat| {
            let watch = Stopwatch::new();
            operator.apply_to(&x, out);
            watch.seconds()
        };
        let seconds = (0..5).map(|_| time(&mut out)).fold(f64::INFINITY, f64::min);
        let mut work = Work::default();
        work.sum(side.nodes(), (cols, Storage::F32), entries, side.nodes());
        Aggregation {
            cols,
            seconds,
            gbytes: work.bytes() / seconds / 1e9,
            limit_gbytes: machine.gather(side.nodes(), cols) / 1e9,
            share: machine.memory_seconds(&work) / seconds,
        }
    };
    widths.into_iter().map(one).collect()
}

fn rates(work: &Work, machine: &Machine) -> Vec<Rate> {
    let mut products: Vec<Product> = work.products.iter().map(|r| r.product).collect();
    products.sort_unstable();
    products.dedup();
    let rate = |product: Product| {
        let flops = machine.product(product);
        Rate { product, gflops: flops / 1e9, share: flops / machine.peak() }
    };
    products.into_iter().map(rate).collect()
}

//! `fit`: from a dataset and a configuration to the best model on validation, with events on the way.
//!
//! Files: `start` (choices left to the data), `course` (epoch after epoch, checkpoints, divergence), `memory` (what it
//! will allocate).

mod course;
mod memory;
mod start;
#[cfg(test)]
mod tests;

pub use memory::{Item, Outline, memory, memory_of};
pub use start::Trials;

use crate::checkpoint::Checkpoint;
use crate::config::{Auto, Config, HIDDEN, Head, INITIAL, NetworkConfig, Order, Scaling, Setting, Start};
use crate::constant::Constant;
use crate::latent;
use crate::layers::Jump;
use crate::lazy::Engine;
use crate::loss::{LossOptions, TaskLoss, balanced_weights};
use crate::metrics::Metric;
use crate::model::{Model, ModelShape, Preprocess};
use crate::network::Network;
use crate::observe::{HistoryPoint, Observer, Report, Seconds, Stopwatch};
use crate::side::{Graphs, Side, Sides};
use crate::{Dataset, Error, Features, Interrupt, Labels, Mat, Result, Storage, communities};
use course::{Begun, Course};
use start::FEW_ROWS;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

/// A finished run.
pub struct Trained {
    /// The model of the best validation score.
    pub model: Model,
    /// How it went.
    pub report: Report,
    /// What the run had made of its data for this model.
    seen: Option<Seen>,
}

/// Data as a network sees it.
struct Seen {
    side: Arc<Side>,
    /// Where the run has put each node, if not at its own place.
    places: Option<Vec<u32>>,
}

impl Trained {
    /// Logits of every node of `data`, which the run was given: [`Model::predict_until`] without preparing the data again. Where
    /// the run had put nodes in another order, sums are rounded otherwise.
    pub fn logits(&self, data: &Dataset, interrupt: &Interrupt) -> Result<Mat> {
        let Some(Seen { side, places }) = &self.seen else {
            return self.model.predict_until(data, interrupt);
        };
        let logits = self.model.network().infer_until(side, interrupt)?;
        Ok(match places {
            Some(places) => logits.select(places),
            None => logits,
        })
    }
}

/// Trains a network and keeps the model with the best validation score.
///
/// ```
/// use iglu::config::{Auto, Config};
/// use iglu::{Dataset, EdgeOptions, Features, Graph, Labels, Mat, Split, observe, run};
/// // Two groups of nodes; the features say which.
/// let n = 40;
/// let edges: Vec<[u32; 2]> = (0..n - 2).map(|i| [i, i + 2]).collect();
/// let x = Mat::from_vec(n as usize, 1, (0..n).map(|i| (i % 2) as f32).collect());
/// let graph = Graph::from_edges(n as usize, &edges, EdgeOptions::default())?;
/// let labels = Labels::Classes { ids: (0..n as i32).map(|i| i % 2).collect(), classes: 2 };
/// let split = Split { train: (0..20).collect(), val: (20..30).collect(), test: (30..40).collect() };
/// let data = Dataset::new("stripes", graph, Features::Dense(x), labels, split);
/// let mut config = Config::default();
/// config.network.hidden = Auto::Set(8);
/// let trained = run::fit(&config, &data, &mut observe::Silent)?;
/// assert_eq!(trained.report.test, Some(1.0));
/// let logits = trained.model.predict(&data)?;
/// assert_eq!((logits.rows(), logits.cols()), (40, 2));
/// # Ok::<(), iglu::Error>(())
/// ```
pub fn fit(config: &Config, data: &Dataset, observer: &mut dyn Observer) -> Result<Trained> {
    Fit::new(config, data).run(observer)
}

/// The data of a run.
///
/// ```
/// # use iglu::{Dataset, EdgeOptions, Features, Graph, Labels, Mat, Split, config::Config};
/// use iglu::{observe, run::Fit};
/// # let graph = Graph::from_edges(3, &[[0, 1]], EdgeOptions::default())?;
/// # let labels = Labels::Classes { ids: vec![0, 1, 0], classes: 2 };
/// # let split = Split { train: vec![0, 1], val: vec![2], test: vec![] };
/// # let mut data = Dataset::new("three", graph, Features::Dense(Mat::zeros(3, 1)), labels, split);
/// # let config = Config::default();
/// Fit::new(&config, &data).run(&mut observe::Silent)?;
/// assert_eq!(data.features.rows(), 3);
/// Fit::new(&config, &mut data).run(&mut observe::Silent)?;
/// assert_eq!(data.features.rows(), 0);
/// # Ok::<(), iglu::Error>(())
/// ```
pub enum Given<'a> {
    /// Stays as it is: the run scales features of its own.
    Lent(&'a Dataset),
    /// The run may have the features, and scales them where they are: nobody needs them after it.
    Spent(&'a mut Dataset),
}

impl<'a> From<&'a Dataset> for Given<'a> {
    fn from(data: &'a Dataset) -> Self {
        Self::Lent(data)
    }
}

impl<'a> From<&'a mut Dataset> for Given<'a> {
    fn from(data: &'a mut Dataset) -> Self {
        Self::Spent(data)
    }
}

impl Given<'_> {
    /// The data, as much as there still is.
    pub fn get(&self) -> &Dataset {
        match self {
            Self::Lent(data) => data,
            Self::Spent(data) => data,
        }
    }

    /// The same for a while.
    pub fn again(&mut self) -> Given<'_> {
        match self {
            Self::Lent(data) => Given::Lent(data),
            Self::Spent(data) => Given::Spent(data),
        }
    }

    /// The features, for the run to change.
    fn features(&mut self) -> Features {
        match self {
            Self::Lent(data) => data.features.clone(),
            Self::Spent(data) => data.take_features(),
        }
    }

    /// The run has other features now.
    fn rest(&mut self) {
        match self {
            Self::Lent(data) => data.features.rest(),
            Self::Spent(data) => data.take_features().rest(),
        }
    }
}

/// A run to be: [`fit`] with what else can be asked for.
///
/// ```
/// # use iglu::config::{Auto, Config};
/// # use iglu::{Dataset, EdgeOptions, Features, Graph, Labels, Mat, Split};
/// use iglu::{Interrupt, observe, run::Fit};
/// # let graph = Graph::from_edges(3, &[[0, 1]], EdgeOptions::default())?;
/// # let labels = Labels::Classes { ids: vec![0, 1, 0], classes: 2 };
/// # let split = Split { train: vec![0, 1], val: vec![2], test: vec![] };
/// # let data = Dataset::new("three", graph, Features::Dense(Mat::zeros(3, 1)), labels, split);
/// # let config = Config::default();
/// let interrupt = Interrupt::new();
/// interrupt.request();
/// let stopped = Fit::new(&config, &data).interrupt(&interrupt).run(&mut observe::Silent);
/// assert_eq!(stopped.err().map(|e| e.exit_code()), Some(130));
/// # Ok::<(), iglu::Error>(())
/// ```
pub struct Fit<'a> {
    config: &'a Config,
    data: Given<'a>,
    interrupt: Interrupt,
    trials: Trials,
    from: Option<Checkpoint>,
    #[cfg(test)]
    pub(crate) fault: Option<course::Fault>,
}

impl<'a> Fit<'a> {
    /// Training from the beginning, with nobody to interrupt it.
    pub fn new(config: &'a Config, data: impl Into<Given<'a>>) -> Self {
        Self {
            config,
            data: data.into(),
            interrupt: Interrupt::new(),
            trials: Trials::default(),
            from: None,
            #[cfg(test)]
            fault: None,
        }
    }

    /// Stops within a mini-batch when asked to. The best model so far is the result, if there is one.
    #[must_use]
    pub fn interrupt(mut self, interrupt: &Interrupt) -> Self {
        self.interrupt = interrupt.clone();
        self
    }

    /// How settings that are left to the data are tried out; the result is the same.
    #[must_use]
    pub fn trials(mut self, trials: Trials) -> Self {
        self.trials = trials;
        self
    }

    /// Goes on from a checkpoint of a run with the same configuration and data; who has it checks that.
    #[must_use]
    pub fn resume(mut self, from: Checkpoint) -> Self {
        self.from = Some(from);
        self
    }

    /// Trains; the result is the model with the best validation score.
    pub fn run(mut self, observer: &mut dyn Observer) -> Result<Trained> {
        self.config.validate()?;
        let given = self.data.get();
        given.validate()?;
        if given.split.train.is_empty() {
            let fix = "list at least one labelled node under `train`";
            return Err(Error::data("train", "no training node", fix));
        }
        let from = self.from.take();
        #[cfg(test)]
        let fault = self.fault;
        let watch = Stopwatch::new();
        let completed = latent::complete(&self.config.network, self.config.train.setting, given)?;
        let reordered = reordered(self.config, completed.as_ref().unwrap_or(given));
        let order = reordered.as_ref().and_then(|data| data.order.as_ref());
        let places = order.map(|order| order.new_places().to_vec());
        let run = Run::prepare(&mut self, reordered.or(completed), watch);
        let course = match from {
            None => Course::begin(&run, observer)?,
            Some(checkpoint) => Begun::Course(Course::resume(&run, checkpoint)?.into()),
        };
        let mut trained = match course {
            Begun::Over(over) => over.end(&run),
            Begun::Course(mut course) => {
                #[cfg(test)]
                course.sabotage(fault);
                match course.go(observer)? {
                    Some(over) => over.end(&run),
                    None => course.end()?,
                }
            }
        };
        if let Some(seen) = &mut trained.seen {
            seen.places = places;
        }
        Ok(trained)
    }
}

/// Epochs where nothing else is known.
const EPOCHS: usize = 10;

/// Above this number of columns the first product dominates the time, and the network is made a quarter narrower.
const WIDE_INPUT: usize = 1024;

/// Constant hops cost nothing per epoch but widen the first product: as many as stay cheap, at most 3.
fn hops(data: &Outline) -> usize {
    const WIDEST: usize = 2400;
    if data.sparse { 1 } else { (WIDEST / data.shape.features.max(1)).saturating_sub(1).clamp(1, 3) }
}

/// Decides every `auto` that depends on the data.
pub fn resolve(config: &Config, data: &Dataset) -> Config {
    let mut c = decide(config, &Outline::of(data));
    c.network.degree_scale = Auto::Set(c.network.degree_scale.or(mean_log_degree(data)));
    c
}

/// Decides every `auto` that depends on counts.
fn decide(config: &Config, data: &Outline) -> Config {
    let mut c = config.clone();
    let epochs = match (c.train.order, data.shape.multi_label) {
        (Order::Exact, _) => 200,
        (_, true) => 25,
        (_, false) => EPOCHS,
    };
    c.train.epochs = Auto::Set(c.train.epochs.or(epochs));
    c.train.passes = Auto::Set(crate::lazy::passes(&c));
    c.train.average = Auto::Set(crate::lazy::average(&c, data.train));
    c.network.hops = Auto::Set(c.network.hops.or(hops(data)));
    let inputs = data.shape.features * (1 + c.network.hops.or(1));
    c.network.hidden =
        Auto::Set(c.network.hidden.or(if inputs > WIDE_INPUT { HIDDEN * 3 / 4 } else { HIDDEN }));
    c.network.jump = Auto::Set(c.network.jump.or(jump(&c.network, data)));
    c.network.initial = Auto::Set(c.network.initial.or(initial(&c.network)));
    let metric = if data.shape.multi_label { Metric::F1Micro } else { Metric::Accuracy };
    c.select.metric = Auto::Set(c.select.metric.or(metric));
    let scaling = if data.sparse { Scaling::Row } else { Scaling::Standard };
    c.data.features = Auto::Set(c.data.features.or(scaling));
    c.network.cache = Auto::Set(c.network.cache.or(storage(&c, data)));
    c.data.reorder = Auto::Set(c.data.reorder.or(reordering_pays(&c, data)));
    c
}

/// How tables are kept: in half the memory where they are large, since what rounding costs cannot be told from chance
/// (docs/defaults.md). The order `exact` is what others are compared with, and rounds nothing.
fn storage(config: &Config, data: &Outline) -> Storage {
    const MOST_NUMBERS: usize = 128 << 20;
    let n = &config.network;
    let numbers = data.dense_inputs(n.hops.or(1)) + data.nodes * n.layers * n.hidden.or(HIDDEN);
    let large = numbers > MOST_NUMBERS && config.train.order != Order::Exact;
    if large { Storage::Bf16 } else { Storage::F32 }
}

/// What the classifier reads: of a deep `gcnii` every layer, where there are training nodes enough to learn from so many columns.
fn jump(network: &NetworkConfig, data: &Outline) -> Jump {
    const DEEP: usize = 4;
    let deep = network.layer == "gcnii" && network.layers >= DEEP;
    if deep && network.head == Head::Linear && data.train >= FEW_ROWS { Jump::Concat } else { Jump::None }
}

/// Share of the first embedding in every layer: the classifier that reads all of them has that one anyway, so the deeper the
/// network the less is mixed in.
fn initial(network: &NetworkConfig) -> f64 {
    const IN_ALL: f64 = 0.32;
    let deep = network.layer == "gcnii" && network.jumps() == Jump::Concat;
    if deep { INITIAL.min(IN_ALL / network.layers as f64) } else { INITIAL }
}

/// Bytes of an embedding that the last cache of most machines holds: then any order will do. A constant, so that a run
/// does not depend on the machine.
const CACHED: usize = 32 << 20;

/// Neighbours from which on products with the graph take enough of an epoch to repay the search for communities.
const READ_OFTEN: usize = 32;

/// Whether embeddings are too large for the caches, and rows are read often enough.
fn reordering_pays(config: &Config, data: &Outline) -> bool {
    let rows = match config.train.setting {
        Setting::Transductive => data.nodes,
        Setting::Inductive => data.train,
    };
    let bytes = rows * config.network.hidden.or(HIDDEN) * config.network.storage().bytes();
    let often = data.entries >= READ_OFTEN * data.nodes;
    config.network.layers > 1 && bytes > CACHED && often
}

/// The data with communities one after the other, where the configuration wants that and they are not yet.
///
/// Only training does this, on data of its own: whatever has a row for each node is in the order of the file.
pub fn reordered(config: &Config, data: &Dataset) -> Option<Dataset> {
    let wanted = resolve(config, data).data.reorder.or(false) && data.order.is_none();
    wanted.then(|| data.reordered(&communities::order(&data.graph)))
}

/// Mean of `ln(degree + 1)` over the training nodes; 1 where all are isolated.
fn mean_log_degree(data: &Dataset) -> f64 {
    let of = |&v: &u32| (data.graph.neighbours(v as usize).len() as f64).ln_1p();
    let mean = data.split.train.iter().map(of).sum::<f64>() / data.split.train.len().max(1) as f64;
    if mean > 0.0 { mean } else { 1.0 }
}

/// Everything made before training.
struct Run<'a> {
    config: Config,
    /// Without its features, where they are the run's own.
    data: Cow<'a, Dataset>,
    outline: Outline,
    shape: ModelShape,
    preprocess: Preprocess,
    features: Arc<Constant>,
    labels: Labels,
    rows: Vec<u32>,
    loss: LossOptions,
    metric: Metric,
    watch: Stopwatch,
    interrupt: Interrupt,
    trials: Trials,
    /// The configuration before anything was decided.
    asked: Config,
    /// Validation and test nodes, in order.
    scored: Vec<u32>,
    /// What their logits depend on, once somebody has asked. Whatever is tried out, neighbours stay the same.
    reach: OnceLock<Vec<Vec<u32>>>,
}

/// Whose logits are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// Those of all nodes.
    All,
    /// Those of validation and test nodes; rows of other nodes say nothing.
    Scored,
}

impl<'a> Run<'a> {
    /// `own` is what the run has made of the given data, if anything.
    fn prepare(fit: &'a mut Fit<'_>, mut own: Option<Dataset>, watch: Stopwatch) -> Self {
        let data = own.as_ref().unwrap_or(fit.data.get());
        let config = resolve(fit.config, data);
        let (shape, outline) = (ModelShape::of(data), Outline::of(data));
        let scaling = config.data.features.or(Scaling::Raw);
        let preprocess = Preprocess::learn(scaling, &data.features, &data.split.train);
        let given = own.as_mut().map_or_else(|| fit.data.features(), Dataset::take_features);
        let features = Arc::new(Constant::new(preprocess.apply(given), config.constants()));
        if own.is_some() || scaling != Scaling::Raw {
            // Training reads its own.
            fit.data.rest();
        }
        let (interrupt, asked, trials) = (fit.interrupt.clone(), fit.config.clone(), fit.trials);
        let data = own.map_or_else(|| Cow::Borrowed(fit.data.get()), Cow::Owned);
        let metric = config.select.metric.or(Metric::default_for(&data.labels));
        let (labels, rows) = Sides::training(&data, config.train.setting);
        let scored = data.split.scored();
        let mut loss = LossOptions {
            class_weights: config.loss.class_weights.clone(),
            smoothing: config.loss.smoothing,
        };
        if config.loss.balanced {
            loss.class_weights = balanced_weights(&labels, &rows);
        }
        Self {
            config,
            data,
            outline,
            shape,
            preprocess,
            features,
            labels,
            rows,
            loss,
            metric,
            watch,
            interrupt,
            trials,
            asked,
            scored,
            reach: OnceLock::new(),
        }
    }

    /// The graph's sides, and an engine with fresh parameters.
    fn engine(&self, config: &Config) -> Result<(Sides, Engine<'_>)> {
        self.interrupt.check()?;
        let fresh = Network::new(&config.network, &self.shape, config.seed)?;
        let hears = matches!(config.train.start, Auto::Set(Start::Hops | Start::Both));
        if hears && !fresh.has_hops() {
            let found = format!(
                "a start with hops, but the first layer of {} hears nobody before it is trained",
                config.network.layer
            );
            return Err(Error::usage("train.start", found, "use mlp"));
        }
        let sides = Sides::new(&self.data, &self.features, &fresh, config.train.setting);
        self.interrupt.check()?;
        let loss = TaskLoss::new(&self.labels, &self.rows, &self.loss)?;
        let mut engine = Engine::new(config, fresh, sides.train.clone(), loss, self.rows.clone());
        engine.set_interrupt(&self.interrupt);
        Ok((sides, engine))
    }

    /// All nodes as a network sees them.
    fn side(&self, network: &Network) -> Arc<Side> {
        Side::new(&Graphs::of(&self.data), self.features.clone(), network).into()
    }

    /// Reads the logits of nodes of the full graph.
    fn read_logits<T>(
        &self,
        engine: &mut Engine<'_>,
        sides: &Sides,
        whose: Whose,
        read: impl FnOnce(&Mat) -> T,
    ) -> Result<T> {
        let logits = self.logits(engine, sides, whose)?;
        let out = read(&logits);
        engine.give_back(logits);
        Ok(out)
    }

    /// Makes them: from the caches where those are fresh, else by inference.
    fn logits(&self, engine: &mut Engine<'_>, sides: &Sides, whose: Whose) -> Result<Mat> {
        let nodes = match whose {
            Whose::All => Cow::Owned((0..sides.full.nodes() as u32).collect()),
            Whose::Scored => Cow::Borrowed(&self.scored),
        };
        if self.config.train.setting == Setting::Transductive
            && let Some(logits) = engine.logits(&nodes)
        {
            return Ok(logits);
        }
        let reach = || engine.network().reach(&sides.full, &nodes);
        match whose {
            Whose::All => engine.infer_for(&sides.full, &reach()),
            Whose::Scored => engine.infer_for(&sides.full, self.reach.get_or_init(reach)),
        }
    }

    /// Score of some nodes, where they have labels.
    fn score_of(&self, logits: &Mat, rows: &[u32]) -> Option<f64> {
        self.metric.score(logits, &self.data.labels, rows)
    }

    fn point(&self, logits: &Mat, epoch: usize, train_seconds: f64, loss: f64) -> HistoryPoint {
        let [val, test] =
            [&self.data.split.val, &self.data.split.test].map(|rows| self.score_of(logits, rows));
        HistoryPoint { epoch, train_seconds, loss, val, test }
    }
    /// A trained network with everything that predictions need.
    fn model(&self, config: Config, network: Network) -> Model {
        Model::new(config, self.shape, self.preprocess.clone(), network)
    }

    /// What is known of a run however it ended: the scores of its best network, and the time.
    fn report(&self, best: HistoryPoint, seconds: Seconds) -> Report {
        Report {
            metric: self.metric.name(),
            best_epoch: best.epoch,
            val: best.val,
            test: best.test,
            epochs: 0,
            seconds,
            seconds_per_epoch: 0.0,
            start: None,
            history: Vec::new(),
            bias: Vec::new(),
            threads: rayon::current_num_threads(),
            seed: self.config.seed,
            params: 0,
            rate_factor: 1.0,
            interrupted: false,
        }
    }
}

//! `fit`: from a dataset and a configuration to the best model on validation, with events on the way.

use crate::config::{Auto, Config, HIDDEN, LazyDropout, Order, Proximal, Scaling, Setting, Start};
use crate::latent;
use crate::lazy::Engine;
use crate::loss::{LossOptions, TaskLoss, balanced_weights};
use crate::metrics::Metric;
use crate::model::{Model, ModelShape, Preprocess};
use crate::network::Network;
use crate::observe::{Control, Event, HistoryPoint, Observer, Report, Seconds, Stopwatch};
use crate::optim::{Progress, Schedule};
use crate::side::Sides;
use crate::{Dataset, Error, Features, Labels, Mat, Norm, Result};
use std::sync::Arc;

/// A finished run.
pub struct Trained {
    /// The model of the best validation score.
    pub model: Model,
    /// How it went.
    pub report: Report,
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
    config.validate()?;
    data.validate()?;
    if data.split.train.is_empty() {
        return Err(Error::data(
            "train",
            "no training node",
            "list at least one labelled node under `train`",
        ));
    }
    let config = resolve(config, data);
    match latent::complete(&config.network, config.train.setting, data)? {
        Some(data) => Run::prepare(config, &data).train(observer),
        None => Run::prepare(config, data).train(observer),
    }
}

/// Below this number of training rows lazy dropout is expected to help, above it is not.
const FEW_ROWS: usize = 4096;

/// By how much the kind of lazy dropout that was not expected must be better after one epoch.
const CLEARLY: f64 = 0.005;

/// Epochs where nothing else is known.
const EPOCHS: usize = 10;

/// Learning rate of the exact epochs at the end, as a share of `optim.lr` (see [`Engine::polish`]).
const POLISH_RATE: f64 = 0.1;

/// Above this number of columns the first product dominates the time, and the network is made a quarter narrower.
const WIDE_INPUT: usize = 1024;

/// Constant hops cost nothing per epoch but widen the first product: as many as stay cheap, at most 3.
fn hops(features: &Features) -> usize {
    const WIDEST: usize = 2400;
    match features {
        Features::Sparse(_) => 1,
        Features::Dense(m) => (WIDEST / m.cols().max(1)).saturating_sub(1).clamp(1, 3),
    }
}

/// Decides every `auto` that depends on the data.
pub fn resolve(config: &Config, data: &Dataset) -> Config {
    let mut c = config.clone();
    let multi = matches!(data.labels, Labels::Multi { .. });
    let epochs = match (c.train.order, multi) {
        (Order::Exact, _) => 200,
        (_, true) => 25,
        (_, false) => EPOCHS,
    };
    c.train.epochs = Auto::Set(c.train.epochs.or(epochs));
    c.train.passes = Auto::Set(crate::lazy::passes(&c));
    c.network.hops = Auto::Set(c.network.hops.or(hops(&data.features)));
    let inputs = data.features.cols() * (1 + c.network.hops.or(1));
    c.network.hidden =
        Auto::Set(c.network.hidden.or(if inputs > WIDE_INPUT { HIDDEN * 3 / 4 } else { HIDDEN }));
    c.select.metric = Auto::Set(c.select.metric.or(Metric::default_for(&data.labels)));
    let scaling = match data.features {
        Features::Dense(_) => Scaling::Standard,
        Features::Sparse(_) => Scaling::Row,
    };
    c.data.features = Auto::Set(c.data.features.or(scaling));
    c.network.degree_scale = Auto::Set(c.network.degree_scale.or(mean_log_degree(data)));
    c
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
    data: &'a Dataset,
    shape: ModelShape,
    preprocess: Preprocess,
    features: Arc<Features>,
    labels: Labels,
    rows: Vec<u32>,
    loss: LossOptions,
    metric: Metric,
    watch: Stopwatch,
}

/// A network that has been started; where there was a choice, one epoch further.
struct Candidate<'r> {
    config: Config,
    sides: Sides,
    engine: Engine<'r>,
    start_loss: Option<f64>,
    /// Scores after the first epoch, if that has been run.
    first: Option<HistoryPoint>,
}

impl Candidate<'_> {
    fn beats(&self, other: &Self, margin: f64) -> bool {
        let score = |c: &Self| c.first.and_then(|p| p.val).unwrap_or(f64::NEG_INFINITY);
        score(self) > score(other) + margin
    }
}

/// A setting to try, and by how much it has to be better to be taken.
struct Change {
    apply: Box<dyn Fn(&mut Config)>,
    margin: f64,
}

impl Change {
    fn new(margin: f64, apply: impl Fn(&mut Config) + 'static) -> Self {
        Self { apply: Box::new(apply), margin }
    }
}

/// A network after its start (`operator: None`), or settled on a graph.
struct StartState {
    start: (usize, f64),
    operator: Option<Auto<Norm>>,
    network: Network,
    loss: Option<f64>,
}

/// What candidates can take over from earlier ones.
#[derive(Default)]
struct Started(Vec<StartState>);

impl Started {
    /// The furthest state that fits a configuration.
    fn find(&self, config: &Config) -> Option<&StartState> {
        let start = (config.train.start_epochs, config.train.start_dropout);
        let fitting = |operator| self.0.iter().find(|s| s.start == start && s.operator == operator);
        fitting(Some(config.network.operator)).or_else(|| fitting(None))
    }
}

/// The best state seen.
struct Best {
    point: HistoryPoint,
    network: Network,
    evaluations_since: usize,
}

impl<'a> Run<'a> {
    fn prepare(config: Config, data: &'a Dataset) -> Self {
        let watch = Stopwatch::new();
        let shape = ModelShape::of(data);
        let preprocess =
            Preprocess::learn(config.data.features.or(Scaling::Raw), &data.features, &data.split.train);
        let features = Arc::new(preprocess.apply(&data.features));
        let metric = config.select.metric.or(Metric::default_for(&data.labels));
        let (labels, rows) = Sides::training(data, config.train.setting);
        let mut loss = LossOptions {
            class_weights: config.loss.class_weights.clone(),
            smoothing: config.loss.smoothing,
        };
        if config.loss.balanced {
            loss.class_weights = balanced_weights(&labels, &rows);
        }
        Self { config, data, shape, preprocess, features, labels, rows, loss, metric, watch }
    }

    /// Logits of all nodes of the full graph: from the caches where those are fresh, else by inference.
    fn logits(&self, engine: &mut Engine<'_>, sides: &Sides) -> Mat {
        let cached = if self.config.train.setting == Setting::Transductive { engine.logits() } else { None };
        cached.unwrap_or_else(|| engine.network().infer(&sides.full))
    }

    /// Whether alternatives can be tried: two engines live side by side meanwhile, and validation has to tell.
    fn can_try(&self) -> bool {
        const MOST_VALUES: usize = 128 << 20;
        let values =
            self.data.graph.nodes() * self.config.network.hidden.or(HIDDEN) * self.config.network.layers;
        !self.data.split.val.is_empty() && values <= MOST_VALUES
    }

    /// The configuration to start from, and the changes to try one after the other, each on the best so far.
    fn questions(&self) -> (Config, Vec<Change>) {
        let mut base = self.config.clone();
        let mut changes: Vec<Change> = Vec::new();
        let (t, n) = (&mut base.train, &mut base.network);
        if t.start == Start::Auto {
            t.start = Start::Mlp;
            (t.start_epochs, t.start_dropout) = (10, 0.2);
            for (epochs, dropout) in [(0, 0.2), (3, 0.2), (3, 0.5), (10, 0.5)] {
                changes.push(Change::new(0.0, move |c| {
                    (c.train.start_epochs, c.train.start_dropout) = (epochs, dropout);
                }));
            }
        }
        let lazy = t.order == Order::Inverted && t.proximal != Proximal::Off && n.layers > 1;
        if t.lazy_dropout == Auto::Auto {
            let few = lazy && self.rows.len() < FEW_ROWS;
            let (likely, other) = if few {
                (LazyDropout::Free, LazyDropout::Off)
            } else {
                (LazyDropout::Off, LazyDropout::Free)
            };
            t.lazy_dropout = Auto::Set(likely);
            if lazy {
                changes.push(Change::new(CLEARLY, move |c| c.train.lazy_dropout = Auto::Set(other)));
            }
        }
        if n.operator == Auto::Auto && n.layer == "sage" {
            n.operator = Auto::Set(Norm::Mean);
            changes.push(Change::new(0.0, |c| c.network.operator = Auto::Set(Norm::Sym)));
        }
        if !self.can_try() {
            changes.clear();
        }
        (base, changes)
    }

    /// Starts the network; where something is left to the data, whatever is best on the validation nodes after one
    /// epoch.
    fn start(&self, seconds: &mut Seconds) -> Result<Candidate<'_>> {
        let (base, changes) = self.questions();
        let mut started = Started::default();
        let mut best = self.candidate(base, &mut started, seconds)?;
        if !changes.is_empty() {
            self.try_epoch(&mut best, seconds)?;
        }
        for change in changes {
            let mut config = best.config.clone();
            (change.apply)(&mut config);
            let mut other = self.candidate(config, &mut started, seconds)?;
            self.try_epoch(&mut other, seconds)?;
            if other.beats(&best, change.margin) {
                best = other;
            }
        }
        Ok(best)
    }

    /// One choice, started. The start sees no graph, so what follows it can share it.
    fn candidate(
        &self,
        config: Config,
        started: &mut Started,
        seconds: &mut Seconds,
    ) -> Result<Candidate<'_>> {
        let mut clock = Stopwatch::new();
        let fresh = Network::new(&config.network, &self.shape, config.seed)?;
        let sides = Sides::new(self.data, &self.features, &fresh, config.train.setting);
        seconds.prepare += clock.lap();
        let loss = TaskLoss::new(&self.labels, &self.rows, &self.loss)?;
        let mut engine = Engine::new(&config, fresh, sides.train.clone(), loss, self.rows.clone());
        let start = (config.train.start_epochs, config.train.start_dropout);
        let (loss, settled) = if let Some(known) = started.find(&config) {
            engine.network_mut().take_params(&known.network);
            (known.loss, known.operator.is_some())
        } else {
            let loss = engine.warm_start()?;
            started.0.push(StartState { start, operator: None, network: engine.network().clone(), loss });
            (loss, false)
        };
        engine.settle(loss.is_some() && !settled)?;
        if !settled {
            let operator = Some(config.network.operator);
            started.0.push(StartState { start, operator, network: engine.network().clone(), loss });
        }
        seconds.start += clock.lap();
        Ok(Candidate { config, sides, engine, start_loss: loss, first: None })
    }

    /// The first epoch of a candidate, scored.
    fn try_epoch(&self, candidate: &mut Candidate<'_>, seconds: &mut Seconds) -> Result<()> {
        let mut clock = Stopwatch::new();
        let loss = candidate.engine.epoch(0, candidate.config.train.epochs.or(EPOCHS))?;
        seconds.start += clock.lap();
        let point = self.score(&mut candidate.engine, &candidate.sides, 1, seconds.start, loss);
        candidate.first = Some(point);
        seconds.eval += clock.lap();
        Ok(())
    }

    fn train(self, observer: &mut dyn Observer) -> Result<Trained> {
        let mut seconds = Seconds { prepare: self.watch.seconds(), ..Seconds::default() };
        let Candidate { config, sides, mut engine, start_loss, first } = self.start(&mut seconds)?;
        // Whatever else was tried before the first epoch counts as training time, too.
        let first = first.map(|point| HistoryPoint { train_seconds: seconds.start, ..point });
        observer.event(&Event::Prepared {
            params: engine.network().params(),
            config: Box::new(config.clone()),
            seconds: seconds.prepare,
        });
        if let Some(loss) = start_loss {
            observer.event(&Event::Started { loss, seconds: seconds.start });
        }
        let mut clock = Stopwatch::new();
        seconds.train = seconds.start;
        // Refreshes and passes of the start are part of the start.
        let before = engine.seconds();
        let epochs = config.train.epochs.or(EPOCHS) + config.train.polish;
        let mut history: Vec<HistoryPoint> = Vec::new();
        let mut best: Option<Best> = None;
        let mut ran = 0;
        while ran < epochs {
            clock.lap();
            let tried = first.filter(|_| ran == 0);
            let told = if ran == 0 { 0 } else { engine.telemetry().len() };
            let loss = tried.map_or_else(|| one_epoch(&mut engine, &config, ran), |point| Ok(point.loss))?;
            seconds.train += clock.lap();
            ran += 1;
            for point in &engine.telemetry()[told..] {
                observer.event(&Event::Refreshed(point.clone()));
            }
            let due = ran % config.select.eval_every == 0 || ran == epochs;
            let mut score =
                || tried.unwrap_or_else(|| self.score(&mut engine, &sides, ran, seconds.train, loss));
            let scores = due.then(&mut score);
            let improved = scores.is_some_and(|point| keep_best(&mut best, point, engine.network()));
            history.extend(scores);
            seconds.eval += clock.lap();
            let event = Event::Epoch {
                epoch: ran,
                epochs,
                loss,
                scores,
                best: improved,
                rate: rate(&config, ran - 1),
                seconds: self.spent(&engine, before, seconds),
            };
            let waited = best.as_ref().map_or(0, |b| b.evaluations_since);
            let tired = config.select.patience > 0 && waited >= config.select.patience;
            if observer.event(&event) == Control::Stop || tired {
                break;
            }
        }
        let best = best.unwrap_or_else(|| {
            let point = self.score(&mut engine, &sides, ran, seconds.train, f64::NAN);
            Best { point, network: engine.network().clone(), evaluations_since: 0 }
        });
        let timed = ran - usize::from(first.is_some());
        let seconds = self.spent(&engine, before, seconds);
        let report = self.report(&engine, &best.point, history, (ran, timed), seconds);
        let model = Model::new(config, self.shape, self.preprocess.clone(), best.network);
        Ok(Trained { model, report })
    }

    /// Where the time went so far; the engine had spent `before` when the start ended.
    fn spent(&self, engine: &Engine<'_>, before: [f64; 2], seconds: Seconds) -> Seconds {
        let [refresh, passes] = engine.seconds();
        let total = self.watch.seconds();
        Seconds { refresh: refresh - before[0], passes: passes - before[1], total, ..seconds }
    }

    /// The report of a run of `ran` epochs, `timed` of them after the start.
    fn report(
        &self,
        engine: &Engine<'_>,
        best: &HistoryPoint,
        history: Vec<HistoryPoint>,
        (ran, timed): (usize, usize),
        seconds: Seconds,
    ) -> Report {
        Report {
            metric: self.metric.name(),
            best_epoch: best.epoch,
            val: best.val,
            test: best.test,
            epochs: ran,
            seconds,
            seconds_per_epoch: (seconds.train - seconds.start) / timed.max(1) as f64,
            history,
            bias: engine.telemetry().to_vec(),
            threads: rayon::current_num_threads(),
            seed: self.config.seed,
            params: engine.network().params(),
        }
    }

    fn score(
        &self,
        engine: &mut Engine<'_>,
        sides: &Sides,
        epoch: usize,
        train_seconds: f64,
        loss: f64,
    ) -> HistoryPoint {
        let logits = self.logits(engine, sides);
        let of = |rows: &[u32]| self.metric.score(&logits, &self.data.labels, rows);
        HistoryPoint {
            epoch,
            train_seconds,
            loss,
            val: of(&self.data.split.val),
            test: of(&self.data.split.test),
        }
    }
}

/// Epoch `epoch` (from 0): lazy, or one of the exact ones at the end.
fn one_epoch(engine: &mut Engine<'_>, config: &Config, epoch: usize) -> Result<f64> {
    let lazy = config.train.epochs.or(EPOCHS);
    if epoch < lazy { engine.epoch(epoch, lazy) } else { engine.polish() }
}

/// Learning rate at the begin of epoch `epoch` (from 0).
fn rate(config: &Config, epoch: usize) -> f64 {
    let lazy = config.train.epochs.or(EPOCHS);
    if epoch < lazy {
        Schedule::of(&config.optim).rate(config.optim.lr, Progress::of(epoch, lazy))
    } else {
        POLISH_RATE * config.optim.lr
    }
}

/// Keeps the state if its validation score is better; without validation nodes the latest is kept. Ties go to the
/// earlier epoch, NaN is never better.
fn keep_best(best: &mut Option<Best>, point: HistoryPoint, network: &Network) -> bool {
    let better = match (&best, point.val) {
        (None, _) | (_, None) => true,
        (Some(b), Some(v)) => b.point.val.is_none_or(|old| v > old),
    };
    if better {
        *best = Some(Best { point, network: network.clone(), evaluations_since: 0 });
    } else if let Some(b) = best {
        b.evaluations_since += 1;
    }
    better
}

//! `fit`: from a dataset and a configuration to the best model on validation, with events on the way.

use crate::config::{Auto, Config, LazyDropout, Order, Scaling, Setting, Start};
use crate::lazy::Engine;
use crate::loss::{LossOptions, TaskLoss, balanced_weights};
use crate::metrics::Metric;
use crate::model::{Model, ModelShape, Preprocess};
use crate::network::Network;
use crate::observe::{Control, Event, HistoryPoint, Observer, Report, Seconds, Stopwatch};
use crate::side::Sides;
use crate::{Dataset, Features, Labels, Mat, Result};
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
/// let data = Dataset {
///     name: "stripes".into(),
///     graph: Graph::from_edges(n as usize, &edges, EdgeOptions::default())?,
///     features: Features::Dense(x),
///     labels: Labels::Classes { ids: (0..n as i32).map(|i| i % 2).collect(), classes: 2 },
///     split: Split { train: (0..20).collect(), val: (20..30).collect(), test: (30..40).collect() },
/// };
/// let mut config = Config::default();
/// config.network.hidden = 8;
/// let trained = run::fit(&config, &data, &mut observe::Silent)?;
/// assert_eq!(trained.report.test, Some(1.0));
/// let logits = trained.model.predict(&data.graph, &data.features)?;
/// assert_eq!((logits.rows(), logits.cols()), (40, 2));
/// # Ok::<(), iglu::Error>(())
/// ```
pub fn fit(config: &Config, data: &Dataset, observer: &mut dyn Observer) -> Result<Trained> {
    config.validate()?;
    data.validate()?;
    let config = resolve(config, data);
    let mut run = Run::prepare(&config, data)?;
    if config.train.start == Start::Auto {
        let chosen = run.choose_start()?;
        run.config = chosen;
    }
    run.train(observer)
}

/// Below this number of training rows lazy layers are regularised (chosen on the validation nodes of ten graphs).
const FEW_ROWS: usize = 4096;

/// Constant hops cost nothing per epoch but widen the first product: as many as stay cheap, at most 3.
fn hops(features: &Features) -> usize {
    const WIDEST: usize = 1536;
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
        (_, false) => 10,
    };
    c.train.epochs = Auto::Set(c.train.epochs.or(epochs));
    c.train.passes = Auto::Set(crate::lazy::passes(&c));
    c.network.hops = Auto::Set(c.network.hops.or(hops(&data.features)));
    let few = data.split.train.len() < FEW_ROWS;
    c.train.lazy_dropout =
        Auto::Set(c.train.lazy_dropout.or(if few { LazyDropout::Free } else { LazyDropout::Off }));
    c.select.metric = Auto::Set(c.select.metric.or(Metric::default_for(&data.labels)));
    let scaling = match data.features {
        Features::Dense(_) => Scaling::Standard,
        Features::Sparse(_) => Scaling::Row,
    };
    c.data.features = Auto::Set(c.data.features.or(scaling));
    c
}

/// Everything made before training.
struct Run<'a> {
    config: Config,
    data: &'a Dataset,
    shape: ModelShape,
    preprocess: Preprocess,
    network: Network,
    sides: Sides,
    metric: Metric,
    watch: Stopwatch,
    prepare_seconds: f64,
}

/// The best state seen.
struct Best {
    point: HistoryPoint,
    network: Network,
    evaluations_since: usize,
}

impl<'a> Run<'a> {
    fn prepare(config: &Config, data: &'a Dataset) -> Result<Self> {
        let watch = Stopwatch::new();
        let shape = ModelShape {
            features: data.features.cols(),
            classes: data.labels.classes(),
            multi_label: matches!(data.labels, Labels::Multi { .. }),
        };
        let preprocess =
            Preprocess::learn(config.data.features.or(Scaling::Raw), &data.features, &data.split.train);
        let network = Network::new(&config.network, shape.features, shape.classes, config.seed)?;
        let features = Arc::new(preprocess.apply(&data.features));
        let sides = Sides::new(data, &features, &network, config.train.setting);
        let metric = config.select.metric.or(Metric::default_for(&data.labels));
        let prepare_seconds = watch.seconds();
        Ok(Self {
            config: config.clone(),
            data,
            shape,
            preprocess,
            network,
            sides,
            metric,
            watch,
            prepare_seconds,
        })
    }

    fn engine(&self) -> Result<Engine<'_>> {
        let mut options = LossOptions {
            class_weights: self.config.loss.class_weights.clone(),
            smoothing: self.config.loss.smoothing,
        };
        if self.config.loss.balanced {
            options.class_weights = balanced_weights(&self.sides.labels, &self.sides.rows);
        }
        let loss = TaskLoss::new(&self.sides.labels, &self.sides.rows, &options)?;
        Ok(Engine::new(
            &self.config,
            self.network.clone(),
            self.sides.train.clone(),
            loss,
            self.sides.rows.clone(),
        ))
    }

    /// Logits of all nodes of the full graph: from the caches where those are fresh, else by inference.
    fn logits(&self, engine: &mut Engine<'_>) -> Mat {
        let cached = if self.config.train.setting == Setting::Transductive { engine.logits() } else { None };
        cached.unwrap_or_else(|| engine.network().infer(&self.sides.full))
    }

    /// The start (epochs, dropout) with the best validation score before the first refresh.
    fn choose_start(&mut self) -> Result<Config> {
        let mut best: Option<(f64, Config)> = None;
        for (epochs, dropout) in [(0, 0.2), (3, 0.2), (3, 0.5), (10, 0.2), (10, 0.5)] {
            let mut config = self.config.clone();
            config.train.start = Start::Mlp;
            (config.train.start_epochs, config.train.start_dropout) = (epochs, dropout);
            self.config = config.clone();
            let mut engine = self.engine()?;
            engine.begin()?;
            let logits = self.logits(&mut engine);
            let score = self.metric.score(&logits, &self.data.labels, &self.data.split.val).unwrap_or(0.0);
            if best.as_ref().is_none_or(|(s, _)| score > *s) {
                best = Some((score, config));
            }
        }
        Ok(best.map_or_else(|| self.config.clone(), |(_, c)| c))
    }

    fn train(self, observer: &mut dyn Observer) -> Result<Trained> {
        let params = self.network.params();
        observer.event(&Event::Prepared { params, seconds: self.prepare_seconds });
        let mut engine = self.engine()?;
        let mut clock = Stopwatch::new();
        let mut seconds = Seconds { prepare: self.prepare_seconds, ..Seconds::default() };
        if let Some(loss) = engine.begin()? {
            observer.event(&Event::Started { loss, seconds: clock.seconds() });
        }
        seconds.start = clock.lap();
        seconds.train = seconds.start;
        let epochs = self.config.train.epochs.or(10);
        let total = epochs + self.config.train.polish;
        let mut history: Vec<HistoryPoint> = Vec::new();
        let mut best: Option<Best> = None;
        let mut ran = 0;
        for epoch in 0..total {
            clock.lap();
            let told = engine.telemetry().len();
            let loss = if epoch < epochs { engine.epoch(epoch, epochs)? } else { engine.polish()? };
            seconds.train += clock.lap();
            ran = epoch + 1;
            for point in &engine.telemetry()[told..] {
                observer.event(&Event::Refreshed(point.clone()));
            }
            let due = ran % self.config.select.eval_every == 0 || ran == total;
            let scores = due.then(|| self.score(&mut engine, ran, seconds.train, loss));
            let improved = scores.is_some_and(|point| keep_best(&mut best, point, engine.network()));
            history.extend(scores);
            seconds.eval += clock.lap();
            let event = Event::Epoch {
                epoch: ran,
                epochs: total,
                loss,
                scores,
                best: improved,
                seconds: seconds.train,
            };
            let waited = best.as_ref().map_or(0, |b| b.evaluations_since);
            let patience = self.config.select.patience;
            if observer.event(&event) == Control::Stop || (patience > 0 && waited >= patience) {
                break;
            }
        }
        let best = best.unwrap_or_else(|| {
            let point = self.score(&mut engine, ran, seconds.train, f64::NAN);
            Best { point, network: engine.network().clone(), evaluations_since: 0 }
        });
        [seconds.refresh, seconds.passes] = engine.seconds();
        seconds.total = self.watch.seconds();
        let report = Report {
            metric: self.metric.name(),
            best_epoch: best.point.epoch,
            val: best.point.val,
            test: best.point.test,
            epochs: ran,
            seconds,
            seconds_per_epoch: (seconds.train - seconds.start) / ran.max(1) as f64,
            history,
            bias: engine.telemetry().to_vec(),
            threads: rayon::current_num_threads(),
            seed: self.config.seed,
            params,
        };
        drop(engine);
        Ok(Trained { model: Model::new(self.config, self.shape, self.preprocess, best.network), report })
    }

    fn score(&self, engine: &mut Engine<'_>, epoch: usize, train_seconds: f64, loss: f64) -> HistoryPoint {
        let logits = self.logits(engine);
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

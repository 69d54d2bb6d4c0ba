//! The one configuration behind command line, files and Python. Plain data with defaults; reads nothing itself.
//!
//! A value written `"auto"` is decided from the data when training starts (see [`Auto`]) and by rules stated at
//! each field; the resolved configuration is what a run records.

mod data;
mod network;
mod split;

pub use data::{DataConfig, Duplicates, EdgeFeatures, Isolated, NanFeatures, Scaling};
pub(crate) use network::INITIAL;
pub use network::{Head, LayerOverride, NetworkConfig};
pub use split::SplitChoice;

use crate::metrics::Metric;
use crate::optim::Method;
use crate::table::Storage;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// A value, or `"auto"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Auto<T> {
    /// Decided from the data.
    #[default]
    Auto,
    /// Decided by the user.
    Set(T),
}

impl<T: Copy> Auto<T> {
    /// The value set, or this one.
    pub fn or(self, default: T) -> T {
        match self {
            Self::Auto => default,
            Self::Set(v) => v,
        }
    }
}

impl<T: Serialize> Serialize for Auto<T> {
    fn serialize<S: serde::Serializer>(&self, s: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Auto => s.serialize_str("auto"),
            Self::Set(v) => v.serialize(s),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Auto<T> {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either<T> {
            Value(T),
            Word(String),
        }
        match Either::deserialize(d)? {
            Either::Value(v) => Ok(Self::Set(v)),
            Either::Word(w) if w == "auto" => Ok(Self::Auto),
            Either::Word(w) => {
                Err(serde::de::Error::custom(format!("`{w}` is not a value of this key, nor `auto`")))
            }
        }
    }
}

/// The whole configuration of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Root of all random numbers.
    pub seed: u64,
    /// Worker threads; 0: one per core.
    pub threads: usize,
    /// What the network looks like.
    pub network: NetworkConfig,
    /// In which order and how lazily it is trained.
    pub train: TrainConfig,
    /// How steps are made.
    pub optim: OptimConfig,
    /// What is minimised.
    pub loss: LossConfig,
    /// How the data is read.
    pub data: DataConfig,
    /// How the best model is chosen.
    pub select: SelectConfig,
}

/// In which order layers are trained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Algorithm 2 as released: lower layers on stale gradients, top layer and classifier on the fresh loss.
    #[default]
    Inverted,
    /// Algorithm 2 as printed: every layer and the classifier on stale gradients.
    InvertedPrinted,
    /// Algorithm 1: from the classifier down, embeddings stale.
    Backprop,
    /// Ordinary back-propagation over the whole graph.
    Exact,
}

/// What training sees of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Setting {
    /// The whole graph; loss on training nodes.
    #[default]
    Transductive,
    /// The subgraph of the training nodes.
    Inductive,
}

/// Rows of a mini-batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Batch {
    /// An eighth of the rows of a pass, between 32 and 1024.
    #[default]
    Auto,
    /// All rows.
    Full,
    /// This many.
    Size(usize),
}

impl Serialize for Batch {
    fn serialize<S: serde::Serializer>(&self, s: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Auto => s.serialize_str("auto"),
            Self::Full => s.serialize_str("full"),
            Self::Size(n) => s.serialize_u64(*n as u64),
        }
    }
}

impl<'de> Deserialize<'de> for Batch {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Size(usize),
            Word(String),
        }
        match Either::deserialize(d)? {
            Either::Size(n) => Ok(Self::Size(n)),
            Either::Word(w) if w == "auto" => Ok(Self::Auto),
            Either::Word(w) if w == "full" => Ok(Self::Full),
            Either::Word(w) => {
                Err(serde::de::Error::custom(format!("batch `{w}`: expected a number, `auto` or `full`")))
            }
        }
    }
}

/// Whether batches are drawn anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Batches {
    /// A fresh shuffle each pass.
    #[default]
    Fresh,
    /// Cut once; only their order changes.
    Fixed,
}

/// How the gradient of a mini-batch S is scaled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GradientScale {
    /// `rows of the pass / |S|` times the sum over S: an unbiased estimate of the mean loss's gradient.
    #[default]
    Unbiased,
    /// As most released scripts: lazy layers sum mean-scaled alphas over S, the tail sums the loss over S.
    Released,
    /// Sums over S everywhere, of alphas of the summed loss (the released transductive arXiv script).
    Sum,
}

/// Proximal term of lazy layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Proximal {
    /// None.
    Off,
    /// `lambda` as given.
    Fixed,
    /// `lambda` follows the gain ratio.
    #[default]
    Controlled,
}

/// Dropout on the inputs of lazy layers, and what the proximal term pulls them to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LazyDropout {
    /// None.
    #[default]
    Off,
    /// Pulled to what the old weights make of the same mask (one more product).
    Matched,
    /// Pulled to the undropped row: outputs learn not to depend on what is dropped, a strong regulariser.
    Free,
}

/// How parameters start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// Glorot.
    Random,
    /// The network without its graph, trained on the training rows for a few epochs.
    #[default]
    Mlp,
    /// The same, but the first layer hears its neighbours: what it hears is known before training.
    Hops,
    /// First the one, then the other for a few epochs.
    Both,
    /// `mlp` with its epochs and dropout chosen on validation.
    Tried,
}

/// In which order and how lazily a network is trained.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainConfig {
    /// Order of steps.
    pub order: Order,
    /// Whole graph or subgraph of the training nodes.
    pub setting: Setting,
    /// Epochs (refreshes at frequency 1); auto: 10, 25 for many labels, 200 for `exact`.
    pub epochs: Auto<usize>,
    /// Rows of a mini-batch.
    pub batch: Batch,
    /// Rows of a mini-batch of the tail; auto: as `batch`.
    pub tail_batch: Batch,
    /// Fresh or fixed batches.
    pub batches: Batches,
    /// Refreshes of the stale side per epoch.
    pub frequency: f64,
    /// Passes over a layer's batches per visit; auto: 2 in the order `inverted` with a proximal term, else 1.
    pub passes: Auto<usize>,
    /// Passes of the tail per visit; auto: as `passes`.
    pub tail_passes: Auto<usize>,
    /// Share of the steps of a visit of the tail, the last ones, over which its parameters are averaged; auto: 0.5 in the
    /// order `inverted` with a proximal term where a pass of the tail has 8 batches or more, else 0.
    pub average: Auto<f64>,
    /// Scale of mini-batch gradients.
    pub gradient: GradientScale,
    /// Share of alpha's entries dropped in lazy passes (the released arXiv script).
    pub alpha_dropout: f64,
    /// Dropout on the inputs of lazy layers; auto: `free` below 4096 training nodes, else `off`, unless the other one
    /// has a validation score better by 0.005 after the first epoch.
    pub lazy_dropout: Auto<LazyDropout>,
    /// Proximal term of lazy layers.
    pub proximal: Proximal,
    /// Weight of the proximal term (its start, when controlled).
    pub lambda: f64,
    /// How parameters start; auto: `mlp`, `both` where the graph tells more than features alone, `hops` where far more.
    pub start: Auto<Start>,
    /// Epochs of the start at most.
    pub start_epochs: usize,
    /// Dropout of the start; auto: 0.2, with `hops` 0.3.
    pub start_dropout: Auto<f64>,
    /// Tail passes between the start and the first alpha; auto: 4, after a start with hops 2.
    pub start_tail: Auto<usize>,
    /// Exact epochs at the end.
    pub polish: usize,
    /// Measure the bias of stale gradients at each refresh (on a sample of rows).
    pub telemetry: bool,
}

impl Default for TrainConfig {
    fn default() -> Self {
        Self {
            order: Order::Inverted,
            setting: Setting::Transductive,
            epochs: Auto::Auto,
            batch: Batch::Auto,
            tail_batch: Batch::Auto,
            batches: Batches::Fresh,
            frequency: 1.0,
            passes: Auto::Auto,
            tail_passes: Auto::Auto,
            average: Auto::Auto,
            gradient: GradientScale::Unbiased,
            alpha_dropout: 0.0,
            lazy_dropout: Auto::Auto,
            proximal: Proximal::Controlled,
            lambda: 0.3,
            start: Auto::Auto,
            start_epochs: 10,
            start_dropout: Auto::Auto,
            start_tail: Auto::Auto,
            polish: 0,
            telemetry: true,
        }
    }
}

/// Names of the learning-rate schedules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScheduleKind {
    /// The base rate throughout.
    Constant,
    /// `rates[i]` from epoch `milestones[i]` on.
    Milestones,
    /// Times `decay` every `decay_every` epochs.
    Exponential,
    /// Half a cosine from the base rate to `lr_floor` times it.
    #[default]
    Cosine,
}

/// How steps are made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OptimConfig {
    /// Base learning rate.
    pub lr: f64,
    /// Adam (PyTorch's form), TensorFlow's Adam, or SGD.
    pub method: Method,
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Added to the root of the second moment.
    pub eps: f64,
    /// Momentum of SGD.
    pub momentum: f64,
    /// Decoupled weight decay of weight matrices.
    pub weight_decay: f64,
    /// L2 penalty of weight matrices, added to their gradients.
    pub l2: f64,
    /// Largest norm of a gradient; 0: any.
    pub clip: f64,
    /// Learning-rate schedule.
    pub schedule: ScheduleKind,
    /// Epochs (from 0) at which the rate changes.
    pub milestones: Vec<usize>,
    /// The rates from then on.
    pub rates: Vec<f64>,
    /// Factor of the exponential schedule.
    pub decay: f64,
    /// Its interval in epochs.
    pub decay_every: usize,
    /// Whether it decays at epoch 0 already.
    pub decay_first: bool,
    /// Where the cosine ends, as a share of the base rate.
    pub lr_floor: f64,
}

impl Default for OptimConfig {
    fn default() -> Self {
        Self {
            lr: 0.01,
            method: Method::Adam,
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            momentum: 0.0,
            weight_decay: 0.0,
            l2: 0.0,
            clip: 0.0,
            schedule: ScheduleKind::Cosine,
            milestones: Vec::new(),
            rates: Vec::new(),
            decay: 0.9,
            decay_every: 1,
            decay_first: false,
            lr_floor: 0.0,
        }
    }
}

/// What is minimised.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LossConfig {
    /// Weight of each class; empty: all 1.
    pub class_weights: Vec<f64>,
    /// Weights inversely proportional to class sizes instead.
    pub balanced: bool,
    /// Share of the target spread over all classes.
    pub smoothing: f64,
}

/// How the best model is chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SelectConfig {
    /// Score; auto: accuracy, or micro-F1 for many labels.
    pub metric: Auto<Metric>,
    /// Epochs between evaluations.
    pub eval_every: usize,
    /// Evaluations without a better validation score before stopping; 0: never stop early.
    pub patience: usize,
}

impl Default for SelectConfig {
    fn default() -> Self {
        Self { metric: Auto::Auto, eval_every: 1, patience: 0 }
    }
}

/// Width of a hidden layer where nothing else is known.
pub(crate) const HIDDEN: usize = 256;

impl Config {
    /// How features and what the first layer takes from neighbours are kept. Raw ones may be large numbers with small
    /// differences: these are never rounded.
    pub fn constants(&self) -> Storage {
        if self.data.features.or(Scaling::Raw) == Scaling::Raw {
            Storage::F32
        } else {
            self.network.storage()
        }
    }

    /// Refuses values that cannot work, naming the key, the value and what is possible.
    pub fn validate(&self) -> Result<()> {
        let n = &self.network;
        count("network.layers", n.layers, 1..=256)?;
        count("network.hidden", n.hidden.or(1), 1..=65_536)?;
        count("network.hops", n.hops.or(1), 1..=16)?;
        share("network.dropout", n.dropout)?;
        share("network.head_dropout", n.head_dropout.or(0.0))?;
        count("network.heads", n.heads, 1..=1024)?;
        share("network.attention_dropout", n.attention_dropout.or(0.0))?;
        share("network.said_dropout", n.said_dropout)?;
        share("network.initial", n.initial.or(0.0))?;
        positive("network.theta", n.theta)?;
        positive("network.degree_scale", n.degree_scale.or(1.0))?;
        positive("network.norm_eps", n.norm_eps)?;
        let t = &self.train;
        count("train.epochs", t.epochs.or(1), 1..=1_000_000)?;
        count("train.passes", t.passes.or(1), 1..=1000)?;
        count("train.tail_passes", t.tail_passes.or(1), 1..=1000)?;
        for (key, batch) in [("train.batch", t.batch), ("train.tail_batch", t.tail_batch)] {
            if let Batch::Size(size) = batch {
                count(key, size, 1..=usize::MAX)?;
            }
        }
        positive("train.frequency", t.frequency)?;
        positive("train.lambda", t.lambda)?;
        share("train.average", t.average.or(0.0))?;
        share("train.alpha_dropout", t.alpha_dropout)?;
        share("train.start_dropout", t.start_dropout.or(0.0))?;
        positive("optim.lr", self.optim.lr)?;
        positive("optim.eps", self.optim.eps)?;
        positive("optim.decay", self.optim.decay)?;
        count("optim.decay_every", self.optim.decay_every, 1..=usize::MAX)?;
        for (key, v) in [
            ("optim.beta1", self.optim.beta1),
            ("optim.beta2", self.optim.beta2),
            ("optim.momentum", self.optim.momentum),
        ] {
            share(key, v)?;
        }
        for (key, v) in [
            ("optim.weight_decay", self.optim.weight_decay),
            ("optim.l2", self.optim.l2),
            ("optim.clip", self.optim.clip),
            ("optim.lr_floor", self.optim.lr_floor),
        ] {
            if !v.is_finite() || v < 0.0 {
                return Err(Error::usage(key, format!("{v}; expected a number of at least 0"), ""));
            }
        }
        share("loss.smoothing", self.loss.smoothing)?;
        count("select.eval_every", self.select.eval_every, 1..=usize::MAX)?;
        positive("data.max_decompressed", self.data.max_decompressed)?;
        count("threads", self.threads, 0..=1024)?;
        if self.optim.milestones.len() != self.optim.rates.len() {
            let found =
                format!("{} milestones, {} rates", self.optim.milestones.len(), self.optim.rates.len());
            return Err(Error::usage("optim.milestones", found, "give one rate for each milestone"));
        }
        Ok(())
    }
}

fn count(key: &str, value: usize, range: std::ops::RangeInclusive<usize>) -> Result<()> {
    if range.contains(&value) {
        return Ok(());
    }
    let expected = if *range.end() == usize::MAX {
        format!("at least {}", range.start())
    } else {
        format!("{} to {}", range.start(), range.end())
    };
    Err(Error::usage(key, format!("{value}; expected {expected}"), ""))
}

fn positive(key: &str, value: f64) -> Result<()> {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    Err(Error::usage(key, format!("{value}; expected a number above 0"), ""))
}

fn share(key: &str, value: f64) -> Result<()> {
    if (0.0..1.0).contains(&value) {
        return Ok(());
    }
    Err(Error::usage(key, format!("{value}; expected 0 or more and less than 1"), ""))
}

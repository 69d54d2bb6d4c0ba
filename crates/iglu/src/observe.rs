//! What a run tells the world: events while it goes, a report at the end. Prints nothing, writes nothing.

use crate::Result;
use crate::checkpoint::Checkpoint;
use crate::config::Config;
use serde::{Deserialize, Deserializer, Serialize};
use std::time::Instant;

/// Whether training goes on after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    Continue,
    /// Stop here and keep the best model.
    Stop,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// Operators and constant aggregates are ready, parameters are made.
    Prepared {
        /// Learned numbers.
        params: usize,
        /// The configuration, every `auto` decided that needs no trial.
        config: Box<Config>,
        /// Seconds since the start.
        seconds: f64,
    },
    /// The warm start has ended.
    Started {
        /// Training loss without the graph, or with what the first layer hears of it.
        loss: f64,
        /// Epochs of it: fewer than asked for where more of them would have done harm.
        epochs: usize,
        /// Seconds it took.
        seconds: f64,
    },
    /// Something that is left to the data was tried for one epoch; what was tried first perhaps for a second one.
    Tried {
        /// The configuration that was tried.
        config: Box<Config>,
        /// What it has reached, and after which epoch.
        scores: HistoryPoint,
        /// Where the time went so far.
        seconds: Seconds,
    },
    /// Whatever was left to trials is decided; the first epoch, or the first two, were part of them.
    Decided {
        /// The configuration, every `auto` decided.
        config: Box<Config>,
    },
    /// The stale side was refreshed.
    Refreshed(RefreshPoint),
    /// Training had diverged: it goes on from the end of an earlier epoch with a lower learning rate.
    RolledBack {
        /// The epoch gone back to; 0: to before the start.
        epoch: usize,
        /// What was found, and where.
        why: String,
        /// Factor of every learning rate from now on.
        rate_factor: f64,
    },
    /// An epoch has ended, or the start.
    Epoch {
        /// Its number, from 1; 0 for the started network before the first epoch.
        epoch: usize,
        /// Epochs planned.
        epochs: usize,
        /// Training loss seen in this epoch.
        loss: f64,
        /// The scores, if it was evaluated.
        scores: Option<HistoryPoint>,
        /// Whether it is the best so far.
        best: bool,
        /// Learning rate at its begin.
        rate: f64,
        /// Where the time went so far.
        seconds: Seconds,
    },
}

/// Somebody who is told.
pub trait Observer {
    /// Called for every event, in order.
    fn event(&mut self, event: &Event) -> Control;

    /// Called after epochs from whose end the run can go on later; an error ends the run.
    fn checkpoint(&mut self, _: &Checkpoint, _: Urgency) -> Result<()> {
        Ok(())
    }
}

/// Why a checkpoint is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// An epoch has ended: there will be others.
    Routine,
    /// The run was interrupted: this is the last one.
    Last,
}

/// Nobody.
pub struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: &Event) -> Control {
        Control::Continue
    }
}

/// Scores after an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HistoryPoint {
    /// Epoch, from 1; 0 for the started network before the first epoch.
    pub epoch: usize,
    /// Seconds of training so far (start, refreshes and passes; without preparation and evaluation).
    pub train_seconds: f64,
    /// Training loss of the epoch.
    #[serde(deserialize_with = "or_nan")]
    pub loss: f64,
    /// Score on the validation nodes.
    pub val: Option<f64>,
    /// Score on the test nodes.
    pub test: Option<f64>,
}

/// What a refresh of the stale side showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RefreshPoint {
    /// Epoch in which it happened, from 1.
    pub epoch: usize,
    /// Training loss at the refresh.
    #[serde(deserialize_with = "or_nan")]
    pub loss: f64,
    /// Gain ratio of the visits since the previous refresh: true decrease of the loss over the promised one.
    pub rho: Option<f64>,
    /// Weight of the proximal term from now on.
    pub lambda: f64,
    /// Lazy layers, from the first.
    pub layers: Vec<LayerPoint>,
}

/// What a refresh showed of one layer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LayerPoint {
    /// The layer.
    pub k: usize,
    /// Steps made on the stale gradient.
    pub age: u64,
    /// `|g~ - g| / |g|`, stale against true parameter gradient.
    pub bias: Option<f64>,
    /// Cosine between them.
    pub cosine: Option<f64>,
    /// Columns of `X^k` that are constant over the sampled rows.
    pub dead: usize,
    /// Participation rank of `X^k`: `(tr C)^2 / tr C^2` of its covariance.
    #[serde(deserialize_with = "or_nan")]
    pub rank: f64,
}

/// Where the time went.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Seconds {
    /// Reading the data (filled in by the caller that read it).
    pub load: f64,
    /// Operators, constant aggregates, parameters.
    pub prepare: f64,
    /// Start, refreshes and passes together.
    pub train: f64,
    /// Of these: the warm start.
    pub start: f64,
    /// Of these: refreshes of embeddings and gradients.
    pub refresh: f64,
    /// Of these: training passes.
    pub passes: f64,
    /// Inference and scores.
    pub eval: f64,
    /// Everything.
    pub total: f64,
}

/// Formats without NaN write it as nothing.
pub(crate) fn or_nan<'de, D: Deserializer<'de>>(d: D) -> std::result::Result<f64, D::Error> {
    Ok(Option::deserialize(d)?.unwrap_or(f64::NAN))
}

/// The result of a run, for people and machines.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Name of the score.
    pub metric: &'static str,
    /// Epoch of the best validation score, from 1; 0 where a run was stopped before it and the started network is all
    /// there is.
    pub best_epoch: usize,
    /// Its validation score.
    pub val: Option<f64>,
    /// Its test score.
    pub test: Option<f64>,
    /// Epochs run.
    pub epochs: usize,
    /// Where the time went.
    pub seconds: Seconds,
    /// Training seconds per epoch, without the start.
    pub seconds_per_epoch: f64,
    /// Scores of the started network, before the first epoch.
    pub start: Option<HistoryPoint>,
    /// Scores of every evaluated epoch.
    pub history: Vec<HistoryPoint>,
    /// What every refresh showed.
    pub bias: Vec<RefreshPoint>,
    /// Worker threads.
    pub threads: usize,
    /// Root of the random numbers.
    pub seed: u64,
    /// Learned numbers.
    pub params: usize,
    /// Factor of every learning rate at the end: halved each time training had diverged.
    pub rate_factor: f64,
    /// Whether somebody stopped the run before its end.
    pub interrupted: bool,
}

/// The only clock of the core.
#[derive(Debug, Clone, Copy)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Starts now.
    #[expect(clippy::new_without_default, reason = "a default value should not depend on when it is made")]
    pub fn new() -> Self {
        Self(Instant::now())
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }

    /// Seconds since the last lap, and starts anew.
    pub fn lap(&mut self) -> f64 {
        let seconds = self.seconds();
        self.0 = Instant::now();
        seconds
    }
}

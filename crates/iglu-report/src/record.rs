//! What a run writes down: lines of `events.jsonl`, and `summary.json`.
//!
//! The lines are written and read with the same types. Of the summary only what a report shows is read; keys that are
//! missing are empty, so that folders of other versions can be looked at.

use crate::profile::Profile;
use iglu::metrics::Tally;
use iglu::observe::{RefreshPoint, Seconds};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of the lines; counts up when a reader would misunderstand them.
pub const FORMAT: u32 = 1;

/// One line of `events.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Record {
    /// The first line: what is run.
    Run(Origin),
    /// Parameters are made, everything left to the data is decided.
    Prepared(Prepared),
    /// The warm start has ended.
    Started {
        /// Training loss without the graph, or with what the first layer hears of it.
        loss: Option<f64>,
        /// Epochs of it.
        #[serde(default)]
        epochs: usize,
        /// Seconds it took.
        seconds: f64,
    },
    /// Something that is left to the data was tried for one epoch.
    Tried(Tried),
    /// Training had diverged and went on from the end of an earlier epoch.
    #[serde(rename = "rolled-back")]
    RolledBack {
        /// The epoch gone back to.
        epoch: usize,
        /// What was found, and where.
        why: String,
        /// Factor of every learning rate from then on.
        rate_factor: f64,
    },
    /// An epoch has ended.
    Epoch(Epoch),
    /// The last line of a run that came to its end.
    End(End),
    /// Written by a newer version.
    #[serde(other)]
    Unknown,
}

/// What is run, on what, with what.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Origin {
    /// Version of the lines.
    pub format: u32,
    /// Version of the program.
    pub version: String,
    /// The command, as a shell takes it.
    pub command: String,
    /// When it began, in UTC.
    pub time: String,
    /// The data, as named by the user.
    pub source: String,
    /// The data in numbers.
    pub data: Facts,
    /// The configuration asked for, before anything is decided from the data: what runs are told apart by.
    pub config: serde_json::Value,
    /// Root of the random numbers.
    pub seed: u64,
    /// Worker threads.
    pub threads: usize,
    /// Instruction set of the kernels.
    pub isa: String,
    /// Operating system and processor.
    pub system: String,
}

/// A dataset in a few numbers; a part of what `iglu inspect --json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// Short name.
    pub name: String,
    /// Nodes.
    pub nodes: usize,
    /// Edges.
    pub edges: usize,
    /// Features per node.
    pub features: usize,
    /// Classes or labels.
    pub classes: usize,
    /// `multi-class` or `multi-label`.
    pub task: String,
    /// Training nodes.
    pub train: usize,
    /// Nodes for model selection.
    pub val: usize,
    /// Nodes for the final score.
    pub test: usize,
}

/// What was decided before the first epoch.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Prepared {
    /// Learned numbers.
    pub params: usize,
    /// Name of the score.
    pub metric: String,
    /// Seconds of preparation.
    pub seconds: f64,
}

/// What a trial before the first epoch showed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Tried {
    /// The settings that trials decide, by key.
    pub settings: serde_json::Map<String, serde_json::Value>,
    /// Its epoch, from 1.
    pub epoch: usize,
    /// Training loss of its epoch.
    pub loss: Option<f64>,
    /// Score on the validation nodes.
    pub val: Option<f64>,
    /// Score on the test nodes.
    pub test: Option<f64>,
    /// Where the time went since the start of the run.
    pub seconds: Seconds,
}

/// What an epoch showed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Epoch {
    /// Its number, from 1; 0 for the started network before the first epoch.
    pub epoch: usize,
    /// Epochs planned.
    pub epochs: usize,
    /// Training loss.
    pub loss: Option<f64>,
    /// Score on the validation nodes, if it was evaluated.
    pub val: Option<f64>,
    /// Score on the test nodes, if it was evaluated.
    pub test: Option<f64>,
    /// Whether it is the best so far.
    pub best: bool,
    /// Learning rate at its begin.
    pub learning_rate: f64,
    /// Where the time went since the start of the run.
    pub seconds: Seconds,
    /// What the refreshes of this epoch showed: bias and staleness of each layer, lambda, rho.
    pub refreshes: Vec<RefreshPoint>,
    /// Largest resident size so far, where the system tells.
    pub peak_rss_bytes: Option<u64>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct End {
    /// Epochs run.
    pub epochs: usize,
    /// Epoch of the best validation score.
    pub best_epoch: usize,
    /// Its validation score.
    pub val: Option<f64>,
    /// Its test score.
    pub test: Option<f64>,
    /// Where the time went.
    pub seconds: Seconds,
}

/// How well the best model does on one split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// `train`, `val` or `test`.
    pub split: String,
    /// Every score that is defined, by name.
    pub metrics: BTreeMap<String, f64>,
    /// Counts by class.
    #[serde(flatten)]
    pub tally: Tally,
}

/// What `summary.json` says and a report shows.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// Name of the score.
    pub metric: String,
    /// Epoch of the best validation score.
    pub best_epoch: usize,
    /// Its validation score.
    pub val: Option<f64>,
    /// Its test score.
    pub test: Option<f64>,
    /// Where the time went.
    pub seconds: Seconds,
    /// Training seconds per epoch, without the start.
    pub seconds_per_epoch: f64,
    /// Learned numbers.
    pub params: usize,
    /// Largest resident size, where the system tells.
    pub peak_rss_bytes: Option<u64>,
    /// The model in numbers, split by split.
    pub scores: Vec<Scores>,
    /// Histograms of the data.
    pub profile: Profile,
}

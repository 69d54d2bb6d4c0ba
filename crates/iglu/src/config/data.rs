//! `[data]`: how data is read and scaled.

use super::{Auto, SplitChoice};
use crate::graph::SelfLoops;
use serde::{Deserialize, Serialize};

/// How features are scaled before training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scaling {
    /// As they are.
    Raw,
    /// Columns to mean 0 and deviation 1 over the training nodes.
    Standard,
    /// Rows divided by their absolute sum.
    Row,
}

/// What to do with edges that a file has several times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Duplicates {
    /// Count them once; where edges have weights, add these up.
    #[default]
    Drop,
    /// Count each: an edge that is there three times weighs 3.
    Keep,
    /// Refuse the graph.
    Error,
}

/// What to do with nodes without edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Isolated {
    /// Leave them in: their own features alone decide.
    #[default]
    Keep,
    /// Refuse the graph.
    Error,
}

/// What to do with features that are NaN or, in tables, missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NanFeatures {
    /// Refuse the data.
    #[default]
    Error,
    /// Take them as 0.
    Zero,
    /// Take the mean of the known values of their column.
    Mean,
}

/// What becomes of the features of edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EdgeFeatures {
    /// Nodes get the mean of those of their edges, beside features of their own.
    Mean,
    /// Nodes get the sum of those of their edges, beside features of their own.
    Sum,
    /// They are not read.
    Off,
}

/// How the data is read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DataConfig {
    /// Which nodes are trained on, chosen on and scored.
    pub split: SplitChoice,
    /// Root of the random numbers of drawn splits; apart from [`Config::seed`], so that seeds share a split.
    pub split_seed: u64,
    /// Edges `(v, v)`.
    pub self_loops: SelfLoops,
    /// Edges that are there several times.
    pub duplicates: Duplicates,
    /// Nodes without edges.
    pub isolated: Isolated,
    /// Features that are not there.
    pub nan_features: NanFeatures,
    /// Features of edges; auto: their mean, where nodes have none of their own.
    pub edge_features: Auto<EdgeFeatures>,
    /// Files that number their nodes begin with 1.
    pub one_based: bool,
    /// A first line that is no row of its table is passed over.
    pub skip_header: bool,
    /// Gibibytes that one packed file may unpack to.
    pub max_decompressed: f64,
    /// Scaling of features; auto: standard for dense, row for sparse ones.
    pub features: Auto<Scaling>,
    /// Whether training puts nodes of a community next to each other; auto: where that pays.
    pub reorder: Auto<bool>,
}

impl Default for DataConfig {
    fn default() -> Self {
        Self {
            split: SplitChoice::default(),
            split_seed: 0,
            self_loops: SelfLoops::default(),
            duplicates: Duplicates::default(),
            isolated: Isolated::default(),
            nan_features: NanFeatures::default(),
            edge_features: Auto::Auto,
            one_based: false,
            skip_header: false,
            max_decompressed: 8.0,
            features: Auto::Auto,
            reorder: Auto::Set(false),
        }
    }
}

//! One side of a run: a graph with its operators, features and constant aggregates.
//!
//! A run has two, `train` and `full`, built in one place ([`Sides::new`]): inductive ones differ, transductive ones
//! are the same. `A X^0, A^2 X^0, ..` are computed once here and never again.

use crate::config::Setting;
use crate::network::{Layer, Network};
use crate::operator::{Norm, Operator};
use crate::program::{Input, Source};
use crate::{Dataset, Features, Graph, Labels, Mat};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A graph as the layers of one network see it.
#[derive(Debug, Clone)]
pub struct Side {
    nodes: usize,
    operators: BTreeMap<Norm, Operator>,
    features: Arc<Features>,
    hops: Vec<Features>,
}

impl Side {
    /// Operators for all layers, and the constant aggregates of the first.
    pub fn new(graph: &Arc<Graph>, features: Arc<Features>, network: &Network) -> Self {
        let norms = network.layers().iter().filter_map(|l| l.operator);
        let operators: BTreeMap<Norm, Operator> =
            norms.map(|n| (n, Operator::new(graph.clone(), n))).collect();
        let features = densify(features, network.accepts_sparse(Source::Embedding(0)));
        let first = network.at(1);
        let mut hops: Vec<Features> = Vec::new();
        if let Some(norm) = first.operator {
            for hop in 0..first.hops {
                let next = operators[&norm].apply_features(hops.last().unwrap_or(&features));
                let sparse = network.accepts_sparse(Source::Aggregate { layer: 1, hop });
                hops.push(Arc::unwrap_or_clone(densify(Arc::new(next), sparse)));
            }
        }
        Self { nodes: graph.nodes(), operators, features, hops }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// `X^0`.
    pub fn features(&self) -> Input<'_> {
        self.features.as_ref().into()
    }

    /// The `hop`-th aggregate of the features.
    pub fn hop(&self, hop: usize) -> Input<'_> {
        (&self.hops[hop]).into()
    }

    /// The operator of a layer.
    pub fn operator(&self, layer: &Layer) -> Option<&Operator> {
        layer.operator.map(|norm| &self.operators[&norm])
    }

    /// `Z^k = A X^{k-1}` of a layer above the first; nothing for layers that take nothing from neighbours.
    pub fn aggregate(&self, layer: &Layer, x: &Mat) -> Vec<Mat> {
        self.operator(layer).map(|a| a.apply(x)).into_iter().collect()
    }
}

fn densify(features: Arc<Features>, sparse_allowed: bool) -> Arc<Features> {
    match features.as_ref() {
        Features::Sparse(m) if !sparse_allowed => Arc::new(Features::Dense(m.to_dense())),
        _ => features,
    }
}

/// The two sides of a run.
pub struct Sides {
    /// What training sees.
    pub train: Arc<Side>,
    /// What evaluation sees.
    pub full: Arc<Side>,
}

impl Sides {
    /// Builds both sides; `features` are already scaled.
    pub fn new(data: &Dataset, features: &Arc<Features>, network: &Network, setting: Setting) -> Self {
        let graph = Arc::new(data.graph.clone());
        let full = Arc::new(Side::new(&graph, features.clone(), network));
        match setting {
            Setting::Transductive => Self { train: full.clone(), full },
            Setting::Inductive => {
                let rows = sorted_training_nodes(data);
                let graph = Arc::new(data.graph.induced(&rows));
                let inner = Arc::new(features.select(&rows));
                Self { train: Arc::new(Side::new(&graph, inner, network)), full }
            }
        }
    }

    /// Labels of the nodes of the training side, and the training nodes as numbered there.
    pub fn training(data: &Dataset, setting: Setting) -> (Labels, Vec<u32>) {
        let rows = sorted_training_nodes(data);
        match setting {
            Setting::Transductive => (data.labels.clone(), rows),
            Setting::Inductive => (data.labels.select(&rows), (0..rows.len() as u32).collect()),
        }
    }
}

fn sorted_training_nodes(data: &Dataset) -> Vec<u32> {
    let mut rows = data.split.train.clone();
    rows.sort_unstable();
    rows
}

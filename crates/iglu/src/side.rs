//! One side of a run: graphs with their operators, features and constant aggregates.
//!
//! A run has two, `train` and `full`, built in one place ([`Sides::new`]): inductive ones differ, transductive ones
//! are the same. What the first layer takes from neighbours is computed once here and never again.

use crate::config::Setting;
use crate::constant::Constant;
use crate::kernels::Rows;
use crate::kernels::moments::{self, Four, MomentsBack, Neighbours};
use crate::look::Look;
use crate::network::{Layer, Network};
use crate::operator::{Norm, Operator, rows_of};
use crate::pattern::Pattern;
use crate::program::{DegreeScale, Input, Source};
use crate::{Dataset, Features, Graph, Labels, Mat, Real, Table};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The graphs of a dataset.
#[derive(Debug, Clone)]
pub struct Graphs {
    /// All edges.
    pub all: Arc<Graph>,
    /// The edges of each kind: first those of the graph, then those of latent space.
    pub relations: Vec<Arc<Graph>>,
}

impl Graphs {
    /// Those of a dataset.
    pub fn of(data: &Dataset) -> Self {
        let kind = |latent: bool| data.relations.iter().filter(move |r| r.latent == latent);
        let relations = kind(false).chain(kind(true)).map(|r| Arc::new(r.graph.clone())).collect();
        Self { all: Arc::new(data.graph.clone()), relations }
    }

    /// What remains among some nodes, renumbered.
    fn induced(&self, rows: &[u32]) -> Self {
        let part = |g: &Arc<Graph>| Arc::new(g.induced(rows));
        Self { all: part(&self.all), relations: self.relations.iter().map(part).collect() }
    }
}

/// Moments compare values, so what they are taken of is never rounded.
const UNROUNDED: &str = "tables around moments are kept in full";

/// Which graph an operator is made of, and how.
type OperatorKey = (Option<usize>, Norm);

/// A graph with its rows by sender.
#[derive(Debug, Clone)]
struct TwoWay {
    graph: Arc<Graph>,
    back: Arc<Graph>,
}

impl TwoWay {
    fn new(graph: &Arc<Graph>) -> Self {
        let back = if graph.directed() { Arc::new(graph.transpose()) } else { graph.clone() };
        Self { graph: graph.clone(), back }
    }
}

fn neighbours(graph: &Graph) -> Neighbours<'_> {
    Neighbours { offsets: graph.offsets(), columns: graph.columns() }
}

/// A graph as the layers of one network see it.
#[derive(Debug, Clone)]
pub struct Side {
    nodes: usize,
    operators: BTreeMap<OperatorKey, Arc<Operator>>,
    moments: Option<TwoWay>,
    pattern: Option<Pattern>,
    /// [`DegreeScale::Amplify`] and [`DegreeScale::Attenuate`].
    degrees: Option<[Mat; 2]>,
    features: Arc<Constant>,
    first: Vec<Constant>,
}

impl Side {
    /// Operators for all layers, and the constant aggregates of the first.
    pub fn new(graphs: &Graphs, features: Arc<Constant>, network: &Network) -> Self {
        let looks = || network.layers().iter().map(|l| l.look);
        let mut side = Self {
            nodes: graphs.all.nodes(),
            operators: operators(graphs, looks()),
            moments: looks().any(|l| l == Look::Moments).then(|| TwoWay::new(&graphs.all)),
            pattern: looks().any(|l| l == Look::Attention).then(|| Pattern::new(&graphs.all)),
            degrees: network.degree_scale().map(|delta| degree_scales(&graphs.all, delta)),
            features: densify(features, network.accepts_sparse(Source::Embedding(0))),
            first: Vec::new(),
        };
        side.first = side.first_aggregates(network);
        side
    }

    fn first_aggregates(&self, network: &Network) -> Vec<Constant> {
        let layer = network.at(1);
        let kept = |part: usize, made: Constant| {
            let sparse = network.accepts_sparse(Source::Aggregate { layer: 1, part });
            Arc::unwrap_or_clone(densify(Arc::new(made), sparse))
        };
        let mut out: Vec<Constant> = Vec::new();
        match layer.look {
            Look::Nothing | Look::Attention => {}
            Look::Powers { hops, .. } => {
                for part in 0..hops {
                    let from = out.last().unwrap_or(&self.features);
                    let next = from.aggregate(self.operator(layer, 0));
                    out.push(kept(part, next));
                }
            }
            Look::Relations { count, .. } => {
                for part in 0..count {
                    out.push(kept(part, self.features.aggregate(self.operator(layer, part))));
                }
            }
            Look::Moments => {
                let x = Table::Full(self.features.to_dense());
                let mut parts = Vec::new();
                self.aggregate(layer, &x, &mut parts);
                out.extend(parts.into_iter().map(|z| Features::Dense(z.into_full()).into()));
            }
        }
        out
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// `X^0`.
    pub fn features(&self) -> Input<'_> {
        self.features.as_ref().into()
    }

    /// Part `part` of what the first layer takes from neighbours.
    pub fn first(&self, part: usize) -> Input<'_> {
        (&self.first[part]).into()
    }

    /// A number per node from its degree.
    pub fn degree(&self, scale: DegreeScale) -> Input<'_> {
        let [amplify, attenuate] = self.degrees.as_ref().expect("a layer asked for degrees");
        Input::Dense(match scale {
            DegreeScale::Amplify => amplify,
            DegreeScale::Attenuate => attenuate,
        })
    }

    /// Who listens to whom, where a layer has attention.
    pub fn pattern(&self) -> Option<&Pattern> {
        self.pattern.as_ref()
    }

    /// The operator of a layer's part.
    pub fn operator(&self, layer: &Layer, part: usize) -> &Arc<Operator> {
        let norm = layer.look.norm().expect("a layer with operators");
        let relation = matches!(layer.look, Look::Relations { .. }).then_some(part);
        &self.operators[&(relation, norm)]
    }

    /// `Z^k` of a layer above the first from `X^{k-1}`, in place where `z` has room.
    pub fn aggregate(&self, layer: &Layer, x: &Table, z: &mut Vec<Table>) {
        z.resize_with(layer.look.parts(), || Table::zeros(x.storage(), x.rows(), x.cols()));
        if layer.look == Look::Moments {
            let way = self.moments.as_ref().expect("made for the layer");
            let [a, b, c, d] = &mut z[..] else { unreachable!("four moments") };
            let out = [a, b, c, d].map(|z| z.full_mut().expect(UNROUNDED).data_mut());
            moments::moments(neighbours(&way.graph), unrounded(x), out);
            return;
        }
        for (part, z) in z.iter_mut().enumerate() {
            let operator = self.operator(layer, part);
            match (x, z) {
                (Table::Full(x), Table::Full(z)) => operator.apply_to(x, z),
                (Table::Half(x), Table::Half(z)) => operator.apply_to(x, z),
                _ => unreachable!("made with the storage of x"),
            }
        }
    }

    /// Adds the gradient at `X` of a layer's moments to `alpha`.
    pub fn add_moments_back(&self, x: &Table, z: &[&Table], d: Four<&Mat>, alpha: &mut Table) {
        let way = self.moments.as_ref().expect("made for the layer");
        let z: Four<_> = std::array::from_fn(|i| unrounded(z[i]));
        let (graph, back) = (neighbours(&way.graph), neighbours(&way.back));
        let m = MomentsBack { graph, back, x: unrounded(x), z, d: d.map(rows_of) };
        moments::moments_back(m, alpha.full_mut().expect(UNROUNDED).data_mut());
    }

    /// Calls `hear` with everybody whose row of `X^{k-1}` enters row `v` of the layer through neighbours.
    pub fn heard(&self, layer: &Layer, v: usize, mut hear: impl FnMut(u32)) {
        match layer.look {
            Look::Nothing => {}
            Look::Powers { .. } | Look::Relations { .. } => {
                let operators = match layer.look {
                    Look::Relations { count, .. } => count,
                    _ => 1,
                };
                for part in 0..operators {
                    self.operator(layer, part).reached(v).iter().for_each(|&u| hear(u));
                }
            }
            Look::Moments => {
                let way = self.moments.as_ref().expect("made for the layer");
                way.graph.neighbours(v).iter().for_each(|&u| hear(u));
            }
            Look::Attention => {
                self.pattern.as_ref().expect("made for the layer").row(v).iter().for_each(|&u| hear(u));
            }
        }
    }
}

fn unrounded(table: &Table) -> Rows<'_> {
    rows_of(table.full().expect(UNROUNDED))
}

fn operators(graphs: &Graphs, looks: impl Iterator<Item = Look>) -> BTreeMap<OperatorKey, Arc<Operator>> {
    let mut out = BTreeMap::new();
    for look in looks {
        match look {
            Look::Powers { norm, .. } => {
                out.entry((None, norm)).or_insert_with(|| Operator::new(graphs.all.clone(), norm).into());
            }
            Look::Relations { norm, count } => {
                for r in 0..count {
                    let make = || Operator::new(graphs.relations[r].clone(), norm).into();
                    out.entry((Some(r), norm)).or_insert_with(make);
                }
            }
            Look::Nothing | Look::Moments | Look::Attention => {}
        }
    }
    out
}

/// `s = ln(degree + 1) / delta` and `1 / s` of every node; 0 for isolated ones.
fn degree_scales(graph: &Graph, delta: f64) -> [Mat; 2] {
    let scale = |v: usize| (graph.neighbours(v).len() as f64).ln_1p() / delta;
    let inverse = |v: usize| if scale(v) > 0.0 { 1.0 / scale(v) } else { 0.0 };
    let column = |of: &dyn Fn(usize) -> f64| {
        Mat::from_vec(graph.nodes(), 1, (0..graph.nodes()).map(|v| of(v) as Real).collect())
    };
    [column(&scale), column(&inverse)]
}

fn densify(constant: Arc<Constant>, sparse_allowed: bool) -> Arc<Constant> {
    if sparse_allowed || !constant.is_sparse() {
        return constant;
    }
    Arc::new(Features::Dense(constant.to_dense()).into())
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
    pub fn new(data: &Dataset, features: &Arc<Constant>, network: &Network, setting: Setting) -> Self {
        let graphs = Graphs::of(data);
        let full = Arc::new(Side::new(&graphs, features.clone(), network));
        match setting {
            Setting::Transductive => Self { train: full.clone(), full },
            Setting::Inductive => {
                let rows = sorted_training_nodes(data);
                let inner = Arc::new(features.select(&rows));
                Self { train: Arc::new(Side::new(&graphs.induced(&rows), inner, network)), full }
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

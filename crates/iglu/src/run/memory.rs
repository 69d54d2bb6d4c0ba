//! What a run will allocate, item by item, before it does.

use super::decide;
use super::start::{self, Trials};
use crate::chosen::Chosen;
use crate::config::{Config, Order, Setting};
use crate::lazy::plan::Plan;
use crate::look::Look;
use crate::network::{Layer, ModelShape, Network};
use crate::program::Lanes;
use crate::table::Storage;
use crate::{Dataset, Features, Graph, Labels, Real, Result, latent, lazy};

/// Something large that a run holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// What it is.
    pub what: &'static str,
    /// Its bytes.
    pub bytes: u64,
    /// What makes it smaller; empty where nothing does.
    pub remedy: &'static str,
}

/// Program, stacks, allocator: what a run on a tiny graph takes.
const BASE: u64 = 20 << 20;

/// Most that allocators keep of memory that was given back: smaller buffers, for the next ones.
const RETAINED: u64 = 32 << 20;

/// Copies of the parameters of a run under way: themselves, two moments, the best, all but that in the last checkpoint, and
/// two gradients that are compared. Those of a mini-batch come on top.
const COPIES: u64 = 9;

/// The same while alternatives are tried: two networks with moments, two starts that another may take over, the first that
/// had a score, the first epoch of one that has had two, the best of them, the two gradients, and what lies idle between them.
const TRIED: u64 = 13;

/// Copies of the tail's parameters meanwhile: their mean, and two moments with a start that has settled.
const TRIED_TAIL: u64 = 3;

/// Everything of size that training holds at its peak, the largest first.
///
/// ```
/// # use iglu::{Dataset, EdgeOptions, Features, Graph, Labels, Mat, Split, config::Config};
/// # let graph = Graph::from_edges(3, &[[0, 1]], EdgeOptions::default())?;
/// # let labels = Labels::Classes { ids: vec![0, 1, 0], classes: 2 };
/// # let split = Split { train: vec![0, 1], val: vec![2], test: vec![] };
/// # let data = Dataset::new("three", graph, Features::Dense(Mat::zeros(3, 1)), labels, split);
/// let items = iglu::run::memory(&Config::default(), &data)?;
/// let peak: u64 = items.iter().map(|item| item.bytes).sum();
/// assert!(peak > 1 << 20 && items[0].bytes >= items[1].bytes);
/// # Ok::<(), iglu::Error>(())
/// ```
pub fn memory(config: &Config, data: &Dataset) -> Result<Vec<Item>> {
    memory_of(config, &Outline::completed(config, data)?, Trials::default())
}

/// The same for data of which only the counts are known, and for either kind of trials.
pub fn memory_of(config: &Config, data: &Outline, trials: Trials) -> Result<Vec<Item>> {
    let config = decide(config, data);
    let network = Network::outline(&config.network, &data.shape)?;
    let sizes = Sizes { config: &config, data, network: &network, trials };
    let mut items = sizes.items();
    items.retain(|item| item.bytes > 0);
    items.sort_by_key(|item| std::cmp::Reverse(item.bytes));
    Ok(items)
}

/// The counts of a dataset that memory depends on. A count that is not known is 0, and what follows is a lower bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outline {
    /// Nodes.
    pub nodes: usize,
    /// Entries of the rows of the graph: two for each undirected edge.
    pub entries: usize,
    /// Bytes of the graph and of its kinds of edges, each in the directions that training needs.
    pub graph_bytes: u64,
    /// Bytes of the features.
    pub feature_bytes: u64,
    /// Whether only values that are not zero are stored.
    pub sparse: bool,
    /// Whether features, once they are scaled, need no memory where they came from: the run may have them
    /// ([`super::Given::Spent`]), or they lie in a file ([`crate::Keep::rest`]).
    pub features_rest: bool,
    /// Bytes of the labels.
    pub label_bytes: u64,
    /// What a network takes and gives.
    pub shape: ModelShape,
    /// Training nodes.
    pub train: usize,
    /// Nodes for model selection.
    pub val: usize,
    /// Whether the nodes are in another order than in the file they came from.
    pub ordered: bool,
}

impl Outline {
    /// The counts of a dataset with the latent neighbourhoods that a configuration asks for.
    pub fn completed(config: &Config, data: &Dataset) -> Result<Self> {
        let completed = latent::complete(&config.network, config.train.setting, data)?;
        Ok(Self::of(completed.as_ref().unwrap_or(data)))
    }

    /// Dense numbers that the first layer takes: features, and so many hops of them. Sparse ones are none.
    pub(super) fn dense_inputs(&self, hops: usize) -> usize {
        if self.sparse { 0 } else { self.nodes * self.shape.features * (1 + hops) }
    }

    /// The counts of a dataset in memory.
    pub fn of(data: &Dataset) -> Self {
        let turned = |graph: &Graph| (1 + u64::from(graph.directed())) * graph.bytes() as u64;
        let relations = data.relations.iter().map(|r| turned(&r.graph));
        let label_bytes = match &data.labels {
            Labels::Classes { ids, .. } => size_of_val(&ids[..]),
            Labels::Multi { values, .. } => values.len(),
        };
        Self {
            nodes: data.graph.nodes(),
            entries: data.graph.entries(),
            graph_bytes: turned(&data.graph) + relations.sum::<u64>(),
            feature_bytes: data.features.bytes() as u64,
            sparse: matches!(data.features, Features::Sparse(_)),
            features_rest: data.features.can_rest(),
            label_bytes: label_bytes as u64,
            shape: ModelShape::of(data),
            train: data.split.train.len(),
            val: data.split.val.len(),
            ordered: data.order.is_some(),
        }
    }
}

/// Parameters of a layer.
fn size(layer: &Layer) -> u64 {
    layer.program.params().iter().map(|p| (p.rows * p.cols) as u64).sum()
}

struct Sizes<'a> {
    config: &'a Config,
    data: &'a Outline,
    network: &'a Network,
    trials: Trials,
}

impl Sizes<'_> {
    fn items(&self) -> Vec<Item> {
        let item = |what, bytes, remedy| Item { what, bytes, remedy };
        let networks = 1 + u64::from(start::tries(self.config, self.data));
        let engines = if start::rests(self.config, self.trials) { 1 } else { networks };
        let caches = [self.first(), self.embeddings(), self.aggregates(), self.gradients(), self.work()];
        let held = caches.iter().sum::<u64>();
        let given_back = (networks - engines) * held;
        let narrower = "a smaller --hidden";
        let cached = if self.saved() == 1 { "--cache bf16, or a smaller --hidden" } else { narrower };
        let hops = if self.saved() == 1 { "a smaller --hops, or --cache bf16" } else { "a smaller --hops" };
        vec![
            item("program", BASE + (given_back / 32).min(RETAINED), ""),
            item("graph", self.graph(), "a store (iglu convert) is mapped, not read"),
            item(
                "features",
                self.features() + self.rounding(engines * held),
                "sparse features, or fewer of them",
            ),
            item(
                "nodes in another order",
                self.reordered(),
                "--reorder=false, or a store made with --reorder",
            ),
            item("features of neighbours", engines * self.first(), hops),
            item("embeddings", engines * self.embeddings(), cached),
            item("aggregates", engines * self.aggregates(), cached),
            item("gradients of embeddings", engines * self.gradients(), cached),
            item("work space", engines * self.work(), narrower),
            item("parameters and optimiser", 4 * self.numbers(networks, engines), narrower),
        ]
    }

    /// Parameters and what there is of their size.
    fn numbers(&self, networks: u64, engines: u64) -> u64 {
        let copies = if networks > 1 { TRIED + engines * self.lanes() } else { COPIES + self.lanes() };
        let tail: u64 = self.network.layers()[self.network.graph_layers() - 1..].iter().map(size).sum();
        copies * self.params() + if networks > 1 { TRIED_TAIL } else { 1 } * tail
    }

    /// Copies in which the gradients of a step are summed.
    fn lanes(&self) -> u64 {
        let (train, exact) = (&self.config.train, self.config.train.order == Order::Exact);
        let batch = if exact { self.data.nodes } else { lazy::batch_size(train.batch, self.data.train) };
        // What attention hears comes from many nodes.
        let inner = if self.attends() { Lanes::MOST } else { 0 };
        // One layer has nearly all parameters where they matter.
        let largest = self.network.layers().iter().max_by_key(|l| size(l));
        // A whole gradient is put together from those of the layers.
        (largest.map_or(1, |l| l.program.lanes(batch)) + inner) as u64 + u64::from(exact)
    }

    fn params(&self) -> u64 {
        self.network.layers().iter().map(size).sum()
    }

    fn inductive(&self) -> bool {
        self.config.train.setting == Setting::Inductive
    }

    /// Nodes of the training side, those of evaluation being as many or more.
    fn rows(&self) -> u64 {
        (if self.inductive() { self.data.train } else { self.data.nodes }) as u64
    }

    fn share(&self) -> f64 {
        self.rows() as f64 / self.data.nodes.max(1) as f64
    }

    fn graph(&self) -> u64 {
        let whole = self.data.graph_bytes;
        let inner = if self.inductive() { (whole as f64 * self.share() * self.share()) as u64 } else { 0 };
        // Attention knows who listens to whom, loops included.
        let listeners = if self.attends() { whole } else { 0 };
        whole + inner + listeners + 2 * self.data.label_bytes
    }

    /// As read, scaled, and those of the training side. Those in another order are scaled in place.
    fn features(&self) -> u64 {
        let read = if self.data.features_rest { 0 } else { self.data.feature_bytes };
        let scaled = self.scaled();
        read + scaled + if self.inductive() { (scaled as f64 * self.share()) as u64 } else { 0 }
    }

    /// Features as training reads them.
    fn scaled(&self) -> u64 {
        let full = self.data.feature_bytes;
        if self.rounds() {
            full * self.config.constants().bytes() as u64 / size_of::<Real>() as u64
        } else {
            full
        }
    }

    /// What scaled features need for a moment until they are rounded, beyond what comes after that.
    fn rounding(&self, later: u64) -> u64 {
        if self.rounds() { self.data.feature_bytes.saturating_sub(later) } else { 0 }
    }

    /// Whether dense features are rounded.
    fn rounds(&self) -> bool {
        !self.data.sparse && self.config.constants() == Storage::Bf16
    }

    /// The graph once more.
    fn reordered(&self) -> u64 {
        let again = self.config.data.reorder.or(false) && !self.data.ordered;
        if again { self.data.graph_bytes } else { 0 }
    }

    /// What the first layer takes from neighbours, on both sides.
    fn first(&self) -> u64 {
        let parts = self.network.at(1).look.parts() as u64;
        let moments = self.network.at(1).look == Look::Moments;
        let number = if self.rounds() && !moments { Storage::Bf16 } else { Storage::F32 };
        let dense = |rows: u64| rows * (self.data.shape.features * number.bytes()) as u64;
        let nodes = self.data.nodes as u64;
        let one = |rows: u64| {
            if !self.data.sparse {
                return dense(rows);
            }
            let mean_degree = self.data.entries as u64 / nodes.max(1);
            (self.data.feature_bytes * (1 + mean_degree) * rows / nodes.max(1)).min(dense(rows))
        };
        parts * (one(nodes) + if self.inductive() { one(self.rows()) } else { 0 })
    }

    fn mat(&self, width: usize) -> u64 {
        self.rows() * (width * size_of::<Real>()) as u64
    }

    /// `X^k` as it is kept, `alpha^k`, or an aggregate of it.
    fn table(&self, k: usize) -> u64 {
        self.rows() * (self.network.width(k) * self.network.at(k).storage.bytes()) as u64
    }

    /// Layers whose embeddings, and whose gradients, are kept.
    fn kept(&self) -> [usize; 2] {
        let (k, l) = (self.network.graph_layers(), self.network.depth());
        match self.config.train.order {
            Order::Inverted => [k - 1, k - 1],
            Order::InvertedPrinted | Order::Backprop => [l, l],
            Order::Exact => [k - 1, 0],
        }
    }

    fn embeddings(&self) -> u64 {
        (1..=self.kept()[0]).map(|k| self.table(k)).sum()
    }

    /// Gradients beyond those that have the place of an aggregate or of an embedding.
    fn gradients(&self) -> u64 {
        let (top, train) = (self.kept()[1], &self.config.train);
        let tables = |span: std::ops::RangeInclusive<usize>| span.map(|k| self.table(k)).sum::<u64>();
        if !Plan::renews_alphas(train.order, train.frequency) || !self.lends() {
            return tables(1..=top);
        }
        // Those of layer k are made while those above it are there, the aggregates up to the next layer, and embeddings up
        // to its own, or all.
        let held = |k: usize| {
            let last = if Plan::renews_embeddings(train, self.network, k + 1) { k } else { top };
            tables(k..=top) + tables(1..=last) + (2..=k + 1).map(|k| self.aggregate(k)).sum::<u64>()
        };
        let rest = self.aggregates() + self.embeddings();
        (1..=top).map(held).max().unwrap_or(0).saturating_sub(rest)
    }

    fn aggregate(&self, k: usize) -> u64 {
        let all = self.network.at(k).look.parts() as u64 * self.table(k - 1);
        if k == self.network.graph_layers() { all.saturating_sub(self.left_out()) } else { all }
    }

    /// Bytes saved where aggregates of the last graph layer are kept for the training nodes only.
    fn left_out(&self) -> u64 {
        let (k, order) = (self.network.graph_layers(), self.config.train.order);
        let layer = self.network.at(k);
        let lazy = matches!(order, Order::Inverted | Order::Exact);
        let whole = self.network.layers()[k - 1..].iter().any(|l| l.program.batch_norms() > 0);
        if k == 1 || !lazy || whole || !layer.look.is_product() {
            return 0;
        }
        let row = layer.look.parts() * self.network.width(k - 1) * self.network.at(k - 1).storage.bytes();
        Chosen::saves(self.data.train, self.rows() as usize, row, self.data.entries).max(0) as u64
    }

    fn aggregates(&self) -> u64 {
        (2..=self.network.graph_layers()).map(|k| self.aggregate(k)).sum()
    }

    /// Whether an aggregate is given away as soon as one gradient has been made with it: nobody reads embeddings further
    /// below, and they change before it is needed again.
    fn lends(&self) -> bool {
        let train = &self.config.train;
        let skips = |m: usize| (1..m - 1).any(|j| self.network.at(m).reads(j));
        Plan::renews_aggregates(train.order, train.frequency) && !(3..=self.network.depth()).any(skips)
    }

    /// Whether gradients on their way to neighbours take the place of aggregates.
    fn exchanges(&self) -> bool {
        let can = |l: &Layer| (l.look.parts() == 0 || l.look.is_linear()) && l.program.batch_norms() == 0;
        self.lends() && self.network.layers().iter().all(can)
    }

    fn attends(&self) -> bool {
        self.network.layers().iter().any(|l| l.look == Look::Attention)
    }

    /// What an attentive layer holds while gradients go through it: what all nodes say and what the training nodes hear, the
    /// gradients of both, and those of the rows below.
    fn attended(&self) -> u64 {
        let layers =
            (1..=self.network.graph_layers()).filter(|&k| self.network.at(k).look == Look::Attention);
        let widest = layers.map(|k| self.mat(self.network.width(k))).max().unwrap_or(0);
        let heard =
            if self.inductive() { 1.0 } else { self.data.train as f64 / self.data.nodes.max(1) as f64 };
        3 * widest + (2.0 * heard * widest as f64) as u64
    }

    /// How many times smaller a rounded table is.
    fn saved(&self) -> u64 {
        (size_of::<Real>() / self.config.network.storage().bytes()) as u64
    }

    /// What comes from neighbours before it goes back through a narrower map, in full. Where tables are full, one that is
    /// free gives it its place; rounded ones are too small.
    fn mapped(&self) -> u64 {
        if self.saved() == 1 {
            return 0;
        }
        // Nothing goes back to features.
        let layers = self.network.layers().iter().filter(|l| l.k > 1 && l.look.is_linear());
        let maps = layers.flat_map(|l| {
            let maps =
                (0..l.program.inputs().count()).map(|i| (l.program.input_width(i), l.program.only_map(i)));
            maps.filter_map(|(width, map)| map.map(|m| m.width).filter(|to| *to < width))
        });
        maps.max().map_or(0, |width| self.mat(width))
    }

    /// Matrices that a refresh, an exact step or an evaluation needs for a moment.
    fn work(&self) -> u64 {
        let layers = 1..=self.network.graph_layers();
        let widest = layers.clone().map(|k| self.network.width(k)).max().unwrap_or(0);
        let parts =
            layers.clone().filter(|&k| k > 1).map(|k| self.network.at(k).look.parts()).max().unwrap_or(0);
        let moments = self.network.layers().iter().any(|l| l.look == Look::Moments);
        let refresh = match self.config.train.order {
            // The gradients of all embeddings below the top, and what goes to neighbours; evaluation has their buffers.
            Order::Exact => {
                let below = (1..self.network.graph_layers()).map(|k| self.mat(self.network.width(k)));
                below.sum::<u64>() + self.mat(widest) + self.attended()
            }
            order => {
                let whole = u64::from(order != Order::Inverted);
                // Only what is kept is refreshed, in its place; what goes to neighbours has a table for each aggregate, or
                // that of the aggregate.
                let table = (1..=self.kept()[0].max(1)).map(|k| self.table(k)).max().unwrap_or(0);
                let gradients = if self.exchanges() { 0 } else { parts + usize::from(moments) };
                (whole + gradients as u64) * table + self.attended() + self.mapped()
            }
        };
        let nodes = self.data.nodes as u64;
        let full = |width: usize| nodes * (width * size_of::<Real>()) as u64;
        // Evaluation of the whole graph: an embedding, the next one, and aggregates that are no sums.
        let held = 2 + if moments { parts as u64 } else { 0 };
        let infer = if self.inductive() { full(widest) * held / self.saved() } else { 0 };
        let logits = full(self.network.width(self.network.depth()));
        // The released order has logits only when it evaluates, others keep some, too.
        if self.config.train.order == Order::Inverted {
            refresh.max(infer + if self.borrows(logits) { 0 } else { logits })
        } else {
            refresh.max(infer) + 2 * logits
        }
    }

    /// Whether logits have the place of gradients that are made anew in the next epoch.
    fn borrows(&self, logits: u64) -> bool {
        let train = &self.config.train;
        let free = self.lends() && Plan::renews_alphas(train.order, train.frequency) && !self.inductive();
        free && self.saved() == 1 && (1..=self.kept()[1]).any(|k| self.table(k) >= logits)
    }
}

//! A network: layers 1..L in order, skips k -> m, and exact layer-wise inference on any graph.
//!
//! Layers 1..K are graph layers; layer L = K + 1 is the linear classifier, or L = K where the last graph layer
//! gives the classes. `X^0` are the features, `X^L` the logits. Knows no labels, optimisers or caches.

use crate::config::{HIDDEN, Head, NetworkConfig};
use crate::kernels::rowwise::Activation;
use crate::layers::{self, Combine, LayerOptions, NormKind, Site};
use crate::operator::Norm;
use crate::program::{
    Builder, Call, Dropping, Init, Input, Job, NormState, Norms, Program, RowSet, Source, Value,
};
use crate::rng::Key;
use crate::side::Side;
use crate::{Error, Mat, Real, Result};

/// One layer with its parameters.
#[derive(Debug, Clone)]
pub struct Layer {
    /// Its number, from 1.
    pub k: usize,
    /// Name of its architecture.
    pub architecture: &'static str,
    /// What it takes from neighbours.
    pub operator: Option<Norm>,
    /// How many aggregates it takes.
    pub hops: usize,
    /// What it does to rows.
    pub program: Program,
    /// `E^k`.
    pub params: Vec<Mat>,
    /// Batch norm statistics for inference.
    pub norms: Vec<NormState>,
}

impl Layer {
    /// Width of `X^k`.
    pub fn width(&self) -> usize {
        self.program.width()
    }

    /// Parameters in the program's order.
    pub fn param_refs(&self) -> Vec<&Mat> {
        self.params.iter().collect()
    }

    /// Whether the layer reads `X^m` at all, through neighbours or directly.
    pub fn reads(&self, m: usize) -> bool {
        self.program.inputs().any(|s| match s {
            Source::Aggregate { layer, .. } => layer == m + 1,
            Source::Embedding(e) => e == m,
        })
    }
}

/// Layers in order.
#[derive(Debug, Clone)]
pub struct Network {
    layers: Vec<Layer>,
    graph_layers: usize,
    d_in: usize,
}

impl Network {
    /// Builds the network and draws its parameters.
    pub fn new(config: &NetworkConfig, d_in: usize, classes: usize, seed: u64) -> Result<Self> {
        let mut network = Self { layers: Vec::new(), graph_layers: config.layers, d_in };
        let skips = parse_skips(config)?;
        if let Some(own) = config.each.iter().find(|o| !(1..=config.layers).contains(&o.k)) {
            let found = format!("k = {}, but the graph layers are 1 to {}", own.k, config.layers);
            return Err(Error::usage("network.each", found, "name a graph layer"));
        }
        for k in 1..=config.layers {
            let top = k == config.layers && config.head == Head::Conv;
            let layer = network.layer(config, k, top.then_some(classes), &skips)?;
            network.layers.push(layer);
        }
        if config.head == Head::Linear {
            let k = config.layers + 1;
            let options = LayerOptions {
                width: classes,
                activation: Activation::None,
                norm: NormKind::None,
                dropout: config.head_dropout,
                bias: config.bias,
                ..LayerOptions::default()
            };
            let linear = layers::find("linear").expect("the classifier's architecture is in the table");
            network.layers.push(make_layer(linear, k, network.width(k - 1), &options, None));
        }
        network.draw(Key::new(seed).with("init"));
        Ok(network)
    }

    fn layer(
        &self,
        config: &NetworkConfig,
        k: usize,
        classes: Option<usize>,
        skips: &[(usize, usize)],
    ) -> Result<Layer> {
        let own = config.each.iter().find(|o| o.k == k).cloned().unwrap_or_default();
        let name = own.layer.as_ref().unwrap_or(&config.layer);
        let architecture = layers::find(name).ok_or_else(|| unknown_architecture(name))?;
        let hops = if k == 1 { config.hops.or(1).min(architecture.max_hops) } else { 1 };
        let skips = skips.iter().filter(|s| s.1 == k).map(|s| (s.0, self.width(s.0))).collect();
        let hidden = LayerOptions {
            width: own.hidden.unwrap_or(config.hidden.or(HIDDEN)),
            activation: own.activation.unwrap_or(config.activation),
            norm: own.norm.unwrap_or(config.norm),
            norm_order: config.norm_order.or(architecture.norm_order),
            norm_eps: config.norm_eps,
            dropout: own.dropout.unwrap_or(config.dropout),
            bias: own.bias.unwrap_or(config.bias),
            residual: own.residual.unwrap_or(config.residual),
            combine: config.combine.or(Combine::Concat),
            l2: config.l2 && k == config.layers,
            hops,
            skips,
        };
        let options = match classes {
            None => hidden,
            Some(width) => LayerOptions {
                width,
                activation: Activation::None,
                norm: NormKind::None,
                combine: if architecture.name == "saint" { Combine::Sum } else { hidden.combine },
                l2: false,
                ..hidden
            },
        };
        let operator = architecture.operator.map(|default| config.operator.or(default));
        Ok(make_layer(architecture, k, self.width(k - 1), &options, operator))
    }

    fn draw(&mut self, key: Key) {
        for layer in &mut self.layers {
            for (p, (spec, value)) in layer.program.params().iter().zip(&mut layer.params).enumerate() {
                let key = key.at(layer.k as u64).at(p as u64);
                let reach = (6.0 / (spec.rows + spec.cols) as f64).sqrt();
                let draw = |i: usize| match spec.init {
                    Init::Glorot => ((2.0 * key.unit(i as u64) - 1.0) * reach) as Real,
                    Init::Zeros => 0.0,
                    Init::Ones => 1.0,
                };
                value.data_mut().iter_mut().enumerate().for_each(|(i, v)| *v = draw(i));
            }
        }
    }

    /// L.
    pub fn depth(&self) -> usize {
        self.layers.len()
    }

    /// K.
    pub fn graph_layers(&self) -> usize {
        self.graph_layers
    }

    /// Width of `X^k`.
    pub fn width(&self, k: usize) -> usize {
        if k == 0 { self.d_in } else { self.layers[k - 1].width() }
    }

    /// Layer `k`, from 1.
    pub fn at(&self, k: usize) -> &Layer {
        &self.layers[k - 1]
    }

    /// Layer `k`, from 1, writable.
    pub fn at_mut(&mut self, k: usize) -> &mut Layer {
        &mut self.layers[k - 1]
    }

    /// All layers.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// All layers, writable.
    pub fn layers_mut(&mut self) -> &mut [Layer] {
        &mut self.layers
    }

    /// Takes over the parameters of a network of the same shape.
    pub fn take_params(&mut self, from: &Self) {
        for (to, from) in self.layers.iter_mut().zip(&from.layers) {
            to.params.clone_from(&from.params);
        }
    }

    /// Number of learned values.
    pub fn params(&self) -> usize {
        self.layers.iter().flat_map(|l| &l.params).map(|p| p.data().len()).sum()
    }

    /// Parameters of layers `from..=L`, in the order of their chain.
    pub fn params_from(&self, from: usize) -> Vec<&Mat> {
        self.layers[from - 1..].iter().flat_map(|l| &l.params).collect()
    }

    /// Batch norm statistics of layers `from..=L`, in the order of their chain.
    pub fn norms_from(&self, from: usize) -> Vec<NormState> {
        self.layers[from - 1..].iter().flat_map(|l| l.norms.clone()).collect()
    }

    /// Layers `from..=L` as one row program. Layers above `from` must take nothing from neighbours, unless
    /// `graphless`: then every aggregate is the row itself (`A = I`).
    pub fn chain(&self, from: usize, graphless: bool) -> Program {
        let mut b = Builder::default();
        let mut outputs: Vec<(usize, Value)> = Vec::new();
        for layer in &self.layers[from - 1..] {
            if graphless && from == 1 && outputs.is_empty() {
                outputs.push((0, b.input(Source::Embedding(0), self.d_in)));
            }
            let known = outputs.clone();
            let find = move |m: usize| known.iter().find(|(k, _)| *k == m).map(|(_, v)| *v);
            let out = b.append(&layer.program, |source| match source {
                Source::Embedding(m) => find(m),
                Source::Aggregate { layer, .. } if graphless => find(layer - 1),
                Source::Aggregate { layer, .. } => {
                    assert_eq!(layer, from, "only the first layer of a chain may take from neighbours");
                    None
                }
            });
            outputs.push((layer.k, out));
        }
        let (_, top) = outputs[outputs.len() - 1];
        b.finish(top)
    }

    /// Whether every reader of `source` works with sparse rows.
    pub fn accepts_sparse(&self, source: Source) -> bool {
        let mut readers =
            self.layers.iter().flat_map(|l| l.program.inputs().enumerate().map(move |(i, s)| (l, i, s)));
        readers.all(|(l, i, s)| s != source || l.program.accepts_sparse(i))
    }

    /// Logits of every node by exact layer-wise inference: each layer for all nodes before the next.
    pub fn infer(&self, side: &Side) -> Mat {
        self.infer_from(side, Vec::new(), 1)
    }

    /// Inference from layer `from` on, `known[m]` holding `X^m` where an upper layer needs it.
    pub fn infer_from(&self, side: &Side, mut known: Vec<Mat>, from: usize) -> Mat {
        known.resize_with(self.depth() + 1, Mat::default);
        for layer in &self.layers[from - 1..] {
            let z = if layer.k == 1 { Vec::new() } else { side.aggregate(layer, &known[layer.k - 1]) };
            let lookup = |s: Source| -> Input<'_> {
                match s {
                    Source::Aggregate { layer: 1, hop } => side.hop(hop),
                    Source::Aggregate { hop, .. } => Input::Dense(&z[hop]),
                    Source::Embedding(0) => side.features(),
                    Source::Embedding(m) => Input::Dense(&known[m]),
                }
            };
            let out = layer_output(layer, side.nodes(), lookup);
            let done = layer.k;
            known[done] = out;
            for m in 1..done {
                if !self.layers[done..].iter().any(|l| l.reads(m)) {
                    known[m] = Mat::default();
                }
            }
        }
        known.pop().expect("one place for each layer")
    }
}

/// Output of one layer for all nodes.
fn layer_output<'a>(layer: &'a Layer, nodes: usize, lookup: impl Fn(Source) -> Input<'a>) -> Mat {
    let job = Job::new(&layer.program, layer.program.inputs().map(lookup).collect());
    let params = layer.param_refs();
    let call = Call { params: &params, norms: Norms::Stored(&layer.norms), dropping: Dropping::Off };
    let mut out = Mat::zeros(nodes, layer.width());
    job.forward(&call, RowSet::All(nodes), &mut out);
    out
}

fn make_layer(
    architecture: &'static layers::Architecture,
    k: usize,
    d_in: usize,
    options: &LayerOptions,
    operator: Option<Norm>,
) -> Layer {
    let program = layers::build(architecture, &Site { k, d_in, options });
    let params = program.params().iter().map(|p| Mat::zeros(p.rows, p.cols)).collect();
    let norms = program.fresh_norms();
    Layer { k, architecture: architecture.name, operator, hops: options.hops, program, params, norms }
}

pub(crate) fn unknown_architecture(name: &str) -> Error {
    let names: Vec<&str> = layers::ARCHITECTURES.iter().map(|a| a.name).collect();
    Error::usage(
        "network.layer",
        format!("unknown architecture `{name}`"),
        format!("use one of {}", names.join(", ")),
    )
}

/// Reads `"k->m"`, 0 <= k < m <= K.
fn parse_skips(config: &NetworkConfig) -> Result<Vec<(usize, usize)>> {
    let parse = |text: &String| {
        let (k, m) = text.split_once("->")?;
        let (k, m) = (k.trim().parse().ok()?, m.trim().parse().ok()?);
        (k < m && m <= config.layers).then_some((k, m))
    };
    let refuse = |text: &String| {
        let fix = format!("write \"k->m\" with 0 <= k < m <= {}", config.layers);
        Error::usage("network.skips", format!("`{text}` is no skip connection of this network"), fix)
    };
    config.skips.iter().map(|s| parse(s).ok_or_else(|| refuse(s))).collect()
}

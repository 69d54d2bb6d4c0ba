//! A network: layers 1..L in order, skips k -> m; `infer`: exact layer-wise inference on any graph.
//!
//! Layers 1..K are graph layers; layer L = K + 1 is the linear classifier, or L = K where the last graph layer
//! gives the classes. `X^0` are the features, `X^L` the logits. Knows no labels, optimisers or caches.

mod infer;
mod reach;

pub(crate) use infer::inputs;

use crate::config::{HIDDEN, Head, INITIAL, NetworkConfig};
use crate::kernels::rowwise::Activation;
use crate::layers::{self, Architecture, Combine, Jump, JumpFrom, LayerOptions, NormKind, Site, Takes};
use crate::look::Look;
use crate::program::{Builder, Init, NormState, Program, Source, Value};
use crate::rng::Key;
use crate::tensors::{Tensor, Tensors};
use crate::{Dataset, Error, Labels, Mat, Real, Result, Storage};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What a network takes and gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelShape {
    /// Features of a node.
    pub features: usize,
    /// Classes or labels.
    pub classes: usize,
    /// Whether a node may have several labels.
    pub multi_label: bool,
    /// Kinds of edges of the graph.
    #[serde(default)]
    pub relations: usize,
    /// Kinds of neighbours in latent space.
    #[serde(default)]
    pub latent: usize,
}

impl ModelShape {
    /// The shape that fits a dataset.
    pub fn of(data: &Dataset) -> Self {
        let latent = data.relations.iter().filter(|r| r.latent).count();
        Self {
            features: data.features.cols(),
            classes: data.labels.classes(),
            multi_label: matches!(data.labels, Labels::Multi { .. }),
            relations: data.relations.len() - latent,
            latent,
        }
    }
}

/// One layer with its parameters.
#[derive(Debug, Clone)]
pub struct Layer {
    /// Its number, from 1.
    pub k: usize,
    /// Name of its architecture.
    pub architecture: &'static str,
    /// What it takes from neighbours.
    pub look: Look,
    /// What it does to rows.
    pub program: Program,
    /// `E^k`.
    pub params: Vec<Mat>,
    /// Batch norm statistics for inference.
    pub norms: Vec<NormState>,
    /// How `X^k`, what is aggregated of it and its gradient are kept.
    pub storage: Storage,
}

impl Layer {
    /// Width of `X^k`.
    pub fn width(&self) -> usize {
        self.program.width()
    }

    /// Name of one of its parameters among all tensors of the network.
    pub(crate) fn tensor(&self, name: &str) -> String {
        format!("layer{}.{name}", self.k)
    }

    fn norm_tensor(&self, i: usize) -> String {
        self.tensor(&format!("norm_state{i}"))
    }

    /// Parameters in the program's order.
    pub fn param_refs(&self) -> Vec<&Mat> {
        self.params.iter().collect()
    }

    /// Whether the layer reads `X^m` at all, through neighbours or directly.
    pub fn reads(&self, m: usize) -> bool {
        self.program.inputs().any(|s| match s {
            Source::Aggregate { layer, .. } | Source::Attended { layer } => layer == m + 1,
            Source::Embedding(e) => e == m,
            Source::Degree(_) => false,
        })
    }
}

/// What a chain of layers sees of the graph. A layer that sees nothing hears its own row instead of neighbours (`A = I`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// Everything.
    Graph,
    /// What the first layer hears of neighbours, which are constants; layers above see nothing.
    Hops,
    /// Nothing.
    Nothing,
}

/// Layers in order.
#[derive(Debug, Clone)]
pub struct Network {
    layers: Vec<Layer>,
    graph_layers: usize,
    d_in: usize,
    degree_scale: Option<f64>,
}

impl Network {
    /// Builds the network and draws its parameters.
    pub fn new(config: &NetworkConfig, shape: &ModelShape, seed: u64) -> Result<Self> {
        let mut network = Self::outline(config, shape)?;
        for layer in &mut network.layers {
            layer.params = layer.program.params().iter().map(|p| Mat::zeros(p.rows, p.cols)).collect();
        }
        network.draw(Key::new(seed).with("init"));
        Ok(network)
    }

    /// Learned values that a configuration needs, without making room for them.
    pub fn size(config: &NetworkConfig, shape: &ModelShape) -> Result<usize> {
        let network = Self::outline(config, shape)?;
        let specs = network.layers.iter().flat_map(|l| l.program.params());
        Ok(specs.fold(0, |sum, p| p.rows.saturating_mul(p.cols).saturating_add(sum)))
    }

    /// The network without parameters.
    pub(crate) fn outline(config: &NetworkConfig, shape: &ModelShape) -> Result<Self> {
        let mut network = Self {
            layers: Vec::new(),
            graph_layers: config.layers,
            d_in: shape.features,
            degree_scale: None,
        };
        let skips = parse_skips(config)?;
        if let Some(own) = config.each.iter().find(|o| !(1..=config.layers).contains(&o.k)) {
            let found = format!("k = {}, but the graph layers are 1 to {}", own.k, config.layers);
            return Err(Error::usage("network.each", found, "name a graph layer"));
        }
        for k in 1..=config.layers {
            let layer = network.layer(config, k, shape, &skips)?;
            network.layers.push(layer);
        }
        if network.layers.iter().any(|l| l.look == Look::Moments) {
            network.degree_scale = Some(config.degree_scale.or(1.0));
        }
        if config.head == Head::Linear {
            let k = config.layers + 1;
            let options = LayerOptions {
                width: shape.classes,
                activation: Activation::None,
                norm: NormKind::None,
                dropout: config.head_dropout.or(if config.jumps() == Jump::None {
                    0.0
                } else {
                    config.dropout
                }),
                bias: config.bias,
                jump: network.jump(config)?,
                precision: config.precision,
                ..LayerOptions::default()
            };
            let linear = layers::find("linear").expect("the classifier's architecture is in the table");
            network.layers.push(make_layer(linear, k, network.width(k - 1), &options, Look::Nothing));
        }
        network.choose_storage(config.storage());
        Ok(network)
    }

    /// What a graph layer reads is rounded. The last embedding is not, which the classifier mostly gets without a table
    /// in between, nor what moments are taken of: they compare values.
    fn choose_storage(&mut self, cache: Storage) {
        for at in 1..self.graph_layers {
            if self.layers[at].look != Look::Moments {
                self.layers[at - 1].storage = cache;
            }
        }
    }

    /// What the classifier reads besides the last layer.
    fn jump(&self, config: &NetworkConfig) -> Result<Option<JumpFrom>> {
        let all: Vec<(usize, usize)> = (1..=self.graph_layers).map(|m| (m, self.width(m))).collect();
        if config.jumps() == Jump::Max && all.iter().any(|(_, width)| *width != all[0].1) {
            let found = "max, but the layers have different widths";
            return Err(Error::usage("network.jump", found, "use concat, or give all layers one width"));
        }
        Ok((config.jumps() != Jump::None).then_some((config.jumps(), all)))
    }

    fn layer(
        &self,
        config: &NetworkConfig,
        k: usize,
        shape: &ModelShape,
        skips: &[(usize, usize)],
    ) -> Result<Layer> {
        let top = k == config.layers && config.head == Head::Conv;
        let own = config.each.iter().find(|o| o.k == k).cloned().unwrap_or_default();
        let name = own.layer.as_ref().unwrap_or(&config.layer);
        let architecture = layers::find(name).ok_or_else(|| unknown_architecture(name))?;
        let skips = skips.iter().filter(|s| s.1 == k).map(|s| (s.0, self.width(s.0))).collect();
        let hidden = LayerOptions {
            width: own.hidden.unwrap_or(config.hidden.or(HIDDEN)),
            activation: own.activation.unwrap_or(config.activation),
            norm: own.norm.unwrap_or(config.norm),
            norm_order: own.norm_order.unwrap_or(config.norm_order.or(architecture.norm_order)),
            norm_eps: config.norm_eps,
            dropout: own.dropout.unwrap_or(config.dropout),
            bias: own.bias.unwrap_or(config.bias),
            residual: own.residual.unwrap_or(config.residual),
            combine: own.combine.unwrap_or(config.combine.or(Combine::Concat)),
            l2: own.l2.unwrap_or(config.l2 && k == config.layers),
            skips,
            heads: own.heads.unwrap_or(config.heads),
            attention_dropout: own.attention_dropout.unwrap_or(config.attention_dropout.or(config.dropout)),
            said_dropout: own.said_dropout.unwrap_or(config.said_dropout),
            initial: config.initial.or(INITIAL),
            theta: config.theta,
            relations: (shape.relations, shape.latent),
            jump: None,
            precision: config.precision,
        };
        let classifies = LayerOptions {
            width: shape.classes,
            activation: Activation::None,
            norm: NormKind::None,
            combine: if ["saint", "gat"].contains(&architecture.name) {
                Combine::Sum
            } else {
                hidden.combine
            },
            l2: false,
            ..hidden.clone()
        };
        let options = if top { classifies } else { hidden };
        self.check_widths(architecture, k, &options, top)?;
        let look = look(architecture, config, k, shape)?;
        Ok(make_layer(architecture, k, self.width(k - 1), &options, look))
    }

    fn check_widths(&self, a: &Architecture, k: usize, options: &LayerOptions, top: bool) -> Result<()> {
        let heads = options.heads;
        let apart = a.takes == Takes::Attention && options.combine == Combine::Concat;
        if apart && !options.width.is_multiple_of(heads) {
            let found = format!("{} columns for {heads} heads", options.width);
            return Err(Error::usage(
                "network.hidden",
                found,
                format!("take a multiple of {heads}, or other heads"),
            ));
        }
        let (below, first) = (self.width(k - 1), if k > 1 { self.width(1) } else { 0 });
        if a.embeds && k > 1 && (below != first || (!top && options.width != first)) {
            let found = format!("{} at layer {k}, but layer 1 has {first} columns", options.width);
            return Err(Error::usage("network.hidden", found, format!("{} layers have one width", a.name)));
        }
        Ok(())
    }

    /// `delta` of the degree scales, where a layer uses them.
    pub fn degree_scale(&self) -> Option<f64> {
        self.degree_scale
    }

    fn draw(&mut self, key: Key) {
        for layer in &mut self.layers {
            for (p, (spec, value)) in layer.program.params().iter().zip(&mut layer.params).enumerate() {
                let key = key.at(layer.k as u64).at(p as u64);
                let fans = match spec.init {
                    Init::Pieces(pieces) => spec.cols / pieces + 1,
                    _ => spec.rows + spec.cols,
                };
                let reach = (6.0 / fans as f64).sqrt();
                let draw = |i: usize| match spec.init {
                    Init::Glorot | Init::Pieces(_) => ((2.0 * key.unit(i as u64) - 1.0) * reach) as Real,
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

    /// Everything learned, by name: parameters `layer1.w`, batch norm statistics `layer1.norm_state0` (mean above
    /// reciprocal deviation).
    pub fn tensors(&self) -> Vec<(String, Tensor<'_>)> {
        let mut out: Vec<(String, Tensor<'_>)> = Vec::new();
        for layer in &self.layers {
            let params = layer.program.params().iter().zip(&layer.params);
            out.extend(params.map(|(spec, value)| (layer.tensor(&spec.name), value.into())));
            for (i, norm) in layer.norms.iter().enumerate() {
                let values = Cow::Owned([&norm.mean[..], &norm.rstd[..]].concat());
                out.push((layer.norm_tensor(i), Tensor { rows: 2, cols: norm.mean.len(), values }));
            }
        }
        out
    }

    /// Takes over tensors of [`Network::tensors`], their names prefixed.
    pub(crate) fn fill(&mut self, prefix: &str, given: &mut Tensors) -> Result<()> {
        for layer in &mut self.layers {
            for p in 0..layer.params.len() {
                let name = format!("{prefix}{}", layer.tensor(&layer.program.params()[p].name));
                let (rows, cols) = (layer.params[p].rows(), layer.params[p].cols());
                layer.params[p] = given.take(&name, rows, cols)?;
            }
            for i in 0..layer.norms.len() {
                let name = format!("{prefix}{}", layer.norm_tensor(i));
                let m = given.take(&name, 2, layer.norms[i].mean.len())?;
                (layer.norms[i].mean, layer.norms[i].rstd) = (m.row(0).to_vec(), m.row(1).to_vec());
            }
        }
        Ok(())
    }

    /// The first parameter that is not finite: its layer, its name and the value.
    pub fn broken(&self) -> Option<(usize, &str, Real)> {
        self.layers.iter().find_map(|layer| {
            let mut params = layer.program.params().iter().zip(&layer.params);
            params.find_map(|(spec, value)| {
                let bad = value.data().iter().find(|v| !v.is_finite())?;
                Some((layer.k, spec.name.as_str(), *bad))
            })
        })
    }

    /// Number of learned values.
    pub fn params(&self) -> usize {
        self.layers.iter().flat_map(|l| &l.params).map(|p| p.data().len()).sum()
    }

    /// Parameters of layers `from..=L`, in the order of their chain.
    pub fn params_from(&self, from: usize) -> Vec<&Mat> {
        self.layers[from - 1..].iter().flat_map(|l| &l.params).collect()
    }

    /// The same, writable.
    pub fn params_from_mut(&mut self, from: usize) -> Vec<&mut Mat> {
        self.layers[from - 1..].iter_mut().flat_map(|l| &mut l.params).collect()
    }

    /// Batch norm statistics of layers `from..=L`, in the order of their chain.
    pub fn norms_from(&self, from: usize) -> Vec<NormState> {
        self.layers[from - 1..].iter().flat_map(|l| l.norms.clone()).collect()
    }

    /// Layers `from..=L` as one row program. With [`Sight::Graph`] layers above `from` must take nothing from neighbours.
    pub fn chain(&self, from: usize, sight: Sight) -> Program {
        let mut b = Builder::default();
        let mut outputs: Vec<(usize, Value)> = Vec::new();
        for layer in &self.layers[from - 1..] {
            if sight != Sight::Graph && from == 1 && outputs.is_empty() {
                outputs.push((0, b.input(Source::Embedding(0), self.d_in)));
            }
            let first = layer.k == from;
            assert!(
                sight != Sight::Graph || first || layer.look == Look::Nothing,
                "only the first layer of a chain may take from neighbours"
            );
            let known = outputs.clone();
            let find = move |m: usize| known.iter().find(|(k, _)| *k == m).map(|(_, v)| *v);
            let alone = sight == Sight::Nothing || (sight == Sight::Hops && layer.k > 1);
            let nothing = (alone && layer.look == Look::Moments)
                .then(|| find(layer.k - 1).map(|x| b.mix((0.0, x), (0.0, x))))
                .flatten();
            let out = b.append(&layer.program, |source| match source {
                Source::Embedding(m) => find(m),
                // Of one row alone mean, largest and smallest are the row, the deviation is nothing.
                Source::Aggregate { part: 3, .. } if nothing.is_some() => nothing,
                Source::Aggregate { layer, .. } if alone => find(layer - 1),
                Source::Aggregate { .. } | Source::Attended { .. } | Source::Degree(_) => None,
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
        let same =
            |s: Source| s == source || (s == Source::Attended { layer: 1 } && source == Source::Embedding(0));
        readers.all(|(l, i, s)| !same(s) || l.program.accepts_sparse(i))
    }

    /// Whether the first layer takes something from neighbours that is known before training.
    pub fn has_hops(&self) -> bool {
        self.at(1).look.parts() > 0
    }
}

/// What layer `k` takes from neighbours.
fn look(a: &Architecture, config: &NetworkConfig, k: usize, shape: &ModelShape) -> Result<Look> {
    if a.embeds && k == 1 {
        return Ok(Look::Nothing);
    }
    Ok(match a.takes {
        Takes::Nothing => Look::Nothing,
        Takes::Operator(norm) => Look::Powers {
            norm: config.operator.or(norm),
            hops: if k == 1 { config.hops.or(1).min(a.max_hops) } else { 1 },
        },
        Takes::Relations(norm) => {
            let count = shape.relations + shape.latent;
            if count == 0 {
                let found = format!("{}, but the data has one kind of edges only", a.name);
                return Err(Error::usage("network.layer", found, "use sage, or give edges a type"));
            }
            Look::Relations { norm: config.operator.or(norm), count }
        }
        Takes::Moments => Look::Moments,
        Takes::Attention => Look::Attention,
    })
}

fn make_layer(
    architecture: &'static Architecture,
    k: usize,
    d_in: usize,
    options: &LayerOptions,
    look: Look,
) -> Layer {
    let program = layers::build(architecture, &Site { k, d_in, parts: look.parts(), options });
    let norms = program.fresh_norms();
    Layer {
        k,
        architecture: architecture.name,
        look,
        program,
        params: Vec::new(),
        norms,
        storage: Storage::F32,
    }
}

pub(crate) fn unknown_architecture(name: &str) -> Error {
    let names: Vec<&str> = layers::ARCHITECTURES.iter().map(|a| a.name).collect();
    Error::usage(
        "network.layer",
        format!("unknown architecture `{name}`"),
        format!("use one of {}", names.join(", ")),
    )
}

/// Reads `"k->m"`, 0 <= k < m <= K, and `"dense"`: every layer to every later one but the next.
fn parse_skips(config: &NetworkConfig) -> Result<Vec<(usize, usize)>> {
    if config.skips == ["dense"] {
        let of = |m: usize| (1..m.saturating_sub(1)).map(move |k| (k, m));
        return Ok((1..=config.layers).flat_map(of).collect());
    }
    let parse = |text: &String| {
        let (k, m) = text.split_once("->")?;
        let (k, m) = (k.trim().parse().ok()?, m.trim().parse().ok()?);
        (k < m && m <= config.layers).then_some((k, m))
    };
    let refuse = |text: &String| {
        let fix = format!("write \"k->m\" with 0 <= k < m <= {}, or \"dense\" alone", config.layers);
        Error::usage("network.skips", format!("`{text}` is no skip connection of this network"), fix)
    };
    config.skips.iter().map(|s| parse(s).ok_or_else(|| refuse(s))).collect()
}

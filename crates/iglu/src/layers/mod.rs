//! Layers: what a node takes from its neighbours (a look) and what is done to rows (a program).
//!
//! One file per architecture, each with its formula and a `build` function; [`ARCHITECTURES`] lists them. Layers
//! never normalise the graph and never see labels, caches or files. Gradients are not written here: they follow
//! from the operations of the program, and every entry of the table is checked by finite differences.

mod appnp;
mod gat;
mod gcn;
mod gcnii;
mod gin;
#[cfg(test)]
mod golden;
mod linear;
mod pna;
mod rgcn;
mod sage;
mod saint;
#[cfg(test)]
mod tests;
mod virtual_nodes;

use crate::kernels::gemm::Precision;
use crate::kernels::rowwise::Activation;
use crate::operator::Norm;
use crate::program::{Builder, Program, Source, Value};
use serde::{Deserialize, Serialize};

/// An architecture by name.
pub struct Architecture {
    /// Name on the command line.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// What it takes from neighbours.
    pub takes: Takes,
    /// Whether its first layer is an embedding that takes nothing, and all later ones have its width.
    pub embeds: bool,
    /// Norm before or after the activation, unless told otherwise.
    pub norm_order: NormOrder,
    /// Most hops its first layer can take.
    pub max_hops: usize,
    /// Writes the row program of one layer.
    build: fn(&mut Builder, &Site<'_>) -> Value,
}

/// All architectures. A new one is one file and one line here.
pub const ARCHITECTURES: &[Architecture] = &[
    gcn::GCN,
    sage::SAGE,
    saint::SAINT,
    gin::GIN,
    gat::GAT,
    gcnii::GCNII,
    appnp::APPNP,
    pna::PNA,
    rgcn::RGCN,
    virtual_nodes::VIRTUAL,
    linear::LINEAR,
];

/// What an architecture takes from neighbours; operators are those it has unless told otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Nothing.
    Nothing,
    /// `A X`, in the first layer several hops.
    Operator(Norm),
    /// `A_r X` of every kind of edge.
    Relations(Norm),
    /// Mean, largest, smallest and deviation.
    Moments,
    /// What attention learns.
    Attention,
}

/// The architecture of that name.
pub fn find(name: &str) -> Option<&'static Architecture> {
    ARCHITECTURES.iter().find(|a| a.name == name)
}

/// Normalisation inside a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NormKind {
    /// Over each row.
    #[default]
    Layer,
    /// Over each column of the batch.
    Batch,
    /// None.
    None,
}

/// Where the norm stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NormOrder {
    /// `f(norm(h))`.
    #[default]
    Before,
    /// `norm(f(h))`.
    After,
}

/// How own and neighbours' rows come together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Combine {
    /// Side by side.
    #[default]
    Concat,
    /// Added.
    Sum,
}

/// Settings of one layer.
#[derive(Debug, Clone, PartialEq)]
pub struct LayerOptions {
    /// Output width (of each branch, where branches are concatenated).
    pub width: usize,
    /// Activation.
    pub activation: Activation,
    /// Norm.
    pub norm: NormKind,
    /// Its place.
    pub norm_order: NormOrder,
    /// Its epsilon.
    pub norm_eps: f64,
    /// Dropout of the inputs.
    pub dropout: f64,
    /// Learned offsets.
    pub bias: bool,
    /// Adds the own row to the output.
    pub residual: bool,
    /// Concatenate or sum.
    pub combine: Combine,
    /// L2-normalise the output.
    pub l2: bool,
    /// Layers (by number, with their widths) whose rows are added to the output.
    pub skips: Vec<(usize, usize)>,
    /// Attention heads.
    pub heads: usize,
    /// Dropout of attention weights.
    pub attention_dropout: f64,
    /// Dropout of what neighbours say.
    pub said_dropout: f64,
    /// Share of the first embedding in every layer (GCNII, APPNP).
    pub initial: f64,
    /// Strength of GCNII's maps: `ln(theta / (k - 1) + 1)`.
    pub theta: f64,
    /// Kinds of edges: of the graph, and of latent space.
    pub relations: (usize, usize),
    /// What the classifier reads instead of the last layer.
    pub jump: Option<JumpFrom>,
    /// The numbers that products multiply.
    pub precision: Precision,
}

/// How several layers are read, and which: by number, with their widths.
pub type JumpFrom = (Jump, Vec<(usize, usize)>);

/// How the classifier reads all layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Jump {
    /// Only the last one.
    None,
    /// Side by side.
    Concat,
    /// The largest entry of all.
    Max,
}

impl Default for LayerOptions {
    fn default() -> Self {
        Self {
            width: 16,
            activation: Activation::Relu,
            norm: NormKind::Layer,
            norm_order: NormOrder::Before,
            norm_eps: 1e-5,
            dropout: 0.0,
            bias: true,
            residual: false,
            combine: Combine::Concat,
            l2: false,
            skips: Vec::new(),
            heads: 1,
            attention_dropout: 0.0,
            said_dropout: 0.0,
            initial: 0.1,
            theta: 0.5,
            relations: (0, 0),
            jump: None,
            precision: Precision::F32,
        }
    }
}

/// Where a layer stands and how it is set.
pub struct Site<'a> {
    /// Number of the layer, from 1.
    pub k: usize,
    /// Width of `X^{k-1}`.
    pub d_in: usize,
    /// Aggregates the layer takes.
    pub parts: usize,
    /// Its settings.
    pub options: &'a LayerOptions,
}

impl Site<'_> {
    /// The node's own row of `X^{k-1}`, through dropout.
    fn own(&self, b: &mut Builder) -> Value {
        let x = b.input(Source::Embedding(self.k - 1), self.d_in);
        b.dropout(x, self.options.dropout)
    }

    /// Everything taken from neighbours (hops, relations or moments), each through dropout.
    fn aggregates(&self, b: &mut Builder) -> Vec<Value> {
        let one = |part| {
            let z = b.input(Source::Aggregate { layer: self.k, part }, self.d_in);
            b.dropout(z, self.options.dropout)
        };
        (0..self.parts).map(one).collect()
    }

    /// `(1 - initial) A X^{k-1} + initial X^1`, each through dropout.
    fn with_initial(&self, b: &mut Builder) -> Value {
        let z = self.aggregates(b)[0];
        let x = b.input(Source::Embedding(1), self.d_in);
        let x = b.dropout(x, self.options.dropout);
        b.mix((1.0 - self.options.initial, z), (self.options.initial, x))
    }

    /// Bias, norm and activation in their order.
    fn finish(&self, b: &mut Builder, h: Value, name: &str) -> Value {
        let o = self.options;
        let h = if o.bias { b.bias(&format!("b{name}"), h) } else { h };
        match o.norm_order {
            NormOrder::Before => {
                let h = self.normalise(b, h, name);
                b.activate(h, o.activation)
            }
            NormOrder::After => {
                let h = b.activate(h, o.activation);
                self.normalise(b, h, name)
            }
        }
    }

    fn normalise(&self, b: &mut Builder, h: Value, name: &str) -> Value {
        match self.options.norm {
            NormKind::Layer => b.layer_norm(&format!("norm{name}"), h, self.options.norm_eps),
            NormKind::Batch => b.batch_norm(&format!("norm{name}"), h, self.options.norm_eps),
            NormKind::None => h,
        }
    }
}

/// Adds row i of `X^m`, through dropout: itself where the widths agree, else through a learned map.
fn add_embedding(b: &mut Builder, h: Value, (m, width): (usize, usize), name: &str, dropout: f64) -> Value {
    let x = b.input(Source::Embedding(m), width);
    let x = b.dropout(x, dropout);
    let x = if m == 0 || width != b.width(h) { b.linear(name, &[x], b.width(h)) } else { x };
    b.add(h, x)
}

/// The row program of layer `k` of an architecture.
pub fn build(architecture: &Architecture, site: &Site<'_>) -> Program {
    let mut b = Builder::with_precision(site.options.precision);
    let mut h = (architecture.build)(&mut b, site);
    if site.options.residual {
        h = add_embedding(&mut b, h, (site.k - 1, site.d_in), "w_residual", site.options.dropout);
    }
    for &(m, width) in &site.options.skips {
        h = add_embedding(&mut b, h, (m, width), &format!("w_skip{m}"), site.options.dropout);
    }
    if site.options.l2 {
        h = b.l2_normalise(h);
    }
    b.finish(h)
}

//! Layers: what a node takes from its neighbours (an operator) and what is done to rows (a program).
//!
//! One file per architecture, each with its formula and a `build` function; [`ARCHITECTURES`] lists them. Layers
//! never normalise the graph and never see labels, caches or files. Gradients are not written here: they follow
//! from the operations of the program, and every entry of the table is checked by finite differences.

mod gcn;
mod gin;
mod linear;
mod sage;
mod saint;
#[cfg(test)]
mod tests;

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
    /// Operator it uses unless told otherwise; `None`: it takes nothing from neighbours.
    pub operator: Option<Norm>,
    /// Norm before or after the activation, unless told otherwise.
    pub norm_order: NormOrder,
    /// Most hops its first layer can take.
    pub max_hops: usize,
    /// Writes the row program of one layer.
    build: fn(&mut Builder, &Site<'_>) -> Value,
}

/// All architectures. A new one is one file and one line here.
pub const ARCHITECTURES: &[Architecture] = &[gcn::GCN, sage::SAGE, saint::SAINT, gin::GIN, linear::LINEAR];

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
    /// Aggregates taken.
    pub hops: usize,
    /// Layers (by number, with their widths) whose rows are added to the output.
    pub skips: Vec<(usize, usize)>,
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
            hops: 1,
            skips: Vec::new(),
        }
    }
}

/// Where a layer stands and how it is set.
pub struct Site<'a> {
    /// Number of the layer, from 1.
    pub k: usize,
    /// Width of `X^{k-1}`.
    pub d_in: usize,
    /// Its settings.
    pub options: &'a LayerOptions,
}

impl Site<'_> {
    /// The node's own row of `X^{k-1}`, through dropout.
    fn own(&self, b: &mut Builder) -> Value {
        let x = b.input(Source::Embedding(self.k - 1), self.d_in);
        b.dropout(x, self.options.dropout)
    }

    /// Rows of `A X^{k-1}, A^2 X^{k-1}, ..`, each through dropout.
    fn aggregates(&self, b: &mut Builder) -> Vec<Value> {
        let one = |hop| {
            let z = b.input(Source::Aggregate { layer: self.k, hop }, self.d_in);
            b.dropout(z, self.options.dropout)
        };
        (0..self.options.hops).map(one).collect()
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

/// Adds row i of `X^m`: itself where the widths agree, else through a learned map.
fn add_embedding(b: &mut Builder, h: Value, (m, width): (usize, usize), name: &str) -> Value {
    let x = b.input(Source::Embedding(m), width);
    let x = if m == 0 || width != b.width(h) { b.linear(name, &[x], b.width(h)) } else { x };
    b.add(h, x)
}

/// The row program of layer `k` of an architecture.
pub fn build(architecture: &Architecture, site: &Site<'_>) -> Program {
    let mut b = Builder::default();
    let mut h = (architecture.build)(&mut b, site);
    if site.options.residual {
        h = add_embedding(&mut b, h, (site.k - 1, site.d_in), "w_residual");
    }
    for &(m, width) in &site.options.skips {
        h = add_embedding(&mut b, h, (m, width), &format!("w_skip{m}"));
    }
    if site.options.l2 {
        h = b.l2_normalise(h);
    }
    b.finish(h)
}

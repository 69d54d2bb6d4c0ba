//! Row programs: what a layer does to rows, as a short list of operations.
//!
//! Row i of a layer's output depends on row i of its inputs only: aggregated rows `Z`, embeddings `X^m`. A
//! [`Builder`] writes that down once (`linear`, `bias`, `activate`, norms, `dropout`, `concat`, `add`); forward
//! and vector-Jacobian products of every layer, and of any chain of layers, follow from the operations
//! ([`exec`]), which run on blocks of rows that fit a core's cache ([`run`]). Programs know no graph and no labels.

mod attend;
mod builder;
mod cost;
mod exec;
mod kept;
mod lanes;
mod memory;
mod norms;
mod run;
mod wanted;
mod weights;

pub use attend::{AttentionOptions, Heard};
pub use builder::Builder;
pub use cost::{Gradients, Repeated};
pub use exec::Dropping;
pub use lanes::Lanes;
pub use norms::NormState;
pub use run::{Call, Input, Job, NOWHERE, Norms, Objective, Partly, RowSet};
pub use wanted::{Put, Wanted};

use crate::Real;
use crate::kernels::gemm::Precision;
use crate::kernels::rowwise::Activation;
use memory::Place;

/// Number of a value inside a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Value(pub(crate) usize);

/// Number of a parameter inside a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Param(pub(crate) usize);

/// What an input of a program holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Source {
    /// Row of `Z^layer`, the `part`-th aggregate that layer takes.
    Aggregate {
        /// The layer it belongs to (1-based).
        layer: usize,
        /// Hops, relations or moments are numbered from 0.
        part: usize,
    },
    /// Row of `X^k` (`X^0`: the features).
    Embedding(usize),
    /// What attention makes of the neighbours' rows of `X^{layer - 1}`; never cached.
    Attended {
        /// The layer it belongs to (1-based).
        layer: usize,
    },
    /// A number per node that grows with the logarithm of its degree.
    Degree(DegreeScale),
}

/// How a node's degree scales its row (PNA): `s = ln(degree + 1) / delta`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DegreeScale {
    /// `s`.
    Amplify,
    /// `1 / s`, 0 for isolated nodes.
    Attenuate,
}

/// How a parameter starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Init {
    /// Uniform in +-sqrt(6 / (rows + cols)).
    Glorot,
    /// All 0.
    Zeros,
    /// All 1.
    Ones,
    /// A row of this many vectors, each uniform as a matrix of one column.
    Pieces(usize),
}

/// Name, shape and start of a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamSpec {
    /// Name within its layer.
    pub name: String,
    /// Rows (1 for vectors).
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// Start value.
    pub init: Init,
    /// Whether weight decay applies.
    pub decay: bool,
}

/// One operation; values are written once.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Op {
    /// `dst = [src_0 | src_1 | ..] W`.
    Linear { src: Vec<Value>, w: Param, precision: Precision, dst: Value },
    /// `dst = src + b`.
    Bias { src: Value, b: Param, dst: Value },
    /// `dst = f(src)`.
    Activate { kind: Activation, src: Value, dst: Value },
    /// Mean and variance over the row.
    LayerNorm { src: Value, scale: Param, offset: Param, eps: f64, stats: usize, dst: Value },
    /// Mean and variance over the rows of the batch; `state` numbers the batch norms of the program.
    BatchNorm { src: Value, scale: Param, offset: Param, eps: f64, state: usize, dst: Value },
    /// `dst = src / |src|`.
    L2Normalise { src: Value, stats: usize, dst: Value },
    /// `dst = src * mask`; `place` numbers the dropouts of the program.
    Dropout { src: Value, rate: f64, place: usize, dst: Value },
    /// `dst = factors[0] a + factors[1] b`.
    Add { a: Value, b: Value, factors: [Real; 2], dst: Value },
    /// `dst = a + (1 + eps) b` with a learned scalar.
    AddScaled { a: Value, b: Value, eps: Param, dst: Value },
    /// `dst = [part_0 | part_1 | ..]`.
    Concat { parts: Vec<Value>, dst: Value },
    /// The largest of the parts, entry by entry; the first of equals.
    Largest { parts: Vec<Value>, dst: Value },
    /// `dst = by src`, a number per row that is nobody's gradient.
    ScaleRows { src: Value, by: Value, dst: Value },
    /// Column h of `dst` is the inner product of the h-th piece of the row with the h-th piece of `a`.
    PieceDot { src: Value, a: Param, dst: Value },
    /// The mean of the row's pieces.
    PieceMean { src: Value, dst: Value },
}

impl Op {
    pub(crate) fn dst(&self) -> Value {
        match self {
            Self::Linear { dst, .. }
            | Self::Bias { dst, .. }
            | Self::Activate { dst, .. }
            | Self::LayerNorm { dst, .. }
            | Self::BatchNorm { dst, .. }
            | Self::L2Normalise { dst, .. }
            | Self::Dropout { dst, .. }
            | Self::Add { dst, .. }
            | Self::AddScaled { dst, .. }
            | Self::Concat { dst, .. }
            | Self::Largest { dst, .. }
            | Self::ScaleRows { dst, .. }
            | Self::PieceDot { dst, .. }
            | Self::PieceMean { dst, .. } => *dst,
        }
    }

    pub(crate) fn sources(&self) -> Vec<Value> {
        match self {
            Self::Linear { src, .. } | Self::Concat { parts: src, .. } | Self::Largest { parts: src, .. } => {
                src.clone()
            }
            Self::Add { a, b, .. } | Self::AddScaled { a, b, .. } => vec![*a, *b],
            Self::ScaleRows { src, by, .. } => vec![*src, *by],
            Self::Bias { src, .. }
            | Self::Activate { src, .. }
            | Self::LayerNorm { src, .. }
            | Self::BatchNorm { src, .. }
            | Self::L2Normalise { src, .. }
            | Self::Dropout { src, .. }
            | Self::PieceDot { src, .. }
            | Self::PieceMean { src, .. } => vec![*src],
        }
    }

    pub(crate) fn params(&self) -> Vec<Param> {
        match self {
            Self::Linear { w: p, .. }
            | Self::Bias { b: p, .. }
            | Self::AddScaled { eps: p, .. }
            | Self::PieceDot { a: p, .. } => vec![*p],
            Self::LayerNorm { scale, offset, .. } | Self::BatchNorm { scale, offset, .. } => {
                vec![*scale, *offset]
            }
            _ => Vec::new(),
        }
    }

    /// The same operation with values and parameters renumbered.
    fn renumbered(
        &self,
        value: impl Fn(Value) -> Value,
        param: impl Fn(Param) -> Param,
        base: &Counts,
    ) -> Self {
        let mut op = self.clone();
        match &mut op {
            Self::Linear { src, w, dst, .. } => {
                src.iter_mut().for_each(|v| *v = value(*v));
                (*w, *dst) = (param(*w), value(*dst));
            }
            Self::Concat { parts, dst } | Self::Largest { parts, dst } => {
                parts.iter_mut().for_each(|v| *v = value(*v));
                *dst = value(*dst);
            }
            Self::ScaleRows { src, by, dst } => (*src, *by, *dst) = (value(*src), value(*by), value(*dst)),
            Self::PieceDot { src, a, dst } => (*src, *a, *dst) = (value(*src), param(*a), value(*dst)),
            Self::Bias { src, b, dst } => (*src, *b, *dst) = (value(*src), param(*b), value(*dst)),
            Self::Activate { src, dst, .. } | Self::PieceMean { src, dst } => {
                (*src, *dst) = (value(*src), value(*dst));
            }
            Self::LayerNorm { src, scale, offset, stats, dst, .. } => {
                (*src, *scale, *offset, *dst) = (value(*src), param(*scale), param(*offset), value(*dst));
                *stats += base.stats;
            }
            Self::BatchNorm { src, scale, offset, state, dst, .. } => {
                (*src, *scale, *offset, *dst) = (value(*src), param(*scale), param(*offset), value(*dst));
                *state += base.states;
            }
            Self::L2Normalise { src, stats, dst } => {
                (*src, *dst) = (value(*src), value(*dst));
                *stats += base.stats;
            }
            Self::Dropout { src, place, dst, .. } => {
                (*src, *dst) = (value(*src), value(*dst));
                *place += base.dropouts;
            }
            Self::Add { a, b, dst, .. } => (*a, *b, *dst) = (value(*a), value(*b), value(*dst)),
            Self::AddScaled { a, b, eps, dst } => {
                (*a, *b, *eps, *dst) = (value(*a), value(*b), param(*eps), value(*dst));
            }
        }
        op
    }
}

/// How many row statistics, batch norms and dropouts a program has.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Counts {
    stats: usize,
    states: usize,
    dropouts: usize,
}

/// The one linear map an input goes through.
#[derive(Debug, Clone, Copy)]
pub struct LinearUse {
    /// Its result.
    pub result: Value,
    /// Width of the result.
    pub width: usize,
    /// Its parameter, by position.
    pub param: usize,
    /// The first row of the parameter that meets the input.
    pub first_row: usize,
    /// The numbers it multiplies.
    pub precision: Precision,
}

/// A finished row program.
#[derive(Debug, Clone)]
pub struct Program {
    raw: Builder,
    /// Parameters of the neighbours' program, then of this one.
    params: Vec<ParamSpec>,
    output: Value,
    values: memory::Layout,
    grads: memory::Layout,
    /// Values that nobody reads but a GELU: it leaves its derivative there.
    slopes: Vec<bool>,
}

impl Program {
    fn new(mut raw: Builder, output: Value) -> Self {
        norms::side_by_side(&mut raw.ops, raw.widths.len());
        let values = memory::place_values(&raw, output);
        let grads = memory::place_grads(&raw, output);
        let slopes = memory::slopes(&raw, output);
        let inner = raw.attention.as_ref().map_or(&[][..], |a| a.rows.params());
        let params = [inner, &raw.params].concat();
        Self { raw, params, output, values, grads, slopes }
    }

    /// A program without anything, to fill a place.
    pub(crate) fn empty() -> Self {
        let mut b = Builder::default();
        let v = b.input(Source::Embedding(0), 0);
        b.finish(v)
    }

    /// Columns of the output.
    pub fn width(&self) -> usize {
        self.raw.widths[self.output.0]
    }

    /// The inputs, in the order in which data has to be given.
    pub fn inputs(&self) -> impl Iterator<Item = Source> + '_ {
        self.raw.inputs.iter().map(|(s, _)| *s)
    }

    /// Columns of input `i`.
    pub fn input_width(&self, i: usize) -> usize {
        self.raw.widths[self.raw.inputs[i].1.0]
    }

    /// Columns of what is given for input `i`: itself, or the neighbours' rows that it is made from.
    pub fn given_width(&self, i: usize) -> usize {
        let attention = self.raw.attention.as_ref().filter(|a| a.input == i);
        attention.map_or(self.input_width(i), |a| a.rows.input_width(0))
    }

    /// The value of input `i`.
    pub fn input_value(&self, i: usize) -> Value {
        self.raw.inputs[i].1
    }

    /// Where input `i` meets nothing but one linear map: the map's result, its parameter and the first row of it
    /// that belongs to the input. Gradients may then be taken before the map, where that is narrower.
    pub fn only_map(&self, i: usize) -> Option<LinearUse> {
        let mut v = self.raw.inputs[i].1;
        loop {
            let mut users = self.raw.ops.iter().filter(|op| op.sources().contains(&v));
            let (user, others) = (users.next()?, users.count());
            match user {
                Op::Dropout { dst, .. } if others == 0 => v = *dst,
                Op::Linear { src, w, precision, dst }
                    if others == 0 && src.iter().filter(|s| **s == v).count() == 1 =>
                {
                    let first_row = src.iter().take_while(|s| **s != v).map(|s| self.raw.widths[s.0]).sum();
                    return Some(LinearUse {
                        result: *dst,
                        width: self.raw.widths[dst.0],
                        param: self.inner_params() + w.0,
                        first_row,
                        precision: *precision,
                    });
                }
                _ => return None,
            }
        }
    }

    /// The parameters.
    pub fn params(&self) -> &[ParamSpec] {
        &self.params
    }

    /// How many of them belong to the neighbours' program.
    fn inner_params(&self) -> usize {
        self.params.len() - self.raw.params.len()
    }

    /// Number of batch norms.
    pub fn batch_norms(&self) -> usize {
        self.raw.counts.states
    }

    /// Whether input `i` may be sparse: it only meets linear maps (and dropout).
    pub fn accepts_sparse(&self, i: usize) -> bool {
        if let Some(attention) = self.raw.attention.as_ref().filter(|a| a.input == i) {
            return attention.rows.accepts_sparse(0);
        }
        let only_linear = |v: Value| {
            let mut users = self.raw.ops.iter().filter(|op| op.sources().contains(&v));
            users.all(|op| matches!(op, Op::Linear { .. }))
        };
        let v = self.raw.inputs[i].1;
        v != self.output
            && self.raw.ops.iter().filter(|op| op.sources().contains(&v)).all(|op| match op {
                Op::Linear { .. } => true,
                Op::Dropout { dst, .. } => only_linear(*dst) && *dst != self.output,
                _ => false,
            })
    }

    fn place(&self, v: Value) -> Place {
        self.values.places[v.0]
    }

    /// Whether an activation replaces its input by its derivative.
    fn keeps_slope(&self, op: &Op) -> bool {
        matches!(op, Op::Activate { src, .. } if self.slopes[src.0])
    }

    fn grad_place(&self, v: Value) -> Place {
        self.grads.places[v.0]
    }
}

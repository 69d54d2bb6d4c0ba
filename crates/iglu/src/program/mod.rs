//! Row programs: what a layer does to rows, as a short list of operations.
//!
//! Row i of a layer's output depends on row i of its inputs only: aggregated rows `Z`, embeddings `X^m`. A
//! [`Builder`] writes that down once (`linear`, `bias`, `activate`, norms, `dropout`, `concat`, `add`); forward
//! and vector-Jacobian products of every layer, and of any chain of layers, follow from the operations
//! ([`exec`]), which run on blocks of rows that fit a core's cache ([`run`]). Programs know no graph and no labels.

mod exec;
mod memory;
mod run;

pub use exec::{Dropping, NormState};
pub use run::{Call, Input, Job, Lanes, Norms, Objective, RowSet};

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
    /// Row of `Z^layer`, the `hop`-th aggregate that layer takes.
    Aggregate {
        /// The layer it belongs to (1-based).
        layer: usize,
        /// 0 for `A X`, 1 for `A^2 X`, ...
        hop: usize,
    },
    /// Row of `X^k` (`X^0`: the features).
    Embedding(usize),
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
    Linear { src: Vec<Value>, w: Param, dst: Value },
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
    /// `dst = a + b`.
    Add { a: Value, b: Value, dst: Value },
    /// `dst = a + (1 + eps) b` with a learned scalar.
    AddScaled { a: Value, b: Value, eps: Param, dst: Value },
    /// `dst = [part_0 | part_1 | ..]`.
    Concat { parts: Vec<Value>, dst: Value },
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
            | Self::Concat { dst, .. } => *dst,
        }
    }

    pub(crate) fn sources(&self) -> Vec<Value> {
        match self {
            Self::Linear { src, .. } | Self::Concat { parts: src, .. } => src.clone(),
            Self::Add { a, b, .. } | Self::AddScaled { a, b, .. } => vec![*a, *b],
            Self::Bias { src, .. }
            | Self::Activate { src, .. }
            | Self::LayerNorm { src, .. }
            | Self::BatchNorm { src, .. }
            | Self::L2Normalise { src, .. }
            | Self::Dropout { src, .. } => vec![*src],
        }
    }

    pub(crate) fn params(&self) -> Vec<Param> {
        match self {
            Self::Linear { w: p, .. } | Self::Bias { b: p, .. } | Self::AddScaled { eps: p, .. } => vec![*p],
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
            Self::Linear { src, w, dst } => {
                src.iter_mut().for_each(|v| *v = value(*v));
                (*w, *dst) = (param(*w), value(*dst));
            }
            Self::Concat { parts, dst } => {
                parts.iter_mut().for_each(|v| *v = value(*v));
                *dst = value(*dst);
            }
            Self::Bias { src, b, dst } => (*src, *b, *dst) = (value(*src), param(*b), value(*dst)),
            Self::Activate { src, dst, .. } => (*src, *dst) = (value(*src), value(*dst)),
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
            Self::Add { a, b, dst } => (*a, *b, *dst) = (value(*a), value(*b), value(*dst)),
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

/// Writes a row program.
///
/// ```
/// use iglu::program::{Builder, Source};
/// use iglu::Activation;
/// let mut b = Builder::default();
/// let z = b.input(Source::Aggregate { layer: 1, hop: 0 }, 8);
/// let h = b.linear("w", &[z], 4);
/// let h = b.activate(h, Activation::Relu);
/// let program = b.finish(h);
/// assert_eq!(program.width(), 4);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Builder {
    inputs: Vec<(Source, Value)>,
    widths: Vec<usize>,
    ops: Vec<Op>,
    params: Vec<ParamSpec>,
    counts: Counts,
}

impl Builder {
    fn value(&mut self, width: usize) -> Value {
        self.widths.push(width);
        Value(self.widths.len() - 1)
    }

    fn param(&mut self, name: &str, (rows, cols): (usize, usize), init: Init) -> Param {
        let decay = init == Init::Glorot;
        self.params.push(ParamSpec { name: name.to_string(), rows, cols, init, decay });
        Param(self.params.len() - 1)
    }

    /// Columns of a value.
    pub fn width(&self, v: Value) -> usize {
        self.widths[v.0]
    }

    /// An input; asking twice for one source gives the same value.
    pub fn input(&mut self, source: Source, width: usize) -> Value {
        if let Some((_, v)) = self.inputs.iter().find(|(s, _)| *s == source) {
            return *v;
        }
        let v = self.value(width);
        self.inputs.push((source, v));
        v
    }

    /// `[src_0 | src_1 | ..] W`.
    pub fn linear(&mut self, name: &str, src: &[Value], width: usize) -> Value {
        let rows = src.iter().map(|v| self.width(*v)).sum();
        let w = self.param(name, (rows, width), Init::Glorot);
        let dst = self.value(width);
        self.ops.push(Op::Linear { src: src.to_vec(), w, dst });
        dst
    }

    /// `src + b`.
    pub fn bias(&mut self, name: &str, src: Value) -> Value {
        let b = self.param(name, (1, self.width(src)), Init::Zeros);
        let dst = self.value(self.width(src));
        self.ops.push(Op::Bias { src, b, dst });
        dst
    }

    /// `f(src)`.
    pub fn activate(&mut self, src: Value, kind: Activation) -> Value {
        if kind == Activation::None {
            return src;
        }
        let dst = self.value(self.width(src));
        self.ops.push(Op::Activate { kind, src, dst });
        dst
    }

    fn affine(&mut self, name: &str, src: Value) -> (Param, Param, Value) {
        let width = self.width(src);
        let scale = self.param(&format!("{name}_scale"), (1, width), Init::Ones);
        let offset = self.param(&format!("{name}_offset"), (1, width), Init::Zeros);
        (scale, offset, self.value(width))
    }

    /// `(src - mean) / sqrt(var + eps) scale + offset` over each row.
    pub fn layer_norm(&mut self, name: &str, src: Value, eps: f64) -> Value {
        let (scale, offset, dst) = self.affine(name, src);
        self.ops.push(Op::LayerNorm { src, scale, offset, eps, stats: self.counts.stats, dst });
        self.counts.stats += 1;
        dst
    }

    /// `(src - mean) / sqrt(var + eps) scale + offset` over each column of the batch.
    pub fn batch_norm(&mut self, name: &str, src: Value, eps: f64) -> Value {
        let (scale, offset, dst) = self.affine(name, src);
        self.ops.push(Op::BatchNorm { src, scale, offset, eps, state: self.counts.states, dst });
        self.counts.states += 1;
        dst
    }

    /// `src / |src|`.
    pub fn l2_normalise(&mut self, src: Value) -> Value {
        let dst = self.value(self.width(src));
        self.ops.push(Op::L2Normalise { src, stats: self.counts.stats, dst });
        self.counts.stats += 1;
        dst
    }

    /// Entries dropped at random in training.
    pub fn dropout(&mut self, src: Value, rate: f64) -> Value {
        if rate == 0.0 {
            return src;
        }
        let dst = self.value(self.width(src));
        self.ops.push(Op::Dropout { src, rate, place: self.counts.dropouts, dst });
        self.counts.dropouts += 1;
        dst
    }

    /// `a + b`.
    pub fn add(&mut self, a: Value, b: Value) -> Value {
        assert_eq!(self.width(a), self.width(b), "summands of different widths");
        let dst = self.value(self.width(a));
        self.ops.push(Op::Add { a, b, dst });
        dst
    }

    /// `a + (1 + eps) b`, `eps` learned from 0.
    pub fn add_scaled(&mut self, name: &str, a: Value, b: Value) -> Value {
        assert_eq!(self.width(a), self.width(b), "summands of different widths");
        let eps = self.param(name, (1, 1), Init::Zeros);
        let dst = self.value(self.width(a));
        self.ops.push(Op::AddScaled { a, b, eps, dst });
        dst
    }

    /// `[part_0 | part_1 | ..]`.
    pub fn concat(&mut self, parts: &[Value]) -> Value {
        let dst = self.value(parts.iter().map(|v| self.width(*v)).sum());
        self.ops.push(Op::Concat { parts: parts.to_vec(), dst });
        dst
    }

    fn dropped(&self, v: Value, at: f64) -> Option<Value> {
        self.ops.iter().find_map(|op| match op {
            Op::Dropout { src, rate, dst, .. } if *src == v && *rate == at => Some(*dst),
            _ => None,
        })
    }

    /// Appends another program; `bind` says which of its inputs are values of this one.
    pub fn append(&mut self, other: &Program, bind: impl Fn(Source) -> Option<Value>) -> Value {
        let mut map = Vec::with_capacity(other.raw.widths.len());
        for (v, width) in other.raw.widths.iter().enumerate() {
            let source = other.raw.inputs.iter().find(|(_, i)| i.0 == v).map(|(s, _)| *s);
            map.push(match source {
                Some(s) => bind(s).unwrap_or_else(|| self.input(s, *width)),
                None => self.value(*width),
            });
        }
        let base = self.params.len();
        self.params.extend(other.raw.params.iter().cloned());
        for op in &other.raw.ops {
            // The same value dropped at the same rate again is the same dropped value: a network without its graph
            // has one input where the network has several.
            if let Op::Dropout { src, rate, dst, .. } = op
                && let Some(known) = self.dropped(map[src.0], *rate)
            {
                map[dst.0] = known;
                continue;
            }
            self.ops.push(op.renumbered(|v| map[v.0], |p| Param(base + p.0), &self.counts));
        }
        self.counts.stats += other.raw.counts.stats;
        self.counts.states += other.raw.counts.states;
        self.counts.dropouts += other.raw.counts.dropouts;
        map[other.output.0]
    }

    /// Ends the program with its output.
    pub fn finish(self, output: Value) -> Program {
        Program::new(self, output)
    }
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
}

/// A finished row program.
#[derive(Debug, Clone)]
pub struct Program {
    raw: Builder,
    output: Value,
    values: memory::Layout,
    grads: memory::Layout,
}

impl Program {
    fn new(raw: Builder, output: Value) -> Self {
        let values = memory::place_values(&raw, output);
        let grads = memory::place_grads(&raw, output);
        Self { raw, output, values, grads }
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
                Op::Linear { src, w, dst } if others == 0 && src.iter().filter(|s| **s == v).count() == 1 => {
                    let first_row = src.iter().take_while(|s| **s != v).map(|s| self.raw.widths[s.0]).sum();
                    return Some(LinearUse {
                        result: *dst,
                        width: self.raw.widths[dst.0],
                        param: w.0,
                        first_row,
                    });
                }
                _ => return None,
            }
        }
    }

    /// The parameters.
    pub fn params(&self) -> &[ParamSpec] {
        &self.raw.params
    }

    /// Number of batch norms.
    pub fn batch_norms(&self) -> usize {
        self.raw.counts.states
    }

    /// Batch norm statistics of a network that has seen nothing: mean 0, deviation 1.
    pub fn fresh_norms(&self) -> Vec<NormState> {
        let width = |op: &Op| match op {
            Op::BatchNorm { src, .. } => Some(self.raw.widths[src.0]),
            _ => None,
        };
        let fresh = |w: usize| NormState { mean: vec![0.0; w], rstd: vec![1.0; w], back: vec![[0.0; 2]; w] };
        self.raw.ops.iter().filter_map(width).map(fresh).collect()
    }

    /// Whether input `i` may be sparse: it only meets linear maps (and dropout).
    pub fn accepts_sparse(&self, i: usize) -> bool {
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

    fn grad_place(&self, v: Value) -> Place {
        self.grads.places[v.0]
    }
}

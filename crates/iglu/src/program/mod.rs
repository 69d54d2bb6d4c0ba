//! Row programs: what a layer does to rows, as a short list of operations.
//!
//! Row i of a layer's output depends on row i of its inputs only: aggregated rows `Z`, embeddings `X^m`. A
//! [`Builder`] writes that down once (`linear`, `bias`, `activate`, norms, `dropout`, `concat`, `add`); forward
//! and vector-Jacobian products of every layer, and of any chain of layers, follow from the operations
//! ([`exec`]), which run on blocks of rows that fit a core's cache ([`run`]). Programs know no graph and no labels.

mod attend;
mod cost;
mod exec;
mod kept;
mod memory;
mod run;

pub use attend::{AttentionOptions, Heard};
pub use cost::{Gradients, Repeated};
pub use exec::{Dropping, NormState};
pub use run::{Call, Input, Job, Lanes, Norms, Objective, RowSet};

use crate::Real;
use crate::kernels::rowwise::Activation;
use attend::Attention;
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
            Self::Linear { src, w, dst } => {
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

/// Writes a row program.
///
/// ```
/// use iglu::program::{Builder, Source};
/// use iglu::Activation;
/// let mut b = Builder::default();
/// let z = b.input(Source::Aggregate { layer: 1, part: 0 }, 8);
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
    attention: Option<Box<Attention>>,
}

impl Builder {
    fn value(&mut self, width: usize) -> Value {
        self.widths.push(width);
        Value(self.widths.len() - 1)
    }

    fn param(&mut self, name: &str, (rows, cols): (usize, usize), init: Init) -> Param {
        let decay = matches!(init, Init::Glorot | Init::Pieces(_));
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

    /// `src W` with the weights of the linear map whose result is `like`.
    pub fn linear_again(&mut self, like: Value, src: Value) -> Value {
        let weights = self.ops.iter().find_map(|op| match op {
            Op::Linear { w, dst, .. } if *dst == like => Some(*w),
            _ => None,
        });
        let w = weights.expect("the result of a linear map");
        assert_eq!(self.params[w.0].rows, self.width(src), "rows of the shared weights");
        let dst = self.value(self.width(like));
        self.ops.push(Op::Linear { src: vec![src], w, dst });
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
        self.mix((1.0, a), (1.0, b))
    }

    /// `f a + g b` for constants `(f, a)` and `(g, b)`.
    pub fn mix(&mut self, (f, a): (f64, Value), (g, b): (f64, Value)) -> Value {
        assert_eq!(self.width(a), self.width(b), "summands of different widths");
        let dst = self.value(self.width(a));
        self.ops.push(Op::Add { a, b, factors: [f as Real, g as Real], dst });
        dst
    }

    /// The largest of values of one width, entry by entry.
    pub fn largest(&mut self, parts: &[Value]) -> Value {
        let width = self.width(parts[0]);
        assert!(parts.iter().all(|p| self.width(*p) == width), "parts of different widths");
        let dst = self.value(width);
        self.ops.push(Op::Largest { parts: parts.to_vec(), dst });
        dst
    }

    /// Every row times its number in `by`, a constant of one column.
    pub fn scale_rows(&mut self, src: Value, by: Value) -> Value {
        assert_eq!(self.width(by), 1, "one number per row");
        let dst = self.value(self.width(src));
        self.ops.push(Op::ScaleRows { src, by, dst });
        dst
    }

    /// Inner products of `pieces` equal pieces of the row with learned vectors.
    pub fn piece_dot(&mut self, name: &str, src: Value, pieces: usize) -> Value {
        assert_eq!(self.width(src) % pieces, 0, "equal pieces");
        let a = self.param(name, (1, self.width(src)), Init::Pieces(pieces));
        let dst = self.value(pieces);
        self.ops.push(Op::PieceDot { src, a, dst });
        dst
    }

    /// The mean of `pieces` equal pieces of the row.
    pub fn piece_mean(&mut self, src: Value, pieces: usize) -> Value {
        if pieces == 1 {
            return src;
        }
        assert_eq!(self.width(src) % pieces, 0, "equal pieces");
        let dst = self.value(self.width(src) / pieces);
        self.ops.push(Op::PieceMean { src, dst });
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

    /// What attention makes of the neighbours' rows: `said` is a value of the program `rows`, which reads
    /// `X^{layer - 1}` only. One attention per program.
    pub fn attend(
        &mut self,
        layer: usize,
        mut rows: Builder,
        said: Value,
        options: AttentionOptions,
    ) -> Value {
        assert!(self.attention.is_none() && self.params.is_empty(), "attention comes first, and once");
        let (own, other) =
            (rows.piece_dot("a_own", said, options.heads), rows.piece_dot("a_other", said, options.heads));
        let width = rows.width(said);
        let all = rows.concat(&[said, own, other]);
        let rows = rows.finish(all);
        assert_eq!(rows.inputs().collect::<Vec<_>>(), [Source::Embedding(layer - 1)], "rows of neighbours");
        let input = self.inputs.len();
        self.attention = Some(Box::new(Attention { rows, said, options, input }));
        self.input(Source::Attended { layer }, width)
    }

    fn dropped(&self, v: Value, at: f64) -> Option<Value> {
        self.ops.iter().find_map(|op| match op {
            Op::Dropout { src, rate, dst, .. } if *src == v && *rate == at => Some(*dst),
            _ => None,
        })
    }

    /// Appends another program; `bind` says which of its inputs are values of this one. Where the neighbours' rows
    /// of an attention are values of this one, a row hears itself alone: attention is what it says.
    pub fn append(&mut self, other: &Program, bind: impl Fn(Source) -> Option<Value>) -> Value {
        let mut said = None;
        if let Some(attention) = &other.raw.attention {
            if attention.rows.inputs().all(|s| bind(s).is_some()) {
                said = Some(self.append_values(&attention.rows, &bind)[attention.said.0]);
            } else {
                assert!(
                    self.attention.is_none() && self.params.is_empty(),
                    "attention comes first, and once"
                );
                assert!(self.inputs.is_empty(), "inputs keep their numbers");
                self.attention = Some(attention.clone());
            }
        }
        let bind_all = |s: Source| if matches!(s, Source::Attended { .. }) { said } else { bind(s) };
        self.append_values(other, bind_all)[other.output.0]
    }

    /// Appends the operations of another program; where its values are now.
    fn append_values(&mut self, other: &Program, bind: impl Fn(Source) -> Option<Value>) -> Vec<Value> {
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
        map
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
    /// Parameters of the neighbours' program, then of this one.
    params: Vec<ParamSpec>,
    output: Value,
    values: memory::Layout,
    grads: memory::Layout,
    /// Values that nobody reads but a GELU: it leaves its derivative there.
    slopes: Vec<bool>,
}

impl Program {
    fn new(raw: Builder, output: Value) -> Self {
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
                Op::Linear { src, w, dst } if others == 0 && src.iter().filter(|s| **s == v).count() == 1 => {
                    let first_row = src.iter().take_while(|s| **s != v).map(|s| self.raw.widths[s.0]).sum();
                    return Some(LinearUse {
                        result: *dst,
                        width: self.raw.widths[dst.0],
                        param: self.inner_params() + w.0,
                        first_row,
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

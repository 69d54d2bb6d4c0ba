//! Puts a program together, operation by operation.

use super::attend::{Attention, AttentionOptions};
use super::{Counts, Init, Op, Param, ParamSpec, Program, Source, Value};
use crate::Real;
use crate::kernels::gemm::Precision;
use crate::kernels::rowwise::Activation;

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
    pub(super) inputs: Vec<(Source, Value)>,
    pub(super) widths: Vec<usize>,
    pub(super) ops: Vec<Op>,
    pub(super) params: Vec<ParamSpec>,
    pub(super) counts: Counts,
    pub(super) attention: Option<Box<Attention>>,
    precision: Precision,
}

impl Builder {
    /// A program whose linear maps multiply these numbers.
    pub fn with_precision(precision: Precision) -> Self {
        Self { precision, ..Self::default() }
    }

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
        self.ops.push(Op::Linear { src: src.to_vec(), w, precision: self.precision, dst });
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
        self.ops.push(Op::Linear { src: vec![src], w, precision: self.precision, dst });
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

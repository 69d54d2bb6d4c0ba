//! One block of rows through a program: forward, and the vector-Jacobian products backward.
//!
//! The gradient of a value is set by the first operation that contributes to it (in reverse order) and added to
//! by the others; what nobody asked for is not computed.

mod back;

use super::norms::NormState;
use super::run::{NOWHERE, Partly};
use super::weights::{Arranged, Term, Way};
use super::{Op, Param, Program, Value};
use crate::kernels::gemm::{Into, Packed, Precision};
use crate::kernels::layer_norm;
use crate::kernels::rowwise::{self, Affine, Mask};
use crate::kernels::sparse::{self, SparseBlock};
use crate::kernels::spmm::{self, SparseView};
use crate::kernels::stored::{self, Bf16, Stored};
use crate::kernels::{Rows, RowsMut, prefetch_row, rows_asked};
use crate::rng::Key;
use crate::table::with_table;
use crate::{Mat, Real, Table};
use std::ops::Range;

/// Whether and how entries are dropped in a pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Dropping {
    /// Nothing is dropped: refreshes and evaluation.
    Off,
    /// At the rates written in the program.
    AsBuilt(Key),
    /// At this rate instead, wherever the program has a dropout.
    Rate(Key, f64),
}

/// Buffers of one worker.
#[derive(Default)]
pub(super) struct Workspace<'a> {
    values: Vec<Vec<Real>>,
    grads: Vec<Vec<Real>>,
    row_stats: Vec<Vec<[Real; 2]>>,
    /// Per slot: rows borrowed from a cache, or sparse rows, instead of `values`.
    direct: Vec<Option<&'a [Real]>>,
    sparse: Vec<Option<SparseBlock>>,
    written: Vec<bool>,
    /// Weights that have met a gradient in this block.
    met: Vec<bool>,
    arranged: Arranged,
    /// Room for the right operand of a product.
    spare: Packed,
    pub(super) ids: Vec<u32>,
    /// Who had it last.
    pub(super) worker: Option<usize>,
}

/// Parameter gradients of a lane; vectors are added to, matrices set by the lane's first block and added to later.
pub(super) struct GradSums<'g> {
    pub(super) sums: &'g mut [Mat],
    pub(super) into: Into,
}

/// Everything a block needs to know of its pass.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) program: &'a Program,
    pub(super) params: &'a [&'a Mat],
    pub(super) norms: &'a [NormState],
    pub(super) dropping: Dropping,
    /// Weights are the same under one number.
    pub(super) number: u64,
}

impl<'a> Workspace<'a> {
    pub(super) fn new(program: &Program) -> Self {
        let slots = program.values.slots.len();
        Self {
            values: vec![Vec::new(); slots],
            grads: vec![Vec::new(); program.grads.slots.len()],
            row_stats: vec![Vec::new(); program.raw.counts.stats],
            direct: vec![None; slots],
            sparse: (0..slots).map(|_| None).collect(),
            written: vec![false; program.raw.widths.len()],
            met: vec![false; program.raw.params.len()],
            arranged: Arranged::default(),
            spare: Packed::default(),
            ids: Vec::new(),
            worker: None,
        }
    }

    /// Forgets the previous block. Room for values and gradients is made where they are written: sparse and borrowed rows,
    /// and gradients that nobody wants, take none.
    pub(super) fn begin(&mut self) {
        let rows = self.ids.len();
        for s in &mut self.row_stats {
            s.resize(rows, [0.0; 2]);
        }
        self.direct.fill(None);
        self.sparse.iter_mut().for_each(|s| *s = None);
    }

    pub(super) fn begin_back(&mut self, program: &Program) {
        self.written.fill(false);
        self.met.fill(false);
        self.written[program.output.0] = true;
        let slot = program.grad_place(program.output).slot;
        self.grads[slot] = self.take_grads(program, slot);
    }

    /// The buffer of a slot with room for the block's rows, to be put back when it is written.
    fn take_values(&mut self, program: &Program, slot: usize) -> Vec<Real> {
        let mut buffer = std::mem::take(&mut self.values[slot]);
        buffer.resize(self.ids.len() * program.values.slots[slot], 0.0);
        buffer
    }

    /// As [`Workspace::take_values`], for gradients.
    fn take_grads(&mut self, program: &Program, slot: usize) -> Vec<Real> {
        let mut buffer = std::mem::take(&mut self.grads[slot]);
        buffer.resize(self.ids.len() * program.grads.slots[slot], 0.0);
        buffer
    }

    /// The buffer of an input with room for its rows, beside their nodes.
    fn gathered(&mut self, input: usize, cols: usize) -> (&[u32], &mut [Real]) {
        let buffer = &mut self.values[input];
        buffer.resize(self.ids.len() * cols, 0.0);
        (&self.ids, buffer)
    }

    pub(super) fn bind_direct(&mut self, input: usize, rows: &'a [Real]) {
        self.direct[input] = Some(rows);
    }

    pub(super) fn bind_gathered<T: Stored>(&mut self, input: usize, from: &Mat<T>) {
        let (ids, out) = self.gathered(input, from.cols());
        gather(from, ids.iter().map(|&id| Some(id)), out);
    }

    /// Rows of the block, one after the other.
    pub(super) fn bind_rows<T: Stored>(&mut self, input: usize, rows: &[T], cols: usize) {
        stored::copy(rows, self.gathered(input, cols).1);
    }

    /// Rows of the block's nodes from a piece of a table that begins with row `first`.
    pub(super) fn bind_piece<T: Stored>(&mut self, input: usize, first: usize, piece: &[T], cols: usize) {
        let (ids, out) = self.gathered(input, cols);
        for (id, out) in ids.iter().zip(out.chunks_exact_mut(cols)) {
            let at = (*id as usize - first) * cols;
            stored::copy(&piece[at..at + cols], out);
        }
    }

    /// Rows `span` of a matrix that has a row per row of the pass.
    pub(super) fn bind_positions(&mut self, input: usize, from: &Mat, span: Range<usize>) {
        let cols = from.cols();
        self.gathered(input, cols).1.copy_from_slice(&from.data()[span.start * cols..span.end * cols]);
    }

    /// Rows of `A X`; neighbours in the table are added up in the block's own memory.
    pub(super) fn bind_product(&mut self, input: usize, a: SparseView<'_>, x: &Table) {
        let (ids, out) = self.gathered(input, x.cols());
        product(a, x, ids, out);
    }

    /// Rows of `A X`: those of some nodes from a table, the others made now, one after the other.
    pub(super) fn bind_partly(&mut self, input: usize, from: Partly<'_>) {
        let cols = from.rows.cols();
        let (ids, out) = self.gathered(input, cols);
        let place = |id: &u32| Some(from.places[*id as usize]).filter(|&place| place != NOWHERE);
        with_table!(from.rows, rows => gather(rows, ids.iter().map(place), out));
        let absent: Vec<u32> = ids.iter().copied().filter(|id| place(id).is_none()).collect();
        let mut made = vec![0.0; absent.len() * cols];
        product(from.a, from.x, &absent, &mut made);
        let places = ids.iter().zip(out.chunks_exact_mut(cols)).filter(|(id, _)| place(id).is_none());
        places.zip(made.chunks_exact(cols)).for_each(|((_, out), made)| out.copy_from_slice(made));
    }

    pub(super) fn bind_sparse(&mut self, input: usize, from: &crate::SparseMat) {
        self.sparse[input] = Some(SparseBlock::gather(from, &self.ids));
    }

    /// Rows of a value.
    pub(super) fn value(&self, program: &Program, v: Value) -> Rows<'_> {
        let place = program.place(v);
        let (stride, cols) = (program.values.slots[place.slot], program.raw.widths[v.0]);
        let data = self.direct[place.slot].unwrap_or(&self.values[place.slot]);
        Rows { data: data.get(place.col..).unwrap_or(&[]), rows: self.ids.len(), cols, stride }
    }

    /// Rows of a value's gradient.
    pub(super) fn grad(&self, program: &Program, v: Value) -> Rows<'_> {
        let place = program.grad_place(v);
        let (stride, cols) = (program.grads.slots[place.slot], program.raw.widths[v.0]);
        Rows {
            data: self.grads[place.slot].get(place.col..).unwrap_or(&[]),
            rows: self.ids.len(),
            cols,
            stride,
        }
    }

    /// Rows of a value's gradient, if anything depends on it.
    pub(super) fn known_grad(&self, program: &Program, v: Value) -> Option<Rows<'_>> {
        self.written[v.0].then(|| self.grad(program, v))
    }

    /// Output rows and the place for their gradient.
    pub(super) fn output(&mut self, program: &Program) -> (Rows<'_>, RowsMut<'_>) {
        let (place, cols) = (program.grad_place(program.output), program.width());
        let stride = program.grads.slots[place.slot];
        let rows = self.ids.len();
        let vp = program.place(program.output);
        let data = self.direct[vp.slot].unwrap_or(&self.values[vp.slot]);
        let y = Rows {
            data: data.get(vp.col..).unwrap_or(&[]),
            rows,
            cols,
            stride: program.values.slots[vp.slot],
        };
        let d = RowsMut { data: &mut self.grads[place.slot][place.col..], rows, cols, stride };
        (y, d)
    }
}

/// These rows of a table, one after the other, those that follow on their way meanwhile; nothing where there is none.
fn gather<T: Stored>(from: &Mat<T>, rows: impl Iterator<Item = Option<u32>> + Clone, out: &mut [Real]) {
    let cols = from.cols();
    let mut ahead = rows.clone();
    for (i, (row, out)) in rows.zip(out.chunks_exact_mut(cols.max(1))).enumerate() {
        let asked = ahead.by_ref().take(rows_asked(i, cols * size_of::<T>()));
        asked.flatten().for_each(|next| prefetch_row(from.data(), next as usize * cols, cols));
        if let Some(row) = row {
            stored::copy(from.row(row as usize), out);
        }
    }
}

/// These rows of `A X`, one after the other, rounded as `X` is.
fn product(a: SparseView<'_>, x: &Table, ids: &[u32], out: &mut [Real]) {
    match x {
        Table::Full(x) => spmm::listed(a, Rows::dense(x.data(), x.rows(), x.cols()), ids, out),
        Table::Half(x) => {
            let mut rounded = vec![Bf16::default(); out.len()];
            spmm::listed(a, Rows::dense(x.data(), x.rows(), x.cols()), ids, &mut rounded);
            stored::copy(&rounded, out);
        }
    }
}

/// The weights that a source of a linear map meets: some rows of a parameter, or the sum of several pieces of it.
struct Weights {
    param: Param,
    /// The first rows of the pieces.
    places: Vec<usize>,
    /// Rows of a piece.
    rows: usize,
}

impl Weights {
    /// Calls `with` with them.
    fn read<T>(&self, context: &Context<'_>, with: impl FnOnce(Rows<'_>) -> T) -> T {
        let m = context.params[self.param.0];
        let cols = m.cols();
        let piece = |first: usize| &m.data()[first * cols..(first + self.rows) * cols];
        let (&first, others) = self.places.split_first().expect("a source stands somewhere");
        if others.is_empty() {
            return with(Rows::dense(piece(first), self.rows, cols));
        }
        let mut sum = piece(first).to_vec();
        for &place in others {
            sum.iter_mut().zip(piece(place)).for_each(|(s, v)| *s += v);
        }
        with(Rows::dense(&sum, self.rows, cols))
    }

    /// The same as products read them.
    fn arranged<'p>(
        &self,
        context: &Context<'_>,
        kept: &'p mut Arranged,
        (way, precision): (Way, Precision),
    ) -> &'p Packed {
        let (param, first, pieces) = (self.param.0, self.places[0], self.places.len());
        kept.get(Term { param, first, rows: self.rows, pieces, way, precision }, context.number, |packed| {
            self.read(context, |w| match way {
                Way::Forward => packed.rows(w, precision),
                Way::Back => packed.columns(w, precision),
            });
        })
    }
}

/// Writable view of a column range of a taken buffer.
fn view(buffer: &mut [Real], rows: usize, col: usize, cols: usize, stride: usize) -> RowsMut<'_> {
    let end = buffer.len().max(col);
    RowsMut { data: buffer.get_mut(col..end).unwrap_or(&mut []), rows, cols, stride }
}

fn shared<'b>(d: &'b RowsMut<'_>) -> Rows<'b> {
    Rows { data: d.data, rows: d.rows, cols: d.cols, stride: d.stride }
}

fn copy_rows(from: Rows<'_>, to: &mut RowsMut<'_>) {
    for i in 0..from.rows {
        to.row(i).copy_from_slice(from.row(i));
    }
}

impl Context<'_> {
    /// Runs some operations.
    pub(super) fn forward(&self, ws: &mut Workspace<'_>, ops: Range<usize>) {
        for op in &self.program.raw.ops[ops] {
            self.forward_op(ws, op);
        }
    }

    fn param(&self, p: Param) -> &[Real] {
        self.params[p.0].data()
    }

    fn mask(&self, rate: f64, place: usize) -> Option<Mask> {
        let (key, rate) = match self.dropping {
            Dropping::Off => return None,
            Dropping::AsBuilt(key) => (key, rate),
            Dropping::Rate(key, rate) => (key, rate),
        };
        (rate > 0.0).then(|| Mask { key: key.u64(place as u64), rate })
    }

    fn forward_op(&self, ws: &mut Workspace<'_>, op: &Op) {
        let p = self.program;
        let dst = op.dst();
        let place = p.place(dst);
        let (rows, cols, stride) = (ws.ids.len(), p.raw.widths[dst.0], p.values.slots[place.slot]);
        if let Op::Dropout { src, rate, place: number, .. } = op {
            return self.forward_dropout(ws, (*src, dst), self.mask(*rate, *number));
        }
        let mut buffer = ws.take_values(p, place.slot);
        let mut out = view(&mut buffer, rows, place.col, cols, stride);
        let in_place = |v: Value| p.place(v) == place;
        match op {
            Op::Linear { src, w, precision, .. } => self.linear(ws, (src, *w, *precision), &mut out),
            Op::Bias { src, b, .. } => {
                if !in_place(*src) {
                    copy_rows(ws.value(p, *src), &mut out);
                }
                rowwise::add_bias(&mut out, self.param(*b));
            }
            Op::Activate { src, .. } if p.keeps_slope(op) => {
                let from = p.place(*src);
                let mut inputs = std::mem::take(&mut ws.values[from.slot]);
                let mut x = view(&mut inputs, rows, from.col, cols, p.values.slots[from.slot]);
                rowwise::gelu_with_slope(&mut x, &mut out);
                ws.values[from.slot] = inputs;
            }
            Op::Activate { kind, src, .. } => {
                if !in_place(*src) {
                    copy_rows(ws.value(p, *src), &mut out);
                }
                rowwise::activate(*kind, &mut out);
            }
            Op::LayerNorm { src, scale, offset, eps, stats, .. } => {
                let affine = Affine { scale: self.param(*scale), offset: self.param(*offset) };
                let mut kept = std::mem::take(&mut ws.row_stats[*stats]);
                layer_norm::layer_norm(ws.value(p, *src), affine, *eps as Real, &mut out, &mut kept);
                ws.row_stats[*stats] = kept;
            }
            Op::BatchNorm { src, scale, offset, state, .. } => {
                let affine = Affine { scale: self.param(*scale), offset: self.param(*offset) };
                rowwise::batch_norm(ws.value(p, *src), self.norms[*state].stats(), affine, &mut out);
            }
            Op::L2Normalise { src, stats, .. } => {
                if !in_place(*src) {
                    copy_rows(ws.value(p, *src), &mut out);
                }
                rowwise::l2_normalise(&mut out, &mut ws.row_stats[*stats]);
            }
            Op::Add { a, b, factors, .. } => {
                if !in_place(*a) {
                    match &ws.sparse[p.place(*a).slot] {
                        Some(rows) => sparse::set_scaled(factors[0], rows, &mut out),
                        None => rowwise::set_scaled_rows(factors[0], ws.value(p, *a), &mut out),
                    }
                }
                match &ws.sparse[p.place(*b).slot] {
                    Some(rows) => sparse::add_scaled(factors[1], rows, &mut out),
                    None => rowwise::add_scaled_rows(factors[1], ws.value(p, *b), &mut out),
                }
            }
            Op::ScaleRows { src, by, .. } => {
                if !in_place(*src) {
                    copy_rows(ws.value(p, *src), &mut out);
                }
                rowwise::scale_rows(ws.value(p, *by), &mut out);
            }
            Op::Largest { parts, .. } => {
                copy_rows(ws.value(p, parts[0]), &mut out);
                for part in &parts[1..] {
                    rowwise::take_larger(ws.value(p, *part), &mut out);
                }
            }
            Op::PieceDot { src, a, .. } => {
                rowwise::piece_dot(ws.value(p, *src), self.param(*a), &mut out);
            }
            Op::PieceMean { src, .. } => rowwise::piece_mean(ws.value(p, *src), &mut out),
            Op::AddScaled { a, b, eps, .. } => {
                copy_rows(ws.value(p, *a), &mut out);
                rowwise::add_scaled_rows(1.0 + self.param(*eps)[0], ws.value(p, *b), &mut out);
            }
            Op::Concat { parts, .. } => {
                let mut col = place.col;
                for v in parts {
                    let width = p.raw.widths[v.0];
                    if p.place(*v).slot != place.slot {
                        let mut part = view(&mut buffer, rows, col, width, stride);
                        copy_rows(ws.value(p, *v), &mut part);
                    }
                    col += width;
                }
            }
            Op::Dropout { .. } => unreachable!("handled above"),
        }
        ws.values[place.slot] = buffer;
    }

    fn linear(
        &self,
        ws: &mut Workspace<'_>,
        (src, w, precision): (&[Value], Param, Precision),
        out: &mut RowsMut<'_>,
    ) {
        let mut arranged = std::mem::take(&mut ws.arranged);
        for (i, (v, places)) in self.terms(src).into_iter().enumerate() {
            let into = if i == 0 { Into::Set } else { Into::Add };
            let weights = Weights { param: w, places, rows: self.program.raw.widths[v.0] };
            let target = RowsMut { data: &mut *out.data, rows: out.rows, cols: out.cols, stride: out.stride };
            let x = ws.value(self.program, v);
            match &ws.sparse[self.program.place(v).slot] {
                Some(block) => weights.read(self, |w| sparse::nn(block, w, target, into)),
                None => {
                    weights.arranged(self, &mut arranged, (Way::Forward, precision)).product(x, target, into);
                }
            }
        }
        ws.arranged = arranged;
    }

    /// Distinct sources of a linear map, each with the first rows of its weights. A source that stands there several
    /// times (a network without its graph) meets the sum of its weights.
    fn terms(&self, src: &[Value]) -> Vec<(Value, Vec<usize>)> {
        let mut out: Vec<(Value, Vec<usize>)> = Vec::with_capacity(src.len());
        let mut first = 0;
        for v in src {
            match out.iter_mut().find(|(u, _)| u == v) {
                Some((_, places)) => places.push(first),
                None => out.push((*v, vec![first])),
            }
            first += self.program.raw.widths[v.0];
        }
        out
    }

    fn forward_dropout(&self, ws: &mut Workspace<'_>, (src, dst): (Value, Value), mask: Option<Mask>) {
        let p = self.program;
        let (from, to) = (p.place(src), p.place(dst));
        if let Some(block) = &ws.sparse[from.slot] {
            let mut block = block.clone();
            if let Some(mask) = mask {
                block.drop(mask, &ws.ids);
            }
            ws.sparse[to.slot] = Some(block);
            return;
        }
        if from == to && mask.is_none() {
            return;
        }
        let mut buffer = ws.take_values(p, to.slot);
        let cols = p.raw.widths[dst.0];
        let mut out = view(&mut buffer, ws.ids.len(), to.col, cols, p.values.slots[to.slot]);
        if from != to {
            copy_rows(ws.value(p, src), &mut out);
        }
        if let Some(mask) = mask {
            rowwise::drop(mask, &ws.ids, &mut out);
        }
        ws.values[to.slot] = buffer;
    }
}

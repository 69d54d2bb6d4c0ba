//! One block backward: the vector-Jacobian products of its operations.

use super::{Context, GradSums, Weights, Workspace, shared, view};
use crate::Real;
use crate::kernels::gemm::{Into, Precision};
use crate::kernels::rowwise::{self, AffineGrad};
use crate::kernels::{Rows, RowsMut, layer_norm, sparse};
use crate::program::weights::Way;
use crate::program::{Op, Param, Value};
use std::ops::Range;

impl Context<'_> {
    /// Runs some operations backwards, those behind them having been run. `live` marks values whose gradient is
    /// wanted; `grads` receives parameter gradients, added.
    pub(in crate::program) fn backward(
        &self,
        ws: &mut Workspace<'_>,
        ops: Range<usize>,
        live: &[bool],
        mut grads: Option<GradSums<'_>>,
    ) {
        for op in self.program.raw.ops[ops].iter().rev() {
            let dst = op.dst();
            let wanted =
                op.sources().iter().any(|v| live[v.0]) || (grads.is_some() && !op.params().is_empty());
            if ws.written[dst.0] && wanted {
                self.backward_op(ws, op, live, grads.as_mut());
            }
        }
    }

    fn backward_op(&self, ws: &mut Workspace<'_>, op: &Op, live: &[bool], grads: Option<&mut GradSums<'_>>) {
        let p = self.program;
        let dst = op.dst();
        let place = p.grad_place(dst);
        let (rows, cols, stride) = (ws.ids.len(), p.raw.widths[dst.0], p.grads.slots[place.slot]);
        let mut buffer = ws.take_grads(p, place.slot);
        let mut d = view(&mut buffer, rows, place.col, cols, stride);
        match op {
            Op::Linear { src, w, precision, .. } => {
                self.linear_back(ws, (src, *w, *precision), shared(&d), live, grads);
            }
            Op::Bias { b, .. } => {
                if let Some(grads) = grads {
                    rowwise::add_column_sums(shared(&d), grads.sums[b.0].data_mut());
                }
            }
            Op::Activate { src, .. } if p.keeps_slope(op) => {
                rowwise::multiply_rows(ws.value(p, *src), &mut d);
            }
            Op::Activate { kind, src, .. } => {
                let seen = if *kind == rowwise::Activation::Gelu { *src } else { dst };
                rowwise::activate_back(*kind, ws.value(p, seen), &mut d);
            }
            Op::LayerNorm { src, scale, offset, stats, .. } => {
                let affine = affine_grads(grads, *scale, *offset);
                layer_norm::layer_norm_back(
                    ws.value(p, *src),
                    &ws.row_stats[*stats],
                    self.param(*scale),
                    &mut d,
                    affine,
                );
            }
            Op::BatchNorm { src, scale, offset, state, .. } => {
                let affine = affine_grads(grads, *scale, *offset);
                let norm = &self.norms[*state];
                rowwise::batch_norm_back(
                    ws.value(p, *src),
                    norm.stats(),
                    self.param(*scale),
                    &norm.back,
                    &mut d,
                    affine,
                );
            }
            Op::L2Normalise { stats, .. } => {
                rowwise::l2_normalise_back(ws.value(p, dst), &ws.row_stats[*stats], &mut d);
            }
            Op::Dropout { rate, place: number, .. } => {
                if let Some(mask) = self.mask(*rate, *number) {
                    rowwise::drop(mask, &ws.ids, &mut d);
                }
            }
            Op::AddScaled { b, eps, .. } => {
                if let Some(grads) = grads {
                    grads.sums[eps.0].data_mut()[0] += rowwise::inner(ws.value(p, *b), shared(&d)) as Real;
                }
            }
            Op::ScaleRows { by, .. } => rowwise::scale_rows(ws.value(p, *by), &mut d),
            Op::PieceDot { src, a, .. } => {
                if let Some(grads) = grads {
                    let sum = grads.sums[a.0].data_mut();
                    rowwise::add_piece_dot_sums(ws.value(p, *src), shared(&d), sum);
                }
            }
            Op::Add { .. } | Op::Concat { .. } | Op::Largest { .. } | Op::PieceMean { .. } => {}
        }
        ws.grads[place.slot] = buffer;
        match op {
            Op::Largest { parts, .. } => self.hand_to_largest(ws, parts, dst, live),
            Op::PieceDot { src, a, .. } if live[src.0] => {
                let a = self.param(*a);
                self.add_to_grad(ws, dst, *src, |d, out| rowwise::add_piece_dot_back(d, a, out));
            }
            Op::PieceMean { src, .. } if live[src.0] => {
                self.add_to_grad(ws, dst, *src, rowwise::add_piece_mean_back);
            }
            Op::Linear { .. } | Op::PieceDot { .. } | Op::PieceMean { .. } => {}
            _ => self.hand_down(ws, op, live),
        }
    }

    /// Adds what `add` makes of the gradient of `from` to the gradient of `to`.
    fn add_to_grad(
        &self,
        ws: &mut Workspace<'_>,
        from: Value,
        to: Value,
        add: impl FnOnce(Rows<'_>, &mut RowsMut<'_>),
    ) {
        let p = self.program;
        let place = p.grad_place(to);
        let first = !std::mem::replace(&mut ws.written[to.0], true);
        let mut buffer = ws.take_grads(p, place.slot);
        let (rows, stride) = (ws.ids.len(), p.grads.slots[place.slot]);
        let mut out = view(&mut buffer, rows, place.col, p.raw.widths[to.0], stride);
        if first {
            (0..rows).for_each(|i| out.row(i).fill(0.0));
        }
        add(ws.grad(p, from), &mut out);
        ws.grads[place.slot] = buffer;
    }

    /// Every entry's gradient goes to the first of the parts that has the largest value.
    fn hand_to_largest(&self, ws: &mut Workspace<'_>, parts: &[Value], dst: Value, live: &[bool]) {
        let p = self.program;
        for (i, part) in parts.iter().enumerate().filter(|(_, part)| live[part.0]) {
            let rows = ws.ids.len();
            let mut chosen: Vec<bool> = Vec::with_capacity(rows * p.raw.widths[dst.0]);
            for r in 0..rows {
                let (top, mine) = (ws.value(p, dst).row(r), ws.value(p, *part).row(r));
                let earlier: Vec<&[Real]> = parts[..i].iter().map(|q| ws.value(p, *q).row(r)).collect();
                let wins = |j: usize| mine[j] == top[j] && earlier.iter().all(|q| q[j] != top[j]);
                chosen.extend((0..top.len()).map(wins));
            }
            self.add_to_grad(ws, dst, *part, |d, out| {
                for r in 0..d.rows {
                    let wins = &chosen[r * d.cols..(r + 1) * d.cols];
                    let entries = out.row(r).iter_mut().zip(d.row(r)).zip(wins);
                    entries.filter(|(_, wins)| **wins).for_each(|((o, d), _)| *o += d);
                }
            });
        }
    }

    /// Passes the (already transformed) gradient of a result to the sources that do not share its place.
    fn hand_down(&self, ws: &mut Workspace<'_>, op: &Op, live: &[bool]) {
        let from = self.program.grad_place(op.dst());
        let mut col = from.col;
        for (i, v) in op.sources().iter().enumerate() {
            let factor = match op {
                Op::AddScaled { eps, .. } if i == 1 => 1.0 + self.param(*eps)[0],
                Op::Add { factors, .. } => factors[i],
                _ => 1.0,
            };
            let width = self.program.raw.widths[v.0];
            let constant = matches!(op, Op::ScaleRows { .. }) && i == 1;
            if live[v.0] && !constant {
                self.pass_gradient(ws, (from.slot, col), *v, factor);
            }
            if matches!(op, Op::Concat { .. }) {
                col += width;
            }
        }
    }

    fn pass_gradient(&self, ws: &mut Workspace<'_>, (slot, col): (usize, usize), v: Value, factor: Real) {
        let p = self.program;
        let to = p.grad_place(v);
        let first = !std::mem::replace(&mut ws.written[v.0], true);
        if (to.slot, to.col) == (slot, col) {
            return;
        }
        let (rows, cols) = (ws.ids.len(), p.raw.widths[v.0]);
        let mut buffer = ws.take_grads(p, to.slot);
        let from = Rows { data: &ws.grads[slot][col..], rows, cols, stride: p.grads.slots[slot] };
        let mut out = view(&mut buffer, rows, to.col, cols, p.grads.slots[to.slot]);
        let put = if first { rowwise::set_scaled_rows } else { rowwise::add_scaled_rows };
        put(factor, from, &mut out);
        ws.grads[to.slot] = buffer;
    }

    fn linear_back(
        &self,
        ws: &mut Workspace<'_>,
        (src, w, precision): (&[Value], Param, Precision),
        d: Rows<'_>,
        live: &[bool],
        grads: Option<&mut GradSums<'_>>,
    ) {
        let p = self.program;
        let mut grads = grads;
        let mut spare = std::mem::take(&mut ws.spare);
        let terms = self.terms(src);
        let dense = terms.iter().any(|(v, _)| ws.sparse[p.place(*v).slot].is_none());
        let mut right = (dense && grads.is_some()).then(|| spare.transposing(d, precision));
        for (v, places) in terms {
            let width = p.raw.widths[v.0];
            if let Some(grads) = &mut grads {
                let cols = grads.sums[w.0].cols();
                // The gradient of repeated weights is the same: it is kept once and copied at the end.
                let data = &mut grads.sums[w.0].data_mut()[places[0] * cols..(places[0] + width) * cols];
                let rows = RowsMut { data, rows: width, cols, stride: cols };
                // Weights used by several maps are set by the first that comes here.
                let into = if ws.met[w.0] { Into::Add } else { grads.into };
                match (&ws.sparse[p.place(v).slot], &mut right) {
                    (Some(block), _) => sparse::tn(block, d, rows, into),
                    (None, Some(right)) => right.product(ws.value(p, v), rows, into),
                    (None, None) => unreachable!("made for dense sources"),
                }
            }
            if live[v.0] {
                let to = p.grad_place(v);
                let into = if std::mem::replace(&mut ws.written[v.0], true) { Into::Add } else { Into::Set };
                let mut buffer = ws.take_grads(p, to.slot);
                let out = view(&mut buffer, d.rows, to.col, width, p.grads.slots[to.slot]);
                let weights = Weights { param: w, places, rows: width };
                weights.arranged(self, &mut ws.arranged, (Way::Back, precision)).product(d, out, into);
                ws.grads[to.slot] = buffer;
            }
        }
        ws.spare = spare;
        ws.met[w.0] = true;
    }
}

fn affine_grads<'g>(
    grads: Option<&'g mut GradSums<'_>>,
    scale: Param,
    offset: Param,
) -> Option<AffineGrad<'g>> {
    let grads = &mut *grads?.sums;
    let (low, high) = grads.split_at_mut(scale.0.max(offset.0));
    assert!(scale.0 < offset.0, "a norm's scale is declared before its offset");
    Some(AffineGrad { scale: low[scale.0].data_mut(), offset: high[0].data_mut() })
}

//! Outputs of a program: of all rows in order, over those of another time, or at the rows of their nodes.

use super::{Call, Job, RowSet};
use crate::kernels::stored::{self, Stored};
use crate::{Mat, Real};
use rayon::prelude::*;

impl Job<'_> {
    /// Outputs of all rows, in their order.
    pub fn forward<T: Stored>(&self, call: &Call<'_>, rows: RowSet<'_>, out: &mut Mat<T>) {
        self.forward_over(call, rows, out, |_, out, y| {
            stored::copy(y, out);
            0.0
        });
    }

    /// As [`Job::forward`] over the outputs of another time: `put` writes row i, which holds its old values, and what it
    /// says of all rows is added up in their order.
    pub fn forward_over<T: Stored>(
        &self,
        call: &Call<'_>,
        rows: RowSet<'_>,
        out: &mut Mat<T>,
        put: impl Fn(usize, &mut [T], &[Real]) -> f64 + Sync,
    ) -> f64 {
        let attended = self.attend(call, rows);
        let attended = attended.as_ref().map(|a| &a.z);
        let states = self.states_of(call, rows, attended);
        let context = self.context(call, &states);
        let width = self.program.width();
        assert_eq!((out.rows(), out.cols()), (rows.len(), width), "place for the outputs");
        if width == 0 {
            return 0.0;
        }
        let one = |(b, out): (usize, &mut [T])| {
            let span = self.span(rows, b);
            let first = span.start;
            self.with_block(rows, span, call.dropping, attended, |ws| {
                context.forward(ws, 0..self.program.raw.ops.len());
                let y = ws.value(self.program, self.program.output);
                let rows = out.chunks_exact_mut(width).enumerate();
                rows.map(|(i, out)| put(first + i, out, y.row(i))).collect::<Vec<f64>>()
            })
        };
        let blocks = out.data_mut().par_chunks_mut(self.program.block(rows.len()) * width).enumerate();
        blocks.map(one).collect::<Vec<_>>().iter().flatten().sum()
    }

    /// Outputs of some nodes, in order, each to the row of its node; the other rows of `out` stay as they are.
    pub fn forward_at<T: Stored>(&self, call: &Call<'_>, nodes: &[u32], out: &mut Mat<T>) {
        let (count, width) = (out.rows(), self.program.width());
        assert_eq!(out.cols(), width, "place for the outputs");
        if nodes.len() == count {
            return self.forward(call, RowSet::All(count), out);
        }
        debug_assert!(nodes.is_sorted_by(|a, b| a < b), "nodes in order");
        let rows = RowSet::List(nodes);
        let attended = self.attend(call, rows);
        let attended = attended.as_ref().map(|a| &a.z);
        let states = self.states_of(call, rows, attended);
        let context = self.context(call, &states);
        let (mut rest, mut first) = (out.data_mut(), 0);
        let mut pieces = Vec::with_capacity(self.blocks(rows));
        for b in 0..self.blocks(rows) {
            let span = self.span(rows, b);
            let next = nodes.get(span.end).map_or(count, |&v| v as usize);
            let (mine, others) = rest.split_at_mut((next - first) * width);
            pieces.push((span, first, mine));
            (rest, first) = (others, next);
        }
        pieces.into_par_iter().for_each(|(span, first, out)| {
            self.with_block(rows, span, call.dropping, attended, |ws| {
                context.forward(ws, 0..self.program.raw.ops.len());
                let y = ws.value(self.program, self.program.output);
                for (i, &v) in ws.ids.iter().enumerate() {
                    let at = (v as usize - first) * width;
                    stored::copy(y.row(i), &mut out[at..at + width]);
                }
            });
        });
    }
}

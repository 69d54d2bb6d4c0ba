//! Mean, largest, smallest and standard deviation of neighbours' rows, entry by entry, and their gradient.
//!
//! Rows without neighbours give zeros. `std = sqrt(var + eps)`. Of equal values the first neighbour counts as the
//! largest or smallest, so that gradients are those of one choice, not of several at once.

use super::{Rows, prefetch_row, rows_ahead, simd_fn};
use crate::Real;
use rayon::prelude::*;

/// Added to variances.
const EPS: Real = 1e-5;
/// Whose number no node has.
const NOBODY: u32 = u32::MAX;
/// Rows of one task.
const BLOCK: usize = 256;

/// Compressed rows without weights.
#[derive(Clone, Copy)]
pub struct Neighbours<'a> {
    /// Row offsets.
    pub offsets: &'a [u64],
    /// Columns of all rows.
    pub columns: &'a [u32],
}

impl<'a> Neighbours<'a> {
    #[inline(always)]
    fn row(&self, v: usize) -> &'a [u32] {
        &self.columns[self.offsets[v] as usize..self.offsets[v + 1] as usize]
    }

    /// Row `v` with what will be read after it.
    #[inline(always)]
    fn heard(&self, v: usize) -> Heard<'a> {
        let first = self.offsets[v] as usize;
        Heard { rest: &self.columns[first..], count: self.offsets[v + 1] as usize - first }
    }
}

/// The neighbours of a row, followed by those of the rows after it.
#[derive(Clone, Copy)]
pub struct Heard<'a> {
    rest: &'a [u32],
    count: usize,
}

impl<'a> Heard<'a> {
    fn row(self) -> &'a [u32] {
        &self.rest[..self.count]
    }

    /// Asks for the rows of some tables that are read so many neighbours after the i-th as all of them together allow.
    #[inline(always)]
    fn ask<const N: usize>(self, i: usize, tables: [Rows<'_>; N]) {
        let bytes: usize = tables.iter().map(|t| t.cols * size_of::<Real>()).sum();
        if let Some(&next) = self.rest.get(i + rows_ahead(bytes)) {
            tables.iter().for_each(|t| prefetch_row(t.data, next as usize * t.stride, t.cols));
        }
    }
}

/// Mean, largest, smallest, deviation.
pub type Four<T> = [T; 4];

simd_fn! {
    /// The four moments of one row.
    pub fn moments_row(x: Rows<'_>, neighbours: Heard<'_>, out: Four<&mut [Real]>) {
        let [mean, largest, smallest, deviation] = out;
        let heard = neighbours.row();
        let Some((&first, others)) = heard.split_first() else {
            [mean, largest, smallest, deviation].into_iter().for_each(|o| o.fill(0.0));
            return;
        };
        let first = x.row(first as usize);
        mean.copy_from_slice(first);
        largest.copy_from_slice(first);
        smallest.copy_from_slice(first);
        neighbours.ask(0, [x]);
        for (i, &u) in (1..).zip(others) {
            neighbours.ask(i, [x]);
            let row = x.row(u as usize);
            for j in 0..row.len() {
                mean[j] += row[j];
                largest[j] = if row[j] > largest[j] { row[j] } else { largest[j] };
                smallest[j] = if row[j] < smallest[j] { row[j] } else { smallest[j] };
            }
        }
        let share = 1.0 / heard.len() as Real;
        mean.iter_mut().for_each(|m| *m *= share);
        deviation.fill(0.0);
        for &u in heard {
            let pairs = deviation.iter_mut().zip(x.row(u as usize)).zip(mean.iter());
            pairs.for_each(|((d, x), m)| *d += (x - m) * (x - m));
        }
        deviation.iter_mut().for_each(|d| *d = (*d * share + EPS).sqrt());
    }
}

/// The four moments of all rows.
pub fn moments(graph: Neighbours<'_>, x: Rows<'_>, out: Four<&mut [Real]>) {
    let cols = x.cols.max(1);
    let [a, b, c, d] = out.map(|o| o.par_chunks_mut(BLOCK * cols));
    a.zip(b).zip(c.zip(d)).enumerate().for_each(|(block, ((a, b), (c, d)))| {
        let rows = a.chunks_mut(cols).zip(b.chunks_mut(cols)).zip(c.chunks_mut(cols).zip(d.chunks_mut(cols)));
        for (i, ((a, b), (c, d))) in rows.enumerate() {
            moments_row(x, graph.heard(block * BLOCK + i), [a, b, c, d]);
        }
    });
}

simd_fn! {
    /// Who of a row's neighbours has the value `extreme`, entry by entry: the first of equals, in place of [`NOBODY`].
    pub fn winners_row(x: Rows<'_>, neighbours: Heard<'_>, extreme: &[Real], out: &mut [u32]) {
        for (i, &u) in neighbours.row().iter().enumerate() {
            neighbours.ask(i, [x]);
            for ((o, x), e) in out.iter_mut().zip(x.row(u as usize)).zip(extreme) {
                *o = if x == e && *o == NOBODY { u } else { *o };
            }
        }
    }
}

/// Who is the largest, or the smallest, of each row, entry by entry.
fn winners(graph: Neighbours<'_>, x: Rows<'_>, extreme: Rows<'_>) -> Vec<u32> {
    let cols = x.cols.max(1);
    let mut out = vec![NOBODY; extreme.rows * x.cols];
    let rows = out.par_chunks_mut(cols).enumerate();
    rows.for_each(|(v, out)| winners_row(x, graph.heard(v), extreme.row(v), out));
    out
}

/// Everything the gradient is made of: the graph, the rows, their moments and the gradients at these.
#[derive(Clone, Copy)]
pub struct MomentsBack<'a> {
    /// Who hears whom.
    pub graph: Neighbours<'a>,
    /// The same pairs by the one who is heard.
    pub back: Neighbours<'a>,
    /// `X`.
    pub x: Rows<'a>,
    /// Its moments.
    pub z: Four<Rows<'a>>,
    /// Gradients at the moments.
    pub d: Four<Rows<'a>>,
}

simd_fn! {
    /// What the moments of row `v` send back to its neighbour `u`: added to `out`.
    pub fn moments_row_back(m: MomentsBack<'_>, wins: [&[u32]; 2], v: usize, u: u32, out: &mut [Real]) {
        let share = 1.0 / m.graph.row(v).len() as Real;
        let cols = m.x.cols;
        let x = m.x.row(u as usize);
        let (mean, deviation) = (m.z[0].row(v), m.z[3].row(v));
        let [d_mean, d_largest, d_smallest, d_deviation] = m.d.map(|d| d.row(v));
        let [largest, smallest] = wins.map(|w| &w[v * cols..(v + 1) * cols]);
        for j in 0..cols {
            let even = d_mean[j] + (x[j] - mean[j]) * d_deviation[j] / deviation[j];
            let top = if largest[j] == u { d_largest[j] } else { 0.0 };
            let bottom = if smallest[j] == u { d_smallest[j] } else { 0.0 };
            out[j] += share * even + top + bottom;
        }
    }
}

/// Adds the gradient at `X` to `out`.
pub fn moments_back(m: MomentsBack<'_>, out: &mut [Real]) {
    let cols = m.x.cols.max(1);
    let wins = [winners(m.graph, m.x, m.z[1]), winners(m.graph, m.x, m.z[2])];
    let [a, b, c, d] = m.d;
    out.par_chunks_mut(BLOCK * cols).enumerate().for_each(|(block, out)| {
        for (i, out) in out.chunks_mut(cols).enumerate() {
            let u = block * BLOCK + i;
            let listeners = m.back.heard(u);
            for (j, &v) in listeners.row().iter().enumerate() {
                listeners.ask(j, [m.z[0], m.z[3], a, b, c, d]);
                moments_row_back(m, [&wins[0], &wins[1]], v as usize, u as u32, out);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EdgeOptions, Graph};

    #[test]
    fn moments_by_hand() {
        let g = Graph::from_edges(4, &[[0, 1], [0, 2]], EdgeOptions::default()).unwrap();
        let x: [Real; 4] = [5.0, 1.0, 3.0, 9.0];
        let mut out = [[7.0 as Real; 4]; 4];
        let graph = Neighbours { offsets: g.offsets(), columns: g.columns() };
        let [a, b, c, d] = &mut out;
        moments(graph, Rows::dense(&x, 4, 1), [a, b, c, d]);
        assert_eq!(out[0], [2.0, 5.0, 5.0, 0.0]);
        assert_eq!(out[1], [3.0, 5.0, 5.0, 0.0]);
        assert_eq!(out[2], [1.0, 5.0, 5.0, 0.0]);
        let close = |a: Real, b: Real| assert!((a - b).abs() < 1e-5, "{a} {b}");
        [(1.0 + EPS).sqrt(), EPS.sqrt(), EPS.sqrt(), 0.0]
            .into_iter()
            .zip(out[3])
            .for_each(|(e, o)| close(o, e));
    }
}

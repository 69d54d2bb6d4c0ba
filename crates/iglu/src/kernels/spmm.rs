//! Sparse times dense: `out[r] = scale_r * sum_c w_rc scale_c x[c] (+ diagonal)`, a row at a time.
//!
//! Weights are implicit where they can be (row and column scales). A sum is made in strips of columns that stay in
//! registers while the neighbours' rows pass by; rows ahead are prefetched meanwhile, so that memory is never idle. Every
//! column is summed in the order of the entries, however wide the strips are.

use super::stored::Stored;
use super::vecmath::madd;
use super::{Rows, prefetch, prefetch_row, simd_fn};
use crate::Real;
use rayon::prelude::*;
use std::ops::Range;

/// A sparse operator in compressed rows with implicit scales.
#[derive(Clone, Copy)]
pub struct SparseView<'a> {
    /// Row offsets.
    pub offsets: &'a [u64],
    /// Columns of all rows.
    pub columns: &'a [u32],
    /// Explicit weights, one per column entry.
    pub weights: Option<&'a [Real]>,
    /// Factor of each row.
    pub row_scale: Option<&'a [Real]>,
    /// Factor of each column.
    pub col_scale: Option<&'a [Real]>,
    /// Weight of the implicit self loop of every row (0: none).
    pub diagonal: Real,
}

impl SparseView<'_> {
    #[inline(always)]
    fn weight(&self, entry: usize) -> Real {
        let scale = self.col_scale.map_or(1.0, |s| s[self.columns[entry] as usize]);
        self.weights.map_or(scale, |w| w[entry] * scale)
    }

    #[inline(always)]
    fn self_weight(&self, row: usize) -> Real {
        self.diagonal * self.col_scale.map_or(1.0, |s| s[row])
    }
}

/// Entries ahead whose rows are asked for: about as many bytes as a core can have under way, fewer where rows are so long
/// that those of the next sum would push each other out of the second cache.
#[inline(always)]
fn ahead<S>(cols: usize) -> usize {
    ((64 << 10) / (cols * size_of::<S>()).max(1)).clamp(4, 16)
}

/// A row to be made, and the entry that is read after its own: the first of the row that is made next.
#[derive(Clone, Copy)]
struct Turn {
    row: usize,
    next: usize,
}

impl Turn {
    /// The entries of the row.
    #[inline(always)]
    fn span(self, a: SparseView<'_>) -> Range<usize> {
        a.offsets[self.row] as usize..a.offsets[self.row + 1] as usize
    }

    /// Entry `at` of a row whose entries end at `end`, or that of the next row that is read instead.
    #[inline(always)]
    fn entry(self, at: usize, end: usize) -> usize {
        if at < end { at } else { at - end + self.next }
    }
}

/// Asks for everything that entry `at` will need of columns `from..from + width`.
#[inline(always)]
fn prefetch_entry<S: Stored>(a: SparseView<'_>, x: Rows<'_, S>, at: usize, (from, width): (usize, usize)) {
    if let Some(&next) = a.columns.get(at) {
        prefetch_row(x.data, next as usize * x.stride + from, width);
        if let Some(scale) = a.col_scale {
            prefetch(scale, next as usize);
        }
    }
}

/// `width` columns of a row's sum from column `from` on, at most `W`, which never leave the registers. Where the table goes
/// on, `W` columns are read, and those of the next row not used.
#[inline(always)]
fn strip<const FMA: bool, const W: usize, S: Stored, T: Stored>(
    a: SparseView<'_>,
    x: Rows<'_, S>,
    turn: Turn,
    (from, width): (usize, usize),
    out: &mut [T],
    add: bool,
) {
    let (mut sum, mut padded) = ([0.0 as Real; W], [S::default(); W]);
    let mut take = |w: Real, row: usize| {
        let first = row * x.stride + from;
        let row = x.data.get(first..first + W).unwrap_or_else(|| {
            padded[..width].copy_from_slice(&x.data[first..first + width]);
            &padded
        });
        for (s, v) in sum.iter_mut().zip(row) {
            *s = madd::<FMA>(w, v.real(), *s);
        }
    };
    let (span, distance) = (turn.span(a), ahead::<S>(x.cols));
    if a.diagonal != 0.0 {
        prefetch_row(x.data, turn.row * x.stride + from, W);
    }
    if add {
        prefetch_row(out, from, W);
    }
    for entry in span.clone() {
        prefetch_entry(a, x, turn.entry(entry + distance, span.end), (from, W));
        take(a.weight(entry), a.columns[entry] as usize);
    }
    if a.diagonal != 0.0 {
        take(a.self_weight(turn.row), turn.row);
    }
    finish::<FMA, T>(a, turn.row, &sum[..width], &mut out[from..from + width], add);
}

#[inline(always)]
fn finish<const FMA: bool, T: Stored>(a: SparseView<'_>, r: usize, sum: &[Real], out: &mut [T], add: bool) {
    let scale = a.row_scale.map_or(1.0, |s| s[r]);
    if add {
        for (o, s) in out.iter_mut().zip(sum) {
            *o = T::of(madd::<FMA>(scale, *s, o.real()));
        }
    } else {
        for (o, s) in out.iter_mut().zip(sum) {
            *o = T::of(scale * s);
        }
    }
}

/// One row, strip by strip. Sums of 64 columns are what the compiler keeps in registers on all instruction sets.
#[inline(always)]
fn one<const FMA: bool, S: Stored, T: Stored>(
    a: SparseView<'_>,
    x: Rows<'_, S>,
    turn: Turn,
    out: &mut [T],
    add: bool,
) {
    for from in (0..x.cols).step_by(64) {
        let place = (from, (x.cols - from).min(64));
        match place.1 {
            49.. => strip::<FMA, 64, S, T>(a, x, turn, place, out, add),
            33.. => strip::<FMA, 48, S, T>(a, x, turn, place, out, add),
            17.. => strip::<FMA, 32, S, T>(a, x, turn, place, out, add),
            9.. => strip::<FMA, 16, S, T>(a, x, turn, place, out, add),
            _ => strip::<FMA, 8, S, T>(a, x, turn, place, out, add),
        }
    }
}

simd_fn! {
    /// Rows `first..` of the product into `out` (dense rows of `x.cols`), added to or replaced.
    pub fn rows<S: Stored, T: Stored>(a: SparseView<'_>, x: Rows<'_, S>, first: usize, out: &mut [T], add: bool) {
        for (i, out) in out.chunks_exact_mut(x.cols).enumerate() {
            let row = first + i;
            one::<FMA, S, T>(a, x, Turn { row, next: a.offsets[row + 1] as usize }, out, add);
        }
    }
}

simd_fn! {
    /// These rows of the product, one after the other, into `out` (dense rows of `x.cols`).
    pub fn listed<S: Stored, T: Stored>(a: SparseView<'_>, x: Rows<'_, S>, list: &[u32], out: &mut [T]) {
        for (i, out) in out.chunks_exact_mut(x.cols).enumerate() {
            let next = list.get(i + 1).map_or(a.columns.len(), |&next| a.offsets[next as usize] as usize);
            one::<FMA, S, T>(a, x, Turn { row: list[i] as usize, next }, out, false);
        }
    }
}

/// The whole product, rows spread over the pool in chunks of about equal work.
pub fn spmm<S: Stored, T: Stored>(a: SparseView<'_>, x: Rows<'_, S>, out: &mut [T], add: bool) {
    let n = a.offsets.len() - 1;
    assert_eq!(out.len(), n * x.cols, "{n} rows of {} columns", x.cols);
    if x.cols == 0 {
        return;
    }
    let mut jobs = Vec::new();
    let mut rest = out;
    for (first, last) in chunks(a.offsets) {
        let (mine, others) = rest.split_at_mut((last - first) * x.cols);
        rest = others;
        jobs.push((first, mine));
    }
    jobs.into_par_iter().for_each(|(first, mine)| rows(a, x, first, mine, add));
}

/// As [`spmm`] for these rows, which become one after the other.
pub fn spmm_listed<S: Stored, T: Stored>(a: SparseView<'_>, x: Rows<'_, S>, list: &[u32], out: &mut [T]) {
    const ROWS: usize = 128;
    assert_eq!(out.len(), list.len() * x.cols, "{} rows of {} columns", list.len(), x.cols);
    if x.cols > 0 {
        let pieces = out.par_chunks_mut(ROWS * x.cols).zip(list.par_chunks(ROWS));
        pieces.for_each(|(out, list)| listed(a, x, list, out));
    }
}

/// Row ranges with about 16 Ki entries and rows each.
fn chunks(offsets: &[u64]) -> Vec<(usize, usize)> {
    const WORK: u64 = 16 << 10;
    let n = offsets.len() - 1;
    let mut out = Vec::new();
    let mut first = 0;
    for r in 0..n {
        if offsets[r + 1] - offsets[first] + (r + 1 - first) as u64 >= WORK || r + 1 == n {
            out.push((first, r + 1));
            first = r + 1;
        }
    }
    out
}

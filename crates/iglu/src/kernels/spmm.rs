//! Sparse times dense: `out[r] = scale_r * sum_c w_rc scale_c x[c] (+ diagonal)`, a row at a time.
//!
//! Weights are implicit where they can be (row and column scales). A sum is made in strips of columns that stay in
//! registers while the neighbours' rows pass by; rows ahead are prefetched meanwhile, so that memory is never idle. Strips
//! have 64 columns, with AVX-512 up to 256 ([`wide`]). Every column is summed in the order of the entries, however wide
//! the strips are.

#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod wide;

use super::stored::Stored;
use super::vecmath::madd;
use super::{Rows, prefetch, prefetch_row, rows_ahead, simd_fn};
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
    fn self_weight(&self, node: usize) -> Real {
        self.diagonal * self.col_scale.map_or(1.0, |s| s[node])
    }
}

/// The entries of some rows, one row after the other: what is asked for ahead is then what will be read.
struct Entries {
    offsets: Vec<u64>,
    columns: Vec<u32>,
    weights: Option<Vec<Real>>,
}

impl Entries {
    fn of(a: SparseView<'_>, rows: &[u32]) -> Self {
        let mut out = Self {
            offsets: Vec::with_capacity(rows.len() + 1),
            columns: Vec::new(),
            weights: a.weights.map(|_| Vec::new()),
        };
        out.offsets.push(0);
        for &row in rows {
            let entries = a.offsets[row as usize] as usize..a.offsets[row as usize + 1] as usize;
            out.columns.extend_from_slice(&a.columns[entries.clone()]);
            if let (Some(to), Some(from)) = (&mut out.weights, a.weights) {
                to.extend_from_slice(&from[entries]);
            }
            out.offsets.push(out.columns.len() as u64);
        }
        out
    }
}

/// What is multiplied: an operator and a table.
#[derive(Clone, Copy)]
struct Factors<'a, S> {
    a: SparseView<'a>,
    x: Rows<'a, S>,
}

/// A strip of a row that is made, the one of a node: columns `from..from + width`. When its entries have been read, those from
/// `next` on follow, with the columns from `then` on: the next strip of the row, or the first one of the row after it.
#[derive(Clone, Copy)]
struct Strip {
    row: usize,
    node: usize,
    from: usize,
    width: usize,
    next: usize,
    then: usize,
}

impl Strip {
    /// The entries of the row.
    #[inline(always)]
    fn entries(self, a: SparseView<'_>) -> Range<usize> {
        a.offsets[self.row] as usize..a.offsets[self.row + 1] as usize
    }

    /// Asks for `W` columns of what is read some entries after `entry`.
    #[inline(always)]
    fn prefetch<const W: usize, S: Stored>(self, f: Factors<'_, S>, entry: usize, end: usize) {
        let at = entry + rows_ahead(W * size_of::<S>());
        let (at, from) = if at < end { (at, self.from) } else { (at - end + self.next, self.then) };
        if let Some(&next) = f.a.columns.get(at) {
            prefetch_row(f.x.data, next as usize * f.x.stride + from, W);
            if let Some(scale) = f.a.col_scale {
                prefetch(scale, next as usize);
            }
        }
    }

    /// Asks for the node's own place in the table, where it has a loop, and in the results, where those are added to.
    #[inline(always)]
    fn prefetch_own<S: Stored, T: Stored>(self, f: Factors<'_, S>, out: &[T], add: bool) {
        if f.a.diagonal != 0.0 {
            prefetch_row(f.x.data, self.node * f.x.stride + self.from, self.width);
        }
        if add {
            prefetch_row(out, self.from, self.width);
        }
    }
}

/// The widest strip.
const WIDEST: usize = 256;

/// A strip's sums, at most `W` of them, into `sums`; they never leave the registers before. Where the table goes on, `W`
/// columns are read, and those of the next row not used.
#[inline(always)]
fn narrow<const FMA: bool, const W: usize, S: Stored>(
    f: Factors<'_, S>,
    strip: Strip,
    sums: &mut [Real; WIDEST],
) {
    let (a, x) = (f.a, f.x);
    let Strip { node, from, width, .. } = strip;
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
    let entries = strip.entries(a);
    for entry in entries.clone() {
        strip.prefetch::<W, S>(f, entry, entries.end);
        take(a.weight(entry), a.columns[entry] as usize);
    }
    if a.diagonal != 0.0 {
        take(a.self_weight(node), node);
    }
    sums[..W].copy_from_slice(&sum);
}

#[inline(always)]
fn finish<const FMA: bool, T: Stored>(
    a: SparseView<'_>,
    node: usize,
    sum: &[Real],
    out: &mut [T],
    add: bool,
) {
    let scale = a.row_scale.map_or(1.0, |s| s[node]);
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

/// A strip's sums by whatever makes them fastest.
#[inline(always)]
fn sum<const FMA: bool, const WIDE: bool, S: Stored>(
    f: Factors<'_, S>,
    strip: Strip,
    sums: &mut [Real; WIDEST],
) {
    #[cfg(target_arch = "x86_64")]
    if WIDE {
        // SAFETY: whoever is compiled with `WIDE` runs where there is AVX-512.
        #[expect(unsafe_code, reason = "run-time detected instruction set")]
        return unsafe { wide::sum(f, strip, sums) };
    }
    match strip.width {
        49.. => narrow::<FMA, 64, S>(f, strip, sums),
        33.. => narrow::<FMA, 48, S>(f, strip, sums),
        17.. => narrow::<FMA, 32, S>(f, strip, sums),
        9.. => narrow::<FMA, 16, S>(f, strip, sums),
        _ => narrow::<FMA, 8, S>(f, strip, sums),
    }
}

/// Row `row`, the one of `node`, strip by strip.
#[inline(always)]
fn one<const FMA: bool, const WIDE: bool, S: Stored, T: Stored>(
    f: Factors<'_, S>,
    (row, node): (usize, usize),
    sums: &mut [Real; WIDEST],
    out: &mut [T],
    add: bool,
) {
    let (cols, mut from) = (f.x.cols, 0);
    while from < cols {
        let width = (cols - from).min(if WIDE { WIDEST } else { 64 });
        let end = from + width;
        let (first, then) = if end < cols { (row, end) } else { (row + 1, 0) };
        let strip = Strip { row, node, from, width, next: f.a.offsets[first] as usize, then };
        strip.prefetch_own(f, out, add);
        sum::<FMA, WIDE, S>(f, strip, sums);
        finish::<FMA, T>(f.a, node, &sums[..width], &mut out[from..end], add);
        from = end;
    }
}

simd_fn! {
    /// Rows `first..` of the product into `out` (dense rows of `x.cols`), added to or replaced.
    pub fn rows<S: Stored, T: Stored>(a: SparseView<'_>, x: Rows<'_, S>, first: usize, out: &mut [T], add: bool) {
        let mut sums = [0.0; WIDEST];
        for (i, out) in out.chunks_exact_mut(x.cols).enumerate() {
            one::<FMA, WIDE, S, T>(Factors { a, x }, (first + i, first + i), &mut sums, out, add);
        }
    }
}

simd_fn! {
    /// These rows of the product, one after the other, into `out` (dense rows of `x.cols`).
    pub fn listed<S: Stored, T: Stored>(a: SparseView<'_>, x: Rows<'_, S>, list: &[u32], out: &mut [T]) {
        let mut sums = [0.0; WIDEST];
        let Entries { offsets, columns, weights } = Entries::of(a, list);
        let a = SparseView { offsets: &offsets, columns: &columns, weights: weights.as_deref(), ..a };
        for (i, out) in out.chunks_exact_mut(x.cols).enumerate() {
            one::<FMA, WIDE, S, T>(Factors { a, x }, (i, list[i] as usize), &mut sums, out, false);
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

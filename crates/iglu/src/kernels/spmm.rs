//! Sparse times dense: `out[r] = scale_r * sum_c w_rc scale_c x[c] (+ diagonal)`, a row at a time in registers.
//!
//! Weights are implicit where they can be (row and column scales), columns are processed in strips of at most
//! 64 so that the sum of a strip never leaves the registers, and rows ahead are prefetched.

use super::vecmath::madd;
use super::{Rows, simd_fn};
use crate::Real;
use rayon::prelude::*;

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

/// Asks for the cache line at `data[at]` ahead of its use.
#[inline(always)]
pub(super) fn prefetch(data: &[Real], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let at = at.min(data.len());
        // SAFETY: prefetching any address is harmless; this one lies in or one past the slice.
        #[expect(unsafe_code, reason = "prefetch takes a pointer")]
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(data.as_ptr().add(at).cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (data, at);
}

#[inline(always)]
fn strip<const FMA: bool, const W: usize>(
    a: SparseView<'_>,
    x: Rows<'_>,
    r: usize,
    from: usize,
    out: &mut [Real],
    add: bool,
) {
    const AHEAD: usize = 4;
    let mut sum = [0.0 as Real; W];
    let span = a.offsets[r] as usize..a.offsets[r + 1] as usize;
    for entry in span.clone() {
        if from == 0 && entry + AHEAD < a.columns.len() {
            let next = a.columns[entry + AHEAD] as usize * x.stride;
            let mut at = 0;
            while at < x.cols {
                prefetch(x.data, next + at);
                at += 64 / size_of::<Real>();
            }
        }
        let base = a.columns[entry] as usize * x.stride + from;
        let row = &x.data[base..base + W];
        let w = a.weight(entry);
        for (s, v) in sum.iter_mut().zip(row) {
            *s = madd::<FMA>(w, *v, *s);
        }
    }
    if a.diagonal != 0.0 {
        let base = r * x.stride + from;
        let w = a.self_weight(r);
        for (s, v) in sum.iter_mut().zip(&x.data[base..base + W]) {
            *s = madd::<FMA>(w, *v, *s);
        }
    }
    let scale = a.row_scale.map_or(1.0, |s| s[r]);
    let out = &mut out[from..from + W];
    if add {
        for (o, s) in out.iter_mut().zip(&sum) {
            *o = madd::<FMA>(scale, *s, *o);
        }
    } else {
        for (o, s) in out.iter_mut().zip(&sum) {
            *o = scale * s;
        }
    }
}

simd_fn! {
    /// Rows `first..` of the product into `out` (dense rows of `x.cols`), added to or replaced.
    pub fn rows(a: SparseView<'_>, x: Rows<'_>, first: usize, out: &mut [Real], add: bool) {
        for (i, out) in out.chunks_exact_mut(x.cols).enumerate() {
            let r = first + i;
            let mut from = 0;
            while from + 64 <= x.cols {
                strip::<FMA, 64>(a, x, r, from, out, add);
                from += 64;
            }
            if from + 32 <= x.cols {
                strip::<FMA, 32>(a, x, r, from, out, add);
                from += 32;
            }
            if from + 16 <= x.cols {
                strip::<FMA, 16>(a, x, r, from, out, add);
                from += 16;
            }
            if from + 8 <= x.cols {
                strip::<FMA, 8>(a, x, r, from, out, add);
                from += 8;
            }
            while from < x.cols {
                strip::<FMA, 1>(a, x, r, from, out, add);
                from += 1;
            }
        }
    }
}

/// The whole product, rows spread over the pool in chunks of about equal work.
pub fn spmm(a: SparseView<'_>, x: Rows<'_>, out: &mut [Real], add: bool) {
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

//! Words: two neighbouring terms of a sum, rounded to bf16. Words stand in arrays of numbers, as far as bits go, so that
//! panels and tiles take them as they take numbers.

use crate::Real;
use crate::kernels::stored::{Bf16, Stored};
use crate::kernels::{Rows, simd_fn};

/// Two rounded numbers in a word, the first in its lower half; those below 2^-126 are 0, as processors take them.
#[inline(always)]
#[allow(clippy::unnecessary_cast, reason = "Real is f64 in the twin crate")]
pub fn word(first: Real, second: Real) -> u32 {
    let bits = |v: Real| {
        let normal = (v as f32).to_bits() & 0x7f80_0000 != 0;
        if normal { u32::from(Bf16::of(v).bits()) } else { 0 }
    };
    bits(first) | bits(second) << 16
}

/// A word as it stands in an array.
#[inline(always)]
#[allow(clippy::unnecessary_cast, reason = "Real is f64 in the twin crate, which takes no words")]
fn number(word: u32) -> Real {
    f32::from_bits(word) as Real
}

/// Words that hold so many terms.
fn count(terms: usize) -> usize {
    terms.div_ceil(2)
}

simd_fn! {
    /// Neighbours in a row make a word; `out` has the words of one row after the other.
    pub fn pair_along(x: Rows<'_>, out: &mut [Real]) {
        for (i, out) in out.chunks_exact_mut(count(x.cols).max(1)).enumerate() {
            let (pairs, rest) = x.row(i).as_chunks::<2>();
            for (out, pair) in out.iter_mut().zip(pairs) {
                *out = number(word(pair[0], pair[1]));
            }
            if let [last] = rest {
                out[pairs.len()] = number(word(*last, 0.0));
            }
        }
    }
}

simd_fn! {
    /// Numbers of one column in two neighbouring rows make a word; `out` has the words of two rows after the other.
    pub fn pair_across(x: Rows<'_>, out: &mut [Real]) {
        for (i, out) in out.chunks_exact_mut(x.cols.max(1)).enumerate() {
            let first = x.row(2 * i);
            if 2 * i + 1 < x.rows {
                let terms = first.iter().zip(x.row(2 * i + 1));
                out.iter_mut().zip(terms).for_each(|(out, (a, b))| *out = number(word(*a, *b)));
            } else {
                out.iter_mut().zip(first).for_each(|(out, a)| *out = number(word(*a, 0.0)));
            }
        }
    }
}

/// Words of neighbours in the rows of `x`, in `room`.
pub(super) fn in_rows<'r>(x: Rows<'_>, room: &'r mut Vec<Real>) -> Rows<'r> {
    let cols = count(x.cols);
    room.resize(x.rows * cols, 0.0);
    pair_along(x, room);
    Rows::dense(room, x.rows, cols)
}

/// Words of neighbours in the columns of `x`, in `room`.
pub(super) fn in_columns<'r>(x: Rows<'_>, room: &'r mut Vec<Real>) -> Rows<'r> {
    let rows = count(x.rows);
    room.resize(rows * x.cols, 0.0);
    pair_across(x, room);
    Rows::dense(room, rows, x.cols)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_no_normal_ones_are_kept_or_zero() {
        assert_eq!(word(1.0, -2.0), 0xc000_3f80);
        assert_eq!(word(1e-39, -1e-39), 0, "below the least normal number");
        assert_eq!(word(Real::INFINITY, 0.0), 0x7f80);
        assert_ne!(word(Real::NAN, 0.0) & 0x7f, 0);
    }

    #[test]
    fn words_hold_neighbours_and_end_with_zero() {
        let x: Vec<Real> = (0..15).map(|i| i as Real).collect();
        let (x, room) = (Rows::dense(&x, 3, 5), &mut Vec::new());
        let expect = |words: &[[Real; 2]]| words.iter().map(|w| number(word(w[0], w[1])).to_bits()).collect();
        let bits = |words: Rows<'_>| words.data.iter().map(|w| w.to_bits()).collect::<Vec<_>>();
        let along: Vec<_> = expect(&[
            [0.0, 1.0],
            [2.0, 3.0],
            [4.0, 0.0],
            [5.0, 6.0],
            [7.0, 8.0],
            [9.0, 0.0],
            [10.0, 11.0],
            [12.0, 13.0],
            [14.0, 0.0],
        ]);
        assert_eq!(bits(in_rows(x, room)), along);
        let across: Vec<_> = expect(&[
            [0.0, 5.0],
            [1.0, 6.0],
            [2.0, 7.0],
            [3.0, 8.0],
            [4.0, 9.0],
            [10.0, 0.0],
            [11.0, 0.0],
            [12.0, 0.0],
            [13.0, 0.0],
            [14.0, 0.0],
        ]);
        assert_eq!(bits(in_columns(x, room)), across);
    }
}

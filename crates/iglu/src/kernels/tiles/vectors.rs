//! Tiles made sixteen words at a time, by AVX-512 with BF16, which every processor with AMX has. The words are those of
//! [`super::word`], but for the signs of zeros and the bits of what is no number.
#![expect(unsafe_code, reason = "vectors are read and written through pointers")]

use super::{Cutout, DEPTH, Pairs, Rows, SIDE, Tile, Way};
use std::arch::x86_64::{
    __m512, __m512bh, __m512i, __mmask16, _mm512_cvtne2ps_pbh, _mm512_loadu_si512, _mm512_maskz_loadu_ps,
    _mm512_permutexvar_epi16, _mm512_setzero_ps, _mm512_setzero_si512, _mm512_shuffle_i32x4,
    _mm512_store_si512, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32,
    _mm512_unpacklo_epi64,
};
use std::mem::transmute;

/// The instructions: who has this may use them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Vectors(());

impl Vectors {
    /// Nothing where the processor lacks them.
    pub(super) fn new() -> Option<Self> {
        let usable = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512bf16");
        usable.then_some(Self(()))
    }

    /// Makes a tile.
    #[expect(clippy::unused_self, reason = "who has this may use the instructions")]
    pub(super) fn make(self, from: Cutout<'_>, tile: &mut Tile) {
        // SAFETY: the processor has the instructions, as `new` has found.
        unsafe {
            match (from.pairs, from.way) {
                (Pairs::Along, Way::Upright) => made::<false, false>(from, tile),
                (Pairs::Along, Way::Turned) => made::<false, true>(from, tile),
                (Pairs::Across, Way::Upright) => made::<true, false>(from, tile),
                (Pairs::Across, Way::Turned) => made::<true, true>(from, tile),
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
fn made<const ACROSS: bool, const TURNED: bool>(from: Cutout<'_>, tile: &mut Tile) {
    let rows = if ACROSS { across(from) } else { along(from) };
    let rows = if TURNED { turned(&rows) } else { rows };
    for (row, to) in rows.into_iter().zip(tile.0.as_chunks_mut::<SIDE>().0) {
        // SAFETY: a row of a tile is one vector, and tiles begin with a cache line.
        unsafe { _mm512_store_si512(to.as_mut_ptr().cast(), row) }
    }
}

/// The first of 16 lanes, as many as there are.
#[inline(always)]
fn mask(lanes: usize) -> __mmask16 {
    if lanes >= SIDE { u16::MAX } else { (1 << lanes) - 1 }
}

/// Sixteen numbers of a row from a column on; zeros where there is no such row, or no such column.
#[inline]
#[target_feature(enable = "avx512f")]
fn numbers(x: Rows<'_>, row: usize, col: usize) -> __m512 {
    if row >= x.rows || col >= x.cols {
        return _mm512_setzero_ps();
    }
    let row = &x.row(row)[col..];
    // SAFETY: the mask hides what is beyond the row.
    unsafe { _mm512_maskz_loadu_ps(mask(row.len()), row.as_ptr().cast()) }
}

/// Both vectors rounded, those of `first` in the lower half.
#[inline]
#[target_feature(enable = "avx512f,avx512bf16")]
fn rounded(first: __m512, second: __m512) -> __m512i {
    let both = _mm512_cvtne2ps_pbh(second, first);
    // SAFETY: both are 512 bits, any of which are fine.
    unsafe { transmute::<__m512bh, __m512i>(both) }
}

/// Words of neighbours in 16 rows.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
fn along(from: Cutout<'_>) -> [__m512i; SIDE] {
    let Cutout { x, row, col, .. } = from;
    let mut out = [_mm512_setzero_si512(); SIDE];
    for (i, out) in out.iter_mut().enumerate() {
        *out = rounded(numbers(x, row + i, col), numbers(x, row + i, col + SIDE));
    }
    out
}

/// Words of 16 pairs of rows.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
fn across(from: Cutout<'_>) -> [__m512i; SIDE] {
    /// Numbers of the first row and of the second by turns.
    const BY_TURNS: [u16; DEPTH] = {
        let mut turns = [0; DEPTH];
        let mut i = 0;
        while i < DEPTH {
            turns[i] = (i / 2 + i % 2 * SIDE) as u16;
            i += 1;
        }
        turns
    };
    let Cutout { x, row, col, .. } = from;
    // SAFETY: 32 numbers of 16 bits are one vector.
    let by_turns = unsafe { _mm512_loadu_si512(BY_TURNS.as_ptr().cast()) };
    let mut out = [_mm512_setzero_si512(); SIDE];
    for (p, out) in out.iter_mut().enumerate() {
        let both = rounded(numbers(x, row + 2 * p, col), numbers(x, row + 2 * p + 1, col));
        *out = _mm512_permutexvar_epi16(by_turns, both);
    }
    out
}

/// The transpose of 16 rows of 16 words: squares of 4 words in four steps of two rows each.
#[inline]
#[target_feature(enable = "avx512f")]
fn turned(r: &[__m512i; SIDE]) -> [__m512i; SIDE] {
    let mut t = *r;
    // Words of two rows, then of four: each quarter of `t[4 i + c]` has column c of its four in rows 4 i to 4 i + 3.
    for i in (0..SIDE).step_by(4) {
        let (a, b) = (_mm512_unpacklo_epi32(r[i], r[i + 1]), _mm512_unpackhi_epi32(r[i], r[i + 1]));
        let (c, d) = (_mm512_unpacklo_epi32(r[i + 2], r[i + 3]), _mm512_unpackhi_epi32(r[i + 2], r[i + 3]));
        t[i] = _mm512_unpacklo_epi64(a, c);
        t[i + 1] = _mm512_unpackhi_epi64(a, c);
        t[i + 2] = _mm512_unpacklo_epi64(b, d);
        t[i + 3] = _mm512_unpackhi_epi64(b, d);
    }
    // Quarters of four vectors: column c of quarter q is row 4 q + c of the result.
    let mut out = t;
    for c in 0..4 {
        let [a, b, e, f] = [t[c], t[4 + c], t[8 + c], t[12 + c]];
        let (low, high) = (_mm512_shuffle_i32x4::<0x88>(a, b), _mm512_shuffle_i32x4::<0x88>(e, f));
        let (odd, odder) = (_mm512_shuffle_i32x4::<0xdd>(a, b), _mm512_shuffle_i32x4::<0xdd>(e, f));
        out[c] = _mm512_shuffle_i32x4::<0x88>(low, high);
        out[8 + c] = _mm512_shuffle_i32x4::<0xdd>(low, high);
        out[4 + c] = _mm512_shuffle_i32x4::<0x88>(odd, odder);
        out[12 + c] = _mm512_shuffle_i32x4::<0xdd>(odd, odder);
    }
    out
}

//! Sums of strips of up to 256 columns in sixteen registers of AVX-512: a neighbour's row is read in one go, which memory
//! gives a third faster than quarters of it one after the other (Zen 4, a table of 500 MB).

use super::{Factors, Strip, WIDEST};
use crate::Real;
use crate::kernels::stored::Stored;
use std::arch::x86_64::{
    __m512, __mmask16, _mm512_fmadd_ps, _mm512_set1_ps, _mm512_setzero_ps, _mm512_storeu_ps,
};

/// Numbers of a register.
const LANES: usize = 16;

/// The sums of a strip, in `sums[..strip.width]`.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
pub(super) fn sum<S: Stored>(f: Factors<'_, S>, strip: Strip, sums: &mut [Real; WIDEST]) {
    match strip.width.div_ceil(LANES) {
        1 => registers::<1, 16, S>(f, strip, sums),
        2 => registers::<2, 32, S>(f, strip, sums),
        3 => registers::<3, 48, S>(f, strip, sums),
        4 => registers::<4, 64, S>(f, strip, sums),
        5 => registers::<5, 80, S>(f, strip, sums),
        6 => registers::<6, 96, S>(f, strip, sums),
        7 => registers::<7, 112, S>(f, strip, sums),
        8 => registers::<8, 128, S>(f, strip, sums),
        9 => registers::<9, 144, S>(f, strip, sums),
        10 => registers::<10, 160, S>(f, strip, sums),
        11 => registers::<11, 176, S>(f, strip, sums),
        12 => registers::<12, 192, S>(f, strip, sums),
        13 => registers::<13, 208, S>(f, strip, sums),
        14 => registers::<14, 224, S>(f, strip, sums),
        15 => registers::<15, 240, S>(f, strip, sums),
        16 => registers::<16, 256, S>(f, strip, sums),
        n => unreachable!("{n} registers of {LANES} for a strip of {}", strip.width),
    }
}

/// The same in `N` registers, of the last of which some lanes may be unused; `W` is `16 N`.
#[target_feature(enable = "avx512f,avx512bw,avx512vl")]
fn registers<const N: usize, const W: usize, S: Stored>(
    f: Factors<'_, S>,
    strip: Strip,
    sums: &mut [Real; WIDEST],
) {
    let (a, x) = (f.a, f.x);
    let Strip { node, from, width, .. } = strip;
    let last: __mmask16 = u16::MAX >> (LANES * N - width);
    let mut sum: [__m512; N] = [_mm512_setzero_ps(); N];
    let mut take = |w: Real, row: usize| {
        let row = &x.data[row * x.stride + from..][..width];
        #[allow(clippy::unnecessary_cast, reason = "Real is f64 in the twin crate")]
        let w = _mm512_set1_ps(w as f32);
        for (j, sum) in sum.iter_mut().enumerate() {
            let some = if j + 1 < N { u16::MAX } else { last };
            // SAFETY: these lanes of the row are inside the slice.
            #[expect(unsafe_code, reason = "vectors are read through pointers")]
            let values = unsafe { S::load(row.as_ptr().add(LANES * j), some) };
            *sum = _mm512_fmadd_ps(w, values, *sum);
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
    for (sum, out) in sum.into_iter().zip(sums.as_chunks_mut::<LANES>().0) {
        // SAFETY: there is room for a register.
        #[expect(unsafe_code, reason = "vectors are written through pointers")]
        unsafe {
            _mm512_storeu_ps(out.as_mut_ptr().cast(), sum);
        }
    }
}

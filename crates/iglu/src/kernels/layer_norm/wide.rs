//! Four rows side by side in the registers of AVX-512. Every sum takes its terms in the order of the plain loops: in as many
//! lanes, which are added by halves.
#![expect(unsafe_code, reason = "vectors are read and written through pointers")]

use super::super::rowwise::LANES;
use super::{Affine, AffineGrad, Rows, RowsMut};
use crate::Real;
use std::arch::x86_64::{
    __m512, __mmask16, _mm_add_ps, _mm_add_ss, _mm_cvtss_f32, _mm_movehl_ps, _mm_shuffle_ps, _mm256_add_ps,
    _mm256_castps256_ps128, _mm256_extractf128_ps, _mm512_add_ps, _mm512_castps512_ps256,
    _mm512_extractf32x8_ps, _mm512_fmadd_ps, _mm512_mask_add_ps, _mm512_mask_storeu_ps,
    _mm512_mask3_fmadd_ps, _mm512_maskz_loadu_ps, _mm512_mul_ps, _mm512_set1_ps, _mm512_setzero_ps,
    _mm512_sub_ps,
};

/// Rows side by side.
const ROWS: usize = 4;

/// Some neighbouring columns: the first of them, and which lanes of a register they fill.
#[derive(Clone, Copy)]
struct Part {
    from: usize,
    lanes: __mmask16,
}

/// The columns of a row, register by register.
fn parts(cols: usize) -> impl Iterator<Item = Part> + Clone {
    (0..cols)
        .step_by(LANES)
        .map(move |from| Part { from, lanes: u16::MAX >> LANES.saturating_sub(cols - from) })
}

/// # Safety
/// The part must lie in the row.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn load(row: *const Real, part: Part) -> __m512 {
    // SAFETY: as the caller promises.
    unsafe { _mm512_maskz_loadu_ps(part.lanes, row.add(part.from).cast()) }
}

/// # Safety
/// The part must lie in the row.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn store(row: *mut Real, part: Part, values: __m512) {
    // SAFETY: as the caller promises.
    unsafe { _mm512_mask_storeu_ps(row.add(part.from).cast(), part.lanes, values) }
}

/// Each number in all lanes of a register.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn each<const N: usize>(numbers: [Real; N]) -> [__m512; N] {
    let mut all = [_mm512_setzero_ps(); N];
    for (all, number) in all.iter_mut().zip(numbers) {
        #[allow(clippy::unnecessary_cast, reason = "Real is f64 in the twin crate")]
        let number = number as f32;
        *all = _mm512_set1_ps(number);
    }
    all
}

/// The lanes of each sum, added by halves, over `n`.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn means<const N: usize>(sums: [__m512; N], n: Real) -> [Real; N] {
    let mut means = [0.0; N];
    for (mean, sum) in means.iter_mut().zip(sums) {
        let eight = _mm256_add_ps(_mm512_castps512_ps256(sum), _mm512_extractf32x8_ps::<1>(sum));
        let four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        *mean = Real::from(_mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))) / n;
    }
    means
}

/// The first of `N` rows from row `first` on, checked to be there, and how far it is from one to the next.
fn rows_from<const N: usize>(x: Rows<'_>, first: usize) -> (*const Real, usize) {
    let [start, end] = [first, first + N - 1].map(|i| i * x.stride);
    assert!(end + x.cols <= x.data.len(), "rows {first} to {} are there", first + N);
    (x.data[start..].as_ptr(), x.stride)
}

/// The same of writable rows as long as those of `x`.
fn rows_mut_from<const N: usize>(y: &mut RowsMut<'_>, x: Rows<'_>, first: usize) -> (*mut Real, usize) {
    let [start, end] = [first, first + N - 1].map(|i| i * y.stride);
    assert!(end + x.cols <= y.data.len() && y.cols == x.cols, "rows {first} to {} are there", first + N);
    (y.data[start..].as_mut_ptr(), y.stride)
}

/// [`super::layer_norm`].
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn forward(
    x: Rows<'_>,
    affine: Affine<'_>,
    eps: Real,
    y: &mut RowsMut<'_>,
    stats: &mut [[Real; 2]],
) {
    let whole = x.rows / ROWS * ROWS;
    for first in (0..whole).step_by(ROWS) {
        some_forward::<ROWS>((x, first), affine, eps, y, stats);
    }
    for first in whole..x.rows {
        some_forward::<1>((x, first), affine, eps, y, stats);
    }
}

#[target_feature(enable = "avx512f,avx512dq")]
fn some_forward<const N: usize>(
    (x, first): (Rows<'_>, usize),
    affine: Affine<'_>,
    eps: Real,
    y: &mut RowsMut<'_>,
    stats: &mut [[Real; 2]],
) {
    let (scale, offset) = (affine.scale[..x.cols].as_ptr(), affine.offset[..x.cols].as_ptr());
    let ((from, stride), (to, to_stride)) = (rows_from::<N>(x, first), rows_mut_from::<N>(y, x, first));
    let n = x.cols as Real;
    // SAFETY: all parts lie within the columns, of which rows, scale and offset have as many.
    unsafe {
        let mut sums = [_mm512_setzero_ps(); N];
        for part in parts(x.cols) {
            for (r, sum) in sums.iter_mut().enumerate() {
                *sum = _mm512_mask_add_ps(*sum, part.lanes, *sum, load(from.add(r * stride), part));
            }
        }
        let mean = means(sums, n);
        let centre = each(mean);
        let mut sums = [_mm512_setzero_ps(); N];
        for part in parts(x.cols) {
            for (r, sum) in sums.iter_mut().enumerate() {
                let v = _mm512_sub_ps(load(from.add(r * stride), part), centre[r]);
                *sum = _mm512_mask3_fmadd_ps(v, v, *sum, part.lanes);
            }
        }
        let mut rstd = means(sums, n);
        for (r, stats) in stats[first..first + N].iter_mut().enumerate() {
            rstd[r] = 1.0 / (rstd[r] + eps).sqrt();
            *stats = [mean[r], rstd[r]];
        }
        let rstd = each(rstd);
        for part in parts(x.cols) {
            let (scale, offset) = (load(scale, part), load(offset, part));
            for r in 0..N {
                let hat = _mm512_mul_ps(_mm512_sub_ps(load(from.add(r * stride), part), centre[r]), rstd[r]);
                store(to.add(r * to_stride), part, _mm512_fmadd_ps(hat, scale, offset));
            }
        }
    }
}

/// [`super::layer_norm_back`].
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn back(
    x: Rows<'_>,
    stats: &[[Real; 2]],
    scale: &[Real],
    d: &mut RowsMut<'_>,
    grad: Option<AffineGrad<'_>>,
) {
    let mut grad = grad;
    let whole = x.rows / ROWS * ROWS;
    for first in (0..whole).step_by(ROWS) {
        some_back::<ROWS>((x, first), stats, scale, d, grad.as_mut());
    }
    for first in whole..x.rows {
        some_back::<1>((x, first), stats, scale, d, grad.as_mut());
    }
}

#[target_feature(enable = "avx512f,avx512dq")]
fn some_back<const N: usize>(
    (x, first): (Rows<'_>, usize),
    stats: &[[Real; 2]],
    scale: &[Real],
    d: &mut RowsMut<'_>,
    grad: Option<&mut AffineGrad<'_>>,
) {
    let scale = scale[..x.cols].as_ptr();
    let sums = grad.map(|g| [&mut *g.scale, &mut *g.offset].map(|sum| sum[..x.cols].as_mut_ptr()));
    let ((from, stride), (to, to_stride)) = (rows_from::<N>(x, first), rows_mut_from::<N>(d, x, first));
    let (mut mean, mut rstd) = ([0.0; N], [0.0; N]);
    for (r, stats) in stats[first..first + N].iter().enumerate() {
        [mean[r], rstd[r]] = *stats;
    }
    let n = x.cols as Real;
    // SAFETY: all parts lie within the columns, of which rows, scale and sums have as many.
    unsafe {
        let (mean, rstd) = (each(mean), each(rstd));
        let hat = |r: usize, part: Part| {
            _mm512_mul_ps(_mm512_sub_ps(load(from.add(r * stride), part), mean[r]), rstd[r])
        };
        let (mut g_sums, mut gx_sums) = ([_mm512_setzero_ps(); N], [_mm512_setzero_ps(); N]);
        for part in parts(x.cols) {
            let factor = load(scale, part);
            let mut grads = sums.map(|[scale, offset]| [load(scale, part), load(offset, part)]);
            for r in 0..N {
                let (row, hat) = (to.add(r * to_stride), hat(r, part));
                let d = load(row, part);
                if let Some([scale, offset]) = &mut grads {
                    *scale = _mm512_fmadd_ps(d, hat, *scale);
                    *offset = _mm512_add_ps(*offset, d);
                }
                let g = _mm512_mul_ps(d, factor);
                store(row, part, g);
                g_sums[r] = _mm512_mask_add_ps(g_sums[r], part.lanes, g_sums[r], g);
                gx_sums[r] = _mm512_mask3_fmadd_ps(g, hat, gx_sums[r], part.lanes);
            }
            if let (Some([scale, offset]), Some([to_scale, to_offset])) = (grads, sums) {
                store(to_scale, part, scale);
                store(to_offset, part, offset);
            }
        }
        let (mean_g, mean_gx) = (each(means(g_sums, n)), each(means(gx_sums, n)));
        for part in parts(x.cols) {
            for r in 0..N {
                let row = to.add(r * to_stride);
                let centred = _mm512_sub_ps(load(row, part), mean_g[r]);
                let dx = _mm512_sub_ps(centred, _mm512_mul_ps(hat(r, part), mean_gx[r]));
                store(row, part, _mm512_mul_ps(rstd[r], dx));
            }
        }
    }
}

//! Layer norm of rows, and its gradient.
//!
//! ```text
//! y  = xhat scale + offset,  xhat = (x - mean) rstd,  rstd = 1 / sqrt(var + eps),  var the population's
//! dx = rstd (g - mean(g) - xhat mean(g xhat)),  g = dy scale
//! ```
//!
//! Sums of a row are chains of additions: with AVX-512 four rows go side by side ([`wide`]), with the same bytes.

#[cfg(target_arch = "x86_64")]
mod wide;

use super::rowwise::{Affine, AffineGrad, reduce};
use super::vecmath::madd;
use super::{Rows, RowsMut, simd_fn};
use crate::Real;

simd_fn! {
    /// `y` of every row of `x`; keeps (mean, rstd) in `stats`.
    pub fn layer_norm(x: Rows<'_>, affine: Affine<'_>, eps: Real, y: &mut RowsMut<'_>, stats: &mut [[Real; 2]]) {
        #[cfg(target_arch = "x86_64")]
        if WIDE {
            // SAFETY: `WIDE` is true only in code compiled for AVX-512, of numbers of four bytes.
            #[expect(unsafe_code, reason = "registers of AVX-512")]
            return unsafe { wide::forward(x, affine, eps, y, stats) };
        }
        forward::<FMA>(x, affine, eps, y, stats);
    }
}

simd_fn! {
    /// Gradient of [`layer_norm`]: adds to `grad`, and turns `dy` into `dx` in `d`.
    pub fn layer_norm_back(x: Rows<'_>, stats: &[[Real; 2]], scale: &[Real], d: &mut RowsMut<'_>, grad: Option<AffineGrad<'_>>) {
        #[cfg(target_arch = "x86_64")]
        if WIDE {
            // SAFETY: as above.
            #[expect(unsafe_code, reason = "registers of AVX-512")]
            return unsafe { wide::back(x, stats, scale, d, grad) };
        }
        back::<FMA>(x, stats, scale, d, grad);
    }
}

/// Row by row.
#[inline(always)]
fn forward<const FMA: bool>(
    x: Rows<'_>,
    affine: Affine<'_>,
    eps: Real,
    y: &mut RowsMut<'_>,
    stats: &mut [[Real; 2]],
) {
    let n = x.cols as Real;
    for i in 0..x.rows {
        let row = x.row(i);
        let mean = reduce(row, row, |s, v, _| s + v) / n;
        let var = reduce(row, row, |s, v, _| madd::<FMA>(v - mean, v - mean, s)) / n;
        let rstd = 1.0 / (var + eps).sqrt();
        stats[i] = [mean, rstd];
        let factors = affine.scale.iter().zip(affine.offset);
        for ((y, x), (scale, offset)) in y.row(i).iter_mut().zip(row).zip(factors) {
            *y = madd::<FMA>((x - mean) * rstd, *scale, *offset);
        }
    }
}

/// Row by row.
#[inline(always)]
fn back<const FMA: bool>(
    x: Rows<'_>,
    stats: &[[Real; 2]],
    scale: &[Real],
    d: &mut RowsMut<'_>,
    grad: Option<AffineGrad<'_>>,
) {
    let n = x.cols as Real;
    let mut grad = grad;
    for i in 0..x.rows {
        let (row, [mean, rstd]) = (x.row(i), stats[i]);
        let d = d.row(i);
        if let Some(grad) = &mut grad {
            let sums = grad.scale.iter_mut().zip(grad.offset.iter_mut());
            for ((scale, offset), (d, x)) in sums.zip(d.iter().zip(row)) {
                *scale = madd::<FMA>(*d, (x - mean) * rstd, *scale);
                *offset += d;
            }
        }
        d.iter_mut().zip(scale).for_each(|(d, s)| *d *= s);
        let mean_g = reduce(d, d, |s, g, _| s + g) / n;
        let mean_gx = reduce(d, row, |s, g, v| madd::<FMA>(g, (v - mean) * rstd, s)) / n;
        for (d, x) in d.iter_mut().zip(row) {
            *d = rstd * (*d - mean_g - (x - mean) * rstd * mean_gx);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_row_becomes_its_offset() {
        let x = [3.0; 20];
        let (scale, offset) = ([2.0; 20], [0.5; 20]);
        let mut y = [0.0; 20];
        let affine = Affine { scale: &scale, offset: &offset };
        layer_norm(Rows::dense(&x, 1, 20), affine, 1e-5, &mut RowsMut::dense(&mut y, 1, 20), &mut [[0.0; 2]]);
        assert_eq!(y, [0.5; 20]);
    }

    /// Whatever the instructions, however many rows are left for the last group, and with gaps between rows.
    #[test]
    fn rows_side_by_side_have_the_bytes_of_single_rows() {
        // Without fused multiply-add there are only single rows.
        const FUSED: bool = true;
        if super::super::isa() == super::super::Isa::Portable {
            return;
        }
        for (rows, cols, gap) in
            [(1, 1, 0), (3, 15, 1), (4, 16, 0), (5, 17, 3), (9, 40, 0), (7, 256, 8), (6, 300, 0)]
        {
            let stride = cols + gap;
            let number = |i: usize, salt: usize| ((i * 37 + salt * 101) % 211) as Real / 17.0 - 6.0;
            let numbers = |count: usize, salt: usize| (0..count).map(|i| number(i, salt)).collect::<Vec<_>>();
            let (data, scale, offset) = (numbers(rows * stride, 1), numbers(cols, 2), numbers(cols, 3));
            let x = Rows { data: &data, rows, cols, stride };
            let affine = Affine { scale: &scale, offset: &offset };
            let out = |y: &mut Vec<Real>, stats: &mut Vec<[Real; 2]>, plain: bool| {
                let mut y = RowsMut { data: y, rows, cols, stride };
                if plain {
                    forward::<FUSED>(x, affine, 1e-5, &mut y, stats);
                } else {
                    layer_norm(x, affine, 1e-5, &mut y, stats);
                }
            };
            let [found, expected] = [false, true].map(|plain| {
                let (mut y, mut stats) = (numbers(rows * stride, 4), vec![[0.0; 2]; rows]);
                out(&mut y, &mut stats, plain);
                (y, stats)
            });
            assert_eq!(found, expected, "{rows} rows of {cols}");
            let back_of = |plain: bool, sums: bool| {
                let (mut d, mut ds, mut doff) =
                    (numbers(rows * stride, 5), numbers(cols, 6), numbers(cols, 7));
                let grad = sums.then_some(AffineGrad { scale: &mut ds, offset: &mut doff });
                let mut rows_of_d = RowsMut { data: &mut d, rows, cols, stride };
                if plain {
                    back::<FUSED>(x, &found.1, &scale, &mut rows_of_d, grad);
                } else {
                    layer_norm_back(x, &found.1, &scale, &mut rows_of_d, grad);
                }
                (d, ds, doff)
            };
            for sums in [false, true] {
                assert_eq!(back_of(false, sums), back_of(true, sums), "{rows} rows of {cols} back");
            }
        }
    }
}

//! Row-wise functions and their vector-Jacobian products: bias, activations, norms, dropout.
//!
//! Letters: `x` input, `y` output, `d` a gradient that is changed in place or added to. Each pair states its
//! derivative. Rows are independent except in the `batch_norm_*` functions, which take the statistics as given.

use super::stored::Stored;
use super::vecmath::{self, madd};
use super::{Rows, RowsMut, simd_fn};
use crate::Real;

/// Number of partial sums of a row reduction: fixed, so that every instruction set adds in the same order.
pub(super) const LANES: usize = 16;

/// `sum_j f(a_j, b_j)` over fixed lanes.
#[inline(always)]
pub(super) fn reduce<S: Stored, T: Stored>(a: &[S], b: &[T], f: impl Fn(Real, Real, Real) -> Real) -> Real {
    let mut sum = [0.0 as Real; LANES];
    let (ac, bc) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let (ar, br) = (ac.remainder(), bc.remainder());
    for (x, y) in ac.zip(bc) {
        for j in 0..LANES {
            sum[j] = f(sum[j], x[j].real(), y[j].real());
        }
    }
    for (j, (x, y)) in ar.iter().zip(br).enumerate() {
        sum[j] = f(sum[j], x.real(), y.real());
    }
    let mut width = LANES / 2;
    while width > 0 {
        for j in 0..width {
            sum[j] += sum[j + width];
        }
        width /= 2;
    }
    sum[0]
}

#[inline(always)]
fn dot<const FMA: bool, S: Stored, T: Stored>(a: &[S], b: &[T]) -> Real {
    reduce(a, b, |s, x, y| madd::<FMA>(x, y, s))
}

/// A smooth or piecewise linear function applied to every value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// `max(x, 0)`.
    #[default]
    Relu,
    /// `x Phi(x)` with the exact error function.
    Gelu,
    /// `x` above 0, `exp(x) - 1` below.
    Elu,
    /// Hyperbolic tangent.
    Tanh,
    /// `x`.
    None,
}

simd_fn! {
    /// `y = c x`.
    pub fn set_scaled_rows(c: Real, x: Rows<'_>, y: &mut RowsMut<'_>) {
        for i in 0..y.rows {
            for (y, x) in y.row(i).iter_mut().zip(x.row(i)) {
                *y = c * x;
            }
        }
    }
}

simd_fn! {
    /// Row i times `by[i]`.
    pub fn scale_rows(by: Rows<'_>, x: &mut RowsMut<'_>) {
        for i in 0..x.rows {
            let c = by.row(i)[0];
            for v in x.row(i) {
                *v *= c;
            }
        }
    }
}

simd_fn! {
    /// `y = max(x, y)`.
    pub fn take_larger(x: Rows<'_>, y: &mut RowsMut<'_>) {
        for i in 0..y.rows {
            for (y, x) in y.row(i).iter_mut().zip(x.row(i)) {
                *y = if *x > *y { *x } else { *y };
            }
        }
    }
}

simd_fn! {
    /// `y[i][h]` = inner product of piece h of row i with piece h of `a`; as many pieces as `y` has columns.
    pub fn piece_dot(x: Rows<'_>, a: &[Real], y: &mut RowsMut<'_>) {
        let width = x.cols / y.cols;
        for i in 0..y.rows {
            let row = x.row(i);
            for (h, y) in y.row(i).iter_mut().enumerate() {
                *y = dot::<FMA, _, _>(&row[h * width..(h + 1) * width], &a[h * width..(h + 1) * width]);
            }
        }
    }
}

simd_fn! {
    /// `dx += d a`, piece by piece.
    pub fn add_piece_dot_back(d: Rows<'_>, a: &[Real], dx: &mut RowsMut<'_>) {
        let width = dx.cols / d.cols;
        for i in 0..d.rows {
            for (h, &d) in d.row(i).iter().enumerate() {
                let pieces = dx.row(i)[h * width..(h + 1) * width].iter_mut().zip(&a[h * width..]);
                pieces.for_each(|(dx, a)| *dx = madd::<FMA>(d, *a, *dx));
            }
        }
    }
}

simd_fn! {
    /// `sum += d x` over all rows, piece by piece.
    pub fn add_piece_dot_sums(x: Rows<'_>, d: Rows<'_>, sum: &mut [Real]) {
        let width = x.cols / d.cols;
        for i in 0..d.rows {
            for (h, &d) in d.row(i).iter().enumerate() {
                let piece = &x.row(i)[h * width..(h + 1) * width];
                sum[h * width..(h + 1) * width].iter_mut().zip(piece).for_each(|(s, x)| *s = madd::<FMA>(d, *x, *s));
            }
        }
    }
}

simd_fn! {
    /// `y` = mean of the pieces of `x` that are as wide as `y`.
    pub fn piece_mean(x: Rows<'_>, y: &mut RowsMut<'_>) {
        let (width, share) = (y.cols, y.cols as Real / x.cols as Real);
        for i in 0..y.rows {
            let y = y.row(i);
            y.fill(0.0);
            for piece in x.row(i).chunks_exact(width) {
                y.iter_mut().zip(piece).for_each(|(y, x)| *y += x);
            }
            y.iter_mut().for_each(|y| *y *= share);
        }
    }
}

simd_fn! {
    /// `dx += d / pieces` in every piece.
    pub fn add_piece_mean_back(d: Rows<'_>, dx: &mut RowsMut<'_>) {
        let share = d.cols as Real / dx.cols as Real;
        for i in 0..d.rows {
            for piece in dx.row(i).chunks_exact_mut(d.cols) {
                piece.iter_mut().zip(d.row(i)).for_each(|(dx, d)| *dx = madd::<FMA>(share, *d, *dx));
            }
        }
    }
}

simd_fn! {
    /// `x += b` on every row.
    pub fn add_bias(x: &mut RowsMut<'_>, b: &[Real]) {
        for i in 0..x.rows {
            for (v, b) in x.row(i).iter_mut().zip(b) {
                *v += b;
            }
        }
    }
}

simd_fn! {
    /// Adds every row of `d` to `sum` (the gradient of a bias).
    pub fn add_column_sums(d: Rows<'_>, sum: &mut [Real]) {
        for i in 0..d.rows {
            for (s, v) in sum.iter_mut().zip(d.row(i)) {
                *s += v;
            }
        }
    }
}

simd_fn! {
    /// `y += x`.
    pub fn add_rows(x: Rows<'_>, y: &mut RowsMut<'_>) {
        for i in 0..x.rows {
            for (v, u) in y.row(i).iter_mut().zip(x.row(i)) {
                *v += u;
            }
        }
    }
}

simd_fn! {
    /// `y += c x`.
    pub fn add_scaled_rows(c: Real, x: Rows<'_>, y: &mut RowsMut<'_>) {
        for i in 0..x.rows {
            for (v, u) in y.row(i).iter_mut().zip(x.row(i)) {
                *v = madd::<FMA>(c, *u, *v);
            }
        }
    }
}

simd_fn! {
    /// `sum_ij a_ij b_ij`, row by row in double precision.
    pub fn inner(a: Rows<'_>, b: Rows<'_>) -> f64 {
        (0..a.rows).map(|i| dot::<FMA, _, _>(a.row(i), b.row(i)) as f64).sum()
    }
}

simd_fn! {
    /// `<a, b>` of one row.
    pub fn inner_row<S: Stored, T: Stored>(a: &[S], b: &[T]) -> Real {
        dot::<FMA, S, T>(a, b)
    }
}

simd_fn! {
    /// Applies an activation in place.
    pub fn activate(kind: Activation, x: &mut RowsMut<'_>) {
        for i in 0..x.rows {
            let row = x.row(i);
            match kind {
                Activation::Relu => row.iter_mut().for_each(|v| *v = v.max(0.0)),
                Activation::Gelu => row.iter_mut().for_each(|v| *v = vecmath::gelu::<FMA>(*v)),
                Activation::Elu => row.iter_mut().for_each(|v| *v = vecmath::elu::<FMA>(*v)),
                Activation::Tanh => row.iter_mut().for_each(|v| *v = vecmath::tanh::<FMA>(*v)),
                Activation::None => {}
            }
        }
    }
}

simd_fn! {
    /// `d *= f'(.)`, from the output `y` (ReLU, ELU, tanh) or the input (GELU). Products instead of choices: the
    /// compiler makes a store of each choice depend on it, which takes ten times as long.
    pub fn activate_back(kind: Activation, seen: Rows<'_>, d: &mut RowsMut<'_>) {
        for i in 0..seen.rows {
            let pairs = d.row(i).iter_mut().zip(seen.row(i));
            match kind {
                Activation::Relu => pairs.for_each(|(d, y)| *d *= if *y > 0.0 { 1.0 } else { 0.0 }),
                Activation::Gelu => pairs.for_each(|(d, x)| *d *= vecmath::gelu_grad::<FMA>(*x)),
                Activation::Elu => pairs.for_each(|(d, y)| *d *= if *y > 0.0 { 1.0 } else { *y + 1.0 }),
                Activation::Tanh => pairs.for_each(|(d, y)| *d *= 1.0 - *y * *y),
                Activation::None => {}
            }
        }
    }
}

simd_fn! {
    /// `y = gelu(x)`, and `x` becomes the derivative there: both cost little more than one.
    pub fn gelu_with_slope(x: &mut RowsMut<'_>, y: &mut RowsMut<'_>) {
        for i in 0..x.rows {
            for (x, y) in x.row(i).iter_mut().zip(y.row(i)) {
                (*y, *x) = vecmath::gelu_and_grad::<FMA>(*x);
            }
        }
    }
}

simd_fn! {
    /// `d *= x`.
    pub fn multiply_rows(x: Rows<'_>, d: &mut RowsMut<'_>) {
        for i in 0..x.rows {
            for (d, x) in d.row(i).iter_mut().zip(x.row(i)) {
                *d *= x;
            }
        }
    }
}

/// Scale and offset of a norm, one value per column.
#[derive(Clone, Copy)]
pub struct Affine<'a> {
    /// Factor.
    pub scale: &'a [Real],
    /// Summand.
    pub offset: &'a [Real],
}

/// Gradient accumulators of an [`Affine`].
pub struct AffineGrad<'a> {
    /// Gradient of the factor.
    pub scale: &'a mut [Real],
    /// Gradient of the summand.
    pub offset: &'a mut [Real],
}

/// Mean and reciprocal deviation of every column of a batch.
#[derive(Clone, Copy)]
pub struct ColumnStats<'a> {
    /// Mean.
    pub mean: &'a [Real],
    /// `1 / sqrt(var + eps)`.
    pub rstd: &'a [Real],
}

/// Up to [`LANES`] numbers from place `from` on, zeros behind the last.
#[inline(always)]
fn strip(numbers: &[Real], from: usize) -> [Real; LANES] {
    let mut out = [0.0; LANES];
    out.iter_mut().zip(&numbers[from..]).for_each(|(o, v)| *o = *v);
    out
}

/// Adds two sums of every column to `sums`, row by row in double precision. Columns are summed in strips that stay in
/// registers: `known(from)` is what is known of the strip from column `from` on, `terms` what its j-th column adds for a row.
#[inline(always)]
fn add_pairs<K>(
    (x, y): (Rows<'_>, Rows<'_>),
    sums: &mut [[f64; 2]],
    known: impl Fn(usize) -> K,
    terms: impl Fn(&K, usize, [Real; 2]) -> [f64; 2],
) {
    for (c, sums) in sums.chunks_mut(LANES).enumerate() {
        let (from, width) = (c * LANES, sums.len());
        let known = known(from);
        let mut pairs = [[0.0; LANES]; 2];
        sums.iter().enumerate().for_each(|(j, s)| [pairs[0][j], pairs[1][j]] = *s);
        for i in 0..x.rows {
            let (x, y) = (&x.row(i)[from..from + width], &y.row(i)[from..from + width]);
            let mut add = |j: usize| {
                let [a, b] = terms(&known, j, [x[j], y[j]]);
                pairs[0][j] += a;
                pairs[1][j] += b;
            };
            if width == LANES { (0..LANES).for_each(&mut add) } else { (0..width).for_each(&mut add) }
        }
        sums.iter_mut().enumerate().for_each(|(j, s)| *s = [pairs[0][j], pairs[1][j]]);
    }
}

simd_fn! {
    /// Adds the sum and the sum of squares of every column.
    pub fn add_column_moments(x: Rows<'_>, sums: &mut [[f64; 2]]) {
        add_pairs((x, x), sums, |_| (), |(), _, [x, _]| {
            let x = f64::from(x);
            [x, x * x]
        });
    }
}

simd_fn! {
    /// `y = (x - mean) rstd scale + offset` with statistics given per column.
    pub fn batch_norm(x: Rows<'_>, stats: ColumnStats<'_>, affine: Affine<'_>, y: &mut RowsMut<'_>) {
        for i in 0..x.rows {
            let (row, out) = (x.row(i), y.row(i));
            for j in 0..row.len() {
                out[j] = madd::<FMA>((row[j] - stats.mean[j]) * stats.rstd[j], affine.scale[j], affine.offset[j]);
            }
        }
    }
}

simd_fn! {
    /// Adds `(sum dy, sum dy xhat)` per column: what the gradient through the batch statistics needs.
    pub fn add_batch_norm_sums(x: Rows<'_>, stats: ColumnStats<'_>, dy: Rows<'_>, sums: &mut [[f64; 2]]) {
        let known = |from| [strip(stats.mean, from), strip(stats.rstd, from)];
        add_pairs((x, dy), sums, known, |[mean, rstd], j, [x, d]| {
            [f64::from(d), f64::from(d * ((x - mean[j]) * rstd[j]))]
        });
    }
}

simd_fn! {
    /// Gradient of [`batch_norm`] through its statistics; `means` holds `(mean dy, mean dy xhat)` over the batch
    /// (zeros where the statistics are constants). Adds to `grad`, and turns `dy` into `dx`.
    pub fn batch_norm_back(x: Rows<'_>, stats: ColumnStats<'_>, scale: &[Real], means: &[[Real; 2]], d: &mut RowsMut<'_>, grad: Option<AffineGrad<'_>>) {
        let mut grad = grad;
        for i in 0..x.rows {
            let (row, d) = (x.row(i), d.row(i));
            for j in 0..row.len() {
                let xhat = (row[j] - stats.mean[j]) * stats.rstd[j];
                if let Some(grad) = &mut grad {
                    grad.scale[j] = madd::<FMA>(d[j], xhat, grad.scale[j]);
                    grad.offset[j] += d[j];
                }
                d[j] = scale[j] * stats.rstd[j] * (d[j] - means[j][0] - xhat * means[j][1]);
            }
        }
    }
}

/// Rows shorter than this are treated as zero by [`l2_normalise`] (TensorFlow's `l2_normalize`).
const L2_FLOOR: Real = 1e-12;

simd_fn! {
    /// `x /= max(|x|, 1e-6)` row by row; keeps the reciprocal length.
    pub fn l2_normalise(x: &mut RowsMut<'_>, stats: &mut [[Real; 2]]) {
        for i in 0..x.rows {
            let row = x.row(i);
            let square = dot::<FMA, _, _>(row, row);
            let r = 1.0 / square.max(L2_FLOOR).sqrt();
            stats[i] = [r, if square > L2_FLOOR { 1.0 } else { 0.0 }];
            row.iter_mut().for_each(|v| *v *= r);
        }
    }
}

simd_fn! {
    /// Gradient of [`l2_normalise`] from its output `y`: `dx = r (dy - y (y . dy))`.
    pub fn l2_normalise_back(y: Rows<'_>, stats: &[[Real; 2]], d: &mut RowsMut<'_>) {
        for i in 0..y.rows {
            let (row, d) = (y.row(i), d.row(i));
            let [r, grows] = stats[i];
            let along = dot::<FMA, _, _>(row, d) * grows;
            for j in 0..row.len() {
                d[j] = r * (d[j] - row[j] * along);
            }
        }
    }
}

/// A dropout mask: entry (row, column) is kept if its hash is at least `threshold`, and then divided by `keep`.
#[derive(Debug, Clone, Copy)]
pub struct Mask {
    /// Stream of this step and place.
    pub key: u64,
    /// Probability of dropping.
    pub rate: f64,
}

/// Two rounds of a multiplicative 32-bit hash: enough for masks, and it vectorises.
#[inline(always)]
fn hash(key: u32, column: u32) -> u32 {
    let mut h = key ^ column.wrapping_mul(0x9e37_79b9);
    h = (h ^ (h >> 16)).wrapping_mul(0x21f0_aaad);
    h = (h ^ (h >> 15)).wrapping_mul(0x735a_2d97);
    h ^ (h >> 15)
}

impl Mask {
    #[inline(always)]
    fn row_key(self, row: u32) -> u32 {
        let folded = (self.key ^ (self.key >> 32)) as u32;
        hash(folded ^ (self.key >> 40) as u32, row)
    }

    #[inline(always)]
    fn threshold(self) -> u32 {
        (self.rate * f64::from(u32::MAX)) as u32
    }

    #[inline(always)]
    fn factor(self, row_key: u32, column: u32) -> Real {
        let kept = hash(row_key, column) >= self.threshold();
        if kept { (1.0 / (1.0 - self.rate)) as Real } else { 0.0 }
    }

    /// Factor of one entry: 0 or `1 / (1 - rate)`.
    pub fn at(self, row: u32, column: u32) -> Real {
        self.factor(self.row_key(row), column)
    }
}

simd_fn! {
    /// Multiplies by the mask, `ids` naming the rows; the same call is its own gradient.
    pub fn drop(mask: Mask, ids: &[u32], x: &mut RowsMut<'_>) {
        for i in 0..x.rows {
            let key = mask.row_key(ids[i]);
            for (j, v) in x.row(i).iter_mut().enumerate() {
                *v *= mask.factor(key, j as u32);
            }
        }
    }
}

simd_fn! {
    /// With `d` holding alpha: returns `<alpha, y> + (weight / 2) |y - c|^2` and sets
    /// `d = scale (alpha + weight (y - c))`.
    pub fn lazy_row(scale: Real, weight: Real, y: &[Real], c: &[Real], d: &mut [Real]) -> f64 {
        let mut value = dot::<FMA, _, _>(d, y) as f64;
        if weight > 0.0 {
            value += 0.5 * weight as f64 * reduce(y, c, |s, y, c| madd::<FMA>(y - c, y - c, s)) as f64;
        }
        for j in 0..d.len() {
            d[j] = scale * madd::<FMA>(weight, y[j] - c[j], d[j]);
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropout_keeps_the_mean_and_depends_on_row_and_key() {
        let ids: Vec<u32> = (0..500).collect();
        let mut x = vec![1.0; 500 * 100];
        drop(Mask { key: 9, rate: 0.3 }, &ids, &mut RowsMut::dense(&mut x, 500, 100));
        let mean = x.iter().map(|v| f64::from(*v)).sum::<f64>() / x.len() as f64;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        let kept = |i: usize| x[i * 100..(i + 1) * 100].iter().filter(|v| **v > 0.0).count();
        assert!((0..500).all(|i| (40..100).contains(&kept(i))), "a row lost nearly everything");
        assert_eq!(x[5 * 100 + 7], Mask { key: 9, rate: 0.3 }.at(5, 7));
        let agree = (0..1000)
            .filter(|&j| Mask { key: 10, rate: 0.5 }.at(1, j) == Mask { key: 11, rate: 0.5 }.at(1, j))
            .count();
        assert!((400..600).contains(&agree), "two keys share their mask: {agree}");
    }

    #[test]
    fn column_sums_in_strips_are_those_of_plain_loops() {
        const ROWS: usize = 7;
        for cols in [1, 15, 16, 17, 40] {
            let numbers = |salt: usize| -> Vec<Real> {
                (0..ROWS * cols).map(|i| ((i * 37 + salt) % 101) as Real / 13.0 - 3.0).collect()
            };
            let (x, d) = (numbers(1), numbers(2));
            let (mean, rstd) = (&numbers(3)[..cols], &numbers(4)[..cols]);
            let (mut moments, mut back) = (vec![[0.5, 0.25]; cols], vec![[0.5, 0.25]; cols]);
            let (mut plain_moments, mut plain_back) = (moments.clone(), back.clone());
            for (at, (x, d)) in x.iter().zip(&d).enumerate() {
                let j = at % cols;
                let [wide, hat] = [f64::from(*x), f64::from(d * ((x - mean[j]) * rstd[j]))];
                plain_moments[j] = [plain_moments[j][0] + wide, plain_moments[j][1] + wide * wide];
                plain_back[j] = [plain_back[j][0] + f64::from(*d), plain_back[j][1] + hat];
            }
            let (x, d) = (Rows::dense(&x, ROWS, cols), Rows::dense(&d, ROWS, cols));
            add_column_moments(x, &mut moments);
            add_batch_norm_sums(x, ColumnStats { mean, rstd }, d, &mut back);
            assert_eq!((moments, back), (plain_moments, plain_back), "{cols} columns");
        }
    }
}

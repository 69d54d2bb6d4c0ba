//! Attention over the neighbours of a row: `z_i = sum_j p_ij h_j`, `p_i = softmax_j(leaky(s_i + t_j))` for every head.
//!
//! A row of the table is `[h | s | t]`: as many columns of `s` and `t` as there are heads. Nothing is kept per edge:
//! the backward sweeps make `p_ij` again from the row's largest score and the sum of exponentials. Long rows are
//! added up in pieces, so that a row of a million neighbours loses no more than a short one.

use super::vecmath::{exp, madd};
use super::{Rows, simd_fn};
use crate::Real;
use crate::kernels::rowwise::Mask;

/// Neighbours taken together.
const PIECE: usize = 128;

/// What all rows share.
#[derive(Clone, Copy)]
pub struct Heads<'a> {
    /// Rows `[h | s | t]` of everybody who is heard.
    pub table: Rows<'a>,
    /// Number of heads.
    pub heads: usize,
    /// Slope of the scores below zero.
    pub slope: Real,
    /// Dropout of the weights.
    pub mask: Option<Mask>,
}

impl<'a> Heads<'a> {
    /// Columns of all heads together.
    #[inline(always)]
    pub fn width(&self) -> usize {
        self.table.cols - 2 * self.heads
    }

    #[inline(always)]
    fn own(&self, j: usize) -> &'a [Real] {
        let w = self.width();
        &self.table.row(j)[w..w + self.heads]
    }

    #[inline(always)]
    fn other(&self, j: usize) -> &'a [Real] {
        &self.table.row(j)[self.width() + self.heads..]
    }

    #[inline(always)]
    fn leaky(&self, x: Real) -> Real {
        if x > 0.0 { x } else { self.slope * x }
    }

    #[inline(always)]
    fn factor(&self, row: u32, column: u32, h: usize) -> Real {
        self.mask.map_or(1.0, |m| m.at(row, column.wrapping_mul(self.heads as u32).wrapping_add(h as u32)))
    }
}

/// One row that listens.
#[derive(Clone, Copy)]
pub struct Listener<'a> {
    /// Its node.
    pub id: u32,
    /// Its own place in the table.
    pub own: usize,
    /// Places of those it hears.
    pub heard: &'a [u32],
}

/// Largest score and `1 / sum of exponentials` of a row's head.
pub type Peak = [Real; 2];

simd_fn! {
    /// `z` of one row, and its peaks. `node(j)` names the node at place j, for masks.
    pub fn attend_row(heads: Heads<'_>, row: Listener<'_>, nodes: Option<&[u32]>, z: &mut [Real], peaks: &mut [Peak]) {
        let (count, width) = (heads.heads, heads.width());
        let w = width / count;
        let s = heads.own(row.own);
        for (h, peak) in peaks.iter_mut().enumerate() {
            let top = row.heard.iter().map(|&j| heads.other(j as usize)[h]).fold(Real::NEG_INFINITY, Real::max);
            *peak = [heads.leaky(s[h] + top), 0.0];
        }
        z.fill(0.0);
        let mut sums = vec![0.0_f64; count];
        let mut scores = [0.0 as Real; PIECE];
        let mut part = vec![0.0 as Real; w];
        for piece in row.heard.chunks(PIECE) {
            for h in 0..count {
                for (score, &j) in scores.iter_mut().zip(piece) {
                    *score = heads.leaky(s[h] + heads.other(j as usize)[h]) - peaks[h][0];
                }
                let scores = &mut scores[..piece.len()];
                scores.iter_mut().for_each(|v| *v = exp::<FMA>(*v));
                sums[h] += f64::from(scores.iter().sum::<Real>());
                part.fill(0.0);
                for (&j, &score) in piece.iter().zip(scores.iter()) {
                    let column = nodes.map_or(j, |n| n[j as usize]);
                    let weight = score * heads.factor(row.id, column, h);
                    let from = &heads.table.row(j as usize)[h * w..(h + 1) * w];
                    part.iter_mut().zip(from).for_each(|(z, x)| *z = madd::<FMA>(weight, *x, *z));
                }
                z[h * w..(h + 1) * w].iter_mut().zip(&part).for_each(|(z, p)| *z += p);
            }
        }
        for h in 0..count {
            peaks[h][1] = (1.0 / sums[h]) as Real;
            z[h * w..(h + 1) * w].iter_mut().for_each(|z| *z *= peaks[h][1]);
        }
    }
}

/// What the backward sweeps know of a row that listens.
#[derive(Clone, Copy)]
pub struct Echo<'a> {
    /// Gradient of its `z`.
    pub dz: &'a [Real],
    /// Its peaks.
    pub peaks: &'a [Peak],
    /// `<dz, z>` of every head.
    pub level: &'a [Real],
}

simd_fn! {
    /// `<dz, z>` head by head.
    pub fn levels(dz: &[Real], z: &[Real], out: &mut [Real]) {
        let w = z.len() / out.len();
        for (h, out) in out.iter_mut().enumerate() {
            let pairs = dz[h * w..(h + 1) * w].iter().zip(&z[h * w..(h + 1) * w]);
            *out = pairs.fold(0.0, |sum, (a, b)| madd::<FMA>(*a, *b, sum));
        }
    }
}

/// `p`, its mask's factor and the gradient at the score of one pair and head.
#[inline(always)]
fn pair<const FMA: bool>(
    heads: Heads<'_>,
    h: usize,
    place: (usize, usize),
    ids: (u32, u32),
    echo: Echo<'_>,
) -> [Real; 2] {
    let (i, j) = place;
    let w = heads.width() / heads.heads;
    let raw = heads.own(i)[h] + heads.other(j)[h];
    let p = exp::<FMA>(heads.leaky(raw) - echo.peaks[h][0]) * echo.peaks[h][1];
    let factor = heads.factor(ids.0, ids.1, h);
    let from = &heads.table.row(j)[h * w..(h + 1) * w];
    let gain = echo.dz[h * w..(h + 1) * w].iter().zip(from).fold(0.0, |s, (a, b)| madd::<FMA>(*a, *b, s));
    let slope = if raw > 0.0 { 1.0 } else { heads.slope };
    [p * factor, p * (factor * gain - echo.level[h]) * slope]
}

simd_fn! {
    /// Gradient at the own scores `s` of one row, added to `ds`.
    pub fn own_back(heads: Heads<'_>, row: Listener<'_>, nodes: Option<&[u32]>, echo: Echo<'_>, ds: &mut [Real]) {
        for (h, ds) in ds.iter_mut().enumerate() {
            let mut sum = 0.0_f64;
            for &j in row.heard {
                let column = nodes.map_or(j, |n| n[j as usize]);
                sum += f64::from(pair::<FMA>(heads, h, (row.own, j as usize), (row.id, column), echo)[1]);
            }
            *ds += sum as Real;
        }
    }
}

simd_fn! {
    /// What one listener (its place `own`, its node `id`) sends back to the one it hears at place `j`: added to the
    /// gradient `d = [dh | ds | dt]` of that row of the table.
    pub fn heard_back(heads: Heads<'_>, own: usize, id: u32, j: usize, node: u32, echo: Echo<'_>, d: &mut [Real]) {
        let (count, width) = (heads.heads, heads.width());
        let w = width / count;
        for h in 0..count {
            let [weight, ds] = pair::<FMA>(heads, h, (own, j), (id, node), echo);
            let dz = &echo.dz[h * w..(h + 1) * w];
            d[h * w..(h + 1) * w].iter_mut().zip(dz).for_each(|(d, g)| *d = madd::<FMA>(weight, *g, *d));
            d[width + count + h] += ds;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Softmax and sum in f64, straight from the formula.
    fn plain(table: &[[Real; 3]], own: usize, heard: &[u32], slope: f64) -> f64 {
        let score = |j: u32| {
            let x = f64::from(table[own][1]) + f64::from(table[j as usize][2]);
            if x > 0.0 { x } else { slope * x }
        };
        let top = heard.iter().map(|&j| score(j)).fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = heard.iter().map(|&j| (score(j) - top).exp()).collect();
        let sum: f64 = weights.iter().sum();
        heard.iter().zip(&weights).map(|(&j, w)| w / sum * f64::from(table[j as usize][0])).sum()
    }

    #[test]
    fn rows_of_one_and_of_a_million_are_as_exact_and_huge_scores_do_not_overflow() {
        let many = 1_000_000_usize;
        for scale in [1.0, 1e4] {
            let value = |i: usize, m: usize| ((i * 7919 + m * 104_729) % 1009) as Real / 1009.0 - 0.3;
            let table: Vec<[Real; 3]> =
                (0..many).map(|i| [1.0 + value(i, 1), scale * value(i, 2), scale * value(i, 3)]).collect();
            let flat: Vec<Real> = table.iter().flatten().copied().collect();
            let heads = Heads { table: Rows::dense(&flat, many, 3), heads: 1, slope: 0.2, mask: None };
            let everybody: Vec<u32> = (0..many as u32).collect();
            for heard in [&everybody[5..6], &everybody[..77], &everybody[..]] {
                let (mut z, mut peaks) = ([0.0], [[0.0; 2]]);
                attend_row(heads, Listener { id: 5, own: 5, heard }, None, &mut z, &mut peaks);
                let expect = plain(&table, 5, heard, 0.2);
                let error = (f64::from(z[0]) - expect).abs() / expect.abs();
                assert!(
                    error < 2e-6 * scale.max(1.0).sqrt() as f64,
                    "{} neighbours: {} {expect}",
                    heard.len(),
                    z[0]
                );
            }
        }
    }
}

//! What passes minimise: `<alpha, X>` with an optional proximal term, or the task loss.

use crate::kernels::rowwise::{self, Mask};
use crate::kernels::{Rows, RowsMut, rows_asked};
use crate::loss::TaskLoss;
use crate::program::Objective;
use crate::{Mat, Real, Table};

/// The centre `c` of the proximal term.
#[derive(Clone, Copy)]
pub enum Centre<'a> {
    /// A row per node.
    ByNode(&'a Table),
    /// A row per row of the pass.
    ByPosition(&'a Mat),
}

/// `sum_i <alpha_i, x_i> + (weight/2) |x_i - c_i|^2`, its gradient times `scale` (Lemma 1.1 with
/// a proximal term).
pub struct Lazy<'a> {
    /// `alpha^k`, by node.
    pub alpha: &'a Table,
    /// Factor of the gradient.
    pub scale: Real,
    /// Weight `lambda / N'` and centre.
    pub proximal: Option<(Real, Centre<'a>)>,
    /// Dropout of alpha's entries.
    pub mask: Option<Mask>,
}

impl Objective for Lazy<'_> {
    fn block(&self, first: usize, ids: &[u32], y: Rows<'_>, d: &mut RowsMut<'_>) -> f64 {
        let mut value = 0.0;
        let mut kept = Vec::new();
        let mut ahead = ids.iter();
        for (i, &id) in ids.iter().enumerate() {
            for &next in ahead.by_ref().take(rows_asked(i, y.cols * self.alpha.storage().bytes())) {
                self.alpha.prefetch(next as usize);
                if let Some((_, Centre::ByNode(c))) = self.proximal {
                    c.prefetch(next as usize);
                }
            }
            let row = d.row(i);
            self.alpha.copy_row(id as usize, row);
            if let Some(mask) = self.mask {
                rowwise::drop(mask, &[id], &mut RowsMut::dense(row, 1, y.cols));
            }
            let (weight, centre) = match self.proximal {
                None => (0.0, y.row(i)),
                Some((w, Centre::ByNode(c))) => (w, c.row_in(id as usize, &mut kept)),
                Some((w, Centre::ByPosition(c))) => (w, c.row(first + i)),
            };
            value += rowwise::lazy_row(self.scale, weight, y.row(i), centre, row);
        }
        value
    }
}

/// `<alpha, X>` where row i of `alpha` belongs to the i-th of the sorted `ids`.
pub struct Sampled<'a> {
    /// Rows of the sample.
    pub alpha: &'a Mat,
    /// Their nodes, sorted.
    pub ids: &'a [u32],
}

impl Objective for Sampled<'_> {
    fn block(&self, _: usize, ids: &[u32], y: Rows<'_>, d: &mut RowsMut<'_>) -> f64 {
        let first = self.ids.binary_search(&ids[0]).expect("rows of the sample");
        let mut value = 0.0;
        for i in 0..ids.len() {
            d.row(i).copy_from_slice(self.alpha.row(first + i));
            value += rowwise::lazy_row(1.0, 0.0, y.row(i), y.row(i), d.row(i));
        }
        value
    }
}

/// The task loss over the rows, its gradient times `scale`.
pub struct Task<'a> {
    /// The loss.
    pub loss: &'a TaskLoss<'a>,
    /// Factor of the gradient.
    pub scale: Real,
    /// The nodes that count, where a pass covers others too (batch norms take their statistics from all rows).
    pub only: Option<&'a [bool]>,
}

impl Objective for Task<'_> {
    fn block(&self, _: usize, ids: &[u32], y: Rows<'_>, d: &mut RowsMut<'_>) -> f64 {
        const AHEAD: usize = 16;
        let mut value = 0.0;
        for (i, &id) in ids.iter().enumerate() {
            if let Some(&next) = ids.get(i + AHEAD) {
                self.loss.prefetch(next as usize);
            }
            let grad = d.row(i);
            if self.only.is_some_and(|only| !only[id as usize]) {
                grad.fill(0.0);
                continue;
            }
            value += self.loss.row(id as usize, y.row(i), grad);
            if self.scale != 1.0 {
                grad.iter_mut().for_each(|g| *g *= self.scale);
            }
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropping_entries_of_alpha_keeps_its_mean() {
        let alpha = Table::Full(Mat::from_rows(&[[1.0, -2.0, 0.5, 4.0]]));
        let y = [0.0; 4];
        let mut sum = [0.0_f64; 4];
        for key in 0..4000_u64 {
            let mask = Some(Mask { key: key.wrapping_mul(0x9e37_79b9_7f4a_7c15), rate: 0.7 });
            let lazy = Lazy { alpha: &alpha, scale: 1.0, proximal: None, mask };
            let mut d = [0.0; 4];
            lazy.block(0, &[0], Rows::dense(&y, 1, 4), &mut RowsMut::dense(&mut d, 1, 4));
            sum.iter_mut().zip(d).for_each(|(s, d)| *s += f64::from(d) / 4000.0);
        }
        for (mean, expect) in sum.iter().zip(alpha.row(0).iter()) {
            assert!((mean - f64::from(*expect)).abs() < 0.1 * f64::from(expect.abs()), "{sum:?}");
        }
    }
}

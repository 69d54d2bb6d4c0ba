//! The path without vector instructions of its own: arrays that the compiler turns into whatever vectors there are.
//! Products and sums are fused where every processor of the target does that.

use super::panels::{LINE, Line, Panel, Panels};
use super::{Into, KC};
use crate::Real;
use crate::kernels::vecmath::madd;
use crate::kernels::{Rows, RowsMut};

const FMA: bool = cfg!(target_arch = "aarch64");

/// Rows of a tile, which is one line wide.
const MR: usize = 4;

/// `c (+)= a b`, or `c (+)= a^T b` if `T`; the shapes are known to fit.
pub(super) fn product<const T: bool>(a: Rows<'_>, b: &Panels, c: &mut RowsMut<'_>, into: Into) {
    for first in (0..b.steps()).step_by(KC) {
        let steps = (b.steps() - first).min(KC);
        let add = into == Into::Add || first > 0;
        for panel in b.panels() {
            let right = &b.lines()[panel.line + first..][..steps];
            for row in (0..c.rows).step_by(MR) {
                let rows = (c.rows - row).min(MR);
                let sums = tile::<T>(a, right, first, row, rows);
                write(&sums[..rows], c, &panel, row, add);
            }
        }
    }
}

/// The sums of a tile over one chunk. Rows that do not exist repeat the last.
fn tile<const T: bool>(
    a: Rows<'_>,
    right: &[Line],
    first: usize,
    row: usize,
    rows: usize,
) -> [[Real; LINE]; MR] {
    let mut sums = [[0.0; LINE]; MR];
    let which: [usize; MR] = std::array::from_fn(|r| row + r.min(rows - 1));
    if T {
        for (step, line) in right.iter().enumerate() {
            let left = a.row(first + step);
            term(&mut sums, which.map(|r| left[r]), line);
        }
    } else {
        let left = which.map(|r| &a.row(r)[first..][..right.len()]);
        for (step, line) in right.iter().enumerate() {
            term(&mut sums, left.map(|row| row[step]), line);
        }
    }
    sums
}

/// One more term for every sum.
#[inline(always)]
fn term(sums: &mut [[Real; LINE]; MR], left: [Real; MR], right: &Line) {
    for (sum, x) in sums.iter_mut().zip(left) {
        for (s, y) in sum.iter_mut().zip(right.0) {
            *s = madd::<FMA>(x, y, *s);
        }
    }
}

/// Stores the sums or adds them to the result.
fn write(sums: &[[Real; LINE]], c: &mut RowsMut<'_>, panel: &Panel, row: usize, add: bool) {
    for (r, sum) in sums.iter().enumerate() {
        let to = &mut c.data[(row + r) * c.stride + panel.col..][..panel.cols];
        for (to, &sum) in to.iter_mut().zip(sum) {
            *to = if add { *to + sum } else { sum };
        }
    }
}

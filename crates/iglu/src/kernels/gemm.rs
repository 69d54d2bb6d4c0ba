//! Dense products `C = A B`, `A^T B`, `A B^T`, single-threaded: callers give each worker its own rows.

use super::tiles::{self, Operand};
use super::{Rows, RowsMut};
use serde::{Deserialize, Serialize};

/// Whether a product replaces or adds to its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Into {
    /// `C = ...`
    Set,
    /// `C += ...`
    Add,
}

/// The numbers that products multiply. They are added up in full always.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// As they are.
    #[default]
    F32,
    /// Rounded to 8 bits: several times as many products per second on processors with AMX, fewer on others.
    Bf16,
}

impl Precision {
    /// `c = a b` (`m x k`, `k x n`).
    pub fn nn(self, a: Rows<'_>, b: Rows<'_>, c: RowsMut<'_>, into: Into) {
        match self {
            Self::F32 => nn(a, b, c, into),
            Self::Bf16 => tiles::product(Operand::Rows(a), Operand::Rows(b), c, into),
        }
    }

    /// `c = a^T b` (`k x m`, `k x n`).
    pub fn tn(self, a: Rows<'_>, b: Rows<'_>, c: RowsMut<'_>, into: Into) {
        match self {
            Self::F32 => tn(a, b, c, into),
            Self::Bf16 => tiles::product(Operand::Columns(a), Operand::Rows(b), c, into),
        }
    }

    /// `c = a b^T` (`m x k`, `n x k`).
    pub fn nt(self, a: Rows<'_>, b: Rows<'_>, c: RowsMut<'_>, into: Into) {
        match self {
            Self::F32 => nt(a, b, c, into),
            Self::Bf16 => tiles::product(Operand::Rows(a), Operand::Columns(b), c, into),
        }
    }
}

/// `c = a b` (`m x k`, `k x n`).
pub fn nn(a: Rows<'_>, b: Rows<'_>, c: RowsMut<'_>, into: Into) {
    assert_eq!((a.cols, a.rows, b.cols), (b.rows, c.rows, c.cols), "shapes of a product");
    call((a, a.stride, 1), (b, b.stride, 1), c, a.cols, into);
}

/// `c = a^T b` (`k x m`, `k x n`).
pub fn tn(a: Rows<'_>, b: Rows<'_>, c: RowsMut<'_>, into: Into) {
    assert_eq!((a.rows, a.cols, b.cols), (b.rows, c.rows, c.cols), "shapes of a transposed product");
    call((a, 1, a.stride), (b, b.stride, 1), c, a.rows, into);
}

/// `c = a b^T` (`m x k`, `n x k`).
pub fn nt(a: Rows<'_>, b: Rows<'_>, c: RowsMut<'_>, into: Into) {
    assert_eq!((a.cols, a.rows, b.rows), (b.cols, c.rows, c.cols), "shapes of a product with a transpose");
    call((a, a.stride, 1), (b, 1, b.stride), c, a.cols, into);
}

/// Operands come with their distances between (rows, columns) of the product's view.
#[expect(clippy::needless_pass_by_value, reason = "the view is consumed: its rows are written")]
fn call(a: (Rows<'_>, usize, usize), b: (Rows<'_>, usize, usize), c: RowsMut<'_>, k: usize, into: Into) {
    let fits = |rows: usize, cols: usize, stride: usize, len: usize| {
        rows == 0 || cols == 0 || (cols <= stride && (rows - 1) * stride + cols <= len)
    };
    assert!(fits(a.0.rows, a.0.cols, a.0.stride, a.0.data.len()), "left operand leaves its array");
    assert!(fits(b.0.rows, b.0.cols, b.0.stride, b.0.data.len()), "right operand leaves its array");
    assert!(fits(c.rows, c.cols, c.stride, c.data.len()), "result leaves its array");
    if c.rows == 0 || c.cols == 0 {
        return;
    }
    // SAFETY: the strides above were checked to stay inside the three slices; `c` is borrowed mutably and so
    // overlaps neither operand.
    #[expect(unsafe_code, reason = "the gemm crate takes pointers and strides")]
    unsafe {
        gemm::gemm(
            c.rows,
            c.cols,
            k,
            c.data.as_mut_ptr(),
            1,
            c.stride as isize,
            into == Into::Add,
            a.0.data.as_ptr(),
            a.2 as isize,
            a.1 as isize,
            b.0.data.as_ptr(),
            b.2 as isize,
            b.1 as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::reference;
    use super::*;
    use crate::{Mat, Real};

    fn filled(rows: usize, cols: usize, salt: usize) -> Mat {
        let value = |i: usize| ((i * 37 + salt * 11) % 23) as Real / 8.0 - 1.0;
        Mat::from_vec(rows, cols, (0..rows * cols).map(value).collect())
    }

    #[test]
    fn all_three_products_match_the_plain_loops() {
        for (m, k, n) in [(1, 1, 1), (3, 5, 2), (17, 33, 50), (64, 602, 40)] {
            let (a, b) = (filled(m, k, 1), filled(k, n, 2));
            let expect = reference::matmul(&a, &b);
            let mut c = filled(m, n, 3);
            let start = c.clone();
            nn(
                Rows::dense(a.data(), m, k),
                Rows::dense(b.data(), k, n),
                RowsMut::dense(c.data_mut(), m, n),
                Into::Add,
            );
            for (i, v) in c.data().iter().enumerate() {
                assert!((v - start.data()[i] - expect.data()[i]).abs() < 1e-3, "{m} x {k} x {n}");
            }
            let (at, bt) = (reference::transpose(&a), reference::transpose(&b));
            tn(
                Rows::dense(at.data(), k, m),
                Rows::dense(b.data(), k, n),
                RowsMut::dense(c.data_mut(), m, n),
                Into::Set,
            );
            reference::assert_close(&c, &expect, 1e-3);
            nt(
                Rows::dense(a.data(), m, k),
                Rows::dense(bt.data(), n, k),
                RowsMut::dense(c.data_mut(), m, n),
                Into::Set,
            );
            reference::assert_close(&c, &expect, 1e-3);
        }
    }
}

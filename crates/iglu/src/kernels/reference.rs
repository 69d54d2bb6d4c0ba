//! Plain twins of the fast kernels: the shortest loops that are obviously right. Tests only.

use crate::{Mat, Real};

/// `a b`.
pub fn matmul(a: &Mat, b: &Mat) -> Mat {
    let mut c = Mat::zeros(a.rows(), b.cols());
    for i in 0..a.rows() {
        for k in 0..a.cols() {
            for j in 0..b.cols() {
                c.row_mut(i)[j] += a.row(i)[k] * b.row(k)[j];
            }
        }
    }
    c
}

/// `a^T`.
pub fn transpose(a: &Mat) -> Mat {
    let mut t = Mat::zeros(a.cols(), a.rows());
    for i in 0..a.rows() {
        for j in 0..a.cols() {
            t.row_mut(j)[i] = a.row(i)[j];
        }
    }
    t
}

/// Fails where two matrices differ by more than `tolerance`.
pub fn assert_close(a: &Mat, b: &Mat, tolerance: Real) {
    assert_eq!((a.rows(), a.cols()), (b.rows(), b.cols()));
    for (i, (x, y)) in a.data().iter().zip(b.data()).enumerate() {
        assert!((x - y).abs() <= tolerance * (1.0 + y.abs()), "entry {i}: {x} is not {y}");
    }
}

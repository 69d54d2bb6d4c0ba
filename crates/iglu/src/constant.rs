//! Rows that never change while a network trains: its features, and what the first layer takes from neighbours.
//!
//! They are kept in full, or, dense ones, in half as many bytes; what is computed from them is computed in full.

use crate::kernels::stored::{self, Bf16};
use crate::operator::Operator;
use crate::program::Input;
use crate::table::Storage;
use crate::{Features, Mat};
use rayon::prelude::*;

/// A row per node.
#[derive(Debug, Clone, PartialEq)]
pub enum Constant {
    /// As they were given or computed.
    Full(Features),
    /// Rounded.
    Half(Mat<Bf16>),
}

impl From<Features> for Constant {
    fn from(features: Features) -> Self {
        Self::Full(features)
    }
}

impl<'a> From<&'a Constant> for Input<'a> {
    fn from(constant: &'a Constant) -> Self {
        match constant {
            Constant::Full(features) => features.into(),
            Constant::Half(m) => Self::Half(m),
        }
    }
}

impl Constant {
    /// Features as they are to be kept. Sparse ones are not rounded: most of their bytes are places.
    pub fn new(features: Features, storage: Storage) -> Self {
        match (features, storage) {
            (Features::Dense(m), Storage::Bf16) => Self::Half(rounded(&m)),
            (features, _) => Self::Full(features),
        }
    }

    /// `A x`, kept as `x` is.
    pub(crate) fn aggregate(&self, a: &Operator) -> Self {
        match self {
            Self::Full(x) => Self::Full(a.apply_features(x)),
            Self::Half(x) => {
                let mut out = Mat::blank(a.nodes(), x.cols());
                a.apply_to(x, &mut out);
                Self::Half(out)
            }
        }
    }

    /// The rows named, in that order.
    #[must_use]
    pub(crate) fn select(&self, rows: &[u32]) -> Self {
        match self {
            Self::Full(x) => Self::Full(x.select(rows)),
            Self::Half(x) => Self::Half(x.select(rows)),
        }
    }

    /// Every value, in full numbers.
    pub(crate) fn to_dense(&self) -> Mat {
        match self {
            Self::Full(Features::Dense(m)) => m.clone(),
            Self::Full(Features::Sparse(m)) => m.to_dense(),
            Self::Half(m) => {
                let mut out = Mat::zeros(m.rows(), m.cols());
                stored::copy(m.data(), out.data_mut());
                out
            }
        }
    }

    /// Whether only values that are not zero are stored.
    pub(crate) fn is_sparse(&self) -> bool {
        matches!(self, Self::Full(Features::Sparse(_)))
    }
}

fn rounded(m: &Mat) -> Mat<Bf16> {
    const PIECE: usize = 1 << 16;
    let mut out = Mat::blank(m.rows(), m.cols());
    let pieces = out.data_mut().par_chunks_mut(PIECE).zip(m.data().par_chunks(PIECE));
    pieces.for_each(|(to, from)| stored::copy(from, to));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::Norm;
    use crate::{EdgeOptions, Graph, Real, SparseMat};

    #[test]
    fn rounded_rows_are_those_in_full_within_a_five_hundredth() {
        let graph = Graph::from_edges(3, &[[0, 1], [1, 2]], EdgeOptions::default()).unwrap();
        let a = Operator::new(graph.into(), Norm::Mean);
        let x = Mat::from_vec(3, 2, vec![1.01, -2.3, 0.07, 5.5, -0.9, 1e-3]);
        let full = Constant::new(Features::Dense(x.clone()), Storage::F32);
        let half = Constant::new(Features::Dense(x.clone()), Storage::Bf16);
        assert_eq!(full, Features::Dense(x).into());
        let near = |a: &Constant, b: &Constant| {
            let (a, b) = (a.to_dense(), b.to_dense());
            a.data().iter().zip(b.data()).all(|(a, b)| (a - b).abs() <= b.abs() / 250.0 + 1e-2)
        };
        assert!(matches!(half, Constant::Half(_)) && near(&half, &full));
        assert!(matches!(half.aggregate(&a), Constant::Half(_)));
        assert!(near(&half.aggregate(&a), &full.aggregate(&a)));
        assert_eq!(half.select(&[2, 0]).to_dense(), half.to_dense().select(&[2, 0]));
    }

    #[test]
    fn sparse_rows_are_never_rounded() {
        let x = SparseMat::from_parts(2, vec![0, 1], vec![1], vec![1.0 as Real / 3.0]);
        let kept = Constant::new(Features::Sparse(x.clone()), Storage::Bf16);
        assert!(kept.is_sparse() && kept == Features::Sparse(x).into());
    }
}

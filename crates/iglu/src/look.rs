//! What a layer takes from neighbours. The layer's program says what becomes of it; [`crate::side`] computes it.

use crate::operator::Norm;

/// What a layer takes from neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Nothing.
    Nothing,
    /// `A X, A^2 X, .., A^hops X`.
    Powers {
        /// How `A` is normalised.
        norm: Norm,
        /// How many.
        hops: usize,
    },
    /// `A_r X` for every relation r.
    Relations {
        /// How each `A_r` is normalised.
        norm: Norm,
        /// How many.
        count: usize,
    },
    /// Mean, largest, smallest and standard deviation of the neighbours, entry by entry.
    Moments,
    /// Everything neighbours say, weighted by what the layer learns: made in the program, never cached.
    Attention,
}

impl Look {
    /// Number of cached aggregates.
    pub fn parts(self) -> usize {
        match self {
            Self::Nothing | Self::Attention => 0,
            Self::Powers { hops: parts, .. } | Self::Relations { count: parts, .. } => parts,
            Self::Moments => 4,
        }
    }

    /// Whether the aggregates are linear in `X`, so that maps of columns may be exchanged with them.
    pub fn is_linear(self) -> bool {
        matches!(self, Self::Powers { .. } | Self::Relations { .. })
    }

    /// Whether every aggregate is the product of one operator with `X`.
    pub fn is_product(self) -> bool {
        matches!(self, Self::Powers { hops: 1, .. } | Self::Relations { .. })
    }

    /// The normalisation of its operators.
    pub fn norm(self) -> Option<Norm> {
        match self {
            Self::Powers { norm, .. } | Self::Relations { norm, .. } => Some(norm),
            _ => None,
        }
    }
}

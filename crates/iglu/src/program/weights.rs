//! Weights arranged for products: once in a call, however many blocks a worker runs in it.

use crate::kernels::gemm::{Packed, Precision};

/// Which weights, and how they are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Term {
    /// Number of the parameter.
    pub(super) param: usize,
    /// First of its rows.
    pub(super) first: usize,
    /// So many rows from there on.
    pub(super) rows: usize,
    /// Pieces of as many rows that are added up.
    pub(super) pieces: usize,
    /// Forward as they are, backward transposed.
    pub(super) way: Way,
    /// The numbers that are multiplied.
    pub(super) precision: Precision,
}

/// A direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// `x W`.
    Forward,
    /// `d W^T`.
    Back,
}

/// What one worker has arranged; the memory is used again from call to call.
#[derive(Default)]
pub(super) struct Arranged {
    kept: Vec<(Term, u64, Packed)>,
}

impl Arranged {
    /// The weights of a term as `call` has them: `pack` is asked once in a call.
    pub(super) fn get(&mut self, term: Term, call: u64, pack: impl FnOnce(&mut Packed)) -> &Packed {
        let known = self.kept.iter().position(|(t, ..)| *t == term);
        let at = known.unwrap_or_else(|| {
            self.kept.push((term, call, Packed::default()));
            self.kept.len() - 1
        });
        let (_, then, packed) = &mut self.kept[at];
        if known.is_none() || *then != call {
            pack(packed);
            *then = call;
        }
        packed
    }
}

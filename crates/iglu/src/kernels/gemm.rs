//! Dense products `C = A B`, `A^T B`, `A B^T`, single-threaded: callers give each worker its own rows.
//!
//! Every element is computed alike, wherever it lies: the terms are cut into chunks of [`KC`]; within a chunk one sum takes
//! them in order, each multiplied and added in one rounding; the chunk's sum is stored or added. So results depend neither on
//! the sizes of tiles, blocks and caches nor on which of AVX-512 and AVX2 there is; elsewhere products are rounded before they
//! are added.
//!
//! Products of rounded numbers ([`Precision::Bf16`]) are the same with words of two terms in place of numbers (`words`): one
//! instruction multiplies and adds them where there is AVX-512 with BF16, two fused ones with the same result elsewhere.
//! Processors with AMX, and those without fused multiply-adds, multiply [`super::tiles`] instead, which are added up in another order.
//!
//! The right operand is arranged in panels (`panels`), once for as many products as read it; the left one is read where it
//! lies. `tile` is the innermost loop, `drive` the loops around it, `vector` what they need of an instruction set, `portable`
//! the path without one.

#[cfg(target_arch = "x86_64")]
mod drive;
mod packed;
mod panels;
mod portable;
mod product;
#[cfg(target_arch = "x86_64")]
mod tile;
#[cfg(target_arch = "x86_64")]
mod vector;
pub(super) mod words;

pub use packed::{Packed, Unit, unit};

use super::{Rows, RowsMut};
use serde::{Deserialize, Serialize};

/// Terms that one sum takes before it goes to the result: part of what is computed, the same everywhere.
const KC: usize = 512;

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
    /// Rounded to 8 bits: more products per second on processors made for it ([`unit`]), fewer on others.
    Bf16,
}

impl Precision {
    /// `c = a b` (`m x k`, `k x n`).
    pub fn nn(self, a: Rows<'_>, b: Rows<'_>, c: RowsMut<'_>, into: Into) {
        let mut packed = Packed::default();
        packed.rows(b, self);
        packed.product(a, c, into);
    }

    /// `c = a^T b` (`k x m`, `k x n`).
    pub fn tn(self, a: Rows<'_>, b: Rows<'_>, c: RowsMut<'_>, into: Into) {
        Packed::default().transposed((a, b), c, into, self);
    }

    /// `c = a b^T` (`m x k`, `n x k`).
    pub fn nt(self, a: Rows<'_>, b: Rows<'_>, c: RowsMut<'_>, into: Into) {
        let mut packed = Packed::default();
        packed.columns(b, self);
        packed.product(a, c, into);
    }
}

#[cfg(test)]
mod tests;

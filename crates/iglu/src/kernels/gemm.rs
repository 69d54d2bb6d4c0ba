//! Dense products `C = A B`, `A^T B`, `A B^T`, single-threaded: callers give each worker its own rows.
//!
//! Every element is computed alike, wherever it lies: the terms are cut into chunks of [`KC`]; within a chunk one sum takes
//! them in order, each multiplied and added in one rounding; the chunk's sum is stored or added. So results depend neither on
//! the sizes of tiles, blocks and caches nor on which of AVX-512 and AVX2 there is; elsewhere products are rounded before they
//! are added.
//!
//! The right operand is arranged in panels (`panels`), once for as many products as read it; the left one is read where it
//! lies. `tile` is the innermost loop, `drive` the loops around it, `vector` what they need of an instruction set, `portable`
//! the path without one.

#[cfg(target_arch = "x86_64")]
mod drive;
mod panels;
mod portable;
#[cfg(target_arch = "x86_64")]
mod tile;
#[cfg(target_arch = "x86_64")]
mod vector;

pub use panels::Packed;

use super::tiles::{self, Operand};
use super::{Isa, Rows, RowsMut};
#[cfg(target_arch = "x86_64")]
use drive::Source;
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
    let mut packed = Packed::default();
    packed.rows(b);
    nn_packed(a, &packed, c, into);
}

/// `c = a^T b` (`k x m`, `k x n`).
pub fn tn(a: Rows<'_>, b: Rows<'_>, c: RowsMut<'_>, into: Into) {
    tn_within(a, b, c, into, &mut Packed::default());
}

/// `c = a b^T` (`m x k`, `n x k`).
pub fn nt(a: Rows<'_>, b: Rows<'_>, c: RowsMut<'_>, into: Into) {
    let mut packed = Packed::default();
    packed.columns(b);
    nn_packed(a, &packed, c, into);
}

/// `c = a b` with a right operand that was arranged before.
pub fn nn_packed(a: Rows<'_>, b: &Packed, mut c: RowsMut<'_>, into: Into) {
    check(a);
    check_result(&c);
    assert_eq!((a.cols, a.rows, b.cols()), (b.steps(), c.rows, c.cols), "shapes of a product");
    if nothing(b.steps(), &mut c, into) {
        return;
    }
    match b.isa() {
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "run-time detected instruction set")]
        // SAFETY: the shapes were checked, and what is packed is packed for an instruction set of this machine.
        Isa::Avx512 => unsafe {
            drive::product::<vector::Avx512, false, false>(a, Source::ready(b), &mut c, into);
        },
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "run-time detected instruction set")]
        // SAFETY: as above.
        Isa::Avx2 => unsafe {
            drive::product::<vector::Avx2, false, false>(a, Source::ready(b), &mut c, into);
        },
        _ => portable::product::<false>(a, b, &mut c, into),
    }
}

/// `c = a^T b` (`k x m`, `k x n`) with `b` arranged in `spare` on the way.
pub fn tn_within(a: Rows<'_>, b: Rows<'_>, mut c: RowsMut<'_>, into: Into, spare: &mut Packed) {
    check(a);
    check(b);
    check_result(&c);
    assert_eq!((a.rows, a.cols, b.cols), (b.rows, c.rows, c.cols), "shapes of a transposed product");
    if nothing(b.rows, &mut c, into) {
        return;
    }
    spare.arrange(b.rows, b.cols);
    match spare.isa() {
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "run-time detected instruction set")]
        // SAFETY: the shapes were checked, and `spare` is arranged for them and an instruction set of this machine.
        Isa::Avx512 => unsafe {
            drive::product::<vector::Avx512, true, true>(a, Source::fresh(spare, b), &mut c, into);
        },
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "run-time detected instruction set")]
        // SAFETY: as above.
        Isa::Avx2 => unsafe {
            drive::product::<vector::Avx2, true, true>(a, Source::fresh(spare, b), &mut c, into);
        },
        _ => {
            spare.rows(b);
            portable::product::<true>(a, spare, &mut c, into);
        }
    }
}

/// Rows that leave their array are refused before pointers are made of them.
fn check(a: Rows<'_>) {
    assert!(fits((a.rows, a.cols, a.stride), a.data.len()), "an operand leaves its array");
}

fn check_result(c: &RowsMut<'_>) {
    assert!(fits((c.rows, c.cols, c.stride), c.data.len()), "the result leaves its array");
}

fn fits((rows, cols, stride): (usize, usize, usize), len: usize) -> bool {
    let end = || (rows - 1).checked_mul(stride)?.checked_add(cols);
    rows == 0 || cols == 0 || (cols <= stride && end().is_some_and(|end| end <= len))
}

/// Whether a product is done already, because nothing is to be added up.
fn nothing(steps: usize, c: &mut RowsMut<'_>, into: Into) -> bool {
    if steps == 0 && into == Into::Set {
        (0..c.rows).for_each(|i| c.row(i).fill(0.0));
    }
    steps == 0 || c.rows == 0 || c.cols == 0
}

#[cfg(test)]
mod tests;

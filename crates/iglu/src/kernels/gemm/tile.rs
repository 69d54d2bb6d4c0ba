//! One tile of a result, held in registers: the innermost loops.
#![expect(unsafe_code, reason = "vectors are read and written through pointers")]

use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};

use super::panels::LINE;
use super::vector::{Sums, Vector};
use crate::Real;

/// Steps of the inner loop between the kernel's own prefetches: those that the numbers of one cache line last for.
const BLOCK: usize = LINE;

/// Columns of the left operand of `a^T b` that meet all panels before the next ones do: a multiple of the rows of all
/// full tiles, and some whole lines.
pub(super) const GROUP: usize = 48;

/// Where a tile finds the numbers of the left operand.
///
/// # Safety
/// `at` needs a row and a step within the operand.
pub(super) trait Left: Copy {
    unsafe fn at(self, row: usize, step: usize) -> *const Real;
    /// The same operand from a later step on.
    fn skip(self, steps: usize) -> Self;
    /// The same operand from a later row on.
    fn down(self, rows: usize) -> Self;
    /// Asks for what a later tile needs in place of this block of `rows` rows.
    fn fetch(self, rows: usize);
}

/// Rows of the caller's matrix, the steps side by side.
#[derive(Clone, Copy)]
pub(super) struct InPlace {
    pub from: *const Real,
    pub stride: usize,
    /// Ask for the rows of the next tile.
    pub fetch: bool,
}

/// Columns of the caller's matrix: the rows of the tile side by side.
#[derive(Clone, Copy)]
pub(super) struct Across {
    pub from: *const Real,
    pub stride: usize,
    /// What a later group of columns needs.
    pub next: Later,
}

/// Columns of the left operand to ask for, a share of the steps by each tile of the present group of `GROUP` columns.
#[derive(Clone, Copy)]
pub(super) struct Later {
    pub from: *const Real,
    pub stride: usize,
    /// The first row of the tile within the group.
    pub row: usize,
}

impl Later {
    #[inline(always)]
    fn skip(self, steps: usize) -> Self {
        Self { from: self.from.wrapping_add(steps * self.stride), ..self }
    }
    #[inline(always)]
    fn down(self, rows: usize) -> Self {
        Self { row: self.row + rows, ..self }
    }
    #[inline(always)]
    fn fetch(self, rows: usize) {
        let first = self.from.wrapping_add(self.row * BLOCK / GROUP * self.stride);
        for step in 0..(rows * BLOCK).div_ceil(GROUP) {
            let at = first.wrapping_add(step * self.stride);
            for line in 0..GROUP / LINE {
                prefetch::<_MM_HINT_T1>(at.wrapping_add(line * LINE));
            }
        }
    }
}

impl Left for InPlace {
    #[inline(always)]
    unsafe fn at(self, row: usize, step: usize) -> *const Real {
        // SAFETY: within the operand, as the caller promises.
        unsafe { self.from.add(row * self.stride + step) }
    }
    #[inline(always)]
    fn skip(self, steps: usize) -> Self {
        Self { from: self.from.wrapping_add(steps), ..self }
    }
    #[inline(always)]
    fn down(self, rows: usize) -> Self {
        Self { from: self.from.wrapping_add(rows * self.stride), ..self }
    }
    #[inline(always)]
    fn fetch(self, rows: usize) {
        // No branch: without the wish the tile's own lines are asked for.
        let next = if self.fetch { rows * self.stride } else { 0 };
        for r in 0..rows {
            prefetch::<_MM_HINT_T0>(self.from.wrapping_add(next + r * self.stride));
        }
    }
}

impl Left for Across {
    #[inline(always)]
    unsafe fn at(self, row: usize, step: usize) -> *const Real {
        // SAFETY: within the operand, as the caller promises.
        unsafe { self.from.add(step * self.stride + row) }
    }
    #[inline(always)]
    fn skip(self, steps: usize) -> Self {
        Self { from: self.from.wrapping_add(steps * self.stride), next: self.next.skip(steps), ..self }
    }
    #[inline(always)]
    fn down(self, rows: usize) -> Self {
        Self { from: self.from.wrapping_add(rows), next: self.next.down(rows), ..self }
    }
    #[inline(always)]
    fn fetch(self, rows: usize) {
        self.next.fetch(rows);
    }
}

/// Where a tile finds the numbers of the right operand.
///
/// # Safety
/// The step must be within the operand, and the instruction set of `V` enabled.
pub(super) trait Right: Copy {
    /// The numbers of a step; `mask` selects those of the last vector that exist.
    unsafe fn row<V: Vector, const NV: usize>(self, step: usize, mask: V::Mask) -> [V; NV];
    /// The same operand from a later step on, for panels of `width`.
    fn skip(self, steps: usize, width: usize) -> Self;
}

/// A panel, in which the steps follow each other without gaps.
#[derive(Clone, Copy)]
pub(super) struct Ready {
    pub from: *const Real,
}

/// Columns of the caller's matrix, copied to a panel on the way.
#[derive(Clone, Copy)]
pub(super) struct Fresh {
    pub from: *const Real,
    pub stride: usize,
    pub to: *mut Real,
}

impl Right for Ready {
    #[inline(always)]
    unsafe fn row<V: Vector, const NV: usize>(self, step: usize, _mask: V::Mask) -> [V; NV] {
        // SAFETY: within the panel, as the caller promises.
        unsafe {
            let mut right = [V::zero(); NV];
            for (v, right) in right.iter_mut().enumerate() {
                *right = V::load(self.from.add((step * NV + v) * V::LANES));
            }
            right
        }
    }
    #[inline(always)]
    fn skip(self, steps: usize, width: usize) -> Self {
        Self { from: self.from.wrapping_add(steps * width) }
    }
}

impl Right for Fresh {
    #[inline(always)]
    unsafe fn row<V: Vector, const NV: usize>(self, step: usize, mask: V::Mask) -> [V; NV] {
        // SAFETY: within the operand and the panel, as the caller promises; the mask hides the columns that do not
        // exist.
        unsafe {
            let mut right = [V::zero(); NV];
            for (v, right) in right.iter_mut().enumerate() {
                let from = self.from.add(step * self.stride + v * V::LANES);
                *right = if v + 1 < NV { V::load(from) } else { V::load_part(from, mask) };
                right.store(self.to.add((step * NV + v) * V::LANES));
            }
            right
        }
    }
    #[inline(always)]
    fn skip(self, steps: usize, width: usize) -> Self {
        let from = self.from.wrapping_add(steps * self.stride);
        Self { from, to: self.to.wrapping_add(steps * width), ..self }
    }
}

/// Where a tile goes, and how.
#[derive(Clone, Copy)]
pub(super) struct Out {
    pub to: *mut Real,
    pub stride: usize,
    /// Columns of the tile that exist: all of its vectors but part of the last.
    pub cols: usize,
    /// Add to what is there rather than overwrite it.
    pub add: bool,
}

/// `MR` rows by `NV` vectors of the result, over one chunk of `steps`.
///
/// # Safety
/// `a` must hold `MR` rows of `steps`, `b` the `steps` of `NV` vectors, `c` must have `MR` rows of `c.cols` columns,
/// of which there are more than `NV - 1` vectors and at most `NV`.
#[inline(always)]
pub(super) unsafe fn tile<S: Sums, L: Left, R: Right, const MR: usize, const NV: usize>(
    mut a: L,
    mut b: R,
    steps: usize,
    c: Out,
) {
    let width = NV * S::V::LANES;
    // SAFETY: the reads stay within `MR` rows, `NV` vectors and `steps`.
    unsafe {
        let mask = S::V::mask(c.cols - (NV - 1) * S::V::LANES);
        let mut sums = [[S::V::zero(); NV]; MR];
        // The result is needed at the end: in a short chunk it is asked for at once, else some rows with each block.
        let mut row = 0;
        if steps < BLOCK {
            for r in 0..MR {
                fetch_row::<S::V, NV>(c, r);
            }
            row = MR - 1;
        }
        for _ in 0..steps / BLOCK {
            a.fetch(MR);
            for _ in 0..MR.div_ceil(8) {
                fetch_row::<S::V, NV>(c, row);
                row = (row + 1).min(MR - 1);
            }
            for _ in 0..4 {
                run::<S, L, R, MR, NV>(a, b, BLOCK / 4, mask, &mut sums);
                a = a.skip(BLOCK / 4);
                b = b.skip(BLOCK / 4, width);
            }
        }
        for _ in 0..steps % BLOCK {
            run::<S, L, R, MR, NV>(a, b, 1, mask, &mut sums);
            a = a.skip(1);
            b = b.skip(1, width);
        }
        write::<S::V, MR, NV>(&sums, c);
    }
}

/// The inner loop: `steps` more terms for every sum.
#[inline(always)]
unsafe fn run<S: Sums, L: Left, R: Right, const MR: usize, const NV: usize>(
    a: L,
    b: R,
    steps: usize,
    mask: <S::V as Vector>::Mask,
    sums: &mut [[S::V; NV]; MR],
) {
    for step in 0..steps {
        // SAFETY: `step` is within the panel and the left operand.
        unsafe {
            let right = b.row::<S::V, NV>(step, mask);
            for r in 0..MR {
                let x = S::V::splat(a.at(r, step));
                for v in 0..NV {
                    sums[r][v] = S::term(sums[r][v], x, right[v]);
                }
            }
        }
    }
}

/// Asks for a row of the result.
#[inline(always)]
fn fetch_row<V: Vector, const NV: usize>(c: Out, row: usize) {
    for v in 0..NV {
        prefetch::<_MM_HINT_T0>(c.to.wrapping_add(row * c.stride + v * V::LANES));
    }
}

/// Asks for the line at an address.
#[inline(always)]
fn prefetch<const HINT: i32>(at: *const Real) {
    // SAFETY: a prefetch is a hint, valid for any address; SSE is part of x86_64.
    unsafe { _mm_prefetch::<HINT>(at.cast()) };
}

/// Stores the sums or adds them to the result.
#[inline(always)]
unsafe fn write<V: Vector, const MR: usize, const NV: usize>(sums: &[[V; NV]; MR], c: Out) {
    // SAFETY: the rows and columns exist, as the caller promises.
    unsafe {
        let full = c.cols == NV * V::LANES;
        let mask = V::mask(c.cols - (NV - 1) * V::LANES);
        for r in 0..MR {
            for v in 0..NV {
                let to = c.to.add(r * c.stride + v * V::LANES);
                if full || v + 1 < NV {
                    let new = if c.add { V::load(to).plus(sums[r][v]) } else { sums[r][v] };
                    new.store(to);
                } else {
                    let new = if c.add { V::load_part(to, mask).plus(sums[r][v]) } else { sums[r][v] };
                    new.store_part(to, mask);
                }
            }
        }
    }
}

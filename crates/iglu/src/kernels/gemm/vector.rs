//! Vectors of the x86 instruction sets behind one private trait.
//!
//! All functions are inlined into functions that enable the instruction set (`Set::tile` and friends); elsewhere they
//! must not be called. Pointers are to `Real`, but the paths are only taken when that is `f32`.
#![expect(unsafe_code, reason = "vectors are read and written through pointers")]

use std::arch::x86_64::{
    __m256, __m256i, __m512, __mmask16, _mm256_add_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_loadu_si256,
    _mm256_maskload_ps, _mm256_maskstore_ps, _mm256_set1_ps, _mm256_setzero_ps, _mm256_storeu_ps,
    _mm512_add_ps, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_mask_storeu_ps, _mm512_maskz_loadu_ps,
    _mm512_set1_ps, _mm512_setzero_ps, _mm512_storeu_ps,
};

use super::panels;
use super::tile::{self, Left, Out, Right};
use crate::Real;

/// A register of numbers.
///
/// # Safety
/// Every function needs the instruction set of the implementing type; loads and stores need valid memory for the
/// lanes they touch.
pub(super) trait Vector: Copy {
    const LANES: usize;
    /// Selects the first lanes of a vector.
    type Mask: Copy;
    unsafe fn zero() -> Self;
    unsafe fn splat(from: *const Real) -> Self;
    unsafe fn load(from: *const Real) -> Self;
    unsafe fn store(self, to: *mut Real);
    /// The first `lanes` lanes, at least one and at most all.
    unsafe fn mask(lanes: usize) -> Self::Mask;
    /// The selected lanes; the others are zero and their memory is not touched.
    unsafe fn load_part(from: *const Real, mask: Self::Mask) -> Self;
    unsafe fn store_part(self, to: *mut Real, mask: Self::Mask);
    /// `a * b + self`, rounded once.
    unsafe fn fma(self, a: Self, b: Self) -> Self;
    unsafe fn plus(self, other: Self) -> Self;
}

impl Vector for __m512 {
    const LANES: usize = 16;
    type Mask = __mmask16;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller has AVX-512F and valid memory.
        unsafe { _mm512_setzero_ps() }
    }
    #[inline(always)]
    unsafe fn splat(from: *const Real) -> Self {
        // SAFETY: the caller has AVX-512F and valid memory.
        unsafe { _mm512_set1_ps(*from.cast()) }
    }
    #[inline(always)]
    unsafe fn load(from: *const Real) -> Self {
        // SAFETY: the caller has AVX-512F and valid memory.
        unsafe { _mm512_loadu_ps(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut Real) {
        // SAFETY: the caller has AVX-512F and valid memory.
        unsafe { _mm512_storeu_ps(to.cast(), self) }
    }
    #[inline(always)]
    unsafe fn mask(lanes: usize) -> Self::Mask {
        u16::MAX >> (Self::LANES - lanes)
    }
    #[inline(always)]
    unsafe fn load_part(from: *const Real, mask: Self::Mask) -> Self {
        // SAFETY: the caller has AVX-512F and valid memory.
        unsafe { _mm512_maskz_loadu_ps(mask, from.cast()) }
    }
    #[inline(always)]
    unsafe fn store_part(self, to: *mut Real, mask: Self::Mask) {
        // SAFETY: the caller has AVX-512F and valid memory.
        unsafe { _mm512_mask_storeu_ps(to.cast(), mask, self) }
    }
    #[inline(always)]
    unsafe fn fma(self, a: Self, b: Self) -> Self {
        // SAFETY: the caller has AVX-512F and valid memory.
        unsafe { _mm512_fmadd_ps(a, b, self) }
    }
    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        // SAFETY: the caller has AVX-512F and valid memory.
        unsafe { _mm512_add_ps(self, other) }
    }
}

impl Vector for __m256 {
    const LANES: usize = 8;
    type Mask = __m256i;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller has AVX2, FMA and valid memory.
        unsafe { _mm256_setzero_ps() }
    }
    #[inline(always)]
    unsafe fn splat(from: *const Real) -> Self {
        // SAFETY: the caller has AVX2, FMA and valid memory.
        unsafe { _mm256_set1_ps(*from.cast()) }
    }
    #[inline(always)]
    unsafe fn load(from: *const Real) -> Self {
        // SAFETY: the caller has AVX2, FMA and valid memory.
        unsafe { _mm256_loadu_ps(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut Real) {
        // SAFETY: the caller has AVX2, FMA and valid memory.
        unsafe { _mm256_storeu_ps(to.cast(), self) }
    }
    #[inline(always)]
    unsafe fn mask(lanes: usize) -> Self::Mask {
        const ON_OFF: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
        // SAFETY: the caller has AVX2, FMA and valid memory.
        unsafe { _mm256_loadu_si256(ON_OFF.as_ptr().add(Self::LANES - lanes).cast()) }
    }
    #[inline(always)]
    unsafe fn load_part(from: *const Real, mask: Self::Mask) -> Self {
        // SAFETY: the caller has AVX2, FMA and valid memory.
        unsafe { _mm256_maskload_ps(from.cast(), mask) }
    }
    #[inline(always)]
    unsafe fn store_part(self, to: *mut Real, mask: Self::Mask) {
        // SAFETY: the caller has AVX2, FMA and valid memory.
        unsafe { _mm256_maskstore_ps(to.cast(), mask, self) }
    }
    #[inline(always)]
    unsafe fn fma(self, a: Self, b: Self) -> Self {
        // SAFETY: the caller has AVX2, FMA and valid memory.
        unsafe { _mm256_fmadd_ps(a, b, self) }
    }
    #[inline(always)]
    unsafe fn plus(self, other: Self) -> Self {
        // SAFETY: the caller has AVX2, FMA and valid memory.
        unsafe { _mm256_add_ps(self, other) }
    }
}

/// An instruction set: the entries into code compiled for it.
///
/// # Safety
/// Every function needs a machine with the instruction set, and what the function of the same name in `tile` or
/// `panels` needs.
pub(super) trait Set {
    type V: Vector;
    unsafe fn tile<L: Left, R: Right, const MR: usize, const NV: usize>(a: L, b: R, steps: usize, c: Out);
    unsafe fn pack_rows<const NV: usize>(
        from: *const Real,
        stride: usize,
        steps: usize,
        cols: usize,
        to: *mut Real,
    );
    unsafe fn pack_columns(
        from: *const Real,
        stride: usize,
        steps: usize,
        cols: usize,
        to: *mut Real,
        width: usize,
    );
}

/// 32 registers of 16 numbers.
pub(super) struct Avx512;
/// 16 registers of 8 numbers.
pub(super) struct Avx2;

impl Set for Avx512 {
    type V = __m512;

    #[target_feature(enable = "avx512f,avx2,fma")]
    unsafe fn tile<L: Left, R: Right, const MR: usize, const NV: usize>(a: L, b: R, steps: usize, c: Out) {
        // SAFETY: passed on to the caller.
        unsafe { tile::tile::<__m512, L, R, MR, NV>(a, b, steps, c) }
    }

    #[target_feature(enable = "avx512f,avx2,fma")]
    unsafe fn pack_rows<const NV: usize>(
        from: *const Real,
        stride: usize,
        steps: usize,
        cols: usize,
        to: *mut Real,
    ) {
        // SAFETY: passed on to the caller.
        unsafe { panels::copy_rows::<__m512, NV>(from, stride, steps, cols, to) }
    }

    #[target_feature(enable = "avx512f,avx2,fma")]
    unsafe fn pack_columns(
        from: *const Real,
        stride: usize,
        steps: usize,
        cols: usize,
        to: *mut Real,
        width: usize,
    ) {
        // SAFETY: passed on to the caller.
        unsafe { panels::copy_columns(from, stride, steps, cols, to, width) }
    }
}

impl Set for Avx2 {
    type V = __m256;

    #[target_feature(enable = "avx2,fma")]
    unsafe fn tile<L: Left, R: Right, const MR: usize, const NV: usize>(a: L, b: R, steps: usize, c: Out) {
        // SAFETY: passed on to the caller.
        unsafe { tile::tile::<__m256, L, R, MR, NV>(a, b, steps, c) }
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn pack_rows<const NV: usize>(
        from: *const Real,
        stride: usize,
        steps: usize,
        cols: usize,
        to: *mut Real,
    ) {
        // SAFETY: passed on to the caller.
        unsafe { panels::copy_rows::<__m256, NV>(from, stride, steps, cols, to) }
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn pack_columns(
        from: *const Real,
        stride: usize,
        steps: usize,
        cols: usize,
        to: *mut Real,
        width: usize,
    ) {
        // SAFETY: passed on to the caller.
        unsafe { panels::copy_columns(from, stride, steps, cols, to, width) }
    }
}

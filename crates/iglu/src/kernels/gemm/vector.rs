//! Vectors of the x86 instruction sets behind one private trait.
//!
//! All functions are inlined into functions that enable the instruction set (`Set::tile` and friends); elsewhere they
//! must not be called. Pointers are to `Real`, but the paths are only taken when that is `f32`.
#![expect(unsafe_code, reason = "vectors are read and written through pointers")]

use std::arch::x86_64::{
    __m256, __m256i, __m512, __m512bh, __mmask16, _mm256_add_ps, _mm256_and_si256, _mm256_castps_si256,
    _mm256_castsi256_ps, _mm256_fmadd_ps, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_maskload_ps,
    _mm256_maskstore_ps, _mm256_set1_epi32, _mm256_set1_ps, _mm256_setzero_ps, _mm256_slli_epi32,
    _mm256_storeu_ps, _mm512_add_ps, _mm512_and_si512, _mm512_castps_si512, _mm512_castsi512_ps,
    _mm512_dpbf16_ps, _mm512_fmadd_ps, _mm512_loadu_ps, _mm512_mask_storeu_ps, _mm512_maskz_loadu_ps,
    _mm512_set1_epi32, _mm512_set1_ps, _mm512_setzero_ps, _mm512_slli_epi32, _mm512_storeu_ps,
};
use std::mem::transmute;

use super::panels::{self, Piece};
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
    /// The first number of every word, in full.
    unsafe fn first(self) -> Self;
    /// The second number of every word, in full.
    unsafe fn second(self) -> Self;
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
    #[inline(always)]
    unsafe fn first(self) -> Self {
        // SAFETY: the caller has AVX-512F.
        unsafe { _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_castps_si512(self))) }
    }
    #[inline(always)]
    unsafe fn second(self) -> Self {
        // SAFETY: the caller has AVX-512F.
        unsafe {
            _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(self), _mm512_set1_epi32(!0xffff)))
        }
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
    #[inline(always)]
    unsafe fn first(self) -> Self {
        // SAFETY: the caller has AVX2, FMA.
        unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_castps_si256(self))) }
    }
    #[inline(always)]
    unsafe fn second(self) -> Self {
        // SAFETY: the caller has AVX2, FMA.
        unsafe {
            _mm256_castsi256_ps(_mm256_and_si256(_mm256_castps_si256(self), _mm256_set1_epi32(!0xffff)))
        }
    }
}

/// An instruction set: the entry into packing compiled for it.
///
/// # Safety
/// The function needs a machine with the instruction set, and what `panels::copy_rows` needs.
pub(super) trait Set {
    type V: Vector;
    unsafe fn pack_rows<const NV: usize>(b: Piece, to: *mut Real);
}

/// How sums take their terms, and the entry into tiles that do so.
///
/// # Safety
/// Every function needs a machine with the instruction set, `tile` also what that of module `tile` needs.
pub(super) trait Sums {
    type V: Vector;
    /// `sum` with the product of two terms.
    unsafe fn term(sum: Self::V, x: Self::V, y: Self::V) -> Self::V;
    unsafe fn tile<L: Left, R: Right, const MR: usize, const NV: usize>(a: L, b: R, steps: usize, c: Out);
}

/// 32 registers of 16 numbers.
pub(super) struct Avx512;
/// 16 registers of 8 numbers.
pub(super) struct Avx2;
/// Words in these registers, multiplied by fused multiply-adds.
pub(super) struct Avx512Pairs;
/// As above.
pub(super) struct Avx2Pairs;
/// Words in 32 registers of 16, multiplied by an instruction made for them.
pub(super) struct Dots;

impl Set for Avx512 {
    type V = __m512;

    #[target_feature(enable = "avx512f,avx2,fma")]
    unsafe fn pack_rows<const NV: usize>(b: Piece, to: *mut Real) {
        // SAFETY: passed on to the caller.
        unsafe { panels::copy_rows::<__m512, NV>(b, to) }
    }
}

impl Set for Avx2 {
    type V = __m256;

    #[target_feature(enable = "avx2,fma")]
    unsafe fn pack_rows<const NV: usize>(b: Piece, to: *mut Real) {
        // SAFETY: passed on to the caller.
        unsafe { panels::copy_rows::<__m256, NV>(b, to) }
    }
}

impl Sums for Avx512 {
    type V = __m512;

    #[inline(always)]
    unsafe fn term(sum: __m512, x: __m512, y: __m512) -> __m512 {
        // SAFETY: the caller has AVX-512F.
        unsafe { sum.fma(x, y) }
    }

    #[target_feature(enable = "avx512f,avx2,fma")]
    unsafe fn tile<L: Left, R: Right, const MR: usize, const NV: usize>(a: L, b: R, steps: usize, c: Out) {
        // SAFETY: passed on to the caller.
        unsafe { tile::tile::<Self, L, R, MR, NV>(a, b, steps, c) }
    }
}

impl Sums for Avx2 {
    type V = __m256;

    #[inline(always)]
    unsafe fn term(sum: __m256, x: __m256, y: __m256) -> __m256 {
        // SAFETY: the caller has AVX2 and FMA.
        unsafe { sum.fma(x, y) }
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn tile<L: Left, R: Right, const MR: usize, const NV: usize>(a: L, b: R, steps: usize, c: Out) {
        // SAFETY: passed on to the caller.
        unsafe { tile::tile::<Self, L, R, MR, NV>(a, b, steps, c) }
    }
}

impl Sums for Avx512Pairs {
    type V = __m512;

    #[inline(always)]
    unsafe fn term(sum: __m512, x: __m512, y: __m512) -> __m512 {
        // SAFETY: the caller has AVX-512F.
        unsafe { pair(sum, x, y) }
    }

    #[target_feature(enable = "avx512f,avx2,fma")]
    unsafe fn tile<L: Left, R: Right, const MR: usize, const NV: usize>(a: L, b: R, steps: usize, c: Out) {
        // SAFETY: passed on to the caller.
        unsafe { tile::tile::<Self, L, R, MR, NV>(a, b, steps, c) }
    }
}

impl Sums for Avx2Pairs {
    type V = __m256;

    #[inline(always)]
    unsafe fn term(sum: __m256, x: __m256, y: __m256) -> __m256 {
        // SAFETY: the caller has AVX2 and FMA.
        unsafe { pair(sum, x, y) }
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn tile<L: Left, R: Right, const MR: usize, const NV: usize>(a: L, b: R, steps: usize, c: Out) {
        // SAFETY: passed on to the caller.
        unsafe { tile::tile::<Self, L, R, MR, NV>(a, b, steps, c) }
    }
}

impl Sums for Dots {
    type V = __m512;

    #[inline(always)]
    unsafe fn term(sum: __m512, x: __m512, y: __m512) -> __m512 {
        // SAFETY: the caller has AVX-512 with BF16; words are two rounded numbers each.
        unsafe { _mm512_dpbf16_ps(sum, transmute::<__m512, __m512bh>(x), transmute::<__m512, __m512bh>(y)) }
    }

    #[target_feature(enable = "avx512f,avx512bf16,avx2,fma")]
    unsafe fn tile<L: Left, R: Right, const MR: usize, const NV: usize>(a: L, b: R, steps: usize, c: Out) {
        // SAFETY: passed on to the caller.
        unsafe { tile::tile::<Self, L, R, MR, NV>(a, b, steps, c) }
    }
}

/// What [`Dots`] does by one instruction, rounding for rounding: first the second numbers of the words, then the first
/// ones. (The instruction takes results below 2^-126 for 0.)
///
/// # Safety
/// The caller has the instruction set of `V`.
#[inline(always)]
unsafe fn pair<V: Vector>(sum: V, x: V, y: V) -> V {
    // SAFETY: passed on to the caller.
    unsafe { sum.fma(x.second(), y.second()).fma(x.first(), y.first()) }
}

//! Numbers as tables keep them: in full, or rounded to the 16 bits of [`Bf16`]. Arithmetic is in full always.

use super::simd_fn;
use crate::Real;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m512, __mmask16, _mm256_maskz_loadu_epi16, _mm512_castsi512_ps, _mm512_cvtepu16_epi32,
    _mm512_maskz_loadu_ps, _mm512_slli_epi32,
};

/// A number of a table.
pub trait Stored: Copy + Default + Send + Sync + 'static {
    /// Its value.
    fn real(self) -> Real;
    /// The nearest number that can be kept.
    fn of(value: Real) -> Self;

    /// Sixteen numbers from `from` on in a register of `f32`: those whose bits are set in `some`, the others zero.
    ///
    /// # Safety
    /// There must be AVX-512 (F, BW and VL), and the numbers whose bits are set.
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "vectors are read through pointers")]
    unsafe fn load(from: *const Self, some: __mmask16) -> __m512;
}

impl Stored for Real {
    #[inline(always)]
    fn real(self) -> Real {
        self
    }

    #[inline(always)]
    fn of(value: Real) -> Self {
        value
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    #[expect(unsafe_code, reason = "vectors are read through pointers")]
    unsafe fn load(from: *const Self, some: __mmask16) -> __m512 {
        // SAFETY: the caller has AVX-512 and the numbers.
        unsafe { _mm512_maskz_loadu_ps(some, from.cast()) }
    }
}

/// The upper half of an f32: its range, and 8 bits of precision. Ties go to the even neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(transparent)]
pub struct Bf16(u16);

impl Bf16 {
    /// Its bits.
    #[inline(always)]
    pub fn bits(self) -> u16 {
        self.0
    }
}

impl Stored for Bf16 {
    #[inline(always)]
    fn real(self) -> Real {
        Real::from(f32::from_bits(u32::from(self.0) << 16))
    }

    #[inline(always)]
    #[allow(clippy::unnecessary_cast, reason = "Real is f64 in the twin crate")]
    fn of(value: Real) -> Self {
        const NAN: u32 = 0x7fc0;
        let single = value as f32;
        let bits = single.to_bits();
        let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
        // Rounding would carry some of the NaNs into the sign.
        Self(if single.is_nan() { NAN } else { rounded } as u16)
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    #[expect(unsafe_code, reason = "vectors are read through pointers")]
    unsafe fn load(from: *const Self, some: __mmask16) -> __m512 {
        // SAFETY: the caller has AVX-512 and the numbers.
        unsafe {
            let halves = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(some, from.cast()));
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(halves))
        }
    }
}

simd_fn! {
    /// `to[i] = from[i]`, in the numbers of `to`.
    pub fn copy<S: Stored, T: Stored>(from: &[S], to: &mut [T]) {
        to.iter_mut().zip(from).for_each(|(t, f)| *t = T::of(f.real()));
    }
}

simd_fn! {
    /// `to[i] += from[i]`.
    pub fn add<S: Stored, T: Stored>(from: &[S], to: &mut [T]) {
        to.iter_mut().zip(from).for_each(|(t, f)| *t = T::of(t.real() + f.real()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_goes_to_the_nearest_and_ties_to_even() {
        let bits = |v: f32| Bf16::of(Real::from(v)).0;
        assert_eq!(bits(1.0), 0x3f80);
        assert_eq!(bits(-0.0), 0x8000);
        assert_eq!(bits(f32::from_bits(0x3f80_7fff)), 0x3f80);
        assert_eq!(bits(f32::from_bits(0x3f80_8000)), 0x3f80, "a tie, down to even");
        assert_eq!(bits(f32::from_bits(0x3f81_8000)), 0x3f82, "a tie, up to even");
        assert_eq!(bits(f32::from_bits(0x3f80_8001)), 0x3f81);
        assert_eq!(bits(f32::MAX), 0x7f80, "beyond the largest: infinity");
        assert_eq!(bits(f32::INFINITY), 0x7f80);
        assert!(Bf16::of(Real::NAN).real().is_nan());
        assert!(Bf16::of(Real::from(f32::from_bits(0xffff_ffff))).real().is_nan(), "a NaN that would carry");
    }

    #[test]
    fn every_kept_number_is_itself() {
        for bits in 0..=u16::MAX {
            let kept = Bf16(bits).real();
            assert!(kept.is_nan() || Bf16::of(kept).0 == bits, "{bits:#x}");
        }
    }

    #[test]
    fn errors_are_at_most_half_a_step() {
        for i in 1..10_000 {
            let v = (Real::from(i as f32) * 0.37).sin() * (i as Real).powi(2);
            assert!((Bf16::of(v).real() - v).abs() <= v.abs() / 256.0, "{v}");
        }
    }
}

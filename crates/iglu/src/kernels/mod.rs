//! The arithmetic that takes the time: GEMM, SpMM, row-wise functions. The only place of the core with `unsafe`.
//!
//! Kernels are plain Rust compiled three times (AVX-512, AVX2 + FMA, portable) and chosen at run time. Sums run
//! over a fixed number of lanes, so all instruction sets with FMA give the same bytes. `reference` holds the
//! plain twins that the tests compare with. Kernels know nothing of layers, caches or threads' work, except
//! [`spmm`] and [`moments`], which spread rows over the pool, and [`limits`], which measures it.

pub mod adam;
pub mod attention;
pub mod gemm;
pub mod layer_norm;
pub mod limits;
pub mod lines;
pub mod moments;
pub mod pages;
#[cfg(test)]
pub mod reference;
pub mod rowwise;
pub mod sparse;
pub mod spmm;
pub mod stored;
pub mod tiles;
pub mod vecmath;

use crate::Real;

/// Declares a kernel once and compiles it for each instruction set; inside the body `FMA` tells whether fused
/// multiply-add is native, `WIDE` whether there are 32 registers of 16 numbers.
macro_rules! simd_fn {
    ($(#[$meta:meta])* pub fn $name:ident$(<$($g:ident: $bound:path),+>)?($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        pub fn $name$(<$($g: $bound),+>)?($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn body<const FMA: bool, const WIDE: bool $($(, $g: $bound)+)?>($($arg: $ty),*) $(-> $ret)? $body
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
            fn v4$(<$($g: $bound),+>)?($($arg: $ty),*) $(-> $ret)? { body::<true, { size_of::<$crate::Real>() == 4 } $($(, $g)+)?>($($arg),*) }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn v3$(<$($g: $bound),+>)?($($arg: $ty),*) $(-> $ret)? { body::<true, false $($(, $g)+)?>($($arg),*) }
            match $crate::kernels::isa() {
                // SAFETY: `isa` returns these only after the processor has reported the features.
                #[cfg(target_arch = "x86_64")]
                #[expect(unsafe_code, reason = "run-time detected instruction set")]
                $crate::kernels::Isa::Avx512 => unsafe { v4($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                #[expect(unsafe_code, reason = "run-time detected instruction set")]
                $crate::kernels::Isa::Avx2 => unsafe { v3($($arg),*) },
                _ => body::<{ cfg!(target_arch = "aarch64") }, false $($(, $g)+)?>($($arg),*),
            }
        }
    };
}
pub(crate) use simd_fn;

/// Work outside of the kernels that wants to be compiled for each instruction set, too.
pub trait Work {
    /// What it results in.
    type Out;
    /// Does it. It is compiled for the instruction set only if it, and what it calls, are inlined always.
    fn run<const FMA: bool>(self) -> Self::Out;
}

simd_fn! {
    /// Does the work by the instructions that there are.
    pub fn run<W: Work>(work: W) -> W::Out {
        work.run::<FMA>()
    }
}

/// Instruction sets the kernels are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isa {
    /// 512-bit vectors.
    Avx512,
    /// 256-bit vectors with fused multiply-add.
    Avx2,
    /// Whatever every processor of the target has.
    Portable,
}

/// The instruction set that runs here.
pub fn isa() -> Isa {
    #[cfg(target_arch = "x86_64")]
    {
        let wide = is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512bw");
        if wide && is_x86_feature_detected!("avx512f") {
            return Isa::Avx512;
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            return Isa::Avx2;
        }
    }
    Isa::Portable
}

/// Asks for the cache line of an address ahead of its use, into the first cache or (`FAR`) into the second.
#[inline(always)]
fn ask<const FAR: bool>(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        // SAFETY: prefetching any address is harmless.
        #[expect(unsafe_code, reason = "prefetch takes a pointer")]
        unsafe {
            if FAR {
                _mm_prefetch::<_MM_HINT_T1>(address.cast());
            } else {
                _mm_prefetch::<_MM_HINT_T0>(address.cast());
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Asks for the value at `data[at]` ahead of its use.
#[inline(always)]
pub(crate) fn prefetch<T>(data: &[T], at: usize) {
    ask::<false>(data.as_ptr().wrapping_add(at).cast());
}

/// Asks for `len` values from `data[at]` on, which need not begin with a cache line: into the second cache, which can wait
/// for more of them at a time than the first.
#[inline(always)]
pub(crate) fn prefetch_row<T>(data: &[T], at: usize, len: usize) {
    const LINE: usize = 64;
    let (first, bytes): (*const u8, usize) = (data.as_ptr().wrapping_add(at).cast(), len * size_of::<T>());
    let last = bytes.saturating_sub(1);
    (0..bytes).step_by(LINE).chain([last]).for_each(|byte| ask::<true>(first.wrapping_add(byte)));
}

/// How many rows of so many bytes are asked for ahead of their use: more than a core can wait for at a time, so that a row
/// that comes late holds nobody up, and a small part of a second cache.
#[inline(always)]
pub(crate) fn rows_ahead(bytes: usize) -> usize {
    const UNDER_WAY: usize = 48 << 10;
    (UNDER_WAY / bytes.max(1)).clamp(4, 128)
}

/// How many more of them are asked for before row `i` of a list is read: at first all that are to be under way, then one
/// at a time.
#[inline(always)]
pub(crate) fn rows_asked(i: usize, bytes: usize) -> usize {
    if i == 0 { rows_ahead(bytes) } else { 1 }
}

/// Some rows of a row-major array, each `cols` long and `stride` apart.
#[derive(Clone, Copy)]
pub struct Rows<'a, T = Real> {
    /// First value of the first row onwards.
    pub data: &'a [T],
    /// Number of rows.
    pub rows: usize,
    /// Values per row.
    pub cols: usize,
    /// Distance between rows.
    pub stride: usize,
}

impl<'a, T> Rows<'a, T> {
    /// Rows that follow each other without gap.
    pub fn dense(data: &'a [T], rows: usize, cols: usize) -> Self {
        assert!(data.len() >= rows * cols, "{rows} x {cols} rows need more than {} values", data.len());
        Self { data, rows, cols, stride: cols }
    }

    /// Row `i`.
    #[inline(always)]
    pub fn row(&self, i: usize) -> &'a [T] {
        &self.data[i * self.stride..i * self.stride + self.cols]
    }
}

/// Writable [`Rows`].
pub struct RowsMut<'a> {
    /// First value of the first row onwards.
    pub data: &'a mut [Real],
    /// Number of rows.
    pub rows: usize,
    /// Values per row.
    pub cols: usize,
    /// Distance between rows.
    pub stride: usize,
}

impl<'a> RowsMut<'a> {
    /// Rows that follow each other without gap.
    pub fn dense(data: &'a mut [Real], rows: usize, cols: usize) -> Self {
        assert!(data.len() >= rows * cols, "{rows} x {cols} rows need more than {} values", data.len());
        Self { data, rows, cols, stride: cols }
    }

    /// Row `i`.
    #[inline(always)]
    pub fn row(&mut self, i: usize) -> &mut [Real] {
        &mut self.data[i * self.stride..i * self.stride + self.cols]
    }
}

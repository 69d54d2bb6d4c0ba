//! The arithmetic that takes the time: GEMM, SpMM, row-wise functions. The only place of the core with `unsafe`.
//!
//! Kernels are plain Rust compiled three times (AVX-512, AVX2 + FMA, portable) and chosen at run time. Sums run
//! over a fixed number of lanes, so all instruction sets with FMA give the same bytes. `reference` holds the
//! plain twins that the tests compare with. Kernels know nothing of layers, caches or threads' work, except
//! [`spmm`] and [`moments`], which spread rows over the pool, and [`limits`], which measures it.

pub mod adam;
pub mod attention;
pub mod gemm;
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
/// multiply-add is native.
macro_rules! simd_fn {
    ($(#[$meta:meta])* pub fn $name:ident$(<$($g:ident: $bound:path),+>)?($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        pub fn $name$(<$($g: $bound),+>)?($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn body<const FMA: bool $($(, $g: $bound)+)?>($($arg: $ty),*) $(-> $ret)? $body
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
            fn v4$(<$($g: $bound),+>)?($($arg: $ty),*) $(-> $ret)? { body::<true $($(, $g)+)?>($($arg),*) }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn v3$(<$($g: $bound),+>)?($($arg: $ty),*) $(-> $ret)? { body::<true $($(, $g)+)?>($($arg),*) }
            match $crate::kernels::isa() {
                // SAFETY: `isa` returns these only after the processor has reported the features.
                #[cfg(target_arch = "x86_64")]
                #[expect(unsafe_code, reason = "run-time detected instruction set")]
                $crate::kernels::Isa::Avx512 => unsafe { v4($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                #[expect(unsafe_code, reason = "run-time detected instruction set")]
                $crate::kernels::Isa::Avx2 => unsafe { v3($($arg),*) },
                _ => body::<{ cfg!(target_arch = "aarch64") } $($(, $g)+)?>($($arg),*),
            }
        }
    };
}
pub(crate) use simd_fn;

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

/// Asks for the cache line at `data[at]` ahead of its use, into the first cache or (`FAR`) into the second.
#[inline(always)]
fn ask<const FAR: bool, T>(data: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        let at = at.min(data.len());
        // SAFETY: prefetching any address is harmless; this one lies in or one past the slice.
        #[expect(unsafe_code, reason = "prefetch takes a pointer")]
        unsafe {
            let line = data.as_ptr().add(at).cast();
            if FAR { _mm_prefetch::<_MM_HINT_T1>(line) } else { _mm_prefetch::<_MM_HINT_T0>(line) }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (data, at);
}

/// Asks for the value at `data[at]` ahead of its use.
#[inline(always)]
pub(crate) fn prefetch<T>(data: &[T], at: usize) {
    ask::<false, T>(data, at);
}

/// Asks for `len` values from `data[at]` on, which need not begin with a cache line. From a table that is too large for
/// the last cache they are long under way: they are asked for into the second cache only.
#[inline(always)]
pub(crate) fn prefetch_row<T>(data: &[T], at: usize, len: usize) {
    const LARGE: usize = 256 << 20;
    let last = at + len.saturating_sub(1);
    let lines = || (0..len).step_by(64 / size_of::<T>().max(1)).map(|i| at + i).chain([last]);
    if size_of_val(data) >= LARGE {
        lines().for_each(|at| ask::<true, T>(data, at));
    } else {
        lines().for_each(|at| ask::<false, T>(data, at));
    }
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

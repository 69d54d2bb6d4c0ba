//! What the machine can do here and now: arithmetic, products of given shapes, memory. `iglu bench` holds the times
//! of training against these rates, measured in the same run.
//!
//! Every rate is that of all threads of the present pool together, each working on its own: the best of a few
//! repetitions, since disturbances only ever slow a loop down.

use super::gemm::{Into, Packed, Precision};
use super::vecmath::madd;
use super::{Isa, Rows, RowsMut, isa, pages, prefetch_row, rows_asked, simd_fn};
use crate::Real;
use crate::observe::Stopwatch;
use crate::rng::Key;
use rayon::prelude::*;
use std::hint::black_box;
use std::sync::{Mutex, PoisonError};

/// Repetitions of a measurement.
const TRIES: usize = 5;
/// Seconds that one repetition lasts at least.
const LEAST: f64 = 0.01;

/// Which operand of a product is transposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// `A B`.
    Nn,
    /// `A^T B`.
    Tn,
    /// `A B^T`.
    Nt,
}

/// A dense product: `m x k` times `k x n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
pub struct Product {
    /// The numbers that are multiplied.
    pub precision: Precision,
    /// Which operand is transposed.
    pub form: Form,
    /// Rows of the result.
    pub m: usize,
    /// Length of the sums.
    pub k: usize,
    /// Columns of the result.
    pub n: usize,
}

impl Product {
    /// Multiplications and additions.
    pub fn flops(&self) -> f64 {
        2.0 * self.m as f64 * self.k as f64 * self.n as f64
    }
}

/// Units per second: `work` does `units` of them on every thread of the pool when called once.
fn rate(units: f64, work: impl Fn() + Sync) -> f64 {
    let run = |times: usize| {
        let watch = Stopwatch::new();
        rayon::broadcast(|_| (0..times).for_each(|_| work()));
        watch.seconds()
    };
    let mut times = 1;
    while run(times) < LEAST {
        times *= 2;
    }
    let best = (0..TRIES).map(|_| run(times)).fold(f64::INFINITY, f64::min);
    units * times as f64 * rayon::current_num_threads() as f64 / best
}

/// Rounds of the loops below.
const ROUNDS: usize = 20_000;

simd_fn! {
    /// As many independent sums as hide the latency in 16 registers of 256 bits.
    pub fn fuse_narrow(factor: Real, sums: &mut [Real; 96]) {
        let mut s = *sums;
        for _ in 0..ROUNDS {
            s.iter_mut().for_each(|v| *v = madd::<FMA>(*v, factor, factor));
        }
        *sums = s;
    }
}

simd_fn! {
    /// As many independent sums as hide the latency in 32 registers of 512 bits.
    pub fn fuse_wide(factor: Real, sums: &mut [Real; 256]) {
        let mut s = *sums;
        for _ in 0..ROUNDS {
            s.iter_mut().for_each(|v| *v = madd::<FMA>(*v, factor, factor));
        }
        *sums = s;
    }
}

/// FLOP/s of a loop of fused multiply-adds in registers.
pub fn peak() -> f64 {
    let factor = black_box(0.5);
    if isa() == Isa::Avx512 {
        rate(2.0 * (256 * ROUNDS) as f64, || {
            let mut sums = [1.0; 256];
            fuse_wide(factor, &mut sums);
            black_box(sums);
        })
    } else {
        rate(2.0 * (96 * ROUNDS) as f64, || {
            let mut sums = [1.0; 96];
            fuse_narrow(factor, &mut sums);
            black_box(sums);
        })
    }
}

/// FLOP/s of a product, single-threaded on every thread, operands in cache where they fit.
pub fn product(p: Product) -> f64 {
    let filled = |n: usize| (0..n).map(|i| (i % 13) as Real / 8.0).collect::<Vec<_>>();
    let (a, b) = (filled(p.m * p.k), filled(p.k * p.n));
    let results: Vec<_> = (0..rayon::current_num_threads())
        .map(|_| Mutex::new((vec![0.0; p.m * p.n], Packed::default())))
        .collect();
    // Weights are arranged once for many products.
    let mut weights = Packed::default();
    match p.form {
        Form::Nt => weights.columns(Rows::dense(&b, p.n, p.k), p.precision),
        Form::Nn | Form::Tn => weights.rows(Rows::dense(&b, p.k, p.n), p.precision),
    }
    rate(p.flops(), || {
        let mine = &results[rayon::current_thread_index().unwrap_or(0)];
        let mut kept = mine.lock().unwrap_or_else(PoisonError::into_inner);
        let (c, spare) = &mut *kept;
        let c = RowsMut::dense(c, p.m, p.n);
        match p.form {
            Form::Nn | Form::Nt => weights.product(Rows::dense(&a, p.m, p.k), c, Into::Set),
            Form::Tn => {
                let operands = (Rows::dense(&a, p.k, p.m), Rows::dense(&b, p.k, p.n));
                spare.transposed(operands, c, Into::Set, p.precision);
            }
        }
    })
}

simd_fn! {
    /// Adds up all values of the rows named, each row in one go, rows ahead prefetched.
    pub fn read_rows(x: Rows<'_>, ids: &[u32]) -> Real {
        const LANES: usize = 64;
        let mut ahead = ids.iter();
        // Two, so that the first is looked at by known places only and stays in registers.
        let (mut sum, mut others) = ([0.0 as Real; LANES], [0.0 as Real; LANES]);
        for (i, &id) in ids.iter().enumerate() {
            for &next in ahead.by_ref().take(rows_asked(i, x.cols * size_of::<Real>())) {
                prefetch_row(x.data, next as usize * x.stride, x.cols);
            }
            let row = x.row(id as usize).chunks_exact(LANES);
            let rest = row.remainder();
            for piece in row {
                for j in 0..LANES {
                    sum[j] += piece[j];
                }
            }
            others.iter_mut().zip(rest).for_each(|(s, v)| *s += v);
        }
        sum.iter().chain(&others).sum()
    }
}

/// A table in large pages, touched by all threads.
fn table(rows: usize, cols: usize) -> Vec<Real> {
    let mut data: Vec<Real> = vec![0.0; rows * cols];
    pages::advise_large(&data);
    data.par_chunks_mut(1 << 16).for_each(|c| c.fill(1.0));
    data
}

/// Bytes per second of whole rows read at random places of a `rows x cols` table.
pub fn gather(rows: usize, cols: usize) -> f64 {
    const READS: usize = 1 << 14;
    let data = table(rows, cols);
    let x = Rows::dense(&data, rows, cols);
    // Lists that together visit the table all over, so that repetitions do not find what they left in the cache.
    let key = Key::new(1).with("gather");
    let draw = |list: usize| -> Vec<u32> {
        let key = key.at(list as u64);
        (0..READS).map(|i| (key.u64(i as u64) % rows as u64) as u32).collect()
    };
    let lists: Vec<Vec<u32>> = (0..64).map(draw).collect();
    let turn = std::sync::atomic::AtomicUsize::new(0);
    rate((READS * cols * size_of::<Real>()) as f64, || {
        let list = turn.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % lists.len();
        black_box(read_rows(x, &lists[list]));
    })
}

/// Bytes per second of memory read in order, `bytes` of it in all.
pub fn stream(bytes: usize) -> f64 {
    const COLS: usize = 1024;
    let rows = (bytes / (COLS * size_of::<Real>())).max(rayon::current_num_threads());
    let data = table(rows, COLS);
    let share = rows / rayon::current_num_threads();
    let ids: Vec<u32> = (0..rows as u32).collect();
    let x = Rows::dense(&data, rows, COLS);
    rate((share * COLS * size_of::<Real>()) as f64, || {
        let first = rayon::current_thread_index().unwrap_or(0) * share;
        black_box(read_rows(x, &ids[first..first + share]));
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_whole_and_rates_are_finite() {
        let data: Vec<Real> = (0..5 * 70).map(|i| i as Real).collect();
        let expect: Real =
            [4_usize, 0, 4].iter().map(|r| data[r * 70..(r + 1) * 70].iter().sum::<Real>()).sum();
        assert_eq!(read_rows(Rows::dense(&data, 5, 70), &[4, 0, 4]), expect);
        for form in [Form::Nn, Form::Tn, Form::Nt] {
            for precision in [Precision::F32, Precision::Bf16] {
                assert!(product(Product { precision, form, m: 8, k: 5, n: 3 }).is_normal());
            }
        }
        assert!(peak().is_normal() && gather(100, 16).is_normal() && stream(1 << 20).is_normal());
    }
}

//! What the machine can do, measured in the run that it judges; every rate once per trial at most, the best kept.

use iglu::kernels::gemm::{self, Precision, Unit};
use iglu::kernels::limits::{self, Form, Product};
use iglu::kernels::{Isa, isa};
use iglu::lazy::work::Work;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Tables beyond this size behave like tables of this size.
const LARGEST_TABLE: usize = 256 << 20;

/// The square product that others are compared with.
const SQUARE: Product = Product { precision: Precision::F32, form: Form::Nn, m: 512, k: 512, n: 512 };

/// Rates in FLOP/s and bytes/s, of all threads together.
pub struct Machine {
    peak: f64,
    stream: f64,
    products: BTreeMap<Product, f64>,
    gathers: BTreeMap<(usize, usize), f64>,
}

/// The rates that depend on no dataset.
#[derive(Serialize)]
pub struct Summary {
    /// Instruction set in use.
    pub instructions: &'static str,
    /// What multiplies rounded numbers.
    pub bf16: Unit,
    /// Worker threads.
    pub threads: usize,
    /// Fused multiply-adds in registers.
    pub peak_gflops: f64,
    /// A product of 512 x 512 matrices.
    pub square_gflops: f64,
    /// Memory read in order.
    pub stream_gbytes: f64,
}

/// Rows of the largest table that stands for one of `rows x cols`.
fn table_rows(rows: usize, cols: usize) -> usize {
    rows.min(LARGEST_TABLE / (4 * cols.max(1))).max(1)
}

impl Machine {
    /// Measures what depends on no dataset.
    pub fn new() -> Self {
        let mut machine =
            Self { peak: 0.0, stream: 0.0, products: BTreeMap::new(), gathers: BTreeMap::new() };
        machine.again();
        machine
    }

    /// Measures that again, and keeps what is better.
    pub fn again(&mut self) {
        self.peak = self.peak.max(limits::peak());
        self.stream = self.stream.max(limits::stream(LARGEST_TABLE));
        self.improve_product(SQUARE);
    }

    fn improve_product(&mut self, product: Product) {
        let best = self.products.entry(product).or_insert(0.0);
        *best = best.max(limits::product(product));
    }

    /// Measures the products and the random reads of some work, and the square product, twice.
    pub fn measure(&mut self, work: &Work) {
        let products: BTreeSet<Product> = work.products.iter().map(|r| r.product).chain([SQUARE]).collect();
        let tables: BTreeSet<(usize, usize)> =
            work.gathered.iter().map(|g| (table_rows(g.rows, g.cols), g.cols)).collect();
        for _ in 0..2 {
            products.iter().for_each(|p| self.improve_product(*p));
            for &(rows, cols) in &tables {
                let best = self.gathers.entry((rows, cols)).or_insert(0.0);
                *best = best.max(limits::gather(rows, cols));
            }
        }
    }

    /// FLOP/s in registers.
    pub fn peak(&self) -> f64 {
        self.peak
    }

    /// FLOP/s of a product.
    pub fn product(&self, product: Product) -> f64 {
        self.products.get(&product).copied().unwrap_or(f64::NAN)
    }

    /// Bytes/s of rows read at random.
    pub fn gather(&self, rows: usize, cols: usize) -> f64 {
        self.gathers.get(&(table_rows(rows, cols), cols)).copied().unwrap_or(f64::NAN)
    }

    /// Seconds of the dense products of some work: at the rates of their own shapes, and all at the square's.
    pub fn product_seconds(&self, work: &Work) -> [f64; 2] {
        let own = work.products.iter().map(|r| r.product.flops() * r.times / self.product(r.product)).sum();
        [own, work.dense_flops() / self.product(SQUARE)]
    }

    /// Seconds that moving the bytes of some work takes.
    pub fn memory_seconds(&self, work: &Work) -> f64 {
        let random: f64 = work.gathered.iter().map(|g| g.bytes / self.gather(g.rows, g.cols)).sum();
        random + work.streamed / self.stream
    }

    /// The rates that depend on no dataset.
    pub fn summary(&self) -> Summary {
        Summary {
            instructions: match isa() {
                Isa::Avx512 => "avx512",
                Isa::Avx2 => "avx2",
                _ => "portable",
            },
            bf16: gemm::unit(),
            threads: rayon::current_num_threads(),
            peak_gflops: self.peak / 1e9,
            square_gflops: self.product(SQUARE) / 1e9,
            stream_gbytes: self.stream / 1e9,
        }
    }
}

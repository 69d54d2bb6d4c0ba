//! The kernels one by one, each against a limit measured beside it: `cargo bench -p iglu --bench kernels [WORD]`.
//!
//! Threads: `RAYON_NUM_THREADS`. A word keeps the lines that contain it.
#![expect(clippy::print_stdout, reason = "this is its result")]

use iglu::kernels::gemm::{Into, Precision, unit};
use iglu::kernels::layer_norm;
use iglu::kernels::limits::{self, Form, Product};
use iglu::kernels::lines::Lines;
use iglu::kernels::rowwise::{self, Affine, AffineGrad, Mask};
use iglu::kernels::sparse::{self, SparseBlock};
use iglu::kernels::spmm::{SparseView, spmm};
use iglu::kernels::stored::{Bf16, Stored};
use iglu::kernels::{Rows, RowsMut, isa};
use iglu::lazy::Lazy;
use iglu::observe::Stopwatch;
use iglu::optim::{OptimOptions, Optimiser};
use iglu::program::{Builder, Call, Dropping, Input, Job, Lanes, Norms, Program, RowSet, Source};
use iglu::rng::Key;
use iglu::{Activation, EdgeOptions, Graph, Mat, Norm, Operator, Real, SparseMat, Table, communities};
use std::sync::Arc;

#[global_allocator]
static TABLES_ON_LINES: Lines = Lines;

/// Seconds of one call: the best of some repetitions.
fn seconds(mut work: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    let all = Stopwatch::new();
    let mut tries = 0;
    while tries < 5 || all.seconds() < 0.3 {
        let watch = Stopwatch::new();
        work();
        best = best.min(watch.seconds());
        tries += 1;
    }
    best
}

fn random(rows: usize, cols: usize, salt: u64) -> Mat {
    let key = Key::new(salt);
    let value = |i: usize| (key.unit(i as u64) - 0.5) as Real;
    Mat::from_vec(rows, cols, (0..rows * cols).map(value).collect())
}

struct Bench {
    word: String,
    peak: f64,
}

impl Bench {
    fn wants(&self, name: &str) -> bool {
        name.contains(&self.word)
    }

    /// Transposed products of odd sizes against the square one.
    fn products(&self) {
        let in_numbers = |precision, form, m, k, n| limits::product(Product { precision, form, m, k, n });
        let rate = |form, m, k, n| in_numbers(Precision::F32, form, m, k, n);
        let square = rate(Form::Nn, 512, 512, 512);
        if self.wants("product square 512") {
            let share = 100.0 * square / self.peak;
            println!("product square 512: {:.1} GFLOP/s, {share:.0} % of the peak", square / 1e9);
        }
        for (form, m, k, n) in [
            (Form::Nn, 512, 512, 512),
            (Form::Nn, 256, 256, 256),
            (Form::Tn, 256, 256, 256),
            (Form::Nt, 256, 256, 256),
        ] {
            let name = format!("product of Bf16 {form:?} {m} x {k} x {n}");
            if self.wants(&name) {
                let times = in_numbers(Precision::Bf16, form, m, k, n) / rate(form, m, k, n);
                println!("{name}: {times:.2} times as fast as f32 (unit: {:?})", unit());
            }
        }
        for odd in [40, 47, 50, 100, 121, 128, 256, 602] {
            for (form, m, k, n) in [
                (Form::Nn, 256, odd, 256),
                (Form::Nn, 256, 256, odd),
                (Form::Tn, odd, 256, 256),
                (Form::Tn, 256, 256, odd),
                (Form::Nt, 256, odd, 256),
                (Form::Nt, 256, 256, odd),
            ] {
                let name = format!("product {form:?} {m} x {k} x {n}");
                if self.wants(&name) {
                    let rate = rate(form, m, k, n);
                    println!(
                        "{name}: {:.1} GFLOP/s, {:.0} % of the square",
                        rate / 1e9,
                        100.0 * rate / square
                    );
                }
            }
        }
    }

    fn elements(&self, name: &str, count: usize, work: impl FnMut()) {
        if self.wants(name) {
            println!("{name}: {:.3} ns per element", seconds(work) * 1e9 / count as f64);
        }
    }

    /// Row-wise functions on a block in cache, single-threaded.
    fn rowwise(&self) {
        const ROWS: usize = 256;
        const COLS: usize = 256;
        let (x, mut y) = (random(ROWS, COLS, 1), random(ROWS, COLS, 2));
        let x = Rows::dense(x.data(), ROWS, COLS);
        let ids: Vec<u32> = (0..ROWS as u32).collect();
        let (scale, offset) = (vec![1.0; COLS], vec![0.0; COLS]);
        let (mut ds, mut doff) = (vec![0.0; COLS], vec![0.0; COLS]);
        let mut stats = vec![[0.0; 2]; ROWS];
        let mut y = RowsMut::dense(y.data_mut(), ROWS, COLS);
        let n = ROWS * COLS;
        for kind in [Activation::Relu, Activation::Gelu, Activation::Elu, Activation::Tanh] {
            self.elements(&format!("rowwise {kind:?}"), n, || rowwise::activate(kind, &mut y));
            self.elements(&format!("rowwise {kind:?} back"), n, || rowwise::activate_back(kind, x, &mut y));
        }
        self.elements("rowwise layer norm", n, || {
            layer_norm::layer_norm(x, Affine { scale: &scale, offset: &offset }, 1e-5, &mut y, &mut stats);
        });
        self.elements("rowwise layer norm back", n, || {
            let grad = AffineGrad { scale: &mut ds, offset: &mut doff };
            layer_norm::layer_norm_back(x, &stats, &scale, &mut y, Some(grad));
        });
        self.elements("rowwise bias", n, || rowwise::add_bias(&mut y, &offset));
        self.elements("rowwise column sums", n, || rowwise::add_column_sums(x, &mut ds));
        self.elements("rowwise dropout", n, || rowwise::drop(Mask { key: 3, rate: 0.3 }, &ids, &mut y));
        let mut adam = Optimiser::new(OptimOptions::default(), &[n]);
        let (mut p, mut g) = (vec![1.0; n], vec![0.5; n]);
        self.elements("rowwise adam (pool)", n, || {
            adam.step(1e-3, &mut [&mut p], &mut [&mut g], &[true]);
        });
    }

    /// A block of rows with sparse features against weights, single-threaded.
    fn features(&self) {
        const ROWS: usize = 512;
        const FEATURES: usize = 7_000;
        for (entries, cols) in [(60, 192), (600, 192), (600, 64), (600, 256)] {
            let name = format!("features {FEATURES}, {entries} a row, {cols} columns");
            let key = Key::new(8);
            let spread =
                |i: usize| (i % entries * FEATURES + key.u64(i as u64) as usize % FEATURES) / entries;
            let rows = SparseMat::from_parts(
                FEATURES,
                (0..=ROWS).map(|i| (i * entries) as u64).collect(),
                (0..ROWS * entries).map(|i| spread(i) as u32).collect(),
                vec![0.5; ROWS * entries],
            );
            let block = SparseBlock::gather(&rows, &(0..ROWS as u32).collect::<Vec<_>>());
            let (mut w, mut y) = (random(FEATURES, cols, 1), random(ROWS, cols, 2));
            let terms = ROWS * entries * cols;
            self.elements(&format!("{name}: x w"), terms, || {
                let out = RowsMut::dense(y.data_mut(), ROWS, cols);
                sparse::nn(&block, Rows::dense(w.data(), FEATURES, cols), out, Into::Set);
            });
            self.elements(&format!("{name}: x^T d"), terms, || {
                let out = RowsMut::dense(w.data_mut(), FEATURES, cols);
                sparse::tn(&block, Rows::dense(y.data(), ROWS, cols), out, Into::Set);
            });
        }
    }

    /// Sparse products on a graph of shuffled ids against rows read at random.
    fn aggregation(&self) {
        const NODES: usize = 100_000;
        const DEGREE: usize = 15;
        let key = Key::new(5);
        let columns: Vec<u32> =
            (0..NODES * DEGREE).map(|i| (key.u64(i as u64) % NODES as u64) as u32).collect();
        let offsets: Vec<u64> = (0..=NODES).map(|i| (i * DEGREE) as u64).collect();
        let scale = vec![0.1; NODES];
        for cols in [40, 47, 100, 128, 256, 512, 1024] {
            let name = format!("aggregation {cols}");
            if !self.wants(&name) {
                continue;
            }
            let mut x = Mat::zeros(NODES, cols);
            x.fill(1.0);
            let mut out = Mat::zeros(NODES, cols);
            let limit = limits::gather(NODES, cols);
            for (kind, scales) in [("mean", None), ("sym", Some(&scale[..]))] {
                let view = SparseView {
                    offsets: &offsets,
                    columns: &columns,
                    weights: None,
                    row_scale: Some(&scale),
                    col_scale: scales,
                    diagonal: 0.0,
                };
                let time = seconds(|| spmm(view, Rows::dense(x.data(), NODES, cols), out.data_mut(), false));
                let rate = (columns.len() * cols * size_of::<Real>()) as f64 / time;
                println!(
                    "{name} {kind}: {:.1} GB/s, {:.0} % of rows at random ({:.1})",
                    rate / 1e9,
                    100.0 * rate / limit,
                    limit / 1e9
                );
                let half = |m: &Mat| m.data().iter().map(|v| Bf16::of(*v)).collect::<Vec<_>>();
                let (rounded, mut to) = (half(&x), half(&out));
                let again = seconds(|| spmm(view, Rows::dense(&rounded, NODES, cols), &mut to, false));
                println!("{name} {kind} of Bf16: {:.2} times as fast", time / again);
            }
        }
    }

    /// The same products before and after nodes are ordered by communities, by turns.
    fn orders(&self) {
        const ROUNDS: usize = 5;
        for (blocks, each, degree) in [(80, 2_000, 14), (80, 2_000, 100), (40, 20_000, 14)] {
            let name = format!("order {blocks} groups of {each}, degree {degree}");
            if !self.wants(&name) {
                continue;
            }
            let graph = grouped(blocks, each, degree);
            let watch = Stopwatch::new();
            let order = communities::order(&graph);
            let found = watch.seconds();
            let sorted = graph.reordered(&order);
            println!("{name}: found in {found:.2} s, rows moved in {:.2} s", watch.seconds() - found);
            let [before, after] = [graph, sorted].map(|g| Operator::new(Arc::new(g), Norm::Sym));
            for cols in [128, 256] {
                let x = random(before.graph().nodes(), cols, 1);
                let mut out = Mat::zeros(x.rows(), cols);
                let mut best = [f64::INFINITY; 2];
                for _ in 0..ROUNDS {
                    for (best, operator) in best.iter_mut().zip([&before, &after]) {
                        *best = best.min(seconds(|| operator.apply_to(&x, &mut out)));
                    }
                }
                let [a, b] = best;
                println!(
                    "{name}, {cols} columns: {a:.4} s before, {b:.4} s after, {:.2} times as fast",
                    a / b
                );
            }
        }
    }

    /// A training step of one layer: gather, products, norm, activation, dropout, their gradients, Adam.
    fn steps(&self) {
        const NODES: usize = 40_000;
        for (width, batch) in [(128, 512), (256, 512), (256, 2048), (512, 1024), (512, 4096), (1024, 1024)] {
            for (precision, activation) in [
                (Precision::F32, Activation::Relu),
                (Precision::F32, Activation::Gelu),
                (Precision::Bf16, Activation::Relu),
            ] {
                let name = format!("step {width} wide, batch {batch}, {activation:?}, {precision:?}");
                if !self.wants(&name) {
                    continue;
                }
                let program = layer(width, activation, precision);
                let (z, x, alpha) =
                    (random(NODES, width, 1), random(NODES, width, 2), Table::Full(random(NODES, width, 3)));
                let share = self.step(&program, [&z, &x], &alpha, batch);
                println!(
                    "{name}: {:.1} GFLOP/s, {:.0} % of the peak",
                    share * self.peak / 1e9,
                    100.0 * share
                );
            }
        }
    }

    fn step(&self, program: &Program, inputs: [&Mat; 2], alpha: &Table, batch: usize) -> f64 {
        let objective = Lazy { alpha, scale: 1.0, proximal: None, mask: None };
        let mut params: Vec<Mat> =
            program.params().iter().enumerate().map(|(i, p)| random(p.rows, p.cols, 10 + i as u64)).collect();
        let sizes: Vec<usize> = params.iter().map(|p| p.data().len()).collect();
        let mut adam = Optimiser::new(OptimOptions::default(), &sizes);
        let mut lanes = Lanes::default();
        let job = Job::new(program, inputs.map(Input::Dense).to_vec(), None);
        let mut ids: Vec<u32> = (0..alpha.rows() as u32).collect();
        Key::new(7).shuffle(&mut ids);
        let batches: Vec<&[u32]> = ids.chunks_exact(batch).collect();
        let decays = vec![false; params.len()];
        let time = seconds(|| {
            for rows in &batches {
                let refs: Vec<&Mat> = params.iter().collect();
                let dropping = Dropping::AsBuilt(Key::new(1).at(adam.clock()));
                let call = Call { params: &refs, norms: Norms::Batch, dropping };
                job.gradient(&call, RowSet::List(rows), &objective, &mut lanes);
                let mut p: Vec<&mut [Real]> = params.iter_mut().map(Mat::data_mut).collect();
                let mut g: Vec<&mut [Real]> = lanes.gradient().iter_mut().map(Mat::data_mut).collect();
                adam.step(1e-3, &mut p, &mut g, &decays);
            }
        });
        let width = alpha.cols();
        let flops = 2.0 * 2.0 * (2 * width * width) as f64 * (batches.len() * batch) as f64;
        flops / time / self.peak
    }
}

/// Groups that two edges in three stay inside, their nodes shuffled.
fn grouped(blocks: u64, each: u64, degree: u64) -> Graph {
    let (n, key) = (blocks * each, Key::new(9));
    let mut ids: Vec<u32> = (0..n as u32).collect();
    key.shuffle(&mut ids);
    let edge = |i: u64| {
        let (v, r) = (key.u64(2 * i) % n, key.u64(2 * i + 1));
        let u = if r.is_multiple_of(3) { r / 3 % n } else { v / each * each + r / 3 % each };
        [ids[u as usize], ids[v as usize]]
    };
    let edges: Vec<[u32; 2]> = (0..n * degree / 2).map(edge).collect();
    Graph::from_edges(n as usize, &edges, EdgeOptions::default()).expect("ids below n")
}

/// `dropout(relu(norm([z | x] W + b)))`.
fn layer(width: usize, activation: Activation, precision: Precision) -> Program {
    let mut b = Builder::with_precision(precision);
    let z = b.input(Source::Aggregate { layer: 2, part: 0 }, width);
    let x = b.input(Source::Embedding(1), width);
    let (z, x) = (b.dropout(z, 0.2), b.dropout(x, 0.2));
    let h = b.linear("w", &[z, x], width);
    let h = b.bias("b", h);
    let h = b.layer_norm("norm", h, 1e-5);
    let h = b.activate(h, activation);
    b.finish(h)
}

fn main() {
    let word = std::env::args().skip(1).find(|a| !a.starts_with('-')).unwrap_or_default();
    let threads = rayon::current_num_threads();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool of threads");
    pool.install(|| {
        let bench = Bench { word, peak: limits::peak() };
        println!("{:?} on {threads} threads: {:.1} GFLOP/s", isa(), bench.peak / 1e9);
        bench.products();
        bench.rowwise();
        bench.features();
        bench.aggregation();
        bench.orders();
        bench.steps();
    });
}

//! Features, labels and split of a block model.

use super::blocks::Blocks;
use super::random::{Purpose, Stream};
use super::{Shape, Task};
use iglu::{Labels, Mat, Split};
use rayon::prelude::*;

/// Rows per stream: fixed, so that threads change nothing.
const ROWS: usize = 1024;

/// `x_v = sqrt(2) mu_block(v) + unit noise`, with block means `mu` of length `signal`.
pub(super) fn features(shape: &Shape, blocks: &Blocks) -> Mat {
    let (n, f) = (blocks.of.len(), shape.features);
    let means = means(shape, blocks.seed);
    let mut x = Mat::zeros(n, f);
    let parts = x.data_mut().par_chunks_mut(ROWS * f).zip(blocks.of.par_chunks(ROWS));
    parts.enumerate().for_each(|(part, (rows, of))| {
        Stream::new(blocks.seed, Purpose::Features, part as u64).fill_normal(rows);
        for (row, &block) in rows.chunks_exact_mut(f).zip(of) {
            row.iter_mut().zip(means.row(block as usize)).for_each(|(x, mean)| *x += mean);
        }
    });
    x
}

/// One mean per block, in a random direction, of length `signal * sqrt(2)`.
fn means(shape: &Shape, seed: u64) -> Mat {
    let mut means = Mat::zeros(shape.blocks(), shape.features);
    for block in 0..shape.blocks() {
        let row = means.row_mut(block);
        Stream::new(seed, Purpose::Means, block as u64).fill_normal(row);
        let length = row.iter().map(|v| v * v).sum::<f32>().sqrt();
        let factor = (shape.signal * std::f64::consts::SQRT_2) as f32 / length;
        for v in row {
            *v *= factor;
        }
    }
    means
}

/// Labels as the task says.
pub(super) fn labels(shape: &Shape, blocks: &Blocks) -> Labels {
    match shape.task {
        Task::Classes => Labels::Classes { ids: class_ids(shape, blocks), classes: shape.classes },
        Task::Labels => Labels::Multi { values: label_rows(shape, blocks), classes: shape.classes },
    }
}

/// Class `block mod classes`, or any class for a share `noise` of the nodes.
fn class_ids(shape: &Shape, blocks: &Blocks) -> Vec<i32> {
    let mut ids = vec![0; blocks.of.len()];
    let parts = ids.par_chunks_mut(ROWS).zip(blocks.of.par_chunks(ROWS));
    parts.enumerate().for_each(|(part, (ids, of))| {
        let mut stream = Stream::new(blocks.seed, Purpose::Labels, part as u64);
        for (id, &block) in ids.iter_mut().zip(of) {
            let noisy = stream.uniform() < shape.noise;
            let random = stream.below(shape.classes);
            *id = if noisy { random } else { block as usize % shape.classes } as i32;
        }
    });
    ids
}

/// Label `c` of node `v` with the rate of its block.
fn label_rows(shape: &Shape, blocks: &Blocks) -> Vec<i8> {
    let c = shape.classes;
    let rates = label_rates(shape, blocks.seed);
    let mut values = vec![0_i8; blocks.of.len() * c];
    let parts = values.par_chunks_mut(ROWS * c).zip(blocks.of.par_chunks(ROWS));
    parts.enumerate().for_each(|(part, (rows, of))| {
        let mut stream = Stream::new(blocks.seed, Purpose::Labels, part as u64);
        for (row, &block) in rows.chunks_exact_mut(c).zip(of) {
            let rates = &rates[block as usize * c..];
            row.iter_mut().zip(rates).for_each(|(y, rate)| *y = i8::from(stream.uniform() < *rate));
        }
    });
    values
}

/// Rates of labels by block: for three in ten 0.85 to 1, for the others 0 to 0.1.
fn label_rates(shape: &Shape, seed: u64) -> Vec<f64> {
    let mut stream = Stream::new(seed, Purpose::LabelRates, 0);
    let mut rate = || {
        let (common, u) = (stream.uniform() < 0.3, stream.uniform());
        if common { 0.85 + 0.15 * u } else { 0.1 * u }
    };
    (0..shape.blocks() * shape.classes).map(|_| rate()).collect()
}

/// A random split in the shape's shares; each part sorted.
pub(super) fn split(shape: &Shape, n: usize, seed: u64) -> Split {
    let order = Stream::new(seed, Purpose::Split, 0).permutation(n);
    let train = (n as f64 * shape.train) as usize;
    let val = (n as f64 * (shape.train + shape.val)) as usize;
    let sorted = |ids: &[u32]| {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids
    };
    Split { train: sorted(&order[..train]), val: sorted(&order[train..val]), test: sorted(&order[val..]) }
}

//! Time and work of one phase of training, and how close it is to the machine's limits.

use super::machine::Machine;
use iglu::lazy::work::Work;
use serde::Serialize;

/// A phase of an epoch.
#[derive(Debug, Clone, Serialize)]
pub struct Phase {
    /// `T_1`, `X_1`, `Z_2`, `A_1`, `Tail(2)`, `evaluation`, ...
    pub name: String,
    /// Median over the epochs.
    pub seconds: f64,
    /// Operations of dense and sparse products, in 10^9.
    pub gflop: f64,
    /// The same per second.
    pub gflops: f64,
    /// Bytes that have to be moved, in 10^9.
    pub gbytes: f64,
    /// The same per second.
    pub gbytes_per_second: f64,
    /// Share of the peak of fused multiply-adds.
    pub peak_share: f64,
    /// Share of the time that moving the bytes takes at the measured rates.
    pub memory_share: f64,
    /// Seconds of the same products alone.
    pub product_seconds: f64,
    /// Seconds of the same operations in square products.
    pub square_seconds: f64,
    /// Seconds of moving the same bytes alone.
    pub memory_seconds: f64,
    /// Seconds over those of the products and bytes alone.
    pub ratio: f64,
}

impl Phase {
    /// Holds the time of some work against the machine.
    pub fn new(name: &str, seconds: f64, work: &Work, machine: &Machine) -> Self {
        let [product_seconds, square_seconds] = machine.product_seconds(work);
        let memory_seconds = machine.memory_seconds(work);
        let flops = work.dense_flops() + work.sparse_flops;
        Self {
            name: name.to_string(),
            seconds,
            gflop: flops / 1e9,
            gflops: flops / 1e9 / seconds,
            gbytes: work.bytes() / 1e9,
            gbytes_per_second: work.bytes() / 1e9 / seconds,
            peak_share: flops / seconds / machine.peak(),
            memory_share: memory_seconds / seconds,
            product_seconds,
            square_seconds,
            memory_seconds,
            ratio: seconds / (product_seconds + memory_seconds),
        }
    }
}

/// The middle of some numbers.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_between_the_halves() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }
}

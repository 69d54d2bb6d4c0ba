//! Mean and standard deviation over seeds.

use serde::{Deserialize, Serialize};

/// Some values summed up.
///
/// ```
/// let spread = iglu_report::stats::Spread::of([1.0, 2.0, 3.0]).unwrap();
/// assert_eq!((spread.mean, spread.std, spread.n), (2.0, Some(1.0), 3));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Standard deviation with `n - 1`; nothing for one value.
    pub std: Option<f64>,
    /// How many.
    pub n: usize,
}

impl Spread {
    /// Mean and deviation of the finite values; nothing if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        Some(Self { mean, std: (n > 1).then(|| (squares / (n - 1) as f64).sqrt()), n })
    }

    /// `0.9231 ± 0.0042`, or only the mean of one value.
    pub fn text(&self, decimals: usize) -> String {
        let mean = format!("{:.decimals$}", self.mean);
        self.std.map_or_else(|| mean.clone(), |std| format!("{mean} ± {std:.decimals$}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against `statistics.mean` and `statistics.stdev` of Python.
    #[test]
    fn deviation_divides_by_one_less() {
        let spread = Spread::of([0.91, 0.93, 0.92, 0.97]).unwrap();
        assert!((spread.mean - 0.9325).abs() < 1e-15 && spread.n == 4);
        assert!((spread.std.unwrap() - 0.026299556396765802).abs() < 1e-15);
        assert_eq!(spread.text(4), "0.9325 ± 0.0263");
    }

    #[test]
    fn one_value_has_no_deviation_and_none_no_mean() {
        let one = Spread::of([0.5, f64::NAN]).unwrap();
        assert_eq!((one.std, one.n, one.text(2).as_str()), (None, 1, "0.50"));
        assert_eq!(Spread::of([]), None);
    }
}

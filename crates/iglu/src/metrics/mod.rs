//! Scores of predictions: higher is better, 1 is perfect.
//!
//! A metric sees the logits of all nodes, all labels, and the rows to be scored. Rows without a label are skipped,
//! and so are the unknown labels of a row. A prediction is the class of the largest logit (the first one of
//! several), or for several labels every label with a logit above 0.
//!
//! To add a metric: a file beside this one with its formula, a variant of [`Metric`], a line in [`METRICS`] and one
//! in [`Metric::score`]. Metrics do not choose models and know no splits.

mod accuracy;
mod f1;
mod roc_auc;
mod tally;
#[cfg(test)]
mod tests;

pub use tally::Tally;

use crate::{Error, Labels, Mat, Real, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What is measured.
///
/// ```
/// use iglu::{Labels, Mat, metrics::Metric};
/// let labels = Labels::Classes { ids: vec![0, 1, -1], classes: 2 };
/// let logits = Mat::from_rows(&[[1.0, 0.0], [2.0, 0.5], [0.0, 9.0]]);
/// assert_eq!(Metric::default_for(&labels).score(&logits, &labels, &[0, 1, 2]), Some(0.5));
/// assert_eq!(Metric::RocAuc.score(&logits, &labels, &[2]), None);
/// assert_eq!("f1-macro".parse(), Ok(Metric::F1Macro));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Metric {
    /// Share of nodes whose class is right; for several labels, share of labels that are right.
    Accuracy,
    /// F1 of all decisions together.
    F1Micro,
    /// Mean of the F1 of each class.
    F1Macro,
    /// Area under the ROC curve, mean over classes.
    RocAuc,
}

/// Every metric under its name.
pub const METRICS: &[(&str, Metric)] = &[
    ("accuracy", Metric::Accuracy),
    ("f1-micro", Metric::F1Micro),
    ("f1-macro", Metric::F1Macro),
    ("roc-auc", Metric::RocAuc),
];

impl Metric {
    /// What is usual for such labels: accuracy for one class per node, micro F1 for several labels.
    pub fn default_for(labels: &Labels) -> Self {
        match labels {
            Labels::Classes { .. } => Self::Accuracy,
            Labels::Multi { .. } => Self::F1Micro,
        }
    }

    /// The score of `logits` (all nodes x classes) on `rows`; nothing where it is not defined, as without any
    /// labelled row.
    pub fn score(&self, logits: &Mat, labels: &Labels, rows: &[u32]) -> Option<f64> {
        assert_eq!(logits.cols(), labels.classes(), "columns of logits and number of classes");
        let task = Task { logits, labels, rows };
        match self {
            Self::Accuracy => accuracy::accuracy(&task),
            Self::F1Micro => f1::micro(&task),
            Self::F1Macro => f1::macro_mean(&task),
            Self::RocAuc => roc_auc::roc_auc(&task),
        }
    }

    /// Its name in [`METRICS`].
    pub fn name(&self) -> &'static str {
        METRICS.iter().find(|(_, metric)| metric == self).map_or("", |(name, _)| name)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Metric {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = || METRICS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let found = METRICS.iter().find(|(other, _)| *other == name).map(|(_, metric)| *metric);
        found.ok_or_else(|| {
            Error::usage("metric", format!("there is no `{name}`"), format!("one of {}", known()))
        })
    }
}

/// What a metric looks at.
struct Task<'a> {
    logits: &'a Mat,
    labels: &'a Labels,
    rows: &'a [u32],
}

impl Task<'_> {
    /// Confusion of each class against the rest over the labelled rows.
    fn confusion(&self) -> Vec<Confusion> {
        const ROWS: usize = 4096;
        let none = || vec![Confusion::default(); self.labels.classes()];
        let some = |rows: &[u32]| {
            let mut classes = none();
            match self.labels {
                Labels::Classes { ids, .. } => self.count_classes(rows, ids, &mut classes),
                Labels::Multi { values, .. } => self.count_labels(rows, values, &mut classes),
            }
            classes
        };
        let both = |mut classes: Vec<Confusion>, others: Vec<Confusion>| {
            classes.iter_mut().zip(others).for_each(|(class, other)| class.add(other));
            classes
        };
        self.rows.par_chunks(ROWS).map(some).reduce(none, both)
    }

    fn count_classes(&self, rows: &[u32], ids: &[i32], classes: &mut [Confusion]) {
        for &i in rows {
            let Ok(y) = usize::try_from(ids[i as usize]) else { continue };
            let prediction = argmax(self.logits.row(i as usize));
            if prediction == y {
                classes[y].hits += 1;
            } else {
                classes[y].misses += 1;
                classes[prediction].false_alarms += 1;
            }
        }
    }

    fn count_labels(&self, rows: &[u32], values: &[i8], classes: &mut [Confusion]) {
        for &i in rows {
            let labels = &values[i as usize * classes.len()..];
            for ((class, &z), &y) in classes.iter_mut().zip(self.logits.row(i as usize)).zip(labels) {
                match (y, z > 0.0) {
                    (1.., true) => class.hits += 1,
                    (1.., false) => class.misses += 1,
                    (0, true) => class.false_alarms += 1,
                    (0, false) => class.rejections += 1,
                    (..0, _) => {}
                }
            }
        }
    }
}

/// How often a class was predicted and true. Correct rejections are counted for several labels only: for one class
/// per node they would count every node again for every class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confusion {
    /// Predicted and true.
    pub hits: u64,
    /// True, but not predicted.
    pub misses: u64,
    /// Predicted, but not true.
    pub false_alarms: u64,
    /// Neither.
    pub rejections: u64,
}

impl Confusion {
    /// Share of the predictions that are true; nothing without predictions.
    pub fn precision(&self) -> Option<f64> {
        share(self.hits as f64, self.false_alarms as f64)
    }

    /// Share of the true ones that are predicted; nothing without true ones.
    pub fn recall(&self) -> Option<f64> {
        share(self.hits as f64, self.misses as f64)
    }

    /// Harmonic mean of precision and recall, 0 for 0 / 0.
    pub fn f1(&self) -> f64 {
        share(2.0 * self.hits as f64, self.misses as f64 + self.false_alarms as f64).unwrap_or(0.0)
    }

    fn add(&mut self, other: Self) {
        self.hits += other.hits;
        self.misses += other.misses;
        self.false_alarms += other.false_alarms;
        self.rejections += other.rejections;
    }

    fn total(&self) -> u64 {
        self.hits + self.misses + self.false_alarms + self.rejections
    }
}

/// `part / (part + rest)`; nothing for 0 / 0.
fn share(part: f64, rest: f64) -> Option<f64> {
    (part + rest > 0.0).then(|| part / (part + rest))
}

/// The first of the largest values: the class that is predicted.
pub fn argmax(z: &[Real]) -> usize {
    (1..z.len()).fold(0, |best, c| if z[c] > z[best] { c } else { best })
}

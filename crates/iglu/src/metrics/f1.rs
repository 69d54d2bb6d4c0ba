//! F1, the harmonic mean of precision and recall: `2 hits / (2 hits + misses + false alarms)`, 0 for 0 / 0.
//!
//! Micro: the counts of all classes are added first; with one class per node that is the accuracy. Macro: the mean
//! over classes, as scikit-learn takes it: with one class per node over the classes that are true or predicted
//! somewhere, with several labels over all labels (here: those of which anything is known).

use super::{Confusion, Task};

pub(super) fn micro(task: &Task<'_>) -> Option<f64> {
    let classes = task.confusion();
    let sum = |count: fn(&Confusion) -> u64| classes.iter().map(count).sum();
    let all = Confusion {
        hits: sum(|c| c.hits),
        misses: sum(|c| c.misses),
        false_alarms: sum(|c| c.false_alarms),
        rejections: sum(|c| c.rejections),
    };
    (all.total() > 0).then(|| all.f1())
}

pub(super) fn macro_mean(task: &Task<'_>) -> Option<f64> {
    let seen: Vec<f64> = task.confusion().iter().filter(|c| c.total() > 0).map(Confusion::f1).collect();
    (!seen.is_empty()).then(|| seen.iter().sum::<f64>() / seen.len() as f64)
}

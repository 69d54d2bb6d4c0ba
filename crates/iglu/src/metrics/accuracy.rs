//! Accuracy: the share of decisions that are right. A decision is the class of a node, or one known label of it.

use super::Task;
use crate::Labels;

pub(super) fn accuracy(task: &Task<'_>) -> Option<f64> {
    let (mut right, mut all) = (0, 0);
    for class in task.confusion() {
        right += class.hits + class.rejections;
        // With one class per node a mistake is both a miss and a false alarm: count it once.
        all += match task.labels {
            Labels::Classes { .. } => class.hits + class.misses,
            Labels::Multi { .. } => class.total(),
        };
    }
    (all > 0).then(|| right as f64 / all as f64)
}

//! Predictions against the truth, class by class: the counts behind precision, recall and the confusion matrix.

use super::{Confusion, Task, argmax};
use crate::{Labels, Mat};
use serde::{Deserialize, Serialize};

/// What was predicted and what was true on some rows.
///
/// ```
/// use iglu::{Labels, Mat, metrics::Tally};
/// let labels = Labels::Classes { ids: vec![0, 1, 1, -1], classes: 2 };
/// let logits = Mat::from_rows(&[[1.0, 0.0], [2.0, 0.5], [0.0, 9.0], [0.0, 1.0]]);
/// let tally = Tally::of(&logits, &labels, &[0, 1, 2, 3]);
/// assert_eq!((tally.nodes, tally.mistakes), (3, vec![[1, 0, 1]]));
/// assert_eq!((tally.classes[1].precision(), tally.classes[1].recall()), (Some(1.0), Some(0.5)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Rows of which anything is known.
    pub nodes: usize,
    /// Each class against the rest.
    pub classes: Vec<Confusion>,
    /// `[true class, predicted class, nodes]`, the most frequent first; with several labels per node there are none.
    pub mistakes: Vec<[usize; 3]>,
}

impl Tally {
    /// Counts the labelled ones of `rows`; `logits` has all nodes x classes.
    pub fn of(logits: &Mat, labels: &Labels, rows: &[u32]) -> Self {
        assert_eq!(logits.cols(), labels.classes(), "columns of logits and number of classes");
        let task = Task { logits, labels, rows };
        let mistakes = match labels {
            Labels::Classes { ids, .. } => mistakes(&task, ids),
            Labels::Multi { .. } => Vec::new(),
        };
        let nodes = rows.iter().filter(|&&i| labels.known(i as usize)).count();
        Self { nodes, classes: task.confusion(), mistakes }
    }
}

fn mistakes(task: &Task<'_>, ids: &[i32]) -> Vec<[usize; 3]> {
    let wrong = |&i: &u32| {
        let truth = usize::try_from(ids[i as usize]).ok()?;
        let prediction = argmax(task.logits.row(i as usize));
        (truth != prediction).then_some((truth, prediction))
    };
    let mut pairs: Vec<_> = task.rows.iter().filter_map(wrong).collect();
    pairs.sort_unstable();
    let mut counts: Vec<_> = pairs.chunk_by(|a, b| a == b).map(|c| [c[0].0, c[0].1, c.len()]).collect();
    counts.sort_by(|a, b| b[2].cmp(&a[2]).then(a.cmp(b)));
    counts
}

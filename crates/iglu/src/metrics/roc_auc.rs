//! Area under the ROC curve: the chance that a random positive scores above a random negative, ties counting half.
//!
//! From ranks: `(R - p (p + 1) / 2) / (p n)`, where `R` is the sum of the ranks of the `p` positives among all
//! `p + n` scores, equal scores sharing their mean rank. Averaged over the classes that have both positives and
//! negatives (the rule of the Open Graph Benchmark). Score of a node:
//!
//! * several labels: the logit of the label; unknown labels are skipped;
//! * two classes: `z_1 - z_0`, the second class being the positive one;
//! * more classes: the softmax probability of the class, one class against the rest.
//!
//! Not defined where no class has both, or where a score is not a number.

use super::Task;
use crate::{Labels, Real};
use rayon::prelude::*;

pub(super) fn roc_auc(task: &Task<'_>) -> Option<f64> {
    mean_area(task).filter(|area| !area.is_nan())
}

fn mean_area(task: &Task<'_>) -> Option<f64> {
    match task.labels {
        Labels::Classes { ids, classes: 2 } => {
            area(scored(task, |i| (ids[i] >= 0).then(|| (margin(task.logits.row(i)), ids[i] == 1))))
        }
        Labels::Classes { ids, classes } => {
            let row = |&i: &u32| {
                (ids[i as usize] >= 0).then(|| (softmax(task.logits.row(i as usize)), ids[i as usize]))
            };
            let rows: Vec<(Vec<f64>, i32)> = task.rows.iter().filter_map(row).collect();
            mean(*classes, |c| area(rows.iter().map(|(p, y)| (p[c], *y as usize == c)).collect()))
        }
        Labels::Multi { values, classes } => mean(*classes, |c| {
            let label = |i: usize| values[i * classes + c];
            area(scored(task, |i| (label(i) >= 0).then(|| (f64::from(task.logits.row(i)[c]), label(i) > 0))))
        }),
    }
}

/// Score and truth of the rows that have both.
fn scored(task: &Task<'_>, row: impl Fn(usize) -> Option<(f64, bool)>) -> Vec<(f64, bool)> {
    task.rows.iter().filter_map(|&i| row(i as usize)).collect()
}

fn margin(z: &[Real]) -> f64 {
    f64::from(z[1]) - f64::from(z[0])
}

fn softmax(z: &[Real]) -> Vec<f64> {
    let high = z.iter().copied().fold(Real::NEG_INFINITY, Real::max);
    let powers: Vec<f64> = z.iter().map(|&z| (f64::from(z) - f64::from(high)).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|p| p / sum).collect()
}

/// Over the classes where `class` is defined, added in order.
fn mean(classes: usize, class: impl Fn(usize) -> Option<f64> + Sync + Send) -> Option<f64> {
    let areas: Vec<f64> = (0..classes).into_par_iter().filter_map(class).collect();
    (!areas.is_empty()).then(|| areas.iter().sum::<f64>() / areas.len() as f64)
}

/// Not a number if a score is none.
fn area(mut scores: Vec<(f64, bool)>) -> Option<f64> {
    if scores.iter().any(|(score, _)| score.is_nan()) {
        return Some(f64::NAN);
    }
    let positives = scores.iter().filter(|(_, yes)| *yes).count();
    let pairs = positives as f64 * (scores.len() - positives) as f64;
    scores.par_sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    (pairs > 0.0).then(|| (rank_sum(&scores) - 0.5 * positives as f64 * (positives + 1) as f64) / pairs)
}

/// Sum of the ranks (from 1) of the positives; equal scores share their mean rank.
fn rank_sum(sorted: &[(f64, bool)]) -> f64 {
    let mut before = 0;
    let mut sum = 0.0;
    for ties in sorted.chunk_by(|a, b| a.0 == b.0) {
        let rank = before as f64 + 0.5 * (ties.len() + 1) as f64;
        sum += rank * ties.iter().filter(|(_, yes)| *yes).count() as f64;
        before += ties.len();
    }
    sum
}

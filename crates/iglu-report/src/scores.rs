//! Tables of scores: by split, and by class.

use crate::numbers::{grouped, score};
use crate::profile::Profile;
use crate::record::Scores;
use crate::table::{Cell, Column, Table};
use std::cmp::Reverse;

/// Scores as they are called in files, and for people.
const NAMES: [(&str, &str); 4] =
    [("accuracy", "accuracy"), ("f1-micro", "micro F1"), ("f1-macro", "macro F1"), ("roc-auc", "ROC-AUC")];

/// The name of a split for people.
pub fn split_name(split: &str) -> &str {
    match split {
        "val" => "validation",
        "train" => "training",
        other => other,
    }
}

/// Every score on every split.
pub fn by_split(scores: &[Scores]) -> Table {
    let mut columns = vec![Column::Words("split"), Column::Numbers("nodes")];
    columns.extend(NAMES.map(|(_, title)| Column::Numbers(title)));
    let mut table = Table::new(&columns);
    for split in scores {
        let mut row: Vec<Cell> = vec![split_name(&split.split).into(), grouped(split.tally.nodes).into()];
        row.extend(NAMES.map(|(name, _)| score(split.metrics.get(name).copied()).into()));
        table.push(row);
    }
    table
}

/// Precision and recall of the largest classes, at most `most` of them.
pub fn by_class(scores: &Scores, profile: &Profile, most: usize) -> Table {
    let mut columns = vec![
        Column::Words("class"),
        Column::Numbers("nodes"),
        Column::Numbers("precision"),
        Column::Numbers("recall"),
        Column::Numbers("F1"),
    ];
    // With several labels per node nothing is taken for something else.
    let confused = !scores.tally.mistakes.is_empty();
    columns.extend(confused.then_some(Column::Words("most often taken for")));
    let mut table = Table::new(&columns);
    let classes = &scores.tally.classes;
    let size = |c: usize| classes[c].hits.saturating_add(classes[c].misses);
    let mut order: Vec<usize> = (0..classes.len()).collect();
    order.sort_by_key(|&c| Reverse(size(c)));
    for &c in order.iter().take(most) {
        let taken_for = scores.tally.mistakes.iter().find(|m| m[0] == c);
        let taken_for = taken_for.map_or_else(String::new, |m| format!("{} ({})", profile.name(m[1]), m[2]));
        let mut row = vec![
            profile.name(c).into(),
            grouped(size(c) as usize).into(),
            Cell::share(classes[c].precision()),
            Cell::share(classes[c].recall()),
            Cell::share(Some(classes[c].f1())),
        ];
        row.extend(confused.then(|| taken_for.into()));
        table.push(row);
    }
    table
}

//! How well each class is found: confusion matrix or largest confusions, and a table of precision and recall.

use super::html;
use crate::plot::{Frame, Matrix};
use crate::profile::Profile;
use crate::record::Scores;
use crate::scores::{by_class, split_name};
use crate::table::{Cell, Column, Table};

/// Up to this many classes the matrix is drawn whole.
pub(super) const MATRIX: usize = 60;
/// Rows of a table at most.
const ROWS: usize = 60;

/// The section about the classes on one split.
pub(super) fn section(scores: &Scores, profile: &Profile) -> String {
    let multi_label = scores.tally.classes.iter().any(|c| c.rejections > 0);
    let what = if multi_label { "labels" } else { "classes" };
    let title = format!("{} on the {} nodes", html::capital(what), split_name(&scores.split));
    let intro = "Precision: share of what was predicted as this that is this. Recall: share of what is this that was \
        predicted. F1: their harmonic mean.";
    let mut body = html::paragraph(intro);
    body += &confusions(scores, profile);
    body += &by_class(scores, profile, ROWS).html();
    let left_out = scores.tally.classes.len().saturating_sub(ROWS);
    if left_out > 0 {
        body += &html::remark(&format!("{left_out} smaller {what} are left out; summary.json has them all."));
    }
    html::section(&title, &body)
}

fn confusions(scores: &Scores, profile: &Profile) -> String {
    let tally = &scores.tally;
    if tally.mistakes.is_empty() {
        return String::new();
    }
    if tally.classes.len() > MATRIX {
        return mistakes(scores, profile).html();
    }
    let right = tally.classes.iter().enumerate().map(|(c, class)| [c, c, class.hits as usize]);
    let cells = right.chain(tally.mistakes.iter().copied()).filter(|cell| cell[2] > 0).collect();
    let names = (0..tally.classes.len()).map(|c| profile.name(c)).collect();
    let matrix = Matrix { title: "Confusion matrix".into(), names, cells };
    let svg = matrix.svg(Frame::Page).unwrap_or_default();
    let about = "Rows are true classes, columns predicted ones; a cell is as dark as its share of the row.";
    let caption = format!("<figcaption>Confusion matrix</figcaption>{}", html::remark(about));
    format!("<figure class=\"matrix\">{caption}{svg}</figure>\n")
}

/// The largest confusions, where a matrix would be too large.
fn mistakes(scores: &Scores, profile: &Profile) -> Table {
    let mut table = Table::new(&[
        Column::Words("true class"),
        Column::Words("taken for"),
        Column::Numbers("nodes"),
        Column::Numbers("share of the class"),
    ]);
    for &[truth, prediction, count] in scores.tally.mistakes.iter().take(ROWS / 2) {
        let all = scores.tally.classes.get(truth).map_or(0, |c| c.hits.saturating_add(c.misses));
        table.push([
            profile.name(truth).into(),
            profile.name(prediction).into(),
            count.to_string().into(),
            Cell::share((all > 0).then(|| count as f64 / all as f64)),
        ]);
    }
    table
}

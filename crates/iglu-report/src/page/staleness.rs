//! What laziness did: bias, cosine and age of the stale gradients, lambda and rho, rank and dead units.

use super::html;
use crate::folder::Run;
use crate::plot::{Axis, Frame, Lines, Series, Values};
use iglu::observe::{LayerPoint, RefreshPoint};

/// The section about stale gradients.
pub(super) fn section(run: &Run) -> String {
    let refreshes: Vec<&RefreshPoint> = run.epochs.iter().flat_map(|e| &e.refreshes).collect();
    let measured = refreshes.iter().any(|r| !r.layers.is_empty());
    if !measured && refreshes.iter().all(|r| r.rho.is_none()) {
        let text = "No stale gradient was measured: this order has none, there is no lazy layer, or train.telemetry is off.";
        return html::section("Lazy updates", &html::remark(text));
    }
    let plots = [
        layers(&refreshes, Axis::log("|stale - true| / |true|"), "Bias of the gradient", |p| p.bias),
        layers(&refreshes, Axis::linear("cosine"), "Direction of the gradient", |p| p.cosine),
        layers(&refreshes, Axis { values: Values::Whole, ..Axis::from_zero("steps") }, "Staleness", |p| {
            Some(p.age as f64)
        }),
        control(&refreshes, Axis::log("lambda"), "Weight of the proximal term", |r| Some(r.lambda)),
        control(&refreshes, Axis::linear("rho"), "Gain ratio", |r| r.rho),
        layers(&refreshes, Axis::linear("rank"), "Rank of the embeddings", |p| Some(p.rank)),
        layers(&refreshes, Axis { values: Values::Whole, ..Axis::from_zero("columns") }, "Dead units", |p| {
            Some(p.dead as f64)
        }),
    ];
    html::section("Lazy updates", &(html::paragraph(MEANING) + &html::figures(plots)))
}

const MEANING: &str = "Between two refreshes a lazy layer is trained on a gradient that grows stale. At the next refresh the \
    stale gradient is compared with the true one on a sample of rows: bias 0 and cosine 1 mean that laziness cost nothing. \
    Staleness counts the optimiser steps made on it. Rho is the true decrease of the loss over the promised one; below 0.25 \
    the proximal weight lambda doubles, above 0.6 it shrinks. Rank says over how many directions the embeddings spread; dead \
    units are columns that are constant.";

type Plot = (String, Option<String>);

/// A curve for each layer over the refreshes.
fn layers(
    refreshes: &[&RefreshPoint],
    y: Axis,
    title: &str,
    number: impl Fn(&LayerPoint) -> Option<f64>,
) -> Plot {
    let mut names: Vec<usize> = refreshes.iter().flat_map(|r| r.layers.iter().map(|l| l.k)).collect();
    names.sort_unstable();
    names.dedup();
    let curve = |(colour, k): (usize, &usize)| {
        let at = |r: &RefreshPoint| r.layers.iter().find(|l| l.k == *k).and_then(&number);
        let points = (1u32..).zip(refreshes).filter_map(|(i, r)| Some([f64::from(i), at(r)?])).collect();
        Series { name: format!("layer {k}"), points, colour, ..Series::default() }
    };
    drawn(title, y, names.iter().enumerate().map(curve).collect())
}

fn control(
    refreshes: &[&RefreshPoint],
    y: Axis,
    title: &str,
    number: impl Fn(&RefreshPoint) -> Option<f64>,
) -> Plot {
    let points = (1u32..).zip(refreshes).filter_map(|(i, r)| Some([f64::from(i), number(r)?])).collect();
    drawn(title, y, vec![Series { points, colour: 3, ..Series::default() }])
}

fn drawn(title: &str, y: Axis, series: Vec<Series>) -> Plot {
    let lines =
        Lines { title: title.to_string(), x: Axis::counting("refresh"), y, series, marks: Vec::new() };
    (lines.title.clone(), lines.svg(Frame::Page))
}

//! How well predictions do on the splits of a dataset.

use crate::text;
use iglu::metrics::{METRICS, Metric, Tally};
use iglu::model::Model;
use iglu::{Dataset, Labels, Mat};
use iglu_report::record::Scores;

/// Up to this many classes all confusions are kept, else the most frequent ones.
const ALL_CONFUSIONS: usize = 60;
/// How many are kept then.
const MOST_CONFUSIONS: usize = 100;

/// Ranking every class against the rest is worth it up to this many scores, if nobody asks for it.
const FEW_SCORES: usize = 1 << 24;

/// Which scores are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// All that are defined.
    All,
    /// Those that come at little cost.
    Cheap,
}

/// A model with what it predicts for every node of a dataset.
pub struct Judge<'a> {
    logits: &'a Mat,
    data: &'a Dataset,
    /// The labels in terms of the network's outputs, if they can be.
    labels: Option<Labels>,
    /// The score the model was chosen by, or the usual one.
    pub metric: Metric,
}

impl<'a> Judge<'a> {
    /// Sees whether the labels are those of the model, and says so if they are not.
    pub fn new(model: &Model, data: &'a Dataset, logits: &'a Mat) -> Self {
        let labels = as_outputs(model, &data.labels);
        if labels.is_none() && (0..data.labels.len()).any(|i| data.labels.known(i)) {
            text::note("note: the labels of the data are not those of the model: no scores");
        }
        let metric = model.config().select.metric.or(Metric::default_for(&data.labels));
        Self { logits, data, labels, metric }
    }

    /// The model's own score on some nodes.
    pub fn score(&self, rows: &[u32]) -> Option<f64> {
        self.metric.score(self.logits, self.labels.as_ref()?, rows)
    }

    /// Every score on every split that has labelled nodes.
    pub fn scores(&self, depth: Depth) -> Vec<Scores> {
        let Some(labels) = &self.labels else { return Vec::new() };
        let split = &self.data.split;
        [("train", &split.train), ("val", &split.val), ("test", &split.test)]
            .into_iter()
            .map(|(name, rows)| self.split(name, rows, labels, depth))
            .filter(|scores| scores.tally.nodes > 0)
            .collect()
    }

    fn split(&self, name: &str, rows: &[u32], labels: &Labels, depth: Depth) -> Scores {
        let cheap = rows.len().saturating_mul(labels.classes()) <= FEW_SCORES;
        let wanted = |m: &Metric| *m != Metric::RocAuc || depth == Depth::All || cheap || *m == self.metric;
        let score = |(name, metric): &(&str, Metric)| {
            let value = wanted(metric).then(|| metric.score(self.logits, labels, rows))??;
            Some(((*name).to_string(), value))
        };
        let mut tally = Tally::of(self.logits, labels, rows);
        if labels.classes() > ALL_CONFUSIONS {
            tally.mistakes.truncate(MOST_CONFUSIONS);
        }
        Scores { split: name.to_string(), metrics: METRICS.iter().filter_map(score).collect(), tally }
    }
}

/// The labels in terms of the network's outputs, if they can be: other data may lack the last classes.
fn as_outputs(model: &Model, labels: &Labels) -> Option<Labels> {
    let shape = model.shape();
    match labels {
        Labels::Classes { ids, classes } if !shape.multi_label && *classes <= shape.classes => {
            Some(Labels::Classes { ids: ids.clone(), classes: shape.classes })
        }
        Labels::Multi { classes, .. } if shape.multi_label && *classes == shape.classes => {
            Some(labels.clone())
        }
        _ => None,
    }
}

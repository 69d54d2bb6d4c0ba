//! A dataset summed up in numbers, for people and for programs: [`Card`] counts what is cheap to count,
//! [`Inspection`] reads everything and names what is probably not meant.

mod classes;
mod columns;
mod components;
mod inspection;
mod memory;
mod problems;
mod text;

pub use classes::ClassSize;
pub use columns::Columns;
pub use components::Components;
pub use inspection::{DegreeBin, Inspection, RelationCard};
pub use problems::{Problem, problems};

use iglu::{Dataset, Features, Labels};
use std::fmt;

/// The numbers of a dataset.
///
/// ```
/// let village = iglu_data::load("synth:village", &Default::default())?;
/// let card = iglu_data::Card::of(&village);
/// assert_eq!((card.nodes, card.edges, card.task), (2_000, 9_000, "multi-class"));
/// assert!(card.to_string().contains("mean degree"));
/// # Ok::<(), iglu::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Card {
    /// Short name.
    pub name: String,
    /// Number of nodes.
    pub nodes: usize,
    /// Distinct edges without self loops; an undirected edge counts once.
    pub edges: usize,
    /// Whether edges send one way only.
    pub directed: bool,
    /// Whether edges carry weights.
    pub weighted: bool,
    /// Stored neighbours per node, on average.
    pub mean_degree: f64,
    /// Stored neighbours of the busiest node.
    pub max_degree: usize,
    /// Nodes without any edge.
    pub isolated: usize,
    /// Edges from a node to itself in the input.
    pub self_loops: usize,
    /// Edges of the input that repeat an earlier one.
    pub duplicates: usize,
    /// Features per node.
    pub features: usize,
    /// Whether only non-zero features are stored.
    pub sparse_features: bool,
    /// Number of classes or labels.
    pub classes: usize,
    /// `multi-class` (one class per node) or `multi-label` (any number of labels).
    pub task: &'static str,
    /// Nodes of which nothing is known.
    pub unlabelled: usize,
    /// Training nodes.
    pub train: usize,
    /// Nodes for model selection.
    pub val: usize,
    /// Nodes for the final score.
    pub test: usize,
}

impl Card {
    /// Counts.
    pub fn of(data: &Dataset) -> Self {
        let (graph, counts) = (&data.graph, data.graph.counts());
        let nodes = graph.nodes();
        Self {
            name: data.name.clone(),
            nodes,
            edges: counts.edges,
            directed: graph.directed(),
            weighted: graph.all_weights().is_some(),
            mean_degree: graph.entries() as f64 / nodes.max(1) as f64,
            max_degree: (0..nodes).map(|v| graph.neighbours(v).len()).max().unwrap_or(0),
            isolated: graph.isolated(),
            self_loops: counts.self_loops,
            duplicates: counts.duplicates,
            features: data.features.cols(),
            sparse_features: matches!(data.features, Features::Sparse(_)),
            classes: data.labels.classes(),
            task: task(&data.labels),
            unlabelled: (0..data.labels.len()).filter(|&i| !data.labels.known(i)).count(),
            train: data.split.train.len(),
            val: data.split.val.len(),
            test: data.split.test.len(),
        }
    }

    fn lines(&self) -> [(&'static str, String); 10] {
        let edge_kind = if self.directed { "directed" } else { "undirected" };
        let weights = if self.weighted { ", weighted" } else { "" };
        let storage = if self.sparse_features { "sparse" } else { "dense" };
        [
            ("nodes", grouped(self.nodes)),
            ("edges", format!("{} ({edge_kind}{weights})", grouped(self.edges))),
            ("mean degree", format!("{:.1} (largest {})", self.mean_degree, grouped(self.max_degree))),
            ("isolated", grouped(self.isolated)),
            ("self loops", grouped(self.self_loops)),
            ("duplicates", grouped(self.duplicates)),
            ("features", format!("{} ({storage})", grouped(self.features))),
            ("classes", format!("{} ({})", grouped(self.classes), self.task)),
            ("unlabelled", grouped(self.unlabelled)),
            ("split", format!("{} / {} / {}", grouped(self.train), grouped(self.val), grouped(self.test))),
        ]
    }
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        self.lines().iter().try_for_each(|(name, value)| write!(f, "\n  {name:<12} {value}"))
    }
}

fn task(labels: &Labels) -> &'static str {
    match labels {
        Labels::Classes { .. } => "multi-class",
        Labels::Multi { .. } => "multi-label",
    }
}

/// `1234567` as `1,234,567`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use iglu::{EdgeOptions, Graph, Mat, Split};

    fn triangle_with_a_hermit() -> Dataset {
        let edges = [[0, 1], [1, 2], [2, 0], [0, 2], [1, 1]];
        let graph = Graph::from_edges(4, &edges, EdgeOptions::default()).unwrap();
        let labels = Labels::Classes { ids: vec![0, 1, -1, 1], classes: 2 };
        let split = Split { train: vec![0, 1], val: vec![3], test: vec![] };
        Dataset::new("triangle", graph, Features::Dense(Mat::zeros(4, 2)), labels, split)
    }

    #[test]
    fn counts_by_hand() {
        let card = Card::of(&triangle_with_a_hermit());
        assert_eq!((card.nodes, card.edges, card.isolated), (4, 3, 1));
        assert_eq!((card.self_loops, card.duplicates, card.unlabelled), (1, 1, 1));
        assert_eq!((card.mean_degree, card.max_degree), (1.5, 2));
        assert_eq!((card.train, card.val, card.test), (2, 1, 0));
    }

    #[test]
    fn text_is_aligned_and_json_has_every_field() {
        let card = Card { nodes: 1_234_567, ..Card::of(&triangle_with_a_hermit()) };
        let text = card.to_string();
        assert!(
            text.starts_with("triangle\n  nodes        1,234,567\n  edges        3 (undirected)\n"),
            "{text}"
        );
        let json = serde_json::to_value(&card).unwrap();
        assert_eq!((json["task"].as_str(), json["mean_degree"].as_f64()), (Some("multi-class"), Some(1.5)));
    }
}

//! A long look at a dataset, for `iglu inspect`: reads every edge and every value once.

use super::classes::ClassSize;
use super::columns::Columns;
use super::components::Components;
use super::memory;
use super::problems::{Problem, problems};
use super::{Card, text};
use iglu::config::SplitChoice;
use iglu::{Dataset, Graph, Labels};
use rayon::prelude::*;
use serde::Serialize;
use std::fmt;

/// A dataset in detail: its [`Card`], and what takes longer to find out.
///
/// ```
/// let village = iglu_data::load("synth:village", &Default::default())?;
/// let seen = iglu_data::Inspection::of(&village, &Default::default());
/// assert_eq!((seen.card.nodes, seen.class_sizes.len()), (2000, 8));
/// # Ok::<(), iglu::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Inspection {
    /// The counts.
    #[serde(flatten)]
    pub card: Card,
    /// Where the data comes from.
    pub source: Option<String>,
    /// Its licence.
    pub licence: Option<String>,
    /// Half of the nodes have at most this many stored neighbours.
    pub median_degree: usize,
    /// Nodes by stored neighbours, in powers of two.
    pub degrees: Vec<DegreeBin>,
    /// Connected parts.
    pub components: Components,
    /// Share of the edges between labelled nodes that join nodes of one class; `None` for several labels per node.
    pub homophily: Option<f64>,
    /// Kinds of edges.
    pub relations: Vec<RelationCard>,
    /// The values of the features.
    pub columns: Columns,
    /// Nodes of each class.
    pub class_sizes: Vec<ClassSize>,
    /// Splits that the data came with.
    pub stored_splits: usize,
    /// The split in use, as it was asked for.
    pub split: String,
    /// Bytes that training with the defaults needs, roughly.
    pub train_bytes_estimate: u64,
    /// What the reader noticed.
    pub notes: Vec<String>,
    /// What is probably not meant.
    pub problems: Vec<Problem>,
}

/// Nodes with `from..=to` stored neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct DegreeBin {
    /// Fewest neighbours.
    pub from: usize,
    /// Most neighbours.
    pub to: usize,
    /// Nodes.
    pub nodes: usize,
}

/// One kind of edges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RelationCard {
    /// Its name.
    pub name: String,
    /// Its edges.
    pub edges: usize,
    /// Whether they send one way only.
    pub directed: bool,
}

impl Inspection {
    /// Reads all of it; `split` is the choice that gave the split in use.
    pub fn of(data: &Dataset, split: &SplitChoice) -> Self {
        let columns = Columns::of(&data.features);
        let mut problems = problems(data);
        problems.extend(of_columns(&columns));
        let relation = |r: &iglu::Relation| RelationCard {
            name: r.name.clone(),
            edges: r.graph.counts().edges,
            directed: r.graph.directed(),
        };
        Self {
            card: Card::of(data),
            source: data.source.clone(),
            licence: data.licence.clone(),
            median_degree: median_degree(&data.graph),
            degrees: degrees(&data.graph),
            components: Components::of(&data.graph),
            homophily: homophily(data),
            relations: data.relations.iter().map(relation).collect(),
            columns,
            class_sizes: ClassSize::all(data),
            stored_splits: data.splits.len(),
            split: split.to_string(),
            train_bytes_estimate: memory::train_bytes(data),
            notes: data.notes.clone(),
            problems,
        }
    }
}

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::write(self, f)
    }
}

/// Values beyond this, squared and added up, leave the range of float32.
const HUGE: f32 = 1e18;

fn of_columns(columns: &Columns) -> Vec<Problem> {
    let mut found = Vec::new();
    let first =
        |columns: &[usize]| columns.iter().take(5).map(usize::to_string).collect::<Vec<_>>().join(", ");
    if columns.not_finite > 0 {
        let what = format!(
            "{} columns of the features hold NaN or infinite values (first: {})",
            columns.not_finite,
            first(&columns.not_finite_columns)
        );
        found.push(Problem::new(what, "set data.nan_features to zero or mean, or repair them"));
    }
    if columns.constant > 0 {
        let what = format!(
            "{} columns of the features never change (first: {})",
            columns.constant,
            first(&columns.constant_columns)
        );
        found.push(Problem::new(what, "they do no harm and no good: leave them out to save time"));
    }
    if columns.max.max(-columns.min) > HUGE {
        let what = format!("feature values from {:e} to {:e} may overflow", columns.min, columns.max);
        found.push(Problem::new(what, "keep data.features = standard, or scale them before saving"));
    }
    found
}

fn median_degree(graph: &Graph) -> usize {
    let mut degrees: Vec<usize> = (0..graph.nodes()).map(|v| graph.neighbours(v).len()).collect();
    let middle = degrees.len().saturating_sub(1) / 2;
    if degrees.is_empty() { 0 } else { *degrees.select_nth_unstable(middle).1 }
}

/// 0, 1, 2-3, 4-7, ..., up to the busiest node.
fn degrees(graph: &Graph) -> Vec<DegreeBin> {
    let mut nodes: Vec<usize> = Vec::new();
    for v in 0..graph.nodes() {
        let degree = graph.neighbours(v).len();
        let bin = (usize::BITS - degree.leading_zeros()) as usize;
        nodes.resize(nodes.len().max(bin + 1), 0);
        nodes[bin] += 1;
    }
    let bounds = |bin: usize| if bin == 0 { (0, 0) } else { (1 << (bin - 1), (1 << bin) - 1) };
    let one = |(bin, &nodes): (usize, &usize)| DegreeBin { from: bounds(bin).0, to: bounds(bin).1, nodes };
    nodes.iter().enumerate().map(one).collect()
}

fn homophily(data: &Dataset) -> Option<f64> {
    let Labels::Classes { ids, .. } = &data.labels else { return None };
    let row = |v: usize| {
        let known = data.graph.neighbours(v).iter().filter(|&&u| u as usize != v && ids[u as usize] >= 0);
        let known = known.filter(|_| ids[v] >= 0);
        known.fold([0_usize; 2], |[same, all], &u| [same + usize::from(ids[u as usize] == ids[v]), all + 1])
    };
    let add = |a: [usize; 2], b: [usize; 2]| [a[0] + b[0], a[1] + b[1]];
    let [same, all] = (0..data.graph.nodes()).into_par_iter().map(row).reduce(|| [0; 2], add);
    (all > 0).then(|| same as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iglu::{EdgeOptions, Features, Mat, Split};

    /// A star of five, a loop kept, a pair, a hermit.
    fn star() -> Dataset {
        let edges = [[0, 1], [0, 2], [0, 3], [0, 4], [0, 0], [5, 6]];
        let options = EdgeOptions { self_loops: iglu::SelfLoops::Keep, ..Default::default() };
        let graph = Graph::from_edges(8, &edges, options).unwrap();
        let labels = Labels::Classes { ids: vec![0, 0, 0, 1, -1, 1, 1, 0], classes: 2 };
        let x = Mat::from_vec(8, 2, (0..16).map(|i| if i % 2 == 0 { 1.0 } else { i as f32 }).collect());
        Dataset::new("star", graph, Features::Dense(x), labels, Split::default())
    }

    #[test]
    fn numbers_by_hand() {
        let seen = Inspection::of(&star(), &SplitChoice::Auto);
        let bins: Vec<_> = seen.degrees.iter().map(|b| (b.from, b.to, b.nodes)).collect();
        assert_eq!(bins, [(0, 0, 1), (1, 1, 6), (2, 3, 0), (4, 7, 1)]);
        assert_eq!((seen.median_degree, seen.components.count, seen.components.largest), (1, 3, 5));
        // 0-1, 0-2 and 5-6 join equals, 0-3 does not, 0-4 is not known.
        assert_eq!(seen.homophily, Some(0.75));
        assert_eq!((seen.columns.constant_columns, seen.stored_splits), (vec![0], 0));
        let nodes: Vec<usize> = seen.class_sizes.iter().map(|c| c.nodes).collect();
        assert_eq!(nodes, [4, 3]);
        assert!(seen.problems.iter().any(|p| p.what.contains("1 columns of the features never change")));
    }

    #[test]
    fn json_has_the_keys_of_the_card_and_its_own() {
        let json = serde_json::to_value(Inspection::of(&star(), &SplitChoice::Auto)).unwrap();
        let card = serde_json::to_value(Card::of(&star())).unwrap();
        for (key, value) in card.as_object().unwrap() {
            assert_eq!(json[key], *value, "{key}");
        }
        assert_eq!((&json["degrees"][1]["nodes"], &json["split"]), (&6.into(), &"auto".into()));
    }

    #[test]
    fn nothing_divides_by_zero() {
        let graph = Graph::from_edges(0, &[], EdgeOptions::default()).unwrap();
        let labels = Labels::Classes { ids: vec![], classes: 0 };
        let empty = Dataset::new("", graph, Features::Dense(Mat::zeros(0, 0)), labels, Split::default());
        let seen = Inspection::of(&empty, &SplitChoice::Auto);
        assert_eq!((seen.median_degree, seen.homophily, seen.components.count), (0, None, 0));
        assert!(!seen.to_string().contains("NaN"), "{seen}");
    }
}

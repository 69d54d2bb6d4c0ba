//! What is legal but probably not meant, and what to do about it. Looks at graph counts, labels and split.

use super::classes::ClassSize;
use iglu::{Dataset, Graph, Labels, Split};
use serde::Serialize;

/// Something suspicious, and its remedy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// What was found.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
}

impl Problem {
    pub(super) fn new(what: impl Into<String>, remedy: &str) -> Self {
        Self { what: what.into(), remedy: remedy.to_string() }
    }
}

/// From this share of all nodes on a class drowns the others.
const DROWNING: f64 = 0.9;

/// The problems that are cheap to find; an empty list says nothing about the values of the features.
///
/// ```
/// let mut village = iglu_data::load("synth:village", &Default::default())?;
/// assert!(iglu_data::problems(&village).is_empty());
/// village.split.val.clear();
/// assert!(iglu_data::problems(&village)[0].what.contains("no validation node"));
/// # Ok::<(), iglu::Error>(())
/// ```
pub fn problems(data: &Dataset) -> Vec<Problem> {
    let mut found = Vec::new();
    of_graph(data, &mut found);
    of_labels(data, &mut found);
    if !data.split.is_empty() {
        of_split(data, &mut found);
    }
    found
}

fn is_isolated(graph: &Graph, v: u32) -> bool {
    graph.neighbours(v as usize).is_empty() && !graph.columns().contains(&v)
}

fn of_graph(data: &Dataset, found: &mut Vec<Problem>) {
    let (n, isolated) = (data.graph.nodes(), data.graph.isolated());
    if data.graph.entries() == 0 {
        let what = "there is no edge: nothing can be learned from neighbours";
        found.push(Problem::new(what, "check that the edges were saved"));
    } else if isolated == 1 && is_isolated(&data.graph, data.place(0)) {
        let what = "node 0, and no other, has no edge: ids may start at 1";
        found.push(Problem::new(what, "if they do, set data.one_based to true"));
    } else if isolated * 2 > n {
        let what = format!("{isolated} of {n} nodes have no edge");
        found.push(Problem::new(what, "check the ids in the edges against the rows of the features"));
    }
}

fn of_labels(data: &Dataset, found: &mut Vec<Problem>) {
    let sizes = ClassSize::all(data);
    let known: usize = (0..data.labels.len()).filter(|&v| data.labels.known(v)).count();
    if known == 0 {
        found.push(Problem::new("no node has a label", "training needs some; predicting does not"));
        return;
    }
    let empty: Vec<&ClassSize> = sizes.iter().filter(|c| c.nodes == 0).collect();
    if !empty.is_empty() {
        let what = format!("no node has {}", listed(&empty));
        found.push(Problem::new(what, "number the classes without gaps, unless others will come"));
    }
    if let Some(largest) = sizes.iter().max_by_key(|c| c.nodes)
        && matches!(data.labels, Labels::Classes { .. })
        && largest.nodes as f64 > DROWNING * known as f64
        && sizes.len() > 1
    {
        let share = 100.0 * largest.nodes as f64 / known as f64;
        let what =
            format!("{share:.1} % of the labelled nodes are of {}: accuracy says little", listed(&[largest]));
        found.push(Problem::new(what, "choose on --metric f1-macro, and try --set loss.balanced=true"));
    }
}

fn of_split(data: &Dataset, found: &mut Vec<Problem>) {
    let Split { train, val, test } = &data.split;
    if val.is_empty() {
        let what = "there is no validation node: the last model is kept, good or not";
        found.push(Problem::new(what, "choose another split (--split)"));
    }
    if test.is_empty() {
        found.push(Problem::new("there is no test node: no final score", "choose another split (--split)"));
    }
    for (name, ids) in [("validation", val), ("test", test)] {
        let unknown = ids.iter().filter(|&&v| !data.labels.known(v as usize)).count();
        if unknown > 0 {
            let what = format!("{unknown} of {} {name} nodes have no label and are not scored", ids.len());
            found.push(Problem::new(what, "leave them out, or give them labels"));
        }
    }
    of_training_classes(data, train, found);
}

fn of_training_classes(data: &Dataset, train: &[u32], found: &mut Vec<Problem>) {
    let sizes = ClassSize::all(data);
    let absent: Vec<&ClassSize> = sizes.iter().filter(|c| c.train == 0 && c.nodes > 0).collect();
    let met = sizes.iter().filter(|c| c.train > 0).collect::<Vec<_>>();
    if let ([only], Labels::Classes { .. }) = (&met[..], &data.labels)
        && sizes.len() > 1
    {
        let what = format!("all {} training nodes are of {}", train.len(), listed(&[only]));
        found.push(Problem::new(
            what,
            "choose a split with all classes, such as --split per-class:20,500,1000",
        ));
    } else if !absent.is_empty() && !train.is_empty() {
        let what = format!("no training node has {}: it cannot be learned", listed(&absent));
        found.push(Problem::new(
            what,
            "choose a split with all classes, such as --split per-class:20,500,1000",
        ));
    }
}

/// `class 3`, `classes red, blue`, and how many more.
fn listed(classes: &[&ClassSize]) -> String {
    const MOST: usize = 5;
    let names: Vec<String> = classes.iter().take(MOST).map(|c| c.label()).collect();
    let word = if classes.len() == 1 { "class" } else { "classes" };
    let more = classes.len() - names.len();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{word} {}{rest}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iglu::{EdgeOptions, Features, Graph, Mat};

    /// Six nodes in a ring with two classes, and nothing wrong.
    fn ring() -> Dataset {
        let edges: Vec<[u32; 2]> = (0..6).map(|i| [i, (i + 1) % 6]).collect();
        let graph = Graph::from_edges(6, &edges, EdgeOptions::default()).unwrap();
        let labels = Labels::Classes { ids: vec![0, 1, 0, 1, 0, 1], classes: 2 };
        let split = Split { train: vec![0, 1], val: vec![2, 3], test: vec![4, 5] };
        Dataset::new("ring", graph, Features::Dense(Mat::zeros(6, 1)), labels, split)
    }

    fn check(data: &Dataset, expect: &[&str]) {
        let found = problems(data);
        assert_eq!(found.len(), expect.len(), "{found:#?}");
        for (problem, expect) in found.iter().zip(expect) {
            assert!(problem.what.contains(expect), "{found:#?}\nexpected {expect}");
            assert!(!problem.remedy.is_empty());
        }
    }

    fn with_edges(edges: &[[u32; 2]]) -> Dataset {
        Dataset { graph: Graph::from_edges(6, edges, EdgeOptions::default()).unwrap(), ..ring() }
    }

    fn with_labels(ids: [i32; 6], classes: usize) -> Dataset {
        Dataset { labels: Labels::Classes { ids: ids.to_vec(), classes }, ..ring() }
    }

    #[test]
    fn sound_data_has_none() {
        check(&ring(), &[]);
        check(&Dataset { split: Split::default(), ..ring() }, &[]);
    }

    #[test]
    fn graphs() {
        check(&with_edges(&[]), &["there is no edge"]);
        check(&with_edges(&[[1, 2], [3, 4], [4, 5]]), &["node 0, and no other, has no edge"]);
        check(&with_edges(&[[0, 1]]), &["4 of 6 nodes have no edge"]);
        check(&with_edges(&[[0, 1], [2, 3]]), &[]);
    }

    #[test]
    fn labels() {
        let split = Split::default();
        check(&Dataset { split: split.clone(), ..with_labels([-1; 6], 0) }, &["no node has a label"]);
        check(&with_labels([0, 2, 0, 2, 0, 2], 4), &["no node has classes 1, 3"]);
        let many = Dataset { split, ..with_labels([1; 6], 2) };
        check(&many, &["no node has class 0", "100.0 % of the labelled nodes are of class 1"]);
    }

    #[test]
    fn splits() {
        let with = |train: &[u32], val: &[u32], test: &[u32]| Dataset {
            split: Split { train: train.to_vec(), val: val.to_vec(), test: test.to_vec() },
            ..ring()
        };
        check(&with(&[0, 1], &[], &[2]), &["no validation node"]);
        check(&with(&[0, 1], &[2], &[]), &["no test node"]);
        check(&with(&[0, 2], &[1], &[3]), &["all 2 training nodes are of class 0"]);
        let mut three = with_labels([0, 1, 2, 0, 1, 2], 3);
        check(&three, &["no training node has class 2: it cannot be learned"]);
        three.class_names = Some(["red", "green", "blue"].into_iter().collect());
        check(&three, &["no training node has class blue"]);
        let unknown = with_labels([0, 1, 0, -1, -1, -1], 2);
        check(&unknown, &["1 of 2 validation nodes have no label", "2 of 2 test nodes"]);
    }
}

//! Histograms of a dataset: degrees in powers of two, and the sizes of classes in each split.

use iglu::{Dataset, Labels};
use serde::{Deserialize, Serialize};

/// Names kept at most: with more classes than this nobody reads them one by one.
const MOST_NAMES: usize = 1000;

/// The histograms.
///
/// ```
/// use iglu::{Dataset, EdgeOptions, Features, Graph, Labels, Mat, Split};
/// let graph = Graph::from_edges(4, &[[0, 1], [0, 2]], EdgeOptions::default())?;
/// let labels = Labels::Classes { ids: vec![0, 1, 1, -1], classes: 2 };
/// let split = Split { train: vec![0, 1], val: vec![2], test: vec![] };
/// let data = Dataset::new("star", graph, Features::Dense(Mat::zeros(4, 1)), labels, split);
/// let profile = iglu_report::Profile::of(&data);
/// assert_eq!(profile.degrees, [[0, 1], [1, 2], [2, 1]]);
/// assert_eq!((profile.classes[0].train, profile.classes[1].val), (1, 1));
/// # Ok::<(), iglu::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// `[smallest degree, nodes]` of the bins 0, 1, 2-3, 4-7, ..., without the empty ones at the end.
    pub degrees: Vec<[usize; 2]>,
    /// Nodes of each class.
    pub classes: Vec<ClassSize>,
    /// What the data calls its classes, if it has few names for them; else they are numbers.
    pub class_names: Vec<String>,
}

/// Nodes with a class or label.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClassSize {
    /// In the training split.
    pub train: usize,
    /// In the validation split.
    pub val: usize,
    /// In the test split.
    pub test: usize,
    /// In none.
    pub rest: usize,
}

impl ClassSize {
    /// Nodes altogether.
    pub fn all(&self) -> usize {
        [self.val, self.test, self.rest].into_iter().fold(self.train, usize::saturating_add)
    }
}

impl Profile {
    /// Counts.
    pub fn of(data: &Dataset) -> Self {
        let names = data.class_names.as_ref().filter(|n| n.len() <= MOST_NAMES);
        Self {
            degrees: degrees(data),
            classes: classes(data),
            class_names: names.map_or_else(Vec::new, |n| n.iter().map(str::to_string).collect()),
        }
    }

    /// The name of a class, or its number.
    pub fn name(&self, class: usize) -> String {
        self.class_names.get(class).cloned().unwrap_or_else(|| class.to_string())
    }
}

fn degrees(data: &Dataset) -> Vec<[usize; 2]> {
    let mut bins: Vec<[usize; 2]> = Vec::new();
    for v in 0..data.graph.nodes() {
        let degree = data.graph.neighbours(v).len();
        let bin = (usize::BITS - degree.leading_zeros()) as usize;
        while bins.len() <= bin {
            bins.push([(1 << bins.len()) >> 1, 0]);
        }
        bins[bin][1] += 1;
    }
    bins
}

fn classes(data: &Dataset) -> Vec<ClassSize> {
    let mut sizes = vec![ClassSize::default(); data.labels.classes()];
    let mut unsplit = vec![true; data.labels.len()];
    let mut count = |rows: &[u32], size: fn(&mut ClassSize) -> &mut usize| {
        for &row in rows {
            unsplit[row as usize] = false;
            of_node(&data.labels, row as usize, |class| *size(&mut sizes[class]) += 1);
        }
    };
    count(&data.split.train, |c| &mut c.train);
    count(&data.split.val, |c| &mut c.val);
    count(&data.split.test, |c| &mut c.test);
    for node in (0..unsplit.len()).filter(|&v| unsplit[v]) {
        of_node(&data.labels, node, |class| sizes[class].rest += 1);
    }
    sizes
}

/// Calls back for every class or label that a node is known to have.
fn of_node(labels: &Labels, node: usize, mut each: impl FnMut(usize)) {
    match labels {
        Labels::Classes { ids, .. } => usize::try_from(ids[node]).into_iter().for_each(each),
        Labels::Multi { values, classes } => {
            let row = &values[node * classes..(node + 1) * classes];
            row.iter().enumerate().filter(|(_, v)| **v > 0).for_each(|(class, _)| each(class));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iglu::{EdgeOptions, Features, Graph, Mat, Split};

    #[test]
    fn labels_count_for_every_class_they_name() {
        let edges: Vec<[u32; 2]> = (1..6).map(|v| [0, v]).collect();
        let graph = Graph::from_edges(6, &edges, EdgeOptions::default()).unwrap();
        let values = vec![1, 1, 0, 1, -1, -1, 0, 0, 1, 1, 0, 1];
        let labels = Labels::Multi { values, classes: 2 };
        let split = Split { train: vec![0], val: vec![1, 2], test: vec![4] };
        let features = Features::Dense(Mat::zeros(6, 1));
        let mut data = Dataset::new("star", graph, features, labels, split);
        data.class_names = Some(["red", "blue"].into_iter().collect());
        let profile = Profile::of(&data);
        assert_eq!(profile.degrees, [[0, 0], [1, 5], [2, 0], [4, 1]]);
        assert_eq!(profile.classes[0], ClassSize { train: 1, val: 0, test: 1, rest: 0 });
        assert_eq!(profile.classes[1], ClassSize { train: 1, val: 1, test: 1, rest: 1 });
        assert_eq!((profile.name(1), profile.name(2)), ("blue".into(), "2".into()));
    }
}

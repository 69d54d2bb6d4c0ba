//! A node classification problem in memory: graph, features, labels, split. Knows no files and no networks.

use crate::{Error, Features, Graph, Mat, Permutation, Result};
use rayon::prelude::*;

/// What is to be predicted for each node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Labels {
    /// One class per node; -1 where it is unknown.
    Classes {
        /// Class of each node, -1 = unlabelled.
        ids: Vec<i32>,
        /// Number of classes.
        classes: usize,
    },
    /// Any number of labels per node, row-major nodes x classes: 1 yes, 0 no, -1 unknown.
    Multi {
        /// The matrix.
        values: Vec<i8>,
        /// Number of labels.
        classes: usize,
    },
}

impl Labels {
    /// Number of nodes.
    pub fn len(&self) -> usize {
        match self {
            Self::Classes { ids, .. } => ids.len(),
            Self::Multi { values, classes } => values.len() / (*classes).max(1),
        }
    }

    /// No node at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of classes (outputs of the network).
    pub fn classes(&self) -> usize {
        match self {
            Self::Classes { classes, .. } | Self::Multi { classes, .. } => *classes,
        }
    }

    /// Whether anything is known about node `i`.
    pub fn known(&self, i: usize) -> bool {
        match self {
            Self::Classes { ids, .. } => ids[i] >= 0,
            Self::Multi { values, classes } => values[i * classes..(i + 1) * classes].iter().any(|&v| v >= 0),
        }
    }

    /// The nodes named, in that order.
    #[must_use]
    pub fn select(&self, rows: &[u32]) -> Self {
        match self {
            Self::Classes { ids, classes } => {
                Self::Classes { ids: rows.iter().map(|&r| ids[r as usize]).collect(), classes: *classes }
            }
            Self::Multi { values, classes } => {
                let row = |&r: &u32| &values[r as usize * classes..(r as usize + 1) * classes];
                Self::Multi { values: rows.iter().flat_map(row).copied().collect(), classes: *classes }
            }
        }
    }
}

/// Node ids for training, model selection and the final score.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Split {
    /// Nodes whose labels are learned from.
    pub train: Vec<u32>,
    /// Nodes the model is chosen on.
    pub val: Vec<u32>,
    /// Nodes the final score is reported on.
    pub test: Vec<u32>,
}

impl Split {
    /// No node in any part.
    pub fn is_empty(&self) -> bool {
        self.train.is_empty() && self.val.is_empty() && self.test.is_empty()
    }

    /// The nodes whose scores are told, validation and test, in order.
    pub fn scored(&self) -> Vec<u32> {
        let mut nodes = [&self.val[..], &self.test].concat();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// The same nodes under new numbers: `numbers[old] = new`. Lists keep their order.
    fn renumbered(&self, numbers: &[u32]) -> Self {
        let renumber = |ids: &[u32]| ids.iter().map(|&v| numbers[v as usize]).collect();
        Self { train: renumber(&self.train), val: renumber(&self.val), test: renumber(&self.test) }
    }
}

/// A list of names in one piece of memory: millions of node ids cost little more than their letters.
///
/// ```
/// let names: iglu::Names = ["ada", "grace"].into_iter().collect();
/// assert_eq!((names.len(), names.get(1)), (2, "grace"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Names {
    letters: String,
    ends: Vec<u64>,
}

impl Names {
    /// How many.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// None at all.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Name `i`.
    pub fn get(&self, i: usize) -> &str {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.letters[start as usize..self.ends[i] as usize]
    }

    /// All letters, and where each name ends in them.
    pub fn parts(&self) -> (&str, &[u64]) {
        (&self.letters, &self.ends)
    }

    /// Takes the parts back.
    pub fn from_parts(letters: String, ends: Vec<u64>) -> Result<Self> {
        let cut = |&end: &u64| usize::try_from(end).is_ok_and(|end| letters.is_char_boundary(end));
        let whole = ends.last().map_or(0, |&end| end) == letters.len() as u64;
        if whole && ends.is_sorted() && ends.iter().all(cut) {
            return Ok(Self { letters, ends });
        }
        let found = format!("{} ends that do not cut {} bytes into names", ends.len(), letters.len());
        Err(Error::data("names", found, "the arrays do not belong together"))
    }

    /// All names, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|i| self.get(i))
    }
}

impl<S: AsRef<str>> FromIterator<S> for Names {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        let mut out = Self::default();
        for name in names {
            out.letters.push_str(name.as_ref());
            out.ends.push(out.letters.len() as u64);
        }
        out
    }
}

/// One kind of edge among the nodes of a dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct Relation {
    /// Its name for people.
    pub name: String,
    /// Its edges.
    pub graph: Graph,
    /// Neighbours in latent space, not edges of the graph.
    pub latent: bool,
}

/// A node classification problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Dataset {
    /// Short name for people.
    pub name: String,
    /// Who is connected to whom.
    pub graph: Graph,
    /// Kinds of edges, where the data tells them apart; each has all nodes.
    pub relations: Vec<Relation>,
    /// One row per node.
    pub features: Features,
    /// What is known of each node.
    pub labels: Labels,
    /// Which nodes are used for what.
    pub split: Split,
    /// Every split that the data came with, in its order; empty: none.
    pub splits: Vec<Split>,
    /// Where the file has other numbers: number there (`old`) of each node here; `None`: the same.
    pub order: Option<Permutation>,
    /// What the data calls its nodes; `None`: 0, 1, 2, ...
    pub node_names: Option<Names>,
    /// What the data calls its classes; `None`: 0, 1, 2, ...
    pub class_names: Option<Names>,
    /// What the reader noticed and people should know: legal, but perhaps not meant.
    pub notes: Vec<String>,
    /// Where the data comes from, if that is known.
    pub source: Option<String>,
    /// Under which licence it may be used, if that is known.
    pub licence: Option<String>,
}

impl Dataset {
    /// A dataset without names or kinds of edges.
    pub fn new(name: &str, graph: Graph, features: Features, labels: Labels, split: Split) -> Self {
        Self {
            name: name.to_string(),
            graph,
            relations: Vec::new(),
            features,
            labels,
            split,
            splits: Vec::new(),
            order: None,
            node_names: None,
            class_names: None,
            notes: Vec::new(),
            source: None,
            licence: None,
        }
    }

    /// The number in the file of node `v` here.
    pub fn number(&self, v: u32) -> u32 {
        self.order.as_ref().map_or(v, |order| order.old()[v as usize])
    }

    /// The node here that has number `v` in the file.
    pub fn place(&self, v: u32) -> u32 {
        self.order.as_ref().map_or(v, |order| order.new_places()[v as usize])
    }

    /// The same problem with its nodes in another order; [`Dataset::order`] remembers their numbers in the file.
    ///
    /// ```
    /// # use iglu::{Dataset, EdgeOptions, Features, Graph, Labels, Mat, Permutation, Split};
    /// # let graph = Graph::from_edges(3, &[[0, 1]], EdgeOptions::default())?;
    /// # let labels = Labels::Classes { ids: vec![0, 1, 0], classes: 2 };
    /// # let split = Split { train: vec![0, 1], val: vec![2], test: vec![] };
    /// # let data = Dataset::new("three", graph, Features::Dense(Mat::zeros(3, 1)), labels, split);
    /// let turned = data.reordered(&Permutation::new(vec![2, 0, 1])?);
    /// assert_eq!((turned.split.train.as_slice(), turned.number(0)), (&[1, 2][..], 2));
    /// assert_eq!(turned.in_file_order(), data);
    /// # Ok::<(), iglu::Error>(())
    /// ```
    #[must_use]
    pub fn reordered(&self, order: &Permutation) -> Self {
        let numbers = order.new_places();
        let all = self.order.as_ref().map_or_else(|| order.clone(), |earlier| order.after(earlier));
        let name = |names: &Names| order.old().iter().map(|&v| names.get(v as usize)).collect();
        let relation = |r: &Relation| Relation { graph: r.graph.reordered(order), ..r.clone() };
        Self {
            graph: self.graph.reordered(order),
            relations: self.relations.iter().map(relation).collect(),
            features: rows_in(&self.features, order.old()),
            labels: self.labels.select(order.old()),
            split: self.split.renumbered(numbers),
            splits: self.splits.iter().map(|split| split.renumbered(numbers)).collect(),
            order: (!all.is_identity()).then_some(all),
            node_names: self.node_names.as_ref().map(name),
            name: self.name.clone(),
            class_names: self.class_names.clone(),
            notes: self.notes.clone(),
            source: self.source.clone(),
            licence: self.licence.clone(),
        }
    }

    /// The features, of which none are left.
    pub fn take_features(&mut self) -> Features {
        std::mem::replace(&mut self.features, Features::Dense(Mat::default()))
    }

    /// The same problem with its nodes as in the file.
    #[must_use]
    pub fn in_file_order(self) -> Self {
        match &self.order {
            None => self,
            Some(order) => self.reordered(&order.inverse()),
        }
    }

    /// Checks that the parts fit together: equal numbers of nodes, splits in range, disjoint, labelled. An
    /// empty training split is fine for prediction; training refuses it.
    pub fn validate(&self) -> Result<()> {
        let n = self.graph.nodes();
        let same = |name: &str, rows: usize| {
            let found = format!("{rows} rows, but the graph has {n} nodes");
            if rows == n { Ok(()) } else { Err(Error::data(name, found, "give every node one row")) }
        };
        same("x", self.features.rows())?;
        same("y", self.labels.len())?;
        for relation in &self.relations {
            same(&relation.name, relation.graph.nodes())?;
        }
        if let Some(names) = &self.node_names {
            same("node names", names.len())?;
        }
        if let Some(order) = &self.order {
            same("order of nodes", order.old().len())?;
        }
        if self.features.cols() == 0 {
            return Err(Error::data("x", "0 columns", "give every node at least one feature"));
        }
        self.validate_split(n)
    }

    fn validate_split(&self, n: usize) -> Result<()> {
        let mut owner: Vec<Option<&str>> = vec![None; n];
        for (name, ids) in
            [("train", &self.split.train), ("val", &self.split.val), ("test", &self.split.test)]
        {
            for (place, &id) in ids.iter().enumerate() {
                let at = || format!("{name}: entry {place}");
                let Some(slot) = owner.get_mut(id as usize) else {
                    let found = format!("node {id}, but there are {n} nodes (0..{})", n.saturating_sub(1));
                    return Err(Error::data(
                        at(),
                        found,
                        "indices start at 0 and end below the number of nodes",
                    ));
                };
                if let Some(other) = slot.replace(name) {
                    let found = format!("node {} is already in {other}", self.number(id));
                    return Err(Error::data(at(), found, "each node belongs to one split, once"));
                }
                if name == "train" && !self.labels.known(id as usize) {
                    let found = format!("training node {} has no label", self.number(id));
                    return Err(Error::data(at(), found, "remove it from train or give it a label"));
                }
            }
        }
        Ok(())
    }
}

/// Rows of features in another order, copied on all threads.
fn rows_in(features: &Features, order: &[u32]) -> Features {
    match features {
        Features::Dense(x) if x.cols() > 0 => {
            let mut out = Mat::zeros(x.rows(), x.cols());
            let rows = out.data_mut().par_chunks_mut(x.cols()).zip(order);
            rows.for_each(|(row, &old)| row.copy_from_slice(x.row(old as usize)));
            Features::Dense(out)
        }
        other => other.select(order),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_from_their_parts_or_are_refused() {
        let names: Names = ["ada", "", "grüße"].into_iter().collect();
        let (letters, ends) = names.parts();
        assert_eq!(Names::from_parts(letters.to_string(), ends.to_vec()).unwrap(), names);
        for ends in [vec![], vec![3, 3], vec![3, 2, 10], vec![3, 6, 10], vec![3, u64::MAX], vec![3, 11]] {
            assert!(Names::from_parts(letters.to_string(), ends.clone()).is_err(), "{ends:?}");
        }
        assert!(Names::from_parts(String::new(), vec![]).unwrap().is_empty());
    }
}

//! How many nodes each class has, in all and in the split.

use iglu::{Dataset, Labels};
use serde::Serialize;

/// The nodes of one class, or with one label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClassSize {
    /// Its number.
    pub class: usize,
    /// Its name, if the data has one.
    pub name: Option<String>,
    /// Nodes.
    pub nodes: usize,
    /// Training nodes.
    pub train: usize,
    /// Nodes for model selection.
    pub val: usize,
    /// Nodes for the final score.
    pub test: usize,
}

impl ClassSize {
    /// All classes, by number.
    pub(super) fn all(data: &Dataset) -> Vec<Self> {
        let classes = data.labels.classes();
        let every: Vec<u32> = (0..data.labels.len() as u32).collect();
        let parts = [&every, &data.split.train, &data.split.val, &data.split.test];
        let [nodes, train, val, test] = parts.map(|rows| count(&data.labels, rows));
        let name = |c: usize| data.class_names.as_ref().filter(|n| c < n.len()).map(|n| n.get(c).to_string());
        let one = |c: usize| Self {
            class: c,
            name: name(c),
            nodes: nodes[c],
            train: train[c],
            val: val[c],
            test: test[c],
        };
        (0..classes).map(one).collect()
    }

    /// Its name, else its number.
    pub(super) fn label(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.class.to_string())
    }
}

fn count(labels: &Labels, rows: &[u32]) -> Vec<usize> {
    let mut sizes = vec![0; labels.classes()];
    for &v in rows {
        let v = v as usize;
        match labels {
            Labels::Classes { ids, .. } if ids[v] >= 0 => sizes[ids[v] as usize] += 1,
            Labels::Classes { .. } => {}
            Labels::Multi { values, classes } => {
                let row = &values[v * classes..(v + 1) * classes];
                sizes.iter_mut().zip(row).for_each(|(size, &y)| *size += usize::from(y == 1));
            }
        }
    }
    sizes
}

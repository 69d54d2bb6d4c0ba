//! The protein graphs as DGL and PyG fetch them: for each of `train`, `valid` and `test` a `_graph.json` (networkx
//! node-link), `_feats.npy`, `_labels.npy` and `_graph_id.npy`.
//!
//! The three graphs stand side by side in one, first the nodes of `train`, then those of `valid`, then those of `test`.
//! Of `_graph_id.npy` only the length is checked: nodes of different proteins share no edge anyway.

use super::json;
use super::node_link::NodeLink;
use super::npy::{Array, read_npy};
use super::plain::features::dense;
use super::plain::labels::zero_one;
use super::{Place, checked, folder_name, mirror, only_split, part};
use crate::{LoadOptions, quoted};
use iglu::{Dataset, Error, Features, Graph, Labels, Mat, Result, Split};
use std::path::Path;

const PARTS: [&str; 3] = ["train", "valid", "test"];
const FILES: &str =
    "each of train, valid and test has four files: _graph.json, _feats.npy, _labels.npy, _graph_id.npy";

/// A folder with one of the graphs.
pub(super) fn detect(place: &Place) -> bool {
    PARTS.iter().any(|name| place.has_entry(&format!("{name}_graph.json")))
}

/// Reads all three parts.
pub(super) fn read(path: &Path, options: &LoadOptions) -> Result<Dataset> {
    only_split(options.split)?;
    let mut all = Stack::default();
    let split = Split {
        train: all.add(path, "train", options)?,
        val: all.add(path, "valid", options)?,
        test: all.add(path, "test", options)?,
    };
    let graph = Graph::disjoint(&all.graphs).map_err(|e| e.within(&quoted(path)))?;
    let features = Features::Dense(Mat::from_vec(graph.nodes(), all.cols, all.x));
    let labels = Labels::Multi { values: all.y, classes: all.classes };
    let mut data = Dataset::new(&folder_name(path), graph, features, labels, split);
    data.notes = all.notes;
    checked(data, path, options)
}

/// Parts one below the other.
#[derive(Default)]
struct Stack {
    graphs: Vec<Graph>,
    cols: usize,
    x: Vec<f32>,
    classes: usize,
    y: Vec<i8>,
    notes: Vec<String>,
}

impl Stack {
    /// Adds a part; returns its nodes.
    fn add(&mut self, folder: &Path, name: &str, options: &LoadOptions) -> Result<Vec<u32>> {
        let path = part(folder, &format!("{name}_graph.json"), FILES)?;
        let link: NodeLink = json::read(&path, options.limits)?;
        let n = link.nodes.len();
        let mirrored = link
            .edges()
            .and_then(|edges| mirror::from_entries(n, &edges, options))
            .map_err(|e| e.within(&quoted(&path)))?;
        self.notes.extend(mirrored.note(&format!("{name}_graph.json")));
        let (place, array) = rows(folder, &format!("{name}_feats.npy"), n)?;
        self.cols = self.same(&place, &array, self.cols)?;
        self.x.extend(dense(&place, &array, options.nan_features)?.into_vec());
        let (place, array) = rows(folder, &format!("{name}_labels.npy"), n)?;
        self.classes = self.same(&place, &array, self.classes)?;
        self.y.extend(zero_one(&place, &array, self.classes)?);
        if folder.join(format!("{name}_graph_id.npy")).exists() {
            rows(folder, &format!("{name}_graph_id.npy"), n)?;
        }
        let first: usize = self.graphs.iter().map(Graph::nodes).sum();
        self.graphs.push(mirrored.graph);
        Ok((first as u32..(first + n) as u32).collect())
    }

    /// The columns of an array, which are those of the parts before.
    fn same(&self, place: &str, array: &Array, before: usize) -> Result<usize> {
        match *array.shape() {
            [_, cols] if cols > 0 && (self.graphs.is_empty() || cols == before) => Ok(cols),
            _ => {
                let expected = if self.graphs.is_empty() { "some".to_string() } else { before.to_string() };
                let found =
                    format!("{}; expected {expected} columns, as in the other parts", array.describe());
                Err(Error::data(place, found, "the files must be of the same dataset"))
            }
        }
    }
}

/// An array with one row per node, and its place for messages.
fn rows(folder: &Path, name: &str, n: usize) -> Result<(String, Array)> {
    let path = part(folder, name, FILES)?;
    let array = read_npy(&path)?;
    if array.shape().first() == Some(&n) {
        return Ok((quoted(&path), array));
    }
    let found = format!("{}; expected {n} rows, one per node of the graph", array.describe());
    Err(Error::data(quoted(&path), found, "the files must be of the same dataset"))
}

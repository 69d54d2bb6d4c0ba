//! The folders of IGLU's released scripts: `full_adj.npz` (SciPy), `labels.npy`, `feat_preprocessed.npy` or `feats.npy`,
//! and `TrainSortedIndex.npy`, `ValidSortedIndex.npy`, `TestSortedIndex.npy`.
//!
//! Some of the scripts call the matrix `adj_full.npz`. `train_adj.npz` is not read: its edges are those of the full matrix
//! between training nodes, which training finds itself. Labels are one-hot where every row has exactly one 1, else any
//! number of labels per node.

use super::npy::read_npy;
use super::numbering::Numbering;
use super::plain::features::dense;
use super::plain::labels::zero_one;
use super::plain::split::node_ids;
use super::{Place, checked, file_name, folder_name, left_out, mirror, only_split, part, unknown_labels};
use crate::{LoadOptions, quoted};
use iglu::{Dataset, Error, Features, Labels, Result, Split};
use std::path::{Path, PathBuf};

const MATRICES: [&str; 2] = ["full_adj.npz", "adj_full.npz"];
const FEATURES: [&str; 2] = ["feat_preprocessed.npy", "feats.npy"];
const FILES: &str =
    "a dataset of these scripts is full_adj.npz, labels.npy, feats.npy and {Train,Valid,Test}SortedIndex.npy";

/// A folder with the indices, or with the labels beside a matrix.
pub(super) fn detect(place: &Place) -> bool {
    place.has_entry("TrainSortedIndex.npy")
        || (place.has_entry("labels.npy") && MATRICES.iter().any(|name| place.has_entry(name)))
}

/// Reads the folder.
pub(super) fn read(path: &Path, options: &LoadOptions) -> Result<Dataset> {
    only_split(options.split)?;
    let adjacency = either(path, MATRICES)?;
    let mirrored = mirror::from_scipy(&adjacency, options)?;
    let n = mirrored.graph.nodes();
    let feats = either(path, FEATURES)?;
    let features = Features::Dense(dense(&quoted(&feats), &read_npy(&feats)?, options.nan_features)?);
    let labels = labels(path, n, options)?;
    let nodes = |name: &str| nodes(path, &format!("{name}SortedIndex.npy"), n, options);
    let split = Split { train: nodes("Train")?, val: nodes("Valid")?, test: nodes("Test")? };
    let note = mirrored.note(&file_name(&adjacency));
    let mut data = Dataset::new(&folder_name(path), mirrored.graph, features, labels, split);
    data.notes.extend(note);
    checked(data, path, options)
}

/// The first of two files that is there.
fn either(folder: &Path, names: [&str; 2]) -> Result<PathBuf> {
    let second = !folder.join(names[0]).exists() && folder.join(names[1]).exists();
    part(folder, names[usize::from(second)], FILES)
}

fn nodes(folder: &Path, name: &str, n: usize, options: &LoadOptions) -> Result<Vec<u32>> {
    if left_out(&folder.join(name), options) {
        return Ok(Vec::new());
    }
    let path = part(folder, name, FILES)?;
    node_ids(&quoted(&path), &read_npy(&path)?, Numbering::new(n, options))
}

fn labels(folder: &Path, n: usize, options: &LoadOptions) -> Result<Labels> {
    if left_out(&folder.join("labels.npy"), options) {
        return Ok(unknown_labels(n));
    }
    let path = part(folder, "labels.npy", FILES)?;
    let array = read_npy(&path)?;
    match *array.shape() {
        [rows, classes] if rows == n && classes > 0 => {
            let values = zero_one(&quoted(&path), &array, classes)?;
            Ok(one_hot(&values, classes).unwrap_or(Labels::Multi { values, classes }))
        }
        _ => {
            let found =
                format!("{}; expected {n} rows, one per node, and one column per class", array.describe());
            Err(Error::data(quoted(&path), found, "save the labels one-hot: np.eye(C)[y]"))
        }
    }
}

/// The class of each node, if every row has exactly one 1 and is 0 elsewhere.
fn one_hot(values: &[i8], classes: usize) -> Option<Labels> {
    let class = |row: &[i8]| {
        let ones = row.iter().filter(|&&v| v == 1).count();
        let only = ones == 1 && row.iter().all(|&v| v >= 0);
        if only { row.iter().position(|&v| v == 1).map(|class| class as i32) } else { None }
    };
    let ids: Option<Vec<i32>> = values.chunks_exact(classes).map(class).collect();
    Some(Labels::Classes { ids: ids?, classes })
}

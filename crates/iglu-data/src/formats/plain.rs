//! The plain npz form: one .npz file with the arrays of a node classification problem under fixed names.
//!
//! | key | shape | meaning |
//! |---|---|---|
//! | `edges` | integers [E, 2] | each undirected edge once, or sender and receiver if `directed` is 1 |
//! | `directed` | one number | 1: edges send one way only (absent: 0) |
//! | `edge_weight` | numbers [E] | optional |
//! | `x` | numbers [N, F] | features; its rows set the number of nodes |
//! | `x_data`, `x_indices`, `x_indptr`, `x_shape` | CSR parts | sparse features instead of `x` |
//! | `y` | integers [N], or 0/1 [N, C] | class per node (-1: unknown), or labels (-1 or NaN: unknown) |
//! | `train`, `val`, `test` | integers, or bool [N] | node ids or masks |
//! | `train_mask`, `val_mask`, `test_mask` | bool [N] | the same as masks |
//! | `train_masks`, `val_masks`, `test_masks` | bool [S, N] | several splits; [`crate::LoadOptions::split`] picks one |
//!
//! Numbers may have any width. Other keys are ignored.

pub(super) mod edges;
pub(super) mod features;
pub(super) mod labels;
pub(crate) mod split;
mod write;

pub use edges::{edge_weights, pairs};
pub use features::dense;
pub use labels::labels_of;
pub use split::node_ids;
pub use write::write_plain;

use super::Place;
use super::counts;
use super::npy::Array;
use super::npz::{self, Npz};
use super::numbering::Numbering;
use crate::{LoadOptions, Purpose};
use iglu::run::Outline;
use iglu::{Dataset, Error, Result, Split};
use std::io::{Read, Seek};
use std::path::Path;

/// Any zip archive that no other format has claimed: its errors tell what is missing.
pub(super) fn detect(place: &Place) -> bool {
    place.is_zip()
}

/// Reads the file at `path`; errors name it.
pub(super) fn read(path: &Path, options: &LoadOptions) -> Result<Dataset> {
    npz::dataset(path, options, parse)
}

/// Counts of a file with dense features.
pub(super) fn outline(path: &Path, options: &LoadOptions) -> Option<Outline> {
    let mut npz = Npz::open(path, options.limits).ok()?;
    counts::of_arrays(&npz.shape("x")?, npz.shape("y").as_deref())
}

/// Reads the arrays of an open file; the name stays empty.
pub fn parse<R: Read + Seek>(npz: &mut Npz<R>, options: &LoadOptions) -> Result<Dataset> {
    let features = features::read(npz, options.nan_features)?;
    let n = features.rows();
    let graph = edges::read(npz, n, options)?;
    let labels = labels::read(npz, "y", n, options.purpose)?;
    let splits = split::stored(npz, Numbering::new(n, options), options.purpose)?;
    let mut data = Dataset::new("", graph, features, labels, split_in_use(&splits, options)?);
    data.splits = splits;
    data.validate()?;
    Ok(data)
}

/// The split asked for; nothing where the file has none and nobody needs one of its.
fn split_in_use(splits: &[Split], options: &LoadOptions) -> Result<Split> {
    let free = options.split == 0 || options.purpose == Purpose::Predict;
    if splits.is_empty() && free { Ok(Split::default()) } else { split::pick(splits, options.split, "split") }
}

/// The length of a vector, or an error that names it.
pub(super) fn vector(key: &str, array: &Array) -> Result<usize> {
    match array.shape() {
        [length] => Ok(*length),
        _ => Err(Error::data(key, format!("{}; expected one dimension", array.describe()), "use .ravel()")),
    }
}

/// The error for an array of the wrong length.
pub(super) fn wrong_length(key: &str, found: &Array, expected: usize, of_what: &str, fix: &str) -> Error {
    Error::data(key, format!("{}; expected {expected} {of_what}", found.describe()), fix)
}

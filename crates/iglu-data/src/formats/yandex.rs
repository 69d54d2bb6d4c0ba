//! The npz form of the heterophilous graphs of Platonov et al. (roman-empire, amazon-ratings, minesweeper, tolokers,
//! questions): undirected edges, dense features, classes and ten splits.
//!
//! | key | shape |
//! |---|---|
//! | `edges` | integers [E, 2] |
//! | `node_features` | numbers [N, F] |
//! | `node_labels` | integers [N], -1 for unknown |
//! | `train_masks`, `val_masks`, `test_masks` | bool [S, N]; [`LoadOptions::split`] picks a row |

use super::Place;
use super::counts;
use super::npz::{self, Npz};
use super::plain::{edges, features, labels, split};
use crate::LoadOptions;
use iglu::run::Outline;
use iglu::{Dataset, Features, Result, Split};
use std::io::{Read, Seek};
use std::path::Path;

/// An npz file with the two telling keys.
pub(super) fn detect(place: &Place) -> bool {
    place.has_key("node_features") && place.has_key("node_labels")
}

/// Reads the file at `path`; errors name it.
pub(super) fn read(path: &Path, options: &LoadOptions) -> Result<Dataset> {
    npz::dataset(path, options, parse)
}

/// Counts of a file.
pub(super) fn outline(path: &Path, options: &LoadOptions) -> Option<Outline> {
    let mut npz = Npz::open(path, options.limits).ok()?;
    counts::of_arrays(&npz.shape("node_features")?, npz.shape("node_labels").as_deref())
}

/// Reads the arrays of an open file; the name stays empty.
pub fn parse<R: Read + Seek>(npz: &mut Npz<R>, options: &LoadOptions) -> Result<Dataset> {
    let features =
        npz.array("node_features", "save node features as a number array [N, F] under this name")?;
    let features = features::dense("node_features", &features, options.nan_features).map(Features::Dense)?;
    let n = features.rows();
    let graph = edges::read(npz, n, options)?;
    let labels = labels::read(npz, "node_labels", n, options.purpose)?;
    let splits = if npz.has("train_masks") { split::masks(npz, n)? } else { Vec::new() };
    let split = if splits.is_empty() {
        Split::default()
    } else {
        split::pick(&splits, options.split, "train_masks")?
    };
    let mut data = Dataset::new("", graph, features, labels, split);
    data.splits = splits;
    data.validate()?;
    Ok(data)
}

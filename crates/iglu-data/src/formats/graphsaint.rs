//! GraphSAINT folders: `adj_full.npz` (SciPy), `feats.npy`, `class_map.json` and `role.json`.
//!
//! `role.json` has the split as `tr`, `va`, `te`. `adj_train.npz` is not read: its edges are those of `adj_full.npz`
//! between training nodes, which training finds itself.

use super::class_map::{self, Class};
use super::json::{self, Entries};
use super::npy::read_npy;
use super::plain::features::dense;
use super::{Place, checked, counts, folder_name, left_out, mirror, only_split, part, unknown_labels};
use crate::{LoadOptions, quoted};
use iglu::run::Outline;
use iglu::{Dataset, Error, Features, Labels, Result, Split};
use std::path::Path;

const FILES: &str = "a GraphSAINT dataset is adj_full.npz, feats.npy, class_map.json and role.json";

/// A folder with the matrix and one of the JSON files.
pub(super) fn detect(place: &Place) -> bool {
    place.has_entry("adj_full.npz") && (place.has_entry("role.json") || place.has_entry("class_map.json"))
}

/// Counts of the folder.
pub(super) fn outline(path: &Path, _options: &LoadOptions) -> Option<Outline> {
    counts::of_arrays(&counts::npy_shape(&path.join("feats.npy"))?, None)
}

/// Reads the folder.
pub(super) fn read(path: &Path, options: &LoadOptions) -> Result<Dataset> {
    only_split(options.split)?;
    let mirrored = mirror::from_scipy(&part(path, "adj_full.npz", FILES)?, options)?;
    let n = mirrored.graph.nodes();
    let feats = part(path, "feats.npy", FILES)?;
    let features = Features::Dense(dense(&quoted(&feats), &read_npy(&feats)?, options.nan_features)?);
    let labels = labels(path, n, options)?;
    let split = split(path, n, options)?;
    let note = mirrored.note("adj_full.npz");
    let mut data = Dataset::new(&folder_name(path), mirrored.graph, features, labels, split);
    data.notes.extend(note);
    checked(data, path, options)
}

fn labels(folder: &Path, n: usize, options: &LoadOptions) -> Result<Labels> {
    if left_out(&folder.join("class_map.json"), options) {
        return Ok(unknown_labels(n));
    }
    let path = part(folder, "class_map.json", FILES)?;
    let entries: Entries<Class> = json::read(&path, options.limits)?;
    class_map::labels(&entries, n, options.limits, |key| key.parse().ok())
        .map_err(|e| e.within(&quoted(&path)))
}

#[derive(serde::Deserialize)]
struct Roles {
    tr: Vec<i64>,
    va: Vec<i64>,
    te: Vec<i64>,
}

fn split(folder: &Path, n: usize, options: &LoadOptions) -> Result<Split> {
    if left_out(&folder.join("role.json"), options) {
        return Ok(Split::default());
    }
    let path = part(folder, "role.json", FILES)?;
    let roles: Roles = json::read(&path, options.limits)?;
    let nodes = |key: &str, ids: &[i64]| {
        let node = |(at, &id): (usize, &i64)| match u32::try_from(id) {
            Ok(id) if (id as usize) < n => Ok(id),
            _ => {
                let found = format!("node {id}, but there are {n} nodes (0..{})", n.saturating_sub(1));
                Err(Error::data(format!("{}: {key}: entry {at}", quoted(&path)), found, "ids start at 0"))
            }
        };
        ids.iter().enumerate().map(node).collect::<Result<Vec<u32>>>()
    };
    Ok(Split { train: nodes("tr", &roles.tr)?, val: nodes("va", &roles.va)?, test: nodes("te", &roles.te)? })
}

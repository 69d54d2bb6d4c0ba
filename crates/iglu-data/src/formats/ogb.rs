//! Folders of the Open Graph Benchmark's node datasets: `raw/` with the graph, `split/NAME/` with the nodes to train on.
//!
//! Two forms of `raw/`: tables of text (`edge.csv.gz`, `node-feat.csv.gz`, `node-label.csv.gz`, ..., packed or not), or
//! arrays (`data.npz`, `node-label.npz`). Edges are used in both directions, whatever the dataset: that is how the
//! undirected ones are meant and how the citation graphs are commonly used. Where nodes have no features, they get those
//! of their edges ([`LoadOptions::edge_features`] says it otherwise). Years, species and other columns are not read.

mod arrays;
mod split;
mod text;

use super::numbering::Numbering;
use super::plain::labels::{from_ids, label};
use super::{Place, checked, folder_name, list, mirror, missing_part, unknown_labels};
use crate::{Gather, LoadOptions, Purpose, quoted};
use iglu::config::{Auto, EdgeFeatures};
use iglu::{Dataset, Error, Features, Labels, Mat, Result};
use std::path::{Path, PathBuf};

/// A folder with `raw` in it, which has a file of OGB's names.
pub(super) fn detect(place: &Place) -> bool {
    place.has_entry("raw")
        && list(&place.path.join("raw")).is_ok_and(|names| names.iter().any(|name| is_mark(name)))
}

/// Files that no other format has.
fn is_mark(name: &str) -> bool {
    let stem = name.strip_suffix(".gz").unwrap_or(name);
    matches!(stem, "num-node-list.csv" | "node-label.csv" | "node-label.npz" | "triplet-type-list.csv")
}

/// What `raw/` holds, in either form. Numbers of nodes are checked by rows that are there before anything is sized by them.
trait Raw {
    /// The declared number of nodes.
    fn nodes(&mut self) -> Result<usize>;
    /// Features of nodes, if there are any.
    fn features(&mut self) -> Result<Option<Mat>>;
    /// Labels, if there are any.
    fn labels(&mut self) -> Result<Option<Table>>;
    /// Edges among nodes with these numbers.
    fn edges(&mut self, numbering: Numbering) -> Result<Vec<[u32; 2]>>;
    /// Features of nodes from those of their edges, if these have any.
    fn incident(&mut self, n: usize, edges: &[[u32; 2]], how: Gather) -> Result<Option<Mat>>;
    /// Where the labels and the features are looked for, for messages.
    fn places(&self) -> [PathBuf; 2];
}

/// Label ids, -1 for unknown, row by row.
struct Table {
    cols: usize,
    values: Vec<i32>,
}

impl Table {
    fn rows(&self) -> usize {
        self.values.len() / self.cols.max(1)
    }

    fn into_labels(self) -> Result<Labels> {
        match self.cols {
            1 => from_ids("node labels", self.values),
            classes => {
                let values = self.values.iter().map(|&v| v as i8).collect();
                Ok(Labels::Multi { values, classes })
            }
        }
    }
}

/// The label `value` of a row with `cols` columns: a class, or 0 and 1; -1 where it is unknown.
fn label_id(value: f64, cols: usize) -> Option<i32> {
    match cols {
        1 if value.is_nan() => Some(-1),
        1 => (value.fract() == 0.0 && (-1.0..=f64::from(i32::MAX)).contains(&value)).then_some(value as i32),
        _ => label(value).map(i32::from),
    }
}

/// What a label should have been.
fn label_expected(cols: usize) -> &'static str {
    if cols == 1 { "a class, 0 or more; nothing or nan where it is unknown" } else { "0, 1 or nan" }
}

/// Reads the folder.
pub(super) fn read(path: &Path, options: &LoadOptions) -> Result<Dataset> {
    let mut raw = open(&path.join("raw"), options)?;
    let n = raw.nodes()?;
    let features = raw.features()?;
    let labels = raw.labels()?;
    check_rows(raw.as_ref(), n, features.as_ref(), labels.as_ref())?;
    let labels = match labels {
        Some(table) => table.into_labels().map_err(|e| e.within(&quoted(&raw.places()[0])))?,
        None if options.purpose == Purpose::Predict => unknown_labels(n),
        None => {
            return Err(missing_part(
                &raw.places()[0],
                "training needs the label of each node, one row per node",
            ));
        }
    };
    let edges = raw.edges(Numbering::new(n, options))?;
    let features = with_incident(raw.as_mut(), n, features, &edges, options.edge_features)?;
    let split = split::read(path, Numbering::new(n, options), options)?;
    let mirrored = mirror::from_entries(n, &edges, options).map_err(|e| e.within(&quoted(path)))?;
    drop(edges);
    let mut data = Dataset::new(&folder_name(path), mirrored.graph, Features::Dense(features), labels, split);
    data.notes.push("each edge is used in both directions".to_string());
    checked(data, path, options)
}

/// The features of nodes, and those of their edges where they are wanted.
fn with_incident(
    raw: &mut dyn Raw,
    n: usize,
    own: Option<Mat>,
    edges: &[[u32; 2]],
    wanted: Auto<EdgeFeatures>,
) -> Result<Mat> {
    let how = match wanted {
        Auto::Auto if own.is_some() => None,
        Auto::Set(EdgeFeatures::Off) => None,
        Auto::Auto | Auto::Set(EdgeFeatures::Mean) => Some(Gather::Mean),
        Auto::Set(EdgeFeatures::Sum) => Some(Gather::Sum),
    };
    let incident = how.map(|how| raw.incident(n, edges, how)).transpose()?.flatten();
    match (own, incident) {
        (Some(own), Some(incident)) => Ok(side_by_side(&own, &incident)),
        (Some(features), None) | (None, Some(features)) => Ok(features),
        (None, None) => {
            let fix = match how {
                Some(_) => "neither nodes nor edges have features: fetch node-feat or edge-feat",
                None => "nodes have no features: fetch node-feat, or leave data.edge_features at auto",
            };
            Err(missing_part(&raw.places()[1], fix))
        }
    }
}

fn side_by_side(left: &Mat, right: &Mat) -> Mat {
    let cols = left.cols() + right.cols();
    let rows = (0..left.rows()).flat_map(|row| left.row(row).iter().chain(right.row(row)));
    Mat::from_vec(left.rows(), cols, rows.copied().collect())
}

fn open(raw: &Path, options: &LoadOptions) -> Result<Box<dyn Raw>> {
    for kinds in ["triplet-type-list.csv.gz", "triplet-type-list.csv", "edge_index_dict.npz"] {
        if raw.join(kinds).exists() {
            let found = "nodes of several types, as in ogbn-mag; this is not read";
            let fix =
                "save the part you need in the plain form: np.savez(\"data.npz\", edges=..., x=..., ...)";
            return Err(Error::data(quoted(raw), found, fix));
        }
    }
    if raw.join("data.npz").exists() {
        return Ok(Box::new(arrays::Arrays::open(raw, options)?));
    }
    Ok(Box::new(text::Text::new(raw, options)))
}

/// Checks the declared number of nodes against the rows that are there.
fn check_rows(raw: &dyn Raw, n: usize, features: Option<&Mat>, labels: Option<&Table>) -> Result<()> {
    let [label_place, feature_place] = raw.places();
    let rows = [(label_place, labels.map(Table::rows)), (feature_place, features.map(Mat::rows))];
    for (place, found) in &rows {
        if let Some(found) = found.filter(|&found| found != n) {
            let found = format!("{found} rows, but the dataset has {n} nodes (num-node-list)");
            return Err(Error::data(
                quoted(place),
                found,
                "one of the two files is of another dataset; fetch both again",
            ));
        }
    }
    if rows.iter().all(|(_, found)| found.is_none()) {
        return Err(missing_part(
            &rows[0].0,
            "without labels or features nothing confirms the number of nodes",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;

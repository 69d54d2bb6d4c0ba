//! The npz form of Shchur et al. and its relatives (gnn-benchmark, ppnp, gnn-meta-attack, GraphData): an adjacency
//! matrix, features and labels as the parts of SciPy's CSR matrices, without a split.
//!
//! | key | meaning |
//! |---|---|
//! | `adj_data`, `adj_indices`, `adj_indptr`, `adj_shape` or `adj_matrix.data`, ... | the graph, taken as undirected |
//! | `attr_data`, ... or `attr_matrix.data`, ... or a dense `attr` or `attr_matrix` | features; made from the graph where absent |
//! | `labels` | class of each node |
//! | `node_names`, `class_names` | lists of words; pickled ones are left out |
//!
//! Other keys are ignored. All nodes are kept, not only those of the largest component.

use super::npz::{self, Npz};
use super::plain::{features, labels};
use super::scipy_npz::{Csr, Keys};
use super::{Place, mirror, structure};
use crate::LoadOptions;
use iglu::config::NanFeatures;
use iglu::{Dataset, Error, Features, Labels, Names, Result, Split};
use std::io::{Read, Seek};
use std::path::Path;

/// A way to name the arrays.
struct Style {
    graph: Keys<'static>,
    features: Keys<'static>,
    dense_features: &'static str,
}

const STYLES: [Style; 2] = [
    Style {
        graph: Keys {
            matrix: "adj",
            shape: "adj_shape",
            indptr: "adj_indptr",
            indices: "adj_indices",
            data: "adj_data",
            ..Keys::SCIPY
        },
        features: Keys {
            matrix: "attr",
            shape: "attr_shape",
            indptr: "attr_indptr",
            indices: "attr_indices",
            data: "attr_data",
            words: ["node", "feature"],
            ..Keys::SCIPY
        },
        dense_features: "attr",
    },
    Style {
        graph: Keys {
            matrix: "adj_matrix",
            shape: "adj_matrix.shape",
            indptr: "adj_matrix.indptr",
            indices: "adj_matrix.indices",
            data: "adj_matrix.data",
            ..Keys::SCIPY
        },
        features: Keys {
            matrix: "attr_matrix",
            shape: "attr_matrix.shape",
            indptr: "attr_matrix.indptr",
            indices: "attr_matrix.indices",
            data: "attr_matrix.data",
            words: ["node", "feature"],
            ..Keys::SCIPY
        },
        dense_features: "attr_matrix",
    },
];

/// An npz file with the index array of an adjacency matrix.
pub(super) fn detect(place: &Place) -> bool {
    STYLES.iter().any(|s| place.has_key(s.graph.indices))
}

/// Reads the file at `path`; errors name it.
pub(super) fn read(path: &Path, options: &LoadOptions) -> Result<Dataset> {
    npz::dataset(path, options, parse)
}

/// Reads the arrays of an open file; the name stays empty.
pub fn parse<R: Read + Seek>(npz: &mut Npz<R>, options: &LoadOptions) -> Result<Dataset> {
    let style = STYLES.iter().find(|s| npz.has(s.graph.indices)).unwrap_or(&STYLES[0]);
    let mut notes = Vec::new();
    let matrix = read_matrix(npz, &style.graph)?;
    let name = style.graph.matrix;
    let mirrored = mirror::from_matrix(&matrix, options).map_err(|e| e.within(name))?;
    notes.extend(mirrored.note(name));
    let graph = mirrored.graph;
    let own = read_features(npz, style, options.nan_features)?;
    let features = own.unwrap_or_else(|| structure::features(&graph, &mut notes));
    let labels = labels::read(npz, "labels", graph.nodes(), options.purpose)?;
    let mut data = Dataset::new("", graph, features, labels, Split::default());
    data.node_names = read_names(npz, "node_names", &mut notes)?;
    if let Some(names) = read_names(npz, "class_names", &mut notes)? {
        name_classes(&mut data, names)?;
    }
    data.notes = notes;
    data.validate()?;
    Ok(data)
}

fn read_matrix<R: Read + Seek>(npz: &mut Npz<R>, keys: &Keys<'_>) -> Result<Csr> {
    let remedy = "save all four parts of the matrix: data, indices, indptr and shape";
    match [keys.data, keys.indptr, keys.shape].into_iter().find(|key| !npz.has(key)) {
        None => Csr::from_npz(npz, keys, remedy),
        Some(key) => Err(Error::data(key, format!("no such array beside `{}`", keys.indices), remedy)),
    }
}

fn read_features<R: Read + Seek>(
    npz: &mut Npz<R>,
    style: &Style,
    nan: NanFeatures,
) -> Result<Option<Features>> {
    if npz.has(style.features.indices) {
        let matrix = read_matrix(npz, &Keys { nan, ..style.features })?;
        return Ok(Some(Features::Sparse(matrix.into_features())));
    }
    if npz.has(style.dense_features) {
        let array = npz.array(style.dense_features, "")?;
        return features::dense(style.dense_features, &array, nan).map(|x| Some(Features::Dense(x)));
    }
    Ok(None)
}

fn read_names<R: Read + Seek>(npz: &mut Npz<R>, key: &str, notes: &mut Vec<String>) -> Result<Option<Names>> {
    if !npz.has(key) {
        return Ok(None);
    }
    let names = npz.words(key, "")?;
    if names.is_none() {
        notes.push(format!("`{key}` is pickled Python, which could run code: left out"));
    }
    Ok(names)
}

fn name_classes(data: &mut Dataset, names: Names) -> Result<()> {
    if let Labels::Classes { classes, .. } = &mut data.labels {
        if names.len() < *classes {
            let found = format!("{} names, but `labels` goes up to {}", names.len(), *classes - 1);
            return Err(Error::data("class_names", found, "give every class a name"));
        }
        *classes = names.len();
        data.class_names = Some(names);
    }
    Ok(())
}

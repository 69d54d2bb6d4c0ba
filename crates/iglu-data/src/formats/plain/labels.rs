//! `y`: a class per node, or a 0/1 matrix of labels.

use crate::Purpose;
use crate::formats::npy::{Array, Refused};
use crate::formats::npz::Npz;
use crate::formats::unknown_labels;
use iglu::{Error, Labels, Result};
use std::io::{Read, Seek};

/// Class ids up to this are taken even if there are fewer nodes; beyond, they are no class numbers.
const PLAUSIBLE_CLASSES: usize = 1 << 16;

/// The labels of `n` nodes under `key`.
pub(in crate::formats) fn read<R: Read + Seek>(
    npz: &mut Npz<R>,
    key: &str,
    n: usize,
    purpose: Purpose,
) -> Result<Labels> {
    if purpose == Purpose::Predict && !npz.has(key) {
        return Ok(unknown_labels(n));
    }
    let remedy =
        format!("save the labels under `{key}`: integers [N], -1 for unknown, or a 0/1 matrix [N, C]");
    labels_of(key, &npz.array(key, &remedy)?, n)
}

/// The labels of `n` nodes in an array: a class each, or a 0/1 matrix.
pub fn labels_of(key: &str, array: &Array, n: usize) -> Result<Labels> {
    match *array.shape() {
        [rows] if rows == n => classes(key, array),
        [rows, classes] if rows == n && classes > 0 => {
            Ok(Labels::Multi { values: zero_one(key, array, classes)?, classes })
        }
        _ => {
            let found = format!("{}; expected {n} rows, one per node", array.describe());
            Err(Error::data(key, found, "give every node one row; -1 where its label is unknown"))
        }
    }
}

fn classes(key: &str, array: &Array) -> Result<Labels> {
    let ids = array.ints::<i32>().map_err(|bad| {
        let found = format!("class {}; expected whole numbers from 0, or -1 for unknown", bad.value);
        Error::data(format!("{key}: row {}", bad.index), found, "number the classes 0, 1, 2, ...")
    })?;
    from_ids(key, ids)
}

/// One class per node, -1 where it is unknown.
pub(in crate::formats) fn from_ids(key: &str, ids: Vec<i32>) -> Result<Labels> {
    if let Some(row) = ids.iter().position(|&id| id < -1) {
        let found = format!("class {}; expected 0 or more, or -1 for unknown", ids[row]);
        return Err(Error::data(format!("{key}: row {row}"), found, "number the classes 0, 1, 2, ..."));
    }
    let classes = ids.iter().max().map_or(0, |&top| (i64::from(top) + 1) as usize);
    if classes > PLAUSIBLE_CLASSES.max(ids.len()) {
        let found = format!("class {} among {} nodes", classes - 1, ids.len());
        return Err(Error::data(
            key,
            found,
            "number the classes without gaps: np.unique(y, return_inverse=True)[1]",
        ));
    }
    Ok(Labels::Classes { ids, classes })
}

/// A 0/1 matrix with `cols` columns; -1 where it has -1 or NaN.
pub(in crate::formats) fn zero_one(key: &str, array: &Array, cols: usize) -> Result<Vec<i8>> {
    array.numbers(label).map_err(|bad| bad_label(&bad, cols).within(key))
}

/// A label as 1 yes, 0 no, -1 unknown.
pub(in crate::formats) fn label(v: f64) -> Option<i8> {
    match v {
        0.0 => Some(0),
        1.0 => Some(1),
        -1.0 => Some(-1),
        v if v.is_nan() => Some(-1),
        _ => None,
    }
}

fn bad_label(Refused { index, value }: &Refused, classes: usize) -> Error {
    let place = format!("row {}, column {}", index / classes, index % classes);
    let found = format!("{value}; expected 0 or 1, or -1 or NaN for unknown");
    let ids = "a single column of class ids is saved as y[:, 0]";
    Error::data(place, found, if classes == 1 { ids } else { "save one 0/1 column per label" })
}

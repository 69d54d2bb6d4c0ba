//! `x`, dense or as CSR parts: one row of features per node.

use crate::formats::npy::Array;
use crate::formats::npz::Npz;
use crate::formats::scipy_npz::{Csr, Keys, refuse_not_finite};
use iglu::config::NanFeatures;
use iglu::{Error, Features, Mat, Result};
use std::io::{Read, Seek};

const X: Keys<'static> = Keys {
    matrix: "x",
    shape: "x_shape",
    indptr: "x_indptr",
    indices: "x_indices",
    data: "x_data",
    words: ["node", "feature"],
    ..Keys::SCIPY
};

/// The features under `x`; their rows set the number of nodes.
pub(super) fn read<R: Read + Seek>(npz: &mut Npz<R>, nan: NanFeatures) -> Result<Features> {
    if !npz.has("x") && npz.has("x_data") {
        let remedy = "save all of `x_data`, `x_indices`, `x_indptr` and `x_shape`, or a dense `x`";
        return Ok(Features::Sparse(Csr::from_npz(npz, &Keys { nan, ..X }, remedy)?.into_features()));
    }
    let remedy = "save node features as a number array [N, F] under `x`; where there are none, one-hot ids or degrees serve";
    dense("x", &npz.array("x", remedy)?, nan).map(Features::Dense)
}

/// An array with one row of features per node, all of them finite; NaN may pass where it will be filled in.
pub fn dense(key: &str, array: &Array, nan: NanFeatures) -> Result<Mat> {
    let &[rows, cols] = array.shape() else {
        let found = format!("{}; expected [N, F]", array.describe());
        return Err(Error::data(
            key,
            found,
            "save one row of features per node; a single feature is x[:, None]",
        ));
    };
    let values = array.floats();
    refuse_not_finite(array, &values, &Keys { nan, ..X }, |i| (i / cols, i % cols))
        .map_err(|e| e.within(key))?;
    Ok(Mat::from_vec(rows, cols, values))
}

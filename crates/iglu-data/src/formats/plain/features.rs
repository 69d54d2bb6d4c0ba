//! `x`, dense or as CSR parts: one row of features per node.

use super::super::npy::Array;
use super::super::npz::Npz;
use super::super::scipy_npz::{Csr, Keys, refuse_not_finite};
use iglu::{Error, Features, Mat, Result, SparseMat};
use std::io::{Read, Seek};

const NO_FEATURES: &str = "save node features as a number array [N, F] under `x`; where there are none, one-hot ids or degrees serve";

/// The features; their rows set the number of nodes.
pub(super) fn read<R: Read + Seek>(npz: &mut Npz<R>) -> Result<Features> {
    let sparse = !npz.has("x") && npz.has("x_data");
    if sparse { read_sparse(npz).map(Features::Sparse) } else { read_dense(npz).map(Features::Dense) }
}

fn read_dense<R: Read + Seek>(npz: &mut Npz<R>) -> Result<Mat> {
    dense("x", &npz.array("x", NO_FEATURES)?)
}

/// An array with one row of features per node.
pub(in crate::formats) fn dense(key: &str, array: &Array) -> Result<Mat> {
    let &[rows, cols] = array.shape() else {
        let found = format!("{}; expected [N, F]", array.describe());
        return Err(Error::data(
            key,
            found,
            "save one row of features per node; a single feature is x[:, None]",
        ));
    };
    let values = array.floats();
    refuse_not_finite(array, &values, ["node", "feature"], |i| (i / cols, i % cols))
        .map_err(|e| e.within(key))?;
    Ok(Mat::from_vec(rows, cols, values))
}

fn read_sparse<R: Read + Seek>(npz: &mut Npz<R>) -> Result<SparseMat> {
    let remedy = "save all of `x_data`, `x_indices`, `x_indptr` and `x_shape`, or a dense `x`";
    let keys = Keys {
        matrix: "x",
        shape: "x_shape",
        indptr: "x_indptr",
        indices: "x_indices",
        data: "x_data",
        words: ["node", "feature"],
    };
    Ok(Csr::from_npz(npz, &keys, remedy)?.into_features())
}

//! `x`, dense or as CSR parts: one row of features per node.

use super::super::npy::Array;
use super::super::npz::Npz;
use super::{vector, wrong_length};
use iglu::{Error, Features, Mat, Result, SparseMat};
use std::io::{Read, Seek};

const NO_FEATURES: &str = "save node features as a number array [N, F] under `x`; where there are none, one-hot ids or degrees serve";

/// The features; their rows set the number of nodes.
pub(super) fn read<R: Read + Seek>(npz: &mut Npz<R>) -> Result<Features> {
    let sparse = !npz.has("x") && npz.has("x_data");
    if sparse { read_sparse(npz).map(Features::Sparse) } else { read_dense(npz).map(Features::Dense) }
}

fn read_dense<R: Read + Seek>(npz: &mut Npz<R>) -> Result<Mat> {
    let array = npz.array("x", NO_FEATURES)?;
    let &[rows, cols] = array.shape() else {
        let found = format!("{}; expected [N, F]", array.describe());
        return Err(Error::data(
            "x",
            found,
            "save one row of features per node; a single feature is x[:, None]",
        ));
    };
    let values = array.floats();
    refuse_not_finite("x", &array, &values, |i| (i / cols, i % cols))?;
    Ok(Mat::from_vec(rows, cols, values))
}

/// Names the first value that is not finite and counts the others; `place` gives its node and feature.
fn refuse_not_finite(
    key: &str,
    array: &Array,
    values: &[f32],
    place: impl Fn(usize) -> (usize, usize),
) -> Result<()> {
    let mut bad = (0..values.len()).filter(|&i| !values[i].is_finite());
    let Some(first) = bad.next() else { return Ok(()) };
    let (node, feature) = place(first);
    let (mut more, mut nodes, mut last) = (0, 1, node);
    for (v, _) in bad.map(place) {
        more += 1;
        nodes += usize::from(v != last);
        last = v;
    }
    let value = array.text(first);
    let range = if value.parse().is_ok_and(f64::is_finite) { ", beyond the range of float32" } else { "" };
    let others = if more > 0 { format!(" (and {more} more in {nodes} nodes)") } else { String::new() };
    let found = format!("node {node}, feature {feature} is {value}{range}{others}");
    Err(Error::data(key, found, "replace such values before saving, for example with np.nan_to_num"))
}

fn read_sparse<R: Read + Seek>(npz: &mut Npz<R>) -> Result<SparseMat> {
    let remedy = "save all of `x_data`, `x_indices`, `x_indptr` and `x_shape`, or a dense `x`";
    let (rows, cols) = sparse_shape(&npz.array("x_shape", remedy)?)?;
    let offsets = offsets(&npz.array("x_indptr", remedy)?, rows)?;
    let nnz = offsets.last().map_or(0, |&o| o as usize);
    let indices = indices(&npz.array("x_indices", remedy)?, nnz, cols)?;
    let array = npz.array("x_data", remedy)?;
    if vector("x_data", &array)? != nnz {
        return Err(wrong_length("x_data", &array, nnz, "values", "`x_data` and `x_indices` go together"));
    }
    let values = array.floats();
    let node = |i: usize| offsets.partition_point(|&o| o <= i as u64) - 1;
    refuse_not_finite("x_data", &array, &values, |i| (node(i), indices[i] as usize))?;
    Ok(canonical(cols, Csr { offsets, indices, values }))
}

fn sparse_shape(array: &Array) -> Result<(usize, usize)> {
    if let Ok(&[rows, cols]) = array.ints::<u32>().as_deref() {
        return Ok((rows as usize, cols as usize));
    }
    let found = format!("{}; expected two whole numbers, rows and columns", array.describe());
    Err(Error::data("x_shape", found, "save np.array(x.shape)"))
}

fn offsets(array: &Array, rows: usize) -> Result<Vec<u64>> {
    let fix = "save x.indptr of a scipy.sparse.csr_matrix";
    if vector("x_indptr", array)? != rows + 1 {
        return Err(wrong_length(
            "x_indptr",
            array,
            rows + 1,
            "offsets, one more than rows in `x_shape`",
            fix,
        ));
    }
    let offsets = array.ints::<u64>().map_err(|bad| {
        Error::data(format!("x_indptr: entry {}", bad.index), format!("offset {}", bad.value), fix)
    })?;
    let falling = offsets.windows(2).position(|w| w[0] > w[1]);
    match falling {
        _ if offsets[0] != 0 => Err(Error::data("x_indptr", format!("starts at {}, not 0", offsets[0]), fix)),
        Some(row) => {
            let found = format!("falls from {} to {}", offsets[row], offsets[row + 1]);
            Err(Error::data(format!("x_indptr: entry {}", row + 1), found, fix))
        }
        None => Ok(offsets),
    }
}

fn indices(array: &Array, nnz: usize, cols: usize) -> Result<Vec<u32>> {
    let fix = "save x.indices of a scipy.sparse.csr_matrix";
    if vector("x_indices", array)? != nnz {
        return Err(wrong_length("x_indices", array, nnz, "indices, as `x_indptr` ends there", fix));
    }
    let refuse = |index: usize, value: String| {
        let found = format!("column {value}, but `x_shape` has {cols} columns");
        Error::data(format!("x_indices: entry {index}"), found, fix)
    };
    let indices = array.ints::<u32>().map_err(|bad| refuse(bad.index, bad.value))?;
    match indices.iter().position(|&c| c as usize >= cols) {
        Some(at) => Err(refuse(at, indices[at].to_string())),
        None => Ok(indices),
    }
}

struct Csr {
    offsets: Vec<u64>,
    indices: Vec<u32>,
    values: Vec<f32>,
}

/// Columns sorted in each row, values of repeated ones added.
fn canonical(cols: usize, mut csr: Csr) -> SparseMat {
    let row = |w: &[u64]| csr.indices[w[0] as usize..w[1] as usize].is_sorted_by(|a, b| a < b);
    if !csr.offsets.windows(2).all(row) {
        csr = sorted(&csr);
    }
    SparseMat::from_parts(cols, csr.offsets, csr.indices, csr.values)
}

fn sorted(csr: &Csr) -> Csr {
    let mut out = Csr { offsets: vec![0], indices: Vec::new(), values: Vec::new() };
    for w in csr.offsets.windows(2) {
        let span = w[0] as usize..w[1] as usize;
        let mut row: Vec<(u32, f32)> =
            csr.indices[span.clone()].iter().copied().zip(csr.values[span].iter().copied()).collect();
        row.sort_by_key(|&(c, _)| c);
        for same in row.chunk_by(|a, b| a.0 == b.0) {
            out.indices.push(same[0].0);
            out.values.push(same.iter().map(|&(_, v)| v).sum());
        }
        out.offsets.push(out.indices.len() as u64);
    }
    out
}

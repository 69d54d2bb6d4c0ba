//! Sparse matrices in .npz files: as `scipy.sparse.save_npz` writes them, or as compressed rows under other names.
//!
//! A matrix comes out as checked compressed rows ([`Csr`]): offsets that rise from 0 to the number of entries, columns
//! in range and sorted in each row, repeated entries added, values finite.

use super::npy::Array;
use super::npz::Npz;
use super::plain::{vector, wrong_length};
use crate::{Limits, quoted};
use iglu::config::NanFeatures;
use iglu::{Error, Result, SparseMat};
use std::io::{Read, Seek};
use std::path::Path;

/// What the four arrays of a matrix in compressed rows are called.
#[derive(Debug, Clone, Copy)]
pub struct Keys<'a> {
    /// The matrix in remedies: `save x.indptr of a scipy.sparse.csr_matrix`.
    pub matrix: &'a str,
    /// Rows and columns.
    pub shape: &'a str,
    /// Where each row starts.
    pub indptr: &'a str,
    /// Column of each entry.
    pub indices: &'a str,
    /// Value of each entry.
    pub data: &'a str,
    /// What rows and columns are, for messages.
    pub words: [&'a str; 2],
    /// What an index is: a column, or a row where columns are compressed.
    pub index: &'a str,
    /// The way out where the arrays disagree; `None`: to save the parts of a SciPy matrix.
    pub fix: Option<&'a str>,
    /// What to do with values that are NaN.
    pub nan: NanFeatures,
}

impl Keys<'static> {
    /// The names that SciPy uses.
    pub const SCIPY: Self = Self {
        matrix: "matrix",
        shape: "shape",
        indptr: "indptr",
        indices: "indices",
        data: "data",
        words: ["row", "column"],
        index: "column",
        fix: None,
        nan: NanFeatures::Error,
    };
}

/// The arrays of a matrix in compressed rows, not yet checked.
#[derive(Debug, Clone)]
pub struct Parts {
    /// Rows and columns.
    pub shape: Array,
    /// Where each row starts.
    pub indptr: Array,
    /// Column of each entry.
    pub indices: Array,
    /// Value of each entry.
    pub data: Array,
}

/// A sparse matrix in compressed rows: columns sorted in each row, none twice.
#[derive(Debug, Clone, PartialEq)]
pub struct Csr {
    /// Number of columns.
    pub cols: usize,
    /// Where each row starts, and the end.
    pub offsets: Vec<u64>,
    /// Column of each entry.
    pub indices: Vec<u32>,
    /// Value of each entry.
    pub values: Vec<f32>,
}

/// Reads a file of `scipy.sparse.save_npz` (csr, csc or coo); errors name the file.
pub fn read(path: &Path, limits: Limits) -> Result<Csr> {
    let mut npz = Npz::open(path, limits)?;
    from_scipy(&mut npz).map_err(|e| e.within(&quoted(path)))
}

/// Reads the arrays of `scipy.sparse.save_npz`.
pub fn from_scipy<R: Read + Seek>(npz: &mut Npz<R>) -> Result<Csr> {
    let remedy = "save it with scipy.sparse.save_npz";
    // Some programs save the arrays of a csr_matrix without the word.
    let rows = !npz.has("format") && npz.has("indptr");
    let format = if rows { "csr".to_string() } else { npz.word("format", remedy)? };
    match format.as_str() {
        "csr" => Csr::from_npz(npz, &Keys::SCIPY, remedy),
        // Compressed columns are the compressed rows of the transpose.
        "csc" => {
            let mut parts = Parts::of(npz, &Keys::SCIPY, remedy)?;
            parts.shape = parts.shape.reversed();
            let columns = Csr::check(&parts, &Keys::SCIPY)?;
            refuse_hollow(columns.cols, columns.indices.len())?;
            Ok(columns.transposed())
        }
        "coo" => from_coordinates(npz, remedy),
        other => {
            let found = format!("'{other}'; csr, csc and coo are read");
            Err(Error::data("format", found, "save matrix.tocsr()"))
        }
    }
}

fn from_coordinates<R: Read + Seek>(npz: &mut Npz<R>, remedy: &str) -> Result<Csr> {
    let (rows, cols) = dimensions(&npz.array("shape", remedy)?, "shape", "matrix")?;
    let data = npz.array("data", remedy)?;
    let count = vector("data", &data)?;
    refuse_hollow(rows, count)?;
    let mut axis = |key: &str, what: &str, below: usize| {
        let array = npz.array(key, remedy)?;
        indices(&array, count, &Axis { key, what, below, shape: "shape", fix: remedy.to_string() })
    };
    let (row, col) = (axis("row", "row", rows)?, axis("col", "column", cols)?);
    let values = data.floats();
    refuse_not_finite(&data, &values, &Keys::SCIPY, |i| (row[i] as usize, col[i] as usize))
        .map_err(|e| e.within("data"))?;
    Ok(gathered(rows, cols, &row, |at| (col[at], values[at])).canonical())
}

impl Parts {
    fn of<R: Read + Seek>(npz: &mut Npz<R>, keys: &Keys<'_>, remedy: &str) -> Result<Self> {
        Ok(Self {
            shape: npz.array(keys.shape, remedy)?,
            indptr: npz.array(keys.indptr, remedy)?,
            indices: npz.array(keys.indices, remedy)?,
            data: npz.array(keys.data, remedy)?,
        })
    }
}

impl Csr {
    /// Reads the arrays called `keys`; where one is missing the message says `remedy`.
    pub fn from_npz<R: Read + Seek>(npz: &mut Npz<R>, keys: &Keys<'_>, remedy: &str) -> Result<Self> {
        Self::check(&Parts::of(npz, keys, remedy)?, keys)
    }

    /// Checks the arrays against each other.
    pub fn check(parts: &Parts, keys: &Keys<'_>) -> Result<Self> {
        let save = |part: &str| {
            let save = || format!("save {}.{part} of a scipy.sparse.csr_matrix", keys.matrix);
            keys.fix.map_or_else(save, str::to_string)
        };
        let (rows, cols) = dimensions(&parts.shape, keys.shape, keys.matrix)?;
        let offsets = offsets(&parts.indptr, rows, keys, &save("indptr"))?;
        let nnz = offsets.last().map_or(0, |&o| o as usize);
        if vector(keys.indices, &parts.indices)? != nnz {
            let what = format!("indices, as `{}` ends there", keys.indptr);
            return Err(wrong_length(keys.indices, &parts.indices, nnz, &what, &save("indices")));
        }
        let axis = Axis {
            key: keys.indices,
            what: keys.index,
            below: cols,
            shape: keys.shape,
            fix: save("indices"),
        };
        let indices = indices(&parts.indices, nnz, &axis)?;
        if vector(keys.data, &parts.data)? != nnz {
            let what = format!("values, one per entry of `{}`", keys.indices);
            return Err(wrong_length(keys.data, &parts.data, nnz, &what, &save("data")));
        }
        let values = parts.data.floats();
        let row = |i: usize| offsets.partition_point(|&o| o <= i as u64) - 1;
        refuse_not_finite(&parts.data, &values, keys, |i| (row(i), indices[i] as usize))
            .map_err(|e| e.within(keys.data))?;
        Ok(Self { cols, offsets, indices, values }.canonical())
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Where the entries of row `r` stand.
    pub fn span(&self, r: usize) -> std::ops::Range<usize> {
        self.offsets[r] as usize..self.offsets[r + 1] as usize
    }

    /// The matrix as features: one row per node.
    pub fn into_features(self) -> SparseMat {
        SparseMat::from_parts(self.cols, self.offsets, self.indices, self.values)
    }

    /// Rows for columns. Takes memory for every column that is declared.
    #[must_use]
    pub fn transposed(&self) -> Self {
        let row_of: Vec<u32> = (0..self.rows()).flat_map(|r| self.span(r).map(move |_| r as u32)).collect();
        gathered(self.cols, self.rows(), &self.indices, |at| (row_of[at], self.values[at]))
    }

    /// Columns sorted in each row, values of repeated ones added.
    fn canonical(self) -> Self {
        let sorted = (0..self.rows()).all(|r| self.indices[self.span(r)].is_sorted_by(|a, b| a < b));
        if sorted { self } else { self.sorted() }
    }

    fn sorted(&self) -> Self {
        let mut out = Self { cols: self.cols, offsets: vec![0], indices: Vec::new(), values: Vec::new() };
        for r in 0..self.rows() {
            let span = self.span(r);
            let mut row: Vec<(u32, f32)> =
                self.indices[span.clone()].iter().copied().zip(self.values[span].iter().copied()).collect();
            row.sort_by_key(|&(c, _)| c);
            for same in row.chunk_by(|a, b| a.0 == b.0) {
                out.indices.push(same[0].0);
                out.values.push(same.iter().map(|&(_, v)| v).sum());
            }
            out.offsets.push(out.indices.len() as u64);
        }
        out
    }
}

/// Counting sort: `row_of` gives the row of each entry, `entry` its column and value. Keeps their order in a row.
fn gathered(rows: usize, cols: usize, row_of: &[u32], entry: impl Fn(usize) -> (u32, f32)) -> Csr {
    let mut offsets = vec![0_u64; rows + 1];
    for &r in row_of {
        offsets[r as usize + 1] += 1;
    }
    for r in 0..rows {
        offsets[r + 1] += offsets[r];
    }
    let mut cursor = offsets.clone();
    let (mut indices, mut values) = (vec![0; row_of.len()], vec![0.0; row_of.len()]);
    for (at, &r) in row_of.iter().enumerate() {
        let slot = &mut cursor[r as usize];
        (indices[*slot as usize], values[*slot as usize]) = entry(at);
        *slot += 1;
    }
    Csr { cols, offsets, indices, values }
}

/// Refuses a number of rows that nothing but the shape speaks for.
fn refuse_hollow(rows: usize, entries: usize) -> Result<()> {
    const ALWAYS: usize = 1 << 10;
    const PER_ENTRY: usize = 64;
    if rows <= entries.saturating_mul(PER_ENTRY).saturating_add(ALWAYS) {
        return Ok(());
    }
    let found = format!("{rows} rows for {entries} entries");
    Err(Error::data("shape", found, "if the matrix is meant to be that empty, save matrix.tocsr()"))
}

fn dimensions(array: &Array, key: &str, matrix: &str) -> Result<(usize, usize)> {
    if let Ok(&[rows, cols]) = array.ints::<u32>().as_deref() {
        return Ok((rows as usize, cols as usize));
    }
    let found = format!("{}; expected two whole numbers, rows and columns", array.describe());
    Err(Error::data(key, found, format!("save np.array({matrix}.shape)")))
}

fn offsets(array: &Array, rows: usize, keys: &Keys<'_>, fix: &str) -> Result<Vec<u64>> {
    let key = keys.indptr;
    if vector(key, array)? != rows + 1 {
        let what = format!("offsets, one more than rows in `{}`", keys.shape);
        return Err(wrong_length(key, array, rows + 1, &what, fix));
    }
    let offsets = array.ints::<u64>().map_err(|bad| {
        Error::data(format!("{key}: entry {}", bad.index), format!("offset {}", bad.value), fix)
    })?;
    match offsets.windows(2).position(|w| w[0] > w[1]) {
        _ if offsets[0] != 0 => Err(Error::data(key, format!("starts at {}, not 0", offsets[0]), fix)),
        Some(row) => {
            let found = format!("falls from {} to {}", offsets[row], offsets[row + 1]);
            Err(Error::data(format!("{key}: entry {}", row + 1), found, fix))
        }
        None => Ok(offsets),
    }
}

/// One of the two directions of a matrix, as messages speak of it.
struct Axis<'a> {
    key: &'a str,
    what: &'a str,
    below: usize,
    shape: &'a str,
    fix: String,
}

fn indices(array: &Array, count: usize, axis: &Axis<'_>) -> Result<Vec<u32>> {
    let Axis { key, what, below, shape, fix } = axis;
    if vector(key, array)? != count {
        return Err(wrong_length(key, array, count, "indices, one per value", fix));
    }
    let refuse = |index: usize, value: String| {
        let found = format!("{what} {value}, but `{shape}` has {below} {what}s");
        Error::data(format!("{key}: entry {index}"), found, fix)
    };
    let indices = array.ints::<u32>().map_err(|bad| refuse(bad.index, bad.value))?;
    match indices.iter().position(|&c| c as usize >= *below) {
        Some(at) => Err(refuse(at, indices[at].to_string())),
        None => Ok(indices),
    }
}

/// Names the first value that is not finite and counts the others; `place` gives its row and column. NaN passes where
/// it will be filled in.
pub fn refuse_not_finite(
    array: &Array,
    values: &[f32],
    keys: &Keys<'_>,
    place: impl Fn(usize) -> (usize, usize),
) -> Result<()> {
    let filled = keys.nan != NanFeatures::Error;
    let mut bad = (0..values.len()).filter(|&i| !(values[i].is_finite() || filled && values[i].is_nan()));
    let Some(first) = bad.next() else { return Ok(()) };
    let (row, column) = place(first);
    let (mut more, mut rows, mut last) = (0, 1, row);
    for (r, _) in bad.map(place) {
        more += 1;
        rows += usize::from(r != last);
        last = r;
    }
    let value = array.text(first);
    let range = if value.parse().is_ok_and(f64::is_finite) { ", beyond the range of float32" } else { "" };
    let words = keys.words;
    let others = if more > 0 { format!(" (and {more} more in {rows} {}s)", words[0]) } else { String::new() };
    let found = format!("{} {row}, {} {column} is {value}{range}{others}", words[0], words[1]);
    let fix = match words[0] {
        "node" if values[first].is_nan() => "fill such values in: --nan-features zero or mean",
        _ => "replace such values before saving, for example with np.nan_to_num",
    };
    Err(Error::data("", found, fix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(descr: &str, shape: &[usize], bytes: Vec<u8>) -> Array {
        Array::from_parts(descr.as_bytes(), shape.to_vec(), false, bytes).unwrap()
    }

    fn ints(values: &[i64]) -> Array {
        array("<i8", &[values.len()], values.iter().flat_map(|v| v.to_le_bytes()).collect())
    }

    fn parts(indptr: &[i64], indices: &[i64], data: &[i64]) -> Parts {
        Parts { shape: ints(&[3, 4]), indptr: ints(indptr), indices: ints(indices), data: ints(data) }
    }

    #[test]
    fn rows_are_sorted_and_repeated_entries_added() {
        let csr =
            Csr::check(&parts(&[0, 3, 3, 5], &[2, 0, 2, 3, 1], &[1, 2, 3, 4, 5]), &Keys::SCIPY).unwrap();
        let expect = Csr {
            cols: 4,
            offsets: vec![0, 2, 2, 4],
            indices: vec![0, 2, 1, 3],
            values: vec![2.0, 4.0, 5.0, 4.0],
        };
        assert_eq!(csr, expect);
        assert_eq!(csr.transposed().transposed(), expect);
        assert_eq!(csr.transposed().offsets, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn contradictions_are_named() {
        for (bad, expect) in [
            (parts(&[0, 3, 2, 5], &[0; 5], &[1; 5]), "indptr: entry 2: falls from 3 to 2"),
            (parts(&[1, 3, 3, 5], &[0; 5], &[1; 5]), "indptr: starts at 1, not 0"),
            (parts(&[0, 3, 3], &[0; 5], &[1; 5]), "indptr: (3,) int64; expected 4 offsets"),
            (
                parts(&[0, 3, 3, 6], &[0; 5], &[1; 5]),
                "indices: (5,) int64; expected 6 indices, as `indptr` ends there",
            ),
            (parts(&[0, 1, 1, 2], &[0, 4], &[1, 1]), "indices: entry 1: column 4, but `shape` has 4 columns"),
            (parts(&[0, 1, 1, 2], &[0, 3], &[1]), "data: (1,) int64; expected 2 values"),
        ] {
            let e = Csr::check(&bad, &Keys::SCIPY).unwrap_err();
            assert!(e.to_string().starts_with(expect), "{e}");
        }
    }
}

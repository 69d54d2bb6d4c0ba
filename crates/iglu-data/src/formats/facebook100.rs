//! The Facebook100 networks of Traud et al. as MATLAB files: friendships of a university and what members said of
//! themselves.
//!
//! | variable | meaning |
//! |---|---|
//! | `A` | sparse N x N, the friendships |
//! | `local_info` | N x 7: status, gender, major, second major or minor, dormitory, year, high school; 0 = not said |
//!
//! The class is the gender, 0 = unknown. Features are the other columns, one-hot: a column for each value that occurs,
//! 0 included, as in the code of Lim et al. (LINKX). There is no split.

use super::mat::{self, MatFile};
use super::npy::Array;
use super::{Place, mirror};
use crate::{LoadOptions, quoted};
use iglu::{Dataset, Error, Features, Labels, Result, SparseMat, Split};
use std::path::Path;

/// The column of `local_info` that is to be predicted.
const GENDER: usize = 1;
const EXPECTED: &str = "of MATLAB files those of Facebook100 are read: a sparse `A` and a full `local_info`; convert \
                        others with scipy.io.loadmat and np.savez";

/// Any MAT file: its errors tell what is missing.
pub(super) fn detect(place: &Place) -> bool {
    mat::is_mat(&place.head)
}

/// Reads the file at `path`; errors name it.
pub(super) fn read(path: &Path, options: &LoadOptions) -> Result<Dataset> {
    let mut file = MatFile::open(path, options.limits)?;
    let mut data = parse(&mut file, options).map_err(|e| e.within(&quoted(path)))?;
    data.name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(data)
}

/// Reads the variables of an open file; the name stays empty.
pub fn parse(file: &mut MatFile, options: &LoadOptions) -> Result<Dataset> {
    if let Some(name) = ["A", "local_info"].into_iter().find(|name| !file.has(name)) {
        return Err(file.missing(name, EXPECTED));
    }
    let mirrored = mirror::from_matrix(&file.sparse("A")?, options).map_err(|e| e.within("A"))?;
    let note = mirrored.note("A");
    let (features, labels) = members(&file.dense("local_info")?).map_err(|e| e.within("local_info"))?;
    let mut data = Dataset::new("", mirrored.graph, features, labels, Split::default());
    data.notes.extend(note);
    data.validate()?;
    Ok(data)
}

/// What is known of the members: features and classes.
fn members(info: &Array) -> Result<(Features, Labels)> {
    let &[_, columns] = info.shape() else {
        let found = format!("{}; expected two dimensions", info.describe());
        return Err(Error::data("", found, EXPECTED));
    };
    if columns < 2 {
        let found = format!("{}; expected a column of genders and others", info.describe());
        return Err(Error::data("", found, EXPECTED));
    }
    let codes = info.ints::<i64>().map_err(|bad| {
        let place = format!("row {}, column {}", bad.index / columns, bad.index % columns);
        Error::data(place, format!("{}; expected a whole number", bad.value), "save codes, 0 for unknown")
    })?;
    let rows: Vec<&[i64]> = codes.chunks_exact(columns).collect();
    Ok((Features::Sparse(one_hot(&rows, columns)), genders(&rows)?))
}

fn genders(rows: &[&[i64]]) -> Result<Labels> {
    let class = |(row, codes): (usize, &&[i64])| match codes[GENDER] {
        code @ 0..=2 => Ok(code as i32 - 1),
        other => {
            let found = format!("{other}; expected 1 or 2, or 0 for unknown");
            Err(Error::data(format!("row {row}, column {GENDER}"), found, EXPECTED))
        }
    };
    let ids = rows.iter().enumerate().map(class).collect::<Result<_>>()?;
    Ok(Labels::Classes { ids, classes: 2 })
}

/// A column for each value of each column but the gender, in the order of the columns and values.
fn one_hot(rows: &[&[i64]], columns: usize) -> SparseMat {
    let mut indices = vec![0; rows.len() * (columns - 1)];
    let mut width = 0;
    for (place, column) in (0..columns).filter(|&c| c != GENDER).enumerate() {
        let mut values: Vec<i64> = rows.iter().map(|row| row[column]).collect();
        values.sort_unstable();
        values.dedup();
        for (row, slots) in rows.iter().zip(indices.chunks_exact_mut(columns - 1)) {
            slots[place] = width + values.partition_point(|&v| v < row[column]) as u32;
        }
        width += values.len() as u32;
    }
    let offsets = (0..=rows.len() as u64).map(|row| row * (columns as u64 - 1)).collect();
    let ones = vec![1.0; indices.len()];
    SparseMat::from_parts(width as usize, offsets, indices, ones)
}

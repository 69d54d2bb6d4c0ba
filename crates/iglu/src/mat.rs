//! Row-major matrices: dense [`Mat`] and sparse [`SparseMat`], and the number type [`Real`].

use crate::kernels::pages;
use crate::kernels::stored::{Bf16, Stored};
use crate::{Buffer, Error, Result};
use rayon::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of all arrays: f32 for users, f64 in the twin crate that runs the gradient checks.
#[cfg(not(feature = "f64"))]
pub type Real = f32;
/// The number of all arrays: f32 for users, f64 in the twin crate that runs the gradient checks.
#[cfg(feature = "f64")]
pub type Real = f64;

/// A dense row-major matrix.
///
/// ```
/// let m = iglu::Mat::from_rows(&[[1.0, 2.0], [3.0, 4.0]]);
/// assert_eq!(m.row(1), &[3.0, 4.0]);
/// assert_eq!((m.rows(), m.cols()), (2, 2));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Mat<T = Real> {
    rows: usize,
    cols: usize,
    data: Buffer<T>,
}

impl Default for Mat {
    fn default() -> Self {
        Self { rows: 0, cols: 0, data: Buffer::default() }
    }
}

impl Mat {
    /// `rows x cols` zeros.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { rows, cols, data: zeros(rows * cols).into() }
    }

    /// Takes row-major values.
    pub fn from_vec(rows: usize, cols: usize, data: Vec<Real>) -> Self {
        Self::from_buffer(rows, cols, data.into())
    }

    /// Takes row-major values wherever they lie.
    pub fn from_buffer(rows: usize, cols: usize, data: Buffer<Real>) -> Self {
        assert_eq!(data.len(), rows * cols, "a {rows} x {cols} matrix needs {} values", rows * cols);
        Self { rows, cols, data }
    }

    /// Copies rows of equal length.
    pub fn from_rows<const C: usize>(rows: &[[Real; C]]) -> Self {
        Self { rows: rows.len(), cols: C, data: rows.concat().into() }
    }
}

impl<T: Stored> Mat<T> {
    /// `rows x cols` zeros, kept as `T`.
    pub fn blank(rows: usize, cols: usize) -> Self {
        Self { rows, cols, data: zeros(rows * cols).into() }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &[T] {
        &self.data[i * self.cols..(i + 1) * self.cols]
    }

    /// Row `i`, writable.
    pub fn row_mut(&mut self, i: usize) -> &mut [T] {
        let row = i * self.cols..(i + 1) * self.cols;
        &mut self.data.make_mut()[row]
    }

    /// All values, row by row.
    pub fn data(&self) -> &[T] {
        &self.data
    }

    /// All values, row by row, writable.
    pub fn data_mut(&mut self) -> &mut [T] {
        self.data.make_mut()
    }

    /// The values themselves.
    pub fn into_vec(self) -> Vec<T> {
        self.data.into_vec()
    }

    /// The rows named, in that order, as a new matrix.
    #[must_use]
    pub fn select(&self, rows: &[u32]) -> Self {
        let mut data = Vec::with_capacity(rows.len() * self.cols);
        for &r in rows {
            data.extend_from_slice(self.row(r as usize));
        }
        Self { rows: rows.len(), cols: self.cols, data: data.into() }
    }

    /// Sets every value to zero, on all threads.
    pub fn clear(&mut self) {
        self.data.make_mut().par_chunks_mut(1 << 16).for_each(|c| c.fill(T::default()));
    }

    /// Sets every value.
    pub fn fill(&mut self, value: T) {
        self.data.make_mut().fill(value);
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.data[..])
    }
}

/// Zeros that the system has not touched yet, in large pages where there are many.
fn zeros<T: Stored>(count: usize) -> Vec<T> {
    let data = vec![T::default(); count];
    pages::advise_large(&data);
    data
}

/// Buffers of finished matrices, for the next ones: whole-graph passes would otherwise have the system map and
/// unmap hundreds of megabytes each time.
#[derive(Debug, Default)]
pub struct Scratch {
    full: Shelf<Real>,
    half: Shelf<Bf16>,
}

type Shelf<T> = Mutex<Vec<Vec<T>>>;

/// Numbers that [`Scratch`] keeps buffers of.
pub trait Shelved: Stored {
    /// Their place.
    #[doc(hidden)]
    fn shelf(scratch: &Scratch) -> MutexGuard<'_, Vec<Vec<Self>>>;
}

impl Shelved for Real {
    fn shelf(scratch: &Scratch) -> MutexGuard<'_, Vec<Vec<Self>>> {
        scratch.full.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelved for Bf16 {
    fn shelf(scratch: &Scratch) -> MutexGuard<'_, Vec<Vec<Self>>> {
        scratch.half.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Scratch {
    /// A matrix with whatever values its buffer had.
    pub fn take<T: Shelved>(&self, rows: usize, cols: usize) -> Mat<T> {
        // The last one that is much too large is left to somebody who needs all of it.
        self.find(rows, cols, |fitting, room| fitting == 1 && room > 2 * rows * cols)
    }

    /// The same for somebody who gives it back ([`Scratch::give_back`]) before others take any: however large, all will do.
    pub fn lend<T: Shelved>(&self, rows: usize, cols: usize) -> Mat<T> {
        self.find(rows, cols, |_, _| false)
    }

    /// The smallest buffer that fits, unless it is spared, given how many fit and its room; else a new one.
    fn find<T: Shelved>(&self, rows: usize, cols: usize, spared: impl Fn(usize, usize) -> bool) -> Mat<T> {
        let need = rows * cols;
        let mut free = T::shelf(self);
        let fitting: Vec<usize> = (0..free.len()).filter(|&i| free[i].capacity() >= need).collect();
        let smallest = fitting.iter().copied().min_by_key(|&i| free[i].capacity());
        let found = smallest.filter(|&i| !spared(fitting.len(), free[i].capacity()));
        let found = found.map(|i| free.swap_remove(i));
        drop(free);
        let mut data = found.unwrap_or_else(|| zeros(need));
        data.resize(need, T::default());
        Mat { rows, cols, data: data.into() }
    }

    /// A matrix of zeros.
    pub fn zeros(&self, rows: usize, cols: usize) -> Mat {
        let mut m = self.take(rows, cols);
        m.clear();
        m
    }

    /// Gives a buffer back.
    pub fn give<T: Shelved>(&self, m: Mat<T>) {
        if m.data.is_kept() {
            return;
        }
        let data = m.data.into_vec();
        if data.capacity() > 0 {
            T::shelf(self).push(data);
        }
    }

    /// Gives a lent buffer back; one that was made for the occasion goes.
    pub fn give_back<T: Shelved>(&self, m: Mat<T>) {
        if m.data.is_kept() {
            return;
        }
        let data = m.data.into_vec();
        if data.capacity() > data.len() {
            T::shelf(self).push(data);
        }
    }
}

/// A sparse row-major matrix (CSR) with columns sorted in each row: bag-of-words features and their aggregates.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SparseMat {
    cols: usize,
    offsets: Buffer<u64>,
    indices: Buffer<u32>,
    values: Buffer<Real>,
}

impl SparseMat {
    /// Takes CSR parts; the caller vouches for sorted columns below `cols`.
    pub fn from_parts(cols: usize, offsets: Vec<u64>, indices: Vec<u32>, values: Vec<Real>) -> Self {
        Self::from_buffers(cols, offsets.into(), indices.into(), values.into())
    }

    /// Takes CSR parts wherever they lie; the caller vouches for sorted columns below `cols`.
    pub fn from_buffers(
        cols: usize,
        offsets: Buffer<u64>,
        indices: Buffer<u32>,
        values: Buffer<Real>,
    ) -> Self {
        assert_eq!(indices.len(), values.len(), "one value per index");
        assert_eq!(
            offsets.last().copied().unwrap_or(0) as usize,
            indices.len(),
            "offsets end at the number of values"
        );
        Self { cols, offsets, indices, values }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Stored values.
    pub fn nnz(&self) -> usize {
        self.indices.len()
    }

    /// Columns and values of row `i`.
    pub fn row(&self, i: usize) -> (&[u32], &[Real]) {
        let span = self.offsets[i] as usize..self.offsets[i + 1] as usize;
        (&self.indices[span.clone()], &self.values[span])
    }

    /// All values, writable (the pattern stays).
    pub fn values_mut(&mut self) -> &mut [Real] {
        self.values.make_mut()
    }

    /// Row offsets (rows + 1 of them).
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// Columns of all rows, one after the other.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// All values, in the order of [`SparseMat::indices`].
    pub fn values(&self) -> &[Real] {
        &self.values
    }

    /// The rows named, in that order, as a new matrix.
    #[must_use]
    pub fn select(&self, rows: &[u32]) -> Self {
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for &r in rows {
            let (columns, numbers) = self.row(r as usize);
            indices.extend_from_slice(columns);
            values.extend_from_slice(numbers);
            offsets.push(indices.len() as u64);
        }
        Self::from_parts(self.cols, offsets, indices, values)
    }

    /// The same values as a dense matrix.
    pub fn to_dense(&self) -> Mat {
        let mut out = Mat::zeros(self.rows(), self.cols);
        for i in 0..self.rows() {
            let (columns, values) = self.row(i);
            for (&c, &v) in columns.iter().zip(values) {
                out.row_mut(i)[c as usize] += v;
            }
        }
        out
    }

    /// Checks what [`SparseMat::from_parts`] takes on trust; reads everything.
    pub fn check(&self) -> Result<()> {
        let wrong = |found: String| Err(Error::data("rows", found, "the arrays do not belong together"));
        let (first, entries) = (self.offsets.first().copied(), self.indices.len() as u64);
        if first != Some(0) {
            return wrong(format!("they start at {first:?}; expected 0"));
        }
        if let Some(r) = self.offsets.par_windows(2).position_first(|w| w[0] > w[1] || w[1] > entries) {
            return wrong(format!("row {r} goes from {} to {}", self.offsets[r], self.offsets[r + 1]));
        }
        let sound = |r: usize| {
            let columns = self.row(r).0;
            columns.is_sorted_by(|a, b| a < b) && columns.last().is_none_or(|&c| (c as usize) < self.cols)
        };
        match (0..self.rows()).into_par_iter().position_first(|r| !sound(r)) {
            Some(r) => wrong(format!("row {r} is not sorted, or has a column beyond {}", self.cols)),
            None => Ok(()),
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.offsets.len() * 8 + self.indices.len() * 4 + self.values.len() * size_of::<Real>()
    }
}

/// Node features or their constant aggregates: dense, or sparse where most values are zero.
#[derive(Debug, Clone, PartialEq)]
pub enum Features {
    /// Every value stored.
    Dense(Mat),
    /// Only non-zero values stored.
    Sparse(SparseMat),
}

impl Features {
    /// Number of rows (nodes).
    pub fn rows(&self) -> usize {
        match self {
            Self::Dense(m) => m.rows(),
            Self::Sparse(m) => m.rows(),
        }
    }

    /// Number of columns (features).
    pub fn cols(&self) -> usize {
        match self {
            Self::Dense(m) => m.cols(),
            Self::Sparse(m) => m.cols(),
        }
    }

    /// Whether [`Features::rest`] gives memory back.
    pub fn can_rest(&self) -> bool {
        matches!(self, Self::Dense(m) if m.data.can_rest())
    }

    /// Nobody will read the values for a while: those of a mapped file need not stay in memory. Sparse ones do, which share
    /// most of it with what is made of them.
    pub fn rest(&self) {
        if let Self::Dense(m) = self {
            m.data.rest();
        }
    }

    /// The rows named, in that order.
    #[must_use]
    pub fn select(&self, rows: &[u32]) -> Self {
        match self {
            Self::Dense(m) => Self::Dense(m.select(rows)),
            Self::Sparse(m) => Self::Sparse(m.select(rows)),
        }
    }

    /// Stored values, row by row; zeros that are not stored are left out.
    pub fn values(&self) -> &[Real] {
        match self {
            Self::Dense(m) => m.data(),
            Self::Sparse(m) => m.values(),
        }
    }

    /// Whether the values lie in memory that something else keeps, a mapped file say.
    pub fn is_kept(&self) -> bool {
        match self {
            Self::Dense(m) => m.data.is_kept(),
            Self::Sparse(m) => m.values.is_kept(),
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Dense(m) => m.bytes(),
            Self::Sparse(m) => m.bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lent_buffers_come_back_and_new_ones_go() {
        let (scratch, room) = (Scratch::default(), |scratch: &Scratch| {
            Real::shelf(scratch).iter().map(Vec::capacity).collect::<Vec<_>>()
        });
        scratch.give_back(scratch.lend::<Real>(10, 10));
        assert!(room(&scratch).is_empty(), "made for the occasion");
        scratch.give(Mat::zeros(10, 10));
        let taken = scratch.take::<Real>(2, 3);
        assert_eq!((taken.data().len(), room(&scratch)), (6, vec![100]), "the last large one is spared");
        let lent = scratch.lend::<Real>(2, 3);
        assert_eq!((lent.data().len(), room(&scratch)), (6, vec![]), "but lent");
        scratch.give_back(lent);
        assert_eq!(room(&scratch), [100]);
        assert_eq!(scratch.take::<Real>(10, 10), Mat::zeros(10, 10));
    }
}

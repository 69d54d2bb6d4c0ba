//! Tables of rows as caches keep them: in full numbers, or in half as many bytes.
//!
//! What is computed from a table is computed in full; only what is kept is rounded.

use crate::Real;
use crate::kernels::prefetch_row;
use crate::kernels::stored::{self, Bf16};
use crate::mat::{Mat, Scratch};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// How tables keep their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Storage {
    /// As they are computed.
    #[default]
    F32,
    /// Rounded to 16 bits: half the memory, 8 bits of precision.
    Bf16,
}

impl Storage {
    /// Bytes of one number.
    pub fn bytes(self) -> usize {
        match self {
            Self::F32 => size_of::<Real>(),
            Self::Bf16 => size_of::<Bf16>(),
        }
    }
}

/// A row-major matrix in either storage.
#[derive(Debug, Clone, PartialEq)]
pub enum Table {
    /// As computed.
    Full(Mat),
    /// Rounded.
    Half(Mat<Bf16>),
}

/// Runs an expression with `$m` bound to the matrix, whatever its numbers.
macro_rules! with_table {
    ($table:expr, $m:ident => $body:expr) => {
        match $table {
            $crate::table::Table::Full($m) => $body,
            $crate::table::Table::Half($m) => $body,
        }
    };
}
pub(crate) use with_table;

/// Values of a table that lie side by side, writable.
pub(crate) enum Span<'a> {
    Full(&'a mut [Real]),
    Half(&'a mut [Bf16]),
}

impl Span<'_> {
    /// Gives the first `count` values away and keeps the others.
    pub(crate) fn split_off(&mut self, count: usize) -> Self {
        let fits = "no more than there are";
        match self {
            Self::Full(rest) => Self::Full(rest.split_off_mut(..count).expect(fits)),
            Self::Half(rest) => Self::Half(rest.split_off_mut(..count).expect(fits)),
        }
    }
}

impl Default for Table {
    fn default() -> Self {
        Self::Full(Mat::default())
    }
}

impl Table {
    /// `rows x cols` zeros.
    pub fn zeros(storage: Storage, rows: usize, cols: usize) -> Self {
        match storage {
            Storage::F32 => Self::Full(Mat::zeros(rows, cols)),
            Storage::Bf16 => Self::Half(Mat::blank(rows, cols)),
        }
    }

    /// A table with whatever values its buffer had.
    pub fn take(scratch: &Scratch, storage: Storage, rows: usize, cols: usize) -> Self {
        match storage {
            Storage::F32 => Self::Full(scratch.take(rows, cols)),
            Storage::Bf16 => Self::Half(scratch.take(rows, cols)),
        }
    }

    /// A table of zeros in a buffer that was used before.
    pub fn take_zeros(scratch: &Scratch, storage: Storage, rows: usize, cols: usize) -> Self {
        let mut table = Self::take(scratch, storage, rows, cols);
        table.clear();
        table
    }

    /// All values, row by row, writable.
    pub(crate) fn span(&mut self) -> Span<'_> {
        match self {
            Self::Full(m) => Span::Full(m.data_mut()),
            Self::Half(m) => Span::Half(m.data_mut()),
        }
    }

    /// Gives the buffer back.
    pub fn give(self, scratch: &Scratch) {
        with_table!(self, m => scratch.give(m));
    }

    /// Its storage.
    pub fn storage(&self) -> Storage {
        match self {
            Self::Full(_) => Storage::F32,
            Self::Half(_) => Storage::Bf16,
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        with_table!(self, m => m.rows())
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        with_table!(self, m => m.cols())
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        with_table!(self, m => m.bytes())
    }

    /// Sets every value to zero.
    pub fn clear(&mut self) {
        with_table!(self, m => m.clear());
    }

    /// Row `i` in full numbers.
    pub fn row(&self, i: usize) -> Cow<'_, [Real]> {
        match self {
            Self::Full(m) => Cow::Borrowed(m.row(i)),
            Self::Half(_) => {
                let mut out = Vec::new();
                self.row_in(i, &mut out);
                Cow::Owned(out)
            }
        }
    }

    /// Row `i` in full numbers, which lie in `room` where the table has others.
    pub fn row_in<'r>(&'r self, i: usize, room: &'r mut Vec<Real>) -> &'r [Real] {
        match self {
            Self::Full(m) => m.row(i),
            Self::Half(m) => {
                room.resize(m.cols(), 0.0);
                stored::copy(m.row(i), room);
                room
            }
        }
    }

    /// Asks for row `i` ahead of its use.
    pub(crate) fn prefetch(&self, i: usize) {
        with_table!(self, m => prefetch_row(m.data(), i * m.cols(), m.cols()));
    }

    /// Copies row `i`.
    pub fn copy_row(&self, i: usize, out: &mut [Real]) {
        match self {
            Self::Full(m) => out.copy_from_slice(m.row(i)),
            Self::Half(m) => stored::copy(m.row(i), out),
        }
    }

    /// The rows named, in that order, in full numbers.
    #[must_use]
    pub fn select(&self, rows: &[u32]) -> Mat {
        let mut out = Mat::zeros(rows.len(), self.cols());
        rows.iter().enumerate().for_each(|(i, &r)| self.copy_row(r as usize, out.row_mut(i)));
        out
    }

    /// The matrix in full numbers.
    pub fn into_full(self) -> Mat {
        match self {
            Self::Full(m) => m,
            Self::Half(m) => {
                let mut out = Mat::zeros(m.rows(), m.cols());
                stored::copy(m.data(), out.data_mut());
                out
            }
        }
    }

    /// The matrix, where it was never rounded.
    pub fn full(&self) -> Option<&Mat> {
        match self {
            Self::Full(m) => Some(m),
            Self::Half(_) => None,
        }
    }

    /// The matrix, writable, where it is not rounded.
    pub fn full_mut(&mut self) -> Option<&mut Mat> {
        match self {
            Self::Full(m) => Some(m),
            Self::Half(_) => None,
        }
    }
}

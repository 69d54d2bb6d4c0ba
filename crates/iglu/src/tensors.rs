//! Named matrices on their way out and in: out they are borrowed, in each is asked for once, by name and shape.

use crate::{Error, Mat, Real, Result};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A matrix on its way out, borrowed from whoever has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor<'a> {
    /// Its rows.
    pub rows: usize,
    /// Its columns.
    pub cols: usize,
    /// Its values, row after row.
    pub values: Cow<'a, [Real]>,
}

impl<'a> Tensor<'a> {
    /// A row of its own.
    pub(crate) fn line(values: &'a [Real]) -> Self {
        Self { rows: 1, cols: values.len(), values: Cow::Borrowed(values) }
    }
}

impl<'a> From<&'a Mat> for Tensor<'a> {
    fn from(m: &'a Mat) -> Self {
        Self { rows: m.rows(), cols: m.cols(), values: Cow::Borrowed(m.data()) }
    }
}

impl From<Tensor<'_>> for Mat {
    fn from(t: Tensor<'_>) -> Self {
        Self::from_vec(t.rows, t.cols, t.values.into_owned())
    }
}

/// Matrices that nobody has asked for yet.
pub(crate) struct Tensors(BTreeMap<String, Mat>);

impl Tensors {
    /// Takes over what was given; of several with one name the last.
    pub(crate) fn new(given: Vec<(String, Mat)>) -> Self {
        Self(given.into_iter().collect())
    }

    /// The matrix of a name, if it has this many rows and columns.
    pub(crate) fn take(&mut self, name: &str, rows: usize, cols: usize) -> Result<Mat> {
        let Some(found) = self.0.remove(name) else {
            return Err(Error::data(name, "this tensor is missing", MISMATCH));
        };
        if (found.rows(), found.cols()) == (rows, cols) {
            return Ok(found);
        }
        let message =
            format!("shape [{}, {}], the configuration needs [{rows}, {cols}]", found.rows(), found.cols());
        Err(Error::data(name, message, MISMATCH))
    }

    /// The matrix of a name, if there is one.
    pub(crate) fn take_any(&mut self, name: &str) -> Option<Mat> {
        self.0.remove(name)
    }

    /// Nothing may be left.
    pub(crate) fn finish(self) -> Result<()> {
        match self.0.keys().next() {
            Some(name) => Err(Error::data(name, "nobody asked for this tensor", MISMATCH)),
            None => Ok(()),
        }
    }
}

const MISMATCH: &str = "the file does not match its configuration";

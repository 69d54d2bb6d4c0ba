//! NumPy arrays in and out. What comes in is checked by the readers of files, so that both speak with one voice.

use crate::errors;
use crate::work::work;
use iglu::config::NanFeatures;
use iglu::{Buffer, Error, Features, Mat, Result};
use iglu_data::formats::npy::Array;
use iglu_data::formats::plain;
use iglu_data::formats::scipy_npz::{Csr, Keys, Parts};
use numpy::{PyArray2, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::Arc;

/// What the parts of sparse features are called in messages.
const X: Keys<'static> = Keys { matrix: "x", words: ["node", "feature"], ..Keys::SCIPY };

/// The arrays of a SciPy matrix: shape, indptr, indices, data.
pub type SparseParts<'py> = (
    Bound<'py, PyUntypedArray>,
    Bound<'py, PyUntypedArray>,
    Bound<'py, PyUntypedArray>,
    Bound<'py, PyUntypedArray>,
);

/// A copy of an array as the readers of files take it, whatever its layout; `name` is blamed if it holds no numbers.
pub fn array(name: &str, object: &Bound<'_, PyUntypedArray>) -> PyResult<Array> {
    let py = object.py();
    let descr: String = object.dtype().getattr("str")?.extract()?;
    let shape = object.shape().to_vec();
    let fortran = object.is_fortran_contiguous() && !object.is_c_contiguous();
    let order = PyDict::new(py);
    order.set_item("order", "A")?;
    let bytes = object.call_method("tobytes", (), Some(&order))?.cast_into::<PyBytes>()?;
    Array::from_parts(descr.as_bytes(), shape, fortran, bytes.as_bytes().to_vec())
        .map_err(|e| errors::raised(py, &e.within(name)))
}

/// The four arrays of a SciPy matrix.
pub fn parts((shape, indptr, indices, data): &SparseParts<'_>) -> PyResult<Parts> {
    Ok(Parts {
        shape: array("shape", shape)?,
        indptr: array("indptr", indptr)?,
        indices: array("indices", indices)?,
        data: array("data", data)?,
    })
}

/// Features from a SciPy matrix in compressed rows.
pub fn sparse_features(py: Python<'_>, given: &SparseParts<'_>) -> PyResult<Features> {
    let parts = parts(given)?;
    work(py, 0, || {
        let csr = Csr::check(&parts, &X).map_err(|e| e.within("x"))?;
        Ok(Features::Sparse(csr.into_features()))
    })
}

/// Whether memory of Python's may be used as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copying {
    /// Only where nobody can write to it.
    Auto,
    /// Always; nobody must write to it while it is used.
    Never,
    /// Never.
    Always,
}

impl Copying {
    /// NumPy's `copy` argument.
    pub fn of(copy: Option<bool>) -> Self {
        match copy {
            None => Self::Auto,
            Some(false) => Self::Never,
            Some(true) => Self::Always,
        }
    }
}

/// Features from an array of numbers, used in place where `copying` and its layout allow.
pub fn dense_features(
    py: Python<'_>,
    object: &Bound<'_, PyUntypedArray>,
    copying: Copying,
) -> PyResult<Features> {
    let ready = ready(object, copying)?;
    if let Some(m) = ready {
        let (m, sound) = work(py, 0, || {
            let sound = m.data().iter().all(|v| v.is_finite());
            Ok((m, sound))
        })?;
        if sound {
            return Ok(Features::Dense(m));
        }
    }
    let array = array("x", object)?;
    let m = work(py, 0, || plain::dense("x", &array, NanFeatures::Error))?;
    Ok(Features::Dense(shared(m)))
}

/// The matrix of an array that is laid out as ours are: float32, row by row, aligned.
fn ready(object: &Bound<'_, PyUntypedArray>, copying: Copying) -> PyResult<Option<Mat>> {
    let flags = object.getattr("flags")?;
    let Ok(typed) = object.cast::<PyArray2<f32>>() else { return Ok(None) };
    if !typed.is_c_contiguous() || !flags.getattr("aligned")?.extract::<bool>()? {
        return Ok(None);
    }
    let [rows, cols] = *typed.shape() else { return Ok(None) };
    let writeable: bool = flags.getattr("writeable")?.extract()?;
    let in_place = match copying {
        Copying::Never => true,
        Copying::Auto => !writeable,
        Copying::Always => false,
    };
    let lent = Lent::new(typed);
    let data = if in_place { Buffer::kept(Arc::new(lent)) } else { own(lent.as_ref().to_vec()) };
    Ok(Some(Mat::from_buffer(rows, cols, data)))
}

/// Values that clones share.
fn own(values: Vec<f32>) -> Buffer<f32> {
    Buffer::kept(Arc::new(values))
}

/// The same matrix, its values shared by clones.
fn shared(m: Mat) -> Mat {
    let (rows, cols) = (m.rows(), m.cols());
    Mat::from_buffer(rows, cols, own(m.into_vec()))
}

/// The memory of an array of Python's, which stays alive as long as this.
struct Lent {
    _owner: Py<PyArray2<f32>>,
    start: *const f32,
    length: usize,
}

#[expect(unsafe_code, reason = "a pointer into memory that `_owner` keeps")]
// SAFETY: the memory is only read, and `Py` may be dropped in any thread.
unsafe impl Send for Lent {}
#[expect(unsafe_code, reason = "a pointer into memory that `_owner` keeps")]
// SAFETY: as above; readers share it.
unsafe impl Sync for Lent {}

impl Lent {
    /// Borrows a contiguous, aligned array.
    fn new(array: &Bound<'_, PyArray2<f32>>) -> Self {
        Self { _owner: array.clone().unbind(), start: array.data(), length: array.len() }
    }
}

impl AsRef<[f32]> for Lent {
    fn as_ref(&self) -> &[f32] {
        if self.length == 0 {
            return &[];
        }
        #[expect(unsafe_code, reason = "the view of an array of Python's as numbers")]
        // SAFETY: `new` was given an array of `length` aligned numbers in one piece, which `_owner` keeps. NumPy
        // does not resize an array that others hold. Nobody writes: the array is read-only, is being copied under
        // the interpreter's lock, or the caller has promised it (`copy=False`).
        unsafe {
            std::slice::from_raw_parts(self.start, self.length)
        }
    }
}

/// A matrix as an array of Python's; the values move, they are not copied.
pub fn to_numpy(py: Python<'_>, m: Mat) -> PyResult<Bound<'_, PyArray2<f32>>> {
    let (rows, cols) = (m.rows(), m.cols());
    numpy::PyArray1::from_vec(py, m.into_vec()).reshape([rows, cols])
}

/// Numbers as an array of Python's.
pub fn list<'py, T: numpy::Element + Copy>(py: Python<'py>, values: &[T]) -> Bound<'py, numpy::PyArray1<T>> {
    values.to_pyarray(py)
}

/// Weights, where not all are 1.
pub fn weights(values: Vec<f32>) -> Option<Vec<f32>> {
    values.iter().any(|&v| v != 1.0).then_some(values)
}

/// A choice by name, or the error that lists the names.
pub fn choice<T: Copy>(place: &str, name: &str, table: &[(&str, T)]) -> Result<T> {
    table.iter().find(|(known, _)| *known == name).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
        Error::usage(place, format!("`{name}`; expected {}", names.join(", ")), "")
    })
}

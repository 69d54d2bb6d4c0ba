//! Named matrices as safetensors bytes, with one text beside them.

use iglu::{Error, Mat, Result};
use safetensors::SafeTensorError;
use safetensors::tensor::{Dtype, Metadata, SafeTensors, TensorView, serialize};
use std::collections::HashMap;

/// The bytes of float32 tensors, and of a text under a key of the metadata. One key, because the library writes several
/// in random order, and equal contents shall be equal bytes.
pub(crate) fn to_bytes(tensors: &[(String, Mat)], text: Option<(&str, String)>) -> Result<Vec<u8>> {
    let bytes: Vec<Vec<u8>> = tensors.iter().map(|(_, m)| little_endian(m)).collect();
    let view = |((name, m), bytes)| -> std::result::Result<(&str, TensorView<'_>), SafeTensorError> {
        let (name, m): (&String, &Mat) = (name, m);
        Ok((name.as_str(), TensorView::new(Dtype::F32, vec![m.rows(), m.cols()], bytes)?))
    };
    let views: std::result::Result<Vec<_>, _> =
        tensors.iter().map(|(name, m)| (name, m)).zip(bytes.iter().map(Vec::as_slice)).map(view).collect();
    let metadata = text.map(|(key, text)| HashMap::from([(key.to_string(), text)]));
    views.and_then(|views| serialize(views, metadata)).map_err(|e| unwritable(&e))
}

fn little_endian(m: &Mat) -> Vec<u8> {
    m.data().iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// Something that should always be possible was not.
pub(crate) fn unwritable(e: &dyn std::fmt::Display) -> Error {
    Error::output("", format!("the weights cannot be written down: {e}"), "report this")
}

/// What the header says, before any tensor is read.
pub(crate) fn header(bytes: &[u8]) -> Result<Metadata> {
    SafeTensors::read_metadata(bytes).map(|(_, header)| header).map_err(|e| damaged(&e))
}

/// All tensors, sorted by name; `check` refuses values with the number of columns and what it makes of them.
pub(crate) fn tensors(
    bytes: &[u8],
    check: impl Fn(usize, &[f32]) -> Result<()>,
) -> Result<Vec<(String, Mat)>> {
    let file = SafeTensors::deserialize(bytes).map_err(|e| damaged(&e))?;
    let mut tensors = file.tensors();
    tensors.sort_by(|(a, _), (b, _)| a.cmp(b));
    let read = |(name, view): (String, TensorView<'_>)| match matrix(&view, &check) {
        Ok(m) => Ok((name, m)),
        Err(e) => Err(e.within(&format!("tensor `{name}`"))),
    };
    tensors.into_iter().map(read).collect()
}

fn damaged(e: &SafeTensorError) -> Error {
    // Of several tensors out of place the library names one or none by chance.
    let found = match e {
        SafeTensorError::InvalidOffset(_) | SafeTensorError::TensorInvalidInfo => {
            "tensors overlap, leave a gap or are longer than their shape".to_string()
        }
        other => other.to_string(),
    };
    Error::data("", format!("damaged safetensors file: {found}"), "copy or fetch the file again")
}

/// A float32 tensor of two dimensions.
fn matrix(view: &TensorView<'_>, check: impl Fn(usize, &[f32]) -> Result<()>) -> Result<Mat> {
    let (Dtype::F32, &[rows, cols]) = (view.dtype(), view.shape()) else {
        let found = format!("{:?} {:?}; expected F32 with two dimensions", view.dtype(), view.shape());
        return Err(Error::data("", found, "only files written by iglu can be read"));
    };
    let (chunks, _) = view.data().as_chunks();
    let values: Vec<f32> = chunks.iter().map(|b| f32::from_le_bytes(*b)).collect();
    check(cols, &values)?;
    Ok(Mat::from_vec(rows, cols, values))
}

//! Named matrices as safetensors bytes, with one text beside them.

use iglu::{Error, Mat, Result, Tensor};
use safetensors::SafeTensorError;
use safetensors::tensor::{Dtype, Metadata, SafeTensors, TensorInfo, TensorView};
use std::collections::HashMap;
use std::io::{self, Write};

/// Values that are turned into bytes at a time.
const PIECE: usize = 16 << 10;

/// Float32 tensors, and a text under a key of the metadata, on their way to a file. One key, because the library writes
/// several in random order, and equal contents shall be equal bytes.
pub(crate) struct Weights<'a> {
    header: Vec<u8>,
    tensors: Vec<(String, Tensor<'a>)>,
}

impl<'a> Weights<'a> {
    pub(crate) fn new(mut tensors: Vec<(String, Tensor<'a>)>, text: Option<(&str, String)>) -> Result<Self> {
        tensors.sort_by(|(a, _), (b, _)| a.cmp(b));
        let mut end = 0;
        let mut place = |(name, t): &(String, Tensor<'_>)| {
            let begin = end;
            end += size_of_val(&t.values[..]);
            let info =
                TensorInfo { dtype: Dtype::F32, shape: vec![t.rows, t.cols], data_offsets: (begin, end) };
            (name.clone(), info)
        };
        let places = tensors.iter().map(&mut place).collect();
        let text = text.map(|(key, text)| HashMap::from([(key.to_string(), text)]));
        let metadata = Metadata::new(text, places).map_err(|e| unwritable(&e))?;
        let mut header = serde_json::to_vec(&metadata).map_err(|e| unwritable(&e))?;
        header.resize(header.len().next_multiple_of(8), b' ');
        Ok(Self { header, tensors })
    }

    /// Writes the file piece by piece: the library's own writer wants the bytes of everything at once.
    pub(crate) fn write(&self, sink: &mut impl Write) -> io::Result<()> {
        sink.write_all(&(self.header.len() as u64).to_le_bytes())?;
        sink.write_all(&self.header)?;
        let mut bytes = Vec::new();
        for values in self.tensors.iter().flat_map(|(_, t)| t.values.chunks(PIECE)) {
            bytes.clear();
            bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
            sink.write_all(&bytes)?;
        }
        Ok(())
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes are those of the library's own writer, whatever order the tensors come in.
    #[test]
    fn the_library_writes_the_same_bytes() {
        let named = [("layer2.w", 40_000, 1), ("layer10.b", 1, 7), ("layer1.w", 3, 5), ("empty", 0, 4)];
        let mats = named.map(|(_, rows, cols)| {
            Mat::from_vec(rows, cols, (0..rows * cols).map(|i| (i as f32).sin()).collect())
        });
        let tensors =
            || named.iter().zip(&mats).map(|((name, ..), m)| (name.to_string(), m.into())).collect();
        let bytes: Vec<Vec<u8>> =
            mats.iter().map(|m| m.data().iter().flat_map(|v| v.to_le_bytes()).collect()).collect();
        for text in [None, Some(("key", "a \"text\"".to_string()))] {
            let mut found = Vec::new();
            Weights::new(tensors(), text.clone()).unwrap().write(&mut found).unwrap();
            let metadata = text.map(|(key, text)| HashMap::from([(key.to_string(), text)]));
            let views = named.iter().zip(&bytes).map(|((name, rows, cols), bytes)| {
                (*name, TensorView::new(Dtype::F32, vec![*rows, *cols], bytes).unwrap())
            });
            assert!(found == safetensors::serialize(views, metadata).unwrap());
        }
    }
}

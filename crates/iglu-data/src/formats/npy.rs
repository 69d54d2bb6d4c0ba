//! NumPy's .npy arrays: reads numbers and truth values of any width, byte order and memory order; writes f32.
//!
//! Words are read apart, see `text.rs`. Refuses pickled objects, structured and complex types, and any file whose length disagrees with its
//! header. The bytes come first and the header is checked against them, so nothing is allocated on its word.

mod header;
mod text;
mod values;

pub(crate) use header::MAGIC;
pub(super) use text::{word, words};
pub use values::Refused;

use crate::{output, quoted};
use iglu::{Error, Mat, Result};
use std::fmt;
use std::io::{self, Read, Write};
use std::path::Path;

/// What the elements of an array are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One byte, 0 or not.
    Bool,
    /// Signed whole numbers.
    Int,
    /// Unsigned whole numbers.
    Uint,
    /// IEEE floating point.
    Float,
}

/// Element type of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dtype {
    /// What the elements are.
    pub kind: Kind,
    /// Bytes per element.
    pub size: usize,
    /// Most significant byte first.
    pub big_endian: bool,
}

impl Dtype {
    /// Reads NumPy's short form, such as `<f4`.
    fn parse(descr: &[u8]) -> Result<Self> {
        let (order, code) = match descr {
            [order @ (b'<' | b'>' | b'|'), code @ ..] => (*order, code),
            code => (b'|', code),
        };
        let (kind, size) = match code {
            b"b1" | b"?" => (Kind::Bool, 1),
            b"i1" => (Kind::Int, 1),
            b"i2" => (Kind::Int, 2),
            b"i4" => (Kind::Int, 4),
            b"i8" => (Kind::Int, 8),
            b"u1" => (Kind::Uint, 1),
            b"u2" => (Kind::Uint, 2),
            b"u4" => (Kind::Uint, 4),
            b"u8" => (Kind::Uint, 8),
            b"f2" => (Kind::Float, 2),
            b"f4" => (Kind::Float, 4),
            b"f8" => (Kind::Float, 8),
            _ => return Err(unusable(descr, code)),
        };
        if size > 1 && order == b'|' {
            let found = format!("type '{}' without a byte order", String::from_utf8_lossy(descr));
            return Err(Error::data("", found, "save it again with a current NumPy"));
        }
        Ok(Self { kind, size, big_endian: order == b'>' })
    }
}

fn unusable(descr: &[u8], code: &[u8]) -> Error {
    let descr = String::from_utf8_lossy(&descr[..descr.len().min(40)]);
    let numeric = "save with a numeric dtype: bool, intN, uintN, float16, float32 or float64";
    match code.first() {
        Some(b'O') => {
            let found = "object array = pickled Python; refused, it could run code";
            Error::data("", found, "save with a numeric dtype")
        }
        Some(b'c') => {
            Error::data("", format!("complex type '{descr}'"), "save real and imaginary parts apart")
        }
        Some(b'S' | b'U' | b'a') => Error::data("", format!("text type '{descr}'"), numeric),
        Some(b'V') => Error::data("", format!("structured type '{descr}'"), numeric),
        Some(b'M' | b'm') => Error::data("", format!("date type '{descr}'"), numeric),
        _ => Error::data("", format!("unknown type '{descr}'"), numeric),
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.size * 8;
        match self.kind {
            Kind::Bool => write!(f, "bool"),
            Kind::Int => write!(f, "int{bits}"),
            Kind::Uint => write!(f, "uint{bits}"),
            Kind::Float => write!(f, "float{bits}"),
        }
    }
}

/// An array as it stands in a file; [`Array::ints`], [`Array::floats`] and [`Array::numbers`] give its values.
#[derive(Debug, Clone)]
pub struct Array {
    dtype: Dtype,
    shape: Vec<usize>,
    fortran: bool,
    bytes: Vec<u8>,
    start: usize,
}

impl Array {
    /// Takes the bytes of a whole .npy file.
    pub fn parse(bytes: Vec<u8>) -> Result<Self> {
        let header = header::parse(&bytes)?;
        let dtype = header.dtype()?;
        check_length(&dtype, dtype.size, &header.shape, bytes.len() - header.body)?;
        let header::Header { fortran, shape, body, .. } = header;
        Ok(Self { dtype, shape, fortran, bytes, start: body })
    }

    /// Takes values that stand elsewhere: `descr` is their type in NumPy's short form, such as `<f4`.
    pub fn from_parts(descr: &[u8], shape: Vec<usize>, fortran: bool, bytes: Vec<u8>) -> Result<Self> {
        let dtype = Dtype::parse(descr)?;
        check_length(&dtype, dtype.size, &shape, bytes.len())?;
        Ok(Self { dtype, shape, fortran, bytes, start: 0 })
    }

    /// Element type.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Length of each dimension; empty for a single number.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.body().len() / self.dtype.size
    }

    /// No element at all.
    pub fn is_empty(&self) -> bool {
        self.body().is_empty()
    }

    /// Shape and type as messages show them: `(2708, 1433) float32`.
    pub fn describe(&self) -> String {
        format!("{} {}", tuple(&self.shape), self.dtype)
    }

    fn body(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

/// Checks that elements called `kind`, of `size` bytes each, fill exactly the bytes present.
fn check_length(kind: &dyn fmt::Display, size: usize, shape: &[usize], present: usize) -> Result<()> {
    let declared = format!("header declares {} {kind}", tuple(shape));
    // Zeros do not excuse the other dimensions: they are multiplied first, so that no count overflows later.
    let others = shape.iter().filter(|&&n| n != 0).try_fold(size, |p, &n| p.checked_mul(n));
    let Some(others) = others else {
        let found = format!("{declared}, more bytes than 64 bits can count");
        return Err(Error::data("", found, "the file is damaged; save or fetch it again"));
    };
    let expected = if shape.contains(&0) { 0 } else { others };
    let found = format!("{declared} = {expected} bytes, the file has {present}");
    match present {
        _ if present < expected => Err(Error::data("", found, "the download was cut short; fetch it again")),
        _ if present > expected => {
            let fix = format!("{} bytes follow the array: save or fetch it again", present - expected);
            Err(Error::data("", found, fix))
        }
        _ => Ok(()),
    }
}

/// A shape as Python shows it.
fn tuple(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        many => format!("({})", many.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// The shape that an .npy array of `size` bytes declares, if that is what it takes; only its header is read.
pub(super) fn shape(array: impl Read, size: u64) -> Option<Vec<usize>> {
    const HEAD: u64 = 4096;
    let mut head = Vec::new();
    array.take(HEAD).read_to_end(&mut head).ok()?;
    let header = header::parse(&head).ok()?;
    let dtype = header.dtype().ok()?;
    let body = usize::try_from(size).ok()?.checked_sub(header.body)?;
    check_length(&dtype, dtype.size, &header.shape, body).ok()?;
    Some(header.shape)
}

/// Reads an .npy file.
pub fn read_npy(path: &Path) -> Result<Array> {
    let read = || Array::parse(super::read_whole(path)?);
    read().map_err(|e| e.within(&quoted(path)))
}

/// Writes a matrix as an .npy file (float32, row-major), replacing an old file only when all is on disk.
///
/// ```
/// # let path = std::env::temp_dir().join(format!("iglu-doc-{}.npy", std::process::id()));
/// let m = iglu::Mat::from_rows(&[[1.0, 2.0], [3.0, 4.0]]);
/// iglu_data::write_npy(&path, &m)?;
/// let back = iglu_data::formats::npy::read_npy(&path)?;
/// assert_eq!((back.shape(), back.floats()), (&[2, 2][..], vec![1.0, 2.0, 3.0, 4.0]));
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), iglu::Error>(())
/// ```
pub fn write_npy(path: &Path, values: &Mat) -> Result<()> {
    output::replace(path, |sink| {
        write_header(sink, "<f4", &[values.rows(), values.cols()])?;
        write_all(sink, values.data().iter().map(|v| v.to_le_bytes()))
    })
}

/// Writes magic, version 1.0 and header, padded to a multiple of 64 bytes as NumPy does.
pub(super) fn write_header(out: &mut impl Write, descr: &str, shape: &[usize]) -> io::Result<()> {
    let dict = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {}, }}", tuple(shape));
    let length = (10 + dict.len() + 1).next_multiple_of(64) - 10;
    let length16 = u16::try_from(length).map_err(|_| io::Error::other("npy header too long"))?;
    out.write_all(MAGIC)?;
    out.write_all(&[1, 0])?;
    out.write_all(&length16.to_le_bytes())?;
    writeln!(out, "{dict:<width$}", width = length - 1)
}

/// Writes the elements, gathered into larger pieces.
pub(super) fn write_all<const N: usize>(
    out: &mut impl Write,
    items: impl Iterator<Item = [u8; N]>,
) -> io::Result<()> {
    const PIECE: usize = 64 << 10;
    let mut piece = Vec::with_capacity(PIECE + N);
    for item in items {
        piece.extend_from_slice(&item);
        if piece.len() >= PIECE {
            out.write_all(&piece)?;
            piece.clear();
        }
    }
    out.write_all(&piece)
}

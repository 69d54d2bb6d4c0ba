//! MATLAB's MAT files of version 5 (`save -v6` and `-v7`): numeric and sparse arrays, in either byte order.
//!
//! A file is a header of 128 bytes and a list of elements, each a tag (type, length) and its bytes; a packed element is
//! a zlib stream of one such element. An array is an element of elements: flags, dimensions, name, numbers.
//!
//! Guards: lengths that reach beyond the file, dimensions that disagree with the bytes, zlib streams that expand
//! without end, names there twice. Cells, structures, objects and function handles are listed, never opened: nothing
//! here recurses. Version 7.3 is HDF5 and refused.

mod element;

use super::npy::Array;
use super::scipy_npz::{Csr, Keys, Parts};
use crate::{Limits, quoted};
use element::{Elements, MATRIX, Order, PACKED};
use flate2::read::ZlibDecoder;
use iglu::{Error, Result};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

/// Bytes before the first element.
const HEADER: usize = 128;
/// Bytes in which flags, dimensions and name of a packed array must stand.
const LONGEST_INTRODUCTION: u64 = 4 << 10;
/// Class of sparse arrays.
const SPARSE: u8 = 5;
/// Class of new-style objects, which have no dimensions.
const OPAQUE: u8 = 17;
const DAMAGED: &str = "the file is damaged; save or fetch it again";
/// The parts of a sparse array, for messages.
const COLUMNS: Keys<'static> = Keys {
    matrix: "matrix",
    shape: "dimensions",
    indptr: "column offsets",
    indices: "row indices",
    data: "values",
    words: ["column", "row"],
    index: "row",
    fix: Some(DAMAGED),
    ..Keys::SCIPY
};

/// Whether these are the first bytes of a MAT file, of version 5 or 7.3.
pub(super) fn is_mat(head: &[u8]) -> bool {
    head.starts_with(b"MATLAB 5.0") || head.starts_with(b"MATLAB 7.3") || byte_order(head).is_ok()
}

/// A MAT file in memory; its arrays are unpacked on demand.
pub struct MatFile {
    bytes: Vec<u8>,
    order: Order,
    variables: Vec<Variable>,
    limits: Limits,
    spent: u64,
}

/// An array and where its element stands in the file.
struct Variable {
    about: Introduction,
    data: Range<usize>,
    packed: bool,
}

/// What stands before the numbers of an array.
struct Introduction {
    name: String,
    class: u8,
    complex: bool,
    dims: Vec<usize>,
    /// Where the numbers start, from the flags on.
    end: usize,
}

impl MatFile {
    /// Reads the file at `path`; errors name it.
    pub fn open(path: &Path, limits: Limits) -> Result<Self> {
        let open = || Self::parse(super::read_whole(path)?, limits);
        open().map_err(|e| e.within(&quoted(path)))
    }

    /// Takes the bytes of a whole file and lists its arrays.
    pub fn parse(bytes: Vec<u8>, limits: Limits) -> Result<Self> {
        let order = byte_order(&bytes)?;
        let variables = variables(&bytes, order)?;
        Ok(Self { bytes, order, variables, limits, spent: 0 })
    }

    /// Whether there is an array called `name`.
    pub fn has(&self, name: &str) -> bool {
        self.variables.iter().any(|v| v.about.name == name)
    }

    /// Reads the numeric array called `name`.
    pub fn dense(&mut self, name: &str) -> Result<Array> {
        self.read(name, |about, numbers| match about.class {
            6..=15 => numbers.numbers(&about.dims),
            SPARSE => Err(about.refused("a full matrix", "save it as full(...)")),
            _ => Err(about.refused("numbers", "save it as a matrix of numbers")),
        })
    }

    /// Reads the sparse array called `name`. MATLAB compresses columns: this is its transpose.
    pub fn sparse(&mut self, name: &str) -> Result<Csr> {
        let parts = self.read(name, |about, numbers| match about.dims[..] {
            [rows, cols] if about.class == SPARSE => {
                let (indices, indptr, data) = (numbers.next()?, numbers.next()?, numbers.next()?);
                let indptr = numbers.leading(indptr, cols + 1)?;
                // Room beyond the last offset is legal. Offsets that make no sense are refused later.
                let used = indptr.ints::<u64>().ok().and_then(|o| o.last().copied()).unwrap_or(u64::MAX);
                let part = |element| numbers.leading(element, used as usize);
                let shape = [cols, rows].iter().flat_map(|&n| (n as u64).to_le_bytes()).collect();
                let shape = Array::from_parts(b"<u8", vec![2], false, shape)?;
                Ok(Parts { shape, indptr, indices: part(indices)?, data: part(data)? })
            }
            _ => Err(about.refused("a sparse matrix", "save it as sparse(...)")),
        })?;
        Csr::check(&parts, &COLUMNS).map_err(|e| e.within(name))
    }

    /// The error for an array that is needed and not there, listing what is.
    pub fn missing(&self, name: &str, remedy: &str) -> Error {
        const MOST: usize = 20;
        let named = self.variables.iter().filter(|v| !v.about.name.is_empty());
        let mut listed: Vec<String> = named.map(|v| v.about.to_string()).collect();
        if listed.len() > MOST {
            let more = listed.len() - MOST;
            listed.truncate(MOST);
            listed.push(format!("and {more} more"));
        }
        let list = if listed.is_empty() { "none".to_string() } else { listed.join(", ") };
        Error::data(name, format!("no such variable; the file has {list}"), remedy)
    }

    fn read<T>(
        &mut self,
        name: &str,
        of: impl FnOnce(&Introduction, &mut Elements<'_>) -> Result<T>,
    ) -> Result<T> {
        let Some(variable) = self.variables.iter().find(|v| v.about.name == name) else {
            return Err(self.missing(name, "save it under this name"));
        };
        let left = self.limits.max_decompressed - self.spent;
        let read = || {
            let about = &variable.about;
            if about.complex {
                return Err(about.refused("real numbers", "save real(...) of it"));
            }
            let (bytes, start) = content(&self.bytes, variable, self.order, left)?;
            let numbers = &mut Elements { bytes: &bytes, at: start + about.end, order: self.order };
            Ok((of(about, numbers)?, if variable.packed { bytes.len() as u64 } else { 0 }))
        };
        let (out, unpacked) = read().map_err(|e| e.within(name))?;
        self.spent += unpacked;
        Ok(out)
    }
}

/// The arrays of a file, by what stands before their numbers.
fn variables(bytes: &[u8], order: Order) -> Result<Vec<Variable>> {
    let mut names = BTreeSet::new();
    let mut variables = Vec::new();
    let mut elements = Elements { bytes, at: HEADER, order };
    while elements.at < bytes.len() {
        let at = elements.at;
        let variable = variable(&mut elements).map_err(|e| e.within(&format!("byte {at}")))?;
        let name = &variable.about.name;
        if !names.insert(name.clone()) {
            let found = format!("variable `{name}` is there twice");
            return Err(Error::data(format!("byte {at}"), found, "save the file again with each name once"));
        }
        variables.push(variable);
    }
    Ok(variables)
}

fn variable(elements: &mut Elements<'_>) -> Result<Variable> {
    let data = elements.tag()?.data;
    let order = elements.order;
    let (kind, bytes) = elements.next()?;
    let packed = kind == PACKED;
    let about = match kind {
        MATRIX => Introduction::read(bytes, order)?,
        PACKED => {
            let first = unpack(bytes, LONGEST_INTRODUCTION)?;
            let tag = Elements { bytes: &first, at: 0, order }.tag()?;
            if tag.kind != MATRIX {
                return Err(element::unknown(tag.kind, "a packed array"));
            }
            Introduction::read(first.get(tag.data.start..).unwrap_or_default(), order)?
        }
        other => return Err(element::unknown(other, "an array")),
    };
    Ok(Variable { about, data, packed })
}

/// The bytes that hold an array, unpacked, and where its flags stand in them.
fn content<'a>(
    bytes: &'a [u8],
    variable: &Variable,
    order: Order,
    most: u64,
) -> Result<(Cow<'a, [u8]>, usize)> {
    let data = &bytes[variable.data.clone()];
    if !variable.packed {
        return Ok((Cow::Borrowed(data), 0));
    }
    let unpacked = unpack(data, most.saturating_add(1))?;
    if unpacked.len() as u64 > most {
        let gib = most as f64 / (1_u64 << 30) as f64;
        let found = format!("unpacks to more than {gib:.1} GiB, which is what was left for this file");
        return Err(Error::data("", found, "if you trust the file, raise the limit: --max-decompressed GIB"));
    }
    let mut element = Elements { bytes: &unpacked, at: 0, order };
    let start = element.tag()?.data.start;
    element.next()?;
    Ok((Cow::Owned(unpacked), start))
}

/// The first `most` bytes of a zlib stream, or all if it has fewer.
fn unpack(stream: &[u8], most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = ZlibDecoder::new(stream).take(most).read_to_end(&mut bytes);
    read.map_err(|e| Error::data("", format!("cannot be unpacked: {e}"), DAMAGED))?;
    Ok(bytes)
}

impl Introduction {
    /// Reads flags, dimensions and name at the start of `bytes`, which may end behind them.
    fn read(bytes: &[u8], order: Order) -> Result<Self> {
        let mut elements = Elements { bytes, at: 0, order };
        let (_, flags) = elements.next()?;
        let Some(&flags) = flags.first_chunk() else {
            return Err(Error::data("", "an array without flags", DAMAGED));
        };
        let [_, _, flags, class] = order.word(flags).to_be_bytes();
        let dims = if class == OPAQUE { Vec::new() } else { dimensions(&mut elements)? };
        let (_, name) = elements.next()?;
        let name = String::from_utf8_lossy(name).into_owned();
        Ok(Self { name, class, complex: flags & 8 != 0, dims, end: elements.at })
    }

    fn refused(&self, expected: &str, fix: &str) -> Error {
        let complex = if self.complex { "complex " } else { "" };
        Error::data("", format!("{complex}{}; expected {expected}", self.kind()), fix)
    }

    /// Class and size: `uint16 5180 x 7`.
    fn kind(&self) -> String {
        let size: Vec<String> = self.dims.iter().map(usize::to_string).collect();
        format!("{} {}", class_name(self.class), size.join(" x ")).trim_end().to_string()
    }
}

impl fmt::Display for Introduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` ({})", self.name, self.kind())
    }
}

fn dimensions(elements: &mut Elements<'_>) -> Result<Vec<usize>> {
    let element = elements.next()?;
    let array = elements.leading(element, usize::MAX)?;
    let refused = |found: String| Error::data("dimensions", found, DAMAGED);
    let dims = array.ints::<u32>().map_err(|bad| refused(format!("{}; expected 0 or more", bad.value)))?;
    if dims.len() < 2 {
        return Err(refused(format!("{} of them; expected 2 or more", dims.len())));
    }
    Ok(dims.into_iter().map(|d| d as usize).collect())
}

fn class_name(class: u8) -> &'static str {
    const NAMES: [&str; 18] = [
        "unknown",
        "cell",
        "struct",
        "object",
        "char",
        "sparse",
        "double",
        "single",
        "int8",
        "uint8",
        "int16",
        "uint16",
        "int32",
        "uint32",
        "int64",
        "uint64",
        "function handle",
        "object",
    ];
    NAMES.get(usize::from(class)).unwrap_or(&NAMES[0])
}

/// Byte order of a file of version 5; an error for any other file.
fn byte_order(bytes: &[u8]) -> Result<Order> {
    if bytes.starts_with(b"MATLAB 7.3") {
        let found = "a MATLAB file of version 7.3 (HDF5), which is not read";
        return Err(Error::data("", found, "save it again in MATLAB: save(file, '-v7')"));
    }
    match bytes.get(124..HEADER) {
        Some([0, 1, b'I', b'M']) => Ok(Order::Little),
        Some([1, 0, b'M', b'I']) => Ok(Order::Big),
        Some(end) if bytes.starts_with(b"MATLAB 5.0") => {
            let found = format!("version and byte order \"{}\"", end.escape_ascii());
            Err(Error::data("byte 124", format!("{found}; expected \"\\x00\\x01IM\""), DAMAGED))
        }
        None if bytes.starts_with(b"MATLAB 5.0") => {
            let found = format!("{} bytes; the header alone has {HEADER}", bytes.len());
            Err(Error::data("", found, "the download was cut short; fetch it again"))
        }
        _ => Err(super::unrecognised(bytes, "a MATLAB file")),
    }
}

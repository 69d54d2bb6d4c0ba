//! Python pickles as data: a decoder that builds values and cannot call anything.
//!
//! A pickle is a program for a stack machine that may ask to call any Python function. This decoder knows the few names
//! of [`names`] that stand for data (NumPy arrays, SciPy's `csr_matrix`, dictionaries); any other name is refused with its
//! place in the file. All protocols are read, also with the strings of Python 2.
//!
//! Objects refer to each other by number, so neither depth nor cycles matter to anybody, and arrays are cut out of the
//! file only when asked for, so sharing multiplies nothing. A file makes at most one value per byte, and no more than
//! [`MOST_VALUES`].

mod machine;
mod names;

use super::npy::Array;
use super::refuse_stand_in;
use super::scipy_npz::Parts;
use iglu::{Error, Result};
use names::Name;
use std::borrow::Cow;

/// Most values a pickle may make.
const MOST_VALUES: usize = 1 << 24;

/// A decoded pickle.
pub struct Pickle {
    file: Vec<u8>,
    objects: Vec<Object>,
    root: Value,
}

/// Something a pickle holds. Strings are places in the file, composed objects are numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// `None`
    None,
    /// `True` or `False`
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A decimal number.
    Float(f64),
    /// Bytes or text, as they stand in the file.
    Text {
        /// First byte.
        start: usize,
        /// Number of bytes.
        length: usize,
    },
    /// One of the known names.
    Name(Name),
    /// An object of this pickle.
    Object(usize),
}

/// A value made of others.
#[derive(Debug)]
enum Object {
    Tuple(Vec<Value>),
    List(Vec<Value>),
    Dict(Vec<(Value, Value)>),
    /// Text that stood escaped in the file.
    Unescaped(Vec<u8>),
    /// `text.encode("latin1")`, as Python 3 writes bytes for Python 2.
    Latin1(Value),
    /// A NumPy element type: its letters, and its byte order once known.
    Dtype {
        code: Value,
        order: u8,
    },
    /// A NumPy array, with what it is made of once known.
    Array(Option<ArrayParts>),
    /// An object of a known class, with its fields once known.
    Instance(Option<Value>),
}

/// What a NumPy array is made of.
#[derive(Debug, Clone, Copy)]
struct ArrayParts {
    shape: Value,
    dtype: Value,
    fortran: bool,
    bytes: Value,
}

impl Pickle {
    /// Decodes a whole file.
    pub fn parse(file: Vec<u8>) -> Result<Self> {
        refuse_stand_in(&file, "a pickle")?;
        let (objects, root) = machine::run(&file)?;
        Ok(Self { file, objects, root })
    }

    /// What was pickled.
    pub fn root(&self) -> Value {
        self.root
    }

    /// The bytes of a string.
    pub fn text(&self, value: Value) -> Option<Cow<'_, [u8]>> {
        match (value, self.object(value)) {
            (Value::Text { start, length }, _) => Some(Cow::Borrowed(&self.file[start..start + length])),
            (_, Some(Object::Unescaped(bytes))) => Some(Cow::Borrowed(bytes)),
            // One step only: text to be encoded is never itself encoded.
            (_, Some(&Object::Latin1(inner))) => match (inner, self.object(inner)) {
                (Value::Text { start, length }, _) => {
                    latin1(&self.file[start..start + length]).map(Cow::Owned)
                }
                (_, Some(Object::Unescaped(bytes))) => latin1(bytes).map(Cow::Owned),
                _ => None,
            },
            _ => None,
        }
    }

    /// The entries of a dictionary.
    pub fn dict(&self, value: Value) -> Result<&[(Value, Value)]> {
        match self.object(value) {
            Some(Object::Dict(entries)) => Ok(entries),
            _ => Err(self.unexpected(value, "a dictionary")),
        }
    }

    /// The items of a list or tuple.
    pub fn items(&self, value: Value) -> Result<&[Value]> {
        match self.object(value) {
            Some(Object::List(items) | Object::Tuple(items)) => Ok(items),
            _ => Err(self.unexpected(value, "a list")),
        }
    }

    /// A NumPy array.
    pub fn array(&self, value: Value) -> Result<Array> {
        let Some(Object::Array(Some(parts))) = self.object(value) else {
            return Err(self.unexpected(value, "a NumPy array"));
        };
        let shape: Option<Vec<usize>> = self.items(parts.shape)?.iter().map(|&n| size(n)).collect();
        let (Some(shape), Some(descr)) = (shape, self.descr(parts.dtype)) else {
            return Err(self.unexpected(value, "a NumPy array with a shape and a type"));
        };
        let Some(bytes) = self.text(parts.bytes) else {
            let found = "object array = Python objects instead of numbers";
            return Err(Error::data("", found, "save with a numeric dtype"));
        };
        Array::from_parts(&descr, shape, parts.fortran, bytes.into_owned())
    }

    /// Element type in NumPy's short form.
    fn descr(&self, value: Value) -> Option<Vec<u8>> {
        let Some(&Object::Dtype { code, order }) = self.object(value) else { return None };
        Some([&[order], &*self.text(code)?].concat())
    }

    /// The parts of a SciPy `csr_matrix`.
    pub fn csr(&self, value: Value) -> Result<Parts> {
        let Some(&Object::Instance(Some(fields))) = self.object(value) else {
            return Err(self.unexpected(value, "a SciPy csr_matrix"));
        };
        let field = |names: &[&str]| {
            let entries = self.dict(fields)?;
            let hit = entries.iter().find(|(key, _)| {
                self.text(*key).is_some_and(|key| names.iter().any(|name| *key == *name.as_bytes()))
            });
            let missing = || {
                Error::data("", format!("a csr_matrix without `{}`", names[0]), "save it again with SciPy")
            };
            hit.map(|(_, v)| *v).ok_or_else(missing)
        };
        let part = |name: &str| self.array(field(&[name])?).map_err(|e| e.within(name));
        Ok(Parts {
            shape: self.pair(field(&["_shape", "shape"])?)?,
            indptr: part("indptr")?,
            indices: part("indices")?,
            data: part("data")?,
        })
    }

    /// A tuple of whole numbers as an array.
    fn pair(&self, value: Value) -> Result<Array> {
        let items = self.items(value)?;
        let bytes: Option<Vec<[u8; 8]>> = items.iter().map(|&n| whole(n).map(i64::to_le_bytes)).collect();
        match bytes {
            Some(bytes) => Array::from_parts(b"<i8", vec![bytes.len()], false, bytes.concat()),
            None => Err(self.unexpected(value, "a tuple of whole numbers")),
        }
    }

    /// The error for a value of the wrong kind.
    pub fn unexpected(&self, value: Value, expected: &str) -> Error {
        let found = format!("{} where {expected} was expected", self.describe(value));
        Error::data("", found, "the file is another part, or damaged; fetch it again")
    }

    fn describe(&self, value: Value) -> &'static str {
        match (value, self.object(value)) {
            (Value::None, _) => "None",
            (Value::Bool(_), _) => "a truth value",
            (Value::Int(_), _) => "a whole number",
            (Value::Float(_), _) => "a decimal number",
            (Value::Text { .. }, _) | (_, Some(Object::Unescaped(_) | Object::Latin1(_))) => "a string",
            (Value::Name(_), _) => "a class",
            (_, Some(Object::Tuple(_))) => "a tuple",
            (_, Some(Object::List(_))) => "a list",
            (_, Some(Object::Dict(_))) => "a dictionary",
            (_, Some(Object::Dtype { .. })) => "a NumPy type",
            (_, Some(Object::Array(_))) => "a NumPy array",
            (_, Some(Object::Instance(_))) => "a SciPy csr_matrix",
            (Value::Object(_), None) => "nothing",
        }
    }

    fn object(&self, value: Value) -> Option<&Object> {
        match value {
            Value::Object(id) => self.objects.get(id),
            _ => None,
        }
    }
}

/// A whole number, also one that was written as a truth value.
pub fn whole(value: Value) -> Option<i64> {
    match value {
        Value::Int(n) => Some(n),
        Value::Bool(b) => Some(b.into()),
        _ => None,
    }
}

fn size(value: Value) -> Option<usize> {
    whole(value).and_then(|n| usize::try_from(n).ok())
}

/// UTF-8 text as bytes of one letter each.
fn latin1(utf8: &[u8]) -> Option<Vec<u8>> {
    std::str::from_utf8(utf8).ok()?.chars().map(|c| u8::try_from(c).ok()).collect()
}

#[cfg(test)]
mod tests;

//! Elements of a MAT file: a tag with type and length, then the bytes.
//!
//! The tag is 8 bytes, type and length; or 4 bytes with up to 4 bytes of data behind, where both share a word. Data are
//! filled up to a multiple of 8 bytes, but for packed elements.

use super::DAMAGED;
use crate::formats::npy::Array;
use iglu::{Error, Result};
use std::ops::Range;

/// Type of an array: an element of elements.
pub(super) const MATRIX: u32 = 14;
/// Type of a zlib stream of one element.
pub(super) const PACKED: u32 = 15;

/// Byte order of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

impl Order {
    pub(super) fn word(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }
}

/// What a tag says: the type of an element, where its data stand and where the next element starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tag {
    pub kind: u32,
    pub data: Range<usize>,
    pub next: usize,
}

/// The elements of `bytes`, one after the other.
pub(super) struct Elements<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
    pub order: Order,
}

impl<'a> Elements<'a> {
    /// The tag at the present place; its data may reach beyond the bytes.
    pub(super) fn tag(&self) -> Result<Tag> {
        let word = |at: usize| {
            let bytes = self.bytes.get(at..)?.first_chunk()?;
            Some(self.order.word(*bytes) as usize)
        };
        let (Some(first), Some(second)) = (word(self.at), word(self.at + 4)) else {
            return Err(cut("the data end inside a tag of 8 bytes".to_string()));
        };
        let (short, kind) = (first >> 16, (first & 0xffff) as u32);
        if short > 4 {
            let found = format!("type {first} and length {second}; no element begins like this");
            return Err(Error::data("", found, DAMAGED));
        }
        if short > 0 {
            let start = self.at + 4;
            return Ok(Tag { kind, data: start..start + short, next: self.at + 8 });
        }
        let start = self.at + 8;
        let end = start + second;
        let next = if kind == PACKED { end } else { start + second.next_multiple_of(8) };
        Ok(Tag { kind, data: start..end, next })
    }

    /// The next element: its type and data.
    pub(super) fn next(&mut self) -> Result<(u32, &'a [u8])> {
        let Tag { kind, data, next } = self.tag()?;
        let (declared, present) = (data.len(), self.bytes.len() - data.start);
        let Some(bytes) = self.bytes.get(data) else {
            return Err(cut(format!("an element of {declared} bytes is declared, {present} are there")));
        };
        self.at = next.min(self.bytes.len());
        Ok((kind, bytes))
    }

    /// The next element as numbers of the given shape.
    pub(super) fn numbers(&mut self, shape: &[usize]) -> Result<Array> {
        let (kind, data) = self.next()?;
        Array::from_parts(number_type(kind, self.order)?.0, shape.to_vec(), true, data.to_vec())
    }

    /// The first `most` numbers of an element, or all if it has fewer.
    pub(super) fn leading(&self, (kind, data): (u32, &[u8]), most: usize) -> Result<Array> {
        let (descr, size) = number_type(kind, self.order)?;
        let count = (data.len() / size).min(most);
        Array::from_parts(descr, vec![count], false, data[..count * size].to_vec())
    }
}

fn cut(found: String) -> Error {
    Error::data("", found, "the download was cut short; fetch it again")
}

/// NumPy's name of a type of numbers, and the bytes of one.
fn number_type(kind: u32, order: Order) -> Result<(&'static [u8], usize)> {
    let (little, big, size): (&[u8], &[u8], usize) = match kind {
        1 => (b"|i1", b"|i1", 1),
        2 => (b"|u1", b"|u1", 1),
        3 => (b"<i2", b">i2", 2),
        4 => (b"<u2", b">u2", 2),
        5 => (b"<i4", b">i4", 4),
        6 => (b"<u4", b">u4", 4),
        7 => (b"<f4", b">f4", 4),
        9 => (b"<f8", b">f8", 8),
        12 => (b"<i8", b">i8", 8),
        13 => (b"<u8", b">u8", 8),
        other => return Err(unknown(other, "numbers")),
    };
    Ok((if order == Order::Big { big } else { little }, size))
}

/// The error for an element of the wrong type.
pub(super) fn unknown(kind: u32, expected: &str) -> Error {
    Error::data("", format!("an element of type {kind}; expected {expected}"), DAMAGED)
}

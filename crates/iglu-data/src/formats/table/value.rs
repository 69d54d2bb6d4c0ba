//! Values of tables, whatever file they come from, and where they stand.

use crate::formats::lines;
use iglu::{Error, Result};
use std::borrow::Cow;
use std::fmt;

/// Where a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// What rows are called: lines, counted from 1, or rows, counted from 0.
    pub unit: &'static str,
    /// The row, so counted.
    pub row: usize,
    /// The column, from 0.
    pub column: usize,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}, column {}", self.unit, self.row, self.column + 1)
    }
}

/// One value.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "text has no types of its own"))]
pub enum Value<'a> {
    /// Nothing stands there.
    Missing,
    /// Text, or a number as text.
    Text(&'a [u8]),
    /// A whole number.
    Whole(i64),
    /// A number.
    Number(f64),
    /// Yes or no.
    Flag(bool),
}

impl<'a> Value<'a> {
    /// The whole number it is; `3.0` is one, `3.7` is not.
    pub fn whole(&self) -> Option<i64> {
        match *self {
            Self::Text(text) => lines::whole(text),
            Self::Whole(value) => Some(value),
            Self::Number(value) => lines::exact(value),
            Self::Missing | Self::Flag(_) => None,
        }
    }

    /// The number it is; `true` and `false` are 1 and 0.
    pub fn number(&self) -> Option<f64> {
        match *self {
            Self::Text(text) => lines::decimal(text).or_else(|| self.truth().map(|t| f64::from(u8::from(t)))),
            Self::Whole(value) => Some(value as f64),
            Self::Number(value) => Some(value),
            Self::Flag(value) => Some(f64::from(u8::from(value))),
            Self::Missing => None,
        }
    }

    /// Yes or no, if it says `true` or `false`.
    pub fn truth(&self) -> Option<bool> {
        match *self {
            Self::Text(text) if text.eq_ignore_ascii_case(b"true") => Some(true),
            Self::Text(text) if text.eq_ignore_ascii_case(b"false") => Some(false),
            Self::Flag(value) => Some(value),
            _ => None,
        }
    }

    /// It as text; an error if it is missing or no UTF-8.
    pub fn text(&self, at: At) -> Result<Cow<'a, str>> {
        match *self {
            Self::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) if !text.contains('\0') => Ok(Cow::Borrowed(text)),
                _ => Err(self.refused(at, "text in UTF-8")),
            },
            Self::Whole(value) => Ok(Cow::Owned(value.to_string())),
            Self::Number(value) => Ok(Cow::Owned(value.to_string())),
            Self::Flag(value) => Ok(Cow::Owned(value.to_string())),
            Self::Missing => Err(self.refused(at, "text")),
        }
    }

    /// The error for a value that is not what was `expected`.
    pub fn refused(&self, at: At, expected: &str) -> Error {
        let (value, (why, fix)) = match *self {
            Self::Text(text) => (lines::shown(text), lines::why(text)),
            Self::Missing => ("the value is missing".to_string(), ("", "fill it in")),
            Self::Whole(value) => (value.to_string(), ("", "mend the value")),
            Self::Number(value) => (value.to_string(), ("", "mend the value")),
            Self::Flag(value) => (value.to_string(), ("", "mend the value")),
        };
        Error::data(at.to_string(), format!("{value}{why}; expected {expected}"), fix)
    }
}

/// A table that is read cell by cell.
pub trait Table {
    /// Names of the columns; `None` where there are none.
    fn header(&self) -> Option<&[String]>;

    /// Number of columns.
    fn width(&self) -> usize;

    /// Gives every cell of the columns that are `wanted` to `each`, the cells of a column from the top; returns the
    /// number of rows.
    fn cells(&mut self, wanted: &[bool], each: &mut dyn FnMut(&Value<'_>, At) -> Result<()>)
    -> Result<usize>;
}

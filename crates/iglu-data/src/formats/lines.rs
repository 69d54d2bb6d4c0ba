//! Text files line by line, packed or not: fields and numbers, with the line and column of every error.
//!
//! Works on bytes and holds one line at a time. Empty lines are passed over, a byte order mark too; `\r\n` ends a
//! line as `\n` does. Decimal numbers are correctly rounded, as Python rounds them. Knows no quotes.

use super::gz::{Unpacked, cause};
use super::refuse_stand_in;
use crate::{Limits, quoted};
use iglu::{Error, Result};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Longest line read.
const LONGEST: usize = 1 << 20;
/// Bytes read at first, and at a time once a file has proved long.
const FIRST: usize = 4 << 10;
const BUFFER: usize = 256 << 10;
/// What some editors put before UTF-8 text.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The lines of a text file.
pub struct Lines<R = BufReader<File>> {
    source: Unpacked<R>,
    buffer: Vec<u8>,
    /// What is read but not given out stands in `buffer[start..end]`.
    start: usize,
    end: usize,
    number: usize,
    /// Whether a line has been given out.
    begun: bool,
    /// Whether [`Lines::rows`] passes over a first line that is no row.
    pub skip_header: bool,
}

/// One line, without its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its number in the file, from 1.
    pub number: usize,
    /// Its bytes.
    pub bytes: &'a [u8],
}

impl Lines {
    /// Opens the file at `path`. Errors do not name it: see [`in_file`].
    pub fn open(path: &Path, limits: Limits) -> Result<Self> {
        Ok(Self::new(Unpacked::open(path, limits)?))
    }
}

/// Reads the lines of the file at `path` through `read`; errors name the file.
pub fn in_file<T>(path: &Path, limits: Limits, read: impl FnOnce(&mut Lines) -> Result<T>) -> Result<T> {
    Lines::open(path, limits).and_then(|mut lines| read(&mut lines)).map_err(|e| e.within(&quoted(path)))
}

impl<R: BufRead> Lines<R> {
    /// Lines of any source.
    pub fn new(source: Unpacked<R>) -> Self {
        Self { source, buffer: Vec::new(), start: 0, end: 0, number: 0, begun: false, skip_header: false }
    }

    /// The next line that is not empty; `None` after the last.
    #[expect(
        clippy::should_implement_trait,
        reason = "a line borrows the buffer, which iterators cannot say"
    )]
    pub fn next(&mut self) -> Result<Option<Line<'_>>> {
        loop {
            let Some(mut span) = self.next_span()? else { return Ok(None) };
            self.number += 1;
            if self.number == 1 && self.buffer[span.clone()].starts_with(BYTE_ORDER_MARK) {
                span.start += BYTE_ORDER_MARK.len();
            }
            if !self.buffer[span.clone()].trim_ascii().is_empty() {
                let bytes = &self.buffer[span];
                if !std::mem::replace(&mut self.begun, true) {
                    refuse_stand_in(bytes, "text")?;
                }
                return Ok(Some(Line {
                    number: self.number,
                    bytes: bytes.strip_suffix(b"\r").unwrap_or(bytes),
                }));
            }
        }
    }

    /// Where the next line stands in the buffer.
    fn next_span(&mut self) -> Result<Option<std::ops::Range<usize>>> {
        let mut seen = 0;
        loop {
            let fresh = &self.buffer[self.start + seen..self.end];
            if let Some(length) = fresh.iter().position(|&b| b == b'\n') {
                let span = self.start..self.start + seen + length;
                self.start = span.end + 1;
                return Ok(Some(span));
            }
            seen = self.end - self.start;
            if seen > LONGEST {
                let found = format!("more than {LONGEST} bytes without a line end");
                let place = format!("line {}", self.number + 1);
                return Err(Error::data(place, found, "this is no text file of one row per line"));
            }
            if self.fill()? == 0 {
                let span = self.start..self.end;
                self.start = self.end;
                return Ok((!span.is_empty()).then_some(span));
            }
        }
    }

    /// Reads on, making room first; returns how many bytes came.
    fn fill(&mut self) -> Result<usize> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.buffer.len() || self.buffer.len() < BUFFER {
            self.buffer.resize((2 * self.buffer.len()).max(FIRST), 0);
        }
        let count = self.source.read(&mut self.buffer[self.end..]).map_err(cause)?;
        self.end += count;
        Ok(count)
    }

    /// Gives every line to `row` as numbers, with its place for messages; returns how many lines there were.
    pub fn rows<T>(
        &mut self,
        columns: &Columns<T>,
        mut row: impl FnMut(usize, &[T]) -> Result<()>,
    ) -> Result<usize> {
        let (mut values, mut count, mut width) = (Vec::new(), 0, columns.count);
        let mut skip = self.skip_header;
        while let Some(line) = self.next()? {
            values.clear();
            if std::mem::take(&mut skip)
                && line.fields(columns.separator).any(|f| (columns.read)(f).is_none())
            {
                continue;
            }
            for (column, field) in line.fields(columns.separator).enumerate() {
                let Some(value) = (columns.read)(field) else {
                    return Err(refused(&line, column, field, columns.expected));
                };
                values.push(value);
            }
            if values.len() != *width.get_or_insert(values.len()) {
                return Err(wrong_width(&line, values.len(), width.unwrap_or(0)));
            }
            row(line.number, &values)?;
            count += 1;
        }
        Ok(count)
    }

    /// All lines as one table.
    pub fn table<T: Copy>(&mut self, columns: &Columns<T>) -> Result<Table<T>> {
        let mut table = Table { rows: 0, cols: columns.count.unwrap_or(0), values: Vec::new() };
        table.rows = self.rows(columns, |_, row| {
            table.cols = row.len();
            table.values.extend_from_slice(row);
            Ok(())
        })?;
        Ok(table)
    }
}

impl<'a> Line<'a> {
    /// The fields between separators.
    pub fn fields(&self, separator: u8) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.bytes.split(move |&b| b == separator)
    }

    /// A field of this line as text.
    pub fn text<'b>(&self, column: usize, field: &'b [u8]) -> Result<&'b str> {
        match std::str::from_utf8(field) {
            Ok(text) if !text.contains('\0') => Ok(text),
            _ => Err(refused(self, column, field, "text in UTF-8")),
        }
    }
}

/// How the fields of a table of numbers are read.
pub struct Columns<T> {
    /// What stands between fields.
    pub separator: u8,
    /// How many there are in each line; `None`: as many as in the first.
    pub count: Option<usize>,
    /// The number in a field: [`whole`], [`decimal`] or a function of them.
    pub read: fn(&[u8]) -> Option<T>,
    /// What a field should be, for messages.
    pub expected: &'static str,
}

/// Numbers of a text file, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Table<T> {
    /// Number of lines.
    pub rows: usize,
    /// Numbers in each.
    pub cols: usize,
    /// All of them.
    pub values: Vec<T>,
}

/// The error for a field that is not what was `expected`; `column` counts from 0.
pub fn refused(line: &Line<'_>, column: usize, field: &[u8], expected: &str) -> Error {
    let (why, fix) = match why(field) {
        ("", _) if line.number == 1 && field.iter().any(u8::is_ascii_alphabetic) => {
            ("; looks like a header", "delete the line, or use --skip-header")
        }
        other => other,
    };
    let place = format!("line {}, column {}", line.number, column + 1);
    Error::data(place, format!("{}{why}; expected {expected}", shown(field)), fix)
}

/// A field as messages show it: quoted, and cut where it is long.
pub fn shown(field: &[u8]) -> String {
    const MOST: usize = 40;
    let more = if field.len() > MOST { "..." } else { "" };
    format!("'{}{more}'", field[..field.len().min(MOST)].escape_ascii())
}

/// What is wrong with a field, if that can be seen, and the way out.
pub fn why(field: &[u8]) -> (&'static str, &'static str) {
    let digits = field.trim_ascii();
    let digits = digits.strip_prefix(b"-").unwrap_or(digits);
    match field {
        _ if field.contains(&0) => ("; a NUL byte: this is no text in UTF-8", "save the file as plain text"),
        _ if field.contains(&b'\r') => {
            ("; carriage returns without line feeds", "save the file with Unix line ends")
        }
        _ if std::str::from_utf8(field).is_err() => ("; not UTF-8", "save the file as UTF-8"),
        _ if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) && whole(field).is_none() => {
            (", which does not fit", "check the number")
        }
        _ => ("", "mend the line, or fetch the file again"),
    }
}

/// The error for a line with too many or too few fields.
pub fn wrong_width(line: &Line<'_>, found: usize, expected: usize) -> Error {
    let columns = |n: usize| if n == 1 { "1 column".to_string() } else { format!("{n} columns") };
    let found = format!("{}; expected {}", columns(found), columns(expected));
    Error::data(format!("line {}", line.number), found, "every line has the same columns: mend it")
}

/// The whole number in a field. `3.0` is one, `3.7` is not.
pub fn whole(field: &[u8]) -> Option<i64> {
    let field = field.trim_ascii();
    let (negative, digits) = match field {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return decimal(field).and_then(exact);
    }
    let value = digits.iter().try_fold(0_i64, |v, &d| v.checked_mul(10)?.checked_add((d - b'0').into()))?;
    Some(if negative { -value } else { value })
}

/// The whole number that `v` is, if it is one that f64 holds exactly.
pub fn exact(v: f64) -> Option<i64> {
    const EXACT: f64 = (1_u64 << 53) as f64;
    (v.fract() == 0.0 && v.abs() <= EXACT).then_some(v as i64)
}

/// The decimal number in a field, correctly rounded; `nan` and `inf` are numbers here.
pub fn decimal(field: &[u8]) -> Option<f64> {
    let field = field.trim_ascii();
    short_decimal(field).or_else(|| std::str::from_utf8(field).ok()?.parse().ok())
}

/// Numbers of at most 15 digits and a small exponent: both parts are exact in f64, so one operation rounds right.
fn short_decimal(field: &[u8]) -> Option<f64> {
    const DIGITS: usize = 15;
    const POWERS: [f64; 23] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
        1e18, 1e19, 1e20, 1e21, 1e22,
    ];
    let (negative, rest) = match field {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (mut mantissa, mut digits, mut point) = (0_u64, 0, None);
    for &b in rest {
        match b {
            b'0'..=b'9' => (mantissa, digits) = (mantissa * 10 + u64::from(b - b'0'), digits + 1),
            b'.' if point.is_none() => point = Some(digits),
            _ => return None,
        }
        if digits > DIGITS {
            return None;
        }
    }
    if digits == 0 {
        return None;
    }
    let value = mantissa as f64 / POWERS[digits - point.unwrap_or(digits)];
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests;

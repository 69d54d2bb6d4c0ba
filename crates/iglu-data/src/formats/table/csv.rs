//! Tables as text: fields between commas, tabs, semicolons or blanks, packed with gzip or not.
//!
//! The separator is that of the first line. Fields may stand in double quotes, a quote inside doubled; such a field may
//! hold separators and line ends. Blanks around fields do not count. Lines that start with `#` or `%` before the first
//! other line are comments.

use super::value::{At, Table, Value};
use crate::LoadOptions;
use crate::formats::lines::{self, Line, Lines};
use iglu::{Error, Result};
use std::ops::Range;
use std::path::Path;

/// Longest record with quotes.
const LONGEST: usize = 1 << 20;

/// What stands between fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separator {
    Byte(u8),
    /// Any number of blanks.
    Blanks,
}

impl Separator {
    /// The first of tab, comma and semicolon that the line has.
    fn of(line: &[u8]) -> Self {
        let found = [b'\t', b',', b';'].into_iter().find(|byte| line.contains(byte));
        found.map_or(Self::Blanks, Self::Byte)
    }

    fn is(self, byte: u8) -> bool {
        match self {
            Self::Byte(separator) => byte == separator,
            Self::Blanks => byte.is_ascii_whitespace(),
        }
    }
}

/// The fields of one record.
#[derive(Default)]
struct Fields {
    spans: Vec<Range<usize>>,
    /// What the spans are of, where quotes had to be removed.
    unquoted: Vec<u8>,
    /// Where the field in work starts.
    start: usize,
    /// A quote is open: the record goes on in the next line.
    open: bool,
    copied: bool,
}

impl Fields {
    /// Takes a line; whether the record is complete with it.
    fn take(&mut self, line: &Line<'_>, separator: Separator) -> Result<bool> {
        let bytes = line.bytes;
        if self.open {
            self.unquoted.push(b'\n');
            return self.take_quoted(line, bytes, separator);
        }
        self.spans.clear();
        self.unquoted.clear();
        self.copied = bytes.contains(&b'"');
        if self.copied {
            return self.take_quoted(line, bytes, separator);
        }
        let mut start = 0;
        for end in (0..bytes.len()).filter(|&at| separator.is(bytes[at])).chain([bytes.len()]) {
            let field = trimmed(bytes, start..end);
            if separator != Separator::Blanks || !field.is_empty() {
                self.spans.push(field);
            }
            start = end + 1;
        }
        Ok(true)
    }

    fn take_quoted(&mut self, line: &Line<'_>, mut rest: &[u8], separator: Separator) -> Result<bool> {
        loop {
            if !self.open {
                rest = rest.trim_ascii_start();
                self.start = self.unquoted.len();
                self.open = rest.first() == Some(&b'"');
                rest = &rest[usize::from(self.open)..];
            }
            let more =
                if self.open { self.quoted(line, rest, separator)? } else { self.bare(rest, separator) };
            if self.unquoted.len() > LONGEST {
                let found = format!("more than {LONGEST} bytes in one record");
                return Err(Error::data(
                    format!("line {}", line.number),
                    found,
                    "a quote is not closed: mend it",
                ));
            }
            match more {
                Some(more) if separator != Separator::Blanks || !more.trim_ascii().is_empty() => rest = more,
                _ => return Ok(!self.open),
            }
        }
    }

    /// Takes the rest of a field in quotes; what follows its separator.
    fn quoted<'a>(
        &mut self,
        line: &Line<'_>,
        mut rest: &'a [u8],
        separator: Separator,
    ) -> Result<Option<&'a [u8]>> {
        while let Some(end) = rest.iter().position(|&b| b == b'"') {
            self.unquoted.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
            if rest.first() == Some(&b'"') {
                self.unquoted.push(b'"');
                rest = &rest[1..];
                continue;
            }
            self.open = false;
            self.spans.push(self.start..self.unquoted.len());
            let end = rest.iter().position(|&b| separator.is(b)).unwrap_or(rest.len());
            if !rest[..end].trim_ascii().is_empty() {
                let found = format!("{} behind a closing quote", lines::shown(&rest[..end]));
                let fix = "quotes inside quotes are doubled: \"\"";
                return Err(Error::data(format!("line {}", line.number), found, fix));
            }
            return Ok(rest.get(end + 1..));
        }
        self.unquoted.extend_from_slice(rest);
        Ok(None)
    }

    /// Takes a field without quotes; what follows its separator.
    fn bare<'a>(&mut self, rest: &'a [u8], separator: Separator) -> Option<&'a [u8]> {
        let end = rest.iter().position(|&b| separator.is(b)).unwrap_or(rest.len());
        self.unquoted.extend_from_slice(rest[..end].trim_ascii());
        self.spans.push(self.start..self.unquoted.len());
        rest.get(end + 1..)
    }

    fn get<'a>(&'a self, column: usize, line: &Line<'a>) -> &'a [u8] {
        let bytes = if self.copied { &self.unquoted } else { line.bytes };
        &bytes[self.spans[column].clone()]
    }

    fn texts(&self, line: &Line<'_>) -> Result<Vec<String>> {
        let text = |column| line.text(column, self.get(column, line)).map(str::to_string);
        (0..self.spans.len()).map(text).collect()
    }
}

/// The part of `span` without blanks at its ends.
fn trimmed(bytes: &[u8], span: Range<usize>) -> Range<usize> {
    let field = &bytes[span.clone()];
    let front = field.len() - field.trim_ascii_start().len();
    let start = span.start + front;
    start..start + field.trim_ascii().len()
}

fn is_comment(line: &[u8]) -> bool {
    matches!(line.first(), Some(b'#' | b'%'))
}

/// The fields of the first line that is no comment, seen in the first bytes of a file.
pub fn first_fields(head: &[u8]) -> Option<Vec<String>> {
    let head = head.strip_prefix(lines::BYTE_ORDER_MARK).unwrap_or(head);
    let mut rows = head.split(|&b| b == b'\n').map(<[u8]>::trim_ascii);
    let bytes = rows.find(|row| !row.is_empty() && !is_comment(row))?;
    let (line, mut fields) = (Line { number: 1, bytes }, Fields::default());
    fields.take(&line, Separator::of(bytes)).ok()?;
    fields.texts(&line).ok()
}

/// A text table, open behind its first line.
pub struct Csv {
    lines: Lines,
    separator: Separator,
    header: Option<Vec<String>>,
    /// The number of the first line and the line, if it is no header.
    first: Option<(usize, Vec<u8>)>,
    width: usize,
}

impl Csv {
    /// Opens the file at `path`; `is_header` says whether the fields of the first line are names. Other words
    /// there are passed over where the options say so.
    pub fn open(path: &Path, options: &LoadOptions, is_header: fn(&[String]) -> bool) -> Result<Self> {
        let mut lines = Lines::open(path, options.limits)?;
        let (number, bytes) = loop {
            match lines.next()? {
                Some(line) if is_comment(line.bytes) => {}
                Some(line) => break (line.number, line.bytes.to_vec()),
                None => return Err(Error::data("", "no line that is not empty", "save the table again")),
            }
        };
        let line = Line { number, bytes: &bytes };
        if bytes.contains(&b'\r') {
            return Err(lines::refused(&line, 0, &bytes, "one row per line"));
        }
        let separator = Separator::of(&bytes);
        let mut fields = Fields::default();
        if !fields.take(&line, separator)? {
            return Err(open_quote(number));
        }
        let texts = fields.texts(&line)?;
        let (width, named) = (texts.len(), is_header(&texts));
        let skipped = options.skip_header
            && !named
            && texts.iter().any(|text| lines::decimal(text.as_bytes()).is_none());
        let first = (!named && !skipped).then_some((number, bytes));
        Ok(Self { lines, separator, header: named.then_some(texts), first, width })
    }
}

fn open_quote(number: usize) -> Error {
    Error::data(format!("line {number}"), "a quote is opened and not closed", "close it, or double it: \"\"")
}

impl Table for Csv {
    fn header(&self) -> Option<&[String]> {
        self.header.as_deref()
    }

    fn width(&self) -> usize {
        self.width
    }

    fn cells(
        &mut self,
        wanted: &[bool],
        each: &mut dyn FnMut(&Value<'_>, At) -> Result<()>,
    ) -> Result<usize> {
        let wanted: Vec<usize> = (0..self.width).filter(|&c| wanted[c]).collect();
        let (mut fields, mut rows, mut start) = (Fields::default(), 0, 0);
        let first = self.first.take();
        let mut line = first.as_ref().map(|(number, bytes)| Line { number: *number, bytes });
        loop {
            let Some(now) = (match line.take() {
                Some(line) => Some(line),
                None => self.lines.next()?,
            }) else {
                return if fields.open { Err(open_quote(start)) } else { Ok(rows) };
            };
            if !fields.open {
                start = now.number;
            }
            if !fields.take(&now, self.separator)? {
                continue;
            }
            if fields.spans.len() != self.width {
                return Err(lines::wrong_width(&now, fields.spans.len(), self.width));
            }
            for &column in &wanted {
                let field = fields.get(column, &now);
                let value = if field.is_empty() { Value::Missing } else { Value::Text(field) };
                each(&value, At { unit: "line", row: start, column })?;
            }
            rows += 1;
        }
    }
}

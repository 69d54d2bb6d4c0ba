//! The start of an .npy file: magic, version, and a Python dict with element type, order and shape.
//!
//! The dict is read by a strict parser of exactly that grammar: it evaluates nothing and cannot recurse.

use super::Dtype;
use iglu::{Error, Result};

/// First bytes of every .npy file.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";
/// Longest header read; NumPy's own are below 200 bytes.
const LONGEST: usize = 64 << 10;
/// Most dimensions of an array, as in NumPy.
const MOST_DIMENSIONS: usize = 64;

/// What the header declares, and where the values begin.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header<'a> {
    /// Element type in NumPy's short form.
    pub descr: &'a [u8],
    pub fortran: bool,
    pub shape: Vec<usize>,
    pub body: usize,
}

impl Header<'_> {
    /// Element type, if it is one of numbers.
    pub(super) fn dtype(&self) -> Result<Dtype> {
        Dtype::parse(self.descr)
    }
}

/// Reads the header at the start of `bytes`.
pub(super) fn parse(bytes: &[u8]) -> Result<Header<'_>> {
    let dict = dict_span(bytes)?;
    let body = dict.end;
    let mut fields = Fields::default();
    let mut text = Text { rest: &bytes[dict] };
    text.dict(&mut fields)?;
    match fields {
        Fields { descr: Some(descr), fortran: Some(fortran), shape: Some(shape) } => {
            Ok(Header { descr, fortran, shape, body })
        }
        _ => Err(malformed("one of 'descr', 'fortran_order', 'shape' is missing")),
    }
}

/// Checks magic, version and length; says where the dict stands.
fn dict_span(bytes: &[u8]) -> Result<std::ops::Range<usize>> {
    if !bytes.starts_with(MAGIC) || bytes.len() < 10 {
        return Err(super::super::unrecognised(bytes, "an .npy array"));
    }
    let word = |at: usize, n: usize| {
        bytes.get(at..at + n).map(|b| b.iter().rev().fold(0, |w, &b| w << 8 | b as usize))
    };
    let (start, length) = match (bytes[6], bytes[7]) {
        (1, 0) => (10, word(8, 2)),
        (2 | 3, 0) => (12, word(8, 4)),
        (major, minor) => {
            let found = format!("npy version {major}.{minor}; versions 1.0, 2.0 and 3.0 are known");
            return Err(Error::data("", found, "save it again with a current NumPy"));
        }
    };
    let length = length.ok_or_else(|| malformed("the file ends inside it"))?;
    if length > LONGEST {
        let found = format!("header of {length} bytes, at most {LONGEST} are read");
        return Err(Error::data(
            "",
            found,
            "the file is damaged, or holds a structured type: save plain numbers",
        ));
    }
    if length > bytes.len() - start {
        let found = format!("header of {length} bytes declared, the file has {}", bytes.len() - start);
        return Err(Error::data("", found, "the download was cut short; fetch it again"));
    }
    Ok(start..start + length)
}

fn malformed(what: &str) -> Error {
    Error::data("", format!("npy header: {what}"), "the file is damaged; save or fetch it again")
}

#[derive(Default)]
struct Fields<'a> {
    descr: Option<&'a [u8]>,
    fortran: Option<bool>,
    shape: Option<Vec<usize>>,
}

/// What is left of the dict's text.
struct Text<'a> {
    rest: &'a [u8],
}

impl<'a> Text<'a> {
    fn dict(&mut self, fields: &mut Fields<'a>) -> Result<()> {
        self.expect(b'{')?;
        while !self.eat(b'}') {
            self.entry(fields)?;
            if !self.eat(b',') {
                self.expect(b'}')?;
                break;
            }
        }
        self.skip_space();
        if self.rest.is_empty() { Ok(()) } else { Err(malformed("text after the closing brace")) }
    }

    fn entry(&mut self, fields: &mut Fields<'a>) -> Result<()> {
        let key = self.string()?;
        self.expect(b':')?;
        let repeated = match key {
            b"descr" => fields.descr.replace(self.descr()?).is_some(),
            b"fortran_order" => fields.fortran.replace(self.boolean()?).is_some(),
            b"shape" => fields.shape.replace(self.shape()?).is_some(),
            _ => return Err(malformed(&format!("unknown key '{}'", String::from_utf8_lossy(key)))),
        };
        if repeated { Err(malformed("a key stands there twice")) } else { Ok(()) }
    }

    fn descr(&mut self) -> Result<&'a [u8]> {
        self.skip_space();
        if self.rest.first() == Some(&b'[') {
            let found = "structured type (an array of records)";
            return Err(Error::data("", found, "save one array per field, each with a numeric dtype"));
        }
        self.string()
    }

    fn boolean(&mut self) -> Result<bool> {
        match self.word() {
            b"True" => Ok(true),
            b"False" => Ok(false),
            _ => Err(malformed("'fortran_order' is neither True nor False")),
        }
    }

    fn shape(&mut self) -> Result<Vec<usize>> {
        self.expect(b'(')?;
        let mut shape = Vec::new();
        while !self.eat(b')') {
            if shape.len() == MOST_DIMENSIONS {
                return Err(malformed("more than 64 dimensions"));
            }
            shape.push(self.dimension()?);
            if !self.eat(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(shape)
    }

    fn dimension(&mut self) -> Result<usize> {
        if self.eat(b'-') {
            return Err(malformed("a dimension of 'shape' is negative"));
        }
        let word = self.word();
        // Python 2 wrote long integers as `3L`.
        let digits = word.strip_suffix(b"L").unwrap_or(word);
        let text = std::str::from_utf8(digits).unwrap_or_default();
        match text.parse() {
            Ok(n) if digits.first().is_some_and(u8::is_ascii_digit) => Ok(n),
            _ if !text.is_empty() && digits.iter().all(u8::is_ascii_digit) => {
                Err(malformed(&format!("dimension {text} does not fit 64 bits")))
            }
            _ => Err(malformed("'shape' is no tuple of whole numbers")),
        }
    }

    /// A string in single or double quotes, without escapes.
    fn string(&mut self) -> Result<&'a [u8]> {
        self.skip_space();
        let (quote, rest) = match self.rest.split_first() {
            Some((q @ (b'\'' | b'"'), rest)) => (*q, rest),
            _ => return Err(malformed("a quoted word was expected")),
        };
        let end = rest.iter().position(|&b| b == quote).ok_or_else(|| malformed("a quote is not closed"))?;
        self.rest = &rest[end + 1..];
        Ok(&rest[..end])
    }

    /// Letters and digits up to anything else.
    fn word(&mut self) -> &'a [u8] {
        self.skip_space();
        let end = self.rest.iter().position(|b| !b.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.eat(byte) { Ok(()) } else { Err(malformed(&format!("'{}' was expected", byte as char))) }
    }

    fn eat(&mut self, byte: u8) -> bool {
        self.skip_space();
        let hit = self.rest.first() == Some(&byte);
        self.rest = &self.rest[usize::from(hit)..];
        hit
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }
}

//! The stack machine: opcodes in, values out. Every step takes at least one byte and makes at most one value.

use super::names::{Name, known};
use super::{ArrayParts, MOST_VALUES, Object, Value, latin1, whole};
use iglu::{Error, Result};
use std::collections::HashMap;

/// Decodes the pickle at the start of `file`; gives its objects and the value it ends with.
pub(super) fn run(file: &[u8]) -> Result<(Vec<Object>, Value)> {
    let mut machine = Machine {
        file,
        at: 0,
        op_at: 0,
        stack: Vec::new(),
        marks: Vec::new(),
        memo: HashMap::new(),
        objects: Vec::new(),
        made: 0,
    };
    loop {
        machine.op_at = machine.at;
        match machine.byte()? {
            b'.' => break,
            op => machine.step(op)?,
        }
    }
    let root = machine.pop()?;
    if machine.at < file.len() {
        return Err(machine.damaged(&format!("{} bytes after the end", file.len() - machine.at)));
    }
    Ok((machine.objects, root))
}

struct Machine<'a> {
    file: &'a [u8],
    at: usize,
    /// Where the present opcode stands.
    op_at: usize,
    stack: Vec<Value>,
    marks: Vec<usize>,
    memo: HashMap<u64, Value>,
    objects: Vec<Object>,
    made: usize,
}

impl<'a> Machine<'a> {
    fn step(&mut self, op: u8) -> Result<()> {
        match op {
            // Protocol number, and length of a frame: nothing depends on them.
            0x80 => self.take(1).map(drop),
            0x95 => self.take(8).map(drop),
            b'N' => self.push(Value::None),
            0x88 => self.push(Value::Bool(true)),
            0x89 => self.push(Value::Bool(false)),
            b'I' | b'L' | b'J' | b'K' | b'M' | 0x8a | 0x8b => self.int(op),
            b'F' | b'G' => self.float(op),
            b'S' | b'V' => self.escaped(op),
            b'T' | b'U' | b'X' | b'B' | b'C' | 0x8c | 0x8d | 0x8e | 0x96 => self.counted_text(op),
            b'(' => {
                self.marks.push(self.stack.len());
                self.count()
            }
            b'0' => self.pop().map(drop),
            b'1' => self.since_mark().map(drop),
            b'2' => {
                let top = self.pop()?;
                self.push(top)?;
                self.push(top)
            }
            b'p' | b'q' | b'r' | 0x94 => self.remember(op),
            b'g' | b'h' | b'j' => self.recall(op),
            b')' | b't' | 0x85..=0x87 => self.tuple(op),
            b']' | b'l' | b'a' | b'e' => self.list(op),
            b'}' | b'd' | b's' | b'u' => self.dict(op),
            b'c' | b'i' | 0x93 => self.name(op),
            b'R' | 0x81 => self.make(op),
            b'b' => self.fill(),
            _ => Err(self.refused(op)),
        }
    }

    fn int(&mut self, op: u8) -> Result<()> {
        let value = match op {
            b'K' => self.little(1)? as i64,
            b'M' => self.little(2)? as i64,
            b'J' => i64::from(self.little(4)? as u32 as i32),
            0x8a | 0x8b => {
                let length = self.little(if op == 0x8a { 1 } else { 4 })?;
                self.long(length)?
            }
            _ => {
                let line = self.line()?;
                // Protocol 0 has truth values as two-digit numbers, and Python 2 marks long ones.
                if op == b'I' && (line == b"00" || line == b"01") {
                    return self.push(Value::Bool(line == b"01"));
                }
                let digits = line.strip_suffix(b"L").unwrap_or(line);
                self.number(digits)?
            }
        };
        self.push(Value::Int(value))
    }

    /// A number of `length` bytes, least significant first, in two's complement.
    fn long(&mut self, length: u64) -> Result<i64> {
        let bytes = self.take(length)?;
        let Some(&top) = bytes.last() else { return Ok(0) };
        let fill = if top >= 0x80 { 0xff } else { 0 };
        if bytes.len() > 8 {
            return Err(self.damaged("a whole number beyond 64 bits"));
        }
        let mut whole = [fill; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        Ok(i64::from_le_bytes(whole))
    }

    fn float(&mut self, op: u8) -> Result<()> {
        if op == b'G' {
            let bits = self.take(8)?.iter().fold(0, |bits, &b| bits << 8 | u64::from(b));
            return self.push(Value::Float(f64::from_bits(bits)));
        }
        let line = self.line()?;
        let value: f64 = self.number(line)?;
        self.push(Value::Float(value))
    }

    fn number<T: std::str::FromStr>(&self, text: &[u8]) -> Result<T> {
        let number = std::str::from_utf8(text).ok().and_then(|t| t.parse().ok());
        number.ok_or_else(|| self.damaged("a number that is none"))
    }

    /// Text with its length before it.
    fn counted_text(&mut self, op: u8) -> Result<()> {
        let width = match op {
            b'U' | b'C' | 0x8c => 1,
            b'T' | b'X' | b'B' => 4,
            _ => 8,
        };
        let length = self.little(width)?;
        let start = self.at;
        let length = self.take(length)?.len();
        self.push(Value::Text { start, length })
    }

    /// Text on a line of its own, with escapes: quoted bytes of Python 2, or letters.
    fn escaped(&mut self, op: u8) -> Result<()> {
        let line = self.line()?;
        let text = if op == b'S' { unquoted(line) } else { unescaped_letters(line) };
        let text = text.ok_or_else(|| self.damaged("a string with unknown escapes"))?;
        self.push_object(Object::Unescaped(text))
    }

    fn remember(&mut self, op: u8) -> Result<()> {
        let key = match op {
            b'p' => self.decimal_key()?,
            b'q' => self.little(1)?,
            b'r' => self.little(4)?,
            _ => self.memo.len() as u64,
        };
        let &top = self.stack.last().ok_or_else(|| self.damaged("nothing to remember"))?;
        self.memo.insert(key, top);
        self.count()
    }

    fn recall(&mut self, op: u8) -> Result<()> {
        let key = match op {
            b'g' => self.decimal_key()?,
            b'h' => self.little(1)?,
            _ => self.little(4)?,
        };
        match self.memo.get(&key) {
            Some(&value) => self.push(value),
            None => Err(self.damaged("something recalled that was never remembered")),
        }
    }

    fn decimal_key(&mut self) -> Result<u64> {
        let line = self.line()?;
        self.number(line)
    }

    fn tuple(&mut self, op: u8) -> Result<()> {
        let items = match op {
            b')' => Vec::new(),
            b't' => self.since_mark()?,
            _ => self.top(usize::from(op - 0x84))?,
        };
        self.push_object(Object::Tuple(items))
    }

    fn list(&mut self, op: u8) -> Result<()> {
        let items = match op {
            b']' => return self.push_object(Object::List(Vec::new())),
            b'a' => self.top(1)?,
            _ => self.since_mark()?,
        };
        if op == b'l' {
            return self.push_object(Object::List(items));
        }
        match self.top_object() {
            Some(Object::List(list)) => list.extend(items),
            _ => return Err(self.damaged("items for something that is no list")),
        }
        Ok(())
    }

    fn dict(&mut self, op: u8) -> Result<()> {
        let items = match op {
            b'}' => return self.push_object(Object::Dict(Vec::new())),
            b's' => self.top(2)?,
            _ => self.since_mark()?,
        };
        let (pairs, rest) = items.as_chunks::<2>();
        if !rest.is_empty() {
            return Err(self.damaged("a key without a value"));
        }
        let pairs = pairs.iter().map(|&[key, value]| (key, value));
        if op == b'd' {
            return self.push_object(Object::Dict(pairs.collect()));
        }
        match self.top_object() {
            Some(Object::Dict(dict)) => dict.extend(pairs),
            _ => return Err(self.damaged("entries for something that is no dictionary")),
        }
        Ok(())
    }

    /// Names something of Python; the only place where names come in.
    fn name(&mut self, op: u8) -> Result<()> {
        let (module, name) = if op == 0x93 {
            let (name, module) = (self.pop()?, self.pop()?);
            match (self.plain_text(module), self.plain_text(name)) {
                (Some(module), Some(name)) => (module, name),
                _ => return Err(self.damaged("a name that is no string")),
            }
        } else {
            (self.line()?, self.line()?)
        };
        match known(module, name) {
            // `i` calls what it names at once; no known writer of data uses it.
            Some(known) if op != b'i' => self.push(Value::Name(known)),
            _ => Err(self.forbidden(&[module, b".", name].concat())),
        }
    }

    fn plain_text(&self, value: Value) -> Option<&'a [u8]> {
        match value {
            Value::Text { start, length } => Some(&self.file[start..start + length]),
            _ => None,
        }
    }

    /// Makes the data that a known name and its arguments stand for.
    fn make(&mut self, op: u8) -> Result<()> {
        let (args, what) = (self.pop()?, self.pop()?);
        let Value::Name(name) = what else {
            return Err(self.damaged("a call of something that has no name"));
        };
        let args = self.few(args).ok_or_else(|| self.damaged("arguments that are no short tuple"))?;
        let object = match (name, &args[..]) {
            (Name::CsrMatrix, []) if op == 0x81 => Object::Instance(None),
            (Name::Dict, [] | [Value::Name(Name::List)]) => Object::Dict(Vec::new()),
            (Name::Reconstruct, [Value::Name(Name::Ndarray), _, _]) => Object::Array(None),
            (Name::Dtype, &[code, ..]) => Object::Dtype { code, order: b'|' },
            (Name::Reconstructor, [Value::Name(Name::CsrMatrix), Value::Name(Name::Object), Value::None]) => {
                Object::Instance(None)
            }
            (Name::Encode, &[text, _]) if !self.is_latin1(text) => Object::Latin1(text),
            (Name::FromBuffer, &[bytes, dtype, shape, order]) => {
                let fortran = self.short_text(order).as_deref() == Some(b"F");
                Object::Array(Some(ArrayParts { shape, dtype, fortran, bytes }))
            }
            (Name::Scalar, &[dtype, bytes]) => {
                let value = self.scalar(dtype, bytes)?;
                return self.push(value);
            }
            _ => return Err(self.damaged("a known name with unknown arguments")),
        };
        self.push_object(object)
    }

    fn is_latin1(&self, value: Value) -> bool {
        matches!(self.object(value), Some(Object::Latin1(_)))
    }

    /// One NumPy number of 8 bytes.
    fn scalar(&self, dtype: Value, bytes: Value) -> Result<Value> {
        let kind = match self.object(dtype) {
            Some(&Object::Dtype { code, order: b'<' }) => self.short_text(code),
            _ => None,
        };
        let number = self.short_text(bytes).and_then(|b| b.try_into().ok());
        match (kind.as_deref(), number) {
            (Some(b"i8"), Some(b)) => Ok(Value::Int(i64::from_le_bytes(b))),
            (Some(b"f8"), Some(b)) => Ok(Value::Float(f64::from_le_bytes(b))),
            _ => Err(self.damaged("a single NumPy number of an unknown type")),
        }
    }

    /// A string of few bytes, however it was written.
    fn short_text(&self, value: Value) -> Option<Vec<u8>> {
        const MOST: usize = 16;
        let direct = |value| match self.object(value) {
            Some(Object::Unescaped(text)) => Some(&text[..]),
            _ => self.plain_text(value),
        };
        let short = |text: &&[u8]| text.len() <= MOST;
        match self.object(value) {
            Some(&Object::Latin1(inner)) => direct(inner).filter(short).and_then(latin1),
            _ => direct(value).filter(short).map(<[u8]>::to_vec),
        }
    }

    /// Fills an object made before.
    fn fill(&mut self) -> Result<()> {
        let state = self.pop()?;
        let fields = self.few(state).unwrap_or_default();
        let order = fields.get(1).and_then(|&order| self.short_text(order));
        match (self.top_object(), &fields[..]) {
            (Some(Object::Array(parts @ None)), &[_, shape, dtype, fortran, bytes]) => {
                *parts = Some(ArrayParts { shape, dtype, fortran: whole(fortran) == Some(1), bytes });
            }
            (Some(Object::Dtype { order: place, .. }), [_, _, ..]) => match order.as_deref() {
                Some(&[order @ (b'<' | b'>' | b'|')]) => *place = order,
                _ => return Err(self.damaged("a NumPy type with an unknown byte order")),
            },
            (Some(Object::Instance(place @ None)), []) => *place = Some(state),
            _ => return Err(self.damaged("an object filled with something unknown")),
        }
        Ok(())
    }

    /// The items of a short tuple. Long ones are not copied: whoever shares one a million times would wait for it.
    fn few(&self, value: Value) -> Option<Vec<Value>> {
        const MOST: usize = 16;
        match self.object(value) {
            Some(Object::Tuple(items)) if items.len() <= MOST => Some(items.clone()),
            _ => None,
        }
    }

    fn push_object(&mut self, object: Object) -> Result<()> {
        self.objects.push(object);
        self.push(Value::Object(self.objects.len() - 1))
    }

    fn push(&mut self, value: Value) -> Result<()> {
        self.stack.push(value);
        self.count()
    }

    fn count(&mut self) -> Result<()> {
        self.made += 1;
        if self.made > MOST_VALUES {
            return Err(self.damaged(&format!("more than {MOST_VALUES} values")));
        }
        Ok(())
    }

    fn pop(&mut self) -> Result<Value> {
        self.top(1).map(|top| top[0])
    }

    /// Takes the last `count` values, but none from before the last mark.
    fn top(&mut self, count: usize) -> Result<Vec<Value>> {
        let floor = self.marks.last().copied().unwrap_or(0);
        match self.stack.len().checked_sub(count) {
            Some(start) if start >= floor => Ok(self.stack.split_off(start)),
            _ => Err(self.damaged("fewer values than it uses")),
        }
    }

    fn since_mark(&mut self) -> Result<Vec<Value>> {
        let mark = self.marks.pop().ok_or_else(|| self.damaged("the end of something that never began"))?;
        Ok(self.stack.split_off(mark))
    }

    fn object(&self, value: Value) -> Option<&Object> {
        match value {
            Value::Object(id) => self.objects.get(id),
            _ => None,
        }
    }

    fn top_object(&mut self) -> Option<&mut Object> {
        match self.stack.last() {
            Some(&Value::Object(id)) => self.objects.get_mut(id),
            _ => None,
        }
    }

    fn byte(&mut self) -> Result<u8> {
        self.take(1).map(|b| b[0])
    }

    /// A number of `width` bytes, least significant first.
    fn little(&mut self, width: u64) -> Result<u64> {
        Ok(self.take(width)?.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)))
    }

    fn take(&mut self, count: u64) -> Result<&'a [u8]> {
        let rest = &self.file[self.at..];
        let Some((taken, _)) = rest.split_at_checked(usize::try_from(count).unwrap_or(usize::MAX)) else {
            let found = format!("asks for {count} bytes at byte {}, {} are left", self.at, rest.len());
            return Err(Error::data("", found, "the download was cut short; fetch it again"));
        };
        self.at += taken.len();
        Ok(taken)
    }

    /// The rest of the line.
    fn line(&mut self) -> Result<&'a [u8]> {
        let rest = &self.file[self.at..];
        let length = rest.iter().position(|&b| b == b'\n');
        let length = length.ok_or_else(|| self.damaged("a line without an end"))?;
        self.at += length + 1;
        Ok(&rest[..length])
    }

    fn forbidden(&self, name: &[u8]) -> Error {
        const MOST: usize = 80;
        let name = name[..name.len().min(MOST)].escape_ascii();
        let found = format!("asks to call {name} at byte {}; refused, nothing was run", self.op_at);
        Error::data("", found, "a pickle can hide a program: take the file from its original source")
    }

    fn refused(&self, op: u8) -> Error {
        let what = match op {
            b'o' => "to call an object",
            0x92 => "to call a constructor",
            b'P' | b'Q' => "for an object outside the file",
            0x82..=0x84 => "for an object of Python's own list",
            0x97 | 0x98 => "for a buffer outside the file",
            0x8f..=0x91 => "for a set, which no dataset has",
            _ => return self.damaged(&format!("byte 0x{op:02x}, which is no step of a pickle,")),
        };
        let found = format!("asks {what} at byte {}; refused, nothing was run", self.op_at);
        Error::data("", found, "a pickle can hide a program: take the file from its original source")
    }

    fn damaged(&self, what: &str) -> Error {
        let found = format!("not a whole pickle: {what} at byte {}", self.op_at);
        Error::data("", found, "the file is damaged; fetch it again")
    }
}

/// Bytes as Python 2 quotes them.
fn unquoted(line: &[u8]) -> Option<Vec<u8>> {
    let ([b'\'', inner @ .., b'\''] | [b'"', inner @ .., b'"']) = line.trim_ascii_end() else { return None };
    let (mut out, mut rest) = (Vec::new(), inner);
    while let Some((&byte, tail)) = rest.split_first() {
        let (byte, tail) = match (byte, tail) {
            (b'\\', [b'x', high, low, tail @ ..]) => (hex(&[*high, *low])? as u8, tail),
            (b'\\', [b'n', tail @ ..]) => (b'\n', tail),
            (b'\\', [b'r', tail @ ..]) => (b'\r', tail),
            (b'\\', [b't', tail @ ..]) => (b'\t', tail),
            (b'\\', [same @ (b'\\' | b'\'' | b'"'), tail @ ..]) => (*same, tail),
            (b'\\', _) => return None,
            (byte, tail) => (byte, tail),
        };
        out.push(byte);
        rest = tail;
    }
    Some(out)
}

/// Letters below 256 as they are, others as `\uXXXX`; the result is UTF-8.
fn unescaped_letters(line: &[u8]) -> Option<Vec<u8>> {
    let (mut out, mut rest) = (String::new(), line);
    while let Some((&byte, tail)) = rest.split_first() {
        let (letter, tail) = match (byte, tail) {
            (b'\\', [b'u', a, b, c, d, tail @ ..]) => (char::from_u32(hex(&[*a, *b, *c, *d])?)?, tail),
            (byte, tail) => (char::from(byte), tail),
        };
        out.push(letter);
        rest = tail;
    }
    Some(out.into_bytes())
}

fn hex(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |n, &d| Some(n * 16 + char::from(d).to_digit(16)?))
}

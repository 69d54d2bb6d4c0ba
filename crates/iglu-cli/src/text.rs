//! Text for people: results to stdout, remarks to stderr, numbers as they are read.

use iglu::{Error, Result};
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::io::{self, IsTerminal, Write};

/// Writes a result to stdout, with a newline. A reader who has closed the pipe has seen enough.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::output("stdout", format!("cannot be written: {e}"), "check where the output goes"))
        }
        _ => Ok(()),
    }
}

/// Writes a result to stdout as one JSON object.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    print(&json(value)?)
}

/// A value as indented JSON, what stands in a list on one line each; numbers that are not finite become null.
pub fn json(value: &impl Serialize) -> Result<String> {
    let mut out = Vec::new();
    let written = value.serialize(&mut Serializer::with_formatter(&mut out, Layout::default()));
    let text =
        written.map_err(|e| e.to_string()).and_then(|()| String::from_utf8(out).map_err(|e| e.to_string()));
    text.map_err(|e| Error::output("json", e, "leave out --json and report this"))
}

/// Indents objects; lists of numbers stay on one line, lists of objects have a line for each.
#[derive(Default)]
struct Layout {
    objects: PrettyFormatter<'static>,
    lists: usize,
    /// Whether the outermost list has objects.
    lines: bool,
}

impl Layout {
    fn new_line<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.lines = true;
        out.write_all(b"\n    ")
    }
}

impl Formatter for Layout {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.lists += 1;
        self.lines &= self.lists > 1;
        out.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.lists -= 1;
        out.write_all(if self.lists == 0 && self.lines { b"\n  ]" } else { b"]" })
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        let own_line = self.lists == 1 && self.lines;
        out.write_all(if first {
            b""
        } else if own_line {
            b","
        } else {
            b", "
        })
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        match self.lists {
            0 => self.objects.begin_object(out),
            1 => self.new_line(out).and_then(|()| out.write_all(b"{")),
            _ => out.write_all(b"{"),
        }
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        if self.lists == 0 { self.objects.end_object(out) } else { out.write_all(b"}") }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        match (self.lists, first) {
            (0, _) => self.objects.begin_object_key(out, first),
            (_, true) => Ok(()),
            (_, false) => out.write_all(b", "),
        }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        if self.lists == 0 { self.objects.end_object_value(out) } else { Ok(()) }
    }
}

/// Writes a remark to stderr; where nobody listens, it is lost.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Writes a remark to stderr, in place of a progress bar where one may stand.
pub fn note_over_progress(text: &str) {
    let clear = if io::stderr().is_terminal() { "\r\x1b[K" } else { "" };
    note(&format!("{clear}{text}"));
}

/// Writes what a reader noticed to stderr.
pub fn notes(notes: &[String]) {
    notes.iter().for_each(|text| note(&format!("note: {text}")));
}

/// `name  value` lines, the values aligned.
pub fn aligned(lines: &[(&str, String)]) -> String {
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, value): &(&str, String)| format!("{name:<width$}  {value}");
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_in_one_column() {
        assert_eq!(aligned(&[("a", "1".into()), ("long", "2".into())]), "a     1\nlong  2");
    }

    #[test]
    fn json_knows_no_nan() {
        assert_eq!(json(&[f64::NAN, 0.5]).unwrap(), "[null, 0.5]");
    }

    #[test]
    fn json_has_a_line_for_each_thing() {
        let value =
            serde_json::json!({"a": {"b": [1, [2, 3]]}, "h": [{"e": 1, "l": [{"k": 1}]}, {"e": 2}], "n": []});
        let text = json(&value).unwrap();
        let expect = "{\n  \"a\": {\n    \"b\": [1, [2, 3]]\n  },\n  \"h\": [\n    {\"e\": 1, \"l\": [{\"k\": 1}]},\n    {\"e\": 2}\n  ],\n  \"n\": []\n}";
        assert_eq!(text, expect);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}

//! JSON files, packed or not, read straight into the types of the caller: no tree of the whole file is built.
//!
//! Types are plain `serde` ones. Their fields may stand there once; [`Entries`] is an object with keys of its own,
//! each of them once. Nesting is bounded by the types and by `serde_json`, whatever the file holds; `NaN` and numbers
//! beyond f64 are no JSON.

use super::gz::{Unpacked, cause};
use super::lines::BYTE_ORDER_MARK;
use super::refuse_stand_in;
use crate::{Limits, quoted};
use iglu::{Error, Result};
use serde::de::{DeserializeOwned, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::error::Category;
use std::collections::HashSet;
use std::fmt;
use std::io::{BufRead, BufReader, Read};
use std::marker::PhantomData;
use std::path::Path;

/// Reads the file at `path`; errors name it, the line and the column.
pub fn read<T: DeserializeOwned>(path: &Path, limits: Limits) -> Result<T> {
    Unpacked::open(path, limits).and_then(parse).map_err(|e| e.within(&quoted(path)))
}

/// Reads JSON to the end of `source`.
pub fn parse<T: DeserializeOwned>(source: impl Read) -> Result<T> {
    let mut source = BufReader::with_capacity(16 << 10, source);
    let head = source.fill_buf().map_err(cause)?;
    refuse_stand_in(head, "JSON")?;
    if head.starts_with(BYTE_ORDER_MARK) {
        source.consume(BYTE_ORDER_MARK.len());
    }
    serde_json::from_reader(source).map_err(refused)
}

fn refused(e: serde_json::Error) -> Error {
    if e.classify() == Category::Io {
        return cause(e.into());
    }
    let text = e.to_string();
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    let fix = match e.classify() {
        Category::Eof => "the download was cut short; fetch it again",
        _ if what == "expected value" => {
            "NaN and Infinity, as Python writes them, are no JSON: replace them, or fetch the file again"
        }
        _ => "mend the file, or fetch it again",
    };
    Error::data(format!("line {}, column {}", e.line(), e.column()), what, fix)
}

/// The entries of a JSON object, in their order. A key that stands there twice is refused.
#[derive(Debug, Clone, PartialEq)]
pub struct Entries<T>(pub Vec<(String, T)>);

impl<'de, T: serde::Deserialize<'de>> serde::Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor(PhantomData))
    }
}

struct EntriesVisitor<T>(PhantomData<T>);

impl<'de, T: serde::Deserialize<'de>> Visitor<'de> for EntriesVisitor<T> {
    type Value = Entries<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Self::Value, A::Error> {
        let (mut entries, mut keys) = (Vec::new(), HashSet::new());
        while let Some(key) = map.next_key::<String>()? {
            if !keys.insert(key.clone()) {
                return Err(A::Error::custom(format_args!("the key \"{key}\" stands there twice")));
            }
            entries.push((key, map.next_value()?));
        }
        Ok(Entries(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Point {
        x: f64,
        #[serde(default)]
        y: Vec<u32>,
    }

    fn says<T: DeserializeOwned + fmt::Debug>(text: &str, expect: &str) {
        let e = parse::<T>(text.as_bytes()).unwrap_err();
        assert!(e.to_string().contains(expect), "expected `{expect}` in:\n{e}");
        assert!(e.to_string().contains("\n  fix: "), "{e}");
        assert_eq!(e.exit_code(), 65);
    }

    #[test]
    fn objects_keep_their_order() {
        let read: Entries<f64> = parse(&b"\xef\xbb\xbf {\"b\": 1, \"a\": 2.5}\n"[..]).unwrap();
        assert_eq!(read.0, [("b".to_string(), 1.0), ("a".to_string(), 2.5)]);
        let point: Point = parse(&b"{\"z\": [[{}]], \"x\": 1}"[..]).unwrap();
        assert_eq!(point, Point { x: 1.0, y: vec![] });
    }

    #[test]
    fn bad_json_names_line_and_column() {
        says::<Entries<f64>>(
            "{\"5\": 1,\n\"6\": 1, \"5\": 2}",
            "line 2, column 12: the key \"5\" stands there twice",
        );
        says::<Point>("{\"x\": 1, \"x\": 2}", "duplicate field `x`");
        says::<Point>("{\"x\": NaN}", "NaN and Infinity, as Python writes them, are no JSON");
        says::<Point>("{\"x\": 1e400}", "number out of range");
        says::<Point>("{\"x\": 1", "cut short");
        says::<Point>("", "cut short");
        says::<Point>("{\"x\": 1} 2", "trailing characters");
        says::<Point>("{\"x\": \"1\"}", "invalid type: string \"1\", expected f64");
        says::<Entries<f64>>("[1]", "expected an object");
        says::<Point>("<!DOCTYPE html>", "looks like HTML: the download failed");
    }

    #[test]
    fn depth_does_not_matter() {
        let deep = "[".repeat(100_000);
        says::<serde_json::Value>(&deep, "recursion limit exceeded");
        says::<Entries<serde_json::Value>>(&format!("{{\"a\": {deep}"), "recursion limit exceeded");
        // Where nobody looks, nesting is passed over in a loop.
        says::<Point>(&format!("{{\"z\": {deep}"), "cut short");
        let closed = format!("{{\"x\": 1, \"z\": {deep}{}}}", "]".repeat(100_000));
        assert_eq!(parse::<Point>(closed.as_bytes()).unwrap().x, 1.0);
    }
}

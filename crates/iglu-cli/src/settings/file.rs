//! Configuration files: TOML, every value with its line.

use super::Assignment;
use super::keys::Keys;
use iglu::{Error, Result};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

/// More than any configuration needs; what is longer is another kind of file.
const LONGEST: u64 = 1 << 20;

/// The values in the file at `path`; unknown keys are refused.
pub(super) fn read(path: &Path, keys: &Keys) -> Result<Vec<Assignment>> {
    let text = read_text(path)?;
    let name = format!("`{}`", path.display());
    parse(&text, &name, keys)
}

fn read_text(path: &Path) -> Result<String> {
    let name = format!("`{}`", path.display());
    let mut text = String::new();
    let read = File::open(path).and_then(|f| f.take(LONGEST + 1).read_to_string(&mut text));
    match read {
        Err(e) if e.kind() == std::io::ErrorKind::InvalidData => {
            Err(not_toml(&name, "the file is not UTF-8 text"))
        }
        Err(e) => Err(Error::missing(name, format!("cannot be read: {e}"), "check the path after --config")),
        Ok(_) if text.len() as u64 > LONGEST => Err(not_toml(&name, "the file is longer than 1 MiB")),
        Ok(_) => Ok(text),
    }
}

fn not_toml(name: &str, found: &str) -> Error {
    Error::usage(name, found, "give a configuration in TOML, such as the config.toml of an earlier run")
}

/// The table in which a recipe speaks about itself; a file made from one may keep it.
const ABOUT: &str = "recipe";

/// The values in a text; `name` is blamed for what is wrong in it.
pub(super) fn parse(text: &str, name: &str, keys: &Keys) -> Result<Vec<Assignment>> {
    let broken = |e: toml::de::Error| {
        let place = e.span().map_or_else(|| name.to_string(), |s| place(name, text, s.start));
        Error::usage(place, e.message().trim().to_string(), "")
    };
    let spans = DeTable::parse(text).map_err(broken)?;
    let values: Table = toml::from_str(text).map_err(broken)?;
    let mut found = Vec::new();
    let source = Source { text, name, keys };
    source.walk("", spans.get_ref(), &values, &mut found)?;
    Ok(found)
}

struct Source<'a> {
    text: &'a str,
    name: &'a str,
    keys: &'a Keys,
}

impl Source<'_> {
    /// Collects values with their lines; `spans` and `values` are two views of one table.
    fn walk(
        &self,
        prefix: &str,
        spans: &DeTable<'_>,
        values: &Table,
        out: &mut Vec<Assignment>,
    ) -> Result<()> {
        for (name, span) in spans {
            let leaf: &str = name.get_ref();
            let key = if prefix.is_empty() { leaf.to_string() } else { format!("{prefix}.{leaf}") };
            let place = place(self.name, self.text, name.span().start);
            match (span.get_ref(), values.get(leaf)) {
                (DeValue::Table(_), _) if key == ABOUT => {}
                (_, Some(value)) if self.keys.has(&key) => {
                    out.push(Assignment { place, key, value: value.clone() });
                }
                (DeValue::Table(spans), Some(Value::Table(values))) if self.may_enter(&key, values) => {
                    self.walk(&key, spans, values, out)?;
                }
                _ => return Err(self.keys.unknown(&key).within(&place)),
            }
        }
        Ok(())
    }

    /// A table of an unknown name is entered for its first key to be blamed; an empty one has none.
    fn may_enter(&self, name: &str, values: &Table) -> bool {
        self.keys.is_group(name) || !values.is_empty()
    }
}

/// File and line of a byte offset.
fn place(name: &str, text: &str, offset: usize) -> String {
    let line = text.as_bytes().iter().take(offset).filter(|&&b| b == b'\n').count() + 1;
    format!("{name}: line {line}")
}

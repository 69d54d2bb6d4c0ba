//! The keys a configuration may have, found by writing the default one down. Names the nearest when one is wrong.

use super::{Assignment, insert};
use iglu::config::{Config, EdgeFeatures, LazyDropout, Scaling, Start};
use iglu::layers::{Combine, Jump, NormOrder};
use iglu::metrics::Metric;
use iglu::{Error, Norm, Result, Storage};
use iglu_data::nearest;
use serde::Deserialize;
use serde::de::value::{Error as Refusal, StrDeserializer};
use toml::{Table, Value};

/// All keys, dotted, in the order of the configuration.
pub(crate) struct Keys {
    dotted: Vec<String>,
}

/// Lists the words a key may have.
type Words = fn() -> String;

/// Keys whose type hides its words behind `auto`.
const WORDS: &[(&str, Words)] = &[
    ("network.norm_order", words::<NormOrder>),
    ("network.combine", words::<Combine>),
    ("network.operator", words::<Norm>),
    ("network.jump", words::<Jump>),
    ("network.cache", words::<Storage>),
    ("train.lazy_dropout", words::<LazyDropout>),
    ("train.start", words::<Start>),
    ("data.features", words::<Scaling>),
    ("data.edge_features", words::<EdgeFeatures>),
    ("select.metric", words::<Metric>),
];

/// Keys whose own message tells more than a list of what they take.
const WORDY: &[&str] = &["data.split"];

impl Keys {
    /// The keys of the default configuration.
    pub fn new() -> Result<Self> {
        let table = Table::try_from(Config::default())
            .map_err(|e| Error::usage("configuration", e.to_string(), "report this"))?;
        let mut dotted = Vec::new();
        walk("", &table, &mut dotted);
        Ok(Self { dotted })
    }

    /// Every key, dotted.
    #[cfg(test)]
    pub fn all(&self) -> impl Iterator<Item = &str> {
        self.dotted.iter().map(String::as_str)
    }

    /// Whether this is a key.
    pub fn has(&self, key: &str) -> bool {
        self.dotted.iter().any(|k| k == key)
    }

    /// Whether this is the name of a table of keys.
    pub fn is_group(&self, name: &str) -> bool {
        self.dotted.iter().any(|k| k.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
    }

    /// The dotted key meant by `name`: itself, or the only one that ends in it.
    pub fn resolve(&self, name: &str) -> Result<String> {
        if self.has(name) {
            return Ok(name.to_string());
        }
        match self.ending_in(name)[..] {
            [] => Err(self.unknown(name)),
            [one] => Ok(one.to_string()),
            [first, ..] => {
                let found = format!("`{name}` could be {}", self.ending_in(name).join(" or "));
                Err(Error::usage(name, found, format!("write the whole key, say {first}")))
            }
        }
    }

    fn ending_in(&self, name: &str) -> Vec<&str> {
        self.dotted.iter().map(String::as_str).filter(|k| leaf(k) == name).collect()
    }

    /// The error for a key that does not exist, with the nearest that does.
    pub fn unknown(&self, name: &str) -> Error {
        let fix = match self.near(name) {
            Some(key) => format!("did you mean `{key}`?"),
            None => "`iglu train --help` lists the keys".to_string(),
        };
        let found =
            if self.is_group(name) { "is a table of keys, not a key" } else { "there is no such key" };
        Error::usage(format!("`{name}`"), found, fix)
    }

    fn near(&self, name: &str) -> Option<&str> {
        let dotted = || self.dotted.iter().map(String::as_str);
        let by_leaf = || {
            let near = nearest(leaf(name), dotted().map(leaf))?;
            dotted().find(|k| leaf(k) == near)
        };
        if name.contains('.') { nearest(name, dotted()).or_else(by_leaf) } else { by_leaf() }
    }
}

/// Refuses a value that its key cannot have.
pub(super) fn check(given: &Assignment) -> Result<()> {
    let Err(reason) = accept(&given.key, given.value.clone()) else { return Ok(()) };
    let expected = expected(&given.key);
    let word = given.value.as_str().unwrap_or_default();
    let near = nearest(word, expected.split('`').skip(1).step_by(2));
    let fix = near.map_or_else(String::new, |near| format!("did you mean `{near}`?"));
    let found = match expected.as_str() {
        "" => format!("{}: {reason}", given.value),
        _ => format!("{}; expected {expected}", given.value),
    };
    Err(Error::usage(format!("{}: {}", given.place, given.key), found, fix))
}

fn walk(prefix: &str, table: &Table, out: &mut Vec<String>) {
    for (name, value) in table {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        match value {
            Value::Table(inner) => walk(&key, inner, out),
            _ => out.push(key),
        }
    }
}

/// The last part of a dotted key.
fn leaf(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// Tries a value for a key; the reason, if it is refused.
fn accept(key: &str, value: Value) -> std::result::Result<(), String> {
    let mut table = Table::new();
    insert(&mut table, key, value);
    Config::deserialize(Value::Table(table)).map(|_| ()).map_err(|e| e.message().to_string())
}

/// What a key can have, found by trying; empty for lists and [`WORDY`] keys, whose own message tells more.
fn expected(key: &str) -> String {
    if WORDY.contains(&key) {
        return String::new();
    }
    let takes = |value: Value| accept(key, value).is_ok();
    let kinds = [
        (takes(0.5.into()), "a number"),
        (takes(1.into()) && !takes(0.5.into()), "a whole number of at least 0"),
        (takes(true.into()), "true or false"),
        (takes("?".into()), "text"),
    ];
    let kinds = kinds.iter().filter(|(taken, _)| *taken).map(|(_, name)| (*name).to_string());
    let words = words_of(key);
    let special = ["auto", "full"].map(|w| (w, format!("`{w}`"))).into_iter();
    let special =
        special.filter(|(w, quoted)| takes((*w).into()) && !takes("?".into()) && !words.contains(quoted));
    let all =
        kinds.chain((!words.is_empty()).then(|| words.clone())).chain(special.map(|(_, quoted)| quoted));
    all.collect::<Vec<_>>().join(", or ")
}

/// The words a key may have, quoted: those its type lists, or those behind `auto`.
fn words_of(key: &str) -> String {
    match WORDS.iter().find(|(k, _)| *k == key) {
        Some((_, words)) => words(),
        None => accept(key, "?".into()).err().map_or_else(String::new, |e| listed(&e)),
    }
}

/// The words of an enum, as its own error lists them.
fn words<'de, T: Deserialize<'de>>() -> String {
    let refused = T::deserialize(StrDeserializer::<Refusal>::new("?")).err();
    refused.map_or_else(String::new, |e| listed(&e.to_string()))
}

/// The list in ``unknown variant `?`, expected one of `a`, `b` ``.
fn listed(refusal: &str) -> String {
    let words = refusal.strip_prefix("unknown variant `?`, expected ").unwrap_or_default();
    words.trim_start_matches("one of ").to_string()
}

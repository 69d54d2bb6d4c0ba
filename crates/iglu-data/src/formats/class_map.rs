//! `class_map.json` of GraphSAINT and GraphSAGE: from node to class, or to a list of 0 and 1.

use super::json::Entries;
use super::plain::labels::{from_ids, label};
use super::refuse_too_large;
use crate::Limits;
use iglu::{Error, Labels, Result};
use serde::de::{Deserializer, Error as _, SeqAccess, Unexpected, Visitor};
use std::fmt;

/// What is known of one node.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Class {
    One(i32),
    Many(Vec<i8>),
}

impl<'de> serde::Deserialize<'de> for Class {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(ClassVisitor)
    }
}

struct ClassVisitor;

impl<'de> Visitor<'de> for ClassVisitor {
    type Value = Class;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a class (0, 1, 2, ...) or a list of 0 and 1")
    }

    fn visit_u64<E: serde::de::Error>(self, v: u64) -> std::result::Result<Class, E> {
        let class = i32::try_from(v).map_err(|_| E::invalid_value(Unexpected::Unsigned(v), &self))?;
        Ok(Class::One(class))
    }

    fn visit_i64<E: serde::de::Error>(self, v: i64) -> std::result::Result<Class, E> {
        if v == -1 { Ok(Class::One(-1)) } else { Err(E::invalid_value(Unexpected::Signed(v), &self)) }
    }

    fn visit_f64<E: serde::de::Error>(self, v: f64) -> std::result::Result<Class, E> {
        let whole = v.fract() == 0.0 && (-1.0..=f64::from(i32::MAX)).contains(&v);
        if whole { Ok(Class::One(v as i32)) } else { Err(E::invalid_value(Unexpected::Float(v), &self)) }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<Class, A::Error> {
        let mut row = Vec::new();
        while let Some(value) = seq.next_element::<f64>()? {
            let refused = || A::Error::invalid_value(Unexpected::Float(value), &"0 or 1");
            row.push(label(value).ok_or_else(refused)?);
        }
        Ok(Class::Many(row))
    }
}

/// The labels of `n` nodes; `node` finds the one a key names. Nodes without an entry are unlabelled.
pub(super) fn labels(
    entries: &Entries<Class>,
    n: usize,
    limits: Limits,
    node: impl Fn(&str) -> Option<usize>,
) -> Result<Labels> {
    let width = entries.0.iter().find_map(|(_, class)| match class {
        Class::Many(row) => Some(row.len()),
        Class::One(_) => None,
    });
    refuse_too_large(n, width.unwrap_or(1), 1, limits)?;
    let mut ids = vec![-1; if width.is_none() { n } else { 0 }];
    let mut values = vec![-1; n * width.unwrap_or(0)];
    for (key, class) in &entries.0 {
        let at = || format!("key \"{key}\"");
        let Some(v) = node(key).filter(|&v| v < n) else {
            let found = format!("no such node; there are {n} nodes");
            return Err(Error::data(at(), found, "class_map and the graph must be of the same dataset"));
        };
        match (class, width) {
            (Class::One(class), None) => ids[v] = *class,
            (Class::Many(row), Some(width)) if row.len() == width => {
                values[v * width..(v + 1) * width].copy_from_slice(row);
            }
            (Class::Many(row), _) => {
                let found = format!("{} labels; expected {}", row.len(), width.unwrap_or(0));
                return Err(Error::data(at(), found, "give every node as many labels"));
            }
            (Class::One(class), Some(_)) => {
                let found = format!("the single class {class} among lists of labels");
                return Err(Error::data(at(), found, "give every node a class, or every node a list"));
            }
        }
    }
    match width {
        None => from_ids("classes", ids),
        Some(classes) => Ok(Labels::Multi { values, classes }),
    }
}

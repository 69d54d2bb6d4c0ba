//! From what a file calls its nodes to their numbers 0, 1, 2, ...
//!
//! Ids that are all whole numbers are compared as numbers, so `3` and `3.0` are one node; others are compared as text.
//! A number with a leading zero is text.

use super::value::{At, Value};
use iglu::{Error, Names, Result};
use std::collections::HashMap;

/// The nodes that have been named so far.
#[derive(Debug, Clone, PartialEq)]
pub enum Index {
    /// So many nodes, called 0, 1, 2, ... in this order.
    Rows(usize),
    /// Whole numbers.
    Whole(HashMap<i64, u32>),
    /// Words.
    Text(HashMap<Box<str>, u32>),
}

impl Index {
    /// Nodes called by these numbers, in their order.
    pub fn of_sorted(ids: &[i64]) -> Self {
        let plain = ids.iter().zip(0..).all(|(&id, row)| id == row);
        if plain { Self::Rows(ids.len()) } else { Self::Whole(ids.iter().copied().zip(0..).collect()) }
    }

    /// So many nodes, called 1, 2, 3, ... in this order.
    pub fn from_one(n: usize) -> Self {
        Self::Whole((1..=n as i64).zip(0..).collect())
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        match self {
            Self::Rows(n) => *n,
            Self::Whole(ids) => ids.len(),
            Self::Text(ids) => ids.len(),
        }
    }

    /// Number of the node called `value`; `None` if there is none.
    pub fn get(&self, value: &Value<'_>, at: At) -> Result<Option<u32>> {
        match self {
            Self::Text(ids) => Ok(ids.get(&*value.text(at)?).copied()),
            _ => Ok(self.number(whole(value, at)?)),
        }
    }

    /// Number of the node called by the whole number `id`; `None` if there is none.
    pub fn number(&self, id: i64) -> Option<u32> {
        match self {
            Self::Rows(n) => u32::try_from(id).ok().filter(|&id| (id as usize) < *n),
            Self::Whole(ids) => ids.get(&id).copied(),
            Self::Text(ids) => ids.get(id.to_string().as_str()).copied(),
        }
    }

    /// Number of the node called `value`, and whether it is new.
    pub fn add(&mut self, value: &Value<'_>, at: At) -> Result<(u32, bool)> {
        let next = u32::try_from(self.len()).ok().filter(|&n| n < u32::MAX);
        let Some(next) = next else {
            return Err(Error::usage(
                "nodes",
                format!("more than {} nodes", u32::MAX),
                "train on a part of the graph",
            ));
        };
        let id = whole_id(value);
        match (&mut *self, id) {
            (Self::Rows(n), Some(id)) if id == i64::from(next) => *n += 1,
            (Self::Rows(n), Some(id)) if (0..*n as i64).contains(&id) => return Ok((id as u32, false)),
            (Self::Rows(n), Some(id)) => {
                let mut ids: HashMap<i64, u32> = (0..next).map(|node| (node.into(), node)).collect();
                ids.insert(id, next);
                debug_assert_eq!(ids.len(), *n + 1, "the id is new");
                *self = Self::Whole(ids);
            }
            (Self::Whole(ids), Some(id)) => {
                let node = *ids.entry(id).or_insert(next);
                return Ok((node, node == next));
            }
            (Self::Text(ids), _) => {
                let text = value.text(at)?;
                if let Some(&node) = ids.get(&*text) {
                    return Ok((node, false));
                }
                ids.insert(text.into(), next);
            }
            (_, None) => {
                *self = Self::Text(
                    self.names().iter().zip(0..).map(|(name, node)| (name.into(), node)).collect(),
                );
                return self.add(value, at);
            }
        }
        Ok((next, true))
    }

    /// What the nodes are called, in their order.
    pub fn names(&self) -> Names {
        match self {
            Self::Rows(n) => (0..*n).map(|node| node.to_string()).collect(),
            Self::Whole(ids) => ordered(ids).map(|(id, _)| id.to_string()).collect(),
            Self::Text(ids) => ordered(ids).map(|(id, _)| id).collect(),
        }
    }
}

/// The id of a node, as a whole number.
pub fn whole(value: &Value<'_>, at: At) -> Result<i64> {
    value.whole().ok_or_else(|| value.refused(at, "the id of a node, a whole number"))
}

fn ordered<K>(ids: &HashMap<K, u32>) -> impl Iterator<Item = (&K, u32)> {
    let mut all: Vec<(&K, u32)> = ids.iter().map(|(id, &node)| (id, node)).collect();
    all.sort_unstable_by_key(|&(_, node)| node);
    all.into_iter()
}

/// The whole number that an id is; leading zeros make it a word.
fn whole_id(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Text([b'0', b'0'..=b'9', ..] | [b'+', ..]) => None,
        value => value.whole(),
    }
}

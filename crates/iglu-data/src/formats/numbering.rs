//! How a file numbers its nodes: from 0, or from 1.

use crate::LoadOptions;
use iglu::{Error, Result};
use std::fmt::Display;

/// The numbers of `n` nodes in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbering {
    n: usize,
    first: i64,
}

impl Numbering {
    /// As the options say.
    pub fn new(n: usize, options: &LoadOptions) -> Self {
        Self { n, first: i64::from(options.one_based) }
    }

    /// From 0, as arrays in memory have it.
    pub fn from_zero(n: usize) -> Self {
        Self { n, first: 0 }
    }

    /// Number of nodes.
    pub fn nodes(self) -> usize {
        self.n
    }

    /// The node that the file calls `id`.
    pub fn node(self, id: i64) -> Option<u32> {
        let node = id.checked_sub(self.first)?;
        (0..self.n as i64).contains(&node).then_some(node as u32)
    }

    /// The nodes that the file calls `ids`; `refuse` makes the error for the first that is none, given its place.
    pub fn nodes_of(self, mut ids: Vec<u32>, refuse: impl Fn(usize) -> Error) -> Result<Vec<u32>> {
        for at in 0..ids.len() {
            ids[at] = self.node(ids[at].into()).ok_or_else(|| refuse(at))?;
        }
        Ok(ids)
    }

    /// The error for an `id` that is none; `end` says what it stands for.
    pub fn refuse(self, place: String, end: &str, id: impl Display, fix: &str) -> Error {
        let Self { n, first } = self;
        let found = match n {
            0 => format!("{end} {id}, but there are no nodes"),
            _ => format!("{end} {id}, but there are {n} nodes ({first}..{})", first + n as i64 - 1),
        };
        Error::data(place, found, fix)
    }

    /// The way out for ids that are none, where the file has ids from `lowest` to `highest`.
    pub fn fix(self, lowest: i64, highest: i64, otherwise: &'static str) -> &'static str {
        if self.first == 0 && lowest == 1 && highest == self.n as i64 {
            return "the ids seem to start at 1: try --one-based";
        }
        otherwise
    }
}

/// The lowest and the highest of some ids.
pub fn range(ids: impl Iterator<Item = i64>) -> (i64, i64) {
    ids.fold((i64::MAX, i64::MIN), |(lowest, highest), id| (lowest.min(id), highest.max(id)))
}

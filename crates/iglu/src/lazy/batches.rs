//! Mini-batches: which rows, in which order, and which part of them when an epoch is cut by refreshes.

use crate::config::{Batch, Batches};
use crate::rng::Key;

/// Where batches come from.
#[derive(Debug, Clone)]
pub enum BatchSource {
    /// A fresh shuffle each pass.
    Fresh,
    /// Cut once; only their order changes.
    Fixed,
    /// These batches, pass i over all layers in the order `orders[i]` (to replay another program's run).
    Given {
        /// Nodes of each batch.
        batches: Vec<Vec<u32>>,
        /// Order of the batches in each pass.
        orders: Vec<Vec<usize>>,
    },
}

impl From<Batches> for BatchSource {
    fn from(batches: Batches) -> Self {
        match batches {
            Batches::Fresh => Self::Fresh,
            Batches::Fixed => Self::Fixed,
        }
    }
}

/// Rows of a batch.
pub(crate) fn size(batch: Batch, rows: usize) -> usize {
    match batch {
        Batch::Auto => (rows / 8).clamp(32, 1024),
        Batch::Full => rows,
        Batch::Size(n) => n,
    }
    .clamp(1, rows.max(1))
}

/// One pass over the rows of layer `k`.
pub(super) struct PassOf<'a> {
    pub(super) rows: &'a [u32],
    pub(super) size: usize,
    /// Stream of the layer.
    pub(super) key: Key,
    /// Passes over this layer so far.
    pub(super) pass: u64,
    /// Passes over any layer so far.
    pub(super) serial: usize,
}

impl BatchSource {
    /// The batches of a pass.
    pub(super) fn draw(&self, pass: &PassOf<'_>) -> Vec<Vec<u32>> {
        let cut = |key: Key| {
            let mut rows = pass.rows.to_vec();
            key.shuffle(&mut rows);
            rows.chunks(pass.size).map(<[u32]>::to_vec).collect::<Vec<_>>()
        };
        match self {
            Self::Fresh => cut(pass.key.with("fresh").at(pass.pass)),
            Self::Fixed => {
                let mut batches = cut(pass.key.with("fixed"));
                pass.key.with("order").at(pass.pass).shuffle(&mut batches);
                batches
            }
            Self::Given { batches, orders } => {
                orders[pass.serial].iter().map(|&b| batches[b].clone()).collect()
            }
        }
    }
}

/// Part `part` of `parts` of a list.
pub(super) fn part<T>(items: &[T], part: usize, parts: usize) -> &[T] {
    &items[part * items.len() / parts..(part + 1) * items.len() / parts]
}

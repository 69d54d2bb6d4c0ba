//! The store: one file with a dataset as it is in memory, so that opening it takes no time whatever its size.
//!
//! | bytes | what |
//! |---|---|
//! | 0..64 | header: magic (8), version (4), number of sections (4), length of the file (8), checksum of the table (4), zeros, checksum of bytes 0..60 (4) |
//! | 64.. | table: 32 bytes for each section: kind (4), number (4), start (8), length (8), checksum (4), zeros (4) |
//! | .. | sections, each from a multiple of 64 on, padded with zeros to the next |
//!
//! Numbers are little-endian; checksums are CRC-32, those of sections with their padding. The first 64 bytes keep this
//! form in all versions. Kinds of sections: [`header::Kind`]. The section `About` is JSON ([`About`]) with the counts
//! that the other sections must agree with. Kinds of edges have the sections of a graph under numbers from 1. Where
//! the nodes are in another order than in the file that the store was made of, `Order` has their numbers there; a
//! store without it has version 1, so that older programs read it. Nodes are put back in the order of the file, unless
//! [`crate::Layout`] says otherwise.
//!
//! Opening checks header, table, counts, and everything that is copied: labels, splits, names. Rows of graphs and
//! features are mapped and used in place; [`crate::Verify`] says how much of them is read beforehand. A mapped file must
//! not be shortened by others while it is in use: the system then ends the process. Ours are replaced, never changed.

mod header;
mod mapped;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub(super) use read::{detect, outline, read};
pub use write::write_store;

use iglu::EdgeCounts;
use serde::{Deserialize, Serialize};

/// Ending of the names of stores.
pub const EXTENSION: &str = "iglu";

/// What a store says of its arrays.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    name: String,
    nodes: u64,
    features: u64,
    classes: u64,
    graph: AboutGraph,
    /// Kinds of edges by name.
    relations: Vec<(String, AboutGraph)>,
    /// Those of them, by number, that are neighbourhoods in latent space.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    latent: Vec<usize>,
    /// Nodes in train, val and test of each split.
    splits: Vec<[u64; 3]>,
    notes: Vec<String>,
    source: Option<String>,
    licence: Option<String>,
}

/// What a store says of a graph.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AboutGraph {
    directed: bool,
    /// Whether edges from a node to itself were kept.
    loops: bool,
    edges: usize,
    self_loops: usize,
    duplicates: usize,
}

impl AboutGraph {
    fn counts(self) -> EdgeCounts {
        EdgeCounts { edges: self.edges, self_loops: self.self_loops, duplicates: self.duplicates }
    }
}

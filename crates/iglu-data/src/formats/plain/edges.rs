//! `edges`, `edge_weight` and `directed`: who is connected to whom.

use super::vector;
use crate::formats::npy::{Array, Refused};
use crate::formats::npz::Npz;
use iglu::{EdgeOptions, Error, Graph, Result, SelfLoops};
use std::io::{Read, Seek};

/// The graph of `n` nodes.
pub(in crate::formats) fn read<R: Read + Seek>(
    npz: &mut Npz<R>,
    n: usize,
    self_loops: SelfLoops,
) -> Result<Graph> {
    let directed = directed(npz)?;
    let edges = pairs(&npz.array("edges", "save the edges as an integer array [E, 2] under `edges`")?, n)?;
    let weights = weights(npz, edges.len())?;
    let options = EdgeOptions { weights: weights.as_deref(), directed, self_loops };
    Graph::from_edges(n, &edges, options)
}

fn directed<R: Read + Seek>(npz: &mut Npz<R>) -> Result<bool> {
    if !npz.has("directed") {
        return Ok(false);
    }
    let array = npz.array("directed", "")?;
    match array.ints::<i64>().as_deref() {
        Ok([0]) => Ok(false),
        Ok([1]) => Ok(true),
        _ => {
            let found = format!("{}; expected a single 0 or 1", array.describe());
            Err(Error::data("directed", found, "save 0 for undirected edges or 1 for directed ones"))
        }
    }
}

/// The pairs in an array of one row per edge, ids below 2^32; `n` nodes are named in errors.
pub fn pairs(array: &Array, n: usize) -> Result<Vec<[u32; 2]>> {
    match array.shape() {
        [_, 2] | [0] => {}
        [2, _] => {
            let found = format!("{}; expected [E, 2]", array.describe());
            return Err(Error::data("edges", found, "one row per edge: transpose it (edges.T)"));
        }
        _ => {
            let found = format!("{}; expected [E, 2]", array.describe());
            return Err(Error::data("edges", found, "save one row per edge: source, target"));
        }
    }
    let ids = array.ints::<u32>().map_err(|bad| bad_id(&bad, n))?;
    Ok(ids.as_chunks().0.to_vec())
}

fn bad_id(Refused { index, value }: &Refused, n: usize) -> Error {
    let end = if index % 2 == 0 { "source" } else { "target" };
    let found = format!("{end} {value}, but there are {n} nodes (0..{})", n.saturating_sub(1));
    Error::data(
        format!("edges: row {}", index / 2),
        found,
        "node ids are whole numbers from 0 below the number of nodes",
    )
}

fn weights<R: Read + Seek>(npz: &mut Npz<R>, edges: usize) -> Result<Option<Vec<f32>>> {
    if !npz.has("edge_weight") {
        return Ok(None);
    }
    edge_weights(&npz.array("edge_weight", "")?, edges).map(Some)
}

/// One weight for each of `edges` edges.
pub fn edge_weights(array: &Array, edges: usize) -> Result<Vec<f32>> {
    let fix = "give one weight per row of `edges`";
    if vector("edge_weight", array)? != edges {
        return Err(super::wrong_length("edge_weight", array, edges, "weights", fix));
    }
    Ok(array.floats())
}

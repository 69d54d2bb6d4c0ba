//! `edges`, `edge_weight` and `directed`: who is connected to whom.

use super::vector;
use crate::LoadOptions;
use crate::formats::mirror;
use crate::formats::npy::Array;
use crate::formats::npz::Npz;
use crate::formats::numbering::{Numbering, range};
use iglu::{EdgeOptions, Error, Graph, Result};
use std::io::{Read, Seek};

/// The graph of `n` nodes.
pub(in crate::formats) fn read<R: Read + Seek>(
    npz: &mut Npz<R>,
    n: usize,
    options: &LoadOptions,
) -> Result<Graph> {
    let directed = directed(npz)?;
    let array = npz.array("edges", "save the edges as an integer array [E, 2] under `edges`")?;
    let edges = pairs(&array, Numbering::new(n, options))?;
    let weights = weights(npz, edges.len())?;
    let given = EdgeOptions { weights: weights.as_deref(), directed, ..EdgeOptions::default() };
    mirror::graph(n, &edges, given, options)
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

/// The pairs in an array of one row per edge, as the nodes that they name.
pub fn pairs(array: &Array, numbering: Numbering) -> Result<Vec<[u32; 2]>> {
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
    let refuse = |at: usize, id: &str, fix: &str| {
        numbering.refuse(format!("edges: row {}", at / 2), ["source", "target"][at % 2], id, fix)
    };
    let whole = "node ids are whole numbers from 0 below the number of nodes";
    let ids = array.ints::<u32>().map_err(|bad| refuse(bad.index, &bad.value, whole))?;
    let (lowest, highest) = range(ids.iter().map(|&id| id.into()));
    let fix = numbering.fix(lowest, highest, "check the edge list against the feature rows");
    let nodes = numbering.nodes_of(ids, |at| refuse(at, &array.text(at), fix))?;
    Ok(nodes.as_chunks().0.to_vec())
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

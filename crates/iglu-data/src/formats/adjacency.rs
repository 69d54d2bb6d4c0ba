//! The undirected graph of a square sparse matrix: an entry (i, j) that is not 0 joins nodes i and j.
//!
//! A symmetric matrix holds every edge twice, so one half of it is taken. Of any other all entries are taken, with a
//! note; weights of (i, j) and (j, i) then add up. Values that are all 1 are no weights.

use super::scipy_npz::{Csr, Keys};
use iglu::{EdgeOptions, Error, Graph, Result, SelfLoops};

/// The graph of a matrix; a note if it is not symmetric.
pub(super) fn graph(
    matrix: &Csr,
    keys: &Keys<'_>,
    self_loops: SelfLoops,
    notes: &mut Vec<String>,
) -> Result<Graph> {
    check(matrix, keys)?;
    let symmetric = matrix.transposed() == *matrix;
    let wanted = |&(i, j, w): &(u32, u32, f32)| w != 0.0 && (i <= j || !symmetric);
    let edges: Vec<[u32; 2]> = entries(matrix).filter(wanted).map(|(i, j, _)| [i, j]).collect();
    let weights: Vec<f32> = entries(matrix).filter(wanted).map(|(.., w)| w).collect();
    let weights = weights.iter().any(|&w| w != 1.0).then_some(&weights[..]);
    let graph =
        Graph::from_edges(matrix.rows(), &edges, EdgeOptions { weights, directed: false, self_loops })?;
    if !symmetric {
        let (stored, distinct) = (edges.len(), graph.counts().edges);
        notes.push(format!(
            "the adjacency matrix is not symmetric: its {stored} entries are taken as {distinct} undirected edges"
        ));
    }
    Ok(graph)
}

fn check(matrix: &Csr, keys: &Keys<'_>) -> Result<()> {
    let (rows, cols) = (matrix.rows(), matrix.cols);
    if rows != cols {
        let found = format!("{rows} x {cols}; expected as many columns as rows, one per node");
        return Err(Error::data(keys.shape, found, "an adjacency matrix is square"));
    }
    match entries(matrix).find(|&(.., w)| w < 0.0) {
        None => Ok(()),
        Some((i, j, w)) => {
            let found = format!("row {i}, column {j} is {w}; expected 0 or more");
            Err(Error::data(keys.data, found, "remove the edge or repair its weight"))
        }
    }
}

/// Row, column and value of every entry.
fn entries(matrix: &Csr) -> impl Iterator<Item = (u32, u32, f32)> {
    (0..matrix.rows()).flat_map(move |row| {
        matrix.span(row).map(move |at| (row as u32, matrix.indices[at], matrix.values[at]))
    })
}

//! Features for graphs that come without any, made from the graph alone.

use iglu::{Features, Graph, SparseMat};

/// Up to this many nodes, each gets a column of its own.
const MOST_ONE_HOT: usize = 50_000;

/// A constant, log(1 + degree), and up to 50,000 nodes one column per node; a note says so.
pub(super) fn features(graph: &Graph, notes: &mut Vec<String>) -> Features {
    let n = graph.nodes();
    let one_hot = n <= MOST_ONE_HOT;
    let mut offsets = vec![0];
    let (mut indices, mut values) = (Vec::new(), Vec::new());
    for v in 0..n {
        indices.extend([0, 1]);
        values.extend([1.0, (graph.neighbours(v).len() as f32).ln_1p()]);
        if one_hot {
            indices.push(v as u32 + 2);
            values.push(1.0);
        }
        offsets.push(indices.len() as u64);
    }
    let cols = if one_hot { n + 2 } else { 2 };
    let ids = if one_hot { " and one column per node" } else { "" };
    notes.push(format!("there are no features; made from the graph: a constant, log(1 + degree){ids}"));
    Features::Sparse(SparseMat::from_parts(cols, offsets, indices, values))
}

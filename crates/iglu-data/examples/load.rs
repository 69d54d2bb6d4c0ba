//! Loads a dataset and says how long that took, with the rows of its graph and of the one with every edge turned round.
//!
//!     cargo run --release -p iglu-data --example load -- graph.npz

#![expect(clippy::print_stdout, reason = "this is what the example is for")]

use iglu::Graph;
use iglu_data::{DEFAULT_SOURCE, LoadOptions, Purpose, load};
use std::time::Instant;

fn main() -> iglu::Result<()> {
    let source = std::env::args().nth(1).unwrap_or_else(|| DEFAULT_SOURCE.to_string());
    let options = LoadOptions { purpose: Purpose::Predict, ..LoadOptions::default() };
    let start = Instant::now();
    let graph = load(&source, &options)?.graph;
    println!("loaded in {:.2} s: {} nodes, {} entries", seconds(start), graph.nodes(), graph.entries());
    let (offsets, columns) = (graph.offsets().to_vec(), graph.columns().to_vec());
    let weights = graph.all_weights().map(<[_]>::to_vec);
    let start = Instant::now();
    let directed = Graph::from_rows(offsets, columns, weights, true)?;
    println!("rows checked in {:.2} s", seconds(start));
    let start = Instant::now();
    let turned = directed.transpose();
    println!("turned round in {:.2} s", seconds(start));
    assert_eq!(turned.entries(), graph.entries());
    Ok(())
}

fn seconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64()
}

//! How much memory training with the defaults takes, roughly: what is large, added up.

use iglu::config::Config;
use iglu::{Dataset, Features, Labels};

/// Program, threads and small things.
const BASE: usize = 24 << 20;
/// Matrices of nodes x hidden that one network has at a time: embeddings, aggregates, gradients, scratch.
const CACHES: usize = 5;
/// Copies of the first layer's weights: themselves, the best ones, two moments, gradients of eight lanes.
const COPIES: usize = 12;
/// While the defaults are tried out, two networks live side by side.
const NETWORKS: usize = 2;

/// Bytes, give or take a third (measured on graphs of 2,000 to 170,000 nodes).
pub(super) fn train_bytes(data: &Dataset) -> u64 {
    let config = iglu::run::resolve(&Config::default(), data);
    let n = data.graph.nodes();
    let (hidden, hops) = (config.network.hidden.or(0), config.network.hops.or(1));
    let turned = if data.graph.directed() { data.graph.bytes() } else { 0 };
    let labels = match &data.labels {
        Labels::Classes { ids, .. } => size_of_val(&ids[..]),
        Labels::Multi { values, .. } => values.len(),
    };
    let held = data.graph.bytes() + turned + labels + 2 * data.features.bytes();
    let weights = data.features.cols() * (1 + hops) * hidden;
    let numbers = CACHES * n * hidden + COPIES * weights;
    let network = hops * hop_bytes(data) + numbers * size_of::<f32>();
    (BASE + held + NETWORKS * network) as u64
}

/// Bytes of the aggregates of one hop: sparse features fill up with what neighbours have.
fn hop_bytes(data: &Dataset) -> usize {
    let dense = data.features.rows() * data.features.cols() * size_of::<f32>();
    match &data.features {
        Features::Dense(_) => dense,
        Features::Sparse(x) => {
            let mean_degree = data.graph.entries() / data.graph.nodes().max(1);
            (x.bytes() * (1 + mean_degree)).min(dense)
        }
    }
}

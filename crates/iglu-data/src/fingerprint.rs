//! A few digits that tell datasets apart, part by part, so that a run does not go on with other data.

use iglu::{Dataset, Features, Graph, Labels};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Checksums of the parts of a dataset that training depends on.
///
/// ```
/// use iglu_data::{Fingerprint, load};
/// let village = load("synth:village", &Default::default())?;
/// let other = load("synth:village#1", &Default::default())?;
/// let (a, b) = (Fingerprint::of(&village), Fingerprint::of(&other));
/// assert!(a.differences(&a).is_empty());
/// assert!(b.differences(&a)[0].starts_with("graph: "));
/// # Ok::<(), iglu::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    nodes: usize,
    graph: u32,
    relations: u32,
    features: u32,
    labels: u32,
    train: u32,
    val: u32,
    test: u32,
}

impl Fingerprint {
    /// Reads everything once, on all threads.
    pub fn of(data: &Dataset) -> Self {
        let ids = |ids: &[u32]| sum(ids, u32::to_le_bytes);
        Self {
            nodes: data.graph.nodes(),
            graph: of_graph(&data.graph),
            relations: joined(data.relations.iter().map(|r| of_graph(&r.graph))),
            features: match &data.features {
                Features::Dense(x) => joined([x.cols() as u32, sum(x.data(), f32::to_le_bytes)]),
                Features::Sparse(x) => joined([
                    x.cols() as u32,
                    sum(x.offsets(), u64::to_le_bytes),
                    ids(x.indices()),
                    sum(x.values(), f32::to_le_bytes),
                ]),
            },
            labels: match &data.labels {
                Labels::Classes { ids, classes } => joined([*classes as u32, sum(ids, i32::to_le_bytes)]),
                Labels::Multi { values, classes } => joined([*classes as u32, sum(values, i8::to_le_bytes)]),
            },
            train: ids(&data.split.train),
            val: ids(&data.split.val),
            test: ids(&data.split.test),
        }
    }

    /// What differs from an earlier one, a line for each part.
    pub fn differences(&self, earlier: &Self) -> Vec<String> {
        let parts = |f: &Self| {
            [
                ("nodes", f.nodes.to_string()),
                ("graph", format!("{:08x}", f.graph)),
                ("relations", format!("{:08x}", f.relations)),
                ("features", format!("{:08x}", f.features)),
                ("labels", format!("{:08x}", f.labels)),
                ("training nodes", format!("{:08x}", f.train)),
                ("validation nodes", format!("{:08x}", f.val)),
                ("test nodes", format!("{:08x}", f.test)),
            ]
        };
        let pairs = parts(self).into_iter().zip(parts(earlier));
        let differing = pairs.filter(|((_, now), (_, then))| now != then);
        differing.map(|((name, now), (_, then))| format!("{name}: {then} then, {now} now")).collect()
    }
}

fn of_graph(graph: &Graph) -> u32 {
    let weights = graph.all_weights().map_or(0, |w| sum(w, f32::to_le_bytes));
    joined([
        u32::from(graph.directed()),
        sum(graph.offsets(), u64::to_le_bytes),
        sum(graph.columns(), u32::to_le_bytes),
        weights,
    ])
}

/// One checksum of several.
fn joined(sums: impl IntoIterator<Item = u32>) -> u32 {
    let bytes: Vec<u8> = sums.into_iter().flat_map(u32::to_le_bytes).collect();
    crc32fast::hash(&bytes)
}

/// CRC-32 of the little-endian bytes of numbers.
fn sum<T: Copy + Sync, const N: usize>(values: &[T], bytes: impl Fn(T) -> [u8; N] + Sync) -> u32 {
    const PIECE: usize = 1 << 18;
    const BLOCK: usize = 1 << 10;
    let hash = |piece: &[T]| {
        let mut hasher = crc32fast::Hasher::new();
        let mut buffer = Vec::with_capacity(BLOCK * N);
        for block in piece.chunks(BLOCK) {
            buffer.clear();
            buffer.extend(block.iter().flat_map(|&v| bytes(v)));
            hasher.update(&buffer);
        }
        hasher
    };
    let pieces: Vec<_> = values.par_chunks(PIECE).map(hash).collect();
    let mut all = crc32fast::Hasher::new();
    pieces.iter().for_each(|piece| all.combine(piece));
    all.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_counts_and_names_do_not() {
        let data = crate::load("synth:village@0.1", &crate::LoadOptions::default()).unwrap();
        let first = Fingerprint::of(&data);
        let check = |expect: &str, change: fn(&mut Dataset)| {
            let mut other = data.clone();
            change(&mut other);
            let found = Fingerprint::of(&other).differences(&first);
            let parts: Vec<&str> = found.iter().map(|line| line.split(':').next().unwrap()).collect();
            assert_eq!(parts.join(", "), expect);
        };
        check("", |d| d.name = "other".into());
        check("features", |d| {
            let Features::Dense(x) = &mut d.features else { panic!("dense features") };
            x.data_mut()[7] += 1e-6;
        });
        check("labels", |d| {
            let Labels::Classes { ids, .. } = &mut d.labels else { panic!("classes") };
            ids[0] = (ids[0] + 1) % 8;
        });
        check("training nodes, test nodes", |d| {
            let moved = d.split.train.pop().unwrap();
            d.split.test.push(moved);
        });
        check("validation nodes", |d| d.split.val.reverse());
        check("graph", |d| {
            let options = iglu::EdgeOptions::default();
            d.graph = Graph::from_edges(d.graph.nodes(), &[[0, 1]], options).unwrap();
        });
    }

    #[test]
    fn a_sum_is_the_crc_of_the_bytes_however_long() {
        let values: Vec<u32> = (0..600_000).collect();
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(sum(&values, u32::to_le_bytes), crc32fast::hash(&bytes));
    }
}

//! Numbers for the nodes that bring neighbours together, so that sparse products find rows in the caches.
//!
//! Label propagation (Raghavan, Albert and Kumara 2007): every node starts as a community of its own, and some times
//! over takes the label that most of its neighbours have. Then communities lie one after the other. Weights do not
//! matter, since a row is read whatever it weighs; directions do not either, since both products are made. Training
//! is the same up to rounding and the draw of batches; the [`Permutation`] leads back to the numbers people know.

use crate::rng::Key;
use crate::{Graph, Permutation};
use rayon::prelude::*;

/// Times that every node looks at its neighbours.
const SWEEPS: usize = 4;
/// Nodes take turns within a sweep and see what those before them chose: all at once they would swap labels for ever.
const TURNS: usize = 4;
/// Nodes next to each other that have the same turn.
const RUN: usize = 256;
/// Most nodes that a community grows to: their rows should fit the last cache. One that is everything orders nothing.
const LARGEST: u32 = 1 << 15;

/// The nodes with communities one after the other.
///
/// Takes time linear in the edges (but for a sort of the nodes), and is the same for any number of threads.
///
/// ```
/// use iglu::{EdgeOptions, Graph, communities};
/// // Two triangles whose nodes come by turns.
/// let edges = [[0, 2], [2, 4], [4, 0], [1, 3], [3, 5], [5, 1]];
/// let graph = Graph::from_edges(6, &edges, EdgeOptions::default())?;
/// let order = communities::order(&graph);
/// assert!(order.old()[..3].iter().all(|v| v % 2 == order.old()[0] % 2));
/// # Ok::<(), iglu::Error>(())
/// ```
pub fn order(graph: &Graph) -> Permutation {
    let labels = labels(graph, LARGEST);
    let key = |(v, label): (usize, &u32)| u64::from(*label) << 32 | v as u64;
    let mut keys: Vec<u64> = labels.par_iter().enumerate().map(key).collect();
    keys.par_sort_unstable();
    Permutation::of(keys.into_par_iter().map(|key| key as u32).collect())
}

/// The community of every node, called by the number of one of its nodes; none has more than `largest`.
fn labels(graph: &Graph, largest: u32) -> Vec<u32> {
    let back = graph.directed().then(|| graph.transpose());
    let ways = [Some(graph), back.as_ref()];
    let mut labels: Vec<u32> = (0..graph.nodes() as u32).collect();
    let mut sizes = vec![1_u32; graph.nodes()];
    let mut fresh = labels.clone();
    for turn in (0..SWEEPS).flat_map(|_| 0..TURNS) {
        let mine = |run: &usize| run % TURNS == turn;
        let choose = |votes: &mut Votes, (run, fresh): (usize, &mut [u32])| {
            for (v, fresh) in (run * RUN..).zip(fresh) {
                *fresh = votes.winner(ways, v, &labels);
            }
        };
        let runs = fresh.par_chunks_mut(RUN).enumerate().filter(|(run, _)| mine(run));
        runs.for_each_init(Votes::default, choose);
        for (run, (old, new)) in labels.chunks_mut(RUN).zip(fresh.chunks(RUN)).enumerate() {
            if mine(&run) {
                take(old, new, &mut sizes, largest);
            }
        }
    }
    labels
}

/// Takes new labels while there is room in their communities.
fn take(old: &mut [u32], new: &[u32], sizes: &mut [u32], largest: u32) {
    for (old, &new) in old.iter_mut().zip(new) {
        if *old == new || sizes[new as usize] >= largest {
            continue;
        }
        sizes[*old as usize] -= 1;
        sizes[new as usize] += 1;
        *old = new;
    }
}

/// Votes of a node's neighbours, in a table with open addresses.
#[derive(Default)]
struct Votes {
    /// Label and votes; no votes: empty.
    slots: Vec<(u32, u32)>,
    /// Those in use.
    used: Vec<u32>,
}

impl Votes {
    /// The label that most neighbours of `v` have, its own among equals, else the one that all prefer alike.
    fn winner(&mut self, ways: [Option<&Graph>; 2], v: usize, labels: &[u32]) -> u32 {
        let neighbours = || ways.into_iter().flatten().flat_map(|graph| graph.neighbours(v));
        let most = ways.into_iter().flatten().map(|graph| graph.neighbours(v).len()).sum::<usize>();
        let bits = (2 * most).next_power_of_two().trailing_zeros().clamp(1, 31);
        self.slots.resize(self.slots.len().max(1 << bits), (0, 0));
        neighbours().filter(|&&u| u as usize != v).for_each(|&u| self.add(labels[u as usize], bits));
        let own = labels[v];
        let mut best = (0, 0, own);
        for slot in self.used.drain(..) {
            let (label, count) = std::mem::take(&mut self.slots[slot as usize]);
            if label == own {
                best = best.max((count, u64::MAX, own));
            } else {
                best = best.max((count, preference(label), label));
            }
        }
        best.2
    }

    fn add(&mut self, label: u32, bits: u32) {
        let mask = (1 << bits) - 1;
        let mut at = (label.wrapping_mul(0x9e37_79b1) >> (32 - bits)) as usize;
        while self.slots[at].1 > 0 && self.slots[at].0 != label {
            at = (at + 1) & mask;
        }
        if self.slots[at].1 == 0 {
            self.used.push(at as u32);
            self.slots[at].0 = label;
        }
        self.slots[at].1 += 1;
    }
}

/// Which of two labels with equal votes is taken: nodes with common neighbours agree without asking.
fn preference(label: u32) -> u64 {
    const KEY: Key = Key::new(0);
    KEY.u64(u64::from(label))
}

#[cfg(test)]
mod tests;

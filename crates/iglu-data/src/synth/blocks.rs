//! The block model: blocks, weights `theta`, and unique undirected edges of an exact number.

use super::Shape;
use super::random::{Purpose, Stream, exp, ln};
use rayon::prelude::*;

/// Nodes or draws per stream: fixed, so that threads change nothing.
pub(super) const PART: usize = 1 << 16;
/// Rounds of the model before the last missing edges are drawn without weights (crowded small graphs).
const ROUNDS: u64 = 12;
/// A draw that gave no edge; sorts last.
const NONE: u64 = u64::MAX;

/// The blocks of a graph and who belongs to them.
pub(super) struct Blocks {
    /// Block of each node.
    pub of: Vec<u32>,
    pub seed: u64,
    partner: Vec<u32>,
    /// Over blocks that have nodes, by their total weight.
    totals: Vec<Slot>,
    /// Over the nodes of each block, by `theta`; block `b` owns `slots[first[b]..first[b + 1]]`.
    slots: Vec<Slot>,
    first: Vec<usize>,
}

impl Blocks {
    /// Draws blocks, partners and weights.
    pub fn draw(shape: &Shape, n: usize, seed: u64) -> Self {
        let count = shape.blocks();
        let of = assign(count, n, seed);
        let theta = weights(n, seed);
        let (order, first) = by_block(&of, count);
        let spans: Vec<&[u32]> = first.windows(2).map(|w| &order[w[0]..w[1]]).collect();
        let weigh = |nodes: &&[u32]| nodes.iter().map(|&v| theta[v as usize]).collect::<Vec<f64>>();
        let tables: Vec<Vec<Slot>> =
            spans.par_iter().map(|nodes| alias_table(nodes, &weigh(nodes))).collect();
        let filled = (0..).zip(&spans).filter(|(_, nodes)| !nodes.is_empty());
        let (ids, sums): (Vec<u32>, Vec<f64>) =
            filled.map(|(b, nodes)| (b, weigh(nodes).iter().sum::<f64>())).unzip();
        let partner = Stream::new(seed, Purpose::Partners, 0).permutation(count);
        Self { of, seed, partner, totals: alias_table(&ids, &sums), slots: tables.concat(), first }
    }

    /// Exactly `count` different pairs `u < v`, sorted.
    pub fn edges(&self, shape: &Shape, count: usize) -> Vec<[u32; 2]> {
        let mut keys = Vec::new();
        let mut round = 0;
        while keys.len() < count {
            let fresh = self.draw_pairs(shape, count - keys.len(), round);
            keys = merged(keys, fresh);
            round += 1;
        }
        keep_only(&mut keys, count, self.seed);
        keys.into_par_iter().map(|key| [(key >> 32) as u32, key as u32]).collect()
    }

    /// About `wanted` different pairs, sorted, as `u << 32 | v`.
    fn draw_pairs(&self, shape: &Shape, wanted: usize, round: u64) -> Vec<u64> {
        let mut keys = vec![NONE; wanted + wanted / 7 + 1000];
        keys.par_chunks_mut(PART).enumerate().for_each(|(part, keys)| {
            let mut stream = Stream::new(self.seed, Purpose::Edges, round << 32 | part as u64);
            for key in keys {
                let [u, v] =
                    if round < ROUNDS { self.pair(shape, &mut stream) } else { self.any_pair(&mut stream) };
                if u != v {
                    *key = u64::from(u.min(v)) << 32 | u64::from(u.max(v));
                }
            }
        });
        keys.par_sort_unstable();
        keys.dedup();
        keys.pop_if(|last| *last == NONE);
        keys
    }

    fn pair(&self, shape: &Shape, stream: &mut Stream) -> [u32; 2] {
        let block = pick(&self.totals, stream);
        let u = pick(self.nodes(block), stream);
        let r = stream.uniform();
        let target = if r < shape.inside {
            block
        } else if r < shape.inside + shape.related {
            self.partner[block as usize]
        } else {
            pick(&self.totals, stream)
        };
        let nodes = self.nodes(target);
        // A partner block may be empty in a small graph: no edge then.
        [u, if nodes.is_empty() { u } else { pick(nodes, stream) }]
    }

    fn any_pair(&self, stream: &mut Stream) -> [u32; 2] {
        [stream.below(self.of.len()) as u32, stream.below(self.of.len()) as u32]
    }

    fn nodes(&self, block: u32) -> &[Slot] {
        &self.slots[self.first[block as usize]..self.first[block as usize + 1]]
    }
}

/// Block of each node; sizes from a Dirichlet distribution with parameter 3.
fn assign(count: usize, n: usize, seed: u64) -> Vec<u32> {
    let mut stream = Stream::new(seed, Purpose::BlockSizes, 0);
    // A gamma number of shape 3 is the sum of three exponential ones.
    let sizes: Vec<f64> = (0..count).map(|_| (0..3).map(|_| -ln(1.0 - stream.uniform())).sum()).collect();
    let ids: Vec<u32> = (0..count as u32).collect();
    let table = alias_table(&ids, &sizes);
    let mut of = vec![0; n];
    of.par_chunks_mut(PART).enumerate().for_each(|(part, of)| {
        let mut stream = Stream::new(seed, Purpose::BlockOfNode, part as u64);
        of.fill_with(|| pick(&table, &mut stream));
    });
    of
}

/// `theta` of each node: density proportional to `t^-2.5` between 1 and 1000.
fn weights(n: usize, seed: u64) -> Vec<f64> {
    const LOW: f64 = 3.162_277_660_168_379e-5; // 1000^-1.5
    let mut theta = vec![0.0; n];
    theta.par_chunks_mut(PART).enumerate().for_each(|(part, theta)| {
        let mut stream = Stream::new(seed, Purpose::Theta, part as u64);
        theta.fill_with(|| exp(-2.0 / 3.0 * ln(1.0 + stream.uniform() * (LOW - 1.0))));
    });
    theta
}

/// Nodes sorted by block, and where each block starts (one more than blocks).
fn by_block(of: &[u32], count: usize) -> (Vec<u32>, Vec<usize>) {
    let mut first = vec![0; count + 1];
    for &b in of {
        first[b as usize + 1] += 1;
    }
    for b in 0..count {
        first[b + 1] += first[b];
    }
    let mut cursor = first.clone();
    let mut order = vec![0; of.len()];
    for (v, &b) in (0..).zip(of) {
        order[cursor[b as usize]] = v;
        cursor[b as usize] += 1;
    }
    (order, first)
}

/// One column of an alias table: `own` with probability `keep / 2^32`, else `other`.
#[derive(Clone, Copy)]
struct Slot {
    keep: u32,
    own: u32,
    other: u32,
}

/// Walker's alias table over `ids` with probabilities proportional to `weights`: draws in constant time.
fn alias_table(ids: &[u32], weights: &[f64]) -> Vec<Slot> {
    let mean = weights.iter().sum::<f64>() / weights.len() as f64;
    let mut share: Vec<f64> = weights.iter().map(|w| w / mean).collect();
    let mut table: Vec<Slot> = ids.iter().map(|&id| Slot { keep: u32::MAX, own: id, other: id }).collect();
    let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..ids.len()).partition(|&i| share[i] < 1.0);
    while let (Some(s), Some(&l)) = (small.pop(), large.last()) {
        table[s].keep = (share[s] * (1_u64 << 32) as f64) as u32;
        table[s].other = ids[l];
        share[l] -= 1.0 - share[s];
        if share[l] < 1.0 {
            large.pop();
            small.push(l);
        }
    }
    table
}

/// Draws from an alias table that is not empty.
fn pick(table: &[Slot], stream: &mut Stream) -> u32 {
    let bits = stream.bits();
    let slot = table[(((bits >> 32) * table.len() as u64) >> 32) as usize];
    if (bits as u32) < slot.keep { slot.own } else { slot.other }
}

/// Two sorted lists without repetitions as one.
fn merged(a: Vec<u64>, b: Vec<u64>) -> Vec<u64> {
    if a.is_empty() {
        return b;
    }
    let mut out = Vec::with_capacity(a.len() + b.len());
    let mut old = a.into_iter().peekable();
    for key in b {
        while let Some(smaller) = old.next_if(|&o| o < key) {
            out.push(smaller);
        }
        old.next_if_eq(&key);
        out.push(key);
    }
    out.extend(old);
    out
}

/// Leaves a random choice of `count` keys (selection sampling), in order.
fn keep_only(keys: &mut Vec<u64>, count: usize, seed: u64) {
    let mut stream = Stream::new(seed, Purpose::Surplus, 0);
    let (mut left, mut surplus) = (keys.len(), keys.len() - count);
    keys.retain(|_| {
        let drop = surplus > 0 && stream.below(left) < surplus;
        left -= 1;
        surplus -= usize::from(drop);
        !drop
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alias_tables_draw_in_proportion() {
        let table = alias_table(&[7, 8, 9, 10], &[1.0, 0.0, 2.0, 5.0]);
        let mut stream = Stream::new(1, Purpose::Edges, 0);
        let mut seen = [0; 11];
        (0..80_000).for_each(|_| seen[pick(&table, &mut stream) as usize] += 1);
        for (id, expect) in [(7, 10_000), (8, 0), (9, 20_000), (10, 50_000_i32)] {
            assert!((seen[id] - expect).abs() < 600, "{id}: {} instead of {expect}", seen[id]);
        }
    }

    #[test]
    fn merging_keeps_order_and_drops_repetitions() {
        assert_eq!(merged(vec![1, 3, 5, 9], vec![2, 3, 7]), [1, 2, 3, 5, 7, 9]);
        assert_eq!(merged(vec![], vec![4]), [4]);
        assert_eq!(merged(vec![4], vec![]), [4]);
    }

    #[test]
    fn theta_follows_the_power_law() {
        let theta = weights(200_000, 1);
        assert!(theta.iter().all(|t| (0.999..=1000.1).contains(t)));
        // P(theta > t) = (t^-1.5 - 1000^-1.5) / (1 - 1000^-1.5)
        for (t, expect) in [(2.0_f64, 0.353_5), (10.0, 0.031_6)] {
            let share = theta.iter().filter(|x| **x > t).count() as f64 / 200_000.0;
            assert!((share - expect).abs() < 0.005, "above {t}: {share}");
        }
    }
}

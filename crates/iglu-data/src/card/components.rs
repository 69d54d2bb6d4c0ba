//! Connected components, edges taken both ways: union-find on all threads.

use iglu::Graph;
use rayon::prelude::*;
use serde::Serialize;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// How a graph falls apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Components {
    /// Parts that no edge joins; an isolated node is one.
    pub count: usize,
    /// Nodes of the largest.
    pub largest: usize,
}

impl Components {
    /// Counts them.
    pub(super) fn of(graph: &Graph) -> Self {
        let forest = Forest::new(graph.nodes());
        (0..graph.nodes() as u32).into_par_iter().for_each(|v| {
            // Both ends of an undirected edge list it.
            let half = |u: u32| graph.directed() || u < v;
            let row = graph.neighbours(v as usize).iter();
            row.filter(|&&u| half(u)).for_each(|&u| forest.join(u, v));
        });
        let mut sizes = vec![0_u32; graph.nodes()];
        (0..graph.nodes() as u32).for_each(|v| sizes[forest.root(v) as usize] += 1);
        let roots = sizes.iter().filter(|&&size| size > 0);
        Self { count: roots.count(), largest: sizes.iter().max().map_or(0, |&size| size as usize) }
    }
}

/// Trees whose roots are their smallest nodes. Parents only ever get smaller, so threads cannot undo each other's work,
/// and the trees at the end are the components whoever joined them.
struct Forest(Vec<AtomicU32>);

impl Forest {
    fn new(n: usize) -> Self {
        Self((0..n as u32).map(AtomicU32::new).collect())
    }

    fn root(&self, mut v: u32) -> u32 {
        loop {
            let parent = self.0[v as usize].load(Relaxed);
            let above = self.0[parent as usize].load(Relaxed);
            if parent == above {
                return parent;
            }
            // Shortens the way for those who follow; losing a race only leaves it longer.
            let _ = self.0[v as usize].compare_exchange(parent, above, Relaxed, Relaxed);
            v = above;
        }
    }

    fn join(&self, u: u32, v: u32) {
        let (mut a, mut b) = (self.root(u), self.root(v));
        while a != b {
            let (low, high) = (a.min(b), a.max(b));
            if self.0[high as usize].compare_exchange(high, low, Relaxed, Relaxed).is_ok() {
                return;
            }
            (a, b) = (self.root(low), self.root(high));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iglu::EdgeOptions;
    use iglu::rng::Key;

    fn check(n: usize, edges: &[[u32; 2]], directed: bool, expect: (usize, usize)) {
        let options = EdgeOptions { directed, ..Default::default() };
        let found = Components::of(&Graph::from_edges(n, edges, options).unwrap());
        assert_eq!((found.count, found.largest), expect, "{edges:?}");
    }

    #[test]
    fn parts_by_hand() {
        for directed in [false, true] {
            check(6, &[[0, 1], [2, 1], [4, 3]], directed, (3, 3));
            check(3, &[], directed, (3, 1));
            check(0, &[], directed, (0, 0));
        }
    }

    /// Against a walk from node to node, for any number of threads.
    #[test]
    fn parts_are_those_of_a_walk() {
        let n = 3000;
        let node = |i: u64| (Key::new(3).unit(i) * n as f64) as u32;
        let edges: Vec<[u32; 2]> = (0..1400).map(|i| [node(2 * i), node(2 * i + 1)]).collect();
        let graph = Graph::from_edges(n, &edges, EdgeOptions::default()).unwrap();
        let mut seen = vec![false; n];
        let mut sizes = Vec::new();
        for start in 0..n {
            let (mut stack, mut size) = (vec![start], 0);
            while let Some(v) = stack.pop() {
                if !std::mem::replace(&mut seen[v], true) {
                    size += 1;
                    stack.extend(graph.neighbours(v).iter().map(|&u| u as usize));
                }
            }
            sizes.extend((size > 0).then_some(size));
        }
        assert!(sizes.len() > 500, "the test needs many parts");
        for threads in [1, 2, 8] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let found = pool.install(|| Components::of(&graph));
            assert_eq!((found.count, Some(&found.largest)), (sizes.len(), sizes.iter().max()));
        }
    }
}

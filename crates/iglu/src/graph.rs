//! A graph as compressed rows: row `v` lists the nodes `u` whose messages reach `v`.
//!
//! Node ids are `u32`, offsets `u64`. A directed edge `(u, v)` sends from `u` to `v`; an undirected one sends
//! both ways. Duplicates are merged: unweighted ones count once, weights of weighted ones are added; in an
//! undirected list `(u, v)` and `(v, u)` are duplicates. Self loops follow [`SelfLoops`]. Neighbours are sorted.
//! Normalisation is not known here: see [`crate::operator`].

use crate::{Error, Real, Result};
use rayon::prelude::*;

/// What to do with edges `(v, v)` of the input. Normalisations add their own loops, so the default drops these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SelfLoops {
    /// Leave them out.
    #[default]
    Drop,
    /// Keep them as edges.
    Keep,
    /// Refuse the graph.
    Error,
}

/// How an edge list is to be read.
#[derive(Debug, Clone, Copy, Default)]
pub struct EdgeOptions<'a> {
    /// One weight per edge; `None`: all 1.
    pub weights: Option<&'a [Real]>,
    /// Edges send one way only.
    pub directed: bool,
    /// Edges `(v, v)`.
    pub self_loops: SelfLoops,
}

/// What was found in the edge list, before merging.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EdgeCounts {
    /// Distinct edges without self loops; an undirected edge counts once.
    pub edges: usize,
    /// Entries `(v, v)`.
    pub self_loops: usize,
    /// Entries that repeat an earlier edge.
    pub duplicates: usize,
}

/// A graph in compressed rows.
///
/// ```
/// use iglu::{EdgeOptions, Graph};
/// let path = Graph::from_edges(3, &[[0, 1], [1, 2]], EdgeOptions::default())?;
/// assert_eq!(path.neighbours(1), &[0, 2]);
/// # Ok::<(), iglu::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    offsets: Vec<u64>,
    neighbours: Vec<u32>,
    weights: Option<Vec<Real>>,
    directed: bool,
    counts: EdgeCounts,
}

impl Graph {
    /// Builds the graph of `n` nodes from an edge list.
    pub fn from_edges(n: usize, edges: &[[u32; 2]], options: EdgeOptions<'_>) -> Result<Self> {
        check_edges(n, edges, options)?;
        let keep_loops = options.self_loops == SelfLoops::Keep;
        let mut rows = scatter(n, edges, options, keep_loops);
        let merged = rows.sort_and_merge();
        let loops = edges.iter().filter(|[u, v]| u == v).count();
        let kept_loops = if keep_loops { rows.count_loops() } else { 0 };
        let entries = rows.neighbours.len() - kept_loops;
        let counts = EdgeCounts {
            edges: if options.directed { entries } else { entries / 2 },
            self_loops: loops,
            duplicates: if options.directed { merged } else { merged.div_ceil(2) },
        };
        Ok(Self {
            offsets: rows.offsets,
            neighbours: rows.neighbours,
            weights: rows.weights,
            directed: options.directed,
            counts,
        })
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Stored entries: an undirected edge has two.
    pub fn entries(&self) -> usize {
        self.neighbours.len()
    }

    /// What was found in the edge list.
    pub fn counts(&self) -> EdgeCounts {
        self.counts
    }

    /// Whether edges send one way only.
    pub fn directed(&self) -> bool {
        self.directed
    }

    /// Nodes whose messages reach `v`, sorted.
    pub fn neighbours(&self, v: usize) -> &[u32] {
        &self.neighbours[self.offsets[v] as usize..self.offsets[v + 1] as usize]
    }

    /// Weights of [`Graph::neighbours`], if the graph has any.
    pub fn weights(&self, v: usize) -> Option<&[Real]> {
        let span = self.offsets[v] as usize..self.offsets[v + 1] as usize;
        self.weights.as_ref().map(|w| &w[span])
    }

    /// Row offsets (nodes + 1 of them).
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// All neighbour lists, one after the other.
    pub fn columns(&self) -> &[u32] {
        &self.neighbours
    }

    /// All weights, in the order of [`Graph::columns`].
    pub fn all_weights(&self) -> Option<&[Real]> {
        self.weights.as_deref()
    }

    /// Sum of the weights of row `v` (the number of neighbours without weights).
    pub fn degree(&self, v: usize) -> Real {
        self.weights(v).map_or(self.neighbours(v).len() as Real, |w| w.iter().sum())
    }

    /// Nodes without any edge, in either direction.
    pub fn isolated(&self) -> usize {
        let mut touched = vec![false; self.nodes()];
        for v in 0..self.nodes() {
            touched[v] |= !self.neighbours(v).is_empty();
            for &u in self.neighbours(v) {
                touched[u as usize] = true;
            }
        }
        touched.iter().filter(|&&t| !t).count()
    }

    /// The graph with every edge turned round. An undirected graph is its own transpose.
    #[must_use]
    pub fn transpose(&self) -> Self {
        if !self.directed {
            return self.clone();
        }
        let n = self.nodes();
        let mut offsets = vec![0_u64; n + 1];
        for &u in &self.neighbours {
            offsets[u as usize + 1] += 1;
        }
        accumulate(&mut offsets);
        let mut cursor = offsets.clone();
        let mut neighbours = vec![0; self.neighbours.len()];
        let mut weights = self.weights.as_ref().map(|w| vec![0.0; w.len()]);
        for v in 0..n {
            for (at, &u) in self.neighbours(v).iter().enumerate() {
                let slot = cursor[u as usize] as usize;
                cursor[u as usize] += 1;
                neighbours[slot] = v as u32;
                if let (Some(out), Some(w)) = (&mut weights, self.weights(v)) {
                    out[slot] = w[at];
                }
            }
        }
        Self { offsets, neighbours, weights, directed: true, counts: self.counts }
    }

    /// The subgraph of `nodes` with ids 0.. in their order; edges to other nodes are dropped.
    #[must_use]
    pub fn induced(&self, nodes: &[u32]) -> Self {
        let mut place = vec![u32::MAX; self.nodes()];
        for (new, &old) in nodes.iter().enumerate() {
            place[old as usize] = new as u32;
        }
        let weights = self.weights.as_ref().map(|_| Vec::new());
        let mut rows = Rows { offsets: vec![0], neighbours: Vec::new(), weights };
        for &old in nodes {
            for (at, &u) in self.neighbours(old as usize).iter().enumerate() {
                if place[u as usize] == u32::MAX {
                    continue;
                }
                rows.neighbours.push(place[u as usize]);
                if let (Some(out), Some(w)) = (&mut rows.weights, self.weights(old as usize)) {
                    out.push(w[at]);
                }
            }
            rows.offsets.push(rows.neighbours.len() as u64);
        }
        rows.sort_and_merge();
        let loops = rows.count_loops();
        let entries = rows.neighbours.len() - loops;
        let edges = if self.directed { entries } else { entries / 2 };
        let counts = EdgeCounts { edges, self_loops: loops, duplicates: 0 };
        Self {
            offsets: rows.offsets,
            neighbours: rows.neighbours,
            weights: rows.weights,
            directed: self.directed,
            counts,
        }
    }

    /// Several graphs side by side as one, their node ids one after the other.
    ///
    /// ```
    /// use iglu::{EdgeOptions, Graph};
    /// let edge = Graph::from_edges(2, &[[0, 1]], EdgeOptions::default())?;
    /// let two = Graph::disjoint(&[edge.clone(), edge])?;
    /// assert_eq!(two.neighbours(3), &[2]);
    /// # Ok::<(), iglu::Error>(())
    /// ```
    pub fn disjoint(graphs: &[Self]) -> Result<Self> {
        let directed = graphs.iter().any(|g| g.directed);
        let weighted = graphs.iter().any(|g| g.weights.is_some());
        let mut out = Rows { offsets: vec![0], neighbours: Vec::new(), weights: weighted.then(Vec::new) };
        let mut counts = EdgeCounts::default();
        for g in graphs {
            if g.directed != directed {
                let found = "directed and undirected graphs together";
                return Err(Error::data("graphs", found, "make all of them directed or all undirected"));
            }
            let base = (out.offsets.len() - 1) as u32;
            let start = out.neighbours.len() as u64;
            out.neighbours.extend(g.neighbours.iter().map(|u| u + base));
            out.offsets.extend(g.offsets[1..].iter().map(|o| o + start));
            if let Some(w) = &mut out.weights {
                let ones = || vec![1.0; g.neighbours.len()];
                w.extend(g.weights.clone().unwrap_or_else(ones));
            }
            counts.edges += g.counts.edges;
            counts.self_loops += g.counts.self_loops;
            counts.duplicates += g.counts.duplicates;
        }
        Ok(Self { offsets: out.offsets, neighbours: out.neighbours, weights: out.weights, directed, counts })
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let weights = self.weights.as_ref().map_or(0, |w| w.len() * size_of::<Real>());
        self.offsets.len() * 8 + self.neighbours.len() * 4 + weights
    }
}

fn check_edges(n: usize, edges: &[[u32; 2]], options: EdgeOptions<'_>) -> Result<()> {
    if n > u32::MAX as usize {
        return Err(Error::usage("nodes", format!("{n} nodes, at most {} are possible", u32::MAX), ""));
    }
    if let Some(row) = edges.par_iter().position_first(|[u, v]| *u as usize >= n || *v as usize >= n) {
        let [u, v] = edges[row];
        let (end, id) = if u as usize >= n { ("source", u) } else { ("target", v) };
        let found = format!("{end} {id}, but there are {n} nodes (0..{})", n.saturating_sub(1));
        let one_based =
            edges.par_iter().all(|[u, v]| (1..=n as u32).contains(u) && (1..=n as u32).contains(v));
        let fix = if one_based {
            "the ids seem to start at 1: subtract 1"
        } else {
            "check the edge list against the feature rows"
        };
        return Err(Error::data(format!("edges: row {row}"), found, fix));
    }
    if options.self_loops == SelfLoops::Error
        && let Some(row) = edges.iter().position(|[u, v]| u == v)
    {
        let found = format!("node {} is connected to itself", edges[row][0]);
        return Err(Error::data(
            format!("edges: row {row}"),
            found,
            "remove it, or set data.self_loops to drop or keep",
        ));
    }
    let Some(weights) = options.weights else { return Ok(()) };
    if weights.len() != edges.len() {
        let found = format!("{} weights for {} edges", weights.len(), edges.len());
        return Err(Error::data("edge_weight", found, "give one weight per edge"));
    }
    match weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
        None => Ok(()),
        Some(row) => {
            let found = format!("weight {}; expected a finite number, 0 or more", weights[row]);
            Err(Error::data(format!("edge_weight: row {row}"), found, "remove the edge or repair its weight"))
        }
    }
}

fn accumulate(counts: &mut [u64]) {
    let mut sum = 0;
    for c in counts {
        sum += *c;
        *c = sum;
    }
}

/// Compressed rows under construction.
#[derive(Default)]
struct Rows {
    offsets: Vec<u64>,
    neighbours: Vec<u32>,
    weights: Option<Vec<Real>>,
}

/// Counting sort of the edge list by receiving node.
fn scatter(n: usize, edges: &[[u32; 2]], options: EdgeOptions<'_>, keep_loops: bool) -> Rows {
    let messages = |[u, v]: [u32; 2]| {
        let forward = (u != v || keep_loops).then_some((v, u));
        let back = (u != v && !options.directed).then_some((u, v));
        [forward, back].into_iter().flatten()
    };
    let mut offsets = vec![0_u64; n + 1];
    for &edge in edges {
        for (to, _) in messages(edge) {
            offsets[to as usize + 1] += 1;
        }
    }
    accumulate(&mut offsets);
    let total = offsets[n] as usize;
    let mut cursor = offsets[..n].to_vec();
    let mut neighbours = vec![0_u32; total];
    let mut weights = options.weights.map(|_| vec![0.0; total]);
    for (row, &edge) in edges.iter().enumerate() {
        for (to, from) in messages(edge) {
            let slot = cursor[to as usize] as usize;
            cursor[to as usize] += 1;
            neighbours[slot] = from;
            if let (Some(out), Some(w)) = (&mut weights, options.weights) {
                out[slot] = w[row];
            }
        }
    }
    Rows { offsets, neighbours, weights }
}

impl Rows {
    /// Sorts every row, merges equal neighbours and closes the gaps; returns how many entries were merged away.
    fn sort_and_merge(&mut self) -> usize {
        let before = self.neighbours.len();
        let Some(weights) = &mut self.weights else {
            sort_rows(&self.offsets, &mut self.neighbours);
            let mut end = 0;
            for v in 0..self.offsets.len() - 1 {
                let span = self.offsets[v] as usize..self.offsets[v + 1] as usize;
                self.offsets[v] = end as u64;
                let first = end;
                for at in span {
                    if end == first || self.neighbours[end - 1] != self.neighbours[at] {
                        self.neighbours[end] = self.neighbours[at];
                        end += 1;
                    }
                }
            }
            *self.offsets.last_mut().expect("one more than rows") = end as u64;
            self.neighbours.truncate(end);
            return before - end;
        };
        let (mut columns, mut sums) = (Vec::with_capacity(before), Vec::with_capacity(before));
        let mut row: Vec<(u32, Real)> = Vec::new();
        for v in 0..self.offsets.len() - 1 {
            let span = self.offsets[v] as usize..self.offsets[v + 1] as usize;
            row.clear();
            row.extend(self.neighbours[span.clone()].iter().copied().zip(weights[span].iter().copied()));
            row.sort_by_key(|&(u, _)| u);
            self.offsets[v] = columns.len() as u64;
            for &(u, w) in &row {
                if columns.len() as u64 > self.offsets[v] && columns.last() == Some(&u) {
                    *sums.last_mut().expect("as long as columns") += w;
                } else {
                    columns.push(u);
                    sums.push(w);
                }
            }
        }
        *self.offsets.last_mut().expect("one more than rows") = columns.len() as u64;
        *weights = sums;
        self.neighbours = columns;
        before - self.neighbours.len()
    }

    fn count_loops(&self) -> usize {
        let row = |v: usize| &self.neighbours[self.offsets[v] as usize..self.offsets[v + 1] as usize];
        (0..self.offsets.len() - 1).filter(|&v| row(v).binary_search(&(v as u32)).is_ok()).count()
    }
}

/// Sorts all rows, in parallel over chunks of rows.
fn sort_rows(offsets: &[u64], neighbours: &mut [u32]) {
    const CHUNK: usize = 4096;
    let mut rest = neighbours;
    let mut jobs = Vec::new();
    for rows in offsets.windows(2).collect::<Vec<_>>().chunks(CHUNK) {
        let (first, last) = (rows[0][0], rows[rows.len() - 1][1]);
        let (mine, others) = rest.split_at_mut((last - first) as usize);
        rest = others;
        jobs.push((mine, first, rows.to_vec()));
    }
    jobs.into_par_iter().for_each(|(mine, first, rows)| {
        for row in rows {
            mine[(row[0] - first) as usize..(row[1] - first) as usize].sort_unstable();
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses `"0-1 1-2"` and checks the rows.
    fn check(n: usize, edges: &str, directed: bool, expect: &[&[u32]]) -> Graph {
        let list: Vec<[u32; 2]> = edges
            .split_whitespace()
            .map(|e| {
                let (u, v) = e.split_once('-').unwrap();
                [u.parse().unwrap(), v.parse().unwrap()]
            })
            .collect();
        let g = Graph::from_edges(n, &list, EdgeOptions { directed, ..Default::default() }).unwrap();
        let rows: Vec<&[u32]> = (0..n).map(|v| g.neighbours(v)).collect();
        assert_eq!(rows, expect);
        g
    }

    #[test]
    fn duplicates_and_loops_are_merged_and_counted() {
        let g = check(4, "0-1 1-0 2-2 1-2 1-2", false, &[&[1], &[0, 2], &[1], &[]]);
        assert_eq!(g.counts(), EdgeCounts { edges: 2, self_loops: 1, duplicates: 2 });
        assert_eq!(g.isolated(), 1);
    }

    #[test]
    fn directed_edges_send_to_their_target() {
        let g = check(3, "0-1 0-2 1-2 0-1", true, &[&[], &[0], &[0, 1]]);
        assert_eq!(g.counts(), EdgeCounts { edges: 3, self_loops: 0, duplicates: 1 });
        let t = g.transpose();
        assert_eq!((t.neighbours(0), t.neighbours(1), t.neighbours(2)), (&[1, 2][..], &[2][..], &[][..]));
    }

    #[test]
    fn weights_of_duplicates_add_up() {
        let options = EdgeOptions { weights: Some(&[0.5, 0.25, 2.0]), ..Default::default() };
        let g = Graph::from_edges(3, &[[0, 1], [1, 0], [1, 2]], options).unwrap();
        assert_eq!((g.weights(0).unwrap(), g.weights(1).unwrap()), (&[0.75][..], &[0.75, 2.0][..]));
        assert_eq!(g.degree(1), 2.75);
    }

    #[test]
    fn induced_subgraph_is_compact_and_follows_the_order_given() {
        let g = check(4, "0-1 1-2 2-3 3-0", false, &[&[1, 3], &[0, 2], &[1, 3], &[0, 2]]);
        let s = g.induced(&[2, 1, 3]);
        assert_eq!((s.neighbours(0), s.neighbours(1), s.neighbours(2)), (&[1, 2][..], &[0][..], &[0][..]));
    }

    #[test]
    fn bad_edges_name_row_and_value() {
        let e = Graph::from_edges(3, &[[0, 1], [1, 3]], EdgeOptions::default()).unwrap_err();
        assert!(e.to_string().starts_with("edges: row 1: target 3, but there are 3 nodes (0..2)"), "{e}");
        assert!(!e.to_string().contains("start at 1"), "{e}");
        let e = Graph::from_edges(3, &[[2, 1], [1, 3]], EdgeOptions::default()).unwrap_err();
        assert!(e.to_string().contains("start at 1"), "{e}");
        let options = EdgeOptions { weights: Some(&[-1.0]), ..Default::default() };
        let e = Graph::from_edges(3, &[[0, 1]], options).unwrap_err();
        assert!(e.to_string().contains("weight -1"), "{e}");
    }
}

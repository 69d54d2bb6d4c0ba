//! A graph as compressed rows: row `v` lists the nodes `u` whose messages reach `v`.
//!
//! Node ids are `u32`, offsets `u64`. A directed edge `(u, v)` sends from `u` to `v`; an undirected one sends
//! both ways. Duplicates are merged: unweighted ones count once, weights of weighted ones are added; in an
//! undirected list `(u, v)` and `(v, u)` are duplicates. Self loops follow [`SelfLoops`]. Neighbours are sorted.
//! Normalisation is not known here: see [`crate::operator`].

mod rows;

use crate::{Buffer, Error, Real, Result, first_where};
use rayon::prelude::*;
use rows::{Rows, Source};
use std::ops::Range;
use std::sync::Arc;

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
    offsets: Buffer<u64>,
    neighbours: Buffer<u32>,
    weights: Option<Buffer<Real>>,
    directed: bool,
    counts: EdgeCounts,
}

/// What a graph is made of, as it was when it was a graph before.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphParts {
    /// Row offsets (nodes + 1 of them).
    pub offsets: Buffer<u64>,
    /// All neighbour lists, one after the other, each sorted and without repetitions.
    pub neighbours: Buffer<u32>,
    /// Their weights.
    pub weights: Option<Buffer<Real>>,
    /// Edges send one way only.
    pub directed: bool,
    /// What was found in the edge list.
    pub counts: EdgeCounts,
}

impl Graph {
    /// Builds the graph of `n` nodes from an edge list.
    pub fn from_edges(n: usize, edges: &[[u32; 2]], options: EdgeOptions<'_>) -> Result<Self> {
        check_edges(n, edges, options)?;
        let keep_loops = options.self_loops == SelfLoops::Keep;
        let rows = rows::collect(n, &EdgeList { edges, options, keep_loops });
        let mut graph = Self::of(rows, options.directed);
        let loops = edges.par_iter().filter(|[u, v]| u == v).count();
        let (kept, dropped) = if keep_loops { (graph.counts.self_loops, 0) } else { (0, loops) };
        graph.counts.duplicates = edges.len() - dropped - graph.counts.edges - kept;
        graph.counts.self_loops = loops;
        Ok(graph)
    }

    /// Takes compressed rows: row `v` is `neighbours[offsets[v]..offsets[v + 1]]`, the nodes that send to `v`. Rows
    /// are sorted and repeated neighbours merged where they are not yet; self loops stay. Rows of an undirected graph
    /// hold every edge on both sides.
    ///
    /// ```
    /// use iglu::Graph;
    /// let path = Graph::from_rows(vec![0, 1, 3, 4], vec![1, 2, 0, 1], None, false)?;
    /// assert_eq!((path.neighbours(1), path.counts().edges), (&[0, 2][..], 2));
    /// # Ok::<(), iglu::Error>(())
    /// ```
    pub fn from_rows(
        offsets: Vec<u64>,
        neighbours: Vec<u32>,
        weights: Option<Vec<Real>>,
        directed: bool,
    ) -> Result<Self> {
        check_rows(&offsets, &neighbours, weights.as_deref())?;
        let listed = neighbours.len();
        let mut rows = Rows { offsets, neighbours, weights };
        rows.tidy();
        let mut graph = Self::of(rows, directed);
        graph.counts.duplicates = listed - graph.neighbours.len();
        graph.check_sides()?;
        Ok(graph)
    }

    /// The graph of tidy rows, its edges and loops counted.
    fn of(rows: Rows, directed: bool) -> Self {
        let loops = rows.loops();
        let entries = rows.neighbours.len() - loops;
        let edges = if directed { entries } else { entries / 2 };
        let counts = EdgeCounts { edges, self_loops: loops, duplicates: 0 };
        Self::with(rows, directed, counts)
    }

    /// Takes tidy rows; clones of the graph share them.
    fn with(rows: Rows, directed: bool, counts: EdgeCounts) -> Self {
        Self {
            offsets: Buffer::kept(Arc::new(rows.offsets)),
            neighbours: Buffer::kept(Arc::new(rows.neighbours)),
            weights: rows.weights.map(|weights| Buffer::kept(Arc::new(weights))),
            directed,
            counts,
        }
    }

    /// Takes the parts of a graph back. Looks at their ends only, so that it takes no time; [`Graph::check`] reads
    /// the rest.
    pub fn from_parts(parts: GraphParts) -> Result<Self> {
        let GraphParts { offsets, neighbours, weights, directed, counts } = parts;
        check_ends(&offsets, &neighbours, weights.as_deref())?;
        Ok(Self { offsets, neighbours, weights, directed, counts })
    }

    /// Checks what [`Graph::from_parts`] takes on trust: rows in order, neighbours in range and sorted, weights finite.
    pub fn check(&self) -> Result<()> {
        check_rows(&self.offsets, &self.neighbours, self.all_weights())?;
        let unsorted = |v: usize| !self.neighbours(v).is_sorted_by(|a, b| a < b);
        match (0..self.nodes()).into_par_iter().position_first(unsorted) {
            Some(v) => Err(Error::data("rows", format!("row {v} is not sorted"), MISFIT)),
            None => Ok(()),
        }
    }

    /// Refuses an undirected graph with an edge on one side only, or with two weights.
    fn check_sides(&self) -> Result<()> {
        if self.directed {
            return Ok(());
        }
        let mirrored = |v: usize, at: usize, u: u32| {
            let place = self.neighbours(u as usize).binary_search(&(v as u32)).ok();
            place.is_some_and(|other| self.weight(u as usize, other) == self.weight(v, at))
        };
        let lonely = |v: usize| {
            let row = self.neighbours(v).iter().enumerate();
            row.filter(|&(at, &u)| !mirrored(v, at, u)).map(|(_, &u)| u).collect::<Vec<u32>>()
        };
        let found: Vec<(usize, Vec<u32>)> = (0..self.nodes())
            .into_par_iter()
            .map(|v| (v, lonely(v)))
            .filter(|(_, missing)| !missing.is_empty())
            .collect();
        let Some((v, missing)) = found.first() else { return Ok(()) };
        let more = found.iter().map(|(_, missing)| missing.len()).sum::<usize>() - 1;
        let others = if more > 0 { format!(" (and {more} more)") } else { String::new() };
        let found = format!("row {v} has {}, row {} does not have {v} alike{others}", missing[0], missing[0]);
        Err(Error::data("rows", found, "declare the graph directed, or add the other side: A + A.T"))
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

    /// Weight of entry `at` of row `v`.
    fn weight(&self, v: usize, at: usize) -> Real {
        self.weights(v).map_or(1.0, |w| w[at])
    }

    /// Nodes without any edge, in either direction.
    pub fn isolated(&self) -> usize {
        let mut alone: Vec<bool> = self.offsets.windows(2).map(|row| row[0] == row[1]).collect();
        if self.directed {
            self.neighbours.iter().for_each(|&u| alone[u as usize] = false);
        }
        alone.iter().filter(|&&a| a).count()
    }

    /// The graph with every edge turned round. An undirected graph is its own transpose.
    #[must_use]
    pub fn transpose(&self) -> Self {
        if !self.directed {
            return self.clone();
        }
        Self::with(rows::collect(self.nodes(), &Turned(self)), true, self.counts)
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
        rows.tidy();
        Self::of(rows, self.directed)
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
                match &g.weights {
                    Some(weights) => w.extend_from_slice(weights),
                    None => w.resize(w.len() + g.neighbours.len(), 1.0),
                }
            }
            counts.edges += g.counts.edges;
            counts.self_loops += g.counts.self_loops;
            counts.duplicates += g.counts.duplicates;
        }
        Ok(Self::with(out, directed, counts))
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        let weights = self.weights.as_ref().map_or(0, |w| w.len() * size_of::<Real>());
        self.offsets.len() * 8 + self.neighbours.len() * 4 + weights
    }
}

fn check_edges(n: usize, edges: &[[u32; 2]], options: EdgeOptions<'_>) -> Result<()> {
    check_nodes(n)?;
    if let Some(row) = first_where(edges, |[u, v]| *u as usize >= n || *v as usize >= n) {
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
        && let Some(row) = first_where(edges, |[u, v]| u == v)
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
    check_weights(weights)
}

fn check_weights(weights: &[Real]) -> Result<()> {
    match first_where(weights, |w| !w.is_finite() || *w < 0.0) {
        None => Ok(()),
        Some(row) => {
            let found = format!("weight {}; expected a finite number, 0 or more", weights[row]);
            Err(Error::data(format!("edge_weight: row {row}"), found, "remove the edge or repair its weight"))
        }
    }
}

fn check_nodes(n: usize) -> Result<()> {
    if u32::try_from(n).is_ok() {
        return Ok(());
    }
    Err(Error::usage(
        "nodes",
        format!("{n} nodes, at most {} are possible", u32::MAX),
        "train on a part of the graph",
    ))
}

const MISFIT: &str = "the arrays do not belong together";

/// Checks where rows begin and end.
fn check_ends(offsets: &[u64], neighbours: &[u32], weights: Option<&[Real]>) -> Result<()> {
    let entries = neighbours.len();
    check_nodes(offsets.len().saturating_sub(1))?;
    let misfit = |found: String| Err(Error::data("rows", found, MISFIT));
    match (offsets.first(), offsets.last(), weights) {
        (Some(0), Some(&end), _) if end != entries as u64 => {
            misfit(format!("they end at {end}, but there are {entries} entries"))
        }
        (Some(0), _, Some(weights)) if weights.len() != entries => {
            misfit(format!("{} weights for {entries} entries", weights.len()))
        }
        (Some(0), ..) => Ok(()),
        (first, ..) => misfit(format!("they start at {first:?}; expected 0")),
    }
}

fn check_rows(offsets: &[u64], neighbours: &[u32], weights: Option<&[Real]>) -> Result<()> {
    check_ends(offsets, neighbours, weights)?;
    let n = offsets.len() - 1;
    if let Some(v) = offsets.par_windows(2).position_first(|row| row[0] > row[1]) {
        let found = format!("row {v} goes from {} back to {}", offsets[v], offsets[v + 1]);
        return Err(Error::data("rows", found, MISFIT));
    }
    if let Some(at) = first_where(neighbours, |&u| u as usize >= n) {
        let found = format!("node {}, but there are {n} nodes (0..{})", neighbours[at], n.saturating_sub(1));
        let row = offsets.partition_point(|&o| o <= at as u64) - 1;
        return Err(Error::data(format!("rows: row {row}"), found, "check that ids start at 0"));
    }
    weights.map_or(Ok(()), check_weights)
}

/// Edges as messages: to the target, and back where they are undirected.
struct EdgeList<'a> {
    edges: &'a [[u32; 2]],
    options: EdgeOptions<'a>,
    keep_loops: bool,
}

impl Source for EdgeList<'_> {
    fn items(&self) -> usize {
        self.edges.len()
    }

    fn weighted(&self) -> bool {
        self.options.weights.is_some()
    }

    fn each(&self, items: Range<usize>, mut visit: impl FnMut(u32, u32, Real)) {
        for row in items {
            let [u, v] = self.edges[row];
            let weight = self.options.weights.map_or(1.0, |w| w[row]);
            if u != v || self.keep_loops {
                visit(v, u, weight);
            }
            if u != v && !self.options.directed {
                visit(u, v, weight);
            }
        }
    }
}

/// The messages of a graph with every edge turned round.
struct Turned<'a>(&'a Graph);

impl Source for Turned<'_> {
    fn items(&self) -> usize {
        self.0.nodes()
    }

    fn weighted(&self) -> bool {
        self.0.weights.is_some()
    }

    fn each(&self, items: Range<usize>, mut visit: impl FnMut(u32, u32, Real)) {
        for v in items {
            let row = self.0.neighbours(v).iter().enumerate();
            row.for_each(|(at, &u)| visit(u, v as u32, self.0.weight(v, at)));
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

#[cfg(test)]
mod tests;

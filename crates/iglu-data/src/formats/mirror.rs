//! Undirected graphs from files that write an edge in both directions, in one, or here so and there so.
//!
//! Each edge is taken once, so that the counts of a graph speak of the file: what is written twice in the same
//! direction is a duplicate, a mirror image is not.

use super::scipy_npz::{self, Csr};
use crate::{LoadOptions, quoted};
use iglu::config::Duplicates;
use iglu::{EdgeOptions, Error, Graph, Result};
use rayon::prelude::*;
use std::collections::HashSet;
use std::path::Path;

/// An undirected graph, and how it stood in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Mirrored {
    /// The graph.
    pub graph: Graph,
    /// Edges that were written in one direction only.
    pub one_sided: usize,
}

impl Mirrored {
    /// What people should know where `file` mixes both ways of writing; `None` where it has one.
    pub fn note(&self, file: &str) -> Option<String> {
        let edges = self.graph.counts().edges;
        let mixed = self.one_sided > 0 && self.one_sided < edges;
        mixed.then(|| {
            format!(
                "{file}: {} of {edges} edges stand there in one direction only; they are used in both",
                self.one_sided
            )
        })
    }
}

/// The undirected graph of `n` nodes with these entries.
pub fn from_entries(n: usize, entries: &[[u32; 2]], options: &LoadOptions) -> Result<Mirrored> {
    let (edges, one_sided) = once(entries);
    Ok(Mirrored { graph: graph(n, &edges, EdgeOptions::default(), options)?, one_sided })
}

/// The graph of an edge list, its self loops and duplicates treated as the options say.
pub fn graph(n: usize, edges: &[[u32; 2]], given: EdgeOptions<'_>, options: &LoadOptions) -> Result<Graph> {
    let given = EdgeOptions { self_loops: options.self_loops, ..given };
    let graph = Graph::from_edges(n, edges, given)?;
    match options.duplicates {
        _ if graph.counts().duplicates == 0 => Ok(graph),
        Duplicates::Drop => Ok(graph),
        Duplicates::Keep if given.weights.is_some() => Ok(graph),
        // The weights of merged edges are added.
        Duplicates::Keep => {
            let ones = vec![1.0; edges.len()];
            Graph::from_edges(n, edges, EdgeOptions { weights: Some(&ones), ..given })
        }
        Duplicates::Error => Err(repeated(edges, given.directed, graph.counts().duplicates)),
    }
}

/// The error for edges that are there several times.
fn repeated(edges: &[[u32; 2]], directed: bool, count: usize) -> Error {
    let mut seen = HashSet::new();
    let ends = |&[u, v]: &[u32; 2]| if directed || u < v { [u, v] } else { [v, u] };
    let Some(row) = edges.iter().position(|edge| !seen.insert(ends(edge))) else {
        return repeats("edges", count);
    };
    let [u, v] = edges[row];
    let others = if count > 1 { format!(" (and {} more)", count - 1) } else { String::new() };
    let found = format!("the edge between {u} and {v} is there again{others}");
    Error::data("edges", found, REPEATS)
}

const REPEATS: &str = "remove repeated edges, or set data.duplicates to drop or keep";

/// The error for a graph with so many repeated edges.
pub(super) fn repeats(place: &str, count: usize) -> Error {
    Error::data(place, format!("{count} edges are there again"), REPEATS)
}

/// Each edge as often as in the direction in which it stands there more often, and how many lack a direction.
fn once(entries: &[[u32; 2]]) -> (Vec<[u32; 2]>, usize) {
    let mut edges: Vec<[u32; 2]> = entries.iter().filter(|[u, v]| u == v).copied().collect();
    let forward = sorted_keys(entries, |[u, v]| (u < v).then_some([u, v]));
    let backward = sorted_keys(entries, |[u, v]| (u > v).then_some([v, u]));
    let (mut one_sided, mut f, mut b) = (0, &forward[..], &backward[..]);
    while let Some(key) = f.iter().chain(b).next().map(|_| smaller(f.first(), b.first())) {
        let (ahead, back) = (run(&mut f, key), run(&mut b, key));
        edges.extend(std::iter::repeat_n([(key >> 32) as u32, key as u32], ahead.max(back)));
        one_sided += usize::from(ahead == 0 || back == 0);
    }
    (edges, one_sided)
}

fn sorted_keys(entries: &[[u32; 2]], of: impl Fn([u32; 2]) -> Option<[u32; 2]>) -> Vec<u64> {
    let key = |[u, v]: [u32; 2]| u64::from(u) << 32 | u64::from(v);
    let mut keys: Vec<u64> = entries.iter().filter_map(|&e| of(e)).map(key).collect();
    keys.par_sort_unstable();
    keys
}

fn smaller(a: Option<&u64>, b: Option<&u64>) -> u64 {
    a.into_iter().chain(b).copied().min().unwrap_or_default()
}

/// How often `key` stands at the front; moves past it.
fn run(keys: &mut &[u64], key: u64) -> usize {
    let length = keys.iter().take_while(|&&k| k == key).count();
    *keys = &keys[length..];
    length
}

/// The undirected graph of the matrix in a file of `scipy.sparse.save_npz`; errors name the file.
pub fn from_scipy(path: &Path, options: &LoadOptions) -> Result<Mirrored> {
    let matrix = scipy_npz::read(path, options.limits)?;
    from_matrix(&matrix, options).map_err(|e| e.within(&quoted(path)))
}

/// The undirected graph of a square matrix: an edge where one of its two entries is not zero, weighted by the larger.
/// Weights that are all 1 are no weights.
pub fn from_matrix(matrix: &Csr, options: &LoadOptions) -> Result<Mirrored> {
    let n = matrix.rows();
    if matrix.cols != n {
        let found = format!("{n} x {}; expected as many columns as rows", matrix.cols);
        return Err(Error::data("shape", found, "save the adjacency matrix of all nodes"));
    }
    let (mut edges, mut weights, mut one_sided) = (Vec::new(), Vec::new(), 0);
    for row in 0..n {
        for at in matrix.span(row) {
            let (column, value) = (matrix.indices[at], matrix.values[at]);
            let other = if column as usize == row { value } else { entry(matrix, column, row as u32) };
            // Of a pair of entries the one above the diagonal stands for both.
            if value == 0.0 || (other != 0.0 && (column as usize) < row) {
                continue;
            }
            if value.min(other) < 0.0 {
                let found =
                    format!("row {row}, column {column}: weight {}; expected 0 or more", value.min(other));
                return Err(Error::data("", found, "remove the edge or repair its weight"));
            }
            one_sided += usize::from(other == 0.0);
            edges.push([column, row as u32]);
            weights.push(value.max(other));
        }
    }
    let weights = weights.iter().any(|&w| w != 1.0).then_some(weights);
    let given = EdgeOptions { weights: weights.as_deref(), ..EdgeOptions::default() };
    Ok(Mirrored { graph: graph(n, &edges, given, options)?, one_sided })
}

fn entry(matrix: &Csr, row: u32, column: u32) -> f32 {
    let span = matrix.span(row as usize);
    matrix.indices[span.clone()].binary_search(&column).map_or(0.0, |at| matrix.values[span.start + at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_count_once_however_they_are_written() {
        let both = from_entries(4, &[[0, 1], [1, 0], [1, 2], [2, 1]], &LoadOptions::default()).unwrap();
        assert_eq!((both.graph.counts().edges, both.graph.counts().duplicates, both.one_sided), (2, 0, 0));
        assert_eq!(both.note("graph"), None);
        let single = from_entries(4, &[[1, 0], [1, 2]], &LoadOptions::default()).unwrap();
        assert_eq!((single.graph.columns(), single.one_sided), (both.graph.columns(), 2));
        assert_eq!(single.note("graph"), None);
        let mixed =
            from_entries(4, &[[1, 0], [1, 2], [2, 1], [2, 1], [3, 3]], &LoadOptions::default()).unwrap();
        let counts = mixed.graph.counts();
        assert_eq!((counts.edges, counts.duplicates, counts.self_loops), (2, 1, 1));
        let expect = "graph: 1 of 2 edges stand there in one direction only; they are used in both";
        assert_eq!(mixed.note("graph").as_deref(), Some(expect));
    }

    #[test]
    fn repeated_edges_are_dropped_kept_or_refused() {
        let entries = [[0, 1], [1, 0], [0, 1], [1, 2], [0, 1]];
        let with = |duplicates| from_entries(3, &entries, &LoadOptions { duplicates, ..Default::default() });
        let [dropped, kept] = [Duplicates::Drop, Duplicates::Keep].map(|policy| with(policy).unwrap().graph);
        assert_eq!((dropped.neighbours(1), dropped.weights(1)), (&[0, 2][..], None));
        assert_eq!((kept.neighbours(1), kept.weights(1)), (&[0, 2][..], Some(&[3.0, 1.0][..])));
        let e = with(Duplicates::Error).unwrap_err();
        let expect = "edges: the edge between 0 and 1 is there again (and 1 more)\n";
        assert!(e.to_string().starts_with(expect), "{e}");
        let options = LoadOptions { duplicates: Duplicates::Keep, ..Default::default() };
        assert_eq!(from_entries(3, &[[0, 1], [1, 2]], &options).unwrap().graph.all_weights(), None);
        let weighted = EdgeOptions { weights: Some(&[0.5, 2.0]), ..EdgeOptions::default() };
        let added = graph(2, &[[0, 1], [0, 1]], weighted, &LoadOptions::default()).unwrap();
        assert_eq!(added.weights(0), Some(&[2.5][..]));
    }

    fn matrix(values: [f32; 6]) -> Csr {
        // 0-1 both ways, 2-0 one way, 2-2, and 1-2 both ways.
        Csr { cols: 3, offsets: vec![0, 1, 3, 6], indices: vec![1, 0, 2, 0, 1, 2], values: values.to_vec() }
    }

    #[test]
    fn matrices_give_each_edge_the_larger_of_its_entries() {
        let ones = from_matrix(&matrix([1.0; 6]), &LoadOptions::default()).unwrap();
        assert_eq!((ones.graph.counts().edges, ones.graph.counts().self_loops, ones.one_sided), (3, 1, 1));
        assert_eq!(ones.graph.all_weights(), None);
        let weighted = from_matrix(&matrix([0.5, 2.0, 0.0, 3.0, 4.0, 1.0]), &LoadOptions::default()).unwrap();
        assert_eq!(weighted.graph.weights(0), Some(&[2.0, 3.0][..]));
        assert_eq!((weighted.graph.weights(1), weighted.one_sided), (Some(&[2.0, 4.0][..]), 2));
        let flat = Csr { cols: 2, offsets: vec![0, 0], indices: vec![], values: vec![] };
        let e = from_matrix(&flat, &LoadOptions::default()).unwrap_err();
        assert!(e.to_string().starts_with("shape: 1 x 2; expected as many columns as rows"), "{e}");
    }
}

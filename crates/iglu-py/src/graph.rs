//! `iglu_gnn.Graph`: edges in compressed rows. Inputs are taken apart in Python, in `_convert.py`.

use crate::arrays::{self, SparseParts};
use crate::errors;
use crate::work::work;
use iglu::{Buffer, EdgeCounts, EdgeOptions, Error, Graph as Core, GraphParts, Result, SelfLoops};
use iglu_data::formats::numbering::Numbering;
use iglu_data::formats::plain;
use iglu_data::formats::scipy_npz::{Csr, Keys};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyUntypedArray};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Arc;

const SELF_LOOPS: &[(&str, SelfLoops)] =
    &[("drop", SelfLoops::Drop), ("keep", SelfLoops::Keep), ("error", SelfLoops::Error)];

/// Row offsets, neighbours and weights.
type Rows<'py> = (Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u32>>, Option<Bound<'py, PyArray1<f32>>>);

/// Row offsets, neighbours, weights, whether directed, and counts of edges, self loops and duplicates.
type Pickled<'py> = (
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<u32>>,
    Option<Bound<'py, PyArray1<f32>>>,
    bool,
    [usize; 3],
);

/// Who is connected to whom: `Graph(edges, n_nodes=...)`.
///
/// `edges` is a SciPy sparse matrix, an array [2, E] or [E, 2], a table with two or three columns, a NetworkX graph, or
/// an object with `edge_index` (PyG) or `edges()` (DGL). Lists of edges are undirected unless `directed=True`;
/// matrices and graph objects are what they say they are.
///
/// >>> from iglu_gnn import Graph
/// >>> Graph([[0, 1], [1, 2]], n_nodes=3)
/// Graph(3 nodes, 2 edges)
#[pyclass(frozen, module = "iglu_gnn")]
pub struct Graph {
    pub core: Core,
}

#[pymethods]
impl Graph {
    #[new]
    #[pyo3(signature = (*args, **options))]
    fn new(args: &Bound<'_, PyTuple>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let made = args.py().import("iglu_gnn._convert")?.getattr("as_graph")?.call(args, options)?;
        Ok(Self { core: made.cast::<Self>()?.get().core.clone() })
    }

    /// From an integer array [E, 2].
    #[staticmethod]
    #[pyo3(name = "_from_edges", signature = (edges, n_nodes, weights, directed, self_loops))]
    fn from_edges(
        py: Python<'_>,
        edges: &Bound<'_, PyUntypedArray>,
        n_nodes: usize,
        weights: Option<&Bound<'_, PyUntypedArray>>,
        directed: bool,
        self_loops: &str,
    ) -> PyResult<Self> {
        let self_loops = loops(py, self_loops)?;
        let edges = arrays::array("edges", edges)?;
        let weights = weights.map(|w| arrays::array("edge_weight", w)).transpose()?;
        let core = work(py, 0, || {
            let pairs = plain::pairs(&edges, Numbering::from_zero(n_nodes))?;
            let weights = weights.map(|w| plain::edge_weights(&w, pairs.len())).transpose()?;
            let weights = weights.and_then(arrays::weights);
            let options = EdgeOptions { weights: weights.as_deref(), directed, self_loops };
            listed(n_nodes, &pairs, options)
        })?;
        Ok(Self { core })
    }

    /// From a SciPy matrix in compressed rows or columns: entry (u, v) is an edge from u to v. `directed=None`: unless
    /// the matrix is symmetric.
    #[staticmethod]
    #[pyo3(name = "_from_matrix", signature = (parts, by_columns, directed, self_loops))]
    fn from_matrix(
        py: Python<'_>,
        parts: SparseParts<'_>,
        by_columns: bool,
        directed: Option<bool>,
        self_loops: &str,
    ) -> PyResult<Self> {
        let self_loops = loops(py, self_loops)?;
        let parts = arrays::parts(&parts)?;
        let keys = Keys { matrix: "graph", words: ["node", "node"], index: "node", ..Keys::SCIPY };
        let core = work(py, 0, || {
            let read = || {
                let given = Csr::check(&parts, &keys)?;
                square(&given)?;
                let rows = if by_columns { given } else { given.transposed() };
                received(rows, directed, self_loops)
            };
            read().map_err(|e| e.within("graph"))
        })?;
        Ok(Self { core })
    }

    /// Takes `__reduce__` back.
    #[staticmethod]
    #[pyo3(name = "_restored")]
    fn restored(
        py: Python<'_>,
        offsets: PyReadonlyArray1<'_, u64>,
        neighbours: PyReadonlyArray1<'_, u32>,
        weights: Option<PyReadonlyArray1<'_, f32>>,
        directed: bool,
        counts: [usize; 3],
    ) -> PyResult<Self> {
        let (offsets, neighbours) = (offsets.to_vec()?, neighbours.to_vec()?);
        let weights = weights.map(|w| w.to_vec()).transpose()?;
        let [edges, self_loops, duplicates] = counts;
        let counts = EdgeCounts { edges, self_loops, duplicates };
        let core = work(py, 0, || {
            let core = Core::from_parts(GraphParts {
                offsets: Buffer::kept(Arc::new(offsets)),
                neighbours: Buffer::kept(Arc::new(neighbours)),
                weights: weights.map(|w| Buffer::kept(Arc::new(w) as _)),
                directed,
                counts,
            })?;
            core.check()?;
            Ok(core)
        })?;
        Ok(Self { core })
    }

    /// Number of nodes.
    #[getter]
    fn n_nodes(&self) -> usize {
        self.core.nodes()
    }

    /// Number of edges; an undirected one counts once.
    #[getter]
    fn n_edges(&self) -> usize {
        self.core.counts().edges
    }

    /// Whether edges send one way only.
    #[getter]
    fn directed(&self) -> bool {
        self.core.directed()
    }

    /// Whether edges have weights.
    #[getter]
    fn weighted(&self) -> bool {
        self.core.all_weights().is_some()
    }

    /// What was found in the input: edges, self loops, duplicates.
    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = self.core.counts();
        let out = PyDict::new(py);
        out.set_item("edges", counts.edges)?;
        out.set_item("self_loops", counts.self_loops)?;
        out.set_item("duplicates", counts.duplicates)?;
        Ok(out)
    }

    /// Number of nodes that send to each node.
    fn degrees<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        let degrees: Vec<u64> = self.core.offsets().windows(2).map(|row| row[1] - row[0]).collect();
        arrays::list(py, &degrees)
    }

    /// Row offsets, senders and weights (or None): row v lists the nodes that send to v.
    fn rows<'py>(&self, py: Python<'py>) -> Rows<'py> {
        let weights = self.core.all_weights().map(|w| arrays::list(py, w));
        (arrays::list(py, self.core.offsets()), arrays::list(py, self.core.columns()), weights)
    }

    fn __repr__(&self) -> String {
        let mut kind = String::new();
        kind += if self.core.directed() { ", directed" } else { "" };
        kind += if self.core.all_weights().is_some() { ", weighted" } else { "" };
        format!("Graph({} nodes, {} edges{kind})", self.core.nodes(), self.core.counts().edges)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().core == self.core)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Pickled<'py>)> {
        let (offsets, neighbours, weights) = self.rows(py);
        let counts = self.core.counts();
        let counts = [counts.edges, counts.self_loops, counts.duplicates];
        let maker = py.get_type::<Self>().getattr("_restored")?;
        Ok((maker, (offsets, neighbours, weights, self.core.directed(), counts)))
    }
}

fn loops(py: Python<'_>, name: &str) -> PyResult<SelfLoops> {
    arrays::choice("self_loops", name, SELF_LOOPS).map_err(|e| errors::raised(py, &e))
}

/// The graph of a list of edges. Weights of undirected edges that are all listed from both sides count once.
fn listed(n: usize, edges: &[[u32; 2]], options: EdgeOptions<'_>) -> Result<Core> {
    if options.directed || options.weights.is_none() {
        return Core::from_edges(n, edges, options);
    }
    let one_way = Core::from_edges(n, edges, EdgeOptions { directed: true, ..options })?;
    let rows = (one_way.offsets().to_vec(), one_way.columns().to_vec());
    let weights = one_way.all_weights().map(<[f32]>::to_vec);
    Core::from_rows(rows.0, rows.1, weights, false).or_else(|_| Core::from_edges(n, edges, options))
}

fn square(matrix: &Csr) -> Result<()> {
    if matrix.rows() == matrix.cols {
        return Ok(());
    }
    let found = format!("{} and {}; expected as many columns as rows", matrix.rows(), matrix.cols);
    Err(Error::data("shape", found, "give the adjacency matrix of one graph"))
}

/// The graph of a matrix whose row `v` lists the nodes that send to `v`.
fn received(rows: Csr, directed: Option<bool>, self_loops: SelfLoops) -> Result<Core> {
    let rows = tidied(&rows, self_loops)?;
    let weights = arrays::weights(rows.values);
    let both =
        |directed| Core::from_rows(rows.offsets.clone(), rows.indices.clone(), weights.clone(), directed);
    match directed {
        Some(true) => both(true),
        Some(false) => both(false).or_else(|_| both(true).and_then(|g| both_ways(&g))),
        None => both(false).or_else(|_| both(true)),
    }
}

/// Every edge in both directions. An edge that has two weights gets their sum.
fn both_ways(graph: &Core) -> Result<Core> {
    let senders = |v: usize| graph.neighbours(v).iter().map(move |&u| [u, v as u32]);
    let edges: Vec<[u32; 2]> = (0..graph.nodes()).flat_map(senders).collect();
    let options = EdgeOptions { weights: graph.all_weights(), directed: false, self_loops: SelfLoops::Keep };
    Core::from_edges(graph.nodes(), &edges, options)
}

/// Rows without stored zeros, and without self loops unless they are to be kept.
fn tidied(rows: &Csr, self_loops: SelfLoops) -> Result<Csr> {
    let mut out = Csr { cols: rows.cols, offsets: vec![0], indices: Vec::new(), values: Vec::new() };
    for v in 0..rows.rows() {
        for at in rows.span(v) {
            let (u, weight) = (rows.indices[at], rows.values[at]);
            let own = u as usize == v;
            if own && weight != 0.0 && self_loops == SelfLoops::Error {
                let found = format!("node {v} is connected to itself");
                return Err(Error::data(
                    format!("row {v}"),
                    found,
                    "remove it, or say self_loops=\"drop\" or \"keep\"",
                ));
            }
            if weight != 0.0 && !(own && self_loops == SelfLoops::Drop) {
                out.indices.push(u);
                out.values.push(weight);
            }
        }
        out.offsets.push(out.indices.len() as u64);
    }
    Ok(out)
}

//! Normalised adjacency: the only thing layers take from a graph. Layers never normalise, operators never learn.
//!
//! | norm | operator `A` | row of an isolated node |
//! |---|---|---|
//! | `sym` | `D^-1/2 (Adj + I) D^-1/2` | itself |
//! | `mean` | `D^-1 Adj` | zero |
//! | `mean-self` | `D^-1 (Adj + I)` | itself |
//! | `sum` | `Adj` | zero |
//!
//! `D` holds the row sums of the bracket (weights count). Rows whose sum is zero give zeros, never NaN.

use crate::kernels::spmm::{SparseView, spmm};
use crate::kernels::stored::Stored;
use crate::kernels::{Rows, RowsMut};
use crate::{Features, Graph, Mat, Real, SparseMat};
use rayon::prelude::*;
use std::sync::Arc;

/// How adjacency becomes an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Norm {
    /// `D^-1/2 (Adj + I) D^-1/2`, GCN.
    Sym,
    /// `D^-1 Adj`, GraphSAGE.
    Mean,
    /// `D^-1 (Adj + I)`, GraphSAINT.
    MeanSelf,
    /// `Adj`, GIN.
    Sum,
}

/// A normalised adjacency with its transpose.
///
/// ```
/// use iglu::{EdgeOptions, Graph, Mat, Norm, Operator};
/// let g = Graph::from_edges(3, &[[0, 1]], EdgeOptions::default())?;
/// let a = Operator::new(g.into(), Norm::Mean);
/// let x = Mat::from_rows(&[[1.0], [2.0], [3.0]]);
/// assert_eq!(a.apply(&x).data(), &[2.0, 1.0, 0.0]);
/// # Ok::<(), iglu::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Operator {
    graph: Arc<Graph>,
    transposed: Arc<Graph>,
    row_scale: Option<Vec<Real>>,
    col_scale: Option<Vec<Real>>,
    diagonal: Real,
}

impl Operator {
    /// Normalises a graph.
    pub fn new(graph: Arc<Graph>, norm: Norm) -> Self {
        let transposed = if graph.directed() { Arc::new(graph.transpose()) } else { graph.clone() };
        let diagonal = if matches!(norm, Norm::Sym | Norm::MeanSelf) { 1.0 } else { 0.0 };
        let scale = |power: fn(Real) -> Real| -> Vec<Real> {
            let one = |v: usize| graph.degree(v) + diagonal;
            (0..graph.nodes()).map(|v| if one(v) > 0.0 { power(one(v)) } else { 0.0 }).collect()
        };
        let (row_scale, col_scale) = match norm {
            Norm::Sym => {
                let s = scale(|d| 1.0 / d.sqrt());
                (Some(s.clone()), Some(s))
            }
            Norm::Mean | Norm::MeanSelf => (Some(scale(|d| 1.0 / d)), None),
            Norm::Sum => (None, None),
        };
        Self { graph, transposed, row_scale, col_scale, diagonal }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.graph.nodes()
    }

    /// The graph below.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Nodes reached from row `v` of `A`, without itself.
    pub fn reached(&self, v: usize) -> &[u32] {
        self.graph.neighbours(v)
    }

    /// `A x`.
    pub fn apply(&self, x: &Mat) -> Mat {
        let mut out = Mat::zeros(self.nodes(), x.cols());
        self.apply_to(x, &mut out);
        out
    }

    /// `out = A x`.
    pub fn apply_to<S: Stored, T: Stored>(&self, x: &Mat<S>, out: &mut Mat<T>) {
        spmm(self.view(), rows_of(x), out.data_mut(), false);
    }

    /// `out += A^T d`.
    pub fn add_transposed<S: Stored, T: Stored>(&self, d: &Mat<S>, out: &mut Mat<T>) {
        spmm(self.transposed_view(), rows_of(d), out.data_mut(), true);
    }

    /// `A x` for constant features, kept sparse while that is smaller.
    pub fn apply_features(&self, x: &Features) -> Features {
        match x {
            Features::Dense(m) => Features::Dense(self.apply(m)),
            Features::Sparse(m) => self.apply_sparse(m),
        }
    }

    fn apply_sparse(&self, x: &SparseMat) -> Features {
        const BLOCK: usize = 256;
        const DENSE_SHARE: f64 = 0.2;
        let n = self.nodes();
        let blocks: Vec<_> = (0..n.div_ceil(BLOCK))
            .into_par_iter()
            .map(|b| self.sparse_rows(x, b * BLOCK, (b * BLOCK + BLOCK).min(n)))
            .collect();
        let total = blocks.iter().map(|(_, columns, _)| columns.len()).sum();
        let (mut offsets, mut indices, mut values) =
            (vec![0_u64], Vec::with_capacity(total), Vec::with_capacity(total));
        for (counts, columns, numbers) in blocks {
            for c in counts {
                offsets.push(offsets[offsets.len() - 1] + c);
            }
            indices.extend(columns);
            values.extend(numbers);
        }
        let out = SparseMat::from_parts(x.cols(), offsets, indices, values);
        if out.nnz() as f64 > DENSE_SHARE * n as f64 * x.cols() as f64 {
            return Features::Dense(out.to_dense());
        }
        Features::Sparse(out)
    }

    fn sparse_rows(&self, x: &SparseMat, first: usize, last: usize) -> (Vec<u64>, Vec<u32>, Vec<Real>) {
        let view = self.view();
        let mut sum = vec![0.0 as Real; x.cols()];
        let mut seen = vec![false; x.cols()];
        let (mut counts, mut indices, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut touched: Vec<u32> = Vec::new();
        for r in first..last {
            let scale = view.row_scale.map_or(1.0, |s| s[r]);
            let mut add = |row: usize, w: Real| {
                let (columns, numbers) = x.row(row);
                for (&c, &v) in columns.iter().zip(numbers) {
                    if !std::mem::replace(&mut seen[c as usize], true) {
                        touched.push(c);
                    }
                    sum[c as usize] += w * v;
                }
            };
            let col = |c: usize| view.col_scale.map_or(1.0, |s| s[c]);
            let weights = self.graph.weights(r);
            for (at, &u) in self.graph.neighbours(r).iter().enumerate() {
                add(u as usize, scale * col(u as usize) * weights.map_or(1.0, |w| w[at]));
            }
            if self.diagonal != 0.0 {
                add(r, scale * self.diagonal * col(r));
            }
            touched.sort_unstable();
            counts.push(touched.len() as u64);
            for c in touched.drain(..) {
                indices.push(c);
                values.push(std::mem::take(&mut sum[c as usize]));
                seen[c as usize] = false;
            }
        }
        (counts, indices, values)
    }

    /// `A` for products.
    pub(crate) fn view(&self) -> SparseView<'_> {
        SparseView {
            offsets: self.graph.offsets(),
            columns: self.graph.columns(),
            weights: self.graph.all_weights(),
            row_scale: self.row_scale.as_deref(),
            col_scale: self.col_scale.as_deref(),
            diagonal: self.diagonal,
        }
    }

    /// `A^T` for products.
    pub(crate) fn transposed_view(&self) -> SparseView<'_> {
        SparseView {
            offsets: self.transposed.offsets(),
            columns: self.transposed.columns(),
            weights: self.transposed.all_weights(),
            row_scale: self.col_scale.as_deref(),
            col_scale: self.row_scale.as_deref(),
            diagonal: self.diagonal,
        }
    }
}

/// `x` as rows without gaps.
pub(crate) fn rows_of<T: Stored>(x: &Mat<T>) -> Rows<'_, T> {
    Rows::dense(x.data(), x.rows(), x.cols())
}

/// `x` as writable rows without gaps.
pub(crate) fn rows_of_mut(x: &mut Mat) -> RowsMut<'_> {
    let (rows, cols) = (x.rows(), x.cols());
    RowsMut::dense(x.data_mut(), rows, cols)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EdgeOptions;
    use crate::kernels::reference;
    use crate::kernels::stored::{self, Bf16};

    fn graph(n: usize, directed: bool, weighted: bool) -> Arc<Graph> {
        let edges: Vec<[u32; 2]> =
            (0..3 * n).map(|i| [(i * 7 % (n - 1)) as u32, (i * i % (n - 1)) as u32]).collect();
        let weights: Vec<Real> = (0..edges.len()).map(|i| (i % 5) as Real / 2.0).collect();
        let weights = weighted.then_some(weights.as_slice());
        Graph::from_edges(n, &edges, EdgeOptions { weights, directed, ..Default::default() }).unwrap().into()
    }

    /// The operator as a dense matrix, straight from the table above.
    fn dense(g: &Graph, norm: Norm) -> Mat {
        let n = g.nodes();
        let mut a = Mat::zeros(n, n);
        for v in 0..n {
            for (at, &u) in g.neighbours(v).iter().enumerate() {
                a.row_mut(v)[u as usize] = g.weights(v).map_or(1.0, |w| w[at]);
            }
            a.row_mut(v)[v] += if matches!(norm, Norm::Sym | Norm::MeanSelf) { 1.0 } else { 0.0 };
        }
        let d: Vec<Real> = (0..n).map(|v| a.row(v).iter().sum()).collect();
        let inverse = |d: Real, p: Real| if d > 0.0 { d.powf(p) } else { 0.0 };
        for v in 0..n {
            for u in 0..n {
                a.row_mut(v)[u] *= match norm {
                    Norm::Sym => inverse(d[v], -0.5) * inverse(d[u], -0.5),
                    Norm::Mean | Norm::MeanSelf => inverse(d[v], -1.0),
                    Norm::Sum => 1.0,
                };
            }
        }
        a
    }

    #[test]
    fn products_match_the_dense_operator_for_all_norms_widths_and_kinds_of_graph() {
        let n = 41;
        for norm in [Norm::Sym, Norm::Mean, Norm::MeanSelf, Norm::Sum] {
            for (directed, weighted) in [(false, false), (true, false), (false, true), (true, true)] {
                let g = graph(n, directed, weighted);
                let a = Operator::new(g.clone(), norm);
                let full = dense(&g, norm);
                for cols in [1, 7, 8, 9, 16, 32, 40, 47, 64, 100, 191, 1030] {
                    let x = Mat::from_vec(
                        n,
                        cols,
                        (0..n * cols).map(|i| ((i * 13) % 17) as Real - 8.0).collect(),
                    );
                    reference::assert_close(&a.apply(&x), &reference::matmul(&full, &x), 1e-5);
                    let mut out = x.clone();
                    a.add_transposed(&x, &mut out);
                    let mut expect = reference::matmul(&reference::transpose(&full), &x);
                    expect.data_mut().iter_mut().zip(x.data()).for_each(|(e, v)| *e += v);
                    reference::assert_close(&out, &expect, 1e-5);
                }
            }
        }
    }

    #[test]
    fn products_of_rounded_tables_are_rounded_products() {
        let n = 41;
        let a = Operator::new(graph(n, true, true), Norm::Sym);
        for cols in [8, 32, 200] {
            let x = Mat::from_vec(n, cols, (0..n * cols).map(|i| ((i * 13) % 17) as Real - 7.7).collect());
            let mut half: Mat<Bf16> = Mat::blank(n, cols);
            stored::copy(x.data(), half.data_mut());
            let mut rounded = Mat::zeros(n, cols);
            stored::copy(half.data(), rounded.data_mut());
            let (mut found, mut expect) = (Mat::<Bf16>::blank(n, cols), Mat::<Bf16>::blank(n, cols));
            a.apply_to(&half, &mut found);
            stored::copy(a.apply(&rounded).data(), expect.data_mut());
            assert_eq!(found, expect, "{cols} columns");
            a.add_transposed(&rounded, &mut found);
            let mut sum = Mat::zeros(n, cols);
            stored::copy(expect.data(), sum.data_mut());
            a.add_transposed(&rounded, &mut sum);
            stored::copy(sum.data(), expect.data_mut());
            assert_eq!(found, expect, "{cols} columns, added");
        }
    }

    #[test]
    fn isolated_nodes_give_zeros_or_themselves_never_nan() {
        let g: Arc<Graph> = Graph::from_edges(3, &[[0, 1]], EdgeOptions::default()).unwrap().into();
        let x = Mat::from_rows(&[[1.0], [1.0], [5.0]]);
        for (norm, expect) in [(Norm::Sym, 5.0), (Norm::Mean, 0.0), (Norm::MeanSelf, 5.0), (Norm::Sum, 0.0)] {
            assert_eq!(Operator::new(g.clone(), norm).apply(&x).row(2), &[expect], "{norm:?}");
        }
    }

    #[test]
    fn sparse_features_aggregate_like_dense_ones() {
        let g = graph(41, true, true);
        let offsets = (0..=41).map(|i| i * 2).collect();
        let indices = (0..41_u32).flat_map(|i| [i % 5, 5 + i % 60]).collect();
        let values = (0..82).map(|i| i as Real / 7.0).collect();
        let x = SparseMat::from_parts(70, offsets, indices, values);
        for norm in [Norm::Sym, Norm::Sum] {
            let a = Operator::new(g.clone(), norm);
            let dense = match a.apply_features(&Features::Sparse(x.clone())) {
                Features::Sparse(m) => m.to_dense(),
                Features::Dense(m) => m,
            };
            reference::assert_close(&dense, &a.apply(&x.to_dense()), 1e-6);
        }
    }
}

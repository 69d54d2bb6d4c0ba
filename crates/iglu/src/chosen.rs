//! Some rows of a layer's operators: of the last graph layer the loss sees the training nodes only. Their aggregates are
//! kept, those of other nodes are made when somebody asks for them, and gradients go back along the edges of these rows
//! alone.

use crate::kernels::spmm::{SparseView, spmm, spmm_listed};
use crate::kernels::stored::Stored;
use crate::operator::{Operator, rows_of};
use crate::program::{Input, NOWHERE, Partly};
use crate::{Mat, Real, Table};
use rayon::prelude::*;
use std::sync::Arc;

/// Some rows of the operators of a layer.
#[derive(Debug)]
pub struct Chosen {
    nodes: Vec<u32>,
    places: Vec<u32>,
    parts: Vec<Part>,
}

/// Some rows of one operator.
#[derive(Debug)]
struct Part {
    operator: Arc<Operator>,
    /// Its transpose with these columns, numbered as the rows are listed; loops are entries like others, the last ones.
    back: Transpose,
}

#[derive(Debug, Default)]
struct Transpose {
    offsets: Vec<u64>,
    columns: Vec<u32>,
    weights: Option<Vec<Real>>,
    scale: Option<Vec<Real>>,
}

impl Chosen {
    /// These rows, in order of their nodes.
    pub fn new(operators: Vec<Arc<Operator>>, nodes: Vec<u32>) -> Self {
        debug_assert!(nodes.is_sorted_by(|a, b| a < b), "rows in order of their nodes");
        let count = operators.first().map_or(0, |a| a.nodes());
        let mut places = vec![NOWHERE; count];
        nodes.iter().zip(0..).for_each(|(&v, place)| places[v as usize] = place);
        let part = |operator: Arc<Operator>| {
            let back = Transpose::of(operator.transposed_view(), &nodes, &places);
            Part { operator, back }
        };
        Self { parts: operators.into_iter().map(part).collect(), nodes, places }
    }

    /// Bytes saved by keeping `chosen` of `nodes` aggregates of `row` bytes, less what their edges (a share of all
    /// `entries`) and places take.
    pub fn saves(chosen: usize, nodes: usize, row: usize, entries: usize) -> i64 {
        let edges = entries as f64 * chosen as f64 / nodes.max(1) as f64;
        ((nodes - chosen) * row) as i64 - (4.0 * edges) as i64 - 12 * nodes as i64
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Entries of an operator in these rows, without loops.
    pub fn entries(&self, part: usize) -> usize {
        let Part { operator, back } = &self.parts[part];
        back.columns.len() - if operator.view().diagonal == 0.0 { 0 } else { self.len() }
    }

    /// These rows of every `A X`.
    pub fn aggregate(&self, x: &Table, z: &mut [Table]) {
        for (part, z) in self.parts.iter().zip(z) {
            let a = part.operator.view();
            match (x, z) {
                (Table::Full(x), Table::Full(z)) => spmm_listed(a, rows_of(x), &self.nodes, z.data_mut()),
                (Table::Half(x), Table::Half(z)) => spmm_listed(a, rows_of(x), &self.nodes, z.data_mut()),
                _ => unreachable!("made with the storage of x"),
            }
        }
    }

    /// `A X` of all nodes for a program, of which these rows are kept.
    pub fn input<'a>(&'a self, part: usize, rows: &'a Table, x: &'a Table) -> Input<'a> {
        Input::Partly(Partly { rows, places: &self.places, a: self.parts[part].operator.view(), x })
    }

    /// `out += A^T d` for gradients `d` of these rows.
    pub fn add_transposed<S: Stored, T: Stored>(&self, part: usize, d: &Mat<S>, out: &mut Mat<T>) {
        let Part { operator, back } = &self.parts[part];
        let view = SparseView {
            offsets: &back.offsets,
            columns: &back.columns,
            weights: back.weights.as_deref(),
            row_scale: operator.transposed_view().row_scale,
            col_scale: back.scale.as_deref(),
            diagonal: 0.0,
        };
        spmm(view, rows_of(d), out.data_mut(), true);
    }
}

impl Transpose {
    /// Columns `nodes` of a sparse matrix, numbered by their place.
    fn of(a: SparseView<'_>, nodes: &[u32], places: &[u32]) -> Self {
        const ROWS: usize = 4096;
        let weighted = a.weights.is_some() || (a.diagonal != 0.0 && a.diagonal != 1.0);
        let one = |first: usize| {
            let mut out = Self { weights: weighted.then(Vec::new), ..Self::default() };
            for r in first..(first + ROWS).min(places.len()) {
                let entries = a.offsets[r] as usize..a.offsets[r + 1] as usize;
                let own = (a.diagonal != 0.0).then_some((r as u32, a.diagonal));
                let others = entries.map(|e| (a.columns[e], a.weights.map_or(1.0, |w| w[e])));
                for (column, weight) in others.chain(own) {
                    let place = places[column as usize];
                    if place != NOWHERE {
                        out.columns.push(place);
                        out.weights.iter_mut().for_each(|w| w.push(weight));
                    }
                }
                out.offsets.push(out.columns.len() as u64);
            }
            out
        };
        let starts: Vec<usize> = (0..places.len()).step_by(ROWS).collect();
        let pieces: Vec<Self> = starts.into_par_iter().map(one).collect();
        let entries = pieces.iter().map(|p| p.columns.len()).sum();
        let mut offsets = Vec::with_capacity(places.len() + 1);
        offsets.push(0);
        let mut columns = Vec::with_capacity(entries);
        let mut weights = weighted.then(|| Vec::with_capacity(entries));
        for piece in pieces {
            let before = columns.len() as u64;
            offsets.extend(piece.offsets.iter().map(|o| before + o));
            columns.extend(piece.columns);
            if let (Some(all), Some(more)) = (&mut weights, piece.weights) {
                all.extend(more);
            }
        }
        let scale = a.col_scale.map(|s| nodes.iter().map(|&v| s[v as usize]).collect());
        Self { offsets, columns, weights, scale }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EdgeOptions, Graph, Norm, Storage};

    /// What some rows hear and send back is what all rows do where the others are left out, to the last bit.
    #[test]
    fn some_rows_are_those_of_the_whole_product() {
        let n = 5000;
        let edges: Vec<[u32; 2]> =
            (0..3 * n).map(|i| [(i * 7 % (n - 3)) as u32, (i * i % (n - 3)) as u32]).collect();
        let weights: Vec<Real> = (0..edges.len()).map(|i| (i % 5) as Real / 2.0).collect();
        let filled = |rows: usize, cols: usize| {
            let value = |i: usize| ((i * 37) % 23) as Real / 8.0 - 1.3;
            Mat::from_vec(rows, cols, (0..rows * cols).map(value).collect())
        };
        let nodes: Vec<u32> = (0..n as u32).filter(|v| v % 7 == 2 || v % 5 == 0).collect();
        for norm in [Norm::Sym, Norm::Mean, Norm::MeanSelf, Norm::Sum] {
            for (directed, weighted) in [(false, false), (true, false), (true, true)] {
                let options =
                    EdgeOptions { weights: weighted.then_some(&weights[..]), directed, ..Default::default() };
                let graph = Graph::from_edges(n, &edges, options).unwrap();
                let a = Arc::new(Operator::new(graph.into(), norm));
                let chosen = Chosen::new(vec![a.clone()], nodes.clone());
                for cols in [5, 16, 200] {
                    let x = filled(n, cols);
                    let (all, mut some) = (a.apply(&x), [Table::zeros(Storage::F32, nodes.len(), cols)]);
                    chosen.aggregate(&Table::Full(x), &mut some);
                    let d = filled(nodes.len(), cols);
                    let mut spread = Mat::zeros(n, cols);
                    for (i, &v) in nodes.iter().enumerate() {
                        assert_eq!(all.row(v as usize), &some[0].row(i)[..], "{norm:?}, node {v}");
                        spread.row_mut(v as usize).copy_from_slice(d.row(i));
                    }
                    let (mut found, mut expect) = (filled(n, cols), filled(n, cols));
                    chosen.add_transposed(0, &d, &mut found);
                    a.add_transposed(&spread, &mut expect);
                    assert_eq!(found, expect, "{norm:?}, directed {directed}, weighted {weighted}");
                }
            }
        }
    }
}

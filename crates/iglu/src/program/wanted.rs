//! Gradients that leave a pass: to which rows of which table they go. Blocks write disjoint pieces.

use super::exec::Workspace;
use super::run::RowSet;
use super::{Program, Value};
use crate::Table;
use crate::kernels::Rows;
use crate::kernels::stored::{self, Stored};
use crate::table::Span;

/// A gradient that is asked for.
pub struct Wanted<'t> {
    /// Where it is taken.
    pub value: Value,
    /// Where it goes.
    pub out: &'t mut Table,
    /// To which rows.
    pub put: Put,
}

/// To which rows of a table the rows of a pass go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// The i-th of the pass becomes row i.
    InOrder,
    /// That of node v is added to row v; the rows of the pass are in order of their nodes.
    AtNodes,
    /// Row v is what node v gives to an input ([`super::Input::Lent`]), and its gradient takes its place; rows of nodes that
    /// are not in the pass become 0. The rows of the pass are in order of their nodes. A table with as many rows as the
    /// pass has those of its nodes alone.
    InExchange,
}

impl<'t> Wanted<'t> {
    /// The rows of `out` are those of the pass.
    pub fn in_order(value: Value, out: &'t mut Table) -> Self {
        Self { value, out, put: Put::InOrder }
    }

    /// The rows of `out` are those of the nodes.
    pub fn at_nodes(value: Value, out: &'t mut Table) -> Self {
        Self { value, out, put: Put::AtNodes }
    }

    /// The rows of `out`, those of the nodes, are the input and become its gradient.
    pub fn in_exchange(value: Value, out: &'t mut Table) -> Self {
        Self { value, out, put: Put::InExchange }
    }

    /// All its rows, to be cut up.
    pub(super) fn piece(&mut self, rows: RowSet<'_>) -> Piece<'_> {
        if let (Put::AtNodes | Put::InExchange, RowSet::List(ids)) = (self.put, rows) {
            debug_assert!(ids.is_sorted_by(|a, b| a < b), "rows in order of their nodes");
        }
        let (width, count) = (self.out.cols(), self.out.rows());
        let by_node = match self.put {
            Put::InOrder => false,
            Put::AtNodes => true,
            Put::InExchange => count != rows.len(),
        };
        Piece { value: self.value, put: self.put, by_node, width, first: 0, count, span: self.out.span() }
    }
}

/// Rows of a wanted gradient that some blocks may write.
pub(super) struct Piece<'t> {
    value: Value,
    put: Put,
    /// Whether rows are those of the nodes, not those of the pass.
    by_node: bool,
    width: usize,
    /// The row that the span begins with.
    first: usize,
    /// Rows of the whole table.
    count: usize,
    span: Span<'t>,
}

impl<'t> Piece<'t> {
    /// Gives away what the rows of a pass before `position` write.
    pub(super) fn upto(&mut self, rows: RowSet<'_>, position: usize) -> Piece<'t> {
        let next = match rows {
            RowSet::List(ids) if self.by_node => ids.get(position).map_or(self.count, |&id| id as usize),
            _ => position,
        };
        let span = self.span.split_off((next - self.first) * self.width);
        Piece { first: std::mem::replace(&mut self.first, next), span, ..*self }
    }

    /// Gives a block the rows that are its input.
    pub(super) fn lend(&self, program: &Program, block: &mut Workspace<'_>) {
        if self.put != Put::InExchange {
            return;
        }
        let slot = program.place(self.value).slot;
        match (&self.span, self.by_node) {
            (Span::Full(rows), true) => block.bind_piece(slot, self.first, rows, self.width),
            (Span::Half(rows), true) => block.bind_piece(slot, self.first, rows, self.width),
            (Span::Full(rows), false) => block.bind_rows(slot, rows, self.width),
            (Span::Half(rows), false) => block.bind_rows(slot, rows, self.width),
        }
    }

    /// Writes the gradient that a block has computed; zeros where nothing depends on the value.
    pub(super) fn write(self, program: &Program, block: &Workspace<'_>) {
        let (d, place) = (block.known_grad(program, self.value), (self.first, self.width));
        // Row for row there is nothing to exchange.
        let put = if self.by_node { self.put } else { Put::InOrder };
        match self.span {
            Span::Full(out) => write(put, d, &block.ids, place, out),
            Span::Half(out) => write(put, d, &block.ids, place, out),
        }
    }
}

/// Gradients `d` of the nodes `ids` to rows of `out`, which begins with row `first`.
fn write<T: Stored>(
    put: Put,
    d: Option<Rows<'_>>,
    ids: &[u32],
    (first, width): (usize, usize),
    out: &mut [T],
) {
    match (put, d) {
        (Put::InOrder | Put::InExchange, None) => out.fill(T::default()),
        (Put::InOrder, Some(d)) => {
            let rows = out.chunks_exact_mut(width).enumerate();
            rows.for_each(|(i, out)| stored::copy(d.row(i), out));
        }
        (Put::InExchange, Some(d)) => {
            let mut next = 0;
            for (row, out) in (first..).zip(out.chunks_exact_mut(width)) {
                if ids.get(next).is_some_and(|&id| id as usize == row) {
                    stored::copy(d.row(next), out);
                    next += 1;
                } else {
                    out.fill(T::default());
                }
            }
        }
        (Put::AtNodes, None) => {}
        (Put::AtNodes, Some(d)) => {
            for (i, &id) in ids.iter().enumerate() {
                let at = (id as usize - first) * width;
                stored::add(d.row(i), &mut out[at..at + width]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Builder, Call, Dropping, Input, Job, Lanes, Norms, Objective, Source};
    use super::*;
    use crate::kernels::RowsMut;
    use crate::table::with_table;
    use crate::{Activation, Mat, Real, Storage};

    struct Squares;

    impl Objective for Squares {
        fn block(&self, _: usize, _: &[u32], y: Rows<'_>, d: &mut RowsMut<'_>) -> f64 {
            (0..y.rows).for_each(|i| d.row(i).copy_from_slice(y.row(i)));
            0.0
        }
    }

    /// Rows at their nodes are the rows in order, added where they belong; other rows stay as they are.
    #[test]
    fn gradients_find_their_nodes() {
        const NODES: usize = 5000;
        let filled = |rows: usize, cols: usize, salt: usize| {
            let value = |i: usize| ((i * 37 + salt) % 23) as Real / 8.0 - 1.0;
            Mat::from_vec(rows, cols, (0..rows * cols).map(value).collect())
        };
        let mut b = Builder::default();
        let x = b.input(Source::Embedding(1), 5);
        let h = b.linear("w", &[x], 6);
        let h = b.activate(h, Activation::Tanh);
        let program = b.finish(h);
        let (inputs, weights) = (filled(NODES, 5, 1), filled(5, 6, 2));
        let job = Job::new(&program, vec![Input::Dense(&inputs)], None);
        let call = Call { params: &[&weights], norms: Norms::Batch, dropping: Dropping::Off };
        let some: Vec<u32> = (7..NODES as u32 - 9).filter(|v| v % 3 == 0).collect();
        for rows in [RowSet::List(&some), RowSet::All(NODES)] {
            for storage in [Storage::F32, Storage::Bf16] {
                for mut lanes in [None, Some(Lanes::default())] {
                    let mut ordered = Table::zeros(storage, rows.len(), 5);
                    let mut placed = Table::zeros(storage, NODES, 5);
                    let start = filled(NODES, 5, 3);
                    with_table!(&mut placed, m => stored::copy(start.data(), m.data_mut()));
                    let mut wanted = [Wanted::in_order(x, &mut ordered)];
                    job.gradients(&call, rows, &Squares, lanes.as_mut(), &mut wanted);
                    let mut wanted = [Wanted::at_nodes(x, &mut placed)];
                    job.gradients(&call, rows, &Squares, lanes.as_mut(), &mut wanted);
                    // What is lent comes back as the gradient, or as zeros.
                    let mut lent = Table::zeros(storage, NODES, 5);
                    with_table!(&mut lent, m => stored::copy(inputs.data(), m.data_mut()));
                    let lending = Job::new(&program, vec![Input::Lent(5)], None);
                    let mut wanted = [Wanted::in_exchange(x, &mut lent)];
                    lending.gradients(&call, rows, &Squares, lanes.as_mut(), &mut wanted);
                    // So do the rows of the pass alone.
                    let nodes: Vec<u32> = match rows {
                        RowSet::All(n) => (0..n as u32).collect(),
                        RowSet::List(ids) => ids.to_vec(),
                    };
                    let mut few = Table::zeros(storage, nodes.len(), 5);
                    let own = inputs.select(&nodes);
                    with_table!(&mut few, m => stored::copy(own.data(), m.data_mut()));
                    let mut wanted = [Wanted::in_exchange(x, &mut few)];
                    lending.gradients(&call, rows, &Squares, lanes.as_mut(), &mut wanted);
                    assert_eq!(few, ordered);
                    let mut next = 0;
                    for v in 0..NODES {
                        let is_there =
                            matches!(rows, RowSet::All(_)) || some.binary_search(&(v as u32)).is_ok();
                        let expect = if is_there { ordered.row(next) } else { [0.0; 5].as_slice().into() };
                        assert_eq!(lent.row(v), expect, "node {v}");
                        for (j, found) in placed.row(v).iter().enumerate() {
                            let d = if is_there { ordered.row(next)[j] } else { 0.0 };
                            let exact = start.row(v)[j] + d;
                            let slack = if storage == Storage::F32 {
                                0.0
                            } else {
                                (exact - d).abs().max(d.abs()) / 64.0
                            };
                            assert!((found - exact).abs() <= slack, "{found} {exact} at {v}");
                        }
                        next += usize::from(is_there);
                    }
                }
            }
        }
    }
}

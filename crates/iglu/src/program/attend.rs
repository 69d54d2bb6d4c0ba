//! Attention inside a program: an input whose rows are made, for the rows of a pass, from the neighbours' rows.
//!
//! A second row program turns a neighbour's row into `[h | s | t]` (what it says, how a listener scores, how it is
//! scored); the kernel mixes the `h` of the neighbours by softmax of their scores. Forward for a set of rows reads
//! the rows they hear; backward gives the gradient of the second program's parameters and of the rows heard.

use super::lanes::Lanes;
use super::run::{Call, Job, Norms, Objective, RowSet};
use super::wanted::Wanted;
use super::{Dropping, Program, Value};
use crate::kernels::attention::{self, Echo, Heads, Listener, Peak};
use crate::kernels::rowwise::Mask;
use crate::kernels::{Rows, RowsMut};
use crate::pattern::{Block, Pattern};
use crate::{Mat, Real, Table};
use rayon::prelude::*;

/// How attention weighs neighbours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttentionOptions {
    /// Number of heads.
    pub heads: usize,
    /// Slope of scores below zero.
    pub slope: f64,
    /// Share of the weights dropped, in passes that drop.
    pub dropout: f64,
}

/// The neighbours' side of a program.
#[derive(Debug, Clone)]
pub(super) struct Attention {
    /// `[h | s | t]` of one row.
    pub(super) rows: Program,
    /// `h` inside it.
    pub(super) said: Value,
    pub(super) options: AttentionOptions,
    /// The input it feeds.
    pub(super) input: usize,
}

/// Attended rows of one pass, with what their gradient needs.
pub(super) struct Attended<'p> {
    block: Block<'p>,
    table: Mat,
    peaks: Vec<Peak>,
    /// Row i belongs to the i-th row of the pass.
    pub(super) z: Mat,
}

/// Gradient at the rows that a pass has heard.
#[derive(Debug, Default)]
pub struct Heard {
    /// Their nodes, sorted; `None`: all.
    pub ids: Option<Vec<u32>>,
    /// One row each.
    pub d: Mat,
}

/// A gradient that is already known, by position of the row in the pass.
struct Given<'a>(&'a Mat);

impl Objective for Given<'_> {
    fn block(&self, first: usize, ids: &[u32], _: Rows<'_>, d: &mut RowsMut<'_>) -> f64 {
        (0..ids.len()).for_each(|i| d.row(i).copy_from_slice(self.0.row(first + i)));
        0.0
    }
}

fn row_set<'b>(block: &'b Block<'_>) -> RowSet<'b> {
    block.heard.as_deref().map_or(RowSet::All(block.columns()), RowSet::List)
}

/// The same pass as the neighbours' program sees it: its own parameters and masks.
fn neighbours_call<'c>(call: &Call<'c>, params: usize) -> Call<'c> {
    let dropping = match call.dropping {
        Dropping::Off => Dropping::Off,
        Dropping::AsBuilt(key) => Dropping::AsBuilt(key.with("neighbours")),
        Dropping::Rate(key, rate) => Dropping::Rate(key.with("neighbours"), rate),
    };
    // It has no batch norms, and so no statistics.
    Call { params: &call.params[..params], norms: Norms::Batch, dropping }
}

impl Attention {
    fn mask(&self, dropping: Dropping) -> Option<Mask> {
        let (key, rate) = match dropping {
            Dropping::Off => return None,
            Dropping::AsBuilt(key) => (key, self.options.dropout),
            Dropping::Rate(key, rate) => (key, rate.min(self.options.dropout)),
        };
        (rate > 0.0).then(|| Mask { key: key.with("attention").u64(0), rate })
    }

    fn heads<'t>(&self, table: &'t Mat, dropping: Dropping) -> Heads<'t> {
        Heads {
            table: Rows::dense(table.data(), table.rows(), table.cols()),
            heads: self.options.heads,
            slope: self.options.slope as Real,
            mask: self.mask(dropping),
        }
    }

    pub(super) fn forward<'p>(
        &self,
        job: &Job<'_>,
        pattern: &'p Pattern,
        call: &Call<'_>,
        rows: RowSet<'_>,
    ) -> Attended<'p> {
        let block = match rows {
            RowSet::All(_) => pattern.whole(),
            RowSet::List(ids) => pattern.block(ids),
        };
        let inner = neighbours_call(call, self.rows.params().len());
        let mut table = Mat::zeros(block.columns(), self.rows.width());
        job.forward(&inner, row_set(&block), &mut table);
        let count = self.options.heads;
        let width = table.cols() - 2 * count;
        let mut z = Mat::zeros(rows.len(), width);
        let mut peaks = vec![[0.0; 2]; rows.len() * count];
        let heads = self.heads(&table, call.dropping);
        let nodes = block.heard.as_deref();
        let each = z.data_mut().par_chunks_mut(width.max(1)).zip(peaks.par_chunks_mut(count)).enumerate();
        each.for_each(|(r, (z, peaks))| attention::attend_row(heads, listener(&block, r), nodes, z, peaks));
        Attended { block, table, peaks, z }
    }

    /// Parameter gradients of the neighbours' program into `lanes`, the gradient at the rows heard into `heard`.
    pub(super) fn backward(
        &self,
        job: &Job<'_>,
        attended: &Attended<'_>,
        call: &Call<'_>,
        dz: &Mat,
        lanes: Option<&mut Lanes>,
        heard: Option<&mut Heard>,
    ) {
        let d = self.table_gradient(attended, call.dropping, dz);
        let inner = neighbours_call(call, self.rows.params().len());
        let rows = row_set(&attended.block);
        let Some(heard) = heard else {
            job.gradients(&inner, rows, &Given(&d), lanes, &mut []);
            return;
        };
        heard.ids.clone_from(&attended.block.heard);
        let mut below = Table::Full(Mat::zeros(d.rows(), self.rows.input_width(0)));
        job.gradients(
            &inner,
            rows,
            &Given(&d),
            lanes,
            &mut [Wanted::in_order(self.rows.input_value(0), &mut below)],
        );
        heard.d = below.into_full();
    }

    /// Gradient at `[h | s | t]` of every row heard.
    fn table_gradient(&self, attended: &Attended<'_>, dropping: Dropping, dz: &Mat) -> Mat {
        let Attended { block, table, peaks, z } = attended;
        let count = self.options.heads;
        let width = z.cols();
        let heads = self.heads(table, dropping);
        let nodes = block.heard.as_deref();
        let mut level = vec![0.0; z.rows() * count];
        let mut own = Mat::zeros(z.rows(), count);
        level
            .par_chunks_mut(count)
            .enumerate()
            .for_each(|(r, level)| attention::levels(dz.row(r), z.row(r), level));
        let level = &level;
        let at = |r: usize| {
            let span = r * count..(r + 1) * count;
            Echo { dz: dz.row(r), peaks: &peaks[span.clone()], level: &level[span] }
        };
        own.data_mut().par_chunks_mut(count).enumerate().for_each(|(r, ds)| {
            attention::own_back(heads, listener(block, r), nodes, at(r), ds);
        });
        let mut d = Mat::zeros(block.columns(), table.cols());
        d.data_mut().par_chunks_mut(table.cols()).enumerate().for_each(|(j, d)| {
            let node = block.heard(j);
            for &r in block.back.row(j) {
                let r = r as usize;
                attention::heard_back(heads, block.own(r), block.id(r), j, node, at(r), d);
            }
        });
        for r in 0..z.rows() {
            let to = &mut d.row_mut(block.own(r))[width..width + count];
            to.iter_mut().zip(own.row(r)).for_each(|(to, ds)| *to += ds);
        }
        d
    }
}

fn listener<'b>(block: &'b Block<'_>, r: usize) -> Listener<'b> {
    Listener { id: block.id(r), own: block.own(r), heard: block.rows.row(r) }
}

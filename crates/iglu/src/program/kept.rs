//! Gradients through batch norms of a few blocks: every block stays where it is while the others catch up.
//!
//! A batch norm needs all rows of the batch, forward for its statistics and backward for the sums of its gradient. Long
//! passes run each block anew for every norm ([`super::run`]); a mini-batch keeps its blocks and computes everything
//! once, with the same bytes as a result.

use super::exec::{Context, GradSums, Workspace};
use super::norms::{NormState, added};
use super::run::{Call, Job, Pass, RowSet};
use crate::Mat;
use crate::kernels::gemm::Into;
use rayon::prelude::*;
use std::ops::Range;

/// Most blocks that are kept.
pub(super) const MOST: usize = 16;

/// One lane: its blocks, and where its parameter gradients are added up.
pub(super) struct Kept<'k, 'a> {
    pub(super) blocks: Vec<Workspace<'a>>,
    pub(super) grads: Option<&'k mut [Mat]>,
}

/// What `one` makes of every block, lanes side by side, in the order of blocks.
fn each<'a, T: Send>(
    lanes: &mut [Kept<'_, 'a>],
    one: impl Fn(&mut Workspace<'a>, Option<GradSums<'_>>) -> T + Sync,
) -> Vec<T> {
    let lane = |lane: &mut Kept<'_, 'a>| {
        let mut out = Vec::with_capacity(lane.blocks.len());
        for (b, ws) in lane.blocks.iter_mut().enumerate() {
            let into = if b == 0 { Into::Set } else { Into::Add };
            out.push(one(ws, lane.grads.as_deref_mut().map(|sums| GradSums { sums, into })));
        }
        out
    };
    lanes.par_iter_mut().map(lane).collect::<Vec<_>>().into_iter().flatten().collect()
}

impl<'a> Job<'a> {
    /// Forward and backward of all blocks; returns the objective's value. The blocks hold their gradients then.
    pub(super) fn run_kept(&self, pass: &Pass<'_>, live: &[bool], lanes: &mut [Kept<'_, 'a>]) -> f64 {
        let Pass { call, rows, objective, .. } = *pass;
        let mut states = vec![NormState::default(); self.program.batch_norms()];
        self.forward_kept(call, rows.len(), &mut states, lanes);
        let firsts: Vec<usize> =
            lanes.iter().scan(0, |at, lane| Some(std::mem::replace(at, *at + lane.blocks.len()))).collect();
        let values = lanes.par_iter_mut().zip(firsts).map(|(lane, first)| {
            let block = |(b, ws): (usize, &mut Workspace<'a>)| {
                self.objective(ws, self.span(rows, first + b).start, objective)
            };
            lane.blocks.iter_mut().enumerate().map(block).collect::<Vec<f64>>()
        });
        let value = values.collect::<Vec<_>>().iter().map(|lane| lane.iter().sum::<f64>()).sum();
        self.backward_kept(call, rows.len(), live, &mut states, lanes);
        value
    }

    fn forward_kept(&self, call: &Call<'_>, n: usize, states: &mut [NormState], lanes: &mut [Kept<'_, 'a>]) {
        let mut from = 0;
        for group in self.program.norm_groups() {
            let (context, width) = (self.context(call, states), group.width());
            let parts = each(lanes, |ws, _| {
                context.forward(ws, from..group.places.start);
                let mut sums = vec![[0.0; 2]; width];
                group.add_moments(self.program, ws, &mut sums);
                sums
            });
            group.set_statistics(&added(parts, width), n, states);
            from = group.places.start;
        }
        let context = self.context(call, states);
        each(lanes, |ws, _| context.forward(ws, from..self.program.raw.ops.len()));
    }

    fn backward_kept(
        &self,
        call: &Call<'_>,
        n: usize,
        live: &[bool],
        states: &mut [NormState],
        lanes: &mut [Kept<'_, 'a>],
    ) {
        let mut to = self.program.raw.ops.len();
        for group in self.program.norm_groups().into_iter().rev() {
            let (context, width) = (self.context(call, states), group.width());
            let parts = each(lanes, |ws, grads| {
                context.backward(ws, group.places.end..to, live, grads);
                let mut sums = vec![[0.0; 2]; width];
                group.add_back(self.program, ws, states, &mut sums);
                sums
            });
            group.set_back(&added(parts, width), n, states);
            to = group.places.end;
        }
        let context: Context<'_> = self.context(call, states);
        each(lanes, |ws, grads| context.backward(ws, 0..to, live, grads));
    }

    /// The blocks of a lane with their rows in place.
    pub(super) fn open(
        &self,
        call: &Call<'_>,
        rows: RowSet<'_>,
        blocks: Range<usize>,
        attended: Option<&Mat>,
    ) -> Vec<Workspace<'a>> {
        blocks.map(|b| self.open_block(rows, self.span(rows, b), call.dropping, attended)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Builder, Dropping, Input, Lanes, Norms, Objective, Program, Source, Wanted};
    use super::*;
    use crate::kernels::{Rows, RowsMut, rowwise};
    use crate::{Activation, Real, Table, rng};

    fn random(rows: usize, cols: usize, salt: u64) -> Mat {
        let key = rng::Key::new(salt);
        Mat::from_vec(rows, cols, (0..rows * cols).map(|i| (key.unit(i as u64) - 0.5) as Real).collect())
    }

    /// Two branches with a norm each, a third norm behind their sum.
    fn program() -> Program {
        let mut b = Builder::default();
        let z = b.input(Source::Aggregate { layer: 2, part: 0 }, 5);
        let x = b.input(Source::Embedding(1), 7);
        let branch = |b: &mut Builder, v, name: &str, kind| {
            let h = b.linear(name, &[v], 6);
            let h = b.batch_norm(&format!("norm_{name}"), h, 1e-5);
            b.activate(h, kind)
        };
        let z = b.dropout(z, 0.3);
        let (u, v) = (branch(&mut b, z, "a", Activation::Relu), branch(&mut b, x, "b", Activation::Gelu));
        let h = b.add(u, v);
        let h = branch(&mut b, h, "c", Activation::Elu);
        b.finish(h)
    }

    struct Alpha(Mat);

    impl Objective for Alpha {
        fn block(&self, _: usize, ids: &[u32], y: Rows<'_>, d: &mut RowsMut<'_>) -> f64 {
            let row = |(i, &id): (usize, &u32)| {
                d.row(i).copy_from_slice(self.0.row(id as usize));
                rowwise::lazy_row(1.0, 0.0, y.row(i), y.row(i), d.row(i))
            };
            ids.iter().enumerate().map(row).sum()
        }
    }

    #[test]
    fn blocks_that_stay_give_the_bytes_of_blocks_run_anew() {
        const ROWS: usize = 700;
        let program = program();
        let (z, x) = (random(ROWS, 5, 1), random(ROWS, 7, 2));
        let job = Job::new(&program, vec![Input::Dense(&z), Input::Dense(&x)], None);
        let params: Vec<Mat> =
            program.params().iter().enumerate().map(|(i, p)| random(p.rows, p.cols, 3 + i as u64)).collect();
        let refs: Vec<&Mat> = params.iter().collect();
        let dropping = Dropping::AsBuilt(rng::Key::new(4));
        let call = Call { params: &refs, norms: Norms::Batch, dropping };
        let alpha = Alpha(random(ROWS, 6, 9));
        let ids: Vec<u32> = (0..ROWS as u32).rev().collect();
        let run = |call: &Call<'_>, kept: bool| {
            let (mut lanes, [mut dz, mut dx]) =
                (Lanes::default(), [5, 7].map(|cols| Table::Full(Mat::zeros(ROWS, cols))));
            let mut wanted = [
                Wanted::in_order(program.input_value(0), &mut dz),
                Wanted::in_order(program.input_value(1), &mut dx),
            ];
            let pass = Pass { call, rows: RowSet::List(&ids), objective: &alpha, attended: None };
            let sweep = if kept { Job::sweep_kept } else { Job::sweep_anew };
            let value = sweep(&job, &pass, Some(&mut lanes), &mut wanted);
            (value, lanes.gradient().to_vec(), dz, dx)
        };
        let kept = run(&call, true);
        assert!(kept.1.iter().all(|g| g.data().iter().any(|v| *v != 0.0)), "every parameter has a gradient");
        assert!(kept == run(&call, false));
        let states = job.states(&call, RowSet::List(&ids));
        assert!(kept == run(&Call { norms: Norms::Known(&states), ..call }, false), "known statistics");
    }
}

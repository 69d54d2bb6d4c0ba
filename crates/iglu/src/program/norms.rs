//! Batch norms: what they need of all rows, `(sum, sum of squares)` of every column forward and `(sum dy, sum dy xhat)`
//! backward, before the operations behind them (forward) or before them (backward) can go on.
//!
//! Norms that do not wait for each other stand side by side among the operations, and are served together: a layer of two
//! branches with a norm each goes over its rows as often as one with a single norm.

use super::exec::Workspace;
use super::{Op, Program, Value};
use crate::Real;
use crate::kernels::rowwise::{self, ColumnStats};
use std::ops::Range;

/// Statistics of one batch norm, and what its gradient needs.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NormState {
    /// Mean of each column.
    pub mean: Vec<Real>,
    /// `1 / sqrt(var + eps)` of each column.
    pub rstd: Vec<Real>,
    /// `(mean dy, mean dy xhat)` of each column; zeros: the statistics are constants.
    pub back: Vec<[Real; 2]>,
}

impl NormState {
    pub(super) fn stats(&self) -> ColumnStats<'_> {
        ColumnStats { mean: &self.mean, rstd: &self.rstd }
    }

    /// From `(sum, sum of squares)` per column over `n` rows.
    fn of(sums: &[[f64; 2]], n: f64, eps: f64) -> Self {
        let rstd = |s: &[f64; 2]| (1.0 / ((s[1] / n - (s[0] / n).powi(2)).max(0.0) + eps).sqrt()) as Real;
        Self {
            mean: sums.iter().map(|s| (s[0] / n) as Real).collect(),
            rstd: sums.iter().map(rstd).collect(),
            back: vec![[0.0; 2]; sums.len()],
        }
    }
}

/// Puts operations in an order in which batch norms that do not wait for each other stand side by side, behind everything
/// that waits for fewer norms.
pub(super) fn side_by_side(ops: &mut [Op], values: usize) {
    let mut waits = vec![0; values];
    for op in ops.iter() {
        let norm = usize::from(matches!(op, Op::BatchNorm { .. }));
        waits[op.dst().0] = norm + op.sources().iter().map(|v| waits[v.0]).max().unwrap_or(0);
    }
    ops.sort_by_key(|op| (waits[op.dst().0], !matches!(op, Op::BatchNorm { .. })));
}

/// A batch norm of a group.
struct Member {
    src: Value,
    dst: Value,
    eps: f64,
    state: usize,
    /// Its columns among those of the group.
    columns: Range<usize>,
}

/// Batch norms that do not wait for each other.
pub(super) struct Group {
    /// Their places among the operations.
    pub(super) places: Range<usize>,
    members: Vec<Member>,
}

impl Group {
    /// Columns of all of them.
    pub(super) fn width(&self) -> usize {
        self.members.last().map_or(0, |m| m.columns.end)
    }

    /// Adds what a block has for the statistics.
    pub(super) fn add_moments(&self, program: &Program, ws: &Workspace<'_>, sums: &mut [[f64; 2]]) {
        for norm in &self.members {
            rowwise::add_column_moments(ws.value(program, norm.src), &mut sums[norm.columns.clone()]);
        }
    }

    /// The statistics over `n` rows.
    pub(super) fn set_statistics(&self, sums: &[[f64; 2]], n: usize, states: &mut [NormState]) {
        for norm in &self.members {
            states[norm.state] = NormState::of(&sums[norm.columns.clone()], n.max(1) as f64, norm.eps);
        }
    }

    /// Adds what a block has for the gradients through the statistics: nothing where nothing depends on a norm.
    pub(super) fn add_back(
        &self,
        program: &Program,
        ws: &Workspace<'_>,
        states: &[NormState],
        sums: &mut [[f64; 2]],
    ) {
        for norm in &self.members {
            if let Some(d) = ws.known_grad(program, norm.dst) {
                let (x, stats) = (ws.value(program, norm.src), states[norm.state].stats());
                rowwise::add_batch_norm_sums(x, stats, d, &mut sums[norm.columns.clone()]);
            }
        }
    }

    /// What gradients need, over `n` rows.
    pub(super) fn set_back(&self, sums: &[[f64; 2]], n: usize, states: &mut [NormState]) {
        let mean = |s: &[f64; 2]| s.map(|s| (s / n.max(1) as f64) as Real);
        for norm in &self.members {
            states[norm.state].back = sums[norm.columns.clone()].iter().map(mean).collect();
        }
    }
}

/// Adds what each block gives, in the order of blocks.
pub(super) fn added(parts: impl IntoIterator<Item = Vec<[f64; 2]>>, width: usize) -> Vec<[f64; 2]> {
    let mut total = vec![[0.0; 2]; width];
    for part in parts {
        total.iter_mut().zip(part).for_each(|(t, p)| *t = [t[0] + p[0], t[1] + p[1]]);
    }
    total
}

impl Program {
    /// Batch norm statistics of a network that has seen nothing: mean 0, deviation 1.
    pub fn fresh_norms(&self) -> Vec<NormState> {
        let mut fresh = vec![NormState::default(); self.batch_norms()];
        for norm in self.norm_groups().iter().flat_map(|group| &group.members) {
            let width = norm.columns.len();
            let (mean, rstd, back) = (vec![0.0; width], vec![1.0; width], vec![[0.0; 2]; width]);
            fresh[norm.state] = NormState { mean, rstd, back };
        }
        fresh
    }

    /// The batch norms, group by group in the order of operations.
    pub(super) fn norm_groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for (at, op) in self.raw.ops.iter().enumerate() {
            let Op::BatchNorm { src, dst, eps, state, .. } = *op else { continue };
            let together = |g: &&mut Group| g.places.end == at && g.members.iter().all(|m| m.dst != src);
            let first = groups.last_mut().filter(together).map_or(0, |g| g.width());
            let norm = Member { src, dst, eps, state, columns: first..first + self.raw.widths[src.0] };
            match groups.last_mut().filter(together) {
                Some(group) => {
                    group.places.end += 1;
                    group.members.push(norm);
                }
                None => groups.push(Group { places: at..at + 1, members: vec![norm] }),
            }
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Activation;
    use crate::program::{Builder, Source};

    /// Two branches, one with a norm more, and a norm behind their sum: one that waits for nobody in each branch, one for
    /// one, one for two.
    #[test]
    fn norms_that_do_not_wait_for_each_other_stand_side_by_side() {
        let mut b = Builder::default();
        let z = b.input(Source::Aggregate { layer: 1, part: 0 }, 3);
        let x = b.input(Source::Embedding(0), 4);
        let short = b.linear("short", &[z], 6);
        let short = b.batch_norm("norm_short", short, 1e-5);
        let long = b.linear("long", &[x], 5);
        let long = b.batch_norm("norm_first", long, 1e-5);
        let long = b.linear("longer", &[long], 6);
        let long = b.batch_norm("norm_second", long, 1e-5);
        let sum = b.add(short, long);
        let sum = b.activate(sum, Activation::Relu);
        let out = b.batch_norm("norm_sum", sum, 1e-5);
        let program = b.finish(out);
        let groups = program.norm_groups();
        let states: Vec<Vec<usize>> =
            groups.iter().map(|g| g.members.iter().map(|m| m.state).collect()).collect();
        assert_eq!(states, [vec![0, 1], vec![2], vec![3]]);
        assert_eq!(groups.iter().map(Group::width).collect::<Vec<_>>(), [11, 6, 6]);
        assert_eq!(program.fresh_norms().iter().map(|n| n.mean.len()).collect::<Vec<_>>(), [6, 5, 6, 6]);
        let mut seen = vec![false; program.raw.widths.len()];
        program.raw.inputs.iter().for_each(|(_, v)| seen[v.0] = true);
        for op in &program.raw.ops {
            assert!(op.sources().iter().all(|v| seen[v.0]), "{op:?} comes before its sources");
            seen[op.dst().0] = true;
        }
    }
}

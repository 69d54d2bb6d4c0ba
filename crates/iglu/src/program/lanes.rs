//! Where parameter gradients are summed: private copies, each for a fixed range of blocks, added up in order.

use super::{ParamSpec, Program};
use crate::{Mat, Real};
use rayon::prelude::*;

/// Private gradient accumulators, kept from batch to batch.
#[derive(Default)]
pub struct Lanes {
    copies: Vec<Vec<Mat>>,
    /// Those of the neighbours' program, where there is attention.
    pub(super) inner: Option<Box<Lanes>>,
}

impl Lanes {
    /// Most private copies.
    pub(crate) const MOST: usize = 8;

    /// The first `lanes` copies, ready for a pass.
    pub(super) fn prepare(&mut self, program: &Program, lanes: usize) -> &mut [Vec<Mat>] {
        let fresh = || program.params().iter().map(|p| Mat::zeros(p.rows, p.cols)).collect();
        let shapes = |lane: &Vec<Mat>| {
            let same = |(m, p): (&Mat, &ParamSpec)| (m.rows(), m.cols()) == (p.rows, p.cols);
            lane.len() == program.params().len() && lane.iter().zip(program.params()).all(same)
        };
        if !self.copies.iter().all(shapes) {
            self.copies.clear();
        }
        self.copies.resize_with(self.copies.len().max(lanes), fresh);
        let used = &mut self.copies[..lanes];
        // Matrices are set by the lane's first block; only vectors are added to from the start.
        used.iter_mut().flatten().filter(|m| m.rows() == 1).for_each(|m| m.fill(0.0));
        used
    }

    /// Adds all lanes to the first, in order.
    pub(super) fn reduce(&mut self, lanes: usize) {
        const CHUNK: usize = 16 << 10;
        let Some((sum, others)) = self.copies[..lanes].split_first_mut() else { return };
        for (p, sum) in sum.iter_mut().enumerate() {
            let add = |(c, chunk): (usize, &mut [Real])| {
                for other in others.iter() {
                    let from = &other[p].data()[c * CHUNK..c * CHUNK + chunk.len()];
                    chunk.iter_mut().zip(from).for_each(|(s, v)| *s += v);
                }
            };
            if sum.data().len() > 4 * CHUNK {
                sum.data_mut().par_chunks_mut(CHUNK).enumerate().for_each(add);
            } else {
                sum.data_mut().chunks_mut(CHUNK).enumerate().for_each(add);
            }
        }
    }

    /// The sum of the last call, kept.
    pub fn into_gradient(self) -> Vec<Mat> {
        self.copies.into_iter().next().unwrap_or_default()
    }

    /// The sum of the last call, taken out: the next one is made in memory of its own.
    pub fn take_gradient(&mut self) -> Vec<Mat> {
        if self.copies.is_empty() { Vec::new() } else { self.copies.swap_remove(0) }
    }

    /// The sum of the last call.
    pub fn gradient(&mut self) -> &mut [Mat] {
        self.copies.first_mut().map_or(&mut [], |g| g)
    }
}

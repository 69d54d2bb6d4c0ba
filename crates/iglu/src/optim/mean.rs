//! The mean of parameters over some steps: what noisy steps go round.

use super::{PARALLEL_FROM, PIECE};
use crate::Real;
use crate::kernels::{Rows, RowsMut, rowwise};
use rayon::prelude::*;

/// Adds parameters up.
///
/// ```
/// use iglu::optim::Mean;
/// let mut mean = Mean::default();
/// mean.add(&[&[1.0, 4.0]]);
/// mean.add(&[&[2.0, 8.0]]);
/// let mut params = [0.0; 2];
/// mean.write(&mut [&mut params]);
/// assert_eq!(params, [1.5, 6.0]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Mean {
    sums: Vec<Vec<Real>>,
    count: usize,
}

impl Mean {
    /// Takes the parameters after a step, each time as many.
    pub fn add(&mut self, params: &[&[Real]]) {
        if self.count == 0 {
            self.sums = params.iter().map(|p| p.to_vec()).collect();
        } else {
            assert_eq!(params.len(), self.sums.len(), "the parameters of the steps before");
            self.sums.iter_mut().zip(params).for_each(|(sum, p)| add(sum, p));
        }
        self.count += 1;
    }

    /// Puts the mean in the place of the parameters; without any step they stay.
    pub fn write(self, params: &mut [&mut [Real]]) {
        let share = 1.0 / self.count.max(1) as Real;
        for (p, sum) in params.iter_mut().zip(&self.sums) {
            p.iter_mut().zip(sum).for_each(|(p, sum)| *p = share * sum);
        }
    }
}

fn add(sum: &mut [Real], p: &[Real]) {
    assert_eq!(sum.len(), p.len(), "a parameter keeps its size");
    let one = |(sum, p): (&mut [Real], &[Real])| {
        let count = p.len();
        rowwise::add_rows(Rows::dense(p, 1, count), &mut RowsMut::dense(sum, 1, count));
    };
    if sum.len() <= PARALLEL_FROM {
        one((sum, p));
    } else {
        sum.par_chunks_mut(PIECE).zip(p.par_chunks(PIECE)).for_each(one);
    }
}

//! Bias telemetry: at a refresh the true `alpha^k` is computed anyway; comparing the parameter gradients that the
//! stale and the true one give is Theorem 2's bias, for two extra products on a sample of rows.

use super::engine::Engine;
use super::objective::Sampled;
use crate::kernels::gemm::{Into, Precision};
use crate::kernels::{Rows, rowwise};
use crate::observe::LayerPoint;
use crate::operator::{rows_of, rows_of_mut};
use crate::program::{Call, Dropping, Lanes, Norms, RowSet};
use crate::{Error, Mat, Real, Result, Table};
use rayon::prelude::*;

/// Rows on which bias is measured, at most.
const BIAS_ROWS: usize = 1024;
/// Rows on which dead units and rank are measured, at most.
const RANK_ROWS: usize = 512;

/// Stale rows of `alpha^k`, kept while it is refreshed.
pub(super) struct StaleSample {
    ids: Vec<u32>,
    alpha: Mat,
}

/// Evenly spaced entries, at most `most`.
fn spaced(rows: &[u32], most: usize) -> Vec<u32> {
    let count = rows.len().min(most);
    (0..count).map(|i| rows[i * rows.len() / count]).collect()
}

impl Engine<'_> {
    /// Rows of `alpha^k` that training has used, to be compared with their successors.
    pub(super) fn bias_sample(&mut self, k: usize) -> Option<StaleSample> {
        let alpha = self.stale[k].take().or_else(|| self.sampled_alpha(k))?;
        Some(StaleSample { alpha, ids: spaced(&self.reach[k], BIAS_ROWS) })
    }

    /// The sampled rows of `alpha^k`, if training has used it.
    pub(super) fn sampled_alpha(&self, k: usize) -> Option<Mat> {
        let used = self.caches.alpha_age[k] > 0 && self.caches.alpha[k].rows() > 0;
        let sample = || self.caches.alpha[k].select(&spaced(&self.reach[k], BIAS_ROWS));
        (self.config.train.telemetry && used).then(sample)
    }

    /// Refuses sampled rows of `alpha^k` that are not those of this engine.
    pub(super) fn check_sample(&self, k: usize, rows: Option<&Mat>) -> Result<()> {
        let expect = (self.reach[k].len().min(BIAS_ROWS), self.network.width(k));
        match rows.map(|m| (m.rows(), m.cols())) {
            Some(found) if found != expect => {
                let found = format!("stale rows of shape {found:?}, expected {expect:?}");
                Err(Error::data(format!("layer {k}"), found, "go on with the data of the run"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn measure_bias(&mut self, k: usize, stale: StaleSample) {
        let StaleSample { ids, alpha: mut change } = stale;
        let fresh = self.caches.alpha[k].select(&ids);
        rowwise::add_scaled_rows(-1.0, rows_of(&fresh), &mut rows_of_mut(&mut change));
        self.caches.ensure_z(k, &self.network, &self.side, &self.scratch);
        let job = self.caches.job(&self.programs[k], &self.side);
        let params = self.network.at(k).param_refs();
        let call = Call { params: &params, norms: Norms::Batch, dropping: Dropping::Off };
        let add_up = |alpha: &Mat, lanes: &mut Lanes| {
            job.gradient(&call, RowSet::List(&ids), &Sampled { alpha, ids: &ids }, lanes);
        };
        add_up(&change, &mut self.lanes);
        let change = self.lanes.take_gradient();
        add_up(&fresh, &mut self.lanes);
        let (bias, cosine) = compare(&change, self.lanes.gradient());
        let (dead, rank) = if self.caches.x[k].rows() > 0 { spread(&self.caches.x[k]) } else { (0, 0.0) };
        self.layer_points.push(LayerPoint { k, age: self.caches.alpha_age[k], bias, cosine, dead, rank });
    }
}

/// `|g~ - g| / |g|` and the cosine of `g~` and `g`, from `g~ - g`, which the change of alpha gives as alpha itself gives `g`;
/// `None` where a gradient vanishes.
fn compare(change: &[Mat], fresh: &[Mat]) -> (Option<f64>, Option<f64>) {
    let (difference, common, new) = (inner(change, change), inner(change, fresh), inner(fresh, fresh));
    let old = difference + 2.0 * common + new;
    let bias = (new > 0.0).then(|| (difference / new).sqrt());
    let cosine = (new > 0.0 && old > 0.0).then(|| ((common + new) / (old * new).sqrt()).clamp(-1.0, 1.0));
    (bias, cosine)
}

/// `<a, b>` over all parameters.
fn inner(a: &[Mat], b: &[Mat]) -> f64 {
    const ROWS: usize = 128;
    let pair = |(a, b): (&Mat, &Mat)| {
        let cols = a.cols();
        let piece = |(a, b): (&[Real], &[Real])| {
            let rows = |x| Rows::dense(x, a.len() / cols, cols);
            rowwise::inner(rows(a), rows(b))
        };
        let pieces = a.data().par_chunks(ROWS * cols).zip(b.data().par_chunks(ROWS * cols));
        pieces.map(piece).collect::<Vec<f64>>().iter().sum::<f64>()
    };
    a.iter().zip(b).map(pair).sum()
}

/// Constant columns and participation rank `(tr C)^2 / tr C^2` of a sample of rows.
fn spread(x: &Table) -> (usize, f64) {
    let all: Vec<u32> = (0..x.rows() as u32).collect();
    let mut sample = x.select(&spaced(&all, RANK_ROWS));
    let (n, d) = (sample.rows(), sample.cols());
    let mut dead = 0;
    for j in 0..d {
        let mean = (0..n).map(|i| f64::from(sample.row(i)[j])).sum::<f64>() / n as f64;
        let first = sample.row(0)[j];
        dead += usize::from((0..n).all(|i| sample.row(i)[j] == first));
        (0..n).for_each(|i| sample.row_mut(i)[j] -= mean as Real);
    }
    let mut gram = Mat::zeros(n, n);
    let rows = rows_of(&sample);
    Precision::F32.nt(rows, rows, rows_of_mut(&mut gram), Into::Set);
    let trace: f64 = (0..n).map(|i| f64::from(gram.row(i)[i])).sum();
    let square: f64 = gram.data().iter().map(|v| f64::from(*v).powi(2)).sum();
    (dead, if square > 0.0 { trace * trace / square } else { 0.0 })
}

//! A trained network with everything a prediction needs: configuration, feature scaling, parameters, statistics.
//!
//! Turns into named tensors and back; files are somebody else's business.

use crate::config::{Config, Scaling, Setting};
use crate::constant::Constant;
use crate::latent;
use crate::look::Look;
pub use crate::network::ModelShape;
use crate::network::Network;
use crate::side::{Graphs, Side};
use crate::tensors::{Tensor, Tensors};
use crate::{Dataset, Error, Features, Interrupt, Mat, Real, Result, SparseMat};
use rayon::prelude::*;
use std::sync::Arc;

/// How features are changed before the first layer; learned from the training nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Preprocess {
    scaling: Scaling,
    /// Mean and reciprocal deviation of each column (2 rows), for [`Scaling::Standard`].
    columns: Option<Mat>,
}

impl Preprocess {
    /// Learns the scaling from the rows named. Sparse features are scaled without being centred.
    pub fn learn(scaling: Scaling, features: &Features, rows: &[u32]) -> Self {
        let columns = (scaling == Scaling::Standard).then(|| column_statistics(features, rows));
        Self { scaling, columns }
    }

    /// The scaled features, in the place of these.
    pub fn apply(&self, mut features: Features) -> Features {
        match (&mut features, self.scaling) {
            (_, Scaling::Raw) => {}
            (Features::Dense(m), Scaling::Row) => (0..m.rows()).for_each(|i| divide_by_sum(m.row_mut(i))),
            (Features::Sparse(m), Scaling::Row) => scale_sparse_rows(m),
            (Features::Dense(m), Scaling::Standard) => {
                let columns = self.columns.as_ref().expect("learned with the scaling");
                let (cols, scales) = (m.cols().max(1), columns.row(0).iter().zip(columns.row(1)));
                m.data_mut().par_chunks_exact_mut(cols).for_each(|row| {
                    row.iter_mut().zip(scales.clone()).for_each(|(v, (mean, r))| *v = (*v - mean) * r);
                });
            }
            (Features::Sparse(m), Scaling::Standard) => {
                let columns = self.columns.as_ref().expect("learned with the scaling");
                let at: Vec<u32> = (0..m.rows()).flat_map(|i| m.row(i).0.to_vec()).collect();
                m.values_mut().iter_mut().zip(at).for_each(|(v, c)| *v *= columns.row(1)[c as usize]);
            }
        }
        features
    }
}

fn divide_by_sum(row: &mut [Real]) {
    let sum: Real = row.iter().map(|v| v.abs()).sum();
    if sum > 0.0 {
        row.iter_mut().for_each(|v| *v /= sum);
    }
}

fn scale_sparse_rows(m: &mut SparseMat) {
    let lengths: Vec<usize> = (0..m.rows()).map(|i| m.row(i).0.len()).collect();
    let mut rest = m.values_mut();
    for length in lengths {
        let (row, others) = rest.split_at_mut(length);
        divide_by_sum(row);
        rest = others;
    }
}

/// Mean and 1 / population deviation of each column; constant columns keep their scale.
fn column_statistics(features: &Features, rows: &[u32]) -> Mat {
    let d = features.cols();
    let mut sums = vec![[0.0_f64; 2]; d];
    for &r in rows {
        match features {
            Features::Dense(m) => {
                m.row(r as usize).iter().enumerate().for_each(|(j, v)| add(&mut sums[j], *v));
            }
            Features::Sparse(m) => {
                let (columns, values) = m.row(r as usize);
                columns.iter().zip(values).for_each(|(j, v)| add(&mut sums[*j as usize], *v));
            }
        }
    }
    let n = rows.len().max(1) as f64;
    let mut out = Mat::zeros(2, d);
    for (j, [sum, square]) in sums.into_iter().enumerate() {
        let mean = sum / n;
        let deviation = (square / n - mean * mean).max(0.0).sqrt();
        out.row_mut(0)[j] = mean as Real;
        out.row_mut(1)[j] =
            if deviation > 1e-7 * mean.abs().max(1e-30) { (1.0 / deviation) as Real } else { 1.0 };
    }
    out
}

fn add(sums: &mut [f64; 2], v: Real) {
    let v = f64::from(v);
    *sums = [sums[0] + v, sums[1] + v * v];
}

/// A trained network, ready to predict.
#[derive(Debug, Clone)]
pub struct Model {
    config: Config,
    shape: ModelShape,
    preprocess: Preprocess,
    network: Network,
}

const SCALING: &str = "features.scaling";

impl Model {
    /// Puts the parts together.
    pub fn new(config: Config, shape: ModelShape, preprocess: Preprocess, network: Network) -> Self {
        Self { config, shape, preprocess, network }
    }

    /// The configuration it was trained with, every `auto` decided.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What it takes and gives.
    pub fn shape(&self) -> ModelShape {
        self.shape
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Everything learned, by name: parameters `layer1.w`, batch norm statistics `layer1.norm_state0` (mean above
    /// reciprocal deviation), feature scaling.
    pub fn tensors(&self) -> Vec<(String, Tensor<'_>)> {
        let scaling = self.preprocess.columns.iter().map(|c| (SCALING.to_string(), c.into()));
        scaling.chain(self.network.tensors()).collect()
    }

    /// Rebuilds a model from its tensors; names and shapes must be those the configuration asks for.
    pub fn from_tensors(config: &Config, shape: ModelShape, tensors: Vec<(String, Mat)>) -> Result<Self> {
        let mut network = Network::new(&config.network, &shape, config.seed)?;
        let scaling = config.data.features.or(Scaling::Raw);
        let mut given = Tensors::new(tensors);
        let standard = scaling == Scaling::Standard;
        let columns = standard.then(|| given.take(SCALING, 2, shape.features)).transpose()?;
        network.fill("", &mut given)?;
        given.finish()?;
        Ok(Self::new(config.clone(), shape, Preprocess { scaling, columns }, network))
    }

    /// Logits of every node of a dataset, by exact layer-wise inference; labels and splits do not matter.
    pub fn predict(&self, data: &Dataset) -> Result<Mat> {
        self.predict_until(data, &Interrupt::new())
    }

    /// The same, with an error as soon as somebody asks to stop.
    pub fn predict_until(&self, data: &Dataset, interrupt: &Interrupt) -> Result<Mat> {
        self.network.infer_until(&self.side(data)?, interrupt)
    }

    /// `X^layer` of every node of a dataset, layers counted from 1; the last one gives the logits.
    pub fn embed(&self, data: &Dataset, layer: usize) -> Result<Mat> {
        let depth = self.network.depth();
        if !(1..=depth).contains(&layer) {
            let found = format!("{layer}, but the network has layers 1 to {depth}");
            return Err(Error::usage("layer", found, ""));
        }
        Ok(self.network.embed(&self.side(data)?, layer))
    }

    /// The data as the network sees it.
    fn side(&self, data: &Dataset) -> Result<Side> {
        data.validate()?;
        let completed = latent::complete(&self.config.network, Setting::Transductive, data)?;
        let data = completed.as_ref().unwrap_or(data);
        let (found, expect) = (ModelShape::of(data), self.shape);
        if found.features != expect.features {
            let found =
                format!("{} features per node, the model was trained on {}", found.features, expect.features);
            let fix = "give the features the model was trained on, in the same order";
            return Err(Error::data("x", found, fix));
        }
        if (found.relations, found.latent) != (expect.relations, expect.latent) && self.reads_relations() {
            let found = format!(
                "{} kinds of edges and {} of latent neighbours, the model was trained on {} and {}",
                found.relations, found.latent, expect.relations, expect.latent
            );
            let fix = "give the kinds of edges the model was trained on, in the same order";
            return Err(Error::data("edges", found, fix));
        }
        let scaled = self.preprocess.apply(data.features.clone());
        let scaled = Arc::new(Constant::new(scaled, self.config.constants()));
        Ok(Side::new(&Graphs::of(data), scaled, &self.network))
    }

    fn reads_relations(&self) -> bool {
        self.network.layers().iter().any(|l| matches!(l.look, Look::Relations { .. }))
    }
}

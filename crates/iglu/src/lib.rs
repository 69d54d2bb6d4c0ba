//! Core of iglu: graph convolutional networks trained with lazy updates.
#![cfg_attr(feature = "f64", allow(clippy::useless_conversion, clippy::unnecessary_cast))]

pub mod caches;
pub mod config;
mod dataset;
mod error;
mod graph;
pub mod kernels;
pub mod layers;
pub mod lazy;
pub mod loss;
mod mat;
pub mod metrics;
pub mod model;
pub mod network;
pub mod observe;
pub mod operator;
pub mod optim;
pub mod program;
pub mod rng;
pub mod run;
pub mod side;

pub use dataset::{Dataset, Labels, Split};
pub use error::{Error, Result};
pub use graph::{EdgeCounts, EdgeOptions, Graph, SelfLoops};
pub use kernels::rowwise::Activation;
pub use mat::{Features, Mat, Real, Scratch, SparseMat};
pub use operator::{Norm, Operator};

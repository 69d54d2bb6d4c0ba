//! The core of iglu: graph convolutional networks trained with lazy updates (IGLU, ICLR 2022).
//!
//! The tour, from left to right: a [`Dataset`] holds a [`Graph`], [`Features`], [`Labels`] and a [`Split`]; an
//! [`Operator`] is a normalised adjacency; a [`network::Network`] is a list of [`layers`], each an operator and a
//! row [`program`]; [`caches`] hold `X^k`, `Z^k` and `alpha^k`; the [`lazy::Engine`] interprets an update order
//! ([`lazy::plan`]) on them; [`run::fit`] does all of it, chooses the best model on validation and tells an
//! [`observe::Observer`]; a [`model::Model`] predicts.
//!
//! The core reads no files, prints nothing and has no global state. Results depend on the seed, never on the number
//! of threads.
//!
//! ```
//! use iglu::config::{Auto, Config};
//! use iglu::{Dataset, EdgeOptions, Features, Graph, Labels, Mat, Split, observe, run};
//!
//! // A ring of 60 nodes in three arcs; a node's feature is a noisy hint at its arc.
//! let n = 60_u32;
//! let edges: Vec<[u32; 2]> = (0..n).map(|i| [i, (i + 1) % n]).collect();
//! let arc = |i: u32| (i / 20) as usize;
//! let hint = |i: u32| if i % 4 == 0 { (arc(i) + 1) % 3 } else { arc(i) };
//! let mut x = Mat::zeros(60, 3);
//! (0..n).for_each(|i| x.row_mut(i as usize)[hint(i)] = 1.0);
//! let graph = Graph::from_edges(60, &edges, EdgeOptions::default())?;
//! let labels = Labels::Classes { ids: (0..n).map(|i| arc(i) as i32).collect(), classes: 3 };
//! let every_third = |first: u32| (first..n).step_by(3).collect();
//! let split = Split { train: every_third(0), val: every_third(1), test: every_third(2) };
//! let data = Dataset::new("ring", graph, Features::Dense(x), labels, split);
//! let mut config = Config::default();
//! config.network.hidden = Auto::Set(16);
//! let trained = run::fit(&config, &data, &mut observe::Silent)?;
//! assert!(trained.report.test > Some(0.8));
//! let logits = trained.model.predict(&data)?;
//! assert_eq!((logits.rows(), logits.cols()), (60, 3));
//! # Ok::<(), iglu::Error>(())
//! ```
#![cfg_attr(feature = "f64", allow(clippy::useless_conversion, clippy::unnecessary_cast))]

mod buffer;
pub mod caches;
pub mod checkpoint;
mod chosen;
pub mod communities;
pub mod config;
pub mod constant;
mod dataset;
mod error;
mod graph;
mod interrupt;
pub mod kernels;
pub mod latent;
pub mod layers;
pub mod lazy;
mod look;
pub mod loss;
mod mat;
pub mod metrics;
pub mod model;
pub mod network;
pub mod observe;
pub mod operator;
pub mod optim;
mod pattern;
mod permutation;
pub mod program;
pub mod rng;
pub mod run;
mod scan;
pub mod side;
mod table;
mod tensors;

pub use buffer::{Buffer, Keep, Keeper};
pub use dataset::{Dataset, Labels, Names, Relation, Split};
pub use error::{Error, Result};
pub use graph::{EdgeCounts, EdgeOptions, Graph, GraphParts, SelfLoops};
pub use interrupt::Interrupt;
pub use kernels::rowwise::Activation;
pub use mat::{Features, Mat, Real, Scratch, SparseMat};
pub use operator::{Norm, Operator};
pub use pattern::Pattern;
pub use permutation::Permutation;
pub use scan::first_where;
pub use table::{Storage, Table};
pub use tensors::Tensor;

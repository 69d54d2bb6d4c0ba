//! Lazy training: orders as lists of steps ([`plan`]), interpreted by one [`Engine`].
//!
//! Files: `plan` (orders, staleness), `engine` (state, the interpreter), `refresh` (X, Z and alpha), `passes`
//! (mini-batches over one layer or the tail, exact steps), `batches`, `control` (proximal weight by gain ratio),
//! `bias` (telemetry), `start` (the network without its graph), `state` (to stop and go on), `work` (what steps cost).

mod batches;
mod bias;
mod control;
mod engine;
mod objective;
mod passes;
pub mod plan;
mod refresh;
mod start;
mod state;
#[cfg(test)]
mod tests;
pub mod work;

pub use batches::BatchSource;
pub(crate) use batches::size as batch_size;
pub use engine::{Engine, StepTime};
pub use objective::{Centre, Lazy};
pub use passes::POLISH_RATE;
pub use start::{Judge, StartReport, Verdict, start_dropout, start_tail};
pub use state::{EngineNumbers, EngineState, TailState};

use crate::config::{Batch, Config, Order, Proximal, TrainConfig};

/// Passes per visit: 2 where a proximal term lets one refresh pay for several, else 1.
pub fn passes(config: &Config) -> usize {
    config.train.passes.or(if is_held(config) { 2 } else { 1 })
}

/// Batches of a pass of the tail from which on the mean of steps is worth having: that of a few lags behind.
const BATCHES_TO_AVERAGE: usize = 8;

/// Share of the steps of a visit of the tail over so many rows, the last ones, over which its parameters are averaged.
pub fn average(config: &Config, rows: usize) -> f64 {
    let batches = rows.div_ceil(batch_size(tail_batch(&config.train), rows));
    let many = batches >= BATCHES_TO_AVERAGE;
    config.train.average.or(if many && is_held(config) { 0.5 } else { 0.0 })
}

/// Rows of a mini-batch of the tail.
fn tail_batch(train: &TrainConfig) -> Batch {
    if train.tail_batch == Batch::Auto { train.batch } else { train.tail_batch }
}

/// Whether a proximal term holds lazy layers while the tail is trained on the loss: not as printed or released.
fn is_held(config: &Config) -> bool {
    config.train.proximal != Proximal::Off && config.train.order == Order::Inverted
}

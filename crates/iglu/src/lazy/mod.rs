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

use crate::config::{Config, Proximal};

/// Passes per visit: 2 where a proximal term lets one refresh pay for several, else 1.
pub fn passes(config: &Config) -> usize {
    let proximal = config.train.proximal != Proximal::Off;
    config.train.passes.or(if proximal && config.train.order == crate::config::Order::Inverted {
        2
    } else {
        1
    })
}

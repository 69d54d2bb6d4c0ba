//! A run at the end of an epoch, with all it needs to go on: the final model, scores and events are then those of a run
//! that was never interrupted, bit for bit, whatever the number of threads.
//!
//! Turns into named tensors and numbers and back; files are somebody else's business.

use crate::config::Config;
use crate::lazy::{EngineNumbers, EngineState};
use crate::network::{ModelShape, Network};
use crate::observe::{HistoryPoint, Seconds};
use crate::optim::OptimState;
use crate::tensors::{Tensor, Tensors};
use crate::{Error, Mat, Result};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A run at the end of an epoch.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// Everything but tensors.
    pub notes: Notes,
    pub(crate) engine: EngineState,
    pub(crate) best: Option<Arc<Network>>,
}

/// The numbers of a [`Checkpoint`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notes {
    /// The configuration as it was asked for.
    pub asked: Config,
    /// The configuration with everything decided.
    pub config: Config,
    /// What the network takes and gives.
    pub shape: ModelShape,
    /// Epochs run.
    pub ran: usize,
    /// Of these: after the start.
    pub timed: usize,
    /// Scores of the started network, before the first epoch.
    #[serde(default)]
    pub start: Option<HistoryPoint>,
    /// Scores of every evaluated epoch.
    pub history: Vec<HistoryPoint>,
    /// Scores of the best model, and evaluations since.
    pub best: Option<(HistoryPoint, usize)>,
    /// How often the learning rate was halved.
    pub halvings: u32,
    /// Where the time went.
    pub seconds: Seconds,
    /// State of the engine.
    pub engine: EngineNumbers,
}

/// Prefixes of tensor names.
const NOW: &str = "now.";
const BEST: &str = "best.";

/// Names of the moments of parameter `p` of layer `k`.
fn moments(k: usize, p: usize) -> [String; 2] {
    ["first", "second"].map(|moment| format!("optimiser.layer{k}.{p}.{moment}"))
}

fn stale(k: usize) -> String {
    format!("stale.layer{k}")
}

impl Checkpoint {
    /// Everything else, by name, borrowed.
    pub fn tensors(&self) -> Vec<(String, Tensor<'_>)> {
        let networks = [(NOW, Some(&self.engine.network)), (BEST, self.best.as_deref())];
        let mut out: Vec<(String, Tensor<'_>)> = Vec::new();
        for (prefix, network) in networks {
            let tensors = network.into_iter().flat_map(Network::tensors);
            out.extend(tensors.map(|(name, t)| (format!("{prefix}{name}"), t)));
        }
        for (i, state) in self.engine.moments.iter().enumerate() {
            for p in 0..state.first.len() {
                let [first, second] = moments(i + 1, p);
                out.push((first, Tensor::line(&state.first[p])));
                out.extend(state.second.get(p).map(|v| (second, Tensor::line(v))));
            }
        }
        for (i, rows) in self.engine.stale.iter().enumerate() {
            out.extend(rows.iter().map(|rows| (stale(i + 1), rows.into())));
        }
        out
    }

    /// Puts a checkpoint together again; names and shapes must be those its configuration asks for.
    pub fn from_tensors(notes: Notes, tensors: Vec<(String, Mat)>) -> Result<Self> {
        let mut given = Tensors::new(tensors);
        let blank = Network::new(&notes.config.network, &notes.shape, notes.config.seed)?;
        let mut read = |prefix: &str| {
            let mut network = blank.clone();
            network.fill(prefix, &mut given).map(|()| network)
        };
        let network = read(NOW)?;
        let best = notes.best.is_some().then(|| read(BEST)).transpose()?.map(Arc::new);
        let depth = network.depth();
        let numbers = notes.engine.clone();
        if [numbers.steps.len(), numbers.ages.len(), numbers.passes.len().wrapping_sub(2)] != [depth; 3] {
            let found = format!("clocks of {} layers, the network has {depth}", numbers.steps.len());
            return Err(Error::data("numbers", found, "the file is damaged"));
        }
        let mut states = Vec::new();
        let mut left = Vec::new();
        for k in 1..=depth {
            states.push(optimiser(&network, k, numbers.steps[k - 1], &mut given)?);
            left.push(given.take_any(&stale(k)));
        }
        given.finish()?;
        Ok(Self { notes, engine: EngineState { network, moments: states, stale: left, numbers }, best })
    }
}

/// The optimiser of layer `k`; a method without second moments has none of them.
fn optimiser(network: &Network, k: usize, clock: u64, given: &mut Tensors) -> Result<OptimState> {
    let mut state = OptimState { clock, ..OptimState::default() };
    for (p, value) in network.at(k).params.iter().enumerate() {
        let [first, second] = moments(k, p);
        let size = value.data().len();
        state.first.push(given.take(&first, 1, size)?.into_vec());
        state.second.extend(given.take_any(&second).map(Mat::into_vec));
    }
    Ok(state)
}

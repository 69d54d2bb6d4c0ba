//! What an engine has to remember to go on later as if it had never stopped. The caches are not part of it: at the end
//! of an epoch `X^k` follows from the parameters, and `alpha^k` is about to be recomputed; only the few stale rows of
//! it that the next bias is measured on are kept.

use super::engine::Engine;
use crate::network::Network;
use crate::observe::{RefreshPoint, or_nan};
use crate::optim::{OptimState, Optimiser};
use crate::{Mat, Result};
use serde::{Deserialize, Serialize};

/// An engine at the end of an epoch.
#[derive(Debug, Clone)]
pub struct EngineState {
    /// The network.
    pub network: Network,
    /// Optimisers of the layers, from 1.
    pub moments: Vec<OptimState>,
    /// Rows of the stale `alpha^k` that the next bias is measured on, from layer 1.
    pub stale: Vec<Option<Mat>>,
    /// All else.
    pub numbers: EngineNumbers,
}

/// The numbers of an [`EngineState`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EngineNumbers {
    /// Optimiser steps so far, by layer from 1.
    pub steps: Vec<u64>,
    /// Optimiser steps on the stale gradient, by layer from 1.
    pub ages: Vec<u64>,
    /// Passes so far, by layer.
    pub passes: Vec<u64>,
    /// Passes so far, over all layers.
    pub serial: usize,
    /// Weight of the proximal term.
    pub lambda: f64,
    /// The last gain ratio, if it has not been told.
    pub rho: Option<f64>,
    /// Training loss at the last refresh.
    pub loss_at_refresh: Option<f64>,
    /// Training loss of the last epoch.
    #[serde(deserialize_with = "or_nan")]
    pub last_loss: f64,
    /// Factor of the learning rate: halved each time training had diverged.
    pub rate_factor: f64,
    /// Seconds spent in refreshes and in passes.
    pub seconds: [f64; 2],
    /// What every refresh showed.
    pub telemetry: Vec<RefreshPoint>,
}

/// What the passes of the tail after a start leave beside parameters.
#[derive(Debug, Clone)]
pub struct TailState {
    /// Optimisers of the layers of the tail.
    moments: Vec<OptimState>,
    passes: Vec<u64>,
    serial: usize,
}

impl Engine<'_> {
    /// What the passes of the tail have left, before the first epoch.
    pub fn tail_state(&self) -> TailState {
        let moments = self.optimisers[self.tail_from()..].iter().map(|o| o.state().clone()).collect();
        TailState { moments, passes: self.pass_clock.clone(), serial: self.serial }
    }

    /// Goes on from there, with a network that has the parameters.
    pub fn restore_tail(&mut self, state: &TailState) -> Result<()> {
        let from = self.tail_from();
        for (optimiser, moments) in self.optimisers[from..].iter_mut().zip(&state.moments) {
            optimiser.restore(moments.clone())?;
        }
        self.pass_clock.clone_from(&state.passes);
        self.serial = state.serial;
        Ok(())
    }

    /// Whether the engine can be put away before epoch `next` (from 0) of `epochs`: it then starts with a refresh of
    /// everything that is stale.
    pub fn can_pause(&self, next: usize, epochs: usize) -> bool {
        self.plan.can_pause(self.config.train.frequency, next, epochs)
    }

    /// Everything to go on from here, at the end of an epoch.
    pub fn state(&self) -> EngineState {
        let stale = |k: usize| self.stale[k].clone().or_else(|| self.sampled_alpha(k));
        let layers = 1..=self.network.depth();
        EngineState {
            network: self.network.clone(),
            moments: self.optimisers[1..].iter().map(|o| o.state().clone()).collect(),
            stale: layers.map(stale).collect(),
            numbers: EngineNumbers {
                steps: self.optimisers[1..].iter().map(Optimiser::clock).collect(),
                ages: self.caches.alpha_age[1..].to_vec(),
                passes: self.pass_clock.clone(),
                serial: self.serial,
                lambda: self.control.lambda,
                rho: self.control.rho,
                loss_at_refresh: self.control.loss_at_refresh,
                last_loss: self.last_loss,
                rate_factor: self.rate_factor,
                seconds: self.seconds,
                telemetry: self.telemetry.clone(),
            },
        }
    }

    /// Goes back, or on, to a state of an engine of the same configuration and data; `polishing` if the epoch that
    /// follows is one of [`Engine::polish`].
    pub fn restore(&mut self, state: EngineState, polishing: bool) -> Result<()> {
        let EngineState { network, moments, stale, numbers } = state;
        for (k, rows) in (1..).zip(&stale) {
            self.check_sample(k, rows.as_ref())?;
        }
        for (optimiser, moments) in self.optimisers[1..].iter_mut().zip(moments) {
            optimiser.restore(moments)?;
        }
        self.network = network.clone();
        self.pass_clock = numbers.passes;
        self.serial = numbers.serial;
        self.control.lambda = numbers.lambda;
        self.control.rho = numbers.rho;
        self.control.loss_at_refresh = numbers.loss_at_refresh;
        self.control.promised = 0.0;
        self.control.centred = None;
        self.last_loss = numbers.last_loss;
        self.rate_factor = numbers.rate_factor;
        self.seconds = numbers.seconds;
        self.telemetry = numbers.telemetry;
        self.caches.forget();
        if !polishing {
            self.rebuild()?;
        }
        // The statistics of batch norms may be those of an earlier moment.
        self.network = network;
        (1..=self.network.depth()).for_each(|k| self.caches.forget_norms(k));
        self.caches.alpha_age[1..].copy_from_slice(&numbers.ages);
        self.stale = std::iter::once(None).chain(stale).collect();
        Ok(())
    }
}

//! First-order optimisers: from gradients to a step of the parameters.
//!
//! With `g` the gradient of step `t = 1, 2, ..` and `eta` the learning rate of the step, each parameter `p` of its
//! own:
//!
//! ```text
//! clip      g <- g min(1, clip / (|g| + 1e-6)),  |g| over all parameters of the step
//! decay     p <- p - eta decay p                                  (decoupled, as AdamW)
//! Adam      m <- b1 m + (1 - b1) g,  v <- b2 v + (1 - b2) g^2
//!           p <- p - eta / (1 - b1^t) m / (sqrt(v / (1 - b2^t)) + eps)
//! AdamTf    the same with  p <- p - eta sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + eps)
//! Sgd       m <- momentum m + g,  p <- p - eta m
//! ```
//!
//! Adam is PyTorch's form, AdamTf TensorFlow's; they differ where `eps` is felt, and there they differ a lot.
//! One [`Optimiser`] keeps one clock `t`: give each group of parameters that is trained on its own (each lazy
//! layer) its own. Results do not depend on the number of threads.
//!
//! It does not know what a layer is, where gradients come from or how the learning rate moves: that is a
//! [`Schedule`].

mod mean;
mod schedule;
#[cfg(test)]
mod tests;

pub use mean::Mean;
pub use schedule::{Progress, Schedule};

use crate::kernels::adam;
use crate::{Error, Real, Result};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Parameters above this length are updated in parallel. Two threads are not much faster than one here, but who has something
/// to do between two batches does not fall asleep, and waking up takes longer than the whole update.
const PARALLEL_FROM: usize = 16 * 1024;
/// Elements of a parallel piece.
const PIECE: usize = 16 * 1024;
/// Elements of a partial sum of the gradient norm, whatever the number of threads.
const CHUNK: usize = 64 * 1024;

/// The rule that turns a gradient into a step; the formulas are in the [module](self) header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Adam as in PyTorch: `eps` is added to the corrected root.
    #[default]
    Adam,
    /// Adam as in TensorFlow: `eps` is added to the uncorrected root ("epsilon hat").
    AdamTf,
    /// Gradient descent, with momentum if asked for.
    Sgd,
}

/// What an [`Optimiser`] does besides following the learning rate.
///
/// ```
/// use iglu::optim::{Method, OptimOptions};
/// let options = OptimOptions { method: Method::Sgd, momentum: 0.9, ..Default::default() };
/// assert!(options.validate().is_ok());
/// assert!(OptimOptions { beta2: 1.0, ..options }.validate().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OptimOptions {
    /// The rule of the step.
    pub method: Method,
    /// Adam: how much of the mean gradient is kept from step to step.
    pub beta1: f64,
    /// Adam: how much of the mean square is kept from step to step.
    pub beta2: f64,
    /// Adam: added to the root of the mean square.
    pub eps: f64,
    /// Gradient descent: how much of the last step is kept; 0 = none.
    pub momentum: f64,
    /// Decoupled weight decay, a share of the learning rate.
    pub weight_decay: f64,
    /// L2 penalty: this much of a weight is added to its gradient.
    pub l2: f64,
    /// Largest norm of the gradient over all parameters of a step; 0 = no limit.
    pub clip: f64,
}

impl Default for OptimOptions {
    fn default() -> Self {
        Self {
            method: Method::Adam,
            beta1: 0.9,
            beta2: 0.999,
            eps: 1e-8,
            momentum: 0.0,
            weight_decay: 0.0,
            l2: 0.0,
            clip: 0.0,
        }
    }
}

impl OptimOptions {
    /// Refuses values with which no step makes sense.
    pub fn validate(&self) -> Result<()> {
        for (name, value) in [("beta1", self.beta1), ("beta2", self.beta2), ("momentum", self.momentum)] {
            if !(0.0..1.0).contains(&value) {
                return Err(Error::usage(name, format!("{value}, expected 0 <= {name} < 1"), "0.9 is usual"));
            }
        }
        for (name, value) in
            [("eps", self.eps), ("weight_decay", self.weight_decay), ("l2", self.l2), ("clip", self.clip)]
        {
            if !(value >= 0.0 && value.is_finite()) {
                let found = format!("{value}, expected a finite number, 0 or larger");
                return Err(Error::usage(name, found, "0 turns it off"));
            }
        }
        Ok(())
    }
}

/// What an [`Optimiser`] remembers: with it a run goes on as if it had not been interrupted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OptimState {
    /// Steps taken.
    pub clock: u64,
    /// `m` of each parameter.
    pub first: Vec<Vec<Real>>,
    /// `v` of each parameter; nothing for [`Method::Sgd`].
    pub second: Vec<Vec<Real>>,
}

/// Takes the steps of one group of parameters.
///
/// ```
/// use iglu::optim::{OptimOptions, Optimiser};
/// // One step of Adam moves each parameter by about the learning rate, against its gradient.
/// let mut weights = [1.0, 1.0];
/// let mut gradient = [1e-3, -50.0];
/// let mut adam = Optimiser::new(OptimOptions::default(), &[2]);
/// adam.step(0.1, &mut [&mut weights], &mut [&mut gradient], &[false]);
/// assert!((weights[0] - 0.9).abs() < 1e-4 && (weights[1] - 1.1).abs() < 1e-4);
/// assert_eq!(adam.clock(), 1);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Optimiser {
    options: OptimOptions,
    state: OptimState,
}

impl Optimiser {
    /// At clock 0 with zero moments, for parameters of these lengths.
    pub fn new(options: OptimOptions, sizes: &[usize]) -> Self {
        let zeros = || sizes.iter().map(|&n| vec![0.0; n]).collect();
        let second = if options.method == Method::Sgd { Vec::new() } else { zeros() };
        Self { options, state: OptimState { clock: 0, first: zeros(), second } }
    }

    /// One step at learning rate `lr`; `decays[i]` tells whether weight decay and L2 apply to parameter `i`. The
    /// gradients are left clipped, with the penalty added.
    pub fn step(&mut self, lr: f64, params: &mut [&mut [Real]], grads: &mut [&mut [Real]], decays: &[bool]) {
        let n = self.state.first.len();
        let found = (params.len(), grads.len(), decays.len());
        assert_eq!(found, (n, n, n), "one parameter, gradient and decay flag for each of the {n} parameters");
        self.state.clock += 1;
        if self.options.clip > 0.0 {
            clip_norm(grads, self.options.clip);
        }
        for i in 0..n {
            assert_eq!(params[i].len(), grads[i].len(), "parameter {i} and its gradient have one length");
            let decay = if decays[i] { self.options.weight_decay } else { 0.0 };
            if decays[i] && self.options.l2 > 0.0 {
                let l2 = self.options.l2 as Real;
                grads[i].iter_mut().zip(&*params[i]).for_each(|(g, p)| *g += l2 * p);
            }
            self.update(i, lr, 1.0 - lr * decay, params[i], grads[i]);
        }
    }

    /// Steps taken so far.
    pub fn clock(&self) -> u64 {
        self.state.clock
    }

    /// What it was told to do.
    pub fn options(&self) -> &OptimOptions {
        &self.options
    }

    /// Clock and moments, to be written down.
    pub fn state(&self) -> &OptimState {
        &self.state
    }

    /// Goes on from a state written down earlier, of the same method and sizes.
    pub fn restore(&mut self, state: OptimState) -> Result<()> {
        let sizes =
            |s: &OptimState| [&s.first, &s.second].map(|m| m.iter().map(Vec::len).collect::<Vec<_>>());
        let (expected, found) = (sizes(&self.state), sizes(&state));
        if expected != found {
            let found = format!("moments of lengths {found:?}, expected {expected:?}");
            return Err(Error::data(
                "optimiser state",
                found,
                "use the method and network the state was written with",
            ));
        }
        self.state = state;
        Ok(())
    }

    fn update(&mut self, i: usize, lr: f64, keep: f64, p: &mut [Real], g: &[Real]) {
        let m = &mut self.state.first[i];
        match self.options.method {
            Method::Adam | Method::AdamTf => {
                let factors = adam_factors(&self.options, self.state.clock, lr, keep);
                adam_step(factors, p, g, m, &mut self.state.second[i]);
            }
            Method::Sgd => Sgd::new(&self.options, lr, keep).step(p, g, m),
        }
    }
}

/// The factors of step `clock` of Adam in either form.
fn adam_factors(options: &OptimOptions, clock: u64, lr: f64, keep: f64) -> adam::Factors {
    let beta = [options.beta1, options.beta2];
    let [c1, c2] = beta.map(|b| 1.0 - b.powf(clock as f64));
    let (rate, root) = match options.method {
        Method::AdamTf => (lr * c2.sqrt() / c1, 1.0),
        _ => (lr / c1, 1.0 / c2.sqrt()),
    };
    adam::Factors {
        beta: beta.map(|b| b as Real),
        rest: beta.map(|b| (1.0 - b) as Real),
        rate: rate as Real,
        root: root as Real,
        eps: options.eps as Real,
        keep: keep as Real,
    }
}

fn adam_step(factors: adam::Factors, p: &mut [Real], g: &[Real], m: &mut [Real], v: &mut [Real]) {
    if p.len() <= PARALLEL_FROM {
        return adam::step(factors, p, g, m, v);
    }
    let pieces = p.par_chunks_mut(PIECE).zip(g.par_chunks(PIECE));
    let moments = m.par_chunks_mut(PIECE).zip(v.par_chunks_mut(PIECE));
    pieces.zip(moments).for_each(|((p, g), (m, v))| adam::step(factors, p, g, m, v));
}

/// The factors of one step of gradient descent: `p <- keep p - rate m`.
#[derive(Clone, Copy)]
struct Sgd {
    momentum: Real,
    rate: Real,
    keep: Real,
}

impl Sgd {
    fn new(options: &OptimOptions, lr: f64, keep: f64) -> Self {
        Self { momentum: options.momentum as Real, rate: lr as Real, keep: keep as Real }
    }

    fn step(self, p: &mut [Real], g: &[Real], m: &mut [Real]) {
        if p.len() <= PARALLEL_FROM {
            return self.apply(p, g, m);
        }
        let pieces = p.par_chunks_mut(PIECE).zip(g.par_chunks(PIECE)).zip(m.par_chunks_mut(PIECE));
        pieces.for_each(|((p, g), m)| self.apply(p, g, m));
    }

    fn apply(self, p: &mut [Real], g: &[Real], m: &mut [Real]) {
        for ((p, &g), m) in p.iter_mut().zip(g).zip(m) {
            let next = self.momentum * *m + g;
            *m = if next.abs() < adam::LEAST[0] { 0.0 } else { next };
            *p = self.keep * *p - self.rate * *m;
        }
    }
}

/// Scales all gradients by one factor so that their joint norm is at most `limit`, and returns the norm before.
///
/// ```
/// let (mut a, mut b) = ([3.0], [0.0, 4.0]);
/// assert_eq!(iglu::optim::clip_norm(&mut [&mut a, &mut b], 1.0), 5.0);
/// assert!((a[0] - 0.6).abs() < 1e-6 && (b[1] - 0.8).abs() < 1e-6);
/// ```
pub fn clip_norm(grads: &mut [&mut [Real]], limit: f64) -> f64 {
    let norm = grads.iter().map(|g| sum_of_squares(g)).sum::<f64>().sqrt();
    // The small constant is PyTorch's; it also keeps 0 / 0 away.
    let factor = limit / (norm + 1e-6);
    // Written so that a norm that is not a number shows in the gradients.
    if factor < 1.0 || factor.is_nan() {
        for g in grads {
            scale(g, factor as Real);
        }
    }
    norm
}

fn scale(g: &mut [Real], factor: Real) {
    let apply = |piece: &mut [Real]| piece.iter_mut().for_each(|x| *x *= factor);
    if g.len() <= PARALLEL_FROM { apply(g) } else { g.par_chunks_mut(PIECE).for_each(apply) }
}

/// In f64, by pieces of a fixed length that are added in order.
fn sum_of_squares(g: &[Real]) -> f64 {
    if g.len() <= 4 * CHUNK {
        return g.chunks(CHUNK).map(piece_of_squares).sum();
    }
    g.par_chunks(CHUNK).map(piece_of_squares).collect::<Vec<_>>().iter().sum()
}

/// Eight sums side by side, so that additions need not wait for each other.
fn piece_of_squares(g: &[Real]) -> f64 {
    let square = |x: Real| f64::from(x) * f64::from(x);
    let (eights, rest) = g.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for eight in eights {
        for (sum, &x) in sums.iter_mut().zip(eight) {
            *sum += square(x);
        }
    }
    sums.iter().sum::<f64>() + rest.iter().map(|&x| square(x)).sum::<f64>()
}

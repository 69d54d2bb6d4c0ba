//! The proximal weight follows the gain ratio: did the loss fall as the frozen gradients promised?
//!
//! `rho = (L0 - Lmid) / -promised`, with `L0` the training loss at the refresh, `Lmid` the loss after all lazy
//! layers were visited (old tail), `promised = sum_k <alpha^k, X^k_new - c^k>`. Below 0.25 lambda doubles, above
//! 0.6 it shrinks by 0.7, within [0.003, 30]. Orders other than `inverted` have no moment to judge at: lambda stays.

use super::engine::Engine;
use crate::config::{Config, Order, Proximal};

/// State of the control.
#[derive(Debug, Clone)]
pub(super) struct Control {
    pub(super) lambda: f64,
    /// The last gain ratio, until it is reported.
    pub(super) rho: Option<f64>,
    /// Training loss at the last refresh.
    pub(super) loss_at_refresh: Option<f64>,
    /// Change of the loss that the visits since then promised.
    pub(super) promised: f64,
    /// The layer whose cached embeddings are the centre of its visit.
    pub(super) centred: Option<usize>,
    kind: Proximal,
    /// Whether visits are judged: the order refreshes a layer as soon as it is trained, and then trains the tail.
    judges: bool,
}

impl Control {
    pub(super) fn new(config: &Config) -> Self {
        let kind = if config.train.order == Order::Exact { Proximal::Off } else { config.train.proximal };
        Self {
            lambda: config.train.lambda,
            rho: None,
            loss_at_refresh: None,
            promised: 0.0,
            centred: None,
            kind,
            judges: kind != Proximal::Off && config.train.order == Order::Inverted,
        }
    }

    pub(super) fn active(&self) -> bool {
        self.kind != Proximal::Off
    }

    /// `X^k` is the centre of a visit that begins.
    pub(super) fn centre(&mut self, k: usize) {
        self.centred = self.judges.then_some(k);
    }

    fn judge(&mut self, before: f64, after: f64) {
        let rho = (before - after) / -self.promised;
        self.rho = Some(rho);
        if self.kind == Proximal::Controlled {
            let factor = match rho {
                r if r < 0.25 || r.is_nan() => 2.0,
                r if r > 0.6 => 0.7,
                _ => 1.0,
            };
            self.lambda = (self.lambda * factor).clamp(0.003, 30.0);
        }
    }
}

impl Engine<'_> {
    /// Compares what the lazy visits promised with what came of it.
    pub(super) fn judge_visits(&mut self) {
        if !self.control.active() || self.control.promised == 0.0 {
            return;
        }
        if let Some(before) = self.control.loss_at_refresh {
            let after = self.tail_loss();
            self.control.judge(before, after);
        }
        self.control.promised = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lambda_follows_the_gain_ratio_within_its_bounds() {
        let mut c = Control::new(&Config::default());
        c.promised = -1.0;
        c.judge(1.0, 0.9);
        assert!((c.lambda - 0.6).abs() < 1e-12, "a tenth of the promise doubles lambda: {}", c.lambda);
        c.judge(1.0, 0.5);
        assert!((c.lambda - 0.6).abs() < 1e-12, "half of it leaves lambda");
        c.judge(1.0, 0.1);
        assert!((c.lambda - 0.42).abs() < 1e-12, "nearly all of it shrinks lambda");
        (0..100).for_each(|_| c.judge(1.0, 2.0));
        assert_eq!(c.lambda, 30.0);
    }
}

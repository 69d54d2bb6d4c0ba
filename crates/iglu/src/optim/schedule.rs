//! How the learning rate moves over a run.
//!
//! A [`Schedule`] is a pure function of the base rate and of how far the run is: no state to save, nothing to call
//! in the right order. It does not warm up and does not react to the loss.

use crate::config::{OptimConfig, ScheduleKind};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// How far a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// The epoch (or refresh) under way, from 0.
    pub epoch: usize,
    /// Share of the whole run that is done, 0 to 1; may move inside an epoch.
    pub fraction: f64,
}

impl Progress {
    /// At the start of `epoch` (from 0) of a run of `epochs`.
    pub fn of(epoch: usize, epochs: usize) -> Self {
        Self { epoch, fraction: epoch as f64 / epochs.max(1) as f64 }
    }
}

/// The learning rate as a function of the base rate and of the progress of the run.
///
/// ```
/// use iglu::optim::{Progress, Schedule};
/// let schedule = Schedule::Milestones { at: vec![4, 40], values: vec![2e-3, 1e-3] };
/// let rates = [0, 3, 4, 39, 40].map(|epoch| schedule.rate(5e-2, Progress::of(epoch, 300)));
/// assert_eq!(rates, [5e-2, 5e-2, 2e-3, 2e-3, 1e-3]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Schedule {
    /// The base rate throughout.
    #[default]
    Constant,
    /// The base rate, then `values[i]` from epoch `at[i]` on.
    Milestones {
        /// Epochs at which the rate changes, increasing.
        at: Vec<usize>,
        /// The rates from then on.
        values: Vec<f64>,
    },
    /// `base * factor^(epoch / every)`, in whole steps.
    Exponential {
        /// What the rate is multiplied by.
        factor: f64,
        /// Epochs between two multiplications.
        every: usize,
        /// Multiplies at epoch 0 too: epoch 0 runs at `base * factor`.
        #[serde(default)]
        from_zero: bool,
    },
    /// Half a cosine wave from the base rate down to `floor * base` at the end of the run.
    Cosine {
        /// Rate at the end, as a share of the base rate.
        #[serde(default)]
        floor: f64,
    },
}

impl Schedule {
    /// The schedule that a configuration asks for.
    pub fn of(config: &OptimConfig) -> Self {
        match config.schedule {
            ScheduleKind::Constant => Self::Constant,
            ScheduleKind::Milestones => {
                Self::Milestones { at: config.milestones.clone(), values: config.rates.clone() }
            }
            ScheduleKind::Exponential => {
                Self::Exponential { factor: config.decay, every: config.decay_every, from_zero: false }
            }
            ScheduleKind::Cosine => Self::Cosine { floor: config.lr_floor },
        }
    }

    /// The learning rate at `progress`, for a [valid](Self::validate) schedule.
    pub fn rate(&self, base: f64, progress: Progress) -> f64 {
        match self {
            Self::Constant => base,
            Self::Milestones { at, values } => {
                let passed = at.partition_point(|&epoch| epoch <= progress.epoch);
                passed.checked_sub(1).map_or(base, |last| values[last])
            }
            Self::Exponential { factor, every, from_zero } => {
                let times = progress.epoch / every + usize::from(*from_zero);
                base * factor.powf(times as f64)
            }
            Self::Cosine { floor } => {
                let wave = 0.5 + 0.5 * (PI * progress.fraction.clamp(0.0, 1.0)).cos();
                base * (floor + (1.0 - floor) * wave)
            }
        }
    }

    /// Refuses schedules that have no rate for some epoch.
    pub fn validate(&self) -> Result<()> {
        match self {
            Self::Constant => Ok(()),
            Self::Milestones { at, values } => validate_milestones(at, values),
            Self::Exponential { factor, every, .. } => {
                let found =
                    format!("factor {factor} every {every} epochs, expected factor > 0 and every >= 1");
                let valid = positive(*factor) && *every > 0;
                require(valid, found, "`factor = 0.9, every = 4` multiplies the rate by 0.9 every 4 epochs")
            }
            Self::Cosine { floor } => {
                let found = format!("floor {floor}, expected 0 <= floor <= 1");
                require((0.0..=1.0).contains(floor), found, "the floor is a share of the base rate")
            }
        }
    }
}

fn validate_milestones(at: &[usize], values: &[f64]) -> Result<()> {
    let found = format!("{} epochs in `at`, {} rates in `values`", at.len(), values.len());
    require(at.len() == values.len(), found, "give one rate for each epoch")?;
    let found = format!("`at` is {at:?}, expected increasing epochs");
    require(at.is_sorted_by(|a, b| a < b), found, "list each epoch once, in order")?;
    let found = format!("`values` is {values:?}, expected positive rates");
    require(values.iter().all(|&v| positive(v)), found, "give learning rates, not factors")
}

fn positive(x: f64) -> bool {
    x > 0.0 && x.is_finite()
}

fn require(valid: bool, found: String, fix: &str) -> Result<()> {
    if valid { Ok(()) } else { Err(Error::usage("schedule", found, fix)) }
}

#[cfg(test)]
mod tests {
    use super::{Progress, Schedule};
    use crate::config::{OptimConfig, ScheduleKind};

    fn check(schedule: &Schedule, base: f64, expected: &[(usize, f64)]) {
        schedule.validate().unwrap();
        for &(epoch, rate) in expected {
            let found = schedule.rate(base, Progress::of(epoch, 200));
            assert!((found - rate).abs() <= 1e-15, "{schedule:?}, epoch {epoch}: {found}, not {rate}");
        }
    }

    #[test]
    fn each_kind_moves_as_its_formula_says() {
        check(&Schedule::Constant, 0.01, &[(0, 0.01), (199, 0.01)]);
        let steps = |from_zero| Schedule::Exponential { factor: 0.9, every: 4, from_zero };
        check(&steps(false), 0.01, &[(0, 0.01), (3, 0.01), (4, 0.009), (8, 0.0081)]);
        check(&steps(true), 0.01, &[(0, 0.009), (3, 0.009), (4, 0.0081)]);
        check(&Schedule::Cosine { floor: 0.0 }, 0.01, &[(0, 0.01), (100, 0.005), (200, 0.0), (300, 0.0)]);
        check(&Schedule::Cosine { floor: 0.1 }, 0.01, &[(0, 0.01), (100, 0.0055), (200, 0.001)]);
        check(&Schedule::Milestones { at: vec![0], values: vec![0.5] }, 0.01, &[(0, 0.5), (9, 0.5)]);
    }

    #[test]
    fn a_configuration_names_its_schedule() {
        let config = OptimConfig {
            milestones: vec![2],
            rates: vec![0.5],
            decay: 0.25,
            decay_every: 3,
            lr_floor: 0.1,
            ..OptimConfig::default()
        };
        for (kind, expect) in [
            (ScheduleKind::Constant, Schedule::Constant),
            (ScheduleKind::Milestones, Schedule::Milestones { at: vec![2], values: vec![0.5] }),
            (ScheduleKind::Exponential, Schedule::Exponential { factor: 0.25, every: 3, from_zero: false }),
            (ScheduleKind::Cosine, Schedule::Cosine { floor: 0.1 }),
        ] {
            assert_eq!(Schedule::of(&OptimConfig { schedule: kind, ..config.clone() }), expect);
        }
    }

    #[test]
    fn schedules_without_a_rate_are_refused() {
        let milestones =
            |at: &[usize], values: &[f64]| Schedule::Milestones { at: at.into(), values: values.into() };
        for (schedule, word) in [
            (milestones(&[1, 2], &[0.1]), "2 epochs in `at`, 1 rates"),
            (milestones(&[2, 2], &[0.1, 0.2]), "increasing"),
            (milestones(&[2], &[-0.1]), "positive"),
            (Schedule::Exponential { factor: 0.9, every: 0, from_zero: false }, "every 0 epochs"),
            (Schedule::Exponential { factor: f64::NAN, every: 1, from_zero: false }, "factor NaN"),
            (Schedule::Cosine { floor: 1.5 }, "floor 1.5"),
        ] {
            let message = schedule.validate().unwrap_err().to_string();
            assert!(message.contains(word), "{message}");
        }
    }
}

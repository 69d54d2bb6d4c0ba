//! One step of Adam on a piece of a parameter: `p <- keep p - rate m / (root sqrt(v) + eps)`.

use super::simd_fn;
use crate::Real;

/// The factors of a step; they cover both forms of Adam.
#[derive(Debug, Clone, Copy)]
pub struct Factors {
    /// Decay of the two moments.
    pub beta: [Real; 2],
    /// `1 - beta`.
    pub rest: [Real; 2],
    /// Learning rate, corrected for the clock.
    pub rate: Real,
    /// Correction of the root of the second moment.
    pub root: Real,
    /// Added to that root.
    pub eps: Real,
    /// What weight decay leaves of a parameter.
    pub keep: Real,
}

/// Moments below these are 0. Where no gradient comes any more they would shrink to the smallest numbers there are and stay
/// there, and some processors take twenty times as long for steps with such numbers. No parameter sees the difference.
pub const LEAST: [Real; 2] = [1e-30, 1e-36];

simd_fn! {
    /// `m <- beta m + rest g`, `v <- beta v + rest g^2`, and the step. Nothing is fused: every instruction set gives
    /// the same bytes.
    pub fn step(f: Factors, p: &mut [Real], g: &[Real], m: &mut [Real], v: &mut [Real]) {
        for (((p, &g), m), v) in p.iter_mut().zip(g).zip(m).zip(v) {
            let first = f.beta[0] * *m + f.rest[0] * g;
            let second = f.beta[1] * *v + f.rest[1] * g * g;
            *m = if first.abs() < LEAST[0] { 0.0 } else { first };
            *v = if second < LEAST[1] { 0.0 } else { second };
            *p = f.keep * *p - f.rate * *m / (f.root * v.sqrt() + f.eps);
        }
    }
}

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
const LEAST: [Real; 2] = [1e-30, 1e-36];

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

#[cfg(test)]
mod tests {
    use super::*;

    /// Without gradients the moments come to an end, which is 0, and not the smallest number there is.
    #[test]
    fn moments_without_gradients_vanish() {
        let f = Factors { beta: [0.9, 0.99], rest: [0.1, 0.01], rate: 1e-3, root: 1.0, eps: 1e-8, keep: 1.0 };
        let (mut p, mut m, mut v) = ([0.5; 20], [0.0; 20], [0.0; 20]);
        step(f, &mut p, &[-0.25; 20], &mut m, &mut v);
        let mut last = p;
        for _ in 0..12_000 {
            assert!(m.iter().chain(&v).all(|x| *x == 0.0 || x.is_normal()), "{m:?} {v:?}");
            last = p;
            step(f, &mut p, &[0.0; 20], &mut m, &mut v);
        }
        assert_eq!((m, v, p), ([0.0; 20], [0.0; 20], last));
        step(f, &mut p, &[Real::NAN; 20], &mut m, &mut v);
        assert!(p.iter().all(|p| p.is_nan()), "a bad gradient is seen");
    }
}

//! Random numbers that are the same on every machine: `SplitMix64` streams, one per purpose and part of the work.
//!
//! Work is cut into parts of fixed size and each part draws from its own stream, so threads change nothing.
//! Logarithm and exponential are computed with basic arithmetic only, whose results IEEE 754 fixes; the
//! library's may differ between systems. Not for secrets.

use std::f64::consts::{LN_2, SQRT_2};

/// What a stream is for; equal seeds give unrelated numbers for different purposes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    BlockSizes = 1,
    BlockOfNode,
    Theta,
    Partners,
    Edges,
    Surplus,
    Means,
    Features,
    LabelRates,
    Labels,
    Split,
}

/// A sequence of random numbers.
#[derive(Debug, Clone)]
pub(super) struct Stream {
    state: u64,
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Stream {
    /// The stream of one part of the work.
    pub fn new(seed: u64, purpose: Purpose, part: u64) -> Self {
        let key = mix(mix(seed.wrapping_add(GOLDEN)) ^ purpose as u64);
        Self { state: mix(key.wrapping_add(part.wrapping_mul(GOLDEN))) }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// Uniform in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Uniform in 0..n.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// Two independent standard normal numbers (Marsaglia's polar method).
    pub fn normals(&mut self) -> [f64; 2] {
        loop {
            let bits = self.bits();
            // Two signed 32-bit fractions of one draw.
            let a = (bits as u32 as i32) as f64 / (1_u64 << 31) as f64;
            let b = ((bits >> 32) as u32 as i32) as f64 / (1_u64 << 31) as f64;
            let s = a * a + b * b;
            if s > 0.0 && s < 1.0 {
                let scale = (-2.0 * ln(s) / s).sqrt();
                return [a * scale, b * scale];
            }
        }
    }

    /// Fills `out` with standard normal numbers.
    pub fn fill_normal(&mut self, out: &mut [f32]) {
        for pair in out.chunks_mut(2) {
            let drawn = self.normals();
            for (value, normal) in pair.iter_mut().zip(drawn) {
                *value = normal as f32;
            }
        }
    }

    /// Random order of 0..n (Fisher and Yates).
    pub fn permutation(&mut self, n: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..n as u32).collect();
        for last in (1..n).rev() {
            order.swap(last, self.below(last + 1));
        }
        order
    }
}

/// Natural logarithm of a positive normal number, within 2 units in the last place.
pub(super) fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i64 - 1023;
    let mut m = f64::from_bits((bits & ((1 << 52) - 1)) | 0x3ff0_0000_0000_0000);
    if m > SQRT_2 {
        m *= 0.5;
        exponent += 1;
    }
    // ln m = 2 artanh s, |s| < 0.172: the tenth term is below 1e-16.
    let s = (m - 1.0) / (m + 1.0);
    let q = s * s;
    let series = (0..10).rev().fold(0.0, |sum, k| sum * q + 1.0 / f64::from(2 * k + 1));
    exponent as f64 * LN_2 + 2.0 * s * series
}

/// `e^x` for |x| < 700, relative error below 1e-14.
pub(super) fn exp(x: f64) -> f64 {
    let k = (x / LN_2).round();
    let r = x - k * LN_2;
    // |r| < 0.347: the 14th term is below 1e-17.
    let series = (1..14).rev().fold(1.0, |sum, j| 1.0 + sum * r / f64::from(j));
    series * f64::from_bits(((k as i64 + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_functions_agree_with_the_library() {
        let mut s = Stream::new(1, Purpose::Theta, 0);
        for _ in 0..10_000 {
            let x = s.uniform() * 40.0 - 20.0;
            let e = exp(x);
            assert!((e / x.exp() - 1.0).abs() < 1e-13, "exp {x}");
            assert!((ln(e) - e.ln()).abs() < 1e-14 * e.ln().abs().max(1.0), "ln {e}");
        }
        assert_eq!((ln(1.0), exp(0.0)), (0.0, 1.0));
    }

    #[test]
    fn normals_have_the_moments_of_a_normal() {
        let mut values = vec![0.0_f32; 1 << 20];
        Stream::new(3, Purpose::Features, 0).fill_normal(&mut values);
        let moment = |k: i32| values.iter().map(|v| f64::from(*v).powi(k)).sum::<f64>() / values.len() as f64;
        for (k, expect, tolerance) in [(1, 0.0, 0.005), (2, 1.0, 0.01), (3, 0.0, 0.02), (4, 3.0, 0.05)] {
            assert!((moment(k) - expect).abs() < tolerance, "moment {k}: {}", moment(k));
        }
        let beyond_two = values.iter().filter(|v| v.abs() > 2.0).count() as f64 / values.len() as f64;
        assert!((beyond_two - 0.0455).abs() < 0.002, "{beyond_two}");
    }

    #[test]
    fn permutations_hold_every_number_once_and_streams_differ() {
        let draw = |part| Stream::new(5, Purpose::Split, part).permutation(1000);
        let mut sorted = draw(0);
        assert_ne!(sorted, draw(1));
        assert_ne!(sorted, Stream::new(6, Purpose::Split, 0).permutation(1000));
        sorted.sort_unstable();
        assert_eq!(sorted, (0..1000).collect::<Vec<u32>>());
    }
}

//! Counter-based random numbers: a value depends on what it is for, never on who asks or when.
//!
//! A [`Key`] names a purpose (`seed`, "shuffle", epoch, batch, ...); values are hashes of the key and a counter,
//! so any thread can compute any of them and nothing has to be stored for a backward pass.

/// A named stream of random numbers.
///
/// ```
/// use iglu::rng::Key;
/// let k = Key::new(7).with("shuffle").at(3);
/// assert_eq!(k.u64(0), Key::new(7).with("shuffle").at(3).u64(0));
/// assert_ne!(k.u64(0), Key::new(7).with("dropout").at(3).u64(0));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(u64);

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Key {
    /// The root of a run.
    pub const fn new(seed: u64) -> Self {
        Self(mix(seed.wrapping_add(GOLDEN)))
    }

    /// A sub-stream by name.
    #[must_use]
    pub fn with(self, purpose: &str) -> Self {
        purpose.bytes().fold(self, |k, b| k.at(u64::from(b)))
    }

    /// A sub-stream by number.
    #[must_use]
    pub const fn at(self, index: u64) -> Self {
        Self(mix(self.0 ^ index.wrapping_mul(GOLDEN).wrapping_add(GOLDEN)))
    }

    /// The `i`-th 64 random bits of this stream.
    pub const fn u64(self, i: u64) -> u64 {
        mix(self.0.wrapping_add(i.wrapping_mul(GOLDEN)))
    }

    /// The `i`-th number in [0, 1).
    pub fn unit(self, i: u64) -> f64 {
        (self.u64(i) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A shuffle of `items` (Fisher and Yates).
    pub fn shuffle<T>(self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = ((u128::from(self.u64(i as u64)) * (i as u128 + 1)) >> 64) as usize;
            items.swap(i, j);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_is_a_permutation_and_keyed() {
        let shuffled = |key: Key| {
            let mut v: Vec<u32> = (0..1000).collect();
            key.shuffle(&mut v);
            v
        };
        let (a, b) = (shuffled(Key::new(1)), shuffled(Key::new(2)));
        assert_ne!(a, b);
        let mut sorted = a;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn units_fill_the_interval_evenly() {
        let mut bins = [0; 10];
        for i in 0..100_000 {
            bins[(Key::new(3).unit(i) * 10.0) as usize] += 1;
        }
        assert!(bins.iter().all(|&b| (9_600..10_400).contains(&b)), "{bins:?}");
    }
}

//! Thousands of damaged files: every one is read or refused, none makes the reader panic, hang or swallow memory.

mod common;

use common::{npz, parse, path_of_four, small};
use iglu_data::formats::npy::Array;
use zip::CompressionMethod;

/// A small generator of its own (xorshift), so that failures repeat.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % sides
    }
}

/// Overwrites, cuts, doubles or removes some bytes.
fn mutated(file: &[u8], dice: &mut Dice) -> Vec<u8> {
    const TELLING: [u8; 8] = [0, 1, 0x7f, 0x80, 0xfe, 0xff, b'9', b'('];
    let mut out = file.to_vec();
    for _ in 0..=dice.roll(4) {
        let at = dice.roll(out.len().max(1));
        let end = (at + 1 + dice.roll(8)).min(out.len());
        match dice.roll(6) {
            0 if !out.is_empty() => out[at] ^= 1 << dice.roll(8),
            1 if !out.is_empty() => out[at..end].fill(TELLING[dice.roll(8)]),
            2 => out.truncate(at),
            3 if !out.is_empty() => drop(out.drain(at..end)),
            4 if !out.is_empty() => out.extend_from_within(at..end),
            _ if !out.is_empty() => out[at] = dice.roll(256) as u8,
            _ => {}
        }
    }
    out
}

#[test]
fn damaged_npz_files_never_panic() {
    let mut dice = Dice(0x1234_5678_9abc_def1);
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let good = npz(path_of_four(), method);
        let read = (0..4000).filter(|_| parse(mutated(&good, &mut dice), &small()).is_ok()).count();
        assert!(read < 2000, "checksums must catch most damage, {read} of 4000 were read");
    }
}

#[test]
fn damaged_npy_files_never_panic() {
    let mut dice = Dice(0xfeed_beef_1234_5671);
    for (_, good) in path_of_four() {
        for _ in 0..4000 {
            if let Ok(array) = Array::parse(mutated(&good, &mut dice)) {
                assert_eq!(array.floats().len(), array.len());
                let _ = (array.ints::<u32>(), array.ints::<i64>(), array.describe());
            }
        }
    }
}

/// Damage inside the arrays of a sound archive, so that it reaches the plain reader.
#[test]
fn damaged_arrays_in_sound_archives_never_panic() {
    let mut dice = Dice(0xabcd_ef01_2345_6789);
    for _ in 0..4000 {
        let mut arrays = path_of_four();
        let hit = dice.roll(arrays.len());
        arrays[hit].1 = mutated(&arrays[hit].1, &mut dice);
        let _ = parse(npz(arrays, CompressionMethod::Stored), &small());
    }
}

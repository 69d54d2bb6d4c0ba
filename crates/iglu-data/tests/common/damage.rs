//! Damaged files, the same ones in every run.

use super::folders::{packed, unpacked};
use super::npz;
use std::io::{Cursor, Read};
use std::path::Path;
use zip::{CompressionMethod, ZipArchive};

/// A small generator of its own (xorshift), so that failures repeat.
pub struct Dice(pub u64);

impl Dice {
    /// A number below `sides`.
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % sides
    }
}

/// Overwrites, cuts, doubles or removes some bytes.
pub fn mutated(file: &[u8], dice: &mut Dice) -> Vec<u8> {
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

/// Damage to the file itself or, in every second roll, to what it packs, so that it gets past the checksums.
pub fn mutated_file(name: &Path, file: &[u8], dice: &mut Dice) -> Vec<u8> {
    let ending = name.extension().and_then(|e| e.to_str()).unwrap_or_default();
    match ending {
        "gz" if dice.roll(2) == 0 => packed(&mutated(&unpacked(file), dice)),
        "npz" if dice.roll(2) == 0 => {
            let mut archive = ZipArchive::new(Cursor::new(file)).unwrap();
            let names: Vec<String> = archive.file_names().map(str::to_string).collect();
            let hit = dice.roll(names.len());
            let member = |(at, name): (usize, &String)| {
                let mut bytes = Vec::new();
                archive.by_name(name).unwrap().read_to_end(&mut bytes).unwrap();
                let key = name.strip_suffix(".npy").unwrap().to_string();
                (key, if at == hit { mutated(&bytes, dice) } else { bytes })
            };
            let members: Vec<(String, Vec<u8>)> = names.iter().enumerate().map(member).collect();
            npz(members.iter().map(|(key, bytes)| (key.as_str(), bytes.clone())), CompressionMethod::Stored)
        }
        _ => mutated(file, dice),
    }
}

//! Thousands of damaged files: every one is read or refused, none makes the reader panic, hang or swallow memory.

#![expect(clippy::unwrap_used, reason = "a failure in a helper is a failed test")]

mod common;

use common::damage::{Dice, mutated, mutated_file};
use common::folders::{copy, copy_files, files, golden};
use common::{npz, parse, path_of_four, small};
use iglu_data::formats::npy::Array;
use iglu_data::formats::pickle::Pickle;
use iglu_data::load;
use std::path::Path;
use zip::CompressionMethod;

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

/// Damages every file of the folder `work` `rounds` times, one at a time; returns how often the dataset `source` in it
/// was read all the same.
fn damage(work: &Path, source: &str, rounds: usize) -> usize {
    let mut dice = Dice(0x0dd0_5eed_cafe_f00d);
    let source = work.join(source);
    let whole = load(source.to_str().unwrap(), &small()).map(|_| ());
    assert_eq!(whole, Ok(()), "{}", source.display());
    let mut read = 0;
    for name in files(work) {
        let good = std::fs::read(work.join(&name)).unwrap();
        for _ in 0..rounds {
            // Some file systems wait for the disk where a file is written over, but not where it is new.
            std::fs::remove_file(work.join(&name)).unwrap();
            std::fs::write(work.join(&name), mutated_file(&name, &good, &mut dice)).unwrap();
            read += usize::from(load(source.to_str().unwrap(), &small()).is_ok());
        }
        std::fs::write(work.join(&name), good).unwrap();
    }
    read
}

#[test]
fn damaged_folders_never_panic() {
    let datasets = [
        ("planetoid", "ind.mixed.x"),
        ("planetoid", "ind.turned.x"),
        ("ogb_citation", ""),
        ("ogb_proteins", ""),
        ("ogb_binary", ""),
        ("graphsaint", ""),
        ("graphsaint_multi", ""),
        ("graphsage", ""),
        ("graphsage_positions", ""),
        ("authors_ppi", ""),
        ("authors_flickr", ""),
        ("ppi", ""),
    ];
    let read: usize =
        datasets.iter().map(|(dataset, source)| damage(&copy(dataset, "damaged"), source, 60)).sum();
    assert!(read > 0, "some damage is harmless");
}

/// The golden datasets of `wild.rs`, each alone with its files.
#[test]
fn damaged_data_in_wild_forms_never_panic() {
    let wild = golden("../wild");
    for (folder, source) in common::wild() {
        let work = common::folder("wild");
        if ["shchur", "matlab"].contains(&folder) {
            std::fs::copy(wild.join(folder).join(source), work.join(source)).unwrap();
        } else {
            copy_files(&wild.join(folder), &work);
        }
        let read = damage(&work, source, 300);
        assert!(read > 0, "{folder}/{source}: some damage is harmless");
    }
}

#[test]
fn damaged_pickles_never_panic() {
    let mut dice = Dice(0x7ea5_e11e_5eed_0001);
    for name in files(&golden("planetoid")) {
        let good = std::fs::read(golden("planetoid").join(&name)).unwrap();
        for _ in 0..4000 {
            if let Ok(pickle) = Pickle::parse(mutated(&good, &mut dice)) {
                let root = pickle.root();
                let _ = (pickle.array(root), pickle.csr(root), pickle.items(root).map(<[_]>::len));
                let _ = (pickle.dict(root).map(<[_]>::len), pickle.text(root).map(|text| text.len()));
            }
        }
    }
}

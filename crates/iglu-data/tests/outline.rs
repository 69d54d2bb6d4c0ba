//! Counts before a dataset is read are those of the data, or less where they cannot be known.

#![expect(clippy::unwrap_used, reason = "a failure in a helper is a failed test")]

mod common;

use common::damage::{Dice, mutated};
use common::{folder, npz, path_of_four};
use iglu::config::SplitChoice;
use iglu::run::Outline;
use iglu_data::{LoadOptions, Purpose, load, outline};
use std::path::{Path, PathBuf};
use zip::CompressionMethod;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn options() -> LoadOptions {
    LoadOptions { purpose: Purpose::Predict, ..LoadOptions::default() }
}

/// What is told of a source at once, and what is there.
fn both(source: &Path) -> (Option<Outline>, Outline) {
    let source = source.to_str().unwrap();
    let data = load(source, &options()).unwrap_or_else(|e| panic!("{source}: {e}"));
    (outline(source, &options()), Outline::of(&data))
}

#[test]
fn stores_tell_everything_and_arrays_their_features() {
    let folder = folder("stores");
    for source in ["synth:village", "synth:ppi@0.01"] {
        let data = load(source, &options()).unwrap();
        let counts = Outline::of(&data);
        assert_eq!(outline(source, &options()), Some(counts), "{source}");
        let (store, plain) = (folder.join("a.iglu"), folder.join("a.npz"));
        iglu_data::write_store(&store, &data).unwrap();
        iglu_data::write_plain(&plain, &data).unwrap();
        // Dense features of a mapped file need not stay in memory.
        let mapped = Outline { features_rest: cfg!(unix), ..counts };
        assert_eq!(both(&store), (Some(mapped), mapped), "{source}");
        let told = both(&plain).0.unwrap();
        assert_eq!((told.nodes, told.feature_bytes), (counts.nodes, counts.feature_bytes), "{source}");
        assert_eq!((told.label_bytes, told.shape.features), (counts.label_bytes, counts.shape.features));
        assert_eq!(told.shape.multi_label, counts.shape.multi_label, "{source}");
    }
    let (told, there) = both(&golden("store_v1.iglu"));
    assert_eq!(told, Some(there));
    let drawn =
        LoadOptions { split_choice: "random:0.5,0.2,0.3".parse::<SplitChoice>().unwrap(), ..options() };
    assert_eq!(outline("synth:village", &drawn).map(|o| (o.train, o.val)), Some((0, 0)));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn counts_are_never_too_large() {
    let names = ["dense.npz", "odd_types.npz", "sparse_multi.npz", "folders/graphsaint"];
    let mut told = 0;
    for name in names {
        let (Some(early), there) = both(&golden(name)) else { continue };
        told += 1;
        let counts = |o: &Outline| {
            [o.nodes, o.entries, o.shape.features, o.shape.classes, o.train, o.val].map(|n| n as u64)
        };
        let bytes = |o: &Outline| [o.graph_bytes, o.feature_bytes, o.label_bytes];
        assert!(
            counts(&early).iter().zip(counts(&there)).all(|(a, b)| *a <= b),
            "{name}: {early:?} {there:?}"
        );
        assert!(bytes(&early).iter().zip(bytes(&there)).all(|(a, b)| *a <= b), "{name}: {early:?} {there:?}");
        assert_eq!(early.nodes, there.nodes, "{name}");
    }
    assert!(told >= 3, "{told} files told their counts");
    for nothing in ["nowhere.npz", "synth:nowhere"] {
        assert_eq!(outline(nothing, &options()), None);
    }
    assert_eq!(outline(golden("folders/planetoid").to_str().unwrap(), &options()), None);
}

#[test]
fn damaged_files_never_panic() {
    let folder = folder("damaged");
    let path = folder.join("a.npz");
    let mut dice = Dice(0x0bad_5eed_0bad_5eed);
    for _ in 0..1000 {
        let mut arrays = path_of_four();
        let hit = dice.roll(arrays.len());
        arrays[hit].1 = mutated(&arrays[hit].1, &mut dice);
        std::fs::write(&path, npz(arrays, CompressionMethod::Stored)).unwrap();
        let _ = outline(path.to_str().unwrap(), &options());
    }
    let store = std::fs::read(golden("store_v1.iglu")).unwrap();
    for _ in 0..1000 {
        std::fs::write(&path, mutated(&store, &mut dice)).unwrap();
        let _ = outline(path.to_str().unwrap(), &options());
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

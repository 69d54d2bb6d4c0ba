//! The npz forms of Shchur et al. and of Platonov et al.

use super::common::{self, bools, floats, ints, npy};
use super::refused;
use iglu_data::formats::npz::Npz;
use iglu_data::formats::{shchur, yandex};
use iglu_data::{Limits, LoadOptions};
use std::io::Cursor;
use zip::CompressionMethod;

/// The arrays of a triangle in the form of Shchur et al.; every test changes one.
fn triangle() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("adj_data", floats("(6,)", &[1.0; 6])),
        ("adj_indices", ints("(6,)", &[1, 2, 0, 2, 0, 1])),
        ("adj_indptr", ints("(4,)", &[0, 2, 4, 6])),
        ("adj_shape", ints("(2,)", &[3, 3])),
        ("attr_data", floats("(2,)", &[1.0, 2.0])),
        ("attr_indices", ints("(2,)", &[1, 0])),
        ("attr_indptr", ints("(4,)", &[0, 1, 1, 2])),
        ("attr_shape", ints("(2,)", &[3, 2])),
        ("labels", ints("(3,)", &[0, 1, 1])),
        ("class_names", npy("|S3", "(2,)", b"onetwo")),
        ("node_names", npy("<U1", "(3,)", b"a\0\0\0b\0\0\0c\0\0\0")),
    ]
}

/// The arrays with changes made; one changed to nothing is left out.
fn changed(
    mut arrays: Vec<(&'static str, Vec<u8>)>,
    changes: &[(&'static str, Vec<u8>)],
) -> Npz<Cursor<Vec<u8>>> {
    arrays.retain(|(key, _)| changes.iter().all(|(k, _)| k != key));
    arrays.extend(changes.iter().filter(|(_, bytes)| !bytes.is_empty()).cloned());
    Npz::new(Cursor::new(common::npz(arrays, CompressionMethod::Stored)), Limits::default()).unwrap()
}

#[test]
fn shchur_files() {
    let options = LoadOptions::default();
    let read =
        |changes: &[(&'static str, Vec<u8>)]| shchur::parse(&mut changed(triangle(), changes), &options);
    let good = read(&[]).unwrap();
    assert_eq!((good.graph.counts().edges, good.graph.all_weights(), good.notes.len()), (3, None, 0));
    assert_eq!(good.node_names.unwrap().get(2), "c");
    let cases: &[(&str, &'static str, Vec<u8>, &[&str])] = &[
        (
            "part",
            "adj_indptr",
            vec![],
            &["adj_indptr: no such array beside `adj_indices`", "save all four parts"],
        ),
        (
            "column",
            "adj_indices",
            ints("(6,)", &[1, 2, 0, 3, 0, 1]),
            &["adj_indices: entry 3: column 3, but `adj_shape` has 3 columns"],
        ),
        ("falling", "adj_indptr", ints("(4,)", &[0, 4, 2, 6]), &["adj_indptr: entry 2: falls from 4 to 2"]),
        (
            "not square",
            "adj_shape",
            ints("(2,)", &[3, 4]),
            &["adj: shape: 3 x 4; expected as many columns as rows"],
        ),
        (
            "negative",
            "adj_data",
            floats("(6,)", &[1.0, 1.0, 1.0, -1.0, 1.0, 1.0]),
            &["adj: row 1, column 2: weight -1", "repair its weight"],
        ),
        (
            "nan",
            "adj_data",
            floats("(6,)", &[1.0, 1.0, f64::NAN, 1.0, 1.0, 1.0]),
            &["adj_data: row 1, column 0 is NaN"],
        ),
        (
            "nan feature",
            "attr_data",
            floats("(2,)", &[1.0, f64::NAN]),
            &["attr_data: node 2, feature 0 is NaN"],
        ),
        (
            "feature rows",
            "attr_shape",
            ints("(2,)", &[2, 2]),
            &["attr_indptr: (4,) int64; expected 3 offsets"],
        ),
        ("labels", "labels", ints("(2,)", &[0, 1]), &["labels: (2,) int64; expected 3 rows"]),
        ("no labels", "labels", vec![], &["labels: no such array"]),
        ("class", "labels", ints("(3,)", &[0, 1, -2]), &["labels: row 2: class -2"]),
        (
            "few class names",
            "class_names",
            npy("|S3", "(1,)", b"one"),
            &["class_names: 1 names, but `labels` goes up to 1"],
        ),
        (
            "few names",
            "node_names",
            npy("|S3", "(1,)", b"one"),
            &["node names: 1 rows, but the graph has 3 nodes"],
        ),
        (
            "cut names",
            "node_names",
            npy("<U9", "(3,)", b"abc"),
            &["node_names: header declares (3,) words = 108 bytes, the file has 3"],
        ),
        (
            "table of names",
            "node_names",
            npy("|S1", "(3, 1)", b"abc"),
            &["node_names: (3, 1) words; expected one dimension"],
        ),
        ("empty names", "node_names", npy("<U0", "(9000000,)", b""), &["node_names: unknown type '<U0'"]),
        ("numbers as names", "node_names", ints("(3,)", &[0, 1, 2]), &["node_names: unknown type '<i8'"]),
    ];
    for (case, key, bytes, fragments) in cases {
        refused(case, read(&[(*key, bytes.clone())]), fragments);
    }
    // Pickled names are passed over, never opened.
    let pickled = read(&[("node_names", npy("|O", "(3,)", b"cos\nsystem\n(S'true'\ntR."))]).unwrap();
    assert_eq!((pickled.node_names, pickled.notes.len()), (None, 1));
    assert!(pickled.notes[0].starts_with("`node_names` is pickled Python"), "{:?}", pickled.notes);
    let odd = read(&[("adj_data", floats("(6,)", &[0.5, 1.0, 0.5, 0.0, 1.0, 0.0]))]).unwrap();
    assert_eq!((odd.graph.counts().edges, odd.graph.weights(0)), (2, Some(&[0.5, 1.0][..])));
}

#[test]
fn heterophilous_files() {
    let good = || {
        vec![
            ("edges", ints("(2, 2)", &[0, 1, 1, 2])),
            ("node_features", floats("(3, 1)", &[1.0, 2.0, 3.0])),
            ("node_labels", ints("(3,)", &[0, 1, 0])),
            ("train_masks", bools("(1, 3)", &[1, 0, 0])),
            ("val_masks", bools("(1, 3)", &[0, 1, 0])),
            ("test_masks", bools("(1, 3)", &[0, 0, 1])),
        ]
    };
    let options = LoadOptions::default();
    let read = |changes: &[(&'static str, Vec<u8>)]| yandex::parse(&mut changed(good(), changes), &options);
    assert_eq!(read(&[]).unwrap().split.test, [2]);
    let none = ["train_masks", "val_masks", "test_masks"].map(|key| (key, vec![]));
    assert_eq!(read(&none).unwrap().split, iglu::Split::default());
    let cases: &[(&str, &'static str, Vec<u8>, &[&str])] = &[
        (
            "nan",
            "node_features",
            floats("(3, 1)", &[1.0, f64::NAN, 3.0]),
            &["node_features: node 1, feature 0 is NaN"],
        ),
        (
            "flat",
            "node_features",
            floats("(3,)", &[1.0; 3]),
            &["node_features: (3,) float64; expected [N, F]"],
        ),
        ("labels", "node_labels", ints("(2,)", &[0, 1]), &["node_labels: (2,) int64; expected 3 rows"]),
        ("edge", "edges", ints("(1, 2)", &[0, 3]), &["edges: row 0: target 3, but there are 3 nodes"]),
        ("mask", "val_masks", bools("(1, 2)", &[0, 1]), &["val_masks: (1, 2) bool; expected 3 columns"]),
        ("overlap", "val_masks", bools("(1, 3)", &[1, 1, 0]), &["val: entry 0: node 0 is already in train"]),
        ("missing", "test_masks", vec![], &["test_masks: no such array"]),
    ];
    for (case, key, bytes, fragments) in cases {
        refused(case, read(&[(*key, bytes.clone())]), fragments);
    }
}

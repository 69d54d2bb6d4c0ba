//! Every bad input gets a message with its place, its value and a remedy; a good one is read first, so that
//! each case fails for its own reason.

#![expect(clippy::unwrap_used, reason = "a failure in a helper is a failed test")]

mod common;

use common::{
    assert_says, bools, changed, floats, folder, ints, npy, npy_with, npz, parse, path_of_four, small,
};
use iglu::config::SplitChoice;
use iglu::{Error, SelfLoops};
use iglu_data::formats::npy::Array;
use iglu_data::{Limits, LoadOptions, load};
use std::path::Path;
use zip::CompressionMethod;

#[test]
fn npy_files() {
    let good = ints("(2,)", &[1, 2]);
    assert_eq!(Array::parse(good.clone()).unwrap().ints::<i64>().unwrap(), [1, 2]);
    let patched = |at: usize, bytes: &[u8]| {
        let mut file = good.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        file
    };
    let version2 = |length: u32| [&b"\x93NUMPY\x02\x00"[..], &length.to_le_bytes(), &good[10..]].concat();
    let with = |extra: &[u8]| [&good, extra].concat();
    let cases: &[(&str, Vec<u8>, &[&str])] = &[
        ("empty", vec![], &["0 bytes", "fetch it again"]),
        ("html", b"<!DOCTYPE html><html>404".to_vec(), &["looks like HTML: the download failed"]),
        ("magic", b"hello, world".to_vec(), &["starts with \"hello, world\"", "not an .npy array"]),
        ("only magic", b"\x93NUMPY\x01".to_vec(), &["npy"]),
        ("zip", b"PK\x03\x04............".to_vec(), &["this is a zip archive"]),
        (
            "truncated",
            npy("<f4", "(2708, 1433)", &[0; 9000]),
            &[
                "header declares (2708, 1433) float32 = 15522256 bytes, the file has 9000",
                "the download was cut short",
            ],
        ),
        ("trailing", with(b"!"), &["(2,) int64 = 16 bytes, the file has 17", "1 bytes follow the array"]),
        ("header beyond file", patched(8, &[0xff, 0x7f]), &["header of 32767 bytes declared", "cut short"]),
        ("header too long", version2(65_537), &["header of 65537 bytes, at most 65536"]),
        ("header of 4 GB", version2(u32::MAX), &["header of 4294967295 bytes"]),
        ("version", patched(6, &[9]), &["npy version 9.0", "1.0, 2.0 and 3.0"]),
        ("overflow", npy("<f4", "(4294967296, 4294967296)", &[]), &["more bytes than 64 bits can count"]),
        ("overflow beside 0", npy("<f4", "(0, 4294967296, 4294967296)", &[]), &["more bytes than 64 bits"]),
        ("dimension", npy("<f4", "(99999999999999999999,)", &[]), &["99999999999999999999 does not fit"]),
        ("huge", npy("<f4", "(1099511627776,)", &[0; 8]), &["= 4398046511104 bytes, the file has 8"]),
        ("negative", npy("<f4", "(-3, 2)", &[]), &["negative"]),
        (
            "object",
            npy("|O", "(2,)", &[0; 16]),
            &["object array = pickled Python; refused, it could run code"],
        ),
        ("complex", npy("<c8", "(1,)", &[0; 8]), &["complex type '<c8'"]),
        ("text", npy("<U3", "(1,)", &[0; 12]), &["text type '<U3'"]),
        ("bytes", npy("|S3", "(1,)", &[0; 3]), &["text type '|S3'"]),
        ("date", npy("<M8[s]", "(1,)", &[0; 8]), &["date type"]),
        ("long double", npy("<f16", "(1,)", &[0; 16]), &["unknown type '<f16'"]),
        ("void", npy("|V8", "(1,)", &[0; 8]), &["structured type"]),
        (
            "records",
            npy_with("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,)}", &[0; 4]),
            &["structured type", "one array per field"],
        ),
        ("no byte order", npy("f8", "(1,)", &[0; 8]), &["without a byte order"]),
        ("missing key", npy_with("{'descr': '<i8', 'shape': (1,)}", &[0; 8]), &["is missing"]),
        (
            "repeated key",
            npy_with("{'shape': (1,), 'descr': '<i8', 'fortran_order': False, 'shape': (2,)}", &[0; 8]),
            &["twice"],
        ),
        ("unknown key", npy_with("{'descr': '<i8', 'colour': 3}", &[]), &["unknown key 'colour'"]),
        ("shape", npy("<i8", "('a',)", &[]), &["no tuple of whole numbers"]),
        ("order", npy_with("{'fortran_order': 1}", &[]), &["neither True nor False"]),
        (
            "junk",
            npy_with("{'descr': '<i8', 'fortran_order': False, 'shape': ()} x", &[0; 8]),
            &["closing brace"],
        ),
        ("open quote", npy_with("{'descr", &[]), &["not closed"]),
        ("nothing", npy_with("", &[]), &["'{' was expected"]),
    ];
    for (case, bytes, fragments) in cases {
        let e = Array::parse(bytes.clone()).map(|a| a.describe()).unwrap_err();
        assert_eq!(e.exit_code(), 65, "{case}");
        assert_says(case, &e, fragments);
    }
}

fn check(case: &str, changes: &[(&'static str, Vec<u8>)], fragments: &[&str]) {
    let e = parse(changed(changes), &small()).expect_err(case);
    assert_eq!(e.exit_code(), 65, "{case}: {e}");
    assert_says(case, &e, fragments);
}

#[test]
fn edges() {
    assert_eq!(parse(changed(&[]), &small()).unwrap().graph.counts().edges, 3);
    let cases: &[(&str, Vec<u8>, &[&str])] = &[
        (
            "missing",
            vec![],
            &["edges: no such array; the file has `test`, `train`, `val`, `x`, `y`", "[E, 2]"],
        ),
        (
            "too large",
            ints("(2, 2)", &[0, 1, 1, 4]),
            &["edges: row 1: target 4, but there are 4 nodes (0..3)"],
        ),
        ("one-based", ints("(2, 2)", &[1, 2, 3, 4]), &["seem to start at 1"]),
        ("negative", ints("(2, 2)", &[0, 1, -3, 2]), &["edges: row 1: source -3, but there are 4 nodes"]),
        ("beyond 32 bits", ints("(1, 2)", &[0, 1 << 40]), &["edges: row 0: target 1099511627776"]),
        ("beyond 64 bits", npy("<u8", "(1, 2)", &[0xff; 16]), &["source 18446744073709551615"]),
        ("fraction", floats("(1, 2)", &[0.0, 1.5]), &["edges: row 0: target 1.5"]),
        ("turned", ints("(2, 3)", &[0, 1, 2, 1, 2, 3]), &["(2, 3) int64; expected [E, 2]", "transpose it"]),
        ("columns", ints("(1, 3)", &[0, 1, 2]), &["(1, 3) int64; expected [E, 2]"]),
        ("dimensions", ints("(1, 2, 1)", &[0, 1]), &["(1, 2, 1) int64; expected [E, 2]"]),
    ];
    for (case, bytes, fragments) in cases {
        check(case, &[("edges", bytes.clone())], fragments);
    }
    check("misspelled", &[("edges", vec![]), ("edge", ints("(1, 2)", &[0, 1]))], &["did you mean `edge`?"]);
    check("directed", &[("directed", ints("()", &[2]))], &["directed: () int64; expected a single 0 or 1"]);
    check(
        "few weights",
        &[("edge_weight", floats("(2,)", &[1.0, 1.0]))],
        &["edge_weight: (2,) float64; expected 3"],
    );
    check(
        "bad weight",
        &[("edge_weight", floats("(3,)", &[1.0, -1.0, 1.0]))],
        &["edge_weight: row 1: weight -1"],
    );
    check("nan weight", &[("edge_weight", floats("(3,)", &[1.0, 1.0, f64::NAN]))], &["edge_weight: row 2"]);
    let options = LoadOptions { self_loops: SelfLoops::Error, ..small() };
    let e = parse(changed(&[("edges", ints("(1, 2)", &[2, 2]))]), &options).unwrap_err();
    assert_says("self loop", &e, &["edges: row 0: node 2 is connected to itself"]);
}

#[test]
fn odd_but_good_edges() {
    for (case, bytes, edges) in [
        ("none", ints("(0, 2)", &[]), 0),
        ("none, flat", ints("(0,)", &[]), 0),
        ("two", ints("(2, 2)", &[0, 1, 1, 2]), 2),
        ("whole floats", floats("(1, 2)", &[0.0, 3.0]), 1),
    ] {
        assert_eq!(
            parse(changed(&[("edges", bytes)]), &small()).expect(case).graph.counts().edges,
            edges,
            "{case}"
        );
    }
}

#[test]
fn features() {
    let mut values = vec![0.5; 8];
    (values[3], values[6], values[7]) = (f64::NAN, f64::INFINITY, f64::NAN);
    let cases: &[(&str, Vec<u8>, &[&str])] = &[
        ("missing", vec![], &["x: no such array", "save node features"]),
        (
            "nan",
            floats("(4, 2)", &values),
            &["x: node 1, feature 1 is NaN (and 2 more in 2 nodes)", "--nan-features"],
        ),
        ("one inf", floats("(4, 1)", &[1.0, 1.0, -f64::INFINITY, 1.0]), &["x: node 2, feature 0 is -inf\n"]),
        (
            "too large",
            floats("(4, 1)", &[1.0, 1.0, 1.0, 1e300]),
            &["node 3, feature 0 is 1", "beyond the range of float32"],
        ),
        ("flat", floats("(4,)", &[0.0; 4]), &["x: (4,) float64; expected [N, F]", "x[:, None]"]),
        ("cube", floats("(4, 1, 1)", &[0.0; 4]), &["x: (4, 1, 1) float64; expected [N, F]"]),
        ("no columns", floats("(4, 0)", &[]), &["x: 0 columns"]),
        ("no nodes", floats("(0, 2)", &[]), &["edges: row 0"]),
        ("object", npy("|O", "(4, 1)", &[0; 32]), &["x: object array = pickled Python"]),
    ];
    for (case, bytes, fragments) in cases {
        check(case, &[("x", bytes.clone())], fragments);
    }
}

#[test]
fn sparse_features() {
    let good: [(&'static str, Vec<u8>); 5] = [
        ("x", vec![]),
        ("x_shape", ints("(2,)", &[4, 3])),
        ("x_indptr", ints("(5,)", &[0, 1, 1, 2, 4])),
        ("x_indices", ints("(4,)", &[2, 0, 1, 0])),
        ("x_data", floats("(4,)", &[1.0, 2.0, 3.0, 4.0])),
    ];
    assert_eq!(parse(changed(&good), &small()).unwrap().features.cols(), 3);
    let cases: &[(&str, &'static str, Vec<u8>, &[&str])] = &[
        ("missing", "x_indptr", vec![], &["x_indptr: no such array", "`x_data`, `x_indices`"]),
        ("shape", "x_shape", ints("(3,)", &[4, 3, 1]), &["x_shape: (3,) int64; expected two"]),
        ("huge shape", "x_shape", ints("(2,)", &[i64::MAX, 3]), &["x_shape"]),
        (
            "declared rows",
            "x_shape",
            ints("(2,)", &[4_000_000_000, 3]),
            &["x_indptr: (5,) int64; expected 4000000001"],
        ),
        ("falling", "x_indptr", ints("(5,)", &[0, 2, 1, 2, 4]), &["x_indptr: entry 2: falls from 2 to 1"]),
        ("start", "x_indptr", ints("(5,)", &[1, 1, 1, 2, 4]), &["x_indptr: starts at 1"]),
        ("negative offset", "x_indptr", ints("(5,)", &[0, -1, 1, 2, 4]), &["x_indptr: entry 1: offset -1"]),
        ("end", "x_indptr", ints("(5,)", &[0, 1, 1, 2, 9]), &["x_indices: (4,) int64; expected 9"]),
        (
            "column",
            "x_indices",
            ints("(4,)", &[2, 0, 3, 0]),
            &["x_indices: entry 2: column 3, but `x_shape` has 3"],
        ),
        ("negative column", "x_indices", ints("(4,)", &[2, 0, -1, 0]), &["x_indices: entry 2: column -1"]),
        ("few values", "x_data", floats("(3,)", &[1.0; 3]), &["x_data: (3,) float64; expected 4 values"]),
        (
            "nan",
            "x_data",
            floats("(4,)", &[1.0, 1.0, f64::NAN, f64::NAN]),
            &["x_data: node 3, feature 1 is NaN (and 1 more in 1 nodes)"],
        ),
    ];
    for (case, key, bytes, fragments) in cases {
        let mut changes = good.to_vec();
        changes.retain(|(k, _)| k != key);
        changes.push((*key, bytes.clone()));
        check(case, &changes, fragments);
    }
}

#[test]
fn labels() {
    let cases: &[(&str, Vec<u8>, &[&str])] = &[
        ("missing", vec![], &["y: no such array", "save the labels under `y`"]),
        ("below -1", ints("(4,)", &[0, 1, -2, 0]), &["y: row 2: class -2"]),
        ("fraction", floats("(4,)", &[0.0, 1.0, 0.5, 0.0]), &["y: row 2: class 0.5"]),
        ("nan", floats("(4,)", &[0.0, f64::NAN, 0.0, 0.0]), &["y: row 1: class NaN"]),
        (
            "huge",
            ints("(4,)", &[0, 1, 2_000_000_000, 0]),
            &["y: class 2000000000 among 4 nodes", "np.unique"],
        ),
        ("beyond 32 bits", ints("(4,)", &[0, 1, 1 << 40, 0]), &["y: row 2: class 1099511627776"]),
        ("rows", ints("(3,)", &[0, 1, 0]), &["y: (3,) int64; expected 4 rows"]),
        (
            "not 0/1",
            floats("(4, 2)", &[0.0, 1.0, 1.0, 0.0, 0.0, 2.0, 1.0, 1.0]),
            &["y: row 2, column 1: 2; expected 0 or 1"],
        ),
        ("column of ids", ints("(4, 1)", &[0, 1, 2, 3]), &["y: row 2, column 0: 2", "y[:, 0]"]),
        ("cube", ints("(4, 1, 1)", &[0; 4]), &["y: (4, 1, 1) int64"]),
        ("no columns", ints("(4, 0)", &[]), &["y: (4, 0) int64"]),
        (
            "unlabelled training node",
            ints("(4,)", &[-1, 1, 0, 0]),
            &["train: entry 0: training node 0 has no label"],
        ),
    ];
    for (case, bytes, fragments) in cases {
        check(case, &[("y", bytes.clone())], fragments);
    }
}

#[test]
fn splits() {
    let cases: &[(&str, &'static str, Vec<u8>, &[&str])] = &[
        ("missing", "val", vec![], &["val: no such array", "an empty array if there are none"]),
        ("out of range", "test", ints("(1,)", &[4]), &["test: entry 0: node 4, but there are 4 nodes"]),
        ("negative", "test", ints("(1,)", &[-1]), &["test: entry 0: node -1"]),
        ("overlap", "val", ints("(1,)", &[1]), &["val: entry 0: node 1 is already in train"]),
        ("twice", "val", ints("(2,)", &[2, 2]), &["val: entry 1: node 2 is already in val"]),
        ("short mask", "val", bools("(3,)", &[0, 0, 1]), &["val: (3,) bool; expected 4 entries"]),
        ("mask as numbers", "val", ints("(4,)", &[0, 0, 1, 0]), &["a mask, or node ids?", "dtype bool"]),
        ("no training", "train", ints("(0,)", &[]), &["train: no training node"]),
        ("matrix", "train", ints("(1, 2)", &[0, 1]), &["train: (1, 2) int64; expected one dimension"]),
    ];
    for (case, key, bytes, fragments) in cases {
        check(case, &[(*key, bytes.clone())], fragments);
    }
    let e = parse(changed(&[]), &LoadOptions { split: 2, ..small() }).unwrap_err();
    assert_says("single split", &e, &["split 2 was asked for, the file has 1 (0..0)"]);
}

/// The arrays without their split, and these instead.
fn without_split(instead: &[(&'static str, Vec<u8>)]) -> Vec<u8> {
    let ids = [("train", vec![]), ("val", vec![]), ("test", vec![])];
    changed(&[&ids[..], instead].concat())
}

#[test]
fn files_without_a_split_are_read_but_not_those_with_a_misnamed_one() {
    let drawn = parse(without_split(&[]), &small()).unwrap();
    assert_eq!((drawn.split.train.len(), drawn.split.val.len(), drawn.split.test.len()), (2, 0, 1));
    assert!(
        drawn.notes[0].contains("no split is stored: training on random:0.6,0.2,0.2"),
        "{:?}",
        drawn.notes
    );
    for name in ["trian", "train_ids", "idx_train", "training"] {
        let e = parse(without_split(&[(name, ints("(1,)", &[0]))]), &small()).expect_err(name);
        assert_says(name, &e, &["train: no such array", &format!("`{name}`")]);
    }
    for (choice, number) in [(SplitChoice::Stored(0), 0), (SplitChoice::Auto, 1)] {
        let options = LoadOptions { split_choice: choice, split: number, ..small() };
        let e = parse(without_split(&[]), &options).unwrap_err();
        assert_says("none stored", &e, &["split: ", "stored", "--split random:0.6,0.2,0.2"]);
    }
}

#[test]
fn single_masks_are_read_and_checked() {
    let masks = |train: Vec<u8>| {
        let [val, test] = [[0, 1, 0, 0], [0, 0, 1, 1]].map(|mask| bools("(4,)", &mask));
        without_split(&[("train_mask", train), ("val_mask", val), ("test_mask", test)])
    };
    for train in [bools("(4,)", &[1, 0, 0, 0]), ints("(4,)", &[1, 0, 0, 0])] {
        let split = parse(masks(train), &small()).unwrap().split;
        assert_eq!((split.train, split.val, split.test), (vec![0], vec![1], vec![2, 3]));
    }
    for (bytes, expect) in [
        (bools("(3,)", &[1, 0, 0]), "train_mask: (3,) bool; expected 4 entries"),
        (ints("(4,)", &[0, 3, 0, 0]), "train_mask: entry 1: 3 in a mask"),
        (vec![], "train_mask: no such array"),
    ] {
        assert_says(expect, &parse(masks(bytes), &small()).unwrap_err(), &[expect]);
    }
}

#[test]
fn masks_of_several_splits() {
    let masks = |shape: &str| {
        let train = bools(shape, &[1, 0, 0, 0, 1, 1, 0, 0]);
        let val = bools(shape, &[0, 1, 0, 0, 0, 0, 1, 0]);
        let test = bools(shape, &[0, 0, 1, 1, 0, 0, 0, 0]);
        [("train_masks", train), ("val_masks", val), ("test_masks", test)]
    };
    let without_ids = |shape: &str| without_split(&masks(shape));
    let split = |n: usize| parse(without_ids("(2, 4)"), &LoadOptions { split: n, ..small() });
    assert_eq!(split(0).unwrap().split.train, [0]);
    assert_eq!((split(1).unwrap().split.train, split(1).unwrap().split.test), (vec![0, 1], vec![]));
    assert_says("range", &split(2).unwrap_err(), &["split: split 2 was asked for, the file has 2 (0..1)"]);
    let e = parse(without_ids("(4, 2)"), &small()).unwrap_err();
    assert_says("turned", &e, &["train_masks: (4, 2) bool; expected 4 columns", "transpose it"]);
    let both = parse(changed(&masks("(2, 4)")), &small()).unwrap();
    assert_eq!(both.split.train, [0, 1], "`train` comes first");
    assert_eq!((both.splits.len(), &both.splits[1].train[..]), (2, &[0, 1][..]));
    let short = [&masks("(2, 4)")[..2], &[("test_masks", bools("(1, 4)", &[0, 0, 1, 1]))]].concat();
    let e = parse(without_split(&short), &small()).unwrap_err();
    assert_says("rows", &e, &["test_masks: 1 rows, but `train_masks` has 2"]);
}

/// Where the only `needle` starts.
fn find(bytes: &[u8], needle: &[u8]) -> usize {
    bytes.windows(needle.len()).position(|w| w == needle).unwrap()
}

#[test]
fn containers() {
    let stored = npz(path_of_four(), CompressionMethod::Stored);
    let central = find(&stored, b"PK\x01\x02");
    let patched = |at: usize, byte: u8| {
        let mut file = stored.clone();
        file[at] ^= byte;
        file
    };
    let data = find(&stored, &1.0_f64.to_le_bytes());
    let cases: &[(&str, Vec<u8>, &[&str])] = &[
        ("truncated", stored[..stored.len() - 40].to_vec(), &["not a whole zip archive"]),
        ("cut in the middle", stored[..300].to_vec(), &["not a whole zip archive"]),
        ("checksum", patched(data + 6, 1), &["x: the checksum of the member does not match"]),
        ("encrypted", patched(central + 8, 1), &["edges: the member is encrypted", "without a password"]),
        ("compression", patched(central + 10, 93), &["edges: Compression method not supported", "np.savez"]),
        ("size", patched(central + 24, 1), &["edges: the directory of the zip declares"]),
    ];
    for (case, bytes, fragments) in cases {
        let e = parse(bytes.clone(), &small()).expect_err(case);
        assert_eq!(e.exit_code(), 65, "{case}: {e}");
        assert_says(case, &e, fragments);
    }
}

#[test]
fn a_member_there_twice_is_refused() {
    let mut bytes =
        npz(path_of_four().into_iter().chain([("z", ints("(1,)", &[0]))]), CompressionMethod::Stored);
    while let Some(at) = bytes.windows(5).position(|w| w == b"z.npy") {
        bytes[at] = b'y';
    }
    assert_says("twice", &parse(bytes, &small()).unwrap_err(), &["member `y.npy` is there twice"]);
}

#[test]
fn bombs_and_names_that_climb_out_do_no_harm() {
    let bomb = npy("<f4", "(65536, 16)", &vec![0; 4 << 20]);
    let bytes = changed(&[("x", bomb.clone())]);
    assert!(bytes.len() < 16 << 10);
    let options = LoadOptions { limits: Limits { max_decompressed: 2 << 20 }, ..small() };
    assert_says(
        "bomb",
        &parse(bytes, &options).unwrap_err(),
        &["x: would expand to 0.0 GiB", "--max-decompressed"],
    );
    // Members that are not needed are not even unpacked.
    let aside = changed(&[("../../etc/x", bomb.clone()), ("/abs", bomb)]);
    assert!(parse(aside, &options).is_ok());
}

fn load_error(path: &Path) -> Error {
    load(path.to_str().unwrap(), &LoadOptions::default()).unwrap_err()
}

#[test]
fn files_that_are_no_datasets() {
    let folder = folder("sources");
    let cases: &[(&str, Vec<u8>, &[&str])] = &[
        ("empty.npz", vec![], &["`", "empty.npz`: 0 bytes"]),
        ("page.npz", b"\n <html><body>404".to_vec(), &["looks like HTML: the download failed"]),
        ("one.npy", ints("(1,)", &[1]), &["a single .npy array", "np.savez"]),
        ("gz.npz", b"\x1f\x8b\x08".to_vec(), &["a gzip file", "unpack it"]),
        ("pickle.npz", b"\x80\x04\x95".to_vec(), &["a Python pickle", "can run code"]),
        ("lfs.npz", b"version https://git-lfs.github.com/spec/v1".to_vec(), &["git lfs pull"]),
        (
            "junk.npz",
            b"\x00\x01abc".to_vec(),
            &["starts with \"\\x00\\x01abc\"", "known formats: ", "plain npz"],
        ),
        ("short.npz", b"PK\x03\x04".to_vec(), &["short.npz`: not a whole zip archive"]),
        ("bad.npz", changed(&[("y", ints("(3,)", &[0, 1, 0]))]), &["bad.npz`: y: (3,) int64"]),
    ];
    for (name, bytes, fragments) in cases {
        std::fs::write(folder.join(name), bytes).unwrap();
        let e = load_error(&folder.join(name));
        assert_eq!(e.exit_code(), 65, "{name}: {e}");
        assert_says(name, &e, fragments);
    }
    let e = load_error(&folder);
    assert_eq!(e.exit_code(), 65);
    assert_says(
        "folder",
        &e,
        &[
            "this is a folder in no known form",
            "check that all its files are there; known formats: iglu store, Planetoid, ",
        ],
    );
    let e = load_error(&folder.join("none.npz"));
    assert_eq!(e.exit_code(), 66);
    assert_says("missing", &e, &["none.npz`: cannot be read"]);
    assert_says("bare name", &load_error(Path::new("arxiv")), &["did you mean `synth:arxiv`?"]);
    if cfg!(unix) {
        assert_says("device", &load_error(Path::new("/dev/zero")), &["this is a pipe or device"]);
    }
}

#[test]
fn recipes() {
    for (source, fragments) in [
        (
            "synth:arxif",
            &["no shape is called `arxif`; there are village, ppi", "did you mean synth:arxiv?"][..],
        ),
        ("synth:", &["no shape is called ``"]),
        ("synth:arxiv@0", &["scale `0`; expected a number above 0"]),
        ("synth:arxiv@-1", &["scale `-1`"]),
        ("synth:arxiv@nan", &["scale `nan`"]),
        ("synth:arxiv@1e9", &["scale `1e9`", "at most 10"]),
        ("synth:arxiv@", &["scale ``"]),
        ("synth:village#x", &["seed `x` is no whole number"]),
    ] {
        let e = load(source, &LoadOptions::default()).unwrap_err();
        assert_eq!(e.exit_code(), 64, "{source}: {e}");
        assert_says(source, &e, fragments);
    }
    let e = load("synth:village", &LoadOptions { split: 1, ..LoadOptions::default() }).unwrap_err();
    assert_eq!(e.exit_code(), 64);
}

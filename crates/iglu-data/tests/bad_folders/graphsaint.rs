//! SciPy's matrices, class maps and roles.

use super::common::folders::copy;
use super::common::{assert_says, csr, floats, ints, npy, npz};
use super::{check, check_missing, error_of, text};
use iglu_data::{Limits, LoadOptions};
use zip::CompressionMethod;

#[test]
fn matrices() {
    let matrix = |arrays: Vec<(&'static str, Vec<u8>)>| npz(arrays, CompressionMethod::Stored);
    let with = |key: &'static str, bytes: Vec<u8>| {
        let mut arrays = csr(&[2, 2], &[0, 1, 2], &[1, 0]);
        arrays.retain(|(k, _)| *k != key);
        arrays.push((key, bytes));
        matrix(arrays)
    };
    check(
        "graphsaint",
        "adj_full.npz",
        &[
            (
                "falling",
                matrix(csr(&[3, 3], &[0, 2, 1, 2], &[1, 0])),
                &["adj_full.npz`: indptr: entry 2: falls from 2 to 1"],
            ),
            (
                "end",
                matrix(csr(&[2, 2], &[0, 1, 3], &[1, 0])),
                &["indices: (2,) int64; expected 3 indices, as `indptr` ends there"],
            ),
            (
                "index",
                matrix(csr(&[2, 2], &[0, 1, 2], &[1, 2])),
                &["indices: entry 1: column 2, but `shape` has 2 columns"],
            ),
            (
                "not square",
                matrix(csr(&[2, 3], &[0, 1, 2], &[1, 2])),
                &["adj_full.npz`: shape: 2 x 3; expected as many columns"],
            ),
            (
                "declared",
                matrix(csr(&[4_000_000_000, 4_000_000_000], &[0], &[])),
                &["indptr: (1,) int64; expected 4000000001"],
            ),
            (
                "format",
                with("format", npy("|S3", "()", b"bsr")),
                &["format: 'bsr'; csr, csc and coo are read", "tocsr"],
            ),
            ("nan", with("data", floats("(2,)", &[1.0, f64::NAN])), &["data: row 1, column 0 is NaN"]),
            ("negative", with("data", floats("(2,)", &[-1.0, -1.0])), &["weight -1"]),
            (
                "hollow",
                matrix(vec![
                    ("format", npy("<U3", "()", b"c\0\0\0o\0\0\0o\0\0\0")),
                    ("shape", ints("(2,)", &[4_000_000_000, 4_000_000_000])),
                    ("row", ints("(1,)", &[0])),
                    ("col", ints("(1,)", &[1])),
                    ("data", floats("(1,)", &[1.0])),
                ]),
                &["shape: 4000000000 rows for 1 entries"],
            ),
            (
                "no matrix",
                matrix(vec![("x", ints("(1,)", &[0]))]),
                &["format: no such array; the file has `x`", "save_npz"],
            ),
        ],
    );
}

#[test]
fn class_maps() {
    let deep = format!("{{\"0\": {}", "[".repeat(100_000));
    check(
        "graphsaint",
        "class_map.json",
        &[
            (
                "no node",
                text("{\"0\": 1, \"12\": 0}"),
                &["class_map.json`: key \"12\": no such node; there are 12 nodes"],
            ),
            ("no number", text("{\"a\": 1}"), &["key \"a\": no such node"]),
            (
                "twice",
                text("{\"0\": 1,\n \"0\": 2}"),
                &["class_map.json`: line 2, column 5: the key \"0\" stands there twice"],
            ),
            (
                "NaN",
                text("{\"0\": NaN}"),
                &["class_map.json`: line 1, column 7: expected value", "NaN and Infinity"],
            ),
            ("1e400", text("{\"0\": 1e400}"), &["number out of range"]),
            (
                "deep",
                text(&deep),
                &["class_map.json`: line 1, column 8: invalid type: sequence, expected f64"],
            ),
            ("fraction", text("{\"0\": 1.5}"), &["invalid value: floating point `1.5`, expected a class"]),
            (
                "not 0 or 1",
                text("{\"0\": [0, 2]}"),
                &["invalid value: floating point `2.0`, expected 0 or 1"],
            ),
            ("mixed", text("{\"0\": [0, 1], \"1\": 1}"), &["key \"1\": the single class 1 among lists"]),
            ("widths", text("{\"0\": [0, 1], \"1\": [1]}"), &["key \"1\": 1 labels; expected 2"]),
            ("unlabelled", text("{\"0\": 1}"), &["train: entry 0: training node 1 has no label"]),
            ("cut", text("{\"0\": 1, \"1"), &["class_map.json`: line 1, column 11: EOF", "cut short"]),
            ("list", text("[1, 2]"), &["expected an object"]),
        ],
    );
}

#[test]
fn roles_and_features() {
    check(
        "graphsaint",
        "role.json",
        &[
            (
                "role",
                text("{\"tr\": [0], \"va\": [1], \"te\": [12]}"),
                &["role.json`: te: entry 0: node 12, but there are 12 nodes"],
            ),
            (
                "negative role",
                text("{\"tr\": [-1], \"va\": [], \"te\": []}"),
                &["role.json`: tr: entry 0: node -1"],
            ),
            (
                "overlap",
                text("{\"tr\": [0], \"va\": [0], \"te\": []}"),
                &["val: entry 0: node 0 is already in train"],
            ),
            (
                "no role",
                text("{\"tr\": [0], \"va\": []}"),
                &["role.json`: line 1, column 21: missing field `te`"],
            ),
            ("role twice", text("{\"tr\": [0], \"tr\": [1]}"), &["duplicate field `tr`"]),
        ],
    );
    check(
        "graphsaint",
        "feats.npy",
        &[
            ("rows", floats("(3, 2)", &[0.0; 6]), &["x: 3 rows, but the graph has 12 nodes"]),
            ("objects", npy("|O", "(12,)", &[0; 96]), &["feats.npy`: object array = pickled Python"]),
            ("nan feature", floats("(1, 2)", &[0.0, f64::NAN]), &["feats.npy`: node 0, feature 1 is NaN"]),
        ],
    );
    check_missing("graphsaint", &["feats.npy", "class_map.json", "role.json"]);
}

#[test]
fn labels_of_few_nodes_are_not_sized_by_many() {
    let work = copy("graphsaint", "wide");
    std::fs::write(work.join("class_map.json"), format!("{{\"0\": [0{}]}}", ", 1".repeat(100_000))).unwrap();
    let options = LoadOptions { limits: Limits { max_decompressed: 1 << 20 }, ..LoadOptions::default() };
    assert_says(
        "wide",
        &error_of(&work, &options),
        &["class_map.json`: 12 nodes with 100001 columns each need 1200012 bytes"],
    );
}

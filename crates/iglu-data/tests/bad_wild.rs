//! Bad inputs in the forms of `wild.rs`: every one gets a message with its place, its value and a remedy. A good one is
//! read first, so that each case fails for its own reason.

#![expect(clippy::unwrap_used, reason = "a failure in a helper is a failed test")]
#![allow(
    clippy::cloned_ref_to_slice_refs,
    clippy::format_collect,
    clippy::large_stack_arrays,
    clippy::too_many_lines,
    clippy::type_complexity,
    reason = "long lists of small files, written to be read"
)]

mod common;

use common::{assert_says, floats, folder, ints, npy, npz};
use iglu::{Dataset, Error, SelfLoops};
use iglu_data::formats::npz::Npz;
use iglu_data::formats::{facebook100, mat::MatFile, shchur, yandex};
use iglu_data::{Limits, LoadOptions, Purpose, load};
use std::io::Cursor;
use std::path::Path;
use zip::CompressionMethod;

/// A folder of its own with these files.
struct Files(std::path::PathBuf);

impl Files {
    fn write(test: &str, files: &[(&str, &[u8])]) -> Self {
        let folder = folder(test);
        for (name, bytes) in files {
            std::fs::write(folder.join(name), bytes).unwrap();
        }
        Self(folder)
    }

    fn load(&self, options: &LoadOptions) -> iglu::Result<Dataset> {
        load(self.0.to_str().unwrap(), options)
    }
}

fn refused(case: &str, result: iglu::Result<Dataset>, fragments: &[&str]) {
    let e = result.map(|data| data.name).expect_err(case);
    assert_eq!(e.exit_code(), 65, "{case}: {e}");
    assert_says(case, &e, fragments);
}

const EDGES: &[u8] = b"source,target\n0,1\n1,2\n2,3\n";
const NODES: &[u8] = b"id,label,split,x\n0,a,train,0.5\n1,b,train,1\n2,a,val,2e0\n3,b,test,-1\n";

fn tables(case: &str, edges: &[u8], nodes: &[u8]) -> iglu::Result<Dataset> {
    Files::write(case, &[("edges.csv", edges), ("nodes.csv", nodes)]).load(&LoadOptions::default())
}

#[test]
fn edge_tables() {
    let good = tables("edge-tables", EDGES, NODES).unwrap();
    assert_eq!((good.graph.counts().edges, good.split.train.len()), (3, 2));
    let long = [b"0,1\n1,", &[b'2'; 3 << 20][..]].concat();
    let cases: &[(&str, &[u8], &[&str])] = &[
        (
            "no number",
            b"0,1\n\n1,2\n12,abc\n",
            &["edges.csv`: line 4, column 2: 'abc'; expected the id of a node"],
        ),
        ("three columns", b"0,1,2\n", &["line 1: 3 columns without names", "source,target,weight"]),
        ("one column", b"0\n1\n", &["line 1: 1 columns without names"]),
        ("ragged", b"0,1\n1,2,3\n", &["line 2: 3 columns; expected 2 columns"]),
        ("short", b"source,target,weight\n0,1\n", &["line 2: 2 columns; expected 3 columns"]),
        (
            "fraction",
            b"0,1\n1,2.7\n",
            &["line 2, column 2: '2.7'; expected the id of a node, a whole number"],
        ),
        ("long line", &long, &["line 2: more than 1048576 bytes without a line end"]),
        ("nul", b"0,1\n0,\x00\n", &["line 2, column 2: '\\x00'; a NUL byte"]),
        ("not utf-8", b"0,1\n0,\xff\n", &["line 2, column 2: '\\xff'; not UTF-8", "save the file as UTF-8"]),
        ("old mac", b"0,1\r1,2\r", &["line 1, column 1: '0,1\\r1,2'; carriage returns", "Unix line ends"]),
        (
            "unknown header",
            b"person,friend\n0,1\n",
            &["line 1, column 1: 'person'; expected the id of a node"],
        ),
        ("no ends", b"source,weight,target_\n0,1,1\n", &["line 1: 3 columns without names"]),
        (
            "two sources",
            b"source,src,target\n0,0,1\n",
            &["columns `source` and `src` could both be the source"],
        ),
        (
            "too large",
            b"0,9999999999999999999999\n",
            &["line 1, column 2: '9999999999999999999999', which does not fit"],
        ),
        (
            "beyond",
            b"0,1\n1,4\n7,0\n",
            &["line 2, column 2: target 4, but there are 4 nodes (0..3)", "(and 1 more)"],
        ),
        ("negative", b"0,1\n-3,2\n", &["line 2, column 1: source -3, but there are 4 nodes"]),
        ("missing", b"0,1\n1,\n", &["line 2, column 2: the value is missing; expected the id of a node"]),
        ("nan weight", b"source,target,weight\n0,1,nan\n", &["line 2, column 3: 'nan'; expected a weight"]),
        ("inf weight", b"source,target,weight\n0,1,inf\n", &["line 2, column 3: 'inf'"]),
        ("negative weight", b"source,target,weight\n0,1,-1\n", &["line 2, column 3: '-1'"]),
        ("open quote", b"source,target\n\"0,1\n2,3\n", &["line 2: a quote is opened and not closed"]),
        ("behind a quote", b"source,target\n\"0\"x,1\n", &["line 2: 'x' behind a closing quote"]),
        ("empty", b"", &["edges.csv`: 0 bytes"]),
        ("only comments", b"# nothing\n\n", &["edges.csv`: no line that is not empty"]),
        (
            "html",
            b"<!DOCTYPE html><html>404</html>",
            &["edges.csv`: starts with \"<!DOCTYPE html><\", looks like HTML"],
        ),
    ];
    for (case, edges, fragments) in cases {
        refused(case, tables("edge-tables", edges, NODES), fragments);
    }
}

#[test]
fn ids_without_a_column_are_rows() {
    let nodes = b"label,x\na,1\nb,2\na,3\n";
    assert_eq!(tables("rows", b"0,1\n1,2\n", nodes).unwrap().graph.counts().edges, 2);
    let beyond = &["line 2, column 2: target 3, but there are 3 nodes (0..2)"];
    refused("beyond", tables("rows", b"0,1\n1,3\n", nodes), &[beyond[0], "check the edges"]);
    refused(
        "one-based",
        tables("rows", b"1,2\n2,3\n1,3\n", nodes),
        &["target 3, but", "(and 1 more)", "start at 1"],
    );
    refused(
        "negative",
        tables("rows", b"0,1\n-1,2\n", nodes),
        &["line 2, column 1: source -1, but there are 3"],
    );
}

#[test]
fn node_tables() {
    let cases: &[(&str, &[u8], &[&str])] = &[
        ("empty", b"", &["nodes.csv`: 0 bytes"]),
        ("no rows", b"id,label,x\n", &["nodes.csv`: no row: a graph without nodes"]),
        ("twice", b"id,label,x\n0,a,1\n1,a,1\n1,b,2\n", &["line 4, column 1: id 1 stands there twice"]),
        ("missing id", b"id,label,x\n0,a,1\n,a,1\n", &["line 3, column 1: the value is missing"]),
        (
            "missing number",
            b"id,label,x\n0,a,1\n1,a,\n",
            &["line 3, column 3: the value is missing; expected a number"],
        ),
        ("first number missing", b"id,label,x\n0,a,\n1,a,2\n", &["line 2, column 3: the value is missing"]),
        (
            "no number",
            b"id,label,x\n0,a,1\n1,a,12x\n",
            &["line 3, column 3: '12x'; expected a number, as in the rows before"],
        ),
        ("nan", b"id,label,x\n0,a,1\n1,a,nan\n", &["line 3, column 3: 'nan'; expected a finite number"]),
        (
            "too large",
            b"id,label,x\n0,a,1\n1,a,1e39\n",
            &["'1e39'; expected a finite number within the range of float32"],
        ),
        ("fraction as class", b"id,label,x\n0,0.5,1\n", &["line 2, column 2: '0.5'; expected a class"]),
        ("no label", b"id,x\n0,1\n1,1\n2,1\n3,1\n", &["the node table has no column `label`"]),
        ("two labels", b"id,label,y,x\n0,a,1,1\n", &["columns `label` and `y` could both be the class"]),
        (
            "split",
            b"id,label,split,x\n0,a,train,1\n1,a,tests,1\n",
            &["line 3, column 3: 'tests'; expected train, val, test"],
        ),
        (
            "split and mask",
            b"id,label,split,train_mask\n0,a,train,1\n",
            &["both a column `split` and columns of masks"],
        ),
        (
            "mask",
            b"id,label,train_mask,x\n0,a,2,1\n",
            &["line 2, column 3: '2'; expected true or false, 1 or 0"],
        ),
        (
            "unlabelled",
            b"id,label,split,x\n0,,train,1\n1,a,val,1\n2,a,val,1\n3,a,val,1\n",
            &["train: entry 0: training node 0 has no label"],
        ),
        ("not utf-8", b"id,label,x\n0,\xff\xfe,1\n", &["line 2, column 2: '\\xff\\xfe'; not UTF-8"]),
    ];
    for (case, nodes, fragments) in cases {
        refused(case, tables("node-tables", EDGES, nodes), fragments);
    }
    let quantity: String = (0..300).map(|i| format!("{i},{},1\n", i * 7)).collect();
    let quantity = format!("id,label,x\n{quantity}");
    refused(
        "quantity",
        tables("node-tables", b"0,1\n", quantity.as_bytes()),
        &["column `label`: 300 different values in 300 rows", "cut a quantity"],
    );
}

#[test]
fn tables_of_splits_and_files_that_do_not_go_together() {
    let plain = b"id,label,x\n0,a,1\n1,b,1\n2,a,2\n3,b,3\n";
    let with = |splits: &[u8], options: &LoadOptions| {
        Files::write("splits", &[("edges.csv", EDGES), ("nodes.csv", plain), ("splits.csv", splits)])
            .load(options)
    };
    let first = LoadOptions::default();
    let good = with(b"id,split\n3,train\n0,test\n", &first).unwrap();
    assert_eq!((good.split.train, good.split.val, good.split.test), (vec![3], vec![], vec![0]));
    refused("twice", with(b"id,split\n3,train\n3,test\n", &first), &["node 3 is already in train"]);
    refused(
        "unknown",
        with(b"id,split\n9,train\n", &first),
        &["splits.csv`: line 2, column 1: 9 is none of the 4 nodes"],
    );
    refused(
        "columns",
        with(b"node,part\n3,train\n", &first),
        &["columns `node`, `part`; expected `id` and `split`"],
    );
    let third = LoadOptions { split: 2, ..first.clone() };
    refused(
        "number",
        with(b"id,split_0,split_1\n3,train,test\n", &third),
        &["split 2 was asked for, the file has 2 (0..1)"],
    );
    let two = [("edges.csv", EDGES), ("nodes.csv", NODES), ("splits.csv", b"id,split\n0,train\n")];
    refused(
        "two splits",
        Files::write("splits", &two).load(&first),
        &["both the node table and a table of splits"],
    );
    let two = [("edges.csv", EDGES), ("edges.tsv", EDGES), ("nodes.csv", NODES)];
    refused(
        "two edges",
        Files::write("splits", &two).load(&first),
        &["both `edges.csv` and `edges.tsv` are there"],
    );
    let alone = Files::write("splits", &[("edges.csv", EDGES)]);
    refused("alone", alone.load(&first), &["edges.csv`: there is no node table, so no labels to learn"]);
    let looked = alone.load(&LoadOptions { purpose: Purpose::Predict, ..first.clone() }).unwrap();
    assert_eq!((looked.graph.nodes(), looked.labels.classes()), (4, 0));
    let kinds: String = (0..300).map(|i| format!("0,1,k{i}\n")).collect();
    let kinds = format!("source,target,type\n{kinds}");
    refused("kinds", tables("splits", kinds.as_bytes(), NODES), &["300 kinds of edges; at most 256"]);
    let loops = LoadOptions { self_loops: SelfLoops::Error, ..first.clone() };
    let looped = Files::write("splits", &[("edges.csv", b"0,1\n2,2\n"), ("nodes.csv", NODES)]);
    refused("self loop", looped.load(&loops), &["node 2 is connected to itself"]);
    if !cfg!(feature = "parquet") {
        let parquet = Files::write("splits", &[("edges.parquet", b"PAR1"), ("nodes.csv", NODES)]);
        refused("parquet", parquet.load(&first), &["this is a Parquet file", "--features parquet"]);
    }
}

#[test]
fn odd_but_good_tables() {
    let nodes: &[u8] = b"\xef\xbb\xbfID;Label;Weight of it\r\n\"x;1\";1;1.5\r\n 007 ; ;2\r\n7;3.0;+3\r\n";
    let data = tables("odd", b"FROM\tto\ttype\nx;1\t007\tA\n7\tx;1\tB\n", nodes).unwrap();
    assert_eq!(data.node_names.unwrap().iter().collect::<Vec<_>>(), ["x;1", "007", "7"]);
    assert_eq!(data.class_names.unwrap().iter().collect::<Vec<_>>(), ["1", "3"]);
    assert_eq!(data.labels, iglu::Labels::Classes { ids: vec![0, -1, 1], classes: 2 });
    assert_eq!((data.relations.len(), data.relations[1].graph.neighbours(0)), (2, &[2][..]));
    for (case, edges, count, notes) in [
        ("no edges", &b"source,target\n"[..], 0, 1),
        ("whole floats", b"0.0,1.0\n", 1, 0),
        ("both ways", b"0,1\n1,0\n", 1, 0),
        ("repeated", b"0,1\n0,1\n2,2\n", 1, 0),
        ("ones", b"source,target,weight\n0,1,1\n", 1, 0),
        ("semicolons", b"0;1\n2;3\n", 2, 0),
        ("blanks", b"  0   1\n2 3  \n", 2, 0),
        ("a year", b"source,target,year\n0,1,1999\n", 1, 1),
        ("an index", b",source,target\n0,0,1\n", 1, 0),
    ] {
        let data = tables("odd", edges, NODES).expect(case);
        assert_eq!((data.graph.counts().edges, data.notes.len()), (count, notes), "{case}: {:?}", data.notes);
        assert_eq!(data.graph.all_weights(), None, "{case}");
    }
    let one = tables("odd", b"source,target\n", b"id,label\n5,a\n").unwrap();
    assert_eq!((one.graph.nodes(), one.features.cols()), (1, 3));
    let heavy = tables("odd", b"source,target,weight\n0,1,2\n1,0,0.5\n", NODES).unwrap();
    assert_eq!(heavy.graph.weights(0), Some(&[2.5][..]));
    let text = b"id,label,title,age\n0,a,,1\n1,b,a title,2\n";
    let data = tables("odd", b"0,1\n", text).unwrap();
    assert_eq!(
        (data.features.cols(), &data.notes[..1]),
        (1, &["column `title` holds text and is not used".to_string()][..])
    );
}

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
    Npz::new(Cursor::new(npz(arrays, CompressionMethod::Stored)), Limits::default()).unwrap()
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
            ("train_masks", common::bools("(1, 3)", &[1, 0, 0])),
            ("val_masks", common::bools("(1, 3)", &[0, 1, 0])),
            ("test_masks", common::bools("(1, 3)", &[0, 0, 1])),
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
        (
            "mask",
            "val_masks",
            common::bools("(1, 2)", &[0, 1]),
            &["val_masks: (1, 2) bool; expected 3 columns"],
        ),
        (
            "overlap",
            "val_masks",
            common::bools("(1, 3)", &[1, 1, 0]),
            &["val: entry 0: node 0 is already in train"],
        ),
        ("missing", "test_masks", vec![], &["test_masks: no such array"]),
    ];
    for (case, key, bytes, fragments) in cases {
        refused(case, read(&[(*key, bytes.clone())]), fragments);
    }
}

/// An element of a MATLAB file.
fn element(kind: u32, data: &[u8]) -> Vec<u8> {
    let mut out = [kind.to_le_bytes(), (data.len() as u32).to_le_bytes()].concat();
    out.extend(data);
    out.resize(out.len().next_multiple_of(8), 0);
    out
}

fn words32(values: &[i32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// An array of a MATLAB file: what stands before its numbers, and these.
fn array(name: &str, class: i32, dims: &[i32], numbers: &[Vec<u8>]) -> Vec<u8> {
    let parts = [element(6, &words32(&[class, 0])), element(5, &words32(dims)), element(1, name.as_bytes())];
    element(14, &[parts.concat(), numbers.concat()].concat())
}

fn matlab(arrays: &[Vec<u8>]) -> Vec<u8> {
    let mut out = b"MATLAB 5.0 MAT-file".to_vec();
    out.resize(124, b' ');
    out.extend(b"\x00\x01IM");
    out.extend(arrays.concat());
    out
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    zlib.write_all(bytes).unwrap();
    let stream = zlib.finish().unwrap();
    [15_u32.to_le_bytes().to_vec(), (stream.len() as u32).to_le_bytes().to_vec(), stream].concat()
}

/// One friendship of two.
fn friends(rows: &[i32], offsets: &[i32], values: &[u8]) -> Vec<u8> {
    array("A", 5, &[2, 2], &[element(5, &words32(rows)), element(5, &words32(offsets)), element(2, values)])
}

fn info(values: &[u8]) -> Vec<u8> {
    array("local_info", 9, &[2, 3], &[element(2, values)])
}

#[test]
fn matlab_files() {
    let small = LoadOptions { limits: Limits { max_decompressed: 1 << 20 }, ..LoadOptions::default() };
    let read = |bytes: Vec<u8>| {
        let mut file = MatFile::parse(bytes, small.limits)?;
        facebook100::parse(&mut file, &small)
    };
    let (a, b) = (friends(&[1, 0], &[0, 1, 2], &[1, 1]), info(&[1, 2, 1, 0, 5, 6]));
    let good = read(matlab(&[a.clone(), b.clone()])).unwrap();
    assert_eq!((good.graph.counts().edges, good.features.cols()), (1, 4));
    assert_eq!(good.labels, iglu::Labels::Classes { ids: vec![0, -1], classes: 2 });
    assert_eq!(read(matlab(&[packed(&a), b.clone(), packed(b"")])).map(|_| ()).unwrap_err().exit_code(), 65);
    assert_eq!(read(matlab(&[packed(&a), packed(&b)])).unwrap().graph, good.graph);

    let hdf = [&b"MATLAB 7.3 MAT-file"[..], &[b' '; 105], b"\x00\x02IM\x89HDF"].concat();
    let other = |array: Vec<u8>| matlab(&[a.clone(), array]);
    let bomb = |size: usize| packed(&array("local_info", 9, &[2, 3], &[element(2, &vec![0; size])]));
    let typed = |kind: u32| other(array("local_info", 9, &[2, 3], &[element(kind, &[1; 6])]));
    let graph = |array: Vec<u8>| matlab(&[array, b.clone()]);
    let cases: &[(&str, Vec<u8>, &[&str])] = &[
        ("version 7.3", hdf, &["a MATLAB file of version 7.3 (HDF5)", "'-v7'"]),
        ("short", b"MATLAB 5.0 MAT".to_vec(), &["14 bytes; the header alone has 128", "cut short"]),
        (
            "order",
            [&matlab(&[])[..126], b"XX"].concat(),
            &["byte 124: version and byte order \"\\x00\\x01XX\""],
        ),
        ("type 8", typed(8), &["local_info: an element of type 8; expected numbers"]),
        ("type 20", typed(20), &["local_info: an element of type 20; expected numbers"]),
        (
            "type 255",
            matlab(&[element(255, &[0; 8])]),
            &["byte 128: an element of type 255; expected an array"],
        ),
        ("type 917504", matlab(&[element(14 << 16, &[0; 8])]), &["byte 128: type 917504 and length 8"]),
        (
            "beyond",
            matlab(&[a.clone()])[..matlab(&[a.clone()]).len() - 8].to_vec(),
            &["byte 128: an element of"],
        ),
        (
            "half a tag",
            [matlab(&[a.clone()]), vec![14, 0]].concat(),
            &["byte 240: the data end inside a tag"],
        ),
        (
            "overflow",
            other(array("local_info", 9, &[i32::MAX, i32::MAX, i32::MAX], &[element(2, &[])])),
            &[
                "local_info: header declares (2147483647, 2147483647, 2147483647) uint8, more bytes than 64 bits can count",
            ],
        ),
        (
            "dimensions",
            other(array("local_info", 9, &[2, 1 << 30], &[element(2, &[1; 6])])),
            &["= 2147483648 bytes, the file has 6"],
        ),
        (
            "negative",
            other(array("local_info", 9, &[-2, 3], &[element(2, &[1; 6])])),
            &["dimensions: -2; expected 0 or more"],
        ),
        (
            "one dimension",
            other(array("local_info", 9, &[6], &[element(2, &[1; 6])])),
            &["dimensions: 1 of them; expected 2 or more"],
        ),
        ("bomb", other(bomb(4 << 20)), &["local_info: unpacks to more than 0.0 GiB", "max_decompressed"]),
        ("cut stream", other(packed(&b)[..40].to_vec()), &["byte 240: an element of"]),
        ("broken stream", other(element(15, &[1; 40])), &["byte 240: cannot be unpacked"]),
        (
            "packed number",
            other(packed(&element(9, &[0; 8]))),
            &["byte 240: an element of type 9; expected a packed array"],
        ),
        ("twice", matlab(&[a.clone(), a.clone()]), &["byte 240: variable `A` is there twice"]),
        (
            "other names",
            matlab(&[array("W", 5, &[2, 2], &[]), array("net", 2, &[1, 1], &[]), b.clone()]),
            &[
                "A: no such variable; the file has `W` (sparse 2 x 2), `net` (struct 1 x 1), `local_info` (uint8 2 x 3)",
                "scipy.io.loadmat",
            ],
        ),
        ("nothing", matlab(&[]), &["A: no such variable; the file has none"]),
        (
            "full graph",
            graph(array("A", 6, &[2, 2], &[element(9, &[0; 32])])),
            &["A: double 2 x 2; expected a sparse matrix", "sparse(...)"],
        ),
        ("object", graph(array("A", 17, &[2, 2], &[])), &["no such variable"]),
        (
            "function",
            graph(array("A", 16, &[1, 1], &[])),
            &["A: function handle 1 x 1; expected a sparse matrix"],
        ),
        ("cell", other(array("local_info", 1, &[1, 1], &[])), &["local_info: cell 1 x 1; expected numbers"]),
        (
            "complex",
            other(array("local_info", 9 | 8 << 8, &[2, 3], &[])),
            &["local_info: complex uint8 2 x 3; expected real numbers"],
        ),
        (
            "sparse info",
            other(array("local_info", 5, &[2, 3], &[])),
            &["local_info: sparse 2 x 3; expected a full matrix"],
        ),
        (
            "row",
            graph(friends(&[1, 2], &[0, 1, 2], &[1, 1])),
            &["A: row indices: entry 1: row 2, but `dimensions` has 2 rows"],
        ),
        (
            "offsets",
            graph(friends(&[1, 0], &[0, 2, 1], &[1, 1])),
            &["A: column offsets: entry 2: falls from 2 to 1"],
        ),
        (
            "few offsets",
            graph(friends(&[1, 0], &[0, 2], &[1, 1])),
            &["A: column offsets: (2,) int32; expected 3 offsets"],
        ),
        (
            "few rows",
            graph(friends(&[1], &[0, 1, 2], &[1, 1])),
            &["A: row indices: (1,) int32; expected 2 indices"],
        ),
        (
            "few values",
            graph(friends(&[1, 0], &[0, 1, 2], &[1])),
            &["A: values: (1,) uint8; expected 2 values"],
        ),
        (
            "gender",
            other(info(&[1, 2, 3, 0, 5, 6])),
            &["local_info: row 0, column 1: 3; expected 1 or 2, or 0 for unknown"],
        ),
        (
            "fraction",
            other(array(
                "local_info",
                6,
                &[2, 2],
                &[element(9, &[0.5_f64, 1.0, 1.0, 1.0].map(f64::to_le_bytes).concat())],
            )),
            &["local_info: row 0, column 0: 0.5; expected a whole number"],
        ),
        (
            "one column",
            other(array("local_info", 9, &[2, 1], &[element(2, &[1, 2])])),
            &["local_info: (2, 1) uint8; expected a column of genders"],
        ),
        (
            "rows",
            other(array("local_info", 9, &[3, 2], &[element(2, &[1; 6])])),
            &["x: 3 rows, but the graph has 2 nodes"],
        ),
    ];
    for (case, bytes, fragments) in cases {
        refused(case, read(bytes.clone()), fragments);
    }
    let path = folder("matlab").join("net.mat");
    std::fs::write(&path, matlab(&[a])).unwrap();
    let e = load(path.to_str().unwrap(), &LoadOptions::default()).unwrap_err();
    assert_says("path", &e, &["net.mat`: local_info: no such variable; the file has `A` (sparse 2 x 2)"]);
}

#[test]
fn musae_folders() {
    let edges: &[u8] = b"id_1,id_2\n0,1\n1,2\n";
    let target: &[u8] = b"id,name,ml_target\n0,a,0\n1,b,1\n2,c,1\n";
    let features: &[u8] = br#"{"0": [0, 2], "1": [1], "2": []}"#;
    let read = |edges: &[u8], target: &[u8], features: &[u8]| {
        let files = [("git_edges.csv", edges), ("git_target.csv", target), ("git_features.json", features)];
        Files::write("musae", &files).load(&LoadOptions::default())
    };
    let good = read(edges, target, features).unwrap();
    assert_eq!((good.features.cols(), good.node_names.unwrap().get(2)), (3, "c"));
    let cases: &[(&str, &[u8], &[u8], &[u8], &[&str])] = &[
        (
            "edge",
            b"id_1,id_2\n0,3\n",
            target,
            features,
            &["git_edges.csv`: line 2, column 2: target 3, but there are 3 nodes"],
        ),
        (
            "class column",
            edges,
            b"id,name,a,b\n0,a,0,1\n",
            features,
            &["git_target.csv`: header: columns `id`, `name`, `a`, `b`; none of them is the class"],
        ),
        ("id column", edges, b"number,target\n0,1\n", features, &["none of them is the id"]),
        (
            "traffic",
            edges,
            &traffic(),
            features,
            &["column `target`: 400 different values", "cut a quantity"],
        ),
        ("key", edges, target, br#"{"7": [0]}"#, &["git_features.json`: key \"7\" is none of the 3 nodes"]),
        ("word", edges, target, br#"{"x": [0]}"#, &["key \"x\" is none of the 3 nodes"]),
        ("twice", edges, target, br#"{"0": [0], "0": [1]}"#, &["the key \"0\" stands there twice"]),
        ("number", edges, target, br#"{"0": [4000000000]}"#, &["key \"0\": feature 4000000000; at most"]),
        ("negative", edges, target, br#"{"0": [-1]}"#, &["line 1, column", "invalid value: integer `-1`"]),
        ("no features", edges, target, br"{}", &["x: 0 columns"]),
    ];
    for (case, edges, target, features, fragments) in cases {
        refused(case, read(edges, target, features), fragments);
    }
}

fn traffic() -> Vec<u8> {
    let rows: String = (0..400).map(|i| format!("{i},{}\n", 1000 + 7 * i)).collect();
    format!("id,target\n{rows}").into_bytes()
}

#[test]
fn geom_gcn_folders() {
    let edges: &[u8] = b"node_id\tnode_id\n0\t1\n1\t2\n";
    let nodes: &[u8] = b"node_id\tfeature\tlabel\n0\t1,0\t0\n1\t0,1\t1\n2\t1,1\t1\n";
    let read = |edges: &[u8], nodes: &[u8], split: usize| {
        let name = format!("{}_split_0.6_0.2_0.npz", folder("geom").file_name().unwrap().to_string_lossy());
        let mask = |bits: &[u8]| common::bools("(3,)", bits);
        let parts = [
            ("train_mask", mask(&[1, 0, 0])),
            ("val_mask", mask(&[0, 1, 0])),
            ("test_mask", mask(&[0, 0, 1])),
        ];
        let split_file = npz(parts, CompressionMethod::Stored);
        let files = [
            ("out1_graph_edges.txt", edges),
            ("out1_node_feature_label.txt", nodes),
            (&name, &split_file[..]),
        ];
        Files::write("geom", &files).load(&LoadOptions { split, ..LoadOptions::default() })
    };
    let good = read(edges, nodes, 0).unwrap();
    assert_eq!((good.graph.counts().edges, good.split.test), (2, vec![2]));
    let cases: &[(&str, &[u8], &[u8], usize, &[&str])] = &[
        (
            "edge",
            b"node_id\tnode_id\n0\t3\n",
            nodes,
            0,
            &["edges.txt`: line 2, column 2: node 3 is none of the 3 nodes"],
        ),
        (
            "no number",
            b"node_id\tnode_id\n0\tx\n",
            nodes,
            0,
            &["edges.txt`: line 2, column 2: 'x'; expected a node id"],
        ),
        (
            "columns",
            b"node_id\tnode_id\n0\n",
            nodes,
            0,
            &["edges.txt`: line 2: 1 column; expected 2 columns"],
        ),
        ("fields", edges, b"h\n0\t1\n", 0, &["label.txt`: line 2: 2 columns; expected 3 columns"]),
        (
            "feature",
            edges,
            b"h\n0\t1,x\t0\n",
            0,
            &["label.txt`: line 2, column 2: 'x'; expected finite numbers"],
        ),
        ("class", edges, b"h\n0\t1,0\t0.5\n", 0, &["label.txt`: line 2, column 3: '0.5'; expected a class"]),
        ("twice", edges, b"h\n0\t1\t0\n0\t1\t0\n", 0, &["label.txt`: line 3: node 0 stands there twice"]),
        (
            "lists",
            edges,
            b"h\n0\t1\t0\n1\t0.5,2\t0\n2\t1\t0\n",
            0,
            &["line 3: feature 0.5 in rows of different lengths"],
        ),
        (
            "far list",
            edges,
            b"h\n0\t1\t0\n1\t99999999,2\t0\n2\t1\t0\n",
            0,
            &["line 3: feature 100000000 in rows"],
        ),
        ("split", edges, nodes, 1, &["splits: split 1 was asked for, the file has 1 (0..0)"]),
        ("mask", b"h\n", b"h\n0\t1\t0\n", 0, &["train_mask: (3,) bool; expected 1 entries"]),
    ];
    for (case, edges, nodes, split, fragments) in cases {
        refused(case, read(edges, nodes, *split), fragments);
    }
}

#[test]
fn files_that_are_missing_are_named() {
    let e = load_error(&Files::write("none", &[]).0.join("none.csv"));
    assert_eq!(e.exit_code(), 66);
    assert_says("missing", &e, &["none.csv`: cannot be read"]);
    let folder = Files::write("none", &[("out1_graph_edges.txt", b"h\n0\t1\n")]).0;
    let e = load_error(&folder.join("out1_graph_edges.txt"));
    assert_eq!(e.exit_code(), 66, "{e}");
    assert_says("half", &e, &["out1_node_feature_label.txt`: cannot be read"]);
}

fn load_error(path: &Path) -> Error {
    load(path.to_str().unwrap(), &LoadOptions::default()).unwrap_err()
}

/// A Parquet table of `golden/wild/tables/bad`, with some bytes changed.
#[cfg(feature = "parquet")]
fn parquet(name: &str, change: impl FnOnce(&mut Vec<u8>)) -> iglu::Result<Dataset> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/wild/tables/bad").join(name);
    let mut edges = std::fs::read(path).unwrap();
    change(&mut edges);
    Files::write("parquet", &[("edges.parquet", &edges), ("nodes.csv", NODES)]).load(&LoadOptions::default())
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_tables() {
    let as_it_is = |name: &str| parquet(name, |_| ());
    assert_eq!(as_it_is("good.parquet").unwrap().graph.counts().edges, 3);
    assert_eq!(as_it_is("dictionary.parquet").unwrap().graph.counts().edges, 3);
    let files: &[(&str, &[&str])] = &[
        ("nested.parquet", &["edges.parquet`: columns inside columns", "save a plain table"]),
        ("pair.parquet", &["columns inside columns"]),
        ("null.parquet", &["row 1, column 1: the value is missing; expected the id of a node", "fill it in"]),
        ("decimal.parquet", &["column `source` has the type FIXED_LEN_BYTE_ARRAY", "whole numbers"]),
        ("unsigned.parquet", &["row 2, column 1: 18446744073709551615 does not fit"]),
        ("gzip.parquet", &["column `source`: packed with GZIP", "compression=\"snappy\""]),
        ("delta.parquet", &["column `source`: encoding 5; plain values and dictionaries are read"]),
    ];
    for (name, fragments) in files {
        refused(name, as_it_is(name), fragments);
    }
    let good = |change: fn(&mut Vec<u8>)| parquet("good.parquet", change);
    let coded = |change: fn(&mut Vec<u8>)| parquet("dictionary.parquet", change);
    let cases = [
        ("cut", good(|file| file.truncate(400)), "the end of the file is missing"),
        ("only magic", good(|file| file.truncate(4)), "the end of the file is missing"),
        (
            "footer",
            good(|file| file[752..756].fill(0x7f)),
            "a footer of 2139062143 bytes is declared, the file has 760",
        ),
        ("broken footer", good(|file| file[300..700].fill(0xff)), "the footer is malformed"),
        ("no size", good(|file| file[7] = 0x7f), "column `source`: a page without a size"),
        (
            "page beyond",
            good(|file| file[9] = 0x7e),
            "column `source`: a page of 63 bytes reaches beyond its column",
        ),
        ("encoding", good(|file| file[14] = 0x0a), "column `source`: encoding 5"),
        ("header", good(|file| file[4] = 0xff), "column `source`: the header of a page is malformed"),
        (
            "dictionary",
            coded(|file| file[12] = 0x7e),
            "column `source`: a dictionary of 63 values in 15 bytes",
        ),
        ("index", coded(|file| file[0x46] = 0xff), "cannot be read as Parquet"),
    ];
    for (case, result, fragment) in cases {
        refused(case, result, &[fragment]);
    }
    let renamed = parquet("good.parquet", |file| {
        while let Some(at) = file.windows(6).position(|w| w == b"source") {
            file[at..at + 6].copy_from_slice(b"person");
        }
    });
    refused("missing column", renamed, &["header: columns `person`, `target`; no two of them are the ends"]);
}

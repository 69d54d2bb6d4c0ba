//! OGB's tables, arrays and splits.

use super::common::folders::{copy, packed};
use super::common::{assert_says, floats, ints, npy, npz};
use super::{check, check_missing, error_of, text};
use iglu_data::{LoadOptions, Purpose, load};
use zip::CompressionMethod;

fn gz(text: &str) -> Vec<u8> {
    packed(text.as_bytes())
}

#[test]
fn edges() {
    let edges = "0,1\n1,2\n";
    let long = format!("0,{}1\n", " ".repeat(3 << 20));
    check(
        "ogb_citation",
        "raw/edge.csv.gz",
        &[
            (
                "cut gzip",
                packed(edges.as_bytes())[..20].to_vec(),
                &["raw/edge.csv.gz`: the gzip data end before they are complete", "cut short"],
            ),
            (
                "garbage",
                [packed(edges.as_bytes()), b"more".to_vec()].concat(),
                &["edge.csv.gz`: after the gzip data the file goes on with \"more\""],
            ),
            (
                "bomb",
                packed(&b"0,1\n".repeat(2 << 20)),
                &["edge.csv.gz`: unpacks to more than the limit", "--max-decompressed"],
            ),
            ("letters", gz("0,1\n12,abc\n"), &["edge.csv.gz`: line 2, column 2: 'abc'; expected a node id"]),
            ("columns", gz("0,1\n1,2,3\n"), &["edge.csv.gz`: line 2: 3 columns; expected 2 columns"]),
            ("fraction", gz("0,3.7\n"), &["line 1, column 2: '3.7'"]),
            ("long line", gz(&long), &["line 1: more than 1048576 bytes without a line end"]),
            ("NUL", gz("0,1\n0,\0\n"), &["line 2, column 2: '\\x00'; a NUL byte"]),
            ("no UTF-8", packed(b"0,\xff\n"), &["'\\xff'; not UTF-8"]),
            ("old Mac", gz("0,1\r1,2\r"), &["carriage returns without line feeds"]),
            ("header", gz("source,target\n0,1\n"), &["line 1, column 1: 'source'; looks like a header"]),
            (
                "too long a number",
                gz("0,9999999999999999999999\n"),
                &["'9999999999999999999999', which does not fit"],
            ),
            ("id", gz("0,1\n1,12\n"), &["edge.csv.gz`: line 2: target 12, but there are 12 nodes (0..11)"]),
            ("negative id", gz("-3,1\n"), &["line 1: source -3, but there are 12 nodes"]),
            ("from 1", gz("1,2\n11,12\n"), &["line 2: target 12", "seem to start at 1"]),
            ("count of edges", gz(edges), &["edge.csv.gz`: 2 lines, but num-edge-list says 20"]),
            (
                "page",
                text("<html>404"),
                &["edge.csv.gz`: starts with \"<html>404\", looks like HTML", "fetch the file itself"],
            ),
            (
                "packed page",
                gz("<!DOCTYPE html>"),
                &["edge.csv.gz`: starts with \"<!DOCTYPE html>\", looks like HTML"],
            ),
            (
                "pointer",
                text("version https://git-lfs.github.com/spec/v1"),
                &["a Git LFS pointer", "git lfs pull"],
            ),
        ],
    );
}

#[test]
fn tables() {
    check(
        "ogb_citation",
        "raw/num-node-list.csv.gz",
        &[
            ("count of nodes", gz("13\n"), &["node-label.csv.gz`: 12 rows, but the dataset has 13 nodes"]),
            ("huge count", gz("4000000000000\n"), &["has 4000000000000 nodes"]),
            ("negative count", gz("-1\n"), &["num-node-list.csv.gz`: -1; expected 0 or more"]),
            ("several graphs", gz("6\n6\n"), &["2 numbers: a dataset of several graphs"]),
        ],
    );
    check(
        "ogb_citation",
        "raw/node-feat.csv.gz",
        &[
            (
                "rows of features",
                gz("1,2\n3,4\n"),
                &["node-feat.csv.gz`: 2 rows, but the dataset has 12 nodes"],
            ),
            ("nan", gz("1,2\n3,nan\n-inf,1\n"), &["node-feat.csv.gz`: line 2, column 2: NaN (and 1 more)"]),
            ("beyond float32", gz("1,1e39\n"), &["line 1, column 2: inf; expected a number within"]),
            ("empty field", gz("1,\n"), &["line 1, column 2: ''; expected a number"]),
        ],
    );
    check(
        "ogb_citation",
        "raw/node-label.csv.gz",
        &[
            ("label", gz("0\n1.5\n"), &["node-label.csv.gz`: line 2, column 1: label 1.5; expected a class"]),
            ("negative label", gz("0\n-2\n"), &["line 2, column 1: label -2"]),
            ("huge label", gz(&"2000000000\n".repeat(12)), &["class 2000000000 among 12 nodes"]),
        ],
    );
    check(
        "ogb_citation",
        "split/time/test.csv.gz",
        &[
            ("node of split", gz("3\n12\n"), &["test.csv.gz`: line 2: node 12, but there are 12 nodes"]),
            ("overlap", gz("0\n1\n2\n3\n4\n5\n6\n"), &["is already in train"]),
        ],
    );
    check("ogb_citation", "split/time/train.csv.gz", &[("nobody", gz("\n"), &["train: no training node"])]);
    check(
        "ogb_citation",
        "raw/triplet-type-list.csv.gz",
        &[("types", gz("a,b,c\n"), &["nodes of several types, as in ogbn-mag"])],
    );
    check(
        "ogb_proteins",
        "raw/edge-feat.csv",
        &[
            ("rows", text("1,2,3\n"), &["edge-feat.csv`: 1 rows, but there are 20 edges"]),
            ("nan", text(&"1,nan,3\n".repeat(20)), &["edge-feat.csv`: line 1, column 2: NaN (and 19 more)"]),
            ("too large", text(&("1,".repeat(100_000) + "1\n")), &["12 nodes with 100001 columns each need"]),
        ],
    );
    check(
        "ogb_proteins",
        "raw/node-label.csv",
        &[(
            "label",
            text("0,1\n1,2\n"),
            &["node-label.csv`: line 2, column 2: label 2; expected 0, 1 or nan"],
        )],
    );
}

#[test]
fn files_that_are_not_there() {
    let stems = ["num-node-list", "edge", "node-feat", "node-label"].map(|stem| format!("raw/{stem}.csv.gz"));
    check_missing("ogb_citation", &stems.each_ref().map(String::as_str));
    check_missing("ogb_citation", &["split/time/valid.csv.gz"]);
}

#[test]
fn odd_but_good_tables() {
    let work = copy("ogb_proteins", "odd");
    let path = work.to_str().unwrap();
    let good = load(path, &LoadOptions::default()).unwrap();
    let edges = std::fs::read_to_string(work.join("raw/edge.csv")).unwrap();
    for odd in [
        format!("\u{feff}{edges}"),
        edges.replace('\n', "\r\n"),
        edges.replace('\n', ".0\n\n"),
        edges.replace(',', " , "),
        edges.trim_end().to_string(),
    ] {
        std::fs::write(work.join("raw/edge.csv"), odd).unwrap();
        assert!(load(path, &LoadOptions::default()).unwrap() == good);
    }
    // Prediction needs neither labels nor splits.
    let work = copy("ogb_citation", "odd");
    std::fs::remove_file(work.join("raw/node-label.csv.gz")).unwrap();
    std::fs::remove_dir_all(work.join("split")).unwrap();
    assert_eq!(error_of(&work, &LoadOptions::default()).exit_code(), 66);
    let options = LoadOptions { purpose: Purpose::Predict, ..LoadOptions::default() };
    let data = load(work.to_str().unwrap(), &options).unwrap();
    assert_eq!((data.labels.classes(), data.split.train.len()), (0, 0));
}

#[test]
fn splits() {
    let work = copy("ogb_citation", "splits");
    let path = work.to_str().unwrap();
    let time = work.join("split/time");
    std::fs::create_dir(work.join("split/random")).unwrap();
    for (file, ids) in [("train.csv", "0\n2\n"), ("valid.csv", "4\n"), ("test.csv", "")] {
        std::fs::write(work.join("split/random").join(file), ids).unwrap();
    }
    // In the order of their names.
    let split = |number: usize| load(path, &LoadOptions { split: number, ..LoadOptions::default() });
    assert_eq!(split(0).unwrap().split.train, [0, 2]);
    assert_eq!(split(1).unwrap().split.train.len(), 6);
    assert_says("number", &split(2).unwrap_err(), &["split`: split 2 was asked for, the file has 2 (0..1)"]);
    std::fs::remove_dir_all(work.join("split/random")).unwrap();
    std::fs::remove_file(time.join("train.csv.gz")).unwrap();
    std::fs::write(time.join("split_dict.pt"), b"\x80\x02").unwrap();
    let e = split(0).unwrap_err();
    assert_eq!(e.exit_code(), 65);
    assert_says(
        "pickled",
        &e,
        &["split_dict.pt`: a PyTorch pickle, which can run code; refused", "np.savetxt(\"train.csv\""],
    );
    std::fs::remove_dir_all(work.join("split")).unwrap();
    assert_says("none", &split(0).unwrap_err(), &["split`: this file is not there"]);
}

#[test]
fn arrays() {
    let arrays = |changes: &[(&'static str, Vec<u8>)]| {
        let mut all = vec![
            ("edge_index", ints("(2, 3)", &[0, 1, 2, 1, 2, 3])),
            ("num_nodes_list", ints("(1,)", &[12])),
            ("num_edges_list", ints("(1,)", &[3])),
            ("node_feat", floats("(12, 1)", &[0.5; 12])),
        ];
        all.retain(|(key, _)| changes.iter().all(|(k, _)| k != key));
        all.extend(changes.iter().filter(|(_, bytes)| !bytes.is_empty()).cloned());
        npz(all, CompressionMethod::Stored)
    };
    let labels = |bytes: Vec<u8>| npz([("node_label", bytes)], CompressionMethod::Stored);
    let data = "raw/data.npz";
    check(
        "ogb_binary",
        data,
        &[
            (
                "shape",
                arrays(&[("edge_index", ints("(3, 2)", &[0; 6]))]),
                &["edge_index: (3, 2) int64; expected [2, E]"],
            ),
            (
                "id",
                arrays(&[("edge_index", ints("(2, 3)", &[0, 1, 2, 1, 12, 3]))]),
                &["data.npz`: edge_index: edge 1: target 12, but there are 12 nodes"],
            ),
            (
                "negative",
                arrays(&[("edge_index", ints("(2, 3)", &[0, 1, -2, 1, 2, 3]))]),
                &["edge_index: edge 2: source -2"],
            ),
            (
                "count",
                arrays(&[("num_edges_list", ints("(1,)", &[4]))]),
                &["edge_index: 3 edges, but num_edges_list says 4"],
            ),
            (
                "nodes",
                arrays(&[("num_nodes_list", ints("(1,)", &[4_000_000_000]))]),
                &["12 rows, but the dataset has 4000000000"],
            ),
            (
                "graphs",
                arrays(&[("num_nodes_list", ints("(2,)", &[6, 6]))]),
                &["num_nodes_list: (2,) int64; expected one number"],
            ),
            ("no edges", arrays(&[("edge_index", vec![])]), &["edge_index: no such array"]),
            (
                "objects",
                arrays(&[("node_feat", npy("|O", "(12, 1)", &[0; 96]))]),
                &["node_feat: object array = pickled Python"],
            ),
            ("zip", text("PK\u{3}\u{4}junk"), &["data.npz`: not a whole zip archive"]),
        ],
    );
    check(
        "ogb_binary",
        "raw/node-label.npz",
        &[
            ("label", labels(floats("(2, 1)", &[0.0, 0.5])), &["node_label: row 1, column 0: label 0.5"]),
            (
                "cube",
                labels(ints("(12, 1, 1)", &[0; 12])),
                &["node_label: (12, 1, 1) int64; expected one row"],
            ),
            ("rows", labels(ints("(2,)", &[0, 1])), &["node-label.npz`: 2 rows, but the dataset has 12"]),
        ],
    );
    check(
        "ogb_binary",
        "split/time/test.npy",
        &[("node", ints("(1,)", &[12]), &["test.npy`: entry 0: node 12, but there are 12 nodes"])],
    );
    let work = copy("ogb_binary", "bare");
    std::fs::write(work.join(data), arrays(&[("node_feat", vec![])])).unwrap();
    let e = error_of(&work, &LoadOptions::default());
    assert_eq!(e.exit_code(), 66);
    assert_says("no features", &e, &["neither nodes nor edges have features"]);
}

//! MUSAE and Geom-GCN folders.

use super::common::{assert_says, bools, folder, npz};
use super::{Files, lines, refused};
use iglu::Error;
use iglu_data::{LoadOptions, load};
use std::path::Path;
use zip::CompressionMethod;

/// Name of the case, edges, targets, features, and what the message says.
type MusaeCase<'a> = (&'a str, &'a [u8], &'a [u8], &'a [u8], &'a [&'a str]);
/// Name of the case, edges, nodes, number of the split, and what the message says.
type GeomCase<'a> = (&'a str, &'a [u8], &'a [u8], usize, &'a [&'a str]);

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
    let traffic = lines("id,target", 400, |i| format!("{i},{}", 1000 + 7 * i));
    let cases: &[MusaeCase<'_>] = &[
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
        ("traffic", edges, &traffic, features, &["column `target`: 400 different values", "cut a quantity"]),
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

#[test]
fn geom_gcn_folders() {
    let edges: &[u8] = b"node_id\tnode_id\n0\t1\n1\t2\n";
    let nodes: &[u8] = b"node_id\tfeature\tlabel\n0\t1,0\t0\n1\t0,1\t1\n2\t1,1\t1\n";
    let read = |edges: &[u8], nodes: &[u8], split: usize| {
        let name = format!("{}_split_0.6_0.2_0.npz", folder("geom").file_name().unwrap().to_string_lossy());
        let mask = |bits: &[u8]| bools("(3,)", bits);
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
    let cases: &[GeomCase<'_>] = &[
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

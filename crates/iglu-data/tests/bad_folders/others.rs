//! GraphSAGE's files, those of IGLU's scripts and the protein graphs.

use super::common::folders::copy;
use super::common::{assert_says, floats, ints};
use super::{check, check_missing, error_of, text};
use iglu::{Features, Labels};
use iglu_data::{LoadOptions, Purpose, load};

#[test]
fn graphsage() {
    let (graph, rows, classes) = ("toy-G.json", "toy-id_map.json", "toy-class_map.json");
    check(
        "graphsage",
        graph,
        &[
            ("no links", text("{\"nodes\": []}"), &["toy-G.json`: line 1, column 13: missing field `links`"]),
            ("no id", text("{\"nodes\": [{\"val\": true}], \"links\": []}"), &["missing field `id`"]),
            (
                "mark",
                text("{\"nodes\": [{\"id\": 0, \"val\": 3}], \"links\": []}"),
                &["invalid type: integer `3`, expected a boolean"],
            ),
            (
                "end",
                text(
                    "{\"nodes\": [{\"id\": \"t3_0\"}], \"links\": [{\"source\": \"t3_0\", \"target\": \"t3_99\"}]}",
                ),
                &["toy-G.json`: links: entry 0: target t3_99, but there is no such node among 1"],
            ),
            (
                "riddle",
                text("{\"nodes\": [{\"id\": 1}, {\"id\": 0}], \"links\": [{\"source\": 0, \"target\": 0}]}"),
                &["could be ids of nodes or their positions"],
            ),
            (
                "nodes twice",
                text("{\"nodes\": [], \"nodes\": [], \"links\": []}"),
                &["duplicate field `nodes`"],
            ),
            (
                "deep",
                text(&format!("{{\"graph\": {}", "[".repeat(100_000))),
                &["toy-G.json`: line 1, column", "cut short"],
            ),
        ],
    );
    check(
        "graphsage",
        rows,
        &[
            ("row", text("{\"t3_0\": 1}"), &["toy-id_map.json`: key \"t3_0\": row 1; expected 0 to 0"]),
            ("huge row", text("{\"t3_0\": 4000000000}"), &["row 4000000000; expected 0 to 0"]),
            (
                "row twice",
                text("{\"t3_0\": 0, \"t3_1\": 0}"),
                &["key \"t3_1\": row 0, which belongs to \"t3_0\" already"],
            ),
            ("no row", text("{\"t3_0\": 0}"), &["key \"t3_1\": no entry for this node of the graph"]),
            ("fraction", text("{\"t3_0\": 0.5}"), &["invalid type: floating point `0.5`"]),
        ],
    );
    check(
        "graphsage",
        classes,
        &[("class", text("{\"t3_99\": [0, 1, 0]}"), &["toy-class_map.json`: key \"t3_99\": no such node"])],
    );
    check(
        "graphsage",
        "toy-feats.npy",
        &[("rows", floats("(3, 2)", &[0.0; 6]), &["x: 3 rows, but the graph has 12 nodes"])],
    );
    check(
        "graphsage",
        "second-G.json",
        &[("two graphs", text("{}"), &["2 graphs: second, toy", "name one of them: second-G.json"])],
    );
    check_missing("graphsage", &["toy-class_map.json"]);
    // Without features nodes get their own, and prediction needs no classes.
    let work = copy("graphsage", "bare");
    for name in ["toy-feats.npy", "toy-class_map.json"] {
        std::fs::remove_file(work.join(name)).unwrap();
    }
    let options = LoadOptions { purpose: Purpose::Predict, ..LoadOptions::default() };
    let data = load(work.join("toy-G.json").to_str().unwrap(), &options).unwrap();
    assert_eq!(data.notes, ["toy-feats.npy is not there: every node gets a feature of its own"]);
    assert!(matches!(&data.features, Features::Sparse(x) if x.nnz() == 12));
    assert!(matches!(&data.labels, Labels::Classes { classes: 0, .. }));
}

#[test]
fn authors() {
    check(
        "authors_flickr",
        "labels.npy",
        &[
            (
                "flat",
                ints("(12,)", &[0; 12]),
                &["labels.npy`: (12,) int64; expected 12 rows", "np.eye(C)[y]"],
            ),
            ("rows", floats("(3, 2)", &[0.0; 6]), &["labels.npy`: (3, 2) float64; expected 12 rows"]),
            ("no 0 or 1", floats("(12, 1)", &[0.5; 12]), &["labels.npy`: row 0, column 0: 0.5"]),
        ],
    );
    check(
        "authors_flickr",
        "TestSortedIndex.npy",
        &[
            (
                "node",
                ints("(1,)", &[12]),
                &["TestSortedIndex.npy`: entry 0: node 12, but there are 12 nodes"],
            ),
            ("negative", ints("(1,)", &[-1]), &["TestSortedIndex.npy`: entry 0: node -1"]),
        ],
    );
    check(
        "authors_flickr",
        "ValidSortedIndex.npy",
        &[(
            "overlap",
            ints("(12,)", &std::array::from_fn::<_, 12, _>(|v| v as i64)),
            &["is already in train"],
        )],
    );
    check(
        "authors_flickr",
        "feats.npy",
        &[("rows of features", floats("(3, 2)", &[0.0; 6]), &["x: 3 rows, but the graph has 12 nodes"])],
    );
    check_missing("authors_flickr", &["labels.npy", "TestSortedIndex.npy", "ValidSortedIndex.npy"]);
    let work = copy("authors_ppi", "missing");
    for (name, expect) in
        [("feat_preprocessed.npy", "feat_preprocessed.npy`"), ("full_adj.npz", "full_adj.npz`")]
    {
        std::fs::remove_file(work.join(name)).unwrap();
        let e = error_of(&work, &LoadOptions::default());
        assert_eq!(e.exit_code(), 66);
        assert_says(name, &e, &[expect, "this file is not there"]);
    }
}

#[test]
fn ppi() {
    check(
        "ppi",
        "valid_feats.npy",
        &[
            ("rows", floats("(4, 4)", &[0.0; 16]), &["valid_feats.npy`: (4, 4) float64; expected 5 rows"]),
            (
                "columns",
                floats("(5, 3)", &[0.0; 15]),
                &["(5, 3) float64; expected 4 columns, as in the other parts"],
            ),
        ],
    );
    check(
        "ppi",
        "test_labels.npy",
        &[("labels", ints("(6, 3)", &[2; 18]), &["test_labels.npy`: row 0, column 0: 2; expected 0 or 1"])],
    );
    check(
        "ppi",
        "test_graph_id.npy",
        &[("ids", ints("(1,)", &[1]), &["test_graph_id.npy`: (1,) int64; expected 6 rows"])],
    );
    check(
        "ppi",
        "train_graph.json",
        &[(
            "link",
            text("{\"nodes\": [{\"id\": 0}], \"links\": [{\"source\": 0, \"target\": 1}]}"),
            &["train_graph.json`: links: entry 0: target 1"],
        )],
    );
    check_missing("ppi", &["train_graph.json", "valid_graph.json", "test_feats.npy", "train_labels.npy"]);
}

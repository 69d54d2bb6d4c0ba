//! Tables as text.

use super::{Files, lines, refused};
use iglu::{Dataset, SelfLoops};
use iglu_data::{LoadOptions, Purpose};

pub const EDGES: &[u8] = b"source,target\n0,1\n1,2\n2,3\n";
pub const NODES: &[u8] = b"id,label,split,x\n0,a,train,0.5\n1,b,train,1\n2,a,val,2e0\n3,b,test,-1\n";

fn tables(case: &str, edges: &[u8], nodes: &[u8]) -> iglu::Result<Dataset> {
    Files::write(case, &[("edges.csv", edges), ("nodes.csv", nodes)]).load(&LoadOptions::default())
}

#[test]
fn edge_tables() {
    let good = tables("edge-tables", EDGES, NODES).unwrap();
    assert_eq!((good.graph.counts().edges, good.split.train.len()), (3, 2));
    let long = [b"0,1\n1,", &vec![b'2'; 3 << 20][..]].concat();
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
        (
            "nan",
            b"id,label,x\n0,a,1\n1,a,nan\n",
            &["line 3, column 3: NaN; expected a number", "--nan-features"],
        ),
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
    let quantity = lines("id,label,x", 300, |i| format!("{i},{},1", i * 7));
    refused(
        "quantity",
        tables("node-tables", b"0,1\n", &quantity),
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
    let kinds = lines("source,target,type", 300, |i| format!("0,1,k{i}"));
    refused("kinds", tables("splits", &kinds, NODES), &["300 kinds of edges; at most 256"]);
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

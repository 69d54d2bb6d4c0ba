//! Values against NumPy's and SciPy's readings (scripts/golden_npz.py), round trips, and real graphs if at hand.

#![expect(clippy::unwrap_used, reason = "a failure in a helper is a failed test")]

mod common;

use common::reading::{self, assert_close, numbers};
use iglu::{Dataset, EdgeOptions, Features, Graph, Labels, Names, SelfLoops, Split};
use iglu_data::formats::{npy, npz::Npz};
use iglu_data::{Card, Layout, Limits, LoadOptions, Verify, load, write_npy, write_plain, write_store};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn expected() -> Value {
    serde_json::from_str(&std::fs::read_to_string(golden("expected.json")).unwrap()).unwrap()
}

fn load_path(path: &Path, options: &LoadOptions) -> Dataset {
    load(path.to_str().unwrap(), options).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn every_type_order_and_packing_reads_as_in_numpy() {
    let expected = expected();
    let arrays = expected["arrays"].as_object().unwrap();
    for file in ["dtypes.npz", "dtypes_compressed.npz"] {
        let mut npz = Npz::open(&golden(file), Limits::default()).unwrap();
        assert_eq!(npz.keys().len(), arrays.len());
        for (key, expect) in arrays {
            let array = npz.array(key, "").unwrap();
            let shape: Vec<f64> = array.shape().iter().map(|&n| n as f64).collect();
            assert_eq!(shape, numbers(&expect["shape"]), "{file} {key}");
            let values = numbers(&expect["values"]);
            // The JSON reader may be one unit off in the last place.
            assert_close(&array.numbers(Some).unwrap(), &values, 1e-15, key);
            let single: Vec<f32> = values.iter().map(|&v| v as f32).collect();
            assert_eq!(array.floats(), single, "{file} {key}");
            for (index, value) in values.iter().enumerate() {
                assert_eq!(
                    array.text(index).parse::<f64>().unwrap() as f32,
                    *value as f32,
                    "{file} {key} {index}"
                );
            }
            let whole: Vec<i64> = values.iter().map(|&v| v as i64).collect();
            match array.ints::<i64>() {
                Ok(ints) => assert_eq!(ints, whole, "{file} {key}"),
                Err(bad) => {
                    assert!(values[bad.index].fract() != 0.0 || values[bad.index] > 1e16, "{file} {key}");
                }
            }
        }
    }
}

#[test]
fn every_version_of_npy_reads() {
    for version in 1..=3 {
        let array = npy::read_npy(&golden(&format!("version{version}.npy"))).unwrap();
        assert_eq!(array.describe(), "(2, 3) float32");
        assert_eq!(array.floats(), [0.0, 0.25, 0.5, 0.75, 1.0, 1.25]);
    }
}

fn check(file: &str, split: usize, expect: &Value) {
    let data = load_path(&golden(file), &LoadOptions { split, ..Default::default() });
    reading::check(file, &data, expect);
}

#[test]
fn datasets_read_as_in_numpy_and_scipy() {
    let expected = expected();
    for (file, split) in
        [("dense.npz", 0), ("odd_types.npz", 0), ("sparse_multi.npz", 0), ("masks_directed.npz", 1)]
    {
        check(file, split, &expected["datasets"][file]);
    }
}

#[test]
fn what_is_written_reads_back_equal_and_with_equal_bytes() {
    let folder = common::folder("round-trip");
    let keep = LoadOptions { split: 1, self_loops: SelfLoops::Keep, ..Default::default() };
    let first = LoadOptions { split: 0, ..keep.clone() };
    for (file, options) in
        [("dense.npz", &first), ("sparse_multi.npz", &first), ("masks_directed.npz", &keep)]
    {
        let data = load_path(&golden(file), options);
        let (one, two) = (folder.join(file), folder.join("again.npz"));
        write_plain(&one, &data).unwrap();
        let back = load_path(&one, &first);
        assert_eq!(back.graph.columns(), data.graph.columns(), "{file}");
        assert_eq!(back.graph.all_weights(), data.graph.all_weights(), "{file}");
        assert_eq!(
            (&back.features, &back.labels, &back.split),
            (&data.features, &data.labels, &data.split),
            "{file}"
        );
        write_plain(&two, &back).unwrap();
        assert!(std::fs::read(&one).unwrap() == std::fs::read(&two).unwrap(), "{file}: bytes differ");
    }
}

/// The file was put together by hand (scripts/golden_store.py); so is this.
#[test]
fn a_store_reads_and_writes_as_described() {
    let path = golden("store_v1.iglu");
    let data = load_path(&path, &LoadOptions { verify: Verify::Everything, ..Default::default() });
    let weights = [0.5, 1.5, 2.0];
    let options = EdgeOptions { weights: Some(&weights), ..Default::default() };
    let graph = Graph::from_edges(4, &[[0, 1], [1, 2], [1, 3]], options).unwrap();
    assert_eq!((data.graph.columns(), data.graph.all_weights()), (graph.columns(), graph.all_weights()));
    let counts = data.graph.counts();
    assert_eq!((counts.edges, counts.self_loops, counts.duplicates), (3, 1, 2));
    let sends = EdgeOptions { directed: true, ..Default::default() };
    let sends = Graph::from_edges(4, &[[0, 2], [3, 2]], sends).unwrap();
    assert_eq!((data.relations[0].name.as_str(), &data.relations[0].graph), ("sends", &sends));
    let Features::Dense(x) = &data.features else { panic!("dense features") };
    assert_eq!(
        x.data().iter().map(|v| f64::from(*v)).collect::<Vec<_>>(),
        [0.0, -1.0, 0.25, 3.0, 4.5, f64::from(1e-3_f32), 7.0, 1e9]
    );
    assert_eq!(data.labels, Labels::Classes { ids: vec![0, 2, 1, -1], classes: 3 });
    let second = Split { train: vec![2], val: vec![], test: vec![0, 1] };
    let first = Split { train: vec![1, 0], val: vec![2], test: vec![3] };
    assert_eq!((&data.split, &data.splits), (&first, &vec![first.clone(), second]));
    let names =
        |names: &Option<Names>| names.as_ref().unwrap().iter().map(str::to_string).collect::<Vec<_>>();
    assert_eq!(names(&data.node_names), ["ada", "ß", "", "grace"]);
    assert_eq!(names(&data.class_names), ["red", "green", "blue"]);
    assert_eq!((&data.notes[0][..], data.source.as_deref()), ("made by hand", Some("golden_store.py")));
    let again = common::folder("store").join("again.iglu");
    write_store(&again, &data).unwrap();
    assert!(std::fs::read(&again).unwrap() == std::fs::read(&path).unwrap(), "other bytes");
}

/// The same data in another order, put together by hand, too.
#[test]
fn a_store_with_an_order_reads_and_writes_as_described() {
    let path = golden("store_v2.iglu");
    let everything = LoadOptions { verify: Verify::Everything, ..Default::default() };
    assert_eq!(load_path(&path, &everything), load_path(&golden("store_v1.iglu"), &everything));
    let stored = load_path(&path, &LoadOptions { layout: Layout::Stored, ..everything });
    assert_eq!(stored.order.as_ref().unwrap().old(), [2, 0, 3, 1]);
    let again = common::folder("store-order").join("again.iglu");
    write_store(&again, &stored).unwrap();
    assert!(std::fs::read(&again).unwrap() == std::fs::read(&path).unwrap(), "other bytes");
}

#[test]
fn matrices_written_read_back_equal() {
    let path = common::folder("npy").join("m.npy");
    for m in
        [iglu::Mat::from_rows(&[[1.5, -2.0, f32::NAN]]), iglu::Mat::zeros(0, 3), iglu::Mat::zeros(50_000, 2)]
    {
        write_npy(&path, &m).unwrap();
        let back = npy::read_npy(&path).unwrap();
        assert_eq!(back.shape(), [m.rows(), m.cols()]);
        let bits = |v: &[f32]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&back.floats()), bits(m.data()));
    }
}

#[test]
fn real_graphs_have_their_known_counts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/npz");
    if !folder.exists() {
        eprintln!("skipped: no folder of real graphs beside the repository");
        return;
    }
    let known = [
        ("debian-sections", 63_436, 318_970, 128, 58, false),
        ("coauthor-cs", 18_333, 81_894, 6_805, 15, true),
        ("amazon-computers", 13_752, 245_861, 767, 10, false),
    ];
    for (name, nodes, edges, features, classes, sparse) in known {
        let card = Card::of(&load_path(&folder.join(format!("{name}.npz")), &LoadOptions::default()));
        let found =
            (card.name.as_str(), card.nodes, card.edges, card.features, card.classes, card.sparse_features);
        assert_eq!(found, (name, nodes, edges, features, classes, sparse));
        assert_eq!(card.train + card.val + card.test, nodes, "{name}");
    }
}

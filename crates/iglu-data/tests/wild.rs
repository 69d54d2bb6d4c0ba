//! Datasets in the forms they are found in, against readings by SciPy, pandas and others (scripts/golden_wild.py), and
//! the real ones if at hand.

#![expect(clippy::unwrap_used, reason = "a failure in a helper is a failed test")]
#![expect(clippy::print_stderr, reason = "a skipped test says so")]

mod common;

use common::reading::{self, assert_close, numbers};
use iglu::{Dataset, Labels, Names};
use iglu_data::formats::mat::MatFile;
use iglu_data::{Card, Limits, LoadOptions, load};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/wild")
}

fn expected() -> Value {
    serde_json::from_str(&std::fs::read_to_string(golden().join("expected.json")).unwrap()).unwrap()
}

fn words(names: Option<&Names>) -> Option<Vec<&str>> {
    names.map(|names| names.iter().collect())
}

fn listed(value: Option<&Value>) -> Option<Vec<&str>> {
    Some(value?.as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect())
}

#[test]
fn every_form_reads_as_others_read_it() {
    for (source, expect) in expected()["datasets"].as_object().unwrap() {
        if !cfg!(feature = "parquet") && ["tables/columns", "tables/typed"].contains(&source.as_str()) {
            continue;
        }
        let (path, split) = source.split_once("?split=").unwrap_or((source, "0"));
        let options = LoadOptions { split: split.parse().unwrap(), ..Default::default() };
        let data = load(golden().join(path).to_str().unwrap(), &options).unwrap_or_else(|e| panic!("{e}"));
        reading::check(source, &data, expect);
        let notes = data.notes.iter().filter(|note| !note.starts_with("no split is stored")).count();
        assert_eq!(notes as u64, expect["notes"].as_u64().unwrap(), "{source}: {:?}", data.notes);
        assert_eq!(words(data.node_names.as_ref()), listed(expect.get("names")), "{source}");
        assert_eq!(words(data.class_names.as_ref()), listed(expect.get("classes")), "{source}");
        let relations = data.relations.iter().map(|r| (r.name.as_str(), r.graph.counts().edges as u64));
        let known = expect.get("relations").and_then(Value::as_object).into_iter().flatten();
        assert!(
            relations.eq(known.map(|(name, count)| (name.as_str(), count.as_u64().unwrap()))),
            "{source}"
        );
    }
}

#[test]
fn matlab_arrays_of_every_type_and_order_read_as_in_scipy() {
    for (file, arrays) in expected()["arrays"].as_object().unwrap() {
        let mut mat = MatFile::open(&golden().join("matlab").join(file), Limits::default()).unwrap();
        for (name, expect) in arrays.as_object().unwrap() {
            let array = mat.dense(name).unwrap();
            let shape: Vec<f64> = array.shape().iter().map(|&n| n as f64).collect();
            assert_eq!(shape, numbers(&expect["shape"]), "{file} {name}");
            assert_close(&array.numbers(Some).unwrap(), &numbers(&expect["values"]), 0.0, name);
        }
    }
}

/// A folder of real graphs beside the repository; says so if it is not there.
fn real(folder: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(folder);
    if !path.exists() {
        eprintln!("skipped: no folder of real graphs beside the repository");
        return None;
    }
    Some(path)
}

fn load_path(path: &Path) -> Dataset {
    load(path.to_str().unwrap(), &LoadOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

/// Nodes, edges, features, classes, unlabelled nodes, self loops.
fn counts(data: &Dataset) -> [usize; 6] {
    let card = Card::of(data);
    [card.nodes, card.edges, card.features, card.classes, card.unlabelled, card.self_loops]
}

fn class_sizes(data: &Dataset) -> Vec<usize> {
    let Labels::Classes { ids, classes } = &data.labels else { panic!("one class per node expected") };
    (0..*classes).map(|class| ids.iter().filter(|&&id| id == class as i32).count()).collect()
}

#[test]
fn the_graphs_of_shchur_and_relatives_have_their_known_counts() {
    let Some(folder) = real("shchur") else { return };
    let cora = load_path(&folder.join("gnn-benchmark_cora.npz"));
    assert_eq!(counts(&cora), [2_708, 5_278, 1_433, 7, 0, 0]);
    assert_eq!(class_sizes(&cora), [298, 418, 818, 426, 217, 180, 351]);
    assert_eq!(cora.node_names.unwrap().get(1), "100197");
    assert_eq!(cora.class_names.unwrap().get(1), "Genetic_Algorithms");
    let note = "adj: 5127 of 5278 edges stand there in one direction only; they are used in both";
    assert_eq!(cora.notes[0], note);
    assert!(cora.notes[1].contains("no split is stored"), "{:?}", cora.notes);
    let citeseer = load_path(&folder.join("ppnp_citeseer.npz"));
    assert_eq!(counts(&citeseer), [3_312, 4_536, 3_703, 6, 0, 124]);
    assert_eq!(class_sizes(&citeseer), [249, 596, 701, 508, 668, 590]);
    let blogs = load_path(&folder.join("gnn-meta-attack_polblogs.npz"));
    assert_eq!(counts(&blogs), [1_490, 16_715, 1_492, 2, 0, 3]);
    assert_eq!((class_sizes(&blogs), blogs.graph.isolated()), (vec![758, 732], 266));
    assert!(blogs.notes[1].contains("there are no features"), "{:?}", blogs.notes);
}

#[test]
fn tolokers_has_ten_splits() {
    let Some(folder) = real("yandex") else { return };
    let path = folder.join("tolokers.npz");
    let data = load_path(&path);
    assert_eq!(counts(&data), [11_758, 519_000, 10, 2, 0, 0]);
    let last = load(path.to_str().unwrap(), &LoadOptions { split: 9, ..Default::default() }).unwrap();
    for split in [&data.split, &last.split] {
        assert_eq!([split.train.len(), split.val.len(), split.test.len()], [5_879, 2_939, 2_940]);
    }
    assert_ne!(data.split.train, last.split.train);
    assert!(load(path.to_str().unwrap(), &LoadOptions { split: 10, ..Default::default() }).is_err());
}

#[test]
fn facebook_pages_have_names_and_classes() {
    let Some(folder) = real("musae/facebook") else { return };
    for path in [folder.clone(), folder.join("facebook_edges.csv"), folder.join("facebook.json")] {
        let data = load_path(&path);
        assert_eq!(data.name, "facebook");
        assert_eq!(counts(&data), [22_470, 170_823, 4_714, 4, 0, 179]);
        let names: Vec<&str> = data.class_names.as_ref().unwrap().iter().collect();
        assert_eq!(names, ["company", "government", "politician", "tvshow"]);
        assert_eq!(data.node_names.unwrap().get(0), "The Voice of China 中国好声音");
    }
}

#[test]
fn johns_hopkins_has_its_known_counts() {
    let Some(folder) = real("matlab") else { return };
    let data = load_path(&folder.join("Johns Hopkins55.mat"));
    assert_eq!(counts(&data), [5_180, 186_586, 2_406, 2, 418, 0]);
    assert_eq!(class_sizes(&data), [2_153, 2_609]);
    assert!(data.notes.len() == 1 && data.notes[0].contains("no split is stored"), "{:?}", data.notes);
}

#[test]
fn cornell_has_its_known_counts() {
    let Some(folder) = real("geom-gcn/cornell") else { return };
    for path in [folder.clone(), folder.join("out1_graph_edges.txt")] {
        let data = load_path(&path);
        assert_eq!((data.name.as_str(), counts(&data)), ("cornell", [183, 277, 1_703, 5, 0, 3]));
    }
}

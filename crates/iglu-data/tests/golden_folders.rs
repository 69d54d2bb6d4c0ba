//! Datasets of several files against the readings of SciPy, ogb, networkx and torch_geometric
//! (scripts/golden_folders.py), and the real ones if they are at hand (scripts/golden_planetoid.py).

mod common;

use common::reading;
use iglu::config::{Auto, EdgeFeatures};
use iglu::{Dataset, EdgeOptions, Features, Graph, Labels};
use iglu_data::formats::npy;
use iglu_data::{Card, LoadOptions, load};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/folders")
}

#[test]
fn every_form_reads_as_its_own_reader_reads_it() {
    let expected: Value =
        serde_json::from_str(&std::fs::read_to_string(golden().join("expected.json")).unwrap()).unwrap();
    for (source, expect) in expected.as_object().unwrap() {
        let (path, edge_features) = match source.strip_suffix("?sum") {
            Some(path) => (path, Auto::Set(EdgeFeatures::Sum)),
            None => (source.as_str(), Auto::Auto),
        };
        let options = LoadOptions { edge_features, ..LoadOptions::default() };
        let data = load(golden().join(path).to_str().unwrap(), &options).unwrap_or_else(|e| panic!("{e}"));
        reading::check(source, &data, expect);
        assert_eq!(data.notes.len() as u64, expect["notes"].as_u64().unwrap(), "{source}: {:?}", data.notes);
        let names: Option<Vec<&str>> = expect
            .get("names")
            .map(|names| names.as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect());
        let found: Option<Vec<&str>> = data.node_names.as_ref().map(|names| names.iter().collect());
        assert_eq!(found, names, "{source}");
    }
}

/// CRC-32 of little-endian 32-bit numbers.
fn crc(numbers: impl IntoIterator<Item = u32>) -> u32 {
    let mut crc = flate2::Crc::new();
    numbers.into_iter().for_each(|number| crc.update(&number.to_le_bytes()));
    crc.sum()
}

/// What scripts/golden_planetoid.py prints of a dataset.
fn fingerprint(data: &Dataset) -> (usize, f64, [u32; 4]) {
    let Features::Sparse(x) = &data.features else { panic!("features are sparse") };
    let entries = || {
        (0..x.rows() as u32).flat_map(|v| {
            let (columns, values) = x.row(v as usize);
            columns
                .iter()
                .zip(values)
                .filter(|(_, value)| **value != 0.0)
                .map(move |(c, value)| (v, *c, *value))
        })
    };
    let Labels::Classes { ids, .. } = &data.labels else { panic!("one class per node") };
    let edges = (0..data.graph.nodes() as u32).flat_map(|u| {
        data.graph.neighbours(u as usize).iter().filter(move |&&v| u < v).flat_map(move |&v| [u, v])
    });
    let mut test = data.split.test.clone();
    test.sort_unstable();
    let sums = [
        crc(entries().flat_map(|(v, column, value)| [v, column, value.to_bits()])),
        crc(ids.iter().map(|&id| id as u32)),
        crc(edges),
        crc(data.split.train.iter().chain(&data.split.val).chain(&test).copied()),
    ];
    (entries().count(), entries().map(|(_, _, value)| f64::from(value)).sum(), sums)
}

#[test]
fn the_real_planetoid_files_read_value_by_value_as_in_python() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/planetoid");
    if !folder.exists() {
        eprintln!("skipped: no folder of real graphs beside the repository");
        return;
    }
    let known = [
        (
            "cora",
            [2_708, 5_278, 1_433, 7, 0],
            (49_216, 49_216.0, [3_127_180_793, 3_889_949_810, 653_416_889, 337_928_177]),
            [140, 500, 1_000],
        ),
        (
            "citeseer",
            [3_327, 4_552, 3_703, 6, 15],
            (105_165, 105_165.0, [4_040_816_736, 313_910_971, 3_036_972_474, 3_149_342_543]),
            [120, 500, 1_000],
        ),
        (
            "pubmed",
            [19_717, 44_324, 500, 3, 0],
            (988_031, 38_716.295_094_509_376, [1_262_065_757, 1_070_055_098, 1_045_366_761, 428_557_489]),
            [60, 500, 1_000],
        ),
    ];
    for (name, counts, expect, split) in known {
        let whole = folder.join(name);
        let data = load(whole.to_str().unwrap(), &LoadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        let card = Card::of(&data);
        assert_eq!([card.nodes, card.edges, card.features, card.classes, card.unlabelled], counts, "{name}");
        assert_eq!([card.train, card.val, card.test], split, "{name}");
        let (count, sum, sums) = fingerprint(&data);
        assert_eq!((count, sums), (expect.0, expect.2), "{name}");
        assert!((sum - expect.1).abs() < 1e-6, "{name}: {sum}");
        let filled =
            format!("{} nodes of the graph have no row in allx or tx: no features, no label", counts[4]);
        assert_eq!(data.notes, if counts[4] > 0 { vec![filled] } else { vec![] }, "{name}");
        let by_file =
            load(whole.join(format!("ind.{name}.graph")).to_str().unwrap(), &LoadOptions::default());
        let other = by_file.unwrap();
        let same = (&other.graph, &other.features, &other.labels, &other.split)
            == (&data.graph, &data.features, &data.labels, &data.split);
        assert!(same, "{name}: the same by the name of a file");
    }
}

#[test]
fn the_authors_own_folders_have_their_edges() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/golden");
    if !golden.exists() {
        eprintln!("skipped: no golden runs beside the repository");
        return;
    }
    for (name, nodes, classes, task) in
        [("arxiv_tiny", 400, 40, "multi-class"), ("ppi_tiny", 300, 121, "multi-label")]
    {
        let work = common::folder(name);
        for file in common::folders::files(&golden.join(name)) {
            // The same labels in one byte each, under the name that the scripts give them.
            let to = if file == Path::new("labels_u8.npy") { Path::new("labels.npy") } else { &file };
            std::fs::copy(golden.join(name).join(&file), work.join(to)).unwrap();
        }
        let data = load(work.to_str().unwrap(), &LoadOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        let card = Card::of(&data);
        assert_eq!((card.nodes, card.classes, card.task), (nodes, classes, task), "{name}");
        assert_eq!(card.train + card.val + card.test, nodes, "{name}");
        let listed = npy::read_npy(&work.join("edges_u32.npy")).unwrap().ints::<u32>().unwrap();
        let edges = Graph::from_edges(nodes, listed.as_chunks().0, EdgeOptions::default()).unwrap();
        assert_eq!(data.graph.columns(), edges.columns(), "{name}");
        let Features::Dense(x) = &data.features else { panic!("dense features") };
        let plain = npy::read_npy(&work.join("features_f32.npy")).unwrap().floats();
        assert_eq!(x.data(), plain, "{name}");
        assert!(data.notes.is_empty(), "{name}: {:?}", data.notes);
    }
}

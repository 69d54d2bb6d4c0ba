//! Datasets of several files against the readings of SciPy, ogb, networkx and torch_geometric
//! (scripts/golden_folders.py), and the real ones if they are at hand (scripts/golden_planetoid.py).

#![expect(clippy::unwrap_used, reason = "a failure in a helper is a failed test")]

mod common;

use common::reading;
use iglu_data::{EdgeFeatures, LoadOptions, load};
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
            Some(path) => (path, EdgeFeatures::Sum),
            None => (source.as_str(), EdgeFeatures::Mean),
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

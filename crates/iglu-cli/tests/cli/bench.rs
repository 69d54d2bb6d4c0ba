//! `iglu bench`: phases with their work, limits of the same run.

use crate::harness::Scratch;
use serde_json::Value;

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key} in {value}"))
}

#[test]
fn every_phase_has_its_time_and_work() {
    let scratch = Scratch::new("bench");
    let bench = scratch.json("bench arxiv@0.01 --repeat 2 --json --out results");
    assert_eq!(scratch.names_in("results"), ["bench.json", "bench.txt"]);
    assert!(number(&bench["machine"], "peak_gflops") > 0.1);
    let trial = &bench["trials"][0];
    let phases = trial["phases"].as_array().unwrap();
    let names: Vec<&str> = phases.iter().map(|p| p["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["A_2", "A_1", "T_1", "X_1", "Z_2", "T_2", "X_2", "Z_3", "Tail(3)", "X_3", "evaluation"]
    );
    // 913 training rows and 3 x 256 hidden units: forward and weights of the second layer.
    let second = phases.iter().find(|p| p["name"] == "T_2").unwrap();
    let flops = 2.0 * 2.0 * number(trial, "rows") * 256.0 * 256.0;
    assert!((number(second, "gflop") * 1e9 - flops).abs() < 1e-6 * flops);
    let total: f64 = phases[..10].iter().map(|p| number(p, "gflop")).sum();
    assert!((number(&trial["epoch"], "gflop") - total).abs() < 1e-9 * total);
    assert!(phases[..9].iter().all(|p| number(p, "seconds") > 0.0), "{phases:?}");
    assert!(number(&trial["epoch"], "ratio") > 0.1 && number(trial, "prepare_seconds") > 0.0);
    assert_eq!(trial["epoch_seconds"].as_array().unwrap().len(), 2);
}

#[test]
fn reordering_is_told_with_its_time() {
    let scratch = Scratch::new("bench-order");
    scratch
        .iglu("bench arxiv@0.01 --repeat 1 --reorder --out results")
        .check(0, &[])
        .says(&["nodes reordered by communities in "]);
    let bench: Value = serde_json::from_slice(&scratch.read("results/bench.json")).unwrap();
    assert!(number(&bench["trials"][0], "reorder_seconds") > 0.0);
    let plain = scratch.json("bench arxiv@0.01 --repeat 1 --json");
    assert!(plain["trials"][0]["reorder_seconds"].is_null(), "a small graph is left as it is");
}

#[test]
fn what_cannot_be_measured_is_named() {
    let scratch = Scratch::new("bench-errors");
    scratch.iglu("bench nowhere.npz").check(66, &["nowhere.npz"]);
    scratch.iglu("bench village@0").check(64, &["scale `0`"]);
    scratch.iglu("bench village --repeat 0").check(64, &["--repeat"]);
    scratch.file("taken", b"");
    scratch.iglu("bench village --repeat 1 --out taken").check(74, &["taken"]);
}

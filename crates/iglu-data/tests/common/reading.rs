//! A dataset against what another program read from the same files.

use iglu::{Dataset, Features, Labels};
use iglu_data::Card;
use serde_json::Value;

pub fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn rows(features: &Features) -> Vec<f64> {
    let dense = match features {
        Features::Dense(x) => x.clone(),
        Features::Sparse(x) => x.to_dense(),
    };
    dense.into_vec().into_iter().map(f64::from).collect()
}

fn flat(labels: &Labels) -> Vec<f64> {
    match labels {
        Labels::Classes { ids, .. } => ids.iter().map(|&v| v.into()).collect(),
        Labels::Multi { values, .. } => values.iter().map(|&v| v.into()).collect(),
    }
}

/// `A (1, 2, .., n)`: every edge and weight leaves its mark.
fn probe(data: &Dataset, v: usize) -> f64 {
    let one = |at: usize| data.graph.weights(v).map_or(1.0, |w| f64::from(w[at]));
    data.graph.neighbours(v).iter().enumerate().map(|(at, &u)| one(at) * (f64::from(u) + 1.0)).sum()
}

pub fn assert_close(found: &[f64], expect: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expect.len(), "{what}");
    for (i, (a, b)) in found.iter().zip(expect).enumerate() {
        assert!((a - b).abs() <= tolerance * b.abs(), "{what} {i}: {a} instead of {b}");
    }
}

/// Compares graph, features, labels and split.
pub fn check(file: &str, data: &Dataset, expect: &Value) {
    let card = Card::of(data);
    for (name, found) in [
        ("nodes", card.nodes),
        ("edges", card.edges),
        ("self_loops", card.self_loops),
        ("duplicates", card.duplicates),
        ("cols", card.features),
    ] {
        assert_eq!(found as u64, expect[name].as_u64().unwrap(), "{file} {name}");
    }
    assert_eq!(card.directed, expect["directed"].as_bool().unwrap(), "{file}");
    let ax: Vec<f64> = (0..card.nodes).map(|v| probe(data, v)).collect();
    assert_close(&ax, &numbers(&expect["ax"]), 1e-6, file);
    assert_close(&rows(&data.features), &numbers(&expect["x"]), 1e-6, file);
    assert_eq!(flat(&data.labels), numbers(&expect["y"]), "{file}");
    // A split that was drawn because none is stored is not what others read.
    let none = iglu::Split::default();
    let split = if data.splits.is_empty() { &none } else { &data.split };
    let parts = [("train", &split.train), ("val", &split.val), ("test", &split.test)];
    for (name, ids) in parts {
        assert_eq!(
            ids.iter().map(|&i| f64::from(i)).collect::<Vec<_>>(),
            numbers(&expect[name]),
            "{file} {name}"
        );
    }
}

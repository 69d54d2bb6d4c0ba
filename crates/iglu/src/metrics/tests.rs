//! Against scikit-learn (`tests/golden/metrics.txt`), and the small promises of the module.

use super::{METRICS, Metric, Tally, argmax};
use crate::loss::cases::{Case, cases};
use crate::{Labels, Mat, Real};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as SerdeError, StrDeserializer};

fn labels(case: &Case<'_>) -> Labels {
    let (numbers, classes) = (case.numbers("labels"), case.numbers("classes")[0] as usize);
    match case.text("kind") {
        "classes" => Labels::Classes { ids: numbers.iter().map(|&y| y as i32).collect(), classes },
        _ => Labels::Multi { values: numbers.iter().map(|&y| y as i8).collect(), classes },
    }
}

fn task(case: &Case<'_>) -> (Labels, Mat, Vec<u32>) {
    let labels = labels(case);
    let logits = case.numbers("logits").iter().map(|&z| z as Real).collect();
    let logits = Mat::from_vec(labels.len(), labels.classes(), logits);
    (labels, logits, case.numbers("rows").iter().map(|&i| i as u32).collect())
}

#[test]
fn scores_agree_with_scikit_learn() {
    for case in cases(include_str!("../../tests/golden/metrics.txt")) {
        let (labels, logits, rows) = task(&case);
        for (name, metric) in METRICS {
            let expected = case.numbers(name)[0];
            let found = metric.score(&logits, &labels, &rows).unwrap_or(f64::NAN);
            let close = (found - expected).abs() < 1e-12 || (found.is_nan() && expected.is_nan());
            assert!(close, "{}: {name} {found}, not {expected}", case.name);
        }
    }
}

/// A share, where NaN stands for one that is not defined.
fn same(found: Option<f64>, expected: f64) -> bool {
    found.map_or(expected.is_nan(), |found| (found - expected).abs() < 1e-12)
}

#[test]
fn tallies_agree_with_scikit_learn() {
    for case in cases(include_str!("../../tests/golden/metrics.txt")) {
        let (labels, logits, rows) = task(&case);
        let tally = Tally::of(&logits, &labels, &rows);
        let (precision, recall) = (case.numbers("precision"), case.numbers("recall"));
        for (c, class) in tally.classes.iter().enumerate() {
            assert!(same(class.precision(), precision[c]), "{}: precision of {c}", case.name);
            assert!(same(class.recall(), recall[c]), "{}: recall of {c}", case.name);
        }
        let right = tally.classes.iter().enumerate().map(|(c, class)| [c, c, class.hits as usize]);
        let mut matrix = vec![0; case.numbers("confusion").len()];
        if matches!(labels, Labels::Classes { .. }) {
            right
                .chain(tally.mistakes.iter().copied())
                .for_each(|[t, p, n]| matrix[t * labels.classes() + p] = n);
            assert_eq!(matrix.iter().sum::<usize>(), tally.nodes, "{}", case.name);
        }
        let expected: Vec<usize> = case.numbers("confusion").iter().map(|&n| n as usize).collect();
        assert_eq!(matrix, expected, "{}", case.name);
        assert!(tally.mistakes.is_sorted_by(|a, b| a[2] >= b[2]), "{}", case.name);
    }
}

#[test]
fn names_are_those_of_the_table_in_files_too() {
    for (name, metric) in METRICS {
        assert_eq!((metric.name(), name.parse()), (*name, Ok(*metric)));
        let word: StrDeserializer<'_, SerdeError> = (*name).into_deserializer();
        assert_eq!(Metric::deserialize(word), Ok(*metric));
    }
    let message = "auc".parse::<Metric>().unwrap_err().to_string();
    assert_eq!(message, "metric: there is no `auc`\n  fix: one of accuracy, f1-micro, f1-macro, roc-auc");
}

#[test]
fn the_usual_metric_depends_on_the_labels() {
    assert_eq!(Metric::default_for(&Labels::Classes { ids: vec![], classes: 2 }), Metric::Accuracy);
    assert_eq!(Metric::default_for(&Labels::Multi { values: vec![], classes: 2 }), Metric::F1Micro);
}

#[test]
fn the_first_of_equal_logits_is_predicted() {
    assert_eq!(argmax(&[0.0, 2.0, 2.0, 1.0]), 1);
    assert_eq!(argmax(&[Real::NEG_INFINITY; 3]), 0);
}

#[test]
fn scores_that_are_not_numbers_have_no_rank() {
    let labels = Labels::Classes { ids: vec![0, 1, 1], classes: 2 };
    let logits = Mat::from_rows(&[[0.0, 1.0], [0.0, Real::NAN], [0.0, 0.0]]);
    assert_eq!(Metric::RocAuc.score(&logits, &labels, &[0, 1, 2]), None);
    assert_eq!(Metric::RocAuc.score(&logits, &labels, &[0, 2]), Some(0.0));
    let labels = Labels::Multi { values: vec![0, 1, 1, 0, 1, 0], classes: 2 };
    assert_eq!(Metric::RocAuc.score(&logits, &labels, &[0, 1, 2]), None);
}

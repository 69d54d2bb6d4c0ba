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

#[test]
fn scores_agree_with_scikit_learn() {
    for case in cases(include_str!("../../tests/golden/metrics.txt")) {
        let labels = labels(&case);
        let logits = case.numbers("logits").iter().map(|&z| z as Real).collect();
        let logits = Mat::from_vec(labels.len(), labels.classes(), logits);
        let rows: Vec<u32> = case.numbers("rows").iter().map(|&i| i as u32).collect();
        for (name, metric) in METRICS {
            let expected = case.numbers(name)[0];
            let found = metric.score(&logits, &labels, &rows).unwrap_or(f64::NAN);
            let close = (found - expected).abs() < 1e-12 || (found.is_nan() && expected.is_nan());
            assert!(close, "{}: {name} {found}, not {expected}", case.name);
        }
    }
}

/// The counts give the scores of the golden file, and mistakes add up to the misses.
#[test]
fn a_tally_agrees_with_the_scores() {
    for case in cases(include_str!("../../tests/golden/metrics.txt")) {
        let labels = labels(&case);
        let logits = case.numbers("logits").iter().map(|&z| z as Real).collect();
        let logits = Mat::from_vec(labels.len(), labels.classes(), logits);
        let rows: Vec<u32> = case.numbers("rows").iter().map(|&i| i as u32).collect();
        let tally = Tally::of(&logits, &labels, &rows);
        let Labels::Classes { .. } = labels else {
            assert!(tally.mistakes.is_empty(), "{}", case.name);
            continue;
        };
        let hits: u64 = tally.classes.iter().map(|c| c.hits).sum();
        let wrong: usize = tally.mistakes.iter().map(|m| m[2]).sum();
        assert_eq!(hits as usize + wrong, tally.nodes, "{}", case.name);
        let accuracy = case.numbers("accuracy")[0];
        let same = (hits as f64 / tally.nodes as f64 - accuracy).abs() < 1e-12;
        assert!(same || accuracy.is_nan(), "{}: {hits} of {}, not {accuracy}", case.name, tally.nodes);
        for (c, class) in tally.classes.iter().enumerate() {
            let missed: usize = tally.mistakes.iter().filter(|m| m[0] == c).map(|m| m[2]).sum();
            let alarmed: usize = tally.mistakes.iter().filter(|m| m[1] == c).map(|m| m[2]).sum();
            assert_eq!((missed as u64, alarmed as u64), (class.misses, class.false_alarms), "{}", case.name);
        }
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

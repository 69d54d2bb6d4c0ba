//! Groups, labels and speed-ups on curves made by hand.

use super::*;
use crate::record::{Epoch, FORMAT, Origin, Prepared, Summary};
use iglu::observe::Seconds;
use serde_json::json;
use std::path::PathBuf;

/// A run with these (training seconds, validation score).
fn run(folder: &str, seed: u64, order: &str, curve: &[(f64, f64)]) -> Run {
    let config = json!({"seed": seed, "train": {"order": order, "lambda": 0.3}});
    let mut best = f64::NEG_INFINITY;
    let epoch = |(i, &(seconds, val)): (usize, &(f64, f64))| {
        let better = val > best;
        best = best.max(val);
        Epoch {
            epoch: i + 1,
            val: Some(val),
            test: Some(val - 0.01),
            best: better,
            seconds: Seconds { train: seconds, ..Seconds::default() },
            ..Epoch::default()
        }
    };
    Run {
        path: PathBuf::from(folder),
        origin: Origin { format: FORMAT, seed, config, ..Origin::default() },
        prepared: Prepared { metric: "accuracy".into(), ..Prepared::default() },
        epochs: curve.iter().enumerate().map(epoch).collect(),
        summary: Some(Summary::default()),
        config: toml::Table::new(),
    }
}

fn two_orders() -> Vec<Run> {
    vec![
        run("a0", 0, "inverted", &[(1.0, 0.7), (2.0, 0.9), (3.0, 0.85)]),
        run("b0", 0, "exact", &[(4.0, 0.6), (8.0, 0.8), (10.0, 0.8)]),
        run("a1", 1, "inverted", &[(2.0, 0.8), (4.0, 0.92), (6.0, 0.95)]),
        run("c0", 0, "backprop", &[(1.0, 0.5), (2.0, 0.6)]),
    ]
}

#[test]
fn runs_that_differ_in_the_seed_are_one_group() {
    let all = Comparison::new(two_orders(), None).unwrap();
    let [section] = &all.sections[..] else { panic!("one dataset") };
    let labels: Vec<&str> = section.groups.iter().map(|g| g.label.as_str()).collect();
    assert_eq!(labels, ["order inverted", "order exact", "order backprop"]);
    let val = section.groups[0].spread(Run::val).unwrap();
    assert!((val.mean - 0.925).abs() < 1e-12 && (val.std.unwrap() - 0.05 / 2f64.sqrt()).abs() < 1e-12);
}

/// Equation 1: the slowest (exact) has its best score 0.8 after 8 s; the two inverted runs have it after 2 s each,
/// `100 (8 - 2) / 8 = 75`; backprop never has it.
#[test]
fn speed_up_is_equation_one() {
    let all = Comparison::new(two_orders(), None).unwrap();
    let section = &all.sections[0];
    let expect = Baseline { group: 1, score: Some(0.8), seconds: Some(8.0) };
    assert_eq!(section.baseline, expect);
    let speed_ups: Vec<Option<f64>> =
        section.groups.iter().flat_map(|g| &g.runs).map(|r| section.baseline.speed_up(r)).collect();
    assert_eq!(speed_ups, [Some(75.0), Some(75.0), Some(0.0), None]);
    let markdown = all.markdown();
    assert!(markdown.contains("75.0 ± 0.0 %") && markdown.contains("never has the score"), "{markdown}");
}

/// The baseline of two seeds has mean score 0.925 and mean time (2 + 6) / 2 = 4 s.
#[test]
fn a_baseline_can_be_chosen_and_has_the_means_of_its_seeds() {
    let folder = std::env::temp_dir().join(format!("iglu-report-{}-baseline", std::process::id()));
    let runs = two_orders();
    let in_folder = |run: Run| {
        let path = folder.join(&run.path);
        std::fs::create_dir_all(&path).unwrap();
        Run { path, ..run }
    };
    let runs: Vec<Run> = runs.into_iter().map(in_folder).collect();
    let all = Comparison::new(runs.clone(), Some(&folder.join("a1"))).unwrap();
    let baseline = all.sections[0].baseline;
    assert_eq!((baseline.group, baseline.seconds), (0, Some(4.0)));
    assert!((baseline.score.unwrap() - 0.925).abs() < 1e-12);
    let e = Comparison::new(runs, Some(Path::new("nowhere"))).unwrap_err();
    assert_eq!(e.exit_code(), 64);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn other_data_is_another_section() {
    let mut runs = two_orders();
    runs[0].origin.data.name = "other".into();
    let all = Comparison::new(runs, None).unwrap();
    assert_eq!(all.sections.len(), 2);
    assert_eq!(all.plots().len(), 2);
    assert_eq!(all.csv().lines().count(), 5);
}

#[test]
fn csv_has_numbers_and_empty_fields() {
    let all = Comparison::new(vec![run("a,0", 3, "exact", &[(1.5, 0.25)])], None).unwrap();
    let csv = all.csv();
    let row = csv.lines().nth(1).unwrap();
    assert!(row.starts_with("\"a,0\",,all runs,3,true,accuracy,1,1,0.25,0.24,1.5,1.5,,1.5,0,,0,0,"), "{row}");
}

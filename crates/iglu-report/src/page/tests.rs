//! Pages hold together whatever the data calls itself, and need nothing from elsewhere.

use super::*;
use crate::folder::Run;
use crate::profile::{ClassSize, Profile};
use crate::record::{Epoch, FORMAT, Facts, Origin, Prepared, Scores, Summary};
use iglu::metrics::{Confusion, Tally};
use iglu::observe::{LayerPoint, RefreshPoint, Seconds};
use std::path::PathBuf;

const EVIL: &str = "</title><script>alert(1)</script>\"'&";

fn refresh(epoch: usize) -> RefreshPoint {
    let layer = LayerPoint { k: 1, age: 8, bias: Some(0.1), cosine: Some(0.99), dead: 0, rank: 12.0 };
    RefreshPoint { epoch, loss: f64::NAN, rho: Some(0.5), lambda: 0.3, layers: vec![layer] }
}

fn epoch(number: usize) -> Epoch {
    let at = number as f64;
    Epoch {
        epoch: number,
        epochs: 3,
        loss: Some(1.0 / at),
        val: Some(0.5 + 0.1 * at),
        test: Some(0.45 + 0.1 * at),
        best: true,
        learning_rate: 0.01,
        seconds: Seconds {
            train: at,
            refresh: 0.4 * at,
            passes: 0.6 * at,
            total: 2.0 * at,
            ..Seconds::default()
        },
        refreshes: vec![refresh(number)],
        peak_rss_bytes: Some(50 << 20),
    }
}

/// A run on data of `classes` classes, with hostile names throughout.
fn run(classes: usize) -> Run {
    let evil = |i: usize| format!("{EVIL}{i}");
    let tally = Tally {
        nodes: 10 * classes,
        classes: vec![Confusion { hits: 8, misses: 2, false_alarms: 1, rejections: 0 }; classes],
        mistakes: vec![[0, 1, 2]],
    };
    let metrics = [("accuracy".to_string(), 0.8)].into_iter().collect();
    let scores = vec![Scores { split: "test".into(), metrics, tally }];
    let profile = Profile {
        degrees: vec![[0, 1], [1, 20], [2, 5]],
        classes: vec![ClassSize { train: 4, val: 3, test: 10, rest: 1 }; classes],
        class_names: (0..classes).map(evil).collect(),
    };
    let data = Facts { name: EVIL.into(), task: "multi-class".into(), classes, ..Facts::default() };
    Run {
        path: PathBuf::from(EVIL),
        origin: Origin {
            format: FORMAT,
            command: EVIL.into(),
            source: EVIL.into(),
            version: EVIL.into(),
            data,
            ..Origin::default()
        },
        prepared: Prepared { params: 10, metric: "accuracy".into(), seconds: 0.1 },
        epochs: (1..=3).map(epoch).collect(),
        summary: Some(Summary { scores, profile, seconds: epoch(3).seconds, ..Summary::default() }),
        config: toml::toml! { seed = 1
        [network]
        layer = "</pre><script>" },
    }
}

/// No tag but ours, nothing loaded, all tags closed.
fn check(page: &str) {
    assert!(!page.contains("<script") && !page.contains("</pre><"), "a text from outside became markup");
    for outside in ["http://", "https://", "url(", "@import", "src=\""] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(!page.contains("NaN") && !page.contains("inf\""), "a number that is none");
    for tag in ["svg", "figure", "table", "section", "div", "tr", "td", "g", "rect", "circle", "p", "pre"] {
        let with_attributes = format!("<{tag} ");
        let opened = page.matches(&format!("<{tag}>")).count() + page.matches(&with_attributes).count();
        let closed = page.matches(&format!("</{tag}>")).count();
        let empty = |rest: &&str| rest.split('>').next().is_some_and(|tag| tag.ends_with('/'));
        let alone = page.split(&with_attributes).skip(1).filter(empty).count();
        assert_eq!(opened, closed + alone, "<{tag}>");
    }
}

#[test]
fn hostile_names_stay_text() {
    let page = of_run(&run(3));
    check(&page);
    for part in
        ["Confusion matrix", "Bias of the gradient", "Phases", "Degrees", "0.8000", "best 0.8000 (epoch 3)"]
    {
        assert!(page.contains(part), "no {part}");
    }
    assert!(page.contains("Always answering with the largest class would score 0.3333."));
    assert!(
        page.contains("On 30 test nodes it is uncertain by ± 0.1550 (95 %)."),
        "1.96 sqrt(0.75 0.25 / 30)"
    );
}

#[test]
fn many_classes_have_a_table_of_confusions() {
    let page = of_run(&run(200));
    check(&page);
    assert!(!page.contains("Confusion matrix") && page.contains("taken for") && page.contains("171 others"));
    assert!(page.contains("140 smaller classes are left out"));
}

#[test]
fn a_run_that_has_not_ended_has_a_page() {
    let mut unfinished = run(3);
    unfinished.summary = None;
    let page = of_run(&unfinished);
    check(&page);
    assert!(page.contains("has not ended: 3 of 3 epochs"));
    unfinished.epochs.clear();
    check(&of_run(&unfinished));
}

#[test]
fn comparisons_stay_text_too() {
    let mut other = run(3);
    other.origin.config = serde_json::json!({"train": {"order": EVIL}});
    let comparison = crate::Comparison::new(vec![run(3), other], None).unwrap();
    check(&of_comparison(&comparison, EVIL));
}

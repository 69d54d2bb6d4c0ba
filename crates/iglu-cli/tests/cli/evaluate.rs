//! `iglu evaluate`: the scores of training again, split by split and class by class.

use crate::harness::Scratch;
use crate::train::SMALL;

#[test]
fn the_scores_are_those_of_training() {
    let scratch = Scratch::new("evaluate");
    for (data, metric) in [("synth:village", "accuracy"), ("synth:ppi@0.02", "f1-micro")] {
        let trained = scratch.json(&format!("train {data} --json --quiet --force --out run {SMALL}"));
        let found = scratch.json(&format!("evaluate run {data} --json"));
        assert_eq!(found["scores"], trained["scores"], "{data}");
        assert_eq!((&found["metric"], &found["scores"][2]["split"]), (&metric.into(), &"test".into()));
        assert_eq!(found["scores"][1]["metrics"][metric], trained["val"], "{data}");
        assert_eq!(found["scores"][2]["metrics"][metric], trained["test"], "{data}");
        assert!(found["scores"][2]["metrics"]["roc-auc"].as_f64().unwrap() > 0.5, "{data}");
    }
}

#[test]
fn people_get_tables() {
    let scratch = Scratch::new("evaluate-text");
    scratch.iglu(&format!("train --quiet --out run {SMALL}")).check(0, &[]);
    let ended = scratch.iglu("evaluate run/best.safetensors synth:village").check(0, &[]);
    let ended = ended.says(&[
        "training",
        "validation",
        "micro F1",
        "ROC-AUC",
        "classes on the test nodes:",
        "recall",
    ]);
    assert_eq!(ended.stdout.lines().count(), 4 + 1 + 1 + 1 + 9, "{}", ended.stdout);
    let few = scratch.iglu("evaluate run synth:village --classes 3").check(0, &[]);
    few.says(&["largest classes on the test nodes:"]);
}

#[test]
fn data_that_cannot_be_scored_is_refused() {
    let scratch = Scratch::new("unscored");
    scratch.iglu(&format!("train --quiet --out run {SMALL}")).check(0, &[]);
    for (args, code, expect) in [
        ("evaluate run synth:arxiv@0.005", 65, &["synth:arxiv@0.005", "128", "32"][..]),
        ("evaluate run nowhere.npz", 66, &["nowhere.npz"]),
        ("evaluate nothing synth:village", 66, &["`nothing`"]),
        ("evaluate run", 64, &["<DATA>"]),
    ] {
        scratch.iglu(args).check(code, expect);
    }
    scratch.bare("synth:village@0.05", "bare.npz");
    scratch.iglu("evaluate run bare.npz").check(65, &["bare.npz", "no node of a split has a label", "fix: "]);
}

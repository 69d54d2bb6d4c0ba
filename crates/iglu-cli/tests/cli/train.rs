//! `iglu train`: what it prints and what it writes.

use crate::harness::Scratch;
use serde_json::Value;

/// A run of a second.
pub const SMALL: &str = "--hidden 16 --epochs 2";

const KEYS: &[&str] = &[
    "version",
    "command",
    "time",
    "source",
    "metric",
    "best_epoch",
    "val",
    "test",
    "epochs",
    "seconds",
    "seconds_per_epoch",
    "history",
    "bias",
    "threads",
    "seed",
    "params",
    "peak_rss_bytes",
    "isa",
    "model",
    "data",
    "profile",
    "scores",
    "config",
];

#[test]
fn without_arguments_it_learns_the_village() {
    let scratch = Scratch::new("default");
    let ended = scratch.iglu("train").check(0, &["epoch ", "loss ", "val ", "best "]);
    let run = scratch.only_run();
    let stamp = run.strip_prefix("runs/village-").unwrap();
    assert!(stamp.len() == 15 && stamp.chars().all(|c| c.is_ascii_digit() || c == '-'), "{run}");
    let predict = format!("iglu predict {run}/best.safetensors");
    ended.says(&["village", "validation", "test", &predict, &format!("{run}/report.html")]);
    let summary: Value = serde_json::from_slice(&scratch.read(&format!("{run}/summary.json"))).unwrap();
    assert!(summary["test"].as_f64().unwrap() > 0.6, "{}", summary["test"]);
}

#[test]
fn json_is_one_object_with_every_promised_key() {
    let scratch = Scratch::new("json");
    let result = scratch.json(&format!("train --json --quiet --seed 5 {SMALL}"));
    for key in KEYS {
        assert!(result.get(key).is_some(), "no `{key}` in {result:#}");
    }
    for key in ["load", "prepare", "train", "eval", "total", "start", "refresh", "passes"] {
        assert!(result["seconds"][key].is_f64(), "no seconds.{key}");
    }
    for key in ["epoch", "train_seconds", "loss", "val", "test"] {
        assert!(result["history"][0][key].is_number(), "no history.{key}");
    }
    assert_eq!((&result["seed"], &result["epochs"]), (&5.into(), &2.into()));
    let history = result["history"].as_array().unwrap();
    assert_eq!(history.iter().map(|p| p["epoch"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(result["start"]["epoch"], 0);
    assert_eq!(result["config"]["network"]["hidden"], 16);
    assert_eq!(result["data"]["nodes"], 2000);
    let summary = format!("{}/summary.json", scratch.only_run());
    assert_eq!(serde_json::from_slice::<Value>(&scratch.read(&summary)).unwrap(), result);
}

#[test]
fn the_score_of_the_best_epoch_is_reported() {
    let scratch = Scratch::new("best");
    let result = scratch.json(&format!("train --json --quiet {SMALL} --epochs 4"));
    let history = result["history"].as_array().unwrap();
    let best = history.iter().map(|p| p["val"].as_f64().unwrap()).fold(f64::MIN, f64::max);
    let chosen = history.iter().find(|p| p["epoch"] == result["best_epoch"]).unwrap();
    assert_eq!(result["val"].as_f64(), Some(best));
    assert_eq!((&chosen["val"], &chosen["test"]), (&result["val"], &result["test"]));
}

#[test]
fn quiet_says_nothing_on_stderr() {
    let scratch = Scratch::new("quiet");
    let ended = scratch.iglu(&format!("train --quiet {SMALL}")).check(0, &[]);
    assert_eq!(ended.stderr, "");
}

#[test]
fn progress_has_a_line_for_each_evaluation() {
    let scratch = Scratch::new("progress");
    let ended =
        scratch.iglu("train --hidden 16 --epochs 4 --eval-every 2").check(0, &["epoch 2/4", "epoch 4/4"]);
    let lines = ended.stderr.lines().filter(|l| l.starts_with("epoch ")).count();
    assert!(lines < 4, "{}", ended.stderr);
}

#[test]
fn the_configuration_of_a_run_repeats_it() {
    let scratch = Scratch::new("repeat");
    scratch.iglu(&format!("train --quiet --out a --seed 3 --lr 0.02 {SMALL}")).check(0, &[]);
    scratch.iglu("train --quiet --out b --config a/config.toml").check(0, &[]);
    assert!(scratch.read("a/best.safetensors") == scratch.read("b/best.safetensors"), "models differ");
    assert!(scratch.read("a/config.toml") == scratch.read("b/config.toml"), "configurations differ");
}

#[test]
fn a_folder_that_cannot_be_written_fails_before_training() {
    let scratch = Scratch::new("unwritable");
    scratch.file("file", b"in the way");
    scratch.iglu("train --out file/run").check(74, &["`file/run`", "cannot be written", "fix: "]);
    scratch.iglu("train --out file").check(74, &["`file`"]);
    scratch.file("runs", b"in the way");
    let ended = scratch.iglu("train").check(74, &["`runs`"]);
    assert!(!ended.stderr.contains("epoch"), "{}", ended.stderr);
}

#[test]
fn a_failed_run_leaves_no_folder() {
    let scratch = Scratch::new("no-folder");
    scratch.iglu("train nowhere.npz --out mine").check(66, &["nowhere.npz"]);
    assert!(scratch.names().is_empty(), "{:?}", scratch.names());
}

#[test]
fn a_run_that_diverges_says_where_and_keeps_nothing() {
    let scratch = Scratch::new("diverged");
    scratch.iglu("train --quiet --lr 1e30 --out mine").check(20, &["error: epoch", "fix: "]);
    assert!(scratch.names().is_empty(), "{:?}", scratch.names());
}

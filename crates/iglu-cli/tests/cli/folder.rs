//! The folder of a run: what is in it, who may write into it, and when it is refused.

use crate::harness::Scratch;
use crate::train::SMALL;
use serde_json::Value;

const FILES: &[&str] = &[
    ".lock",
    "best.safetensors",
    "config.toml",
    "events.jsonl",
    "last.checkpoint",
    "report.html",
    "summary.json",
];

/// The lines of a run's events.
pub fn events(scratch: &Scratch, run: &str) -> Vec<Value> {
    let text = String::from_utf8(scratch.read(&format!("{run}/events.jsonl"))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
pub fn a_run_leaves_its_files_and_a_second_one_is_refused_without_force() {
    let scratch = Scratch::new("files");
    // Two epochs may be all tried, and leave nothing to go on from.
    let small = SMALL.replace("--epochs 2", "--epochs 3");
    scratch.iglu(&format!("train --quiet --out mine {small}")).check(0, &[]);
    assert_eq!(scratch.names_in("mine"), FILES);
    let model = scratch.read("mine/best.safetensors");
    scratch.file("mine/notes.txt", b"mine");
    let again = format!("train --quiet --out mine --seed 1 {small}");
    scratch.iglu(&again).check(64, &["--out: `mine` holds a run already", "--force"]);
    assert_eq!(scratch.read("mine/best.safetensors"), model);
    scratch.iglu(&format!("{again} --force --tensorboard")).check(0, &[]);
    let summary: Value = serde_json::from_slice(&scratch.read("mine/summary.json")).unwrap();
    assert_eq!(summary["seed"], 1);
    let names = scratch.names_in("mine");
    assert!(names.iter().any(|n| n.starts_with("events.out.tfevents.")), "{names:?}");
    scratch.iglu(&format!("{again} --force")).check(0, &[]);
    let mut expect: Vec<&str> = FILES.to_vec();
    expect.push("notes.txt");
    expect.sort_unstable();
    assert_eq!(scratch.names_in("mine"), expect, "files of the old run were left, or others removed");
}

#[test]
fn every_epoch_has_a_line_with_scores_times_and_staleness() {
    let scratch = Scratch::new("events");
    let result = scratch.json("train --json --quiet --out run --epochs 4 --hidden 16 --layers 3");
    let events = events(&scratch, "run");
    let kinds: Vec<&str> = events.iter().map(|e| e["event"].as_str().unwrap()).collect();
    let tried = ["tried"; 4];
    let [before, after] =
        [&["run", "prepared", "started", "epoch"][..], &["epoch", "epoch", "epoch", "epoch", "end"]];
    assert_eq!(kinds, [before, &tried, after].concat());
    // The started network has a score before the first epoch, and nothing has been refreshed.
    assert_eq!((&events[3]["epoch"], &events[3]["refreshes"]), (&0.into(), &Value::Array(Vec::new())));
    assert_eq!((&events[3]["val"], &events[3]["test"]), (&result["start"]["val"], &result["start"]["test"]));
    assert_eq!(events[0]["command"], "iglu train --json --quiet --out run --epochs 4 --hidden 16 --layers 3");
    assert_eq!(events[0]["config"]["network"]["operator"], "auto");
    for (line, point) in events[8..12].iter().zip(result["history"].as_array().unwrap()) {
        for key in ["epoch", "loss", "val", "test"] {
            assert_eq!(line[key], point[key], "{key}");
        }
        for key in ["load", "prepare", "start", "refresh", "passes", "eval", "total"] {
            assert!(line["seconds"][key].is_f64(), "no seconds.{key}");
        }
        assert!(line["learning_rate"].as_f64().unwrap() > 0.0);
        assert!(line["refreshes"][0]["lambda"].is_f64());
        assert!(cfg!(not(target_os = "linux")) || line["peak_rss_bytes"].as_u64().unwrap() > 1 << 20);
    }
    // Layers 1 and 2 are lazy; nothing is stale at the first refresh.
    let layers = events[9]["refreshes"][0]["layers"].as_array().unwrap();
    let numbers: Vec<u64> = layers.iter().map(|l| l["k"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 2]);
    assert!(layers.iter().all(|l| l["bias"].is_f64() && l["age"].as_u64().unwrap() > 0), "{layers:?}");
    assert_eq!((&events[12]["val"], &events[12]["best_epoch"]), (&result["val"], &result["best_epoch"]));
}

/// Phases are parts of the whole that do not overlap.
#[test]
fn phases_add_up_to_less_than_the_total() {
    let scratch = Scratch::new("phases");
    let result = scratch.json(&format!("train --json --quiet {SMALL} --epochs 4"));
    let of = |name: &str| result["seconds"][name].as_f64().unwrap();
    let phases: f64 = ["load", "prepare", "start", "refresh", "passes", "eval"].map(of).iter().sum();
    assert!(phases <= of("total") * 1.001, "{phases} > {}", of("total"));
    assert!(of("start") + of("refresh") + of("passes") <= of("train") * 1.001, "{}", result["seconds"]);
    assert!(of("refresh") > 0.0 && of("passes") > 0.0);
}

#[test]
#[cfg(unix)]
pub fn two_runs_in_one_folder_do_not_happen() {
    let scratch = Scratch::new("two");
    let first = format!("$IGLU train --quiet --out run {SMALL} --epochs 500 & first=$!;");
    // The first has the folder as soon as its events begin.
    let wait = "while ! [ -s run/events.jsonl ]; do sleep 0.02; done;";
    let second = "$IGLU train --quiet --force --out run; code=$?; kill $first; exit $code";
    let ended = scratch.shell(&format!("{first} {wait} {second}"));
    let ended = ended.check(73, &["`run`: another run (process ", "is writing into it", "fix: wait"]);
    assert!(!ended.stderr.contains("error: --out"), "{}", ended.stderr);
}

#[test]
#[cfg(unix)]
pub fn a_full_disk_is_found_before_training() {
    let scratch = Scratch::new("full");
    // No file may grow beyond a few kilobytes.
    let ended = scratch.shell("trap '' XFSZ; ulimit -f 8; exec $IGLU train --out run");
    let ended = ended.check(74, &["`run`: cannot be written to", "fix: "]);
    assert!(!ended.stderr.contains("epoch"), "{}", ended.stderr);
    assert!(scratch.names().is_empty(), "{:?}", scratch.names());
}

/// The disk fills up while the run goes on: it stops, says so, and what was written is readable.
#[test]
#[cfg(unix)]
fn a_disk_that_fills_up_stops_the_run() {
    let scratch = Scratch::new("fills");
    // Many refreshes of many layers make long lines.
    let line = "trap '' XFSZ; ulimit -f 2200; exec $IGLU train synth:village@0.05 --quiet --out run --hidden 4 --epochs 1000 \
                --layers 6 --layer gcn --set frequency=100";
    let ended = scratch.shell(line);
    let ended = ended.check(74, &["`run/events.jsonl`", "cannot be written", "fix: "]);
    assert_eq!(ended.stdout, "");
    scratch.iglu("report run --out page.html").check(0, &[]);
    assert!(scratch.names_in("run").contains(&"best.safetensors".to_string()), "the best model is kept");
}

#[test]
#[cfg(target_os = "linux")]
pub fn a_folder_that_can_be_read_only_is_refused() {
    let scratch = Scratch::new("read-only");
    scratch.iglu("train --out /proc/iglu-run").check(74, &["`/proc/iglu-run`", "cannot be written", "fix: "]);
}

/// Reads records of an event file: `length, crc, data, crc`.
fn records(bytes: &[u8]) -> Vec<&[u8]> {
    let mut rest = bytes;
    let mut out = Vec::new();
    while let Some((length, _)) = rest.split_first_chunk() {
        let length = u64::from_le_bytes(*length) as usize;
        out.push(&rest[12..12 + length]);
        rest = &rest[16 + length..];
    }
    out
}

#[test]
fn tensorboard_gets_a_record_for_each_epoch() {
    let scratch = Scratch::new("board");
    scratch.iglu(&format!("train --quiet --tensorboard --out run {SMALL} --epochs 3")).check(0, &[]);
    let name = scratch.names_in("run").into_iter().find(|n| n.starts_with("events.out.tfevents.")).unwrap();
    let file = scratch.read(&format!("run/{name}"));
    let records = records(&file);
    let holds = |at: usize, tag: &str| records[at].windows(tag.len()).any(|w| w == tag.as_bytes());
    assert_eq!(records.len(), 5);
    assert!(holds(0, "brain.Event:2"));
    for tag in ["loss", "val", "test", "learning_rate"] {
        assert!((1..5).all(|at| holds(at, tag)), "{tag}");
    }
    assert!((2..5).all(|at| holds(at, "lambda")));
    assert!(holds(3, "bias/layer1") && holds(4, "bias/layer1"));
}

/// Whatever is left to the data is tried before the first epoch: with its score, and the best of it is that epoch.
#[test]
fn what_is_tried_is_told_with_its_score() {
    let scratch = Scratch::new("tried");
    scratch.iglu("train --out run --hidden 8 --epochs 2").check(
        0,
        &[
            "tried for an epoch: operator=mean lazy_dropout=free  val 0.",
            "another epoch:  val 0.",
            "operator=sym",
        ],
    );
    let all = events(&scratch, "run");
    let of = |kind: &str| all.iter().filter(|e| e["event"] == kind).collect::<Vec<_>>();
    let (tried, epochs) = (of("tried"), of("epoch"));
    let order: Vec<_> = tried.iter().map(|t| t["epoch"].as_u64().unwrap()).collect();
    assert_eq!(order, [1, 2, 1, 1], "a second epoch, another kind of dropout, another operator");
    assert_eq!(tried[0]["settings"]["operator"], "mean");
    assert_eq!(tried[0]["settings"], tried[1]["settings"]);
    let same = |t: &&Value| ["loss", "val", "test"].iter().all(|key| t[key] == epochs[1][key]);
    assert!(tried.iter().any(same), "{tried:?}\n{:?}", epochs[1]);
    scratch
        .iglu("train --out given --hidden 8 --epochs 2 --set operator=mean --set lazy_dropout=off")
        .check(0, &[]);
    assert!(events(&scratch, "given").iter().all(|e| e["event"] != "tried"), "nothing is left to the data");
}

//! `iglu report` and `iglu train --seeds`: pages, tables, curves, groups and speed-ups.

use crate::harness::Scratch;
use crate::train::SMALL;
use iglu_report::Run;
use serde_json::Value;

fn text(scratch: &Scratch, name: &str) -> String {
    String::from_utf8(scratch.read(name)).unwrap()
}

#[test]
fn training_writes_the_page_that_report_makes_again() {
    let scratch = Scratch::new("page");
    let result = scratch.json(&format!("train --json --quiet --out run {SMALL} --epochs 4"));
    let page = text(&scratch, "run/report.html");
    for part in
        ["Convergence", "Confusion matrix", "Bias of the gradient", "Degrees", "Phases", "Configuration"]
    {
        assert!(page.contains(part), "no {part}");
    }
    assert!(page.contains(&format!("{:.4}", result["test"].as_f64().unwrap())));
    scratch.iglu("report run --out again.html").check(0, &[]).says(&["again.html"]);
    assert_eq!(text(&scratch, "again.html"), page);
    std::fs::remove_file(scratch.path.join("run/report.html")).unwrap();
    scratch.iglu("report run").check(0, &[]).says(&["run/report.html"]);
    assert_eq!(text(&scratch, "run/report.html"), page);
}

/// What the summary says and what the reader makes of the folder are the same.
#[test]
fn a_folder_reads_back() {
    let scratch = Scratch::new("back");
    let result = scratch.json(&format!("train synth:ppi@0.02 --json --quiet --out run {SMALL} --epochs 3"));
    let run = Run::read(&scratch.path.join("run")).unwrap();
    assert_eq!((run.val(), run.test()), (result["val"].as_f64(), result["test"].as_f64()));
    assert_eq!(run.best().unwrap().epoch as u64, result["best_epoch"].as_u64().unwrap());
    assert_eq!(run.prepared.metric, "f1-micro");
    let per_epoch = result["seconds_per_epoch"].as_f64().unwrap();
    // The first epoch was part of the start; a few instructions lie between the two clocks.
    let found = run.seconds_per_epoch().unwrap();
    assert!((found / per_epoch - 1.0).abs() < 0.1, "{found} s, the summary has {per_epoch} s");
    let summary = run.summary.unwrap();
    assert_eq!(summary.scores.len(), 3);
    assert_eq!(summary.scores[2].metrics["f1-micro"], result["test"].as_f64().unwrap());
    assert_eq!(summary.profile.classes.len(), 121);
    assert_eq!(run.config["network"]["hidden"].as_integer(), Some(16));
}

#[test]
fn runs_stand_side_by_side_with_their_speed_up() {
    let scratch = Scratch::new("compare");
    for (out, flags) in [("a", "--seed 1"), ("b", "--seed 2"), ("c", "--order exact --epochs 30")] {
        scratch.iglu(&format!("train --quiet --out {out} {SMALL} {flags}")).check(0, &[]);
    }
    let files = "--out all.html --markdown all.md --csv all.csv --svg all.svg";
    let ended = scratch.iglu(&format!("report a b c c --baseline c {files}")).check(0, &[]);
    assert_eq!(ended.stdout.lines().collect::<Vec<_>>(), ["all.html", "all.md", "all.csv", "all.svg"]);
    let csv = text(&scratch, "all.csv");
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|l| l.split(',').collect()).collect();
    assert_eq!(rows.len(), 3, "{csv}");
    let markdown = text(&scratch, "all.md");
    assert!(markdown.contains(" ± ") && markdown.contains("| baseline |"), "{markdown}");
    assert!(
        markdown.contains("order inverted | 2 |") && markdown.contains("order exact | 1 |"),
        "{markdown}"
    );
    let svg = text(&scratch, "all.svg");
    assert!(svg.starts_with("<svg xmlns=") && svg.matches("<polyline").count() == 3, "{svg}");
    let page = text(&scratch, "all.html");
    assert!(page.contains("3 runs") && page.contains("order exact"));
}

#[test]
fn datasets_have_sections_and_curves_of_their_own() {
    let scratch = Scratch::new("datasets");
    for (out, data) in [("a", "synth:village"), ("b", "synth:village@0.1")] {
        scratch.iglu(&format!("train {data} --quiet --out {out} {SMALL}")).check(0, &[]);
    }
    let ended = scratch.iglu("report a b --svg plot.svg").check(0, &[]);
    assert_eq!(
        ended.stdout.lines().collect::<Vec<_>>(),
        ["report.html", "plot-village.svg", "plot-village@0.1.svg"]
    );
    let page = text(&scratch, "report.html");
    assert!(page.contains("2 runs on 2 datasets") && page.contains("village@0.1: accuracy"));
}

/// The speed-up of the table is equation 1 on the history that the summaries have.
#[test]
fn speed_ups_follow_from_the_histories() {
    let scratch = Scratch::new("speed-up");
    let histories =
        [("lazy", "--epochs 6"), ("exact", "--order exact --epochs 8 --lr 0.001")].map(|(out, flags)| {
            let result = scratch.json(&format!("train --quiet --json --out {out} --hidden 16 {flags}"));
            let point = |p: &Value| (p["train_seconds"].as_f64().unwrap(), p["val"].as_f64().unwrap());
            let start = point(&result["start"]);
            (start, result["history"].as_array().unwrap().iter().map(point).collect::<Vec<_>>())
        });
    scratch.iglu("report lazy exact --baseline exact --csv t.csv").check(0, &[]);
    let best = histories[1].1.iter().fold((0.0, f64::MIN), |b, p| if p.1 > b.1 { *p } else { b });
    let (t1, v1) = best;
    // The score of the start counts for who has it, not as the best of a run.
    let (start, later) = &histories[0];
    let reached = std::iter::once(start).chain(later).find(|p| p.1 >= v1).map(|p| p.0);
    let table = text(&scratch, "t.csv");
    let row = table.lines().find(|l| l.starts_with("lazy,")).unwrap();
    // The settings of a group hold commas and are quoted: count from the end.
    let found = row.rsplit(',').nth(4).unwrap();
    match reached {
        Some(t2) => assert!((found.parse::<f64>().unwrap() - 100.0 * (t1 - t2) / t1).abs() < 1e-3, "{row}"),
        None => assert_eq!(found, "", "{row}"),
    }
}

#[test]
fn seeds_have_folders_a_mean_and_one_page() {
    let scratch = Scratch::new("seeds-n");
    let result = scratch.json(&format!("train --quiet --json --seed 5 --seeds 3 --out all {SMALL}"));
    assert_eq!(
        scratch.names_in("all"),
        [".lock", "report.html", "seed-5", "seed-6", "seed-7", "summary.json"]
    );
    assert_eq!(serde_json::from_slice::<Value>(&scratch.read("all/summary.json")).unwrap(), result);
    let single = scratch.json(&format!("train --quiet --json --seed 6 --out one {SMALL}"));
    assert_eq!(result["runs"][1]["test"], single["test"]);
    assert!(
        scratch.read("all/seed-6/best.safetensors") == scratch.read("one/best.safetensors"),
        "models differ"
    );
    let tests: Vec<f64> = (0..3).map(|i| result["runs"][i]["test"].as_f64().unwrap()).collect();
    let mean = tests.iter().sum::<f64>() / 3.0;
    let std = (tests.iter().map(|t| (t - mean).powi(2)).sum::<f64>() / 2.0).sqrt();
    for (key, expect) in [("mean", mean), ("std", std)] {
        assert!((result["test"][key].as_f64().unwrap() - expect).abs() < 1e-12, "{key}");
    }
    assert!(text(&scratch, "all/report.html").contains("village: 3 runs"));
    scratch.iglu("report all --out page.html --csv t.csv").check(0, &[]);
    assert_eq!(text(&scratch, "t.csv").lines().count(), 4);
    let refused = scratch.iglu("predict all synth:village --out s.npy").check(64, &["3 seeds", "all/seed-5"]);
    assert!(refused.stdout.is_empty());
    scratch.iglu(&format!("train --quiet --out all {SMALL}")).check(64, &["--force"]);
    scratch.iglu(&format!("train --quiet --out all --force {SMALL}")).check(0, &[]);
    assert!(!scratch.names_in("all").iter().any(|n| n.starts_with("seed-")), "old seeds were left");
}

#[test]
fn seeds_are_told_apart_for_people() {
    let scratch = Scratch::new("seeds-text");
    let ended = scratch.iglu(&format!("train --seeds 2 --out all {SMALL}"));
    let ended = ended.check(0, &["seed 0 (1 of 2)", "seed 1 (2 of 2)", "epoch 2/2"]);
    ended.says(&["seed 1", "±", "all/report.html"]);
    scratch.iglu("train --seeds 0").check(64, &["--seeds"]);
}

#[test]
fn folders_without_a_run_are_refused() {
    let scratch = Scratch::new("no-run");
    scratch.iglu(&format!("train --quiet --out run {SMALL}")).check(0, &[]);
    std::fs::create_dir(scratch.path.join("empty")).unwrap();
    std::fs::create_dir(scratch.path.join("bad")).unwrap();
    scratch
        .file("bad/events.jsonl", b"{\"event\":\"run\",\"format\":1}\n{\"event\":\"epoch\",\"epoch\":-1}\n");
    std::fs::create_dir(scratch.path.join("newer")).unwrap();
    scratch.file("newer/events.jsonl", b"{\"event\":\"run\",\"format\":2}\n");
    for (args, code, expect) in [
        ("report empty", 66, &["`empty`", "events.jsonl", "fix: "][..]),
        ("report nowhere", 66, &["`nowhere`", "cannot be read", "fix: "]),
        ("report bad", 65, &["`bad/events.jsonl`: line 2", "-1", "fix: "]),
        ("report newer", 65, &["`newer/events.jsonl`: line 1", "format 2", "fix: "]),
        ("report run --baseline empty", 64, &["--baseline", "`empty`", "fix: "]),
        ("report", 64, &["<DIR>"]),
        ("report run --out run/summary.json/page.html", 74, &["page.html", "cannot be written"]),
    ] {
        scratch.iglu(args).check(code, expect);
    }
}

/// A run that was killed has a page, too.
#[test]
fn a_run_that_was_cut_off_has_a_page() {
    let scratch = Scratch::new("cut-off");
    scratch.iglu(&format!("train --quiet --out run {SMALL} --epochs 4")).check(0, &[]);
    let events = text(&scratch, "run/events.jsonl");
    let third = events.match_indices("{\"event\":\"epoch\"").nth(3).unwrap().0;
    scratch.file("run/events.jsonl", &events.as_bytes()[..third + 40]);
    std::fs::remove_file(scratch.path.join("run/summary.json")).unwrap();
    scratch.iglu("report run --out page.html").check(0, &[]);
    assert!(text(&scratch, "page.html").contains("has not ended: 2 of 4 epochs"));
}

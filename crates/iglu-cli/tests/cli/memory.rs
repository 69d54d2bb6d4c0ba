//! Memory: what is planned, what is used, what is refused.

use crate::harness::Scratch;
use iglu_data::LoadOptions;

/// The peak that is planned for a run, and the one it has, in bytes.
fn peaks(scratch: &Scratch, source: &str, flags: &str) -> [f64; 2] {
    let out = format!("{}-{}", source.replace([':', '@', '.'], "-"), flags.replace([' ', '=', '-'], ""));
    let result = scratch.json(&format!("train {source} --quiet --json --epochs 2 --out {out} {flags}"));
    let text = String::from_utf8(scratch.read(&format!("{out}/events.jsonl"))).unwrap();
    let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let asked = serde_json::from_value(first["config"].clone()).unwrap();
    let data = iglu_data::load(source, &LoadOptions::default()).unwrap();
    let planned: u64 = iglu::run::memory(&asked, &data).unwrap().iter().map(|item| item.bytes).sum();
    [planned as f64, result["peak_rss_bytes"].as_f64().unwrap()]
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_planned_is_what_is_used() {
    let scratch = Scratch::new("memory");
    let quick = [("synth:arxiv@0.1", "")];
    let slow = [
        ("synth:arxiv@0.3", ""),
        ("synth:arxiv@0.3", "--setting inductive"),
        ("synth:arxiv@0.3", "--order exact"),
        ("synth:arxiv@0.3", "--order backprop"),
        ("synth:arxiv@0.3", "--layer gcn --layers 4"),
        ("synth:arxiv@0.3", "--layer pna"),
        ("synth:arxiv@0.3", "--hidden 64"),
        ("synth:arxiv@0.3", "--set start=mlp --set lazy_dropout=off --set operator=mean"),
        ("synth:ppi@0.5", ""),
        ("synth:flickr@0.5", ""),
        ("synth:reddit@0.1", ""),
    ];
    let (cases, most) =
        if std::env::var_os("IGLU_SLOW").is_some() { (&slow[..], 0.1) } else { (&quick[..], 0.2) };
    for (source, flags) in cases {
        let [planned, used] = peaks(&scratch, source, flags);
        let off = planned / used - 1.0;
        println!(
            "{source} {flags}: planned {:.0} MiB, used {:.0} MiB, {:+.1} %",
            planned / 1048576.0,
            used / 1048576.0,
            100.0 * off
        );
        assert!(off.abs() < most, "{source} {flags}: {planned} bytes planned, {used} used");
    }
}

#[test]
fn too_much_is_refused_before_training_with_the_largest_items() {
    let scratch = Scratch::new("budget");
    let expect =
        ["--memory: about ", "are needed, 30.0 MiB are allowed", "fix: the largest: ", "a smaller --hidden"];
    scratch.iglu("train synth:village --memory 30MiB --out a").check(71, &expect);
    assert!(scratch.names().is_empty(), "nothing is left");
    scratch.iglu("train synth:village@0.1 --memory 4GiB --quiet --epochs 1 --out b").check(0, &[]);
    scratch.iglu("train --memory lots").check(64, &["expected a size such as 4GiB"]);
    scratch.iglu("plan synth:village").check(0, &[]).says(&["memory    peak", "embeddings", "every     T_1"]);
}

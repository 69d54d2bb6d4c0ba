//! Memory: what is planned, what is used, what is refused.

use crate::harness::Scratch;
use iglu::config::Config;
use iglu::run::{Outline, Trials, memory_of};
use iglu::{Dataset, Features, Labels, SparseMat};
use iglu_data::LoadOptions;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// The peak that is planned for a run, and the one it has, in bytes.
fn peaks(scratch: &Scratch, source: &str, flags: &str) -> [f64; 2] {
    let out =
        format!("run-{}-{}", source.replace([':', '@', '.', '/'], "-"), flags.replace([' ', '=', '-'], ""));
    let result = scratch.json(&format!("train {source} --quiet --json --epochs 2 --out {out} {flags}"));
    let text = String::from_utf8(scratch.read(&format!("{out}/events.jsonl"))).unwrap();
    let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let asked = serde_json::from_value(first["config"].clone()).unwrap();
    let data = iglu_data::load(source, &LoadOptions::default()).unwrap();
    let planned = peak(&asked, &for_one_run(&data), Trials::default());
    [planned as f64, result["peak_rss_bytes"].as_f64().unwrap()]
}

/// The counts of data that one run alone reads: it may have the features.
fn for_one_run(data: &Dataset) -> Outline {
    Outline { features_rest: true, ..Outline::of(data) }
}

/// A store whose features are many words of which a node has few, most of them at random, some those of its class: so everything
/// is tried that can be. Its path.
fn wordy(scratch: &Scratch) -> String {
    const WORDS: u64 = 6000;
    const CLASSES: u64 = 40;
    let mut data = iglu_data::load("synth:arxiv@0.1", &LoadOptions::default()).unwrap();
    let Labels::Classes { ids, .. } = data.labels.clone() else { panic!("a class per node") };
    let class = |v: usize| ids[v] as u64;
    let (nodes, key) = (data.graph.nodes(), iglu::rng::Key::new(1));
    let (mut offsets, mut indices) = (vec![0], Vec::new());
    for v in 0..nodes as u64 {
        let own = class(v as usize) * (WORDS / CLASSES);
        let word = |i: u64| match key.u64(40 * v + i) {
            drawn if i < 4 => own + drawn % (WORDS / CLASSES),
            drawn => drawn % WORDS,
        };
        let words: BTreeSet<u32> = (0..40).map(|i| word(i) as u32).collect();
        indices.extend(words);
        offsets.push(indices.len() as u64);
    }
    let values = vec![1.0; indices.len()];
    data.features = Features::Sparse(SparseMat::from_parts(WORDS as usize, offsets, indices, values));
    let path = scratch.path.join("wordy.iglu");
    iglu_data::write_store(&path, &data).unwrap();
    path.to_str().unwrap().to_string()
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_planned_is_what_is_used() {
    let scratch = Scratch::new("memory");
    let wordy = wordy(&scratch);
    let quick = [("synth:arxiv@0.1", "")];
    let slow = [
        (wordy.as_str(), ""),
        (wordy.as_str(), "--set start=mlp --set lazy_dropout=off --set operator=mean"),
        ("synth:arxiv@0.3", ""),
        ("synth:arxiv@0.3", "--setting inductive"),
        ("synth:arxiv@0.3", "--order exact"),
        ("synth:arxiv@0.3", "--order backprop"),
        ("synth:arxiv@0.3", "--layer gcn --layers 4"),
        ("synth:arxiv@0.3", "--layer pna"),
        ("synth:arxiv@0.3", "--layer sage --layers 4"),
        ("synth:arxiv@0.3", "--layer gat"),
        ("synth:arxiv@0.3", "--layer saint --layers 3 --cache bf16"),
        ("synth:arxiv@0.3", "--hidden 64"),
        ("synth:arxiv@0.3", "--set start=mlp --set lazy_dropout=off --set operator=mean"),
        ("synth:ppi@0.5", ""),
        ("synth:flickr@0.5", ""),
        ("synth:flickr@0.5", "--cache bf16"),
        ("synth:flickr@0.5", "--cache bf16 --hops 1 --hidden 16"),
        ("synth:reddit@0.1", ""),
        // Large: kept in 16 bits.
        ("synth:arxiv", "--epochs 1"),
    ];
    let (cases, most) =
        if std::env::var_os("IGLU_SLOW").is_some() { (&slow[..], 0.1) } else { (&quick[..], 0.2) };
    let mut wrong = Vec::new();
    for (source, flags) in cases {
        let [planned, used] = peaks(&scratch, source, flags).map(|bytes| bytes / f64::from(1 << 20));
        let off = planned / used - 1.0;
        let said =
            format!("{source} {flags}: planned {planned:.0} MiB, used {used:.0} MiB, {:+.1} %", 100.0 * off);
        println!("{said}");
        wrong.extend((off.abs() >= most).then_some(said));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn too_much_is_refused_before_training_with_the_largest_items() {
    let scratch = Scratch::new("budget");
    let expect = [
        "--memory: at least ",
        "are needed, 30.0 MiB are allowed",
        "fix: the largest: ",
        "a smaller --hidden",
    ];
    scratch.iglu("train synth:village --memory 30MiB --out a").check(71, &expect);
    assert!(scratch.names().is_empty(), "nothing is left");
    scratch.iglu("train synth:village@0.1 --memory 4GiB --quiet --epochs 1 --out b").check(0, &[]);
    scratch.iglu("train --memory lots").check(64, &["expected a size such as 4GiB"]);
    scratch.iglu("plan synth:village").check(0, &[]).says(&["memory    peak", "embeddings", "every     T_1"]);
}

/// Data that would take minutes to make is refused by its counts, and so are files whose headers tell enough.
#[test]
fn too_much_is_refused_before_the_data_is_read() {
    let scratch = Scratch::new("early");
    let begin = Instant::now();
    let expect = ["--memory: at least ", "are needed, 8.0 GiB are allowed", "the largest: "];
    scratch.iglu("train synth:products@10 --memory 8GiB --out a").check(71, &expect);
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    scratch.iglu("synth flickr@0.02 --out f.npz").check(0, &[]);
    scratch.iglu("convert f.npz f.iglu").check(0, &[]);
    for file in ["f.npz", "f.iglu"] {
        scratch.iglu(&format!("train {file} --memory 25MiB --out a")).check(71, &["--memory: at least "]);
    }
    // The edges of an .npz file count only when they have been read.
    let [early, late] = [true, false].map(|early| {
        let path = scratch.path.join("f.npz");
        let (source, options) = (path.to_str().unwrap(), LoadOptions::default());
        let counts = if early {
            iglu_data::outline(source, &options).unwrap()
        } else {
            for_one_run(&iglu_data::load(source, &options).unwrap())
        };
        peak(&Config::default(), &counts, Trials::OneByOne)
    });
    let between = early.midpoint(late);
    assert!(early < between);
    scratch.iglu(&format!("train f.npz --memory {between} --out a")).check(71, &["--memory: about "]);
    let names = scratch.names();
    assert_eq!(names, ["f.iglu", "f.npz"], "nothing else is left");
}

fn peak(config: &Config, counts: &Outline, trials: Trials) -> u64 {
    memory_of(config, counts, trials).unwrap().iter().map(|item| item.bytes).sum()
}

/// Where giving caches back is enough, that is done and said, and the result stays the same.
#[test]
fn a_smaller_budget_gives_the_same_result() {
    let scratch = Scratch::new("smaller");
    let slow = cfg!(target_os = "linux") && std::env::var_os("IGLU_SLOW").is_some();
    let source = if slow { "synth:arxiv@0.3" } else { "synth:arxiv@0.02" };
    let data = iglu_data::load(source, &LoadOptions::default()).unwrap();
    let mut config = Config::default();
    config.train.epochs = iglu::config::Auto::Set(3);
    let [more, less] =
        [Trials::SideBySide, Trials::OneByOne].map(|trials| peak(&config, &for_one_run(&data), trials));
    assert!(less + (8 << 20) < more, "{less} {more}");
    let train = |limit: u64, out: &str| {
        let ended = scratch.iglu(&format!("train {source} --epochs 3 --memory {limit} --out {out}"));
        (ended.check(0, &[]).stderr, scratch.read(&format!("{out}/best.safetensors")))
    };
    let ((wide, expect), (narrow, found)) = (train(more, "wide"), train(less, "narrow"));
    assert!(found == expect, "another model");
    if slow {
        let summary: serde_json::Value =
            serde_json::from_slice(&scratch.read("narrow/summary.json")).unwrap();
        let used = summary["peak_rss_bytes"].as_f64().unwrap();
        println!("{less} bytes were allowed, {used} used; {more} side by side");
        assert!(used < 1.1 * less as f64, "{used} bytes used, {less} allowed");
    }
    let note = "note: settings are tried one by one to stay within --memory";
    assert!(narrow.contains(note) && !wide.contains(note), "{narrow}");
    let refused = scratch.iglu(&format!("train {source} --epochs 3 --memory {} --out b", less - 1));
    refused.check(71, &["--memory: at least "]);
    std::fs::remove_file(scratch.path.join("narrow/summary.json")).unwrap();
    scratch.iglu("train --resume narrow --memory 25MiB").check(71, &["--memory: at least "]);
    let ended = scratch.iglu(&format!("train --resume narrow --memory {less}"));
    assert!(!ended.check(0, &["going on after epoch 2"]).stderr.contains(note), "nothing is tried any more");
}

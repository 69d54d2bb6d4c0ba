//! The same seed gives the same bytes for any number of threads.

use crate::harness::Scratch;
use serde_json::Value;

/// A summary without what may differ: times, memory, threads and paths.
fn essence(mut summary: Value) -> Value {
    let map = summary.as_object_mut().unwrap();
    for key in ["seconds", "seconds_per_epoch", "peak_rss_bytes", "threads", "model", "command", "time"] {
        assert!(map.remove(key).is_some(), "no {key}");
    }
    map["config"].as_object_mut().unwrap().remove("threads");
    let timeless = |point: &mut Value| point.as_object_mut().unwrap().remove("train_seconds");
    map["history"].as_array_mut().unwrap().iter_mut().for_each(|point| {
        timeless(point);
    });
    timeless(&mut map["start"]);
    summary
}

fn check(name: &str, flags: &str) {
    let scratch = Scratch::new(name);
    let run = |threads: usize| {
        let summary =
            scratch.json(&format!("train --json --quiet --threads {threads} --out t{threads} {flags}"));
        assert_eq!(summary["threads"], threads, "{flags}");
        scratch
            .iglu(&format!("predict t{threads} synth:village --out s.npy --threads {threads}"))
            .check(0, &[]);
        (essence(summary), scratch.read(&format!("t{threads}/best.safetensors")), scratch.read("s.npy"))
    };
    let one = run(1);
    for threads in [2, 3, 8] {
        let many = run(threads);
        assert_eq!(many.0, one.0, "{flags}: {threads} threads, other metrics");
        assert!(many.1 == one.1, "{flags}: {threads} threads, another model");
        assert!(many.2 == one.2, "{flags}: {threads} threads, other predictions");
    }
}

#[test]
fn lazy_orders_do_not_depend_on_threads() {
    check("threads-inverted", "--hidden 32 --epochs 2 --seed 1");
    check("threads-backprop", "--hidden 32 --epochs 2 --order backprop --layer gcn");
    check("threads-bf16", "--hidden 32 --epochs 2 --cache bf16 --precision bf16");
}

#[test]
fn exact_training_does_not_depend_on_threads() {
    check("threads-exact", "--hidden 32 --epochs 2 --order exact --layers 3");
}

#[test]
fn seeds_matter() {
    let scratch = Scratch::new("seeds");
    for seed in [1, 2] {
        scratch
            .iglu(&format!("train --quiet --hidden 8 --epochs 1 --seed {seed} --out s{seed}"))
            .check(0, &[]);
    }
    assert!(
        scratch.read("s1/best.safetensors") != scratch.read("s2/best.safetensors"),
        "the seed has no effect"
    );
}

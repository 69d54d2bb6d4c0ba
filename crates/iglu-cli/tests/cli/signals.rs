//! Ctrl-C and SIGTERM where there is no run to keep: the program ends at once and leaves nothing behind.

use crate::harness::Scratch;
use crate::resume::signal;
use crate::train::SMALL;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn spawn(scratch: &Scratch, args: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iglu"));
    command.args(args.split_whitespace()).current_dir(&scratch.path).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Sends a signal; the exit code, what was said, and how long it took.
fn stop(child: Child, name: &str) -> (Option<i32>, String, Duration) {
    let begin = Instant::now();
    signal(&child, name);
    let out = child.wait_with_output().unwrap();
    (out.status.code(), String::from_utf8(out.stderr).unwrap(), begin.elapsed())
}

/// Waits until something is there, but not for ever.
fn wait_for(what: &str, there: impl Fn() -> bool) {
    let begin = Instant::now();
    while !there() {
        assert!(begin.elapsed() < Duration::from_mins(1), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn whoever_reads_is_stopped_at_once() {
    let scratch = Scratch::new("stop-reading");
    scratch.iglu(&format!("train synth:village --quiet --out run {SMALL}")).check(0, &[]);
    for (i, args) in [
        "train synth:products --quiet --out a",
        "train synth:products --quiet",
        "predict run synth:products --out p.npy",
        "embed run synth:products --out x.npy",
        "evaluate run synth:products",
        "convert synth:products p.iglu",
        "inspect synth:products",
    ]
    .into_iter()
    .enumerate()
    {
        let (name, code, by) = [("INT", 130, "Ctrl-C"), ("TERM", 143, "SIGTERM")][i % 2];
        let child = spawn(&scratch, args);
        if args.ends_with("--out a") {
            wait_for("the folder of the run", || scratch.path.join("a/.lock").exists());
        }
        std::thread::sleep(Duration::from_millis(150));
        let (found, said, took) = stop(child, name);
        assert_eq!((found, said.as_str()), (Some(code), &*format!("stopped by {by}\n")), "{args}");
        assert!(took < Duration::from_secs(2), "{args}: {took:?}");
        assert_eq!(scratch.names(), ["run"], "{args}");
    }
}

#[test]
fn whoever_writes_leaves_the_old_file_and_no_part() {
    let scratch = Scratch::new("stop-writing");
    scratch.file("g.iglu", b"old");
    let begun = || scratch.names().iter().any(|name| name.contains(".part"));
    // The file may be finished before the signal comes: then it is tried again.
    for _ in 0..20 {
        let child = spawn(&scratch, "convert synth:flickr@0.2 g.iglu");
        wait_for("a temporary file", begun);
        let (code, said, _) = stop(child, "TERM");
        assert_eq!(scratch.names(), ["g.iglu"], "{said}");
        if code == Some(143) {
            assert!(said.ends_with("stopped by SIGTERM\n"), "{said}");
            assert_eq!(scratch.read("g.iglu"), b"old");
            return;
        }
        assert_eq!(code, Some(0), "{said}");
        scratch.file("g.iglu", b"old");
    }
    panic!("every file was finished before the signal");
}

/// A signal between the beginning of a run and its first epoch.
#[test]
fn a_run_that_prepares_is_stopped_at_once_and_leaves_nothing() {
    let scratch = Scratch::new("stop-preparing");
    let child = spawn(&scratch, "train synth:arxiv@0.3 --quiet --out a --epochs 2");
    wait_for("events", || scratch.path.join("a/events.jsonl").exists());
    let (code, said, took) = stop(child, "INT");
    assert_eq!((code, said.as_str()), (Some(130), "stopped by Ctrl-C\n"));
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert!(scratch.names().is_empty(), "{:?}", scratch.names());
}

/// A signal while the second of several seeds prepares: the first one stays, and the rest can go on.
#[test]
fn finished_seeds_stay() {
    let scratch = Scratch::new("stop-seeds");
    let child = spawn(&scratch, "train synth:arxiv@0.1 --quiet --out a --epochs 1 --seeds 2 --hidden 16");
    wait_for("the second seed", || scratch.path.join("a/seed-1/events.jsonl").exists());
    let (code, said, _) = stop(child, "TERM");
    assert_eq!((code, said.as_str()), (Some(143), "stopped by SIGTERM\n"));
    assert!(scratch.names_in("a/seed-0").contains(&"summary.json".to_string()));
    assert_eq!(scratch.names_in("a"), [".lock", "seed-0", "seeds.json"]);
    scratch.iglu("train --resume a --quiet").check(0, &[]);
}

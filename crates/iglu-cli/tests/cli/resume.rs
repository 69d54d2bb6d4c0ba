//! Runs that are stopped, killed and damaged, and go on.

use crate::harness::Scratch;
use serde_json::Value;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A run of a few moments.
const SMALL: &str = "synth:village@0.2 --quiet --hidden 16 --epochs 40 --set start=mlp --set lazy_dropout=off --set \
                     operator=mean";

fn slow() -> bool {
    std::env::var_os("IGLU_SLOW").is_some()
}

/// Events without times, memory and what names the command.
fn events(scratch: &Scratch, folder: &str) -> Vec<Value> {
    let text = String::from_utf8(scratch.read(&format!("{folder}/events.jsonl"))).unwrap();
    let clean = |line: &str| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        let fields = event.as_object_mut().unwrap();
        fields.retain(|key, _| {
            !["seconds", "peak_rss_bytes", "command", "time", "threads"].contains(&key.as_str())
        });
        if let Some(config) = event.get_mut("config").and_then(Value::as_object_mut) {
            config.remove("threads");
        }
        event
    };
    text.lines().map(clean).collect()
}

fn check_same(scratch: &Scratch, folder: &str, whole: &str) {
    let model = |folder: &str| scratch.read(&format!("{folder}/best.safetensors"));
    assert!(model(folder) == model(whole), "{folder}: another model");
    assert!(events(scratch, folder) == events(scratch, whole), "{folder}: other events");
}

fn spawn(scratch: &Scratch, args: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_iglu"))
        .args(args.split_whitespace())
        .current_dir(&scratch.path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

/// Waits for an end, but not for ever.
fn code_of(mut child: Child) -> (Option<i32>, Duration) {
    let begin = Instant::now();
    let status = child.wait().unwrap();
    (status.code(), begin.elapsed())
}

/// Epochs whose line is in the events; the score of the start is none.
fn epochs(scratch: &Scratch, folder: &str) -> usize {
    let text = fs::read_to_string(scratch.path.join(folder).join("events.jsonl")).unwrap_or_default();
    let is_epoch = |line: &&str| {
        let number = line.strip_prefix("{\"event\":\"epoch\",\"epoch\":").filter(|rest| rest.ends_with('}'));
        number.is_some_and(|rest| !rest.starts_with("0,"))
    };
    text.lines().filter(is_epoch).count()
}

/// Kills a run again and again until it ends; returns how often.
fn kill_until_done(scratch: &Scratch, flags: &str, folder: &str, dice: &mut Dice, longest: u64) -> usize {
    let (mut kills, mut reached) = (0, 0);
    loop {
        let threads = [1, 2, 3, 8][dice.below(4) as usize];
        let begun = scratch.path.join(folder).join("events.jsonl").exists();
        let args = if begun {
            format!("train --resume {folder} --threads {threads}")
        } else {
            format!("train {flags} --out {folder} --threads {threads} --force")
        };
        let mut child = spawn(scratch, &args);
        std::thread::sleep(Duration::from_millis(dice.below(longest)));
        let ended = child.try_wait().unwrap();
        if let Some(status) = ended {
            assert!(status.success(), "iglu {args}");
            return kills;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        let now = epochs(scratch, folder);
        // The line of an epoch is written before its checkpoint; no other epoch is done again.
        assert!(now + 1 >= reached, "{reached} epochs were done, {now} are left");
        reached = reached.max(now);
    }
}

#[test]
fn killed_at_any_instant_a_run_ends_as_if_it_never_was() {
    let scratch = Scratch::new("chaos");
    let begin = Instant::now();
    scratch.iglu(&format!("train {SMALL} --out whole --threads 2")).check(0, &[]);
    let longest = begin.elapsed().as_millis() as u64;
    let (wanted, mut kills, mut runs) = (if slow() { 200 } else { 6 }, 0, 0);
    let mut dice = Dice(7);
    while kills < wanted {
        let folder = format!("run{runs}");
        kills += kill_until_done(&scratch, SMALL, &folder, &mut dice, longest / 2 + 20);
        check_same(&scratch, &folder, "whole");
        runs += 1;
    }
    println!("{kills} kills in {runs} runs");
}

/// Nodes get the same order again, and the data is still that of the file.
#[test]
fn a_run_on_reordered_nodes_goes_on() {
    let scratch = Scratch::new("chaos-order");
    let flags = format!("{SMALL} --reorder");
    let begin = Instant::now();
    scratch.iglu(&format!("train {flags} --out whole --threads 2")).check(0, &[]);
    let longest = begin.elapsed().as_millis() as u64;
    scratch.iglu(&format!("train {SMALL} --out plain --threads 2")).check(0, &[]);
    let model = |folder: &str| scratch.read(&format!("{folder}/best.safetensors"));
    assert!(model("plain") != model("whole"), "--reorder changes the draw of batches");
    let (mut dice, mut kills, mut runs) = (Dice(11), 0, 0);
    while kills < 2 {
        let folder = format!("run{runs}");
        kills += kill_until_done(&scratch, &flags, &folder, &mut dice, longest / 2 + 20);
        check_same(&scratch, &folder, "whole");
        runs += 1;
    }
}

#[cfg(unix)]
pub fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

#[cfg(unix)]
#[test]
fn signals_stop_a_run_at_once_and_keep_its_best_model() {
    let scratch = Scratch::new("signals");
    scratch.iglu(&format!("train {SMALL} --out whole")).check(0, &[]);
    let wanted = if slow() { 100 } else { 4 };
    let mut dice = Dice(3);
    let mut longest = Duration::ZERO;
    for i in 0..wanted {
        let (name, code) = [("INT", 130), ("TERM", 143)][i % 2];
        let folder = format!("run{i}");
        let child = spawn(&scratch, &format!("train {SMALL} --out {folder} --checkpoint never"));
        while epochs(&scratch, &folder) == 0 {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(dice.below(200)));
        signal(&child, name);
        let (found, took) = code_of(child);
        longest = longest.max(took);
        if found == Some(0) {
            // It was done before the signal came.
            continue;
        }
        assert_eq!(found, Some(code));
        assert!(took < Duration::from_secs(2), "{took:?}");
        let names = scratch.names_in(&folder);
        for expect in ["best.safetensors", "config.toml", "events.jsonl", "last.checkpoint", "report.html"] {
            assert!(names.iter().any(|name| name == expect), "{expect} is not in {names:?}");
        }
        let done = epochs(&scratch, &folder);
        let ended = scratch.iglu(&format!("train --resume {folder} --threads 1"));
        ended.check(0, &[&format!("going on after epoch {done}")]);
        check_same(&scratch, &folder, "whole");
    }
    println!("{wanted} signals, the slowest stop took {longest:?}");
}

#[test]
fn a_damaged_checkpoint_is_named_and_the_one_before_it_used() {
    let scratch = Scratch::new("damaged");
    scratch.iglu(&format!("train {SMALL} --out whole")).check(0, &[]);
    let fresh = || {
        let _ = fs::remove_dir_all(scratch.path.join("a"));
        scratch.iglu(&format!("train {SMALL} --out a")).check(0, &[]);
        fs::remove_file(scratch.path.join("a/summary.json")).unwrap();
        scratch.read("a/last.checkpoint")
    };
    let mut bytes = fresh();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    scratch.file("a/last.checkpoint", &bytes);
    let expect =
        ["`a/last.checkpoint`: damaged checkpoint: checksum", "the checkpoint before it, after epoch 38"];
    scratch.iglu("train --resume a").check(0, &expect);
    check_same(&scratch, "a", "whole");

    fresh();
    fs::remove_file(scratch.path.join("a/last.checkpoint")).unwrap();
    scratch.iglu("train --resume a").check(0, &["`a/last.checkpoint`: not there", "after epoch 38"]);
    check_same(&scratch, "a", "whole");

    fresh();
    scratch.file("a/last.checkpoint", b"IGLUCKPT");
    scratch.file("a/previous.checkpoint", b"");
    scratch
        .iglu("train --resume a")
        .check(65, &["`a/last.checkpoint`: damaged checkpoint: only 8 bytes", "fix: "]);

    fresh();
    scratch.file("a/events.jsonl", b"");
    scratch.iglu("train --resume a").check(65, &["events.jsonl`", "fix: "]);
}

#[test]
fn another_dataset_or_configuration_is_refused_key_by_key() {
    let scratch = Scratch::new("others");
    scratch.iglu(&format!("train {SMALL} --out a")).check(0, &[]);
    let others = || {
        let expect = [
            "--resume: not the settings of the run: ",
            "network.hidden: 16 then, 8 now",
            "optim.lr: 0.01 then, 0.5 now",
            "begin a new run with --out",
        ];
        scratch.iglu("train --resume a --lr 0.5 --hidden 8").check(64, &expect);
        let expect =
            ["`synth:village@0.2#1`: not the data of the run: graph: ", "; features: ", "begin a new run"];
        scratch.iglu("train synth:village@0.2#1 --resume a").check(65, &expect);
        let expect = ["train.epochs: 40 then, 80 now", "a run of another length is another run"];
        scratch.iglu("train --resume a --epochs 80").check(64, &expect);
    };
    let whole = scratch.read("a/best.safetensors");
    others();
    let finished = "`a`: the run is finished; there is nothing to go on with";
    for flags in ["", "--hidden 16 --threads 3", "synth:village@0.2", "--epochs 40 --memory 4GiB"] {
        scratch.iglu(&format!("train {flags} --resume a")).check(0, &[finished]);
    }
    assert!(scratch.read("a/best.safetensors") == whole);
    fs::remove_file(scratch.path.join("a/summary.json")).unwrap();
    others();
    let before = scratch.read("a/last.checkpoint");
    scratch.iglu("train --resume a --hidden 16 --threads 3").check(0, &["going on after epoch 39"]);
    assert!(scratch.read("a/last.checkpoint") == before);
    scratch.iglu("train --resume nowhere").check(66, &["`nowhere`: there is no such folder"]);
    fs::create_dir(scratch.path.join("empty")).unwrap();
    scratch.iglu("train --resume empty").check(66, &["there is no events.jsonl in it"]);
    scratch.iglu("train --resume a --out b").check(64, &["cannot be used with"]);
    scratch.iglu("train --checkpoint often").check(64, &["expected a number of epochs, of seconds"]);
}

#[cfg(unix)]
#[test]
fn several_seeds_go_on_where_they_were() {
    let scratch = Scratch::new("seeds-resume");
    scratch.iglu(&format!("train {SMALL} --seeds 3 --out whole")).check(0, &[]);
    let child = spawn(&scratch, &format!("train {SMALL} --seeds 3 --out a"));
    while epochs(&scratch, "a/seed-1") < 2 {
        std::thread::sleep(Duration::from_millis(2));
    }
    signal(&child, "INT");
    assert_eq!(code_of(child).0, Some(130));
    assert!(
        !scratch.path.join("a/summary.json").exists() && scratch.path.join("a/seed-0/summary.json").exists()
    );
    let first = scratch.read("a/seed-0/summary.json");
    scratch.iglu("train --resume a --lr 1").check(64, &["optim.lr: 0.01 then, 1.0 now"]);
    scratch
        .iglu("train --resume a")
        .check(0, &["seed 1 (2 of 3)", "going on after epoch", "seed 2 (3 of 3)"]);
    assert!(scratch.read("a/seed-0/summary.json") == first, "what is finished is not done again");
    for seed in 0..3 {
        check_same(&scratch, &format!("a/seed-{seed}"), &format!("whole/seed-{seed}"));
    }
    let spread = |folder: &str| {
        let summary: Value =
            serde_json::from_slice(&scratch.read(&format!("{folder}/summary.json"))).unwrap();
        [summary["val"].clone(), summary["test"].clone(), summary["best_epoch"].clone()]
    };
    assert_eq!(spread("a"), spread("whole"));
    scratch.iglu("train --resume a --lr 1").check(64, &["optim.lr: 0.01 then, 1.0 now"]);
    scratch.iglu("train --resume a --seed 0").check(0, &["`a`: the run is finished"]);
}

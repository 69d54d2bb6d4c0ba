//! Wrong flags, keys and values: exit 64, with the key, the value and what is possible.

use crate::harness::Scratch;

#[test]
fn help_and_version_succeed_on_stdout() {
    let scratch = Scratch::new("help");
    for args in ["--version", "--help", "help train"] {
        let ended = scratch.iglu(args).check(0, &[]).says(&["iglu"]);
        assert_eq!(ended.stderr, "", "{args}");
    }
    let commands =
        ["train", "predict", "evaluate", "report", "inspect", "convert", "plan", "synth", "recipes"];
    for command in commands {
        for help in ["-h", "--help"] {
            scratch.iglu(&format!("{command} {help}")).check(0, &[]).says(&["Usage: iglu", "Examples:"]);
        }
    }
    scratch.iglu("train --help").check(0, &[]).says(&["[train]", "lambda = "]);
}

#[test]
fn wrong_commands_and_flags_are_usage_errors() {
    let scratch = Scratch::new("flags");
    for (args, expect) in [
        ("", &["Usage: iglu", "Examples:"][..]),
        ("trian", &["trian", "train"]),
        ("train --epoch 3", &["--epoch", "--epochs"]),
        ("train a b", &["b"]),
        ("train --epochs", &["--epochs"]),
        ("predict", &["<MODEL>"]),
        ("synth village", &["--out"]),
        ("synth --out a.npz", &["NAME"]),
        ("synth village#1 --seed 2 --out a.npz", &["--seed", "seed 1"]),
        ("inspect --split -1", &["--split"]),
        ("inspect --set lambda=1", &["--set", "`train.lambda` says nothing of data"]),
        ("convert", &["<DATA>", "OUT.iglu"]),
        ("convert synth:village a.txt", &["`a.txt` ends neither in .iglu nor in .npz"]),
    ] {
        scratch.iglu(args).check(64, expect);
    }
    assert!(scratch.names().is_empty(), "{:?}", scratch.names());
}

#[test]
pub fn unknown_keys_are_answered_with_the_nearest() {
    let scratch = Scratch::new("keys");
    scratch.file("bad.toml", b"seed = 1\n\n[optim]\nlearning_rate = 0.1\nlr_flor = 0.5\n");
    scratch.file("syntax.toml", b"[train\n");
    for (args, expect) in [
        ("train --set lamda=0.1", &["`lamda`", "did you mean `train.lambda`?"][..]),
        ("plan --set network.hiden=3", &["`network.hiden`", "did you mean `network.hidden`?"]),
        ("plan --set nonsense", &["`nonsense`", "KEY=VALUE"]),
        ("plan --config bad.toml", &["`bad.toml`", "line 4", "`optim.learning_rate`"]),
        ("plan --config syntax.toml", &["`syntax.toml`", "line 1"]),
    ] {
        scratch.iglu(args).check(64, expect);
    }
    scratch.iglu("plan --config nowhere.toml").check(66, &["`nowhere.toml`", "--config"]);
}

#[test]
pub fn impossible_values_name_their_key() {
    let scratch = Scratch::new("values");
    for (flag, key, expected) in [
        ("--dropout 1.0", "network.dropout: 1;", "less than 1"),
        ("--dropout -0.1", "network.dropout: -0.1;", "0 or more"),
        ("--hidden 0", "network.hidden: 0;", "1 to 65536"),
        ("--hidden 1.5", "network.hidden: 1.5;", "a whole number"),
        ("--lr -1", "optim.lr: -1;", "above 0"),
        ("--lr nan", "optim.lr: NaN;", "above 0"),
        ("--lr fast", "optim.lr: \"fast\";", "a number"),
        ("--layers 0", "network.layers: 0;", "1 to 256"),
        ("--epochs 0", "train.epochs: 0;", "1 to"),
        ("--batch 0", "train.batch: 0;", "at least 1"),
        ("--batch half", "train.batch: \"half\";", "`full`"),
        ("--threads 1000000", "threads: 1000000;", "0 to 1024"),
        ("--weight-decay -1", "optim.weight_decay: -1;", "at least 0"),
        ("--hops 0", "network.hops: 0;", "1 to 16"),
        ("--eval-every 0", "select.eval_every: 0;", "at least 1"),
        ("--order sideways", "train.order: \"sideways\";", "`inverted`"),
        ("--setting deductive", "train.setting: \"deductive\";", "`inductive`"),
        ("--head tail", "network.head: \"tail\";", "`linear`"),
        ("--metric luck", "select.metric: \"luck\";", "`accuracy`"),
        ("--seed -1", "seed: -1;", "a whole number"),
        ("--set frequency=0", "train.frequency: 0;", "above 0"),
    ] {
        for command in ["train", "plan"] {
            scratch.iglu(&format!("{command} {flag}")).check(64, &[key, expected]);
        }
    }
    scratch.iglu("train --layer sagee").check(64, &["sagee"]);
    let runs = std::fs::read_dir(scratch.path.join("runs")).into_iter().flatten().count();
    assert_eq!(runs, 0, "a refused run left a folder");
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_behind_stdout_is_an_error_and_a_closed_pipe_is_none() {
    use std::process::{Command, Stdio};
    let run = |stdout: Stdio| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_iglu"));
        child.args(["train", "--help"]).stdout(stdout).stderr(Stdio::null()).status().unwrap().code()
    };
    let plan = |stdout: Stdio| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_iglu"));
        child.arg("plan").stdout(stdout).stderr(Stdio::null()).status().unwrap().code()
    };
    let full = || Stdio::from(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    let closed = || Stdio::from(std::io::pipe().unwrap().1);
    assert_eq!(plan(full()), Some(74));
    assert_eq!((plan(closed()), run(closed())), (Some(0), Some(0)));
}

//! `iglu plan`: the steps of every order.

use crate::harness::Scratch;

#[test]
fn every_order_prints_its_steps() {
    let scratch = Scratch::new("plan");
    for (args, steps) in [
        ("plan", &["A_1", "T_1 X_1 Tail(2) X_2"][..]),
        ("plan --order inverted --layers 3", &["A_2 A_1", "T_1 X_1 T_2 X_2 Tail(3) X_3"]),
        ("plan --order inverted-printed", &["X_3 A_3 A_2 A_1", "T_1 X_1 T_2 X_2 T_3"]),
        ("plan --order backprop", &["X_1 X_2 X_3 A_3", "Tail(3) A_2 T_2 A_1 T_1"]),
        ("plan --order exact --layer gcn", &["Tail(1)", "gcn"]),
        ("plan --set layers=1 --set train.order=backprop --head conv", &["X_1 A_1", "Tail(1)"]),
    ] {
        scratch.iglu(args).check(0, &[]).says(steps);
    }
    assert!(scratch.names().is_empty());
}

/// Large tables are kept in 16 bits unless somebody says otherwise, or compares with the paper or with exact gradients.
#[test]
fn what_is_rounded_is_told() {
    let scratch = Scratch::new("rounded");
    let rounded = |args: &str| {
        let out = scratch.iglu(&format!("plan synth:arxiv{args}"));
        out.check(0, &[]).stdout.contains("caches in bf16")
    };
    assert!(rounded("") && rounded("@0.5 --cache bf16") && rounded(" --cache auto"));
    for full in ["@0.5", " --cache f32", " --order exact", " --recipe ogbn-arxiv", " --hops 1 --hidden 64"] {
        assert!(!rounded(full), "{full}");
    }
}

#[test]
fn an_unknown_architecture_is_named() {
    Scratch::new("architecture").iglu("plan --layer sagee").check(64, &["sagee", "sage"]);
}

//! `iglu inspect` and `iglu synth`, and what happens to files that are no data.

use crate::harness::Scratch;

const CARD: &[&str] = &[
    "name",
    "nodes",
    "edges",
    "directed",
    "weighted",
    "mean_degree",
    "max_degree",
    "isolated",
    "self_loops",
    "duplicates",
    "features",
    "sparse_features",
    "classes",
    "task",
    "unlabelled",
    "train",
    "val",
    "test",
];

#[test]
fn inspect_counts_for_people_and_programs() {
    let scratch = Scratch::new("inspect");
    scratch.iglu("inspect").check(0, &[]).says(&[
        "village",
        "2,000",
        "9,000 (undirected)",
        "1,200 / 400 / 400",
    ]);
    let card = scratch.json("inspect synth:ppi@0.01 --json");
    for key in CARD {
        assert!(card.get(key).is_some(), "no `{key}` in {card:#}");
    }
    assert_eq!((&card["task"], &card["classes"]), (&"multi-label".into(), &121.into()));
}

#[test]
fn a_written_graph_is_the_one_made_in_memory() {
    let scratch = Scratch::new("synth");
    for (made, name, flags) in [
        ("synth:village", "village", ""),
        ("synth:arxiv@0.01#7", "arxiv@0.01", "--seed 7"),
        ("synth:ppi@0.01", "synth:ppi@0.01", ""),
    ] {
        scratch.iglu(&format!("synth {name} {flags} --out g.npz")).check(0, &[]).says(&["g.npz", "nodes"]);
        let [mut written, mut memory] =
            ["g.npz", made].map(|source| scratch.json(&format!("inspect {source} --json")));
        assert_eq!(written["name"].take(), "g");
        memory["name"].take();
        assert_eq!(written, memory, "{made}");
    }
}

#[test]
fn training_on_a_written_graph_equals_training_on_the_made_one() {
    let scratch = Scratch::new("written");
    scratch.iglu("synth village --out g.npz").check(0, &[]);
    for (source, out) in [("g.npz", "a"), ("synth:village", "b")] {
        scratch.iglu(&format!("train {source} --quiet --hidden 8 --epochs 1 --out {out}")).check(0, &[]);
    }
    assert!(scratch.read("a/best.safetensors") == scratch.read("b/best.safetensors"), "models differ");
}

#[test]
fn shapes_are_listed_without_a_name() {
    Scratch::new("list").iglu("synth").check(0, &[]).says(&["village", "arxiv", "products", "nodes"]);
}

#[test]
fn sources_that_are_no_data_are_refused() {
    let scratch = Scratch::new("no-data");
    scratch.file("page.npz", b"<html><head><title>404</title>");
    scratch.file("empty.npz", b"");
    scratch.file("noise.npz", b"\x00\x01\x02\x03 no format at all");
    std::fs::create_dir(scratch.path.join("folder")).unwrap();
    let cases = [
        ("nowhere.npz", 66, &["`nowhere.npz`", "cannot be read", "fix: "][..]),
        ("folder", 65, &["`folder`", "folder", "fix: "]),
        ("page.npz", 65, &["`page.npz`", "looks like HTML", "fix: "]),
        ("empty.npz", 65, &["`empty.npz`", "0 bytes", "fix: "]),
        ("noise.npz", 65, &["`noise.npz`", "fix: "]),
        ("synth:villag", 64, &["`villag`", "synth:village"]),
        ("synth:village@-1", 64, &["-1", "fix: "]),
    ];
    for (source, code, expect) in cases {
        for command in ["train", "inspect"] {
            scratch.iglu(&format!("{command} {source}")).check(code, expect);
        }
    }
}

#[test]
fn splits_that_are_not_there_are_refused() {
    let scratch = Scratch::new("split");
    scratch.iglu("synth village --out g.npz").check(0, &[]);
    for command in ["train", "inspect"] {
        scratch.iglu(&format!("{command} g.npz --split 3")).check(65, &["`g.npz`", "split 3", "fix: "]);
        scratch.iglu(&format!("{command} --split 3")).check(64, &["split 3", "fix: "]);
    }
}

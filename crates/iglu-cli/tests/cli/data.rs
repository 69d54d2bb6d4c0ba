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
    for flag in ["--reorder", "--set data.reorder=true"] {
        scratch.iglu(&format!("inspect {flag}")).check(64, &["--reorder", "iglu convert"]);
    }
    let card = scratch.json("inspect synth:ppi@0.01 --json");
    for key in CARD {
        assert!(card.get(key).is_some(), "no `{key}` in {card:#}");
    }
    assert_eq!((&card["task"], &card["classes"]), (&"multi-label".into(), &121.into()));
    for key in ["degrees", "components", "homophily", "columns", "class_sizes", "problems", "notes", "split"]
    {
        assert!(card.get(key).is_some(), "no `{key}` in {card:#}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn the_memory_named_is_about_what_training_takes() {
    let scratch = Scratch::new("memory-named");
    for source in ["synth:village", "synth:arxiv@0.05"] {
        let estimate =
            scratch.json(&format!("inspect {source} --json"))["train_bytes_estimate"].as_f64().unwrap();
        let summary = scratch.json(&format!("train {source} --epochs 1 --quiet --json"));
        let ratio = estimate / summary["peak_rss_bytes"].as_f64().unwrap();
        assert!((0.6..1.7).contains(&ratio), "{source}: {ratio}");
    }
}

/// What is legal but perhaps not meant is told by `inspect` and by `train`.
#[test]
fn problems_are_named_with_their_remedy() {
    let scratch = Scratch::new("problems");
    let split = "--split per-class:1,0,500";
    let what = "there is no validation node";
    scratch.iglu(&format!("inspect {split}")).check(0, &[]).says(&["problem: ", what, "fix: "]);
    scratch.iglu(&format!("train {split} --hidden 8 --epochs 1")).check(0, &[&format!("note: {what}")]);
}

/// Lines fit a terminal of 80 columns.
#[test]
fn the_card_fits_a_terminal() {
    let scratch = Scratch::new("terminal");
    for args in ["inspect", "inspect synth:ppi@0.02", "inspect synth:arxiv@0.02 --split per-class:1,0,500"] {
        let ended = scratch.iglu(args).check(0, &[]);
        let long = ended.stdout.lines().find(|l| l.chars().count() > 80);
        assert_eq!(long, None, "{args}\n{}", ended.stdout);
    }
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
        assert_eq!((written["name"].take(), written["source"].take()), ("g".into(), "g.npz".into()));
        assert_eq!((memory["name"].take().is_string(), memory["source"].take()), (true, made.into()));
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

/// A graph file without its split.
fn write_bare(scratch: &Scratch, from: &str, to: &str) {
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(scratch.read(from))).unwrap();
    let mut bare = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for name in ["edges.npy", "x.npy", "y.npy"] {
        bare.raw_copy_file(archive.by_name(name).unwrap()).unwrap();
    }
    scratch.file(to, &bare.finish().unwrap().into_inner());
}

#[test]
fn a_drawn_split_is_told_recorded_and_used_again_for_prediction() {
    let scratch = Scratch::new("drawn");
    scratch.iglu("synth village --out g.npz").check(0, &[]);
    write_bare(&scratch, "g.npz", "bare.npz");
    let note = "note: no split is stored: training on random:0.6,0.2,0.2";
    scratch.iglu("train bare.npz --hidden 8 --epochs 1 --out a").check(0, &[note]);
    let quiet = scratch.iglu("train bare.npz --hidden 8 --epochs 1 --out b --quiet").check(0, &[]);
    assert_eq!(quiet.stderr, "");
    assert!(scratch.read("a/best.safetensors") == scratch.read("b/best.safetensors"), "models differ");
    let config = String::from_utf8(scratch.read("a/config.toml")).unwrap();
    assert!(config.contains("split = \"random:0.6,0.2,0.2\""), "{config}");
    let summary: serde_json::Value = serde_json::from_slice(&scratch.read("a/summary.json")).unwrap();
    let found = scratch.json("predict a bare.npz --out s.npy --json");
    assert_eq!((&found["val"], &found["test"]), (&summary["val"], &summary["test"]));
    let other = scratch.json("predict a bare.npz --split per-class:1,10,10 --out s.npy --json");
    assert_ne!(other["val"], found["val"]);
}

#[test]
fn every_form_of_a_split_is_taken_by_every_command() {
    let scratch = Scratch::new("forms");
    scratch.iglu("synth village --out g.npz").check(0, &[]);
    scratch.iglu("train --quiet --hidden 8 --epochs 1 --out run").check(0, &[]);
    for (split, sizes) in [
        ("stored", [1200, 400, 400]),
        ("random:0.5,0.1,0.1", [1000, 200, 200]),
        ("per-class:10,100,50", [80, 100, 50]),
        ("g.npz", [1200, 400, 400]),
    ] {
        let card = scratch.json(&format!("inspect --split {split} --json"));
        assert_eq!(
            [&card["train"], &card["val"], &card["test"]],
            sizes.map(serde_json::Value::from).each_ref()
        );
        let flags = "--hidden 8 --epochs 1 --quiet --json --out again --force";
        let summary = scratch.json(&format!("train --split {split} {flags}"));
        for (key, value) in summary["data"].as_object().unwrap() {
            assert_eq!(card[key], *value, "{split}: {key}");
        }
        scratch.iglu(&format!("predict run synth:village --split {split} --out s.npy")).check(0, &[]);
    }
    for command in ["train", "inspect", "predict run synth:village --out s.npy"] {
        let ended = scratch.iglu(&format!("{command} --split random:0.6,0.3,0.2"));
        ended.check(64, &["--split", "add up to 1.1", "per-class:20,500,1000"]);
        scratch.iglu(&format!("{command} --split nowhere.npz")).check(66, &["`nowhere.npz`", "fix: "]);
    }
}

#[test]
fn training_on_a_store_equals_training_on_its_source() {
    let scratch = Scratch::new("store");
    scratch.iglu("synth ppi@0.01 --out g.npz").check(0, &[]);
    for source in ["synth:village", "g.npz"] {
        scratch
            .iglu(&format!("convert {source} g.iglu"))
            .check(0, &[])
            .says(&["g.iglu: ", " nodes, ", "KiB"]);
        for (source, out) in [(source, "a"), ("g.iglu", "b")] {
            let flags = format!("train {source} --quiet --hidden 8 --epochs 2 --force --out {out}");
            scratch.iglu(&flags).check(0, &[]);
        }
        assert!(scratch.read("a/best.safetensors") == scratch.read("b/best.safetensors"), "models differ");
        let predict = |data: &str| scratch.json(&format!("predict a {data} --out s.npy --json"));
        assert_eq!(predict("g.iglu")["test"], predict(source)["test"]);
        let ([stored, read], [less, more]) = scratch.cards(["g.iglu", source]);
        assert_eq!(stored, read);
        assert!(less <= more, "a mapped file takes no more memory: {less} bytes, {more} read");
    }
}

#[test]
fn a_store_keeps_its_splits_or_the_one_asked_for() {
    let scratch = Scratch::new("store-split");
    scratch.iglu("convert synth:village a.iglu --split per-class:10,100,50").check(0, &[]);
    let card = scratch.json("inspect a.iglu --json");
    assert_eq!((&card["train"], &card["test"]), (&80.into(), &50.into()));
    scratch.iglu("convert a.iglu b.npz").check(0, &[]);
    scratch.iglu("convert b.npz b.iglu").check(0, &[]);
    assert_eq!(scratch.json("inspect b.npz --json")["train"], 80);
    for source in ["a.iglu", "b.npz", "b.iglu"] {
        scratch.iglu(&format!("inspect {source} --split 1")).check(65, &["split 1 was asked for"]);
    }
}

#[test]
fn damaged_stores_are_found() {
    let scratch = Scratch::new("store-damage");
    scratch.iglu("convert synth:village@0.1 g.iglu").check(0, &[]);
    scratch.iglu("inspect g.iglu --verify").check(0, &[]);
    let good = scratch.read("g.iglu");
    let mut bad = good.clone();
    let middle = bad.len() / 2;
    bad[middle] ^= 1;
    scratch.file("bad.iglu", &bad);
    for command in ["inspect bad.iglu --verify", "train bad.iglu"] {
        scratch.iglu(command).check(65, &["`bad.iglu`", "section ", "checksum ", "fix: "]);
    }
    scratch.file("cut.iglu", &good[..good.len() - 1]);
    scratch.iglu("inspect cut.iglu").check(65, &["`cut.iglu`", "declares", "fix: "]);
}

#[test]
fn what_is_suspicious_is_refused_or_mended_as_the_flags_say() {
    let scratch = Scratch::new("policies");
    std::fs::create_dir(scratch.path.join("t")).unwrap();
    scratch.file("t/edges.csv", b"1,2\n2,3\n2,3\n3,3\n");
    scratch.file("t/nodes.csv", b"label,x\na,1\nb,\na,3\nb,nan\n");
    let look = |flags: &str| scratch.iglu(&format!("inspect t {flags}"));
    look("")
        .check(65, &["nodes.csv`: line 3, column 2: the value is missing", "--nan-features zero or mean"]);
    let filled = "--one-based --nan-features mean";
    let card = look(filled).check(0, &[]).stdout;
    assert!(card.contains("2 features are NaN or missing"), "{card}");
    for (flags, expect) in [
        ("--self-loops error", "node 2 is connected to itself"),
        ("--duplicates error", "the edge between 1 and 2 is there again"),
        ("--isolated error", "node 3 has no edge"),
        ("--max-decompressed 0", "data.max_decompressed: 0; expected a number above 0"),
        ("--set nan_features=median", "data.nan_features: \"median\""),
    ] {
        let code = if expect.starts_with("data.") { 64 } else { 65 };
        look(&format!("{filled} {flags}")).check(code, &[expect]);
    }
    scratch.iglu(&format!("convert t t.iglu {filled}")).check(0, &[]);
    scratch.iglu("inspect t.iglu --isolated error").check(65, &["`t.iglu`: edges: node 3 has no edge"]);
}

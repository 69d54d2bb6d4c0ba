//! `iglu recipes` and `--recipe`: every recipe is listed, printed and trained.

use crate::harness::Scratch;
use serde_json::Value;

/// A small graph of the kind that a recipe was made for.
const GRAPHS: &[(&str, &str)] = &[
    ("ppi-large", "synth:ppi@0.01"),
    ("reddit", "synth:reddit@0.002"),
    ("flickr", "synth:flickr@0.005"),
    ("ogbn-proteins", "synth:ppi@0.01"),
    ("ogbn-arxiv", "synth:arxiv@0.005"),
    ("ogbn-arxiv-trans", "synth:arxiv@0.005"),
    ("ogbn-proteins-trans", "synth:ppi@0.01"),
    ("ogbn-products", "synth:products@0.0005"),
    ("gat-cora", "synth:village"),
    ("gat-cora-tuned", "synth:village"),
    ("gat-citeseer", "synth:village"),
    ("gat-pubmed", "synth:village"),
];

#[test]
fn every_recipe_is_listed_and_shown() {
    let scratch = Scratch::new("recipes");
    let listed = scratch.json("recipes --json");
    let names: Vec<&str> = listed.as_array().unwrap().iter().map(|r| r["name"].as_str().unwrap()).collect();
    assert_eq!(names, GRAPHS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    assert_eq!(listed[0]["paper"]["score"], 0.987);
    assert_eq!(listed[0]["epochs"], 300);
    scratch.iglu("recipes").check(0, &[]).says(&[
        "name",
        "epochs",
        "ogbn-products",
        "0.793 +- 0.003 f1-micro",
    ]);
    for name in names {
        scratch.iglu(&format!("recipes show {name}")).check(0, &[]).says(&[
            "[recipe]",
            "[network]",
            "repairs",
        ]);
        let shown = scratch.json(&format!("recipes show {name} --json"));
        assert!(shown["config"]["network"]["layer"].is_string(), "{shown:#}");
    }
}

#[test]
fn every_recipe_trains_an_epoch() {
    let scratch = Scratch::new("recipe-runs");
    for (name, graph) in GRAPHS {
        let shown = scratch.json(&format!("recipes show {name} --json"));
        let run =
            scratch.json(&format!("train {graph} --recipe {name} --epochs 1 --quiet --json --out {name}"));
        let keys = ["layer", "layers", "hidden", "head", "norm", "l2", "each"];
        for key in keys {
            assert_eq!(run["config"]["network"][key], shown["config"]["network"][key], "{name}: {key}");
        }
        assert_eq!(run["config"]["optim"], shown["config"]["optim"], "{name}");
        let score = |v: &Value| v.as_f64().unwrap_or_else(|| panic!("{name}: no score in {run:#}"));
        assert!((0.0..=1.0).contains(&score(&run["val"])), "{name}");
        assert!(score(&run["history"][0]["loss"]).is_finite(), "{name}");
    }
}

/// A recipe on data of another kind: labels of one class per node, and the other way round.
#[test]
fn recipes_run_on_other_kinds_of_data() {
    let scratch = Scratch::new("recipe-misfit");
    for (name, graph) in [
        ("ppi-large", "synth:village"),
        ("ogbn-proteins", "synth:village"),
        ("ogbn-arxiv", "synth:ppi@0.01"),
        ("gat-pubmed", "synth:ppi@0.01"),
    ] {
        scratch.iglu(&format!("train {graph} --recipe {name} --epochs 1 --quiet")).check(0, &[]);
    }
}

#[test]
fn unknown_recipes_are_answered_with_the_nearest() {
    let scratch = Scratch::new("recipe-unknown");
    for args in ["recipes show ogbn-arxv", "train --recipe ogbn-arxv", "plan --recipe ogbn-arxv"] {
        scratch.iglu(args).check(64, &["`ogbn-arxv`", "no such recipe", "did you mean `ogbn-arxiv`?"]);
    }
    assert!(scratch.names().is_empty(), "{:?}", scratch.names());
}

#[test]
fn a_printed_recipe_is_a_configuration() {
    let scratch = Scratch::new("recipe-file");
    let text = scratch.iglu("recipes show reddit").check(0, &[]).stdout;
    scratch.file("mine.toml", text.as_bytes());
    for (out, from) in [("a", "--config mine.toml"), ("b", "--recipe reddit")] {
        scratch.iglu(&format!("train {from} --epochs 1 --quiet --out {out}")).check(0, &[]);
    }
    assert!(scratch.read("a/config.toml") == scratch.read("b/config.toml"), "configurations differ");
    assert!(scratch.read("a/best.safetensors") == scratch.read("b/best.safetensors"), "models differ");
}

/// Minutes: runs with `IGLU_SLOW=1` where `../shared/data/planetoid` is there, in a release build.
#[test]
fn planetoid_scores_are_those_of_the_recipes() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/planetoid");
    if std::env::var_os("IGLU_SLOW").is_none() || !folder.exists() {
        println!("skipped: set IGLU_SLOW=1 and have {}", folder.display());
        return;
    }
    let scratch = Scratch::new("planetoid");
    for (recipe, data, least) in [
        ("gat-cora-tuned", "cora", 0.815),
        ("gat-citeseer", "citeseer", 0.695),
        ("gat-pubmed", "pubmed", 0.78),
    ] {
        let source = folder.join(data);
        let result = scratch.json(&format!(
            "train {} --recipe {recipe} --seeds 5 --quiet --json --checkpoint never --out {recipe}",
            source.display()
        ));
        let mean = result["test"]["mean"].as_f64().unwrap();
        let each: Vec<f64> =
            result["runs"].as_array().unwrap().iter().map(|r| r["test"].as_f64().unwrap()).collect();
        println!("{recipe}: {mean:.4} {each:?}");
        assert!(mean >= least, "{recipe}: {mean}, expected at least {least}");
    }
}

//! `iglu predict`: the scores of a saved network are those it was chosen for.

use crate::harness::Scratch;
use crate::train::SMALL;
use iglu::Labels;

/// Rows of a float32 .npy file with two dimensions.
fn read_npy(bytes: &[u8]) -> Vec<Vec<f32>> {
    let header = u16::from_le_bytes([bytes[8], bytes[9]]) as usize + 10;
    let text = std::str::from_utf8(&bytes[10..header]).unwrap();
    assert!(text.contains("'<f4'") && text.contains("'fortran_order': False"), "{text}");
    let shape = text.split(['(', ')']).nth(1).unwrap();
    let cols: usize = shape.split(',').nth(1).unwrap().trim().parse().unwrap();
    let (chunks, rest) = bytes[header..].as_chunks();
    assert!(rest.is_empty());
    let values: Vec<f32> = chunks.iter().map(|b| f32::from_le_bytes(*b)).collect();
    values.chunks(cols).map(<[f32]>::to_vec).collect()
}

fn accuracy_on_test(scores: &[Vec<f32>]) -> f64 {
    let data = iglu_data::load("synth:village", &iglu_data::LoadOptions::default()).unwrap();
    let Labels::Classes { ids, .. } = &data.labels else { panic!("the village has classes") };
    let argmax = |row: &[f32]| (0..row.len()).fold(0, |best, c| if row[c] > row[best] { c } else { best });
    let test = &data.split.test;
    let right = test.iter().filter(|&&v| argmax(&scores[v as usize]) == ids[v as usize] as usize).count();
    right as f64 / test.len() as f64
}

#[test]
fn predictions_have_the_scores_of_training() {
    let scratch = Scratch::new("predict");
    for order in ["inverted", "inverted-printed", "backprop", "exact"] {
        let trained =
            scratch.json(&format!("train --json --quiet --force --out run --order {order} {SMALL}"));
        for model in ["run", "run/best.safetensors"] {
            let found = scratch.json(&format!("predict {model} synth:village --out scores.npy --json"));
            for key in ["metric", "val", "test"] {
                assert_eq!(found[key], trained[key], "{order}: {key}");
            }
            assert_eq!(found["shape"], serde_json::json!([2000, 8]));
            assert_eq!(found["out"], "scores.npy");
        }
        let scores = read_npy(&scratch.read("scores.npy"));
        assert_eq!(scores.len(), 2000);
        assert_eq!(Some(accuracy_on_test(&scores)), trained["test"].as_f64(), "{order}");
    }
}

#[test]
fn the_inductive_setting_predicts_on_the_whole_graph() {
    let scratch = Scratch::new("inductive");
    let trained = scratch.json(&format!("train --json --quiet --out run --setting inductive {SMALL}"));
    let found = scratch.json("predict run synth:village --out scores.npy --json --threads 1");
    assert_eq!(found["test"], trained["test"]);
}

#[test]
fn many_labels_are_scored_with_their_metric() {
    let scratch = Scratch::new("labels");
    let trained = scratch.json(&format!("train synth:ppi@0.02 --json --quiet --out run {SMALL}"));
    assert_eq!(trained["metric"], "f1-micro");
    let found = scratch.json("predict run synth:ppi@0.02 --out scores.npy --json");
    assert_eq!((&found["test"], &found["metric"]), (&trained["test"], &trained["metric"]));
}

#[test]
fn readable_output_names_scores_and_file() {
    let scratch = Scratch::new("readable");
    scratch.iglu(&format!("train --quiet --out run {SMALL}")).check(0, &[]);
    let ended = scratch.iglu("predict run synth:village --out scores.npy").check(0, &[]);
    ended.says(&["scores.npy: 2000 nodes x 8 classes", "validation  0.", "test        0.", "accuracy"]);
}

#[test]
fn data_or_models_that_do_not_fit_are_refused() {
    let scratch = Scratch::new("misfit");
    scratch.iglu(&format!("train --quiet --out run {SMALL}")).check(0, &[]);
    scratch.file("page.html", b"<!doctype html><html></html>");
    scratch.file("empty", b"");
    let model = scratch.read("run/best.safetensors");
    scratch.file("cut.safetensors", &model[..model.len() - 100]);
    for (args, code, expect) in [
        ("predict run synth:arxiv@0.005 --out s.npy", 65, &["synth:arxiv@0.005", "128", "32"][..]),
        ("predict nothing synth:village --out s.npy", 66, &["`nothing`", "fix: "]),
        ("predict page.html synth:village --out s.npy", 65, &["not a safetensors file", "doctype"]),
        ("predict empty synth:village --out s.npy", 65, &["0 bytes"]),
        ("predict cut.safetensors synth:village --out s.npy", 65, &["damaged"]),
        ("predict run nowhere.npz --out s.npy", 66, &["nowhere.npz"]),
        ("predict run synth:village --out run/best.safetensors/s.npy", 74, &["s.npy", "cannot be written"]),
        ("predict run synth:village --out s.npy --threads 1000000", 64, &["--threads"]),
        ("predict run synth:village", 64, &["--out"]),
    ] {
        scratch.iglu(args).check(code, expect);
    }
    assert!(!scratch.names().contains(&"s.npy".to_string()), "{:?}", scratch.names());
}

/// New data without labels and splits: predictions for every node, no scores.
#[test]
fn data_without_labels_and_splits_is_predicted() {
    let scratch = Scratch::new("unlabelled");
    scratch.iglu(&format!("train --quiet --out run {SMALL}")).check(0, &[]);
    scratch.iglu("synth village@0.05 --out labelled.npz").check(0, &[]);
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(scratch.read("labelled.npz"))).unwrap();
    let mut bare = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for name in ["edges.npy", "x.npy"] {
        bare.raw_copy_file(archive.by_name(name).unwrap()).unwrap();
    }
    scratch.file("bare.npz", &bare.finish().unwrap().into_inner());
    let found = scratch.json("predict run bare.npz --out scores.npy --json");
    assert_eq!((&found["test"], &found["shape"]), (&serde_json::Value::Null, &serde_json::json!([100, 8])));
    scratch.iglu("inspect bare.npz").check(0, &[]);
    scratch.iglu("train bare.npz").check(65, &["no such array"]);
}

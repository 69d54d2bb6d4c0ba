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
    for order in [
        "inverted",
        "inverted-printed",
        "backprop",
        "exact",
        "inverted --cache bf16",
        "backprop --cache bf16 --layers 3",
        "inverted --precision bf16 --layer gat --heads 2",
    ] {
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

/// Whatever order training had its nodes in, results are in that of the file.
#[test]
fn reordered_training_predicts_in_the_order_of_the_file() {
    let scratch = Scratch::new("predict-order");
    for setting in ["transductive", "inductive"] {
        let flags = format!("--setting {setting} --reorder {SMALL}");
        let trained = scratch.json(&format!("train --json --quiet --force --out run {flags}"));
        assert_eq!(trained["config"]["data"]["reorder"], true);
        let found = scratch.json("predict run synth:village --out scores.npy --json");
        let scores = read_npy(&scratch.read("scores.npy"));
        assert_eq!(Some(accuracy_on_test(&scores)), trained["test"].as_f64(), "{setting}");
        for key in ["val", "test"] {
            assert_eq!(found[key], trained[key], "{setting}: {key}");
        }
    }
    scratch.iglu("predict run synth:village --out classes.csv").check(0, &[]);
    let nodes: Vec<String> =
        read_csv(&scratch.read("classes.csv"))[1..].iter().map(|r| r[0].clone()).collect();
    assert_eq!(nodes, (0..2000).map(|v| v.to_string()).collect::<Vec<_>>());
}

/// A store with its nodes in another order is, for everybody but training, the data it was made of.
#[test]
fn a_reordered_store_is_its_source() {
    let scratch = Scratch::new("store-order");
    scratch.iglu("convert synth:village plain.iglu").check(0, &[]);
    scratch.iglu("convert plain.iglu g.iglu --reorder").check(0, &[]).says(&["2,000 nodes"]);
    assert!(scratch.read("plain.iglu") != scratch.read("g.iglu"));
    for split in ["0", "random:0.3,0.3,0.3"] {
        let train = |data: &str, out: &str, more: &str| {
            let flags = format!("--split {split} --json --quiet --force --out {out} {more} {SMALL}");
            scratch.json(&format!("train {data} {flags}"))
        };
        let (here, there) = (train("plain.iglu", "a", "--reorder"), train("g.iglu", "b", "--reorder"));
        assert_eq!((&here["val"], &here["test"]), (&there["val"], &there["test"]));
        assert!(scratch.read("a/best.safetensors") == scratch.read("b/best.safetensors"), "models differ");
        for command in ["predict b DATA --json --out OUT", "embed b DATA --out OUT", "convert DATA OUT.iglu"]
        {
            let run = |data: &str, out: &str| {
                scratch.iglu(&command.replace("DATA", data).replace("OUT", out)).check(0, &[]);
                let file = scratch.names().into_iter().find(|name| name.starts_with(out)).unwrap();
                scratch.read(&file)
            };
            assert!(run("plain.iglu", "one.npy") == run("g.iglu", "two.npy"), "{command}");
            ["one.npy", "two.npy", "one.npy.iglu", "two.npy.iglu"]
                .iter()
                .for_each(|name| drop(std::fs::remove_file(scratch.path.join(name))));
        }
        let predicted = scratch.json("predict b g.iglu --out s.npy --json");
        assert_eq!((&predicted["val"], &predicted["test"]), (&there["val"], &there["test"]), "{split}");
        let scores = |data: &str| scratch.json(&format!("evaluate b {data} --json"))["scores"].clone();
        assert_eq!(scores("g.iglu"), scores("plain.iglu"));
    }
    let ([reordered, plain], _) = scratch.cards(["g.iglu", "plain.iglu"]);
    assert_eq!(reordered, plain);
    scratch
        .iglu("convert synth:village g.npz --reorder")
        .check(64, &["--reorder", "no place for the nodes' numbers"]);
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
    scratch.bare("synth:village@0.05", "bare.npz");
    let found = scratch.json("predict run bare.npz --out scores.npy --json");
    assert_eq!((&found["test"], &found["shape"]), (&serde_json::Value::Null, &serde_json::json!([100, 8])));
    scratch.iglu("inspect bare.npz").check(0, &[]);
    scratch.iglu("train bare.npz").check(65, &["no such array"]);
}

/// The rows of a CSV file without quotes.
fn read_csv(text: &[u8]) -> Vec<Vec<String>> {
    let text = std::str::from_utf8(text).unwrap();
    text.lines().map(|line| line.split(',').map(str::to_string).collect()).collect()
}

#[test]
fn tables_agree_with_the_array() {
    let scratch = Scratch::new("csv");
    scratch.iglu(&format!("train --quiet --out run {SMALL}")).check(0, &[]);
    for out in ["s.npy", "p.npy --proba", "plain.csv", "p.csv --proba", "top.CSV --top-k 20"] {
        scratch.iglu(&format!("predict run synth:village --out {out}")).check(0, &[]);
    }
    let [logits, shares] = ["s.npy", "p.npy"].map(|name| read_npy(&scratch.read(name)));
    let [plain, all, top] = ["plain.csv", "p.csv", "top.CSV"].map(|name| read_csv(&scratch.read(name)));
    assert_eq!(plain[0], ["node", "class"]);
    assert_eq!(all[0], ["node", "class", "p_0", "p_1", "p_2", "p_3", "p_4", "p_5", "p_6", "p_7"]);
    assert_eq!((plain.len(), top[0].len(), &*top[0][2], &*top[0][17]), (2001, 18, "class_1", "p_8"));
    for node in 0..2000 {
        let best = (0..8).fold(0, |b, c| if logits[node][c] > logits[node][b] { c } else { b }).to_string();
        let rows = [&plain, &all, &top].map(|table| &table[node + 1]);
        assert!(rows.iter().all(|row| row[0] == node.to_string() && row[1] == best), "{node}: {rows:?}");
        assert_eq!(rows[2][2], best);
        let found: Vec<f32> = rows[1][2..].iter().map(|p| p.parse().unwrap()).collect();
        assert!(found.iter().zip(&shares[node]).all(|(a, b)| (a - b).abs() < 1e-6), "{node}");
        assert!((shares[node].iter().sum::<f32>() - 1.0).abs() < 1e-5);
        let falling: Vec<f32> = rows[2].iter().skip(3).step_by(2).map(|p| p.parse().unwrap()).collect();
        assert!(falling.is_sorted_by(|a, b| a >= b), "{node}: {falling:?}");
    }
    scratch.iglu("predict run synth:village --out s.npy --top-k 2").check(64, &["--top-k", "s.npy", ".csv"]);
    scratch
        .iglu("predict run synth:village --out s.csv --top-k 2 --proba")
        .check(64, &["--top-k", "--proba"]);
}

#[test]
fn several_labels_stand_in_one_field() {
    let scratch = Scratch::new("csv-labels");
    scratch.iglu(&format!("train synth:ppi@0.02 --quiet --out run {SMALL}")).check(0, &[]);
    scratch.iglu("predict run synth:ppi@0.02 --out s.npy").check(0, &[]);
    scratch.iglu("predict run synth:ppi@0.02 --out l.csv --proba").check(0, &[]);
    let (logits, rows) = (read_npy(&scratch.read("s.npy")), read_csv(&scratch.read("l.csv")));
    assert_eq!((&*rows[0][1], rows[0].len(), rows.len()), ("labels", 2 + 121, logits.len() + 1));
    for (row, logits) in rows[1..].iter().zip(&logits) {
        let labels: Vec<String> =
            (0..121).filter(|&c| logits[c] > 0.0).map(|c: usize| c.to_string()).collect();
        assert_eq!(row[1], labels.join(";"));
        let likely = row[2..].iter().filter(|p| p.parse::<f64>().unwrap() > 0.5).count();
        assert!(likely.abs_diff(labels.len()) <= 1, "{row:?}");
    }
}

/// Forty nodes with names, in a ring; classes with names.
fn named(scratch: &Scratch) {
    let names = |i: usize| format!("n{i}; \u{e9}");
    let edges: Vec<String> = (0..40).map(|i| format!("{},{}", names(i), names((i + 2) % 40))).collect();
    let of = |i: usize| if i.is_multiple_of(2) { "even" } else { "odd, too" };
    let split = |i: usize| ["train", "train", "val", "test"][i / 2 % 4];
    let nodes = (0..40).map(|i| format!("{},\"{}\",{},{}.5", names(i), of(i), split(i), i % 2));
    std::fs::create_dir_all(scratch.path.join("ring")).unwrap();
    scratch.file("ring/edges.csv", format!("source,target\n{}\n", edges.join("\n")).as_bytes());
    let nodes: Vec<String> = nodes.collect();
    scratch.file("ring/nodes.csv", format!("id,label,split,x\n{}\n", nodes.join("\n")).as_bytes());
}

/// A table of predictions is a table of nodes, too: our own reader reads it back.
#[cfg(feature = "parquet")]
#[test]
fn parquet_tables_hold_names_classes_and_all_digits() {
    let scratch = Scratch::new("parquet");
    named(&scratch);
    scratch.iglu(&format!("train ring --quiet --out run {SMALL}")).check(0, &[]);
    for out in ["p.npy --proba", "p.parquet --proba", "again.PARQUET --proba", "top.parquet --top-k 2"] {
        scratch.iglu(&format!("predict run ring --out {out}")).check(0, &[]);
    }
    scratch.iglu("embed run ring --out x.parquet").check(0, &[]);
    scratch.iglu("embed run ring --out x.npy").check(0, &[]);
    let file = scratch.read("p.parquet");
    assert!(file == scratch.read("again.PARQUET") && file.starts_with(b"PAR1") && file.ends_with(b"PAR1"));
    assert!(scratch.read("top.parquet").starts_with(b"PAR1"));
    for (table, array) in [("p.parquet", "p.npy"), ("x.parquet", "x.npy")] {
        std::fs::create_dir_all(scratch.path.join("back")).unwrap();
        scratch.file("back/edges.csv", &scratch.read("ring/edges.csv"));
        scratch.file("back/nodes.parquet", &scratch.read(table));
        let options = iglu_data::LoadOptions { purpose: iglu_data::Purpose::Predict, ..Default::default() };
        let read =
            |folder: &str| iglu_data::load(scratch.path.join(folder).to_str().unwrap(), &options).unwrap();
        let (back, ring) = (read("back"), read("ring"));
        assert_eq!(back.node_names, ring.node_names);
        let expect: Vec<f32> = read_npy(&scratch.read(array)).concat();
        assert_eq!(back.features.values(), expect, "{table}: every bit");
        if table == "p.parquet" {
            assert_eq!(back.class_names, ring.class_names);
            assert_eq!(back.labels, ring.labels, "even and odd nodes are easily told apart");
        }
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_is_refused_at_once_where_it_is_not_built_in() {
    let scratch = Scratch::new("no-parquet");
    named(&scratch);
    let expect = ["--out: this is to be a Parquet file", "--features parquet", ".csv"];
    scratch.iglu("predict nothing ring --out p.parquet").check(64, &expect);
    scratch.iglu("embed nothing ring --out x.parquet").check(64, &expect);
}

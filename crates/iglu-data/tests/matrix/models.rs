//! Case 39: trained networks in files that were damaged or made by others.

use super::Case;
use iglu::config::{Auto, Config};
use iglu::observe::Silent;
use serde_json::{Value, json};
use std::sync::OnceLock;

pub fn cases() -> Vec<Case> {
    let huge = [&(1_u64 << 63).to_le_bytes()[..], b"{}      "].concat();
    let (first, second) = (names()[0].clone(), names()[1].clone());
    let start = |name: &str| header()[name]["data_offsets"][0].as_u64().unwrap();
    let [from, to] = [0, 1].map(|at| header()[&first]["data_offsets"][at].as_u64().unwrap());
    let shape = header()[&first]["shape"].clone();
    let turned = json!([shape[1], shape[0]]);
    let mut cases = vec![
        model("header of 2^63 bytes", huge),
        model("tensors that overlap", with(&second, "data_offsets", json!([from, to]))),
        model("hole between tensors", with(&second, "data_offsets", json!([start(&second) + 4, to + 4]))),
        model("unknown type", unknown_type(&first)),
        model("wrong shape", with(&first, "shape", turned)),
        model("tensor twice", text_with(&format!("\"{second}\""), &format!("\"{first}\""))),
        model("tensor with another name", text_with(&format!("\"{first}\""), "\"other\"")),
    ];
    let mut nan = file().to_vec();
    let data = 8 + u64::from_le_bytes(nan[..8].try_into().unwrap()) as usize;
    nan[data..data + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    cases.push(model("NaN", nan));
    cases.push(model("cut", file()[..file().len() - 5].to_vec()));
    cases
}

fn model(name: &'static str, bytes: Vec<u8>) -> Case {
    Case::new(39, 65, name, move |folder| {
        let path = folder.join("best.safetensors");
        std::fs::write(&path, &bytes).unwrap();
        iglu_data::model::load(&path).map(|_| Vec::new())
    })
}

/// The file of a small trained network.
fn file() -> &'static [u8] {
    static FILE: OnceLock<Vec<u8>> = OnceLock::new();
    FILE.get_or_init(|| {
        let data = iglu_data::load("synth:village@0.05", &iglu_data::LoadOptions::default()).unwrap();
        let mut config = Config::default();
        config.network.hidden = Auto::Set(4);
        config.train.epochs = Auto::Set(1);
        let path = super::common::folder("matrix-model").join("good.safetensors");
        iglu_data::model::save(&path, &iglu::run::fit(&config, &data, &mut Silent).unwrap().model).unwrap();
        iglu_data::model::load(&path).unwrap();
        std::fs::read(&path).unwrap()
    })
}

fn header_text() -> &'static str {
    let length = u64::from_le_bytes(file()[..8].try_into().unwrap()) as usize;
    std::str::from_utf8(&file()[8..8 + length]).unwrap()
}

fn header() -> Value {
    serde_json::from_str(header_text()).unwrap()
}

/// Names of the tensors, in the order of their bytes.
fn names() -> Vec<String> {
    let header = header();
    let tensors = header.as_object().unwrap().iter().filter(|(name, _)| *name != "__metadata__");
    let mut starts: Vec<(u64, String)> =
        tensors.map(|(name, t)| (t["data_offsets"][0].as_u64().unwrap(), name.clone())).collect();
    starts.sort();
    starts.into_iter().map(|(_, name)| name).collect()
}

/// The file with another header.
fn with_text(text: &str) -> Vec<u8> {
    let body = &file()[8 + header_text().len()..];
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes(), body].concat()
}

/// The file with one field of a tensor changed.
fn with(tensor: &str, field: &str, value: Value) -> Vec<u8> {
    let mut header = header();
    header[tensor][field] = value;
    with_text(&header.to_string())
}

/// The file with a type that does not exist, and without the configuration: the message counts the characters before.
fn unknown_type(tensor: &str) -> Vec<u8> {
    let mut header = header();
    header.as_object_mut().unwrap().remove("__metadata__");
    header[tensor]["dtype"] = json!("F12");
    with_text(&header.to_string())
}

/// The file with a word of its header changed.
fn text_with(from: &str, to: &str) -> Vec<u8> {
    with_text(&header_text().replacen(from, to, 1))
}

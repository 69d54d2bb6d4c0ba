//! `iglu embed`.

use crate::harness::Scratch;

/// The values of an array of float32, and its columns.
fn read_npy(bytes: &[u8]) -> (Vec<f32>, usize) {
    let length = u16::from_le_bytes([bytes[8], bytes[9]]) as usize;
    let header = std::str::from_utf8(&bytes[10..10 + length]).unwrap();
    let shape = header.split("'shape': (").nth(1).unwrap().split(')').next().unwrap();
    let columns = shape.split(',').nth(1).unwrap().trim().parse().unwrap();
    let values = bytes[10 + length..].chunks_exact(4);
    (values.map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect(), columns)
}

#[test]
fn the_last_layer_gives_the_logits_and_the_one_before_it_the_embeddings() {
    let scratch = Scratch::new("embed");
    let data = "synth:village@0.1";
    scratch.iglu(&format!("train {data} --quiet --out a --epochs 2 --hidden 12")).check(0, &[]);
    scratch.iglu(&format!("predict a {data} --out logits.npy")).check(0, &[]);
    scratch.iglu(&format!("embed a {data} --out x.npy")).check(0, &[]).says(&["200 nodes x 12", "layer"]);
    scratch.iglu(&format!("embed a {data} --out x.csv")).check(0, &[]);
    scratch.iglu(&format!("embed a {data} --out last.npy --layer 3 --threads 1")).check(0, &[]);
    assert!(scratch.read("last.npy") == scratch.read("logits.npy"));
    let (values, columns) = read_npy(&scratch.read("x.npy"));
    assert_eq!((columns, values.len()), (12, 200 * 12));
    let table = String::from_utf8(scratch.read("x.csv")).unwrap();
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("node,x1,x2,x3,x4,x5,x6,x7,x8,x9,x10,x11,x12"));
    let read: Vec<f32> = lines.flat_map(|line| line.split(',').skip(1)).map(|v| v.parse().unwrap()).collect();
    assert_eq!(read, values, "every digit is there");
    let expect = ["--layer: layer: 4, but the network has layers 1 to 3"];
    scratch.iglu(&format!("embed a {data} --out y.npy --layer 4")).check(64, &expect);
}

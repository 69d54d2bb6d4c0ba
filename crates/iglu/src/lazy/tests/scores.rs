//! Logits of some nodes, and what they cost.

use super::super::work::inference;
use super::*;

/// Scores need the logits of some nodes: they are those of inference for all, byte for byte, made from what they reach alone.
#[test]
fn some_nodes_are_inferred_as_among_all() {
    let (data, few) = (dataset(true, false), [3, 11, 24, 28]);
    let alike = |found: &Mat, whole: &Mat, name: &str| {
        for v in 0..whole.rows() {
            let expect = if few.contains(&(v as u32)) { whole.row(v) } else { &[0.0; 3] };
            assert_eq!(found.row(v), expect, "{name}, node {v}");
        }
    };
    let mut shorter = 0;
    for (name, mut c) in variants() {
        for (order, storage) in [(Order::Inverted, Storage::F32), (Order::Inverted, Storage::Bf16)] {
            (c.train.order, c.network.cache) = (order, Auto::Set(storage));
            with_engine(&c, &data, |e| {
                e.begin().unwrap();
                assert!(e.epoch(0, 1).is_ok());
                let network = e.network().clone();
                let reach = network.reach(&e.side, &few);
                let found = e.infer_for(&e.side, &reach).unwrap();
                alike(&found, &network.infer(&e.side), name);
                shorter += usize::from(reach[1].len() < e.side.nodes());
                let all: Vec<u32> = (0..e.side.nodes() as u32).collect();
                let (cached, whole) = (e.logits(&few), e.logits(&all));
                cached.zip(whole).iter().for_each(|(found, whole)| alike(found, whole, name));
            });
        }
    }
    assert!(shorter > 20, "{shorter} networks leave something out");
}

/// What caches have already is no work of an evaluation: of three graph layers and a classifier, 8 wide, the last two are.
#[test]
fn an_evaluation_costs_what_caches_do_not_have() {
    let data = dataset(false, false);
    let nodes: Vec<u32> = (30..60).collect();
    with_engine(&config(Order::Inverted), &data, |engine| {
        assert!(engine.logits_work(&nodes).is_none(), "nothing is fresh yet");
        engine.begin().unwrap();
        engine.epoch(0, 2).unwrap();
        let work = engine.logits_work(&nodes).expect("an epoch leaves fresh embeddings below the tail");
        // [x | A x] to 8, and 8 to the 3 classes.
        assert_eq!(work.dense_flops(), 2.0 * nodes.len() as f64 * (16.0 * 8.0 + 8.0 * 3.0));
        let side = engine.side.clone();
        let all = inference(engine.network(), &side, &engine.network().reach(&side, &nodes));
        assert!(work.dense_flops() < all.dense_flops() && work.bytes() < all.bytes());
    });
}

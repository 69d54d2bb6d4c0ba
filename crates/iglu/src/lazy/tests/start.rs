//! The warm start: when it ends, what it sees, and what a network says without its graph.

use super::*;

/// A start ends where its score rises no more, with its best epoch, as if no more had been asked for. One whose score falls
/// clearly has learned by heart; scores that nobody gives change nothing.
#[test]
fn a_start_that_rises_no_more_ends_at_its_best_epoch() {
    let data = dataset(false, false);
    let start = |epochs: usize, scores: &[f64]| {
        let mut c = config(Order::Inverted);
        (c.train.start, c.train.start_epochs) = (Auto::Set(Start::Mlp), epochs);
        with_engine(&c, &data, |e| {
            let mut given = scores.iter();
            let mut judge = |_: &Network, _: Sight| given.next().map(|&score| Verdict { score, slack: 0.1 });
            let report = e.warm_start(&mut judge).unwrap().unwrap();
            let params: Vec<Mat> = e.network().params_from(1).into_iter().cloned().collect();
            (report, params)
        })
    };
    let (whole, short) = (start(6, &[]), start(3, &[]));
    assert_eq!((whole.0.epochs, short.0.epochs), (6, 3));
    assert!(!whole.0.by_heart && !short.0.by_heart);
    assert_ne!(whole.1, short.1);
    let cut = start(6, &[0.1, 0.25, 0.5, 0.3, 0.35, 0.9]);
    assert_eq!(cut, (StartReport { by_heart: true, ..short.0 }, short.1.clone()));
    assert_eq!(start(6, &[0.1, 0.25, 0.5, 0.3, 0.45, 0.9]), short, "a fall and a standstill");
    assert_eq!(
        start(6, &[0.1, 0.45, 0.5, 0.45, 0.9, 0.9]),
        short,
        "the best one need not be the last clear gain"
    );
    assert_eq!(start(6, &[0.1, 0.3, 0.35, 0.45, 0.3, 0.6]), whole, "one standstill may be an accident");
}

/// The judge's scores decide what the start sees, and the rest of it is what that kind of start does.
#[test]
fn a_start_sees_hops_where_those_tell_more() {
    let mut data = dataset(false, false);
    data.split.train = (0..40).collect();
    let start = |kind: Auto<Start>, blind: &[f64], seeing: &[f64]| {
        let mut c = config(Order::Inverted);
        (c.train.start, c.train.start_epochs, c.train.batch) = (kind, 5, Batch::Size(1));
        with_engine(&c, &data, |e| {
            let (mut blind, mut seeing) = (blind.iter(), seeing.iter());
            let mut judge = |_: &Network, sight: Sight| {
                let given = if sight == Sight::Hops { seeing.next() } else { blind.next() };
                given.map(|&score| Verdict { score, slack: 0.02 })
            };
            let mut report = e.warm_start(&mut judge).unwrap().unwrap();
            if report.kind == Start::Both {
                report = e.hear_hops(report, &mut judge).unwrap();
            }
            let params: Vec<Mat> = e.network().params_from(1).into_iter().cloned().collect();
            ((report.kind, report.epochs, report.by_heart), params)
        })
    };
    let set = |kind: Start| start(Auto::Set(kind), &[], &[]);
    let (mlp, hops, both) = (set(Start::Mlp), set(Start::Hops), set(Start::Both));
    assert_eq!((mlp.0, hops.0), ((Start::Mlp, 5, false), (Start::Hops, 5, false)));
    assert_eq!(both.0, (Start::Both, 8, false));
    assert!(mlp.1 != hops.1 && mlp.1 != both.1 && hops.1 != both.1);
    // The first score is that of the first steps.
    let rising = [0.5, 0.5, 0.6, 0.7, 0.8, 0.9];
    assert_eq!(start(Auto::Auto, &[], &[]), mlp, "nobody judges");
    assert_eq!(start(Auto::Auto, &[0.46], &rising), mlp);
    assert_eq!(start(Auto::Auto, &[0.41], &rising), both);
    assert_eq!(start(Auto::Auto, &[0.39], &rising), hops);
    // It ends where an epoch gains too little to be sure of, with the best network so far.
    let two = start(Auto::Set(Start::Hops), &[], &[0.5, 0.6, 0.59, 0.9]);
    assert_eq!(two.0, (Start::Hops, 2, false));
    assert_eq!(two, start(Auto::Auto, &[0.1], &[0.2, 0.5, 0.6, 0.4]));
    assert_eq!(start(Auto::Auto, &[0.1], &[0.2, 0.5, 0.51, 0.9]).0, (Start::Hops, 2, false));
    // So do both parts of one that hears its neighbours at the end.
    let three = start(Auto::Auto, &[0.44, 0.5, 0.49, 0.5, 0.9], &[0.5, 0.7, 0.8, 0.75]);
    assert_eq!(three.0, (Start::Both, 3, false));
}

/// Small mini-batches in a start: what it has to find it finds by steps. Whoever names a size gets it.
#[test]
fn a_start_has_batches_of_its_own() {
    let data = dataset(false, false);
    let size = |batch: Batch, rows: usize| {
        let mut c = config(Order::Inverted);
        c.train.batch = batch;
        with_engine(&c, &data, |e| {
            e.rows = vec![0; rows];
            e.start_batch()
        })
    };
    let sizes = [100, 1000, 2048, 4096, 8251, 13_754, 34_255, 1_000_000].map(|rows| size(Batch::Auto, rows));
    assert_eq!(sizes, [32, 125, 256, 256, 343, 512, 512, 512]);
    assert_eq!((size(Batch::Size(1000), 8251), size(Batch::Full, 8251)), (1000, 8251));
}

/// With one graph layer everything that is heard is heard by the first.
#[test]
fn a_network_of_one_layer_that_sees_hops_sees_everything() {
    let data = dataset(true, false);
    for layer in ["sage", "gcn", "pna", "rgcn"] {
        let mut c = config(Order::Inverted);
        (c.network.layer, c.network.layers) = (layer.into(), 1);
        let network = Network::new(&c.network, &ModelShape::of(&data), c.seed).unwrap();
        let side =
            Sides::new(&data, &Arc::new(data.features.clone().into()), &network, Setting::Transductive).full;
        let found = network.infer_without(Sight::Hops, &side, &data.split.val);
        let whole = network.infer(&side).select(&data.split.val);
        assert_same(&[found], std::slice::from_ref(&whole), layer);
        assert_ne!(network.infer_without(Sight::Nothing, &side, &data.split.val), whole, "{layer}");
    }
}

/// Without edges a node hears itself alone, so inference is what the network says without its graph.
#[test]
fn a_network_without_its_graph_is_one_on_a_graph_without_edges() {
    let edgeless = Graph::from_edges(N, &[], EdgeOptions::default()).unwrap();
    for layer in ["gcn", "gat", "gcnii"] {
        let data = dataset(false, false);
        let mut c = config(Order::Inverted);
        (c.network.layer, c.network.heads) = (layer.into(), 2);
        let network = Network::new(&c.network, &ModelShape::of(&data), c.seed).unwrap();
        let side = |data: &Dataset| {
            let features = Arc::new(data.features.clone().into());
            Sides::new(data, &features, &network, Setting::Transductive).full
        };
        let alone = network.infer(&side(&Dataset { graph: edgeless.clone(), ..data.clone() }));
        let found = network.infer_without(Sight::Nothing, &side(&data), &data.split.val);
        assert_same(&[found], &[alone.select(&data.split.val)], layer);
        assert_ne!(network.infer(&side(&data)), alone, "{layer} reads its graph");
    }
}

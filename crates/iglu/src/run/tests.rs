mod trials;

use super::course::Fault;
use super::{Fit, Outline, Trained, Trials, memory_of};
use crate::buffer::Keep;
use crate::checkpoint::Checkpoint;
use crate::config::{Auto, Batch, Config, Head, LazyDropout, Order, Proximal, Scaling, Setting, Start};
use crate::kernels::reference;
use crate::layers::{Jump, NormKind};
use crate::metrics::Metric;
use crate::network::ModelShape;
use crate::observe::{Control, Event, HistoryPoint, Observer, RefreshPoint, Urgency};
use crate::optim::Method;
use crate::rng::Key;
use crate::{
    Buffer, Dataset, EdgeOptions, Error, Features, Graph, Interrupt, Labels, Mat, Norm, Real, Result,
    SparseMat, Split, Storage, Tensor,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const NODES: u32 = 120;

/// Noisy hints on a ring of three arcs with chords.
fn ring() -> Dataset {
    let key = Key::new(3);
    let edges: Vec<[u32; 2]> =
        (0..NODES).flat_map(|i| [[i, (i + 1) % NODES], [i, (i + 3) % NODES]]).collect();
    let graph = Graph::from_edges(NODES as usize, &edges, EdgeOptions::default()).unwrap();
    let arc = |i: u32| i / (NODES / 3);
    let value = |i: usize| {
        let (node, column) = (i as u32 / 6, i as u32 % 6);
        (if arc(node) == column % 3 { 0.5 } else { 0.0 } + key.unit(i as u64)) as Real
    };
    let x = Mat::from_vec(NODES as usize, 6, (0..NODES as usize * 6).map(value).collect());
    let labels = Labels::Classes { ids: (0..NODES).map(|i| arc(i) as i32).collect(), classes: 3 };
    let every = |first: u32| (first..NODES).step_by(3).collect();
    let split = Split { train: every(0), val: every(1), test: every(2) };
    Dataset::new("ring", graph, Features::Dense(x), labels, split)
}

fn small() -> Config {
    let mut config = Config::default();
    config.network.hidden = Auto::Set(8);
    config.network.layers = 3;
    config.train.epochs = Auto::Set(6);
    config.train.batch = Batch::Size(16);
    config
}

/// Keeps everything it hears; asks to stop after an epoch, if told to.
#[derive(Default)]
struct Witness {
    checkpoints: Vec<(Checkpoint, Urgency)>,
    events: Vec<Event>,
    stop: Option<(usize, Interrupt)>,
}

impl Observer for Witness {
    fn event(&mut self, event: &Event) -> Control {
        if let (Event::Epoch { epoch, .. }, Some((last, interrupt))) = (event, &self.stop)
            && epoch == last
        {
            interrupt.request();
        }
        self.events.push(event.clone());
        Control::Continue
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint, urgency: Urgency) -> Result<()> {
        self.checkpoints.push((checkpoint.clone(), urgency));
        Ok(())
    }
}

fn in_threads<T: Send>(count: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(count).build().unwrap().install(work)
}

fn owned(tensors: Vec<(String, Tensor<'_>)>) -> Vec<(String, Mat)> {
    tensors.into_iter().map(|(name, t)| (name, t.into())).collect()
}

/// Everything of a result but the time.
type Timeless = (Vec<(String, Mat)>, Vec<HistoryPoint>, Vec<RefreshPoint>, [Option<f64>; 2]);

fn timeless(trained: &Trained) -> Timeless {
    let report = &trained.report;
    let history = report.history.iter().map(|p| HistoryPoint { train_seconds: 0.0, ..*p }).collect();
    (owned(trained.model.tensors()), history, report.bias.clone(), [report.val, report.test])
}

/// Every architecture learns the same from features of which only those that are not zero are stored, from its start on.
#[test]
fn sparse_features_are_the_same_features() {
    let mut dense = ring();
    let Features::Dense(x) = &mut dense.features else { unreachable!("made dense") };
    let few: Vec<Real> = x.data().iter().map(|v| if *v < 0.6 { 0.0 } else { *v }).collect();
    *x = Mat::from_vec(x.rows(), x.cols(), few);
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..x.rows() {
        let entries = (0..).zip(x.row(row)).filter(|(_, v)| **v != 0.0);
        entries.for_each(|(j, v)| (indices.push(j), values.push(*v)).1);
        offsets.push(values.len() as u64);
    }
    let cols = x.cols();
    let mut sparse = dense.clone();
    sparse.features = Features::Sparse(SparseMat::from_parts(cols, offsets, indices, values));
    // There is one kind of edges here.
    for layer in crate::layers::ARCHITECTURES.iter().filter(|a| a.name != "rgcn") {
        let mut config = small();
        config.network.layer = layer.name.to_string();
        (config.network.layers, config.network.hops) = (2, Auto::Set(1));
        config.data.features = Auto::Set(Scaling::Raw);
        (config.train.start, config.train.epochs) = (Auto::Set(Start::Mlp), Auto::Set(1));
        config.train.lazy_dropout = Auto::Set(LazyDropout::Off);
        let loss = |data: &Dataset| {
            let report = Fit::new(&config, data).run(&mut crate::observe::Silent).unwrap().report;
            (report.start.unwrap().loss, report.history[0].loss)
        };
        let (expect, found) = (loss(&dense), loss(&sparse));
        let close = |a: f64, b: f64| (a - b).abs() < 1e-3 * a.abs();
        assert!(
            close(expect.0, found.0) && close(expect.1, found.1),
            "{}: {expect:?}, sparse {found:?}",
            layer.name
        );
    }
}

/// Goes on from every checkpoint of a run, with other numbers of threads; returns how many there were.
fn check_resumes(config: &Config, what: &str) -> usize {
    let data = ring();
    let mut witness = Witness::default();
    let whole = timeless(&Fit::new(config, &data).run(&mut witness).unwrap());
    for (i, (checkpoint, _)) in witness.checkpoints.iter().enumerate() {
        let back = Checkpoint::from_tensors(checkpoint.notes.clone(), owned(checkpoint.tensors())).unwrap();
        let resumed = in_threads(1 + i % 3, || {
            let trained = Fit::new(config, &data).resume(back).run(&mut Witness::default());
            timeless(&trained.unwrap())
        });
        assert!(resumed == whole, "{what}: another result from epoch {} on", checkpoint.notes.ran);
    }
    witness.checkpoints.len()
}

#[test]
fn every_order_goes_on_as_if_never_stopped() {
    for order in [Order::Inverted, Order::InvertedPrinted, Order::Backprop, Order::Exact] {
        for (frequency, boundaries) in [(1.0, 5), (2.0, 5), (0.5, 2)] {
            let mut config = small();
            (config.train.order, config.train.frequency) = (order, frequency);
            // Nothing is tried: every epoch can be the last one.
            (config.network.operator, config.train.lazy_dropout) =
                (Auto::Set(Norm::Mean), Auto::Set(LazyDropout::Off));
            let expect = if order == Order::Exact { 5 } else { boundaries };
            assert_eq!(check_resumes(&config, &format!("{order:?} {frequency}")), expect);
        }
    }
}

/// A name, and what it changes.
type Case = (&'static str, fn(&mut Config));

#[test]
fn every_kind_of_state_is_kept() {
    let cases: [Case; 9] = [
        ("rounded caches", |c| c.network.cache = Auto::Set(Storage::Bf16)),
        ("batch norm", |c| c.network.norm = NormKind::Batch),
        ("polish", |c| c.train.polish = 3),
        ("momentum", |c| (c.optim.method, c.optim.momentum, c.optim.lr) = (Method::Sgd, 0.9, 0.01)),
        ("no proximal term", |c| c.train.proximal = Proximal::Off),
        ("patience", |c| c.select.patience = 2),
        ("attention", |c| (c.network.layer, c.network.heads) = ("gat".into(), 2)),
        ("moments", |c| c.network.layer = "pna".into()),
        ("last layer classifies", |c| {
            (c.network.head, c.network.layer) = (Head::Conv, "gcn".into());
        }),
    ];
    for (what, change) in cases {
        let mut config = small();
        change(&mut config);
        assert!(check_resumes(&config, what) > 0);
    }
}

#[test]
fn an_interrupted_run_keeps_its_best_model_and_goes_on_later() {
    let (mut config, data) = (small(), ring());
    let mut firsts = Vec::new();
    for (seed, epoch) in [(0, 1), (0, 3), (0, 5), (3, 1), (4, 1), (6, 1)] {
        config.seed = seed;
        let mut witness = Witness::default();
        let whole = timeless(&Fit::new(&config, &data).run(&mut witness).unwrap());
        // Where the second epoch was run before others were tried it is there already.
        let first = witness.checkpoints[0].0.notes.ran;
        let ran = epoch.max(first);
        firsts.push(first);
        let interrupt = Interrupt::new();
        let mut witness = Witness { stop: Some((epoch, interrupt.clone())), ..Witness::default() };
        let stopped = Fit::new(&config, &data).interrupt(&interrupt).run(&mut witness).unwrap();
        assert!(stopped.report.interrupted && stopped.report.epochs == ran);
        let (last, urgency) = witness.checkpoints.pop().unwrap();
        assert_eq!((last.notes.ran, urgency), (ran, Urgency::Last));
        let resumed = Fit::new(&config, &data).resume(last).run(&mut Witness::default()).unwrap();
        assert!(timeless(&resumed) == whole && !resumed.report.interrupted);
    }
    assert!(firsts.contains(&1) && firsts.contains(&2), "{firsts:?}");
}

/// Asked to stop between the training of an epoch and its score, a run goes back to the epoch before.
#[test]
fn an_evaluation_can_be_interrupted() {
    struct Nosy(Witness, usize, Interrupt);
    impl Observer for Nosy {
        fn event(&mut self, event: &Event) -> Control {
            if matches!(event, Event::Refreshed(point) if point.epoch == self.1) {
                self.2.request();
            }
            self.0.event(event)
        }

        fn checkpoint(&mut self, checkpoint: &Checkpoint, urgency: Urgency) -> Result<()> {
            self.0.checkpoint(checkpoint, urgency)
        }
    }
    let (mut config, data) = (small(), ring());
    config.train.setting = Setting::Inductive;
    let whole = timeless(&Fit::new(&config, &data).run(&mut Witness::default()).unwrap());
    let interrupt = Interrupt::new();
    let mut nosy = Nosy(Witness::default(), 4, interrupt.clone());
    let stopped = Fit::new(&config, &data).interrupt(&interrupt).run(&mut nosy).unwrap();
    assert!(stopped.report.interrupted && stopped.report.epochs == 3);
    let (last, urgency) = nosy.0.checkpoints.pop().unwrap();
    assert_eq!((last.notes.ran, urgency), (3, Urgency::Last));
    let resumed = Fit::new(&config, &data).resume(last).run(&mut Witness::default()).unwrap();
    assert!(timeless(&resumed) == whole);
}

#[test]
fn a_bad_number_in_any_layer_is_rolled_back_or_named() {
    let data = ring();
    let mut config = small();
    for order in [Order::Inverted, Order::InvertedPrinted, Order::Backprop, Order::Exact] {
        config.train.order = order;
        for layer in 1..=4 {
            for epoch in [2, 4] {
                let mut witness = Witness::default();
                let mut fit = Fit::new(&config, &data);
                fit.fault = Some(Fault { epoch, layer, times: 2 });
                let trained = fit.run(&mut witness).unwrap();
                let back = |e: &&Event| matches!(e, Event::RolledBack { epoch: to, .. } if *to == epoch);
                assert_eq!(witness.events.iter().filter(back).count(), 2, "{order:?} {layer} {epoch}");
                assert_eq!(trained.report.rate_factor, 0.25);
                assert!(trained.model.network().broken().is_none() && trained.report.epochs == 6);
                let clean = |(c, _): &(Checkpoint, Urgency)| c.engine.network.broken().is_none();
                assert!(witness.checkpoints.iter().all(clean));
            }
            let mut fit = Fit::new(&config, &data);
            fit.fault = Some(Fault { epoch: 2, layer, times: 4 });
            let Err(e @ Error::Diverged { .. }) = fit.run(&mut Witness::default()) else {
                panic!("{order:?}: a bad number in layer {layer} was accepted")
            };
            let place = format!("epoch 3, layer {layer}, tensor `");
            assert!(e.to_string().starts_with(&place), "{order:?}: {e}");
        }
    }
}

#[test]
fn a_start_that_diverges_is_repeated_more_slowly() {
    let data = ring();
    let mut config = small();
    (config.optim.method, config.optim.lr) = (Method::Sgd, 1e200);
    config.train.start = Auto::Set(Start::Random);
    let mut witness = Witness::default();
    let Err(e) = Fit::new(&config, &data).run(&mut witness) else { panic!("1e200 is no learning rate") };
    assert_eq!(e.exit_code(), 20);
    let halved = |e: &Event| match e {
        Event::RolledBack { epoch, rate_factor, .. } => Some((*epoch, *rate_factor)),
        _ => None,
    };
    let halved: Vec<_> = witness.events.iter().filter_map(halved).collect();
    assert_eq!(halved, [(0, 0.5), (0, 0.25), (0, 0.125)]);
}

/// Training on nodes in another order gives a model for the data as it is, and goes on where it was.
#[test]
fn training_reorders_for_itself_alone() {
    let data = ring();
    let mut config = small();
    config.data.reorder = Auto::Set(true);
    let reordered = super::reordered(&config, &data).expect("asked for");
    assert_ne!(reordered.graph, data.graph, "an order that changes nothing tests nothing");
    assert!(super::reordered(&config, &reordered).is_none(), "once is enough");
    for setting in [Setting::Transductive, Setting::Inductive] {
        config.train.setting = setting;
        let run = |data: &Dataset| Fit::new(&config, data).run(&mut Witness::default()).unwrap();
        let (here, there) = (run(&data), run(&reordered));
        assert!(timeless(&here) == timeless(&there), "{setting:?}: the same training on data in that order");
        // The scores of training are those of predictions in the order of the file.
        let logits = here.model.predict(&data).unwrap();
        assert_eq!(here.report.test, Metric::Accuracy.score(&logits, &data.labels, &data.split.test));
        let moved = here.model.predict(&reordered).unwrap();
        let seen = here.logits(&data, &Interrupt::new()).unwrap();
        for v in 0..NODES {
            let moved = moved.row(reordered.place(v) as usize);
            let rows = logits.row(v as usize).iter().zip(moved);
            rows.for_each(|(a, b)| assert!((a - b).abs() < 1e-4, "node {v}: {a} and {b}"));
            assert_eq!(seen.row(v as usize), moved, "node {v} as training saw it");
        }
        assert_eq!(there.logits(&reordered, &Interrupt::new()).unwrap(), moved);
        assert!(check_resumes(&config, "reordered") > 3);
    }
}

#[test]
fn large_embeddings_of_dense_graphs_are_reordered_and_others_not() {
    let near: Vec<[u32; 2]> =
        (0..NODES).flat_map(|i| (1..17).map(move |step| [i, (i + step) % NODES])).collect();
    let dense = Graph::from_edges(NODES as usize, &near, EdgeOptions::default()).unwrap();
    let dense = Dataset { graph: dense, ..ring() };
    let check = |data: &Dataset, hidden: usize, layers: usize, expect: bool| {
        let mut config = small();
        config.data.reorder = Auto::Auto;
        (config.network.hidden, config.network.layers) = (Auto::Set(hidden), layers);
        assert_eq!(super::resolve(&config, data).data.reorder, Auto::Set(expect), "{hidden} x {layers}");
    };
    // 120 rows leave the caches with 69,906 columns of 4 bytes.
    check(&dense, 69_907, 2, true);
    check(&dense, 8, 2, false);
    check(&ring(), 69_907, 2, false);
    check(&dense, 69_907, 1, false);
    assert!(super::reordered(&small(), &dense).is_none());
}

/// Virtual nodes are laid out in a plane whose ties numbers break.
#[test]
fn the_plane_is_that_of_the_file() {
    let data = ring();
    let there = data.reordered(&crate::communities::order(&data.graph));
    let plane = |data: &Dataset| crate::latent::with_plane(data).unwrap();
    assert_eq!(plane(&there).in_file_order(), plane(&data));
}

/// Wants no more after the start.
struct Enough;

impl Observer for Enough {
    fn event(&mut self, event: &Event) -> Control {
        if matches!(event, Event::Epoch { .. }) { Control::Stop } else { Control::Continue }
    }
}

/// An observer that wants no more after the start ends the run like any other.
#[test]
fn an_observer_may_stop_at_the_start() {
    let report = Fit::new(&small(), &ring()).run(&mut Enough).unwrap().report;
    assert_eq!((report.epochs, report.interrupted, report.best_epoch), (0, false, 0));
}

/// With batch norms, too, the model of the start predicts what was scored.
#[test]
fn batch_norms_have_their_statistics_after_the_start() {
    let mut config = small();
    config.network.norm = NormKind::Batch;
    let interrupt = Interrupt::new();
    let mut witness = Witness { stop: Some((0, interrupt.clone())), ..Witness::default() };
    let data = ring();
    let stopped = Fit::new(&config, &data).interrupt(&interrupt).run(&mut witness).unwrap();
    let logits = stopped.model.predict(&data).unwrap();
    let val = Metric::Accuracy.score(&logits, &data.labels, &data.split.val);
    assert_eq!((val, stopped.report.best_epoch), (stopped.report.val, 0));
}

/// Labels that only neighbours' features tell, on enough nodes for the start to be judged; a copy where a node's own tell them
/// as well.
#[test]
fn a_start_sees_the_graph_where_features_alone_tell_nothing() {
    const NODES: usize = 9000;
    let key = Key::new(5);
    let class = |i: usize| (key.u64(i as u64) % 3) as usize;
    // Node i hears i + 1 only, which carries its class.
    let edges: Vec<[u32; 2]> = (0..NODES as u32).map(|i| [(i + 1) % NODES as u32, i]).collect();
    let options = EdgeOptions { directed: true, ..Default::default() };
    let graph = Graph::from_edges(NODES, &edges, options).unwrap();
    let labels = Labels::Classes { ids: (0..NODES).map(|i| class(i) as i32).collect(), classes: 3 };
    let every = |first: u32| (first..NODES as u32).step_by(2).collect::<Vec<u32>>();
    let split = Split { train: every(0), val: every(1), test: Vec::new() };
    let run = |from: usize, kind: Auto<Start>| {
        let hint = |i: usize| (class((i / 3 + NODES - from) % NODES) == i % 3) as u8 as Real;
        let x = Mat::from_vec(NODES, 3, (0..NODES * 3).map(hint).collect());
        let data = Dataset::new("told", graph.clone(), Features::Dense(x), labels.clone(), split.clone());
        let mut config = small();
        (config.network.layers, config.train.start) = (2, kind);
        (config.train.epochs, config.train.batch) = (Auto::Set(1), Batch::Size(128));
        Fit::new(&config, &data).run(&mut Witness::default()).unwrap()
    };
    let told = |trained: &Trained| trained.model.config().train.clone();
    let (heard, own) = (run(1, Auto::Auto), run(0, Auto::Auto));
    assert_eq!(told(&heard).start, Auto::Set(Start::Hops));
    assert_eq!((told(&heard).start_dropout, told(&heard).start_tail), (Auto::Set(0.3), Auto::Set(2)));
    assert!(heard.report.val > Some(0.99), "{:?}", heard.report.val);
    assert!(timeless(&heard) == timeless(&run(1, Auto::Set(Start::Hops))));
    assert_eq!((told(&own).start, told(&own).start_dropout), (Auto::Set(Start::Mlp), Auto::Set(0.2)));
    assert!(timeless(&own) == timeless(&run(0, Auto::Set(Start::Mlp))));
}

#[test]
fn hops_are_refused_where_the_first_layer_has_none() {
    for start in [Start::Hops, Start::Both] {
        let mut config = small();
        (config.network.layer, config.train.start) = ("gat".into(), Auto::Set(start));
        let Err(e) = Fit::new(&config, &ring()).run(&mut Witness::default()) else {
            panic!("gat has no hops")
        };
        assert!(matches!(e, Error::Usage { .. }) && e.to_string().contains("train.start"), "{e}");
    }
}

#[test]
fn a_deep_gcnii_is_read_at_every_layer_where_there_are_rows_enough() {
    let decided = |layer: &str, layers: usize, train: usize, change: fn(&mut Config)| {
        let mut config = Config::default();
        (config.network.layer, config.network.layers) = (layer.into(), layers);
        change(&mut config);
        let n = super::decide(&config, &Outline { train, ..Outline::of(&ring()) }).network;
        (n.jump.or(Jump::Max), n.initial.or(-1.0))
    };
    let plain = (Jump::None, 0.1);
    assert_eq!(decided("gcnii", 16, 4096, |_| ()), (Jump::Concat, 0.02));
    assert_eq!(decided("gcnii", 4, 4096, |_| ()), (Jump::Concat, 0.08));
    for (layer, layers, train) in [("gcnii", 16, 4095), ("gcnii", 3, 9999), ("appnp", 16, 9999)] {
        assert_eq!(decided(layer, layers, train, |_| ()), plain, "{layer} {layers} {train}");
    }
    assert_eq!(decided("gcnii", 16, 9999, |c| c.network.jump = Auto::Set(Jump::None)), plain);
    assert_eq!(decided("gcnii", 16, 9999, |c| c.network.head = Head::Conv), plain);
    let own = decided("gcnii", 16, 9999, |c| c.network.initial = Auto::Set(0.3));
    assert_eq!(own, (Jump::Concat, 0.3));
}

#[test]
fn large_tables_are_kept_in_half_the_memory() {
    let cache = |nodes: usize, sparse: bool, change: fn(&mut Config)| {
        let mut config = Config::default();
        change(&mut config);
        let ring = Outline::of(&ring());
        let shape = ModelShape { features: 512, ..ring.shape };
        super::decide(&config, &Outline { nodes, sparse, shape, ..ring }).network.storage()
    };
    // 512 columns, three hops of them, two layers of 192: 2432 numbers for each node.
    let most = (128 << 20) / 2432;
    assert_eq!(cache(most, false, |_| ()), Storage::F32);
    assert_eq!(cache(most + 1, false, |_| ()), Storage::Bf16);
    assert_eq!(cache(most + 1, true, |_| ()), Storage::F32);
    assert_eq!(cache(most + 1, false, |c| c.network.hops = Auto::Set(1)), Storage::F32);
    assert_eq!(cache(most + 1, false, |c| c.network.cache = Auto::Set(Storage::F32)), Storage::F32);
    assert_eq!(cache(most + 1, false, |c| c.train.order = Order::Exact), Storage::F32);
    assert_eq!(cache(1, false, |c| c.network.cache = Auto::Set(Storage::Bf16)), Storage::Bf16);
}

/// A run that may have the features of its data learns the same, and has what its last scores need: in every order of nodes,
/// and where it is ended in its start.
#[test]
fn data_that_is_spent_gives_what_lent_data_gives() {
    let lent = ring();
    for (reorder, cache) in [(false, Storage::F32), (true, Storage::F32), (false, Storage::Bf16)] {
        let mut config = small();
        (config.data.reorder, config.network.cache) = (Auto::Set(reorder), Auto::Set(cache));
        let mut spent = lent.clone();
        let expect = Fit::new(&config, &lent).run(&mut Witness::default()).unwrap();
        let found = Fit::new(&config, &mut spent).run(&mut Witness::default()).unwrap();
        assert_eq!(timeless(&found), timeless(&expect));
        assert_eq!((spent.features.rows(), lent.features.rows()), (0, lent.graph.nodes()));
        let logits = |run: &Trained, data: &Dataset| run.logits(data, &Interrupt::new()).unwrap();
        assert_eq!(logits(&found, &spent), logits(&expect, &lent), "reorder {reorder}, {cache:?}");
        let mut spent = lent.clone();
        let ended = Fit::new(&config, &mut spent).run(&mut Enough).unwrap();
        let predicted = ended.model.predict(&lent).unwrap();
        reference::assert_close(&logits(&ended, &spent), &predicted, 1e-4);
    }
}

/// Values that count how often nobody needs them.
struct Counted(Vec<Real>, AtomicUsize);

impl Keep<Real> for Counted {
    fn values(&self) -> &[Real] {
        &self.0
    }

    fn can_rest(&self) -> bool {
        true
    }

    fn rest(&self) {
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

/// What keeps features rests once the run has scaled ones, or ones in another order, whether it may spend the data or not.
#[test]
fn features_rest_once_a_run_has_its_own() {
    for (spend, reorder) in [(false, false), (true, false), (false, true), (true, true)] {
        let (mut data, mut config) = (ring(), small());
        (config.train.epochs, config.data.features) = (Auto::Set(1), Auto::Set(Scaling::Standard));
        config.data.reorder = Auto::Set(reorder);
        let Features::Dense(x) = data.take_features() else { panic!("the ring is dense") };
        let (rows, cols) = (x.rows(), x.cols());
        let keeper = Arc::new(Counted(x.into_vec(), AtomicUsize::new(0)));
        data.features = Features::Dense(Mat::from_buffer(rows, cols, Buffer::kept(keeper.clone())));
        let fit = if spend { Fit::new(&config, &mut data) } else { Fit::new(&config, &data) };
        fit.run(&mut Witness::default()).unwrap();
        assert!(keeper.1.load(Ordering::Relaxed) > 0, "spent: {spend}, reordered: {reorder}");
    }
}

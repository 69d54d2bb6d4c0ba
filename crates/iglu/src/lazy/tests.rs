//! What the theory promises: fresh caches give the exact gradient, batches add up, bias is linear in the step.

use super::engine::Moment;
use super::*;
use crate::config::{
    Auto, Batch, GradientScale, Head, LayerOverride, LazyDropout, Order, ScheduleKind, Setting, Start,
};
use crate::layers::{Jump, NormKind};
use crate::loss::{LossOptions, TaskLoss};
use crate::network::{ModelShape, Network, Sight};
use crate::optim::Method;
use crate::program::Dropping;
use crate::rng::Key;
use crate::side::Sides;
use crate::{
    Activation, Dataset, EdgeOptions, Features, Graph, Interrupt, Labels, Mat, Real, Relation, Split, Storage,
};
use std::sync::Arc;

mod scores;
mod start;

const N: usize = 60;

/// A random graph with three isolated nodes, three classes, half of the nodes for training.
fn dataset(directed: bool, multi: bool) -> Dataset {
    let key = Key::new(3);
    let edge =
        |i: u64| [(key.u64(2 * i) % (N as u64 - 3)) as u32, (key.u64(2 * i + 1) % (N as u64 - 3)) as u32];
    let edges: Vec<[u32; 2]> = (0..150).map(edge).collect();
    let x = (0..N * 6).map(|i| (2.0 * key.with("x").unit(i as u64) - 1.0) as Real).collect();
    let class = |i: usize| (key.with("y").u64(i as u64) % 3) as i32;
    let labels = if multi {
        Labels::Multi { values: (0..N * 3).map(|i| (class(i) == 0) as i8).collect(), classes: 3 }
    } else {
        Labels::Classes { ids: (0..N).map(class).collect(), classes: 3 }
    };
    let graph = Graph::from_edges(N, &edges, EdgeOptions { directed, ..Default::default() }).unwrap();
    let split =
        Split { train: (0..N as u32 / 2).collect(), val: (30..45).collect(), test: (45..60).collect() };
    let mut data = Dataset::new("tiny", graph, Features::Dense(Mat::from_vec(N, 6, x)), labels, split);
    let relation = |r: usize| {
        let mine: Vec<[u32; 2]> = edges.iter().skip(r).step_by(3).copied().collect();
        let graph = Graph::from_edges(N, &mine, EdgeOptions { directed, ..Default::default() }).unwrap();
        Relation { name: format!("kind {r}"), graph, latent: r == 2 }
    };
    data.relations = (0..3).map(relation).collect();
    data
}

fn config(order: Order) -> Config {
    let mut c = Config::default();
    c.network.hidden = Auto::Set(8);
    c.network.layers = 3;
    c.network.dropout = 0.0;
    c.network.hops = Auto::Set(1);
    c.network.activation = Activation::Tanh;
    c.train.order = order;
    c.train.start = Auto::Set(Start::Random);
    c.train.proximal = Proximal::Off;
    c
}

/// Runs `work` with an engine over the dataset.
fn with_engine<T>(config: &Config, data: &Dataset, work: impl FnOnce(&mut Engine<'_>) -> T) -> T {
    let network = Network::new(&config.network, &ModelShape::of(data), config.seed).unwrap();
    let sides = Sides::new(data, &Arc::new(data.features.clone().into()), &network, config.train.setting);
    let (labels, rows) = Sides::training(data, config.train.setting);
    let loss = TaskLoss::new(&labels, &rows, &LossOptions::default()).unwrap();
    work(&mut Engine::new(config, network, sides.train.clone(), loss, rows))
}

fn tolerance() -> f64 {
    if size_of::<Real>() == 8 { 1e-11 } else { 2e-4 }
}

fn assert_same(found: &[Mat], expect: &[Mat], name: &str) {
    let norm = expect.iter().flat_map(Mat::data).map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
    let pairs = found.iter().zip(expect).flat_map(|(a, b)| a.data().iter().zip(b.data()));
    let error = pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>().sqrt();
    assert!(norm > 0.0 && error < tolerance() * norm.max(1e-3), "{name}: off by {error} of {norm}");
}

fn gat(c: &mut Config) {
    (c.network.layer, c.network.heads) = ("gat".into(), 2);
}

/// Networks on which orders are compared with plain back-propagation.
fn variants() -> Vec<(&'static str, Config)> {
    let mut out = Vec::new();
    for architecture in crate::layers::ARCHITECTURES {
        let mut c = config(Order::Exact);
        c.network.layer = architecture.name.into();
        out.push((architecture.name, c));
    }
    let with = |change: fn(&mut Config)| {
        let mut c = config(Order::Exact);
        change(&mut c);
        c
    };
    out.push(("conv head", with(|c| c.network.head = Head::Conv)));
    out.push(("inductive", with(|c| c.train.setting = Setting::Inductive)));
    out.push(("residual", with(|c| c.network.residual = true)));
    out.push(("skips", with(|c| c.network.skips = vec!["1->3".into(), "0->2".into()])));
    out.push((
        "skip into a conv head",
        with(|c| (c.network.head, c.network.skips) = (Head::Conv, vec!["1->3".into()])),
    ));
    out.push(("batch norm", with(|c| c.network.norm = NormKind::Batch)));
    out.push((
        "saint, batch norm, sum",
        with(|c| {
            c.network.layer = "saint".into();
            c.network.combine = Auto::Set(crate::layers::Combine::Sum);
            c.network.norm = NormKind::Batch;
            c.network.l2 = true;
        }),
    ));
    out.push(("two hops", with(|c| c.network.hops = Auto::Set(2))));
    out.push(("all layers side by side", with(|c| c.network.jump = Auto::Set(Jump::Concat))));
    out.push(("largest of all layers", with(|c| c.network.jump = Auto::Set(Jump::Max))));
    out.push(("dense skips", with(|c| c.network.skips = vec!["dense".into()])));
    out.push((
        "attention gives the classes",
        with(|c| {
            gat(c);
            c.network.head = Head::Conv;
        }),
    ));
    out.push((
        "inductive attention, batch norm",
        with(|c| {
            gat(c);
            (c.train.setting, c.network.norm) = (Setting::Inductive, NormKind::Batch);
        }),
    ));
    out.push((
        "mixed layers",
        with(|c| {
            let each = |k: usize, layer: &str| LayerOverride {
                k,
                layer: Some(layer.into()),
                heads: Some(2),
                ..Default::default()
            };
            c.network.each = vec![each(1, "gat"), each(2, "pna"), each(3, "gat")];
        }),
    ));
    out
}

/// With nothing stale, the gradient every order uses for layer k is that of plain back-propagation.
#[test]
fn every_order_with_fresh_caches_equals_back_propagation() {
    for (name, exact) in variants() {
        for (directed, multi) in [(false, false), (true, true)] {
            let data = dataset(directed, multi);
            let (_, expect) = with_engine(&exact, &data, |e| e.exact_gradient(Dropping::Off));
            for order in [Order::Inverted, Order::InvertedPrinted, Order::Backprop] {
                let mut c = exact.clone();
                c.train.order = order;
                with_engine(&c, &data, |e| {
                    e.refresh_everything();
                    let learns = |k: &usize| !expect[*k].is_empty();
                    for k in (1..e.plan.tail).filter(learns) {
                        assert_same(
                            &e.lazy_gradient(k),
                            &expect[k],
                            &format!("{name}, {order:?}, layer {k}"),
                        );
                    }
                    if e.plan.tail <= e.network.depth() {
                        let tail = e.tail_gradient();
                        let whole: Vec<Mat> = expect[e.plan.tail..].concat();
                        assert_same(&tail, &whole, &format!("{name}, {order:?}, tail"));
                    }
                });
            }
        }
    }
}

/// Aggregates of the last layer that are kept for the training nodes alone train the same network, to the last bit, and
/// give the logits of all nodes.
#[test]
fn some_rows_train_as_all_of_them() {
    let mut tried = 0;
    for (name, c) in variants() {
        for (order, storage) in
            [(Order::Inverted, Storage::F32), (Order::Inverted, Storage::Bf16), (Order::Exact, Storage::F32)]
        {
            let mut c = c.clone();
            (c.train.order, c.network.cache) = (order, Auto::Set(storage));
            c.train.batch = Batch::Size(7);
            c.train.polish = 1;
            let trained = |few: bool| {
                with_engine(&c, &dataset(true, false), |e| {
                    e.caches = crate::caches::Caches::new(e.network.depth());
                    let operators = e.seen_by_loss().filter(|_| few);
                    let chosen = operators.map(|a| crate::chosen::Chosen::new(a, e.rows.clone()));
                    let apart = chosen.is_some();
                    chosen.into_iter().for_each(|chosen| e.caches.choose(3, chosen));
                    e.begin().unwrap();
                    (0..3).for_each(|i| assert!(e.epoch(i, 3).is_ok()));
                    let logits = e.logits(&(0..e.side.nodes() as u32).collect::<Vec<_>>());
                    e.polish(3).unwrap();
                    let params: Vec<Mat> = e.network.layers().iter().flat_map(|l| l.params.clone()).collect();
                    (params, logits, apart)
                })
            };
            let (all, few) = (trained(false), trained(true));
            assert!(all.0 == few.0 && all.1 == few.1, "{name}, {order:?}, {storage:?}");
            tried += usize::from(few.2);
        }
    }
    assert!(tried > 20, "{tried} networks keep some rows");
}

/// Rounded caches change the gradient of a layer by about their rounding, in every network and order.
#[test]
fn rounded_caches_give_nearly_the_same_gradients() {
    for (name, exact) in variants() {
        let data = dataset(true, false);
        for order in [Order::Inverted, Order::InvertedPrinted, Order::Backprop] {
            let mut c = exact.clone();
            c.train.order = order;
            let gradients = |c: &Config| {
                with_engine(c, &data, |e| {
                    e.refresh_everything();
                    (1..e.plan.tail).flat_map(|k| e.lazy_gradient(k)).collect::<Vec<Mat>>()
                })
            };
            let full = gradients(&c);
            c.network.cache = Auto::Set(Storage::Bf16);
            let half = gradients(&c);
            let size = |m: &mut dyn Iterator<Item = f64>| m.map(|v| v * v).sum::<f64>().sqrt();
            let values =
                |m: &[Mat]| -> Vec<f64> { m.iter().flat_map(Mat::data).map(|v| f64::from(*v)).collect() };
            let (full, half) = (values(&full), values(&half));
            let off = size(&mut full.iter().zip(&half).map(|(a, b)| a - b)) / size(&mut full.iter().copied());
            assert!(off < 0.02, "{name}, {order:?}: off by {off}");
            assert!(off > 0.0 || name == "pna", "{name}, {order:?}: nothing was rounded");
        }
    }
}

/// The exact gradient itself against finite differences of the training loss (f64 twin).
#[test]
#[cfg_attr(not(feature = "f64"), ignore = "runs in iglu-f64")]
fn back_propagation_equals_finite_differences_of_the_loss() {
    for (name, config) in variants() {
        let data = dataset(true, false);
        with_engine(&config, &data, |e| {
            let (_, grads) = e.exact_gradient(Dropping::Off);
            for k in 1..=e.network.depth() {
                for p in 0..e.network.at(k).params.len() {
                    let last = e.network.at(k).params[p].data().len() - 1;
                    for i in [0, last / 2, last] {
                        let mut value = |change: f64| {
                            let old = e.network.at(k).params[p].data()[i];
                            e.network.at_mut(k).params[p].data_mut()[i] = (f64::from(old) + change) as Real;
                            let (loss, _) = e.exact_gradient(Dropping::Off);
                            e.network.at_mut(k).params[p].data_mut()[i] = old;
                            loss
                        };
                        let expect = (value(1e-7) - value(-1e-7)) / 2e-7;
                        let found = f64::from(grads[k][p].data()[i]);
                        assert!(
                            (found - expect).abs() < 3e-7 * (1.0 + expect.abs()),
                            "{name}, layer {k}, parameter {p}, entry {i}: {found}, {expect}"
                        );
                    }
                }
            }
        });
    }
}

/// The sum of batch gradients is the gradient of the whole pass.
#[test]
fn batch_gradients_add_up_to_the_whole() {
    let data = dataset(false, false);
    let mut c = config(Order::Inverted);
    c.network.norm = NormKind::Layer;
    with_engine(&c, &data, |e| {
        e.refresh_everything();
        for k in 1..e.plan.tail {
            let whole = e.lazy_gradient(k);
            let all = e.reach[k].clone();
            let mut sum: Vec<Mat> = whole.iter().map(|m| Mat::zeros(m.rows(), m.cols())).collect();
            for batch in all.chunks(7) {
                e.reach[k] = batch.to_vec();
                for (s, g) in sum.iter_mut().zip(e.lazy_gradient(k)) {
                    s.data_mut().iter_mut().zip(g.data()).for_each(|(s, g)| *s += g);
                }
            }
            e.reach[k] = all;
            assert_same(&sum, &whole, &format!("layer {k}"));
        }
    });
}

/// Theorem 2: ten times the step gives ten times the bias, in the linear range (plain steps on the whole graph).
#[test]
fn bias_grows_linearly_with_the_step() {
    let bias = |lr: f64| {
        let data = dataset(false, false);
        let mut c = config(Order::InvertedPrinted);
        c.optim.lr = lr;
        c.optim.method = Method::Sgd;
        c.optim.schedule = ScheduleKind::Constant;
        c.train.batch = Batch::Full;
        with_engine(&c, &data, |e| {
            e.begin().unwrap();
            e.epoch(0, 10).unwrap();
            e.epoch(1, 10).unwrap();
            let layers = &e.telemetry()[1].layers;
            layers.iter().map(|l| (l.k, l.bias.unwrap(), l.cosine.unwrap())).collect::<Vec<_>>()
        })
    };
    // f32 rounding hides the bias of very small steps; both pairs lie in the linear range.
    let (small, large) = if size_of::<Real>() == 8 { (1e-5, 1e-4) } else { (2e-4, 2e-3) };
    for ((k, b, cosine), (_, tenfold, _)) in bias(small).into_iter().zip(bias(large)) {
        assert!((9.0..11.0).contains(&(tenfold / b)), "layer {k}: {b} and {tenfold}");
        assert!(cosine > 0.99, "layer {k}: {cosine}");
    }
}

/// The gradient scale of a batch: unbiased, or as the released scripts have it.
#[test]
fn one_full_batch_step_is_the_same_under_both_scales_for_lazy_layers() {
    let after = |scale: GradientScale| {
        let data = dataset(false, false);
        let mut c = config(Order::Inverted);
        c.train.gradient = scale;
        c.train.batch = Batch::Full;
        c.optim.method = Method::Sgd;
        with_engine(&c, &data, |e| {
            e.refresh_everything();
            let moment = Moment { epoch: 0, epochs: 10, part: 0, parts: 1 };
            e.train(1, moment).unwrap();
            e.network.at(1).params.clone()
        })
    };
    assert_same(&after(GradientScale::Unbiased), &after(GradientScale::Released), "layer 1");
}

/// A visit of the tail ends at the mean of what its last steps left, each of which an interrupted visit shows.
#[test]
fn the_tail_leaves_the_mean_of_its_last_steps() {
    let data = dataset(false, false);
    let mut c = config(Order::Inverted);
    // Two passes over 30 rows.
    (c.train.batch, c.train.tail_passes) = (Batch::Size(10), Auto::Set(2));
    let after = |average: f64, interrupt: Interrupt| {
        let mut c = c.clone();
        c.train.average = Auto::Set(average);
        with_engine(&c, &data, |e| {
            e.refresh_everything();
            e.set_interrupt(&interrupt);
            let _ = e.train_tail(e.tail_from(), Moment { epoch: 0, epochs: 10, part: 0, parts: 1 });
            e.network.params_from(e.tail_from()).into_iter().cloned().collect::<Vec<Mat>>()
        })
    };
    let sixth = after(0.0, Interrupt::new());
    let each = [after(0.0, Interrupt::after(4)), after(0.0, Interrupt::after(5)), sixth.clone()];
    let mut mean = each[0].clone();
    for (i, m) in mean.iter_mut().enumerate() {
        let numbers = |step: &[Mat], at: usize| step[i].data()[at];
        for (at, value) in m.data_mut().iter_mut().enumerate() {
            *value = each.iter().map(|step| numbers(step, at)).sum::<Real>() / 3.0;
        }
    }
    assert_same(&after(0.5, Interrupt::new()), &mean, "the last three of six");
    assert_same(&after(0.2, Interrupt::new()), &sixth, "the last one");
    let distance =
        mean[0].data().iter().zip(sixth[0].data()).map(|(a, b)| f64::from((a - b).abs())).sum::<f64>();
    assert!(distance > 1e-3, "the mean is the last step's");
}

/// The mean of a few steps lags behind.
#[test]
fn few_batches_are_not_averaged() {
    let mut c = config(Order::Inverted);
    c.train.proximal = Proximal::Controlled;
    assert_eq!([255, 256, 40_000].map(|rows| average(&c, rows)), [0.5; 3]);
    assert_eq!([0, 1, 224].map(|rows| average(&c, rows)), [0.0; 3]);
    c.train.tail_batch = Batch::Size(10_000);
    assert_eq!([70_000, 70_001].map(|rows| average(&c, rows)), [0.0, 0.5]);
    c.train.proximal = Proximal::Off;
    assert_eq!(average(&c, 70_001), 0.0);
    c.train.average = Auto::Set(0.2);
    assert_eq!(average(&c, 10), 0.2);
}

/// Parts of an epoch at frequency 2 see every row once, with a refresh before each.
#[test]
fn frequency_two_refreshes_twice_per_epoch() {
    let data = dataset(false, false);
    let mut c = config(Order::Inverted);
    c.train.frequency = 2.0;
    c.train.batch = Batch::Size(4);
    with_engine(&c, &data, |e| {
        e.begin().unwrap();
        e.epoch(0, 4).unwrap();
        assert_eq!(e.telemetry().len(), 2);
        let steps = e.reach[1].len().div_ceil(4) as u64;
        assert_eq!(e.optimisers[1].clock(), steps);
        assert_eq!(e.caches.alpha_age[1], steps - steps / 2);
    });
    c.train.frequency = 0.5;
    with_engine(&c, &data, |e| {
        e.begin().unwrap();
        (0..4).for_each(|i| assert!(e.epoch(i, 4).is_ok()));
        assert_eq!(e.telemetry().len(), 2);
    });
}

/// No sparse product inside a mini-batch: passes leave every Z alone.
#[test]
fn passes_never_aggregate() {
    let data = dataset(false, false);
    with_engine(&config(Order::Inverted), &data, |e| {
        e.refresh_everything();
        (2..=3).for_each(|k| e.caches.ensure_z(k, &e.network, &e.side, &e.scratch));
        let before = e.caches.z.clone();
        let moment = Moment { epoch: 0, epochs: 10, part: 0, parts: 1 };
        e.train(1, moment).unwrap();
        e.train(2, moment).unwrap();
        assert_eq!(before, e.caches.z);
        e.refresh_x(1);
        e.train(2, moment).unwrap();
        assert_ne!(before[2], e.caches.z[2], "a refreshed X^1 is aggregated anew, once");
        assert_eq!(before[3], e.caches.z[3]);
    });
}

/// Without any gradient, a layer under dropout stays where it is if its centre has the same mask, and is moved by the
/// proximal term if its centre is the undropped row.
#[test]
fn the_centre_of_a_matched_dropout_has_the_same_mask() {
    let moved = |kind: LazyDropout| {
        let data = dataset(false, false);
        let mut c = config(Order::Inverted);
        c.network.dropout = 0.5;
        c.train.proximal = Proximal::Fixed;
        c.train.lazy_dropout = Auto::Set(kind);
        c.optim.method = Method::Sgd;
        with_engine(&c, &data, |e| {
            e.refresh_everything();
            e.caches.alpha[1].clear();
            let before = e.network.at(1).params.clone();
            e.train(1, Moment { epoch: 0, epochs: 10, part: 0, parts: 1 }).unwrap();
            let pairs =
                before.iter().zip(&e.network.at(1).params).flat_map(|(a, b)| a.data().iter().zip(b.data()));
            pairs.map(|(a, b)| f64::from(a - b).abs()).fold(0.0, f64::max)
        })
    };
    assert_eq!(moved(LazyDropout::Off), 0.0);
    assert!(moved(LazyDropout::Matched) < 1e-6, "{}", moved(LazyDropout::Matched));
    assert!(moved(LazyDropout::Free) > 1e-4, "{}", moved(LazyDropout::Free));
}

impl Engine<'_> {
    /// Makes all caches fresh: embeddings upwards, then gradients downwards.
    fn refresh_everything(&mut self) {
        let moment = Moment { epoch: 0, epochs: 1, part: 0, parts: 1 };
        let depth = self.network.depth();
        (1..=depth).for_each(|k| self.refresh_x(k));
        let top = depth.min(self.plan.uncached - 1);
        (1..=top).rev().for_each(|k| self.refresh_alpha(k, moment).unwrap());
    }

    /// Gradient of the tail's parameters on the loss over all training rows.
    fn tail_gradient(&mut self) -> Vec<Mat> {
        use crate::program::{Call, Lanes, Norms};
        let from = self.plan.tail;
        self.caches.ensure_z(from, &self.network, &self.side, &self.scratch);
        let program = self.tail.as_ref().unwrap();
        let job = self.caches.job(program, &self.side);
        let params = self.network.params_from(from);
        let call = Call { params: &params, norms: Norms::Batch, dropping: Dropping::Off };
        let (rows, task) = self.loss_rows(program);
        let mut lanes = Lanes::default();
        job.gradient(&call, rows, &task, &mut lanes);
        lanes.gradient().to_vec()
    }
}

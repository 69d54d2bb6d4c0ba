//! What is left to the data, and tried before the first epoch.

use super::*;

/// A run that had to find its settings ends like one that was given them, also where the second epoch of the first candidate
/// was worse than its first, and where another was better. Of a start that hears hops at its end candidates share the rest.
#[test]
fn what_is_tried_leaves_no_trace() {
    let data = ring();
    let (mut first_best, mut others) = (0, 0);
    for seed in 0..16 {
        let mut config = small();
        (config.seed, config.train.epochs) = (seed, Auto::Set(3));
        if seed % 2 == 1 {
            config.train.start = Auto::Set(Start::Both);
        }
        let mut witness = Witness::default();
        let tried = Fit::new(&config, &data).run(&mut witness).unwrap();
        let decided = tried.model.config();
        let second = |e: &&Event| matches!(e, Event::Tried { scores, .. } if scores.epoch == 2);
        let twice = witness.events.iter().filter(second).count();
        assert!(twice < 2);
        let Some(Event::Tried { config: first, .. }) =
            witness.events.iter().find(|e| matches!(e, Event::Tried { .. }))
        else {
            panic!("nothing was tried")
        };
        let stayed = **first == *decided;
        config.network.operator = decided.network.operator;
        config.train.lazy_dropout = decided.train.lazy_dropout;
        let mut silent = Witness::default();
        let given = Fit::new(&config, &data).run(&mut silent).unwrap();
        assert!(timeless(&tried) == timeless(&given), "seed {seed}");
        let told = |witness: &Witness| {
            let kept = witness.events.iter().filter(|e| matches!(e, Event::Refreshed(_))).cloned();
            kept.collect::<Vec<_>>()
        };
        assert_eq!(told(&witness).len(), told(&silent).len(), "seed {seed}");
        assert_eq!(witness.checkpoints.len() + if stayed { twice } else { 0 }, silent.checkpoints.len());
        first_best += usize::from(stayed && twice == 1 && tried.report.best_epoch == 1);
        others += usize::from(!stayed);
    }
    assert!(first_best > 0 && others > 0, "{first_best} {others}");
}

/// A network that has given its caches back while others were tried goes on as if it had kept them.
#[test]
fn trials_one_by_one_give_the_same_result_in_less_memory() {
    let data = ring();
    let bytes = |config: &Config, trials: Trials| {
        let items = memory_of(config, &Outline::of(&data), trials).unwrap();
        items.iter().filter(|item| item.what == "embeddings").map(|item| item.bytes).sum::<u64>()
    };
    let start = |c: &mut Config| c.train.start = Auto::Set(Start::Tried);
    let cases: [Case; 8] = [
        ("inverted", |_| ()),
        ("rounded caches", |c| c.network.cache = Auto::Set(Storage::Bf16)),
        ("five starts", start),
        ("printed", |c| c.train.order = Order::InvertedPrinted),
        ("back-propagation", |c| c.train.order = Order::Backprop),
        ("inductive", |c| c.train.setting = Setting::Inductive),
        ("batch norm", |c| c.network.norm = NormKind::Batch),
        ("one epoch", |c| (c.train.epochs, c.train.polish) = (Auto::Set(1), 2)),
    ];
    let mut rested = 0;
    for (what, change) in cases {
        for seed in 0..3 {
            let mut config = small();
            change(&mut config);
            config.seed = seed;
            let run = |trials: Trials| {
                Fit::new(&config, &data).trials(trials).run(&mut Witness::default()).unwrap()
            };
            let (one, both) = (run(Trials::OneByOne), run(Trials::SideBySide));
            assert!(timeless(&one) == timeless(&both), "{what}, seed {seed}: another result");
            // The mean is tried first: where it is best, it rested while the other was tried.
            rested += usize::from(one.model.config().network.operator == Auto::Set(Norm::Mean));
            assert_eq!(2 * bytes(&config, Trials::OneByOne), bytes(&config, Trials::SideBySide), "{what}");
        }
    }
    assert!(rested > 3, "{rested}");
    let mut seldom = small();
    seldom.train.frequency = 0.5;
    assert_eq!(bytes(&seldom, Trials::OneByOne), bytes(&seldom, Trials::SideBySide), "stale caches stay");
}

/// Trials cost an epoch, and another operator makes the first layer's inputs anew.
#[test]
fn nothing_is_tried_where_an_epoch_is_dear() {
    let config = super::super::resolve(&small(), &ring());
    let check = |change: &dyn Fn(&mut Outline), expect: bool| {
        let mut data = Outline::of(&ring());
        change(&mut data);
        assert_eq!(super::super::start::tries(&config, &data), expect, "{data:?}");
    };
    check(&|_| (), true);
    check(&|d| d.val = 0, false);
    check(&|d| d.nodes = 8 << 20, false);
    let hops = 1 + config.network.hops.or(1);
    check(&|d| (d.nodes, d.shape.features) = (1 << 16, (4 << 10) / hops), true);
    check(&|d| (d.nodes, d.shape.features) = (1 << 16, (4 << 10) / hops + 1), false);
    check(&|d| (d.nodes, d.shape.features, d.sparse) = (1 << 16, 5 << 10, true), true);
}

/// Both operators are tried; the symmetric one comes first where nodes have many neighbours.
#[test]
fn the_likely_operator_is_tried_first() {
    let tried = |neighbours: u32, change: fn(&mut Dataset)| {
        let mut data = ring();
        let edges: Vec<[u32; 2]> =
            (0..NODES).flat_map(|i| (1..=neighbours / 2).map(move |step| [i, (i + step) % NODES])).collect();
        data.graph = Graph::from_edges(NODES as usize, &edges, EdgeOptions::default()).unwrap();
        change(&mut data);
        let mut witness = Witness::default();
        let trained = Fit::new(&small(), &data).run(&mut witness).unwrap();
        let mut operators = Vec::new();
        for event in &witness.events {
            if let Event::Tried { config, .. } = event
                && !operators.contains(&config.network.operator)
            {
                operators.push(config.network.operator);
            }
        }
        (operators, trained.model.config().network.operator)
    };
    let [mean, sym] = [Norm::Mean, Norm::Sym].map(Auto::Set);
    assert_eq!(tried(30, |_| ()).0, [mean, sym]);
    assert_eq!(tried(32, |_| ()).0, [sym, mean]);
    assert_eq!(tried(32, |d| d.split.val.clear()), (vec![], mean), "nobody could tell");
}

/// The started network has a score before alternatives are tried; who stops there keeps it, and nothing to go on from.
#[test]
fn the_start_is_scored_and_kept_when_the_trials_are_stopped() {
    let data = ring();
    let config = small();
    let whole = Fit::new(&config, &data).run(&mut Witness::default()).unwrap();
    for trials in [Trials::SideBySide, Trials::OneByOne] {
        let interrupt = Interrupt::new();
        let mut witness = Witness { stop: Some((0, interrupt.clone())), ..Witness::default() };
        let stopped =
            Fit::new(&config, &data).trials(trials).interrupt(&interrupt).run(&mut witness).unwrap();
        let report = &stopped.report;
        assert!(report.interrupted && report.history.is_empty() && witness.checkpoints.is_empty());
        assert_eq!((report.best_epoch, report.epochs, report.val), (0, 0, report.start.unwrap().val));
        assert_eq!(report.start.unwrap().val, whole.report.start.unwrap().val);
        let logits = stopped.model.predict(&data).unwrap();
        assert_eq!(Metric::Accuracy.score(&logits, &data.labels, &data.split.val), report.val);
    }
}

/// Whichever trial is cut off, what is kept is the best network that was tried, or the started one, with the configuration it
/// was made with: it predicts what was scored.
#[test]
fn a_start_cut_off_at_any_moment_keeps_a_network_with_its_own_configuration() {
    let data = ring();
    let mut config = small();
    config.train.start = Auto::Set(Start::Tried);
    let start = |config: &Config| {
        let first = Interrupt::new();
        let mut witness = Witness { stop: Some((0, first.clone())), ..Witness::default() };
        Fit::new(config, &data).interrupt(&first).run(&mut witness).unwrap().model
    };
    // A seed with which something that is tried is taken.
    let changed = (0..20).find(|&seed| {
        config.seed = seed;
        let whole = Fit::new(&config, &data).run(&mut Witness::default()).unwrap();
        whole.model.config() != start(&config).config()
    });
    assert!(changed.is_some());
    let (expect, mut kept, mut best) = (start(&config), [0, 0], None);
    for checks in (1..400).step_by(7) {
        let (cut, mut witness) = (Interrupt::after(checks), Witness::default());
        let Ok(stopped) = Fit::new(&config, &data).interrupt(&cut).run(&mut witness) else { continue };
        if witness.events.iter().any(|e| matches!(e, Event::Decided { .. })) {
            break;
        }
        let (model, report) = (&stopped.model, &stopped.report);
        if report.best_epoch == 0 {
            assert!(model.config() == expect.config(), "after {checks} checks");
            assert!(model.tensors() == expect.tensors(), "after {checks} checks");
        } else {
            assert!(report.val >= best, "after {checks} checks: {:?} after {best:?}", report.val);
            best = report.val;
        }
        let logits = stopped.logits(&data, &Interrupt::new()).unwrap();
        let score = Metric::Accuracy.score(&logits, &data.labels, &data.split.val);
        assert_eq!((report.val, report.epochs), (score, report.best_epoch), "after {checks} checks");
        kept[report.best_epoch.min(1)] += 1;
    }
    assert!(kept.iter().all(|&n| n > 1) && kept.iter().sum::<usize>() > 5, "{kept:?}");
}

/// A start that has learned noise is followed by dropout first, and what is taken is what was better.
#[test]
fn what_a_start_has_learned_by_heart_decides_what_comes_first() {
    const NODES: u32 = 6000;
    let key = Key::new(21);
    let data = |noise: f64| {
        let edges: Vec<[u32; 2]> = (0..NODES).map(|i| [i, (i + 1) % NODES]).collect();
        let graph = Graph::from_edges(NODES as usize, &edges, EdgeOptions::default()).unwrap();
        let x = Mat::from_vec(
            NODES as usize,
            64,
            (0..u64::from(NODES) * 64).map(|i| key.unit(i) as Real - 0.5).collect(),
        );
        let label = |i: u32| {
            let random = key.with("label").unit(u64::from(i));
            let told = i32::from(x.row(i as usize)[0] > 0.0);
            if random < noise { i32::from(random < 0.5 * noise) } else { told }
        };
        let labels = Labels::Classes { ids: (0..NODES).map(label).collect(), classes: 2 };
        let split =
            Split { train: (0..4200).collect(), val: (4200..5200).collect(), test: (5200..NODES).collect() };
        Dataset::new("noise", graph, Features::Dense(x), labels, split)
    };
    let mut config = Config::default();
    config.network.hidden = Auto::Set(64);
    (config.train.epochs, config.train.batch) = (Auto::Set(2), Batch::Size(64));
    config.network.operator = Auto::Set(Norm::Mean);
    for (noise, expect) in [(0.0, None), (0.9, Some(LazyDropout::Free))] {
        let mut witness = Witness::default();
        let trained = Fit::new(&config, &data(noise)).run(&mut witness).unwrap();
        let first = |e: &Event| match e {
            Event::Tried { config, scores, .. } if scores.epoch == 1 => {
                Some((config.train.lazy_dropout.or(LazyDropout::Matched), scores.val.unwrap()))
            }
            _ => None,
        };
        let tried: Vec<(LazyDropout, f64)> = witness.events.iter().filter_map(first).collect();
        let kinds: Vec<LazyDropout> = tried.iter().map(|(kind, _)| *kind).collect();
        let decided = trained.model.config().train.lazy_dropout;
        match expect {
            None => assert_eq!((&kinds[..], decided), (&[LazyDropout::Off][..], Auto::Set(LazyDropout::Off))),
            Some(kind) => {
                assert_eq!(kinds, [kind, LazyDropout::Off]);
                let better = tried[1].1 <= tried[0].1 - 0.005;
                assert_eq!(decided, Auto::Set(if better { kind } else { LazyDropout::Off }), "{tried:?}");
            }
        }
    }
}

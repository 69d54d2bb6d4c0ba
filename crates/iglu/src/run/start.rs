//! The start of a run: the started network is scored, then whatever is left to the data is tried for one epoch, and
//! validation decides. What is tried first is the likely choice: where its first epoch has gained much it has its second
//! before anything else is tried. Where it stays nothing is lost, and a good score comes earlier.

use super::{EPOCHS, Outline, Run, Whose};
use crate::config::{Auto, Config, HIDDEN, Head, LazyDropout, Order, Proximal, Start, TrainConfig};
use crate::lazy::plan::Plan;
use crate::lazy::{Engine, EngineState, Judge, StartReport, TailState, Verdict, start_dropout, start_tail};
use crate::network::Network;
use crate::observe::{Control, Event, HistoryPoint, Observer, Seconds, Stopwatch};
use crate::side::{Side, Sides};
use crate::{Error, Mat, Norm, Result};
use std::sync::Arc;

/// Below this number of training rows lazy dropout is expected to help, above it is not; nobody judges a start, and deep networks
/// are read at their last layer only.
pub(super) const FEW_ROWS: usize = 4096;

/// By how much the kind of lazy dropout that was not expected must be better after one epoch; and the first epoch than the
/// start, for the second to come before trials.
const CLEARLY: f64 = 0.005;

/// How much better than the validation nodes the training nodes must be scored, after the start or one epoch, for lazy dropout
/// to be worth a trial where it is not expected to help; so it is where the start was ended early. If it is so after the start
/// already, it comes first.
const OVERFITTED: f64 = 0.045;

/// Neighbours on average from which on the symmetric operator is likely to be the better one of `sage`.
const MANY_NEIGHBOURS: usize = 32;

/// A network that has been started; where there was a choice, one epoch further, or two.
pub(super) struct Candidate<'r> {
    pub(super) config: Config,
    pub(super) sides: Sides,
    pub(super) engine: Engine<'r>,
    /// Epochs that have been run.
    pub(super) laps: Vec<Lap>,
}

/// What an epoch of a candidate has reached.
#[derive(Debug, Clone)]
pub(super) struct Lap {
    pub(super) point: HistoryPoint,
    /// Score on the training nodes, of the first epoch.
    train: Option<f64>,
    /// Refreshes up to its end.
    pub(super) refreshes: usize,
    /// The network at its end, where another epoch has followed.
    pub(super) network: Option<Arc<Network>>,
}

/// How the start of a run has ended.
pub(super) enum Opened<'r> {
    /// Epochs can follow.
    Ready(Box<Candidate<'r>>),
    /// Somebody wanted no more of it.
    Ended(Box<Ended>),
}

/// What is left of a start that was ended.
pub(super) struct Ended {
    /// Scores before the first epoch.
    pub(super) start: Option<HistoryPoint>,
    pub(super) best: Scored,
    pub(super) by: Ending,
}

/// Who ended a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Observer,
    Interrupt,
}

/// A network that was scored: after its start, or after the epoch it was tried for.
pub(super) struct Scored {
    pub(super) point: HistoryPoint,
    /// Score on the training nodes, where somebody wanted to know.
    train: Option<f64>,
    /// Its own, whatever is decided later.
    pub(super) config: Config,
    pub(super) network: Arc<Network>,
}

/// What a start tells and leaves, beside the network.
pub(super) struct Opening<'o> {
    pub(super) observer: &'o mut dyn Observer,
    pub(super) seconds: Seconds,
    /// The network after its start, before the first epoch.
    pub(super) zero: Option<Scored>,
    /// The best of those that were tried.
    pub(super) tried: Option<Scored>,
}

impl Opening<'_> {
    /// Keeps a network that was tried if it is the best so far.
    fn keep(&mut self, candidate: &Candidate<'_>, point: HistoryPoint) {
        let better = self.tried.as_ref().is_none_or(|best| point.val > best.point.val);
        if better {
            let (config, network) = (candidate.config.clone(), Arc::new(candidate.engine.network().clone()));
            self.tried = Some(Scored { point, train: None, config, network });
        }
    }

    /// What is left for whoever wants no more of it.
    fn ended(&mut self, by: Ending) -> Option<Ended> {
        let start = self.zero.as_ref().map(|zero| zero.point);
        let best = self.tried.take().or(self.zero.take())?;
        Some(Ended { start, best, by })
    }
}

/// A candidate without its caches.
struct Resting {
    config: Config,
    state: EngineState,
    laps: Vec<Lap>,
}

/// How alternatives are tried out. The result is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trials {
    /// The best so far and the next one side by side.
    SideBySide,
    /// The best so far gives its caches back meanwhile: half the memory, for the time of making them again if it stays
    /// the best.
    #[default]
    OneByOne,
}

/// The best candidate so far.
enum Best<'r> {
    Awake(Box<Candidate<'r>>),
    Resting(Box<Resting>),
}

impl<'r> Best<'r> {
    fn config(&self) -> &Config {
        match self {
            Self::Awake(c) => &c.config,
            Self::Resting(r) => &r.config,
        }
    }

    fn first(&self) -> Option<&Lap> {
        match self {
            Self::Awake(c) => c.laps.first(),
            Self::Resting(r) => r.laps.first(),
        }
    }

    fn score(&self) -> f64 {
        self.first().and_then(|first| first.point.val).unwrap_or(f64::NEG_INFINITY)
    }

    fn overfitted(&self) -> bool {
        self.first().is_some_and(|first| overfits(first.train, &first.point))
    }

    /// Gives back everything that can be made again.
    fn rest(self) -> Self {
        match self {
            Self::Awake(candidate) => {
                let Candidate { config, engine, laps, .. } = *candidate;
                Self::Resting(Box::new(Resting { config, state: engine.state(), laps }))
            }
            resting @ Self::Resting(_) => resting,
        }
    }

    /// Makes again what was given back.
    fn wake(self, run: &'r Run<'_>, seconds: &mut Seconds) -> Result<Candidate<'r>> {
        let Resting { config, state, laps } = match self {
            Self::Awake(candidate) => return Ok(*candidate),
            Self::Resting(resting) => *resting,
        };
        let mut clock = Stopwatch::new();
        let (sides, mut engine) = run.engine(&config)?;
        seconds.prepare += clock.lap();
        engine.restore(state, config.train.epochs.or(EPOCHS) <= laps.len())?;
        seconds.start += clock.lap();
        Ok(Candidate { config, sides, engine, laps })
    }
}

/// Whether the training nodes are scored clearly better than the validation nodes.
fn overfits(train: Option<f64>, point: &HistoryPoint) -> bool {
    train.zip(point.val).is_some_and(|(train, val)| train - val >= OVERFITTED)
}

/// A setting to try, when, and by how much it has to be better to be taken.
struct Change {
    apply: Box<dyn Fn(&mut Config)>,
    when: When,
    margin: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    Overfitted,
}

impl Change {
    fn new(margin: f64, apply: impl Fn(&mut Config) + 'static) -> Self {
        Self { apply: Box::new(apply), when: When::Always, margin }
    }

    /// The candidate has this kind of lazy dropout from now on, and the one it had is tried: the same is taken in the end.
    fn comes_first(&mut self, candidate: &mut Candidate<'_>) {
        let before = candidate.config.train.lazy_dropout.or(LazyDropout::Off);
        (self.apply)(&mut candidate.config);
        candidate.engine.set_lazy_dropout(candidate.config.train.lazy_dropout);
        *self = Self::lazy_dropout(-self.margin, before);
    }

    /// The other kind of lazy dropout, to be better by a margin.
    fn lazy_dropout(margin: f64, kind: LazyDropout) -> Self {
        Self::new(margin, move |c| c.train.lazy_dropout = Auto::Set(kind))
    }
}

/// How a network is started: kind, epochs and dropout.
type StartKey = (Auto<Start>, usize, Auto<f64>);

fn start_key(t: &TrainConfig) -> StartKey {
    (t.start, t.start_epochs, t.start_dropout)
}

/// Writes down what a start has decided; without one what would have been.
fn decide_start(t: &mut TrainConfig, started: Option<Start>) {
    t.start = started.map_or(t.start, Auto::Set);
    let kind = started.unwrap_or(Start::Mlp);
    t.start_dropout = Auto::Set(start_dropout(t, kind));
    t.start_tail = Auto::Set(start_tail(t, kind));
}

/// A network after a start that saw no graph, or settled on a graph.
struct StartState {
    start: StartKey,
    settled: Option<(Auto<Norm>, TailState)>,
    network: Network,
    report: Option<StartReport>,
}

/// What candidates can take over from earlier ones.
struct Started {
    rate_factor: f64,
    /// How the first start went.
    first: Option<StartReport>,
    states: Vec<StartState>,
    /// Whether anybody may come to take something over.
    awaited: bool,
}

impl Started {
    /// Keeps a state for those to come.
    fn push(&mut self, state: impl FnOnce() -> StartState) {
        if self.awaited {
            self.states.push(state());
        }
    }

    /// The furthest state that fits a configuration.
    fn find(&self, config: &Config) -> Option<&StartState> {
        let start = start_key(&config.train);
        let operator = |s: &StartState| s.settled.as_ref().map(|(operator, _)| *operator);
        let fitting = |wanted| self.states.iter().find(|s| s.start == start && operator(s) == wanted);
        fitting(Some(config.network.operator)).or_else(|| fitting(None))
    }

    /// Whether the first start was ended early, because the network learned its training nodes by heart.
    fn learned_by_heart(&self) -> bool {
        self.first.is_some_and(|report| report.by_heart)
    }
}

impl Run<'_> {
    /// Starts the network; where something is left to the data, whatever is best on the validation nodes after one
    /// epoch.
    pub(super) fn start(&self, rate_factor: f64, opening: &mut Opening<'_>) -> Result<Opened<'_>> {
        // An earlier start has diverged.
        opening.tried = None;
        let (base, mut changes) = questions(&self.config, &self.outline);
        let mut started =
            Started { rate_factor, first: None, states: Vec::new(), awaited: !changes.is_empty() };
        let mut base = self.candidate(base, &mut started, &mut opening.seconds)?;
        let unsure = changes.iter().position(|change| change.when == When::Overfitted);
        let whose = if unsure.is_some() { Whose::All } else { Whose::Scored };
        if self.open(&mut base, started.first, whose, opening)? == Control::Stop
            && let Some(ended) = opening.ended(Ending::Observer)
        {
            return Ok(Opened::Ended(Box::new(ended)));
        }
        if changes.is_empty() {
            return Ok(Opened::Ready(Box::new(base)));
        }
        let overfits = opening.zero.as_ref().is_some_and(|zero| overfits(zero.train, &zero.point));
        if let Some(i) = unsure.filter(|_| overfits || started.learned_by_heart()) {
            changes[i].comes_first(&mut base);
        }
        while base.laps.is_empty() || climbs(&base, opening) {
            if let Err(e) = self.try_epoch(&mut base, opening) {
                return keeping(opening, e);
            }
        }
        let mut best = Best::Awake(Box::new(base));
        let last = changes.len() - 1;
        for (i, change) in changes.into_iter().enumerate() {
            let overfits = || started.learned_by_heart() || best.overfitted();
            if change.when == When::Overfitted && !overfits() {
                continue;
            }
            let mut config = best.config().clone();
            (change.apply)(&mut config);
            started.awaited = i < last;
            if rests(&config, self.trials) {
                best = best.rest();
            }
            match self.tried(config, &mut started, opening) {
                Ok(other) if other.score() > best.score() + change.margin => best = other,
                // What diverges is not better.
                Ok(_) | Err(Error::Diverged { .. }) => {}
                Err(e) => return keeping(opening, e),
            }
        }
        let woken = best.wake(self, &mut opening.seconds).map(|candidate| Opened::Ready(Box::new(candidate)));
        woken.or_else(|e| keeping(opening, e))
    }

    /// Tells of the start, and of the score it has already.
    fn open(
        &self,
        base: &mut Candidate<'_>,
        report: Option<StartReport>,
        whose: Whose,
        opening: &mut Opening<'_>,
    ) -> Result<Control> {
        let Candidate { config, sides, engine, .. } = base;
        opening.observer.event(&Event::Prepared {
            params: engine.network().params(),
            config: Box::new(config.clone()),
            seconds: opening.seconds.prepare,
        });
        let Some(StartReport { loss, epochs, .. }) = report else { return Ok(Control::Continue) };
        let train_seconds = opening.seconds.start;
        opening.observer.event(&Event::Started { loss, epochs, seconds: train_seconds });
        if config.select.eval_every > 1 || !engine.starts_tail() {
            return Ok(Control::Continue);
        }
        let mut clock = Stopwatch::new();
        let (point, train) = self.read_logits(engine, sides, whose, |logits| {
            (self.point(logits, 0, train_seconds, loss), self.train_score(logits, whose))
        })?;
        opening.seconds.eval += clock.lap();
        let network = Arc::new(engine.network().clone());
        opening.zero = Some(Scored { point, train, config: config.clone(), network });
        let seconds = Seconds { train: train_seconds, total: self.watch.seconds(), ..opening.seconds };
        Ok(opening.observer.event(&Event::Epoch {
            epoch: 0,
            epochs: config.train.epochs.or(EPOCHS) + config.train.polish,
            loss,
            scores: Some(point),
            best: true,
            rate: config.optim.lr,
            seconds,
        }))
    }

    fn tried(&self, config: Config, started: &mut Started, opening: &mut Opening<'_>) -> Result<Best<'_>> {
        let mut candidate = self.candidate(config, started, &mut opening.seconds)?;
        self.try_epoch(&mut candidate, opening)?;
        Ok(Best::Awake(Box::new(candidate)))
    }

    /// One choice, started. What follows a start that saw no graph can share it.
    fn candidate(
        &self,
        mut config: Config,
        started: &mut Started,
        seconds: &mut Seconds,
    ) -> Result<Candidate<'_>> {
        let mut clock = Stopwatch::new();
        let (sides, mut engine) = self.engine(&config)?;
        engine.set_rate_factor(started.rate_factor);
        seconds.prepare += clock.lap();
        let (mut report, settled) = if let Some(known) = started.find(&config) {
            engine.network_mut().take_params(&known.network);
            if let Some((_, tail)) = &known.settled {
                engine.restore_tail(tail)?;
            }
            (known.report, known.settled.is_some())
        } else {
            let report = engine.warm_start(&mut *self.judge(&sides.full))?;
            decide_start(&mut config.train, report.map(|report| report.kind));
            if report.is_none_or(|report| report.kind != Start::Hops) {
                let start = start_key(&config.train);
                started.push(|| StartState {
                    start,
                    settled: None,
                    network: engine.network().clone(),
                    report,
                });
            }
            (report, false)
        };
        if !started.awaited {
            started.states.clear();
        }
        if let Some(so_far) = report.filter(|report| !settled && report.kind == Start::Both) {
            report = Some(engine.hear_hops(so_far, &mut *self.judge(&sides.full))?);
        }
        started.first = started.first.or(report);
        engine.settle(report.filter(|_| !settled).map(|report| report.kind))?;
        if !settled {
            let start = start_key(&config.train);
            started.push(|| StartState {
                start,
                settled: Some((config.network.operator, engine.tail_state())),
                network: engine.network().clone(),
                report,
            });
        }
        seconds.start += clock.lap();
        Ok(Candidate { config, sides, engine, laps: Vec::new() })
    }

    /// Scores networks that are being started on validation nodes, on no more than there are training nodes. Where those are
    /// few nobody judges: an epoch is a few steps then, and scores go up and down.
    fn judge<'j>(&'j self, side: &'j Side) -> Box<Judge<'j>> {
        let val = &self.data.split.val;
        if self.rows.len() < FEW_ROWS || val.is_empty() {
            return Box::new(|_, _| None);
        }
        let step = val.len().div_ceil(self.rows.len());
        let nodes: Vec<u32> = val.iter().copied().step_by(step).collect();
        let labels = self.data.labels.select(&nodes);
        let rows: Vec<u32> = (0..nodes.len() as u32).collect();
        // Twice the deviation of a share that so many nodes measure.
        let slack = CLEARLY.max(1.0 / (nodes.len() as f64).sqrt());
        Box::new(move |network, sight| {
            let logits = network.infer_without(sight, side, &nodes);
            self.metric.score(&logits, &labels, &rows).map(|score| Verdict { score, slack })
        })
    }

    /// Score on the training nodes, where their logits are there.
    fn train_score(&self, logits: &Mat, whose: Whose) -> Option<f64> {
        if whose == Whose::All { self.score_of(logits, &self.data.split.train) } else { None }
    }

    /// The next epoch of a candidate, scored and told.
    fn try_epoch(&self, candidate: &mut Candidate<'_>, opening: &mut Opening<'_>) -> Result<()> {
        let seconds = &mut opening.seconds;
        let mut clock = Stopwatch::new();
        let Candidate { config, sides, engine, laps } = candidate;
        let ran = laps.len();
        if let Some(last) = laps.last_mut() {
            last.network = Some(Arc::new(engine.network().clone()));
        }
        let loss = engine.epoch(ran, config.train.epochs.or(EPOCHS))?;
        seconds.start += clock.lap();
        // After the first epoch training nodes are scored as well, to see whether they are learnt by heart.
        let whose = if ran == 0 { Whose::All } else { Whose::Scored };
        let (point, train) = self.read_logits(engine, sides, whose, |logits| {
            (self.point(logits, ran + 1, seconds.start, loss), self.train_score(logits, whose))
        })?;
        laps.push(Lap { point, train, refreshes: engine.telemetry().len(), network: None });
        seconds.eval += clock.lap();
        let seconds = Seconds { train: seconds.start, total: self.watch.seconds(), ..*seconds };
        opening.keep(candidate, point);
        // Who wants to stop says so again at the first epoch.
        opening.observer.event(&Event::Tried {
            config: Box::new(candidate.config.clone()),
            scores: point,
            seconds,
        });
        Ok(())
    }
}

/// Whether a first epoch was clearly better than the start: then the second one is worth more than what else could be done.
fn climbs(candidate: &Candidate<'_>, opening: &Opening<'_>) -> bool {
    let [first] = &candidate.laps[..] else { return false };
    let scores = opening.zero.as_ref().and_then(|zero| zero.point.val).zip(first.point.val);
    candidate.config.train.epochs.or(EPOCHS) > 1 && scores.is_some_and(|(zero, val)| val > zero + CLEARLY)
}

/// What is left of an interrupted start that had a score.
fn keeping<'r>(opening: &mut Opening<'_>, e: Error) -> Result<Opened<'r>> {
    let Error::Interrupted { .. } = e else { return Err(e) };
    opening.ended(Ending::Interrupt).map(|ended| Opened::Ended(Box::new(ended))).ok_or(e)
}

/// Whether alternatives can be tried: validation has to tell, and an epoch must not be too dear.
fn can_try(config: &Config, data: &Outline) -> bool {
    const MOST_VALUES: usize = 128 << 20;
    // Of the first layer's dense inputs, which another operator makes anew.
    const MOST_INPUTS: usize = 256 << 20;
    let values = data.nodes * config.network.hidden.or(HIDDEN) * config.network.layers;
    let inputs = data.dense_inputs(config.network.hops.or(1));
    data.val > 0 && values <= MOST_VALUES && inputs <= MOST_INPUTS
}

/// The configuration to start from, and the changes to try one after the other, each on the best so far.
fn questions(config: &Config, data: &Outline) -> (Config, Vec<Change>) {
    let mut base = config.clone();
    let mut changes: Vec<Change> = Vec::new();
    let (t, n) = (&mut base.train, &mut base.network);
    if t.start == Auto::Set(Start::Tried) {
        t.start = Auto::Set(Start::Mlp);
        (t.start_epochs, t.start_dropout) = (10, Auto::Set(0.2));
        for (epochs, dropout) in [(0, 0.2), (3, 0.2), (3, 0.5), (10, 0.5)] {
            changes.push(Change::new(0.0, move |c| {
                (c.train.start_epochs, c.train.start_dropout) = (epochs, Auto::Set(dropout));
            }));
        }
    }
    let lazy = t.order == Order::Inverted && t.proximal != Proximal::Off && n.layers > 1;
    if t.lazy_dropout == Auto::Auto {
        let few = lazy && data.train < FEW_ROWS;
        let (likely, other) =
            if few { (LazyDropout::Free, LazyDropout::Off) } else { (LazyDropout::Off, LazyDropout::Free) };
        t.lazy_dropout = Auto::Set(likely);
        if lazy {
            // With several labels per node the scores of training nodes tell too little.
            let when = if few || data.shape.multi_label { When::Always } else { When::Overfitted };
            changes.push(Change { when, ..Change::lazy_dropout(CLEARLY, other) });
        }
    }
    let can_try = can_try(config, data);
    if n.operator == Auto::Auto && n.layer == "sage" {
        let many = can_try && data.entries >= MANY_NEIGHBOURS * data.nodes;
        let (likely, other) = if many { (Norm::Sym, Norm::Mean) } else { (Norm::Mean, Norm::Sym) };
        n.operator = Auto::Set(likely);
        changes.push(Change::new(0.0, move |c| c.network.operator = Auto::Set(other)));
    }
    if !can_try {
        changes.clear();
    }
    (base, changes)
}

/// Whether a run will try something out.
pub(super) fn tries(config: &Config, data: &Outline) -> bool {
    !questions(config, data).1.is_empty()
}

/// Whether the best candidate gives its caches back while another one is tried: where its next epoch, the second or the
/// third, would begin with stale ones they could not be made again.
pub(super) fn rests(config: &Config, trials: Trials) -> bool {
    let depth = config.network.layers + usize::from(config.network.head == Head::Linear);
    let plan = Plan::new(config.train.order, config.network.layers, depth);
    let can_pause = |next| plan.can_pause(config.train.frequency, next, config.train.epochs.or(EPOCHS));
    trials == Trials::OneByOne && can_pause(1) && can_pause(2)
}

//! The interpreter of plans: holds parameters, caches and optimisers, and carries out steps.

use super::batches::BatchSource;
use super::control::Control;
use super::plan::{Plan, Step, refreshes};
use super::start::start_tail;
use crate::caches::Caches;
use crate::chosen::Chosen;
use crate::config::{Auto, Config, LazyDropout, Order, ScheduleKind, Start};
use crate::loss::TaskLoss;
use crate::network::{Network, Sight};
use crate::observe::{LayerPoint, RefreshPoint, Stopwatch};
use crate::optim::{OptimOptions, Optimiser, Progress, Schedule};
use crate::program::{Call, Dropping, Lanes, Norms, Program};
use crate::rng::Key;
use crate::side::Side;
use crate::{Error, Interrupt, Mat, Operator, Result, Scratch};
use std::sync::Arc;

/// Where an epoch stands in the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) epoch: usize,
    pub(super) epochs: usize,
    pub(super) part: usize,
    pub(super) parts: usize,
}

/// Lazy training of one network on one side.
pub struct Engine<'a> {
    pub(super) config: Config,
    pub(super) plan: Plan,
    pub(super) side: Arc<Side>,
    pub(super) loss: TaskLoss<'a>,
    /// Training nodes.
    pub(super) rows: Vec<u32>,
    /// Whether a node is one of them.
    pub(super) members: Vec<bool>,
    /// Nodes with a non-zero row of `alpha^k`, for every k.
    pub(super) reach: Vec<Vec<u32>>,
    pub(super) network: Network,
    /// Copies of the layers' programs, so that parameters can change while a job holds a program.
    pub(super) programs: Vec<Program>,
    pub(super) tail: Option<Program>,
    pub(super) caches: Caches,
    pub(super) optimisers: Vec<Optimiser>,
    pub(super) schedule: Schedule,
    pub(super) batches: BatchSource,
    pub(super) lanes: Lanes,
    pub(super) scratch: Scratch,
    pub(super) key: Key,
    pub(super) pass_clock: Vec<u64>,
    pub(super) serial: usize,
    pub(super) control: Control,
    pub(super) telemetry: Vec<RefreshPoint>,
    pub(super) layer_points: Vec<LayerPoint>,
    pub(super) last_loss: f64,
    /// Stale rows of alpha that an earlier engine has left, from layer 0.
    pub(super) stale: Vec<Option<Mat>>,
    /// Factor of every learning rate.
    pub(super) rate_factor: f64,
    pub(super) interrupt: Interrupt,
    /// Seconds spent in refreshes and in passes.
    pub(super) seconds: [f64; 2],
    pub(super) timeline: Vec<StepTime>,
}

/// How long a step took.
#[derive(Debug, Clone, Copy)]
pub struct StepTime {
    /// The step.
    pub step: Step,
    /// All its seconds.
    pub seconds: f64,
    /// Of these: aggregates that it found stale.
    pub aggregation: f64,
}

impl<'a> Engine<'a> {
    /// Takes a network to train; `rows` are the training nodes of `side`.
    pub fn new(
        config: &Config,
        network: Network,
        side: Arc<Side>,
        loss: TaskLoss<'a>,
        rows: Vec<u32>,
    ) -> Self {
        let depth = network.depth();
        let plan = Plan::new(config.train.order, network.graph_layers(), depth);
        let chained = config.train.order == Order::Exact || plan.tail > depth;
        let tail = if config.train.order == Order::Exact {
            Some(network.chain(network.graph_layers(), Sight::Graph))
        } else {
            (!chained).then(|| network.chain(plan.tail, Sight::Graph))
        };
        let programs = std::iter::once(Program::empty())
            .chain(network.layers().iter().map(|l| l.program.clone()))
            .collect();
        let mut engine = Self {
            plan,
            reach: network.reach(&side, &rows),
            members: (0..side.nodes() as u32).map(|v| rows.binary_search(&v).is_ok()).collect(),
            caches: Caches::new(depth),
            optimisers: Vec::new(),
            schedule: schedule(config),
            batches: config.train.batches.into(),
            lanes: Lanes::default(),
            scratch: Scratch::default(),
            key: Key::new(config.seed),
            pass_clock: vec![0; depth + 2],
            serial: 0,
            control: Control::new(config),
            telemetry: Vec::new(),
            layer_points: Vec::new(),
            last_loss: f64::NAN,
            stale: vec![None; depth + 1],
            rate_factor: 1.0,
            interrupt: Interrupt::default(),
            seconds: [0.0; 2],
            timeline: Vec::new(),
            config: config.clone(),
            side,
            loss,
            rows,
            network,
            programs,
            tail,
        };
        engine.optimisers = engine.fresh_optimisers();
        engine.choose_rows();
        engine
    }

    /// Keeps aggregates of the training nodes only, where the loss is all that reads them and memory is saved.
    fn choose_rows(&mut self) {
        let Some(operators) = self.seen_by_loss() else { return };
        let (k, nodes) = (self.network.graph_layers(), self.side.nodes());
        let entries = operators.iter().map(|a| a.graph().columns().len()).sum();
        let row = operators.len() * self.network.width(k - 1) * self.network.at(k - 1).storage.bytes();
        if Chosen::saves(self.rows.len(), nodes, row, entries) > 0 {
            self.caches.choose(k, Chosen::new(operators, self.rows.clone()));
        }
    }

    /// The operators of the last graph layer, where the loss is all that reads what it aggregates.
    pub(super) fn seen_by_loss(&self) -> Option<Vec<Arc<Operator>>> {
        let k = self.network.graph_layers();
        let layer = self.network.at(k);
        let apart = self.tail.as_ref().is_some_and(|tail| tail.batch_norms() == 0);
        let parts = 0..layer.look.parts();
        (apart && k > 1 && self.plan.uncached == k && layer.look.is_product())
            .then(|| parts.map(|part| self.side.operator(layer, part).clone()).collect())
    }

    pub(super) fn fresh_optimisers(&self) -> Vec<Optimiser> {
        let options = optim_options(&self.config);
        let sizes = |k: usize| self.network.at(k).params.iter().map(|p| p.data().len()).collect::<Vec<_>>();
        let of = |k: usize| Optimiser::new(options.clone(), &if k == 0 { Vec::new() } else { sizes(k) });
        (0..=self.network.depth()).map(of).collect()
    }

    /// The first layer that is trained on the fresh loss in mini-batches.
    pub(super) fn tail_from(&self) -> usize {
        if self.config.train.order == Order::Exact { self.network.graph_layers() } else { self.plan.tail }
    }

    /// Replays batches of another program.
    pub fn set_batches(&mut self, batches: BatchSource) {
        self.batches = batches;
    }

    /// Stops with an error as soon as somebody asks for it.
    pub fn set_interrupt(&mut self, interrupt: &Interrupt) {
        self.interrupt = interrupt.clone();
    }

    /// Multiplies every learning rate from now on.
    pub fn set_rate_factor(&mut self, factor: f64) {
        self.rate_factor = factor;
    }

    /// Trains lazy layers with another kind of dropout from now on.
    pub fn set_lazy_dropout(&mut self, kind: Auto<LazyDropout>) {
        self.config.train.lazy_dropout = kind;
    }

    /// The network as it is now.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The network as it is now, writable.
    pub fn network_mut(&mut self) -> &mut Network {
        &mut self.network
    }

    /// The caches as they are now.
    pub fn caches(&self) -> &Caches {
        &self.caches
    }

    /// Gives the network back.
    pub fn into_network(self) -> Network {
        self.network
    }

    /// What every refresh showed so far.
    pub fn telemetry(&self) -> &[RefreshPoint] {
        &self.telemetry
    }

    /// Seconds spent in refreshes and in training passes.
    pub fn seconds(&self) -> [f64; 2] {
        self.seconds
    }

    /// The steps carried out since this was last asked.
    pub fn take_timeline(&mut self) -> Vec<StepTime> {
        std::mem::take(&mut self.timeline)
    }

    /// Warm start (where the configuration has one) and [`Engine::settle`]; returns the start's loss.
    pub fn begin(&mut self) -> Result<Option<f64>> {
        let mut started = self.warm_start(&mut |_, _| None)?;
        if let Some(report) = started.filter(|report| report.kind == Start::Both) {
            started = Some(self.hear_hops(report, &mut |_, _| None)?);
        }
        self.settle(started.map(|report| report.kind))?;
        Ok(started.map(|report| report.loss))
    }

    /// The initial steps of the plan; after a warm start of this kind also the first passes of the tail.
    pub fn settle(&mut self, started: Option<Start>) -> Result<()> {
        self.rebuild()?;
        if let Some(kind) = started.filter(|_| self.starts_tail()) {
            for k in 1..self.tail_from() {
                self.interrupt.check()?;
                self.refresh_x(k);
            }
            self.first_tail(start_tail(&self.config.train, kind))?;
            (self.tail_from()..=self.network.depth()).for_each(|k| self.refresh_norms(k, Dropping::Off));
        }
        Ok(())
    }

    /// Whether a warm start ends with passes of the tail, so that the network has seen the graph before the first epoch.
    pub fn starts_tail(&self) -> bool {
        self.config.train.start_tail != Auto::Set(0) && self.tail.is_some()
    }

    /// The initial steps of the plan: the embeddings that an epoch expects.
    pub(super) fn rebuild(&mut self) -> Result<()> {
        let moment = Moment { epoch: 0, epochs: 1, part: 0, parts: 1 };
        self.plan.initial.clone().into_iter().try_for_each(|step| self.step(step, moment))
    }

    /// Epoch `epoch` (from 0) of `epochs`; returns the training loss seen.
    pub fn epoch(&mut self, epoch: usize, epochs: usize) -> Result<f64> {
        let due = refreshes(self.config.train.frequency, epoch);
        let parts = due.max(1);
        for part in 0..parts {
            let moment = Moment { epoch, epochs, part, parts };
            if due > 0 {
                self.refresh_due(moment)?;
            }
            for step in self.plan.every.clone() {
                self.step(step, moment)?;
            }
        }
        self.check_network(epoch)?;
        Ok(self.last_loss)
    }

    fn refresh_due(&mut self, moment: Moment) -> Result<()> {
        self.layer_points.clear();
        for step in self.plan.due.clone() {
            self.step(step, moment)?;
        }
        if self.plan.due.is_empty() {
            return Ok(());
        }
        self.layer_points.sort_by_key(|p| p.k);
        self.telemetry.push(RefreshPoint {
            epoch: moment.epoch + 1,
            loss: self.control.loss_at_refresh.unwrap_or(self.last_loss),
            rho: self.control.rho.take(),
            lambda: self.control.lambda,
            layers: self.layer_points.clone(),
        });
        Ok(())
    }

    fn step(&mut self, step: Step, moment: Moment) -> Result<()> {
        self.interrupt.check()?;
        let (watch, aggregated) = (Stopwatch::new(), self.caches.seconds);
        let kind = match step {
            Step::RefreshX(k) => {
                self.refresh_x(k);
                self.release_alpha(k);
                0
            }
            Step::RefreshAlpha(k) => {
                self.refresh_alpha(k, moment)?;
                self.release_x(k);
                0
            }
            Step::Train(k) => {
                self.train(k, moment)?;
                1
            }
            Step::TrainTail(k) => {
                if self.config.train.order == Order::Exact {
                    self.exact_step(moment)?;
                } else {
                    self.judge_visits();
                    self.train_tail(k, moment)?;
                }
                1
            }
        };
        let (seconds, aggregation) = (watch.seconds(), self.caches.seconds - aggregated);
        self.seconds[kind] += seconds;
        self.timeline.push(StepTime { step, seconds, aggregation });
        Ok(())
    }

    /// The first layer that logits need, where everything below it is fresh.
    pub(super) fn fresh_below(&self) -> Option<usize> {
        let from = self.tail_from();
        let fresh = || from > 1 && self.caches.fresh(from - 1, &self.network);
        (self.tail.is_some() && fresh()).then_some(from)
    }

    /// Logits of these nodes of the training side, in order, from caches that are fresh, without touching them; `None`
    /// where too little is fresh to be worth it. Rows of other nodes are zeros. They lie in memory that the next step needs
    /// ([`Engine::give_back`]).
    pub fn logits(&mut self, nodes: &[u32]) -> Option<Mat> {
        let from = self.fresh_below()?;
        let tail = self.tail.as_ref()?;
        self.caches.ensure_z(from, &self.network, &self.side, &self.scratch);
        let job = self.caches.job(tail, &self.side);
        let (params, norms) = (self.network.params_from(from), self.network.norms_from(from));
        let call = Call { params: &params, norms: Norms::Stored(&norms), dropping: Dropping::Off };
        let mut out = self.scratch.lend(self.side.nodes(), tail.width());
        out.clear();
        job.forward_at(&call, nodes, &mut out);
        Some(out)
    }

    /// Logits that have been read.
    pub fn give_back(&self, logits: Mat) {
        self.scratch.give_back(logits);
    }

    /// Logits of the nodes that `reach` ([`Network::reach`]) ends with on any side, by inference; rows of other nodes are zeros.
    /// Memory is that of the training steps, and kept for the next time.
    pub fn infer_for(&self, side: &Side, reach: &[Vec<u32>]) -> Result<Mat> {
        self.network.infer_for(side, reach, &self.scratch, &self.interrupt)
    }

    /// Learning rate at share `within` of a visit.
    pub(super) fn rate(&self, moment: Moment, within: f64) -> f64 {
        let part = (moment.part as f64 + within) / moment.parts as f64;
        let fraction = (moment.epoch as f64 + part) / moment.epochs as f64;
        let rate = self.schedule.rate(self.config.optim.lr, Progress { epoch: moment.epoch, fraction });
        self.rate_factor * rate
    }

    /// An error where `value`, seen while layer `layer` was trained, is not finite; names the tensor to blame, if one
    /// can be found.
    pub(super) fn check_finite(&self, value: f64, moment: Moment, layer: usize, what: &str) -> Result<()> {
        if value.is_finite() {
            return Ok(());
        }
        let blamed = self.network.broken().map(|(k, tensor, _)| format!("layer {k}, tensor `{tensor}`"));
        let place = blamed.unwrap_or_else(|| format!("layer {layer}"));
        Err(diverged(moment.epoch, &place, &format!("{what} is {value}")))
    }

    /// An error where a parameter is not finite.
    pub(super) fn check_network(&self, epoch: usize) -> Result<()> {
        self.network.broken().map_or(Ok(()), |(k, tensor, value)| {
            Err(diverged(epoch, &format!("layer {k}, tensor `{tensor}`"), &format!("a parameter is {value}")))
        })
    }
}

fn diverged(epoch: usize, place: &str, found: &str) -> Error {
    let fix = "lower optim.lr, or set train.proximal to controlled";
    Error::diverged(format!("epoch {}, {place}", epoch + 1), found, fix)
}

pub(super) fn optim_options(config: &Config) -> OptimOptions {
    let o = &config.optim;
    OptimOptions {
        method: o.method,
        beta1: o.beta1,
        beta2: o.beta2,
        eps: o.eps,
        momentum: o.momentum,
        weight_decay: o.weight_decay,
        l2: o.l2,
        clip: o.clip,
    }
}

fn schedule(config: &Config) -> Schedule {
    let o = &config.optim;
    match o.schedule {
        ScheduleKind::Constant => Schedule::Constant,
        ScheduleKind::Milestones => {
            Schedule::Milestones { at: o.milestones.clone(), values: o.rates.clone() }
        }
        ScheduleKind::Exponential => {
            Schedule::Exponential { factor: o.decay, every: o.decay_every, from_zero: o.decay_first }
        }
        ScheduleKind::Cosine => Schedule::Cosine { floor: o.lr_floor },
    }
}

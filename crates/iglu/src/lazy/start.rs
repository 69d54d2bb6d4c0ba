//! The warm start: the same network with `A = I`, trained on the training rows of `X^0` for a few epochs. Where the graph
//! tells far more than a node's own features, the first layer hears its neighbours meanwhile: what it hears is constant.
//!
//! Why: in the first refresh the lazy layers would follow one frozen alpha that came through random upper layers;
//! that kills units for good. The start needs no sparse product at all.

use super::batches;
use super::engine::Engine;
use super::objective::Task;
use super::passes::update;
use crate::config::{Auto, Start, TrainConfig};
use crate::network::{Network, Sight};
use crate::optim::Optimiser;
use crate::program::{Call, Dropping, Norms, Program, RowSet};
use crate::{Error, Real, Result};

/// Learning rate of the start.
const RATE: f64 = 0.01;

/// Dropout of a start that sees nothing, and of one that sees hops.
const DROPOUT: f64 = 0.2;
const HOPS_DROPOUT: f64 = 0.3;

/// How much better a start that sees hops must be after the first steps than one that does not, to go on; and how many steps
/// that are. Where an epoch has fewer, it is too early to tell.
const HOPS_TELL: f64 = 0.1;
const FIRST_STEPS: usize = 32;

/// Epochs in a row that must be judged clearly worse than the best one: a single one may be an accident.
const FALLS: usize = 2;

/// What somebody says of a network that is being started.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verdict {
    /// Its score: more is better.
    pub score: f64,
    /// By how much a score must be below another for that not to be chance.
    pub slack: f64,
}

/// Judges a network that is being started, after every epoch, by what it says with this sight.
pub type Judge<'j> = dyn FnMut(&Network, Sight) -> Option<Verdict> + 'j;

/// How a start went.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StartReport {
    /// Training loss of the last epoch that counts.
    pub loss: f64,
    /// Epochs that count.
    pub epochs: usize,
    /// What it saw of the graph.
    pub sight: Sight,
    /// Whether it was ended because it learned its rows by heart.
    pub by_heart: bool,
}

impl StartReport {
    /// The kind of start it was.
    pub fn kind(self) -> Start {
        if self.sight == Sight::Hops { Start::Hops } else { Start::Mlp }
    }
}

/// Passes of the tail after a start of this kind.
pub fn start_tail(train: &TrainConfig, kind: Start) -> usize {
    train.start_tail.or(if kind == Start::Hops { 2 } else { 4 })
}

/// Dropout of a start of this kind.
pub fn start_dropout(train: &TrainConfig, kind: Start) -> f64 {
    train.start_dropout.or(if kind == Start::Hops { HOPS_DROPOUT } else { DROPOUT })
}

/// The best network of a start so far.
struct Peak {
    score: f64,
    report: StartReport,
    network: Network,
}

/// A start under way.
struct Attempt {
    program: Program,
    dropout: f64,
    network: Network,
    optimisers: Vec<Optimiser>,
    report: StartReport,
    /// Steps of the epoch under way, and its loss so far.
    steps: usize,
    loss: f64,
    peak: Option<Peak>,
    falls: usize,
    over: bool,
}

impl Attempt {
    /// Takes a verdict into account. Without hops a start ends when it stays clearly below its best; with hops already when it
    /// is no longer clearly better than before, because the epochs that follow see as much.
    fn judged(&mut self, Verdict { score, slack }: Verdict) {
        let gain = self.peak.as_ref().map_or(f64::INFINITY, |best| score - best.score);
        if gain > 0.0 {
            self.peak = Some(Peak { score, report: self.report, network: self.network.clone() });
        }
        self.falls = if gain < -slack { self.falls + 1 } else { 0 };
        let by_heart = self.falls == FALLS;
        self.over = by_heart || (self.report.sight == Sight::Hops && gain < slack);
        if let Some(peak) = self.peak.as_ref().filter(|_| self.over) {
            self.network.take_params(&peak.network);
            self.report = StartReport { by_heart, ..peak.report };
        }
    }
}

impl Engine<'_> {
    /// Runs the start, or nothing where there is none. Where the judge's score stays clearly below its best, the start learns
    /// its rows by heart: it ends, and the network with the best score is kept.
    pub fn warm_start(&mut self, judge: &mut Judge<'_>) -> Result<Option<StartReport>> {
        let t = &self.config.train;
        let epochs = t.start_epochs;
        if epochs == 0 || t.start == Auto::Set(Start::Random) {
            return Ok(None);
        }
        let mut attempt = match t.start {
            Auto::Auto if self.network.has_hops() => self.better_attempt(judge)?,
            Auto::Set(Start::Hops) => self.attempt(Sight::Hops),
            _ => self.attempt(Sight::Nothing),
        };
        while !attempt.over && attempt.report.epochs < epochs {
            self.attempt_epoch(&mut attempt, judge)?;
        }
        self.network.take_params(&attempt.network);
        (1..=self.network.depth()).for_each(|k| self.caches.mark_trained(k));
        Ok(Some(attempt.report))
    }

    fn attempt(&self, sight: Sight) -> Attempt {
        let report = StartReport { loss: 0.0, epochs: 0, sight, by_heart: false };
        Attempt {
            program: self.network.chain(1, sight),
            dropout: start_dropout(&self.config.train, report.kind()),
            network: self.network.clone(),
            optimisers: self.fresh_optimisers(),
            report,
            steps: 0,
            loss: 0.0,
            peak: None,
            falls: 0,
            over: false,
        }
    }

    /// A few steps with hops and a few without, where somebody judges; without, unless hops tell far more.
    fn better_attempt(&mut self, judge: &mut Judge<'_>) -> Result<Attempt> {
        let mut blind = self.attempt(Sight::Nothing);
        if self.rows.len().div_ceil(self.start_batch()) < FIRST_STEPS {
            return Ok(blind);
        }
        self.attempt_steps(&mut blind, FIRST_STEPS)?;
        let Some(alone) = judge(&blind.network, Sight::Nothing) else { return Ok(blind) };
        let mut seeing = self.attempt(Sight::Hops);
        self.attempt_steps(&mut seeing, FIRST_STEPS)?;
        let heard = judge(&seeing.network, Sight::Hops);
        let tells = heard.is_some_and(|heard| heard.score >= alone.score + HOPS_TELL);
        Ok(if tells { seeing } else { blind })
    }

    /// Rows of a batch of the start.
    fn start_batch(&self) -> usize {
        batches::size(self.config.train.batch, self.rows.len())
    }

    /// The next epoch of an attempt, or what is left of it, and what the judge says to it.
    fn attempt_epoch(&mut self, attempt: &mut Attempt, judge: &mut Judge<'_>) -> Result<()> {
        self.attempt_steps(attempt, usize::MAX)?;
        let Attempt { network, report, loss, steps, .. } = attempt;
        *report = StartReport { loss: *loss, epochs: report.epochs + 1, ..*report };
        (*loss, *steps) = (0.0, 0);
        if !report.loss.is_finite() {
            let (place, found) =
                (format!("start, epoch {}", report.epochs), format!("training loss is {}", report.loss));
            return Err(Error::diverged(place, found, "set train.start to random"));
        }
        if let Some(verdict) = judge(network, report.sight) {
            attempt.judged(verdict);
        }
        Ok(())
    }

    /// Steps of an attempt up to this one of its epoch, or to the end of that.
    fn attempt_steps(&mut self, attempt: &mut Attempt, to: usize) -> Result<()> {
        let size = self.start_batch();
        let Self { caches, side, lanes, loss, rows, key, interrupt, rate_factor, .. } = self;
        let Attempt { program, dropout, network, optimisers, report, .. } = attempt;
        let job = caches.job(program, side);
        let key = key.with("start").at(report.epochs as u64);
        let mut shuffled = rows.clone();
        key.with("batch").shuffle(&mut shuffled);
        for (b, batch) in shuffled.chunks(size).enumerate().take(to).skip(attempt.steps) {
            let params = network.params_from(1);
            let dropping = Dropping::Rate(key.with("dropout").at(b as u64), *dropout);
            let call = Call { params: &params, norms: Norms::Batch, dropping };
            let task = Task { loss, scale: rows.len() as Real / batch.len() as Real, only: None };
            attempt.loss += job.gradient(&call, RowSet::List(batch), &task, lanes);
            interrupt.check()?;
            update(network, optimisers, 1, *rate_factor * RATE, lanes.gradient());
            attempt.steps = b + 1;
        }
        Ok(())
    }
}

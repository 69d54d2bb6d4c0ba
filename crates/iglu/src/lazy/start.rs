//! The warm start: the same network with `A = I`, trained on the training rows of `X^0` for a few epochs. Where the graph
//! tells more than a node's own features, the first layer hears its neighbours at the end of it, or, where it tells far more,
//! all the time: what it hears is constant.
//!
//! Why: in the first refresh the lazy layers would follow one frozen alpha that came through random upper layers;
//! that kills units for good. The start needs no sparse product at all.

use super::batches;
use super::engine::Engine;
use super::objective::Task;
use super::passes::update;
use crate::config::{Auto, Batch, Start, TrainConfig};
use crate::network::{Network, Sight};
use crate::optim::Optimiser;
use crate::program::{Call, Dropping, Norms, Program, RowSet};
use crate::{Error, Real, Result};

/// Learning rate of the start.
const RATE: f64 = 0.01;

/// Dropout of a start that sees nothing, and of one that sees hops.
const DROPOUT: f64 = 0.2;
const HOPS_DROPOUT: f64 = 0.3;

/// How much better a start that sees hops must be after the first steps than one that does not, to go on, and to follow when the
/// other one is over; and how many steps that are. Where a pass has fewer mini-batches, it is too early to tell.
const HOPS_TELL: f64 = 0.1;
const HOPS_HELP: f64 = 0.05;
const FIRST_STEPS: usize = 32;

/// Epochs with hops at most after a start without.
const HOPS_AFTER: usize = 3;

/// Epochs in a row without a clear gain that end a start without hops: a single one may be an accident. Where hops are heard, or
/// will be, the first one ends it: the epochs that follow see as much, or more.
const PATIENCE: usize = 2;

/// Rows of a mini-batch of the start: so many steps in a pass, within these bounds. What a start has to find it finds by
/// steps, not by rows.
const STEPS: usize = 24;
const FEWEST: usize = 256;
const MOST: usize = 512;

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
    /// The kind of start it is.
    pub kind: Start,
    /// Whether it was ended because it learned its rows by heart.
    pub by_heart: bool,
}

/// Passes of the tail after a start of this kind.
pub fn start_tail(train: &TrainConfig, kind: Start) -> usize {
    train.start_tail.or(if matches!(kind, Start::Hops | Start::Both) { 2 } else { 4 })
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
    sight: Sight,
    program: Program,
    dropout: f64,
    network: Network,
    optimisers: Vec<Optimiser>,
    report: StartReport,
    /// Steps of the epoch under way, and its loss so far.
    steps: usize,
    loss: f64,
    peak: Option<Peak>,
    /// The last score that was clearly better than those before, and epochs since then.
    sure: f64,
    stale: usize,
    /// Epochs in a row that were clearly worse than the best one.
    falls: usize,
    over: bool,
}

impl Attempt {
    /// Takes a verdict into account. A start ends, with its best network, when its score rises no more.
    fn judged(&mut self, Verdict { score, slack }: Verdict) {
        let best = self.peak.as_ref().map_or(f64::NEG_INFINITY, |best| best.score);
        if score > best {
            self.peak = Some(Peak { score, report: self.report, network: self.network.clone() });
        }
        self.falls = if score < best - slack { self.falls + 1 } else { 0 };
        if score >= self.sure + slack {
            (self.sure, self.stale) = (score, 0);
        } else {
            self.stale += 1;
        }
        self.over = self.stale == if self.report.kind == Start::Mlp { PATIENCE } else { 1 };
        if let Some(peak) = self.peak.as_ref().filter(|_| self.over) {
            self.network.take_params(&peak.network);
            self.report = StartReport { by_heart: self.falls == PATIENCE, ..peak.report };
        }
    }
}

impl Engine<'_> {
    /// Runs the start, or nothing where there is none; of one that is to hear its neighbours at the end ([`Start::Both`]) the
    /// part before, [`Engine::hear_hops`] is the rest. Where the judge's score rises no more, it ends.
    pub fn warm_start(&mut self, judge: &mut Judge<'_>) -> Result<Option<StartReport>> {
        let t = &self.config.train;
        let epochs = t.start_epochs;
        if epochs == 0 || t.start == Auto::Set(Start::Random) {
            return Ok(None);
        }
        let attempt = match t.start {
            Auto::Auto if self.network.has_hops() => self.better_attempt(judge)?,
            Auto::Set(Start::Hops) => self.attempt(Start::Hops, Sight::Hops),
            Auto::Set(Start::Both) => self.attempt(Start::Both, Sight::Nothing),
            _ => self.attempt(Start::Mlp, Sight::Nothing),
        };
        self.finish(attempt, epochs, judge).map(Some)
    }

    /// The rest of a start that has heard nobody so far: some epochs with hops.
    pub fn hear_hops(&mut self, so_far: StartReport, judge: &mut Judge<'_>) -> Result<StartReport> {
        let mut attempt = self.attempt(so_far.kind, Sight::Hops);
        attempt.report.epochs = so_far.epochs;
        self.finish(attempt, so_far.epochs + HOPS_AFTER, judge)
    }

    /// Runs an attempt to its end, and takes its network over.
    fn finish(&mut self, mut attempt: Attempt, epochs: usize, judge: &mut Judge<'_>) -> Result<StartReport> {
        while !attempt.over && attempt.report.epochs < epochs {
            self.attempt_epoch(&mut attempt, judge)?;
        }
        self.network.take_params(&attempt.network);
        (1..=self.network.depth()).for_each(|k| self.caches.mark_trained(k));
        Ok(attempt.report)
    }

    /// An attempt at a kind of start, with this sight, from the present network.
    fn attempt(&self, kind: Start, sight: Sight) -> Attempt {
        Attempt {
            sight,
            program: self.network.chain(1, sight),
            dropout: start_dropout(&self.config.train, kind),
            network: self.network.clone(),
            optimisers: self.fresh_optimisers(),
            report: StartReport { loss: 0.0, epochs: 0, kind, by_heart: false },
            steps: 0,
            loss: 0.0,
            peak: None,
            sure: f64::NEG_INFINITY,
            stale: 0,
            falls: 0,
            over: false,
        }
    }

    /// A few steps with hops and a few without, where somebody judges; without, unless hops tell far more.
    fn better_attempt(&mut self, judge: &mut Judge<'_>) -> Result<Attempt> {
        let mut blind = self.attempt(Start::Mlp, Sight::Nothing);
        let rows = self.rows.len();
        if rows.div_ceil(batches::size(self.config.train.batch, rows)) < FIRST_STEPS {
            return Ok(blind);
        }
        self.attempt_steps(&mut blind, FIRST_STEPS)?;
        let Some(alone) = judge(&blind.network, Sight::Nothing) else { return Ok(blind) };
        let mut seeing = self.attempt(Start::Hops, Sight::Hops);
        self.attempt_steps(&mut seeing, FIRST_STEPS)?;
        let gain = judge(&seeing.network, Sight::Hops).map_or(0.0, |heard| heard.score - alone.score);
        if gain >= HOPS_TELL {
            return Ok(seeing);
        }
        if gain >= HOPS_HELP {
            blind.report.kind = Start::Both;
        }
        Ok(blind)
    }

    /// Rows of a batch of the start.
    pub(super) fn start_batch(&self) -> usize {
        let (batch, rows) = (self.config.train.batch, self.rows.len());
        let usual = batches::size(batch, rows);
        if batch == Batch::Auto { usual.min((rows / STEPS).clamp(FEWEST, MOST)) } else { usual }
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
        if let Some(verdict) = judge(network, attempt.sight) {
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

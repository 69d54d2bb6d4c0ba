//! A run under way: epoch after epoch, the best model so far, and the way back where training has diverged.

use super::start::{Candidate, Ended, Ending, Lap, Opened, Opening, Scored};
use super::{EPOCHS, Run, Seen, Trained, Whose};
#[cfg(test)]
use crate::Real;
use crate::checkpoint::{Checkpoint, Notes};
use crate::config::Config;
use crate::lazy::{Engine, POLISH_RATE};
use crate::network::Network;
use crate::observe::{Control, Event, HistoryPoint, Observer, Report, Seconds, Stopwatch, Urgency};
use crate::optim::{Progress, Schedule};
use crate::side::Sides;
use crate::{Error, Result};
use std::collections::VecDeque;
use std::sync::Arc;

/// How often the learning rate is halved before a run that diverges is given up.
const HALVINGS: u32 = 3;

/// The best state seen.
struct Best {
    point: HistoryPoint,
    /// Checkpoints have it, too.
    network: Arc<Network>,
    evaluations_since: usize,
}

impl Best {
    fn new(point: HistoryPoint, network: Arc<Network>) -> Self {
        Self { point, network, evaluations_since: 0 }
    }
}

/// A run that has begun.
pub(super) enum Begun<'r> {
    /// Epochs can follow.
    Course(Box<Course<'r>>),
    /// It was ended right after its start.
    Over(Box<Over>),
}

/// What a start has left that was ended by somebody.
pub(super) struct Over {
    left: Ended,
    seconds: Seconds,
    halvings: u32,
}

impl Over {
    /// The best network that was tried, or the started one, and how it went.
    pub(super) fn end(self, run: &Run<'_>) -> Trained {
        let Ended { start, best: Scored { point, config, network, .. }, by } = self.left;
        let report = Report {
            epochs: point.epoch,
            start,
            history: (point.epoch > 0).then_some(point).into_iter().collect(),
            params: network.params(),
            rate_factor: rate_factor(self.halvings),
            interrupted: by == Ending::Interrupt,
            ..run.report(point, Seconds { total: run.watch.seconds(), ..self.seconds })
        };
        let model = run.model(config, Arc::unwrap_or_clone(network));
        // Whoever interrupts does not want to wait for it.
        let seen = (!report.interrupted).then(|| Seen { side: run.side(model.network()), places: None });
        Trained { model, report, seen }
    }
}

/// A run under way.
pub(super) struct Course<'r> {
    run: &'r Run<'r>,
    config: Config,
    sides: Sides,
    engine: Engine<'r>,
    /// Epochs that were part of the start and are not told yet.
    laps: VecDeque<Lap>,
    /// Refreshes that were told.
    told: usize,
    ran: usize,
    /// Of these: after the start.
    timed: usize,
    /// Scores before the first epoch.
    zero: Option<HistoryPoint>,
    history: Vec<HistoryPoint>,
    best: Option<Best>,
    seconds: Seconds,
    /// What the engine had spent when the start ended.
    before: [f64; 2],
    /// Seconds of the run before it was interrupted.
    earlier: f64,
    halvings: u32,
    /// Why there are no more epochs.
    ended: Option<Ending>,
    /// The end of the last epoch that the run can go on from.
    last: Option<Checkpoint>,
    #[cfg(test)]
    fault: Option<Fault>,
}

impl<'r> Course<'r> {
    /// From the beginning; a start that diverges is repeated with half the learning rate.
    pub(super) fn begin(run: &'r Run<'r>, observer: &mut dyn Observer) -> Result<Begun<'r>> {
        Self::start(run, 0, observer)
    }

    fn start(run: &'r Run<'r>, mut halvings: u32, observer: &mut dyn Observer) -> Result<Begun<'r>> {
        let seconds = Seconds { prepare: run.watch.seconds(), ..Seconds::default() };
        let mut opening = Opening { observer, seconds, zero: None, tried: None };
        let opened = loop {
            match run.start(rate_factor(halvings), &mut opening) {
                Err(e @ Error::Diverged { .. }) => halve(&mut halvings, 0, e, opening.observer)?,
                other => break other?,
            }
        };
        let Opening { observer, mut seconds, zero, .. } = opening;
        seconds.train = seconds.start;
        let Candidate { config, sides, engine, laps } = match opened {
            Opened::Ready(candidate) => *candidate,
            Opened::Ended(left) => return Ok(Begun::Over(Box::new(Over { left: *left, seconds, halvings }))),
        };
        if !laps.is_empty() {
            observer.event(&Event::Decided { config: Box::new(config.clone()) });
        }
        let before = engine.seconds();
        let mut course = Self::new(run, config, sides, engine);
        (course.laps, course.seconds, course.before, course.halvings) =
            (laps.into(), seconds, before, halvings);
        if let Some(Scored { point, network, .. }) = zero {
            course.zero = Some(point);
            course.best = Some(Best::new(point, network));
        }
        Ok(Begun::Course(Box::new(course)))
    }

    /// From the end of an earlier epoch.
    pub(super) fn resume(run: &'r Run<'r>, checkpoint: Checkpoint) -> Result<Self> {
        let config = Config { threads: run.config.threads, ..checkpoint.notes.config.clone() };
        let (sides, engine) = run.engine(&config)?;
        let mut course = Self::new(run, config, sides, engine);
        course.seconds = checkpoint.notes.seconds;
        course.earlier = checkpoint.notes.seconds.total;
        course.halvings = checkpoint.notes.halvings;
        course.go_back_to(checkpoint)?;
        Ok(course)
    }

    fn new(run: &'r Run<'r>, config: Config, sides: Sides, engine: Engine<'r>) -> Self {
        Self {
            run,
            config,
            sides,
            engine,
            laps: VecDeque::new(),
            told: 0,
            ran: 0,
            timed: 0,
            zero: None,
            history: Vec::new(),
            best: None,
            seconds: Seconds::default(),
            before: [0.0; 2],
            earlier: 0.0,
            halvings: 0,
            ended: None,
            last: None,
            #[cfg(test)]
            fault: None,
        }
    }

    /// Lazy epochs, and the exact ones after them.
    fn epochs(&self) -> [usize; 2] {
        [self.config.train.epochs.or(EPOCHS), self.config.train.polish]
    }

    /// All epochs that are left, or as many as it takes. Where the run had to begin again and was ended in its start,
    /// that start is what is left of it.
    pub(super) fn go(&mut self, observer: &mut dyn Observer) -> Result<Option<Box<Over>>> {
        while self.ran < self.epochs().iter().sum() && self.ended.is_none() {
            match self.epoch(observer) {
                Ok(Control::Continue) => {}
                Ok(Control::Stop) => self.ended = Some(Ending::Observer),
                Err(Error::Interrupted { .. }) => self.ended = Some(Ending::Interrupt),
                Err(e @ Error::Diverged { .. }) => {
                    let over = self.go_back(e, observer)?;
                    if over.is_some() {
                        return Ok(over);
                    }
                }
                Err(e) => return Err(e),
            }
        }
        if let Some(last) = self.last.as_ref().filter(|_| self.interrupted()) {
            observer.checkpoint(last, Urgency::Last)?;
        }
        Ok(None)
    }

    fn epoch(&mut self, observer: &mut dyn Observer) -> Result<Control> {
        let mut clock = Stopwatch::new();
        let lap = self.laps.pop_front();
        let loss = if let Some(lap) = &lap {
            lap.point.loss
        } else {
            let loss = self.train()?;
            self.seconds.train += clock.lap();
            loss
        };
        self.ran += 1;
        self.timed += usize::from(lap.is_none());
        let refreshes = lap.as_ref().map_or(self.engine.telemetry().len(), |lap| lap.refreshes);
        for point in &self.engine.telemetry()[self.told..refreshes] {
            observer.event(&Event::Refreshed(point.clone()));
        }
        self.told = refreshes;
        let epochs = self.epochs().iter().sum();
        let due = self.ran.is_multiple_of(self.config.select.eval_every) || self.ran == epochs;
        let scores = match &lap {
            Some(lap) => Some(lap.point).filter(|_| due),
            // An epoch that nobody could score does not count.
            None if due => Some(self.score(loss).inspect_err(|_| self.ran -= 1)?),
            None => None,
        };
        let network = lap.and_then(|lap| lap.network);
        let best = scores.is_some_and(|point| self.keep_best(point, network));
        self.history.extend(scores);
        self.seconds.eval += clock.lap();
        let control = observer.event(&Event::Epoch {
            epoch: self.ran,
            epochs,
            loss,
            scores,
            best,
            rate: self.rate(self.ran - 1),
            seconds: self.spent(),
        });
        let waited = self.best.as_ref().map_or(0, |b| b.evaluations_since);
        let tired = self.config.select.patience > 0 && waited >= self.config.select.patience;
        if control == Control::Stop || tired {
            return Ok(Control::Stop);
        }
        // The engine is at the end of the last epoch that was part of the start.
        let there = self.laps.is_empty() && self.ran < epochs;
        if there && self.engine.can_pause(self.ran, self.epochs()[0]) {
            // The one before goes first: there is no need for both.
            self.last = None;
            let last = self.last.insert(self.checkpoint());
            observer.checkpoint(last, Urgency::Routine)?;
        }
        Ok(Control::Continue)
    }

    /// The next epoch: lazy, or one of the exact ones at the end.
    fn train(&mut self) -> Result<f64> {
        #[cfg(test)]
        self.spoil();
        let [lazy, _] = self.epochs();
        if self.ran < lazy { self.engine.epoch(self.ran, lazy) } else { self.engine.polish(self.ran) }
    }

    fn interrupted(&self) -> bool {
        self.ended == Some(Ending::Interrupt)
    }

    fn score(&mut self, loss: f64) -> Result<HistoryPoint> {
        let Self { run, engine, sides, ran, seconds, .. } = self;
        run.read_logits(engine, sides, Whose::Scored, |logits| run.point(logits, *ran, seconds.train, loss))
    }

    /// Learning rate at the begin of epoch `epoch` (from 0).
    fn rate(&self, epoch: usize) -> f64 {
        let ([lazy, _], optim) = (self.epochs(), &self.config.optim);
        let rate = if epoch < lazy {
            Schedule::of(optim).rate(optim.lr, Progress::of(epoch, lazy))
        } else {
            POLISH_RATE * optim.lr
        };
        rate_factor(self.halvings) * rate
    }

    /// Keeps the state if its validation score is better; without validation nodes the latest is kept. Ties go to the
    /// earlier epoch, NaN is never better. The start is kept only until there is an epoch. Without a network it is the
    /// engine's.
    fn keep_best(&mut self, point: HistoryPoint, network: Option<Arc<Network>>) -> bool {
        let better = match (&self.best, point.val) {
            (None, _) | (_, None) => true,
            (Some(b), _) if b.point.epoch == 0 => true,
            (Some(b), Some(v)) => b.point.val.is_none_or(|old| v > old),
        };
        if better {
            let network = network.unwrap_or_else(|| Arc::new(self.engine.network().clone()));
            self.best = Some(Best::new(point, network));
        } else if let Some(b) = &mut self.best {
            b.evaluations_since += 1;
        }
        better
    }

    /// Everything to go on from here.
    fn checkpoint(&self) -> Checkpoint {
        let mut engine = self.engine.state();
        let [refresh, passes] = [0, 1].map(|i| engine.numbers.seconds[i] - self.before[i]);
        engine.numbers.seconds = [refresh, passes];
        let notes = Notes {
            asked: self.run.asked.clone(),
            config: self.config.clone(),
            shape: self.run.shape,
            ran: self.ran,
            timed: self.timed,
            start: self.zero,
            history: self.history.clone(),
            best: self.best.as_ref().map(|b| (b.point, b.evaluations_since)),
            halvings: self.halvings,
            seconds: self.spent(),
            engine: engine.numbers.clone(),
        };
        Checkpoint { notes, engine, best: self.best.as_ref().map(|b| b.network.clone()) }
    }

    /// Takes over everything but the time spent.
    fn go_back_to(&mut self, checkpoint: Checkpoint) -> Result<()> {
        let polishing = checkpoint.notes.ran >= self.epochs()[0];
        self.last = Some(checkpoint.clone());
        let Checkpoint { notes, engine, best } = checkpoint;
        self.engine.restore(engine, polishing)?;
        self.told = self.engine.telemetry().len();
        self.before = [0.0; 2];
        (self.ran, self.timed) = (notes.ran, notes.timed);
        (self.zero, self.history) = (notes.start, notes.history);
        let best = notes.best.zip(best);
        self.best =
            best.map(|((point, evaluations_since), network)| Best { point, network, evaluations_since });
        Ok(())
    }

    /// To the last checkpoint, or to the beginning, with half the learning rate.
    fn go_back(&mut self, diverged: Error, observer: &mut dyn Observer) -> Result<Option<Box<Over>>> {
        let epoch = self.last.as_ref().map_or(0, |last| last.notes.ran);
        halve(&mut self.halvings, epoch, diverged, observer)?;
        if let Some(last) = self.last.take() {
            self.go_back_to(last)?;
            self.engine.set_rate_factor(rate_factor(self.halvings));
        } else {
            #[cfg(test)]
            let fault = self.fault;
            match Self::start(self.run, self.halvings, observer)? {
                Begun::Course(course) => *self = *course,
                Begun::Over(over) => return Ok(Some(over)),
            }
            #[cfg(test)]
            self.sabotage(fault);
        }
        Ok(None)
    }

    /// Where the time went so far.
    fn spent(&self) -> Seconds {
        let [refresh, passes] = self.engine.seconds();
        let total = self.earlier + self.run.watch.seconds();
        Seconds { refresh: refresh - self.before[0], passes: passes - self.before[1], total, ..self.seconds }
    }

    /// The best model, and how it went.
    pub(super) fn end(mut self) -> Result<Trained> {
        self.last = None;
        let best = match self.best.take() {
            Some(best) => best,
            None if self.interrupted() => {
                let fix = "begin again: there is nothing to go on from";
                return Err(Error::interrupted("training", "stopped before the first score", fix));
            }
            None => {
                let point = self.score(f64::NAN)?;
                Best::new(point, Arc::new(self.engine.network().clone()))
            }
        };
        let (seconds, interrupted) = (self.spent(), self.interrupted());
        let report = Report {
            epochs: self.ran,
            seconds_per_epoch: (seconds.train - seconds.start) / self.timed.max(1) as f64,
            start: self.zero,
            history: self.history,
            bias: self.engine.telemetry().to_vec(),
            params: self.engine.network().params(),
            rate_factor: rate_factor(self.halvings),
            interrupted,
            ..self.run.report(best.point, seconds)
        };
        let model = self.run.model(self.config, Arc::unwrap_or_clone(best.network));
        // A network without an epoch may have another configuration than the side.
        let side = if best.point.epoch > 0 { self.sides.full } else { self.run.side(model.network()) };
        Ok(Trained { model, report, seen: Some(Seen { side, places: None }) })
    }
}

fn rate_factor(halvings: u32) -> f64 {
    0.5_f64.powi(halvings as i32)
}

/// Counts one more halving and tells of it, or gives up with the error.
fn halve(halvings: &mut u32, epoch: usize, diverged: Error, observer: &mut dyn Observer) -> Result<()> {
    if *halvings == HALVINGS {
        return Err(diverged);
    }
    *halvings += 1;
    let why = diverged.to_string().lines().next().unwrap_or_default().to_string();
    observer.event(&Event::RolledBack { epoch, why, rate_factor: rate_factor(*halvings) });
    Ok(())
}

/// A number that goes bad before an epoch, for tests.
#[cfg(test)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault {
    /// Before this epoch, from 0.
    pub(crate) epoch: usize,
    /// In the first parameter of this layer.
    pub(crate) layer: usize,
    /// How often it happens.
    pub(crate) times: usize,
}

#[cfg(test)]
impl Course<'_> {
    pub(super) fn sabotage(&mut self, fault: Option<Fault>) {
        self.fault = fault;
    }

    fn spoil(&mut self) {
        let Some(fault) = &mut self.fault else { return };
        if fault.epoch == self.ran && fault.times > 0 {
            fault.times -= 1;
            self.engine.network_mut().at_mut(fault.layer).params[0].data_mut()[0] = Real::NAN;
        }
    }
}

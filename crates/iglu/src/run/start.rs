//! The start of a run: whatever is left to the data is tried for one epoch, and validation decides.

use super::{EPOCHS, Outline, Run};
use crate::config::{Auto, Config, HIDDEN, Head, LazyDropout, Order, Proximal, Start};
use crate::lazy::plan::Plan;
use crate::lazy::{Engine, EngineState};
use crate::network::Network;
use crate::observe::{HistoryPoint, Seconds, Stopwatch};
use crate::side::Sides;
use crate::{Error, Norm, Result};

/// Below this number of training rows lazy dropout is expected to help, above it is not.
const FEW_ROWS: usize = 4096;

/// By how much the kind of lazy dropout that was not expected must be better after one epoch.
const CLEARLY: f64 = 0.005;

/// A network that has been started; where there was a choice, one epoch further.
pub(super) struct Candidate<'r> {
    pub(super) config: Config,
    pub(super) sides: Sides,
    pub(super) engine: Engine<'r>,
    pub(super) start_loss: Option<f64>,
    /// Scores after the first epoch, if that has been run.
    pub(super) first: Option<HistoryPoint>,
}

/// How alternatives are tried out. The result is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trials {
    /// The best so far and the next one side by side.
    #[default]
    SideBySide,
    /// The best so far gives its caches back meanwhile: half the memory, for the time of making them again.
    OneByOne,
}

/// A candidate without its caches.
struct Resting {
    config: Config,
    state: EngineState,
    start_loss: Option<f64>,
    first: Option<HistoryPoint>,
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

    fn score(&self) -> f64 {
        let first = match self {
            Self::Awake(c) => c.first,
            Self::Resting(r) => r.first,
        };
        first.and_then(|point| point.val).unwrap_or(f64::NEG_INFINITY)
    }

    /// Gives back everything that can be made again.
    fn rest(self) -> Self {
        match self {
            Self::Awake(candidate) => {
                let Candidate { config, engine, start_loss, first, .. } = *candidate;
                Self::Resting(Box::new(Resting { config, state: engine.state(), start_loss, first }))
            }
            resting @ Self::Resting(_) => resting,
        }
    }

    /// Makes again what was given back.
    fn wake(self, run: &'r Run<'_>, seconds: &mut Seconds) -> Result<Candidate<'r>> {
        let Resting { config, state, start_loss, first } = match self {
            Self::Awake(candidate) => return Ok(*candidate),
            Self::Resting(resting) => *resting,
        };
        let mut clock = Stopwatch::new();
        let (sides, mut engine) = run.engine(&config)?;
        seconds.prepare += clock.lap();
        engine.restore(state, config.train.epochs.or(EPOCHS) <= 1)?;
        seconds.start += clock.lap();
        Ok(Candidate { config, sides, engine, start_loss, first })
    }
}

/// A setting to try, and by how much it has to be better to be taken.
struct Change {
    apply: Box<dyn Fn(&mut Config)>,
    margin: f64,
}

impl Change {
    fn new(margin: f64, apply: impl Fn(&mut Config) + 'static) -> Self {
        Self { apply: Box::new(apply), margin }
    }
}

/// A network after its start (`operator: None`), or settled on a graph.
struct StartState {
    start: (usize, f64),
    operator: Option<Auto<Norm>>,
    network: Network,
    loss: Option<f64>,
}

/// What candidates can take over from earlier ones.
struct Started {
    rate_factor: f64,
    states: Vec<StartState>,
}

impl Started {
    /// The furthest state that fits a configuration.
    fn find(&self, config: &Config) -> Option<&StartState> {
        let start = (config.train.start_epochs, config.train.start_dropout);
        let fitting = |operator| self.states.iter().find(|s| s.start == start && s.operator == operator);
        fitting(Some(config.network.operator)).or_else(|| fitting(None))
    }
}

impl Run<'_> {
    /// Starts the network; where something is left to the data, whatever is best on the validation nodes after one
    /// epoch.
    pub(super) fn start(&self, rate_factor: f64, seconds: &mut Seconds) -> Result<Candidate<'_>> {
        let (base, changes) = questions(&self.config, &Outline::of(self.data));
        let mut started = Started { rate_factor, states: Vec::new() };
        if changes.is_empty() {
            return self.candidate(base, &mut started, seconds);
        }
        let mut best = self.tried(base, &mut started, seconds)?;
        for change in changes {
            let mut config = best.config().clone();
            (change.apply)(&mut config);
            if rests(&config, self.trials) {
                best = best.rest();
            }
            match self.tried(config, &mut started, seconds) {
                Ok(other) if other.score() > best.score() + change.margin => best = other,
                // What diverges is not better.
                Ok(_) | Err(Error::Diverged { .. }) => {}
                Err(e) => return Err(e),
            }
        }
        best.wake(self, seconds)
    }

    fn tried(&self, config: Config, started: &mut Started, seconds: &mut Seconds) -> Result<Best<'_>> {
        let mut candidate = self.candidate(config, started, seconds)?;
        self.try_epoch(&mut candidate, seconds)?;
        Ok(Best::Awake(Box::new(candidate)))
    }

    /// One choice, started. The start sees no graph, so what follows it can share it.
    fn candidate(
        &self,
        config: Config,
        started: &mut Started,
        seconds: &mut Seconds,
    ) -> Result<Candidate<'_>> {
        let mut clock = Stopwatch::new();
        let (sides, mut engine) = self.engine(&config)?;
        engine.set_rate_factor(started.rate_factor);
        seconds.prepare += clock.lap();
        let start = (config.train.start_epochs, config.train.start_dropout);
        let (loss, settled) = if let Some(known) = started.find(&config) {
            engine.network_mut().take_params(&known.network);
            (known.loss, known.operator.is_some())
        } else {
            let loss = engine.warm_start()?;
            started.states.push(StartState {
                start,
                operator: None,
                network: engine.network().clone(),
                loss,
            });
            (loss, false)
        };
        engine.settle(loss.is_some() && !settled)?;
        if !settled {
            let operator = Some(config.network.operator);
            started.states.push(StartState { start, operator, network: engine.network().clone(), loss });
        }
        seconds.start += clock.lap();
        Ok(Candidate { config, sides, engine, start_loss: loss, first: None })
    }

    /// The first epoch of a candidate, scored.
    fn try_epoch(&self, candidate: &mut Candidate<'_>, seconds: &mut Seconds) -> Result<()> {
        let mut clock = Stopwatch::new();
        let loss = candidate.engine.epoch(0, candidate.config.train.epochs.or(EPOCHS))?;
        seconds.start += clock.lap();
        let point = self.score(&mut candidate.engine, &candidate.sides, 1, seconds.start, loss)?;
        candidate.first = Some(point);
        seconds.eval += clock.lap();
        Ok(())
    }
}

/// Whether alternatives can be tried: two engines live side by side meanwhile, and validation has to tell.
fn can_try(config: &Config, data: &Outline) -> bool {
    const MOST_VALUES: usize = 128 << 20;
    let values = data.nodes * config.network.hidden.or(HIDDEN) * config.network.layers;
    data.val > 0 && values <= MOST_VALUES
}

/// The configuration to start from, and the changes to try one after the other, each on the best so far.
fn questions(config: &Config, data: &Outline) -> (Config, Vec<Change>) {
    let mut base = config.clone();
    let mut changes: Vec<Change> = Vec::new();
    let (t, n) = (&mut base.train, &mut base.network);
    if t.start == Start::Auto {
        t.start = Start::Mlp;
        (t.start_epochs, t.start_dropout) = (10, 0.2);
        for (epochs, dropout) in [(0, 0.2), (3, 0.2), (3, 0.5), (10, 0.5)] {
            changes.push(Change::new(0.0, move |c| {
                (c.train.start_epochs, c.train.start_dropout) = (epochs, dropout);
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
            changes.push(Change::new(CLEARLY, move |c| c.train.lazy_dropout = Auto::Set(other)));
        }
    }
    if n.operator == Auto::Auto && n.layer == "sage" {
        n.operator = Auto::Set(Norm::Mean);
        changes.push(Change::new(0.0, |c| c.network.operator = Auto::Set(Norm::Sym)));
    }
    if !can_try(config, data) {
        changes.clear();
    }
    (base, changes)
}

/// Whether a run will try something out, and so hold two networks for a while.
pub(super) fn tries(config: &Config, data: &Outline) -> bool {
    !questions(config, data).1.is_empty()
}

/// Whether the best candidate gives its caches back while another one is tried: where the second epoch would begin with
/// stale ones they could not be made again.
pub(super) fn rests(config: &Config, trials: Trials) -> bool {
    let depth = config.network.layers + usize::from(config.network.head == Head::Linear);
    let plan = Plan::new(config.train.order, config.network.layers, depth);
    trials == Trials::OneByOne && plan.can_pause(config.train.frequency, 1, config.train.epochs.or(EPOCHS))
}

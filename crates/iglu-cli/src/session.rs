//! One training run from its configuration to its files; several of them share the data.

use crate::clock::Moment;
use crate::folder::RunFolder;
use crate::journal::{Board, Journal, Keeping};
use crate::judge::{Depth, Judge};
use crate::progress::Progress;
use crate::resume;
use crate::rhythm::Rhythm;
use crate::summary::Summary;
use crate::{memory, settings, signals, text};
use iglu::checkpoint::Checkpoint;
use iglu::config::Config;
use iglu::observe::{Control, Event, Observer, Report, Stopwatch, Urgency};
use iglu::run::{Fit, Given, Trained, Trials};
use iglu::{Dataset, Error, Interrupt, Result, kernels};
use iglu_data::checkpoint::Found;
use iglu_data::{Card, Fingerprint};
use iglu_report::record::{FORMAT, Facts, Origin, Scores};
use iglu_report::{Profile, Run, names, page};

/// What all runs of one command share.
pub struct Session<'a> {
    /// The data as named by the user.
    pub source: &'a str,
    /// How the files of the runs are written.
    pub keep: Keep,
    /// Asks the run to stop.
    pub interrupt: Interrupt,
    /// How settings that are left to the data are tried out.
    pub trials: Trials,
    data_print: Fingerprint,
    card: Card,
    profile: Profile,
    command: String,
}

/// How the files of a run are written.
#[derive(Debug, Clone, Copy)]
pub struct Keep {
    /// Whether to write for TensorBoard.
    pub board: Board,
    /// How often to write a checkpoint.
    pub rhythm: Rhythm,
}

/// What one run is given.
pub struct Asked<'a> {
    /// The data; one that may be spent is without features after the run.
    pub data: Given<'a>,
    /// What to do.
    pub config: &'a Config,
    /// Where its files go.
    pub folder: &'a RunFolder,
    /// Where it goes on from, if not from the beginning.
    pub from: Option<Found>,
    /// Seconds that reading the data took for this run.
    pub load: f64,
}

/// A finished run.
pub struct Finished {
    /// The summary for programs.
    pub json: String,
    /// The summary for people.
    pub text: String,
}

impl<'a> Session<'a> {
    /// Counts what there is.
    pub fn new(data: &Dataset, source: &'a str, keep: Keep, trials: Trials) -> Self {
        let (card, profile) = (Card::of(data), Profile::of(data));
        let data_print = Fingerprint::of(data);
        Self {
            source,
            keep,
            interrupt: Interrupt::new(),
            trials,
            data_print,
            card,
            profile,
            command: command(),
        }
    }

    /// Refuses to go on with a run on other data.
    pub fn check_data(&self, then: &Fingerprint) -> Result<()> {
        resume::check_data(self.source, &self.data_print, then)
    }

    /// Trains from the beginning or from a checkpoint, and writes everything.
    pub fn run(&self, asked: Asked<'_>, progress: &mut Progress) -> Result<Finished> {
        let Asked { mut data, config, folder, from, load } = asked;
        let watch = Stopwatch::new();
        let Keep { board, rhythm } = self.keep;
        let keeping = Keeping { folder, load, board, rhythm, source: self.source, data: &self.data_print };
        let fit = Fit::new(config, data.again()).interrupt(&self.interrupt).trials(self.trials);
        let (time, earlier, mut journal, fit) = match from {
            None => {
                signals::ask_nobody();
                let origin = self.origin(config)?;
                let time = origin.time.clone();
                (time, 0.0, Journal::begin(keeping, origin)?, fit)
            }
            Some(Found { checkpoint, around, .. }) => {
                signals::ask(&self.interrupt);
                let time = Run::read(folder.path())?.origin.time;
                let (ran, earlier) = (checkpoint.notes.ran, checkpoint.notes.seconds.total);
                if let Some((best, _)) = &checkpoint.notes.best {
                    progress.remember(best);
                }
                let journal = Journal::resume(keeping, ran, around.events)?;
                (time, earlier, journal, fit.resume(checkpoint))
            }
        };
        let trained = fit.run(&mut Listeners { progress, journal: &mut journal, interrupt: &self.interrupt });
        progress.finish();
        let trained = trained.or_else(|e| failed(folder, e))?;
        folder.keep(&trained.model)?;
        if trained.report.interrupted {
            return Err(stopped(folder, &trained.report, config)?);
        }
        let mut clock = Stopwatch::new();
        // Without a checkpoint there would be nothing to go on from: the last scores are waited for.
        let interrupt = if folder.has_checkpoint() { self.interrupt.clone() } else { Interrupt::new() };
        let scores = match scores(&trained, data.get(), &interrupt) {
            Err(Error::Interrupted { .. }) => return Err(stopped(folder, &trained.report, config)?),
            scores => scores?,
        };
        let peak_rss_bytes = memory::peak_bytes();
        let Trained { model, mut report, .. } = trained;
        report.seconds.eval += clock.lap();
        report.seconds.load = load;
        report.seconds.total = earlier + load + watch.seconds();
        // A journal that could not be written has stopped the run: the model is saved, and this is the error.
        journal.end(&report)?;
        let summary = Summary {
            version: env!("CARGO_PKG_VERSION"),
            command: &self.command,
            time: &time,
            source: self.source,
            report: &report,
            peak_rss_bytes,
            isa: isa(),
            model: folder.model().display().to_string(),
            data: &self.card,
            profile: &self.profile,
            scores: &scores,
            config: model.config(),
        };
        let (json, text) = (text::json(&summary)?, summary.to_string());
        folder.add(names::CONFIG, &settings::to_toml(model.config())?)?;
        folder.add(names::REPORT, &page::of_run(&Run::read(folder.path())?.with_summary(&json)?))?;
        // The last file: a run is finished when it is there.
        folder.add(names::SUMMARY, &json)?;
        Ok(Finished { json, text })
    }

    /// The command as a shell takes it.
    pub fn command(&self) -> &str {
        &self.command
    }

    fn origin(&self, config: &Config) -> Result<Origin> {
        let config_asked = serde_json::to_value(config)
            .map_err(|e| Error::output("configuration", e.to_string(), "report this"))?;
        Ok(Origin {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_string(),
            command: self.command.clone(),
            time: Moment::now().iso(),
            source: self.source.to_string(),
            data: facts(&self.card),
            config: config_asked,
            seed: config.seed,
            threads: rayon::current_num_threads(),
            isa: isa(),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        })
    }
}

fn scores(trained: &Trained, data: &Dataset, interrupt: &Interrupt) -> Result<Vec<Scores>> {
    let logits = trained.logits(data, interrupt)?;
    Ok(Judge::new(&trained.model, data, &logits).scores(Depth::Cheap))
}

/// What can go on later stays; the rest of a run that gave nothing is removed.
fn failed<T>(folder: &RunFolder, e: Error) -> Result<T> {
    if folder.has_checkpoint() {
        let e = match e {
            Error::Output { place, found, fix } => {
                Error::Output { place, found, fix: format!("{fix}; then go on: {}", go_on(folder)) }
            }
            other => other,
        };
        return Err(e);
    }
    folder.clear().and(Err(e))
}

/// The command that goes on with a run.
pub fn go_on(folder: &RunFolder) -> String {
    let path = folder.path().display().to_string();
    format!("iglu train --resume {}", iglu_report::numbers::quoted(&path))
}

/// The end of a run that was interrupted, its page written.
fn stopped(folder: &RunFolder, report: &Report, config: &Config) -> Result<Error> {
    folder.add(names::REPORT, &page::of_run(&Run::read(folder.path())?))?;
    let epochs = match config.train.epochs {
        iglu::config::Auto::Set(n) => format!(" of {}", n + config.train.polish),
        iglu::config::Auto::Auto => String::new(),
    };
    let place = folder.model().display().to_string();
    let found = format!("the best model so far, after epoch {}{epochs}", report.epochs);
    Ok(Error::interrupted(place, found, go_on(folder)))
}

/// Who listens to a run; it stops when one of them asks for it. From its first epoch on signals ask for it, too.
struct Listeners<'a> {
    progress: &'a mut dyn Observer,
    journal: &'a mut dyn Observer,
    interrupt: &'a Interrupt,
}

impl Observer for Listeners<'_> {
    fn event(&mut self, event: &Event) -> Control {
        if matches!(event, Event::Epoch { .. }) {
            signals::ask(self.interrupt);
        }
        let answers = [self.progress.event(event), self.journal.event(event)];
        if answers.contains(&Control::Stop) { Control::Stop } else { Control::Continue }
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint, urgency: Urgency) -> Result<()> {
        self.progress.checkpoint(checkpoint, urgency)?;
        self.journal.checkpoint(checkpoint, urgency)
    }
}

/// Instruction set of the kernels.
fn isa() -> String {
    format!("{:?}", kernels::isa()).to_lowercase()
}

/// This command as a shell takes it; the program by its name.
pub fn command() -> String {
    let words = crate::words().into_iter().map(|word| word.to_string_lossy().into_owned());
    let words = words.map(|word| iglu_report::numbers::quoted(&word));
    std::iter::once("iglu".to_string()).chain(words).collect::<Vec<_>>().join(" ")
}

fn facts(card: &Card) -> Facts {
    Facts {
        name: card.name.clone(),
        nodes: card.nodes,
        edges: card.edges,
        features: card.features,
        classes: card.classes,
        task: card.task.to_string(),
        train: card.train,
        val: card.val,
        test: card.test,
    }
}

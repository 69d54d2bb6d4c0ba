//! One training run from its configuration to its files; several of them share the data.

use crate::clock::Moment;
use crate::folder::RunFolder;
use crate::journal::{Board, Journal};
use crate::judge::{Depth, Judge};
use crate::progress::Progress;
use crate::summary::Summary;
use crate::{memory, settings, text};
use iglu::config::Config;
use iglu::observe::{Control, Event, Observer, Report, Stopwatch};
use iglu::run::{Trained, fit};
use iglu::{Dataset, Result, kernels};
use iglu_data::Card;
use iglu_report::record::{FORMAT, Facts, Origin, Scores};
use iglu_report::{Profile, Run, names, page};

/// What all runs of one command share.
pub struct Session<'a> {
    /// The data.
    pub data: &'a Dataset,
    /// The data as named by the user.
    pub source: &'a str,
    /// Whether to write for TensorBoard.
    pub board: Board,
    card: Card,
    profile: Profile,
    command: String,
}

/// A finished run.
pub struct Finished {
    /// How it went.
    pub report: Report,
    /// The summary for programs.
    pub json: String,
    /// The summary for people.
    pub text: String,
}

impl<'a> Session<'a> {
    /// Counts what there is.
    pub fn new(data: &'a Dataset, source: &'a str, board: Board) -> Self {
        let (card, profile) = (Card::of(data), Profile::of(data));
        Self { data, source, board, card, profile, command: command() }
    }

    /// Trains and writes everything; `load` are the seconds that reading the data took for this run.
    pub fn run(
        &self,
        config: &Config,
        folder: &RunFolder,
        progress: &mut Progress,
        load: f64,
    ) -> Result<Finished> {
        let watch = Stopwatch::new();
        let origin = self.origin(config)?;
        let time = origin.time.clone();
        let mut journal = Journal::begin(folder, origin, self.board, load)?;
        let trained = fit(config, self.data, &mut Both(progress, &mut journal));
        progress.finish();
        let Trained { model, mut report } = trained.or_else(|e| folder.clear().and(Err(e)))?;
        folder.keep(&model)?;
        let peak_rss_bytes = memory::peak_bytes();
        let mut clock = Stopwatch::new();
        let scores = self.scores(&model)?;
        report.seconds.eval += clock.lap();
        report.seconds.load = load;
        report.seconds.total = load + watch.seconds();
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
        folder.add(names::SUMMARY, &json)?;
        folder.add(names::REPORT, &page::of_run(&Run::read(folder.path())?))?;
        Ok(Finished { report, json, text })
    }

    fn scores(&self, model: &iglu::model::Model) -> Result<Vec<Scores>> {
        let logits = model.predict(self.data)?;
        Ok(Judge::new(model, self.data, &logits).scores(Depth::Cheap))
    }

    /// The command as a shell takes it.
    pub fn command(&self) -> &str {
        &self.command
    }

    fn origin(&self, config: &Config) -> Result<Origin> {
        let config_asked = serde_json::to_value(config)
            .map_err(|e| iglu::Error::output("configuration", e.to_string(), "report this"))?;
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

/// Two listeners; the run stops when one of them asks for it.
struct Both<'a>(&'a mut dyn Observer, &'a mut dyn Observer);

impl Observer for Both<'_> {
    fn event(&mut self, event: &Event) -> Control {
        let answers = [self.0.event(event), self.1.event(event)];
        if answers.contains(&Control::Stop) { Control::Stop } else { Control::Continue }
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

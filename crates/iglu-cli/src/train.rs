//! `iglu train`: from a dataset to the best network and the folder of the run.

use crate::budget::{self, Budget, Runs};
use crate::clock::Moment;
use crate::folder::{Old, RunFolder};
use crate::journal::Board;
use crate::progress::Progress;
use crate::resume::{self, Point, Resumed};
use crate::rhythm::Rhythm;
use crate::seeds::{self, Seeds};
use crate::session::{Asked, Keep, Session};
use crate::settings::{self, SettingsArgs};
use crate::{text, threads};
use clap::value_parser;
use iglu::config::{Config, DataConfig};
use iglu::kernels::gemm::{Precision, Unit, unit};
use iglu::observe::Stopwatch;
use iglu::run::Trials;
use iglu::{Dataset, Result};
use iglu_data::card::Problem;
use iglu_data::{DEFAULT_SOURCE, Fingerprint, Layout, LoadOptions, Verify};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  iglu train
  iglu train graph.npz --layer gcn --layers 3 --epochs 50 --patience 10
  iglu train graph.npz --order backprop --set lambda=0.1 --out runs/mine
  iglu train graph.npz --config runs/mine/config.toml --seed 1 --json > result.json
  iglu train graph.npz --seeds 5 --out runs/five --tensorboard
  iglu train --resume runs/mine";

/// Arguments of `iglu train`.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags are given or not")]
#[command(args_override_self = true, after_help = EXAMPLES, after_long_help = long_help())]
pub struct TrainArgs {
    /// Dataset: a file or folder in any form of docs/data.md, or `synth:NAME[@scale][#seed]` [default: synth:village]
    data: Option<String>,
    /// Folder of the run: model, configuration, events, summary, report [default: runs/NAME-YYYYMMDD-HHMMSS]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace the run that is in the folder
    #[arg(long, requires = "out")]
    force: bool,
    /// Go on with the run in this folder; the result is that of a run that was never interrupted
    #[arg(long, value_name = "DIR", conflicts_with_all = ["out", "force", "seeds"])]
    resume: Option<PathBuf>,
    /// Write a checkpoint after every so many epochs, or seconds (`30s`), or never
    #[arg(long, value_name = "RHYTHM", default_value = "1")]
    checkpoint: Rhythm,
    /// Stay within this (`4GiB`, `500MB`), or refuse to start if training will take more
    #[arg(long, value_name = "SIZE")]
    memory: Option<Budget>,
    /// Train with this many seeds, from --seed on, each in a folder `seed-N` of its own
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1000))]
    seeds: Option<u32>,
    /// Also write an event file for TensorBoard
    #[arg(long)]
    tensorboard: bool,
    /// Print one JSON object instead of the summary
    #[arg(long)]
    json: bool,
    /// No progress on stderr
    #[arg(long)]
    quiet: bool,
    #[command(flatten)]
    settings: SettingsArgs,
}

fn long_help() -> String {
    format!("{EXAMPLES}\n\n{}", settings::keys_help())
}

/// How the data is to be read, as the configuration has it.
pub fn load_options(data: &DataConfig) -> LoadOptions {
    LoadOptions { verify: Verify::Everything, ..LoadOptions::from(data) }
}

/// How data to train on is to be read: nothing is shown node by node, so any order will do.
pub fn training_options(data: &DataConfig) -> LoadOptions {
    LoadOptions { layout: Layout::Stored, ..load_options(data) }
}

/// Trains in a pool of its own.
pub fn run(args: &TrainArgs) -> Result<()> {
    let Some(path) = &args.resume else {
        let config = args.settings.resolve()?;
        return threads::pool(config.threads)?.install(|| args.begin(&config));
    };
    let folder = RunFolder::of_run(path)?;
    if folder.finished() {
        Seeds::forget(&folder)?;
        return args.finished(&folder);
    }
    let resumed = Resumed::read(&folder, &args.settings)?;
    threads::pool(resumed.config.threads)?.install(|| args.go_on(&folder, resumed))
}

impl TrainArgs {
    /// A new run.
    fn begin(&self, config: &Config) -> Result<()> {
        let watch = Stopwatch::new();
        let mut progress = self.progress();
        let old = if self.force { Old::Replace } else { Old::Refuse };
        let given = self.out.as_deref().map(|path| RunFolder::given(path, old)).transpose()?;
        let source = self.data.as_deref().unwrap_or(DEFAULT_SOURCE);
        budget::refuse_early(self.memory, config, source)?;
        let mut data = self.read(source, &config.data, &mut progress)?;
        let runs = if self.seeds.is_some() { Runs::Several } else { Runs::One };
        let trials = budget::settle(self.memory, config, &data, runs)?;
        let config = &with_split(config, &data);
        let folder = given.map_or_else(|| RunFolder::fresh(&data.name, Moment::now()), Ok)?;
        self.tell(trials, config);
        let session = self.session(&data, source, trials);
        let load = watch.seconds();
        match self.seeds {
            None => {
                let data = (&mut data).into();
                self.one(&session, Asked { data, config, folder: &folder, from: None, load }, &mut progress)
            }
            Some(count) => {
                let seeds = Seeds::new(config, count, source)?;
                folder.clear()?;
                seeds.write(&folder)?;
                self.several(seeds::run(&session, &data, &seeds, &folder, &mut progress, load)?)
            }
        }
    }

    /// A run that was interrupted.
    fn go_on(&self, folder: &RunFolder, resumed: Resumed) -> Result<()> {
        let watch = Stopwatch::new();
        let mut progress = self.progress();
        let source = self.data.clone().unwrap_or_else(|| resumed.source.clone());
        budget::refuse_early(self.memory, &resumed.config, &source)?;
        let mut data = self.read(&source, &resumed.config.data, &mut progress)?;
        let runs = if matches!(resumed.point, Point::Seeds(_)) { Runs::Several } else { Runs::One };
        let trials = budget::settle(self.memory, &resumed.config, &data, runs)?;
        let session = self.session(&data, &source, trials);
        let load = watch.seconds();
        match resumed.point {
            Point::Seeds(seeds) => {
                self.several(seeds::run(&session, &data, &seeds, folder, &mut progress, load)?)
            }
            Point::Run(found) => {
                if let Some(found) = &*found {
                    session.check_data(&found.around.data)?;
                }
                progress.say(&resume::greeting((*found).as_ref()));
                let (data, config) = ((&mut data).into(), &resumed.config);
                self.one(&session, Asked { data, config, folder, from: *found, load }, &mut progress)
            }
        }
    }

    /// A run that needs nothing: says so, unless something else is asked for than it was.
    fn finished(&self, folder: &RunFolder) -> Result<()> {
        let finished = resume::Finished::read(folder, &self.settings)?;
        if let Some(source) = self.data.as_deref().filter(|source| *source != finished.source)
            && let Some(then) = &finished.data
        {
            let data = iglu_data::load(source, &training_options(&finished.config.data))?;
            resume::check_data(source, &Fingerprint::of(&data), then)?;
        }
        let path = folder.path().display();
        text::note(&format!("`{path}`: the run is finished; there is nothing to go on with"));
        Ok(())
    }

    fn progress(&self) -> Progress {
        if self.quiet { Progress::silent() } else { Progress::on_stderr() }
    }

    fn read(&self, source: &str, how: &DataConfig, progress: &mut Progress) -> Result<Dataset> {
        progress.wait(&format!("reading {source}"));
        let data = iglu_data::load(source, &training_options(how))?;
        if !self.quiet {
            text::notes(&data.notes);
            let problem = |p: &Problem| format!("{} ({})", p.what, p.remedy);
            text::notes(&iglu_data::problems(&data).iter().map(problem).collect::<Vec<_>>());
        }
        Ok(data)
    }

    /// Says so where a budget or the processor makes the run slower.
    fn tell(&self, trials: Trials, config: &Config) {
        if config.network.precision == Precision::Bf16 && unit() == Unit::None && !self.quiet {
            text::note(
                "note: this machine has neither AMX nor AVX-512 with BF16 for --precision bf16: rounded numbers are multiplied in f32, slower than f32 itself",
            );
        }
        if trials == Trials::OneByOne && self.memory.is_some() && !self.quiet {
            text::note(
                "note: settings are tried one by one to stay within --memory: slower, the same result",
            );
        }
    }

    fn session<'a>(&self, data: &Dataset, source: &'a str, trials: Trials) -> Session<'a> {
        let board = if self.tensorboard { Board::On } else { Board::Off };
        Session::new(data, source, Keep { board, rhythm: self.checkpoint }, trials)
    }

    fn one(&self, session: &Session<'_>, asked: Asked<'_>, progress: &mut Progress) -> Result<()> {
        progress.wait("starting");
        let finished = session.run(asked, progress)?;
        text::print(if self.json { &finished.json } else { &finished.text })
    }

    fn several(&self, (json, people): (String, String)) -> Result<()> {
        text::print(if self.json { &json } else { &people })
    }
}

/// The configuration with the split that the data decided.
fn with_split(config: &Config, data: &Dataset) -> Config {
    let mut config = config.clone();
    config.data.split = iglu_data::decided(&config.data.split, data);
    config
}

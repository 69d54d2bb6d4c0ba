//! `iglu train`: from a dataset to the best network and the folder of the run.

use crate::clock::Moment;
use crate::folder::{Old, RunFolder};
use crate::journal::Board;
use crate::progress::Progress;
use crate::session::Session;
use crate::settings::{self, SettingsArgs};
use crate::{seeds, text, threads};
use clap::value_parser;
use iglu::config::{Config, DataConfig};
use iglu::observe::Stopwatch;
use iglu::{Dataset, Result};
use iglu_data::card::Problem;
use iglu_data::{DEFAULT_SOURCE, LoadOptions, Verify};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  iglu train
  iglu train graph.npz --layer gcn --layers 3 --epochs 50 --patience 10
  iglu train graph.npz --order backprop --set lambda=0.1 --out runs/mine
  iglu train graph.npz --config runs/mine/config.toml --seed 1 --json > result.json
  iglu train graph.npz --seeds 5 --out runs/five --tensorboard";

/// Arguments of `iglu train`.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags are given or not")]
#[command(args_override_self = true, after_help = EXAMPLES, after_long_help = long_help())]
pub struct TrainArgs {
    /// Dataset: a file or folder in any form of docs/data.md, or `synth:NAME[@scale][#seed]`
    #[arg(default_value = DEFAULT_SOURCE)]
    data: String,
    /// Folder of the run: model, configuration, events, summary, report [default: runs/NAME-YYYYMMDD-HHMMSS]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace the run that is in the folder
    #[arg(long, requires = "out")]
    force: bool,
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

/// Trains in a pool of its own.
pub fn run(args: &TrainArgs) -> Result<()> {
    let config = args.settings.resolve()?;
    threads::pool(config.threads)?.install(|| train(args, &config))
}

fn train(args: &TrainArgs, config: &Config) -> Result<()> {
    let watch = Stopwatch::new();
    let mut progress = if args.quiet { Progress::silent() } else { Progress::on_stderr() };
    let old = if args.force { Old::Replace } else { Old::Refuse };
    let given = args.out.as_deref().map(|path| RunFolder::given(path, old)).transpose()?;
    progress.wait(&format!("reading {}", args.data));
    let data = iglu_data::load(&args.data, &load_options(&config.data))?;
    let load = watch.seconds();
    if !args.quiet {
        text::notes(&data.notes);
        let problem = |p: &Problem| format!("{} ({})", p.what, p.remedy);
        text::notes(&iglu_data::problems(&data).iter().map(problem).collect::<Vec<_>>());
    }
    let config = &with_split(config, &data);
    let folder = given.map_or_else(|| RunFolder::fresh(&data.name, Moment::now()), Ok)?;
    folder.clear()?;
    let board = if args.tensorboard { Board::On } else { Board::Off };
    let session = Session::new(&data, &args.data, board);
    let (json, people) = match args.seeds {
        None => {
            progress.wait("starting");
            let finished = session.run(config, &folder, &mut progress, load)?;
            (finished.json, finished.text)
        }
        Some(count) => seeds::run(&session, &seeds::list(config, count)?, &folder, &mut progress, load)?,
    };
    text::print(if args.json { &json } else { &people })
}

/// The configuration with the split that the data decided.
fn with_split(config: &Config, data: &Dataset) -> Config {
    let mut config = config.clone();
    config.data.split = iglu_data::decided(&config.data.split, data);
    config
}

//! `iglu train`: from a dataset to the best network, its summary and its files.

use crate::folder::RunFolder;
use crate::progress::Progress;
use crate::settings::{self, SettingsArgs};
use crate::summary::Summary;
use crate::{memory, text, threads};
use iglu::config::{Config, DataConfig};
use iglu::observe::Stopwatch;
use iglu::run::{Trained, fit};
use iglu::{Dataset, Result, kernels};
use iglu_data::card::Problem;
use iglu_data::{Card, DEFAULT_SOURCE, LoadOptions, Verify};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  iglu train
  iglu train graph.npz --layer gcn --layers 3 --epochs 50 --patience 10
  iglu train graph.npz --order backprop --set lambda=0.1 --out runs/mine
  iglu train graph.npz --config runs/mine/config.toml --seed 1 --json > result.json";

/// Arguments of `iglu train`.
#[derive(Debug, clap::Args)]
#[command(args_override_self = true, after_help = EXAMPLES, after_long_help = long_help())]
pub struct TrainArgs {
    /// An .npz file, or `synth:NAME[@scale][#seed]`
    #[arg(default_value = DEFAULT_SOURCE)]
    data: String,
    /// Folder for model.safetensors, config.toml and summary.json [default: runs/NAME-1, -2, ...]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
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
    LoadOptions {
        split_choice: data.split.clone(),
        split_seed: data.split_seed,
        self_loops: data.self_loops,
        verify: Verify::Everything,
        ..LoadOptions::default()
    }
}

/// Trains in a pool of its own.
pub fn run(args: &TrainArgs) -> Result<()> {
    let config = args.settings.resolve()?;
    threads::pool(config.threads)?.install(|| train(args, &config))
}

fn train(args: &TrainArgs, config: &Config) -> Result<()> {
    let watch = Stopwatch::new();
    let given = args.out.as_deref().map(RunFolder::given).transpose()?;
    let data = iglu_data::load(&args.data, &load_options(&config.data))?;
    let load = watch.seconds();
    if !args.quiet {
        text::notes(&data.notes);
        let problem = |p: &Problem| format!("{} ({})", p.what, p.remedy);
        text::notes(&iglu_data::problems(&data).iter().map(problem).collect::<Vec<_>>());
    }
    let config = &with_split(config, &data);
    let folder = given.map_or_else(|| RunFolder::fresh(&data.name), Ok)?;
    let mut trained = fit_with_progress(args, config, &data)?;
    trained.report.seconds.load = load;
    trained.report.seconds.total = watch.seconds();
    finish(args, &trained, &Card::of(&data), &folder)
}

/// The configuration with the split that the data decided.
fn with_split(config: &Config, data: &Dataset) -> Config {
    let mut config = config.clone();
    config.data.split = iglu_data::decided(&config.data.split, data);
    config
}

fn fit_with_progress(args: &TrainArgs, config: &Config, data: &Dataset) -> Result<Trained> {
    let mut progress = if args.quiet { Progress::silent() } else { Progress::on_stderr() };
    let trained = fit(config, data, &mut progress);
    progress.finish();
    trained
}

fn finish(args: &TrainArgs, trained: &Trained, card: &Card, folder: &RunFolder) -> Result<()> {
    let config = trained.model.config();
    folder.keep(&trained.model)?;
    folder.add("config.toml", &settings::to_toml(config)?)?;
    let summary = Summary {
        version: env!("CARGO_PKG_VERSION"),
        source: &args.data,
        report: &trained.report,
        peak_rss_bytes: memory::peak_bytes(),
        isa: format!("{:?}", kernels::isa()).to_lowercase(),
        model: folder.model().display().to_string(),
        data: card,
        config,
    };
    let json = text::json(&summary)?;
    folder.add("summary.json", &json)?;
    if args.json { text::print(&json) } else { text::print(&summary.to_string()) }
}

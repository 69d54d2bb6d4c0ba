//! `iglu plan`: the steps that training would take, and the memory.

use crate::settings::{self, SettingsArgs};
use crate::train::training_options;
use crate::{budget, text, threads};
use iglu::Result;
use iglu::lazy::plan;

const EXAMPLES: &str = "\
Examples:
  iglu plan
  iglu plan --order backprop --layers 3
  iglu plan graph.npz --hidden 512
  iglu plan --config runs/mine/config.toml";

/// Arguments of `iglu plan`.
#[derive(Debug, clap::Args)]
#[command(args_override_self = true, after_help = EXAMPLES, after_long_help = long_help())]
pub struct PlanArgs {
    /// The data, to list what will be allocated: a file or folder in a known format, or `synth:NAME[@scale][#seed]`
    data: Option<String>,
    #[command(flatten)]
    settings: SettingsArgs,
}

fn long_help() -> String {
    format!("{EXAMPLES}\n\n{}", settings::keys_help())
}

/// Prints the steps.
pub fn run(args: &PlanArgs) -> Result<()> {
    let config = args.settings.resolve()?;
    let Some(source) = &args.data else {
        return text::print(plan::describe(&config)?.trim_end());
    };
    threads::pool(config.threads)?.install(|| {
        let data = iglu_data::load(source, &training_options(&config.data))?;
        let steps = plan::describe(&iglu::run::resolve(&config, &data))?;
        text::print(&format!("{}\n\n{}", steps.trim_end(), budget::describe(&config, &data)?.trim_end()))
    })
}

//! `iglu plan`: the steps that training would take.

use crate::settings::{self, SettingsArgs};
use crate::text;
use iglu::Result;
use iglu::lazy::plan;

const EXAMPLES: &str = "\
Examples:
  iglu plan
  iglu plan --order backprop --layers 3
  iglu plan --config runs/mine/config.toml";

/// Arguments of `iglu plan`.
#[derive(Debug, clap::Args)]
#[command(args_override_self = true, after_help = EXAMPLES, after_long_help = long_help())]
pub struct PlanArgs {
    #[command(flatten)]
    settings: SettingsArgs,
}

fn long_help() -> String {
    format!("{EXAMPLES}\n\n{}", settings::keys_help())
}

/// Prints the steps.
pub fn run(args: &PlanArgs) -> Result<()> {
    let steps = plan::describe(&args.settings.resolve()?)?;
    text::print(steps.trim_end())
}

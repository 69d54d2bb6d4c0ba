//! `iglu inspect`: a dataset in numbers, and what is wrong with it.

use crate::progress;
use crate::settings::DataArgs;
use crate::text;
use crate::threads;
use crate::train::load_options;
use iglu::config::Auto;
use iglu::{Error, Result};
use iglu_data::{DEFAULT_SOURCE, Inspection, LoadOptions, Purpose, Verify};

const EXAMPLES: &str = "\
Examples:
  iglu inspect graph.npz
  iglu inspect graph.npz --split 3 --json
  iglu inspect graph.iglu --verify
  iglu inspect synth:arxiv@0.1";

/// Arguments of `iglu inspect`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, mut_arg("reorder", |order| order.hide(true)))]
pub struct InspectArgs {
    /// Dataset: a file or folder in any form of docs/data.md, or `synth:NAME[@scale][#seed]`
    #[arg(default_value = DEFAULT_SOURCE)]
    data: String,
    /// Read all bytes of a .iglu file and compare their checksums
    #[arg(long)]
    verify: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    how: DataArgs,
}

/// Looks in a pool of its own.
pub fn run(args: &InspectArgs) -> Result<()> {
    threads::pool(0)?.install(|| inspect(args))
}

fn inspect(args: &InspectArgs) -> Result<()> {
    let config = args.how.resolve()?;
    if config.reorder == Auto::Set(true) {
        let found = "an order of the nodes changes none of these numbers";
        return Err(Error::usage("--reorder", found, "use it with `iglu train` or `iglu convert`"));
    }
    let verify = if args.verify { Verify::Everything } else { Verify::Structure };
    let options = LoadOptions { purpose: Purpose::Predict, verify, ..load_options(&config) };
    let data = progress::while_reading(&args.data, || iglu_data::load(&args.data, &options))?;
    let seen = Inspection::of(&data, &config.split);
    if args.json { text::print_json(&seen) } else { text::print(&seen.to_string()) }
}
